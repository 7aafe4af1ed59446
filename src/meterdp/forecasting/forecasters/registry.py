"""Every forecaster of the comparison: one line each."""

from __future__ import annotations

from meterdp.forecasting.forecasters.auto_ets import AutoEts
from meterdp.forecasting.forecasters.exponential_smoothing import ExponentialSmoothing
from meterdp.forecasting.forecasters.interface import Forecaster
from meterdp.forecasting.forecasters.pooled_ridge import PooledRidge
from meterdp.forecasting.forecasters.processes import Arma, LongAr, SeasonAlone
from meterdp.forecasting.forecasters.rolling_mean import RollingMean, RollingMeanEnergy

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
