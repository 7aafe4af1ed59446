"""The rules for messy households against a slow oracle: plain loops over one household, on random messy series.

The oracle follows the sentences of docs/data_quality.md. It has no arrays of households, and tries every stretch.
"""

from __future__ import annotations

import itertools
import math
from datetime import UTC, datetime
from statistics import median

import numpy as np
import pytest

from meterdp.profiles.grid import Calendar, Shard
from meterdp.profiles.lone import catch_ups, coarse_readings, filled, register_resets, spikes, spread_over_gaps
from meterdp.profiles.quality import QualityRules, judge
from meterdp.profiles.unit_slip import best_stretch, unit_slips
from tests.conftest import config_of

DAYS, PER_DAY = 12, 24
CALENDAR = Calendar(datetime(2018, 10, 20, 22, tzinfo=UTC), DAYS * PER_DAY, 60, "Europe/Zurich")
HOUR = (CALENDAR.minute_of_day // 60).tolist()
NAN = math.nan


def given(x: float) -> bool:
    return not math.isnan(x)


def slow_coarse(row: list[float], min_slots: float) -> set[int]:
    out: set[int] = set()
    slots = [t for t, x in enumerate(row) if given(x)]
    runs: list[list[int]] = []
    for t in slots:
        if runs and t - runs[-1][-1] > 1:
            runs[-1].append(t)
        else:
            runs.append([t])
    for run in runs:
        steps = [b - a for a, b in itertools.pairwise(run)]
        if len(run) < 6 or run[-1] - run[0] < min_slots:
            continue
        usual = min(steps, key=lambda s: (-steps.count(s), s))
        if steps.count(usual) > len(steps) / 2 and sum(s % usual == 0 for s in steps) >= 0.9 * len(steps):
            out |= set(run)
    return out


def slow_catch_ups(row, plausible, factor: float, tolerance: float) -> dict[int, int]:
    after_gap = {t for t in range(1, len(row)) if given(row[t]) and not given(row[t - 1])}
    trusted = [t for t in range(len(row)) if plausible[t] and t not in after_gap]
    out: dict[int, int] = {}
    if len(trusted) < PER_DAY:
        return out
    top = max(0.0, *(row[t] for t in trusted))
    for t in sorted(after_gap):
        begin = t
        while begin > 0 and not given(row[begin - 1]):
            begin -= 1
        expected = 0.0
        for s in range(begin, t + 1):
            same = [row[u] for u in trusted if HOUR[u] == HOUR[s]]
            expected += sum(same) / len(same) if same else 0.0
        if row[t] > factor * top and expected / tolerance <= row[t] <= expected * tolerance:
            out[t] = t - begin
    return out


def slow_resets(row, plausible, factor: float) -> set[int]:
    negative = [t for t in range(len(row)) if row[t] < 0]
    usual = [row[t] for t in range(len(row)) if plausible[t] and row[t] >= 0]
    alone = all(t - 1 not in negative and t + 1 not in negative for t in negative)
    if len(usual) < PER_DAY or not alone or any(-row[t] <= factor * max(usual) for t in negative):
        return set()
    return set(negative)


def slow_spikes(row, plausible, factor: float) -> set[int]:
    usual = [abs(row[t]) for t in range(len(row)) if plausible[t]]
    strange = {t for t in range(len(row)) if given(row[t]) and not plausible[t]}
    if len(usual) < PER_DAY:
        return set()
    return {t for t in strange if not {t - 1, t + 1} & strange and abs(row[t]) >= factor * max(usual)}


def slow_unit(values) -> float | None:
    values = [v for v in values if given(v) and v != 0]
    for digits in range(7):
        whole = sum(abs(v * 10**digits - round(v * 10**digits)) < 1e-3 for v in values)
        if values and whole >= 0.99 * len(values):
            return 10.0**-digits
    return None


def share_whole(values, unit: float) -> float:
    values = [v for v in values if given(v) and v != 0]
    return sum(abs(v / unit - round(v / unit)) < 1e-3 for v in values) / len(values)


def is_slip(row, level, above, out, begin, end, power, tolerance, power_kw):
    slack = math.log10(tolerance)
    inside = [t for t in range(begin, end) if given(level[t])]
    outside = [t for t in range(len(row)) if not begin <= t < end and out[t] == 0 and given(level[t])]
    if len(inside) < (end - begin) / 2 or len(outside) < max(len(inside), 3 * PER_DAY):
        return None
    for share in (0.1, 0.5, 0.9):
        own, other = (np.quantile([level[t] for t in part], share) for part in (inside, outside))
        if abs(own - power - other) > slack:
            return None
    rest = [row[t] for t in range(len(row)) if not begin <= t < end and out[t] == 0]
    unit, moved = slow_unit(rest), False
    if unit is not None:
        moved = share_whole(row[begin:end], unit * 10.0**power) >= 0.99 and (
            share_whole(rest, unit * 10.0**power) <= 0.5 if power > 0 else share_whole(row[begin:end], unit) <= 0.5
        )
    if not moved and not (power >= 2 and 10 ** median(level[t] for t in inside) > power_kw):
        return None
    if moved and power > 0:
        whole = [
            t
            for t in range(begin, end)
            if given(row[t]) and (row[t] == 0 or share_whole([row[t]], unit * 10.0**power))
        ]
        begin, end = whole[0], whole[-1] + 1
    judged = False
    for inner, outer in (
        (range(begin, begin + 6), range(max(begin - 6, 0), begin)),
        (range(max(end - 6, 0), end), range(end, end + 6)),
    ):
        ours, theirs = ([above[t] for t in part if t < len(row) and given(above[t])] for part in (inner, outer))
        if ours and theirs:
            judged = True
            if abs(median(ours) - power) > abs(power) / 2 or abs(median(theirs)) > abs(power) / 2:
                return None
    return (begin, end) if judged else None


def slow_slips(row: list[float], min_slots: int, tolerance: float, power_kw: float) -> list[int]:
    """Try every stretch, the likeliest of all powers first; of five that fail for a power, none is tried after."""
    level = [math.log10(abs(x)) if given(x) and x != 0 else NAN for x in row]
    usual = {}
    for hour in range(24):
        same = [level[t] for t in range(len(row)) if HOUR[t] == hour and given(level[t])]
        usual[hour] = median(same) if same else NAN
    above = [level[t] - usual[HOUR[t]] for t in range(len(row))]
    out = [0] * len(row)
    while True:
        found = []
        for power in (3, 2, 1, -1, -2, -3):
            gain = [abs(z) - abs(z - power) if given(z) else 0.0 for z in above]
            gain = [-1e9 if out[t] else g for t, g in enumerate(gain)]
            for _ in range(5):
                begin, end, total = best_stretch(np.array(gain))  # itself against every stretch, below
                if total <= 0:
                    break
                gain[begin:end] = [-1e9] * (end - begin)
                slip = end - begin >= min_slots and is_slip(
                    row, level, above, out, begin, end, power, tolerance, power_kw
                )
                if slip:
                    found.append((total, *slip, power))
                    break
        if not found:
            return out
        _, begin, end, power = max(found, key=lambda one: one[0])
        for t in range(begin, end):
            if given(row[t]):
                out[t] = power


def messy(rng: np.random.Generator) -> np.ndarray:
    """A home with some of everything, at random places, next to and over one another."""
    hour = np.array(HOUR)
    shape = 0.2 + 0.6 * np.exp(-0.5 * ((hour - 19) / 3) ** 2)
    kwh = shape * rng.gamma(rng.choice([2.0, 6.0]), 0.2, len(hour))
    if rng.random() < 0.8:
        kwh = np.round(kwh, 3)
    if rng.random() < 0.2:
        kwh -= np.where(np.abs(hour - 12) < 3, 0.5, 0)

    def stretch(shortest, longest):
        length = int(rng.integers(shortest, longest))
        begin = int(rng.integers(-length // 2, len(kwh)))
        return slice(max(begin, 0), max(begin, 0) + length)

    for _ in range(rng.integers(1, 5)):
        match rng.integers(9):
            case 0 | 1:
                kwh[stretch(20, 90)] *= 10.0 ** rng.choice([-3, -2, -1, 1, 2, 3])
            case 2:
                kwh[rng.integers(len(kwh), size=rng.integers(1, 4))] = rng.choice(
                    [500.0, 90.0, 1e5, -60.0, -9000.0, -5.0]
                )
            case 3:
                kwh[stretch(1, 30)] = np.nan
            case 4:
                gap = stretch(2, 40)
                energy = np.nansum(kwh[gap])
                kwh[gap] = np.nan
                if gap.stop < len(kwh):
                    kwh[gap.stop] = energy * rng.choice([1.0, 1.0, 2.0, 5.0])
            case 5:
                part = stretch(10, 80)
                kwh[part][rng.integers(2) :: rng.integers(2, 4)] = np.nan
            case 6:
                kwh[stretch(10, 40)] = rng.choice([0.0, 0.3])
            case 7:
                kwh[rng.random(len(kwh)) < 0.05] = np.nan
            case 8:
                part = kwh[stretch(24, 120)]
                part[np.arange(len(part)) % 2 == 1] = np.nan
    return kwh


def test_the_likeliest_stretch_is_that_of_trying_them_all():
    rng = np.random.default_rng(1)
    for _ in range(300):
        gain = rng.integers(-3, 4, int(rng.integers(0, 25))) * rng.choice([1.0, 0.5])
        begin, end, total = best_stretch(gain)
        sums = [gain[a:b].sum() for a in range(len(gain)) for b in range(a + 1, len(gain) + 1)]
        assert total == max([0.0, *sums]) == gain[begin:end].sum()


def test_slips_agree_with_the_slow_oracle():
    rng = np.random.default_rng(2)
    rows = np.array([messy(rng) for _ in range(300)])
    fast = unit_slips(rows, CALENDAR, 24, 3.0, 10.0)
    slow = [slow_slips(row, 24, 3.0, 10.0) for row in rows.tolist()]
    np.testing.assert_array_equal(fast, slow)
    assert {-3, -2, -1, 0, 1, 2, 3} == set(np.unique(fast))  # so that agreeing means something


def test_coarse_and_single_readings_agree_with_the_slow_oracle():
    rng = np.random.default_rng(3)
    rows = np.array([messy(rng) for _ in range(600)])
    plausible = (rows >= -50) & (rows <= 80)
    found = {
        "coarse": coarse_readings(rows, 24.0),
        "catch_up": catch_ups(rows, plausible, CALENDAR, 1.5, 3.0),
        "reset": register_resets(rows, plausible, 3.0, PER_DAY),
        "spike": spikes(rows, plausible, 10.0, PER_DAY),
    }
    for i, row in enumerate(rows.tolist()):
        assert set(np.flatnonzero(found["coarse"][i])) == slow_coarse(row, 24.0)
        gaps = found["catch_up"][i]
        assert {t: gaps[t] for t in np.flatnonzero(gaps)} == slow_catch_ups(row, plausible[i], 1.5, 3.0)
        assert set(np.flatnonzero(found["reset"][i])) == slow_resets(row, plausible[i], 3.0)
        assert set(np.flatnonzero(found["spike"][i])) == slow_spikes(row, plausible[i], 10.0)
    assert all(np.count_nonzero(marks.any(axis=1)) >= 20 for marks in found.values())


def test_spread_energy_stays_the_same_and_filling_takes_nothing_from_what_was_read():
    rng = np.random.default_rng(4)
    rows = np.array([messy(rng) for _ in range(200)])
    gaps = catch_ups(rows, (rows >= -50) & (rows <= 80), CALENDAR, 1.5, 3.0)
    spread, repaired = spread_over_gaps(rows, gaps, 20)
    np.testing.assert_allclose(np.nansum(spread, axis=1), np.nansum(rows, axis=1), rtol=1e-12)
    assert repaired.any() and np.isnan(rows[repaired]).any() and np.isfinite(spread[repaired]).all()
    after, marks = filled(spread, CALENDAR, 4)
    assert marks.any() and np.isnan(spread[marks]).all() and np.isfinite(after[marks]).all()
    np.testing.assert_array_equal(after[~marks], spread[~marks])


@pytest.mark.parametrize("repair", [False, True])
def test_a_household_is_judged_alike_in_any_company(repair):
    """Bit for bit, with everything repaired or nothing, whoever stands beside it."""
    rng = np.random.default_rng(5)
    kinds = ("unit_slip", "catch_up", "gap", "negative") if repair else ()
    rules = QualityRules.from_config(config_of({"quality": {"repair": list(kinds)}})["quality"])
    rows = np.array([messy(rng) for _ in range(120)])

    def judged(some):
        quality, usable = judge(Shard(np.arange(len(some)), rows[some], CALENDAR), rules)
        return [(usable[i].tobytes(), quality.drop(columns="household").iloc[i].to_json()) for i in range(len(some))]

    together = judged(np.arange(120))
    others = rng.permutation(120)
    assert [together[i] for i in others] == judged(others)
    assert together == [judged([i])[0] for i in range(120)]


def test_every_reading_is_usable_or_of_a_kind_that_says_why_not():
    rng = np.random.default_rng(6)
    rows = np.array([messy(rng) for _ in range(300)])
    rules = QualityRules.from_config(config_of()["quality"])
    quality, usable = judge(Shard(np.arange(300), rows, CALENDAR), rules)
    kinds = ("missing", "coarse", "unit_slip", "catch_up", "register_reset", "spike", "implausible", "stuck")
    gone = quality[[f"{kind}_readings" for kind in kinds]].sum(axis=1)
    np.testing.assert_array_equal(gone, np.isnan(usable).sum(axis=1))
    np.testing.assert_array_equal(quality["expected_readings"] - gone, np.isfinite(usable).sum(axis=1))
    assert (quality[[f"{kind}_readings" for kind in kinds]].sum() > 0).all()
    assert (quality["repaired_readings"] == 0).all()
