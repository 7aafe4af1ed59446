"""Every curve of the registry, and compositions of steps; oracles the printed formulas, mpmath and dp-accounting."""

from __future__ import annotations

import itertools
import math
import pickle
import random
from functools import cache

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

from meterdp.accounting import FAR_ORDER, LARGEST_ORDER
from meterdp.accounting.registry import CURVES
from meterdp.accounting.sequence import Infeasible, Sequence, largest_step_epsilon
from meterdp.privacy import gaussian

NAMES = ("linear", "advanced", "zcdp", "moments", "moments_real")
# J iterations with K classes, as in section 4.2.
STROKE, LIFE = (20, 10), (10, 3)


def llg(iterations, classes, step_delta):
    return Sequence(iterations * (classes + 1), iterations * classes, step_delta)


def ggg(iterations, classes, step_delta):
    return Sequence(0, iterations * (2 * classes + 1), step_delta)


SEQUENCES = {
    "LLG": llg(*LIFE, 1e-8),
    "GGG": ggg(*LIFE, 1e-8),
    "Laplace only": Sequence(20, 0, math.nan),
    "one Laplace step": Sequence(1, 0, math.nan),
    "one Gaussian step": Sequence(0, 1, 1e-8),
    "one of each": Sequence(1, 1, 1e-8),
    "many": Sequence(100_000, 5_000, 1e-20),
}


# -- what every curve of the registry keeps --------------------------------------------------------------------------

EPSILONS = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
STEPS = Sequence(laplace=4, gaussian=3, step_delta=1e-7)
# Upper bounds on a curve, which need not have the shape of one.
BOUNDS = (*NAMES, "moments_few", "moments_far", "moments_real_capped")
# Parameters of the noise, and the public ones among them that a calibration is given; a new curve adds its own.
EXAMPLES = {
    "gdp": ([0.7], []),
    "gaussian_pair": ([np.array([0.3, -0.2]), np.diag([1.0, 0.5]), np.diag([0.8, 0.6])], None),
    **dict.fromkeys(BOUNDS, ([0.1, STEPS], [STEPS])),
}


def test_every_curve_has_an_example_and_a_title_of_its_own():
    assert EXAMPLES.keys() == CURVES.keys()
    assert len({curve.title for curve in CURVES.values()}) == len(CURVES)


@pytest.mark.parametrize("name", BOUNDS)
def test_a_bound_on_delta_never_rises_in_epsilon_and_says_something_at_a_large_one(name):
    delta = np.array([CURVES[name].delta(*EXAMPLES[name][0], epsilon) for epsilon in EPSILONS])
    assert np.all((delta >= 0) & (delta <= 1)) and np.all(np.diff(delta) <= 0) and delta[-1] < 1e-5


@pytest.mark.parametrize("name", [name for name in CURVES if name not in BOUNDS])
def test_delta_falls_in_epsilon_and_no_faster_than_a_curve_can(name):
    """A hockey stick lies in [0, 1], falls, and is convex in e^epsilon."""
    delta = np.array([CURVES[name].delta(*EXAMPLES[name][0], epsilon) for epsilon in EPSILONS])
    assert np.all((delta >= 0) & (delta <= 1)) and np.all(np.diff(delta) < 0)
    slopes = np.diff(delta) / np.diff(np.exp(EPSILONS))
    assert np.all(np.diff(slopes) >= 0) and slopes[0] >= -1


@pytest.mark.parametrize("name", [name for name, curve in CURVES.items() if curve.calibrated])
def test_what_is_calibrated_spends_the_budget_and_no_more(name):
    curve, public = CURVES[name], EXAMPLES[name][1]
    parameter = curve.calibrated(*public, 2.0, 1e-5)
    assert curve.delta(parameter, *public, 2.0) <= 1e-5 < curve.delta(parameter * (1 + 1e-6), *public, 2.0)


# -- the printed formulas of section 5 ------------------------------------------------------------------------------


@pytest.mark.parametrize(("scheme", "printed"), [(llg, lambda j, k: j * k), (ggg, lambda j, k: j * (2 * k + 1))])
@pytest.mark.parametrize(("j", "k"), [LIFE, (3, 1)])
def test_linear_is_the_sum_that_is_printed(scheme, printed, j, k):
    sequence, epsilon_i = scheme(j, k, 1e-8), 0.01
    epsilon, delta = j * (2 * k + 1) * epsilon_i, printed(j, k) * 1e-8
    assert CURVES["linear"].delta(epsilon_i, sequence, epsilon) == pytest.approx(delta, rel=1e-14)
    assert CURVES["linear"].delta(epsilon_i, sequence, 0.999 * epsilon) == 1.0
    assert CURVES["linear"].calibrated(sequence, epsilon, delta * 1.001) == pytest.approx(epsilon_i, rel=1e-12)


@pytest.mark.parametrize(("scheme", "printed"), [(llg, lambda j, k: j * k), (ggg, lambda j, k: j * (2 * k + 1))])
@pytest.mark.parametrize("slack", [1e-12, 1e-5, 0.3])
def test_advanced_is_the_formula_that_is_printed(scheme, printed, slack):
    (j, k), epsilon_i = LIFE, 0.02
    sequence, steps = scheme(j, k, 1e-8), j * (2 * k + 1)
    epsilon = steps * epsilon_i * (math.exp(epsilon_i) - 1) + math.sqrt(2 * steps * math.log(1 / slack)) * epsilon_i
    delta = slack + printed(j, k) * 1e-8
    assert CURVES["advanced"].delta(epsilon_i, sequence, epsilon) == pytest.approx(delta, rel=1e-9)
    assert CURVES["advanced"].calibrated(sequence, epsilon, delta) == pytest.approx(epsilon_i, rel=1e-8)


@pytest.mark.parametrize("delta", [1e-12, 1e-4, 0.3])
@pytest.mark.parametrize("scheme", [llg, ggg])
def test_zcdp_is_the_formula_that_is_printed(scheme, delta):
    (j, k), epsilon_i, step_delta = LIFE, 0.05, 1e-8
    each = epsilon_i**2 / (2 * 2 * math.log(1.25 / step_delta))  # Delta^2 / (2 sigma^2)
    if scheme is llg:
        rho = j * (k + 1) * epsilon_i**2 / 2 + j * k * each
    else:
        rho = j * each + j * k * each + j * k * each
    epsilon = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    sequence = scheme(j, k, step_delta)
    assert CURVES["zcdp"].delta(epsilon_i, sequence, epsilon) == pytest.approx(delta, rel=1e-10)
    assert CURVES["zcdp"].calibrated(sequence, epsilon, delta) == pytest.approx(epsilon_i, rel=1e-8)


@pytest.mark.parametrize("scheme", [llg, ggg])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_moments_are_the_tail_bound_that_is_printed(scheme, epsilon):
    (j, k), epsilon_i, step_delta = LIFE, 0.05, 1e-8
    sigma2 = 2 * math.log(1.25 / step_delta) / epsilon_i**2
    exponents = []
    for lam in range(1, LARGEST_ORDER + 1):
        laplace = math.log(
            (lam + 1) / (2 * lam + 1) * math.exp(lam * epsilon_i)
            + lam / (2 * lam + 1) * math.exp(-epsilon_i * (lam + 1))
        )
        each = (lam**2 + lam) / (2 * sigma2)
        spent = j * (k + 1) * laplace + j * k * each if scheme is llg else j * (2 * k + 1) * each
        exponents.append(spent - lam * epsilon)
    printed = min(1.0, math.exp(min(exponents)))
    assert CURVES["moments"].delta(epsilon_i, scheme(j, k, step_delta), epsilon) == pytest.approx(printed, rel=1e-9)


# -- never below the truth -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_gaussian_steps_cost_at_least_their_exact_delta(name):
    """Oracle: Gaussian DP, which is exact for them; budgets on both sides of one, where the paper's noise ends."""
    random.seed(3)
    meaningful = 0
    for _ in range(2000):
        sequence = Sequence(0, random.choice([1, 2, 20, 420]), 10 ** random.uniform(-12, -0.3))
        step_epsilon, epsilon = 10 ** random.uniform(-3, 2), 10 ** random.uniform(-3, 2)
        mu = math.sqrt(sequence.gaussian) / sequence.noise_multiplier(step_epsilon)
        claimed, true = CURVES[name].delta(step_epsilon, sequence, epsilon), gaussian.delta(mu, epsilon)
        assert claimed >= true, (sequence, step_epsilon, epsilon)
        meaningful += true > 1e-12 and claimed < 1
    assert meaningful >= 10


@cache
def exact_from_below(laplace, gaussian, step_epsilon):
    """Loss of a whole sequence by dp-accounting, its delta rounded down; 1e-6 is delta_i."""
    interval = 2e-4
    parts = []
    if laplace:
        one = privacy_loss_distribution.from_laplace_mechanism(
            1 / step_epsilon, pessimistic_estimate=False, value_discretization_interval=interval
        )
        parts.append(one.self_compose(laplace))
    if gaussian:
        sigma = Sequence(0, 1, 1e-6).noise_multiplier(step_epsilon) / math.sqrt(gaussian)
        parts.append(
            privacy_loss_distribution.from_gaussian_mechanism(
                sigma, pessimistic_estimate=False, value_discretization_interval=interval
            )
        )
    return parts[0] if len(parts) == 1 else parts[0].compose(parts[1])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("laplace", "gaussian"), [(1, 0), (30, 0), (0, 1), (0, 70), (40, 30), (1, 1)])
def test_sequences_cost_at_least_what_dp_accounting_proves_they_do(name, laplace, gaussian):
    sequence, spent = Sequence(laplace, gaussian, 1e-6), 0
    for step_epsilon in (0.03, 0.3):
        for share in (0.2, 0.5, 0.9, 0.99, 1.0):
            epsilon = share * sequence.steps * step_epsilon
            true = exact_from_below(laplace, gaussian, step_epsilon).get_delta_for_epsilon(epsilon)
            claimed = CURVES[name].delta(step_epsilon, sequence, epsilon)
            assert claimed >= true - 1e-12, (step_epsilon, share)
            spent += claimed < 1
    assert spent > 0 or (laplace, gaussian) == (1, 0)


# -- inversion -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", SEQUENCES)
def test_the_budget_of_a_step_is_the_largest_that_fits(name, kind):
    curve, sequence = CURVES[name], SEQUENCES[kind]
    for epsilon, delta in itertools.product([1e-3, 0.1, 1.0, 50.0, 1e6], [1e-12, 1e-4, 0.5]):
        try:
            found = curve.calibrated(sequence, epsilon, delta)
        except Infeasible:
            assert infeasible(name, sequence, epsilon, delta)
            continue
        assert not infeasible(name, sequence, epsilon, delta)
        assert curve.delta(found, sequence, epsilon) <= delta < curve.delta(found * (1 + 1e-6), sequence, epsilon)


def infeasible(name, sequence, epsilon, delta):
    """Whether no step fits, however small its budget: what is left as it goes to zero exceeds delta."""
    if name in ("linear", "advanced"):
        return sequence.gaussian > 0 and sequence.gaussian * sequence.step_delta > delta
    largest = {"moments": LARGEST_ORDER, "moments_far": FAR_ORDER}.get(name, math.inf)
    return math.exp(-largest * epsilon) > delta


@pytest.mark.parametrize("name", NAMES)
def test_random_budgets_of_a_step_are_found_again(name):
    """Round trip: the (epsilon, delta) of random steps allows these again, and none that spend more."""
    random.seed(4)
    tried = 0
    for _ in range(400):
        sequence = Sequence(random.choice([0, 1, 30]), random.choice([1, 30]), 10 ** random.uniform(-14, -8))
        step_epsilon = 10 ** random.uniform(-4, 0)
        epsilon = sequence.steps * step_epsilon * (1 if name == "linear" else random.uniform(0.01, 0.9))
        delta = CURVES[name].delta(step_epsilon, sequence, epsilon)
        if 1e-280 < delta < 0.9:
            tried += 1
            found = CURVES[name].calibrated(sequence, epsilon, delta * (1 + 1e-6))
            assert found >= step_epsilon * (1 - 1e-12), (sequence, step_epsilon, epsilon)
            assert CURVES[name].delta(found, sequence, epsilon) <= delta * (1 + 1e-6)
    assert tried >= 50


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", SEQUENCES)
def test_more_budget_never_allows_less(name, kind):
    sequence = SEQUENCES[kind]
    for delta in (1e-6, 1e-3):
        found = []
        for epsilon in (0.3, 0.5, 1.0, 2.0, 8.0):
            try:
                found.append(CURVES[name].calibrated(sequence, epsilon, delta))
            except Infeasible:
                found.append(0.0)
        assert np.all(np.diff(found) > 0)
        steps = np.geomspace(1e-5, 3.0, 60)
        assert np.all(np.diff([CURVES[name].delta(step, sequence, 1.0) for step in steps]) >= 0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", SEQUENCES)
def test_ends(name, kind):
    curve, sequence = CURVES[name], SEQUENCES[kind]
    assert curve.delta(math.inf, sequence, 1.0) == 1.0, "no noise, no privacy"
    assert curve.calibrated(sequence, math.inf, 1e-4) == math.inf
    assert curve.calibrated(sequence, 1.0, 1.0) == math.inf
    for bad in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="epsilon is not a positive number"):
            curve.calibrated(sequence, bad, 1e-4)
    for bad in (-1e-9, 1.1, math.nan):
        with pytest.raises(ValueError, match="delta is outside"):
            curve.calibrated(sequence, 1.0, bad)


# -- where the printed statements have holes -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "advanced"])
@pytest.mark.parametrize("scheme", [llg, ggg])
def test_the_deltas_of_the_stroke_figure_do_not_fit(name, scheme):
    """Fig. 2 states delta = 1e-4 and delta_i = 1e-6: the steps' deltas add up to twice and four times delta."""
    with pytest.raises(Infeasible, match=r"deltas of the Gaussian steps .* lower step_delta"):
        CURVES[name].calibrated(scheme(*STROKE, 1e-6), 1.0, 1e-4)
    assert CURVES[name].calibrated(scheme(*STROKE, 1e-8), 1.0, 1e-4) > 0


def test_steps_may_use_up_delta_linearly_but_leave_slack_to_advanced_composition():
    sequence = Sequence(0, 4, 0.25e-4)
    assert CURVES["linear"].calibrated(sequence, 1.0, 1e-4) == pytest.approx(0.25, rel=1e-12)
    with pytest.raises(Infeasible, match="leave no slack"):
        CURVES["advanced"].calibrated(sequence, 1.0, 1e-4)


def test_few_steps_are_cheaper_added_up_than_by_advanced_composition_as_printed():
    few, many = ggg(1, 1, 1e-8), ggg(*STROKE, 1e-8)
    budget = {
        name: [CURVES[name].calibrated(sequence, 1.0, 1e-4) for sequence in (few, many)]
        for name in ("linear", "advanced")
    }
    assert budget["advanced"][0] < budget["linear"][0]
    assert budget["advanced"][1] > budget["linear"][1]


def test_a_budget_of_a_step_above_one_is_paid_for_in_full():
    """The paper's noise is proven for epsilon_i < 1; one step at epsilon = 20 is not (20, delta_i)-DP with it."""
    sequence = Sequence(0, 1, 1e-6)
    found = CURVES["linear"].calibrated(sequence, 20.0, 1e-6)
    assert 1 < found < 20
    assert gaussian.delta(1 / sequence.noise_multiplier(found), found) <= 1e-6
    assert gaussian.delta(1 / sequence.noise_multiplier(20.0), 20.0) > 1e-6


@pytest.mark.parametrize("name", ["advanced", "zcdp", "moments", "moments_real"])
def test_a_tail_bound_gives_no_pure_privacy(name):
    if name != "advanced":
        with pytest.raises(Infeasible, match="a tail bound is never zero"):
            CURVES[name].calibrated(SEQUENCES["Laplace only"], 1.0, 0.0)
    with pytest.raises(Infeasible):
        CURVES[name].calibrated(SEQUENCES["LLG"], 1.0, 0.0)


def test_laplace_steps_alone_are_pure_by_linear_composition():
    assert CURVES["linear"].calibrated(SEQUENCES["Laplace only"], 1.0, 0.0) == pytest.approx(1 / 20, rel=1e-12)
    with pytest.raises(Infeasible):
        CURVES["linear"].calibrated(SEQUENCES["LLG"], 1.0, 0.0)


@pytest.mark.parametrize("name", ["zcdp", "moments_real"])
def test_refined_compositions_give_the_same_noise_whatever_delta_i_is(name):
    """Under GGG delta_i only relates step_epsilon to the noise, and only the noise counts."""
    sequences = [ggg(*LIFE, step_delta) for step_delta in (1e-3, 1e-6, 1e-12)]
    noise = [s.noise_multiplier(CURVES[name].calibrated(s, 0.5, 1e-4)) for s in sequences]
    np.testing.assert_allclose(noise, noise[0], rtol=1e-9)


# -- steps, and the search for their budget --------------------------------------------------------------------------


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


def test_steps_at_their_ends():
    laplace, mixed = Sequence(5, 0, math.nan), Sequence(1, 1, 1e-6)
    assert laplace.gaussian_delta(0.3) == laplace.gaussian_rho(0.3) == 0.0, "no delta, and none is needed"
    assert mixed.noise_multiplier(math.inf) == 0.0 and mixed.gaussian_rho(math.inf) == math.inf


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        *((steps, "one step or more") for steps in ((0, 0, 1e-6), (-1, 2, 1e-6), (2, -1, 1e-6))),
        *(((0, 1, step_delta), "step_delta") for step_delta in (0.0, 1.0, -1e-6, math.nan)),
    ],
)
def test_steps_that_mean_nothing_are_refused(steps, said):
    with pytest.raises(ValueError, match=said):
        Sequence(*steps)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_budgets_of_a_step_that_mean_nothing_are_refused(bad):
    sequence = Sequence(1, 1, 1e-6)
    for of_step in (sequence.noise_multiplier, sequence.gaussian_rho, sequence.gaussian_delta):
        with pytest.raises(ValueError, match="step_epsilon is not a positive number"):
            of_step(bad)


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
