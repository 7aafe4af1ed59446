"""Means of a household's own readings at chosen earlier slots, compiled: all of a rolling season's work."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def weighted_means(values, sources, weights, out):
    """Fill ``out`` with weighted means over the finite of every slot's sources, NaN where there is none.

    Parameters
    ----------
    values : (H, T) float64
    sources : (B, T) int64
        Slots, or -1 for none.
    weights : (B, T) float64
    out : (H, T) float64
        Filled in place.
    """
    households, slots = values.shape
    total, weight = np.empty(slots), np.empty(slots)
    for i in range(households):
        total[:], weight[:] = 0.0, 0.0
        for b in range(len(sources)):
            for t in range(slots):
                source = sources[b, t]
                if source >= 0 and np.isfinite(values[i, source]):
                    total[t] += weights[b, t] * values[i, source]
                    weight[t] += weights[b, t]
        for t in range(slots):
            out[i, t] = total[t] / weight[t] if weight[t] > 0 else np.nan
