"""Tables the ``forecasting`` room writes: ARMA fits, rolling forecasts, the law of the released forecast."""

from __future__ import annotations

from meterdp.core.tables import COUNT, INT, REAL, STAMP_UTC, TEXT, VECTOR, Column, Table

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
    "ARMA(p, q) fit per household on the deseasonalised log load of the training window.",
    (
        _HOUSEHOLD,
        Column("status", TEXT, "", "which step of the fallback chain gave the fit"),
        Column("ar", VECTOR, "1", "coefficients phi_1..phi_p of x[t] = sum phi_i x[t-i] + e[t] + sum theta_j e[t-j]"),
        Column("ma", VECTOR, "1", "coefficients theta_1..theta_q"),
        Column("mean_log_kwh", REAL, "log kWh", "mean of the residual log load in the training window"),
        Column("innovation_variance", REAL, "(log kWh)^2", "variance of e[t]"),
        Column("log_likelihood", REAL, "nats", "Gaussian log-likelihood at the fit"),
        Column("observation_count", COUNT, "readings", "readings used"),
    ),
)

ARMA_SUMMARY = Table(
    "arma_summary",
    "study",
    "How many households each step of the fallback chain served.",
    (
        Column("status", TEXT, "", "step of the fallback chain"),
        Column("household_count", COUNT, "households", "households"),
        Column("meaning", TEXT, "", "the step in words"),
    ),
)

FORECASTS = Table(
    "forecasts",
    "private",
    "Forecasts of log load from rolling origins, what then happened, and two naive forecasts.",
    (
        _HOUSEHOLD,
        Column("origin", INT, "1", "number of the origin, 0 is the first"),
        Column("step", INT, "1", "steps ahead, from 1"),
        Column("interval_start_utc", STAMP_UTC, "UTC", "start of the forecast interval"),
        Column("forecast_log_kwh", REAL, "log kWh", "conditional mean (57), seasonal part added back"),
        Column("last_value_log_kwh", REAL, "log kWh", "naive: the last reading before the origin", nullable=True),
        Column("last_week_log_kwh", REAL, "log kWh", "naive: same local time one week before", nullable=True),
        Column("actual_log_kwh", REAL, "log kWh", "held-out reading, clipped and logged", nullable=True),
    ),
)

FORECAST_LAWS = Table(
    "forecast_laws",
    "private",
    "Gaussian law (57) of the forecast at the last origin: the query that is released.",
    (
        _HOUSEHOLD,
        Column("origin_utc", STAMP_UTC, "UTC", "start of the first forecast interval"),
        Column("mean_log_kwh", VECTOR, "log kWh", "forecast mean with its seasonal part, one entry per step"),
        Column("covariance", VECTOR, "(log kWh)^2", "covariance (57) of the future given the past, by rows"),
    ),
)

FORECAST_ERRORS = Table(
    "forecast_errors",
    "study",
    "Errors of forecasts and released forecasts against held-out readings over all rolling origins.",
    (
        Column("method", TEXT, "", "'arma', 'last_value', 'last_week' or 'released'"),
        Column("design", TEXT, "", "noise design of a released forecast, 'none' otherwise"),
        Column("rho", REAL, "(log kWh)^2", "accuracy budget of the noise, 0 without noise"),
        Column("scale", TEXT, "", "'log_kwh' or 'kwh'"),
        Column("mse", REAL, "scale^2", "mean squared error"),
        Column("nmse", REAL, "1", "sum of squared errors over sum of squared readings, mean over households"),
        Column("nmse_se", REAL, "1", "standard error of nmse over households"),
        Column("relative_mse", REAL, "1", "squared error over the variance of the held-out readings, pooled"),
        Column("household_count", COUNT, "households", "households averaged over"),
        Column("origin_count", COUNT, "1", "rolling origins per household"),
    ),
)
