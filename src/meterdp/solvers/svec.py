"""Symmetric matrices as vectors whose inner product is that of the matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


def svec(matrices: np.ndarray) -> np.ndarray:
    """Return symmetric matrices (..., d, d) as vectors (..., d (d + 1)/2) of the same Euclidean norm."""
    rows, columns = np.triu_indices(matrices.shape[-1])
    return matrices[..., rows, columns] * np.where(rows == columns, 1.0, math.sqrt(2))


def smat(vectors: np.ndarray, d: int) -> np.ndarray:
    """Invert :func:`svec`."""
    rows, columns = np.triu_indices(d)
    upper = vectors / np.where(rows == columns, 1.0, math.sqrt(2))
    out = np.empty((*vectors.shape[:-1], d, d))
    out[..., rows, columns] = upper
    out[..., columns, rows] = upper
    return out


@dataclass(frozen=True)
class Packing:
    """Symmetric (d, d) matrices as vectors of length d (d + 1) / 2 with the same inner product."""

    basis: np.ndarray

    @classmethod
    def of(cls, d: int) -> Packing:
        """Return the packing of (d, d) matrices."""
        rows, columns = np.tril_indices(d)
        basis = np.zeros((rows.size, d, d))
        value = np.where(rows == columns, 1.0, np.sqrt(0.5))
        basis[np.arange(rows.size), rows, columns] = value
        basis[np.arange(rows.size), columns, rows] = value
        return cls(basis)

    @property
    def size(self) -> int:
        """Length of a packed matrix."""
        return len(self.basis)

    def pack(self, matrices: np.ndarray) -> np.ndarray:
        """Pack symmetric matrices (..., d, d)."""
        flat = matrices.reshape(*matrices.shape[:-2], -1)
        return flat @ self.basis.reshape(self.size, -1).T

    def unpack(self, packed: np.ndarray) -> np.ndarray:
        """Return the (d, d) matrix of a packed vector."""
        return np.tensordot(packed, self.basis, axes=1)

    def product(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the matrix of the quadratic form tr(K left K right) in packed K."""
        moved = (left @ self.basis).transpose(0, 2, 1).reshape(self.size, -1)
        other = (right @ self.basis).reshape(self.size, -1)
        form = moved @ other.T
        return 0.5 * (form + form.T)
