"""Mutual information: the estimator against normal distributions of known information, closed forms against
determinants.

Statistical bounds are 6.5 standard errors of the estimate's own batches, whose variance a test checks against fresh
samples; they leave room for the bias that the estimator is known to have.
"""

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp_papers.li import leakage

SIGMAS = 6.5
BIAS = 0.02  # nats, of the estimator at a few thousand trials in three dimensions


def pair(rho: float, trials: int, seed: int, useless: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a normal pair of this correlation, the second beside columns that say nothing."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((trials, 1))
    y = rho * x + np.sqrt(1 - rho**2) * generator.standard_normal((trials, 1))
    return x, np.hstack([y, generator.standard_normal((trials, useless))])


@pytest.mark.parametrize(("rho", "useless"), [(0.0, 0), (0.5, 0), (0.9, 0), (-0.8, 1)])
def test_a_normal_pair_has_the_information_of_its_correlation(rho, useless):
    """Oracle: -1/2 ln(1 - rho^2)."""
    found = leakage.estimate(*pair(rho, 4000, 1, useless), np.random.default_rng(2))
    assert abs(found.value + 0.5 * np.log(1 - rho**2)) < BIAS + SIGMAS * found.standard_error
    assert leakage.linfoot(-0.5 * np.log(1 - rho**2)) == pytest.approx(abs(rho))


def test_vectors_have_the_information_of_their_determinants():
    """Oracle: 1/2 ln(|S_x| |S_y| / |S|) of a three- and a two-dimensional normal vector."""
    generator = np.random.default_rng(3)
    root = generator.standard_normal((5, 5)) / 2 + np.eye(5)
    draws, s = generator.standard_normal((6000, 5)) @ root.T, root @ root.T
    exact = 0.5 * np.log(np.linalg.det(s[:3, :3]) * np.linalg.det(s[3:, 3:]) / np.linalg.det(s))
    found = leakage.estimate(draws[:, :3], draws[:, 3:], generator)
    assert exact > 0.3 and abs(found.value - exact) < 0.05 + SIGMAS * found.standard_error


def test_units_and_constant_columns_do_not_matter():
    x, y = pair(0.7, 500, 4)
    plain = leakage.mutual_information(x, y, np.random.default_rng(5))
    constant = np.full((500, 1), 3.0)
    other = leakage.mutual_information(1e6 * x + 7, np.hstack([1e-9 * y, constant]), np.random.default_rng(5))
    assert other == pytest.approx(plain, abs=1e-3)
    assert leakage.mutual_information(x, constant, np.random.default_rng(5)) == pytest.approx(0.0, abs=0.15)


def test_ties_are_broken_rather_than_counted():
    """Oracle: a fair coin seen twice has ln 2 nats."""
    coin = np.random.default_rng(6).integers(2, size=(4000, 1)).astype(float)
    assert leakage.mutual_information(coin, coin, np.random.default_rng(7)) == pytest.approx(np.log(2), abs=0.05)


def test_the_standard_error_of_batches_is_that_of_fresh_samples():
    values = [leakage.estimate(*pair(0.6, 1000, 100 + i), np.random.default_rng(i)) for i in range(30)]
    fresh = np.std([v.value for v in values], ddof=1)
    said = np.sqrt(np.mean([v.standard_error**2 for v in values]))
    assert 0.5 < said / fresh < 2  # each of 30 values: chi-squared beyond these has a probability below 1e-9
    low, high = values[0].interval()
    assert high - low == pytest.approx(2 * 2.093 * values[0].standard_error, rel=1e-3)


def test_few_trials_have_no_standard_error_and_fewer_are_refused():
    x, y = pair(0.5, 40, 8)
    assert np.isnan(leakage.estimate(x, y, np.random.default_rng(1)).standard_error)
    with pytest.raises(InputError, match="too few trials"):
        leakage.mutual_information(x[:3], y[:3], np.random.default_rng(1))


@pytest.mark.parametrize("group", [2, 3, 7])
def test_the_sum_of_a_group_has_the_correlation_of_one_part(group):
    assert leakage.linfoot(leakage.of_a_sum(group)) == pytest.approx(1 / np.sqrt(group))


def test_a_sum_over_one_node_is_its_record():
    assert leakage.of_a_sum(1) == np.inf and leakage.linfoot(np.inf) == 1


PATH = np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])


@pytest.mark.parametrize("mask_std", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("node", [0, 1])
def test_masks_of_finite_size_leave_the_information_of_two_determinants(mask_std, node):
    """Oracle: 1/2 ln of |Cov z| over |Cov z given s_node|."""
    spread = np.eye(3) + mask_std**2 / 2 * PATH
    given = spread.copy()
    given[node, node] -= 1
    exact = 0.5 * (np.linalg.slogdet(spread)[1] - np.linalg.slogdet(given)[1])
    assert leakage.of_masked(PATH, mask_std, node) == pytest.approx(exact, rel=1e-9)


def test_huge_masks_leave_the_sum_alone_and_none_leave_everything():
    assert leakage.of_masked(PATH, 1e10, 0) == pytest.approx(leakage.of_a_sum(3), rel=1e-9)
    assert leakage.of_masked(PATH, 1e-5, 0) > 10
    assert leakage.of_masked(np.zeros((1, 1)), 1e10, 0) == np.inf  # no honest neighbour
