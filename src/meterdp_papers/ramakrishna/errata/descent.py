"""Defects of Ramakrishna et al. in the design of the noise: the rescaling (50) (R2) and the step of Lemma 2 (R12).

Algorithm 1 is taken in its plain form, :mod:`meterdp_papers.ramakrishna.plain_algorithm1`; the compiled one of the
study stands beside it as a check.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from meterdp.class_noise.designs.algorithm1 import published_noise
from meterdp.class_noise.query_models import Budget, ClassQueries
from meterdp.privacy.noise import NoiseSource
from meterdp_papers.common.tables import Finding, averaged, defect
from meterdp_papers.ramakrishna.errata.bounds import line_of_classes, worst, worst_by_quadrature
from meterdp_papers.ramakrishna.plain_algorithm1 import Step, edges_of, run, step_at, surrogate

_ITERATIONS = 2000
_DRAWS, _RHO, _EPSILON = 10, 2.0, 1.0
_STATES, _LABELS, _ENTRIES = 1000, 5, 3
_ALL = ~np.eye(_LABELS, dtype=bool)


def descend(queries: ClassQueries, trace: float) -> np.ndarray:
    """Run lines 1 to 10 of Algorithm 1 with the derived step.

    Returns (A_X)^-1 (n, k, k) where it ends, in (log kWh)^2: the covariance that was optimised.
    """
    means = queries.mean_log_kwh
    start = np.linalg.inv(queries.covariance + trace / queries.entries * np.eye(queries.entries))
    return np.linalg.inv(run(means, start, edges_of(queries), iteration_limit=_ITERATIONS).precision)


def rescale(excess: np.ndarray, trace: float) -> np.ndarray:
    """Return (50) for (A_X)^-1 - Sigma_X, (n, k, k); where it is 0/0, white noise as in the study."""
    values, vectors = np.linalg.eigh(excess)
    values = np.where(np.max(values, axis=1, keepdims=True) > 0, np.maximum(values, 0.0), 1.0)
    values *= trace / values.sum(axis=1, keepdims=True)
    return np.einsum("nij,nj,nlj->nil", vectors, values, vectors)


@defect(
    "R2",
    "(49), (50)",
    "Algorithm 1 optimises a covariance without holding its trace or the order A_X^-1 >= Sigma_X; projection and "
    "rescaling then give another one.",
    "What is released has a far larger worst-case surrogate and delta than what was optimised, and sometimes no "
    "covariance at all.",
    "No guarantee is read off an optimisation: the exact curve of the noise that is added is what counts.",
)
def rescaled_covariance(noise: NoiseSource) -> tuple[Finding, ...]:
    optimised, released, delta_optimised, delta_released, indefinite, empty, by_code, by_quadrature = (
        [] for _ in range(8)
    )
    for _ in range(_DRAWS):
        queries = line_of_classes(noise)
        covariance = descend(queries, _RHO)
        excess = covariance - queries.covariance
        distributions = [
            ClassQueries(queries.mean_log_kwh, c, queries.pairs)
            for c in (covariance, queries.covariance + rescale(excess, _RHO))
        ]
        optimised.append(_largest(distributions[0]))
        released.append(_largest(distributions[1]))
        delta_optimised.append(worst(distributions[0], _EPSILON))
        delta_released.append(worst(distributions[1], _EPSILON))
        by_quadrature.append([worst_by_quadrature(distribution, _EPSILON) for distribution in distributions])
        values = np.linalg.eigvalsh(excess)
        indefinite.append(np.mean(values[:, 0] < 0))
        empty.append(np.mean(values[:, -1] <= 0))
        report = published_noise(queries, Budget(_RHO)).report
        by_code.append([report.surrogate_descended, report.surrogate_released])
    settings = (
        f"section VI-A: four classes on a line, one unit apart, Wishart(I, 2) covariances, rho = {_RHO:g} as a "
        f"total, {_DRAWS} draws, Algorithm 1 with the step of appendix C"
    )
    code, quadrature = np.mean(by_code, axis=0), np.mean(by_quadrature, axis=0)
    optimum = float(np.mean(optimised))
    here = partial(Finding, settings, "(50)")
    return (
        here(
            f"J of (47) for the covariances that are released; where the descent ended it was {optimum:.2f}. (Check: "
            "the study's compiled Algorithm 1.)",
            "J of what is released",
            closed_form=float(code[1]),
            claimed=optimum,
            **averaged(released),
        ),
        here(
            f"Pr(L > {_EPSILON:g}) of the worst pair, exact, for what is released; for what was optimised "
            f"it is {np.mean(delta_optimised):.2f}. (Check: quadrature.)",
            f"Pr(L > {_EPSILON:g}) of the worst pair",
            closed_form=float(quadrature[1]),
            claimed=float(np.mean(delta_optimised)),
            **averaged(delta_released),
        ),
        Finding(
            settings,
            "(49), (50)",
            "Labels for which (A_X)^-1 - Sigma_X has a negative eigenvalue: no noise, of whatever size, gives the "
            "covariance that was optimised.",
            "share of labels whose optimum is out of reach",
            claimed=0.0,
            **averaged(indefinite),
        ),
        here(
            "Labels for which (A_X)^-1 - Sigma_X has no positive eigenvalue: (50) is 0/0. (The study adds white "
            "noise.)",
            "share of labels for which (50) is 0/0",
            claimed=0.0,
            **averaged(empty),
        ),
    )


def _largest(distributions: ClassQueries) -> float:
    """J of (47)."""
    return float(
        surrogate(distributions.mean_log_kwh, np.linalg.inv(distributions.covariance), edges_of(distributions)).max()
    )


@defect(
    "R12",
    "Lemma 2, (51)-(53), appendix C",
    "A denominator that is not positive belongs to a pair that falls with the worst one and should set no bound; "
    "(51) takes it as a bound below zero. (53) also lacks a term in its denominator and one in its numerator.",
    "The printed step is always zero: Algorithm 1 ends where it starts, at white noise. With the signs put right "
    "the Lemma is still false, since appendix C linearises a logarithm on its wrong side.",
    "No sound release runs Algorithm 1; the published one checks every step and halves it until J falls.",
    note="The proof note docs/proofs/published_class_noise.md derives the step that is used.",
)
def printed_step(noise: NoiseSource) -> tuple[Finding, ...]:
    printed, useful, rises = 0, 0, []
    for _ in range(_STATES):
        means = (0.2 + 2.8 * noise.uniform((1,))) * noise.normal((_LABELS, _ENTRIES))
        root = noise.normal((_LABELS, _ENTRIES, _ENTRIES + 1))
        precision = root @ np.swapaxes(root, 1, 2)
        at, before = step_at(means, precision, _ALL), surrogate(means, precision, _ALL).max()
        printed += at.printed() > 0
        useful += any(_after(means, precision, at, 0.5**halvings) < before for halvings in range(4, 41))
        after = _after(means, precision, at, at.derived())
        if math.isfinite(after):
            rises.append(after - before)
    settings = f"{_STATES} random iterates: {_LABELS} labels, {_ENTRIES} entries, Wishart precisions, all neighbours"
    here = partial(Finding, settings)
    return (
        here(
            "(51)-(53)",
            "Iterates at which the printed step is positive. (Check: for X the other label of the worst pair, the "
            "denominators of b and d add up to minus a square and both numerators are positive or zero, so one of "
            "the two is never positive.)",
            "share of iterates with a step",
            printed / _STATES,
            closed_form=0.0,
        ),
        here(
            "(48), (51)",
            "Iterates at which some step along the gradient (48) does lower J, found by line search.",
            "share of iterates from which J can be lowered",
            useful / _STATES,
            claimed=printed / _STATES,
        ),
        here(
            "Lemma 2, appendix C",
            f"With the signs put right: the most by which the full step raises J, over the {len(rises)} iterates at "
            "which it keeps A positive definite. The Lemma says it cannot.",
            "largest rise of J in one step",
            max(0.0, *rises),
            claimed=0.0,
        ),
    )


def _after(means: np.ndarray, precision: np.ndarray, at: Step, step: float) -> float:
    """J after a step along minus the gradient; infinite where A leaves the cone."""
    if not math.isfinite(step):
        return math.inf
    moved = precision.copy()
    moved[at.b] = precision[at.b] - step * at.gradient
    if np.linalg.eigvalsh(moved[at.b])[0] <= 0:
        return math.inf
    return float(surrogate(means, moved, _ALL).max())
