"""delta(eps) curves of noise designs: the worst ordered pair of all neighbourhoods (Figs 2 and 4).

Section VI of Ramakrishna et al. reports the one-sided probability; its Definition 1 is two-sided (defect R10). What a
release may state is the hockey stick: the graph holds both orders of every pair, so its maximum is the
(eps, delta)-DP of one file; ``swap`` is the same for the files of a whole neighbourhood together (defect R4). All
values are exact, with a bound on their numerical error; Chernoff's bound (Lemma 1) stands beside the first two.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pyarrow as pa

from meterdp.accounting.exact_curve import Worst, worst_pair, worst_pairs
from meterdp.accounting.gaussian_loss import PairLosses, pair_losses, swap_losses
from meterdp.class_noise.designs.barycentre import wasserstein_limit
from meterdp.class_noise.designs.simple import alike
from meterdp.class_noise.query_models import AccuracyConvention, ClassQueries, Noise
from meterdp.class_noise.study import noises_of, queries_of
from meterdp.core.job import progress


def curve_rows(distributions: ClassQueries, epsilon: np.ndarray, **key) -> list[dict]:
    """Return rows of table ``delta_curves`` for what one design releases at one budget; none without pairs."""
    if len(distributions.pairs) == 0:
        return []
    losses = losses_of(distributions)
    return _rows(distributions.pairs, losses, _worst(losses, epsilon), key)


def study_curves(distributions: pa.Table, graph: pa.Table, designs: pa.Table, class_noise: Mapping) -> list[dict]:
    """Return the rows of the table ``delta_curves``, none without pairs.

    The tables are ``forecast_distributions``, ``neighbour_graph`` and ``noise_designs``, ``class_noise`` the section
    of the configuration.
    """
    queries = {model: queries_of(distributions, graph, model) for model in class_noise["query_models"]}
    epsilon = np.array(class_noise["epsilons"], dtype=float)
    curves: list[dict] = []
    if graph.num_rows == 0:
        return curves

    def found(released: ClassQueries) -> tuple[PairLosses, Mapping]:
        losses = losses_of(released)
        return losses, _worst(losses, epsilon)

    @cache
    def unmoved(model: str) -> tuple:  # `none` releases the same at every budget
        return found(queries[model])

    for (design, model, rho), (_, noise) in progress(noises_of(designs).items(), "privacy curves"):
        key = {"design": design, "query_model": model, "rho": float(rho)}
        losses, worst = unmoved(model) if noise.is_nothing else found(noise.released(queries[model]))
        curves += _rows(queries[model].pairs, losses, worst, key)
    return curves


def losses_of(distributions: ClassQueries) -> PairLosses:
    """Return the loss of every pair of the graph, in its order."""
    return pair_losses(distributions.mean_log_kwh, distributions.covariance, distributions.pairs)


def _worst(losses: PairLosses, epsilon: np.ndarray) -> dict[float, dict[str, Worst]]:
    """Return the worst ordered pair at every epsilon, for every meaning of delta but ``swap``."""
    return {eps: worst_pairs(losses, eps, ("one", "two", "hockey_stick")) for eps in map(float, epsilon)}


def _rows(edges: np.ndarray, losses: PairLosses, worst: Mapping, key: Mapping) -> list[dict]:
    """As :func:`curve_rows`, from what :func:`_worst` found."""
    once = np.unique(np.sort(edges, axis=1), axis=0, return_index=True)[1]  # a position of every unordered pair
    swaps = swap_losses(losses.take(once))
    rows = []

    def add(side: str, epsilon: float, worst: Worst, bound: float | None, count: int) -> None:
        row = {
            **key,
            "sides": side,
            "epsilon": epsilon,
            "delta": worst.delta,
            "delta_error": worst.error,
            "delta_chernoff": None if bound is None else float(bound),
            "pair_count": count,
        }
        rows.append(row)

    for eps, found in worst.items():
        for side, one in found.items():
            add(side, eps, one, None if side == "hockey_stick" else one.chernoff, len(edges))
        swap = worst_pair(swaps, eps, "hockey_stick")
        add("swap", eps, swap, None, once.size)
    return rows


def design_comparison_rows(
    queries: Mapping[str, ClassQueries],
    noises: Mapping[tuple[str, str, float], Noise],
    epsilon: np.ndarray,
    accuracy_convention: AccuracyConvention,
) -> list[dict]:
    """Return the rows of table ``design_comparison``; none for queries without pairs.

    ``queries`` are by query model, ``noises`` from :func:`meterdp.class_noise.study.design_all`;
    ``accuracy_convention`` is that of rho. The Wasserstein limit is the budget at which all labels of a neighbourhood
    can share one released distribution; no affine design with Gaussian noise makes them all the same for less.
    """
    models = {model for _, model, _ in noises if len(queries[model].pairs)}
    limits = {model: wasserstein_limit(queries[model], accuracy_convention) for model in models}

    @cache
    def unmoved(model: str) -> list[float]:  # `none` releases the same at every budget
        return _deltas(queries[model], epsilon)

    deltas = {
        key: unmoved(key[1]) if noise.is_nothing else _deltas(noise.released(queries[key[1]]), epsilon)
        for key, noise in noises.items()
        if key[1] in models
    }
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
