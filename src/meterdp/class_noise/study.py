"""Class-based noise of a study, from table to table: neighbourhoods, designs, and the distributions they protect."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from meterdp.class_noise.designs.registry import noise_design, runnable
from meterdp.class_noise.neighbourhoods import (
    CLUSTERS,
    Neighbours,
    all_within,
    balanced_groups,
    by_label,
    cluster_households,
    daily_profiles,
    from_edges,
    nearest_households,
    read_edges,
)
from meterdp.class_noise.query_models import Budget, ClassQueries, Noise, class_queries
from meterdp.class_noise.tables import NOISE_DESIGNS
from meterdp.core.job import progress
from meterdp.errors import InputError
from meterdp.profiles.dense import LogLoad

# Columns of a file of neighbours.
EDGE_COLUMNS = ("meter_id", "neighbour_id")
# What a study asks of the designs beside the section ``class_noise``; reproductions ask as their paper does.
STUDIED = {
    # Rho is the squared error of a whole forecast, (50); per entry (Definition 2) it depends on the horizon.
    "accuracy_convention": "total",
    # Those of Figs 2 and 4 of Ramakrishna et al.
    "epsilons": (0.1, 0.2, 0.4, 0.6, 0.8, 1.0),
    # How many times as likely as the other an analyst may think one household of a pair (Remark 1): nothing known,
    # a hint, nearly sure.
}


def studied(class_noise: Mapping) -> dict:
    """Return the section ``class_noise`` with what every study asks."""
    return {**STUDIED, **class_noise}


def study_neighbourhoods(
    load: LogLoad, meters: pa.Table, settings: Mapping, train_days: int, seed: int, *, all_read: bool = True
) -> Neighbours:
    """Return the neighbours of every household to forecast.

    ``meters`` is the table, for circuits and meter ids; ``settings`` the section ``neighbourhoods`` of the
    configuration; ``all_read`` whether every file of the export could be read to its end. Raises
    :class:`InputError` if circuits are asked for and the export names none, if the file of neighbours is not usable,
    or if there is no household to forecast.
    """
    if load.calendar is None:
        hint = "see in study/quality_summary.parquet which rules left them out"
        if not all_read:
            hint += (
                ", which may be as not every file of the export could be read to its end: "
                "private/ingest_report.parquet says which, to be copied or exported again"
            )
        raise InputError("left no household to forecast", file="config", field="quality", hint=hint)
    if settings["by"] == "circuit":
        circuits = dict(zip(meters["household"].to_pylist(), meters["circuit"].to_pylist(), strict=True))
        names = [circuits[int(h)] for h in load.household]
        if any(name is None for name in names):
            raise InputError(
                "is 'circuit', but the export does not name every meter's circuit",
                file="config",
                field="neighbourhoods.by",
                hint="set export.circuit_column or use 'cluster'",
            )
        return all_within(by_label(np.array(names)))
    if settings["by"] == "file":
        return _given_neighbours(load.household, meters, settings)
    features = likeness(load, train_days)
    if settings["by"] == "nearest":
        return nearest_households(features, settings["size"])
    if settings["by"] == "size":
        return all_within(by_label(balanced_groups(features, settings["size"])))
    return all_within(cluster_households(features, CLUSTERS, seed))


def likeness(load: LogLoad, train_days: int) -> np.ndarray:
    """Return what makes households similar: their daily profiles in the training window alone, (H, 24).

    Forecasts would be likeness at one hour of one day; groups have to last.
    """
    window = load.calendar.window(train_days)
    return daily_profiles(load.log_kwh[:, window], load.calendar.minute_of_day[window] // 60)


def _given_neighbours(household: np.ndarray, meters: pa.Table, settings: Mapping) -> Neighbours:
    known = dict(zip(meters["meter_id"].to_pylist(), meters["household"].to_pylist(), strict=True))
    edges = read_edges(settings["file"], EDGE_COLUMNS, known)
    inside = np.isin(edges, household)
    position = np.searchsorted(household, edges)  # of those inside
    half = inside[:, 0] != inside[:, 1]
    outside = np.bincount(position[half][inside[half]], minlength=household.size)
    return from_edges(position[inside.all(axis=1)], household.size, outside)


def pair_positions(household: np.ndarray, graph: pa.Table) -> np.ndarray:
    """Return the edges of the table ``neighbour_graph`` as positions in ``household``, (P, 2) int64."""
    order = np.argsort(household, kind="stable")
    ends = np.stack([graph[name].to_numpy() for name in ("household", "neighbour")], axis=1)
    if not np.isin(ends, household).all():
        raise ValueError("the graph names a household without a forecast")
    return order[np.searchsorted(household, ends, sorter=order)].reshape(-1, 2).astype(np.int64)


def stack(column: pa.ChunkedArray, *shape: int) -> np.ndarray:
    """Return a vector column as a dense array, (rows, *shape)."""
    return column.combine_chunks().flatten().to_numpy().reshape(len(column), *shape)


def queries_of(distributions: pa.Table, graph: pa.Table, query_model: str) -> ClassQueries:
    """Return the queries of the table ``forecast_distributions`` under a query model."""
    mean, query_mean = (stack(distributions[n], -1) for n in ("mean_log_kwh", "query_mean_log_kwh"))
    covariance, query_covariance = (
        stack(distributions[n], mean.shape[1], mean.shape[1]) for n in ("covariance", "query_covariance")
    )
    return class_queries(
        mean,
        covariance,
        pair_positions(distributions["household"].to_numpy(), graph),
        query_model,
        query_mean_log_kwh=query_mean,
        query_covariance=query_covariance,
    )


def design_all(distributions: pa.Table, graph: pa.Table, settings: Mapping) -> dict[tuple[str, str, float], Noise]:
    """Return the noise of every (design, query model, rho) of the section ``class_noise``."""
    wanted = [(design, model, float(rho)) for design, model in runnable(settings) for rho in settings["rhos"]]
    queries = {model: queries_of(distributions, graph, model) for model in settings["query_models"]}
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
