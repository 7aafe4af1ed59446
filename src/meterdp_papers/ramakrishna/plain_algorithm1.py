"""Algorithm 1 of Ramakrishna et al. in its plainest form: every pair of (46) computed anew at every iterate.

What the errata R2 and R12 are shown with, and the oracle of the compiled descent
(:mod:`meterdp.class_noise.designs.algorithm1`), of which it uses nothing. Derivation:
docs/proofs/published_class_noise.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from meterdp.class_noise.query_models import ClassQueries


def edges_of(queries: ClassQueries) -> np.ndarray:
    """Return the graph (1) as a matrix, (n, n) bool; entry (X, X') is whether X' is a neighbour of X."""
    edges = np.zeros((len(queries.mean_log_kwh),) * 2, dtype=bool)
    edges[tuple(queries.pairs.T)] = True
    return edges


def surrogate(means: np.ndarray, precision: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return g of (46) for all ordered pairs, (n, n), -inf where there is no edge; A_X is ``precision`` (n, k, k)."""
    v = means[None, :, :] - means[:, None, :]
    log_det = np.linalg.slogdet(precision)[1]
    g = np.einsum("xyi,yij,xyj->xy", v, precision, v) - log_det[None, :] + log_det[:, None]
    return np.where(edges, g, -np.inf)


def worst_pair(g: np.ndarray) -> tuple[int, int]:
    """Return (a, b), the labels of the largest value of (46)."""
    a, b = np.unravel_index(g.argmax(), g.shape)
    return int(a), int(b)


@dataclass(frozen=True)
class Step:
    """What Lemma 2 needs at one iterate: the pair (a, b), the gradient (48) and the parts of (52) and (53)."""

    a: int
    b: int
    gradient: np.ndarray  # (k, k)
    rise: float  # tr A^-2 - v' A^-1 v, the denominator of (52)
    # (m,), J - g_bX and J - g_Xb for the m neighbours X of b; (52) has the first as its numerator
    gap_out: np.ndarray
    gap_into: np.ndarray
    numerator_into: np.ndarray  # (m,), (53): its numerator as printed, and its denominator as derived and as printed
    slope_into: np.ndarray
    slope_into_printed: np.ndarray

    def printed(self) -> float:
        """Return the right side of (51) as printed."""
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = np.concatenate([self.gap_out / self.rise, self.numerator_into / self.slope_into_printed])
        return max(0.0, float(np.min(bounds)))

    def derived(self) -> float:
        """Return the step of appendix C: a pair that falls with the worst one sets no bound."""
        rising = self.slope_into > 0
        bounds = list(self.gap_into[rising] / self.slope_into[rising])
        if self.rise > 0:
            bounds += list(self.gap_out / self.rise)
        return max(0.0, min(bounds, default=math.inf))


def step_at(means: np.ndarray, precision: np.ndarray, edges: np.ndarray, pair: tuple[int, int] | None = None) -> Step:
    """Return the parts of Lemma 2 for means (n, k), A_X (n, k, k) and edges (n, n), by default at the worst pair."""
    g = surrogate(means, precision, edges)
    a, b = worst_pair(g) if pair is None else pair
    inverse, v = np.linalg.inv(precision[b]), means[b] - means[a]
    rise = float(np.trace(inverse @ inverse) - v @ inverse @ v)
    others = np.flatnonzero(edges[b])
    to_b = means[b] - means[others]
    along = (to_b @ v) ** 2
    log_det = np.linalg.slogdet(precision)[1]
    return Step(
        a,
        b,
        np.outer(v, v) - inverse,
        rise,
        g[a, b] - g[b, others],
        g[a, b] - g[others, b],
        v @ precision[b] @ v + log_det[a] - log_det[others],
        np.einsum("ni,ij,nj->n", to_b, inverse, to_b) - along - rise,
        -rise - along,
    )


def project(matrix: np.ndarray, floor: float) -> np.ndarray:
    """Projection (49), its eigenvalues floored, relative to the largest, so that the result has an inverse."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return (vectors * np.maximum(values, floor * np.abs(values).max())) @ vectors.T


def moved(precision: np.ndarray, at: Step, step: float, floor: float) -> np.ndarray:
    """Return the precisions (n, k, k) after a step against the gradient on A_b, projected."""
    out = precision.copy()
    out[at.b] = project(precision[at.b] - step * at.gradient, floor)
    return out


@dataclass
class PlainRun:
    """Where a run is, the worst pair and J of every iteration that was made, and why it stopped."""

    precision: np.ndarray  # (n, k, k)
    pair: list[tuple[int, int]] = field(default_factory=list)
    surrogate: list[float] = field(default_factory=list)
    stop_reason: str = "iteration limit"


def run(
    means: np.ndarray,
    precision: np.ndarray,
    edges: np.ndarray,
    *,
    iteration_limit: int,
    first_step: float = 0.1,
    smallest_step: float = 1e-12,
    halvings: int = 30,
    eigenvalue_floor: float = 1e-9,
) -> PlainRun:
    """Run lines 2-10 of Algorithm 1 from the given precisions (n, k, k), with the step of appendix C.

    It is halved until the worst pair falls and no pair lies above where that was.
    """
    out = PlainRun(precision)
    for _ in range(iteration_limit):
        at, largest = step_at(means, out.precision, edges), surrogate(means, out.precision, edges).max()
        step = min(first_step, at.derived())
        if step <= smallest_step:
            out.stop_reason = "no step"
            return out
        for _ in range(halvings + 1):
            trial = moved(out.precision, at, step, eigenvalue_floor)
            g = surrogate(means, trial, edges)
            if g[at.a, at.b] < largest and g.max() <= largest:
                break
            step *= 0.5
        else:
            out.stop_reason = "no descent"
            return out
        out.precision = trial
        out.pair.append((at.a, at.b))
        out.surrogate.append(float(largest))
    return out
