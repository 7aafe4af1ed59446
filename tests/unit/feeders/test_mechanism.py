"""The feeder totals: what a record can move, what becomes of bad ones, and totals without noise."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

from meterdp.audit.cases.interface import replayed
from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.feeders.mechanism import FeederRecords, FeederTotals, filled, lost_by_feeders
from meterdp.feeders.plan import GUESS_FACTOR, TAIL_STD_LOG, cosines, public_distribution
from meterdp.privacy import gaussian
from meterdp.privacy.noise import GRID, SafeNoise
from tests.unit.feeders.made_up import DAYS, FEEDER, FEEDERS, METERS, PER_DAY, calibrate, energies, public

T = DAYS * PER_DAY


def both_sums(mechanism, x):
    """The exact sums of all meters and of feeders; what follows is post-processing."""
    sums = mechanism.sums(FeederRecords(x))
    return replayed(lambda take: mechanism.run(sums, lambda step, exact: take(exact)), [np.zeros(1)] * 2)


def spent(mechanism, one, other):
    """GDP parameter of the pair: how far both measurements move, in standard deviations of their noise."""
    stds = mechanism.plan.common.step.noise_std, mechanism.plan.own.step.noise_std
    moved = zip(both_sums(mechanism, one), both_sums(mechanism, other), stds, strict=True)
    return math.sqrt(sum((((a - b) / std) ** 2).sum() for a, b, std in moved))


def records(generator):
    """A record, nasty more often than not."""
    x = generator.gamma(0.3, 3.0, T) * 10.0 ** generator.integers(-3, 4)
    at = generator.integers(T)
    nasty = [
        np.where(generator.random(T) < 0.5, np.nan, x),
        np.where(np.arange(T) == at, np.inf, x),
        1e9 * (np.arange(T) == at),
        -x,
        *(np.full(T, value) for value in (0.0, 1e9, 1e308, np.nan)),
    ]
    return [x, *nasty][generator.integers(9)]


@pytest.mark.parametrize("others", [{}, {"count": "measured"}, {"grid": GRID}, {"days": 1, "averaged_days": 7}])
def test_replacing_a_record_spends_at_most_mu(others):
    """Oracle: brute force over 300 pairs, nasty ones among them, one after the other from the farthest so far."""
    mechanism, generator = calibrate(2.0, **others), np.random.default_rng(1)
    base = energies(days=others.get("days", DAYS))
    width, worst, far = base.shape[1], 0.0, np.zeros(base.shape[1])
    for _ in range(300):
        one, two = base.copy(), base.copy()
        one[7], two[7] = far, records(generator)[:width]
        moved = spent(mechanism, one, two)
        if moved > worst:
            worst, far = moved, two[7]
    assert 0.6 * mechanism.mu < worst <= mechanism.mu * (1 + 1e-12)


def test_the_charge_is_what_epsilon_and_delta_allow():
    """Oracle: the Gaussian curve; both measurements compose to mu, a grid leaves room for its margin."""
    for others in ({}, {"count": "measured"}, {"grid": GRID}):
        mechanism = calibrate(1.5, **others)
        plan = mechanism.plan
        assert math.hypot(plan.common.step.mu, plan.own.step.mu) == pytest.approx(mechanism.mu, rel=1e-12)
        margin = (1 + math.exp(1.5)) * mechanism.total_variation
        assert 0.999e-5 < gaussian.delta(mechanism.mu, 1.5) + margin <= 1e-5
        assert (margin > 0) == ("grid" in others)
    stated = mechanism.guarantee
    assert (stated.adjacency, stated.family, stated.epsilon, stated.delta) == ("replace_one", "sound", 1.5, 1e-5)


def test_what_a_record_adds_does_not_depend_on_others():
    """With every meter on a feeder of its own the sums of feeders are what records add."""
    mechanism, x = calibrate(feeder=tuple(range(METERS)), feeders=METERS), energies()
    order = np.random.default_rng(0).permutation(METERS)
    (whole, alone), (again, moved) = both_sums(mechanism, x), both_sums(mechanism, x[order])
    assert np.array_equal(alone[order], moved) and np.allclose(whole, again, rtol=1e-12)


def test_sums_on_a_grid_are_exact_in_any_order():
    mechanism, x = calibrate(grid=GRID), energies()
    order = np.random.default_rng(2).permutation(METERS)
    shuffled = calibrate(grid=GRID, feeder=tuple(np.array(FEEDER)[order].tolist()))
    for one, two in zip(both_sums(mechanism, x), both_sums(shuffled, x[order]), strict=True):
        assert np.array_equal(one, two) and np.array_equal(one / GRID, np.rint(one / GRID))
    released = mechanism.release(FeederRecords(x), SafeNoise())
    assert released.total_kwh.shape == (FEEDERS, T) and np.isfinite(released.total_kwh).all()
    with pytest.raises(ValueError, match="another grid"):
        mechanism.release(FeederRecords(x), StudyNoise(1))


@pytest.mark.parametrize("count", ["listed", "measured"])
def test_with_a_large_budget_totals_are_the_sums(count):
    """Oracle: plain sums of the meters that were read, with the public default of the others where all count."""
    x = energies()
    x[3] = np.nan
    mechanism = calibrate(1e5, count=count)
    assert len(mechanism.plan.own.weight) == T, "everything is measured"
    full, read = filled(x, mechanism.public)
    full[~read] = mechanism.public.centre_kwh if count == "listed" else 0.0
    exact = np.zeros((FEEDERS, T))
    np.add.at(exact, np.array(FEEDER), full)
    released = mechanism.release(FeederRecords(x), StudyNoise(3))
    assert np.abs(released.total_kwh - exact).mean() < 0.01 * exact.mean()
    devices = np.bincount(np.array(FEEDER)[read] if count == "measured" else FEEDER, minlength=FEEDERS)
    assert released.devices == pytest.approx(devices, abs=0.1)


def test_more_budget_gives_a_smaller_error_and_the_standard_error_follows():
    x = energies()
    exact = np.zeros((FEEDERS, T))
    np.add.at(exact, np.array(FEEDER), x)
    errors, stated = [], []
    for epsilon in (1.0, 10.0, 100.0):
        mechanism, noise = calibrate(epsilon), StudyNoise(4, epsilon)
        released = [mechanism.release(FeederRecords(x), noise) for _ in range(6)]
        errors.append(np.sqrt(np.mean([(r.total_kwh - exact) ** 2 for r in released])))
        stated.append(np.mean([r.error_kwh for r in released]))
    assert errors == sorted(errors, reverse=True) and stated == sorted(stated, reverse=True)
    assert all(0.3 < error / said < 3 for error, said in zip(errors, stated, strict=True))


def test_the_standard_error_is_at_least_the_planned_one_at_the_measured_level():
    """Shapes that clipping cuts: the posterior alone, here without a plan's error, is too sure of feeders alike."""
    meters = 20 * METERS
    mechanism = calibrate(8.0, feeder=FEEDER * 20)
    shops = np.tile(mechanism.public.centre_kwh, (meters, 1)) * np.where(np.arange(T) % PER_DAY < 6, 0.1, 1.9)
    for times in (0.5, 1.0, 2.0):
        sums = mechanism.sums(FeederRecords(times * shops))
        planned, unplanned = (
            FeederTotals(mechanism.public, plan).run(sums, lambda step, exact: exact).error_kwh
            for plan in (mechanism.plan, replace(mechanism.plan, errors_kwh=np.zeros(FEEDERS)))
        )
        level = shops.mean() * times / mechanism.public.centre_kwh.mean()
        expected = np.maximum(unplanned, level * mechanism.plan.errors_kwh)
        assert planned == pytest.approx(expected, rel=1e-6) and (planned > unplanned).all()


def test_the_standard_error_has_what_nobody_measured():
    """Oracle: towns drawn from the public distribution, less what a few coefficients tell of their feeders."""
    mechanism, rng, n = calibrate(1.0), np.random.default_rng(6), METERS / FEEDERS
    plan, distribution = replace(mechanism.plan, errors_kwh=np.zeros(FEEDERS)), public_distribution(mechanism.public)
    assert len(plan.basis) < T / 2

    def squared(**changed):
        sums = mechanism.sums(FeederRecords(np.tile(mechanism.public.centre_kwh, (METERS, 1))))
        exactly = FeederTotals(mechanism.public, replace(plan, **changed)).run(sums, lambda step, exact: exact)
        return (exactly.error_kwh**2).mean()

    rows = np.kron(cosines(DAYS), cosines(PER_DAY))[distribution.number]
    for setting, std in (
        ("unmeasured_mean_std", n * distribution.mean),
        ("unmeasured_std", np.sqrt(n) * distribution.household),
    ):
        feeders = rng.normal(size=(4000, T)) * std @ rows
        left = feeders - feeders @ plan.basis.T @ plan.basis
        assert squared() - squared(**{setting: 0.0}) == pytest.approx((left**2).mean(), rel=0.1)


def test_the_planned_error_holds_at_half_to_twice_the_guess_and_not_far_from_it():
    """Error beside the true mean use, where levels of meters have the public log-normal distribution."""
    feeders, meters = 8, 320
    mechanism = calibrate(1.0, feeder=tuple((np.arange(meters) % feeders).tolist()), feeders=feeders)
    of_guess = meters / feeders * mechanism.public.centre_kwh.mean()
    level = np.exp(TAIL_STD_LOG * ndtri((np.arange(meters) + 0.5) / meters))
    base = np.random.default_rng(3).permutation(level / level.mean())[:, None] * energies(meters)
    base *= of_guess * feeders / meters / base.mean()

    def error(true_to_guess):
        exact = np.zeros((feeders, T))
        np.add.at(exact, np.array(mechanism.public.feeder), true_to_guess * base)
        noise = StudyNoise(11, true_to_guess)
        found = [mechanism.release(FeederRecords(true_to_guess * base), noise).total_kwh for _ in range(12)]
        return np.sqrt(np.mean((np.array(found) - exact) ** 2)) / (true_to_guess * of_guess)

    planned = mechanism.plan.error_kwh / of_guess
    assert all(error(wrong) < 1.1 * planned for wrong in (1 / GUESS_FACTOR, 1.0, GUESS_FACTOR))
    assert error(1 / 30) > 3 * planned and error(1 / 365) > 30 * planned and error(60.0) > 1.5 * planned


def test_a_feeder_far_from_the_others_follows_the_noise_less_than_its_total():
    """At a tiny epsilon every feeder is its meters times the mean of all."""
    released = calibrate(0.05).release(FeederRecords(energies()), StudyNoise(5))
    per_meter = released.total_kwh / released.devices[:, None]
    assert np.ptp(per_meter.mean(axis=1)) < 0.5 * per_meter.mean()


def test_a_meter_that_was_not_read_counts_as_the_public_centre():
    x, mechanism = energies(), calibrate()
    x[0], x[4, : T // 2 + 1] = np.nan, np.inf
    same = x.copy()
    same[[0, 4]] = mechanism.public.centre_kwh
    one, two = (mechanism.release(FeederRecords(v), StudyNoise(6)).total_kwh for v in (x, same))
    assert np.allclose(one, two, atol=1e-9)


def test_gaps_are_filled_from_ones_own_readings():
    """Oracle: by hand. The other day at that time; the public shape at one's own level where no day has a reading."""
    x, given = energies(), public()
    x[1, 2] = np.nan
    x[2, [5, PER_DAY + 5]] = np.nan
    full, read = filled(x, given)
    assert read.all() and np.array_equal(full[3:], x[3:])
    assert full[1, 2] == x[1, PER_DAY + 2]
    there = np.isfinite(x[2])
    level = x[2, there].sum() / given.centre_kwh[there].sum()
    assert full[2, 5] == pytest.approx(level * given.centre_kwh[5], rel=1e-12) == full[2, PER_DAY + 5]
    alone, _ = filled(x[1:3], given)
    assert np.array_equal(alone, full[1:3])


def test_export_counts_as_no_import():
    x = energies()
    x[:, :4] *= -1
    zero = np.maximum(x, 0.0)
    one, two = (calibrate().release(FeederRecords(v), StudyNoise(7)).total_kwh for v in (x, zero))
    assert np.array_equal(one, two) and (one >= 0).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0])
def test_wild_records_keep_the_release_finite(value):
    released = calibrate(count="measured").release(FeederRecords(np.full((METERS, T), value)), StudyNoise(8))
    for part in (released.total_kwh, released.devices, released.error_kwh):
        assert np.isfinite(part).all() and (part >= 0).all()


def test_records_of_another_shape_are_refused():
    for wrong in (energies()[1:], energies()[:, 1:]):
        with pytest.raises(InputError, match="public number of meters and intervals"):
            calibrate().release(FeederRecords(wrong), StudyNoise(9))


def test_one_feeder_and_feeders_of_one_meter_are_served():
    for feeders, feeder in ((1, (0,) * METERS), (METERS, tuple(range(METERS))), (6, (0,) * METERS)):
        released = calibrate(feeder=feeder, feeders=feeders).release(FeederRecords(energies()), StudyNoise(10))
        assert released.total_kwh.shape == (feeders, T) and np.isfinite(released.total_kwh).all()
    assert (released.total_kwh[1:] == 0).all(), "feeders without meters use nothing"


def test_what_feeders_fall_short_of_is_told_from_noise():
    """Oracle: the posterior mean of a normal prior whose variance is known, and no correction of noise alone."""
    rng, feeders, k = np.random.default_rng(8), 9, 400
    own_std, of_all_std = rng.uniform(1, 2, k), rng.uniform(0.5, 4, k)
    variance = of_all_std**2 + feeders * own_std**2
    for times in (0.0, 0.5, 20.0):
        lost = np.sqrt(times * variance) * rng.normal(size=k)
        own = own_std * rng.normal(size=(feeders, k)) - lost / feeders
        found = lost_by_feeders(own, of_all_std * rng.normal(size=k), own_std, of_all_std)
        score = ((found - lost) ** 2 / variance).mean()
        assert score == pytest.approx(times / (1 + times), abs=0.12), "the error of the best estimate"
    assert lost_by_feeders(np.zeros((3, 1)), np.zeros(1), np.ones(1), np.ones(1)).tolist() == [0.0]


def test_nights_of_homes_with_heaters_are_not_lost(monkeypatch):
    """A fifth of homes heat at night, which clipping takes from feeders' sums more than from that of all meters."""
    rng = np.random.default_rng(5)
    feeders, meters = 12, 1200
    mechanism = calibrate(8.0, feeder=tuple((np.arange(meters) % feeders).tolist()), feeders=feeders)
    x, night = energies(meters), np.arange(T) % PER_DAY < PER_DAY // 4
    x[: meters // 5, night] += 4 * x.mean() * rng.gamma(4, 0.25, (meters // 5, 1))
    exact = np.zeros((feeders, T))
    np.add.at(exact, np.array(mechanism.public.feeder), x)

    def off():
        found = np.array([mechanism.release(FeederRecords(x), StudyNoise(12, n)).total_kwh for n in range(4)])
        return found[:, :, night].mean() / exact[:, night].mean() - 1, np.sqrt(((found - exact) ** 2).mean())

    bias, error = off()
    monkeypatch.setattr("meterdp.feeders.mechanism.lost_by_feeders", lambda own, *others: np.zeros(own.shape[1]))
    bias_without, error_without = off()
    assert bias_without < -0.1 and bias_without < 1.8 * bias < 0 and error < 0.8 * error_without
