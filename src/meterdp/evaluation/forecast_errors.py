"""Errors of forecasts in log kWh and in kWh, by household and of sums over households.

A forecast in kWh is a median. Sums over households are judged by means. Forecasts are of H households, n origins and
h steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meterdp.core.log_scale import PLAIN, LogScale

SCALES = ("log_kwh", "kwh")


@dataclass(frozen=True)
class Errors:
    """Errors of every forecast, (H, n, h), in log kWh or kWh (squared); NaN where there is no reading."""

    scale: str
    squared: np.ndarray
    absolute: np.ndarray


def plain_errors(log_forecast: np.ndarray, actual_log_kwh: np.ndarray, scale: LogScale = PLAIN) -> list[Errors]:
    """Errors of a forecast without noise, in log kWh and in kWh.

    In kWh a forecast is the inverse of the scale at the log forecast, the median of the distribution; (62) on a plain
    log.
    """
    gaps = log_forecast - actual_log_kwh, scale.kwh(log_forecast) - scale.kwh(actual_log_kwh)
    return [Errors(name, gap**2, np.abs(gap)) for name, gap in zip(SCALES, gaps, strict=True)]


def sum_measures(mean_kwh: np.ndarray, energy_kwh: np.ndarray, cells: np.ndarray) -> dict:
    """Judge sums over households of forecasts with these means.

    All are (H, n, h); a sum is over the cells of one origin and step, and errors are over origins and steps.
    """
    some = cells.any(axis=0)
    mean, energy = (np.where(cells, v, 0.0).sum(axis=0)[some] for v in (mean_kwh, energy_kwh))
    gap = mean - energy
    return {
        "sum_kwh": float(energy.mean()),
        "sum_bias_kwh": float(gap.mean()),
        "sum_rmse_kwh": float(np.sqrt((gap**2).mean())),
    }


def household_means(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Mean over the cells of each household that has some, one entry per such household."""
    count = cells.sum(axis=(1, 2))
    return np.where(cells, values, 0.0).sum(axis=(1, 2))[count > 0] / count[count > 0]
