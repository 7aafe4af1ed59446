"""Which households a forecasting study takes: a fixed pseudo-random order that looks at no reading.

The order is the order of a hash of the household's dense index, so it needs no seed, is the same on every machine
and in every run, and does not change for the households already chosen when ``count`` grows.
"""

from __future__ import annotations

import hashlib

import numpy as np


def fixed_order(household: np.ndarray, purpose: str) -> np.ndarray:
    """Return the positions that put ``household`` into its fixed pseudo-random order.

    Parameters
    ----------
    household : (n,) int array
        Dense indices.
    purpose : str
        Names the order; two purposes give two unrelated orders.

    Returns
    -------
    (n,) int64 array
        Positions in ``household``.
    """
    digests = [hashlib.sha256(f"{purpose}\0{int(h)}".encode()).digest() for h in household]
    return np.array(sorted(range(len(digests)), key=digests.__getitem__), dtype=np.int64)


def choose_households(kept: np.ndarray, count: int) -> np.ndarray:
    """Choose ``count`` of the households the quality rules kept; all of them if there are fewer.

    Parameters
    ----------
    kept : (H,) int array
        Dense indices of the kept households, in any order.
    count : int
        How many to choose.

    Returns
    -------
    (min(count, H),) int32 array
        The chosen indices, ascending.
    """
    if count < 0:
        raise ValueError("count must not be negative")
    kept = np.unique(np.asarray(kept, dtype=np.int64))
    return np.sort(kept[fixed_order(kept, "forecast households")[:count]]).astype(np.int32)
