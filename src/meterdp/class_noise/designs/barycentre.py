"""The Gaussian distribution closest to all distributions of a neighbourhood: minimax barycentre in the 2-Wasserstein
distance.

A query moved onto a target distribution with the least squared error costs W2^2, so the largest W2^2 to the minimax
centre is the smallest budget at which all labels of a neighbourhood can have one and the same released distribution:
the Wasserstein limit. The problem is convex in the target's mean and covariance; its gap is certified. The way there
is the Wasserstein geodesic, as gain, move and noise, also for singular distributions. See docs/proofs/transport.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from meterdp.class_noise.neighbourhoods import components
from meterdp.class_noise.query_models import AccuracyConvention, ClassQueries
from meterdp.solvers.interior_point import Packing, minimise
from meterdp.solvers.smallest_ball import smallest_ball

TARGET = 1e-6
# Eigenvalues of a distribution below this share of the largest variance of the component are raised to it in the
# search only.
SINGULAR = 1e-12
# The same for the eigenvalues of the overlap of a distribution and the target.
SMALLEST_OVERLAP = 1e-28


@dataclass(frozen=True)
class Centre:
    """Minimax centre N(mean, covariance) of some distributions, (k,) and positive semidefinite (k, k).

    ``squared_distance`` is the largest W2^2 from a distribution to it, (log kWh)^2; no centre has one below
    ``lower_bound``, by duality.
    """

    mean: np.ndarray
    covariance: np.ndarray
    squared_distance: float
    lower_bound: float


def wasserstein_limit(queries: ClassQueries, accuracy_convention: AccuracyConvention = "total") -> float:
    """Return the rho at which all labels of every component can share one released distribution; 0 without
    neighbours.

    It is the largest squared distance of a component's distributions to their minimax centre, (log kWh)^2, per entry
    divided by k; for deterministic queries the squared radius of the smallest ball around the means.
    """
    groups = components(queries.pairs, len(queries.mean_log_kwh))
    worst = max(
        (minimax_centre(queries.mean_log_kwh[g], queries.covariance[g]).squared_distance for g in groups), default=0.0
    )
    return worst / queries.entries if accuracy_convention == "per_entry" else worst


def minimax_centre(means: np.ndarray, covariances: np.ndarray) -> Centre:
    """Return the Gaussian distribution whose largest W2 distance to the distributions N(mean, covariance) is
    smallest.

    Covariances (H, k, k) may be singular or zero.
    """
    if not covariances.any():
        ball = smallest_ball(means)
        return Centre(ball.centre, np.zeros_like(covariances[0]), ball.squared_radius, ball.lower_bound)
    origin = means.mean(axis=0)
    trace = np.trace(covariances, axis1=1, axis2=2)
    scale = np.sqrt(np.max(np.sum((means - origin) ** 2, axis=1) + trace))
    problem = _Targets((means - origin) / scale, covariances / scale**2)
    x, weight = minimise(problem, problem.packing, problem.start(), TARGET)
    mean, covariance = origin + scale * problem.mean(x), scale**2 * problem.target(x)
    covariance = 0.5 * (covariance + covariance.T)
    distance = squared_distances(means, covariances, mean, covariance).max()
    # The distributions of the search are within sqrt(k * floor) of the true ones.
    slack = np.sqrt(means.shape[1] * problem.floor)
    bound = scale**2 * max(np.sqrt(max(problem.dual(x, weight), 0.0)) - slack, 0.0) ** 2
    return Centre(mean, covariance, float(distance), float(bound))


def squared_distances(means, covariances, mean, covariance) -> np.ndarray:
    """Return W2^2 of every distribution N(means, covariances) to N(mean, covariance), (H,)."""
    half = _roots(covariances)
    cross = np.linalg.svd(half @ _roots(covariance[None])[0], compute_uv=False).sum(axis=1)
    spread = np.trace(covariances, axis1=1, axis2=2) + np.trace(covariance) - 2 * cross
    return np.sum((means - mean) ** 2, axis=1) + np.maximum(spread, 0.0)


def _roots(covariances: np.ndarray) -> np.ndarray:
    """Symmetric square roots of positive semidefinite matrices (H, k, k)."""
    values, vectors = np.linalg.eigh(covariances)
    return (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ np.swapaxes(vectors, 1, 2)


class _Targets:
    """min t s.t. W2^2(distribution, N(m, S)) <= t, for :func:`meterdp.solvers.interior_point.minimise`; x = (t, svec
    S, m)."""

    def __init__(self, means: np.ndarray, covariances: np.ndarray):
        self.means = means
        values, vectors = np.linalg.eigh(covariances)
        self.floor = SINGULAR * values.max()
        self.factors = vectors * np.sqrt(np.maximum(values, self.floor))[:, None, :]
        self.traces = np.maximum(values, self.floor).sum(axis=1)
        self.packing = Packing.of(means.shape[1])
        self.levelled = len(means)
        self.matrix = slice(1, 1 + self.packing.size)

    def start(self) -> np.ndarray:
        """Return the mean covariance around the mean of the means."""
        covariance = (self.factors @ np.swapaxes(self.factors, 1, 2)).mean(axis=0)
        covariance += 1e-3 * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
        x = np.concatenate([[0.0], self.packing.pack(covariance), self.means.mean(axis=0)])
        x[0] = 2 * self.constraints(x).max() + 1e-9
        return x

    def target(self, x: np.ndarray) -> np.ndarray:
        """S of x."""
        return self.packing.unpack(x[self.matrix])

    def mean(self, x: np.ndarray) -> np.ndarray:
        """m of x."""
        return x[self.matrix.stop :]

    def _overlap(self, x) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvalues of (L'S L)^1/2, for Sigma = L L', and L times the eigenvectors."""
        inner = np.swapaxes(self.factors, 1, 2) @ self.target(x) @ self.factors
        values, vectors = np.linalg.eigh(inner)
        # Raised above rounding, or a singular target would have no curvature.
        return np.sqrt(np.maximum(values, SMALLEST_OVERLAP * values[:, -1:])), self.factors @ vectors

    def constraints(self, x: np.ndarray) -> np.ndarray:
        """Return W2^2 - t of every distribution."""
        apart = np.sum((self.means - self.mean(x)) ** 2, axis=1)
        return apart + self.traces + np.trace(self.target(x)) - 2 * self._overlap(x)[0].sum(axis=1) - x[0]

    def newton(self, x: np.ndarray, weight: np.ndarray, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the Jacobian J of the constraints, and the Hessian of their weighted sum plus J' diag(ratio) J."""
        roots, axes = self._overlap(x)
        h, k = self.means.shape
        jacobian = np.zeros((h, x.size))
        jacobian[:, 0] = -1
        pull = (axes / roots[:, None, :]) @ np.swapaxes(axes, 1, 2)
        jacobian[:, self.matrix] = self.packing.pack(np.eye(k) - pull)
        jacobian[:, self.matrix.stop :] = 2 * (self.mean(x) - self.means)
        # Second derivative of -2 tr (L'S L)^1/2 along E: sum over i, j of (y_i'E y_j)^2 / (r_i r_j (r_i + r_j)).
        rows, columns = np.tril_indices(k)
        curvature = 1 / (roots[:, rows] * roots[:, columns] * (roots[:, rows] + roots[:, columns]))
        curvature *= np.where(rows == columns, 1.0, 2.0) * weight[:, None]
        left, right = np.swapaxes(axes, 1, 2)[:, rows], np.swapaxes(axes, 1, 2)[:, columns]
        hessian = np.zeros((x.size, x.size))
        for a, b, c in zip(left, right, curvature, strict=True):
            features = self.packing.pack(0.5 * (a[:, :, None] * b[:, None, :] + b[:, :, None] * a[:, None, :]))
            hessian[self.matrix, self.matrix] += (features.T * c) @ features
        hessian[range(self.matrix.stop, x.size), range(self.matrix.stop, x.size)] = 2 * weight.sum()
        scaled = np.sqrt(ratio)[:, None] * jacobian
        return jacobian, hessian + scaled.T @ scaled

    def dual(self, x: np.ndarray, weight: np.ndarray) -> float:
        """Lower bound on the smallest t from the multipliers; see docs/proofs/transport.md."""
        share = weight / weight.sum()
        roots, axes = self._overlap(x)
        pull = np.einsum("h,hij,hlj->il", share, axes / roots[:, None, :], axes)
        size = np.linalg.eigvalsh(pull)[-1]
        spread = share @ np.sum((self.means - share @ self.means) ** 2, axis=1)
        return float(spread + share @ (self.traces - size * roots.sum(axis=1)))

    def gap(self, x: np.ndarray, weight: np.ndarray) -> float:
        """Relative distance of the farthest distribution from the lower bound."""
        if np.linalg.eigvalsh(self.target(x))[0] <= 0:
            return np.inf
        bound = self.dual(x, weight)
        worst = self.constraints(x).max() + x[0]
        return (worst - bound) / max(bound, 1e-12)


# Eigenvalues of a distribution below this share of its largest count as zero.
MAP_SINGULAR = 1e-10


class Moved(NamedTuple):
    """q~ - E q~ = gain (q - mu) + noise, E q~ = mu + move."""

    gain: np.ndarray
    move: np.ndarray
    covariance: np.ndarray


def towards(mean, covariance, centre: Centre, allowed: float) -> Moved:
    """Return what moves N(mean, covariance), (k,) and (k, k), along the geodesic to the centre at a squared error of
    at most ``allowed``.

    The best coupling of N(0, L L'), L (k, r) of full rank, with N(0, S) is y = S L M^-1/2 L^+ x + noise, M = L'S L,
    with noise covariance S - S L M^-1 L'S, zero where the distribution is regular. Its squared error is W2^2, and a
    share s of the way costs s^2 of it.
    """
    k = len(mean)
    values, vectors = np.linalg.eigh(covariance)
    kept = values > MAP_SINGULAR * max(values[-1], 0.0)
    target = centre.covariance
    if kept.any():
        root = np.sqrt(values[kept])
        factor = vectors[:, kept] * root
        inner, axes = np.linalg.eigh(factor.T @ target @ factor)
        inverse = np.where(inner > MAP_SINGULAR * max(inner[-1], 0.0), 1 / np.sqrt(np.maximum(inner, 1e-300)), 0.0)
        carried = target @ factor @ ((axes * inverse) @ axes.T)
        map_ = carried @ (vectors[:, kept] / root).T
        rest = target - carried @ carried.T if kept.sum() < k or not inverse.all() else np.zeros((k, k))
    else:
        map_, rest = np.zeros((k, k)), target
    left, axes = np.linalg.eigh(0.5 * (rest + rest.T))
    rest = (axes * np.maximum(left, 0.0)) @ axes.T
    change = map_ - np.eye(k)
    cost = np.sum((centre.mean - mean) ** 2) + np.trace(change @ covariance @ change.T) + np.trace(rest)
    share = 1.0 if cost <= allowed else np.sqrt(allowed / cost)
    return Moved(np.eye(k) + share * change, share * (centre.mean - mean), share**2 * rest)
