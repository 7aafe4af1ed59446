"""Gaussian DP: exact curve, inverse on the safe side, composition; oracles mpmath and dp-accounting."""

from __future__ import annotations

import math
import random

import mpmath
import numpy as np
import pytest
from dp_accounting.mechanism_calibration import calibrate_dp_mechanism
from dp_accounting.pld import PLDAccountant, privacy_loss_distribution

from meterdp.privacy import gaussian


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
    def mechanism(std):
        from dp_accounting import GaussianDpEvent

        return GaussianDpEvent(std)

    oracle = calibrate_dp_mechanism(PLDAccountant, mechanism, 1.0, 1e-5, tol=1e-6)
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
    ("mu", "delta", "expected"),
    [(0.0, 0.0, 0.0), (1.0, 0.0, math.inf), (math.inf, 0.5, math.inf), (math.inf, 1.0, 0.0), (1e-9, 1e-5, 0.0)],
)
def test_epsilon_at_its_ends(mu, delta, expected):
    assert gaussian.epsilon_for(mu, delta) == expected


@pytest.mark.parametrize(
    ("mu", "epsilon", "expected"),
    [
        (0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0),
        (math.inf, 5.0, 1.0),
        (1.0, math.inf, 0.0),
        (1e-200, 1.0, 0.0),
        (1e-320, 1e5, 0.0),
    ],
)
def test_curve_at_its_ends(mu, epsilon, expected):
    assert gaussian.delta(mu, epsilon) == expected


def test_inverse_at_its_ends():
    assert gaussian.mu_for(1.0, 0.0) == 0.0, "Gaussian noise is never pure DP"
    assert gaussian.mu_for(1.0, 1.0) == math.inf
    assert gaussian.mu_for(math.inf, 1e-5) == math.inf
    assert gaussian.delta(gaussian.mu_for(0.0, 1e-5), 0.0) == pytest.approx(1e-5, rel=1e-8)


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
