"""Means of a household's own readings at chosen earlier slots, compiled: all of a rolling season's work."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def weighted_means(values, sources, weights, out):
    """Fill ``out`` with weighted means over the finite of every slot's sources, NaN where there is none.

    ``values`` and ``out`` are (H, T); ``sources`` are (B, T) slots, -1 for none, with their (B, T) ``weights``.
    """
    households, slots = values.shape
    stretches = _stretches(sources)
    total, weight, finite, known = np.empty(slots), np.empty(slots), np.empty(slots), np.empty(slots)
    for i in range(households):
        for t in range(slots):
            known[t] = np.isfinite(values[i, t])
            finite[t] = values[i, t] if np.isfinite(values[i, t]) else 0.0
        total[:], weight[:] = 0.0, 0.0
        for b, begin, end, source in stretches:
            # Views, so that the loop runs over neighbours: several slots in one instruction.
            part, part_weight, factor = total[begin:end], weight[begin:end], weights[b, begin:end]
            some, some_known = finite[source : source + end - begin], known[source : source + end - begin]
            for t in range(end - begin):
                part[t] += factor[t] * some[t]
                part_weight[t] += factor[t] * some_known[t]
        for t in range(slots):
            out[i, t] = total[t] / weight[t] if weight[t] > 0 else np.nan


@numba.njit(cache=True, nogil=True)
def _stretches(sources):
    """Return rows (b, begin, end, first source) of slots whose sources follow one another."""
    out = np.empty((sources.size, 4), np.int64)
    count = 0
    for b in range(sources.shape[0]):
        begin = 0
        for t in range(1, sources.shape[1] + 1):
            if t < sources.shape[1] and sources[b, begin] >= 0 and sources[b, t] == sources[b, t - 1] + 1:
                continue
            if sources[b, begin] >= 0:
                out[count, 0], out[count, 1], out[count, 2], out[count, 3] = b, begin, t, sources[b, begin]
                count += 1
            begin = t
    return out[:count]
