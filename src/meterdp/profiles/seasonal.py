"""Log load and its seasonal mean (61) of Ramakrishna et al.: the slowly known part of a household's load.

The mean comes from the training window of that household only; neither held-out readings nor another household
change it. Missing readings are left out of the averages.
"""

from __future__ import annotations

import numpy as np

from meterdp.profiles.grid import Calendar


def interval_bounds_kwh(clip_kwh_per_hour: tuple[float, float], interval_minutes: int) -> tuple[float, float]:
    """Return the public bounds of the energy in an interval, kWh, from those of an hour."""
    low, high = clip_kwh_per_hour
    return low * interval_minutes / 60, high * interval_minutes / 60


def log_load(energy_kwh: np.ndarray, clip_kwh_per_hour: tuple[float, float], interval_minutes: int) -> np.ndarray:
    """Return the log of the energy clipped to the public bounds.

    Parameters
    ----------
    energy_kwh : (H, T) float64
        Energy per interval, NaN where missing.
    clip_kwh_per_hour : (float, float)
        Bounds of an hourly energy; scaled to the interval.
    interval_minutes : int

    Returns
    -------
    (H, T) float64
        log kWh per interval, NaN where missing.
    """
    low, high = interval_bounds_kwh(clip_kwh_per_hour, interval_minutes)
    return np.log(np.clip(energy_kwh, low, high))  # np.clip lets NaN pass; a comparison-based clip would not


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


def seasonal_mean(
    log_kwh: np.ndarray,
    calendar: Calendar,
    train: slice,
    method: str,
    smoothing_hours: float = 1.0,
    scale: str = "log",
) -> np.ndarray:
    """Return the log of the seasonal part of every slot.

    Parameters
    ----------
    log_kwh : (H, T) float64
        Log load, NaN where missing.
    calendar : Calendar
    train : slice
        Training window; nothing outside is looked at.
    method : {"time_of_week", "time_of_day", "smoothed"}
        Mean per slot of the local week, per slot of the local day, or per slot of the week smoothed around it.
    smoothing_hours : float
        Standard deviation of the smoothing kernel.
    scale : {"log", "kwh"}
        Average logs, as section V-B of the paper says, or take the log of average energy: the seasonal part is then
        removed before the log, as section VI-B says (defect R6).

    Returns
    -------
    (H, T) float64
        Finite everywhere: empty slots fall back to the time of day, then to the household's mean, then to 0.
    """
    if scale == "kwh":
        season = seasonal_mean(np.exp(log_kwh), calendar, train, method, smoothing_hours)
        return np.log(np.where(season > 0, season, 1.0))  # zero only where a household has no reading at all
    known = log_kwh[:, train]
    day_mean, _ = _group_mean(known, calendar.slot_of_day[train], calendar.slots_per_day)
    season, slot = day_mean, calendar.slot_of_day
    if method != "time_of_day":
        season, count = _group_mean(known, calendar.slot_of_week[train], 7 * calendar.slots_per_day)
        slot = calendar.slot_of_week
        if method == "smoothed":
            season = _circular_smooth(season, count, smoothing_hours * calendar.slots_per_hour)
        season = np.where(np.isfinite(season), season, np.tile(day_mean, (1, 7)))
    finite = np.isfinite(known)
    level = np.where(finite, known, 0.0).sum(axis=1) / np.maximum(finite.sum(axis=1), 1)
    season = np.where(np.isfinite(season), season, level[:, None])
    return season[:, slot]
