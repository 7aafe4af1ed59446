"""Privacy of the group forecast, measured: the loss between neighbouring households against the claimed curve."""

from __future__ import annotations

import dataclasses
import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import beta, chi2, kstest

from meterdp.core.noise import StudyNoise
from meterdp.groupforecast.mechanism import BINS, ForecastRecords, GroupForecast
from meterdp.groupforecast.plan import HOURS, GroupPublic
from meterdp.privacy import gaussian
from tests.statistical.replay import exceeding, gaussian_loss, margin, recorded, replayed
from tests.unit.groupforecast.made_up import SHAPE, records_of, town

# What a run spends is exact, so few runs see too little noise: of 120 losses with half of it, whose squares are a
# quarter, the sum is seen at 1e-9 even if it is larger by four standard deviations.
DRAWS, MANY = 120, 400
MARGIN = margin(DRAWS)
N = 40
LEVELS = (0.0, 0.5, 1.0, 2.0, 4.0)
CIRCUIT = tuple((np.arange(N) % 4).tolist())


@cache
def calibrate(epsilon, groups="one"):
    circuit = CIRCUIT if groups == "circuit" else None
    return GroupForecast.calibrate(GroupPublic(epsilon, 1e-5, N, 0.5, 20.0, SHAPE, groups, circuit))


@pytest.fixture(scope="module")
def x():
    return records_of(town(N, 14)).x


def record(mechanism, x, seed, draws=DRAWS):
    """Release ``draws`` times through the public call; return the log and the result of each."""
    noise = StudyNoise(seed, "group privacy")
    return recorded(mechanism, lambda spied: [spied.release(ForecastRecords(x), noise) for _ in range(draws)])


def same(one, two):
    return all(np.array_equal(a, b) for a, b in zip(vars(one).values(), vars(two).values(), strict=True))


def losses(mechanism, runs, neighbour):
    """Return the privacy loss and the Gaussian mu of every run.

    Along recorded answers the release must be the same to the bit. On the way the loss of each measurement must be
    N(mu^2/2, mu^2), by its sum of squares; false alarm 1e-9 a query.
    """
    loss, mu2 = np.zeros((2, len(runs)))
    squares = {}
    for i, (log, released) in enumerate(runs):
        exact, again = replayed(lambda answer: mechanism.run(neighbour, answer), log)
        assert same(again, released)
        for (query, own, answer), other in zip(log, exact, strict=True):
            here, moved = gaussian_loss(query, own, other, answer)
            loss[i] += here
            mu2[i] += moved
            if moved > 1e-12:  # below that the difference of two sums is rounding
                squares.setdefault(query.name, []).append((here - moved / 2) ** 2 / moved)
    for values in squares.values():
        assert min(chi2.sf(sum(values), len(values)), chi2.cdf(sum(values), len(values))) > 0.5e-9
    return loss, np.sqrt(mu2)


def row(level, ratio=None, at=0):
    """A record: its level, its shape, and all hours in one bin."""
    shares = np.zeros((HOURS, BINS))
    shares[:, at] = 1
    shape = np.tile(np.array(SHAPE), 2) if ratio is None else np.full(48, ratio)
    return np.concatenate([[level], shape, shares.ravel()])


def replaced(x, index, value):
    out = x.copy()
    out[index] = value
    return out


def neighbours(x):
    """Pairs (D, D'): random, extreme in all parts at once, in each of them, missing."""
    shape = row(5.0)
    away = shape.copy()
    away[1:49:2] += 100
    return {
        "another household": (x, replaced(x, 0, x[1])),
        "lowest to highest": (replaced(x, 5, row(0.0, -1e3, 0)), replaced(x, 5, row(1e9, 1e3, BINS - 1))),
        "another shape": (replaced(x, 5, shape), replaced(x, 5, away)),
        "another spread": (replaced(x, 5, row(1.0)), replaced(x, 5, row(1.0, at=BINS - 1))),
        "no readings": (replaced(x, 5, row(1e9, 1e3)), replaced(x, 5, np.nan)),
    }


PAIRS = list(neighbours(np.zeros((8, 49 + HOURS * BINS))))


@pytest.mark.parametrize(
    ("groups", "epsilon", "pair"),
    [*(("one", 4.0, pair) for pair in PAIRS), ("one", 1.5, PAIRS[1]), ("circuit", 4.0, PAIRS[1])],
)
def test_replacing_a_household_stays_below_the_claimed_curve(x, groups, epsilon, pair):
    """Exact: no run spends more than mu. Monte Carlo: false alarm 1e-9 a comparison."""
    mechanism = calibrate(epsilon, groups)
    one, two = neighbours(x)[pair]
    for own, neighbour in ((one, two), (two, one)):
        loss, mu = losses(mechanism, record(mechanism, own, len(pair)), neighbour)
        assert mu.max() <= mechanism.mu * (1 + 1e-9)
        for level in LEVELS:
            assert exceeding(loss, level) <= gaussian.delta(mechanism.mu, level) + MARGIN
    assert gaussian.delta(mechanism.mu, epsilon) <= 1e-5


def test_the_claim_is_not_wasteful(x):
    """The extreme pair spends four fifths of mu."""
    mechanism = calibrate(6.0)
    one, two = neighbours(x)["lowest to highest"]
    _, mu = losses(mechanism, record(mechanism, two, 1), one)
    assert mu.max() > 0.75 * mechanism.mu


def test_replaying_the_same_records_gives_no_loss(x):
    mechanism = calibrate(6.0)
    loss, mu = losses(mechanism, record(mechanism, x, 2, 50), x)
    assert (loss == 0).all() and (mu == 0).all()


@pytest.mark.parametrize("groups", ["one", "circuit"])
def test_noise_has_the_calibrated_scale(x, groups):
    """Kolmogorov-Smirnov of all entries at the scale charged, and at 1.3 and 0.77 times it; errors below 1e-9.

    What the scales spend is added up here from diameters written out again, and must be the mu of the curve.
    """
    mechanism = calibrate(6.0, groups)
    logs = [log for log, _ in record(mechanism, x, 3, 250)]
    queries = [query for query, _, _ in logs[0]]
    assert [query.name for query in queries] == ["levels", "profile"], "both are asked once, in order"
    spent = math.sqrt(sum((d / q.noise_std) ** 2 for q, d in zip(queries, (math.sqrt(2), 1.0), strict=True)))
    assert spent == pytest.approx(gaussian.mu_for(6.0, 1e-5), rel=1e-12)
    for position, query in enumerate(queries):
        noise = np.array([(log[position][2] - log[position][1]).ravel() for log in logs]) / query.noise_std
        for factor, accepted in ((1.0, True), (1.3, False), (0.77, False)):
            assert (kstest(noise.ravel() * factor, "norm").pvalue > 1e-9) == accepted


def test_every_number_has_randomness_of_its_own(x):
    """Correlations r over the draws of pairs of noises; Bonferroni at 1e-9 in all.

    Of independent normal numbers r^2 has the distribution Beta(1/2, MANY/2 - 1). The first entries of both are taken.
    """
    rows = [
        np.concatenate([(answer - own).ravel()[:60] for _, own, answer in log])
        for log, _ in record(calibrate(2.0), x, 8, MANY)
    ]
    data = np.array(rows)
    pairs = data.shape[1] * (data.shape[1] - 1) / 2
    largest = np.abs(np.corrcoef(data.T) - np.eye(data.shape[1])).max()
    assert largest <= math.sqrt(beta.isf(1e-9 / pairs, 0.5, MANY / 2 - 1))


def test_a_mutant_that_randomises_too_little_is_caught(x):
    """Half the noise spends more than mu."""
    mechanism = calibrate(4.0)
    plan = mechanism.plan
    thin = dataclasses.replace(plan, profile=dataclasses.replace(plan.profile, noise_std=plan.profile.noise_std / 2))
    one, two = neighbours(x)["lowest to highest"]
    careless = dataclasses.replace(mechanism, plan=thin)
    assert losses(careless, record(careless, two, 5), one)[1].max() > plan.mu
