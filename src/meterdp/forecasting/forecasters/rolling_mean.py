"""What a layman would try first: the mean of the same local time over the last seven days."""

from __future__ import annotations

import numpy as np

from meterdp.forecasting.forecasters.interface import OWN, Task
from meterdp.profiles.seasonal import Season, seasonal_part

DAYS = 7


class RollingMean:
    """Mean of log energy; on squared and absolute error in log, its own scale, the strongest form of the idea."""

    label, looks_at, scale = "mean of the last seven days", OWN, "log"

    def forecast(self, task: Task) -> np.ndarray:
        """Return the mean of the seven days before every origin; (H, n, h) log kWh."""
        return rolling_mean(task, DAYS, 1.0, self.scale)[:, task.rolling.slots]


class RollingMeanEnergy(RollingMean):
    """Mean of energy."""

    label, scale = "mean of the last seven days, of kWh", "kwh"


def rolling_mean(task: Task, days: int, day_decay: float, scale: str = "log") -> np.ndarray:
    """Return a rolling season that makes no difference between days of the week; (H, T) log kWh."""
    season = Season(
        "rolling",
        task.rolling.windows[0].slots,
        task.rolling.horizon,
        scale,
        rolling_days=days,
        day_decay=day_decay,
        other_day_weight=1.0,
        log_scale=task.scale,
    )
    return seasonal_part(task.load.log_kwh, task.load.calendar, season)
