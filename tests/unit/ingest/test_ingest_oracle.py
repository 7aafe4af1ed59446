"""Ingestion of messy exports against a slow oracle: a loop over rows with zoneinfo folds, and pandas groups.

The exports are shuffled, repeated, sent again and corrected, on every side of a clock change.
"""

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


def slow_ingest(rows: pd.DataFrame, zone: str, minutes: int) -> tuple[pd.DataFrame, dict[str, int]]:
    """Canonical readings (row per UTC start, column per meter) and counts per reason."""
    rows = rows.assign(utc=slow_utc(rows, ZoneInfo(zone), minutes))
    on_grid = np.array([u is not None and (u.minute % minutes, u.second) == (0, 0) for u in rows["utc"]])
    value = pd.to_numeric(rows["kwh"].where(rows["kwh"] != "Null"))
    reason = np.select(
        [value.isna(), np.isinf(value), rows["utc"].isna(), ~on_grid],
        ["value_missing", "value_not_finite", "nonexistent_local_time", "off_grid_stamp"],
        "used",
    )
    if not (reason == "used").any():
        return pd.DataFrame(), pd.Series(reason).value_counts().to_dict()
    good = rows[reason == "used"].assign(value=value)
    # A row counts as superseded or identical by the value that stood there before it.
    before = good.groupby(["meter", "utc"])["value"].shift()
    repeated = np.where(
        before.isna(), "used", np.where(before == good["value"], "duplicate_identical", "superseded_by_later_row")
    )
    between = rows.loc[reason == "off_grid_stamp", "meter"].value_counts()
    used = good[repeated == "used"]["meter"].value_counts().reindex(between.index, fill_value=0)
    finer = between.index[2 * between > used]
    repeated = np.where((repeated == "used") & good["meter"].isin(finer), "finer_interval", repeated)
    counts = pd.concat([pd.Series(reason[reason != "used"]), pd.Series(repeated)]).value_counts()
    stamps = rows.loc[on_grid, "utc"]
    grid = pd.date_range(stamps.min(), stamps.max(), freq=f"{minutes}min")
    last = good.pivot_table(index="utc", columns="meter", values="value", aggfunc="last")
    last[last.columns.intersection(finer)] = np.nan
    return last.reindex(index=grid, columns=sorted(rows["meter"].unique())), counts.astype(int).to_dict()


@st.composite
def messy_exports(draw):
    """A zone, an interval and rows in file order: runs of one meter, some repeated, some backwards, some shuffled."""
    zone, change = draw(st.sampled_from(CHANGES))
    minutes = draw(st.sampled_from([5, 15, 30]))
    value = st.sampled_from(["0.125", "0.25", "7", "-1.5", "0", "Null", "", "inf"])
    rows = []
    for _ in range(draw(st.integers(1, 6))):
        meter = draw(st.sampled_from(["m1", "M1", "07", "7"]))
        first = draw(st.integers(-20, 12))
        length = draw(st.integers(1, 24))
        instants = [change + timedelta(minutes=minutes * (first + i)) for i in range(length)]
        labels = [t.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for t in instants]
        if draw(st.booleans()):  # written by a clock that is never changed: it meets the skipped hour
            labels = [labels[0] + timedelta(minutes=minutes * i) for i in range(length)]
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
    return zone, minutes, pd.DataFrame(rows, columns=["meter", "stamp", "kwh"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("oracle")


@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(export=messy_exports(), shards=st.integers(1, 5), batch_bytes=st.sampled_from([64, 300, 1 << 20]))
def test_messy_exports_agree_with_the_slow_oracle(folder, export, shards, batch_bytes):
    zone, minutes, rows = export
    path = write_csv(folder / "export.csv", rows.itertuples(index=False))
    setting = ExportSettings(time_zone=zone, interval_minutes=minutes)
    expected, counts = slow_ingest(rows, zone, minutes)
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
