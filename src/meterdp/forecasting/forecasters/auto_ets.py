"""Automatic exponential smoothing (error, trend) of what the season leaves, by statsforecast: an optional package."""

from __future__ import annotations

import importlib

import numpy as np

from meterdp.core.progress import progress
from meterdp.errors import NotInstalled
from meterdp.forecasting.forecasters.interface import OWN, Task


class AutoEts:
    """Hyndman's automatic choice among the models without season, anew at every origin."""

    label, looks_at = "AutoETS on the season", OWN

    def forecast(self, task: Task) -> np.ndarray:
        """Fit on the training window's length before every origin; (H, n, h) log kWh."""
        try:
            models = importlib.import_module("statsforecast.models")  # optional, and takes seconds to import
        except ImportError:
            raise NotInstalled(
                "needs the package statsforecast",
                field="forecast.compare",
                hint="pip install 'meterdp[forecasters]', or leave auto_ets out",
            ) from None
        load, rolling = task.load, task.rolling
        length = task.settings["train_days"] * load.calendar.slots_per_day
        residual = np.nan_to_num(load.residual_log_kwh)
        found = np.full((len(residual), *rolling.slots.shape), np.nan)
        for row in progress(range(len(residual)), "AutoETS", total=len(residual), private=True):
            for place, origin in enumerate(rolling.origins):
                past = residual[row, max(origin - length, 0) : origin]
                ahead = models.AutoETS(season_length=1).forecast(past, h=rolling.horizon)["mean"]
                found[row, place] = ahead + load.seasonal_log_kwh[row, rolling.slots[place]]
        return found
