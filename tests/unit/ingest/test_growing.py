"""An export read once gives what it gives when it is read twice, in whatever order its rows come."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from meterdp.errors import InputError
from meterdp.ingest.growing import Growing, _permute
from meterdp.ingest.readers import interface
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.streams import ahead
from tests.unit.ingest.made_up import ingested, write_csv

ARRAYS = Growing.arrays
SETTINGS = ExportSettings(time_zone="Europe/Zurich", interval_minutes=60)


def rows(order: str, seed: int) -> list[tuple]:
    """Rows of nine meters with dates of their own, around a clock change, some of them bad, resent or elsewhere."""
    generator = np.random.default_rng(seed)
    out = []
    for meter in generator.permutation([f"M{i}" for i in range(9)]):
        first = pd.Timestamp("2025-10-20", tz="UTC") + pd.Timedelta(hours=int(generator.integers(200)))
        stamps = pd.date_range(first, periods=int(generator.integers(20, 150)), freq="h").tz_convert("Europe/Zurich")
        values = generator.uniform(0, 2, len(stamps)).round(2).astype(object)
        values[generator.integers(len(values), size=2)] = "NULL"
        own = [(meter, f"{t:%Y-%m-%d %H:%M}", v) for t, v in zip(stamps, values, strict=True)]
        own += [own[3], (meter, own[5][1], 9.5), (meter, own[7][1][:-1] + "7", 1), ("", own[8][1], 1)]
        out.append(own[::-1] if order == "backwards" else own)
    flat = [("M0", "2025-10-20 00:07", 1)] * 20 + [row for own in out for row in own]  # first rows without a slot
    if order == "by time":
        flat.sort(key=lambda row: row[1])
    if order == "shuffled":
        flat = [flat[i] for i in generator.permutation(len(flat))]
    return flat


def test_a_reader_that_runs_ahead_yields_the_same_and_stops_where_it_is_stopped():
    made, closed = [], []

    def some(count, fails=False):
        try:
            for number in range(count):
                made.append(number)
                yield [number]
            if fails:
                raise InputError("is damaged", hint="copy it again")
        finally:
            closed.append(count)

    assert [*ahead(some(20))] == [[number] for number in range(20)]
    found, made[:] = [], []
    with pytest.raises(InputError, match="is damaged"):
        found.extend(batch for batch in ahead(some(7, fails=True)))
    assert made == [*range(7)]
    made.clear()
    first = ahead(some(1000), most=3)
    assert [next(first), next(first)] == [[0], [1]]
    first.close()
    assert len(made) <= 2 + 3 and closed == [20, 7, 1000], "no thread and no open file stays behind"


@pytest.mark.parametrize("policy", ["last", "missing"])
@pytest.mark.parametrize("order", ["by meter", "by time", "shuffled", "backwards"])
@pytest.mark.parametrize("period", [None, ("2025-10-22", "2025-10-27")])
@pytest.mark.parametrize("listed", [None, ["M7", *(f"M{i}" for i in range(6)), "M9"]], ids=["", "listed"])
def test_reading_once_is_reading_twice(tmp_path, monkeypatch, order, policy, period, listed):
    used, passes = [], []
    reader = interface.READERS["long_csv"].batches
    counted = replace(
        interface.READERS["long_csv"], batches=lambda *given, **of: passes.append(1) or reader(*given, **of)
    )
    monkeypatch.setitem(interface.READERS, "long_csv", counted)
    for seed in range(2):
        path = write_csv(tmp_path / "e.csv", rows(order, seed))
        settings = replace(SETTINGS, conflicting_rows=policy)
        if period:
            begin, end = (pd.Timestamp(day, tz="Europe/Zurich").value // 1000 for day in period)
            settings = replace(settings, period_us=(begin, end))
        with monkeypatch.context() as patch:
            patch.setattr(Growing, "arrays", lambda self: used.append(1) or ARRAYS(self))
            once = ingested(path, settings, batch_bytes=400, listed=listed)
        passes.clear()
        with monkeypatch.context() as patch:
            patch.setattr(Growing, "given_up", True)
            twice = ingested(path, settings, batch_bytes=400, listed=listed)
        if listed and period:
            assert len(passes) <= 2 and (len(passes) == 1 or order in ("backwards", "shuffled"))
        pd.testing.assert_frame_equal(once.readings, twice.readings)
        pd.testing.assert_frame_equal(once.meters, twice.meters)
        assert once.counts == twice.counts and {"used", "value_missing", "off_grid_stamp"} <= set(once.counts)
    # Meters whose rows run backwards around a clock change need the second look; mixed orders have some by chance.
    assert {"by meter": len(used) == 2, "by time": len(used) == 2, "backwards": not used}.get(order, True)


@pytest.mark.parametrize("room", [0, 8 * 10, 8 * 400, 8 * 3000])
def test_an_export_too_large_for_its_room_is_read_twice(tmp_path, monkeypatch, room):
    path = write_csv(tmp_path / "e.csv", rows("by time", 7))
    whole = ingested(path, SETTINGS)
    monkeypatch.setattr("meterdp.ingest.ingest.room_bytes", lambda memory: room)
    again = ingested(path, SETTINGS, batch_bytes=300)
    pd.testing.assert_frame_equal(again.readings, whole.readings)
    assert again.counts == whole.counts


def test_no_memory_for_the_room_is_no_error(tmp_path, monkeypatch):
    path = write_csv(tmp_path / "e.csv", rows("by meter", 1))
    whole = ingested(path, SETTINGS)

    def none(*_):
        raise MemoryError

    monkeypatch.setattr("meterdp.ingest.growing.np.empty", none)
    growing = Growing(SETTINGS, 1 << 20)
    monkeypatch.undo()
    assert growing.given_up and len(whole.meters) == 9


def test_rows_are_permuted_in_place():
    generator = np.random.default_rng(8)
    for size in (0, 1, 2, 5, 40):
        for _ in range(20):
            values, order = generator.normal(size=(size, 3)), generator.permutation(size)
            expected = values[order]
            _permute(values, order)
            assert np.array_equal(values, expected)
