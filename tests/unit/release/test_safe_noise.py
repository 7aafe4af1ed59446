"""Release noise: the stated distribution and no other, on one grid, from no seed; and what its grid costs."""

import math

import numpy as np
import pytest
from scipy.stats import chi2, chisquare, kstest, norm

from meterdp.privacy import gaussian
from meterdp.privacy.gaussian import delta_margin, total_variation
from meterdp.privacy.noise import GRID, SafeNoise, discrete_gaussian

DRAWS = 20_000
ALARM = 1e-9  # false alarms of every test here


def discrete_distribution(scale: float, reach: int) -> np.ndarray:
    """P(n) for n = -reach..reach."""
    density = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * scale**2))
    return density / density.sum()


def rounded_distribution(scale: float, reach: int) -> np.ndarray:
    """The same of a Gaussian rounded to whole numbers; by symmetry from the lower tail, which keeps its digits."""
    n = -np.abs(np.arange(-reach, reach + 1))
    return norm.cdf((n + 0.5) / scale) - norm.cdf((n - 0.5) / scale)


def p_value(draws: np.ndarray, scale: float) -> float:
    """Chi-square test of the discrete distribution, tails pooled."""
    reach = math.ceil(2.5 * scale)
    distribution = discrete_distribution(scale, 40 * math.ceil(scale))
    middle = len(distribution) // 2
    expected = distribution[middle - reach : middle + reach + 1]
    expected[[0, -1]] += (1 - expected.sum()) / 2
    found = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=len(expected))
    return chisquare(found, expected * len(draws)).pvalue


def test_small_noise_has_the_stated_distribution_and_is_told_from_a_tenth_more_or_less():
    draws = discrete_gaussian(5.0, DRAWS)
    assert p_value(draws, 5.0) > ALARM
    assert p_value(draws, 0.9 * 5) < ALARM and p_value(draws, 1.1 * 5) < ALARM


@pytest.mark.parametrize("std", [0.37, 25.0, 1e4])
def test_noise_on_the_grid_has_the_stated_scale(std):
    noise = SafeNoise().add_gaussian(np.zeros(DRAWS), std)
    assert kstest(noise / std, "norm").pvalue > ALARM
    squares = (noise / std) ** 2
    for factor, far in ((1.0, False), (0.9, True), (1.1, True)):
        total = squares.sum() / factor**2
        assert (min(chi2.sf(total, DRAWS), chi2.cdf(total, DRAWS)) < ALARM) == far


def test_no_low_bit_tells_what_it_was_added_to():
    """Whatever the data, an answer is on the grid and its low bits are uniform."""
    statistics = np.tile([0.0, 1.0, GRID, 12345.678], DRAWS // 4)
    answers = SafeNoise().add_gaussian(np.rint(statistics / GRID) * GRID, 1.3) / GRID
    assert np.array_equal(answers, np.rint(answers))
    for bits in (1, 6):
        low = (answers % 2**bits).astype(int)
        for kind in range(4):
            assert chisquare(np.bincount(low[kind::4], minlength=2**bits)).pvalue > ALARM


def test_there_is_no_seed():
    np.random.seed(1)  # noqa: NPY002
    first = SafeNoise().add_gaussian(np.zeros(8), 1.0)
    np.random.seed(1)  # noqa: NPY002
    assert not np.array_equal(first, SafeNoise().add_gaussian(np.zeros(8), 1.0))


@pytest.mark.parametrize("wrong", [GRID / 2, 0.1, 2.0**40, np.nan, np.inf])
def test_what_is_off_the_grid_or_too_large_is_not_released(wrong):
    with pytest.raises(ArithmeticError, match="nothing was released") as error:
        SafeNoise().add_gaussian(np.array([1.0, wrong]), 1.0)
    assert str(wrong) not in str(error.value)


@pytest.mark.parametrize("scale", [2.0, 3.7, 20.0, 373.0])
def test_the_bound_on_the_total_variation_holds_and_is_not_wasteful(scale):
    """Oracle: both distributions summed."""
    reach = math.ceil(12 * scale)
    measured = np.abs(discrete_distribution(scale, reach) - rounded_distribution(scale, reach)).sum() / 2
    assert 0.1 * total_variation(scale) < measured < total_variation(scale)


@pytest.mark.parametrize("steps", [2, 5, 50])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_margin_covers_the_discrete_mechanism(steps, epsilon):
    """Oracle: the hockey-stick divergence between two shifted discrete distributions, summed."""
    sensitivity = steps  # mu = 1
    distribution = discrete_distribution(steps, 30 * steps)
    here, there = np.pad(distribution, (0, sensitivity)), np.pad(distribution, (sensitivity, 0))
    exact = np.maximum(here - math.exp(epsilon) * there, 0).sum()
    assert exact <= gaussian.delta(1.0, epsilon) + delta_margin(epsilon, 1, steps)


def test_too_coarse_a_grid_has_no_bound():
    with pytest.raises(ValueError, match="too coarse"):
        total_variation(1.5)
