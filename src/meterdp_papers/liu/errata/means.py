"""Defects of Liu et al. in the release of means: Lemma 3 (L3), fitted noise (L4), Lemma 1 (L7) and (10) (L13)."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.optimize import brentq

from meterdp.accounting.exact_curve import hockey_stick
from meterdp.mechanisms.published.label_flip import LabelledRecords, mean_changes
from meterdp.mixture.draws import Mixture, sample
from meterdp.privacy import gaussian
from meterdp.privacy.noise import NoiseSource
from meterdp.solvers.ellipsoid import program as sdp
from meterdp_papers.common.tables import Finding, averaged, defect
from meterdp_papers.liu.errata.inputs import DELTA, DIMENSION, PAPER_SETTING, RECORDS, paper_mixture, paper_records

_FIRST_SHARE = 1 / 3  # eps_k at the start of Algorithm 1 for eps = 1
_DATA_SETS = 20
# L4: sizes of the class whose mean is released, and data sets per size.
_SIZES = (12, 20, 30, 50, 75, 100, 150, 200, 300, 500)
_SETS_PER_SIZE = 13


def lemma_1_mu(epsilon_k: float, delta: float = DELTA) -> float:
    """Return the GDP parameter of a mean at the bound of Lemma 1, the square root of the right side of (10)."""
    return epsilon_k / math.sqrt(2 * math.log(2 / delta))


@defect(
    "L3",
    "Lemma 3",
    "A flipped label moves two classes, so their losses add; parallel composition wants each record in one.",
    "The maximum over classes in (9) is too small: two affected classes cost up to eps_k + eps_k' and 2 delta, "
    "in quadrature for Gaussian noise.",
    "All classes form one vector with one sensitivity, which covers a record that changes class.",
)
def parallel_composition(noise: NoiseSource) -> tuple[Finding, ...]:
    exact = gaussian.mu_for(_FIRST_SHARE, DELTA)
    needed = brentq(
        lambda e: gaussian.log_delta(gaussian.compose(exact, exact), e) - math.log(DELTA), _FIRST_SHARE, 1
    )
    # Beyond this eps_k Lemma 1's slack (L7) no longer hides the second class.
    threshold = brentq(
        lambda e: gaussian.log_delta(gaussian.compose(lemma_1_mu(e), lemma_1_mu(e)), e) - math.log(DELTA), 0.05, 5
    )
    doubled = np.array([_largest_joint_ratio(paper_records(noise)) for _ in range(_DATA_SETS)])
    here = partial(Finding, "eps_k = 1/3, both classes at their bound, exact Gaussian curve", "Lemma 3")
    return (
        here(
            "Two classes whose means are each exactly (eps_k, 1e-5)-DP at eps_k = 1/3: delta of the two together at "
            "that eps_k; by parallel composition it would stay at 1e-5.",
            "delta of both means at eps_k",
            gaussian.delta(gaussian.compose(exact, exact), _FIRST_SHARE),
            claimed=DELTA,
        ),
        here(
            "The epsilon those two means together need for delta = 1e-5.",
            "epsilon of both means at delta = 1e-5",
            needed,
            claimed=_FIRST_SHARE,
        ),
        Finding(
            "eps_k = 8/3 (the first third of eps = 8), both classes at Lemma 1's bound, exact Gaussian curve",
            "Lemma 3 with Lemma 1",
            "With Lemma 1's constant, whose slack (L7) hides the second class at small eps_k: delta of two means at "
            "eps_k = 8/3.",
            "delta of both means at eps_k",
            gaussian.delta(gaussian.compose(lemma_1_mu(8 / 3), lemma_1_mu(8 / 3)), 8 / 3),
            claimed=DELTA,
        ),
        Finding(
            "both classes at Lemma 1's bound, exact Gaussian curve",
            "Lemma 3 with Lemma 1",
            "From this eps_k on, two classes at Lemma 1's bound exceed delta = 1e-5 together.",
            "eps_k from which Lemma 3 fails",
            threshold,
        ),
        Finding(
            f"{PAPER_SETTING}, {_DATA_SETS} data sets",
            "(9), (10)",
            "In the paper's setting the worst flip of a data set uses up this many times the right side of (10), "
            "summed over its two classes, each class having the noise of (23); the mean over data sets.",
            "largest v'Gamma v over both classes, relative to (10)",
            claimed=1.0,
            **averaged(doubled),
        ),
    )


def _noise_shape(x: np.ndarray, labels: np.ndarray, component: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mu_k, the difference vectors of (10) and the optimum Gamma_k^-1 of (23) at right-hand side one."""
    own = x[labels == component]
    means = np.zeros((int(labels.max()), x.shape[1]))
    means[component - 1] = own.mean(axis=0)
    v = mean_changes(x, labels, means, component)
    lower = np.linalg.cholesky(np.cov(own, rowvar=False))
    matrix = sdp.solve(np.linalg.solve(lower, v.T).T).matrix
    return means[component - 1], v, lower @ matrix @ lower.T


def _use(v: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Return v'Gamma v per difference vector, relative to the right side of (10)."""
    return np.einsum("ni,ni->n", v @ np.linalg.inv(shape), v)


def _largest_joint_ratio(private: LabelledRecords) -> float:
    x, labels = private.x, private.labels
    classes = len(private.fit.counts)
    use = np.stack([_use(*_noise_shape(x, labels, k + 1)[1:]) for k in range(classes)], axis=1)
    leaving = use[np.arange(len(x)), labels - 1]
    use[np.arange(len(x)), labels - 1] = 0
    return float((leaving + use.max(axis=1)).max())


@defect(
    "L4",
    "(10), (23), Algorithm 1",
    "The noise is calibrated to this data set and its distribution depends on it; (10) compares means under one "
    "distribution.",
    "The size and shape of the noise give records away: Theorem 1 compares two distributions that differ in more "
    "than "
    "their mean.",
    "Noise levels are fixed by public settings, or by answers that were themselves released and charged.",
    note="A first estimate in the design of this project, over other classes and flips, was a delta of up to "
    "0.197 at N_k = 12 and 74 % of 130 cases above 1e-5.",
)
def recalibrated_noise(noise: NoiseSource) -> tuple[Finding, ...]:
    deltas = np.array([[_recalibrated_delta(noise, size) for _ in range(_SETS_PER_SIZE)] for size in _SIZES])
    largest = np.unravel_index(deltas.argmax(), deltas.shape)
    above = float((deltas > DELTA).mean())
    settings = (
        f"one class of section V-A beside four others, N = {RECORDS}, d = {DIMENSION}, eps_k = 1/3, N_k from "
        f"{_SIZES[0]} to {_SIZES[-1]}, {deltas.size} cases; the one flip tried moves the outsider farthest out into "
        "the class"
    )
    fixed = gaussian.delta(lemma_1_mu(_FIRST_SHARE), _FIRST_SHARE)
    here = partial(Finding, settings, "(10), (23)")
    return (
        here(
            f"The largest delta of one released mean, at N_k = {_SIZES[largest[0]]}, when (23) is solved on D' as it "
            f"is on D; with one noise distribution for both it is at most {fixed:.2g}.",
            "largest exact delta of one mean at eps_k",
            float(deltas.max()),
            claimed=DELTA,
        ),
        here(
            "The share of the cases whose mean alone breaks its delta.",
            "share of cases with delta above 1e-5",
            above,
            claimed=0.0,
            standard_error=math.sqrt(above * (1 - above) / deltas.size),
        ),
    )


def _recalibrated_delta(noise: NoiseSource, size: int) -> float:
    """Return the larger delta of both directions when class 1, of ``size`` records, gains the outermost outsider.

    A lower bound on the delta of the worst flip.
    """
    truth = paper_mixture(noise)
    own, _ = sample(Mixture(np.ones(1), truth.means[:1], truth.covariances[:1]), size, noise)
    rest, labels = sample(Mixture(truth.weights[1:], truth.means[1:], truth.covariances[1:]), RECORDS - size, noise)
    x, labels = np.vstack([own, rest]), np.concatenate([np.ones(size, dtype=int), labels + 1])
    # Only class 1 matters; one class for the rest keeps every record movable.
    labels = np.minimum(labels, 2)
    mean, v, shape = _noise_shape(x, labels, 1)
    use = _use(v, shape)
    flipped = labels.copy()
    flipped[size + int(np.argmax(use[size:]))] = 1
    other_mean, _, other_shape = _noise_shape(x, flipped, 1)
    scale = 2 * math.log(2 / DELTA) / _FIRST_SHARE**2
    shift, distributions = other_mean - mean, (scale * shape, scale * other_shape)
    return max(
        hockey_stick(shift, *distributions, _FIRST_SHARE), hockey_stick(-shift, *distributions[::-1], _FIRST_SHARE)
    )


@defect(
    "L7",
    "Lemma 1",
    "The constant 2 ln(2/delta) is too large at small eps_k and too small at large ones.",
    "Means carry about twice the noise variance they need in the range of the experiments; far above it, the "
    "stated delta does not hold.",
    "Noise follows from the exact Gaussian curve (Balle and Wang 2018).",
)
def gaussian_constant(noise: NoiseSource) -> tuple[Finding, ...]:
    ratio = (gaussian.mu_for(_FIRST_SHARE, DELTA) / lemma_1_mu(_FIRST_SHARE)) ** 2
    threshold = brentq(lambda e: gaussian.log_delta(lemma_1_mu(e), e) - math.log(DELTA), 1, 30)
    here = partial(Finding, f"delta = {DELTA:g}, exact Gaussian curve", "Lemma 1")
    return (
        here(
            "The variance Lemma 1 asks for at eps_k = 1/3, over the smallest that is enough.",
            "variance ratio at eps_k = 1/3",
            ratio,
            claimed=1.0,
        ),
        Finding(
            f"delta = {DELTA:g}, root of the exact Gaussian curve",
            "Lemma 1",
            "From this eps_k on the Lemma is wrong: its variance is too small.",
            "eps_k from which Lemma 1 fails",
            threshold,
        ),
        here(
            "The delta it gives at eps_k = 16.",
            "delta at eps_k = 16",
            gaussian.delta(lemma_1_mu(16), 16),
            claimed=DELTA,
        ),
    )


def entering_costs(private: LabelledRecords) -> np.ndarray:
    """Return per class (K,) what the costliest entering record costs where noise covers leaving members only.

    In units of eps_k: the root of v' M^-1 v for its change v of the mean, M the smallest covariance with at most one
    for every change by a member that leaves.
    """
    members = replace(private, flips="leaving")
    costs = []
    for k, (covariance, solved) in enumerate(zip(private.fit.mixture.covariances, members.shapes(), strict=True)):
        entering = private.labels != k + 1
        count = np.count_nonzero(~entering)
        changes = (private.x[entering] - private.fit.mixture.means[k]) / (count + 1)
        whitened = np.linalg.solve(np.linalg.cholesky(covariance), changes.T)
        costs.append(np.sqrt(np.sum(whitened * np.linalg.solve(solved.matrix, whitened), axis=0).max()))
    return np.array(costs)


@defect(
    "L13",
    "(10)",
    "(10) is printed over the records of a class, while Theorem 1 speaks of every label flip: a flip also lets a "
    "record of another class enter.",
    "Read as printed, noise on a mean covers members that leave; a record from a distant class moves it farther "
    "than any of them, and costs several times eps_k. Read over all flips the bound holds, and the noise is as "
    "large as the distance between classes.",
    "Records are clipped to a ball around a released centre, so an entering record moves a sum no farther than "
    "a leaving one.",
    note="Every figure and claim is tabulated under both readings.",
)
def leaving_members_only(noise: NoiseSource) -> tuple[Finding, ...]:
    costs = np.concatenate([entering_costs(paper_records(noise)) for _ in range(_DATA_SETS)])
    low, middle, high = np.quantile(costs, [0.1, 0.5, 0.9])
    settings = f"{PAPER_SETTING}, costliest entering record of each class of {_DATA_SETS} data sets"
    words = "What a record that enters a class costs, in units of eps_k, where noise covers leaving members only"
    mu = lemma_1_mu(_FIRST_SHARE) * middle
    here = partial(Finding, settings, "(10)")
    return (
        here(
            f"{words}: median.",
            "cost of an entering record, median",
            middle,
            unit="eps_k",
            claimed=1.0,
        ),
        here(
            f"{words}: 10 % quantile.",
            "cost of an entering record, 10 %",
            low,
            unit="eps_k",
            claimed=1.0,
        ),
        here(
            f"{words}: 90 % quantile.",
            "cost of an entering record, 90 %",
            high,
            unit="eps_k",
            claimed=1.0,
        ),
        here(
            "Exact delta at eps_k = 1/3 of that mean where the cost is the median; Lemma 1 promises 1e-5.",
            "delta of one mean at eps_k",
            gaussian.delta(mu, _FIRST_SHARE),
            claimed=DELTA,
        ),
    )
