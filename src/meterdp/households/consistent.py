"""Vectors whose parts agree, which noise in a released mixture may make contradict each other.

What is expected by the time of day and year comes again a day and a week later, so a household's expected load
explains no more of its readings than its autocorrelations there. Noise in the coefficients of the expected load adds
to what it explains; the autocorrelations follow distributions measured by themselves and are believed.
"""

from __future__ import annotations

import numpy as np

from meterdp.households import marginal
from meterdp.households.correlations import lag_products, lags_of
from meterdp.households.vector import VectorSettings

# Shares of its own coefficients that a household may keep.
_SHARES = np.linspace(0.0, 1.0, 65)
AT_ONCE = 500


def consistent(vectors: np.ndarray, settings: VectorSettings, typical: np.ndarray) -> np.ndarray:
    """Return what :func:`_consistent` does, some households at a time: one takes as much memory as its readings."""
    cuts = range(AT_ONCE, len(vectors), AT_ONCE)
    return np.concatenate([_consistent(some, settings, typical) for some in np.split(vectors, cuts)])


def _consistent(vectors: np.ndarray, settings: VectorSettings, typical: np.ndarray) -> np.ndarray:
    """Return (H, d) vectors with the coefficients of the expected load moved towards typical ones where they must.

    ``typical`` is the mean vector of the population, (d,). A household keeps the largest share of the difference with
    which its expected load and its autocorrelations agree, each by itself; most keep all. Its quantiles are those of
    readings within the public bounds.
    """
    vectors = np.clip(vectors, *settings.bounds)
    parts = settings.parts(vectors)
    quantiles = parts["quantiles"]
    quantiles[:] = np.clip(quantiles, *marginal.signed_log(settings.ratio_bounds(vectors))[..., None])
    of_all = np.repeat(settings.parts(typical[None])["coefficients"], len(vectors), axis=0)
    own = parts["coefficients"]
    middle = (own + of_all) / 2
    variance = marginal.variances(settings.quantile_functions(vectors))
    most = np.maximum(settings.autocorrelations(vectors)[:, 2:], 0.0) * variance[:, None]
    # Products are quadratic in the share, so three points give them.
    at_0, at_half, at_1 = (_products(vectors, coefficients, settings) for coefficients in (of_all, middle, own))
    square = 2 * (at_1 + at_0 - 2 * at_half)
    linear = at_1 - at_0 - square
    found = at_0[..., None] + linear[..., None] * _SHARES + square[..., None] * _SHARES**2
    agree = (found <= most[..., None] * (1 + 1e-9)).all(axis=1)
    share = np.where(agree.any(axis=1), _SHARES[len(_SHARES) - 1 - agree[:, ::-1].argmax(axis=1)], 0.0)
    parts["coefficients"][:] = of_all + share[:, None] * (own - of_all)
    return np.concatenate(list(parts.values()), axis=1)


def _products(vectors: np.ndarray, coefficients: np.ndarray, settings: VectorSettings) -> np.ndarray:
    """Return the mean products of the expected load about its mean a day and a week apart, (H, 2)."""
    parts = settings.parts(vectors) | {"coefficients": coefficients}
    later, out = lags_of(settings.calendar.slots_per_day)[2:], np.empty((len(vectors), 2))
    for i, vector in enumerate(np.concatenate(list(parts.values()), axis=1)):
        expected = settings.expected_ratio(vector[None])[0]
        out[i] = lag_products(expected - expected.mean(), later)
    return out
