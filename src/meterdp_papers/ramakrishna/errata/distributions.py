"""What the errata of Ramakrishna et al. share: numbers the paper prints, and exact tails of the privacy loss.

The printed numbers are quoted, everything else is computed. Tails of two-dimensional losses are integrated here by a
route of their own, as the check beside :func:`worst`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from meterdp.accounting.exact_curve import Side, worst_pair
from meterdp.accounting.gaussian_loss import PairLosses, pair_losses
from meterdp.class_noise.designs.interface import ClassQueries
from meterdp.privacy.noise import NoiseSource

STEPS = 12  # entries of a query in section VI-B, three hours
# Of the quadrature of tails: angles from -pi/2 to pi/2 in pieces, as narrow distributions change fast within a few
# degrees.
_PIECES = 32
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(24)
_ANGLES = ((np.arange(_PIECES) + 0.5)[:, None] + _NODES / 2).ravel() * math.pi / _PIECES - math.pi / 2
_WEIGHTS = np.tile(_NODE_WEIGHTS / 2, _PIECES) * math.pi / _PIECES


def normal_tail(mu: float, epsilon: float) -> float:
    """Return (33), Pr(L > epsilon) for equal covariances and means ``mu`` noise widths apart; (23) is the same."""
    return float(norm.sf(epsilon / mu - mu / 2))


def mu_of_tail(delta: float, epsilon: float) -> float:
    """Return the mu at which :func:`normal_tail` is ``delta``, the positive root of mu^2/2 + z mu - epsilon."""
    z = norm.isf(delta)
    return float(-z + math.sqrt(z * z + 2 * epsilon))


def all_pairs(labels: int) -> np.ndarray:
    """Return the edges of a full graph, (P, 2)."""
    return np.argwhere(~np.eye(labels, dtype=bool))


def line_of_classes(noise: NoiseSource, classes: int = 4, spacing: float = 1.0) -> ClassQueries:
    """Draw the queries of section VI-A: 2-D means on a line, covariances Wishart(I, 2), all neighbours."""
    root = noise.normal((classes, 2, 2))
    means = spacing * np.arange(classes)[:, None] * np.full(2, math.sqrt(0.5))
    return ClassQueries(means, root @ np.swapaxes(root, 1, 2), all_pairs(classes))


def two_labels(mean, covariance, other_mean, other_covariance) -> ClassQueries:
    """Return two distributions and the pair in both orders; pair 0 is (X, X')."""
    means = np.array([mean, other_mean], dtype=float)
    return ClassQueries(means, np.array([covariance, other_covariance], dtype=float), all_pairs(2))


def tails_by_quadrature(gamma: np.ndarray, nu: np.ndarray, epsilon: float) -> tuple[float, float]:
    """Return Pr(L > epsilon) and Pr(L < -epsilon) of a loss (29) with two entries, gamma and nu (2,).

    Given xi_1, the loss is a parabola in xi_2, so the probability given xi_1 is a difference of normal distribution
    functions. It is integrated between the places where the parabola gains or loses its roots; there it changes like
    a square root, which the sine of an angle makes smooth for Gauss-Legendre quadrature.
    """
    constant = 0.5 * float(np.sum(nu**2 - np.log(gamma)))
    half, slope = 0.5 * (gamma - 1), -np.sqrt(gamma) * nu

    def above(x: np.ndarray, level: float) -> np.ndarray:
        """Pr(L > level | xi_1 = x)."""
        a, b, c = half[1], slope[1], constant + half[0] * x * x + slope[0] * x - level
        if abs(a) < 1e-14:
            return ndtr(c / abs(b)) if b else (c > 0).astype(float)
        square = b * b - 4 * a * c
        root = np.sqrt(np.maximum(square, 0.0))
        low, high = np.sort([(-b - root) / (2 * a), (-b + root) / (2 * a)], axis=0)
        inside = np.where(square > 0, ndtr(high) - ndtr(low), 0.0)
        return 1 - inside if a > 0 else inside

    def probability(level: float) -> float:
        # Where the discriminant in xi_2 changes sign: a parabola in xi_1.
        a = half[1]
        edges = np.roots([-4 * a * half[0], -4 * a * slope[0], slope[1] ** 2 - 4 * a * (constant - level)])
        reach = 9.0
        cuts = np.clip(np.sort(edges[np.isreal(edges)].real), -reach, reach)
        points = np.unique(np.concatenate([[-reach, 0.0, reach], cuts]))
        middle, radius = (points[1:] + points[:-1])[:, None] / 2, np.diff(points)[:, None] / 2
        x = middle + radius * np.sin(_ANGLES)
        density = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
        return float(np.sum(radius * np.cos(_ANGLES) * _WEIGHTS * density * above(x, level)))

    return probability(epsilon), 1 - probability(-epsilon)


def losses_of(distributions: ClassQueries) -> PairLosses:
    """Return the losses of all pairs of ``distributions``."""
    return pair_losses(distributions.mean_log_kwh, distributions.covariance, distributions.pairs)


def worst(distributions: ClassQueries, epsilon: float, side: Side = "one") -> float:
    """Return the largest delta over all ordered pairs: Pr(L > epsilon), or that of (epsilon, delta)-DP."""
    return worst_pair(losses_of(distributions), epsilon, side).delta


def worst_by_quadrature(distributions: ClassQueries, epsilon: float) -> float:
    """Return the largest Pr(L > epsilon) over all pairs of queries with two entries, by quadrature."""
    losses = losses_of(distributions)
    return max(tails_by_quadrature(g, n, epsilon)[0] for g, n in zip(losses.gamma, losses.nu, strict=True))
