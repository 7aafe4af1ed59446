"""Regulators' rules, against their texts read customer by customer."""

import numpy as np
import pytest

from meterdp.feeders.attack import (
    INTERVAL,
    PERIOD,
    RULES,
    SHARES_OF,
    Suppressed,
    group_largest,
    group_totals,
    suppressed,
)

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
        *(("4/50", share_of, 4, 0.5) for share_of in SHARES_OF),
        *(("15/15", share_of, 15, 0.15) for share_of in SHARES_OF),
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


def test_groups_are_summed_and_compared_as_one_by_one():
    generator = np.random.default_rng(2)
    energy, feeder = generator.normal(0, 1, (30, 4)) ** 2, generator.integers(0, 5, 30)
    feeder[feeder == 3] = 2  # nobody is on 3
    for f in range(5):
        own = energy[feeder == f]
        assert group_totals(energy, feeder, 5)[f] == pytest.approx(own.sum(axis=0))
        assert group_largest(energy, feeder, 5)[f].tolist() == (own.max(axis=0) if len(own) else np.zeros(4)).tolist()


def test_what_is_withheld_is_counted_by_totals_and_by_energy():
    total = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert suppressed(np.array([[True, False], [True, True]]), total) == Suppressed(0.25, 0.2)
    assert suppressed(np.zeros((2, 2), bool), 0 * total) == Suppressed(1.0, 0.0)
