"""Symmetric matrices as vectors for compiled code; row by row of the lower triangle, not the upper as in ``svec``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit


@dataclass(frozen=True)
class Packing:
    """Symmetric (d, d) matrices as vectors of length d (d + 1) / 2 with the same inner product.

    Parameters
    ----------
    rows, columns : (d (d + 1) / 2,) int64 arrays
        Entries in the order of the vector, the lower triangle row by row.
    """

    rows: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, d: int) -> Packing:
        """Return the packing of (d, d) matrices."""
        return cls(*np.tril_indices(d))

    @property
    def size(self) -> int:
        """Length of a packed matrix."""
        return len(self.rows)

    @cached_property
    def _scale(self) -> np.ndarray:
        return np.where(self.rows == self.columns, 1.0, math.sqrt(2))

    def pack(self, matrices: np.ndarray) -> np.ndarray:
        """Pack symmetric matrices (..., d, d)."""
        return matrices[..., self.rows, self.columns] * self._scale

    def unpack(self, packed: np.ndarray) -> np.ndarray:
        """Return the (d, d) matrix of a packed vector."""
        return unpacked(packed, self.rows, self.columns)

    def product(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the matrix of the quadratic form tr(K left K right) in packed K, for symmetric (d, d) matrices."""
        out = np.empty((self.size, self.size))
        fill_product(left, right, self.rows, self.columns, out)
        return out


@njit(cache=True)
def unpacked(packed, rows, columns):
    """Do what :meth:`Packing.unpack` does, for other compiled code, too."""
    d = rows[-1] + 1
    out = np.empty((d, d))
    for p in range(rows.size):
        i, j = rows[p], columns[p]
        out[i, j] = out[j, i] = packed[p] if i == j else packed[p] / math.sqrt(2)
    return out


@njit(cache=True)
def fill_product(left, right, rows, columns, out):
    """Fill :meth:`Packing.product`, entry by entry: a matrix of the basis has at most two."""
    for p in range(rows.size):
        i, j = rows[p], columns[p]
        for q in range(p, rows.size):
            k, m = rows[q], columns[q]
            value = left[j, k] * right[m, i] + left[j, m] * right[k, i] + left[i, k] * right[m, j]
            value += left[i, m] * right[k, j] + right[j, k] * left[m, i] + right[j, m] * left[k, i]
            value += right[i, k] * left[m, j] + right[i, m] * left[k, j]
            value *= (0.5 if i == j else math.sqrt(0.5)) * (0.25 if k == m else 0.5 * math.sqrt(0.5))
            out[p, q] = out[q, p] = value
