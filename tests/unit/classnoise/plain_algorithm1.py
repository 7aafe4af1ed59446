"""Algorithm 1 with (46) computed anew for all pairs in every iteration: the oracle of the compiled descent."""

from dataclasses import dataclass

import numpy as np

from meterdp.classnoise.designs.interface import ClassQueries
from meterdp.classnoise.designs.published.design import Algorithm1Settings
from meterdp.classnoise.neighbourhoods.graph import full_cluster_graph
from tests.unit.classnoise.examples import all_pairs, wishart


def surrogate(means: np.ndarray, precision: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """g of (46), entry (X, X'); -inf where there is no edge."""
    log_det = np.linalg.slogdet(precision)[1]
    v = means[None, :, :] - means[:, None, :]
    quadratic = np.einsum("xyi,yij,xyj->xy", v, precision, v, optimize=True)
    return np.where(edges, quadratic - log_det[None, :] + log_det[:, None], -np.inf)


def gradient(means: np.ndarray, precision: np.ndarray, a: int, b: int) -> np.ndarray:
    """(48) for the pair (a, b) with respect to A_b."""
    v = means[b] - means[a]
    return np.outer(v, v) - np.linalg.inv(precision[b])


def step_bound(means, precision, edges, a: int, b: int) -> float:
    """Lemma 2 as appendix C derives it, label by label."""
    g, slope_of = surrogate(means, precision, edges), gradient(means, precision, a, b)
    rise = -np.trace(np.linalg.inv(precision[b]) @ slope_of)
    bounds = [np.inf]
    for x in np.flatnonzero(edges[b]):
        to_b = means[b] - means[x]
        if rise > 0:
            bounds.append((g[a, b] - g[b, x]) / rise)
        slope = -to_b @ slope_of @ to_b - rise
        if slope > 0:
            bounds.append((g[a, b] - g[x, b]) / slope)
    return max(0.0, min(bounds))


def project(matrix: np.ndarray, floor: float) -> np.ndarray:
    """(49) with the floor."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return (vectors * np.maximum(values, floor * np.abs(values).max())) @ vectors.T


def moved(means, precision, edges, a: int, b: int, step: float, floor: float) -> np.ndarray:
    """Precisions after a step on A_b, projected; (n, k, k)."""
    out = precision.copy()
    out[b] = project(precision[b] - step * gradient(means, precision, a, b), floor)
    return out


@dataclass
class PlainRun:
    """Iterates of a run: precisions (n, k, k), worst pairs and J of every iteration, and why it stopped."""

    precision: np.ndarray
    pair: list
    surrogate: list
    stop_reason: str


def run(means, precision, edges, settings: Algorithm1Settings) -> PlainRun:
    """Lines 2-10 of Algorithm 1 from the given precisions."""
    out = PlainRun(precision.copy(), [], [], "iteration limit")
    for _ in range(settings.iteration_limit):
        g = surrogate(means, out.precision, edges)
        a, b = (int(i) for i in np.unravel_index(g.argmax(), g.shape))
        step = min(settings.first_step, step_bound(means, out.precision, edges, a, b))
        if step <= settings.smallest_step:
            out.stop_reason = "no step"
            return out
        for _ in range(settings.halvings + 1):
            trial = moved(means, out.precision, edges, a, b, step, settings.eigenvalue_floor)
            new = surrogate(means, trial, edges)
            if new[a, b] < g[a, b] and new.max() <= g[a, b]:
                break
            step *= 0.5
        else:
            out.stop_reason = "no descent"
            return out
        out.precision = trial
        out.pair.append((a, b))
        out.surrogate.append(g[a, b])
    return out


def nearest_pairs(means: np.ndarray, neighbours: int) -> np.ndarray:
    """Each label and its nearest ones, made symmetric."""
    distance = np.linalg.norm(means[:, None] - means[None], axis=2)
    near = np.argsort(distance, axis=1)[:, 1 : neighbours + 1]
    edges = np.zeros(distance.shape, dtype=bool)
    np.put_along_axis(edges, near, True, axis=1)
    np.fill_diagonal(edges, False)
    return np.argwhere(edges | edges.T)


def nasty_queries() -> dict[str, ClassQueries]:
    """Queries of 12 labels, 4 entries but for one, that are hard for a descent."""
    generator = np.random.default_rng(11)
    means = 2 * generator.standard_normal((12, 4))
    covariance = 0.5 * wishart(generator, 12, 4, 6)
    zero = np.zeros_like(covariance)
    twins = np.repeat(means[:6], 2, axis=0)
    thin = wishart(generator, 12, 4, 1) + 1e-9 * np.eye(4)
    circuits = full_cluster_graph(np.repeat([1, 2, 3, 4, 5], [5, 3, 2, 1, 1]))
    return {
        "stochastic": ClassQueries(means, covariance, all_pairs(12)),
        "deterministic": ClassQueries(means, zero, all_pairs(12)),
        "k nearest": ClassQueries(means, covariance, nearest_pairs(means, 2)),
        "k nearest, deterministic": ClassQueries(means, zero, nearest_pairs(means, 2)),
        "circuits, two labels isolated": ClassQueries(means, covariance, circuits),
        "duplicate means": ClassQueries(twins, covariance, all_pairs(12)),
        "duplicate labels": ClassQueries(twins, zero, all_pairs(12)),
        "near-singular covariances": ClassQueries(means, thin, all_pairs(12)),
        "one pair": ClassQueries(means, covariance, np.array([[7, 3], [3, 7]])),
        "one entry": ClassQueries(means[:, :1], covariance[:, :1, :1], all_pairs(12)),
        "far apart": ClassQueries(1e3 * means, zero, all_pairs(12)),
        "far from the origin": ClassQueries(means + 1e6, covariance, all_pairs(12)),
        "one outlier": ClassQueries(means + 20 * (np.arange(12) == 5)[:, None], covariance, all_pairs(12)),
    }


def edges_of(queries: ClassQueries) -> np.ndarray:
    """Entry (X, X') is whether X' is a neighbour of X."""
    edges = np.zeros((len(queries.mean_log_kwh),) * 2, dtype=bool)
    edges[tuple(queries.pairs.T)] = True
    return edges
