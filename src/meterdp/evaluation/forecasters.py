"""Is the released forecast any good? Every forecaster beside the study's own, on the same homes, origins and steps.

Differences are paired: the errors of two forecasters on one home go together, and homes are the sample.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from meterdp.core.log_scale import LogScale
from meterdp.evaluation.forecast_errors import Errors, household_means, plain_errors, sum_measures
from meterdp.forecasting.energy import ROUNDING, censored_crps
from meterdp.forecasting.forecasters import FORECASTERS, Forecast, Task
from meterdp.forecasting.rolling import ForecastSet

_MEASURES = (
    "mse",
    "mse_ratio",
    "mse_ratio_se",
    "mse_ratio_median",
    "won_share",
    "mae",
    "mae_ratio",
    "mae_ratio_se",
    "mae_ratio_median",
    "mae_won_share",
    "mase",
    "crps_kwh",
    "covered_50_share",
    "covered_90_share",
    "rmse_mean_kwh",
    "sum_kwh",
    "sum_bias_kwh",
    "sum_rmse_kwh",
    "sum_of_medians_bias_kwh",
)


def comparison_rows(own: ForecastSet, task: Task, names: list[str]) -> list[dict]:
    """Return the rows of table ``forecaster_comparison``: the study's own forecasts, then those that are named.

    A ratio is the mean error over homes by that of the study's forecast; its standard error is that of mean(a - ratio
    b) / mean(b) over homes. All are judged on the cells that every forecaster covers, by their medians first; then by
    their means, which alone may be added up over homes, and by their distributions.
    """
    method = task.settings["method"]
    found = {method: Forecast(own.forecast_log_kwh, std_log_kwh=own.forecast_std_log_kwh)}
    found |= {name: FORECASTERS[name]().forecast(task) for name in names if name != method}
    cells = np.isfinite(own.actual_log_kwh)
    for forecast in found.values():
        cells &= np.isfinite(forecast.median_log_kwh)
    naive = naive_error_kwh(task)[cells.any(axis=(1, 2))]
    reference = plain_errors(own.forecast_log_kwh, own.actual_log_kwh, task.scale)
    rows = []
    for name, forecast in found.items():
        judged = plain_errors(forecast.median_log_kwh, own.actual_log_kwh, task.scale)
        for errors, base in zip(judged, reference, strict=True):
            rows.append(_facts(name, errors.scale) | _measures(errors, base, cells, naive))
        if cells.any():
            rows[-1] |= mean_measures(forecast, own.actual_log_kwh, cells, task.scale)
    counts = {"household_count": int(cells.any(axis=(1, 2)).sum()), "origin_count": cells.shape[1]}
    return [row | counts for row in rows]


def _facts(name: str, scale: str) -> dict:
    made = FORECASTERS[name]
    return {"forecaster": name, "label": made.label, "looks_at": made.looks_at, "scale": scale}


def _measures(errors: Errors, base: Errors, cells: np.ndarray, naive: np.ndarray) -> dict:
    row = dict.fromkeys(_MEASURES)
    if not cells.any():
        return row
    for short, field in (("mse", "squared"), ("mae", "absolute")):
        a, b = (household_means(getattr(e, field), cells) for e in (errors, base))
        won = {"mse": "won_share", "mae": "mae_won_share"}[short]
        row |= {short: float(a.mean()), won: float((a < b).mean())}
        if b.mean() > 0:
            ratio = a.mean() / b.mean()
            spread = (a - ratio * b).std(ddof=1) / np.sqrt(a.size) / b.mean() if a.size > 1 else None
            row |= {f"{short}_ratio": float(ratio), f"{short}_ratio_se": spread}
        if (b > 0).any():
            row[f"{short}_ratio_median"] = float(np.median(a[b > 0] / b[b > 0]))
        if short == "mae" and errors.scale == "kwh" and (naive > 0).any():
            row["mase"] = float(np.mean(a[naive > 0] / naive[naive > 0]))
    return row


def mean_measures(forecast: Forecast, actual_log_kwh: np.ndarray, cells: np.ndarray, scale: LogScale) -> dict:
    """Judge means and, where there is one, the distribution of the clipped energy; all in kWh."""
    energy, mean = scale.clipped_kwh(np.where(cells, actual_log_kwh, 0.0)), forecast.means(scale)
    row = {
        "rmse_mean_kwh": float(np.sqrt(household_means((mean - energy) ** 2, cells).mean())),
        **sum_measures(mean, energy, cells),
    }
    medians = Forecast(forecast.median_log_kwh).means(scale)
    row["sum_of_medians_bias_kwh"] = sum_measures(medians, energy, cells)["sum_bias_kwh"]
    median, std = forecast.median_log_kwh, forecast.std_log_kwh
    if std is not None:
        row["crps_kwh"] = float(household_means(censored_crps(median, std, energy, scale), cells).mean())
        gap = np.abs(actual_log_kwh - median)
        for level in (50, 90):
            inside = gap <= ndtri(0.5 + level / 200) * std + ROUNDING
            row[f"covered_{level}_share"] = float(household_means(inside, cells).mean())
    return row


def naive_error_kwh(task: Task) -> np.ndarray:
    """Mean absolute error of yesterday's reading in the first training window, (H,) kWh; 0 where there is none.

    The scale of the mean absolute scaled error of Hyndman and Koehler (2006).
    """
    calendar, window = task.load.calendar, task.rolling.windows[0].slots
    energy, source = task.scale.kwh(task.load.log_kwh), calendar.same_time_before(1)
    known = np.flatnonzero(source >= 0)
    known = known[(known >= window.start) & (known < window.stop)]
    gap = np.abs(energy[:, known] - energy[:, source[known]])
    seen = np.isfinite(gap)
    return np.where(seen, gap, 0.0).sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
