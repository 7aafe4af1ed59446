"""Tables the ``classnoise`` room writes: neighbourhoods, noise designs and privacy curves."""

from __future__ import annotations

from meterdp.core.tables import COUNT, INT, REAL, STAMP_UTC, TEXT, VECTOR, Column, Table

_DESIGN = Column("design", TEXT, "", "noise design, see config/README.md")
_RHO = Column("rho", REAL, "(log kWh)^2", "accuracy budget, in the stated convention")
_QUERY = Column(
    "query_model", TEXT, "", "'deterministic' (only added noise counts) or 'stochastic' ((57) as published)"
)

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
    "The graph (1): ordered pairs of households that must not be told apart.",
    (
        Column("household", INT, "1", "label X"),
        Column("neighbour", INT, "1", "label X'"),
        Column("neighbourhood", INT, "1", "neighbourhood both belong to"),
    ),
)

NEIGHBOURHOOD_SUMMARY = Table(
    "neighbourhood_summary",
    "study",
    "Sizes of the neighbourhoods.",
    (
        Column("neighbourhood", INT, "1", "neighbourhood, 1 is the largest"),
        Column("household_count", COUNT, "households", "households"),
        Column("pair_count", COUNT, "1", "ordered pairs of the graph"),
    ),
)

NOISE_DESIGNS = Table(
    "noise_designs",
    "private",
    "What a design does to a household's forecast q, per query model and accuracy budget: gain q + shift + noise.",
    (
        _DESIGN,
        _QUERY,
        _RHO,
        Column("household", INT, "1", "dense index of the household"),
        Column("noise_covariance", VECTOR, "(log kWh)^2", "covariance of the added noise, by rows"),
        Column("noise_shift", VECTOR, "log kWh", "what is added for certain, null for zero", nullable=True),
        Column("gain", VECTOR, "1", "matrix the forecast is multiplied by, by rows, null for 1", nullable=True),
    ),
)

NOISE_DESIGN_REPORTS = Table(
    "noise_design_reports",
    "study",
    "How each noise design ended, and what the rescaling (50) does to the objective it optimised (defect R2).",
    (
        _DESIGN,
        _QUERY,
        _RHO,
        Column("iteration_count", COUNT, "1", "iterations of the descent"),
        Column("halved_step_count", COUNT, "1", "steps that had to be halved to lower the worst pair"),
        Column("white_label_count", COUNT, "households", "households that fell back to white noise, (50) being 0/0"),
        Column("stop_reason", TEXT, "", "why the descent ended"),
        Column("surrogate_white", REAL, "1", "J of (47) at white noise, null for a closed form", nullable=True),
        Column("surrogate_descended", REAL, "1", "J where the descent ended, null for a closed form", nullable=True),
        Column("surrogate_released", REAL, "1", "J after the rescaling (50), null for a closed form", nullable=True),
    ),
)

DELTA_CURVES = Table(
    "delta_curves",
    "study",
    "delta(eps) of a design: the worst ordered pair of all neighbourhoods (Fig. 4 of Ramakrishna et al.).",
    (
        _DESIGN,
        _QUERY,
        _RHO,
        Column("sides", TEXT, "", "'one' Pr(L > eps) as in the paper, 'two' Pr(|L| > eps) as in its Definition 1"),
        Column("epsilon", REAL, "1", "privacy parameter"),
        Column("delta_chernoff", REAL, "1", "Lemma 1 minimised over s, capped at 1"),
        Column("delta_monte_carlo", REAL, "1", "Monte Carlo estimate for the worst pair"),
        Column("delta_monte_carlo_se", REAL, "1", "its standard error"),
        Column("pair_count", COUNT, "1", "ordered pairs the maximum was taken over"),
        Column("draw_count", COUNT, "1", "Monte Carlo draws"),
    ),
)

FORECAST_FILE = Table(
    "forecast_file",
    "study",
    "Released forecast of one household under a random release id.",
    (
        Column("release_id", TEXT, "", "random id, unrelated to the meter id"),
        Column("step", INT, "1", "steps ahead, from 1"),
        Column("interval_start_utc", STAMP_UTC, "UTC", "start of the forecast interval"),
        Column("released_log_kwh", REAL, "log kWh", "forecast plus noise"),
        Column("released_kwh", REAL, "kWh", "its exponential (median of the log-normal), clipped to public bounds"),
    ),
)

CROSSWALK = Table(
    "crosswalk",
    "private",
    "Which household a release id belongs to.",
    (
        Column("release_id", TEXT, "", "random id"),
        Column("household", INT, "1", "dense index of the household"),
    ),
)

FORECAST_EXAMPLES = Table(
    "forecast_examples",
    "study",
    "Three example households: history, truth, forecast, released (Fig. 3 of Ramakrishna et al.).",
    (
        _DESIGN,
        _RHO,
        Column("example", INT, "1", "number of the example, not an id"),
        Column("part", TEXT, "", "'history', 'truth', 'forecast' or 'released'"),
        Column("hours_from_origin", REAL, "h", "time relative to the origin of the forecast"),
        Column("energy_kwh", REAL, "kWh", "energy in the interval", nullable=True),
    ),
)
