"""The sound release: feasible and sensible output, nothing read but the N clipped records."""

from __future__ import annotations

import math

import numpy as np
import pytest

from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.evaluation.cost import reference_fits
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings
from meterdp.mechanisms.proven.domain import Loads
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.plan import ProvenSettings
from meterdp.mixture.density import kl_joint, mean_log_likelihood
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import fit_labels, kmeans_labels
from meterdp.privacy import gaussian
from tests.unit.mechanisms.made_up import FLOOR, HIGH, LOW, households, prior_mixture

ADD_REMOVE = ProvenSettings("add_remove", records_guess=1000)


@pytest.fixture(scope="module")
def private():
    return PrivateRecords(households(0))


def settings(private, epsilon=1.0, classes=6, **others):
    n, d = private.x.shape
    return PublicSettings(epsilon, 1e-5, classes, d, n, LOW, HIGH, FLOOR, **others)


def no_noise(step, stack):
    """Measure without noise: what the algorithm does to exact stacks."""
    return np.array(stack, dtype=float)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_calibration_takes_all_of_the_budget_and_no_more(private, epsilon):
    sound = Proven.calibrate(settings(private, epsilon))
    assert sound.mu == gaussian.mu_for(epsilon, 1e-5)
    assert gaussian.compose(*(s.mu for s in sound.plan.steps)) == pytest.approx(sound.mu, rel=1e-12)
    assert gaussian.delta(sound.mu, epsilon) <= 1e-5


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_guarantee_names_the_adjacency(private, adjacency):
    guarantee = Proven.calibrate(
        settings(private, 2.0, sound=ProvenSettings(adjacency, records_guess=1000))
    ).guarantee
    assert (guarantee.adjacency, guarantee.family) == (adjacency, "sound")
    assert (guarantee.epsilon, guarantee.delta) == (2.0, 1e-5)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize(
    "sound",
    [ProvenSettings(), ADD_REMOVE, ProvenSettings(classes=6), ProvenSettings(prior_mixture=prior_mixture(12))],
)
def test_release_is_a_mixture_in_the_public_range(private, epsilon, sound):
    mechanism = Proven.calibrate(settings(private, epsilon, sound=sound))
    released = mechanism.release(private, StudyNoise(1, "sound"), 50)
    mixtures = released.mixtures
    assert mixtures.weights.shape == (50, mechanism.plan.classes)
    assert mixtures.weights.sum(axis=1) == pytest.approx(1)
    assert mixtures.weights.min() > 0
    assert (np.diff(mixtures.weights, axis=1) <= 0).all(), "class 1 is the largest"
    assert np.linalg.eigvalsh(mixtures.covariances).min() >= FLOOR * (1 - 1e-6)
    assert mixtures.means.min() >= LOW
    assert mixtures.means.max() <= HIGH
    assert released.responsibilities_model.weights.shape == mixtures.weights.shape
    assert released.projected.shape == (50,)


def test_every_household_is_counted_once():
    private = PrivateRecords(households(2, n=300))
    stacks = {}

    def measure(step, stack):
        stacks[step.name] = stack
        return no_noise(step, stack)

    Proven.calibrate(settings(private)).run(private.x, measure, 1)
    assert stacks["radius"].sum() == 300
    last = max(name for name in stacks if name.startswith("round"))
    assert stacks[last][0, :, 0].sum() / Loads.round_weights.count == pytest.approx(300)
    assert "records" not in stacks


def test_under_add_remove_the_settings_do_not_say_how_many_households_there_are(private):
    """Neighbours differ in N, so both must run under the same settings; N itself is measured."""
    mechanism = Proven.calibrate(settings(private, sound=ADD_REMOVE))
    measured = []

    def measure(step, stack):
        if step.name == "records":
            measured.append(stack[0, 0])
        return no_noise(step, stack)

    for x in (private.x, private.x[1:]):
        mechanism.run(x, measure, 1)
    assert measured == [1409, 1408]


def test_readings_beyond_the_public_bounds_count_as_the_bounds(private):
    sound = Proven.calibrate(settings(private))
    x = private.x.copy()
    x[:50] = HIGH
    wild = x.copy()
    wild[:50] = 1e12
    tame, clipped = (sound.run(v, no_noise, 1).mixtures for v in (x, wild))
    assert (tame.means == clipped.means).all()
    assert (tame.covariances == clipped.covariances).all()


def test_records_of_another_shape_are_refused(private):
    sound = Proven.calibrate(settings(private))
    for x in (private.x[:-1], private.x[:, :-1]):
        with pytest.raises(InputError, match="public number of households"):
            sound.run(x, no_noise, 1)


@pytest.mark.parametrize(
    ("epsilon", "sound", "bar"), [(2.0, None, 0.1), (8.0, ProvenSettings(prior_mixture=prior_mixture(12)), 0.15)]
)
def test_without_noise_it_fits_the_classes_it_released(epsilon, sound, bar):
    """Oracle: one maximisation step on the exact responsibilities; what is left is clipping."""
    private = PrivateRecords(households(1, n=6000))
    mechanism = Proven.calibrate(settings(private, epsilon, sound=sound))
    assert mechanism.plan.rounds, "of many households rounds refine a prior mixture, too"
    released = mechanism.run(private.x, no_noise, 1)
    fit, _ = reference_fits(private.x, released.responsibilities_model, FLOOR)
    ours, best = (mean_log_likelihood(private.x, m)[0] for m in (released.mixtures, fit))
    assert best - ours < bar
    assert released.mixtures.weights == pytest.approx(fit.weights, abs=0.01)


@pytest.mark.parametrize(
    ("n", "seeds", "bar"), [(1409, range(3), 1.0), (10_000, range(2), 0.15)], ids=["1409", "10000"]
)
def test_bars_of_the_design_at_epsilon_two(n, seeds, bar):
    """mechanisms.md 2.4 on made-up Gaussian classes: held-out gap to as many K-means classes, and KL to own fit."""
    gaps, divergences = [], []
    for seed in seeds:
        x = households(seed, n + 4000)
        train, test = x[:n], x[n:]
        released = Proven.calibrate(settings(PrivateRecords(train), 2.0)).release(
            PrivateRecords(train), StudyNoise(seed, "bars"), 8
        )
        k = released.mixtures.weights.shape[1]
        fit = fit_labels(train, kmeans_labels(train, k, 0), FLOOR).mixture
        gap = mean_log_likelihood(test, MixtureDraws.single(fit))[0] - mean_log_likelihood(test, released.mixtures)
        own, _ = reference_fits(train, released.responsibilities_model, FLOOR)
        gaps.append(gap.mean())
        divergences.append(kl_joint(released.mixtures, own).mean())
    assert np.mean(gaps) <= bar
    assert np.mean(divergences) <= bar


def test_classes_that_get_no_records_do_no_harm():
    """All households alike: several classes must not be worse than the population's own Gaussian by over a nat."""
    rng = np.random.default_rng(0)
    private = PrivateRecords(-1.2 + 0.4 * rng.normal(size=(3000, 12)))
    sound = Proven.calibrate(settings(private, 2.0, sound=ProvenSettings(classes=6)))
    released = sound.release(private, StudyNoise(3, "alike"), 40)
    x = private.x
    one = MixtureDraws(np.ones((1, 1)), x.mean(axis=0)[None, None], np.cov(x.T)[None, None])
    gap = mean_log_likelihood(x, one)[0] - mean_log_likelihood(x, released.mixtures)
    assert gap.mean() < 1.0
    assert gap.max() < 2.0


@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (6, 12, 6), (50, 2, 1), (40, 24, 3), (30, 1, 3)])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 10.0])
def test_tiny_exports_get_finite_releases(n, d, k, epsilon):
    private = PrivateRecords(np.random.default_rng(n).normal(size=(n, d)) - 1)
    for sound in (ProvenSettings(), ADD_REMOVE, ProvenSettings(prior_mixture=prior_mixture(d))):
        mechanism = Proven.calibrate(settings(private, epsilon, classes=k, sound=sound))
        mixtures = mechanism.release(private, StudyNoise(4, "tiny"), 100).mixtures
        assert np.isfinite(mixtures.means).all()
        assert np.linalg.eigvalsh(mixtures.covariances).min() > 0
        assert mixtures.weights.min() > 0


def test_identical_households_get_a_finite_release():
    private = PrivateRecords(np.full((200, 12), -1.0))
    for epsilon in (1.0, 100.0):
        released = Proven.calibrate(settings(private, epsilon)).release(private, StudyNoise(5, "same"), 50)
        assert np.isfinite(released.mixtures.covariances).all()


def test_chunks_of_draws_add_up_and_draws_differ(private, monkeypatch):
    monkeypatch.setattr("meterdp.mechanisms.proven.rounds.CHUNK_BYTES", 2e6)
    released = Proven.calibrate(settings(private)).release(private, StudyNoise(6, "chunks"), 7)
    assert len(released.mixtures) == len(released.projected) == len(released.responsibilities_model) == 7
    assert len(np.unique(released.mixtures.weights[:, 0])) == 7


def test_same_stream_gives_the_same_release(private):
    sound = Proven.calibrate(settings(private))
    one, two = (sound.release(private, StudyNoise(7, "twice"), 3).mixtures for _ in range(2))
    assert (one.means == two.means).all()
    assert math.isclose(one.covariances.sum(), two.covariances.sum(), rel_tol=0)
