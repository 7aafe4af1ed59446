"""Descent on the released distributions of a component: moves, noise and, for `transport`, maps of every query
together.

Not convex: several starts, gradients of a smooth stand-in for delta(eps) over the worst pairs, and the exact curve as
the judge. The published design is a start and is kept wherever nothing found is below it at every design epsilon, so
the answer is never worse there. Derivation: docs/proofs/joint.md.

The stand-in is the saddle point of the privacy loss's moment generating function. For a pair of Gaussian
distributions, K(u) = ln E e^(uL) and its saddle point K'(u) = eps, r = sign(u) sqrt(2 (u eps - K(u))) orders pairs
and designs much as the exact Pr(L > eps) ~ Phi(-r) does, from probabilities near one to the smallest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.optimize import minimize
from scipy.special import logsumexp

from meterdp.accounting.exact_curve import worst_pairs
from meterdp.accounting.gaussian_loss import pair_losses
from meterdp.class_noise.designs.barycentre import Moved, minimax_centre, towards
from meterdp.class_noise.designs.simple import alike

# Where designs are compared and improved; public constants of the design.
EPSILONS = np.array([0.1, 0.5, 1.0])
# Pairs of the descent, sharpness of its soft minimum in units of r, and iterations at each sharpness.
PAIRS, SHARPNESS, ITERATIONS = 300, (10.0, 100.0), (60, 60)
# Starts that are descended, of those that look best.
DESCENDED = 2
# Shares of the budget a start spends on moving the means, or on the way to the centre.
MOVES = (0.0, 0.25, 0.5, 0.75, 0.95)
# Below this delta designs count as equal.
SMALLEST_DELTA = 1e-12
# Columns of a distribution's root shorter than this share of the longest carry no query a gain could act on.
SINGULAR = 1e-5


@dataclass(frozen=True)
class Descended:
    """What to do to the n queries of a component: C_X (n, k, k), the move E q~ - mu_X (n, k) of the mean, and G_X (n,
    k, k), None for the identity.
    """

    covariance: np.ndarray
    move: np.ndarray
    gain: np.ndarray | None
    iteration_count: int


def descend_component(
    means, covariances, pairs, published, budget: float, floor: float, maps: bool, known=None
) -> Descended:
    """Return the best design found for one component of n queries with means (n, k) and covariances (n, k, k).

    ``pairs`` (P, 2) are ordered; ``published`` (n, k, k) is the noise of the published design at the same ``budget``
    R, the allowed E|q~ - q|^2. C_X is at least ``floor`` times the identity, unless the published design is kept.
    With ``maps`` a query may be mapped, as well as moved and given noise. ``known`` is a common noise covariance (k,
    k) with moves (n, k) to start from.
    """
    problem = _Descent(means, covariances, pairs, budget - means.shape[1] * floor, floor, maps)
    reference = worst_deltas(means, covariances + published, pairs)
    best, best_ratio, iterations = Descended(published, np.zeros_like(means), None, 0), 1.0, 0
    starts = problem.starts(published)
    order = list(np.argsort([-problem.score(start) for start in starts], kind="stable")[:DESCENDED])
    if known is not None:
        noise = np.broadcast_to(known[0] - floor * np.eye(means.shape[1]), covariances.shape)
        order.append(len(starts))
        starts.append(problem.variables(known[1], np.zeros_like(covariances), noise))
    for position in order:
        for improved in (False, True):
            variables, count = problem.improve(starts[position]) if improved else (starts[position], 0)
            iterations += count
            found = problem.design(variables)
            deltas = worst_deltas(*problem.distribution(variables), pairs)
            ratio = np.max(np.maximum(deltas, SMALLEST_DELTA) / np.maximum(reference, SMALLEST_DELTA))
            if ratio < best_ratio:
                best, best_ratio = found, ratio
            if np.all(deltas <= SMALLEST_DELTA):
                return Descended(found.covariance, found.move, found.gain, iterations)
    return Descended(best.covariance, best.move, best.gain, iterations)


def worst_deltas(means: np.ndarray, covariances: np.ndarray, pairs: np.ndarray, enough=np.inf) -> np.ndarray:
    """Exact hockey stick of the worst pair at every design epsilon, (E,).

    Where it is ``enough`` (float or (E,)) or more, that of some pair which reaches as much: most pairs need no look.
    """
    losses, some = alike(pair_losses(means, covariances, pairs)), np.broadcast_to(enough, len(EPSILONS))
    found = (worst_pairs(losses, eps, ("hockey_stick",), most) for eps, most in zip(EPSILONS, some, strict=True))
    return np.array([worst["hockey_stick"].delta for worst in found])


class _Descent:
    """Descent on the worst r.

    A label's variables (move, H, L, slack) lie on a sphere, so the budget always holds: the released distribution of
    a query with distribution N(mu, F F') is N(mu + move, (F + H)(F + H)' + L L' + floor I), and E|q~ - q|^2 is
    |move|^2 + |H|^2 + |L|^2 + floor k. H is zero without maps.
    """

    def __init__(self, means, covariances, pairs, budget: float, floor: float, maps: bool):
        self.means, self.covariances, self.pairs = means, covariances, pairs
        self.budget, self.floor, self.maps = budget, floor, maps
        self.size, self.k = means.shape
        values, vectors = np.linalg.eigh(covariances)
        self.factors = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        self.blocks = [self.k, self.k + self.k**2 * maps, self.k + self.k**2 * (1 + maps)]

    def starts(self, published: np.ndarray) -> list[np.ndarray]:
        """Return the published noise, white noise, moves to the minimax centre with white or directed noise, maps."""
        centre = minimax_centre(self.means, self.covariances)
        way = centre.mean - self.means
        values, vectors = np.linalg.eigh(centre.covariance - self.covariances)
        directed = (vectors * np.maximum(values, 0.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
        white = np.broadcast_to(np.eye(self.k), self.covariances.shape)
        directed = directed + 1e-3 * np.trace(directed, axis1=1, axis2=2).mean() * white
        still = np.zeros_like(self.factors)
        length = np.sqrt(np.sum(way**2, axis=1, keepdims=True))
        out = [self.variables(0 * way, still, published)]
        for share in MOVES:
            # All labels the same fraction of the way, and each as far as the share goes.
            reach = np.sqrt(share * self.budget)
            common = way * min(1.0, reach / max(length.max(), 1e-150))
            own = way * np.minimum(1.0, reach / np.maximum(length, 1e-150))
            for move in (common, own) if share else (common,):
                out += [self.variables(move, still, noise) for noise in (white, directed)]
            if self.maps and share:
                distributions = zip(self.means, self.covariances, strict=True)
                moved = [
                    towards(m, c, centre, (share if share < MOVES[-1] else 1.0) * self.budget)
                    for m, c in distributions
                ]
                out += [self._mapped(moved, noise) for noise in (0 * white, white, directed)]
        return out

    def _mapped(self, moved: list[Moved], noise: np.ndarray) -> np.ndarray:
        gain = np.array([m.gain for m in moved])
        added = np.array([m.covariance for m in moved])
        change = (gain - np.eye(self.k)) @ self.factors
        return self.variables(np.array([m.move for m in moved]), change, noise, added)

    def variables(self, move, change, noise, added=None) -> np.ndarray:
        """Variables of a move, a map and added noise, and of more noise of a shape that spends what they leave."""
        spent = np.sum(move**2, axis=1) + np.sum(change**2, axis=(1, 2))
        total = np.zeros_like(noise) if added is None else added
        spent = spent + np.trace(total, axis1=1, axis2=2)
        trace = np.trace(noise, axis1=1, axis2=2)
        left = np.maximum(self.budget - spent, 0.0)
        total = total + noise * np.where(trace > 0, left / np.maximum(trace, 1e-150), 0.0)[:, None, None]
        values, vectors = np.linalg.eigh(total)
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        spent = np.sum(move**2, axis=1) + np.sum(change**2, axis=(1, 2)) + np.sum(root**2, axis=(1, 2))
        slack = np.sqrt(np.maximum(self.budget - spent, 0.0))
        blocks = [move, change.reshape(self.size, -1)] if self.maps else [move]
        return np.concatenate([*blocks, root.reshape(self.size, -1), slack[:, None]], axis=1)

    def _split(self, variables: np.ndarray):
        """Move, H (or None) and L, scaled to the budget, and the scaled variables with their former length."""
        length = np.linalg.norm(variables, axis=1, keepdims=True)
        scaled = np.sqrt(self.budget) * variables / length
        move, change, root, _ = np.split(scaled, self.blocks, axis=1)
        change = change.reshape(self.size, self.k, self.k) if self.maps else 0.0
        return move, change, root.reshape(self.size, self.k, self.k), scaled, length

    def distribution(self, variables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return means and covariances of what is released."""
        move, change, root, _, _ = self._split(variables)
        left = self.factors + change
        floor = self.floor * np.eye(self.k)
        return self.means + move, left @ np.swapaxes(left, 1, 2) + root @ np.swapaxes(root, 1, 2) + floor

    def design(self, variables: np.ndarray) -> Descended:
        """Return what to do to the queries; columns of H that no query moves along become noise."""
        move, change, root, _, _ = self._split(variables)
        noise = root @ np.swapaxes(root, 1, 2) + self.floor * np.eye(self.k)
        if not self.maps:
            return Descended(noise, move, None, 0)
        length = np.linalg.norm(self.factors, axis=1)
        carried = length > SINGULAR * length.max(axis=1, keepdims=True)
        free = np.where(carried[:, None, :], 0.0, change)
        squared = np.where(carried, length, 1.0)[:, :, None] ** 2
        inverse = np.where(carried[:, :, None], np.swapaxes(self.factors, 1, 2) / squared, 0.0)
        gain = np.eye(self.k) + np.where(carried[:, None, :], change, 0.0) @ inverse
        return Descended(noise + free @ np.swapaxes(free, 1, 2), move, gain, 0)

    def score(self, variables: np.ndarray) -> float:
        """Return the smallest r over all pairs and design epsilons."""
        return float(saddles(*self.distribution(variables), self.pairs, EPSILONS).r.min())

    def improve(self, variables: np.ndarray) -> tuple[np.ndarray, int]:
        """Return variables with a larger smallest r, and the iterations it took."""
        count = 0
        # A little slack everywhere, or its gradient is zero for ever.
        variables = variables / np.sqrt(self.budget)
        variables[:, -1] = np.maximum(variables[:, -1], 1e-2)
        for sharpness, limit in zip(SHARPNESS, ITERATIONS, strict=True):
            worst = saddles(*self.distribution(variables), self.pairs, EPSILONS).r.min(axis=1)
            chosen = self.pairs[np.argsort(worst, kind="stable")[:PAIRS]]
            found = minimize(
                self._objective,
                variables.ravel(),
                args=(chosen, sharpness),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": limit, "maxcor": 20},
            )
            variables = found.x.reshape(self.size, -1)
            count += found.nit
        return variables, count

    def _objective(self, flat: np.ndarray, pairs: np.ndarray, sharpness: float) -> tuple[float, np.ndarray]:
        """Return minus the soft minimum of r and its gradient."""
        variables = flat.reshape(self.size, -1)
        _, change, root, scaled, length = self._split(variables)
        found = saddles(*self.distribution(variables), pairs, EPSILONS)
        value = logsumexp(-sharpness * found.r) / sharpness
        share = np.exp(-sharpness * (found.r + value))
        on_mean, on_distribution = np.zeros_like(self.means), np.zeros_like(self.covariances)
        sides = ((0, found.mean, found.covariance), (1, found.other_mean, found.other_covariance))
        for side, mean, covariance in sides:
            np.add.at(on_mean, pairs[:, side], np.einsum("pe,pei->pi", share, mean))
            np.add.at(on_distribution, pairs[:, side], np.einsum("pe,peij->pij", share, covariance))
        on_root = (2 * on_distribution @ root).reshape(self.size, -1)
        on_change = [(2 * on_distribution @ (self.factors + change)).reshape(self.size, -1)] if self.maps else []
        gradient = np.concatenate([on_mean, *on_change, on_root, np.zeros((self.size, 1))], axis=1)
        direction = scaled / np.sqrt(self.budget)
        gradient -= np.sum(gradient * direction, axis=1, keepdims=True) * direction
        return float(value), -(np.sqrt(self.budget) / length * gradient).ravel()


# The saddle points of privacy losses.

NEWTON_STEPS = 40
# Steps that are this small, relative to 1 + |u|, are the last.
CLOSE = 1e-9


@njit(cache=True, error_model="numpy")
def solve(gamma, nu, epsilon, low, high):
    """Return u with K'(u) = eps between the bounds, and K(u), (P, E) each.

    ``gamma`` and ``nu`` are (P, k), ``epsilon`` (E,), ``low`` and ``high`` (P,) within K's domain, on either side of
    zero. Most saddles are found in a few steps, and a few take all: together, every one would wait for the last.
    """
    pairs, entries = gamma.shape
    out, value = np.empty((pairs, epsilon.size)), np.empty((pairs, epsilon.size))
    for p in range(pairs):
        log_gamma = np.log(gamma[p]).sum()
        for e in range(epsilon.size):
            u, bottom, top = 0.0, low[p], high[p]
            for _ in range(NEWTON_STEPS):
                slope, curvature = -0.5 * log_gamma, 0.0
                for i in range(entries):
                    excess, square = gamma[p, i] - 1, nu[p, i] * nu[p, i]
                    d = 1 - u * excess
                    bent, share = gamma[p, i] * square, excess / d
                    slope += 0.5 * (share + square + bent * u * (1 + d) / (d * d))
                    curvature += 0.5 * share * share + bent / (d * d * d)
                if slope < epsilon[e]:
                    bottom = u
                else:
                    top = u
                moved = u - (slope - epsilon[e]) / max(curvature, 1e-300)
                if not bottom < moved < top:
                    moved = 0.5 * (bottom + top)
                last = abs(moved - u) <= CLOSE * (1 + abs(u))
                u = moved
                if last:
                    break
            total = -u * log_gamma
            for i in range(entries):
                d = 1 - u * (gamma[p, i] - 1)
                total += u * (1 + u) * nu[p, i] * nu[p, i] / d - math.log(d)
            out[p, e], value[p, e] = u, 0.5 * total
    return out, value


LARGEST = 1e3
# Share of the way to the end of K's domain, and the u below which r is replaced by its limit at zero.
INSIDE, SMALL = 1 - 1e-9, 1e-4


@dataclass(frozen=True)
class Saddles:
    """Saddle points of P ordered pairs at E values of epsilon: r (P, E), larger is more private, and its gradients.

    They are with respect to the means (P, E, k) and the covariances (P, E, k, k) of X and of X'.
    """

    r: np.ndarray
    mean: np.ndarray
    other_mean: np.ndarray
    covariance: np.ndarray
    other_covariance: np.ndarray


def saddles(mean: np.ndarray, covariance: np.ndarray, pairs: np.ndarray, epsilon: np.ndarray) -> Saddles:
    """Return r and its gradients for distributions N(mean, covariance), (H, k) and (H, k, k), positive definite.

    For X ~ N(a, A), X' ~ N(b, B): K(u) = u (1 + u)/2 d'M^-1 d - (ln|M| + u ln|A| - (1 + u) ln|B|)/2 with d = b - a
    and M = (1 + u) B - u A. Where B is the identity and A = diag(gamma), M = diag(1 - u (gamma - 1)).
    """
    gamma, nu, axes = coordinates(mean, covariance, pairs)
    u, value = saddle_points(gamma, nu, epsilon)
    exponent = np.maximum(u * epsilon - value, 0.0)
    near = np.abs(u) < SMALL
    # The mean and the standard deviation of the loss, K' and the root of K'' at zero.
    slope_at_zero = 0.5 * (gamma - 1 - np.log(gamma) + nu**2).sum(axis=1, keepdims=True)
    width = np.sqrt((0.5 * (gamma - 1) ** 2 + gamma * nu**2).sum(axis=1, keepdims=True))
    width = np.maximum(width, 1e-150)
    r = np.where(near, (epsilon - slope_at_zero) / width, np.sign(u) * np.sqrt(2 * exponent))
    # dr = -dK / r at fixed u; near zero r is u times the standard deviation of the loss.
    u = np.where(near, SMALL, u)
    rate = -1 / np.where(near, SMALL * width, np.where(r == 0, 1.0, r))
    d = 1 - u[..., None] * (gamma[:, None] - 1)
    w = nu[:, None] / d
    pull = rate[..., None] * (u * (1 + u))[..., None] * np.einsum("pij,pej->pei", axes, w)
    outer = (u * (1 + u))[..., None, None] * w[..., :, None] * w[..., None, :]
    inner_b = _diagonal(1 - 1 / d) - outer
    inner_a = outer + _diagonal(1 / d - 1 / gamma[:, None])
    turn = axes[:, None]
    back = np.swapaxes(turn, -1, -2)
    b = (0.5 * rate * (1 + u))[..., None, None] * (turn @ inner_b @ back)
    a = (0.5 * rate * u)[..., None, None] * (turn @ inner_a @ back)
    return Saddles(r, -pull, pull, a, b)


def coordinates(mean, covariance, pairs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return gamma and nu of Proposition 1, (P, k), and Y with S_X'^-1 = Y Y', (P, k, k)."""
    x, y = pairs.T
    factor = np.linalg.inv(np.linalg.cholesky(covariance))
    inner = factor[y] @ covariance[x] @ np.swapaxes(factor[y], 1, 2)
    gamma, vectors = np.linalg.eigh(inner)
    axes = np.swapaxes(factor[y], 1, 2) @ vectors
    return np.maximum(gamma, 1e-300), np.einsum("pij,pi->pj", axes, mean[y] - mean[x]), axes


def saddle_points(gamma: np.ndarray, nu: np.ndarray, epsilon: np.ndarray):
    """Solve K'(u) = eps in K's domain; returns u and K(u), each (P, E).

    Newton steps kept in a bracket that bisection shrinks; where there is no solution u ends at a bound.
    """
    top, bottom = gamma.max(axis=1) - 1, 1 - gamma.min(axis=1)
    high = np.where(top > INSIDE / LARGEST, INSIDE / np.maximum(top, 1e-300), LARGEST)
    low = -np.where(bottom > INSIDE / LARGEST, INSIDE / np.maximum(bottom, 1e-300), LARGEST)
    return solve(gamma, nu, np.asarray(epsilon, dtype=float), low, high)


def _diagonal(values: np.ndarray) -> np.ndarray:
    return values[..., None] * np.eye(values.shape[-1])
