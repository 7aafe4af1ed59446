"""Defects of Liu et al. in the release of covariances: Lemma 2 (L1, L2) and the covariance term of (30) (L8).

For d + 1 degrees of freedom the Wishart density is proportional to exp(-gamma tr(W)/2) on the positive semidefinite
cone: the privacy loss is gamma tr(Sigma' - Sigma)/2 where both distributions have mass, and infinite elsewhere.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.special import psi

from meterdp.mechanisms.published.kl import KlPublished
from meterdp.mechanisms.published.label_flip import LabelledRecords, covariance_changes
from meterdp.mixture.draws import sample
from meterdp.mixture.gmm import fit_labels
from meterdp.privacy.noise import NoiseSource
from meterdp_papers.common.tables import Finding, averaged, defect
from meterdp_papers.liu.errata.inputs import (
    PAPER_SETTING,
    household_mixture,
    paper_mixture,
    paper_records,
    paper_settings,
)

_DRAWS = 100_000
_DATA_SETS = 20
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
    gamma = 2 * count * epsilon_w / 3
    share, error = impossible_share(change, wishart(noise, _DRAWS, dimension, gamma))
    return Finding(
        f"N = {count}, d = {dimension}, gamma at the bound 3 gamma/(2 N) = {epsilon_w:g}, {_DRAWS} draws",
        _LEMMA_2,
        "Lemma 2's own setting (unit ball, second moment, fixed N): when a zero record becomes a unit one, this "
        "share of the outputs tells the two data sets apart with certainty; pure DP allows none.",
        "share of outputs impossible under the neighbour",
        share,
        closed_form=-math.expm1(-epsilon_w / 3),
        claimed=0.0,
        standard_error=error,
    )


def _rank_one(noise: NoiseSource, dimension: int = 5, loss: float = 2.0) -> Finding:
    direction = noise.normal((dimension,))
    change = np.outer(direction, direction)
    gamma = loss / float(np.trace(change))
    share, error = impossible_share(change, wishart(noise, _DRAWS, dimension, gamma))
    return Finding(
        f"rank-one Delta in d = {dimension}, gamma tr(Delta) = {loss:g}, {_DRAWS} draws",
        _LEMMA_2,
        "For any positive semidefinite change Delta the share is 1 - exp(-gamma tr(Delta)/2), whatever d.",
        "share of outputs impossible under the neighbour",
        share,
        closed_form=-math.expm1(-loss / 2),
        claimed=0.0,
        standard_error=error,
    )


def _label_flips(noise: NoiseSource, epsilon: float = 1.0, draws: int = 400) -> tuple[Finding, ...]:
    gains, losses = [], []
    for _ in range(_DATA_SETS):
        private = paper_records(noise)
        gamma = KlPublished.calibrate(paper_settings(private, epsilon)).design(private).gamma
        gained, lost = zip(*(_flip_shares(private, k, g, noise, draws) for k, g in enumerate(gamma)), strict=True)
        # A record that leaves counts once for each of the K - 1 classes it may go to: that leaves the median alone.
        gains.append(np.median(np.concatenate(gained)))
        losses.append(np.median(np.concatenate(lost)))
    settings = f"{PAPER_SETTING}, eps = {epsilon:g}, Algorithm 1, all flips of {_DATA_SETS} data sets, {draws} draws"
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
    for _ in range(_DATA_SETS):
        private = paper_records(noise)
        outside.append(float((np.linalg.norm(private.x, axis=1) > 1).mean()))
        ratios.append(np.concatenate([_loss_ratios(private, k) for k in range(len(private.fit.counts))]))
    medians = np.array([np.median(r) for r in ratios])
    households, _ = sample(household_mixture(), 1409, noise)
    ratio, bound = _antipodal_ratio()
    settings = f"{PAPER_SETTING}, {_DATA_SETS} data sets"
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
            "made-up households of Table I's class sizes, N = 1409, d = 12, log kWh",
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
