"""Rules against their texts; attacks on totals that pass them; on sound totals no more than mu-GDP allows."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from meterdp.core.noise import StudyNoise
from meterdp.feeders.attack import (
    INTERVAL,
    PERIOD,
    RULES,
    best_advantage,
    by_differencing,
    by_knowing_the_others,
    by_overlapping_groups,
    contributions,
    fewest_groups,
    most_advantage,
    passing,
    random_groups,
    withheld,
)
from meterdp.feeders.mechanism import FeederRecords, FeederTotals
from meterdp.feeders.plan import FeederPublic
from meterdp.feeders.study import by_feeder, random_feeders

BY_NAME = {rule.name: rule for rule in RULES}


def as_written(energy, members, least, share, share_of):
    """The words of a rule, one total and one customer at a time."""
    intervals = range(energy.shape[1])
    shares_in = [list(intervals)] * energy.shape[1] if share_of == PERIOD else [[t] for t in intervals]
    passes = []
    for at in shares_in:
        total = sum(energy[i, t] for i in members for t in at)
        nobody = all(sum(energy[i, t] for t in at) <= share * total * (1 + 1e-9) for i in members)
        passes.append(len(members) >= least and nobody)
    return passes


@pytest.mark.parametrize(
    ("name", "share_of", "least", "share"),
    [
        *(("4/50", share_of, 4, 0.5) for share_of in (INTERVAL, PERIOD)),
        *(("15/15", share_of, 15, 0.15) for share_of in (INTERVAL, PERIOD)),
        ("100", INTERVAL, 100, 1.0),
    ],
)
def test_a_rule_passes_what_its_words_pass(name, share_of, least, share):
    generator = np.random.default_rng(5)
    sizes = [3, 4, 14, 15, 40, 99, 100, 0]
    feeder = np.repeat(np.arange(8), sizes)
    generator.shuffle(feeder)
    energy = generator.gamma(0.15, 1.0, (len(feeder), 12)).round(3)
    energy[:, 5] = 0.0
    found = BY_NAME[name].may_publish(energy, feeder, 8, share_of)
    expected = [as_written(energy, np.flatnonzero(feeder == f), least, share, share_of) for f in range(8)]
    assert found.tolist() == expected
    assert 0 < found.mean() < 1


def test_a_share_that_is_met_exactly_passes_and_one_watt_hour_more_does_not():
    energy = np.full((20, 1), 0.1)
    energy[0] = 0.15 / 0.85 * 1.9  # 15 % of the total, as far as floating point goes
    rule, feeder = BY_NAME["15/15"], np.zeros(20, int)
    assert rule.may_publish(energy, feeder, 1, INTERVAL).all()
    energy[0] += 0.001
    assert not rule.may_publish(energy, feeder, 1, INTERVAL).any()


def test_the_two_readings_of_a_rule_differ_and_one_that_counts_has_one():
    energy = np.full((15, 2), 1.0)
    energy[0] = [10.0, 0.0]  # 42 % of the one interval, 26 % of the period ...
    energy[1] = [0.0, 10.0]
    rule, feeder = BY_NAME["4/50"], np.zeros(15, int)
    assert rule.may_publish(energy, feeder, 1, INTERVAL).tolist() == [[True, True]]
    energy[0, 0] = 60.0  # ... and now 82 % and 65 %
    assert rule.may_publish(energy, feeder, 1, INTERVAL).tolist() == [[False, True]]
    assert rule.may_publish(energy, feeder, 1, PERIOD).tolist() == [[False, False]]
    assert [rule.shares_of for rule in RULES] == [(INTERVAL, PERIOD), (INTERVAL, PERIOD), (INTERVAL,)]


def test_feeders_are_summed_and_compared_as_one_by_one():
    generator = np.random.default_rng(2)
    energy, feeder = generator.normal(0, 1, (30, 4)) ** 2, generator.integers(0, 5, 30)
    feeder[feeder == 3] = 2  # nobody is on 3
    totals, largest = (by_feeder(combine, energy, feeder, 5) for combine in (np.add, np.maximum))
    for f in range(5):
        own = energy[feeder == f]
        assert totals[f] == pytest.approx(own.sum(axis=0))
        assert largest[f].tolist() == (own.max(axis=0) if len(own) else np.zeros(4)).tolist()


def test_what_is_withheld_is_counted_by_totals_and_by_energy():
    total = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert withheld(np.array([[True, False], [True, True]]), total) == (0.25, 0.2)
    assert withheld(np.zeros((2, 2), bool), 0 * total) == (1.0, 0.0)


@pytest.fixture(scope="module")
def energy():
    """Of 150 households in 8 half-hours, in whole watt-hours as meters give it; one is far above the others."""
    kwh = np.random.default_rng(7).gamma(1.2, 0.3, (150, 8))
    kwh[0] = 40.0
    return kwh.round(3)


@pytest.mark.parametrize("share_of", [INTERVAL, PERIOD])
@pytest.mark.parametrize("name", ["4/50", "15/15", "100"])
def test_differencing_finds_what_two_totals_give_that_both_pass(energy, name, share_of):
    rule, feeder = BY_NAME[name], np.repeat([0, 1, 2, 3], [4, 15, 30, 101])
    found = np.zeros(energy.shape, bool)
    for i in range(150):  # publish everything with and without each household, and compare
        own = np.arange(150) != i
        with_it = rule.may_publish(energy, feeder, 4, share_of)[feeder[i]]
        found[i] = with_it & rule.may_publish(energy[own], feeder[own], 4, share_of)[feeder[i]]
    exposed = by_differencing(energy, feeder, 4, rule, share_of)
    assert exposed.reading_share == pytest.approx(found.mean()) and found.mean() > 0.1
    assert exposed.household_share == pytest.approx(found.any(axis=1).mean())
    assert exposed.greatest_error_kwh < 1e-9


def test_differencing_finds_nothing_where_nothing_passes(energy):
    exposed = by_differencing(energy, np.arange(150), 150, BY_NAME["15/15"], INTERVAL)
    assert (exposed.reading_share, exposed.household_share) == (0.0, 0.0) and np.isnan(exposed.greatest_error_kwh)


def test_as_many_groups_of_100_as_there_are_households_give_every_reading(energy):
    member = random_groups(150, 100, 400)
    assert (member.sum(axis=1) == 100).all() and len(np.unique(member, axis=0)) == 400
    assert passing(member, energy, BY_NAME["100"], INTERVAL).all()
    solved = fewest_groups(energy, member)
    assert solved.groups == solved.rank == 150 and solved.known.all()
    assert solved.rms_error_kwh < 1e-9
    # One equation fewer than readings leaves them open: it is the number of groups that exposes.
    fewer = by_overlapping_groups(energy, member[:149])
    assert fewer.rank == 149 and fewer.known.mean() < 0.5


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_groups_pass_as_feeders_do(energy, rule):
    member = np.vstack([random_groups(150, 100, 30), random_groups(150, 20, 30), random_groups(150, 4, 30)])
    for share_of in (INTERVAL, PERIOD):
        one_by_one = [rule.may_publish(energy[m], np.zeros(m.sum(), int), 1, share_of).all() for m in member]
        assert passing(member, energy, rule, share_of).tolist() == one_by_one and 0 < sum(one_by_one) < 90


def test_rounding_to_whole_kwh_is_averaged_out_by_more_groups(energy):
    member = random_groups(150, 100, 3000)
    few, many = (by_overlapping_groups(energy, member[:k], 1.0) for k in (300, 3000))
    # Rounding is noise of variance 1/12; theory of least squares with rows of independent members.
    assert many.rms_error_kwh == pytest.approx(np.sqrt(1 / 12 / (3000 * 2 / 9)), rel=0.15)
    assert many.rms_error_kwh < few.rms_error_kwh / 3 and many.rms_error_kwh < 0.02


def test_a_customer_that_dominates_is_in_no_group_that_passes_and_the_others_are_known(energy):
    member = random_groups(150, 100, 1200)
    member = member[passing(member, energy, BY_NAME["15/15"], INTERVAL)]
    assert len(member) > 200 and not member[:, 0].any()
    solved = fewest_groups(energy, member)
    assert solved.groups == solved.rank == 149
    assert solved.known.any(axis=1).mean() == pytest.approx(149 / 150)


@pytest.fixture(scope="module")
def mechanism():
    """Proven totals of five feeders of 30 households."""
    feeder = tuple(np.repeat(np.arange(5), 30).tolist())
    return FeederTotals.calibrate(
        FeederPublic(1.0, 1e-5, feeder, 5, intervals_per_day=8, days=1, typical_daily_kwh=5.0)
    )


def test_sound_totals_of_which_all_others_are_taken_tell_less_than_a_guess(energy, mechanism):
    feeder = np.array(mechanism.public.feeder)
    released = mechanism.release(FeederRecords(energy), StudyNoise(1, "attack")).total_kwh
    found = by_knowing_the_others(energy, feeder, released)
    others = [energy[(feeder == feeder[i]) & (np.arange(150) != i)] for i in range(150)]
    left = np.array([released[feeder[i]] - others[i].sum(axis=0) for i in range(150)])
    guess = np.array([rest.mean(axis=0) for rest in others])
    assert found["rms_error_kwh"] == pytest.approx(np.sqrt(((left - energy) ** 2).mean()))
    # Nobody who has the readings mixes the two better.
    mixtures = [np.sqrt((((1 - w) * guess + w * left - energy) ** 2).mean()) for w in np.linspace(-1, 1, 401)]
    assert found["best_rms_error_kwh"] == pytest.approx(min(mixtures), rel=1e-3)
    assert found["guess_rms_error_kwh"] == pytest.approx(mixtures[200])
    assert found["rms_error_kwh"] > 2 * found["guess_rms_error_kwh"]
    exact = by_knowing_the_others(energy, feeder, by_feeder(np.add, energy, feeder, 5))
    assert exact["rms_error_kwh"] < 1e-12 and exact["best_rms_error_kwh"] < 1e-12


def transcript(mechanism, energy):
    """All exact sums of a run, in standard deviations of their noise."""
    seen = []
    mechanism.run(
        mechanism.sums(FeederRecords(energy)),
        lambda step, sums: (seen.append(sums.ravel() / step.noise_std), sums)[1],
    )
    return np.concatenate(seen)


def test_two_records_are_told_apart_as_often_as_said_and_never_more_than_mu_allows(energy, mechanism):
    other = energy.copy()
    other[3] = 0.0
    other[3, ::2] = 9.0
    first, second = contributions(mechanism, energy), contributions(mechanism, other)
    claimed = best_advantage(first[3:4], second[3:4])[0]
    assert 0.01 < claimed <= most_advantage(mechanism.mu)
    # Noisy sums as a run of the mechanism asks for them, everything but the one record known: the nearer of the two.
    draws, noise, exact = 20_000, StudyNoise(3, "tell apart"), [transcript(mechanism, e) for e in (energy, other)]
    right = []
    for sums in exact:
        noisy = sums + noise.normal((draws, len(sums)))
        distance = [((noisy - e) ** 2).sum(axis=1) for e in exact]
        right.append((distance[0] < distance[1]).mean())
    # Wrong once in a billion: 6 standard errors of a difference of two frequencies.
    assert right[0] - right[1] == pytest.approx(claimed, abs=6 * np.sqrt(0.5 / draws))


def test_no_two_records_exceed_the_bound(mechanism):
    nasty = np.array([0.0, 1e9, 1.0, 5.0, 1e-9])[:, None] * np.ones(8)
    nasty = np.vstack([nasty, np.eye(8) * 1e6, np.full(8, np.nan)])
    records = np.resize(nasty, (150, 8))
    adds = contributions(mechanism, records)[: len(nasty)]
    told = [best_advantage(adds, np.roll(adds, k, axis=0)) for k in range(len(nasty))]
    assert np.max(told) <= most_advantage(mechanism.mu) * (1 + 1e-9) and np.max(told) > 0.5 * most_advantage(
        mechanism.mu
    )


# -- a day of real Swiss homes ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def swiss(shared_data):
    """Half-hours of a Monday, (537, 48) kWh in whole watt-hours."""
    day = pq.read_table(
        shared_data / "ch_bamberg_15min" / "elcons_15min_long.parquet",
        columns=["vid", "slot", "kwh"],
        filters=[("week", "=", 44), ("slot", "<=", 96)],
    ).sort_by([("vid", "ascending"), ("slot", "ascending")])
    return day["kwh"].to_numpy().reshape(-1, 48, 2).sum(axis=2).round(3)


def test_feeders_of_real_homes_that_pass_give_their_readings_to_the_watt_hour(swiss):
    homes = random_feeders(len(swiss), 100)
    on = homes.feeder < homes.judged
    of = swiss[on], homes.feeder[on], homes.judged
    rule = BY_NAME["15/15"]
    total_share, _ = withheld(rule.may_publish(*of, INTERVAL), by_feeder(np.add, *of))
    exposed = by_differencing(*of, rule, INTERVAL)
    assert total_share < 0.05 and exposed.reading_share > 0.95
    assert exposed.household_share == 1 and exposed.greatest_error_kwh < 1e-9


def test_as_many_groups_as_homes_give_the_day_of_each(swiss):
    member = random_groups(200, 100, 600)  # about every other one passes
    member = member[passing(member, swiss[:200], BY_NAME["15/15"], INTERVAL)]
    solved = fewest_groups(swiss[:200], member)
    assert solved.groups == solved.rank == 200 and solved.known.all()
    assert solved.rms_error_kwh < 1e-9
