"""The settings of Section 7 of Park et al., its readings, the lines of Figs 2 and 3 and the methods of Fig. 4.

Figures import this module, so it stays light. Neither the smallest eigenvalue of a noisy covariance ("some value near
zero") nor the estimate behind a figure is printed; (12), (15) and (18) disagree on what class sums are divided and
centred by; the caption of Fig. 1 can be understood in two ways; of Fig. 4 neither the number of clusters nor of
iterations is printed, of Fig. 5 no sensitivity.
"""

from __future__ import annotations

from dataclasses import dataclass

from meterdp.accounting.orders import FAR_ORDER

_ESTIMATES = {"mle": "MLE", "map": "MAP"}
_DIVISORS = {"own": "", "noisy": "; class sums over noisy counts"}
_CENTRES = {"noisy": "", "own": "; covariances around their own means"}


@dataclass(frozen=True)
class Reading:
    """One way to run DP-EM for Figs 2 and 3."""

    estimate: str  # {"mle", "map"}
    eigenvalue_floor: float
    divisor: str = "own"  # as of `EmSettings`
    centre: str = "noisy"

    @property
    def name(self) -> str:
        """As tables and the page write it."""
        words = f"{_ESTIMATES[self.estimate]}, eigenvalues from {self.eigenvalue_floor:g}"
        return f"{words}{_DIVISORS[self.divisor]}{_CENTRES[self.centre]}"


SHOWN = Reading("map", 1e-3)  # the one of the paper's public code
ALSO_SHOWN = Reading("map", 1e-2)
FLOORS_AND_ESTIMATES = tuple(Reading(e, floor) for e in _ESTIMATES for floor in (1e-4, 1e-3, 1e-2))

# Fig. 1: how many of the married come from elsewhere.
LONE_CLASS = "the married class has one person"
LONE_STATE = "one person of the married class comes from that state"
CAPTIONS = (LONE_CLASS, LONE_STATE)

EPSILON_AS_PRINTED, EPSILON_BY_SIZE = "epsilon as printed", "epsilon raised by the missing records"


@dataclass(frozen=True)
class ClusterReading:
    """One way to run Fig. 4; the caption and Section 7 print none of these."""

    clusters: int  # k
    iterations: int  # J
    # {"each", "once"}, answers of the proposed method that an iteration is charged for: its k means and its counts,
    # as Section 4 has it for mixtures, or one, since a record is in one cluster
    charged: str = "each"
    bounded: bool = False  # whether coordinates of centres are brought back to [-1, 1] after every iteration
    # epsilon as printed; or larger by what fewer records than the paper's lack, so that N epsilon is the same
    budget: str = EPSILON_AS_PRINTED

    @property
    def name(self) -> str:
        """As tables and the page write it."""
        answers = "k + 1 answers an iteration" if self.charged == "each" else "one answer an iteration"
        kept = "; centres kept in [-1, 1]" if self.bounded else ""
        more = "" if self.budget == EPSILON_AS_PRINTED else f"; {self.budget}"
        return f"k = {self.clusters}, {self.iterations} iterations; {answers}{kept}{more}"


SHOWN_CLUSTERS = ClusterReading(5, 40, "once", bounded=True)  # nearest to the paper's public code
CLUSTER_READINGS = (
    ClusterReading(5, 10),
    ClusterReading(5, 10, bounded=True),
    ClusterReading(5, 40, bounded=True),
    SHOWN_CLUSTERS,
    ClusterReading(3, 10, "once", bounded=True),
    ClusterReading(5, 10, bounded=True, budget=EPSILON_BY_SIZE),
    ClusterReading(5, 40, "once", bounded=True, budget=EPSILON_BY_SIZE),
)

# Fig. 5: pictures, and what one of them can change in the second moment.
AS_THEY_ARE, CENTRED = "pictures as they are", "centred by pixel and picture"
BY_PIXEL = "centred, over the largest norm of a pixel"  # of the public code; no reading, as it leaves the unit ball
PICTURES = (AS_THEY_ARE, CENTRED, BY_PIXEL)
PRINTED_SENSITIVITY = "2/N"
SMALLEST_SENSITIVITY = "1/N"
SENSITIVITIES = {PRINTED_SENSITIVITY: 2.0, "sqrt 2/N": 2.0**0.5, SMALLEST_SENSITIVITY: 1.0}
WITHOUT, STATED, MISREAD = "none", "stated", "variance for deviation"  # the last as in the public code (defect P3)


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
    """One way to share out the budget."""

    name: str  # as tables call it
    scheme: str  # {"GGG", "LLG"}
    composition: str  # name in `CURVES`


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
    """One of Figs 2 and 3."""

    classes: int  # K
    iterations: int  # J
    step_delta: float  # delta_i
    dtype: str  # arithmetic of the class sums
    # whether zCDP is run once more on records clipped to a public radius, the hint for defect P1
    public_radius: bool
    runs: tuple[Run, ...]  # the first is of the reading that is drawn


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


# Lines of Figs 2 and 3.
LINE_NAMES = {
    EM: "EM without noise",
    LINEAR: "GGG, linear",
    ADVANCED: "GGG, advanced",
    ZCDP: "GGG, zCDP",
    MOMENTS: "GGG, moments, integer orders",
    MOMENTS_FAR: f"GGG, moments, integer orders to {FAR_ORDER:,}",
    MOMENTS_REAL: "GGG, moments, real orders",
    LLG_ZCDP: "LLG, zCDP",
    LLG_MOMENTS: "LLG, moments, integer orders",
    PUBLIC_ZCDP: "GGG, zCDP, clipped to a public radius",
    OURS: "sound release (ours)",
}
# Methods of Fig. 4.
METHODS = {
    PLAIN: "without noise",
    LLOYD_LINEAR: "DPLloyd, linear",
    LLOYD_ZCDP: "DPLloyd, zCDP",
    PROPOSED: "proposed",
}
