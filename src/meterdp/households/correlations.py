"""How one reading goes with later ones: products over lags of intervals and of days, missing readings left out."""

from __future__ import annotations

import numpy as np

from meterdp.core.compiled import njit

# Days apart at which means of local days are compared.
DAY_LAGS = (0, 1, 7)


def lags_of(slots_per_day: int) -> np.ndarray:
    """Return the lags of autocorrelations in intervals: one, two, a day, a week."""
    return np.array([1, 2, slots_per_day, 7 * slots_per_day])


@njit(cache=True, nogil=True)
def lag_products(x, lags):
    """Return the mean of x(t) x(t + lag) over pairs of finite (T,) numbers for every lag, 0 where there is none."""
    out = np.zeros(len(lags))
    for k in range(len(lags)):
        lag, total, pairs = lags[k], 0.0, 0
        for t in range(len(x) - lag):
            product = x[t] * x[t + lag]
            if np.isfinite(product):
                total += product
                pairs += 1
        if pairs:
            out[k] = total / pairs
    return out


@njit(cache=True, nogil=True)
def day_products(x, day, days, least):
    """Return the mean product of means of days 0, 1 and 7 days apart, (3,), of days with ``least`` finite numbers."""
    total, count = np.zeros(days), np.zeros(days)
    for t in range(len(x)):
        if np.isfinite(x[t]):
            total[day[t]] += x[t]
            count[day[t]] += 1
    out = np.zeros(3)
    for k in range(3):
        lag = (0, 1, 7)[k]
        products, pairs = 0.0, 0
        for d in range(days - lag):
            if count[d] >= least and count[d + lag] >= least:
                products += total[d] / count[d] * total[d + lag] / count[d + lag]
                pairs += 1
        if pairs:
            out[k] = products / pairs
    return out
