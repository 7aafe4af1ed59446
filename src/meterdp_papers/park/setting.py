"""The settings of Section 7 of Park et al., the lines that Figs 2 and 3 compare and the methods of Fig. 4."""

from __future__ import annotations

from dataclasses import dataclass

from meterdp_papers.park.readings import FLOORS_AND_ESTIMATES, SHOWN, Reading

DELTA = 1e-4
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)  # the paper says 0.1 to 4 and prints no more
FEW_EPSILONS = (0.1, 1.0, 4.0)
SPLITS = 10
FEW_SPLITS = 2  # of readings that are not drawn, where a run takes seconds
# A trial of the workflow, with fewer trials than splits, takes so many records for each, of Stroke among one in so
# many and so many components so that little is decomposed, every so many-th row and column of pixels, and few
# epsilons.
TRIAL_RECORDS = 1_000
TRIAL_ONE_IN = 5
TRIAL_COMPONENTS = 25
TRIAL_PIXEL_STEP = 4


def splits_of(trials: int) -> int:
    """Return how many splits and folds a study with so many ``trials`` runs."""
    return min(SPLITS, trials)


@dataclass(frozen=True)
class Line:
    """One way to share out the budget.

    Parameters
    ----------
    name : str
        As tables call it.
    scheme : {"GGG", "LLG"}
    composition : str
        Name in :data:`meterdp.accounting.registry.CURVES`.
    """

    name: str
    scheme: str
    composition: str


EM, OURS, PUBLIC_ZCDP = "em", "sound", "ggg_zcdp_public_radius"
ZCDP, MOMENTS, MOMENTS_FAR, MOMENTS_REAL = "ggg_zcdp", "ggg_moments", "ggg_moments_far", "ggg_moments_real"
LINEAR, ADVANCED = "ggg_linear", "ggg_advanced"
LLG_ZCDP, LLG_MOMENTS = "llg_zcdp", "llg_moments"
LINES = (
    Line(LINEAR, "GGG", "linear"),
    Line(ADVANCED, "GGG", "advanced"),
    Line(ZCDP, "GGG", "zcdp"),
    Line(MOMENTS, "GGG", "moments"),
    Line(MOMENTS_FAR, "GGG", "moments_far"),
    Line(MOMENTS_REAL, "GGG", "moments_real"),
    Line(LLG_ZCDP, "LLG", "zcdp"),
    Line(LLG_MOMENTS, "LLG", "moments"),
)

# Methods of Fig. 4.
PLAIN, LLOYD_LINEAR, LLOYD_ZCDP, PROPOSED = "kmeans", "dplloyd_linear", "dplloyd_zcdp", "dp_kmeans"


@dataclass(frozen=True)
class Run:
    """A reading, over how many splits and which epsilons it is run."""

    reading: Reading
    splits: int = SPLITS
    epsilons: tuple[float, ...] = EPSILONS


@dataclass(frozen=True)
class Experiment:
    """One of Figs 2 and 3.

    Parameters
    ----------
    classes, iterations : int
        K and J.
    step_delta : float
        delta_i.
    dtype : str
        Arithmetic of the class sums.
    public_radius : bool
        Whether zCDP is run once more on records clipped to a public radius, the remedy for defect P1.
    runs : tuple of Run
        The first is of the reading that is drawn.
    """

    classes: int
    iterations: int
    step_delta: float
    dtype: str
    public_radius: bool
    runs: tuple[Run, ...]


_SIDE = tuple(r for r in FLOORS_AND_ESTIMATES if r != SHOWN)
EXPERIMENTS = {
    "fig2": Experiment(
        10,
        20,
        1e-6,
        "float32",
        False,  # a run takes seconds
        (
            Run(SHOWN),
            *(Run(r, FEW_SPLITS, FEW_EPSILONS) for r in _SIDE if r.estimate == "map" or r.eigenvalue_floor == 1e-3),
        ),
    ),
    "fig3": Experiment(
        3,
        10,
        1e-8,
        "float64",
        True,
        (
            Run(SHOWN),
            *map(Run, _SIDE),
            Run(Reading("map", 1e-3, divisor="noisy")),
            Run(Reading("map", 1e-3, centre="own")),
        ),
    ),
}
