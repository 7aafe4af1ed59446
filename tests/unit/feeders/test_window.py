"""From readings to records: local days through clock changes, half hours, gaps, and the stamps of totals."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import write_table
from meterdp.feeders.plan import Window, listed_records, total_minutes
from meterdp.profiles.grid import Calendar, Shard
from meterdp.profiles.shard import recent_load
from meterdp.profiles.tables import RECENT_LOAD
from tests.conftest import config_of

LONDON = ZoneInfo("Europe/London")
SCALE = LogScale(1e-6, 1e6)


def load_of(energy_kwh, start, minutes, zone):
    energy = np.atleast_2d(energy_kwh)
    calendar = Calendar(start, energy.shape[1], minutes, zone)
    return SCALE.log(energy), calendar


@pytest.mark.parametrize(("minutes", "expected"), [(5, 30), (10, 30), (15, 30), (20, 60), (30, 30), (60, 60)])
def test_totals_are_half_hourly_where_the_export_allows(minutes, expected):
    assert total_minutes(minutes) == expected and expected % minutes == 0


def test_quarters_become_half_hours_that_end_when_they_say():
    """Oracle: by hand. Berlin in winter: a local day begins at 23:00 UTC."""
    window = Window("days", date(2025, 1, 3), 2, 30, "Europe/Berlin")
    energy = np.arange(1.0, 4 * 96 + 1)
    energy[100] = np.nan
    records = window.records(*load_of(energy, datetime(2025, 1, 1, tzinfo=UTC), 15, "Europe/Berlin"), SCALE)
    ends, cell = window.ends_utc()
    assert records.shape == (1, 96) and np.array_equal(cell, np.arange(96))
    assert ends[0] == np.datetime64("2025-01-01T23:30") and ends[-1] == np.datetime64("2025-01-03T23:00")
    first = 23 * 4
    halves = energy[first : first + 192].reshape(-1, 2).sum(axis=1)
    assert np.allclose(records[0], halves, rtol=1e-12, equal_nan=True) and np.isnan(records[0, 4])


@pytest.mark.parametrize(("day", "intervals"), [(date(2025, 3, 30), 46), (date(2025, 10, 26), 50)])
def test_days_with_a_clock_change_have_one_cell_for_every_time_of_day(day, intervals):
    """Oracle: the local clock, interval by interval."""
    window = Window("days", day, 1, 30, "Europe/London")
    start = datetime(day.year, day.month, day.day - 2, tzinfo=UTC)
    energy = np.arange(1.0, 5 * 48 + 1)
    log_kwh, calendar = load_of(energy, start, 30, "Europe/London")
    ends, cell = window.ends_utc()
    assert len(ends) == intervals and set(np.diff(ends)) == {np.timedelta64(30, "m")}
    by_clock = {}
    for stamp, value in zip(calendar.start_utc.tolist(), energy, strict=True):
        local = stamp.replace(tzinfo=UTC).astimezone(LONDON)
        if local.date() == day:
            by_clock.setdefault(local.hour * 2 + local.minute // 30, []).append(value)
    expected = [np.mean(by_clock[h]) if h in by_clock else np.nan for h in range(48)]
    assert np.allclose(window.records(log_kwh, calendar, SCALE)[0], expected, rtol=1e-12, equal_nan=True)
    hours = [stamp.replace(tzinfo=UTC).astimezone(LONDON) for stamp in (ends - np.timedelta64(30, "m")).tolist()]
    assert cell.tolist() == [h.hour * 2 + h.minute // 30 for h in hours]


def test_days_outside_the_readings_are_missing():
    window = Window("days", date(2025, 1, 4), 3, 60, "UTC")
    records = window.records(*load_of(np.ones(30), datetime(2025, 1, 2, 12, tzinfo=UTC), 60, "UTC"), SCALE)[0]
    assert np.isnan(records[:12]).all() and records[12:42].tolist() == pytest.approx([1.0] * 30)
    assert np.isnan(records[42:]).all()


def test_an_average_day_is_the_mean_of_the_days_a_meter_has_and_is_stamped_as_the_last():
    window = Window("average_day", date(2025, 1, 4), 3, 60, "UTC")
    energy = np.repeat([1.0, 2.0, 6.0], 24)
    energy[3] = np.nan
    energy[[7, 31, 55]] = np.nan
    records = window.records(*load_of(energy, datetime(2025, 1, 2, tzinfo=UTC), 60, "UTC"), SCALE)[0]
    ends, cell = window.ends_utc()
    assert records.shape == (24,) and np.isnan(records[7])
    assert records[0] == pytest.approx(3.0) and records[3] == pytest.approx(4.0)
    assert cell.tolist() == list(range(24)) and ends[0] == np.datetime64("2025-01-04T01:00")


def test_one_day_of_readings_is_no_average_day_of_three():
    """Every time of day has a reading, and yet the meter was read in a third of the window only."""
    window, energy = Window("average_day", date(2025, 1, 4), 3, 60, "UTC"), np.ones((2, 72))
    energy[0, 24:] = energy[1, 36:] = np.nan
    records = window.records(*load_of(energy, datetime(2025, 1, 2, tzinfo=UTC), 60, "UTC"), SCALE)
    assert np.isnan(records[0]).all() and records[1] == pytest.approx(np.ones(24))


def test_every_reading_of_export_counts_as_none_before_any_are_added_up():
    signed = LogScale(-5.0, 5.0, scale_kwh=0.1)
    calendar = Calendar(datetime(2025, 1, 1, tzinfo=UTC), 96, 15, "UTC")
    energy = np.tile([0.4, -0.4], 48)
    records = Window("days", date(2025, 1, 1), 1, 30, "UTC").records(signed.log(energy)[None], calendar, signed)
    assert records[0] == pytest.approx(np.full(48, 0.4))


@pytest.mark.parametrize("kind", ["days", "average_day"])
def test_a_meter_counts_by_its_readings_in_the_window_whatever_the_rules_of_a_study_say_of_the_rest(kind, tmp_path):
    """Records of June, from half a year: of meters with a blank May, that joined in June, that were only read before,
    that always read zero, and with readings on ten days of June.
    """
    config = config_of({"export": {"interval_minutes": 60, "time_zone": "Europe/Madrid"}})
    begin, hours = datetime(2023, 12, 31, 23, tzinfo=UTC), 182 * 24 - 1
    calendar = Calendar(begin, hours, 60, "Europe/Madrid")
    may, june = (calendar.slot_at(date(2024, month, 1), 0) for month in (5, 6))
    read = np.random.default_rng(8).gamma(2.0, 0.2, (5, hours))
    read[3] = 0.0
    odd = read.copy()
    odd[0, may:june] = odd[1, :june] = odd[2, june:] = odd[4, june + 240 :] = np.nan
    window = Window(kind, date(2024, 6, 30), 30, 60, "Europe/Madrid")

    def records(name, energy):
        shard = Shard(np.arange(5, dtype=np.int32), energy, calendar)
        rows = recent_load(shard, config["quality"], config["profiles"], window.first_day)
        write_table(tmp_path / name, RECENT_LOAD, rows)
        (found,) = listed_records([tmp_path / name], 5, window, config)
        return found

    complete, found = records("read", read), records("odd", odd)
    assert np.isfinite(complete).all() and np.array_equal(found[[0, 1, 3]], complete[[0, 1, 3]])
    assert np.isnan(found[2]).all() and (complete[3] <= 0.011).all()
    assert np.isfinite(found[4]).mean() == (1 / 3 if kind == "days" else 0)
