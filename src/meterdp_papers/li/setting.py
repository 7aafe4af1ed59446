"""The readings of Li et al. that a verdict may turn on, what is printed of the experiments, and what we chose.

Figures import this module, so it stays light. How 195 rows sit on 80 nodes and whether features are scaled before
their principal components is not printed; of Fig. 1 only the cycle is left in the text; of Fig. 3 neither what the
adversary's view is made of nor what the information is divided by.
"""

from __future__ import annotations

from dataclasses import dataclass

# Fig. 1.
WITH_CHORD, CYCLE_ALONE = "the cycle and a chord 1-3 of ours", "the cycle alone"
GRAPHS = (WITH_CHORD, CYCLE_ALONE)

# Fig. 2: how rows sit on nodes, and features before their principal components.
DEALT, FIRST_ROWS, ONE_EACH = "195 rows dealt over 80 nodes", "80 rows, one a node", "195 rows, one a node"
NODES = {DEALT: 80, FIRST_ROWS: 80, ONE_EACH: 195}
AS_THEY_ARE, STANDARDISED = "features as they are", "features over their standard deviations"
PREPARATIONS = (AS_THEY_ARE, STANDARDISED)
PRINTED, TEXTBOOK = "printed", "textbook"
UPDATES = (PRINTED, TEXTBOOK)

# Fig. 3: what the adversary's view is made of.
RECORDS = "sums of records"
ONE_ITERATION = "A, B, C of one iteration"
ALL_SO_FAR = "A, B, C of all iterations so far"
VIEWS = (RECORDS, ONE_ITERATION, ALL_SO_FAR)
OVER_SELF, LINFOOT = "over the estimate of I(X; X)", "sqrt(1 - exp(-2 I))"
# Of each, the column of table li_leakage.
NORMALISATIONS = {OVER_SELF: "over_self", LINFOOT: "linfoot"}


@dataclass(frozen=True)
class Setting:
    """One run of Fig. 2."""

    rows: str  # how rows sit on nodes
    preparation: str
    update: str  # {"printed", "textbook"}

    @property
    def name(self) -> str:
        """As tables and the page write it."""
        return f"{self.rows}; {self.preparation}; (3) {_UPDATES[self.update]}"


_UPDATES = {PRINTED: "as printed", TEXTBOOK: "with the new means"}
SETTINGS = tuple(Setting(r, p, u) for r in NODES for p in PREPARATIONS for u in UPDATES)
SHOWN = tuple(Setting(r, STANDARDISED, PRINTED) for r in (DEALT, ONE_EACH))


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

# --- Fig. 3: 10^4 trials, standard normal records and the distribution of A are printed
# --------------------------------------
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
