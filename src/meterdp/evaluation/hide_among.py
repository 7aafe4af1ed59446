"""What it costs to hide a household among k: the error of released forecasts against the size of the groups.

Neighbourhoods are groups of at least k similar households (:mod:`meterdp.class_noise.neighbourhoods`), each
a problem of its own: it gets the least noise with which its own files keep (epsilon, delta). That guarantee is
``class_label``, for one file of one release and certain queries (section III-D of Ramakrishna et al.), and is read
off the exact curve. Beside the designs stands the mean forecast of the group for everybody in it, without noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from meterdp.class_noise.designs.registry import DESIGNS, noise_design
from meterdp.class_noise.inverse import Asker, budgets_near_limit
from meterdp.class_noise.neighbourhoods import balanced_groups, full_cluster_graph
from meterdp.class_noise.query_models import ClassQueries, Noise
from meterdp.class_noise.study import STUDIED, stack
from meterdp.core.job import progress
from meterdp.core.log_scale import LogScale
from meterdp.evaluation.forecast_errors import household_means
from meterdp.evaluation.tables import GROUP_MEAN
from meterdp.forecasting.rolling import ForecastSet

# What the figure shows. Sizes beyond the households with a forecast are said to be too large.
ASKED = {"sizes": (2, 5, 10, 20, 50, 100), "epsilon": 1.0, "delta": 1e-5}
TOO_LARGE = "more than the {} households with a forecast: there are not so many to hide among"  # words: keep
_CONVENTION = STUDIED["accuracy_convention"]
NOT_SERVED = "no noise that was tried hides the households of every group"


def hide_among_rows(
    distributions: pa.Table,
    features: np.ndarray,
    asked: Mapping,
    designs: Sequence[str],
    scale: LogScale,
) -> list[dict]:
    """Return the rows of table ``hide_among``: every size by every design, and the mean of the group.

    ``features`` (H, m) say what makes households similar, in the order of table ``forecast_distributions``; ``asked``
    has sizes, epsilon and delta, such as :data:`ASKED`. Designs are those for certain queries; ``none`` hides nobody
    and is left out. ``scale`` is that of the energy in an interval.
    """
    forecast = stack(distributions["mean_log_kwh"], -1)
    wanted = [
        (size, design) for size in sorted(asked["sizes"]) for design in (*designs, GROUP_MEAN) if design != "none"
    ]
    groups: dict[int, list[np.ndarray]] = {}
    rows = []
    for size, design in progress(wanted, "hiding among k"):
        row = {"size": size, "design": design, "epsilon": asked["epsilon"], "delta": asked["delta"]}
        if size > len(forecast):
            rows.append(row | _EMPTY | {"meaning": TOO_LARGE.format(len(forecast))})
            continue
        if size not in groups:
            label = balanced_groups(features, size)
            groups[size] = [np.flatnonzero(label == group) for group in range(label.max() + 1)]
        found = [_hidden(forecast[group], design, asked["epsilon"], asked["delta"], scale) for group in groups[size]]
        rows.append(row | _measures(scale.clipped_kwh(forecast), groups[size], found))
    return rows


def yardstick_rows(forecasts: ForecastSet, scale: LogScale, interval_minutes: int) -> list[dict]:
    """Return the rows of table ``hide_among_yardsticks``: what a household uses, and how far its forecast is off.

    A household without a held-out reading does not count.
    """
    actual, forecast = (scale.kwh(log) for log in (forecasts.actual_log_kwh, forecasts.forecast_log_kwh))
    seen = np.isfinite(actual)
    found = {
        "energy": household_means(actual, seen),
        "forecast_error": np.sqrt(household_means((forecast - actual) ** 2, seen)),
    }
    return [
        {
            "yardstick": name,
            "median_kwh": float(np.median(values)) if values.size else np.nan,
            "mean_kwh": float(values.mean()) if values.size else np.nan,
            "household_count": values.size,
            "interval_minutes": interval_minutes,
        }
        for name, values in found.items()
    ]


_AVERAGES = (
    "error_kwh_q25",
    "error_kwh_median",
    "error_kwh_q75",
    "error_kwh_mean",
    "error_kwh_rms",
    "absolute_error_kwh_median",
    "absolute_error_kwh_mean",
    "explained_share",
)
_EMPTY = {
    **dict.fromkeys(("group_count", "smallest_group", "largest_group", "household_count", "unserved_group_count"), 0),
    "largest_delta": None,
    **dict.fromkeys(_AVERAGES),
}


def _hidden(forecast, design, epsilon, delta, scale) -> tuple:
    """Return squared and absolute error, (n, k) each, and delta of a group; infinity where no budget is enough."""
    certain = np.zeros((*forecast.shape, forecast.shape[1]))
    queries = ClassQueries(forecast, certain, full_cluster_graph(np.zeros(len(forecast), int)))
    if design == GROUP_MEAN:
        asker = Asker(lambda *_: None, queries, forecast, scale, _CONVENTION)
        noise, reached = Noise(certain, forecast.mean(axis=0) - forecast), 0.0
    else:
        asker = Asker(noise_design(design), queries, forecast, scale, _CONVENTION)
        near = None
        if DESIGNS[design].moves_together:
            near = budgets_near_limit(queries, _CONVENTION, epsilon, delta)
        answer = asker.smallest_error(epsilon, delta, near)
        if not np.isfinite(answer.rho):
            return np.full(forecast.shape, np.inf), np.full(forecast.shape, np.inf), 1.0
        noise, reached = asker.noise(answer.rho), answer.delta
    return asker.squared_error_kwh2(noise), asker.absolute_error_kwh(noise), reached


def _measures(forecast_kwh: np.ndarray, groups: list[np.ndarray], found: list[tuple]) -> dict:
    """Return the columns that average over households; ``forecast_kwh`` is (H, k)."""
    squared, absolute = np.empty((2, *forecast_kwh.shape))
    for group, (square, size, _) in zip(groups, found, strict=True):
        squared[group], absolute[group] = square, size
    error, off = np.sqrt(squared.mean(axis=1)), absolute.mean(axis=1)
    unserved = sum(not np.isfinite(square).all() for square, _, _ in found)
    spread = ((forecast_kwh - forecast_kwh.mean()) ** 2).sum()
    averages = (
        *np.quantile(error, (0.25, 0.5, 0.75), method="inverted_cdf"),
        error.mean(),
        np.sqrt(squared.mean()),
        np.quantile(off, 0.5, method="inverted_cdf"),
        off.mean(),
        1 - squared.sum() / spread if spread > 0 else np.nan,
    )
    sizes = [len(group) for group in groups]
    return {
        "group_count": len(groups),
        "smallest_group": min(sizes),
        "largest_group": max(sizes),
        "household_count": len(forecast_kwh),
        "unserved_group_count": unserved,
        "largest_delta": max(delta for _, _, delta in found),
        **{
            name: float(value) if np.isfinite(value) else None
            for name, value in zip(_AVERAGES, averages, strict=True)
        },
        "meaning": NOT_SERVED if unserved else "",
    }
