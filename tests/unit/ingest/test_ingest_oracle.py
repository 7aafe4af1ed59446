"""Ingestion of messy exports against a slow oracle: a loop over rows with zoneinfo folds, and pandas groups.

The exports are shuffled, repeated, sent again and corrected, on every side of a clock change.
"""

import math
from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from meterdp.errors import InputError
from meterdp.ingest.settings import ExportSettings
from tests.unit.ingest.made_up import ingested, write_csv

FORMAT = "%Y-%m-%d %H:%M"
# Zone and the UTC instant of a change back and one forward.
CHANGES = [
    ("Europe/Zurich", datetime(2018, 10, 28, 1, tzinfo=UTC)),
    ("Europe/London", datetime(2013, 3, 31, 1, tzinfo=UTC)),
    ("America/Los_Angeles", datetime(2025, 11, 2, 9, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2024, 4, 6, 15, tzinfo=UTC)),
    ("UTC", datetime(2020, 1, 1, tzinfo=UTC)),
]


def slow_utc(rows: pd.DataFrame, zone: ZoneInfo, minutes: int) -> list[datetime | None]:
    """UTC of every row by the stated rule, None where the local time does not exist."""
    local = [datetime.strptime(text, FORMAT) for text in rows["stamp"]]
    steps: Counter = Counter()
    last: dict[str, datetime] = {}
    offsets = [[t.replace(tzinfo=zone, fold=f).utcoffset() for f in (0, 1)] for t in local]
    for meter, t, (early, late) in zip(rows["meter"], local, offsets, strict=True):
        if early < late:
            continue  # the skipped hour says nothing about the order
        if meter in last:
            steps[meter] += (t < last[meter]) - (t > last[meter])
        last[meter] = t
    state: dict[str, tuple] = {}
    out = []
    for meter, t, (early, late) in zip(rows["meter"], local, offsets, strict=True):
        if early < late:
            out.append(None)
            continue
        fold = 0
        descending = steps[meter] > 0
        entry, other = (1, 0) if descending else (0, 1)
        if early > late:
            before, before_fold, before_day = state.get(meter, (None, None, None))
            fold = entry
            if before_day == t.date() and before_fold is not None:
                step = (before - t if descending else t - before).total_seconds()
                one_each = early - late <= timedelta(minutes=minutes)
                if before_fold == entry:
                    fold = other if step < 0 or (step == 0 and one_each) else entry
                else:
                    fold = other if step >= 0 else entry
        state[meter] = (t, fold if early > late else None, t.date())
        out.append(t.replace(tzinfo=zone, fold=fold).astimezone(UTC))
    return out


def slow_ingest(rows: pd.DataFrame, zone: str, minutes: int, shortest: int) -> tuple[pd.DataFrame, Counter]:
    """Canonical readings (row per UTC start, column per meter) and counts per reason, one row after the other."""
    counts, cells, marked, stamps = Counter(), {}, set(), []
    for meter, stamp, text in zip(rows["meter"], slow_utc(rows, ZoneInfo(zone), minutes), rows["kwh"], strict=True):
        value = float("nan") if text in ("Null", "") else float(text)
        on_grid = stamp is not None and (stamp.minute % shortest, stamp.second) == (0, 0)
        stamps += [stamp] if on_grid else []
        if not math.isfinite(value):
            reason = "value_missing" if math.isnan(value) else "value_not_finite"
        elif stamp is None:
            reason = "nonexistent_local_time"
        elif not on_grid:
            reason, cell = "off_grid_stamp", (meter, stamp - timedelta(minutes=stamp.minute % shortest))
            if stamp.minute % 5 == 0:
                marked.add(cell)
                if cells.pop(cell, None) is not None:
                    counts += Counter(finer_interval=1)
                    counts["used"] -= 1
        elif (meter, stamp) in marked:
            reason = "finer_interval"
        else:
            before = cells.get((meter, stamp))
            reason = "duplicate_identical" if before == value else "superseded_by_later_row"
            reason, cells[meter, stamp] = ("used" if before is None else reason), value
        counts[reason] += 1
    if not stamps:
        return pd.DataFrame(), +counts
    first, last = (t - timedelta(minutes=t.minute % minutes) for t in (min(stamps), max(stamps)))
    grid = pd.date_range(first, last, freq=f"{minutes}min")
    out = pd.DataFrame(np.nan, grid, sorted(rows["meter"].unique()))
    for meter in out:
        known = []  # interval and whether its reading is of the whole of it, where there is any
        for begin in grid:
            parts = [(meter, begin.to_pydatetime() + timedelta(minutes=m)) for m in range(0, minutes, shortest)]
            given = [cells[part] for part in parts if part in cells]
            whole = len(given) == 1 and parts[0] in cells and marked.isdisjoint(parts)
            if whole or len(given) == len(parts):
                out.loc[begin, meter] = sum(given)
                counts["part_of_sum"] += len(given) - 1
                counts["used"] -= len(given) - 1
            else:
                counts["sum_incomplete"] += len(given)
                counts["used"] -= len(given)
            if given or not marked.isdisjoint(parts):
                known.append((begin, whole))
        for i, (begin, whole) in enumerate(known):
            beside = [other for _, other in known[max(i - 1, 0) : i] + known[i + 1 : i + 2]]
            if whole and beside and not any(beside):
                out.loc[begin, meter] = np.nan
                counts["finer_interval"] += 1
                counts["used"] -= 1
    return out, +counts


@st.composite
def messy_exports(draw):
    """A zone, an interval and rows in file order: runs of one meter, some repeated, some backwards, some shuffled."""
    zone, change = draw(st.sampled_from(CHANGES))
    minutes, shortest = draw(st.sampled_from([(5, 5), (15, 15), (30, 30), (30, 15), (30, 10), (15, 5), (30, 5)]))
    value = st.sampled_from(["0.125", "0.25", "7", "-1.5", "0", "Null", "", "inf"])
    rows = []
    for _ in range(draw(st.integers(1, 6))):
        meter = draw(st.sampled_from(["m1", "M1", "07", "7"]))
        first = draw(st.integers(-20, 12))
        length = draw(st.integers(1, 24))
        own = draw(st.sampled_from([minutes, minutes, shortest, 5]))  # of this run of rows
        instants = [change + timedelta(minutes=minutes * first + own * i) for i in range(length)]
        labels = [t.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for t in instants]
        if draw(st.booleans()):  # written by a clock that is never changed: it meets the skipped hour
            labels = [labels[0] + timedelta(minutes=own * i) for i in range(length)]
        run = [(meter, t.strftime(FORMAT), draw(value)) for t in labels]
        if draw(st.booleans()):
            run = run + run[-draw(st.integers(1, length)) :]
        if draw(st.integers(0, 3)) == 0:
            run = run[::-1]
        if draw(st.integers(0, 3)) == 0:
            every = draw(st.sampled_from([1, 2, 3, 5]))
            run = [(m, t[:-1] + "3", v) if (i + 1) % every == 0 else (m, t, v) for i, (m, t, v) in enumerate(run)]
        rows.extend(run)
    if draw(st.integers(0, 2)) == 0:
        rows = draw(st.permutations(rows))
    return zone, minutes, shortest, pd.DataFrame(rows, columns=["meter", "stamp", "kwh"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("oracle")


@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(export=messy_exports(), shards=st.integers(1, 5), batch_bytes=st.sampled_from([64, 300, 1 << 20]))
def test_messy_exports_agree_with_the_slow_oracle(folder, export, shards, batch_bytes):
    zone, minutes, shortest, rows = export
    path = write_csv(folder / "export.csv", rows.itertuples(index=False))
    added_up = {"shortest_interval_minutes": shortest} if shortest < minutes else {}
    setting = ExportSettings(time_zone=zone, interval_minutes=minutes, **added_up)
    expected, counts = slow_ingest(rows, zone, minutes, shortest)
    if not {"used", "finer_interval"} & counts.keys():
        with pytest.raises(InputError, match=r"no usable reading|no stamp on the interval grid"):
            ingested(path, setting, shards=shards, batch_bytes=batch_bytes)
        return
    try:
        result = ingested(path, setting, shards=shards, batch_bytes=batch_bytes)
    except InputError as error:
        assume("minutes apart, but the setting says" not in str(error))  # which so few readings may be
        raise
    assert result.counts == {"used": 0} | counts
    assert sum(result.counts.values()) == len(rows)
    assert list(result.energy_kwh.columns) == list(expected.columns)
    assert (result.energy_kwh.index == expected.index).all()
    np.testing.assert_array_equal(result.energy_kwh.to_numpy(), expected.to_numpy())


def test_the_oracle_itself_knows_the_autumn_hour():
    """Two rows at 02:30 in order, with a step back between them, are an hour apart."""
    stamps = ["2018-10-28 02:30", "2018-10-28 02:45", "2018-10-28 02:00", "2018-10-28 02:30"]
    rows = pd.DataFrame({"meter": "m", "stamp": stamps})
    utc = slow_utc(rows, ZoneInfo("Europe/Zurich"), 15)
    assert utc[3] - utc[0] == timedelta(hours=1)
