"""What every noise design costs: errors and intervals of released forecasts over all rolling origins.

Section VI-B of Ramakrishna et al. shows three releases from one origin; an error needs many. The noise enters by its
exact expectation, so nothing is drawn here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from meterdp.class_noise.designs.interface import Budget, Noise, class_queries
from meterdp.class_noise.designs.registry import noise_design
from meterdp.class_noise.query_models import QUERY_MODELS
from meterdp.class_noise.study import noises_of, pair_positions
from meterdp.core.log_scale import LogScale
from meterdp.core.progress import progress
from meterdp.evaluation.forecast_errors import Released, forecast_errors, released_errors
from meterdp.evaluation.intervals import interval_rows
from meterdp.forecasting.rolling import ForecastSet, forecast_set, interval_ends


def judge_forecasts(
    forecasts: pa.Table,
    ends: pa.Table,
    graph: pa.Table,
    designs: pa.Table,
    accuracy_convention: str,
    scale: LogScale,
) -> tuple[list[dict], list[dict]]:
    """Return the rows of the tables ``forecast_errors`` and ``forecast_intervals``.

    Parameters
    ----------
    forecasts, ends, graph, designs : pyarrow.Table
        Tables ``forecasts``, ``interval_ends``, ``neighbour_graph`` and ``noise_designs``.
    accuracy_convention : {"per_entry", "total"}
        Of the budgets.
    scale : LogScale
        Of the energy in an interval.
    """
    judged, by_level = forecast_set(forecasts), interval_ends(ends)
    last = {level: at[:, :, -1:] for level, at in by_level.items()}
    errors, intervals = forecast_errors(judged, scale), interval_rows(judged, by_level, scale)
    for own, released in released_forecasts(judged, graph, designs, accuracy_convention):
        errors += released_errors(own, released, scale)
        intervals += interval_rows(own, by_level if own is judged else last, scale, released)
    return errors, intervals


def released_forecasts(
    judged: ForecastSet, graph: pa.Table, designs: pa.Table, accuracy_convention: str
) -> Iterator[tuple[ForecastSet, Released]]:
    """Yield the forecasts a (design, rho) can be judged on and what it releases; no noise is left out.

    Of several query models the first of deterministic, stochastic, published is taken: the others design noise of the
    same size. Noise that only adds is that of the last origin at all of them, because its size is the budget whatever
    the forecasts are. A design that moves or maps forecasts does so with regard to those of the neighbours: for
    deterministic queries it is designed anew at every origin; for the others that costs minutes an origin, so it is
    judged at the last origin alone, and ``origin_count`` says so.
    """
    noises = noises_of(designs)
    first: dict[tuple[str, float], str] = {}
    for model in QUERY_MODELS:
        for design, own, rho in noises:
            if own == model and design != "none":
                first.setdefault((design, rho), model)
    for (design, rho), model in progress(sorted(first.items()), "released forecasts", total=len(first)):
        household, noise = noises[design, model, rho]
        if not np.array_equal(household, judged.household):
            raise ValueError("forecasts and noise are not of the same households in the same order")
        own = judged
        if noise.shift is None and noise.gain is None:
            mean, std = judged.forecast_log_kwh, _std(noise)[:, None, :]
        elif model == "deterministic":
            mean, std = _anew(judged, pair_positions(household, graph), design, Budget(rho, accuracy_convention))
        else:
            own = judged.last_origin()
            mean = noise.apply(own.forecast_log_kwh[:, 0])[:, None, :]
            std = _std(noise)[:, None, :]
        yield own, Released(design, model, rho, mean, std)


def _std(noise: Noise) -> np.ndarray:
    return np.sqrt(np.diagonal(noise.covariance, axis1=1, axis2=2))


def _anew(judged: ForecastSet, pairs: np.ndarray, design: str, budget: Budget) -> tuple[np.ndarray, np.ndarray]:
    """Design for deterministic queries at every origin; released means and noise deviations, (H, n, h) each."""
    mean, std = np.empty((2, *judged.forecast_log_kwh.shape))
    none = np.zeros((len(mean), mean.shape[2], mean.shape[2]))
    for origin in range(mean.shape[1]):
        forecast = judged.forecast_log_kwh[:, origin]
        noise = noise_design(design)(class_queries(forecast, none, pairs), budget)
        mean[:, origin], std[:, origin] = noise.apply(forecast), _std(noise)
    return mean, std
