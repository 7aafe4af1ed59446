"""`joint`: mean and covariance of the noise together, the full problem (43)-(44) Ramakrishna et al. leave out.

Deterministic queries: one covariance for a neighbourhood and a move of every mean, the convex problem of
:mod:`meterdp.class_noise.designs.joint.common_noise`, solved to a certified gap; once the budget covers the smallest
ball around the means, all released distributions are the same. Stochastic queries: a descent from several starts,
never worse than `published` at the design epsilons. It protects which household of a neighbourhood a forecast belongs
to, and nothing else. Proof note: docs/proofs/joint.md.
"""

from __future__ import annotations

import math

import numpy as np

from meterdp.class_noise.designs.algorithm1 import published_noise
from meterdp.class_noise.designs.joint.common_noise import common_noise
from meterdp.class_noise.designs.joint.descent import EPSILONS, descend_component, worst_deltas
from meterdp.class_noise.designs.simple import NOISE_FLOOR, within_budget
from meterdp.class_noise.neighbourhoods import components, edges_within
from meterdp.class_noise.query_models import Budget, ClassQueries, DesignReport, Noise
from meterdp.privacy import gaussian

# From this delta on the published design is taken to protect nothing; no better design is looked for.
CERTAIN = 1 - 1e-6


def joint_noise(queries: ClassQueries, budget: Budget) -> Noise:
    """Return moves and noise of every label.

    A share ``NOISE_FLOOR`` of the budget, a public constant, is white noise common to all labels; a label without
    neighbours gets it alone. For deterministic queries the report holds the certified relative gap of the component
    that is easiest to distinguish.
    """
    allowed = budget.squared_error(queries.entries)
    if allowed == 0.0:
        return Noise(np.zeros_like(queries.covariance), report=DesignReport(stop_reason="no budget"))
    if queries.covariance.any():
        return descended(queries, budget, maps=False)
    return _common(queries, budget, allowed)


def _common(queries: ClassQueries, budget: Budget, allowed: float) -> Noise:
    """Deterministic queries: the convex problem, component by component."""
    noise, floor = _floor(queries, allowed), NOISE_FLOOR * allowed / queries.entries
    published: np.ndarray | None = None
    rounds, worst, gap, own, alike = 0, -1.0, None, 0, []
    for group in components(queries.pairs, len(queries.mean_log_kwh)):
        edges = edges_within(queries.pairs, group)
        found = common_noise(queries.mean_log_kwh[group], edges, allowed, NOISE_FLOOR)
        noise.covariance[group], noise.shift[group] = found.covariance, found.shift
        rounds += found.iteration_count
        if found.worst > worst:
            worst, gap = found.worst, found.relative_gap
        # Where delta is near one, covariances that differ by label can hide more than the best common one.
        pairs = np.searchsorted(group, queries.pairs[np.isin(queries.pairs[:, 0], group)])
        distributions = queries.mean_log_kwh[group], queries.covariance[group]
        reached = np.array([gaussian.delta(math.sqrt(found.worst), epsilon) for epsilon in EPSILONS])
        alike.append(group)
        if not reached.any():
            continue
        published = published_noise(queries, budget).covariance if published is None else published
        reference = worst_deltas(distributions[0], published[group], pairs, np.minimum(reached, CERTAIN))
        if np.any((reached > reference) & (reference < CERTAIN)):
            known = found.covariance, found.shift
            better = descend_component(
                *distributions, pairs, published[group], allowed, floor, maps=False, known=known
            )
            noise.covariance[group], noise.shift[group] = better.covariance, better.move
            rounds, own = rounds + better.iteration_count, own + 1
            alike.pop()
    reason = f"certified gap; {own} components with a covariance per label" if own else "certified gap"
    report = DesignReport(iteration_count=rounds, stop_reason=reason, certified_gap=None if own else gap)
    return within_budget(queries, Noise(noise.covariance, noise.shift, report=report), allowed, alike)


def descended(queries: ClassQueries, budget: Budget, *, maps: bool, sentence: str = "") -> Noise:
    """Return the design :mod:`meterdp.class_noise.designs.joint.descent` finds, component by component.

    ``maps`` says that queries may be mapped, as `transport` does; ``sentence`` is for the report.
    """
    labels, k = queries.mean_log_kwh.shape
    allowed = budget.squared_error(k)
    if allowed == 0.0:
        return Noise(
            np.zeros_like(queries.covariance), report=DesignReport(stop_reason="no budget", sentence=sentence)
        )
    noise, move = _floor(queries, allowed).covariance, np.zeros((labels, k))
    gain = np.broadcast_to(np.eye(k), (labels, k, k)).copy()
    published = published_noise(queries, budget).covariance
    iterations = 0
    for group in components(queries.pairs, labels):
        pairs = np.searchsorted(group, queries.pairs[np.isin(queries.pairs[:, 0], group)])
        distributions = queries.mean_log_kwh[group], queries.covariance[group]
        found = descend_component(*distributions, pairs, published[group], allowed, NOISE_FLOOR * allowed / k, maps)
        noise[group], move[group] = found.covariance, found.move
        iterations += found.iteration_count
        if found.gain is not None:
            gain[group] = found.gain
    mean = queries.mean_log_kwh
    report = DesignReport(
        iteration_count=iterations, stop_reason="best of several descents by the exact curve", sentence=sentence
    )
    if not maps:
        return within_budget(queries, Noise(noise, move, report=report), allowed)
    shift = mean + move - np.einsum("hij,hj->hi", gain, mean)
    return within_budget(queries, Noise(noise, shift, gain, report), allowed)


def _floor(queries: ClassQueries, allowed: float) -> Noise:
    """Return the noise of a label without neighbours."""
    floor = NOISE_FLOOR * allowed / queries.entries * np.eye(queries.entries)
    return Noise(np.broadcast_to(floor, queries.covariance.shape).copy(), np.zeros_like(queries.mean_log_kwh))
