"""Tables the ``class_noise`` package writes: neighbourhoods, noise designs and privacy curves."""

from __future__ import annotations

from meterdp.core.tables import COUNT, INT, REAL, TEXT, VECTOR, Column, Table

DESIGN = Column("design", TEXT, "", "noise design, see config/README.md")
RHO = Column("rho", REAL, "(log kWh)^2", "accuracy budget, in the stated convention")
_QUERY = Column(
    "query_model",
    TEXT,
    "",
    "'deterministic' (only added noise counts), 'stochastic' (distribution of the forecast over all pasts counts "
    "too) or "
    "'published' (distribution (57) of the future counts too, no guarantee)",
)
_NOISE = (DESIGN, _QUERY, RHO)
_EPSILON = Column("epsilon", REAL, "1", "privacy parameter")
_DELTA_ERROR = Column("delta_error", REAL, "1", "no pair exceeds delta by more; bound on the numerical error")

NEIGHBOURHOODS = Table(
    "neighbourhoods",
    "private",
    "Which households of the forecast belong to the same neighbourhood.",
    (
        Column("household", INT, "1", "dense index of the household"),
        Column("neighbourhood", INT, "1", "neighbourhood, 1 is the largest"),
    ),
)

NEIGHBOUR_GRAPH = Table(
    "neighbour_graph",
    "private",
    "The graph (1): ordered pairs of households that must be indistinguishable.",
    (
        Column("household", INT, "1", "label X"),
        Column("neighbour", INT, "1", "label X'"),
        Column("neighbourhood", INT, "1", "neighbourhood both belong to"),
    ),
)

NEIGHBOURHOOD_SUMMARY = Table(
    "neighbourhood_summary",
    "study",
    "Sizes of the neighbourhoods, and who has no neighbour.",
    (
        Column("neighbourhood", INT, "1", "neighbourhood, 1 is the largest"),
        Column("household_count", COUNT, "households", "households"),
        Column("pair_count", COUNT, "1", "ordered pairs of the graph"),
        Column("households_alone", COUNT, "households", "households without a neighbour"),
        Column("outside_pair_count", COUNT, "1", "pairs of neighbourhoods.file with a household without forecast"),
        Column("meaning", TEXT, "", "what it means to have no neighbour, empty otherwise"),
    ),
)

NOISE_DESIGNS = Table(
    "noise_designs",
    "private",
    "What a design does to a household's forecast q, per query model and accuracy budget: gain q + shift + noise.",
    (
        *_NOISE,
        Column("household", INT, "1", "dense index of the household"),
        Column("noise_covariance", VECTOR, "(log kWh)^2", "covariance of the added noise, by rows"),
        Column("noise_shift", VECTOR, "log kWh", "fixed part of what is added, null for zero", nullable=True),
        Column("gain", VECTOR, "1", "matrix the forecast is multiplied by, by rows, null for 1", nullable=True),
    ),
)

DELTA_CURVES = Table(
    "delta_curves",
    "study",
    "delta(eps) of a design: the worst pair of all neighbourhoods (Fig. 4 of Ramakrishna et al.).",
    (
        *_NOISE,
        Column(
            "sides",
            TEXT,
            "",
            "'one' Pr(L > eps) as in the paper, 'two' Pr(|L| > eps) as in its Definition 1, 'hockey_stick' the delta "
            "of (eps, delta)-DP for one file, 'swap' the same for the files of both households of a pair",
        ),
        _EPSILON,
        Column("delta", REAL, "1", "exact value for the worst pair"),
        _DELTA_ERROR,
        Column("delta_chernoff", REAL, "1", "Lemma 1 minimised over s, capped at 1, 'one' and 'two'", nullable=True),
        Column("pair_count", COUNT, "1", "pairs the maximum was taken over, for 'swap' not ordered"),
    ),
)

DESIGN_COMPARISON = Table(
    "design_comparison",
    "study",
    "The designs at equal budgets: exact delta of the worst pair, beside `published` and the Wasserstein limit.",
    (
        *_NOISE,
        _EPSILON,
        Column("delta", REAL, "1", "hockey stick of the worst pair plus the bound on its numerical error"),
        Column("delta_published", REAL, "1", "the same for the published design", nullable=True),
        Column("ratio_to_published", REAL, "1", "delta over delta_published, null for 0/0", nullable=True),
        Column(
            "wasserstein_limit", REAL, "(log kWh)^2", "rho at which all labels can share one released distribution"
        ),
        Column("share_of_limit", REAL, "1", "rho over wasserstein_limit, null if that is 0", nullable=True),
        Column("largest_squared_error", REAL, "(log kWh)^2", "largest E|q~ - q|^2 of a label, in the unit of rho"),
        Column("certified_gap", REAL, "1", "certified relative distance from the optimum, if any", nullable=True),
    ),
)
