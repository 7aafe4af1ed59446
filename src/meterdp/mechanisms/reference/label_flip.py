"""What all mechanisms of the published and exact families claim, after Liu et al.: one class label, one data set.

The claim is the paper's and holds for none of them (defects L1 to L13); each proof note says where it fails. The
constant of its Gaussian noise, Lemma 1, is here too.

How far one label flip moves the fitted parameters (2a)-(2c) is exact, over all flips: one takes record n out of one
class and puts it into another; per class that is N changes, one per record. Flips that would empty a class leave the
set S of (3) and are not neighbours, so the only record of a class cannot move. These are per-data-set ("local")
sensitivities as in the paper, which is defect L4: a guarantee built on them is not differential privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar, Literal, Self

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.special import chdtri, ndtri

from meterdp.errors import InputError
from meterdp.mechanisms.interface import Mechanism, PrivateRecords, PublicSettings, Sees
from meterdp.mixture.gmm import Fit
from meterdp.privacy.guarantee import Family
from meterdp.solvers import ellipsoid as sdp

# Whose flips the noise on a class covers: "all" is every record whose label may flip, "leaving" the members of the
# class alone, as (10) is printed; a record that enters is then not covered.
Flips = Literal["all", "leaving"]


@dataclass(frozen=True)
class FlipSensitivities:
    """Largest change under one label flip, per class; l1 and l2 norms.

    Covariances count by their upper triangle with the diagonal: those d(d+1)/2 numbers are what gets noise, the lower
    triangle is a copy.
    """

    weights_l1: float  # 2/N
    weights_l2: float  # sqrt(2)/N
    means_l1: np.ndarray  # (K,) log kWh
    means_l2: np.ndarray
    covariances_l1: np.ndarray  # (K,) (log kWh)^2
    covariances_l2: np.ndarray


def movable(labels: np.ndarray) -> np.ndarray:
    """Return which records (N,) share their class with another and can therefore change it."""
    return np.bincount(labels)[labels] > 1


def mean_changes(
    x: np.ndarray, labels: np.ndarray, means: np.ndarray, component: int, flips: Flips = "all"
) -> np.ndarray:
    """Return the difference vectors v_n of (10) and (19) for one class of labels and means (K, d), (M, d).

    (x_n - mu_k)/(N_k - 1) for members, (x_n - mu_k)/(N_k + 1) for all others, up to sign, one row per record that can
    move. Nothing can leave a class of one record: then there is one row of zeros. Classes count from 1.
    """
    member = labels == component
    count = member.sum()
    steps = np.where(member, count - 1, count + 1)
    moves = movable(labels) if flips == "all" else movable(labels) & member
    if not moves.any():
        return np.zeros((1, x.shape[1]))
    return (x - means[component - 1])[moves] / steps[moves, None]


def covariance_changes(
    x: np.ndarray, labels: np.ndarray, means: np.ndarray, covariances: np.ndarray, component: int
) -> np.ndarray:
    """Return the change of (2c) of one class under every flip, as upper triangles (M, d (d + 1) / 2).

    With u = x_n - mu_k: a member that leaves changes Sigma_k by (Sigma_k - N_k/(N_k - 1) u u')/(N_k - 2), a record
    that enters by -Sigma_k/N_k + u u'/(N_k + 1). A class of one record has covariance zero by convention, so the
    change when one of two leaves is -Sigma_k. ``covariances`` (K, d, d) are those of the sample, before any floor;
    rows are those of :func:`mean_changes`, with the sign of (new - old), entries in the order of
    ``numpy.triu_indices``.
    """
    moves = movable(labels)
    member = labels[moves] == component
    outer, old = _shares(np.array((labels == component).sum()), member)
    upper = np.triu_indices(x.shape[1])
    return _changes(x[moves] - means[component - 1], outer, old, covariances[component - 1][upper])


def _shares(counts: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the factors of u u' and of Sigma_k in the change of Sigma_k, for members and for all others."""
    n, many = np.maximum(counts, 3), counts > 2
    leaving = np.where(many, -n / ((n - 1) * (n - 2)), 0.0), np.where(many, 1 / (n - 2), -1.0)
    entering = 1 / (counts + 1), -1 / np.maximum(counts, 1)
    return np.where(member, leaving[0], entering[0]), np.where(member, leaving[1], entering[1])


def _changes(residual: np.ndarray, outer: np.ndarray, old: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """Return outer u u' + old Sigma_k as upper triangles (M, q), with Sigma_k as (q,) or one (M, q) a row."""
    rows, columns = np.triu_indices(residual.shape[1])
    return outer[:, None] * residual[:, rows] * residual[:, columns] + old[:, None] * sigma


def flip_sensitivities(
    x: np.ndarray, labels: np.ndarray, means: np.ndarray, covariances: np.ndarray, flips: Flips = "all"
) -> FlipSensitivities:
    """Return the largest change of every released parameter over the flips; as in :func:`covariance_changes`."""
    k, n = len(means), len(x)
    moves = movable(labels)
    if not moves.any():
        return FlipSensitivities(2 / n, np.sqrt(2) / n, *np.zeros((4, k)))
    counts = np.bincount(labels, minlength=k + 1)[1:, None]
    member = labels[moves] == np.arange(1, k + 1)[:, None]
    steps = np.where(member, counts - 1, counts + 1)
    covered = member | (flips == "all")
    residual = (x[moves].T - means[:, :, None]) * covered[:, None]  # (K, d, M): sums over d are fast this way round
    squares = residual**2
    l1, square, fourth = np.abs(residual).sum(axis=1), squares.sum(axis=1), (squares**2).sum(axis=1)
    # Norms of the upper triangle of u u'.
    sizes = (l1**2 + square) / 2, np.sqrt((square**2 + fourth) / 2)

    outer, old = (factors * covered for factors in _shares(counts, member))
    sigma = covariances[:, *np.triu_indices(x.shape[1])]
    largest = np.zeros((2, k))
    for order, size in zip((1, 2), sizes, strict=True):
        size, base = np.abs(outer) * size, np.abs(old) * np.linalg.norm(sigma, order, axis=1)[:, None]
        # The triangle inequality rules most records out.
        at = np.nonzero(size + base >= np.abs(size - base).max(axis=1, keepdims=True))
        changes = _changes(residual[at[0], :, at[1]], outer[at], old[at], sigma[at[0]])
        np.maximum.at(largest[order - 1], at[0], np.linalg.norm(changes, order, axis=1))
    return FlipSensitivities(
        2 / n, np.sqrt(2) / n, (l1 / steps).max(axis=1), np.sqrt((square / steps**2).max(axis=1)), *largest
    )


DIRECTIONS = (128, 1024)
DIRECTIONS_PER_DIMENSION = 64
# Where u - ln(1 + u) loses digits, its series keeps them.
SERIES_BELOW = 1e-4


@dataclass(frozen=True)
class CovarianceCosts:
    """What Wishart noise on a covariance costs in divergence: the expectation that (12) of Liu et al. only bounds.

    h_k(gamma) = 1/2 E[tr(Sigma_k^-1 W) - ln|I + Sigma_k^-1 W|] with W ~ Wishart_d(I / gamma, d + 1) (defect L8). It
    has no usable closed form for real matrices, so it is integrated by fixed nodes, without random numbers: one set
    of eigenvalues per class serves every gamma. h_k(gamma) = sum_q mass_q g(x_q / gamma) / gamma^2 with g(u) = (u -
    ln(1 + u)) / u^2.

    W = rho^2 U / gamma with rho^2 chi-square of d (d + 1) degrees of freedom and U of trace one, independent. The
    length is integrated by Gauss quadrature, the direction by Sobol points whose weights are corrected, class by
    class, so that the first two moments of tr(Sigma^-1 W) and the mean of tr (Sigma^-1 W)^2 are exact. These rule the
    cost where noise is small: h = 1/4 E tr (Sigma^-1 W)^2 + O(gamma^-3). The relative error stays below 1e-3 up to d
    = 12, whatever Sigma and gamma (tests/unit/mechanisms/reference/test_label_flip.py).
    """

    x: np.ndarray  # (K, Q) eigenvalues of gamma Sigma_k^-1/2 W Sigma_k^-1/2 over all nodes
    mass: np.ndarray  # (K, Q) half the weight of a node times x^2

    def cost(self, gamma: np.ndarray) -> np.ndarray:
        """Return h_k(gamma_k), (K,) float64, nats. Convex and falling, as 1/gamma^2 in the end."""
        u = self.x / gamma[:, None]
        large = np.maximum(u, SERIES_BELOW)
        g = np.where(u < SERIES_BELOW, 0.5 - u / 3, (large - np.log1p(large)) / large**2)
        return np.einsum("kq,kq->k", self.mass, g) / gamma**2

    def log_slope(self, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ln(-h_k'(gamma_k)) and its derivative by ln gamma, which lies in (-3, -2): (K,) float64 each."""
        inverse = 1 / (self.x + gamma[:, None])
        first = np.einsum("kq,kq->k", self.mass, inverse)
        second = np.einsum("kq,kq,kq->k", self.mass, inverse, inverse)
        return np.log(first) - 2 * np.log(gamma), -2 - gamma * second / first


def covariance_costs(covariances: np.ndarray) -> CovarianceCosts:
    """Return the cost function of every class, of covariances (K, d, d)."""
    k, d = covariances.shape[:2]
    s = 1 / np.linalg.eigvalsh(covariances)
    u = _directions(d)
    squares, shares = _squared_lengths(d)
    root = np.sqrt(s)
    # W is invariant under rotation, so only the eigenvalues of Sigma_k matter.
    values = np.maximum(np.linalg.eigvalsh(root[:, None, :, None] * u * root[:, None, None, :]), 0.0)
    weights = _corrected_weights(values, s)
    x = values[..., None] * squares
    mass = 0.5 * weights[..., None, None] * shares * x**2
    return CovarianceCosts(x.reshape(k, -1), mass.reshape(k, -1))


def _corrected_weights(values: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return weights (K, M) of the directions, nearest to equal ones, that make three moments exact.

    ``values`` (K, M, d) are eigenvalues of Sigma_k^-1/2 U Sigma_k^-1/2, ``s`` (K, d) those of Sigma_k^-1.
    """
    _, nodes, d = values.shape
    degrees = d * (d + 1)
    trace, square = s.sum(axis=1), (s**2).sum(axis=1)
    first = values.sum(axis=2)
    # E tr V = n tr S, E tr V^2 = n (n + 1) tr S^2 + n (tr S)^2, E (tr V)^2 = n^2 (tr S)^2 + 2 n tr S^2, n = d + 1.
    features = np.stack([first, (values**2).sum(axis=2), first**2], axis=1)
    expected = np.stack(
        [
            trace / d,
            ((d + 2) * square + trace**2) / (d * (degrees + 2)),
            ((d + 1) * trace**2 + 2 * square) / (d * (degrees + 2)),
        ],
        axis=1,
    )
    error = features / expected[..., None] - 1
    mean = error.mean(axis=2, keepdims=True)
    centred = error - mean
    # A feature may be constant (equal eigenvalues) and is then exact anyway: the ridge leaves it alone.
    gram = centred @ np.swapaxes(centred, 1, 2) / nodes + 1e-14 * np.eye(3)
    return (1 - (np.swapaxes(np.linalg.solve(gram, mean), 1, 2) @ centred)[:, 0]) / nodes


@cache
def _squared_lengths(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Gauss nodes and weights of chi-square with d (d + 1) degrees of freedom (Golub and Welsch)."""
    count = 4 + 12 // d
    alpha, j = d * (d + 1) / 2 - 1, np.arange(count)
    nodes, vectors = eigh_tridiagonal(2 * j + 1 + alpha, np.sqrt(j[1:] * (j[1:] + alpha)))
    return 2 * nodes, vectors[0] ** 2


@cache
def _directions(d: int) -> np.ndarray:
    """Return W / tr W (M, d, d) at Sobol points, W ~ Wishart_d(I, d + 1) by Bartlett's decomposition."""
    # Importing scipy.stats takes a second, and the other mechanisms need none of it.
    from scipy.stats.qmc import Sobol

    count = int(np.clip(2 ** np.ceil(np.log2(DIRECTIONS_PER_DIMENSION * d)), *DIRECTIONS))
    # The middle of each point's cell: the first point is the corner, where quantiles are infinite.
    points = Sobol(d * (d + 1) // 2, scramble=False).random(count) + 0.5 / count
    lower = np.zeros((count, d, d))
    rows, columns = np.tril_indices(d, -1)
    lower[:, np.arange(d), np.arange(d)] = np.sqrt(chdtri(d + 1 - np.arange(d), 1 - points[:, :d]))
    lower[:, rows, columns] = ndtri(points[:, d:])
    wishart = lower @ np.swapaxes(lower, 1, 2)
    return wishart / np.trace(wishart, axis1=1, axis2=2)[:, None, None]


# Down to here releases are tested; the noise is some 1e7 times the sensitivity and drowns every parameter.
SMALLEST_EPSILON = 1e-6


class LabelFlip(Mechanism):
    """Base of the published and exact families, whose claim the proof notes refute."""

    sees: ClassVar[Sees] = "labels"
    family: ClassVar[Family] = "published"
    unit: ClassVar[str] = "class label of one household"
    adjacency: ClassVar[str] = "label_flip"

    @classmethod
    def calibrate(cls, public: PublicSettings) -> Self:
        """Keep the public settings; the noise depends on the data (defect L4)."""
        if public.epsilon < SMALLEST_EPSILON:
            raise InputError(
                "is so small that the noise leaves no digit of the parameters",
                field="epsilon",
                hint=f"use {SMALLEST_EPSILON} or more",
            )
        return cls(public)


def lemma_1_multiplier(epsilon: float | np.ndarray, delta: float) -> float | np.ndarray:
    """Return sqrt(2 ln(2/delta)) / epsilon, the noise per unit of l2 sensitivity by Lemma 1 of Liu et al.

    Loose in the paper's range and too small from epsilon about 9.4 at delta = 1e-5 (defect L7).
    """
    return math.sqrt(2 * math.log(2 / delta)) / epsilon


def square_roots(covariances: np.ndarray) -> np.ndarray:
    """Return F (..., d, d) with F F' the given covariances, which may be singular."""
    values, vectors = np.linalg.eigh(covariances)
    return vectors * np.sqrt(np.maximum(values, 0))[..., None, :]


@dataclass(frozen=True)
class LabelledRecords(PrivateRecords):
    """Valid records with class labels and the mixture fitted to them: what the published and exact families see."""

    fit: Fit  # without privacy, to ``x`` and labels
    flips: Flips = "all"  # variant of (10): which changes noise has to cover

    def __post_init__(self):
        super().__post_init__()
        if len(self.fit.labels) != len(self.x):
            raise ValueError("the records and the labels of the fit do not belong together")

    @property
    def labels(self) -> np.ndarray:
        """(N,) classes 1..K."""
        return self.fit.labels

    @cached_property
    def sensitivities(self) -> FlipSensitivities:
        fit = self.fit
        return flip_sensitivities(self.x, fit.labels, fit.mixture.means, fit.sample_covariances, self.flips)

    @cached_property
    def differences(self) -> tuple[np.ndarray, ...]:
        """Per class the difference vectors (M, d) of (10) and (19), log kWh."""
        return tuple(
            mean_changes(self.x, self.labels, self.fit.mixture.means, k + 1, self.flips)
            for k in range(len(self.fit.counts))
        )

    @cached_property
    def covariance_costs(self) -> CovarianceCosts:
        """Per class the divergence that Wishart noise costs, as a function of its gamma."""
        return covariance_costs(self.fit.mixture.covariances)

    @cached_property
    def shapes(self) -> tuple[sdp.SdpSolution, ...]:
        """Per class the solution of (23) at right-hand side one, whitened by the Cholesky factor of Sigma_k.

        Solved once: Gamma_k^-1 scales as 1/epsilon_k^2.
        """
        lower = np.linalg.cholesky(self.fit.mixture.covariances)
        return tuple(sdp.solve(np.linalg.solve(root, v.T).T) for root, v in zip(lower, self.differences, strict=True))

    @cached_property
    def plain_shapes(self) -> tuple[sdp.SdpSolution, ...]:
        """The same with weight I in place of Sigma_k^-1: the minimum-trace Gamma_k^-1."""
        return tuple(sdp.solve(v) for v in self.differences)
