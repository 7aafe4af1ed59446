"""Steps of an iterative release and the search for their budget; oracles mpmath and dp-accounting."""

from __future__ import annotations

import math
import pickle

import mpmath
import pytest
from dp_accounting.pld import privacy_loss_distribution

from meterdp.accounting.sequence import Infeasible, Sequence, check_budget, largest_step_epsilon
from meterdp.privacy import gaussian


@pytest.mark.parametrize("step_epsilon", [1e-6, 0.02, 0.9])
@pytest.mark.parametrize("step_delta", [1e-12, 1e-6, 0.3])
def test_noise_is_that_of_the_paper_and_rho_follows_from_it(step_epsilon, step_delta):
    sequence = Sequence(3, 7, step_delta)
    variance = 2 * mpmath.log(mpmath.mpf("1.25") / mpmath.mpf(step_delta)) / mpmath.mpf(step_epsilon) ** 2
    sigma = sequence.noise_multiplier(step_epsilon)
    assert sigma == pytest.approx(float(mpmath.sqrt(variance)), rel=1e-14)
    assert sequence.gaussian_rho(step_epsilon) == pytest.approx(float(7 / (2 * variance)), rel=1e-14)
    # k Gaussian steps are sqrt(k)/sigma-GDP, and mu-GDP is mu^2/2-zCDP.
    mu = gaussian.compose(*[1 / sigma] * 7)
    assert sequence.gaussian_rho(step_epsilon) == pytest.approx(mu**2 / 2, rel=1e-14)


@pytest.mark.parametrize("step_delta", [1e-12, 1e-6, 1e-3, 0.1, 0.9])
@pytest.mark.parametrize("step_epsilon", [1e-3, 0.1, 0.5, 0.999])
def test_below_one_a_gaussian_step_costs_the_delta_that_is_printed(step_delta, step_epsilon):
    assert Sequence(0, 4, step_delta).gaussian_delta(step_epsilon) == 4 * step_delta


def test_where_the_noise_is_too_small_for_what_is_printed_the_true_delta_is_charged():
    """Oracle: dp-accounting's privacy loss distribution of one step, from below."""
    sequence, step_epsilon = Sequence(0, 1, 1e-6), 20.0
    pld = privacy_loss_distribution.from_gaussian_mechanism(
        sequence.noise_multiplier(step_epsilon), pessimistic_estimate=False, value_discretization_interval=1e-3
    )
    true = pld.get_delta_for_epsilon(step_epsilon)
    assert true > 1.5e-6
    assert sequence.gaussian_delta(step_epsilon) >= true
    assert sequence.gaussian_delta(step_epsilon) == pytest.approx(true, rel=1e-2)


def test_laplace_steps_have_no_delta_and_need_none():
    sequence = Sequence(5, 0, math.nan)
    assert sequence.gaussian_delta(0.3) == sequence.gaussian_rho(0.3) == 0.0
    assert sequence.steps == 5


def test_no_noise_is_an_infinite_budget():
    sequence = Sequence(1, 1, 1e-6)
    assert sequence.noise_multiplier(math.inf) == 0.0
    assert sequence.gaussian_rho(math.inf) == math.inf


@pytest.mark.parametrize("counts", [(0, 0), (-1, 2), (2, -1)])
def test_a_sequence_without_steps_is_refused(counts):
    with pytest.raises(ValueError, match="one step or more"):
        Sequence(*counts, 1e-6)


@pytest.mark.parametrize("step_delta", [0.0, 1.0, -1e-6, math.nan])
def test_a_gaussian_step_needs_a_delta(step_delta):
    with pytest.raises(ValueError, match="step_delta"):
        Sequence(0, 1, step_delta)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_budgets_that_mean_nothing_are_refused(bad):
    sequence = Sequence(1, 1, 1e-6)
    for of_step in (sequence.noise_multiplier, sequence.gaussian_rho, sequence.gaussian_delta):
        with pytest.raises(ValueError, match="step_epsilon is not a positive number"):
            of_step(bad)
    with pytest.raises(ValueError, match="epsilon is not a positive number"):
        check_budget(bad, 0.1)


@pytest.mark.parametrize("delta", [-1e-9, 1.1, math.nan])
def test_a_delta_that_is_no_probability_is_refused(delta):
    with pytest.raises(ValueError, match="delta is outside"):
        check_budget(1.0, delta)


@pytest.mark.parametrize("point", [1e-200, 1e-7, 0.3, 1.0, 1e9, 1e200])
def test_the_search_ends_just_below_the_point_wherever_it_starts(point):
    for start in (1e-3, 1.0, 1e6):
        found = largest_step_epsilon(lambda x: x <= point, start, 1e-5)
        assert found <= point <= found * (1 + 1e-13)


def test_what_is_infeasible_stays_so_between_processes():
    """A figure catches it from its workers, and nothing else that users are told."""
    again = pickle.loads(pickle.dumps(Infeasible("nothing fits", hint="raise delta", field="delta")))
    assert type(again) is Infeasible
    assert str(again) == "field 'delta': nothing fits; raise delta."
