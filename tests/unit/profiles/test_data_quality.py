"""Hostile households: which reading is of which kind of mess, what becomes of it, and what is not found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import pytest

from meterdp.profiles.grid import Calendar, Shard
from meterdp.profiles.quality import QualityRules, judge
from tests.conftest import config_of

DAY, DAYS = 96, 28
# With the end of summer time on 28 October.
CALENDAR = Calendar(datetime(2018, 10, 7, 22, tzinfo=UTC), DAY * DAYS, 15, "Europe/Zurich")
KINDS = ("coarse", "unit_slip", "catch_up", "register_reset", "spike", "implausible", "stuck")


def rules(repair=("negative",)) -> QualityRules:
    return QualityRules.from_config(config_of({"quality": {"repair": list(repair)}})["quality"])


def home() -> np.ndarray:
    """Four weeks of a home in kWh with three digits: quiet nights, evenings, 4 kW at most."""
    rng = np.random.default_rng(20181007)
    hour = CALENDAR.minute_of_day / 60
    shape = 0.06 + 0.15 * np.exp(-0.5 * ((hour - 19) / 2.5) ** 2) + 0.05 * np.exp(-0.5 * ((hour - 7.5) / 1.5) ** 2)
    return np.round(np.minimum(shape * rng.gamma(4.0, 0.25, DAY * DAYS), 1.0) + 0.001, 3)


def times(begin, end, factor):
    def change(kwh):
        kwh[begin:end] *= factor

    return change


def put(values: dict):
    """Set readings: slot to value, or (begin, end) or (begin, end, step) to value."""

    def change(kwh):
        for at, value in values.items():
            kwh[slice(*at) if isinstance(at, tuple) else at] = value

    return change


def together(*changes):
    def change(kwh):
        for one in changes:
            one(kwh)

    return change


def gap_before(at: int, slots: int, factor: float = 1.0):
    """No readings for so many slots, and all of their energy, times ``factor``, in the reading after them."""

    def change(kwh):
        kwh[at] = factor * kwh[at - slots : at + 1].sum()
        kwh[at - slots : at] = np.nan

    return change


def hours_only(begin: int, end: int):
    def change(kwh):
        hourly = kwh[begin:end].reshape(-1, 4)
        hourly[:, 0] = hourly.sum(axis=1)
        hourly[:, 1:] = np.nan

    return change


def unrounded(kwh):
    kwh *= np.random.default_rng(5).uniform(0.9999, 1.0001, len(kwh))


def sunny(kwh):
    """Solar cells beyond the own use around noon of every day."""
    noon = np.abs(CALENDAR.minute_of_day / 60 - 12.5)
    kwh -= np.round(np.where(noon < 3, 0.4 * np.cos(noon), 0), 3)


def heating_comes(kwh):
    """Ten times as much within a week, by and by."""
    kwh *= np.round(10 ** np.clip((np.arange(len(kwh)) - 10 * DAY) / (7 * DAY), 0, 1), 3)
    np.round(kwh, 3, out=kwh)


def away_then_heating(kwh):
    """A holiday flat: 30 W, and an electric heater of 3 kW for three days."""
    rng = np.random.default_rng(7)
    kwh[:] = np.round(0.0075 * rng.gamma(4.0, 0.25, len(kwh)) + 0.001, 3)
    stay = slice(9 * DAY, 12 * DAY)
    kwh[stay] = np.round(0.75 * rng.gamma(4.0, 0.25, 3 * DAY), 3)


def comes_home(kwh):
    """Away for two weeks with a fridge alone, then at home."""
    kwh[: 14 * DAY] = np.round(0.02 * kwh[: 14 * DAY], 3) + 0.001


@dataclass(frozen=True)
class Case:
    """What happens to an ordinary home, and its verdict: the slots of each kind, and what becomes of them.

    ``repaired`` are slots (begin, end) that get a value, and which; the others that were found are missing.
    "original": all that were found get the value before the change.
    """

    name: str
    change: Callable
    found: dict = field(default_factory=dict)
    repaired: object = field(default_factory=dict)
    reason: str = "kept"
    repair: tuple[str, ...] = ("negative",)


A, B = 5 * DAY + 17, 7 * DAY + 50  # two days and a third
CASES = [
    Case("an ordinary home", lambda kwh: None),
    Case("1000 times too large", times(A, B, 1000), {"unit_slip": slice(A, B)}),
    Case("100 times too large", times(A, B, 100), {"unit_slip": slice(A, B)}),
    Case("10 times too large, told by the last digit", times(A, B, 10), {"unit_slip": slice(A, B)}),
    Case("10 times too small, told by the last digit", times(A, B, 0.1), {"unit_slip": slice(A, B)}),
    Case("100 times too small", times(A, B, 0.01), {"unit_slip": slice(A, B)}),
    Case("1000 times too small", times(A, B, 0.001), {"unit_slip": slice(A, B)}),
    Case("a slip from the first reading on", times(0, B - A, 1000), {"unit_slip": slice(0, B - A)}),
    Case("a slip up to the last reading", times(-200, None, 100), {"unit_slip": slice(-200, None)}),
    Case(
        "two slips",
        together(times(A, B - 120, 1000), times(B, B + 110, 10)),
        {"unit_slip": [*range(A, B - 120), *range(B, B + 110)]},
    ),
    Case(
        "a slip with gaps",
        together(times(A, B, 1000), put({(A + 30, A + 60): np.nan})),
        {"unit_slip": [*range(A, A + 30), *range(A + 60, B)]},
    ),
    Case(
        "a slip of net load",
        together(sunny, times(A, B, 1000)),
        {"unit_slip": slice(A, B)},
    ),
    Case(
        "a slip of readings without a last digit",
        together(unrounded, times(A, B, 1000)), {"unit_slip": slice(A, B)},
    ),
    Case(
        "a slip that is repaired",
        times(A, B, 1000), {"unit_slip": slice(A, B)}, "original", repair=("unit_slip",),
    ),
    Case(
        "a slip downwards that is repaired",
        times(A, B, 0.1), {"unit_slip": slice(A, B)}, "original", repair=("unit_slip",),
    ),
    Case(
        "a slip of eight days leaves the home out",
        times(A, A + 8 * DAY, 1000), {"unit_slip": slice(A, A + 8 * DAY)}, reason="unit_slip",
    ),
    Case(
        "a slip of eight days is repaired and the home kept",
        times(A, A + 8 * DAY, 1000), {"unit_slip": slice(A, A + 8 * DAY)}, "original",
        repair=("unit_slip",),
    ),
    Case("not found: 10 times too large without a last digit", together(unrounded, times(A, B, 10))),
    Case(
        "not found: too small and rounded to zero",
        lambda kwh: put({(A, B): np.round(kwh[A:B] / 1000, 3)})(kwh),
    ),
    Case("no slip: heating comes by and by", heating_comes),
    Case("no slip: a heater in a holiday flat", away_then_heating),
    Case("no slip: somebody comes home", comes_home),
    Case("a spike", put({A: 2000.0}), {"spike": [A]}),
    Case("a spike in the first slot, and one in the last", put({0: 900.0, -1: 1e7}), {"spike": [0, -1]}),
    Case(
        "a spike after a gap that it is not the energy of",
        together(gap_before(A, 20), put({A: 800.0})), {"spike": [A]},
    ),
    Case(
        "two implausible readings in a row are no spike",
        put({A: 2000.0, A + 1: 1999.0}), {"implausible": [A, A + 1]},
    ),
    Case(
        "an implausible reading of a customer who uses much",
        together(times(None, None, 15), put({A: 21.0})), {"implausible": [A]},
    ),
    Case("a register set back", put({A: -12345.678}), {"register_reset": [A]}),
    Case("a register set back from a small number", put({A: -9.1}), {"register_reset": [A]}),
    Case("registers set back three times", put({A: -9.1, B: -500, 40: -4.0}), {"register_reset": [40, A, B]}),
    Case("a register set back where there is feed-in", together(sunny, put({A: -12345.0})), {"spike": [A]}),
    Case("feed-in is no mess", sunny),
    Case("one small negative reading is no register", put({A: -0.3})),
    Case("the energy of 20 hours in one reading", gap_before(A, 80), {"catch_up": [A]}),
    Case(
        "the energy of 20 hours spread",
        gap_before(A, 80), {"catch_up": [A]},
        {(A - 80, A + 1): lambda kwh: kwh[A - 80 : A + 1].sum() / 81}, repair=("catch_up",),
    ),
    Case(
        "the energy of 30 hours is not spread",
        gap_before(A, 120), {"catch_up": [A]}, repair=("catch_up",),
    ),
    Case(
        "energy from before the period is not spread",
        gap_before(80, 80), {"catch_up": [80]}, repair=("catch_up",),
    ),
    Case(
        "the energy of ten days is no spike",
        gap_before(12 * DAY, 10 * DAY), {"catch_up": [12 * DAY]}, reason="too_few_readings",
    ),
    Case("a high reading after a gap, as others are", together(gap_before(A, 80), put({A: 1.0, B: 1.0}))),
    Case("too much for the gap", together(gap_before(A, 20, 8.0))),
    Case(
        "not found: zeros in the gap",
        lambda kwh: put({A: kwh[A - 80 : A + 1].sum(), (A - 80, A): 0.0})(kwh),
    ),
    Case(
        "hours among quarter-hours",
        hours_only(0, DAYS * DAY), {"coarse": slice(0, None, 4)}, reason="coarse_interval",
    ),
    Case(
        "hours on three days, then quarter-hours",
        hours_only(0, 3 * DAY), {"coarse": slice(0, 3 * DAY + 1, 4)}, reason="too_few_readings",
    ),
    Case(
        "hours on a day and a half",
        hours_only(A, A + DAY + 48), {"coarse": slice(A, A + DAY + 49, 4)},
    ),
    Case(
        "a slip beside one that is too short",
        together(times(A, A + 90, 1000), times(B, B + 110, 10)),
        {"unit_slip": slice(B, B + 110), "implausible": slice(A, A + 90)}, reason="implausible_readings",
    ),
    Case("hours for a while", hours_only(A, A + 40)),
    Case("every other reading lost for a while", put({(A, A + 60, 2): np.nan})),
    Case("a long run of one value", put({(A, B): 0.2}), {"stuck": slice(A, B)}),
    Case("standby of a home away", put({(A, B): 0.001})),
    Case(
        "feed-in taken as missing",
        put({A: -0.3, B: -0.2, B + 1: -0.1}), {"negative": [A, B, B + 1]}, repair=(),
    ),
    Case("gaps stay", put({(A, A + 3): np.nan})),
    Case(
        "everything at once",
        together(
            times(A, A + DAY + 9, 1000), put({B: 1e6, B + 300: -700.0, (20 * DAY, 21 * DAY + 2): 0.3}),
            gap_before(25 * DAY, 60),
        ),
        {
            "unit_slip": slice(A, A + DAY + 9), "spike": [B], "register_reset": [B + 300],
            "stuck": slice(20 * DAY, 21 * DAY + 2), "catch_up": [25 * DAY],
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_reading_of_a_hostile_household_has_its_verdict(case):
    before, kwh = home(), home()
    case.change(kwh)
    quality, usable = judge(Shard(np.array([0]), kwh[None], CALENDAR), rules(case.repair))
    expected, gone = kwh.copy(), np.zeros(len(kwh), bool)
    for kind in (*KINDS, "negative"):
        marks = np.zeros(len(kwh), bool)
        marks[case.found.get(kind, [])] = True
        marks &= np.isfinite(kwh)
        if kind in KINDS or kind in case.found:
            assert quality[f"{kind}_readings"].item() == marks.sum(), kind
        gone |= marks
    expected[gone] = np.nan
    if case.repaired == "original":
        expected[gone] = before[gone]
    else:
        for slots, value in case.repaired.items():
            expected[slice(*slots)] = value(before)
    np.testing.assert_allclose(usable[0], expected, rtol=1e-12, atol=0)
    assert quality["reason"].item() == case.reason
    assert quality["missing_readings"].item() == np.isnan(kwh).sum()
    assert quality["repaired_readings"].item() == (np.isfinite(expected) & (gone | np.isnan(kwh))).sum()


def test_short_gaps_are_filled_from_the_same_local_time_of_the_days_before():
    kwh = home()
    # Across the end of summer time, on the first days, of the longest that is filled, and one longer.
    gaps = [
        slice(21 * DAY + 9, 21 * DAY + 12),
        slice(50, 52),
        slice(DAY + 50, DAY + 52),
        slice(A, A + 4),
        slice(B, B + 5),
    ]
    for gap in gaps:
        kwh[gap] = np.nan
    quality, usable = judge(Shard(np.array([0]), kwh[None], CALENDAR), rules(("gap",)))
    minute, day = CALENDAR.minute_of_day, CALENDAR.local_day
    for t in np.flatnonzero(np.isnan(kwh)):
        same = {}
        for s in np.flatnonzero((minute == minute[t]) & (day < day[t]) & (day >= day[t] - 7)):
            same.setdefault(day[s], kwh[s])  # the first pass of a repeated hour
        known = [value for value in same.values() if np.isfinite(value)]
        if len(known) >= 2 and not B <= t < B + 5:
            assert usable[0, t] == pytest.approx(np.mean(known), rel=1e-12)
        else:
            assert np.isnan(usable[0, t])
    assert quality["repaired_readings"].item() == 3 + 4
    assert np.array_equal(usable[0][np.isfinite(kwh)], kwh[np.isfinite(kwh)])


def reasons(kwh) -> list[str]:
    """Whether a household is kept, without and with gaps filled."""
    judged = (judge(Shard(np.array([0]), kwh[None], CALENDAR), rules(kinds)) for kinds in ((), ("gap",)))
    return [quality["reason"].item() for quality, _ in judged]


def test_a_household_that_misses_a_little_every_day_is_kept_by_filling_it():
    kwh = home()
    for day in range(DAYS):
        kwh[day * DAY + 20 : day * DAY + 60 : 4] = np.nan  # 10 of 96
    assert reasons(kwh) == ["too_few_readings", "too_few_readings"]
    kwh = home()
    for day in range(DAYS):  # at other times every day
        kwh[day * DAY + day : day * DAY + day + 40 : 4] = np.nan
    assert reasons(kwh) == ["too_few_readings", "kept"]
