"""Tables of the reproduction of Liu et al.: trials, one table per figure, Table I.

The variants of Liu et al. that change a verdict: what (10) covers, what the baselines do with their classes.

(10) is printed over the records of a class; its text speaks of all label flips. Nothing is said of how the budget of
a baseline is shared over classes. Every combination is faithful, and every claim is judged under all of them. How
mechanisms run under them is in :mod:`meterdp_papers.liu.setting`; figures import this one, so it stays light.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from meterdp.core.tables import COUNT, INT, REAL, TEXT, Column
from meterdp_papers.common.tables import TRIALS, VARIANT, table

if TYPE_CHECKING:
    import pandas as pd

    from meterdp.mechanisms.reference.baseline import OverClasses
    from meterdp.mechanisms.reference.label_flip import Flips


_FIGURE = Column("figure", TEXT, "", "figure of the paper, such as 'fig1'")
_MECHANISM = Column("mechanism", TEXT, "", "name in the registry")
_FAMILY = Column("family", TEXT, "", "'published', 'exact' or 'sound'")

_RUN = (
    Column("flips", TEXT, "", "what (10) covers: 'all' flips, 'leaving' members; 'any' if no matter"),
    Column("over_classes", TEXT, "", "scales of a baseline: 'parallel', 'common' or 'split'; 'any' if no matter"),
)
_X = Column("x", REAL, "1", "abscissa of the figure")
_X_NAME = Column("x_name", TEXT, "", "what x is: 'epsilon', 'records', 'classes' or 'dimension'")

_CLASS = Column("component", INT, "1", "class of the mixture")
_RECORDS = Column("record_count", COUNT, "records", "records in the class")
_ENTRY = Column("entry", INT, "1", "position in the record, from 0")

LIU_NORMALITY = table(
    "liu_normality",
    "How Gaussian the log profiles of each class are.",
    Column("component", INT, "1", "class, from 1"),
    Column("household_count", COUNT, "households", "households in the class"),
    Column("mardia_skewness", REAL, "1", "Mardia's multivariate skewness, 0 for a Gaussian", nullable=True),
    Column("mardia_kurtosis_z", REAL, "1", "Mardia's kurtosis as a z-score, 0 for a Gaussian", nullable=True),
    Column("share_within_90", REAL, "1", "share of households inside the fitted 90 % ellipsoid", nullable=True),
    source=(),
)

LIU_TRIALS = table(
    "liu_trials",
    "Every trial behind Figs 1 to 4 of Liu et al.: one release from one fresh data set.",
    _FIGURE,
    _X,
    Column("trial", COUNT, "1", "number of the trial, from 0; in Fig. 1 it names the data set for every epsilon"),
    _MECHANISM,
    _FAMILY,
    *_RUN,
    Column("kl", REAL, "nats", "KL(released || fit) of the joint (x, y), (8)"),
    Column("redrawn_count", COUNT, "1", "data sets discarded before this one: a class had at most d records"),
    Column("smallest_class_count", COUNT, "records", "records in the smallest class"),
    source=(),
)

LIU_CURVE = table(
    "liu_curve",
    "KL divergence of each mechanism along one abscissa: Figs 1 to 5, 7 and 9 of Liu et al.",
    _FIGURE,
    VARIANT,
    _MECHANISM,
    _FAMILY,
    _X_NAME,
    _X,
    Column("kl_mean", REAL, "nats", "mean of KL(released || fit) of the joint (x, y), (8)"),
    Column("kl_se", REAL, "nats", "standard error of kl_mean; null for a single trial", nullable=True),
    Column("kl_median", REAL, "nats", "median over trials"),
    Column("kl_q25", REAL, "nats", "quartile over trials"),
    Column("kl_q75", REAL, "nats", "quartile over trials"),
    Column("excess_mean", REAL, "nats", "mean of the divergence less that of kl_published in the same trial"),
    Column("excess_se", REAL, "nats", "standard error of excess_mean; null for a single trial", nullable=True),
    Column(
        "below_proposed_share",
        REAL,
        "1",
        "share of trials in which this mechanism is below kl_published; in Figs 1 to 4 on the same data set",
    ),
    TRIALS,
    Column("redrawn_count", COUNT, "1", "data sets discarded because a class had at most d records"),
)

LIU_ACCURACY = table(
    "liu_accuracy",
    "Share of test images classified correctly by maximum likelihood: Fig. 10 of Liu et al.",
    VARIANT,
    _MECHANISM,
    Column("family", TEXT, "", "'published', 'exact', 'sound', or 'none' for the fit without privacy"),
    _X_NAME,
    _X,
    Column("accuracy_mean", REAL, "1", "mean over trials"),
    Column("accuracy_se", REAL, "1", "standard error over trials; null for a single trial", nullable=True),
    Column("accuracy_median", REAL, "1", "median over trials"),
    Column("accuracy_q25", REAL, "1", "quartile over trials"),
    Column("accuracy_q75", REAL, "1", "quartile over trials"),
    TRIALS,
    Column("test_count", COUNT, "records", "test images"),
)

LIU_DENSITIES = table(
    "liu_densities",
    "Marginal densities per class: histogram, fit and releases at epsilon = 2 (Figs 6 and 8 of Liu et al.).",
    _FIGURE,
    _CLASS,
    _ENTRY,
    Column("curve", TEXT, "", "'histogram', 'fit' or the name of a mechanism"),
    Column("kind", TEXT, "", "'data', 'fit', 'draw' (the first release) or 'mean' (pointwise, over all trials)"),
    Column("value", REAL, "1", "abscissa in units of the data; for the histogram the left edge of the bin"),
    Column("density", REAL, "1", "density per unit of value"),
)

LIU_MARGINAL_DISTANCES = table(
    "liu_marginal_distances",
    "How far released marginals are from histogram and fit, per class and entry, at epsilon = 2 (Figs 6 and 8).",
    _FIGURE,
    _CLASS,
    _RECORDS,
    _ENTRY,
    VARIANT,
    Column("curve", TEXT, "", "'fit' or the name of a mechanism"),
    Column("family", TEXT, "", "'published', 'exact', 'sound', or 'none' for the fit without privacy"),
    Column("tv_histogram_mean", REAL, "1", "total variation distance to the histogram, over its bins; mean"),
    Column("tv_histogram_se", REAL, "1", "standard error over trials; null for the fit", nullable=True),
    Column("tv_fit_mean", REAL, "1", "total variation distance to the fitted marginal; mean"),
    Column("kl_fit_mean", REAL, "nats", "KL(released marginal || fitted marginal); mean"),
    Column("kl_fit_median", REAL, "nats", "KL(released marginal || fitted marginal); median over trials"),
    TRIALS,
    source=(),
)

LIU_TABLE1 = table(
    "liu_table1",
    "Households per class beside the paper's (Table I of Liu et al.), both from the largest class to the smallest.",
    Column("rank", INT, "1", "1 is the largest class"),
    Column("component", INT, "1", "class of the study; null beyond its K", nullable=True),
    Column("household_count", COUNT, "households", "households in it", nullable=True),
    Column("share", REAL, "1", "share of the households", nullable=True),
    Column("paper_class", INT, "1", "class as the paper numbers it; null beyond its six", nullable=True),
    Column("paper_household_count", COUNT, "households", "as printed in Table I", nullable=True),
    Column("paper_share", REAL, "1", "share of the paper's 1409 households", nullable=True),
)

LIU_CONVERGENCE = table(
    "liu_convergence",
    "Algorithm 1 of Liu et al. on the data sets of Fig. 1: passes, objective and the split of epsilon it ends with.",
    Column("trial", COUNT, "1", "data set of Fig. 1"),
    Column("epsilon", REAL, "1", "privacy parameter"),
    Column("pass_count", COUNT, "1", "passes until (20a) moved by at most 1e-3, the last one included"),
    Column("objective_first", REAL, "1", "(20a) after the first pass"),
    Column("objective_last", REAL, "1", "(20a) after the last pass"),
    Column("largest_rise", REAL, "1", "largest rise of (20a) from one pass to the next"),
    Column("epsilon_0_share", REAL, "1", "share of epsilon the frequencies end with; it starts at a third"),
    source=(),
)

LIU_SDP_WORK = table(
    "liu_sdp_work",
    "Work to solve (23) for all classes, counted: the printed form by an interior-point solver, and our solver.",
    Column("solver", TEXT, "", "'interior_point' ((23) as printed, by Clarabel) or 'own'"),
    Column("varied", TEXT, "", "'records' or 'classes'"),
    Column("trial", COUNT, "1", "data set of this size, from 0"),
    Column("record_count", COUNT, "records", "N"),
    Column("class_count", COUNT, "1", "K"),
    Column("iteration_count", REAL, "1", "interior-point iterations, mean over the classes", nullable=True),
    Column("largest_size", COUNT, "1", "unknowns of the largest linear system; for our solver points of a class"),
    Column("work", REAL, "1", "what grows with N and K, counted: see docs/variants.md on liu-11"),
    source=(),
)


ANY = "any"  # of a choice that does not concern a mechanism
FLIPS: dict[Flips, str] = {"all": "(10) over all flips", "leaving": "(10) over leaving members"}
OVER_CLASSES: dict[OverClasses, str] = {
    "parallel": "a scale per class",
    "common": "one scale for all classes",
    "split": "epsilon split over classes",
}


@dataclass(frozen=True)
class Variant:
    """One faithful variant of the text."""

    flips: Flips  # {"all", "leaving"}, as of `LabelledRecords`
    # {"parallel", "common", "split"}, as of `Baseline`
    over_classes: OverClasses

    @property
    def name(self) -> str:
        """As tables and the page write it."""
        return f"{FLIPS[self.flips]}; {OVER_CLASSES[self.over_classes]}"

    def has(self, flips: str, over_classes: str) -> bool:
        """Whether a mechanism run with these choices, which may be :data:`ANY`, belongs to this variant."""
        return flips in (ANY, self.flips) and over_classes in (ANY, self.over_classes)

    def rows(self, trials: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that belong to this variant, of a frame with the columns ``flips`` and ``over_classes``."""
        of_flips = trials["flips"].isin([ANY, self.flips])
        return trials[of_flips & trials["over_classes"].isin([ANY, self.over_classes])]


VARIANTS = tuple(Variant(flips, over) for flips in FLIPS for over in OVER_CLASSES)
SHOWN = VARIANTS[0]  # the one that figures draw
