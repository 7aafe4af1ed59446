"""delta(eps) curves of noise designs: the worst ordered pair of all neighbourhoods (Figs 2 and 4, Remark 1).

Section VI of Ramakrishna et al. reports the one-sided probability; its Definition 1 is two-sided (defect R10). What a
release may state is the hockey stick: the graph holds both orders of every pair, so its maximum is the
(eps, delta)-DP of one file; ``swap`` is the same for the files of a whole neighbourhood together (defect R4). All
values are exact, with a bound on their numerical error; Chernoff's bound (Lemma 1) stands beside the first two.

Class-based noise of a study, from table to table: neighbourhoods, designs, and the distributions they protect.

Noise designs at equal budgets: exact delta, ratio to `published`, distance from the Wasserstein limit.

The limit is the budget at which all labels of a neighbourhood can share one released distribution; no affine design
with Gaussian noise makes all distributions the same for less.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from meterdp.accounting.exact_curve import Worst, worst_pair, worst_pairs
from meterdp.accounting.gaussian_loss import PairLosses, pair_losses, swap_losses
from meterdp.class_noise.designs.registry import noise_design, report_row, runnable
from meterdp.class_noise.designs.simple import alike
from meterdp.class_noise.designs.transport.barycentre import wasserstein_limit
from meterdp.class_noise.neighbourhoods.graph import (
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
from meterdp.class_noise.query_models import AccuracyConvention, Budget, ClassQueries, Noise, class_queries
from meterdp.class_noise.tables import NOISE_DESIGNS
from meterdp.core.job import progress
from meterdp.errors import InputError
from meterdp.profiles.dense import LogLoad


def study_neighbourhoods(
    load: LogLoad, meters: pa.Table, settings: Mapping, train_days: int, seed: int
) -> Neighbours:
    """Return the neighbours of every household to forecast.

    Parameters
    ----------
    load : LogLoad
        The H households.
    meters : pyarrow.Table
        Table ``meters``, for circuits and meter ids.
    settings : mapping
        Section ``neighbourhoods`` of the configuration.
    train_days, seed : int

    Raises
    ------
    InputError
        If circuits are asked for and the export names none, if the file of neighbours is not usable, or if there is
        no household to forecast.
    """
    if load.calendar is None:
        raise InputError(
            "left no household to forecast",
            file="config",
            field="quality",
            hint="see in study/quality_summary.parquet which rules left them out",
        )
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
        return nearest_households(features, settings["nearest"])
    if settings["by"] == "size":
        return all_within(by_label(balanced_groups(features, settings["size"])))
    return all_within(cluster_households(features, settings["clusters"], seed))


def likeness(load: LogLoad, train_days: int) -> np.ndarray:
    """Return what makes households similar: their daily profiles in the training window alone, (H, 24).

    Forecasts would be likeness at one hour of one day; groups have to last.
    """
    window = load.calendar.window(train_days)
    return daily_profiles(load.log_kwh[:, window], load.calendar.minute_of_day[window] // 60)


def _given_neighbours(household: np.ndarray, meters: pa.Table, settings: Mapping) -> Neighbours:
    known = dict(zip(meters["meter_id"].to_pylist(), meters["household"].to_pylist(), strict=True))
    edges = read_edges(settings["file"], settings["file_columns"], known)
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


SIDES = ("one", "two", "hockey_stick", "swap")


def curve_rows(
    distributions: ClassQueries, epsilon: np.ndarray, *, design: str, query_model: str, rho: float
) -> list[dict]:
    """Return rows of table ``delta_curves`` for one design at one budget; none without pairs.

    Parameters
    ----------
    distributions : ClassQueries
        Distributions of what the design releases, under ``query_model``.
    epsilon : (E,) float64 array
        Privacy parameters.
    design, query_model, rho
        Copied into the rows.
    """
    return [row for row, _ in judged(distributions, epsilon, design=design, query_model=query_model, rho=rho)]


def judged(distributions: ClassQueries, epsilon: np.ndarray, **key) -> list[tuple[dict, tuple[int, int]]]:
    """Return the rows of ``delta_curves``, each with the positions (X, X') of its worst pair."""
    if len(distributions.pairs) == 0:
        return []
    losses = losses_of(distributions)
    return _judged(distributions, losses, _worst(losses, epsilon), key)


def prior_rows(distributions: ClassQueries, epsilon: np.ndarray, prior_ratios, **key) -> list[dict]:
    """Return rows of table ``delta_under_prior``: Remark 1 for an analyst who holds X for ``ratio`` times as likely.

    Parameters
    ----------
    distributions, epsilon, key
        As for :func:`curve_rows`.
    prior_ratios : sequence of float
        Bounds on f(X)/f(X') over all pairs, public; (9) is largest at the bound.
    """
    if len(distributions.pairs) == 0:
        return []
    return _under_priors(losses_of(distributions), {}, epsilon, prior_ratios, key)


def study_curves(
    distributions: pa.Table, graph: pa.Table, designs: pa.Table, class_noise: Mapping
) -> tuple[list[dict], ...]:
    """Return the rows of the tables ``delta_curves``, ``worst_pairs`` and ``delta_under_prior``.

    Parameters
    ----------
    distributions, graph, designs : pyarrow.Table
        Tables ``forecast_distributions``, ``neighbour_graph`` and ``noise_designs``.
    class_noise : mapping
        Section of the configuration.

    Notes
    -----
    Without any pair of neighbours (every neighbourhood has one household) there is no row.
    """
    household = distributions["household"].to_numpy()
    queries = {model: queries_of(distributions, graph, model) for model in class_noise["query_models"]}
    epsilon = np.array(class_noise["epsilons"], dtype=float)
    curves: list[dict] = []
    pairs: list[dict] = []
    priors: list[dict] = []
    if graph.num_rows == 0:
        return curves, pairs, priors
    unmoved: dict[str, tuple] = {}  # by query model: `none` releases the same at every budget
    for (design, model, rho), (_, noise) in progress(noises_of(designs).items(), "privacy curves"):
        key = {"design": design, "query_model": model, "rho": float(rho)}
        released = noise.released(queries[model])
        losses, worst, known = unmoved.get(model, (None, None, None)) if noise.is_nothing else (None, None, None)
        if losses is None:
            losses = losses_of(released)
            worst = _worst(losses, epsilon)
            known = {eps: found["one"] for eps, found in worst.items()}
        if noise.is_nothing:
            unmoved[model] = losses, worst, known
        for row, (label, other) in _judged(released, losses, worst, key):
            curves.append(row)
            where = {"household": int(household[label]), "neighbour": int(household[other])}
            pairs.append({**key, "sides": row["sides"], "epsilon": row["epsilon"], "delta": row["delta"], **where})
        priors += _under_priors(losses, known, epsilon, class_noise["prior_ratios"], key)
    return curves, pairs, priors


def losses_of(distributions: ClassQueries) -> PairLosses:
    """Return the loss of every pair of the graph, in its order."""
    return pair_losses(distributions.mean_log_kwh, distributions.covariance, distributions.pairs)


def _worst(losses: PairLosses, epsilon: np.ndarray) -> dict[float, dict[str, Worst]]:
    """Return the worst ordered pair at every epsilon, for every meaning of delta but ``swap``."""
    return {eps: worst_pairs(losses, eps, ("one", "two", "hockey_stick")) for eps in map(float, epsilon)}


def _judged(distributions: ClassQueries, losses: PairLosses, worst: Mapping, key: Mapping) -> list[tuple]:
    """As :func:`judged`, from what :func:`_worst` found."""
    once = _once(distributions.pairs)
    swaps = swap_losses(losses.take(once))
    rows = []
    for eps, found in worst.items():
        for side, one in found.items():
            bound = None if side == "hockey_stick" else one.chernoff
            rows.append(_row(key, side, eps, one, bound, len(distributions.pairs), distributions.pairs[one.pair]))
        swap = worst_pair(swaps, eps, "hockey_stick")
        rows.append(_row(key, "swap", eps, swap, None, once.size, distributions.pairs[once[swap.pair]]))
    return rows


def _under_priors(losses: PairLosses, known: dict[float, Worst], epsilon, prior_ratios, key: Mapping) -> list[dict]:
    """As :func:`prior_rows`; ``known`` has one-sided worst pairs by epsilon and gets those that are computed."""
    rows = []
    for ratio in prior_ratios:
        for eps in map(float, epsilon):
            shifted = float(eps - np.log(ratio))
            if shifted not in known:
                known[shifted] = worst_pair(losses, shifted, "one")
            worst = known[shifted]
            numbers = {"delta": worst.delta, "delta_error": worst.error, "pair_count": len(losses.singular)}
            rows.append({**key, "prior_ratio": float(ratio), "epsilon": eps, **numbers})
    return rows


def _once(pairs: np.ndarray) -> np.ndarray:
    """Return a position of every unordered pair."""
    return np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)[1]


def _row(key: dict, side: str, epsilon: float, worst: Worst, bound: float | None, count: int, pair) -> tuple:
    row = {
        **key,
        "sides": side,
        "epsilon": float(epsilon),
        "delta": worst.delta,
        "delta_error": worst.error,
        "delta_chernoff": None if bound is None else float(bound),
        "pair_count": count,
    }
    return row, (int(pair[0]), int(pair[1]))


def design_comparison_rows(
    queries: Mapping[str, ClassQueries],
    noises: Mapping[tuple[str, str, float], Noise],
    epsilon: np.ndarray,
    accuracy_convention: AccuracyConvention,
) -> list[dict]:
    """Return the rows of table ``design_comparison``; none for queries without pairs.

    Parameters
    ----------
    queries : mapping of query model to ClassQueries
    noises : mapping of (design, query model, rho) to Noise
        From :func:`meterdp.class_noise.curves.design_all`.
    epsilon : (E,) array
        Privacy parameters.
    accuracy_convention : {"per_entry", "total"}
        Of rho.
    """
    models = {model for _, model, _ in noises if len(queries[model].pairs)}
    limits = {model: wasserstein_limit(queries[model], accuracy_convention) for model in models}
    deltas: dict[tuple[str, str, float], list[float]] = {}
    unmoved: dict[str, list[float]] = {}  # by query model: `none` releases the same at every budget
    for key, noise in noises.items():
        model = key[1]
        if model not in models:
            continue
        known = unmoved.get(model) if noise.is_nothing else None
        deltas[key] = _deltas(noise.released(queries[model]), epsilon) if known is None else known
        if noise.is_nothing:
            unmoved[model] = deltas[key]
    rows = []
    for (design, model, rho), values in deltas.items():
        noise, published = noises[design, model, rho], deltas.get(("published", model, rho))
        error = noise.squared_error(queries[model]).max()
        per_entry = queries[model].entries if accuracy_convention == "per_entry" else 1
        for position, eps in enumerate(epsilon):
            reference = None if published is None else published[position]
            rows.append(
                {
                    "design": design,
                    "query_model": model,
                    "rho": float(rho),
                    "epsilon": float(eps),
                    "delta": values[position],
                    "delta_published": reference,
                    "ratio_to_published": values[position] / reference if reference else None,
                    "wasserstein_limit": limits[model],
                    "share_of_limit": float(rho) / limits[model] if limits[model] > 0 else None,
                    "largest_squared_error": float(error) / per_entry,
                    "certified_gap": noise.report.certified_gap,
                }
            )
    return rows


def _deltas(distributions: ClassQueries, epsilon: np.ndarray) -> list[float]:
    """Hockey stick of the worst pair with its numerical error, (E,)."""
    losses = alike(losses_of(distributions))
    worst = (worst_pairs(losses, float(eps), ("hockey_stick",))["hockey_stick"] for eps in epsilon)
    return [min(w.delta + w.error, 1.0) for w in worst]
