"""One test per defect of Ramakrishna et al., R1 to R12: the number as found, by a second route wherever there is one.

The findings come from fixed streams. Where they are random the second route has its own random numbers, and bounds
are at least 6.5 standard errors: false alarm below 1e-9.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.optimize import brentq
from scipy.stats import multivariate_normal, norm

from meterdp.class_noise.query_models import ClassQueries
from meterdp.core.noise import StudyNoise
from meterdp_papers.ramakrishna import errata_bounds as bounds
from meterdp_papers.ramakrishna import errata_descent as descent
from meterdp_papers.ramakrishna import errata_forecasts as forecasts

SIGMAS = 6.5


def closed(finding, rel=1e-6) -> bool:
    return finding.value == pytest.approx(finding.closed_form, rel=rel)


def test_R1_the_budget_is_counted_in_two_ways(findings):
    """Oracle: (23) by a root search through the printed 0.8 at eps = 0.1."""
    ratio, total, entry = findings["R1"]
    assert closed(ratio, 1e-12) and ratio.value == pytest.approx(12)
    mu = brentq(lambda m: norm.sf((0.1 - m * m / 2) / m) - 0.8, 0.1, 10)
    assert closed(total) and total.value == pytest.approx(norm.sf(1 / mu - mu / 2))
    assert closed(entry) and entry.value == pytest.approx(norm.sf(math.sqrt(12) / mu - mu / math.sqrt(12) / 2))
    assert total.value > 10 * entry.value


def test_R2_what_is_released_is_not_what_was_optimised(findings):
    """Oracles: the compiled Algorithm 1 for J, quadrature for the tail; and one draw taken apart."""
    surrogate, tail, out_of_reach, empty = findings["R2"]
    assert closed(surrogate, 1e-3) and surrogate.value > 2 * surrogate.claimed
    assert closed(tail) and tail.value - SIGMAS * tail.standard_error > tail.claimed
    assert out_of_reach.value > 0 and 0 <= empty.value < 0.5

    queries = bounds.line_of_classes(StudyNoise(3, "R2 test"))
    optimised = descent.descend(queries, 2.0)
    noise = descent.rescale(optimised - queries.covariance, 2.0)
    assert np.trace(noise, axis1=1, axis2=2) == pytest.approx(2.0), "(50) does meet the budget"
    assert np.linalg.eigvalsh(noise).min() > -1e-12
    white = queries.covariance + np.eye(2)
    j = [_surrogate(queries, c) for c in (white, optimised, queries.covariance + noise)]
    assert j[1] < j[0] and j[1] < j[2], "the descent descends, the rescaling climbs"
    excess = np.trace(optimised - queries.covariance, axis1=1, axis2=2)
    assert np.abs(excess - 2.0).max() > 0.5, "the descent does not hold the trace"


def _surrogate(queries: ClassQueries, covariance: np.ndarray) -> float:
    """J of (47) from (41), pair by pair."""
    values = []
    for x, y in queries.pairs:
        d = queries.mean_log_kwh[y] - queries.mean_log_kwh[x]
        ratio = np.linalg.det(covariance[x]) / np.linalg.det(covariance[y])
        values.append(d @ np.linalg.solve(covariance[y], d) - math.log(ratio))
    return max(values)


def test_R3_a_named_file_is_the_label(findings):
    """The ratio of densities of (id, q~): infinite where the id has probability zero under the other label."""
    named, anonymous, infinite, alone = findings["R3"]
    assert named.value == 1.0 and infinite.value == 1.0
    assert abs(anonymous.value - anonymous.closed_form) < SIGMAS * anonymous.standard_error
    assert closed(alone) and infinite.claimed == 0.0
    # Distributions of (id, q~) with the id smeared a little: delta rises to one as the smear shrinks, at any eps and
    # noise.
    deltas = [
        bounds.worst(bounds.two_labels([0, 0], np.diag([s**2, 1e6]), [1, 0.1], np.diag([s**2, 1e6])), 100.0)
        for s in (1.0, 0.1, 0.05, 0.02)
    ]
    assert np.all(np.diff(deltas) >= 0) and deltas[0] < 1e-12 and deltas[-1] == pytest.approx(1.0)


def test_R4_a_joint_release_is_charged_for_swaps(findings):
    """Oracles: the Gaussian curve at sqrt 2 mu, and simulation with scipy's densities."""
    equal, tail, unequal = findings["R4"]
    assert closed(equal) and equal.claimed == pytest.approx(0.2805, abs=1e-4) and equal.value > 0.5
    assert closed(tail) and tail.value > tail.claimed
    first = multivariate_normal([0, 0], [[1.0, 0.3], [0.3, 0.5]])
    second = multivariate_normal([0.8, 0.5], [[0.6, -0.1], [-0.1, 1.2]])
    rng = np.random.default_rng(4)
    q1, q2 = first.rvs(400_000, random_state=rng), second.rvs(400_000, random_state=rng)
    loss = first.logpdf(q1) - second.logpdf(q1) + second.logpdf(q2) - first.logpdf(q2)
    terms = np.maximum(0, -np.expm1(1 - loss))
    assert abs(unequal.value - terms.mean()) < SIGMAS * terms.std() / math.sqrt(terms.size)
    assert unequal.value > 1.5 * unequal.claimed


def test_R5_printed_numbers_contradict_one_another(findings):
    """A tail falls with eps, and two-sided is at most 1 + e^-eps times one-sided: both on curves of our own."""
    rise, sides, none, share, budget = findings["R5"]
    assert rise.value == pytest.approx(0.84 - 0.5637) and rise.value > 0 and none.value == 0.0
    assert sides.value == pytest.approx(0.5637 * (1 + math.exp(-1))) and sides.value < sides.claimed
    assert 0.5 < share.value <= 1
    assert closed(budget) and budget.value < 0.5 * budget.claimed
    for mu in (0.1, 0.5, 1.0, 3.0):
        for epsilon in (0.1, 1.0, 2.0):
            one = norm.sf(epsilon / mu - mu / 2)
            assert norm.sf(epsilon / mu + mu / 2) <= math.exp(-epsilon) * one * (1 + 1e-12)


def test_R6_the_order_of_log_and_season_matters(findings):
    """Oracle: one household taken apart by loops."""
    undefined, level, apart, ratio, white = findings["R6"]
    assert 0.3 < undefined.value < 0.7
    assert closed(level, 1e-9) and level.value + SIGMAS * level.standard_error < 0, "Jensen"
    assert apart.value - SIGMAS * apart.standard_error > 0.1
    assert ratio.value + SIGMAS * ratio.standard_error < 1
    assert abs(white.value - white.closed_form) < SIGMAS * white.standard_error
    rng = np.random.default_rng(6)
    energy, group = rng.lognormal(size=60), np.arange(60) % 7
    for g in range(7):
        own = group == g
        assert forecasts._mean_by(energy, group)[own] == pytest.approx(energy[own].mean())


def test_R7_two_formulas_two_processes(findings):
    """Oracles: the closed variance of an ARMA(1, 1) and a simulated recursion (59)."""
    variance, ratio, lagged = findings["R7"]
    assert all(closed(f, 1e-9) for f in (variance, ratio, lagged))
    assert variance.value == pytest.approx((1 + 2 * 0.9 * 0.5 + 0.25) / (1 - 0.81))
    assert variance.claimed == pytest.approx(0.81 / (1 - 0.25)) and variance.value > 10 * variance.claimed
    rng, paths = np.random.default_rng(7), 20_000
    x, last = np.zeros(paths), np.zeros(paths)
    for _ in range(200):
        innovation = rng.standard_normal(paths)
        x, last = 0.9 * x + innovation + 0.5 * last, innovation
    assert abs(x.var() / variance.value - 1) < SIGMAS * math.sqrt(2 / paths)
    assert abs(lagged.value - lagged.claimed) > 1


def test_R8_a_factor_of_two_is_misplaced(findings):
    """By hand at |mu| = eps = 1, s = 5: (36) is exp((1/2 - 1)/5), (42) prints exp(-1/10 + 1/5)."""
    bound, difference = findings["R8"]
    assert closed(bound, 1e-12) and bound.value == pytest.approx(math.exp(0.1)) and bound.value > 1
    assert bound.claimed == pytest.approx(math.exp(-0.1))
    assert closed(difference, 1e-12) and difference.value == pytest.approx(0.2)


def test_R9_the_query_has_another_distribution(findings):
    """Oracle: S^fo (S^o)^-1 S^of and (57) from Toeplitz matrices of 400 observed variants."""
    first, last, rank, traced, promised = findings["R9"]
    assert closed(first, 1e-9) and closed(last, 1e-9) and rank.value == 6 and rank.claimed == 12
    observed = 400
    for fit, tolerance in ((forecasts.process([0.9]), 1e-9), (_home(), 1e-6)):
        s = toeplitz(forecasts.autocovariance(fit, observed + 12))
        cross = s[observed:, :observed]
        query = cross @ np.linalg.solve(s[:observed, :observed], cross.T)
        scale = s[0, 0]
        assert np.abs(query - forecasts.query_covariance(fit, 12)).max() < tolerance * scale
        future = s[observed:, observed:] - query
        assert np.abs(future - forecasts.forecast_covariance(fit, 12)).max() < tolerance * scale
        if fit.ar.size == 1:
            assert np.diag(query)[[0, -1]] / scale == pytest.approx([first.value, last.value])
            assert np.diag(future)[[0, -1]] / scale == pytest.approx([first.claimed, last.claimed])
        else:
            values = np.linalg.eigvalsh(query)[::-1]
            assert values[5] > 1e-6 * scale and values[6] < 1e-8 * scale
    assert traced.value == promised.value == 1.0
    two_steps = [forecasts.process([phi]) for phi in (0.9, 0.5)]
    for fit in two_steps:
        expected = forecasts.query_covariance(fit, 2)
        assert forecasts._line(fit.ar[0]) == pytest.approx(expected)
    future = forecasts._distributions([forecasts.forecast_covariance(fit, 2) for fit in two_steps])
    assert promised.claimed == pytest.approx(bounds.worst_by_quadrature(future, 1.0), rel=1e-6)
    assert promised.claimed < 0.1


def _home():
    return forecasts.process(*forecasts._arma_6_5())


def test_R10_definition_1_has_two_sides(findings):
    """By hand: 1/2 + Phi(-1), 1/2 - e^(1/2) Phi(-1), one-sided 1/2."""
    two, exact, ratio = findings["R10"]
    assert closed(two) and two.value == pytest.approx(0.5 + norm.cdf(-1)) and two.claimed == pytest.approx(0.5)
    assert closed(exact) and exact.value == pytest.approx(0.5 - math.exp(0.5) * norm.cdf(-1), rel=1e-6)
    assert closed(ratio) and 1.8 < ratio.value < 1 + math.exp(-0.01)


def test_R11_the_corollaries_are_no_bounds(findings):
    """By hand: Phi(-1) above exp(-2/1.05); Phi(-0.2) above 1/e; a grid of |mu|/s around the threshold."""
    third, lemma, second, limit, threshold = findings["R11"]
    assert closed(third, 1e-9) and third.value == pytest.approx(norm.cdf(-1)) and third.value > third.claimed
    assert third.claimed == pytest.approx(math.exp(-2 / 1.05)) == pytest.approx(0.1489, abs=5e-5)
    assert lemma.value > third.value and closed(lemma)
    assert closed(second, 1e-9) and second.value == pytest.approx(norm.cdf(-0.2)) and second.value > second.claimed
    assert closed(limit, 1e-4) and limit.value - limit.claimed == pytest.approx((9 + 4 - 2) / 2, rel=1e-4)
    assert closed(threshold)
    x = np.linspace(1e-3, 30, 30_000)
    for s in (1.05, 20.0, 1000.0):
        for factor, fails in ((0.999, False), (1.001, True)):
            mu = factor * threshold.value * s
            excess = x * mu  # eps - |mu|^2/2
            assert np.any(norm.logsf(excess / mu) > -excess / s) == fails


def test_R12_the_printed_step_is_zero(findings):
    """One iterate by hand, and numerical slopes for the derived denominators."""
    printed, useful, rise = findings["R12"]
    assert printed.value == printed.closed_form == 0.0
    assert useful.value > 0.99 and rise.value > 0.1
    rng, edges = np.random.default_rng(12), ~np.eye(4, dtype=bool)
    for _ in range(20):
        means, root = rng.standard_normal((4, 3)), rng.standard_normal((4, 3, 4))
        precision = root @ np.swapaxes(root, 1, 2)
        at, before = descent.step_at(means, precision, edges), descent.surrogate(means, precision, edges)
        h = 1e-6 / np.abs(np.linalg.eigvals(np.linalg.inv(precision[at.b]) @ at.gradient)).max()
        moved = precision.copy()
        moved[at.b] -= h * at.gradient
        after = descent.surrogate(means, moved, edges)
        others = np.flatnonzero(edges[at.b])
        out, into = (at.b, others), (others, at.b)
        assert (after[out] - before[out]) / h == pytest.approx(np.full(3, at.rise), rel=1e-3, abs=1e-2)
        assert (after[into] - before[into]) / h == pytest.approx(at.slope_into, rel=1e-3, abs=1e-2)
        own = list(others).index(at.a)
        assert at.slope_into_printed[own] + at.rise <= 0 < at.numerator_into[own], "why the printed bound is zero"
        assert at.gap_out.min() >= 0 and at.printed() == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_quadrature_of_two_dimensional_losses_agrees_with_simulation(seed):
    """Oracle: 400,000 draws with scipy's densities; 6.5 standard errors."""
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((2, 2, 3)) * (1 if seed else [[[1.0]], [[1.0]]])
    covariance = roots @ np.swapaxes(roots, 1, 2)
    if seed == 0:
        covariance[1] = covariance[0]
    means = rng.standard_normal((2, 2))
    distributions = bounds.two_labels(means[0], covariance[0], means[1], covariance[1])
    losses = bounds.losses_of(distributions)
    own, other = (multivariate_normal(m, c) for m, c in zip(means, covariance, strict=True))
    q = own.rvs(400_000, random_state=rng)
    loss = own.logpdf(q) - other.logpdf(q)
    for epsilon in (0.0, 0.7):
        upper, lower = bounds.tails_by_quadrature(losses.gamma[0], losses.nu[0], epsilon)
        for value, share in ((upper, np.mean(loss > epsilon)), (lower, np.mean(loss < -epsilon))):
            assert abs(value - share) < SIGMAS * math.sqrt(0.25 / 400_000)


def test_R13_the_seasonal_mean_is_the_households_own(findings):
    """Oracle: (33) for equal covariances, and a simulation of the released forecasts' loss."""
    (found,) = findings["R13"]
    assert closed(found) and found.claimed == 0.0 and found.value > 0.4
    gap, fit = np.full(12, 0.5), forecasts.process([0.9])
    distribution = toeplitz(forecasts.autocovariance(fit, 412))
    cross = distribution[400:, :400]
    distribution = distribution[400:, 400:] - cross @ np.linalg.solve(distribution[:400, :400], cross.T)
    released = 0.5 * distribution * (1 - 0.81) + 1.4 / 12 * np.eye(
        12
    )  # unit innovations have variance 1 / (1 - 0.81)
    x = np.random.default_rng(3).multivariate_normal(gap, released, size=200_000)
    precision = np.linalg.inv(released)
    loss = x @ precision @ gap - 0.5 * gap @ precision @ gap
    assert (loss > 1.0).mean() == pytest.approx(found.value, abs=6 * 0.5 / math.sqrt(200_000))


def test_the_committed_numbers_are_those_found(same_as_committed):
    same_as_committed("R")
