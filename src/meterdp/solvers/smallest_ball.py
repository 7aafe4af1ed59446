"""Smallest ball around points: the minimax centre (Chebyshev centre) of deterministic queries.

At a budget of the squared radius every label's forecast can be moved to the centre, so its squared radius is the
limit of what any design needs when queries are deterministic.

Symmetric matrices as vectors for compiled code; row by row of the lower triangle, not the upper as in ``svec``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

ROUNDS_PER_DIMENSION = 200
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Ball:
    """A ball that contains all points, and a lower bound on the smallest.

    Parameters
    ----------
    centre : (d,) float64 array
    squared_radius : float
        Largest squared distance from the centre, recomputed from the points.
    lower_bound : float
        No ball with a smaller squared radius contains the points; by duality.
    """

    centre: np.ndarray
    squared_radius: float
    lower_bound: float


def smallest_ball(points: np.ndarray) -> Ball:
    """Return the smallest enclosing ball of points (n, d).

    Notes
    -----
    The centre walks towards the circumcentre of the points on the boundary; a point met on the way joins them, one
    with a negative affine weight leaves (Fischer, Gaertner and Kutz 2003). With weights w >= 0 of sum 1 the bound is
    sum w |x|^2 - |sum w x|^2.
    """
    origin = points.mean(axis=0)
    x = points - origin
    scale = np.abs(x).max(initial=0.0)
    if scale == 0:
        return Ball(origin, 0.0, 0.0)
    x = x / scale
    centre = np.zeros(x.shape[1])
    support = [int(np.argmax(_squares(x - centre)))]
    weights = np.ones(1)
    for _ in range(ROUNDS_PER_DIMENSION * (x.shape[1] + 1)):
        target, weights = _projection(x[support], centre)
        way = target - centre
        if way @ way > TOLERANCE**2:
            share, met = _first_met(x, support, centre, way)
            centre = centre + share * way
            if met is not None:
                support.append(met)
                continue
        if weights.min() >= -TOLERANCE:
            break
        support.pop(int(weights.argmin()))
    weights = np.maximum(weights, 0)[: len(support)]
    weights = weights / weights.sum()
    mean = weights @ x[support]
    bound = weights @ _squares(x[support] - mean)
    return Ball(origin + scale * centre, float(scale**2 * _squares(x - centre).max()), float(scale**2 * bound))


def _squares(x: np.ndarray) -> np.ndarray:
    return np.einsum("ni,ni->n", x, x)


def _projection(support: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the projection of the centre on the affine hull of the support, and its affine weights."""
    spans = (support[1:] - support[0]).T
    inner = np.linalg.lstsq(spans, centre - support[0], rcond=None)[0] if spans.size else np.zeros(0)
    return support[0] + spans @ inner, np.concatenate([[1 - inner.sum()], inner])


def _first_met(x: np.ndarray, support: list[int], centre: np.ndarray, way: np.ndarray) -> tuple[float, int | None]:
    """Return how far the centre walks before another point touches the shrinking ball, and that point."""
    edge = x[support[0]]
    closing = 2 * (edge - x) @ way
    room = _squares((edge - centre)[None])[0] - _squares(x - centre)
    closing[support] = 0.0
    share = np.where(closing > TOLERANCE, np.maximum(room, 0.0) / np.maximum(closing, 1e-300), np.inf)
    met = int(share.argmin())
    return (float(share[met]), met) if share[met] < 1 else (1.0, None)


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
