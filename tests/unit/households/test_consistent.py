"""Vectors whose parts agree: what is changed, by how much, and what is left alone."""

from dataclasses import replace

import numpy as np
import pytest

from meterdp.households import marginal
from meterdp.households.consistent import consistent
from meterdp.households.correlations import lag_products, lags_of
from meterdp.households.vector import VectorSettings, household_vectors
from tests.unit.households.homes import EIGHT_WEEKS, seasonal

SETTINGS = VectorSettings(EIGHT_WEEKS)


@pytest.fixture(scope="module")
def vectors():
    return household_vectors(seasonal(40, EIGHT_WEEKS), SETTINGS)


def excess(x):
    """Oracle: by how much the expected load's products exceed what the autocorrelations leave room for, (H, 2)."""
    x = np.clip(x, *SETTINGS.bounds)
    functions = SETTINGS.quantile_functions(x)
    sampled = np.array([np.interp(np.linspace(0, 1, 200_001)[1:-1], _levels(), row) for row in functions])
    expected = SETTINGS.expected_ratio(x)
    expected -= expected.mean(axis=1, keepdims=True)
    products = np.array([lag_products(row, lags_of(24)[2:]) for row in expected])
    return products - np.maximum(SETTINGS.autocorrelations(x)[:, 2:], 0) * sampled.var(axis=1)[:, None]


def _levels():
    from scipy.special import ndtr

    return ndtr(marginal.SCORES)


def test_what_agrees_stays_as_it_is(vectors):
    agree = (excess(vectors) < -1e-3).all(axis=1)
    found = consistent(vectors, SETTINGS, vectors.mean(axis=0))
    assert agree.sum() > 10
    np.testing.assert_allclose(found[agree], vectors[agree], rtol=0, atol=1e-12)


def test_coefficients_with_too_much_noise_are_moved_as_far_as_they_must_be(vectors):
    noise = np.random.default_rng(0).normal(size=vectors.shape) * 0.25 * np.ptp(SETTINGS.bounds, axis=0)
    own = SETTINGS.parts(np.arange(len(SETTINGS.names))[None])["coefficients"][0]
    noisy = vectors.copy()
    noisy[:, own] = np.clip(vectors + noise, *SETTINGS.bounds)[:, own]
    typical = vectors.mean(axis=0)
    found = consistent(noisy, SETTINGS, typical)
    moved = np.abs(found - noisy).max(axis=1) > 1e-9
    rest = np.setdiff1d(np.arange(len(SETTINGS.names)), own)
    np.testing.assert_array_equal(found[:, rest], noisy[:, rest])
    assert moved.sum() > 20
    share = ((found - typical)[:, own] / (noisy - typical)[:, own])[moved]
    np.testing.assert_allclose(share, np.repeat(share[:, :1], len(own), axis=1), atol=1e-6)
    some = moved.nonzero()[0][share[:, 0] > 0.02]
    assert (excess(found[some]) < 2e-3).all()
    # A 64th more of the difference, and they no longer agree.
    further = found[some] + (noisy[some] - typical) * 1.5 / 64 * (np.isin(np.arange(noisy.shape[1]), own))
    assert (excess(further) > -2e-3).any(axis=1).all()


def test_no_vector_has_a_largest_reading_above_the_public_bound(vectors):
    """Others stay as they are."""
    held = replace(SETTINGS, reading_kw=(0.0, 4.0))
    highest = SETTINGS.names.index("highest")
    noisy = vectors.copy()
    noisy[:20, highest] += 1.0
    one, other = (consistent(noisy, settings, vectors.mean(axis=0)) for settings in (SETTINGS, held))
    before, after = (marginal.from_signed_log(x[:, highest]) * np.exp(x[:, 0]) for x in (one, other))
    assert after == pytest.approx(np.minimum(before, 4.0)) and (before > 4).any() and (before < 4).any()
    below = before < 4
    np.testing.assert_array_equal(one[below], other[below])


def test_each_vector_is_changed_by_itself(vectors):
    noisy = np.clip(vectors * 1.8, *SETTINGS.bounds)
    together, typical = consistent(noisy, SETTINGS, vectors.mean(axis=0)), vectors.mean(axis=0)
    np.testing.assert_array_equal(consistent(noisy[7:8], SETTINGS, typical)[0], together[7])
