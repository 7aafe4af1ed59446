"""Every forecaster of the comparison: one line each."""

from __future__ import annotations

from meterdp.forecasting.forecasters.interface import Forecaster
from meterdp.forecasting.forecasters.processes import (
    Arma,
    AutoEts,
    ExponentialSmoothing,
    LongAr,
    PooledRidge,
    RollingMean,
    RollingMeanEnergy,
    SeasonAlone,
)

FORECASTERS: dict[str, type[Forecaster]] = {
    "arma": Arma,
    "ar": LongAr,
    "season": SeasonAlone,
    "rolling_mean": RollingMean,
    "rolling_mean_kwh": RollingMeanEnergy,
    "exponential_smoothing": ExponentialSmoothing,
    "auto_ets": AutoEts,
    "pooled_ridge": PooledRidge,
}
