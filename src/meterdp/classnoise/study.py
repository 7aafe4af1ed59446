"""Class-based noise of a study, from table to table: neighbourhoods, designs, and the laws they protect."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from meterdp.classnoise.interface import Budget, ClassQueries, Noise, class_queries
from meterdp.classnoise.neighbourhoods import by_label, cluster_households, daily_profiles
from meterdp.classnoise.registry import noise_design, report_row
from meterdp.classnoise.tables import NOISE_DESIGNS
from meterdp.core.errors import InputError
from meterdp.core.progress import progress
from meterdp.forecasting.errors import forecast_errors, released_errors
from meterdp.forecasting.rolling import forecast_set
from meterdp.profiles.dense import LogLoad


def study_neighbourhoods(
    load: LogLoad, circuits: Mapping[int, str | None], settings: Mapping, train_days: int, seed: int
) -> np.ndarray:
    """Return the neighbourhood of every household to forecast, (H,) int32, 1 the largest.

    Parameters
    ----------
    load : LogLoad
        The H households.
    circuits : mapping of household to circuit
        From the table ``meters``.
    settings : mapping
        Section ``neighbourhoods`` of the configuration.
    train_days, seed : int

    Raises
    ------
    InputError
        If circuits are asked for and the export names none, or if there is no household to forecast.
    """
    if load.calendar is None:
        raise InputError(
            "left no household to forecast",
            file="config",
            field="quality",
            remedy="see study/quality_summary.parquet for the rule that left them out",
        )
    if settings["by"] == "circuit":
        names = [circuits[int(h)] for h in load.household]
        if any(name is None for name in names):
            raise InputError(
                "is 'circuit' and the export does not name every meter's circuit",
                file="config",
                field="neighbourhoods.by",
                remedy="set export.circuit_column or use 'cluster'",
            )
        return by_label(np.array(names))
    window = load.calendar.window(train_days)
    features = daily_profiles(load.log_kwh[:, window], load.calendar.minute_of_day[window] // 60)
    return cluster_households(features, settings["clusters"], seed)


def pair_positions(household: np.ndarray, graph: pa.Table) -> np.ndarray:
    """Return the edges of the table ``neighbour_graph`` as positions in ``household``, (P, 2) int64."""
    position = {int(h): i for i, h in enumerate(household)}
    edges = zip(graph["household"].to_pylist(), graph["neighbour"].to_pylist(), strict=True)
    return np.array([(position[a], position[b]) for a, b in edges], dtype=np.int64).reshape(-1, 2)


def stack(column: pa.ChunkedArray, *shape: int) -> np.ndarray:
    """Return a vector column as a dense array, (rows, *shape)."""
    return column.combine_chunks().flatten().to_numpy().reshape(len(column), *shape)


def queries_of(laws: pa.Table, graph: pa.Table, query_model: str) -> ClassQueries:
    """Return the queries of the table ``forecast_laws`` under a query model."""
    mean = stack(laws["mean_log_kwh"], -1)
    covariance = stack(laws["covariance"], mean.shape[1], mean.shape[1])
    return class_queries(mean, covariance, pair_positions(laws["household"].to_numpy(), graph), query_model)


def design_all(laws: pa.Table, graph: pa.Table, settings: Mapping) -> dict[tuple[str, str, float], Noise]:
    """Return the noise of every (design, query model, rho) of the section ``class_noise``."""
    wanted = [
        (design, model, float(rho))
        for design in settings["designs"]
        for model in settings["query_models"]
        for rho in settings["rhos"]
    ]
    queries = {model: queries_of(laws, graph, model) for model in settings["query_models"]}
    return {
        (design, model, rho): noise_design(design)(queries[model], Budget(rho, settings["accuracy_convention"]))
        for design, model, rho in progress(wanted, "noise designs", total=len(wanted))
    }


def design_columns(household: np.ndarray, noises: Mapping[tuple[str, str, float], Noise]) -> dict[str, list]:
    """Columns of the table ``noise_designs``, one row per design, query model, rho and household."""
    rows: list[tuple] = []
    for key, noise in noises.items():
        for i, h in enumerate(household):
            parts = (noise.covariance, noise.shift, noise.gain)
            rows.append((*key, int(h), *(None if part is None else part[i].ravel() for part in parts)))
    return {c.name: [row[i] for row in rows] for i, c in enumerate(NOISE_DESIGNS.columns)}


def report_columns(noises: Mapping[tuple[str, str, float], Noise]) -> dict[str, list]:
    """Columns of the table ``noise_design_reports``, one row per design, query model and rho."""
    rows = [
        report_row(noise.report, design=design, query_model=model, rho=rho)
        for (design, model, rho), noise in noises.items()
    ]
    return {name: [row[name] for row in rows] for name in rows[0]}


def noises_of(designs: pa.Table) -> dict[tuple[str, str, float], tuple[np.ndarray, Noise]]:
    """Read the table ``noise_designs`` back: (design, query model, rho) -> households (H,) and their noise."""
    rows: dict[tuple[str, str, float], list[int]] = {}
    for i, key in enumerate(zip(*(designs[n].to_pylist() for n in ("design", "query_model", "rho")), strict=True)):
        rows.setdefault(key, []).append(i)
    return {key: _noise_of(designs.take(i)) for key, i in rows.items()}


def _noise_of(rows: pa.Table) -> tuple[np.ndarray, Noise]:
    parts = [None if rows[n].null_count else stack(rows[n], -1) for n in ("noise_covariance", "noise_shift", "gain")]
    k = int(np.sqrt(parts[0].shape[1]))
    square = [part if part is None else part.reshape(-1, k, k) for part in (parts[0], parts[2])]
    return rows["household"].to_numpy(), Noise(square[0], parts[1], square[1])


def all_errors(forecasts: pa.Table, designs: pa.Table, bounds_kwh: tuple[float, float]) -> list[dict]:
    """Return the rows of the table ``forecast_errors``.

    Released forecasts carry the noise designed for deterministic queries where there is one; the other query model
    designs noise of the same size. ``bounds_kwh`` are the public bounds of the energy in an interval.
    """
    judged = forecast_set(forecasts)
    rows = forecast_errors(judged)
    seen = set()
    for (design, _, rho), (household, noise) in sorted(noises_of(designs).items(), key=lambda item: item[0]):
        if design == "none" or (design, rho) in seen:
            continue
        seen.add((design, rho))
        variance = np.diagonal(noise.covariance, axis1=1, axis2=2)[np.searchsorted(household, judged.household)]
        rows += released_errors(judged, variance, design, rho, bounds_kwh)
    return rows
