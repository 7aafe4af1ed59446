"""Defects of Ramakrishna et al. in the design of the noise: the rescaling (50) (R2) and the step of Lemma 2 (R12).

Algorithm 1 is written out here in its plainest form, every pair of (46) computed anew, apart from the compiled one of
:mod:`meterdp.classnoise.designs.published.design`. Derivation: docs/proofs/published_class_noise.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from meterdp.classnoise.designs.interface import Budget, ClassQueries
from meterdp.classnoise.designs.published.design import published_noise
from meterdp.core.noise import NoiseSource
from meterdp.papers.common.finding import Finding
from meterdp.papers.ramakrishna.errata.laws import line_of_classes, worst, worst_by_quadrature

_FIRST_STEP, _HALVINGS, _SMALLEST_STEP, _FLOOR, _ITERATIONS = 0.1, 30, 1e-12, 1e-9, 2000
_DRAWS, _RHO, _EPSILON = 10, 2.0, 1.0
_STATES, _LABELS, _ENTRIES = 1000, 5, 3


def surrogate(means: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return g of (46) for all ordered pairs, (n, n), -inf on the diagonal; A_X is ``precision`` (n, k, k)."""
    v = means[None, :, :] - means[:, None, :]
    log_det = np.linalg.slogdet(precision)[1]
    g = np.einsum("xyi,yij,xyj->xy", v, precision, v) - log_det[None, :] + log_det[:, None]
    return np.where(np.eye(len(means), dtype=bool), -np.inf, g)


@dataclass(frozen=True)
class Step:
    """What Lemma 2 needs at one iterate: the worst pair (a, b), the gradient (48) and the parts of (52) and (53).

    Parameters
    ----------
    a, b : int
    gradient : (k, k) float64 array
    rise : float
        tr A^-2 - v' A^-1 v, the denominator of (52).
    others : (n - 1,) int array
        Neighbours of b.
    gap_out, gap_into : (n - 1,) float64 arrays
        J - g_bX and J - g_Xb; (52) has the first as its numerator.
    numerator_into, slope_into, slope_into_printed : (n - 1,) float64 arrays
        (53): its numerator as printed, and its denominator as derived and as printed.
    """

    a: int
    b: int
    gradient: np.ndarray
    rise: float
    others: np.ndarray
    gap_out: np.ndarray
    gap_into: np.ndarray
    numerator_into: np.ndarray
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


def step_at(means: np.ndarray, precision: np.ndarray) -> Step:
    """Return the parts of Lemma 2 for means (n, k) and A_X (n, k, k), all labels neighbours."""
    g = surrogate(means, precision)
    a, b = (int(i) for i in np.unravel_index(g.argmax(), g.shape))
    inverse, v = np.linalg.inv(precision[b]), means[b] - means[a]
    rise = float(np.trace(inverse @ inverse) - v @ inverse @ v)
    others = np.delete(np.arange(len(means)), b)
    to_b = means[b] - means[others]
    along = (to_b @ v) ** 2
    log_det = np.linalg.slogdet(precision)[1]
    return Step(
        a,
        b,
        np.outer(v, v) - inverse,
        rise,
        others,
        g[a, b] - g[b, others],
        g[a, b] - g[others, b],
        v @ precision[b] @ v + log_det[a] - log_det[others],
        np.einsum("ni,ij,nj->n", to_b, inverse, to_b) - along - rise,
        -rise - along,
    )


def descend(queries: ClassQueries, trace: float) -> np.ndarray:
    """Run lines 1 to 10 of Algorithm 1 with the derived step, halved until no pair lies above the old worst one.

    Returns
    -------
    (n, k, k) float64 array
        (A_X)^-1 where it ends, (log kWh)^2: the covariance that was optimised.
    """
    means = queries.mean_log_kwh
    precision = np.linalg.inv(queries.covariance + trace / queries.entries * np.eye(queries.entries))
    for _ in range(_ITERATIONS):
        at = step_at(means, precision)
        step, largest = min(_FIRST_STEP, at.derived()), surrogate(means, precision).max()
        for _ in range(_HALVINGS + 1):
            if step <= _SMALLEST_STEP:
                return np.linalg.inv(precision)
            moved = precision.copy()
            moved[at.b] = _project(precision[at.b] - step * at.gradient)
            g = surrogate(means, moved)
            if g[at.a, at.b] < largest and g.max() <= largest:
                break
            step *= 0.5
        else:
            return np.linalg.inv(precision)
        precision = moved
    return np.linalg.inv(precision)


def _project(matrix: np.ndarray) -> np.ndarray:
    """Projection (49), its eigenvalues floored so that the result has an inverse."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return (vectors * np.maximum(values, _FLOOR * np.abs(values).max())) @ vectors.T


def rescale(excess: np.ndarray, trace: float) -> np.ndarray:
    """Return (50) for (A_X)^-1 - Sigma_X, (n, k, k); where it is 0/0, white noise as in the study."""
    values, vectors = np.linalg.eigh(excess)
    values = np.where(np.max(values, axis=1, keepdims=True) > 0, np.maximum(values, 0.0), 1.0)
    values *= trace / values.sum(axis=1, keepdims=True)
    return np.einsum("nij,nj,nlj->nil", vectors, values, vectors)


def rescaled_covariance(noise: NoiseSource) -> tuple[Finding, ...]:
    """R2: what (50) releases is not what Algorithm 1 optimised."""
    optimised, released, delta_optimised, delta_released, indefinite, empty, by_code, by_quadrature = (
        [] for _ in range(8)
    )
    for _ in range(_DRAWS):
        queries = line_of_classes(noise)
        covariance = descend(queries, _RHO)
        excess = covariance - queries.covariance
        laws = [
            ClassQueries(queries.mean_log_kwh, c, queries.pairs)
            for c in (covariance, queries.covariance + rescale(excess, _RHO))
        ]
        optimised.append(_largest(laws[0]))
        released.append(_largest(laws[1]))
        delta_optimised.append(worst(laws[0], _EPSILON))
        delta_released.append(worst(laws[1], _EPSILON))
        by_quadrature.append([worst_by_quadrature(law, _EPSILON) for law in laws])
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
    return (
        Finding(
            "R2",
            "(50)",
            f"J of (47) for the covariances that are released; where the descent ended it was {optimum:.2f}. (Check: "
            "the study's compiled Algorithm 1.)",
            "J of what is released",
            "1",
            float(np.mean(released)),
            settings,
            closed_form=float(code[1]),
            claimed=optimum,
            standard_error=_error(released),
        ),
        Finding(
            "R2",
            "(50)",
            f"Pr(L > {_EPSILON:g}) of the worst pair, exact, for what is released; for what was optimised "
            f"it is {np.mean(delta_optimised):.2f}. (Check: quadrature.)",
            f"Pr(L > {_EPSILON:g}) of the worst pair",
            "1",
            float(np.mean(delta_released)),
            settings,
            closed_form=float(quadrature[1]),
            claimed=float(np.mean(delta_optimised)),
            standard_error=_error(delta_released),
        ),
        Finding(
            "R2",
            "(49), (50)",
            "Labels for which (A_X)^-1 - Sigma_X has a negative eigenvalue: no noise, of whatever size, gives the "
            "covariance that was optimised.",
            "share of labels whose optimum is out of reach",
            "1",
            float(np.mean(indefinite)),
            settings,
            claimed=0.0,
            standard_error=_error(indefinite),
        ),
        Finding(
            "R2",
            "(50)",
            "Labels for which (A_X)^-1 - Sigma_X has no positive eigenvalue: (50) is 0/0. (The study adds white "
            "noise.)",
            "share of labels for which (50) is 0/0",
            "1",
            float(np.mean(empty)),
            settings,
            claimed=0.0,
            standard_error=_error(empty),
        ),
    )


def _largest(laws: ClassQueries) -> float:
    """J of (47)."""
    return float(surrogate(laws.mean_log_kwh, np.linalg.inv(laws.covariance)).max())


def _error(values: list) -> float:
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))


def printed_step(noise: NoiseSource) -> tuple[Finding, ...]:
    """R12: (51) as printed is zero, and the step its proof gives may raise J."""
    printed, useful, rises = 0, 0, []
    for _ in range(_STATES):
        means = (0.2 + 2.8 * noise.uniform((1,))) * noise.normal((_LABELS, _ENTRIES))
        root = noise.normal((_LABELS, _ENTRIES, _ENTRIES + 1))
        precision = root @ np.swapaxes(root, 1, 2)
        at, before = step_at(means, precision), surrogate(means, precision).max()
        printed += at.printed() > 0
        useful += any(_after(means, precision, at, 0.5**halvings) < before for halvings in range(4, 41))
        after = _after(means, precision, at, at.derived())
        if math.isfinite(after):
            rises.append(after - before)
    settings = f"{_STATES} random iterates: {_LABELS} labels, {_ENTRIES} entries, Wishart precisions, all neighbours"
    return (
        Finding(
            "R12",
            "(51)-(53)",
            "Iterates at which the printed step is positive. (Check: for X the other label of the worst pair, the "
            "denominators of b and d add up to minus a square and both numerators are positive or zero, so one of "
            "the two is never positive.)",
            "share of iterates with a step",
            "1",
            printed / _STATES,
            settings,
            closed_form=0.0,
        ),
        Finding(
            "R12",
            "(48), (51)",
            "Iterates at which some step along the gradient (48) does lower J, found by line search.",
            "share of iterates from which J can be lowered",
            "1",
            useful / _STATES,
            settings,
            claimed=printed / _STATES,
        ),
        Finding(
            "R12",
            "Lemma 2, appendix C",
            f"With the signs put right: the most by which the full step raises J, over the {len(rises)} iterates at "
            "which it keeps A positive definite. The Lemma says it cannot.",
            "largest rise of J in one step",
            "1",
            max(0.0, *rises),
            settings,
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
    return float(surrogate(means, moved).max())
