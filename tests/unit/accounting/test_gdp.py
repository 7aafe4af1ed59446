"""Gaussian DP, alone and beside randomised assignments; oracles mpmath, dp-accounting and the densities."""

from __future__ import annotations

import itertools
import math
import random

import mpmath
import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.mechanism_calibration import calibrate_dp_mechanism
from dp_accounting.pld import PLDAccountant, privacy_loss_distribution
from scipy.integrate import quad
from scipy.stats import norm

from meterdp.accounting.responses import delta_with_response, epsilon_after, mu_beside
from meterdp.privacy import gaussian
from meterdp.privacy.gaussian import composed_delta, keep_probability, signed_delta


def exact(mu: float, epsilon: float, digits: int = 400) -> mpmath.mpf:
    """Delta in arithmetic of so many digits; at epsilon = 0 and mu = 1e-300 the first 300 cancel."""
    with mpmath.workdps(digits):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)

        def below(z):
            return mpmath.erfc(-z / mpmath.sqrt(2)) / 2

        return below(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * below(-epsilon / mu - mu / 2)


def test_curve_agrees_with_mpmath_over_fourteen_decades():
    random.seed(1)
    for _ in range(800):
        epsilon, mu = 10 ** random.uniform(-6, 3), 10 ** random.uniform(-4, 3)
        if epsilon / mu - mu / 2 > 118:
            continue  # below 1e-3000
        true = exact(mu, epsilon, 100)  # hardly eight of them cancel
        error = abs(mpmath.mpf(gaussian.log_delta(mu, epsilon)) - mpmath.log(true))
        assert error < gaussian.RELATIVE_ERROR, (mu, epsilon)


@pytest.mark.parametrize("std", [0.5, 1.7, 6.0])
def test_curve_agrees_with_dp_accounting(std):
    high, low = (
        privacy_loss_distribution.from_gaussian_mechanism(
            std, pessimistic_estimate=above, value_discretization_interval=1e-4
        )
        for above in (True, False)
    )
    for epsilon in (0.0, 0.1, 1.0, 4.0):
        ours = gaussian.delta(1 / std, epsilon)
        assert low.get_delta_for_epsilon(epsilon) - 1e-12 <= ours <= high.get_delta_for_epsilon(epsilon) + 1e-12


def test_calibration_agrees_with_dp_accounting():
    oracle = calibrate_dp_mechanism(PLDAccountant, GaussianDpEvent, 1.0, 1e-5, tol=1e-6)
    assert 1 / gaussian.mu_for(1.0, 1e-5) == pytest.approx(oracle, rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1e-3, 0.5, 2.0, 30.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-12, 1e-5, 0.1, 0.999])
def test_inverse_is_on_the_safe_side_and_tight(epsilon, delta):
    mu = gaussian.mu_for(epsilon, delta)
    assert exact(mu, epsilon) <= mpmath.mpf(delta)
    assert exact(mu * (1 + 1e-7), epsilon) > mpmath.mpf(delta)


@pytest.mark.parametrize("mu", [1e-6, 0.03, 0.5, 2.0, 40.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-12, 1e-5, 0.1, 0.999])
def test_epsilon_is_on_the_safe_side_and_tight(mu, delta):
    epsilon = gaussian.epsilon_for(mu, delta)
    assert exact(mu, epsilon) <= mpmath.mpf(delta)
    assert epsilon == 0 or exact(mu, epsilon * (1 - 1e-6)) > mpmath.mpf(delta)


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        *((gaussian.delta, (mu, epsilon), 0.0) for mu, epsilon in ((0.0, 0.0), (0.0, 1.0), (1.0, math.inf))),
        *((gaussian.delta, (mu, epsilon), 0.0) for mu, epsilon in ((1e-200, 1.0), (1e-320, 1e5))),
        (gaussian.delta, (math.inf, 5.0), 1.0),
        (gaussian.mu_for, (1.0, 0.0), 0.0),  # Gaussian noise is never pure DP
        *((gaussian.mu_for, arguments, math.inf) for arguments in ((1.0, 1.0), (math.inf, 1e-5))),
        *((gaussian.epsilon_for, (mu, delta), 0.0) for mu, delta in ((0.0, 0.0), (math.inf, 1.0), (1e-9, 1e-5))),
        *((gaussian.epsilon_for, arguments, math.inf) for arguments in ((1.0, 0.0), (math.inf, 0.5))),
    ],
)
def test_curve_and_inverses_at_their_ends(function, arguments, expected):
    assert function(*arguments) == expected


@pytest.mark.parametrize("bad", [-1.0, math.nan])
def test_numbers_that_mean_nothing_are_refused(bad):
    for call in (gaussian.delta, gaussian.mu_for, gaussian.epsilon_for):
        for arguments in ((bad, 0.1), (0.1, bad)):
            with pytest.raises(ValueError, match="negative or not a number"):
                call(*arguments)
    for call in (gaussian.mu_for, gaussian.epsilon_for):
        with pytest.raises(ValueError, match="above one"):
            call(1.0, 1.5)


def test_composition_adds_squares():
    assert gaussian.compose(3.0, 4.0) == 5.0
    assert gaussian.compose() == 0.0


def test_composition_agrees_with_dp_accounting_on_unequal_gaussians():
    stds = np.array([2.0, 3.0, 5.0])
    plds = [privacy_loss_distribution.from_gaussian_mechanism(s, value_discretization_interval=1e-4) for s in stds]
    composed = plds[0].compose(plds[1]).compose(plds[2])
    ours = gaussian.delta(gaussian.compose(*(1 / stds)), 1.0)
    assert ours == pytest.approx(composed.get_delta_for_epsilon(1.0), rel=1e-3)


# -- beside a randomised assignment ----------------------------------------------------------------------------------


def by_quadrature(mu, epsilon, ratio):
    """Integrate (ratio N(mu, 1) - e^epsilon N(0, 1))_+, split at the one point where it changes sign."""
    edge = (epsilon - math.log(ratio) + mu**2 / 2) / mu
    value, _ = quad(
        lambda t: ratio * norm.pdf(t - mu) - math.exp(epsilon) * norm.pdf(t),
        edge,
        max(edge, mu) + 40,
        epsabs=0,
        epsrel=1e-12,
        limit=400,
        points=[mu] if edge < mu else None,
    )
    return value


def randomised_distributions(a, groups):
    """Distributions of the answer for true labels 0 and 1."""
    weight = np.exp(a * np.eye(groups)[:2])
    return weight / weight.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("epsilon", [-4.0, -1.0, -0.1, 0.0, 0.7, 3.0])
def test_gaussian_curve_at_any_epsilon_is_the_integral(mu, epsilon):
    """Oracle: quadrature of the densities."""
    assert signed_delta(mu, epsilon) == pytest.approx(by_quadrature(mu, epsilon, 1.0), rel=1e-8)


@pytest.mark.parametrize("groups", [2, 3, 7])
@pytest.mark.parametrize(("a", "mu", "epsilon"), [(0.5, 0.8, 1.0), (3.0, 0.4, 4.0), (1.0, 2.0, 0.0), (6.0, 1.0, 5.0)])
def test_delta_is_the_divergence_of_the_joint_densities(groups, a, mu, epsilon):
    """Oracle: sum over answers of the quadrature of p(y) N(mu, 1) against e^epsilon q(y) N(0, 1)."""
    p, q = randomised_distributions(a, groups)
    exact = sum(q_y * by_quadrature(mu, epsilon, p_y / q_y) for p_y, q_y in zip(p, q, strict=True))
    assert delta_with_response(mu, a, groups, epsilon) == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("groups", [2, 4])
def test_repeated_releases_are_the_product_of_all_answers(groups):
    """Oracle: every sequence of three answers, one by one; the Gaussians of all three are one of sqrt(3) mu."""
    a, mu, epsilon = 1.2, 0.5, 2.0
    p, q = randomised_distributions(a, groups)
    exact = 0.0
    for answers in itertools.product(range(groups), repeat=3):
        p_y, q_y = p[list(answers)].prod(), q[list(answers)].prod()
        exact += q_y * by_quadrature(math.sqrt(3) * mu, epsilon, p_y / q_y)
    assert delta_with_response(mu, a, groups, epsilon, releases=3) == pytest.approx(exact, rel=1e-8)


def test_an_assignment_to_one_group_or_of_no_budget_leaves_the_gaussian_curve():
    assert keep_probability(0.0, 5) == pytest.approx(0.2)
    exact = gaussian.delta(0.7, 1.0)
    assert delta_with_response(0.7, 0.0, 1, 1.0) == delta_with_response(0.35, 0.0, 1, 1.0, releases=4) == exact
    assert composed_delta(0.7, {}, 1.0) == composed_delta(0.7, {(0.0, 1): 3}, 1.0) == exact
    assert delta_with_response(0.7, 0.0, 5, 1.0) == pytest.approx(exact, rel=1e-12)
    assert mu_beside(0.0, 1, 2.0, 1e-5) == gaussian.mu_for(2.0, 1e-5)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.99])
@pytest.mark.parametrize("groups", [2, 12])
def test_mu_beside_an_assignment_is_the_largest_that_fits(epsilon, share, groups):
    mu = mu_beside(share * epsilon, groups, epsilon, 1e-5)
    assert delta_with_response(mu, share * epsilon, groups, epsilon) <= 1e-5
    assert delta_with_response(mu * (1 + 1e-6), share * epsilon, groups, epsilon) > 1e-5


def test_an_assignment_without_room_is_refused():
    with pytest.raises(ValueError, match="no privacy budget"):
        mu_beside(2.0, 3, 2.0, 1e-5)


@pytest.mark.parametrize("releases", [1, 7, 30])
def test_epsilon_after_releases_inverts_delta(releases):
    a, groups = 1.6, 2
    mu = mu_beside(a, groups, 2.0, 1e-5)
    epsilon = epsilon_after(mu, a, groups, 1e-5, releases)
    assert (
        delta_with_response(mu, a, groups, epsilon, releases)
        <= 1e-5
        < delta_with_response(mu, a, groups, 0.999 * epsilon, releases)
    )
    if releases == 1:
        assert epsilon == pytest.approx(2.0, abs=1e-6)


def test_different_responses_compose_as_the_product_of_all_answers():
    """Oracle: every pair of answers of two unlike responses, and the Gaussian between them."""
    mu, epsilon, kinds = 0.6, 1.5, [(0.9, 2), (1.7, 3)]
    distributions = [randomised_distributions(*kind) for kind in kinds]
    exact = 0.0
    for answers in itertools.product(*(range(groups) for _, groups in kinds)):
        p_y = math.prod(distribution[0][y] for distribution, y in zip(distributions, answers, strict=True))
        q_y = math.prod(distribution[1][y] for distribution, y in zip(distributions, answers, strict=True))
        exact += q_y * by_quadrature(mu, epsilon, p_y / q_y)
    assert composed_delta(mu, dict.fromkeys(kinds, 1), epsilon) == pytest.approx(exact, rel=1e-8)
    twice = composed_delta(mu, {(0.9, 2): 2}, epsilon)
    assert twice == pytest.approx(delta_with_response(mu / math.sqrt(2), 0.9, 2, epsilon, releases=2), rel=1e-12)


def test_many_kinds_of_responses_are_bounded_from_above_in_little_time():
    """Oracle: the exact list of losses of eight kinds, 3^8 of them."""
    kinds = {(0.05 + 0.01 * i, 3): 1 for i in range(8)}
    losses = [(0.0, 1.0)]
    for a, groups in kinds:
        keep = keep_probability(a, groups)
        one = [(a, keep), (-a, keep * math.exp(-a)), (0.0, (groups - 2) * keep * math.exp(-a))]
        losses = [(loss + more, chance * c) for loss, chance in losses for more, c in one]
    exact = sum(chance * signed_delta(0.3, 0.5 - loss) for loss, chance in losses)
    assert exact <= composed_delta(0.3, kinds, 0.5) <= 1.02 * exact


def test_hundreds_of_responses_have_a_delta():
    few, many = (composed_delta(0.1, {(1e-4, 3): times}, 0.5) for times in (200, 700))
    assert 0 < few < many < 1
