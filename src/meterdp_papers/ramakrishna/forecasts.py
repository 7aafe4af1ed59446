"""The paper's own forecasts: a season that stays where the training window put it, coefficients estimated once.

Section VI-B of Ramakrishna et al. takes the seasonal mean (61) and the ARMA(6, 5) from the first fifteen days and
keeps both. A study's forecasts have moved on from there (docs/forecasts.md); the paper's figures are made of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.evaluation.forecast_errors import forecast_errors
from meterdp.forecasting.rolling import law_columns, roll
from meterdp.forecasting.study import rolling_of, window_fits
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.seasonal import Season, seasonal_part

# What a study may choose otherwise.
SEASON = {"seasonal": "smoothed", "seasonal_scale": "log", "smoothing_hours": 1.0}
FORECAST = {
    "method": "arma",
    "mean": "estimated",
    "largest_root": 0.9999,
    "starts": 9,
    "refit_days": None,
    "cap_days": None,
}


@dataclass(frozen=True)
class PaperForecasts:
    """Columns of table ``forecast_laws`` at the last origin and rows of table ``forecast_errors`` without noise."""

    laws: dict
    errors: list[dict]


def paper_forecasts(load: LogLoad, forecast: Mapping, scale: LogScale = PLAIN, threads: int = 1) -> PaperForecasts:
    """Forecast every household as the paper does.

    Parameters
    ----------
    load : LogLoad
        H households; its seasonal part is not looked at.
    forecast : mapping
        Section ``forecast`` of the configuration.
    scale : LogScale
        Of the load.
    threads : int
        Cores to use.
    """
    settings = {**forecast, **FORECAST}
    calendar = load.calendar
    season = Season(
        SEASON["seasonal"],
        calendar.window(settings["train_days"]),
        settings["horizon_steps"],
        SEASON["seasonal_scale"],
        SEASON["smoothing_hours"],
    )
    fixed = replace(load, seasonal_log_kwh=seasonal_part(load.log_kwh, calendar, season))
    fits, rolling = window_fits(fixed, settings, threads), rolling_of(calendar, settings)
    laws = law_columns(fixed, fits[-1], int(rolling.origins[-1]), rolling.horizon, rolling.cap_slots)
    return PaperForecasts(laws, forecast_errors(roll(fixed, fits, rolling).forecasts, scale))
