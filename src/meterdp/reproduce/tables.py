"""Tables the ``reproduce`` room writes: trials, one table per figure of a paper, and the scorecard of its claims."""

from __future__ import annotations

from meterdp.core.tables import COUNT, INT, REAL, TEXT, VECTOR, Column, Table

_FIGURE = Column("figure", TEXT, "", "figure of the paper, such as 'fig1'")
_MECHANISM = Column("mechanism", TEXT, "", "name in the registry")
_FAMILY = Column("family", TEXT, "", "'published', 'exact' or 'sound'")
_X = Column("x", REAL, "1", "abscissa of the figure")
_X_NAME = Column("x_name", TEXT, "", "what x is: 'epsilon', 'records', 'classes' or 'dimension'")
_DATA = Column("data", TEXT, "", "data the row was measured on")
_SUBSTITUTE = Column(
    "substitute", TEXT, "", "what stands for the paper's data set; null if it is the same", nullable=True
)
_TRIALS = Column("trials", COUNT, "1", "trials averaged over")
_CLASS = Column("component", INT, "1", "class of the mixture")
_RECORDS = Column("record_count", COUNT, "records", "records in the class")
_ENTRY = Column("entry", INT, "1", "position in the record, from 0")

LIU_TRIALS = Table(
    "liu_trials",
    "study",
    "Every trial behind Figs 1 to 4 of Liu et al.: one release from one fresh data set.",
    (
        _FIGURE,
        _X,
        Column("trial", COUNT, "1", "number of the trial, from 0; in Fig. 1 it names the data set for every epsilon"),
        _MECHANISM,
        _FAMILY,
        Column("kl", REAL, "nats", "KL(released || fit) of the joint (x, y), (8)"),
        Column("redrawn_count", COUNT, "1", "data sets discarded before this one: a class had at most d records"),
        Column("smallest_class_count", COUNT, "records", "records in the smallest class"),
    ),
)

LIU_CURVE = Table(
    "liu_curve",
    "study",
    "KL divergence of each mechanism along one abscissa: Figs 1 to 5, 7 and 9 of Liu et al.",
    (
        _FIGURE,
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
        _TRIALS,
        Column("redrawn_count", COUNT, "1", "data sets discarded because a class had at most d records"),
        _DATA,
        _SUBSTITUTE,
    ),
)

LIU_ACCURACY = Table(
    "liu_accuracy",
    "study",
    "Share of test images classified correctly by maximum likelihood: Fig. 10 of Liu et al.",
    (
        _MECHANISM,
        Column("family", TEXT, "", "'published', 'exact', 'sound', or 'none' for the fit without privacy"),
        _X_NAME,
        _X,
        Column("accuracy_mean", REAL, "1", "mean over trials"),
        Column("accuracy_se", REAL, "1", "standard error over trials; null for a single trial", nullable=True),
        Column("accuracy_median", REAL, "1", "median over trials"),
        Column("accuracy_q25", REAL, "1", "quartile over trials"),
        Column("accuracy_q75", REAL, "1", "quartile over trials"),
        _TRIALS,
        Column("test_count", COUNT, "records", "test images"),
        _DATA,
        _SUBSTITUTE,
    ),
)

LIU_DENSITIES = Table(
    "liu_densities",
    "study",
    "Marginal densities per class: histogram, fit and releases at epsilon = 2 (Figs 6 and 8 of Liu et al.).",
    (
        _FIGURE,
        _CLASS,
        _ENTRY,
        Column("curve", TEXT, "", "'histogram', 'fit' or the name of a mechanism"),
        Column("kind", TEXT, "", "'data', 'fit', 'draw' (the first release) or 'mean' (pointwise, over all trials)"),
        Column("value", REAL, "1", "abscissa in units of the data; for the histogram the left edge of the bin"),
        Column("density", REAL, "1", "density per unit of value"),
        _DATA,
        _SUBSTITUTE,
    ),
)

LIU_MARGINAL_DISTANCES = Table(
    "liu_marginal_distances",
    "study",
    "How far released marginals are from histogram and fit, per class and entry, at epsilon = 2 (Figs 6 and 8).",
    (
        _FIGURE,
        _CLASS,
        _RECORDS,
        _ENTRY,
        Column("curve", TEXT, "", "'fit' or the name of a mechanism"),
        Column("family", TEXT, "", "'published', 'exact', 'sound', or 'none' for the fit without privacy"),
        Column("tv_histogram_mean", REAL, "1", "total variation distance to the histogram, over its bins; mean"),
        Column("tv_histogram_se", REAL, "1", "standard error over trials; null for the fit", nullable=True),
        Column("tv_fit_mean", REAL, "1", "total variation distance to the fitted marginal; mean"),
        Column("kl_fit_mean", REAL, "nats", "KL(released marginal || fitted marginal); mean"),
        Column("kl_fit_median", REAL, "nats", "KL(released marginal || fitted marginal); median over trials"),
        _TRIALS,
    ),
)

LIU_TABLE1 = Table(
    "liu_table1",
    "study",
    "Households per class beside the paper's (Table I of Liu et al.), both from the largest class to the smallest.",
    (
        Column("rank", INT, "1", "1 is the largest class"),
        Column("component", INT, "1", "class of the study; null beyond its K", nullable=True),
        Column("household_count", COUNT, "households", "households in it", nullable=True),
        Column("share", REAL, "1", "share of the households", nullable=True),
        Column("paper_class", INT, "1", "class as the paper numbers it; null beyond its six", nullable=True),
        Column("paper_household_count", COUNT, "households", "as printed in Table I", nullable=True),
        Column("paper_share", REAL, "1", "share of the paper's 1409 households", nullable=True),
        _DATA,
        _SUBSTITUTE,
    ),
)

LIU_CONVERGENCE = Table(
    "liu_convergence",
    "study",
    "Algorithm 1 of Liu et al. on the data sets of Fig. 1: passes, objective and the split of epsilon it ends with.",
    (
        Column("trial", COUNT, "1", "data set of Fig. 1"),
        Column("epsilon", REAL, "1", "privacy parameter"),
        Column("pass_count", COUNT, "1", "passes until (20a) moved by at most 1e-3, the last one included"),
        Column("objective_first", REAL, "1", "(20a) after the first pass"),
        Column("objective_last", REAL, "1", "(20a) after the last pass"),
        Column("largest_rise", REAL, "1", "largest rise of (20a) from one pass to the next"),
        Column("epsilon_0_share", REAL, "1", "share of epsilon the frequencies end with; it starts at a third"),
    ),
)

LIU_SDP_TIMES = Table(
    "liu_sdp_times",
    "study",
    "Time to solve (23) for all classes: the printed form by an interior-point solver, and our solver.",
    (
        Column("solver", TEXT, "", "'interior_point' ((23) as printed, by CVXPY and Clarabel) or 'own'"),
        Column("varied", TEXT, "", "'records' or 'classes'"),
        Column("record_count", COUNT, "records", "N"),
        Column("class_count", COUNT, "1", "K"),
        Column("seconds", REAL, "s", "time of all K problems, the shortest of the repeats; without CVXPY's set-up"),
        Column("repeat_count", COUNT, "1", "repeats"),
    ),
)

_READING = (
    Column("accuracy_convention", TEXT, "", "whether rho is the squared error of all entries ('total') or of each"),
    Column("rho", REAL, "1", "accuracy budget, in the squared unit of the query ((log kWh)^2 for forecasts)"),
    Column("sides", TEXT, "", "'one' Pr(L > eps), 'two' Pr(|L| > eps), 'hockey_stick', 'swap': see delta_curves"),
    Column("epsilon", REAL, "1", "privacy parameter"),
)
_DESIGN = Column("design", TEXT, "", "noise design, see config/README.md")
_QUERY = Column("query_model", TEXT, "", "what counts as randomness of the query, see config/README.md")
_EXACT = (
    Column("delta", REAL, "1", "exact delta of the worst ordered pair"),
    Column("delta_error", REAL, "1", "bound on its numerical error"),
    Column("delta_chernoff", REAL, "1", "Lemma 1 minimised over s, capped at 1; null where none", nullable=True),
    Column("pair_count", COUNT, "1", "ordered pairs"),
)

RAMAKRISHNA_CLASSES = Table(
    "ramakrishna_classes",
    "study",
    "The synthetic classes that are shown: Fig. 1 of Ramakrishna et al.",
    (
        Column("label", INT, "1", "class, from 1"),
        Column("mean", VECTOR, "1", "mean of the query"),
        Column("covariance", VECTOR, "1", "covariance of the query, by rows"),
        _DATA,
    ),
)

RAMAKRISHNA_TRIALS = Table(
    "ramakrishna_trials",
    "study",
    "Every synthetic set behind Fig. 2 of Ramakrishna et al.: the exact curves of each design.",
    (
        Column("trial", COUNT, "1", "number of the set, from 0; the set shown is 0"),
        _DESIGN,
        _QUERY,
        *_READING,
        *_EXACT,
    ),
)

RAMAKRISHNA_FIG2 = Table(
    "ramakrishna_fig2",
    "study",
    "Exact curves of each design on the set shown and averaged over sets: Fig. 2 of Ramakrishna et al.",
    (
        _DESIGN,
        *_READING,
        Column("delta_shown", REAL, "1", "delta on the set shown"),
        Column("delta_mean", REAL, "1", "mean over the sets"),
        Column("delta_se", REAL, "1", "its standard error; null for a single set", nullable=True),
        Column("excess_mean", REAL, "1", "mean of delta less that of white noise on the same set"),
        Column("excess_se", REAL, "1", "standard error of excess_mean; null for a single set", nullable=True),
        Column("below_white_share", REAL, "1", "share of the sets in which delta is below that of white noise"),
        _TRIALS,
        _DATA,
    ),
)

RAMAKRISHNA_FIG4 = Table(
    "ramakrishna_fig4",
    "study",
    "Exact curves of the paper's designs on household forecasts under every reading: Fig. 4 of Ramakrishna et al.",
    (_DESIGN, _QUERY, *_READING, *_EXACT, _DATA, _SUBSTITUTE),
)

RAMAKRISHNA_NUMBERS = Table(
    "ramakrishna_numbers",
    "study",
    "Every delta Ramakrishna et al. print for household forecasts, beside ours under every reading.",
    (
        Column("item", TEXT, "", "claim"),
        Column("where", TEXT, "", "place in the paper"),
        _DESIGN,
        _READING[1],
        _READING[3],
        Column("delta_printed", REAL, "1", "as printed"),
        Column("query_model", TEXT, "", "what counts as randomness of the query; null without pairs", nullable=True),
        Column("accuracy_convention", TEXT, "", "what rho counts; null without pairs", nullable=True),
        Column("sides", TEXT, "", "'one' or 'two'; null without pairs", nullable=True),
        Column("delta", REAL, "1", "ours, exact; null without pairs", nullable=True),
    ),
)

RAMAKRISHNA_FIG3_ERRORS = Table(
    "ramakrishna_fig3_errors",
    "study",
    "Normalised squared errors of the three houses of Fig. 3 of Ramakrishna et al., under every meaning of NMSE.",
    (
        Column("house", INT, "1", "house of the figure, from 1; not an id"),
        Column("scale", TEXT, "", "'log_kwh' or 'kwh'"),
        Column("line", TEXT, "", "'forecast' or 'released'"),
        Column("reference", TEXT, "", "'truth' or 'forecast'"),
        Column("nmse", REAL, "1", "squared error over squared reference"),
        Column("nmse_printed", REAL, "1", "as printed; null for the forecast", nullable=True),
        _DATA,
        _SUBSTITUTE,
    ),
)

RAMAKRISHNA_DESCENTS = Table(
    "ramakrishna_descents",
    "study",
    "How every run of Algorithm 1 of Ramakrishna et al. ended.",
    (
        Column("source", TEXT, "", "'synthetic' or 'households'"),
        Column("trial", COUNT, "1", "number of the synthetic set, 0 for the households"),
        _QUERY,
        *_READING[:2],
        Column("iteration_count", COUNT, "1", "steps"),
        Column("halved_step_count", COUNT, "1", "halvings of steps of Lemma 2 that did not lower the worst pair"),
        Column("stop_reason", TEXT, "", "why the descent ended"),
        Column("surrogate_white", REAL, "1", "J of (47) at white noise"),
        Column("surrogate_descended", REAL, "1", "J where the descent ended"),
        Column("surrogate_released", REAL, "1", "J after the rescaling (50)"),
    ),
)

SCORECARD = Table(
    "scorecard",
    "study",
    "What the claims of a paper come to when measured: one row per claim.",
    (
        Column("paper", TEXT, "", "authors and year"),
        Column("item", TEXT, "", "id of the claim"),
        Column("claim", TEXT, "", "the claim in our words"),
        Column("rule", TEXT, "", "when it counts as holding"),
        Column("data", TEXT, "", "data it was measured on"),
        _SUBSTITUTE,
        Column("measured", TEXT, "", "what was measured"),
        Column(
            "holds", TEXT, "", "'holds', 'does not hold' or 'cannot be judged'; a word, so that no verdict is a null"
        ),
    ),
)
