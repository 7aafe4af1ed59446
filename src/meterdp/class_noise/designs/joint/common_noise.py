"""One noise covariance for a neighbourhood and a move of every mean: `joint` for deterministic queries.

min over C and m of the largest d' C^-1 d over the edges, d the difference of the released means mu_X + m_X, subject
to |m_X|^2 + tr C <= R and a noise floor C >= f I: the full problem (43)-(44) of Ramakrishna et al. for a common
covariance, of which delta is a function of that maximum alone. Jointly convex; the answer is feasible by construction
and its gap is certified from its multipliers. Derivation: docs/proofs/joint.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meterdp.class_noise.designs.joint import newton_kernel as kernel
from meterdp.solvers.interior_point import Packing, minimise
from meterdp.solvers.smallest_ball import smallest_ball

# Relative gap aimed at in mu^2, and by the first round.
TARGET, FIRST_TARGET = 1e-3, 1e-2
# In mu^2: delta(0.1) is below 1e-300 there.
NEGLIGIBLE = 1e-6
ROUNDS = 40
# Directions in which the means extend less than this share of their longest extent are rounding.
RANK_TOLERANCE = 1e-12
FIRST_LABELS_PER_DIMENSION, NEW_EDGES_PER_DIMENSION = 2, 4
# Edges of the first working set are at least this share of the longest.
FIRST_EDGES_FROM = 0.75
# Later rounds aim at this share of the violation that is left.
TIGHTER = 0.1
# An edge below this share of the level leaves the working set.
KEPT_FROM = 0.9
# Noise at the start: of the budget above the floor, and its narrowest direction as a share of the widest.
START_SHARE, NARROWEST = 0.7, 1e-3
# Of ln tau, how far a label outside the working set is pulled.
LOG_RANGE, BISECTIONS = (-50.0, 50.0), 60


@dataclass(frozen=True)
class CommonNoise:
    """The answer for one component: C (k, k), (log kWh)^2, and m_X (H, k), log kWh.

    ``worst`` is the largest d' C^-1 d over the edges, mu^2 of the component; no feasible answer has one below
    ``lower_bound``, by duality. ``iteration_count`` counts rounds of the working set.
    """

    covariance: np.ndarray
    shift: np.ndarray
    worst: float
    lower_bound: float
    iteration_count: int

    @property
    def relative_gap(self) -> float:
        """Certified distance from the optimum, relative; maxima that no curve can show count as the same."""
        return max(self.worst, NEGLIGIBLE) / max(self.lower_bound, NEGLIGIBLE) - 1


def common_noise(
    means: np.ndarray, edges: np.ndarray, budget: float, floor_share: float, target: float = TARGET
) -> CommonNoise:
    """Solve the problem for one component with means mu_X (H, k), log kWh, and undirected edges (E, 2).

    ``budget`` is R > 0, the allowed |m_X|^2 + tr C, (log kWh)^2; C >= floor_share R / k I with ``floor_share`` in (0,
    1); ``target`` is the relative gap of the worst d' C^-1 d aimed at.

    The floor is spent in all k directions, the rest only where the means differ. Once the rest covers the squared
    radius of the smallest ball around the means, all means move to its centre and the maximum is zero.
    """
    k = means.shape[1]
    floor = floor_share * budget / k
    ball = smallest_ball(means)
    if ball.squared_radius <= budget - k * floor:
        return CommonNoise(floor * np.eye(k), ball.centre - means, 0.0, 0.0, 0)
    points = means - ball.centre
    values, axes = np.linalg.eigh(points.T @ points)
    axes = axes[:, values > RANK_TOLERANCE**2 * values[-1]]
    rank = axes.shape[1]
    # Floor outside the span of the means; inside, lengths in radii and noise in units of what is left of the budget.
    left = budget - (k - rank) * floor
    radius = np.sqrt(ball.squared_radius)
    reach = np.sqrt(left) / radius
    inside, moves, rounds, bound = _solve(points @ axes / radius, edges, reach, floor / left, target)
    shift = radius * reach * moves @ axes.T
    covariance = floor * (np.eye(k) - axes @ axes.T) + left * (axes @ inside @ axes.T)
    covariance = 0.5 * (covariance + covariance.T)
    worst = kernel.squares_of((means + shift)[edges[:, 1]] - (means + shift)[edges[:, 0]], covariance).max()
    return CommonNoise(covariance, shift, float(worst), float(bound * ball.squared_radius / left), rounds)


def _solve(points, edges, reach: float, floor: float, final: float) -> tuple[np.ndarray, np.ndarray, int, float]:
    """Working set around the interior point, in units of the radius and of the budget.

    Returns C (r, r), moves (H, r) of length at most one, rounds, and a lower bound.
    """
    packing = Packing.of(points.shape[1])
    active = _first_edges(points, edges)
    best, least, bound, target = None, np.inf, 0.0, max(FIRST_TARGET, final)
    rounds, left, returned = 0, np.zeros(len(edges), dtype=bool), np.zeros(len(edges), dtype=bool)
    while rounds < ROUNDS:
        rounds += 1
        problem = _Moves(points, edges[active], reach, floor, packing)
        target = final / 2 if len(active) == len(edges) else target
        x, weight = minimise(problem, packing, problem.start(), target)
        covariance, moved = problem.noise(x), problem.moves(x)
        bound = max(bound, problem.dual(x, weight))
        moves = _pulled(points, moved, problem.labels, covariance, reach, x[0])
        covariance = kernel.spent(covariance, moves, floor)
        placed = points + reach * moves
        length = kernel.squares_of(placed[edges[:, 1]] - placed[edges[:, 0]], covariance)
        if length.max() < least:
            best, least = (covariance, moves), length.max()
        if least <= max(bound * (1 + final), problem.negligible):
            break
        outside = np.flatnonzero(length > x[0] * (1 + 0.1 * final))
        outside = np.setdiff1d(outside, active, assume_unique=True)
        if not outside.size and target <= final / 2:
            break
        violation = length.max() / max(bound, problem.negligible) - 1
        target = max(final / 2, min(TIGHTER * target, TIGHTER * violation))
        longest = np.argsort(-length[outside])[: NEW_EDGES_PER_DIMENSION * points.shape[1]]
        # Edges far from their limit leave, once: one that comes back stays.
        returned[outside[longest]] = left[outside[longest]]
        stays = (length[active] >= KEPT_FROM * x[0]) | returned[active]
        left[active[~stays]] = True
        active = np.union1d(active[stays], outside[longest])
    return *best, rounds, bound


def _first_edges(points: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return long edges between the labels that reach farthest, along every axis and in all."""
    count = FIRST_LABELS_PER_DIMENSION * points.shape[1]
    spread = np.sqrt(np.mean(points**2, axis=0))
    far = np.argsort(-np.sum((points / spread) ** 2, axis=1), kind="stable")[:count]
    ends = np.concatenate([points.argmax(axis=0), points.argmin(axis=0), np.argsort(-np.sum(points**2, 1))[:count]])
    outer = np.isin(edges, np.union1d(far, ends)).all(axis=1)
    length = np.linalg.norm((points[edges[:, 1]] - points[edges[:, 0]]) / spread, axis=1)
    chosen = np.flatnonzero(outer & (length >= FIRST_EDGES_FROM * length.max()))
    # A sparse graph may have no edge between two far labels.
    longest = np.argsort(-length, kind="stable")[: 2 * count]
    return np.union1d(chosen, longest)


def _pulled(points, moved, labels, covariance, reach: float, level: float) -> np.ndarray:
    """Return the moves of all labels: those of the working set as solved, the others no farther than they must.

    A label outside the working set moves to the nearest point of the ellipsoid around the centre of the moved means
    in which all distances are at most ``level``, or as near as its move may bring it.
    """
    moves = np.zeros_like(points)
    moves[labels] = moved
    others = np.setdiff1d(np.arange(len(points)), labels)
    if not others.size:
        return moves
    values, axes = np.linalg.eigh(covariance)
    placed = (points[labels] + reach * moved) @ axes / np.sqrt(values)
    centre = smallest_ball(placed).centre
    x = (points[others] @ axes) - centre * np.sqrt(values)
    limit = reach**2 * max(np.max(np.sum(moved**2, axis=1)), 0.0)
    tau = kernel.nearest(x, values, 0.25 * level, limit, *LOG_RANGE, BISECTIONS)[:, None]
    moves[others] = -(x * (tau / (values + tau))) @ axes.T / reach
    return moves


class _Moves:
    """The problem for a set of edges, for :func:`meterdp.solvers.interior_point.minimise`; x = (t, svec K, moves).

    C = floor I + K. Constraints: d' C^-1 d <= t per edge, then |move|^2 + tr C <= 1 per label.
    """

    def __init__(self, points: np.ndarray, edges: np.ndarray, reach: float, floor: float, packing: Packing):
        self.labels, local = np.unique(edges, return_inverse=True)
        self.first, self.second = np.ascontiguousarray(local.reshape(-1, 2).T)
        self.apart = points[edges[:, 1]] - points[edges[:, 0]]
        self.reach, self.floor, self.packing = reach, floor, packing
        self.rank = points.shape[1]
        self.negligible = NEGLIGIBLE * reach**2
        self.matrix = slice(1, 1 + packing.size)
        self.levelled = len(edges)
        self._at = None, ()

    def start(self) -> np.ndarray:
        """Return noise as wide as the differences in every direction, without moves, strictly inside."""
        values, axes = np.linalg.eigh(self.apart.T @ self.apart)
        root = (axes * np.sqrt(np.maximum(values, NARROWEST**2 * values[-1]))) @ axes.T
        noise = START_SHARE * (1 - self.rank * self.floor) / np.trace(root) * root
        x = np.concatenate([[0.0], self.packing.pack(noise), np.zeros(len(self.labels) * self.rank)])
        x[0] = 2 * self._edges(x)[3].max()
        return x

    def noise(self, x: np.ndarray) -> np.ndarray:
        """C of x."""
        return kernel.noise(x[self.matrix], self.floor, self.packing.rows, self.packing.columns)

    def moves(self, x: np.ndarray) -> np.ndarray:
        """Moves of the labels of the working set."""
        return x[self.matrix.stop :].reshape(-1, self.rank)

    def _edges(self, x) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """C, C^-1, w = C^-1 d and d'C^-1 d; those of the last x are kept, which every method asks for in turn."""
        if x is not self._at[0]:
            covariance = self.noise(x)
            found = kernel.edges(covariance, self.apart, self.moves(x), self.first, self.second, self.reach)
            self._at = x, (covariance, *found)
        return self._at[1]

    def constraints(self, x: np.ndarray) -> np.ndarray:
        """Return the constraints of all edges and labels."""
        covariance, _, _, squares = self._edges(x)
        return kernel.constraints(x[0], covariance, self.moves(x), squares)

    def newton(self, x: np.ndarray, weight: np.ndarray, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the Jacobian J of the constraints, and the Hessian of their weighted sum plus J' diag(ratio) J."""
        _, inverse, w, _ = self._edges(x)
        ends, entries = (self.first, self.second), (self.packing.rows, self.packing.columns)
        return kernel.newton(inverse, w, self.moves(x), *ends, self.reach, weight, ratio, *entries)

    def dual(self, x: np.ndarray, weight: np.ndarray) -> float:
        """Lower bound on the optimum from the multipliers; see docs/proofs/joint.md."""
        ends = self.first, self.second
        return kernel.dual(self._edges(x)[2], self.apart, weight, *ends, len(self.labels), self.reach, self.floor)

    def gap(self, x: np.ndarray, weight: np.ndarray) -> float:
        """Relative distance of the worst edge, once the budget is met exactly, from the lower bound."""
        covariance, _, w, _ = self._edges(x)
        ends = self.first, self.second
        limits = self.reach, self.floor, self.negligible
        return kernel.gap(covariance, w, self.apart, self.moves(x), weight, *ends, *limits)
