"""Tables that ``forecasting`` writes: ARMA fits, rolling forecasts, the distribution of the released forecast."""

from __future__ import annotations

from meterdp.core.tables import COUNT, INT, REAL, STAMP_UTC, TEXT, VECTOR, Column, Table

_ORIGIN = Column("origin", INT, "1", "number of the origin, 0 is the first")
_STEP = Column("step", INT, "1", "steps ahead, from 1")
_START = Column("interval_start_utc", STAMP_UTC, "UTC", "start of the forecast interval")
_HOUSEHOLD = Column("household", INT, "1", "dense index of the household")

FORECAST_HOUSEHOLDS = Table(
    "forecast_households",
    "private",
    "Households chosen for forecasting, by a rule that looks at no reading but the quality checks.",
    (_HOUSEHOLD,),
)

ARMA_FITS = Table(
    "arma_fits",
    "private",
    "Process fitted per household and training window on the deseasonalised log load.",
    (
        _HOUSEHOLD,
        Column("window", INT, "1", "number of the training window, 0 is the first"),
        Column("status", TEXT, "", "which step of the fallback chain gave the fit"),
        Column("ar", VECTOR, "1", "coefficients phi_1..phi_p of x[t] = sum phi_i x[t-i] + e[t] + sum theta_j e[t-j]"),
        Column("ma", VECTOR, "1", "coefficients theta_1..theta_q"),
        Column("mean_log_kwh", REAL, "log kWh", "mean of the residual log load in the training window"),
        Column("innovation_variance", REAL, "(log kWh)^2", "variance of e[t]"),
        Column("log_likelihood", REAL, "nats", "exact Gaussian log-likelihood at the fit, without a prior"),
        Column("observation_count", COUNT, "readings", "readings used"),
        Column("ljung_box_p", REAL, "1", "p-value of Ljung-Box on the innovations, p + q + 10 lags; NaN if untested"),
        Column("skewness", REAL, "1", "of the innovations over their standard deviations"),
        Column("excess_kurtosis", REAL, "1", "of the innovations, 0 for a normal distribution"),
        Column("jarque_bera_p", REAL, "1", "p-value of normal innovations, from the two before"),
        Column("arch_p", REAL, "1", "p-value of Ljung-Box on the squared innovations, 10 lags (McLeod-Li)"),
        Column("start", INT, "1", "start point of the search the fit was found from, 0 is the first"),
        Column("iterations", COUNT, "1", "iterations from that start, 0 without a search of our own"),
        Column("evaluations", COUNT, "1", "likelihoods computed over all starts"),
    ),
)

ARMA_SUMMARY = Table(
    "arma_summary",
    "study",
    "How many fits each step of the fallback chain served; a household has one for each training window.",
    (
        Column("status", TEXT, "", "step of the fallback chain"),
        Column("fit_count", COUNT, "fits", "fits, over households and training windows"),
        Column("household_count", COUNT, "households", "households with such a fit in the first window"),
        Column("meaning", TEXT, "", "what the step is"),
    ),
)

FORECASTS = Table(
    "forecasts",
    "private",
    "Forecasts of log load from rolling origins, what then happened, and two naive forecasts.",
    (
        _HOUSEHOLD,
        _ORIGIN,
        _STEP,
        _START,
        Column(
            "forecast_log_kwh", REAL, "log kWh", "conditional mean (57) with its season, held within late readings"
        ),
        Column("actual_log_kwh", REAL, "log kWh", "held-out reading, clipped and logged", nullable=True),
        Column("forecast_std_log_kwh", REAL, "log kWh", "standard deviation of the reading about its forecast, (57)"),
    ),
)

FORECAST_MARKS = Table(
    "forecast_marks",
    "private",
    "What to be wary of in a household's forecasts.",
    (
        _HOUSEHOLD,
        Column("mark", TEXT, "", "see the summary"),
        Column("held_share", REAL, "1", "share of forecast steps held at the bound of the household's late readings"),
        Column(
            "innovation_ratio",
            REAL,
            "1",
            "variance of innovations between the last training window and the last origin over that in the window",
            nullable=True,
        ),
    ),
)

FORECAST_MARKS_SUMMARY = Table(
    "forecast_marks_summary",
    "study",
    "How many households bear which mark.",
    (
        Column("mark", TEXT, "", "mark"),
        Column("household_count", COUNT, "households", "households"),
        Column("meaning", TEXT, "", "what the mark means"),
    ),
)

FORECASTS_AHEAD = Table(
    "forecasts_ahead",
    "private",
    "Forecasts of the steps after the last reading, for a release; a household without one has no row.",
    (
        _HOUSEHOLD,
        Column("forecast_log_kwh", VECTOR, "log kWh", "conditional mean (57) with its seasonal part, by steps"),
    ),
    file_name="release/forecasts_ahead/part-<shard>.parquet",
)

FORECAST_DISTRIBUTIONS = Table(
    "forecast_distributions",
    "private",
    "At the last origin: the forecast, the distribution (57) of the future about it, and the distribution of the "
    "forecast itself.",
    (
        _HOUSEHOLD,
        Column("origin_utc", STAMP_UTC, "UTC", "start of the first forecast interval"),
        Column("mean_log_kwh", VECTOR, "log kWh", "forecast mean with its seasonal part, one entry per step"),
        Column("covariance", VECTOR, "(log kWh)^2", "covariance (57) of the future given the past, by rows"),
        Column("query_mean_log_kwh", VECTOR, "log kWh", "mean of the forecast over all pasts, one entry per step"),
        Column("query_covariance", VECTOR, "(log kWh)^2", "covariance of the forecast over all pasts, by rows"),
    ),
)


FORECASTS_KWH = Table(
    "forecasts_kwh",
    "private",
    "The forecast at the last origin in kWh, without noise: median, mean and intervals of its log-normal "
    "distribution.",
    (
        _HOUSEHOLD,
        _STEP,
        _START,
        Column("interval_start_local", TEXT, "", "the same as wall-clock time with its offset from UTC, ISO 8601"),
        Column("median_kwh", REAL, "kWh", "exponential of the forecast, clipped to the public bounds"),
        Column("mean_kwh", REAL, "kWh", "mean of the log-normal distribution, clipped to the public bounds"),
        Column("level", REAL, "1", "probability the interval should cover"),
        Column("lower_kwh", REAL, "kWh", "lower end of the central interval, clipped to the public bounds"),
        Column("upper_kwh", REAL, "kWh", "upper end"),
    ),
)
