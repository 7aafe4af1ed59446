"""Privacy of the feeder totals, measured: the loss between neighbouring records against the claimed curve."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import chi2, kstest

from meterdp.core.noise import StudyNoise
from meterdp.feeders.mechanism import FeederRecords, FeederTotals
from meterdp.feeders.plan import FeederPublic
from meterdp.privacy import gaussian
from tests.statistical.replay import exceeding, gaussian_loss, margin, recorded, replayed

DRAWS = 400
REPLAYED = 3
N, T, FEEDERS = 30, 6, 3
LEVELS = (0.0, 0.5, 1.0, 2.0)


def calibrate(epsilon, count="listed"):
    feeder = tuple((np.arange(N) % FEEDERS).tolist())
    return FeederTotals.calibrate(FeederPublic(epsilon, 1e-5, feeder, FEEDERS, T, 1, count=count))


def neighbours():
    """Pairs of records that differ in the first meter."""
    generator = np.random.default_rng(11)
    base = 2.0 * np.exp(0.5 * generator.standard_normal((N, 1)) + 0.3 * generator.standard_normal((N, T)))
    late, early = 1e6 * np.isin(np.arange(T), [3, 4]), 6.0 * (np.arange(T) == 0)
    pairs = {"little early or all late": (early, late), "nothing or a wild one": (0 * early, late**2)}
    pairs["not read"] = (np.full(T, np.nan), late)
    out = {}
    for name, sides in pairs.items():
        out[name] = [base.copy(), base.copy()]
        for x, own in zip(out[name], sides, strict=True):
            x[0] = own
    return out


def record(mechanism, x, seed, draws=DRAWS):
    """Release ``draws`` times through the public call; return the log and the result of each."""
    noise, done = StudyNoise(seed, "feeder privacy"), []

    class Brief(FeederTotals):
        def _totals(self, common, own):
            # What follows the noise takes most of the time and is looked at in a few runs only.
            done.append(None)
            return super()._totals(common, own) if len(done) <= REPLAYED else None

    brief = Brief(mechanism.public, mechanism.plan)
    return recorded(brief, lambda spied: [spied.release(FeederRecords(x), noise) for _ in range(draws)])


def losses(mechanism, runs, neighbour):
    """Return the privacy loss (R,) of every run and the Gaussian mu of the pair.

    Along the recorded answers of the first runs the neighbour's release must be the same to the bit.
    """
    sums = mechanism.sums(FeederRecords(neighbour))
    for log, released in runs[:REPLAYED]:
        there, again = replayed(lambda answer: mechanism.run(sums, answer), log)
        for name in ("total_kwh", "devices", "error_kwh"):
            assert np.array_equal(getattr(again, name), getattr(released, name)), "only answers may tell"
    # Sums follow from records alone, so the neighbour's are those of any answers.
    parts = [
        [gaussian_loss(step, own, other, answer) for (step, own, answer), other in zip(log, there, strict=True)]
        for log, _ in runs
    ]
    loss, mu2 = np.array(parts).sum(axis=1).T
    return loss, math.sqrt(mu2[0])


@pytest.mark.parametrize("count", ["listed", "measured"])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_replacing_a_meter_stays_below_the_claimed_curve(epsilon, count):
    """Also: the loss is N(mu^2/2, mu^2), and both measurements were taken on every run."""
    mechanism = calibrate(epsilon, count)
    for number, (one, two) in enumerate(neighbours().values()):
        for own, other in ((one, two), (two, one)):
            runs = record(mechanism, own, 10 * number)
            loss, mu = losses(mechanism, runs, other)
            assert 0.2 * mechanism.mu < mu <= mechanism.mu * (1 + 1e-12)
            assert kstest((loss - mu**2 / 2) / mu, "norm").pvalue > 1e-9
            for level in LEVELS:
                assert exceeding(loss, level) <= gaussian.delta(mechanism.mu, level) + margin(DRAWS)


def test_noise_has_the_variance_that_is_charged_for_and_every_entry_its_own():
    """Chi-square of every entry and correlation of any two; false alarm 1e-9 each."""
    mechanism = calibrate(2.0, "measured")
    runs = record(mechanism, neighbours()["not read"][1], 8)
    rows = np.array(
        [np.concatenate([((a - own) / step.noise_std).ravel() for step, own, a in log]) for log, _ in runs]
    )
    plan = mechanism.plan
    assert rows.shape[1] == plan.common.entries + FEEDERS * plan.own.entries
    squares = (rows**2).sum(axis=0)
    assert chi2.ppf(1e-9, DRAWS) < squares.min() and squares.max() < chi2.isf(1e-9, DRAWS)
    assert np.abs(np.corrcoef(rows.T) - np.eye(rows.shape[1])).max() < 6.2 / math.sqrt(DRAWS)


@pytest.mark.parametrize("mutant", ["noise", "level", "shape"])
def test_a_mutant_that_hides_too_little_is_caught(mutant):
    mechanism = calibrate(4.0)
    plan = mechanism.plan

    def weak(part):
        if mutant == "shape":
            return dataclasses.replace(part, radius=5 * part.radius)
        return dataclasses.replace(part, step=dataclasses.replace(part.step, noise_std=part.step.noise_std / 2))

    if mutant == "level":
        broken = dataclasses.replace(plan, level_limit=3 * plan.level_limit)
    else:
        broken = dataclasses.replace(plan, common=weak(plan.common), own=weak(plan.own))
    careless = dataclasses.replace(mechanism, plan=broken)
    one, two = neighbours()["little early or all late"]
    _, mu = losses(careless, record(careless, one, 5, draws=5), two)
    assert mu > mechanism.mu
