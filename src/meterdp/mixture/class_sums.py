"""The sums an EM step needs of the records: per class, in one pass whose memory does not grow with the records.

A chunk of records is standardised for all classes by a few matrix products that skip the zeros of the triangular
roots, and its second moments are symmetric products of the records that belong to a class at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from meterdp.mixture.density import class_shares_and_total
from meterdp.mixture.draws import Mixture

# Columns of a root handled at a time: fewer waste less on its zeros, more make better matrix products.
_BLOCK = 25
# Of one block of all classes, so that it stays in the second-level cache.
_CHUNK_BYTES = 800_000
# What such shares of records in the unit ball add to a sum is lost in rounding.
_NEGLIGIBLE_SHARE = 1e-20


@dataclass(frozen=True)
class ClassSums:
    """Expected sums of records over the classes of a mixture, with responsibilities g_nk.

    Parameters
    ----------
    counts : (K,) float64
        Sum of g_nk.
    sums : (K, d) float64
        Sum of g_nk x_n.
    second_moments : (K, d, d) float64
        Sum of g_nk x_n x_n', about the origin.
    log_likelihood : float
        Sum of ln p(x_n) under the mixture.
    """

    counts: np.ndarray
    sums: np.ndarray
    second_moments: np.ndarray
    log_likelihood: float


def class_sums(x: np.ndarray, mixture: Mixture, dtype: type = np.float64) -> ClassSums:
    """Return the sums of the records over the classes, under the responsibilities of ``mixture``.

    Parameters
    ----------
    x : (N, d) float
    mixture : Mixture
    dtype : float64 or float32
        Of the arithmetic with records. Chunks are added up in float64 either way. With float32 a record of unit
        norm loses about 1e-7 of its square, and its log-density 1e-6 times the largest precision's root.
    """
    n, d = x.shape
    classes = mixture.classes
    blocks, log_scale = _affine_blocks(mixture, dtype)
    counts, sums = np.zeros(classes), np.zeros((classes, d))
    second_moments = np.zeros((classes, d, d))
    log_likelihood = 0.0
    most = max(64, _CHUNK_BYTES // (np.dtype(dtype).itemsize * classes * min(d, _BLOCK)))
    rows = math.ceil(n / math.ceil(n / most))
    one_and_x = np.ones((rows, 1 + d), dtype=dtype)
    for start in range(0, n, rows):
        part = one_and_x[: len(x[start : start + rows])]
        part[:, 1:] = x[start : start + rows]
        log_density = log_scale[:, None] - 0.5 * _squared_lengths(part, blocks, classes)
        shares, log_total = class_shares_and_total(log_density)
        log_likelihood += float(log_total.sum())
        counts += shares.sum(axis=1)
        for k, share in enumerate(shares):
            own = slice(None) if share.min() > _NEGLIGIBLE_SHARE else np.flatnonzero(share > _NEGLIGIBLE_SHARE)
            root = part[own] * np.sqrt(share[own])[:, None].astype(dtype)
            # The first row and column hold the count and the sum; NumPy takes half the product, it being symmetric.
            product = root.T @ root
            sums[k] += product[0, 1:]
            second_moments[k] += product[1:, 1:]
    return ClassSums(counts, sums, second_moments, log_likelihood)


def _affine_blocks(mixture: Mixture, dtype: type) -> tuple[list[np.ndarray], np.ndarray]:
    """Return what maps (1, x) to L_k^-1 (x - mu_k), a block of entries at a time for all classes, and ln-scales (K,).

    Block j is (1 + last entry of the block, K * entries): entries further on meet zeros of L_k^-1.
    """
    d = mixture.dimension
    lower = np.linalg.cholesky(mixture.covariances)
    whiten = np.linalg.inv(lower)
    affine = np.concatenate([-np.einsum("kij,kj->ki", whiten, mixture.means)[..., None], whiten], axis=2)
    blocks = []
    for first in range(0, d, _BLOCK):
        last = min(first + _BLOCK, d)
        block = affine[:, first:last, : 1 + last]
        blocks.append(np.ascontiguousarray(block.reshape(-1, 1 + last).T, dtype=dtype))
    with np.errstate(divide="ignore"):
        log_weights = np.log(mixture.weights)
    log_roots = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    return blocks, log_weights - log_roots - 0.5 * d * np.log(2 * np.pi)


def _squared_lengths(one_and_x: np.ndarray, blocks: list[np.ndarray], classes: int) -> np.ndarray:
    """Return |L_k^-1 (x_n - mu_k)|^2, (K, n) float64."""
    out = np.zeros((classes, len(one_and_x)))
    for block in blocks:
        z = (one_and_x[:, : len(block)] @ block).reshape(len(one_and_x), classes, -1)
        out += np.einsum("nkb,nkb->kn", z, z)
    return out
