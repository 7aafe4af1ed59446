"""Privacy of the sound releases, measured: the loss between neighbouring exports against the claimed curve."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import beta, chi2, kstest

from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings
from meterdp.mechanisms.proven.domain import Ball
from meterdp.mechanisms.proven.label_flip import ProvenLabelFlip
from meterdp.mechanisms.proven.mechanism import Proven, calibrate_ball
from meterdp.mechanisms.proven.plan import ProvenSettings, noise_entries
from meterdp.mechanisms.proven.prior_mixture import PriorMixture
from meterdp.mechanisms.proven.stack import StackWeights, moment_stack
from meterdp.mechanisms.reference.label_flip import LabelledRecords
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import fit_labels
from meterdp.privacy import gaussian
from meterdp.privacy.gaussian import rounded
from meterdp.privacy.mechanism import clip_to_unit_ball
from meterdp.privacy.noise import GRID, SafeNoise
from tests.statistical.replay import exceeding, gaussian_loss, heard, margin, recorded, replayed
from tests.unit.mechanisms.made_up import FLOOR, HIGH, LOW, households, prior_mixture

# What a run spends is exact, and 120 runs tell the distribution of its loss from one with half the noise: the squares
# are a quarter, which is seen at 1e-9 even if their sum is larger by four standard deviations. Of 1,000 draws the
# variance of one entry is known to 27 % and a correlation to 0.25 at 1e-9 over all entries and pairs: noise of 1.3 or
# 0.77 times the scale and noise used twice are seen. Only a curve that is exceeded by little takes 4,000.
DRAWS, MANY, MOST = 120, 1000, 4000
# Marginals take a distribution of energies each: 60 runs are exact, too, and know the variance of one step's noise
# to 20 %.
FEW = 60
N, D, K = 120, 6, 3


@pytest.fixture(scope="module")
def x():
    return households(0, N, D, K)


@pytest.fixture(autouse=True)
def one_chunk(monkeypatch):
    monkeypatch.setattr("meterdp.mechanisms.proven.rounds.CHUNK_BYTES", 1e12)


def calibrate(epsilon, adjacency="replace_one", **others):
    settings = ProvenSettings(adjacency, records_guess=N, **others)
    return Proven.calibrate(PublicSettings(epsilon, 1e-5, K, D, N, LOW, HIGH, FLOOR, settings))


def record(mechanism, private, seed, draws=DRAWS, noise=None):
    """Release, with seeded noise if none is given; return the (step, exact stack, noisy stack) of every measurement,
    and what was released.
    """
    noise = StudyNoise(seed, "privacy") if noise is None else noise
    (found,) = recorded(mechanism, lambda spied: spied.release(private, noise, draws))
    return found


def replay(mechanism, neighbour, record):
    """Return the exact stacks of ``neighbour``, the data arguments of ``run``, along the recorded answers.

    The same answers must give the same release, bit by bit: whatever differs was not paid for.
    """
    log, released = record
    stacks, again = replayed(lambda answer: mechanism.run(*neighbour, answer, len(released.projected)), log)
    assert np.array_equal(again.projected, released.projected)
    for name in ("mixtures", "responsibilities_model"):
        one, two = getattr(again, name), getattr(released, name)
        for field in ("weights", "means", "covariances") if one is not None else ():
            assert np.array_equal(getattr(one, field), getattr(two, field)), field
    return stacks


def losses(log, stacks):
    """Return privacy loss ln p(answers | D) / p(answers | D') and the conditional mu of every step of every run."""
    steps = [
        gaussian_loss(step, own, other, noisy, tuple(range(1, own.ndim)))
        for (step, own, noisy), other in zip(log, stacks, strict=True)
    ]
    loss, mu_squared = np.swapaxes(steps, 0, 1)
    return loss, np.sqrt(mu_squared)


def total(loss, mu):
    """Return loss and mu of whole runs."""
    return loss.sum(axis=0), np.sqrt((mu**2).sum(axis=0))


def assert_below_the_curve(mechanism, record, neighbour):
    """Exact part: no run spends more than mu. Monte Carlo parts, false alarm 1e-9 for each comparison: the loss of a
    step is N(mu^2/2, mu^2), by its sum of squares, and the hockey-stick divergence stays below the curve.
    """
    return assert_steps_below_the_curve(mechanism, *losses(record[0], replay(mechanism, neighbour, record)))


def assert_steps_below_the_curve(mechanism, *steps):
    """The same of losses and conditional mu of every step."""
    loss, mu = total(*steps)
    assert mu.max() <= mechanism.mu * (1 + 1e-9)
    for own_loss, own_mu in zip(*steps, strict=True):
        moved = own_mu > 1e-6 * mechanism.mu  # below that the difference of two sums is rounding
        squares = ((own_loss[moved] / own_mu[moved] - own_mu[moved] / 2) ** 2).sum()
        count = np.count_nonzero(moved)
        assert count == 0 or min(chi2.sf(squares, count), chi2.cdf(squares, count)) > 0.5e-9
    for level in (0.0, 0.25, 0.5, 1.0, 2.0):
        assert exceeding(loss, level) <= gaussian.delta(mechanism.mu, level) + margin(len(loss))
    return mu


def assert_scale(noise):
    """Noise (draws, entries) over the scale that is charged for passes, and at 1.3 and 0.77 times it is seen.

    Each entry for itself by its sum of squares against chi^2, and all entries of a step together by
    Kolmogorov-Smirnov; false alarm below 1e-9 for each step and factor.
    """
    for factor, accepted in ((1.0, True), (1.3, False), (0.77, False)):
        squares, rare = factor**2 * (noise**2).sum(axis=0), 1e-9 / (2 * noise.shape[1])
        kept = (chi2.sf(squares, len(noise)) > rare) & (chi2.cdf(squares, len(noise)) > rare)
        assert kept.all() if accepted else not kept.any(), "each entry for itself"
        assert (kstest(factor * noise.ravel(), "norm").pvalue > 1e-9) == accepted


def replaced(x, index, value):
    out = x.copy()
    out[index] = value
    return out


def neighbours(x):
    """Pairs (D, D'): random, extreme, into a lonely corner, and across the clipping radius in one class."""
    zigzag = np.where(np.arange(x.shape[1]) % 2, 0.9, -0.9)
    return {
        "another household": (x, replaced(x, 0, households(9, 1, x.shape[1])[0])),
        "lowest to highest": (replaced(x, 3, LOW), replaced(x, 3, HIGH)),
        "far corner": (x, replaced(x, 5, np.where(np.arange(x.shape[1]) < 2, HIGH, LOW))),
        "opposite in one class": (replaced(x, 7, -1.2 + zigzag), replaced(x, 7, -1.2 - zigzag)),
        "public default": (x, replaced(x, 0, -1.2)),
    }


@pytest.mark.parametrize("epsilon", [1.0, 6.0])
@pytest.mark.parametrize("pair", list(neighbours(np.zeros((8, 6)))))
def test_replacing_a_household_stays_below_the_claimed_curve(x, pair, epsilon):
    sound = calibrate(epsilon, rounds=3)
    one, two = neighbours(x)[pair]
    for own, neighbour in ((one, two), (two, one)):
        log = record(sound, PrivateRecords(own), len(pair))
        assert_below_the_curve(sound, log, (neighbour,))


@pytest.mark.parametrize("epsilon", [1.0, 6.0])
@pytest.mark.parametrize("last", [LOW, HIGH, "corner", "random"])
def test_adding_or_removing_a_household_stays_below_the_claimed_curve(x, last, epsilon):
    values = {"corner": np.where(np.arange(D) < 2, HIGH, LOW), "random": households(9, 1, D)[0]}
    x = replaced(x, -1, values.get(last, last))
    sound = calibrate(epsilon, "add_remove", rounds=3)
    for own, neighbour in ((x, x[:-1]), (x[:-1], x)):
        log = record(sound, PrivateRecords(own), 5)
        assert_below_the_curve(sound, log, (neighbour,))


@pytest.mark.parametrize("rounds", [None, 1])
@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_adapting_a_prior_mixture_stays_below_the_claimed_curve(x, adjacency, rounds):
    sound = calibrate(2.0, adjacency, rounds=rounds, prior_mixture=prior_mixture(D))
    assert (sound.plan.rounds == ()) == (rounds is None)
    pairs = neighbours(x).values() if adjacency == "replace_one" else [(x, x[:-1]), (replaced(x, -1, HIGH), x[:-1])]
    for one, two in pairs:
        for own, neighbour in ((one, two), (two, one)):
            log = record(sound, PrivateRecords(own), 11)
            assert_below_the_curve(sound, log, (neighbour,))


def test_noise_of_a_prior_mixture_has_the_calibrated_scale(x):
    """With a, b, c, e = 0.7, 0.5, 0.85, 0.9: 2 (a^2 + b^2 + c^2) + b^4/(2 c^2) + e^2 replaced, sums of squares added.

    The second of two steps has 0.7 of mu^2.
    """
    for adjacency, square, left in (("replace_one", 3.778253, 1.0), ("add_remove", 2.2725, 0.995)):
        sound = calibrate(2.0, adjacency, prior_mixture=prior_mixture(D))
        log, _ = record(sound, PrivateRecords(x), 12, MANY)
        assert [s.name for s, _, _ in log if s.name != "records"] == ["adapt 1", "adapt 2"]
        _, own, noisy = log[-1]
        assert_scale((noisy - own).reshape(MANY, -1) / (math.sqrt(square / left / 0.7) / gaussian.mu_for(2.0, 1e-5)))


def in_a_ball(x, value):
    """Records around the origin, one of them ``value``."""
    return replaced(0.3 * (x - x.mean()), 4, value)


def in_unit_ball(prior):
    """The classes of a prior mixture of loads at a tenth of their size around the origin."""
    of = prior.mixture
    return PriorMixture(Mixture(of.weights, 0.1 * (of.means - of.means.mean()), 0.01 * of.covariances), "in a ball")


BALL_ENDS = {
    "opposite points": (np.eye(D)[0], -np.eye(D)[0]),
    "opposite, far outside": (1e6 * np.ones(D), -1e6 * np.ones(D)),
    "neighbours on the surface": (np.eye(D)[0], np.eye(D)[1]),
    "centre and surface": (np.zeros(D), np.ones(D)),
}


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
@pytest.mark.parametrize("pair", list(BALL_ENDS))
@pytest.mark.parametrize("start", ["own start", "prior mixture"])
def test_a_release_of_records_in_a_ball_stays_below_the_claimed_curve(x, pair, adjacency, start):
    """Records in a ball, two rounds after the first moments: all that an adversary sees of them."""
    classes, prior = (K, None) if start == "own start" else (None, in_unit_ball(prior_mixture(D)))
    ball = calibrate_ball(classes, D, N, 2.0, 1e-5, Ball(1.0), adjacency=adjacency, rounds=2, prior_mixture=prior)
    one, two = (in_a_ball(x, end) for end in BALL_ENDS[pair])
    if adjacency == "add_remove":
        two = np.delete(one, 4, axis=0)
    for own, neighbour in ((one, two), (two, one)):
        log = record(ball, PrivateRecords(own), 7)
        mu = assert_below_the_curve(ball, log, (neighbour,))
    assert mu.max() > 0.25 * ball.mu or pair != "opposite points"


def test_noise_of_a_prior_mixture_in_a_ball_has_the_calibrated_scale(x):
    """As for loads with (a, b, c) = (0.7, 0.5, 0.85), but nothing for energy."""
    for adjacency, square, left in (("replace_one", 2.968253, 1.0), ("add_remove", 1.4625, 0.995)):
        ball = calibrate_ball(
            None, D, N, 2.0, 1e-5, Ball(1.0), adjacency=adjacency, prior_mixture=in_unit_ball(prior_mixture(D))
        )
        log, _ = record(ball, PrivateRecords(in_a_ball(x, 0.1)), 12, MANY)
        _, own, noisy = log[-1]
        assert_scale((noisy - own).reshape(MANY, -1) / (math.sqrt(square / left / 0.7) / gaussian.mu_for(2.0, 1e-5)))


def test_noise_of_records_in_a_ball_has_the_calibrated_scale(x):
    """As for loads, with (a, b, c) = (0.3, 0.8, 1): max(2 (a^2 + b^2 + c^2), 2 b^2 + 2 c^2 + b^4 / (2 c^2))."""
    ball = calibrate_ball(K, D, N, 2.0, 1e-5, Ball(1.0), rounds=2)
    log, _ = record(ball, PrivateRecords(in_a_ball(x, 0.1)), 8, MANY)
    mu, whole = gaussian.mu_for(2.0, 1e-5), math.sqrt(max(2 * 1.73, 2 * 0.64 + 2 + 0.64**2 / 2))
    pooled = min(0.25, max(0.05, 12 / (N * mu / D)))
    shares = (1 - 0.05 - pooled) * np.array([1.0, 2.2]) / 3.2
    expected = [math.sqrt(2 / 0.05), math.sqrt((2 * 0.16 + 2 + 0.16**2 / 2) / pooled), *(whole / np.sqrt(shares))]
    for (step, own, noisy), unit in zip(log, expected, strict=True):
        assert step.noise_std == pytest.approx(unit / mu, rel=1e-12)
        assert_scale((noisy - own).reshape(MANY, -1) / (unit / mu))


@pytest.mark.parametrize("epsilon", [1.0, 6.0])
@pytest.mark.parametrize("index", [0, 17, "outlier"])
def test_flipping_a_label_stays_below_the_claimed_curve(x, index, epsilon):
    labels = np.arange(N) % K + 1
    if index == "outlier":
        x, index = replaced(x, 3, HIGH), 3
    flipped = labels.copy()
    flipped[index] = labels[index] % K + 1
    mechanism = ProvenLabelFlip.calibrate(PublicSettings(epsilon, 1e-5, K, D, N, LOW, HIGH, FLOOR))
    for own, neighbour in ((labels, flipped), (flipped, labels)):
        log = record(mechanism, LabelledRecords(x, fit_labels(x, own, FLOOR)), 6)
        mu = assert_below_the_curve(mechanism, log, (x, neighbour))
    assert mu.max() > 0.3 * mechanism.mu, "the noise is not far above what the proof needs"


def test_the_claim_is_not_wasteful(x):
    """Some neighbour spends at least half of mu, so the noise is not far above what the proof needs."""
    sound = calibrate(2.0)
    one, two = neighbours(x)["lowest to highest"]
    log = record(sound, PrivateRecords(one), 1)
    _, mu = total(*losses(log[0], replay(sound, (two,), log)))
    assert mu.max() > 0.5 * sound.mu


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_replaying_the_same_records_gives_no_loss(x, adjacency):
    sound = calibrate(2.0, adjacency)
    log = record(sound, PrivateRecords(x), 2)
    loss, mu = losses(log[0], replay(sound, (x,), log))
    assert (loss == 0).all()
    assert (mu == 0).all()


def test_noise_has_the_calibrated_scale(x):
    """The scale is computed here from sensitivities and shares written out again, not taken from the steps."""
    sound = calibrate(2.0, rounds=3)
    log, _ = record(sound, PrivateRecords(x), 3, MANY)
    mu, (a, b, c) = gaussian.mu_for(2.0, 1e-5), (0.3, 0.5, 1.0)
    pooled = min(0.25, max(0.05, 12 / (N * mu / D)))
    growth = np.array([1.0, 1.1, 2 * 1.1**2])
    shares = (1 - 0.05 - pooled) * growth / growth.sum()
    whole = math.sqrt(2 * (a * a + b * b + c * c))
    expected = [math.sqrt(2 / 0.05), math.sqrt((2 * 0.16 + 2 + 0.16**2 / 2) / pooled), *(whole / np.sqrt(shares))]
    assert [step for step, _, _ in log] == list(sound.plan.steps), "every step is taken once, in order"
    for (step, own, noisy), unit in zip(log, expected, strict=True):
        assert step.noise_std == pytest.approx(unit / mu, rel=1e-12)
        assert_scale((noisy - own).reshape(MANY, -1) / (unit / mu))


def test_noise_of_the_other_adjacencies_is_what_sensitivity_and_share_demand():
    """Written out again: (a, b, c) = (0.3, 0.5, 1), one record more or less, or one part that changes its class."""
    mu, whole = gaussian.mu_for(2.0, 1e-5), math.sqrt(0.3**2 + 0.5**2 + 1)
    pooled = min(0.25, max(0.05, 12 / (N * mu / D)))
    growth = np.array([1.0, 1.1, 2 * 1.1**2])
    shares = (1 - 0.005 - 0.05 - pooled) * growth / growth.sum()
    expected = [1 / math.sqrt(0.005), 1 / math.sqrt(0.05), math.sqrt(1.16 / pooled), *(whole / np.sqrt(shares))]
    steps = calibrate(2.0, "add_remove", rounds=3).plan.steps
    assert [s.noise_std for s in steps] == pytest.approx([unit / mu for unit in expected], rel=1e-12)
    growth = np.array([1.0, 1.1, 1.1**2, 2 * 1.1**3])
    steps = ProvenLabelFlip.calibrate(PublicSettings(2.0, 1e-5, K, D, N, LOW, HIGH, FLOOR)).steps
    expected = math.sqrt(2) * whole / np.sqrt(growth / growth.sum()) / mu
    assert [s.noise_std for s in steps] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
@pytest.mark.parametrize("classes", [None, prior_mixture(D)], ids=["own start", "prior_mixture"])
def test_every_number_of_a_release_has_noise_of_its_own(x, adjacency, classes):
    """Empirical correlations r over the draws of all pairs of entries of all steps; Bonferroni at 1e-9 in all.

    Of independent normal numbers r^2 has the distribution Beta(1/2, MANY/2 - 1).
    """
    log, _ = record(calibrate(2.0, adjacency, rounds=3, prior_mixture=classes), PrivateRecords(x), 8, MANY)
    noise = np.hstack([((noisy - own) / step.noise_std).reshape(MANY, -1) for step, own, noisy in log])
    pairs = noise.shape[1] * (noise.shape[1] - 1) / 2
    largest = np.abs(np.corrcoef(noise.T) - np.eye(noise.shape[1])).max()
    assert largest**2 <= beta.isf(1e-9 / pairs, 0.5, MANY / 2 - 1)


@pytest.mark.parametrize("classes", [None, prior_mixture(D)], ids=["own start", "prior_mixture"])
def test_a_release_of_nobody_runs_like_one_of_somebody(classes):
    """Under add_remove the empty export has neighbours, too."""
    sound = calibrate(2.0, "add_remove", rounds=2, prior_mixture=classes)
    log = record(sound, PrivateRecords(np.empty((0, D))), 9)
    assert_below_the_curve(sound, log, (households(9, 1, D),))


@pytest.mark.parametrize("domain", ["loads", "ball"])
def test_a_mutant_with_too_little_noise_is_caught(x, domain):
    """Noise of half the scale spends more than the claim allows on the same pair."""
    if domain == "loads":
        sound, (one, two) = calibrate(6.0), neighbours(x)["lowest to highest"]
    else:
        sound = calibrate_ball(K, D, N, 6.0, 1e-5, Ball(1.0), rounds=2)
        one, two = (in_a_ball(x, end) for end in BALL_ENDS["opposite points"])
    steps = tuple(dataclasses.replace(s, noise_std=0.5 * s.noise_std) for s in sound.plan.steps)
    thin = dataclasses.replace(sound, plan=dataclasses.replace(sound.plan, steps=steps))
    log = record(thin, PrivateRecords(one), 4, MOST)
    loss, mu = total(*losses(log[0], replay(thin, (two,), log)))
    assert mu.max() > sound.mu
    assert exceeding(loss, 0.0) > gaussian.delta(sound.mu, 0.0) + margin(MOST)


@pytest.fixture
def small_pool(monkeypatch):
    """Fewer profiles for the distribution of energies, a public constant, make a test of many runs quick."""
    monkeypatch.setattr("meterdp.mechanisms.proven.marginals.POOL", 2000)


def record_with_marginals(sound, x, noise, draws):
    """Run all steps, marginals of every mixture included; return their record, the mixtures and the marginals."""
    log = []
    measure = heard(lambda step, stack: noise.add_gaussian(stack, step.noise_std), log)
    return log, *sound.run_whole(x, measure, draws)


def replay_with_marginals(sound, neighbour, record):
    """Return the exact stacks of the neighbour along the recorded answers; the same must be released, bit by bit."""
    log, released, beside = record
    stacks, (_, repeated) = replayed(lambda answer: sound.run_whole(neighbour, answer, len(released.projected)), log)
    for one, two in zip(repeated, beside, strict=True):
        assert np.array_equal(one.means, two.means) and one.noise_std == two.noise_std
    assert np.array_equal(repeated[0].exponents, beside[0].exponents)
    return stacks


@pytest.mark.parametrize("epsilon", [1.0, 6.0])
@pytest.mark.parametrize("pair", ["lowest to highest", "far corner", "another household", "one more"])
def test_marginals_and_mixture_together_stay_below_the_claimed_curve(x, pair, epsilon, small_pool):
    adjacency = "add_remove" if pair == "one more" else "replace_one"
    sound = calibrate(epsilon, adjacency, rounds=1, marginal_share=0.5)
    one, two = (replaced(x, -1, HIGH), x[:-1]) if pair == "one more" else neighbours(x)[pair]
    for own, neighbour in ((one, two), (two, one)):
        log = record_with_marginals(sound, own, StudyNoise(len(pair), "marginals"), FEW)
        steps = losses(log[0], replay_with_marginals(sound, neighbour, log))
        assert_steps_below_the_curve(sound, *steps)
        if pair in ("lowest to highest", "one more"):
            last = sound.plan.step("marginals")
            assert steps[1][-1].max() > 0.9 * last.mu, "the noise is not far above what the proof needs"


def test_noise_of_marginals_has_the_calibrated_scale(x, small_pool):
    """Sum of squares of every entry against chi^2, false alarm 1e-9; the scale is written out again."""
    sound = calibrate(2.0, rounds=1, marginal_share=0.5)
    log, _, _ = record_with_marginals(sound, x, StudyNoise(11, "marginals"), FEW)
    step, own, noisy = log[-1]

    def ends(count):
        return 8 * sum(1 / j for j in range(1, count + 1, 2))

    expected = math.sqrt(D * ends(4) + 1.5**2 * (ends(12) + ends(8)) + 3**2) / (
        gaussian.mu_for(2.0, 1e-5) * math.sqrt(0.5)
    )
    assert step.name == "marginals" and step.noise_std == pytest.approx(expected, rel=1e-12)
    noise = (noisy - own) / expected
    squares, rare = (noise**2).sum(axis=0), 1e-9 / (2 * noise.shape[1])
    assert (chi2.sf(squares, FEW) > rare).all() and (chi2.cdf(squares, FEW) > rare).all()
    whole = (noise**2).sum()
    for factor, accepted in ((1.0, True), (1.3, False), (0.77, False)):
        tails = chi2.sf(whole * factor**2, noise.size), chi2.cdf(whole * factor**2, noise.size)
        assert (min(tails) > 0.5e-9) == accepted


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_marginals_on_the_grid_are_paid_for_to_the_last_step(x, adjacency):
    sound = calibrate(2.0, adjacency, rounds=1, marginal_share=0.5, grid=GRID)
    log = record_with_marginals(sound, replaced(x, 0, LOW), SafeNoise(), 1)
    neighbour = (
        np.vstack([replaced(x, 0, LOW), np.full(D, 1e300)]) if adjacency == "add_remove" else replaced(x, 0, 1e300)
    )
    stacks = replay_with_marginals(sound, neighbour, log)
    for (step, own, noisy), theirs in zip(log[0], stacks, strict=True):
        for stack in (own, noisy, theirs):
            assert np.array_equal(stack / GRID, np.rint(stack / GRID))
        assert np.linalg.norm(own - theirs) <= step.sensitivity
    assert total(*losses(log[0], stacks))[1].max() <= sound.mu


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
@pytest.mark.parametrize(("records", "dimension", "own_start"), [(1, D, True), (10_000, 12, True), (300, D, False)])
def test_a_release_on_the_grid_is_paid_for_to_the_last_step(adjacency, records, dimension, own_start):
    """One draw with release noise, replayed on neighbours: whole steps only, and never further than is charged."""
    x = households(3, max(records, K), dimension, K)
    classes = None if own_start else prior_mixture(dimension)
    settings = ProvenSettings(adjacency, records_guess=len(x), grid=GRID, prior_mixture=classes)
    mechanism = Proven.calibrate(PublicSettings(2.0, 1e-5, K, dimension, len(x), LOW, HIGH, FLOOR, settings))
    log = record(mechanism, PrivateRecords(x), 0, 1, SafeNoise())
    generator = np.random.default_rng(4)
    for at, other in (
        (0, np.full(dimension, 1e300)),
        (-1, np.full(dimension, LOW)),
        (1, generator.normal(size=dimension)),
    ):
        neighbour = x.copy()
        neighbour[at] = other
        if adjacency == "add_remove":
            neighbour = np.vstack([x, other])
        stacks = replay(mechanism, (neighbour,), log)
        for (step, own, noisy), theirs in zip(log[0], stacks, strict=True):
            for stack in (own, noisy, theirs):
                assert np.array_equal(stack / GRID, np.rint(stack / GRID))
            assert np.linalg.norm(own - theirs) <= step.sensitivity
        assert total(*losses(log[0], stacks))[1].max() <= mechanism.mu
    drawn = sum(noisy.size / (step.noise_std / GRID) ** 2 for step, _, noisy in log[0])
    assert mechanism.total_variation == pytest.approx(drawn / 8, rel=1e-6)
    assert sum(noisy.size for _, _, noisy in log[0]) <= noise_entries(K, dimension, settings)


def test_without_the_charge_for_rounding_the_grid_would_exceed_the_budget():
    """On a coarse grid records are rounded apart: the stack moves by more than that of real numbers would."""
    weights, coarse = StackWeights(0.3, 0.5, 1.0), 2.0**-3
    generator, worst = np.random.default_rng(8), 0.0
    for _ in range(4000):
        u = clip_to_unit_ball(generator.normal(size=(1, 2, 3)) * 5)
        one, two = (moment_stack(u[:, i : i + 1], weights, grid=coarse) for i in range(2))
        worst = max(worst, np.linalg.norm(one - two))
    real = weights.sensitivity("replace_one", 1)
    assert real < worst <= rounded(real, one.size, coarse)


def test_the_grid_costs_next_to_nothing_and_too_little_noise_is_refused():
    plain, on_grid = (calibrate(2.0, grid=grid) for grid in (0.0, GRID))
    assert 0 < 1 - on_grid.mu / plain.mu < 1e-5
    assert all(
        0 < b.noise_std / a.noise_std - 1 < 1e-5 for a, b in zip(plain.plan.steps, on_grid.plan.steps, strict=True)
    )
    too_small = "noise is too small for the discretisation grid"
    with pytest.raises(InputError, match=f"{too_small}; decrease epsilon"):
        calibrate(25.0, grid=GRID)
    with pytest.raises(InputError, match=f"{too_small}; decrease epsilon, or increase delta above"):
        calibrate(20.0, grid=GRID)
    with pytest.raises(ValueError, match="another grid"):
        on_grid.release(PrivateRecords(households(0, N, D, K)), StudyNoise(0), 1)
