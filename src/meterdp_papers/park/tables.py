"""Tables of the reproduction of Park et al.: splits and folds, one table per figure, numbers beside them.

The settings of Section 7 of Park et al., its variants, the lines of Figs 2 and 3 and the methods of Fig. 4.

Figures import this module, so it stays light. Neither the smallest eigenvalue of a noisy covariance ("some value near
zero") nor the estimate behind a figure is printed; (12), (15) and (18) disagree on what class sums are divided and
centred by; of Fig. 4 neither the number of clusters nor of
iterations is printed, of Fig. 5 no sensitivity.
"""

from __future__ import annotations

from dataclasses import dataclass

from meterdp.accounting import FAR_ORDER, FEW_ORDERS, LARGEST_ORDER
from meterdp.core.tables import COUNT, FLAG, INT, REAL, TEXT, VECTOR, Column
from meterdp_papers.common.tables import TRIALS, VARIANT, table

_FIGURE = Column("figure", TEXT, "", "figure of the paper, 'fig2' or 'fig3'")
_EPSILON = Column("epsilon", REAL, "1", "privacy parameter of the whole run")
_LINES = (
    Column("line", TEXT, "", "'em' without noise, scheme and composition such as 'ggg_zcdp', or 'sound'"),
    Column("scheme", TEXT, "", "'GGG' or 'LLG'; null without noise and for 'sound'", nullable=True),
    Column("composition", TEXT, "", "name of the accountant; null without noise and for 'sound'", nullable=True),
)
_STEP_EPSILON = Column(
    "step_epsilon", REAL, "1", "eps_i of one answer; null without noise and for 'sound'", nullable=True
)
_LEFT_OUT = Column(
    "deltas_left_out", FLAG, "", "whether the delta_i of all answers exceed delta and were left out of it (defect P4)"
)
_PLACE = (
    Column("longitude", REAL, "degree", "east of Greenwich; of a released mean perhaps nowhere on the globe"),
    Column("latitude", REAL, "degree", "north of the equator; of a released mean perhaps nowhere on the globe"),
)
_TIMES = Column("times", INT, "1", "how many times as many people as the paper simulates")


def _se(name: str, unit: str) -> Column:
    return Column(f"{name}_se", REAL, unit, "its standard error; null for a single trial", nullable=True)


PARK_LIKELIHOODS = table(
    "park_likelihoods",
    "Every run behind Figs 2 and 3 of Park et al.: one split, one variant, one line, one epsilon.",
    _FIGURE,
    VARIANT,
    Column("split", COUNT, "1", "number of the split, from 0"),
    *_LINES,
    _EPSILON,
    _STEP_EPSILON,
    _LEFT_OUT,
    Column("log_likelihood", REAL, "nats", "mean log-density of the test records, in the unit ball"),
    source=(),
)

PARK_CURVE = table(
    "park_curve",
    "Test log-likelihood per record against epsilon: Figs 2 and 3 of Park et al.",
    _FIGURE,
    VARIANT,
    *_LINES,
    _EPSILON,
    _STEP_EPSILON,
    _LEFT_OUT,
    Column("log_likelihood_mean", REAL, "nats", "per test record, mean over splits"),
    _se("log_likelihood", "nats"),
    Column("excess_mean", REAL, "nats", "log-likelihood less that of 'ggg_zcdp' in the same split, mean"),
    _se("excess", "nats"),
    Column("shortfall_mean", REAL, "nats", "log-likelihood without noise in the same split less this one, mean"),
    _se("shortfall", "nats"),
    TRIALS,
)

PARK_OURS = table(
    "park_ours",
    "Our sound release against zCDP GGG in the splits of Figs 2 and 3 of Park et al., in each variant of theirs.",
    _FIGURE,
    VARIANT,
    _EPSILON,
    Column("ours_mean", REAL, "nats", "log-likelihood per test record of 'sound', mean over splits"),
    Column("ggg_mean", REAL, "nats", "that of 'ggg_zcdp' at the same epsilon"),
    Column("ggg_shortfall_mean", REAL, "nats", "what 'ggg_zcdp' is below EM without noise"),
    Column("difference_mean", REAL, "nats", "ours less theirs in the same split, mean"),
    _se("difference", "nats"),
    Column("larger_epsilon", REAL, "1", "twice the epsilon, or the next larger one that was run", nullable=True),
    Column("larger_difference_mean", REAL, "nats", "ours less theirs at the larger epsilon, mean", nullable=True),
    _se("larger_difference", "nats"),
    TRIALS,
)

PARK_MAP = table(
    "park_map",
    "Invented people by marital status, with means and covariances of EM and of one release: Fig. 1 of Park et al.",
    _TIMES,
    Column("kind", TEXT, "", "'person', 'lone person', 'em' or 'released'"),
    Column("epsilon", REAL, "1", "privacy parameter; null unless released", nullable=True),
    Column("status", TEXT, "", "marital status, the class"),
    *_PLACE,
    Column("covariance", VECTOR, "degree^2", "2 x 2, row by row; null for people", nullable=True),
)

PARK_DISTANCES = table(
    "park_distances",
    "How far means are from the lone married person and from EM, over releases (Fig. 1 of Park et al.).",
    _TIMES,
    _EPSILON,
    Column("status", TEXT, "", "marital status, the class"),
    Column("person_count", COUNT, "persons", "invented people in the class"),
    Column("em_to_lone_km", REAL, "km", "from EM's mean to the lone married person"),
    Column("released_to_lone_median_km", REAL, "km", "from the released mean to that person, median"),
    Column("released_to_em_median_km", REAL, "km", "from the released mean to EM's, median"),
    Column("released_to_em_mean_km", REAL, "km", "from the released mean to EM's, mean"),
    Column("released_to_em_se_km", REAL, "km", "its standard error; null for a single trial", nullable=True),
    TRIALS,
)

_OF_CLUSTERS = (
    Column("adjacency", TEXT, "", "which data sets are neighbours"),
    Column("charge", TEXT, "", "answers either side is charged for"),
)

PARK_FOLDS = table(
    "park_folds",
    "Every clustering behind Fig. 4 of Park et al.: one fold, one start, one variant, one method.",
    Column("fold", COUNT, "1", "number of the fold, from 0"),
    Column("start", COUNT, "1", "number of the public start in this fold, from 0"),
    VARIANT,
    Column("method", TEXT, "", "'kmeans' without noise, 'dplloyd_linear', 'dplloyd_zcdp' or the paper's 'dp_kmeans'"),
    _EPSILON,
    Column("step_epsilon", REAL, "1", "of one answer; null without noise", nullable=True),
    Column("nicv", REAL, "1", "normalised intra-cluster variance of test records, in the unit ball"),
    Column("longitude", VECTOR, "degree", "of the centres"),
    Column("latitude", VECTOR, "degree", "of the centres"),
    source=(),
)

PARK_NICV = table(
    "park_nicv",
    "Normalised intra-cluster variance of each method under each variant of Fig. 4 of Park et al.",
    VARIANT,
    *_OF_CLUSTERS,
    Column("method", TEXT, "", "as in park_folds"),
    _EPSILON,
    Column("step_epsilon", REAL, "1", "of one answer; null without noise", nullable=True),
    Column(
        "nicv_mean", REAL, "1", "mean squared distance to the nearest centre, in the unit ball; over folds and starts"
    ),
    _se("nicv", "1"),
    Column("nicv_median", REAL, "1", "median over folds and starts"),
    Column("excess_mean", REAL, "1", "NICV less that of 'dp_kmeans' in the same fold from the same start, mean"),
    _se("excess", "1"),
    TRIALS,
)

PARK_CLUSTERS = table(
    "park_clusters",
    "Some records and the centres of the first fold: Fig. 4 of Park et al.",
    Column("kind", TEXT, "", "'record' or 'centre'"),
    VARIANT,
    Column("method", TEXT, "", "as in park_folds; null for records", nullable=True),
    Column("nicv_mean", REAL, "1", "of the method, over folds; null for records", nullable=True),
    _se("nicv", "1"),
    *_PLACE,
)

_PICTURES = Column("pictures", TEXT, "", "how pictures were prepared")
_NOISE = Column("noise", TEXT, "", "'none', 'stated', or 'variance for deviation' (defect P3)")

PARK_FACES = table(
    "park_faces",
    "Columns of factor loadings as pictures: Fig. 5 of Park et al., by the noise it states and by that of its code.",
    _PICTURES,
    Column("sensitivity", TEXT, "", "as in park_face_numbers; null without noise", nullable=True),
    _NOISE,
    Column("epsilon", REAL, "1", "privacy parameter; null without noise", nullable=True),
    Column("column", INT, "1", "after rotation to orthogonal columns, from the longest to the shortest"),
    Column("loading", VECTOR, "1", "one number per pixel, row by row"),
)

PARK_FACE_NUMBERS = table(
    "park_face_numbers",
    "Noise of Fig. 5 of Park et al. beside the second moment it is added to, and what is left of EM's loadings.",
    _PICTURES,
    Column("sensitivity", TEXT, "", "change of the second moment that the noise is scaled to"),
    _NOISE,
    _EPSILON,
    Column("noise_std", REAL, "1", "standard deviation of an entry of the noise"),
    Column("noise_spectral_norm", REAL, "1", "largest absolute eigenvalue of the noise"),
    Column("top_eigenvalue", REAL, "1", "largest eigenvalue of the second moment without noise"),
    Column("captured_share", REAL, "1", "mean squared cosine of EM's loadings with the span of the private ones"),
    Column("components_share", REAL, "1", "the same with the span of as many leading components of the noisy matrix"),
)


_ESTIMATES = {"mle": "MLE", "map": "MAP"}
_DIVISORS = {"own": "", "noisy": "; class sums over noisy counts"}
_CENTRES = {"noisy": "", "own": "; covariances around their own means"}


@dataclass(frozen=True)
class Variant:
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


SHOWN = Variant("map", 1e-3)  # the one of the paper's public code
ALSO_SHOWN = Variant("map", 1e-2)
FLOORS_AND_ESTIMATES = tuple(Variant(e, floor) for e in _ESTIMATES for floor in (1e-4, 1e-3, 1e-2))

EPSILON_AS_PRINTED, EPSILON_BY_SIZE = "epsilon as printed", "epsilon raised by the missing records"

# Fig. 4: which data sets are neighbours, the same for both sides of the comparison except in the last, which is what
# the text prints: d + 1 of DPLloyd is for a record more or less, (15) for one that is replaced (defect P6).
ADDED, REPLACED = "one record added or removed", "one record replaced"
UNEQUAL = "DPLloyd one record added or removed, proposed one replaced"
# What the proposed method is charged for in an iteration; DPLloyd's noisy counts and sums are one answer.
BOTH, MEANS, CODE, EVERY_CLASS = "counts charged", "counts not charged", "exact counts, not charged", "k + 1 answers"
_ANSWERS = {BOTH: "2 J", MEANS: "J", CODE: "J", EVERY_CLASS: "J (k + 1)"}
STARTS = 10  # of a fold for every 40 iterations; cheaper variants have more


@dataclass(frozen=True)
class ClusterVariant:
    """One way to run Fig. 4; the caption and Section 7 print none of these."""

    clusters: int  # k
    iterations: int  # J
    adjacency: str = ADDED
    counts: str = BOTH  # of the proposed method; CODE and `ADDED` give sqrt(d)/N_k, the noise of the public code
    divisor: str = "own"  # what the proposed method divides class sums by, as of `EmSettings`
    in_ball: bool = False  # whether DPLloyd has the 1 + sqrt(d) of the unit ball for the printed d + 1
    bounded: bool = True  # whether coordinates of centres are brought back to [-1, 1], as in the public code
    # epsilon as printed; or larger by what fewer records than the paper's lack, so that N epsilon is the same
    budget: str = EPSILON_AS_PRINTED

    @property
    def name(self) -> str:
        """As tables and the page write it."""
        words = f"k = {self.clusters}, J = {self.iterations}; {self.adjacency}; {self.counts}"
        more = {
            "class sums over noisy counts": self.divisor == "noisy",
            "1 + sqrt d": self.in_ball,
            "centres anywhere": not self.bounded,
            self.budget: self.budget != EPSILON_AS_PRINTED,
        }
        return "; ".join([words, *(name for name, applies in more.items() if applies)])

    @property
    def starts(self) -> int:
        """From how many public starts each fold is clustered."""
        return 2 * STARTS if self.iterations == 10 else STARTS

    @property
    def charge(self) -> str:
        """How many answers either side is charged for."""
        return f"DPLloyd J, proposed {_ANSWERS[self.counts]} answers; {self.counts}"


SHOWN_CLUSTERS = ClusterVariant(5, 40, counts=CODE)  # the noise of the paper's public code
_BOTH_SIDES = (ADDED, REPLACED)
CLUSTER_VARIANTS = (
    SHOWN_CLUSTERS,
    *(ClusterVariant(5, 40, a, c) for a in _BOTH_SIDES for c in (BOTH, MEANS)),
    *(
        ClusterVariant(5, 40, a, **{name: value})
        for a in _BOTH_SIDES
        for name, value in (("divisor", "noisy"), ("in_ball", True), ("bounded", False), ("budget", EPSILON_BY_SIZE))
    ),
    *(ClusterVariant(5, 10, a, c) for a in _BOTH_SIDES for c in (BOTH, MEANS)),
    ClusterVariant(3, 10, counts=CODE),  # k and J of the public code, too
    *(ClusterVariant(3, 10, a, c) for a in _BOTH_SIDES for c in (BOTH, MEANS)),
    ClusterVariant(5, 40, UNEQUAL, EVERY_CLASS),
)

# Fig. 5: pictures, and what one of them can change in the second moment.
AS_THEY_ARE, CENTRED = "pictures as they are", "centred by pixel and picture"
BY_PIXEL = "centred, over the largest norm of a pixel"  # of the public code; no variant, as it leaves the unit ball
PICTURES = (AS_THEY_ARE, CENTRED, BY_PIXEL)
PRINTED_SENSITIVITY = "2/N"
SMALLEST_SENSITIVITY = "1/N"
SENSITIVITIES = {PRINTED_SENSITIVITY: 2.0, "sqrt 2/N": 2.0**0.5, SMALLEST_SENSITIVITY: 1.0}
NEIGHBOURS = {
    PRINTED_SENSITIVITY: "one record replaced, as in (18)",
    "sqrt 2/N": "one record replaced, the exact bound",
    SMALLEST_SENSITIVITY: "one record added or removed",
}
WITHOUT, STATED, MISREAD = "none", "stated", "variance for deviation"  # the last as in the public code (defect P3)


DELTA = 1e-4
# Where the paper's public code (mixGaussFit.m) searches eps_i of the moments accountant: first, step, last.
EPSILON_GRID = (0.001, 0.998 / 199, 0.999)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)  # the paper says 0.1 to 4 and prints no more
FEW_EPSILONS = (0.1, 1.0, 4.0)
SPLITS = 10
FEW_SPLITS = 2  # of the other variant drawn on a stand-in, where a run takes seconds
MANY_SPLITS = 100  # of the variant whose likelihoods differ by hundreds of nats between splits; a run takes a second
# A trial of the workflow, with fewer trials than splits, takes so many records for each, of Stroke among one in so
# many and so many components so that little is decomposed, every so many-th row and column of pixels, and few
# epsilons.
TRIAL_RECORDS = 1_000
TRIAL_ONE_IN = 5
TRIAL_COMPONENTS = 25
TRIAL_PIXEL_STEP = 4


def starts_of(trials: int) -> int:
    """Return from how many public starts a study with so many ``trials`` clusters each fold at most."""
    return 2 * STARTS if trials >= SPLITS else 1


def splits_of(trials: int) -> int:
    """Return how many splits and folds a study with so many ``trials`` runs."""
    return min(SPLITS, trials)


@dataclass(frozen=True)
class Line:
    """One way to share out the budget."""

    name: str  # as tables call it
    scheme: str  # {"GGG", "LLG"}
    composition: str  # name in `CURVES`
    # Of linear composition, whether delta_i is delta over the number of answers, not the one of the experiment.
    own_delta: bool = False
    on_grid: bool = False  # whether eps_i is searched on `EPSILON_GRID`
    of_shown: bool = False  # whether it is run under the variant that is drawn alone


EM, OURS, PUBLIC_ZCDP = "em", "sound", "ggg_zcdp_public_radius"
ZCDP, MOMENTS, MOMENTS_FAR, MOMENTS_REAL = "ggg_zcdp", "ggg_moments", "ggg_moments_far", "ggg_moments_real"
MOMENTS_FEW, MOMENTS_GRID, MOMENTS_CAPPED = "ggg_moments_few", "ggg_moments_grid", "ggg_moments_real_capped"
LINEAR, ADVANCED, LINEAR_OWN_DELTA = "ggg_linear", "ggg_advanced", "ggg_linear_own_delta"
LLG_ZCDP, LLG_MOMENTS = "llg_zcdp", "llg_moments"
LINES = (
    Line(LINEAR, "GGG", "linear"),
    Line(ADVANCED, "GGG", "advanced"),
    Line(ZCDP, "GGG", "zcdp"),
    Line(MOMENTS, "GGG", "moments"),
    Line(MOMENTS_FAR, "GGG", "moments_far"),
    Line(MOMENTS_REAL, "GGG", "moments_real"),
    Line(LINEAR_OWN_DELTA, "GGG", "linear", own_delta=True, of_shown=True),
    Line(MOMENTS_FEW, "GGG", "moments_few", of_shown=True),
    Line(MOMENTS_CAPPED, "GGG", "moments_real_capped", of_shown=True),
    Line(MOMENTS_GRID, "GGG", "moments", on_grid=True, of_shown=True),
    Line(LLG_ZCDP, "LLG", "zcdp"),
    Line(LLG_MOMENTS, "LLG", "moments"),
)

# Methods of Fig. 4.
PLAIN, LLOYD_LINEAR, LLOYD_ZCDP, PROPOSED = "kmeans", "dplloyd_linear", "dplloyd_zcdp", "dp_kmeans"


@dataclass(frozen=True)
class Run:
    """A variant, over how many splits and which epsilons it is run."""

    variant: Variant
    splits: int = SPLITS  # every ten of them partition the records
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
    runs: tuple[Run, ...]  # the first is of the variant that is drawn


LOWEST = Variant("mle", 1e-4)
_SIDE = tuple(r for r in FLOORS_AND_ESTIMATES if r not in (SHOWN, LOWEST))
EXPERIMENTS = {
    "fig2": Experiment(
        10,
        20,
        1e-6,
        "float32",
        False,  # a run takes seconds
        (Run(SHOWN), Run(ALSO_SHOWN, FEW_SPLITS, FEW_EPSILONS)),  # a stand-in decides nothing
    ),
    "fig3": Experiment(
        3,
        10,
        1e-8,
        "float64",
        True,
        (
            Run(SHOWN),
            Run(LOWEST, MANY_SPLITS),
            *map(Run, _SIDE),
            Run(Variant("map", 1e-3, divisor="noisy")),
            Run(Variant("map", 1e-3, centre="own")),
        ),
    ),
}


# Lines of Figs 2 and 3.
LINE_NAMES = {
    EM: "EM without noise",
    LINEAR: "GGG, linear",
    LINEAR_OWN_DELTA: "GGG, linear, delta_i that fit",
    MOMENTS_FEW: f"GGG, moments, integer orders to {FEW_ORDERS}",
    MOMENTS_CAPPED: f"GGG, moments, real orders to {LARGEST_ORDER}",
    MOMENTS_GRID: "GGG, moments, integer orders, eps_i on a grid",
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
