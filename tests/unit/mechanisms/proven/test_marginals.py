"""Marginals beside the sound mixture: bounded features, their exact sensitivity, levels against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings
from meterdp.mechanisms.proven import marginals
from meterdp.mechanisms.proven.marginals import (
    HOUR_COSINES,
    TOTAL_WEIGHT,
    Reference,
    feature_sum,
    features,
    hour_levels,
    sensitivity,
)
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.plan import ProvenSettings
from meterdp.mixture.draws import Mixture, sample
from meterdp.privacy.noise import GRID
from tests.unit.mechanisms.made_up import FLOOR, HIGH, LOW, households

D = 5


def distribution(seed=0, classes=3, d=D):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(classes, d, d + 3)) / 3
    weights = rng.dirichlet(np.ones(classes))
    return Mixture(weights, rng.normal(-1.2, 0.8, (classes, d)), root @ root.transpose(0, 2, 1) + 0.01 * np.eye(d))


@pytest.fixture(scope="module")
def reference():
    return Reference(distribution(), LOW, HIGH)


def nasty(rng, n, d=D):
    """Records within the bounds: random, extreme, ties, one hour alone."""
    corners = np.where(rng.random((n, d)) < 0.5, LOW, HIGH)
    flat = np.repeat(rng.uniform(LOW, HIGH, (n, 1)), d, axis=1)
    lonely = np.full((n, d), LOW)
    lonely[np.arange(n), rng.integers(0, d, n)] = HIGH
    ends = np.array([np.full(d, LOW), np.full(d, HIGH)])
    return np.concatenate([rng.uniform(LOW, HIGH, (n, d)), corners, flat, lonely, ends])


@pytest.mark.parametrize("scale", [PLAIN, LogScale(offset_kwh=0.5), LogScale(scale_kwh=0.3)], ids=lambda s: s.kind)
@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_no_pair_of_records_differs_by_more_than_the_sensitivity_and_some_nearly_does(d, scale):
    """Brute force over all pairs of 400 random and nasty records, for several released mixtures."""
    rng = np.random.default_rng(d)
    most = sensitivity("replace_one", d)
    largest = 0.0
    for seed in range(3):
        f = features(nasty(rng, 100, d), Reference(distribution(seed, d=d), LOW, HIGH, scale))
        square = (f**2).sum(axis=1)
        largest = max(largest, math.sqrt((square[:, None] + square - 2 * f @ f.T).max()))
        assert math.sqrt(square.max()) <= sensitivity("add_remove", d) * (1 + 1e-12)
    assert 0.999 * most < largest <= most * (1 + 1e-12)


def test_a_household_at_the_upper_bound_adds_as_much_as_is_charged(reference):
    added = np.linalg.norm(features(np.full((1, D), HIGH), reference))
    assert added == pytest.approx(sensitivity("add_remove", D), rel=1e-6)


@pytest.mark.parametrize("count", [1, 2, 3, marginals.HOUR_COSINES, marginals.PEAK_COSINES, marginals.ENERGY_COSINES])
def test_cosines_differ_most_between_the_two_ends(count):
    """The certificate of Lemma 4: one trigonometric polynomial, on a grid finer than its slope allows to hide.

    Brute force over pairs of levels beside it.
    """
    j = np.arange(1, count + 1)
    most = 8 * (1 / j[::2]).sum()
    step = 1e-4
    a = np.arange(0, math.pi / 2 - 1 / (2 * count), step)
    polynomial = (np.sin(np.outer(a, j)) ** 4 / j).sum(axis=1)
    slope = 4 * count * 3 * math.sqrt(3) / 16
    assert (polynomial.max() + slope * step) * 8 <= most, "away from the middle"
    assert j[1::2].sum() / 4 <= j[::2].sum(), "near the middle"
    c = marginals._cosines(np.linspace(0, 1, 801), count)
    square = (c**2).sum(axis=1)
    assert (square[:, None] + square - 2 * c @ c.T).max() == pytest.approx(most, rel=1e-12)


def test_two_records_in_upper_bins_differ_by_less_than_the_two_ends():
    """The last step of Lemma 4, with the bound of its proof and by brute force."""
    j, width = np.arange(1, marginals.ENERGY_COSINES + 1), (1 - min(marginals.TAIL_LEVELS)) * math.pi / 2
    bound = (8 / j * np.where(j * width <= math.pi / 2, np.sin(j * width) ** 2, 1.0)).sum()
    two, tail = marginals.TOTAL_WEIGHT**2, marginals.TAIL_WEIGHT**2
    assert two * bound + 2 * tail <= two * 8 * (1 / j[::2]).sum() + tail
    c = marginals._cosines(np.linspace(min(marginals.TAIL_LEVELS), 1, 301), marginals.ENERGY_COSINES)
    square = (c**2).sum(axis=1)
    assert (square[:, None] + square - 2 * c @ c.T).max() <= bound


def test_ties_of_a_mixture_beyond_its_bounds_cost_no_more():
    """A mixture of which most is clipped has a pool of equal energies; levels are ranks all the same."""
    m = distribution()
    high = Reference(Mixture(m.weights, m.means + 8, m.covariances), LOW, HIGH)
    x = np.concatenate(
        [nasty(np.random.default_rng(4), 60), HIGH - np.geomspace(1e-9, 1e-1, 60)[:, None] * np.ones(D)]
    )
    f = features(x, high)
    square = (f**2).sum(axis=1)
    assert (square[:, None] + square - 2 * f @ f.T).max() <= sensitivity("replace_one", D) ** 2 * (1 + 1e-12)
    assert square.max() <= sensitivity("add_remove", D) ** 2 * (1 + 1e-12)


def test_no_record_changes_what_another_one_adds(reference):
    x = nasty(np.random.default_rng(1), 20)
    one_by_one = sum(features(row[None], reference)[0] for row in x)
    assert feature_sum(x, reference) == pytest.approx(one_by_one, abs=1e-9)
    assert feature_sum(x[:0], reference) == pytest.approx(0)


def test_on_a_grid_every_record_is_rounded_for_itself(reference, monkeypatch):
    monkeypatch.setattr(marginals, "_RECORDS_AT_ONCE", 7)
    x = nasty(np.random.default_rng(2), 30)
    exact = feature_sum(x, reference, GRID)
    assert np.array_equal(exact / GRID, np.rint(exact / GRID))
    assert exact == pytest.approx(feature_sum(x, reference), abs=len(x) * GRID)
    moved = np.delete(x, 0, axis=0)
    alone = np.rint(features(x[:1], reference)[0] / GRID) * GRID
    assert np.array_equal(exact - feature_sum(moved, reference, GRID), alone)


def test_levels_of_an_hour_are_the_distribution_function(reference):
    """Oracle: scipy's normal distribution."""
    x, m = nasty(np.random.default_rng(3), 40), reference.mixture
    expected = sum(
        w * stats.norm.cdf(x, mean, np.sqrt(np.diag(c)))
        for w, mean, c in zip(m.weights, m.means, m.covariances, strict=True)
    )
    assert hour_levels(x, m) == pytest.approx(expected, abs=1e-12)


def test_features_of_the_mixture_itself_have_known_means(reference):
    """Monte Carlo: levels are uniform, so cosines have mean zero; false alarm 1e-9 over all of them."""
    n = 40_000
    x, _ = sample(reference.mixture, n, StudyNoise(1, "levels"))
    f = features(np.clip(x, LOW, HIGH), reference)
    tail = -np.diff([1 - level for level in marginals.TAIL_LEVELS] + [0])
    expected = np.concatenate([np.zeros(f.shape[1] - len(tail)), marginals.TAIL_WEIGHT * tail])
    # The pool that stands for energy and peak is a sample, too.
    error = f.std(axis=0) * math.sqrt(1 / n + 1 / marginals.POOL)
    assert (np.abs(f.mean(axis=0) - expected) <= stats.norm.isf(0.5e-9 / f.shape[1]) * error + 1e-12).all()


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_a_release_measures_them_once_beside_its_first_mixture(adjacency):
    x = households(0, 200, D)
    asked = []

    class Source:
        grid = 0.0

        def add_gaussian(self, exact, std):
            asked.append((exact.shape, std))
            return np.array(exact, dtype=float)

    settings = ProvenSettings(adjacency, records_guess=200, rounds=1, marginal_share=0.25)
    public = PublicSettings(2.0, 1e-5, 3, D, 200, LOW, HIGH, FLOOR, sound=settings)
    sound = Proven.calibrate(public)
    released = sound.release(PrivateRecords(x), Source(), 4)
    shape, std = asked[-1]
    assert shape == (1, marginals.statistics_of(D))
    assert std == pytest.approx(sensitivity(adjacency, D) / (sound.mu * 0.5), rel=1e-12)
    assert len(asked) == len(sound.plan.steps)
    own = Reference(released.mixtures.draw(0), LOW, HIGH)
    assert released.marginals.means == pytest.approx(features(x, own).mean(axis=0), abs=1e-12)
    assert released.marginals.noise_std == pytest.approx(std / 200, rel=1e-12)
    plain = Proven.calibrate(PublicSettings(2.0, 1e-5, 3, D, 200, LOW, HIGH, FLOOR, sound=ProvenSettings(rounds=1)))
    assert plain.release(PrivateRecords(x), Source(), 1).marginals is None


def test_energy_of_records_is_that_of_the_scale_and_features_rank_by_it():
    """Oracle: hours with feed-in, whose sum of e^y is largest where the energy is smallest."""
    scale = LogScale(-20.0, 20.0, scale_kwh=0.1)
    low, high = scale.bounds_log_kwh
    m = distribution()
    signed = Reference(
        Mixture(m.weights, np.log(0.1) + 2 * (m.means - m.means.mean()), m.covariances), low, high, scale
    )
    x = np.clip(signed.pool[:500], low, high)
    energy = 2 * 0.1 * np.sinh(x - np.log(0.1))
    assert np.allclose(signed.energy_of(x), energy.sum(axis=1)) and (signed.energy < 0).any()
    below = (signed.energy[None, :] < energy.sum(axis=1)[:, None]).mean(axis=1)
    first = features(x, signed)[:, D * HOUR_COSINES]
    assert np.allclose(first, TOTAL_WEIGHT * np.sqrt(2) * np.cos(np.pi * below), atol=1e-3)
