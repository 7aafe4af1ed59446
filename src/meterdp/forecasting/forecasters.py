"""Every forecaster of the comparison: what each is given and has to give, and a line each at the end.

Those of a study can be released: a season and a process of what it leaves. The others stand beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.forecasting.distribution import forecast_std
from meterdp.forecasting.energy import censored_moment
from meterdp.forecasting.rolling import Rolling, roll
from meterdp.forecasting.settings import OWN, POOLED
from meterdp.forecasting.study import window_fits
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.seasonal import Season, seasonal_part


@dataclass(frozen=True)
class Task:
    """What to forecast: H households, by which origins, steps and training windows, and the section ``forecast``."""

    load: LogLoad
    rolling: Rolling
    settings: Mapping
    threads: int = 1
    scale: LogScale = PLAIN


@dataclass(frozen=True)
class Forecast:
    """Medians in log kWh and, of a forecaster that has some, means in kWh; (H, n, h), NaN where there is none.

    ``std_log_kwh`` is of the Gaussian distribution of log load about the median, where a forecaster has one.
    """

    median_log_kwh: np.ndarray
    mean_kwh: np.ndarray | None = None
    std_log_kwh: np.ndarray | None = None

    def means(self, scale: LogScale) -> np.ndarray:
        """Return means in kWh within the bounds: its own, those of the distribution, or the one number it has."""
        if self.mean_kwh is None and self.std_log_kwh is not None:
            return censored_moment(self.median_log_kwh, self.std_log_kwh, scale, 1)
        kwh = scale.kwh(self.median_log_kwh) if self.mean_kwh is None else self.mean_kwh
        return np.clip(kwh, *scale.bounds_kwh)


class Forecaster(Protocol):
    """A kind of forecast; it ``looks_at`` :data:`OWN` readings if one follows from these and public settings, else
    :data:`POOLED`.
    """

    label: ClassVar[str]
    looks_at: ClassVar[str]

    def forecast(self, task: Task) -> Forecast:
        """Nothing at or after an origin may enter."""
        ...


class _Process:
    process: ClassVar[str]
    looks_at = OWN

    def forecast(self, task: Task) -> Forecast:
        load, rolling = task.load, task.rolling
        fits = window_fits(load, {**task.settings, "method": self.process}, task.threads)
        median = roll(load, fits, rolling).forecasts.forecast_log_kwh
        std = np.full(median.shape, np.nan)
        for window, own_fits in zip(rolling.windows, fits, strict=True):
            origins = rolling.origins[window.origins]
            for row, fit in enumerate(own_fits):
                std[row, window.origins] = forecast_std(fit, load.residual_log_kwh[row], origins, rolling.horizon)
        return Forecast(median, std_log_kwh=std)


class Arma(_Process):
    """Season plus ARMA(p, q)."""

    process, label = "arma", "ARMA on the season"


class LongAr(_Process):
    """Season plus an autoregression of high order by Yule-Walker."""

    process, label = "ar", "long autoregression on the season"


class SeasonAlone(_Process):
    """The season and nothing else."""

    process, label = "season", "the season alone"


LATEST = 12  # residuals before the origin
TRAINING_FORECASTS = 100_000  # drawn of a window's, however many homes there are
TREES, LEARNING_RATE, FEWEST_OF_A_LEAF = 100, 0.1, 50


class GradientBoosting:
    """For comparison only: regression trees by gradient boosting, trained on all households together.

    One model for all steps and homes, on what is known at the origin: the latest residuals of the season and means
    of them, the same time on the days before, level and spread of the home, the mean residual of all homes, time and
    day. Medians minimise the absolute error and means the squared error, both in kWh beside the season.

    What it learns of one household it uses for the others, so a forecast tells of readings that are not the
    household's own and no guarantee here covers that.
    """

    label, looks_at = "gradient boosting", POOLED

    def forecast(self, task: Task) -> Forecast:
        rolling, load = task.rolling, task.load
        known, homes = _Known(load), np.arange(len(load.log_kwh))
        found = np.full((2, len(homes), *rolling.slots.shape), np.nan)
        for window in rolling.windows:
            # A week is needed to look back at; a window that has no more leaves the season alone.
            first = max(window.slots.start, 7 * load.calendar.slots_per_day)
            train = np.arange(first, window.slots.stop - rolling.horizon + 1)
            at = np.meshgrid(homes, rolling.origins[window.origins], np.arange(rolling.horizon), indexing="ij")
            found[:, :, window.origins] = task.scale.kwh(load.seasonal_log_kwh[at[0], at[1] + at[2]])
            if train.size:
                found[:, :, window.origins] += self._learn(task, known, train, at)
        median, mean = np.clip(found, *task.scale.bounds_kwh)
        return Forecast(task.scale.log(median), mean)

    def _learn(self, task: Task, known: _Known, train: np.ndarray, at: list[np.ndarray]) -> list[np.ndarray]:
        """Return by how many kWh median and mean lie above the season."""
        from sklearn.ensemble import HistGradientBoostingRegressor  # slow to import, and every job would

        load = task.load
        shape = len(load.log_kwh), train.size, task.rolling.horizon
        count = min(TRAINING_FORECASTS, int(np.prod(shape)))
        # Spread evenly, at no regular distance: by the golden ratio.
        some = (np.arange(count) * (math.sqrt(5) - 1) / 2 % 1 * np.prod(shape)).astype(int)
        row, origin, step = np.unravel_index(some if count < np.prod(shape) else np.arange(count), shape)
        slot = train[origin] + step
        target = task.scale.kwh(load.log_kwh[row, slot]) - task.scale.kwh(load.seasonal_log_kwh[row, slot])
        seen = np.isfinite(target)
        features = known.features(row[seen], train[origin][seen], step[seen])
        ahead, found = known.features(*map(np.ravel, at)), []
        # More threads than free cores wait for one another at each tree; sums would depend on their number.
        with threadpool_limits(1):
            for loss in ("absolute_error", "squared_error"):
                model = HistGradientBoostingRegressor(
                    loss=loss,
                    learning_rate=LEARNING_RATE,
                    max_iter=TREES,
                    min_samples_leaf=FEWEST_OF_A_LEAF,
                    early_stopping=False,
                )
                found.append(model.fit(features, target[seen]).predict(ahead).reshape(at[0].shape))
        return found


class _Known:
    """What is known at origins, as features of a forecast; NaN where it is missing, which the trees take."""

    def __init__(self, load: LogLoad):
        self.load, self.residual = load, load.residual_log_kwh
        day = load.calendar.slots_per_day
        seen = np.isfinite(self.residual)
        of_all = np.where(seen, self.residual, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
        self.of_all = of_all[None]
        self.means = [_trailing_mean(self.residual, slots) for slots in (day // 4, day, 7 * day)]
        self.means += [_trailing_mean(load.log_kwh, slots) for slots in (day, 7 * day)]
        self.means += [np.sqrt(_trailing_mean(self.residual**2, slots)) for slots in (day, 7 * day)]
        self.means_of_all = [_trailing_mean(self.of_all, slots)[0] for slots in (load.calendar.slots_per_hour, day)]

    def features(self, row: np.ndarray, origin: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return (N, features) float32 of N forecasts: household, slot of the origin and step from 0."""
        load, calendar = self.load, self.load.calendar
        day, slot = calendar.slots_per_day, origin + step
        # The same time on the last day that is known at the origin.
        before = {days: np.maximum(slot - day * (days + step // day), 0) for days in (1, 2, 7)}
        columns = [self.residual[row, origin - lag] for lag in range(1, LATEST + 1)]
        columns += [mean[row, origin] for mean in self.means]
        columns += [self.residual[row, slots] for slots in before.values()]
        columns += [load.log_kwh[row, before[1] + near] for near in (-1, 0, 1)] + [load.log_kwh[row, before[7]]]
        columns += [self.of_all[0, origin - 1], self.of_all[0, before[1]], *(m[origin] for m in self.means_of_all)]
        columns += [load.seasonal_log_kwh[row, slot], load.log_kwh[row, origin - 1]]
        columns += [calendar.slot_of_day[slot], calendar.slot_of_week[slot] // day, step]
        return np.stack(columns, axis=-1).astype(np.float32)


def _trailing_mean(values: np.ndarray, slots: int) -> np.ndarray:
    """Mean of the finite values of the ``slots`` slots before every slot 0..T of (H, T), NaN if none; (H, T + 1)."""
    seen = np.isfinite(values)
    total, count = (np.pad(np.cumsum(part, axis=1), ((0, 0), (1, 0))) for part in (np.where(seen, values, 0.0), seen))
    now = np.arange(values.shape[1] + 1)
    then = np.maximum(now - slots, 0)
    count = count[:, now] - count[:, then]
    return np.where(count > 0, total[:, now] - total[:, then], np.nan) / np.maximum(count, 1)


DAYS = 7


class RollingMean:
    """What a layman would try first: the mean of the same local time over the last seven days.

    Of log energy; on squared and absolute error in log, its own scale, the strongest form of the idea.
    """

    label, looks_at, scale = "mean of the last seven days", OWN, "log"

    def forecast(self, task: Task) -> Forecast:
        return Forecast(rolling_mean(task, DAYS, 1.0, self.scale)[:, task.rolling.slots])


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


WEIGHTS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)
EXPONENTIAL_SMOOTHING_DAYS = 28


class ExponentialSmoothing:
    """Every slot of the day is smoothed over the days, as fast as the past liked best (Gardner 1985).

    With weight w on the latest day the forecast is sum over k of w (1 - w)^k times the reading k + 1 days back: a
    rolling mean whose weights fall off geometrically. Each household and training window has its own w, the one of a
    public grid with the smallest squared error one day ahead in the window.
    """

    label, looks_at = "seasonal exponential smoothing", OWN

    def forecast(self, task: Task) -> Forecast:
        rolling, log_kwh = task.rolling, task.load.log_kwh
        best = np.full((len(rolling.windows), len(log_kwh)), np.inf)
        found = np.full((len(log_kwh), *rolling.slots.shape), np.nan)
        for weight in WEIGHTS:
            smoothed = rolling_mean(task, EXPONENTIAL_SMOOTHING_DAYS, 1.0 - weight)
            for number, window in enumerate(rolling.windows):
                gap = log_kwh[:, window.slots] - smoothed[:, window.slots]
                error = np.where(np.isfinite(gap), gap, 0.0)
                error = (error**2).sum(axis=1)
                better = np.flatnonzero(error < best[number])
                best[number, better] = error[better]
                found[np.ix_(better, window.origins)] = smoothed[better][:, rolling.slots[window.origins]]
        return Forecast(found)


FORECASTERS: dict[str, type[Forecaster]] = {
    "arma": Arma,
    "ar": LongAr,
    "season": SeasonAlone,
    "rolling_mean": RollingMean,
    "rolling_mean_kwh": RollingMeanEnergy,
    "exponential_smoothing": ExponentialSmoothing,
    "gradient_boosting": GradientBoosting,
}
