"""Symmetric matrices as vectors whose inner product is that of the matrices."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np


@lru_cache
def _upper(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and columns of the entries of a vector, and their factors; for readers only."""
    rows, columns = np.triu_indices(d)
    parts = rows, columns, np.where(rows == columns, 1.0, math.sqrt(2))
    for part in parts:
        part.flags.writeable = False
    return parts


def svec(matrices: np.ndarray) -> np.ndarray:
    """Return symmetric matrices (..., d, d) as vectors (..., d (d + 1)/2) of the same Euclidean norm."""
    d = matrices.shape[-1]
    rows, columns, factor = _upper(d)
    return np.take(matrices.reshape(*matrices.shape[:-2], d * d), rows * d + columns, axis=-1) * factor


def smat(vectors: np.ndarray, d: int) -> np.ndarray:
    """Invert :func:`svec`."""
    rows, columns, factor = _upper(d)
    upper = vectors / factor
    out = np.empty((*vectors.shape[:-1], d, d))
    out[..., rows, columns] = upper
    out[..., columns, rows] = upper
    return out
