"""The statistics the sound release measures, with their sensitivities (docs/proofs/sound.md, 2).

Each function maps clipped records and things already released to one real vector per draw, the stack. One record
enters a stack through one bounded vector, which is all the privacy proof uses. Arrays carry a leading axis of draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from meterdp.solvers.svec import svec

# Public bins of log2(|z|^2 / d), z the residual from the public level after public whitening.
RADIUS_EDGES = np.arange(-6.0, 4.01, 0.5)
RECORDS_AT_ONCE = 20_000
# Of one class, on the grid.
SUMMED_AT_ONCE = 2_000
# Of the standardised records of all classes.
RECORDS_BYTES = 2**21


@dataclass(frozen=True)
class StackWeights:
    """Public weights of a stack: per class (a, b u, c svec(u u')) times the responsibility of the class."""

    count: float  # a
    mean: float  # b
    moment: float  # c

    def sensitivity(self, adjacency: str, classes: int | None = None) -> float:
        """Return the exact l2 sensitivity under an adjacency, also "label_flip", Lemma 2 of docs/proofs/sound.md.

        ``classes`` is 1 where all records share one class, so that none can change it; otherwise any number.
        """
        a2, b2, c2 = self.count**2, self.mean**2, self.moment**2
        whole = a2 + b2 + c2
        if adjacency == "add_remove":
            return math.sqrt(whole)
        if adjacency == "label_flip":
            return math.sqrt(2 * whole)
        same_class = 4 * b2 if b2 >= 2 * c2 else 2 * b2 + 2 * c2 + b2**2 / (2 * c2)
        return math.sqrt(same_class if classes == 1 else max(2 * whole, same_class))


def radius_stack(z: np.ndarray) -> np.ndarray:
    """Return the histogram (B,) of log2(|z|^2 / d) over the public bins; outer bins take what lies beyond.

    z (N, d) are whitened residuals from the public level. Replace-one l2 sensitivity sqrt(2): one record leaves a bin
    and enters another. Add-remove: 1.
    """
    mean_square = (z**2).mean(axis=1)
    with np.errstate(divide="ignore"):
        bins = np.searchsorted(RADIUS_EDGES[1:-1], np.log2(mean_square), side="right")
    return np.bincount(bins, minlength=len(RADIUS_EDGES) - 1).astype(float)


def moment_stack(
    u: np.ndarray, weights: StackWeights, responsibility: np.ndarray | None = None, grid: float = 0.0
) -> np.ndarray:
    """Return sum_n g_n (a, b u_n, c svec(u_n u_n')): (R, 1 + d + d (d + 1)/2) float64.

    u (R, N, d) are rows in the unit ball, of R draws or classes, g (R, N) their responsibilities in [0, 1], one by
    default. With a grid, a power of two, what every record adds is rounded to its multiples before the sum. Sums of
    them below 2^53 are exact in any order, so that nothing but the records' own rounded vectors enters the result.
    Plain floating-point sums, of a grid of 0, are for studies only.
    """
    draws, n, d = u.shape
    g = np.ones((draws, n)) if responsibility is None else responsibility
    out = np.empty((draws, 1 + d + d * (d + 1) // 2))
    if grid > 0:
        for r in range(draws):
            out[r] = _grid_sum(u[r], weights, g[r], grid)
        return out
    weighted = u * g[..., None]
    out[:, 0] = weights.count * g.sum(axis=1)
    out[:, 1 : 1 + d] = weights.mean * weighted.sum(axis=1)
    out[:, 1 + d :] = weights.moment * svec(np.swapaxes(weighted, 1, 2) @ u)
    return out


def residual_stack(
    z: np.ndarray, square: np.ndarray, weights: StackWeights, responsibility: np.ndarray, radius: float
) -> np.ndarray:
    """Return :func:`moment_stack` of z / max(radius, |z|) in fewer passes; overwrites ``z`` (K, N, d).

    ``square`` (K, N) is |z|^2.
    """
    classes, _, d = z.shape
    root = np.sqrt(responsibility)
    z *= (root / np.maximum(np.sqrt(square), radius))[..., None]
    out = np.empty((classes, 1 + d + d * (d + 1) // 2))
    out[:, 0] = weights.count * responsibility.sum(axis=1)
    out[:, 1 : 1 + d] = weights.mean * np.matmul(root[:, None], z)[:, 0]
    # NumPy sees that each product is symmetric and takes half of it.
    out[:, 1 + d :] = weights.moment * svec(np.swapaxes(z, 1, 2) @ z)
    return out


def _grid_sum(u: np.ndarray, weights: StackWeights, g: np.ndarray, grid: float) -> np.ndarray:
    """Return the stack (q,) of one class as an exact sum of rounded vectors.

    Row by row of the upper triangle of u u', of so many records that all of it stays in the processor's cache.
    """
    n, d = u.shape
    total = np.zeros(1 + d + d * (d + 1) // 2)
    memory, per_grid = np.empty((d, min(n, SUMMED_AT_ONCE))), 1 / grid
    for first in range(0, n, SUMMED_AT_ONCE):
        v, share = u[first : first + SUMMED_AT_ONCE].T.copy(), g[first : first + SUMMED_AT_ONCE]
        total[0] += np.rint(weights.count * share * per_grid).sum()
        total[1 : 1 + d] += np.rint(weights.mean * share * v * per_grid).sum(axis=1)
        share, begin = weights.moment * share, 1 + d
        for i in range(d):
            row = np.multiply(v[i:], v[i], out=memory[: d - i, : share.size])
            row[1:] *= math.sqrt(2)  # as in svec
            row *= share
            row *= per_grid
            total[begin : begin + d - i] += np.rint(row, out=row).sum(axis=1)
            begin += d - i
    return total * grid
