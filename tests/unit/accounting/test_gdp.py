"""Gaussian DP; oracles mpmath, dp-accounting and the densities."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict

import mpmath
import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.mechanism_calibration import calibrate_dp_mechanism
from dp_accounting.pld import PLDAccountant, privacy_loss_distribution
from scipy.integrate import quad
from scipy.special import ndtr

from meterdp.privacy import gaussian
from meterdp.privacy.charge import Charge


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


# -- beside groups that an earlier version drew by lot ---------------------------------------------------------------


def by_quadrature(mu, epsilon, ratio):
    """Integrate (ratio N(mu, 1) - e^epsilon N(0, 1))_+, split at the one point where it changes sign."""

    def density(t):
        return math.exp(-(t**2) / 2) / math.sqrt(2 * math.pi)

    edge = (epsilon - math.log(ratio) + mu**2 / 2) / mu
    value, _ = quad(
        lambda t: ratio * density(t - mu) - math.exp(epsilon) * density(t),
        edge,
        max(edge, mu) + 40,
        epsabs=0,
        epsrel=1e-12,
        limit=400,
        points=[mu] if edge < mu else None,
    )
    return value


def charged(mu, *responses):
    return Charge.of_event({"mu": mu, "total_variation": 0.0, "responses": responses})


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 1.5, 3.0])
@pytest.mark.parametrize("kinds", [[(0.9, 2)], [(0.75, 2), (1.7, 3)], [(1.2, 4)] * 3])
def test_groups_drawn_by_lot_cost_no_more_than_is_counted(epsilon, kinds):
    """Oracle: the divergence of the joint densities, over every sequence of answers for true labels 0 and 1."""
    mu, chance, ratios = 0.4, defaultdict(float), {}
    weights = [np.exp(a * np.eye(groups)[:2]) for a, groups in kinds]
    answers = [(w / w.sum(axis=1, keepdims=True)).T for w in weights]
    for chances in itertools.product(*answers):
        p, q = np.prod(chances, axis=0)
        ratios[key := round(math.log(p / q), 9)] = p / q
        chance[key] += q
    # Sequences as likely under both labels in the same proportion have one integral.
    exact = sum(q * by_quadrature(mu, epsilon, ratios[key]) for key, q in chance.items())
    counted = charged(mu, *((a, groups, 1) for a, groups in kinds))
    assert exact <= counted.delta(epsilon)
    again = charged(mu, *((*kind, kinds.count(kind)) for kind in dict.fromkeys(kinds)))
    assert again.mu == pytest.approx(counted.mu, rel=1e-14)


def test_one_of_two_groups_drawn_by_lot_is_counted_without_slack_where_epsilon_is_0():
    for a in (0.01, 0.75, 5.0):
        assert charged(0.0, (a, 2, 1)).delta(0.0) == pytest.approx(math.tanh(a / 2), rel=1e-9)
    for a in (36.0, 40.0, 600.0):
        assert ndtr(-charged(0.0, (a, 2, 1)).mu / 2) == pytest.approx(math.exp(-a), rel=1e-9), "also far in the tail"
    assert charged(0.3, (0.0, 1, 4), (0.7, 1, 2)) == Charge(0.3), "with one group nothing was drawn"
