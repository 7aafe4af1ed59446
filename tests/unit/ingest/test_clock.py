"""Local clock to UTC. Oracle: zoneinfo labels a regular UTC grid, and the clock must find the grid again."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from meterdp.ingest.batch import NO_SUCH_TIME, Batch
from meterdp.ingest.clock import OUT_OF_RANGE, Clock, clock_changes
from meterdp.ingest.settings import ExportSettings

# Zone, and the UTC instant of a change back and one forward.
CHANGES = {
    "Europe/Zurich": ("2018-10-28T01:00", "2018-03-25T01:00"),
    "Europe/London": ("2012-10-28T01:00", "2013-03-31T01:00"),
    "America/Los_Angeles": ("2025-11-02T09:00", "2025-03-09T10:00"),
    "Australia/Lord_Howe": ("2024-04-06T15:00", "2024-10-05T15:30"),
}
# The shift of the clock on Lord Howe Island is half an hour, which whole hours do not fit.
CASES = [(zone, minutes) for zone in CHANGES for minutes in (5, 15, 30, 60) if minutes < 60 or "Lord" not in zone]


# How an interval is stamped: by its start, by its end on the local clock, or by its local start plus its length.
CONVENTIONS = ("start", "end_converted", "start_plus_interval")
STAMP = {"start": "start", "end_converted": "end", "start_plus_interval": "end"}


def labelled(utc, zone, minutes, convention) -> pd.DatetimeIndex:
    interval = pd.Timedelta(minutes=minutes)
    if convention == "end_converted":
        return on_the_wall(utc + interval, zone)
    return on_the_wall(utc, zone) + (interval if convention == "start_plus_interval" else pd.Timedelta(0))


def batch_of(local: pd.DatetimeIndex, meter=None) -> Batch:
    meter = np.zeros(len(local), np.int32) if meter is None else np.asarray(meter, np.int32)
    return Batch(2, ["m"], meter, local.as_unit("us").asi8, False, np.zeros(len(local)))


def starts(local, zone, minutes=15, stamp="start", meter=None, descending=False) -> np.ndarray:
    settings = ExportSettings(time_zone=zone, interval_minutes=minutes, stamp=stamp)
    batch = batch_of(pd.DatetimeIndex(local), meter)
    return Clock(settings, descending=np.array([descending])).interval_starts(batch.meter.astype(np.int64), batch)


def around(instant: str, minutes: int) -> pd.DatetimeIndex:
    """A regular UTC grid from a day before to a day after an instant."""
    middle = pd.Timestamp(instant, tz="UTC")
    return pd.date_range(middle - pd.Timedelta("1D"), middle + pd.Timedelta("1D"), freq=f"{minutes}min", unit="us")


def on_the_wall(utc: pd.DatetimeIndex, zone: str) -> pd.DatetimeIndex:
    return utc.tz_convert(zone).tz_localize(None)


@pytest.mark.parametrize("zone", [*CHANGES, "Africa/Casablanca", "Asia/Kathmandu", "UTC"])
def test_changes_are_those_of_zoneinfo(zone):
    changes = clock_changes(zone)
    for year in range(1990, 2100, 7):
        for day in range(1, 365, 11):
            utc = pd.Timestamp(datetime(year, 1, 1), tz="UTC") + pd.Timedelta(days=day, minutes=day * 17)
            offset = utc.tz_convert(zone).utcoffset()
            assert changes.offset_at(utc.value // 1000) == offset // pd.Timedelta(microseconds=1)


@pytest.mark.parametrize(("zone", "minutes"), CASES)
@pytest.mark.parametrize("change", [0, 1], ids=["back", "forward"])
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_stamps_in_order_give_the_utc_grid_again(zone, minutes, change, convention):
    utc = around(CHANGES[zone][change], minutes)
    labels = labelled(utc, zone, minutes, convention)
    assert np.array_equal(starts(labels, zone, minutes, STAMP[convention]), utc.asi8)


@pytest.mark.parametrize(
    "zone", ["Asia/Gaza", "America/Recife", "America/Boa_Vista", "Africa/Cairo", "Europe/Zurich"]
)
def test_no_change_is_passed_over_because_another_follows_within_a_week(zone):
    changes, zone = clock_changes(zone), ZoneInfo(zone)
    days = [datetime(1990, 1, 1, tzinfo=UTC) + timedelta(hours=12 * i) for i in range(2 * 365 * 30)]
    offsets = np.array([day.astimezone(zone).utcoffset() / timedelta(microseconds=1) for day in days])
    found = [changes.offset_at(int(day.timestamp()) * 1_000_000) for day in days]
    assert np.array_equal(offsets, found)


# Backwards and with one interval in the repeated hour, nothing tells the ends of its passes apart in the last way.
BACKWARDS = [
    (zone, minutes, convention)
    for zone, minutes in CASES
    for convention in CONVENTIONS
    if convention != "start_plus_interval" or minutes < (30 if "Lord" in zone else 60)
]


@pytest.mark.parametrize(("zone", "minutes", "convention"), BACKWARDS)
def test_a_file_from_new_to_old_gives_the_utc_grid_again(zone, minutes, convention):
    utc = around(CHANGES[zone][0], minutes)[::-1]
    labels = labelled(utc, zone, minutes, convention)
    assert np.array_equal(starts(labels, zone, minutes, STAMP[convention], descending=True), utc.asi8)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_every_row_twice_in_a_row_is_read_like_once(convention):
    utc = around(CHANGES["Europe/Zurich"][0], 15)
    labels = labelled(utc, "Europe/Zurich", 15, convention).repeat(2)
    assert np.array_equal(starts(labels, "Europe/Zurich", 15, STAMP[convention]), utc.repeat(2).asi8)


def test_a_gap_inside_the_repeated_hour_does_not_hide_the_step_back():
    utc = around(CHANGES["Europe/Zurich"][0], 15)
    labels = on_the_wall(utc, "Europe/Zurich")
    kept = np.delete(np.arange(len(utc)), [97 - 2, 97 + 1])
    assert np.array_equal(starts(labels[kept], "Europe/Zurich"), utc[kept].asi8)


def test_the_skipped_hour_is_marked_and_its_neighbours_are_not():
    local = pd.date_range("2018-03-25 01:45", "2018-03-25 03:00", freq="15min", unit="us")
    got = starts(local, "Europe/Zurich")
    assert (got == NO_SUCH_TIME).tolist() == [False, True, True, True, True, False]
    assert got[-1] - got[0] == 15 * 60 * 1_000_000


def test_an_end_at_the_start_of_the_skipped_hour_is_the_change_itself():
    got = starts(
        pd.DatetimeIndex(["2018-03-25 02:00", "2018-03-25 03:00", "2018-03-25 02:15"]), "Europe/Zurich", 15, "end"
    )
    assert got[0] == got[1] == pd.Timestamp("2018-03-25T00:45").value // 1000
    assert got[2] == NO_SUCH_TIME


def test_stamps_no_meter_can_have_written_are_marked():
    got = starts(
        pd.DatetimeIndex(["1989-12-31 23:45", "1990-01-01", "2099-12-31", "2100-01-01"]).as_unit("us"), "UTC"
    )
    assert (got == OUT_OF_RANGE).tolist() == [True, False, False, True]


def test_the_grid_runs_through_full_local_hours():
    settings = ExportSettings(time_zone="Asia/Kolkata", interval_minutes=60)
    assert Clock(settings).grid_anchor_us(pd.Timestamp("2020-01-01").value // 1000) == 30 * 60 * 1_000_000
