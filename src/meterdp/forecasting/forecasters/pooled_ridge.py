"""For comparison only: one ridge regression a step, trained on all households together.

What it learns of one household it uses for the others, so a forecast tells of readings that are not the household's
own and no guarantee here covers that.
"""

from __future__ import annotations

import numpy as np

from meterdp.forecasting.forecasters.interface import POOLED, Task

LATEST = 12  # residuals before the origin
TRAINING_ORIGINS_PER_DAY = 24
PENALTY = 10.0


class PooledRidge:
    """Residuals of the season on the latest residuals, their daily means and those of the same time of day."""

    label, looks_at = "pooled ridge regression", POOLED

    def forecast(self, task: Task) -> np.ndarray:
        """Train on every window and forecast from its origins; (H, n, h) log kWh."""
        from sklearn.linear_model import Ridge  # slow to import, and every job that reads the registry would

        rolling, load = task.rolling, task.load
        day = load.calendar.slots_per_day
        residual = np.nan_to_num(load.residual_log_kwh)
        found = np.full((len(residual), *rolling.slots.shape), np.nan)
        for window in rolling.windows:
            first = max(window.slots.start, 7 * day)
            step = max(day // TRAINING_ORIGINS_PER_DAY, 1)
            train = np.arange(first, window.slots.stop - rolling.horizon, step)
            origins = rolling.origins[window.origins]
            if not train.size:  # a window of a week or less leaves nothing to learn from: the season alone
                found[:, window.origins] = load.seasonal_log_kwh[:, rolling.slots[window.origins]]
                continue
            for j in range(rolling.horizon):
                target = residual[:, train + j].ravel()
                model = Ridge(alpha=PENALTY).fit(_features(residual, train, j, day), target)
                ahead = model.predict(_features(residual, origins, j, day)).reshape(len(residual), -1)
                found[:, window.origins, j] = ahead + load.seasonal_log_kwh[:, origins + j]
        return found


def _features(residual: np.ndarray, origins: np.ndarray, step: int, day: int) -> np.ndarray:
    """What is known at origins of a residual ``step`` slots later, (H n, features)."""
    columns = [residual[:, origins - lag] for lag in range(1, LATEST + 1)]
    total = np.concatenate([np.zeros((len(residual), 1)), np.cumsum(residual, axis=1)], axis=1)
    for days in (1, 7):
        begin = np.maximum(origins - days * day, 0)
        columns.append((total[:, origins] - total[:, begin]) / (origins - begin))
    for days in (1, 2, 7):
        back = origins + step - day * (days + step // day)
        columns.append(residual[:, np.maximum(back, 0)])
    return np.stack(columns, axis=-1).reshape(-1, len(columns))
