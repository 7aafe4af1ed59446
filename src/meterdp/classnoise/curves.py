"""delta(eps) curves of noise designs: the worst ordered pair of all neighbourhoods (Figs 2 and 4, Remark 1).

Section VI of Ramakrishna et al. reports the one-sided probability; its Definition 1 is two-sided (defect R10). Both
are given. The Chernoff value is an upper bound on the probability; the Monte Carlo value estimates it.
"""

from __future__ import annotations

import numpy as np

from meterdp.classnoise.interface import ClassQueries
from meterdp.classnoise.loss import chernoff, monte_carlo, pair_losses


def curve_rows(
    laws: ClassQueries,
    epsilon: np.ndarray,
    draws: np.ndarray,
    *,
    design: str,
    query_model: str,
    rho: float,
) -> list[dict]:
    """Return rows of table ``delta_curves`` for one design at one budget.

    Parameters
    ----------
    laws : ClassQueries
        Laws of what the design releases, under ``query_model``.
    epsilon : (E,) float64 array
        Privacy parameters.
    draws : (n, k) float64 array
        Standard normal numbers. The same draws for every design make the comparison sharper.
    design, query_model, rho
        Copied into the rows.
    """
    if len(laws.pairs) == 0:
        return []
    losses = pair_losses(laws)
    bounds = chernoff(losses, epsilon)
    estimate = monte_carlo(losses, epsilon, draws)
    sides = {
        "one": (bounds[0], estimate.one_sided, estimate.one_sided_se),
        "two": (bounds[1], estimate.two_sided, estimate.two_sided_se),
    }
    return [
        {
            "design": design,
            "query_model": query_model,
            "rho": float(rho),
            "sides": side,
            "epsilon": float(eps),
            "delta_chernoff": bound[:, column].max(),
            "delta_monte_carlo": value[column],
            "delta_monte_carlo_se": error[column],
            "pair_count": len(laws.pairs),
            "draw_count": len(draws),
        }
        for side, (bound, value, error) in sides.items()
        for column, eps in enumerate(epsilon)
    ]
