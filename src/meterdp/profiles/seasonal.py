"""The seasonal part of log load (61), Ramakrishna et al.: the slowly known part of a household's load.

The paper's is a mean over the training window, which stays where that window put it. The rolling one moves with the
origin of a forecast. Either comes from readings of that household only, and from none after an origin: given the
past it is a number, so the distribution of the future given the past is that of the residual, moved by it. Missing
readings are left out of the averages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.profiles.constants import SEASON
from meterdp.profiles.grid import Calendar


def _group_mean(values: np.ndarray, group: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and count of finite values per household and group, (H, groups) each; NaN for an empty group."""
    finite = np.isfinite(values)
    order = np.argsort(group, kind="stable")
    present, begin = np.unique(group[order], return_index=True)
    total, count = np.zeros((2, len(values), groups))
    if present.size:
        total[:, present] = np.add.reduceat(np.where(finite, values, 0.0)[:, order], begin, axis=1)
        count[:, present] = np.add.reduceat(finite[:, order].astype(float), begin, axis=1)
    with np.errstate(invalid="ignore"):
        return total / np.where(count > 0, count, np.nan), count


def _circular_smooth(mean: np.ndarray, count: np.ndarray, bandwidth_slots: float) -> np.ndarray:
    """Smooth (H, G) group means around the circle by a Gaussian kernel, weighting each by its count."""
    groups = mean.shape[1]
    distance = np.minimum(np.arange(groups), groups - np.arange(groups))
    kernel = np.fft.rfft(np.exp(-0.5 * (distance / bandwidth_slots) ** 2))
    weighted = np.fft.irfft(np.fft.rfft(np.nan_to_num(mean) * count, axis=1) * kernel, groups, axis=1)
    weight = np.fft.irfft(np.fft.rfft(count, axis=1) * kernel, groups, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(weight > 1e-6, weighted / weight, np.nan)


@dataclass(frozen=True)
class Season:
    """Public settings of the seasonal part."""

    # "rolling": mean of the last days at the same local time; or mean of the training window, "time_of_week" per slot
    # of the local week, "time_of_day" per slot of the local day, "smoothed" per slot of the week, smoothed around it.
    method: str
    # Training window: all that a fixed season looks at, and what a rolling one falls back to.
    train: slice
    # Steps of a forecast. A rolling season takes no reading less than so many slots old, so that it is known at the
    # origin for every step.
    horizon: int = 1
    # "log" averages logs, as section V-B of the paper says; "kwh" takes the log of average energy: the seasonal part
    # is then removed before the log, as section VI-B says (defect R6).
    scale: str = "log"
    # Standard deviation of the kernel of "smoothed".
    smoothing_hours: float = 1.0
    # Days a rolling season reaches back, the weight of a day over that of the day after it, and the factor on a
    # weekend day for a working day and the other way round.
    rolling_days: int = 14
    day_decay: float = 0.85
    other_day_weight: float = 0.5
    log_scale: LogScale = PLAIN

    @classmethod
    def from_config(cls, profiles: Mapping, train: slice, horizon: int, interval_minutes: int) -> Season:
        """Take the section ``profiles`` of the configuration, or what a reproduction says in its place."""
        profiles = {**SEASON, **profiles}
        return cls(
            profiles["seasonal"],
            train,
            horizon,
            profiles["seasonal_scale"],
            profiles["smoothing_hours"],
            profiles["rolling_days"],
            profiles["rolling_day_decay"],
            profiles["rolling_other_day_weight"],
            PLAIN.of_kind(profiles.get("log_scale", {})).over(interval_minutes),
        )


def seasonal_part(log_kwh: np.ndarray, calendar: Calendar, season: Season) -> np.ndarray:
    """Return the log of the seasonal part of every slot, (H, T), of the log load (H, T), NaN where missing.

    It is finite everywhere: empty slots fall back to the time of day, then to the household's mean, then to 0.
    """
    if season.scale == "kwh":
        part = seasonal_part(season.log_scale.kwh(log_kwh), calendar, replace(season, scale="log"))
        # On a scale without zero, that is what a household without any reading has.
        part = part if season.log_scale.has_zero else np.where(part > 0, part, 1.0)
        return season.log_scale.log(part)
    if season.method == "rolling":
        part = _rolling_mean(log_kwh, calendar, season)
        # Of the first day of an export, of a long gap: of slots from which no forecast of a study starts.
        some = np.flatnonzero(~np.isfinite(part).all(axis=0))
        rest, fixed = part[:, some], _window_mean(log_kwh, calendar, replace(season, method="time_of_day"), some)
        part[:, some] = np.where(np.isfinite(rest), rest, fixed)
        return part
    return _window_mean(log_kwh, calendar, season)


def _rolling_mean(log_kwh: np.ndarray, calendar: Calendar, season: Season) -> np.ndarray:
    """Weighted mean of the last days at the same local time; NaN where no day is known; (H, T)."""
    # Snakefiles import this module for its settings, and a plan must not wait for a compiler to be loaded.
    from meterdp.profiles.weighted_means import weighted_means

    weekend, slots = calendar.is_weekend, np.arange(calendar.slot_count)
    known_days = -(-season.horizon // calendar.slots_per_day)
    sources, weights = [], []
    for back in range(known_days, known_days + season.rolling_days):
        source = calendar.same_time_before(back)
        # A clock change brings the same local time an hour nearer.
        source[source > slots - season.horizon] = -1
        kind = np.where(weekend[source] == weekend, 1.0, season.other_day_weight)
        sources.append(source)
        weights.append(season.day_decay ** (back - known_days) * kind)
    out = np.empty(log_kwh.shape)
    weighted_means(np.ascontiguousarray(log_kwh), np.array(sources), np.array(weights), out)
    return out


def _window_mean(log_kwh: np.ndarray, calendar: Calendar, season: Season, slots=slice(None)) -> np.ndarray:
    """Mean over the training window, continued over all slots or some; (H, T)."""
    known = log_kwh[:, season.train]
    day_mean, _ = _group_mean(known, calendar.slot_of_day[season.train], calendar.slots_per_day)
    part, slot = day_mean, calendar.slot_of_day
    if season.method != "time_of_day":
        part, count = _group_mean(known, calendar.slot_of_week[season.train], 7 * calendar.slots_per_day)
        slot = calendar.slot_of_week
        if season.method == "smoothed":
            part = _circular_smooth(part, count, season.smoothing_hours * calendar.slots_per_hour)
        part = np.where(np.isfinite(part), part, np.tile(day_mean, (1, 7)))
    finite = np.isfinite(known)
    level = np.where(finite, known, 0.0).sum(axis=1) / np.maximum(finite.sum(axis=1), 1)
    part = np.where(np.isfinite(part), part, level[:, None])
    return part[:, slot[slots]]
