"""The sound release: budget spent exactly, feasible and sensible output, nothing read but the N clipped records."""

from __future__ import annotations

import math

import numpy as np
import pytest

from meterdp.accounting import gdp
from meterdp.core.errors import InputError
from meterdp.mechanisms.evaluate import cost, reference_fits
from meterdp.mechanisms.interface import LabelledRecords
from meterdp.mechanisms.sound import FINAL_WEIGHTS, Sound, default_rounds, start_points
from meterdp.mixture.divergence import mean_log_likelihood
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import fit_labels
from meterdp.release.noise import StudyNoise
from tests.unit.mechanisms.made_up import FLOOR, HIGH, LOW, public, records


@pytest.fixture(scope="module")
def private():
    return records(0)


def with_records(x: np.ndarray, k: int) -> LabelledRecords:
    """Return records whose reference fit is of no interest."""
    return LabelledRecords(x, fit_labels(x, np.arange(len(x)) % k + 1, FLOOR))


def no_noise(step, stack):
    """Measure without noise: what the algorithm does to exact stacks."""
    return np.array(stack, dtype=float)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("rounds", [None, 0, 1, 7])
def test_steps_compose_to_exactly_the_budget(private, epsilon, rounds):
    sound = Sound.calibrate(public(private, epsilon, rounds=rounds))
    assert gdp.compose(*(s.mu for s in sound.steps)) == pytest.approx(sound.mu, rel=1e-12)
    assert sound.mu == gdp.mu_for(epsilon, 1e-5)
    assert gdp.delta(sound.mu, epsilon) <= 1e-5
    assert len(sound.steps) == 2 + (3 if rounds is None else rounds)


def test_guarantee_covers_the_whole_record_under_replace_one(private):
    guarantee = Sound.calibrate(public(private, 2.0)).guarantee
    assert (guarantee.adjacency, guarantee.family) == ("replace_one", "sound")
    assert (guarantee.epsilon, guarantee.delta) == (2.0, 1e-5)


def test_default_rounds_follow_a_public_rule():
    assert default_rounds(1409, 6, 0.5) == 3
    assert default_rounds(10_000, 6, 0.5) == 5


def test_start_points_are_flat_public_profiles_or_those_given(private):
    settings = public(private)
    flat = start_points(settings)
    assert flat.shape == (6, 12)
    assert (np.ptp(flat, axis=1) == 0).all()
    assert (np.diff(flat[:, 0]) > 0).all()
    assert flat.mean() == pytest.approx(settings.level_log_kwh)
    given = np.linspace(-3, 0, 6)[:, None] * np.ones(12)
    assert (start_points(public(private, start_points=given)) == given).all()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_release_is_a_mixture_in_the_public_range(private, epsilon):
    settings = public(private, epsilon)
    released = Sound.calibrate(settings).release(private, StudyNoise(1, "sound"), 50)
    mixtures = released.mixtures
    assert mixtures.weights.sum(axis=1) == pytest.approx(1)
    assert mixtures.weights.min() > 0
    assert (np.diff(mixtures.weights, axis=1) <= 0).all(), "class 1 is the largest"
    assert np.linalg.eigvalsh(mixtures.covariances).min() >= FLOOR * (1 - 1e-6)
    assert np.isfinite(mixtures.means).all()
    assert released.centroids.shape == (50, 6, 12)
    assert released.centroids.min() >= LOW
    assert released.centroids.max() <= HIGH
    assert released.projected.shape == (50,)


def test_every_household_is_counted():
    private = records(2, n=300)
    stacks = {}

    def measure(step, stack):
        stacks[step.name] = stack
        return no_noise(step, stack)

    Sound.calibrate(public(private)).run(private.x, measure, 1)
    assert stacks["radius"].sum() == 300
    assert stacks["final"][0, :, 0].sum() / FINAL_WEIGHTS.count == pytest.approx(300)


def test_readings_beyond_the_public_bounds_count_as_the_bounds(private):
    sound = Sound.calibrate(public(private))
    x = private.x.copy()
    x[:50] = HIGH
    wild = x.copy()
    wild[:50] = 1e12
    tame, clipped = (sound.run(v, no_noise, 1).mixtures for v in (x, wild))
    assert (tame.means == clipped.means).all()
    assert (tame.covariances == clipped.covariances).all()


def test_records_of_another_shape_are_refused(private):
    sound = Sound.calibrate(public(private))
    for x in (private.x[:-1], private.x[:, :-1]):
        with pytest.raises(InputError, match="public number of households"):
            sound.run(x, no_noise, 1)


def test_without_noise_it_fits_the_classes_of_its_centroids():
    """Oracle: (2a)-(2c) under the nearest-centroid labels; what is left is clipping, below 0.15 nat a record."""
    private = records(1, n=6000)
    released = Sound.calibrate(public(private, 2.0)).run(private.x, no_noise, 1)
    fit, _ = reference_fits(private.x, released.centroids, FLOOR)
    ours, best = (mean_log_likelihood(private.x, m)[0] for m in (released.mixtures, fit))
    assert best - ours < 0.15
    assert released.mixtures.weights == pytest.approx(fit.weights, abs=0.01)


@pytest.mark.parametrize(
    ("n", "seeds", "gap", "kl"), [(1409, range(4), 1.5, 2.0), (10_000, range(2), 0.25, 0.25)], ids=["1409", "10000"]
)
def test_cost_at_epsilon_two_stays_where_it_was_measured(n, seeds, gap, kl):
    """Regression bounds a quarter above the measured 1.2 and 0.17 nats (gap), 1.6 and 0.16 nats (divergence)."""
    rows = []
    for seed in seeds:
        data = records(seed, n)
        rows.append(cost(Sound.calibrate(public(data, 2.0)), data, data, StudyNoise(seed, "cost"), 12).row)
    assert np.mean([r["loglik_gap_mean"] for r in rows]) < gap
    assert np.mean([r["kl_mean"] for r in rows]) < kl


def test_classes_that_get_no_records_do_no_harm():
    """All households alike: six classes must not be worse than the population's own Gaussian by over a nat."""
    rng = np.random.default_rng(0)
    x = -1.2 + 0.4 * rng.normal(size=(3000, 12))
    released = Sound.calibrate(public(with_records(x, 6), 2.0)).release(
        with_records(x, 6), StudyNoise(3, "alike"), 40
    )
    one = MixtureDraws(np.ones((1, 1)), x.mean(axis=0)[None, None], np.cov(x.T)[None, None])
    gap = mean_log_likelihood(x, one)[0] - mean_log_likelihood(x, released.mixtures)
    assert gap.mean() < 1.0
    assert gap.max() < 2.0


@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (6, 12, 6), (50, 2, 1), (40, 24, 3)])
def test_tiny_exports_get_finite_releases(n, d, k):
    private = with_records(np.random.default_rng(n).normal(size=(n, d)) - 1, k)
    for epsilon in (0.1, 10.0):
        released = Sound.calibrate(public(private, epsilon)).release(private, StudyNoise(4, "tiny"), 100)
        assert np.isfinite(released.mixtures.means).all()
        assert np.linalg.eigvalsh(released.mixtures.covariances).min() > 0
        assert released.mixtures.weights.min() > 0


def test_identical_households_get_a_finite_release():
    private = with_records(np.full((200, 12), -1.0), 2)
    released = Sound.calibrate(public(private, 1.0)).release(private, StudyNoise(5, "same"), 50)
    assert np.isfinite(released.mixtures.covariances).all()


def test_chunks_of_draws_add_up_and_draws_differ(private, monkeypatch):
    monkeypatch.setattr("meterdp.mechanisms.sound.CHUNK_BYTES", 2e6)
    released = Sound.calibrate(public(private)).release(private, StudyNoise(6, "chunks"), 7)
    assert len(released.mixtures) == len(released.projected) == len(released.centroids) == 7
    assert len(np.unique(released.mixtures.weights[:, 0])) == 7


def test_same_stream_gives_the_same_release(private):
    sound = Sound.calibrate(public(private))
    one, two = (sound.release(private, StudyNoise(7, "twice"), 3).mixtures for _ in range(2))
    assert (one.means == two.means).all()
    assert math.isclose(one.covariances.sum(), two.covariances.sum(), rel_tol=0)
