"""delta(eps) curves of noise designs: the worst ordered pair of all neighbourhoods (Figs 2 and 4, Remark 1).

Section VI of Ramakrishna et al. reports the one-sided probability; its Definition 1 is two-sided (defect R10). What a
release may state is the hockey stick: the graph holds both orders of every pair, so its maximum is the
(eps, delta)-DP of one file; ``swap`` is the same for the files of a whole neighbourhood together (defect R4). All
values are exact, with a bound on their numerical error; Chernoff's bound (Lemma 1) stands beside the first two.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from meterdp.accounting.exact_curve import Worst, worst_pair, worst_pairs
from meterdp.accounting.gaussian_loss import PairLosses, pair_losses, swap_losses
from meterdp.class_noise.query_models import ClassQueries
from meterdp.class_noise.study import noises_of, queries_of
from meterdp.core.job import progress

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
