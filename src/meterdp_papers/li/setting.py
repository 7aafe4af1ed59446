"""What Li et al. print of their experiments, and the numbers they do not print, which are our own choice."""

from __future__ import annotations

SCHEMES = ("federated", "secure_sum", "subspace")
ASYNCHRONOUS = "subspace, asynchronous"

# --- Fig. 2: n and the radius are printed, the rest is ours ---------------------------------------------------------
CLASSES = 2
COMPONENTS = 2  # printed
ITERATIONS = 30
TRIAL_ITERATIONS = 2
MASK_STD = 1e3  # of a dual variable at the start; statistics are of the order of 1
EIGENVALUE_FLOOR = 1e-9  # below every eigenvalue met, so that it changes nothing
SAME_LOG_LIKELIHOOD = 1e-8

# --- Fig. 3: 10^4 trials, standard normal records and the law of A are printed --------------------------------------
TRIALS = 10_000
FEW_TRIALS = 400  # of a study with few trials, for each
CONFIDENCE = 0.95
LEAK_CLASSES = 2
LEAK_ITERATIONS = 5
LEAK_ROUNDS = 12
LEAK_CONSTANT = 0.4
EXPOSED, OTHER_END = 2, 0  # their nodes 3 and 1
LEAK_MASKS = (0.1, 1.0, 10.0, 1e2, 1e3, 1e6)

# --- Figures of our own ---------------------------------------------------------------------------------------------
CONSENSUS_NODES = 80
CONSENSUS_MASKS = (1.0, 1e2, 1e4, 1e6, 1e8, 1e10)
CONSENSUS_ROUNDS = 250
PRINTED_ROUNDS = 60
COST_NODES = (10, 30, 100, 300, 1000)
COST_DIMENSIONS = (1, 2, 4, 8, 16)
COST_CLASSES = 2
COST_AT_DIMENSION, COST_AT_NODES = 2, 100
TRIAL_COST_NODES, TRIAL_COST_DIMENSIONS = (10, 20), (1, 2)
FULL_STUDY = 10  # a study with so many trials or more runs everything


def whole(trials: int) -> bool:
    """Return whether a study with so many ``trials`` runs everything, rather than a part that takes seconds."""
    return trials >= FULL_STUDY


def trials_of(trials: int) -> int:
    """Return the Monte Carlo trials behind Fig. 3 of a study with so many ``trials``."""
    return TRIALS if whole(trials) else FEW_TRIALS * trials
