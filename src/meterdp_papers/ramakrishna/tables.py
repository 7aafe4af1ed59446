"""Tables of the reproduction of Ramakrishna et al.: trials, one table per figure, printed numbers.

Settings of the synthetic classes of Ramakrishna et al., ours where none are printed, and its printed results.
"""

from __future__ import annotations

from dataclasses import dataclass

from meterdp.core.tables import COUNT, INT, REAL, TEXT, VECTOR, Column
from meterdp_papers.common.tables import DATA, TRIALS, table

_VARIANT = (
    Column("accuracy_convention", TEXT, "", "whether rho is the squared error of all entries ('total') or of each"),
    Column("rho", REAL, "1", "accuracy budget, in the squared unit of the query ((log kWh)^2 for forecasts)"),
    Column("sides", TEXT, "", "'one' Pr(L > eps), 'two' Pr(|L| > eps), 'hockey_stick', 'swap': see delta_curves"),
    Column("epsilon", REAL, "1", "privacy parameter"),
)
_DESIGN = Column("design", TEXT, "", "noise design, see config/README.md")
_QUERY = Column("query_model", TEXT, "", "what counts as randomness of the query, see config/README.md")
_QUERY_MEAN = Column(
    "query_mean", TEXT, "", "'forecast' with its seasonal mean, or 'zero': the mean counts as public"
)

_EXACT = (
    Column("delta", REAL, "1", "exact delta of the worst ordered pair"),
    Column("delta_error", REAL, "1", "bound on its numerical error"),
    Column("delta_chernoff", REAL, "1", "Lemma 1 minimised over s, capped at 1; null where none", nullable=True),
    Column("pair_count", COUNT, "1", "ordered pairs"),
)

RAMAKRISHNA_FORECAST_ERRORS = table(
    "ramakrishna_forecast_errors",
    "Errors of the paper's ARMA forecasts against held-out readings over all rolling origins, without noise.",
    Column("scale", TEXT, "", "'log_kwh' or 'kwh'"),
    Column("nmse", REAL, "1", "sum of squared errors over sum of squared readings, mean over households"),
    Column("relative_mse", REAL, "1", "squared error over the variance of the held-out readings, pooled"),
    Column("household_count", COUNT, "households", "households averaged over"),
    Column("origin_count", COUNT, "1", "rolling origins per household"),
    source=(),
)

RAMAKRISHNA_CLASSES = table(
    "ramakrishna_classes",
    "The synthetic classes that are shown: Fig. 1 of Ramakrishna et al.",
    Column("label", INT, "1", "class, from 1"),
    Column("mean", VECTOR, "1", "mean of the query"),
    Column("covariance", VECTOR, "1", "covariance of the query, by rows"),
    source=(DATA,),
)

RAMAKRISHNA_TRIALS = table(
    "ramakrishna_trials",
    "Every synthetic set behind Fig. 2 of Ramakrishna et al.: the exact curves of each design.",
    Column("trial", COUNT, "1", "number of the set, from 0; the set shown is 0"),
    _DESIGN,
    _QUERY,
    *_VARIANT,
    *_EXACT,
    source=(),
)

RAMAKRISHNA_FIG2 = table(
    "ramakrishna_fig2",
    "Exact curves of each design on the set shown and averaged over sets: Fig. 2 of Ramakrishna et al.",
    _DESIGN,
    *_VARIANT,
    Column("delta_shown", REAL, "1", "delta on the set shown"),
    Column("delta_mean", REAL, "1", "mean over the sets"),
    Column("delta_se", REAL, "1", "its standard error; null for a single set", nullable=True),
    Column("excess_mean", REAL, "1", "mean of delta less that of white noise on the same set"),
    Column("excess_se", REAL, "1", "standard error of excess_mean; null for a single set", nullable=True),
    Column(
        "step_mean",
        REAL,
        "1",
        "improvement over white noise, averaged over epsilon, less that at the next smaller rho on the same sets",
        nullable=True,
    ),
    Column("step_se", REAL, "1", "standard error of step_mean; null for a single set", nullable=True),
    Column("below_white_share", REAL, "1", "share of the sets in which delta is below that of white noise"),
    TRIALS,
    source=(DATA,),
)

RAMAKRISHNA_FIG4 = table(
    "ramakrishna_fig4",
    "Exact curves of the paper's designs on household forecasts under every variant: Fig. 4 of Ramakrishna et al.",
    _DESIGN,
    _QUERY,
    _QUERY_MEAN,
    *_VARIANT,
    *_EXACT,
)

RAMAKRISHNA_NUMBERS = table(
    "ramakrishna_numbers",
    "Every delta Ramakrishna et al. print for household forecasts, beside ours under every variant.",
    Column("item", TEXT, "", "claim"),
    Column("where", TEXT, "", "place in the paper"),
    _DESIGN,
    _VARIANT[1],
    _VARIANT[3],
    Column("delta_printed", REAL, "1", "as printed"),
    Column("query_model", TEXT, "", "what counts as randomness of the query; null without pairs", nullable=True),
    Column("query_mean", TEXT, "", "'forecast' or 'zero'; null without pairs", nullable=True),
    Column("accuracy_convention", TEXT, "", "what rho counts; null without pairs", nullable=True),
    Column("sides", TEXT, "", "'one' or 'two'; null without pairs", nullable=True),
    Column("delta", REAL, "1", "ours, exact; null without pairs", nullable=True),
    source=(),
)

RAMAKRISHNA_FIG3_ERRORS = table(
    "ramakrishna_fig3_errors",
    "Normalised squared errors of the three houses of Fig. 3 of Ramakrishna et al., under every meaning of NMSE.",
    Column("house", INT, "1", "house of the figure, from 1; not an id"),
    Column("scale", TEXT, "", "'log_kwh', 'log_wh', 'log_w' (mean power of the interval) or 'kwh'"),
    Column("line", TEXT, "", "'forecast' or 'released'"),
    Column("reference", TEXT, "", "'truth' or 'forecast'"),
    Column("nmse", REAL, "1", "squared error over squared reference; of released forecasts the mean over releases"),
    Column("nmse_printed", REAL, "1", "as printed; null for the forecast", nullable=True),
)

RAMAKRISHNA_DESCENTS = table(
    "ramakrishna_descents",
    "How every run of Algorithm 1 of Ramakrishna et al. ended.",
    Column("source", TEXT, "", "'synthetic' or 'households'"),
    Column("trial", COUNT, "1", "number of the synthetic set, 0 for the households"),
    _QUERY,
    *_VARIANT[:2],
    Column("iteration_count", COUNT, "1", "steps"),
    Column("halved_step_count", COUNT, "1", "halvings of steps of Lemma 2 that did not lower the worst pair"),
    Column("stop_reason", TEXT, "", "why the descent ended"),
    Column("surrogate_white", REAL, "1", "J of (47) at white noise"),
    Column("surrogate_descended", REAL, "1", "J where the descent ended"),
    Column("surrogate_released", REAL, "1", "J after the rescaling (50)"),
    source=(),
)


LABELS, ENTRIES, FREEDOM = 4, 2, 2
SPACING = 1.0
RHOS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
# Of each, how many sets for one of the study's trials, 1 on average: most where neighbours are hardest to order.
SETS = dict(zip(RHOS, (0.25, 0.25, 2.0, 2.0, 1.0, 0.75, 0.75), strict=True))
SHOWN_RHOS = (0.5, 2.0, 8.0, 32.0)  # of the figure, and of our designs
EPSILONS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
CONVENTION = "total"
PAPERS_DESIGNS = ("none", "white", "published")
OUR_DESIGNS = ("joint", "transport")
# The set has a distribution of its own, with no past behind it: it is the query's distribution under every variant
# of (57).
QUERY_MODEL = "stochastic"
OUR_SETS = 20  # sets our designs are run on: their search takes seconds a set


def sets_of(rho: float, trials: int) -> int:
    """Return how many synthetic sets a study with so many ``trials`` runs at a rho."""
    return max(min(trials, 2), round(SETS[rho] * trials))


def most_sets(trials: int) -> int:
    """Return how many synthetic sets a study with so many ``trials`` draws."""
    return max(sets_of(rho, trials) for rho in RHOS)


@dataclass(frozen=True)
class Printed:
    """A number the paper prints."""

    item: str  # claim it belongs to
    where: str  # place in the paper
    design: str  # noise design
    rho: float
    epsilon: float
    delta: float  # as printed


PRINTED = WHITE_START, WHITE_END, PROPOSED_START, PROPOSED_END, SMALL_BUDGET, LARGE_BUDGET, CAPTION = (
    Printed("ram-3", "section VI-B.2", "white", 0.68571, 0.1, 0.8),
    Printed("ram-3", "section VI-B.2", "white", 0.68571, 1.0, 0.6),
    Printed("ram-3", "section VI-B.2", "published", 0.68571, 0.1, 0.72),
    Printed("ram-3", "section VI-B.2", "published", 0.68571, 1.0, 0.35),
    Printed("ram-4", "section VI-B.2", "published", 0.45, 1.0, 0.84),
    Printed("ram-4", "section VI-B.2", "published", 1.4, 1.0, 0.35),
    Printed("ram-4", "caption of Fig. 3", "published", 0.45, 0.8, 0.5637),
)
PRINTED_NMSE = (1.5953e-3, 1.2475e-3, 1.2453e-3)  # released forecasts of the three houses of Fig. 3
