"""Our own release on the records of Park et al., beside theirs; it takes no part in a verdict on the paper."""

from __future__ import annotations

import numpy as np
import pandas as pd

from meterdp.core.noise import GaussianSource
from meterdp.mechanisms.sound.ball import fit_ball
from meterdp.mixture.draws import Mixture
from meterdp_papers.park.setting import EM, OURS, ZCDP


def fit_ours(x: np.ndarray, classes: int, epsilon: float, delta: float, noise: GaussianSource) -> Mixture:
    """Return the mixture that ``sound`` releases from records (N, d) in the unit ball."""
    return fit_ball(x, classes, epsilon, delta, noise, radius=1.0).mixture


def compare(parts: pd.DataFrame, source: dict[str, str | None]) -> pd.DataFrame:
    """Compare ``sound`` with zCDP GGG in the same splits, at the same epsilon and at twice as much.

    Parameters
    ----------
    parts : DataFrame
        Rows of ``park_likelihoods``, all splits of one figure. ``sound`` depends on no reading.
    source : dict
        Columns ``data`` and ``substitute``.

    Returns
    -------
    DataFrame
        Columns of ``park_ours``, one row per reading and epsilon; where no run has twice the epsilon, the next
        larger one is taken, and null at the largest.
    """
    values = {
        line: parts[parts["line"] == line].set_index(["reading", "epsilon", "split"])["log_likelihood"].sort_index()
        for line in (OURS, ZCDP, EM)
    }
    ours = values[OURS].droplevel("reading")
    rows = []
    for reading, at in values[ZCDP].groupby("reading", sort=False):
        known = sorted(at.index.unique("epsilon"))
        for epsilon in known:
            theirs = at.loc[reading, epsilon]
            own = ours.loc[epsilon].reindex(theirs.index)
            larger = next((e for e in known if e >= 2 * epsilon), None)
            more = None if larger is None else own - at.loc[reading, larger].reindex(theirs.index)
            rows.append(
                {
                    "figure": parts["figure"].iloc[0],
                    "reading": reading,
                    "epsilon": epsilon,
                    "ours_mean": own.mean(),
                    "ggg_mean": theirs.mean(),
                    "ggg_shortfall_mean": (values[EM].loc[reading, epsilon].reindex(theirs.index) - theirs).mean(),
                    **_difference("difference", own - theirs),
                    "larger_epsilon": larger,
                    **_difference("larger_difference", more),
                    "trials": len(theirs),
                    **source,
                }
            )
    return pd.DataFrame(rows)


def _difference(name: str, values: pd.Series | None) -> dict[str, float | None]:
    """Return the mean and its standard error."""
    if values is None:
        return {f"{name}_mean": None, f"{name}_se": None}
    return {f"{name}_mean": values.mean(), f"{name}_se": values.sem() if len(values) > 1 else None}
