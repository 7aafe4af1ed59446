"""Defects of Liu et al. in the release of means: Lemma 3 (L3), fitted noise (L4), Lemma 1 (L7) and (10) (L13).

Defects of Liu et al. in the release of covariances: Lemma 2 (L1, L2) and the covariance term of (30) (L8).

For d + 1 degrees of freedom the Wishart density is proportional to exp(-gamma tr(W)/2) on the positive semidefinite
cone: the privacy loss is gamma tr(Sigma' - Sigma)/2 where both distributions have mass, and infinite elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import psi

from meterdp.accounting.exact_curve import hockey_stick
from meterdp.mechanisms.reference.label_flip import LabelledRecords, covariance_changes, mean_changes
from meterdp.mixture.draws import Mixture, sample
from meterdp.mixture.gmm import fit_labels
from meterdp.privacy import gaussian
from meterdp.privacy.noise import NoiseSource
from meterdp.solvers import ellipsoid as sdp
from meterdp_papers.common.tables import Finding, averaged, defect
from meterdp_papers.liu.errata_inputs import (
    DELTA,
    DIMENSION,
    PAPER_SETTING,
    RECORDS,
    household_mixture,
    paper_design,
    paper_mixture,
    paper_records,
)

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
    for k, (covariance, solved) in enumerate(zip(private.fit.mixture.covariances, members.shapes, strict=True)):
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
    note="Every figure and claim is tabulated under both variants.",
)
def leaving_members_only(noise: NoiseSource) -> tuple[Finding, ...]:
    costs = np.concatenate([entering_costs(paper_records(noise)) for _ in range(_DATA_SETS)])
    shares = {"median": 0.5, "10 %": 0.1, "90 %": 0.9}
    settings = f"{PAPER_SETTING}, costliest entering record of each class of {_DATA_SETS} data sets"
    mu = lemma_1_mu(_FIRST_SHARE) * np.median(costs)
    here = partial(Finding, settings, "(10)")
    return (
        *(
            here(
                "What a record that enters a class costs, in units of eps_k, where noise covers leaving members "
                f"only: {name if name == 'median' else f'{name} quantile'}.",
                f"cost of an entering record, {name}",
                np.quantile(costs, share),
                unit="eps_k",
                claimed=1.0,
            )
            for name, share in shares.items()
        ),
        here(
            "Exact delta at eps_k = 1/3 of that mean where the cost is the median; Lemma 1 promises 1e-5.",
            "delta of one mean at eps_k",
            gaussian.delta(mu, _FIRST_SHARE),
            claimed=DELTA,
        ),
    )


_DRAWS = 100_000
_FLIPPED_SETS = 20
_D = 3  # dimension of the quadrature of L8
_LEMMA_2 = "Lemma 2, (6)"


def wishart(noise: NoiseSource, draws: int, dimension: int, gamma: float) -> np.ndarray:
    """Draw W ~ Wishart_d(I / gamma, d + 1), (6): (draws, d, d)."""
    factor = noise.normal((draws, dimension, dimension + 1))
    return factor @ np.swapaxes(factor, -1, -2) / gamma


def impossible_share(change: np.ndarray, wisharts: np.ndarray) -> tuple[float, float]:
    """Return the share of outputs Sigma(D) + W that Sigma(D') = Sigma(D) + change cannot give, and its error."""
    share = float((np.linalg.eigvalsh(wisharts - change)[:, 0] < 0).mean())
    return share, math.sqrt(share * (1 - share) / len(wisharts))


@defect(
    "L1",
    "Lemma 2 (Wishart)",
    "Every output lies above the private covariance, so the set of possible outputs depends on the data.",
    "An observer who sees an output that the neighbour cannot give knows which of the two data sets it came "
    "from: no epsilon holds, and delta is at least the share below.",
    "Second moments get Gaussian noise, whose support is the whole space, and are floored afterwards.",
)
def wishart_support(noise: NoiseSource) -> tuple[Finding, ...]:
    return (_zero_to_unit(noise), _rank_one(noise), *_label_flips(noise))


def _zero_to_unit(noise: NoiseSource, count: int = 50, dimension: int = 3, epsilon_w: float = 1.0) -> Finding:
    x = noise.normal((count, dimension))
    x /= np.linalg.norm(x, axis=1).max()
    before, after = x.copy(), x.copy()
    before[0], after[0] = 0, x[0] / np.linalg.norm(x[0])
    change = (after.T @ after - before.T @ before) / count
    settings = f"N = {count}, d = {dimension}, gamma at the bound 3 gamma/(2 N) = {epsilon_w:g}"
    statement = (
        "Lemma 2's own setting (unit ball, second moment, fixed N): when a zero record becomes a unit one, this "
        "share of the outputs tells the two data sets apart with certainty; pure DP allows none."
    )
    return _impossible(noise, settings, statement, change, 2 * count * epsilon_w / 3, -math.expm1(-epsilon_w / 3))


def _rank_one(noise: NoiseSource, dimension: int = 5, loss: float = 2.0) -> Finding:
    direction = noise.normal((dimension,))
    change = np.outer(direction, direction)
    settings = f"rank-one Delta in d = {dimension}, gamma tr(Delta) = {loss:g}"
    statement = "For any positive semidefinite change Delta the share is 1 - exp(-gamma tr(Delta)/2), whatever d."
    return _impossible(noise, settings, statement, change, loss / float(np.trace(change)), -math.expm1(-loss / 2))


def _impossible(
    noise: NoiseSource, settings: str, statement: str, change: np.ndarray, gamma: float, closed_form: float
) -> Finding:
    share, error = impossible_share(change, wishart(noise, _DRAWS, len(change), gamma))
    return Finding(
        f"{settings}, {_DRAWS} draws",
        _LEMMA_2,
        statement,
        "share of outputs impossible under the neighbour",
        share,
        closed_form=closed_form,
        claimed=0.0,
        standard_error=error,
    )


def _label_flips(noise: NoiseSource, epsilon: float = 1.0, draws: int = 400) -> tuple[Finding, ...]:
    gains, losses = [], []
    for _ in range(_FLIPPED_SETS):
        private = paper_records(noise)
        gamma = paper_design(private, epsilon).gamma
        gained, lost = zip(*(_flip_shares(private, k, g, noise, draws) for k, g in enumerate(gamma)), strict=True)
        # A record that leaves counts once for each of the K - 1 classes it may go to: that leaves the median alone.
        gains.append(np.median(np.concatenate(gained)))
        losses.append(np.median(np.concatenate(lost)))
    settings = (
        f"{PAPER_SETTING}, eps = {epsilon:g}, Algorithm 1, all flips of {_FLIPPED_SETS} data sets, {draws} draws"
    )
    return tuple(
        Finding(
            settings,
            _LEMMA_2,
            f"The paper's own experiment, label flip and (2c): median over all flips for the class that {side} the "
            f"record, averaged over data sets, in which it runs from {min(medians):.2f} to {max(medians):.2f}.",
            "share of outputs impossible under the neighbour",
            claimed=0.0,
            **averaged(medians),
        )
        for side, medians in (("gains", gains), ("loses", losses))
    )


def _flip_shares(
    private: LabelledRecords, k: int, gamma: float, noise: NoiseSource, draws: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the impossible shares of class k over records that enter it and over records that leave it.

    Entering: Sigma' - Sigma = -A + c u u' with A = Sigma/N_k and c = 1/(N_k + 1), so W is outside the support of the
    neighbour exactly when c u'(W + A)^-1 u > 1. Leaving: Sigma' - Sigma = A - c u u' with A = Sigma/(N_k - 2) and
    c = N_k/((N_k - 1)(N_k - 2)); W - A + c u u' is positive semidefinite only if W - A has at most one negative
    eigenvalue and its determinant, by the matrix determinant lemma, is not negative.
    """
    fit = private.fit
    count, sigma = int(fit.counts[k]), fit.sample_covariances[k]
    residual = private.x - fit.mixture.means[k]
    inside = private.labels == k + 1
    products = np.einsum("ni,nj->nij", residual, residual).reshape(len(residual), -1)
    w = wishart(noise, draws, len(sigma), gamma)

    inverse = np.linalg.inv(w + sigma / count).reshape(draws, -1)
    entering = ((products[~inside] @ inverse.T) / (count + 1) > 1).mean(axis=1)

    shifted = w - sigma / (count - 2)
    negative = (np.linalg.eigvalsh(shifted) < 0).sum(axis=1)
    c = count / ((count - 1) * (count - 2))
    lift = 1 + c * products[inside] @ np.linalg.inv(shifted).reshape(draws, -1).T
    possible = (negative == 0) | ((negative == 1) & (lift <= 0))
    return entering, 1 - possible.mean(axis=1)


@defect(
    "L2",
    "Lemma 2, (9)",
    "Lemma 2 is about uncentred second moments of a fixed number of records in the unit ball; the experiments "
    "use (2c) and unbounded records.",
    "The stated loss 3 gamma/(2 N_k) is not the loss of what is released, even where both data sets can give it.",
    "Records are clipped to public bounds, residuals to a unit ball of released radius, and the sensitivity is "
    "that of the sums that are released.",
)
def lemma_2_conditions(noise: NoiseSource) -> tuple[Finding, ...]:
    outside, ratios = [], []
    for _ in range(_FLIPPED_SETS):
        private = paper_records(noise)
        outside.append(float((np.linalg.norm(private.x, axis=1) > 1).mean()))
        ratios.append(np.concatenate([_loss_ratios(private, k) for k in range(len(private.fit.counts))]))
    medians = np.array([np.median(r) for r in ratios])
    households, _ = sample(household_mixture(), 1409, noise)
    ratio, bound = _antipodal_ratio()
    settings = f"{PAPER_SETTING}, {_FLIPPED_SETS} data sets"
    here = partial(Finding, settings)
    return (
        here(
            "Lemma 2, section V-A",
            "Lemma 2 needs records in the unit ball: this share lies outside it in the synthetic experiments.",
            "share of records with |x| > 1",
            claimed=0.0,
            **averaged(outside),
        ),
        Finding(
            "synthetic households of Table I's class sizes, N = 1409, d = 12, log kWh",
            "Lemma 2, section V-C",
            "The same for log readings of half a day.",
            "share of records with |x| > 1",
            float((np.linalg.norm(households, axis=1) > 1).mean()),
            claimed=0.0,
        ),
        here(
            "(9), Lemma 2",
            "Even where both data sets can give the output, the loss gamma |tr(Sigma'_k - Sigma_k)|/2 of a class "
            "that gains a record is this many times the 3 gamma_k/(2 N_k) of (9): median over flips, averaged over "
            "data sets.",
            "true loss over stated loss",
            claimed=1.0,
            **averaged(medians),
        ),
        Finding(
            "N_k = 100 records at -e_1, one at +e_1 enters",
            "(9), (2c)",
            "With (2c) in place of a second moment over fixed N the stated loss is exceeded inside the unit ball "
            "too: a class of equal unit records gains the opposite one.",
            "true loss over stated loss",
            ratio,
            closed_form=bound,
            claimed=1.0,
        ),
    )


def _loss_ratios(private: LabelledRecords, k: int) -> np.ndarray:
    """Return N_k |tr(Sigma'_k - Sigma_k)| / 3 over all records that enter class k; gamma cancels."""
    fit, d = private.fit, private.x.shape[1]
    changes = covariance_changes(private.x, private.labels, fit.mixture.means, fit.sample_covariances, k + 1)
    rows, columns = np.triu_indices(d)
    traces = changes[:, rows == columns].sum(axis=1)[private.labels != k + 1]
    return fit.counts[k] * np.abs(traces) / 3


def _antipodal_ratio(count: int = 100, dimension: int = 3) -> tuple[float, float]:
    x = np.zeros((count + 2, dimension))
    x[:, 0] = -1.0
    x[count:, 0] = 1.0
    before = np.repeat([1, 2], [count, 2])
    after = before.copy()
    after[count] = 1
    moments = [fit_labels(x, labels, 1e-9).sample_covariances[0] for labels in (before, after)]
    return count * float(np.trace(moments[1] - moments[0])) / 3, 4 * count / (3 * (count + 1))


@defect(
    "L8",
    "Proposition 1, (22), (30)",
    "E ln|Sigma + W| is replaced by E ln|W| and ln|Sigma_k| is dropped, so (12) is not the divergence.",
    "The optimum (22) is an artefact of that bound: the true term falls to zero as gamma grows, and budget "
    "that would lower it goes to the means. Utility, not privacy.",
    "No such optimum enters: noise levels follow from the privacy parameters.",
    note="A first estimate in the design of this project, for a covariance it does not name, was 0.67, 0.12 and "
    "0.015 nats at 1, 3 and 10 gamma*.",
)
def covariance_term(noise: NoiseSource) -> tuple[Finding, ...]:
    optimum = (_D + 1) / _D * _D  # (22) with Sigma_k = I
    sizes = ((1, 400_000), (3, 200_000), (10, 100_000))
    return (*(_term_at(noise, optimum, factor, draws) for factor, draws in sizes), _drawn_covariances(noise))


def _term_at(noise: NoiseSource, optimum: float, factor: float, draws: int) -> Finding:
    gamma = factor * optimum
    terms = true_covariance_term(wishart(noise, draws, _D, gamma))
    return Finding(
        f"Sigma_k = I, d = {_D}, gamma* = {optimum:g}, {draws} draws",
        "Proposition 1, (22), (30)",
        f"The covariance term of the divergence at {factor:g} gamma*, beside the expression of (30) that is "
        "minimised in its place and is smallest at gamma* = (d+1)/d tr(Sigma_k^-1).",
        f"E KL of the covariance term at {factor:g} gamma*",
        unit="nat",
        closed_form=true_term_by_quadrature(gamma),
        claimed=published_term(np.eye(_D), gamma),
        **averaged(terms),
    )


def _drawn_covariances(noise: NoiseSource, count: int = 200, draws: int = 1000) -> Finding:
    means = np.empty(count)
    for i in range(count):
        inverse = np.linalg.inv(paper_mixture(noise, 1, _D).covariances[0])
        optimum = (_D + 1) / _D * float(np.trace(inverse))  # (22)
        means[i] = true_covariance_term(inverse @ wishart(noise, draws, _D, optimum)).mean()
    return Finding(
        f"Sigma_k ~ Wishart(d + 1, I), d = {_D}, {count} covariances, {draws} draws each",
        "Proposition 1, (22), (30)",
        "The same at gamma* for covariances drawn as in section V-A, on average.",
        "E KL of the covariance term at gamma*",
        unit="nat",
        **averaged(means),
    )


def true_covariance_term(whitened: np.ndarray) -> np.ndarray:
    """Return (tr(S^-1 W) - ln|I + S^-1 W|)/2 for matrices S^-1 W: (R,) float64, nats."""
    identity = np.eye(whitened.shape[-1])
    trace = np.trace(whitened, axis1=-2, axis2=-1)
    return 0.5 * (trace - np.linalg.slogdet(identity + whitened)[1])


def published_term(inverse: np.ndarray, gamma: float) -> float:
    """Return the covariance term of the last line of (30), which puts E ln|W| for E ln|Sigma + W| - ln|Sigma|."""
    d = len(inverse)
    digamma = psi((d + 1 - np.arange(d)) / 2).sum()
    bound = (d + 1) / gamma * np.trace(inverse) + d * math.log(gamma) - d * math.log(2) - digamma
    return 0.5 * float(bound)


def true_term_by_quadrature(gamma: float, nodes: int = 60) -> float:
    """Return the expected covariance term for Sigma = I, d = 3, from the distribution of the eigenvalues of W.

    With d + 1 degrees of freedom the eigenvalues l_1 > l_2 > l_3 of gamma W have a density proportional to
    exp(-sum l/2) prod (l_i - l_j); in the gaps l_3, l_2 - l_3, l_1 - l_2 that is Gauss-Laguerre quadrature.
    """
    node, weight = np.polynomial.laguerre.laggauss(nodes)
    smallest, middle, largest = np.meshgrid(2 * node / 3, node, 2 * node, indexing="ij")
    density = np.einsum("i,j,k->ijk", weight, weight, weight) * middle * largest * (middle + largest)
    eigenvalues = np.cumsum([smallest, middle, largest], axis=0) / gamma
    term = 0.5 * (eigenvalues - np.log1p(eigenvalues)).sum(axis=0)
    return float((density * term).sum() / density.sum())
