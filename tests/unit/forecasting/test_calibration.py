"""Intervals from past errors cover what they should where the Gaussian distribution does not."""

import numpy as np
import pytest
from scipy.stats import norm

from meterdp.forecasting.rolling import FEWEST, interval_offsets, past_errors


def test_errors_at_or_after_the_origin_are_not_known():
    readings = np.arange(10.0)
    readings[4] = np.nan
    errors = past_errors(np.zeros((10, 3)), readings)
    for start in range(10):
        for step in range(3):
            known = start + step < 10 and start + step != 4
            assert errors[start, step] == start + step if known else np.isnan(errors[start, step])


def test_few_errors_leave_the_gaussian_distribution():
    errors = np.random.default_rng(0).normal(size=(200, 2))
    errors[: 200 - FEWEST + 1, 1] = np.nan
    offsets = interval_offsets(errors, np.array([7.0, 7.0]), [0.5, 0.9])
    assert offsets.shape == (2, 2, 2)
    assert np.allclose(offsets[:, 1, 1], 7 * norm.ppf([0.75, 0.95])) and (np.abs(offsets[:, :, 0]) < 2).all()


@pytest.mark.parametrize("distribution", ["skewed", "spiky", "switched", "constant"])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_a_new_error_is_covered_as_often_as_stated(distribution, level):
    """Exchangeable errors: coverage is the level up to 1/(n + 1) on each side and chance, 4,000 trials, seeded."""
    generator = np.random.default_rng(5)
    draw = {
        "skewed": lambda n: generator.lognormal(0, 1, n),
        "spiky": lambda n: generator.standard_t(1.5, n),
        "switched": lambda n: np.where(generator.random(n) < 0.2, 4.0, -0.1) + 1e-6 * generator.random(n),
        "constant": lambda n: np.full(n, 2.0),
    }[distribution]
    inside, gauss, trials, n = 0, 0, 4000, 96
    reach_of_distribution = norm.ppf(0.5 + level / 2)
    for _ in range(trials):
        sample = draw(n + 1)
        low, high = interval_offsets(sample[:n, None], np.array([sample[:n].std()]), [level])[0, :, 0]
        inside += low <= sample[n] <= high
        gauss += abs(sample[n]) <= reach_of_distribution * sample[:n].std()
    reach = 5 * np.sqrt(level * (1 - level) / trials) + 2 / (n + 1)
    if distribution == "constant":
        assert inside == trials
    else:
        assert abs(inside / trials - level) < reach
        assert (distribution, level) != ("skewed", 0.5) or abs(gauss / trials - level) > reach, "the check can fail"
