"""How high groups of households peak together, also where some of them were not read."""

from __future__ import annotations

import numpy as np

# Of the most members that were read at once so many make an interval count, and half of the group at least.
READ = 0.8


def group_peaks(total: np.ndarray, count: np.ndarray, size: int | np.ndarray) -> np.ndarray:
    """Return the highest means (G,) of groups of ``size``, from sums (G, T) over the ``count`` that were read.

    A mean of fewer swings more, so that it would peak where many were not read. NaN for groups of which half were
    never read at once. ``size`` is one or (G, 1), ``count`` (G, T) or (G, 1).
    """
    enough = count >= np.maximum(READ * count.max(axis=1, keepdims=True), np.maximum(size / 2, 1))
    means = np.divide(total, count, out=np.full(total.shape, -np.inf), where=enough)
    peaks = means.max(axis=1)
    return np.where(np.isfinite(peaks), peaks, np.nan)
