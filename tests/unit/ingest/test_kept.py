"""An export read from what was kept is the export read from its files; a new file is all that is read."""

import gzip
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from meterdp.core.parquet import read_table
from meterdp.errors import InputError
from meterdp.ingest.batch import NameIndex
from meterdp.ingest.kept import KeptReadings, Outcome
from meterdp.ingest.members import members
from meterdp.ingest.readers.interface import reader
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.tables import INGEST_CHANGES
from tests.unit.ingest.made_up import ingested

SETTINGS = ExportSettings(time_zone="Europe/Zurich", circuit_column="feeder", bad_rows="missing")
HEADER = "meter_id,feeder,interval_start,kwh"


def month(first, days, meters, seed, header=HEADER):
    """Rows of a month, by meter, with some that are bad, twice there, or missing."""
    generator = np.random.default_rng(seed)
    stamps = pd.date_range(first, periods=96 * days, freq="15min", tz="Europe/Zurich")
    lines = [header]
    for meter in meters:
        values = generator.uniform(0, 1, len(stamps)).round(3).astype(str)
        values[generator.integers(len(values), size=3)] = ["", "NULL", "n/a"]
        rows = [f"{meter},F{len(meter)},{t:%Y-%m-%d %H:%M},{v}" for t, v in zip(stamps, values, strict=True)]
        lines += [*rows, rows[7], f"{meter},F{len(meter)}"]
    return "\n".join(lines) + "\n"


def write(folder):
    folder.mkdir()
    (folder / "2025-09.csv").write_text(month("2025-09-01", 30, ["A", "Bü", "C"], 1))
    # The clock change lies in this month, and another layout of columns.
    october = month("2025-10-01", 31, ["A", "Bü", "C"], 2).replace(HEADER, "feeder,meter_id,interval_start,kwh")
    first, *rows = october.split("\n")
    swapped = [",".join([*row.split(",")[1::-1], *row.split(",")[2:]]) for row in rows]
    october = "\n".join([first, *swapped])
    (folder / "2025-10.csv.gz").write_bytes(gzip.compress(october.encode()))
    return folder


def run(export, out, kept=None, settings=SETTINGS):
    """Ingest; return readings, meters, counts, and the changes by month."""
    result = ingested(
        export, settings, folder=out, changes_path=out / "changes.parquet", kept_folder=kept, batch_bytes=3000
    )
    changes = read_table(out / "changes.parquet", INGEST_CHANGES).to_pandas().set_index("month")
    return result, changes


def alike(one, other) -> bool:
    """Whether two results are the same."""
    results = [(result.readings, result.meters, result.counts) for result in (one, other)]
    return all(a.equals(b) if isinstance(a, pd.DataFrame) else a == b for a, b in zip(*results, strict=True))


def outcome(export, kept, settings=SETTINGS):
    """Read the export once more; return how many files had to be read."""
    batches = KeptReadings(kept, settings)
    for _ in batches.batches(export, lambda member: reader(settings.format)(member, settings)):
        pass
    return batches.outcome


def test_a_second_run_gives_the_same_and_reads_nothing(tmp_path, monkeypatch):
    export, kept = write(tmp_path / "export"), tmp_path / "kept"
    plain, none = run(export, tmp_path)
    first, new = run(export, tmp_path, kept)
    with monkeypatch.context() as patch:
        patch.setattr("meterdp.ingest.readers.csv_rows.open_text", None)  # whoever reads a file fails
        second, same = run(export, tmp_path, kept)
    assert alike(first, plain) and alike(second, plain) and none.empty
    assert new[["same_meters", "revised_meters", "gone_meters"]].sum().sum() == 0
    assert (same["same_meters"] == 3).all() and same["new_meters"].sum() == 0


def test_a_new_month_is_all_that_is_read_and_what_it_changed_is_told(tmp_path, monkeypatch):
    export, kept = write(tmp_path / "export"), tmp_path / "kept"
    before, _ = run(export, tmp_path, kept)
    rows = month("2025-11-01", 30, ["A", "C", "D"], 3)
    resent = [line for line in month("2025-10-01", 31, ["A"], 9).split("\n") if "2025-10-15" in line]
    (export / "2025-11.csv").write_text(rows + "\n".join(resent) + "\n")
    opened = []

    def noted(member, encoding):
        opened.append(member.name)
        return original(member, encoding)

    from meterdp.ingest.readers import csv_rows

    original = csv_rows.open_text
    monkeypatch.setattr(csv_rows, "open_text", noted)
    after, told = run(export, tmp_path, kept)
    assert set(opened) == {"2025-11.csv"}
    assert alike(after, run(export, tmp_path)[0])
    october, november = told.loc["2025-10"], told.loc["2025-11"]
    assert (october["revised_meters"], october["same_meters"]) == (1, 2)
    assert (november["new_meters"], november["same_meters"], november["gone_meters"]) == (3, 0, 0)
    assert (told.loc["2025-09", "same_meters"], told.loc["2025-09", "revised_meters"]) == (3, 0)
    assert told["reading_count"].to_dict() == by_local_month(after)
    assert told["reading_count_before"].drop("2025-11").to_dict() == by_local_month(before)


def by_local_month(result):
    given = result.readings.dropna()["interval_start_utc"]
    return given.dt.tz_convert(SETTINGS.time_zone).dt.strftime("%Y-%m").value_counts().to_dict()


def test_a_file_of_a_month_of_the_homes_changes_no_month_before_it(tmp_path):
    # As Fingrid's: stamps in UTC, a file a Finnish month.
    export, kept, of_utc = tmp_path / "export", tmp_path / "kept", tmp_path / "of_utc"
    export.mkdir()

    of_utc_stamps = ExportSettings(time_zone="UTC", time_format="ISO8601", interval_minutes=60)

    def deliver(month, seed):
        begin, end = (pd.Timestamp(day, tz="Europe/Helsinki") for day in month)
        stamps = pd.date_range(begin, end, freq="h", inclusive="left").tz_convert("UTC")
        values = np.random.default_rng(seed).uniform(0, 1, (2, len(stamps)))
        rows = [f"{'AB'[m]},{stamps[t]:%Y-%m-%dT%H:%MZ},{values[m, t]}" for m, t in np.ndindex(values.shape)]
        (export / f"{month[0]}.csv").write_text("\n".join(["meter_id,interval_start,kwh", *rows]) + "\n")

    def told(kept, zone):
        arguments = {"folder": tmp_path, "changes_path": tmp_path / "changes.parquet", "kept_folder": kept}
        ingested(export, of_utc_stamps, **arguments, months_of=zone)
        return read_table(tmp_path / "changes.parquet", INGEST_CHANGES).to_pandas().set_index("month")

    deliver(("2025-09-01", "2025-10-01"), 1)
    told(kept, "Europe/Helsinki"), told(of_utc, None)
    deliver(("2025-10-01", "2025-11-01"), 2)
    changes = told(kept, "Europe/Helsinki")
    assert changes["same_meters"].to_dict() == {"2025-09": 2, "2025-10": 0}
    assert changes["new_meters"].to_dict() == {"2025-09": 0, "2025-10": 2}
    assert changes["reading_count"].to_dict() == {"2025-09": 2 * 30 * 24, "2025-10": 2 * (31 * 24 + 1)}
    # Months of another zone are nothing to compare with.
    assert told(of_utc, None)["revised_meters"].to_dict() == {"2025-08": 0, "2025-09": 2, "2025-10": 0}
    assert told(of_utc, "Europe/Helsinki")["new_meters"].to_dict() == {"2025-09": 2, "2025-10": 2}


def test_a_file_that_goes_takes_its_readings_along(tmp_path):
    export, kept = write(tmp_path / "export"), tmp_path / "kept"
    run(export, tmp_path, kept)
    (export / "2025-10.csv.gz").unlink()
    _, told = run(export, tmp_path, kept)
    assert told.loc["2025-10", "gone_meters"] == 3 and told.loc["2025-10", "reading_count"] == 0
    assert len(list(kept.glob("*.arrow"))) == 1


@pytest.mark.parametrize("change", ["text", "settings"])
def test_what_is_not_the_same_is_read_again(tmp_path, change):
    export, kept = write(tmp_path / "export"), tmp_path / "kept"
    assert outcome(export, kept) == Outcome(2, 0)
    assert outcome(export, kept) == Outcome(0, 2)
    settings = replace(SETTINGS, unit="Wh") if change == "settings" else SETTINGS
    if change == "text":
        (export / "2025-09.csv").write_text(month("2025-09-01", 29, ["A"], 4))
    assert outcome(export, kept, settings) == (Outcome(2, 0) if change == "settings" else Outcome(1, 1))


def test_a_run_that_fails_leaves_nothing_half_kept(tmp_path):
    export, kept = write(tmp_path / "export"), tmp_path / "kept"
    strict = replace(SETTINGS, bad_rows="refuse")
    with pytest.raises(InputError):
        run(export, tmp_path, kept, strict)
    assert not list(kept.glob("*.arrow")) and not list(kept.glob("*.json"))


def test_names_of_files_that_may_be_meters_stay_out(tmp_path):
    folder, kept = tmp_path / "export", tmp_path / "kept"
    folder.mkdir()
    for meter in ("SECRET1", "SECRET2"):
        (folder / f"{meter}.csv").write_text("interval_start,kwh\n2025-09-01 00:00,1\n2025-09-01 00:15,2\n")
    settings = ExportSettings(meter_column=None)
    first, _ = run(folder, tmp_path, kept, settings)
    assert first.meters["meter_id"].tolist() == ["SECRET1", "SECRET2"]
    assert alike(run(folder, tmp_path, kept, settings)[0], first)
    assert not [f for f in kept.rglob("*") if "SECRET" in f.name]
    assert "SECRET" not in Outcome(1, 1).sentence() and "2" not in Outcome(1, 1).sentence()


def test_readings_of_a_wide_export_are_kept_alike(tmp_path):
    export, kept = tmp_path / "export", tmp_path / "kept"
    export.mkdir()
    days = pd.date_range("2025-10-25", periods=3).strftime("%Y-%m-%d")
    names = [f"{h:02d}:{m:02d}" for h in range(24) for m in (0, 30)]
    for number in range(2):
        lines = [",".join([f"M{number}", day, *(f"{number}.{i}" for i in range(48))]) for day in days]
        (export / f"{number}.csv").write_text("\n".join([",".join(["meter_id", "date", *names]), *lines, ""]))
    settings = ExportSettings(
        format="wide_csv", interval_minutes=30, time_zone="Europe/Zurich", time_format="%Y-%m-%d"
    )
    plain, _ = run(export, tmp_path, None, settings)
    for _ in range(2):
        assert alike(run(export, tmp_path, kept, settings)[0], plain)


def test_a_member_is_read_like_the_export_it_is_of(tmp_path):
    export = write(tmp_path / "export")
    each = [sum(len(b.meter) for b in reader("long_csv")(m, SETTINGS)) for m in members(export)]
    assert sum(each) == sum(len(b.meter) for b in reader("long_csv")(export, SETTINGS)) and all(each)


def test_a_longer_period_reads_new_files_alone(tmp_path):
    """What a utility does every month: one more file, and a later last day."""
    export, kept = write(tmp_path / "export"), tmp_path / "kept"

    def until(month_end):
        ends_us = [int(pd.Timestamp(day, tz="Europe/Zurich").timestamp() * 1e6) for day in ("2025-09-01", month_end)]
        return replace(SETTINGS, period_us=tuple(ends_us))

    run(export, tmp_path, kept, until("2025-11-01"))
    (export / "2025-11.csv").write_text(month("2025-11-01", 30, ["A", "Bü", "C"], 3))
    later = until("2025-12-01")
    assert outcome(export, kept, later) == Outcome(1, 2)
    assert alike(run(export, tmp_path, kept, later)[0], run(export, tmp_path, None, later)[0])


@pytest.mark.parametrize("form", ["parquet", "folder", "long_csv"])
def test_an_export_of_any_format_is_kept(tmp_path, form):
    stamps = pd.date_range("2025-09-01", periods=96, freq="15min")
    frame = pd.DataFrame({"meter_id": "A", "interval_start": stamps, "kwh": np.arange(96) % 7 + 0.5})
    path = tmp_path / "export"
    if form == "parquet":
        frame.to_parquet(path)
    elif form == "folder":
        path.mkdir()
        for half, part in frame.groupby(frame["interval_start"].dt.hour // 12):
            part.to_parquet(path / f"{half}.parquet")
    else:
        frame.to_csv(path, index=False, date_format="%Y-%m-%d %H:%M")
    settings = ExportSettings(format=form.replace("folder", "parquet"), time_zone="UTC")
    plain, _ = run(path, tmp_path, None, settings)
    for _ in range(2):
        assert alike(run(path, tmp_path, tmp_path / "kept", settings)[0], plain)


@pytest.mark.parametrize("bad_rows", ["refuse", "missing"])
def test_files_with_and_without_offsets_are_refused_together_as_if_nothing_were_kept(tmp_path, bad_rows):
    export, kept = tmp_path / "export", tmp_path / "kept"
    export.mkdir()
    (export / "a.csv").write_text("meter_id,interval_start,kwh\nA,2025-09-01T00:00:00Z,1\nA,2025-09-01T00:15:00Z,1\n")
    settings = ExportSettings(time_format="ISO8601", bad_rows=bad_rows, time_zone="Europe/Zurich")
    run(export, tmp_path, kept, settings)
    (export / "b.csv").write_text("meter_id,interval_start,kwh\nA,,1\nA,2025-09-01T02:30:00,1\n")
    if bad_rows == "missing":
        assert alike(run(export, tmp_path, kept, settings)[0], run(export, tmp_path, None, settings)[0])
        return
    refusals = []
    for folder in (None, kept):
        with pytest.raises(InputError, match="has a UTC offset where other rows have none") as refusal:
            run(export, tmp_path, folder, settings)
        refusals.append(str(refusal.value))
    assert refusals[0] == refusals[1]


def test_names_are_looked_up_once_not_once_a_batch(tmp_path, monkeypatch):
    """Else an export of many meters is kept in a time that grows by batches times meters."""
    looked_up = []

    def counted(self, names):
        looked_up.append(len(names))
        return original(self, names)

    original = NameIndex._look_up
    monkeypatch.setattr(NameIndex, "_look_up", counted)
    meters = [f"M{number:04d}" for number in range(300)]
    rows = [f"{m},2025-09-01 {hour:02d}:00,1" for hour in range(24) for m in meters]
    (tmp_path / "e.csv").write_text("\n".join(["meter_id,interval_start,kwh", *rows, ""]))
    kept, settings = KeptReadings(tmp_path, SETTINGS), ExportSettings(time_zone="UTC")
    batches = list(kept.batches(tmp_path / "e.csv", lambda m: reader("long_csv")(m, settings, batch_bytes=2000)))
    assert len(batches) > 50 and sum(looked_up) == len(meters)
    again = list(kept.batches(tmp_path / "e.csv", None))
    assert [list(b.meter_ids[m] for m in b.meter) for b in again] == [
        list(b.meter_ids[m] for m in b.meter) for b in batches
    ]
