"""Moments accountant: moments of single steps, their minimum over orders; oracles quadrature and dp-accounting."""

from __future__ import annotations

import math
import random

import mpmath
import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, LaplaceDpEvent
from dp_accounting.rdp import RdpAccountant
from scipy.integrate import quad

from meterdp.accounting import FAR_ORDER, LARGEST_ORDER, moments
from meterdp.accounting.registry import CURVES
from meterdp.accounting.sequence import Infeasible, Sequence, rho

ORDERS = [0.01, 0.5, 1.0, 2.0, 7.3, 40.0, 100.0]
MIXED = Sequence(40, 30, 1e-8)
GAUSSIAN = Sequence(0, 70, 1e-8)
LAPLACE = Sequence(20, 0, math.nan)
ZCDP = CURVES["zcdp"]


def laplace_moment(order, step_epsilon):
    """alpha_L of (20), of one Laplace step."""
    return float(moments.log_tail(order, step_epsilon, Sequence(1, 0, math.nan), 0.0))


def renyi(sequence, step_epsilon, orders):
    """Renyi divergences of the sequence at orders lambda + 1, by dp-accounting."""
    accountant = RdpAccountant([order + 1 for order in orders])
    if sequence.laplace:
        accountant.compose(LaplaceDpEvent(1 / step_epsilon), sequence.laplace)
    if sequence.gaussian:
        accountant.compose(GaussianDpEvent(sequence.noise_multiplier(step_epsilon)), sequence.gaussian)
    return accountant


# -- one step --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("step_epsilon", [1e-3, 0.1, 1.0, 3.0])
def test_laplace_moment_is_the_integral_over_the_privacy_loss(order, step_epsilon):
    """Oracle: quadrature of p e^(lambda L) for p = Lap(0, 1/epsilon_i) and its shift by one, between the kinks."""

    def integrand(x):
        loss = step_epsilon * (abs(x - 1) - abs(x))
        return step_epsilon / 2 * math.exp(order * (loss - step_epsilon) - step_epsilon * abs(x))

    far = 60 / step_epsilon
    total = sum(
        quad(integrand, *part, epsabs=0, epsrel=1e-12, limit=500)[0] for part in ((-far, 0), (0, 1), (1, 1 + far))
    )
    expected = math.log(total) + order * step_epsilon
    assert laplace_moment(order, step_epsilon) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("order", [0.01, 1.0, 100.0, 1e6])
@pytest.mark.parametrize("step_epsilon", [1e-8, 1e-3, 1.0, 50.0, 1e4])
def test_laplace_moment_keeps_its_digits(order, step_epsilon):
    """Oracle: (20) as printed in 60-digit arithmetic."""
    with mpmath.workdps(60):
        lam, eps = mpmath.mpf(order), mpmath.mpf(step_epsilon)
        exact = mpmath.log(
            (lam + 1) / (2 * lam + 1) * mpmath.exp(lam * eps) + lam / (2 * lam + 1) * mpmath.exp(-eps * (lam + 1))
        )
    close = pytest.approx(float(exact), abs=1e-15 * order * step_epsilon)
    assert laplace_moment(order, step_epsilon) == close


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("step_epsilon", [1e-3, 0.3, 3.0])
def test_a_vector_costs_at_most_what_one_entry_does(order, step_epsilon):
    """The paper says that both have the same moment; entries that share a change cost less, in sum."""
    random.seed(5)
    one = laplace_moment(order, step_epsilon)
    for entries in (2, 5, 30):
        shares = np.array([random.expovariate(1) for _ in range(entries)])
        parts = step_epsilon * shares / shares.sum()
        assert sum(laplace_moment(order, part) for part in parts) < one


# -- whole sequences against dp-accounting ---------------------------------------------------------------------------


@pytest.mark.parametrize("sequence", [MIXED, GAUSSIAN, LAPLACE, Sequence(1, 1, 0.1)])
@pytest.mark.parametrize("step_epsilon", [0.01, 0.3, 2.0])
def test_moments_are_dp_accountings_renyi_divergences(sequence, step_epsilon):
    """alpha(lambda) = lambda D_(lambda + 1); that of zCDP, lambda (lambda + 1) rho, is never below it."""
    divergence = renyi(sequence, step_epsilon, ORDERS)._rdp
    for order, oracle in zip(ORDERS, divergence, strict=True):
        ours = float(moments.log_tail(order, step_epsilon, sequence, 0.0))
        assert ours == pytest.approx(order * oracle, rel=1e-6)
        assert (order + 1) * rho(step_epsilon, sequence) >= oracle * (1 - 1e-6)


@pytest.mark.parametrize("sequence", [MIXED, GAUSSIAN, LAPLACE])
@pytest.mark.parametrize(("step_epsilon", "epsilon"), [(0.02, 0.5), (0.1, 2.0), (0.3, 9.0)])
def test_dp_accountings_conversion_is_tighter_by_a_known_factor(sequence, step_epsilon, epsilon):
    """At a = lambda + 1 it has (1 - 1/a)^(a-1)/a times our delta (Canonne et al. 2020, proposition 12).

    So it is never looser at the same orders: ours is Markov's bound. Its other one, by KL, is larger here.
    """
    compared = 0
    for order in [*ORDERS, *range(3, 30)]:
        ours = math.exp(min(0.0, float(moments.log_tail(order, step_epsilon, sequence, epsilon))))
        theirs = renyi(sequence, step_epsilon, [order]).get_delta(epsilon)
        assert theirs <= ours * (1 + 1e-9)
        a = order + 1
        expected = ours * (1 - 1 / a) ** (a - 1) / a
        if 0 < ours < 0.1:
            assert theirs == pytest.approx(expected, rel=1e-6)
            compared += 1
    assert compared >= 3
    integer = range(1, LARGEST_ORDER + 1)
    assert renyi(sequence, step_epsilon, integer).get_delta(epsilon) <= moments.delta_integer(
        step_epsilon, sequence, epsilon
    )


@pytest.mark.parametrize("sequence", [MIXED, GAUSSIAN, LAPLACE])
def test_the_budget_of_a_step_is_below_the_one_by_dp_accounting(sequence):
    """Its conversion at many real orders finds a delta below what was asked, within a factor of a few."""
    step_epsilon = moments.calibrated(sequence, 1.0, 1e-5)
    theirs = renyi(sequence, step_epsilon, np.geomspace(0.05, 200, 400)).get_delta(1.0)
    assert 1e-8 < theirs < 1e-5


# -- the minimum over orders -----------------------------------------------------------------------------------------


def test_no_order_of_a_fine_grid_is_better_than_the_one_found():
    random.seed(6)
    grid = np.geomspace(1e-6, 1e9, 300_001)
    inside = 0
    for _ in range(80):
        sequence = Sequence(random.choice([0, 1, 40]), random.choice([1, 70]), 10 ** random.uniform(-12, -1))
        step_epsilon, epsilon = 10 ** random.uniform(-4, 1), 10 ** random.uniform(-3, 1.5)
        best = float(moments.log_tail(grid, step_epsilon, sequence, epsilon).min())
        found = moments.log_delta(step_epsilon, sequence, epsilon)
        assert found <= best + 1e-12 * abs(best)
        if best < -1e-6:
            assert found == pytest.approx(best, rel=1e-6), "and hardly better: neighbours on the grid are 1e-4 apart"
            inside += 1
    assert inside >= 20


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 4.0, 100.0, 1e6])
@pytest.mark.parametrize("delta", [1e-12, 1e-4, 0.3])
@pytest.mark.parametrize("steps", [1, 420])
def test_real_orders_of_gaussian_steps_are_zcdp(epsilon, delta, steps):
    """Claim park-4: at the best order (epsilon - rho) / (2 rho), (3) is rho + 2 sqrt(rho ln(1/delta)), exactly."""
    sequence = Sequence(0, steps, 1e-6)
    step_epsilon = moments.calibrated(sequence, epsilon, delta)
    assert step_epsilon == pytest.approx(ZCDP.calibrated(sequence, epsilon, delta), rel=1e-8)
    spent = sequence.gaussian_rho(step_epsilon)
    assert spent + 2 * math.sqrt(spent * math.log(1 / delta)) == pytest.approx(epsilon, rel=1e-8)
    assert moments.log_delta(step_epsilon, sequence, epsilon) == pytest.approx(math.log(delta), rel=1e-7)


@pytest.mark.parametrize("sequence", [MIXED, LAPLACE, Sequence(1, 1, 1e-6)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_real_orders_of_laplace_steps_are_below_zcdp(sequence, epsilon):
    """A Laplace step's moment is below that of epsilon_i^2/2-zCDP."""
    step_epsilon = ZCDP.calibrated(sequence, epsilon, 1e-4)
    assert moments.delta(step_epsilon, sequence, epsilon) < ZCDP.delta(step_epsilon, sequence, epsilon)


def test_integer_orders_are_never_better_than_real_ones():
    random.seed(7)
    worse = 0
    for _ in range(300):
        sequence = Sequence(random.choice([0, 1, 40]), random.choice([1, 70]), 10 ** random.uniform(-12, -1))
        step_epsilon, epsilon = 10 ** random.uniform(-4, 1), 10 ** random.uniform(-3, 1.5)
        real = moments.log_delta(step_epsilon, sequence, epsilon)
        integer = moments.log_delta_integer(step_epsilon, sequence, epsilon)
        assert integer >= real * (1 + 1e-12)
        worse += integer > real + 0.01
    assert worse >= 20


@pytest.mark.parametrize("epsilon", [0.1, 0.2, 0.5, 1.0, 2.0, 4.0])
def test_whole_orders_without_end_have_the_budget_of_zcdp(epsilon):
    """Claim park-4: below the best order a whole one is near; what it costs falls with the order."""
    sequence = Sequence(0, 420, 1e-6)
    ends, far = (moments.calibrated_integer(sequence, epsilon, 1e-4, n) for n in (100, FAR_ORDER))
    best = ZCDP.calibrated(sequence, epsilon, 1e-4)
    assert best * (1 - 1e-3) < far <= best and (far > 1.8 * ends) == (epsilon == 0.1)
    assert ends == moments.calibrated_integer(sequence, epsilon, 1e-4) and ends <= far
    assert moments.calibrated_integer(sequence, epsilon, 1e-4, 20_000) == far, "more orders change nothing"


def test_an_epsilon_too_small_for_the_largest_order_is_infeasible():
    epsilon = math.log(1e4) / LARGEST_ORDER
    with pytest.raises(Infeasible, match=r"largest order is too small .* moments_real"):
        moments.calibrated_integer(GAUSSIAN, 0.99 * epsilon, 1e-4)
    assert moments.calibrated_integer(GAUSSIAN, 1.01 * epsilon, 1e-4) > 0
    assert moments.calibrated(GAUSSIAN, 0.99 * epsilon, 1e-4) > 0


@pytest.mark.parametrize("step_epsilon", [0.001, 0.0032331612694535385, 0.006])
def test_at_epsilon_0_1_the_cap_on_orders_is_the_whole_cause(step_epsilon):
    """Claim park-7: the best order lies beyond 100, and 100 is a whole number."""
    sequence = Sequence(0, 420, 1e-6)
    whole = moments.log_delta_integer(step_epsilon, sequence, 0.1)
    real = moments.log_delta(step_epsilon, sequence, 0.1, 100.0)
    grid = moments.log_tail(np.linspace(1, 100, 9901), step_epsilon, sequence, 0.1).min()
    assert real == pytest.approx(whole, rel=1e-12) and grid == pytest.approx(whole, rel=1e-12)
    assert moments.log_delta(step_epsilon, sequence, 0.1) < whole - 1e-3
    capped, ends = moments.calibrated(sequence, 0.1, 1e-4, 100.0), moments.calibrated_integer(sequence, 0.1, 1e-4)
    assert capped == pytest.approx(ends, rel=1e-9)


def test_a_loss_that_cannot_exceed_epsilon_costs_nothing():
    """Twenty Laplace steps lose at most twenty epsilon_i; at that, (3) tends to the chance of losing it, 2^-20."""
    assert moments.delta(0.1, LAPLACE, 2.0001) == 0.0
    assert moments.delta(0.125, LAPLACE, 2.5) == pytest.approx(2.0**-20, rel=1e-6)
    assert moments.delta_integer(0.1, LAPLACE, 2.0001) > 0
    assert moments.calibrated(Sequence(1, 0, math.nan), 1.0, 1e-4) == pytest.approx(1.0, rel=1e-12)
