"""Noise designs at equal budgets: exact delta, ratio to `published`, distance from the Wasserstein limit.

The limit is the budget at which all labels of a neighbourhood can share one released distribution; no affine design
with Gaussian noise makes all distributions the same for less.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from meterdp.accounting.exact_curve import worst_pairs
from meterdp.class_noise.curves import losses_of
from meterdp.class_noise.designs.simple import alike
from meterdp.class_noise.designs.transport.barycentre import wasserstein_limit
from meterdp.class_noise.query_models import AccuracyConvention, ClassQueries, Noise


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
        From :func:`meterdp.class_noise.study.design_all`.
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
