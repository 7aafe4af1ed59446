"""Curves and conversions of the public API, against quadrature and closed forms."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import meterdp

WIDE, NARROW = np.eye(2), np.array([[0.8, 0.1], [0.1, 0.5]])
SHIFT = np.array([0.3, -0.2])


def by_summation(first, second, epsilon, reach=7.0, points=701):
    """The integral of (p - e^epsilon q)+ over a fine square; first and second are (mean, covariance)."""
    axis = np.linspace(-reach, reach, points)
    where = np.stack(np.meshgrid(axis, axis), axis=-1)
    p, q = (multivariate_normal(*distribution).pdf(where) for distribution in (first, second))
    return np.maximum(p - math.exp(epsilon) * q, 0).sum() * (axis[1] - axis[0]) ** 2


def test_both_directions_are_the_hockey_stick_divergence():
    """Oracle: a sum over a grid, which knows densities only."""
    p, q = ((0, 0), WIDE), (SHIFT, NARROW)
    epsilons = np.array([0.0, 0.5, 2.0])
    forward = [by_summation(p, q, e) for e in epsilons]
    reverse = [by_summation(q, p, e) for e in epsilons]
    for direction, expected in (
        ("forward", forward),
        ("reverse", reverse),
        ("both", np.maximum(forward, reverse)),
    ):
        found = meterdp.privacy_curve(*p, *q, epsilons, direction=direction)
        assert found == pytest.approx(expected, rel=2e-4, abs=1e-7), direction
    assert not np.allclose(forward, reverse, rtol=0.05)
    # The example of the docstring, which has other distributions.
    other = ((0, 0), np.diag([0.8, 0.9]))
    assert by_summation(p, other, 1.0) == pytest.approx(0.0006, abs=5e-6)
    assert by_summation(other, p, 0.1) == pytest.approx(0.01225, abs=5e-6)


@pytest.mark.parametrize("std", [0.7, 2.0])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
def test_equal_covariances_are_gaussian_dp(std, epsilon):
    """Oracle: Balle and Wang 2018, Theorem 8, written out."""
    found = meterdp.privacy_curve(0, std**2, 1, std**2, epsilon)
    far, near = -1 / (2 * std) - epsilon * std, 1 / (2 * std) - epsilon * std
    assert isinstance(found, float)
    assert found == pytest.approx(norm.cdf(near) - math.exp(epsilon) * norm.cdf(far), rel=2e-9)


def test_curve_mu_and_epsilon_agree_in_any_shape():
    epsilon, delta = np.array([[0.2], [3.0]]), np.array([1e-9, 1e-5, 1e-2])
    mu = meterdp.mu_for(epsilon, delta)
    assert mu.shape == (2, 3)
    assert meterdp.epsilon_for(mu, delta) == pytest.approx(np.broadcast_to(epsilon, (2, 3)), rel=1e-7)
    for row, one in zip(epsilon[:, 0], mu, strict=True):
        for column, value in zip(delta, one, strict=True):
            found = meterdp.privacy_curve([0, 0], np.eye(2), [value, 0], np.eye(2), row)
            assert found == pytest.approx(column, rel=1e-7)
    assert isinstance(meterdp.mu_for(1, 1e-5), float) and isinstance(meterdp.epsilon_for(1, 1e-5), float)
    assert meterdp.privacy_curve([0], [[1]], [1], [[2]], np.ones((2, 0, 3))).shape == (2, 0, 3)


def test_singular_distributions_are_told_apart_unless_they_are_one():
    flat = np.diag([1.0, 0.0])
    assert meterdp.privacy_curve([0, 0], flat, [0, 1], flat, 5.0) == 1.0
    assert meterdp.privacy_curve([0, 0], flat, [0, 0], flat, 0.0) == 0.0


GOOD = {"mean": [0, 0], "covariance": WIDE, "other_mean": SHIFT, "other_covariance": NARROW, "epsilon": 1.0}


@pytest.mark.parametrize(
    ("of", "field", "arguments"),
    [
        ("privacy_curve", "mean", {"mean": [[0, 0]]}),
        ("privacy_curve", "mean", {"mean": [0, np.nan]}),
        ("privacy_curve", "mean", {"mean": "zero"}),
        ("privacy_curve", "other_mean", {"other_mean": [0, 0, 0]}),
        ("privacy_curve", "covariance", {"covariance": np.eye(3)}),
        ("privacy_curve", "covariance", {"covariance": [[1, 0.5], [0.2, 1]]}),
        ("privacy_curve", "covariance", {"covariance": [[1, 2], [2, 1]]}),
        ("privacy_curve", "other_covariance", {"other_covariance": np.diag([1, -1e-9])}),
        ("privacy_curve", "other_covariance", {"other_covariance": np.diag([1, np.inf])}),
        ("privacy_curve", "epsilon", {"epsilon": -0.1}),
        ("privacy_curve", "epsilon", {"epsilon": np.nan}),
        ("privacy_curve", "epsilon", {"epsilon": np.inf}),
        ("privacy_curve", "direction", {"direction": "forwards"}),
        ("mu_for", "epsilon", {"epsilon": -1, "delta": 0.1}),
        ("mu_for", "delta", {"epsilon": 1, "delta": 1.1}),
        ("mu_for", "delta", {"epsilon": 1, "delta": "small"}),
        ("epsilon_for", "mu", {"mu": np.nan, "delta": 0.1}),
        ("epsilon_for", "delta", {"mu": 1, "delta": -0.1}),
    ],
)
def test_wrong_arguments_are_refused_by_name_with_a_hint(of, field, arguments):
    given = GOOD | arguments if of == "privacy_curve" else arguments
    with pytest.raises(ValueError, match=rf"^field '{field}': [^;]+; (use|give) [^;]+\.$"):
        getattr(meterdp, of)(**given)
