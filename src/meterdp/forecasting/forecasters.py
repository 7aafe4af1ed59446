"""Every forecaster of the comparison: what each is given and has to give, and a line each at the end.

Those of a study can be released: a season and a process of what it leaves. The others stand beside it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from meterdp.core.job import progress
from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.errors import NotInstalled
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


class Forecaster(Protocol):
    """A kind of forecast; it ``looks_at`` :data:`OWN` readings if one follows from these and public settings, else
    :data:`POOLED`.
    """

    label: ClassVar[str]
    looks_at: ClassVar[str]

    def forecast(self, task: Task) -> np.ndarray:
        """Return (H, n, h) float64 in log kWh; NaN where there is none. Nothing at or after an origin may enter.

        Raises :class:`NotInstalled` if an optional package is missing.
        """
        ...


class _Process:
    process: ClassVar[str]
    looks_at = OWN

    def forecast(self, task: Task) -> np.ndarray:
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


LATEST = 12  # residuals before the origin
TRAINING_ORIGINS_PER_DAY = 24
PENALTY = 10.0


class PooledRidge:
    """For comparison only: one ridge regression a step, trained on all households together.

    Residuals of the season on the latest residuals, their daily means and those of the same time of day. What it
    learns of one household it uses for the others, so a forecast tells of readings that are not the household's own
    and no guarantee here covers that.
    """

    label, looks_at = "pooled ridge regression", POOLED

    def forecast(self, task: Task) -> np.ndarray:
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


class AutoEts:
    """Hyndman's automatic exponential smoothing (error, trend) of what the season leaves, again at every origin.

    By statsforecast, an optional package; it is fitted on the training window's length before every origin.
    """

    label, looks_at = "AutoETS on the season", OWN

    def forecast(self, task: Task) -> np.ndarray:
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


DAYS = 7


class RollingMean:
    """What a layman would try first: the mean of the same local time over the last seven days.

    Of log energy; on squared and absolute error in log, its own scale, the strongest form of the idea.
    """

    label, looks_at, scale = "mean of the last seven days", OWN, "log"

    def forecast(self, task: Task) -> np.ndarray:
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


WEIGHTS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)
EXPONENTIAL_SMOOTHING_DAYS = 28


class ExponentialSmoothing:
    """Every slot of the day is smoothed over the days, as fast as the past liked best (Gardner 1985).

    With weight w on the latest day the forecast is sum over k of w (1 - w)^k times the reading k + 1 days back: a
    rolling mean whose weights fall off geometrically. Each household and training window has its own w, the one of a
    public grid with the smallest squared error one day ahead in the window.
    """

    label, looks_at = "seasonal exponential smoothing", OWN

    def forecast(self, task: Task) -> np.ndarray:
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
        return found


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
