"""Log load and seasonal part: from the training window or the last days of one household only."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from meterdp.core.log_scale import LogScale
from meterdp.profiles.grid import Calendar
from meterdp.profiles.seasonal import Season, seasonal_part

FIXED = ["time_of_week", "time_of_day", "smoothed"]
CALENDAR = Calendar(datetime(2025, 10, 19, 22, tzinfo=UTC), 96 * 28, 15, "Europe/Zurich")
TRAIN = CALENDAR.window(15)


@pytest.fixture
def load():
    generator = np.random.default_rng(5)
    values = generator.normal(-2, 1, size=(4, CALENDAR.slot_count))
    values[generator.random(values.shape) < 0.05] = np.nan
    return values


@pytest.mark.parametrize("method", FIXED)
def test_held_out_readings_and_other_households_change_nothing(load, method):
    season = seasonal_part(load, CALENDAR, Season(method, TRAIN))
    changed = load.copy()
    changed[:, TRAIN.stop :] += 100.0
    changed[:, : TRAIN.start] = np.nan
    changed[1:] *= -7.0
    again = seasonal_part(changed, CALENDAR, Season(method, TRAIN))
    assert np.array_equal(season[0], again[0])
    assert not np.allclose(season[1], again[1])


@pytest.mark.parametrize("horizon", [1, 12, 93, 96])
def test_a_rolling_season_is_known_at_the_origin_for_every_step(load, horizon):
    """Clocks go back on the seventh day: a local time comes an hour nearer, and one comes twice."""
    season = Season("rolling", TRAIN, horizon)
    before = seasonal_part(load, CALENDAR, season)
    for origin in (TRAIN.stop, TRAIN.stop + 31, 96 * 25 + 7):
        changed = load.copy()
        changed[:, origin:] += 50.0
        changed[1:] *= -3.0
        after = seasonal_part(changed, CALENDAR, season)
        assert np.array_equal(before[0, : origin + horizon], after[0, : origin + horizon])
        assert not np.array_equal(before[0], after[0])


@pytest.mark.parametrize(("horizon", "yesterday"), [(1, True), (92, True), (96, True), (97, False)])
def test_a_day_ahead_season_still_knows_yesterday(horizon, yesterday):
    """And on the day of a clock change it takes what is known."""
    load = np.zeros((1, CALENDAR.slot_count))
    load[0, CALENDAR.local_day == CALENDAR.local_day[0] + 17] = 1.0
    season = seasonal_part(load, CALENDAR, Season("rolling", TRAIN, horizon))
    next_day = season[0, CALENDAR.local_day == CALENDAR.local_day[0] + 18]
    assert (next_day > 0.1).all() if yesterday else (next_day == 0).all()


@pytest.mark.parametrize("scale", ["log", "kwh"])
def test_a_rolling_season_is_the_weighted_mean_of_the_last_days(load, scale):
    """Oracle: loops over days in local time, by the standard library's calendar."""
    season = Season("rolling", TRAIN, 12, scale, rolling_days=9, day_decay=0.7, other_day_weight=0.25)
    found = seasonal_part(load, CALENDAR, season)
    zone = ZoneInfo("Europe/Zurich")
    local = [t.astype(datetime).replace(tzinfo=UTC).astimezone(zone) for t in CALENDAR.start_utc]
    first = {}
    for slot, at in enumerate(local):
        first.setdefault((at.date(), at.time()), slot)
    values = load if scale == "log" else np.exp(load)
    for slot in (96 * 10 + 3, 96 * 13 + 50, 96 * 27):
        total = weight = 0.0
        for back in range(1, 10):
            day = local[slot].date() - timedelta(days=back)
            value = values[2, first[day, local[slot].time()]]
            if np.isfinite(value):
                own = 0.7 ** (back - 1) * (1.0 if (day.weekday() > 4) == (local[slot].weekday() > 4) else 0.25)
                total, weight = total + own * value, weight + own
        oracle = total / weight
        assert found[2, slot] == pytest.approx(oracle if scale == "log" else np.log(oracle), abs=1e-12)


def test_a_rolling_season_without_a_day_before_falls_back_to_the_training_window(load):
    season = seasonal_part(load, CALENDAR, Season("rolling", TRAIN, 12))
    fixed = seasonal_part(load, CALENDAR, Season("time_of_day", TRAIN))
    assert np.array_equal(season[:, :96], fixed[:, :96])
    assert not np.isclose(season[:, 96:], fixed[:, 96:]).all(axis=1).any()


@pytest.mark.parametrize(("method", "slot"), [("time_of_week", "slot_of_week"), ("time_of_day", "slot_of_day")])
def test_a_fixed_season_is_the_mean_of_the_training_readings_of_that_slot(load, method, slot):
    """Oracle: pandas; a slot of the week without a reading of the household is not looked at."""
    season, slots = seasonal_part(load, CALENDAR, Season(method, TRAIN)), getattr(CALENDAR, slot)
    oracle = pd.DataFrame(load[:, TRAIN].T).groupby(slots[TRAIN]).mean().loc[slots].to_numpy().T
    known = np.isfinite(oracle)
    assert known.mean() > 0.99 and np.allclose(season[known], oracle[known], atol=1e-12)


def test_smoothing_oracle_is_a_direct_circular_kernel_sum(load):
    season = seasonal_part(load, CALENDAR, Season("smoothed", TRAIN, smoothing_hours=2.0))
    slot, groups = CALENDAR.slot_of_week[TRAIN], 7 * 96
    known = load[1, TRAIN]
    for t in (10, 1500):
        gap = np.abs(slot - CALENDAR.slot_of_week[t])
        weight = np.exp(-0.5 * (np.minimum(gap, groups - gap) / 8.0) ** 2) * np.isfinite(known)
        assert season[1, t] == pytest.approx(np.nansum(weight * np.nan_to_num(known)) / weight.sum(), abs=1e-9)


@pytest.mark.parametrize("scale", ["log", "kwh"])
@pytest.mark.parametrize("method", [*FIXED, "rolling"])
def test_nothing_known_and_half_known_give_finite_means(method, scale):
    load = np.full((2, CALENDAR.slot_count), np.nan)
    load[1, TRAIN.start : TRAIN.start + 96] = 1.5
    season = seasonal_part(load, CALENDAR, Season(method, TRAIN, scale=scale))
    assert np.isfinite(season).all()
    assert np.all(season[0] == 0.0) and np.allclose(season[1], 1.5)


def test_log_load_clips_to_public_bounds_and_keeps_gaps():
    log_kwh = LogScale(0.01, 100.0).over(15).clipped_log(np.array([[np.nan, -3.0, 0.0, 0.1, 1e9]]))
    assert np.isnan(log_kwh[0, 0])
    assert np.allclose(log_kwh[0, 1:], np.log([0.0025, 0.0025, 0.1, 25.0]))


def test_a_seasonal_part_in_kwh_is_the_log_of_the_mean_energy(load):
    """Oracle: pandas on energies, by slot of the week; the residual is the log of energy over its weekly mean."""
    season = seasonal_part(load, CALENDAR, Season("time_of_week", TRAIN, scale="kwh"))
    energy = pd.DataFrame(np.exp(load[:, TRAIN]).T).groupby(CALENDAR.slot_of_week[TRAIN]).mean()
    seen = np.isfinite(energy.to_numpy())
    expected = np.log(energy.to_numpy())[seen]
    first = {slot: t for t, slot in reversed(list(enumerate(CALENDAR.slot_of_week)))}
    ours = season[:, [first[slot] for slot in energy.index]].T
    assert np.allclose(ours[seen], expected)
    logs = seasonal_part(load, CALENDAR, Season("time_of_week", TRAIN))
    assert np.all(season >= logs - 1e-12) and np.any(season > logs + 0.01)  # Jensen's inequality


@pytest.mark.parametrize("scale", [LogScale(offset_kwh=0.2), LogScale(scale_kwh=0.05)], ids=lambda s: s.kind)
@pytest.mark.parametrize("method", ["rolling", "time_of_day"])
def test_a_season_of_energy_is_the_mean_energy_on_any_scale(load, method, scale):
    """Oracle: the season of energies taken for logs, on a plain scale, put on the scale afterwards."""
    feeds_in = scale.kind == "signed"
    energy = load if feeds_in else np.exp(load) - 0.15
    found = seasonal_part(scale.log(energy), CALENDAR, Season(method, TRAIN, scale="kwh", log_scale=scale))
    expected = seasonal_part(energy, CALENDAR, Season(method, TRAIN))
    assert (expected < 0).any() and np.allclose(scale.kwh(found), expected, rtol=1e-9, atol=1e-11)
    nothing = seasonal_part(np.full_like(load, np.nan), CALENDAR, Season(method, TRAIN, scale="kwh", log_scale=scale))
    assert np.allclose(scale.kwh(nothing), 0.0, atol=1e-12), "who has no reading uses nothing"
