"""Log load and seasonal mean: from the training window of one household only."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from meterdp.profiles.grid import Calendar
from meterdp.profiles.seasonal import log_load, seasonal_mean

METHODS = ["time_of_week", "time_of_day", "smoothed"]
CALENDAR = Calendar(datetime(2025, 10, 19, 22, tzinfo=UTC), 96 * 28, 15, "Europe/Zurich")
TRAIN = CALENDAR.window(15)


@pytest.fixture
def load():
    generator = np.random.default_rng(5)
    values = generator.normal(-2, 1, size=(4, CALENDAR.slot_count))
    values[generator.random(values.shape) < 0.05] = np.nan
    return values


@pytest.mark.parametrize("method", METHODS)
def test_held_out_readings_and_other_households_change_nothing(load, method):
    season = seasonal_mean(load, CALENDAR, TRAIN, method)
    changed = load.copy()
    changed[:, TRAIN.stop :] += 100.0
    changed[:, : TRAIN.start] = np.nan
    changed[1:] *= -7.0
    again = seasonal_mean(changed, CALENDAR, TRAIN, method)
    assert np.array_equal(season[0], again[0])
    assert not np.allclose(season[1], again[1])


def test_time_of_week_is_the_mean_of_the_training_readings_of_that_slot(load):
    season = seasonal_mean(load, CALENDAR, TRAIN, "time_of_week")
    slots = CALENDAR.slot_of_week
    for t in (TRAIN.start + 5, TRAIN.stop + 200, 96 * 27):
        same = np.flatnonzero(slots[TRAIN] == slots[t]) + TRAIN.start
        oracle = np.nanmean(load[:, same], axis=1)
        known = np.isfinite(oracle)
        assert np.allclose(season[known, t], oracle[known], atol=1e-12)


def test_time_of_day_oracle_is_pandas_groupby(load):
    season = seasonal_mean(load, CALENDAR, TRAIN, "time_of_day")
    oracle = pd.Series(load[2, TRAIN]).groupby(CALENDAR.slot_of_day[TRAIN]).mean()
    assert np.allclose(season[2], oracle.loc[CALENDAR.slot_of_day].to_numpy(), atol=1e-12)


def test_smoothing_oracle_is_a_direct_circular_kernel_sum(load):
    season = seasonal_mean(load, CALENDAR, TRAIN, "smoothed", smoothing_hours=2.0)
    slot, groups = CALENDAR.slot_of_week[TRAIN], 7 * 96
    known = load[1, TRAIN]
    for t in (10, 1500):
        gap = np.abs(slot - CALENDAR.slot_of_week[t])
        weight = np.exp(-0.5 * (np.minimum(gap, groups - gap) / 8.0) ** 2) * np.isfinite(known)
        assert season[1, t] == pytest.approx(np.nansum(weight * np.nan_to_num(known)) / weight.sum(), abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_known_and_half_known_give_finite_means(method):
    load = np.full((2, CALENDAR.slot_count), np.nan)
    load[1, TRAIN.start : TRAIN.start + 96] = 1.5
    season = seasonal_mean(load, CALENDAR, TRAIN, method)
    assert np.isfinite(season).all()
    assert np.all(season[0] == 0.0) and np.allclose(season[1], 1.5)


def test_log_load_clips_to_public_bounds_and_keeps_gaps():
    log_kwh = log_load(np.array([[np.nan, -3.0, 0.0, 0.1, 1e9]]), (0.01, 100.0), 15)
    assert np.isnan(log_kwh[0, 0])
    assert np.allclose(log_kwh[0, 1:], np.log([0.0025, 0.0025, 0.1, 25.0]))


def test_a_seasonal_part_in_kwh_is_the_log_of_the_mean_energy(load):
    """Oracle: pandas on energies, by slot of the week; the residual is the log of energy over its weekly mean."""
    season = seasonal_mean(load, CALENDAR, TRAIN, "time_of_week", scale="kwh")
    energy = pd.DataFrame(np.exp(load[:, TRAIN]).T).groupby(CALENDAR.slot_of_week[TRAIN]).mean()
    seen = np.isfinite(energy.to_numpy())
    expected = np.log(energy.to_numpy())[seen]
    first = {slot: t for t, slot in reversed(list(enumerate(CALENDAR.slot_of_week)))}
    ours = season[:, [first[slot] for slot in energy.index]].T
    assert np.allclose(ours[seen], expected)
    logs = seasonal_mean(load, CALENDAR, TRAIN, "time_of_week")
    assert np.all(season >= logs - 1e-12) and np.any(season > logs + 0.01)  # Jensen's inequality


def test_a_household_without_readings_has_a_seasonal_part_of_zero_in_either_scale():
    nothing = np.full((1, CALENDAR.slot_count), np.nan)
    for scale in ("log", "kwh"):
        assert not seasonal_mean(nothing, CALENDAR, TRAIN, "smoothed", scale=scale).any()
