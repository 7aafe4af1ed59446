"""Forecasters that a study can release: a season and a process of what it leaves, see ``forecast.method``."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from meterdp.forecasting.forecasters.interface import OWN, Task
from meterdp.forecasting.rolling import roll
from meterdp.forecasting.study import window_fits


class _Process:
    process: ClassVar[str]
    looks_at = OWN

    def forecast(self, task: Task) -> np.ndarray:
        """Fit the process on every training window and forecast from every origin; (H, n, h) log kWh."""
        fits = window_fits(task.load, {**task.settings, "method": self.process}, task.threads)
        return roll(task.load, fits, task.rolling).forecasts.forecast_log_kwh


class Arma(_Process):
    """Season plus ARMA(p, q)."""

    process, label = "arma", "ARMA on the season"


class LongAr(_Process):
    """Season plus an autoregression of high order by Yule-Walker."""

    process, label = "ar", "long autoregression on the season"


class SeasonAlone(_Process):
    """The season and nothing else."""

    process, label = "season", "the season alone"
