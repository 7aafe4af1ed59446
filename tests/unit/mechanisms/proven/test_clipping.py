"""Responses of clipped Gaussian sums. Oracles: Monte Carlo and finite differences of it, closed forms at the ends."""

from __future__ import annotations

import numpy as np
import pytest

from meterdp.mechanisms.proven.posterior import clipped_mean_square, response
from meterdp.privacy.mechanism import clip_to_unit_ball

DRAWS = 400_000


@pytest.mark.parametrize("d", [1, 2, 5, 12])
@pytest.mark.parametrize("factor", [0.6, 1.1, 2.0])
def test_responses_match_monte_carlo_with_common_random_numbers(d, factor):
    """Symmetric differences of step 0.1; seven standard errors and the second order are below the tolerance."""
    radius, step = factor * np.sqrt(d), 0.1
    z = np.random.default_rng(d).normal(size=(DRAWS, d))
    of = response(d, radius)
    square = np.minimum((z**2).sum(axis=1), radius**2).mean() / d
    assert of.mean_square == pytest.approx(square, rel=0.01)

    def clipped(y):
        return radius * clip_to_unit_ball(y / radius)

    shift = step * np.eye(d)[0]
    slope = (clipped(z + shift) - clipped(z - shift))[:, 0].mean() / (2 * step)
    assert of.mean == pytest.approx(slope, rel=0.01)
    if d > 1:
        reweighting = np.zeros(d)
        reweighting[:2] = step, -step
        up, down = (clipped(z * np.sqrt(1 + sign * reweighting)) for sign in (1, -1))
        change = ((up**2 - down**2)[:, 0] - (up**2 - down**2)[:, 1]).mean() / 2 / (2 * step)
        assert of.shape == pytest.approx(change / of.mean_square, rel=0.02)


@pytest.mark.parametrize("d", [1, 3, 12])
def test_nothing_is_corrected_where_nothing_is_clipped(d):
    of = response(d, 100.0)
    assert of.mean == pytest.approx(1)
    assert of.shape == pytest.approx(1)
    assert of.scale(np.array([0.5, 1.0, 2.0])) == pytest.approx([0.5, 1.0, 2.0], rel=2e-3)


@pytest.mark.parametrize("factor", [0.6, 1.1, 2.0])
def test_scale_inverts_the_clipped_mean_square(factor):
    d, scales = 12, np.array([0.2, 0.7, 1.0, 1.5, 4.0])
    square = factor**2 * d
    mean_squares = scales * clipped_mean_square(d, square / scales)
    assert response(d, factor * np.sqrt(d)).scale(mean_squares) == pytest.approx(scales, rel=5e-3)
