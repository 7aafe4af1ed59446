"""Private K-means of Park et al., Section 7 (Fig. 4), and the DPLloyd it is compared with. Published family.

The paper's perturbs shares and means, like DP-EM for mixtures; DPLloyd (Blum et al. 2005; Su et al. 2016) perturbs
counts and sums of coordinates and divides. Both give every answer Laplace noise of a budget that a composition fixes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from meterdp.accounting.sequence import Sequence
from meterdp.mechanisms.dpem.mixture import CHANGE, clipped_weights
from meterdp.mechanisms.dpem.moments import MomentModel, Perturbation, moment_em
from meterdp.mechanisms.dpem.records import check_records
from meterdp.privacy.noise import NoiseSource

_ROWS_AT_ONCE = 8192


def dp_kmeans(
    x: np.ndarray,
    start: np.ndarray,
    iterations: int,
    step_epsilon: float,
    noise: NoiseSource,
    count_floor: float = 1.0,
) -> np.ndarray:
    """Run the paper's private K-means: Laplace noise on the shares, (14), and on every mean, (15), (16).

    Parameters
    ----------
    x : (N, d) float64
        Records in the unit ball.
    start : (K, d) float64
        Public centres.
    iterations : int
        J.
    step_epsilon : float
        Budget of each of the J (K + 1) answers; infinite for Lloyd's algorithm without noise.
    noise : NoiseSource
    count_floor : float
        Public floor of the noisy counts that (15) divides by (defect P2). The mean itself is that of the class, as
        (16) prints; a class of no record keeps its centre.

    Returns
    -------
    (K, d) float64

    Raises
    ------
    InputError
        If there are fewer records than classes, or an entry is not a finite number.
    """
    return _run(_MeanModel(len(x), count_floor), x, start, iterations, step_epsilon, noise)


def kmeans_sequence(classes: int, iterations: int) -> Sequence:
    """Return the answers of :func:`dp_kmeans` for an accountant."""
    return Sequence(iterations * (classes + 1), 0, 0.0)


def dp_lloyd(
    x: np.ndarray,
    start: np.ndarray,
    iterations: int,
    step_epsilon: float,
    noise: NoiseSource,
    count_floor: float = 1.0,
) -> np.ndarray:
    """Run DPLloyd: Lap((d + 1)/step_epsilon) on every count and on every coordinate of every sum.

    Parameters as in :func:`dp_kmeans`, but one iteration is one answer: linear composition gives it epsilon/J. The
    sensitivity d + 1 is that of one record more or less with coordinates in [-1, 1]; a replaced record of the unit
    ball changes counts and sums of two classes, by up to 2 + 2 sqrt(d), so for d = 2 the paper charges DPLloyd less
    than its own method. A class whose noisy count is below the floor is divided by the floor.
    """
    return _run(_SumModel(count_floor), x, start, iterations, step_epsilon, noise)


def lloyd_sequence(iterations: int) -> Sequence:
    """Return the answers of :func:`dp_lloyd` for an accountant."""
    return Sequence(iterations, 0, 0.0)


def nicv(x: np.ndarray, centres: np.ndarray) -> float:
    """Return the normalised intra-cluster variance: the mean squared distance of records to the nearest centre."""
    total = sum(float(nearest.sum()) for _, _, nearest in _assigned(x, centres))
    return total / len(x)


@dataclass(frozen=True)
class _Members:
    """Counts (K,) and sums (K, d) of the records nearest to each centre (K, d)."""

    counts: np.ndarray
    sums: np.ndarray
    centres: np.ndarray


class _Lloyd:
    """What both models share: their moments."""

    def expected(self, x: np.ndarray, centres: np.ndarray) -> _Members:
        counts, sums = np.zeros(len(centres)), np.zeros(centres.shape)
        for part, label, _ in _assigned(x, centres):
            member = (label[:, None] == np.arange(len(centres))).astype(float)
            counts += member.sum(axis=0)
            sums += member.T @ part
        return _Members(counts, sums, centres)


@dataclass(frozen=True)
class _MeanModel(_Lloyd):
    records: int
    count_floor: float

    def perturbed(self, members: _Members, perturbation: Perturbation) -> np.ndarray:
        n, d = self.records, members.sums.shape[1]
        shares, _ = clipped_weights(perturbation.vector(members.counts / n, CHANGE / n, "laplace"))
        noisy_counts = np.maximum(n * shares, self.count_floor)
        counts = members.counts[:, None]
        means = np.where(counts > 0, members.sums / np.maximum(counts, 1.0), members.centres)
        return perturbation.vector(means, CHANGE * math.sqrt(d) / noisy_counts[:, None], "laplace")


@dataclass(frozen=True)
class _SumModel(_Lloyd):
    count_floor: float

    def perturbed(self, members: _Members, perturbation: Perturbation) -> np.ndarray:
        sensitivity = members.sums.shape[1] + 1
        counts = perturbation.vector(members.counts, sensitivity, "laplace")
        sums = perturbation.vector(members.sums, sensitivity, "laplace")
        return sums / np.maximum(counts, self.count_floor)[:, None]


def _run(
    model: MomentModel, x: np.ndarray, start: np.ndarray, iterations: int, step_epsilon: float, noise: NoiseSource
) -> np.ndarray:
    check_records(x, len(start))
    return moment_em(model, x, start, iterations, Perturbation(noise, step_epsilon))


def _assigned(x: np.ndarray, centres: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield records (n, d), the nearest centre of each, (n,), and its squared distance, (n,)."""
    for start in range(0, len(x), _ROWS_AT_ONCE):
        part = x[start : start + _ROWS_AT_ONCE]
        less_own_square = np.einsum("kd,kd->k", centres, centres) - 2 * part @ centres.T
        label = less_own_square.argmin(axis=1)
        residual = part - centres[label]
        yield part, label, np.einsum("nd,nd->n", residual, residual)
