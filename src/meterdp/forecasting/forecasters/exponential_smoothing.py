"""Seasonal exponential smoothing: every slot of the day is smoothed over the days, as fast as the past liked best.

Gardner (1985). With weight w on the latest day the forecast is sum over k of w (1 - w)^k times the reading k + 1
days back: a rolling mean whose weights fall off geometrically. Each household has its own w, the one of a public
grid with the smallest squared error one day ahead in the training window.
"""

from __future__ import annotations

import numpy as np

from meterdp.forecasting.forecasters.interface import OWN, Task
from meterdp.forecasting.forecasters.rolling_mean import rolling_mean

WEIGHTS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)
DAYS = 28


class ExponentialSmoothing:
    """One smoothing weight per household and training window, chosen in the window."""

    label, looks_at = "seasonal exponential smoothing", OWN

    def forecast(self, task: Task) -> np.ndarray:
        """Return the smoothed day at every origin; (H, n, h) log kWh."""
        rolling, log_kwh = task.rolling, task.load.log_kwh
        best = np.full((len(rolling.windows), len(log_kwh)), np.inf)
        found = np.full((len(log_kwh), *rolling.slots.shape), np.nan)
        for weight in WEIGHTS:
            smoothed = rolling_mean(task, DAYS, 1.0 - weight)
            for number, window in enumerate(rolling.windows):
                gap = log_kwh[:, window.slots] - smoothed[:, window.slots]
                error = np.where(np.isfinite(gap), gap, 0.0)
                error = (error**2).sum(axis=1)
                better = np.flatnonzero(error < best[number])
                best[number, better] = error[better]
                found[np.ix_(better, window.origins)] = smoothed[better][:, rolling.slots[window.origins]]
        return found
