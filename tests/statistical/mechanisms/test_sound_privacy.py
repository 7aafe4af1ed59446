"""Privacy of the sound release, measured: the loss between neighbouring exports against the claimed curve.

Given the earlier answers every measurement is Gaussian, so the privacy loss of a run is a closed form of its record.
The test takes the record of the released code itself, noise included, and replays it on a neighbour.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest

from meterdp.accounting import gdp
from meterdp.mechanisms.sound import Sound
from meterdp.release.noise import StudyNoise
from tests.unit.mechanisms.made_up import HIGH, LOW, households, public, records

DRAWS = 4000
# Largest deviation of a mean of DRAWS numbers in [0, 1], with probability at most 1e-9 (Hoeffding).
MARGIN = math.sqrt(math.log(1e9) / (2 * DRAWS))


def record(sound, private, seed, monkeypatch):
    """Release and return the (step, exact stack, noisy stack) of every measurement."""
    log, run = [], Sound.run

    def logged(self, x, measure, draws):
        def spy(step, stack):
            noisy = measure(step, stack)
            log.append((step, np.array(stack), noisy))
            return noisy

        return run(self, x, spy, draws)

    with monkeypatch.context() as patch:
        patch.setattr(Sound, "run", logged)
        patch.setattr("meterdp.mechanisms.sound.CHUNK_BYTES", 1e12)  # one chunk, one log
        sound.release(private, StudyNoise(seed, "privacy"), DRAWS)
    return log


def replay(sound, neighbour, log):
    """Return the exact stacks of ``neighbour`` along the recorded answers."""
    stacks, answers = [], iter(log)

    def measure(step, stack):
        stacks.append(np.array(stack))
        return next(answers)[2]

    sound.run(neighbour, measure, DRAWS)
    return stacks


def losses(log, stacks):
    """Return privacy loss ln p(answers | D) / p(answers | D') and the conditional mu of every run."""
    loss, mu2 = np.zeros(DRAWS), np.zeros(DRAWS)
    for (step, own, noisy), other in zip(log, stacks, strict=True):
        axes = tuple(range(1, own.ndim))
        variance = step.noise_std**2
        loss += (((noisy - other) ** 2).sum(axis=axes) - ((noisy - own) ** 2).sum(axis=axes)) / (2 * variance)
        mu2 += ((own - other) ** 2).sum(axis=axes) / variance
    return loss, np.sqrt(mu2)


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


@pytest.fixture(scope="module")
def private():
    return records(0, n=120, d=6, k=3)


@pytest.mark.parametrize("pair", list(neighbours(np.zeros((8, 6)))))
def test_loss_between_neighbours_stays_below_the_claimed_curve(private, pair, monkeypatch):
    """Exact part: no run spends more than mu. Monte Carlo part: hockey-stick divergence, false alarm 1e-9 each."""
    for epsilon in (1.0, 6.0):
        sound = Sound.calibrate(public(private, epsilon))
        one, two = neighbours(private.x)[pair]
        for x, neighbour in ((one, two), (two, one)):
            data = type(private)(x, private.fit)
            log = record(sound, data, seed=len(pair), monkeypatch=monkeypatch)
            loss, mu = losses(log, replay(sound, neighbour, log))
            assert mu.max() <= sound.mu * (1 + 1e-9)
            for level in (0.0, 0.25, 0.5, 1.0, 2.0):
                measured = np.maximum(0, -np.expm1(level - loss)).mean()
                assert measured <= gdp.delta(sound.mu, level) + MARGIN


def test_the_claim_is_not_wasteful(private, monkeypatch):
    """Some neighbour spends at least half of mu, so the noise is not far above what the proof needs."""
    sound = Sound.calibrate(public(private, 2.0))
    one, two = neighbours(private.x)["lowest to highest"]
    log = record(sound, type(private)(one, private.fit), 1, monkeypatch)
    _, mu = losses(log, replay(sound, two, log))
    assert mu.max() > 0.5 * sound.mu


def test_replaying_the_same_records_gives_no_loss(private, monkeypatch):
    sound = Sound.calibrate(public(private, 2.0))
    log = record(sound, private, 2, monkeypatch)
    loss, mu = losses(log, replay(sound, private.x, log))
    assert (loss == 0).all()
    assert (mu == 0).all()


@pytest.mark.parametrize(("factor", "accepted"), [(1.0, True), (1.3, False), (0.77, False)])
def test_noise_has_the_calibrated_scale(private, factor, accepted, monkeypatch):
    """Kolmogorov-Smirnov against the scale that the sensitivity and the share of mu^2 demand; errors below 1e-9.

    The scale is computed here from sensitivities and shares written out again, not taken from the steps.
    """
    settings = public(private, 2.0)
    sound = Sound.calibrate(settings)
    log = record(sound, private, 3, monkeypatch)
    mu = gdp.mu_for(2.0, 1e-5)
    rounds = len(log) - 2
    a, b, c = 0.2, 0.5, 0.8
    final = math.sqrt(max(2 * (a * a + b * b + c * c), 2 * b * b + 2 * c * c + b**4 / (2 * c * c)))
    expected = [math.sqrt(2 / settings.radius_share)]
    expected += [2.0 / math.sqrt(settings.label_share / rounds)] * rounds
    expected += [final / math.sqrt(1 - settings.radius_share - settings.label_share)]
    for (_, own, noisy), unit in zip(log, expected, strict=True):
        noise = (noisy - own).reshape(DRAWS, -1)
        std = unit / mu
        assert (kstest(noise[:, 0] / std * factor, "norm").pvalue > 1e-9) == accepted
        assert (kstest(noise[:, -1] / std * factor, "norm").pvalue > 1e-9) == accepted


def test_a_mutant_with_too_little_noise_is_caught(private, monkeypatch):
    """Noise of half the scale spends more than the claim allows on the same pair."""
    sound = Sound.calibrate(public(private, 6.0))
    thin = Sound(
        sound.public, sound.mu, tuple(type(s)(s.name, s.sensitivity, 0.5 * s.noise_std) for s in sound.steps)
    )
    one, two = neighbours(private.x)["lowest to highest"]
    log = record(thin, type(private)(one, private.fit), 4, monkeypatch)
    loss, mu = losses(log, replay(thin, two, log))
    assert mu.max() > sound.mu
    assert np.maximum(0, -np.expm1(-loss)).mean() > gdp.delta(sound.mu, 0.0) + MARGIN
