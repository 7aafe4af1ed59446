"""Every accounting curve keeps what the registry promises, whatever it accounts for."""

import numpy as np
import pytest

from meterdp.accounting.registry import CURVES
from meterdp.accounting.sequence import Sequence

EPSILONS = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
STEPS = Sequence(laplace=4, gaussian=3, step_delta=1e-7)
# Upper bounds on a curve, which need not have the shape of one.
BOUNDS = ("linear", "advanced", "zcdp", "moments", "moments_far", "moments_real")
# Parameters of the noise, and the public ones among them that a calibration is given; a new curve adds its own.
EXAMPLES = {
    "gdp": ([0.7], []),
    "gdp_with_response": ([0.7, 0.3, 4], [0.3, 4]),
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
