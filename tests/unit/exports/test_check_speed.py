"""``meterdp check`` looks at no more of a large export than it takes to refuse it."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meterdp.core.errors import InputError
from meterdp.exports.guess import examine as module
from meterdp.exports.guess.examine import examine
from meterdp.exports.shapes import FORMATS, formats_that_fit
from tests.unit.exports.made_up_exports import ZONE

METERS, DAYS = 12, 60


def export(path, *, freq: str, by_time: bool, value) -> None:
    """A long CSV of ``value(kwh)``, large against what the test lets be read."""
    stamps = pd.date_range("2024-02-01", periods=DAYS * 48, freq=freq).strftime("%Y-%m-%d %H:%M")
    kwh = value(np.random.default_rng(3).gamma(2.0, 0.2, (METERS, len(stamps))))
    frame = pd.DataFrame(
        {
            "meter_id": np.repeat([f"M{h}" for h in range(METERS)], len(stamps)),
            "interval_start": np.tile(stamps, METERS),
            "kwh": kwh.ravel().round(3),
        }
    )
    frame = frame.sort_values("interval_start", kind="stable") if by_time else frame
    frame.to_csv(path, index=False)


@pytest.fixture
def most_read(monkeypatch):
    """The numbers of readings that were asked for."""
    asked = []

    def counted(path, settings, most_readings):
        asked.append(most_readings)
        return first_batches(path, settings, most_readings)

    first_batches = module.first_batches
    monkeypatch.setattr(module, "first_batches", counted)
    monkeypatch.setattr(module, "_FIRST_LOOK", METERS * 400)
    monkeypatch.setattr("meterdp.exports.guess.trial._FIRST_LOOK_BYTES", 1 << 12)
    return asked


@pytest.mark.parametrize("by_time", [True, False])
def test_registers_are_told_by_the_first_readings(tmp_path, most_read, by_time):
    export(tmp_path / "e.csv", freq="30min", by_time=by_time, value=lambda kwh: 500 + np.cumsum(kwh, axis=1))
    found = examine(tmp_path / "e.csv", time_zone=ZONE)
    assert "only rise" in str(found.doubts[0])
    assert most_read == [METERS * 400] and not found.trial.whole


@pytest.mark.parametrize("by_time", [True, False])
def test_daily_sums_are_told_by_the_first_readings(tmp_path, most_read, by_time):
    export(tmp_path / "e.csv", freq="D", by_time=by_time, value=lambda kwh: 20 * kwh)
    with pytest.raises(InputError, match="daily or monthly sums"):
        examine(tmp_path / "e.csv", time_zone=ZONE)
    assert most_read == [METERS * 400]


@pytest.mark.parametrize("by_time", [True, False])
def test_an_export_of_intervals_is_looked_at_further(tmp_path, most_read, by_time):
    export(tmp_path / "e.csv", freq="30min", by_time=by_time, value=lambda kwh: kwh)
    found = examine(tmp_path / "e.csv", time_zone=ZONE)
    assert found.doubts == [] and found.trial.whole and len(most_read) == 2


def test_another_unit_scales_what_was_read_as_reading_it_again_would(tmp_path):
    export(tmp_path / "e.csv", freq="30min", by_time=False, value=lambda kwh: 1000 * kwh)
    found = examine(tmp_path / "e.csv", time_zone=ZONE)
    again = module.try_out(tmp_path / "e.csv", found.trial.settings, found.trial.batches, found.trial.whole)
    assert found.settings["unit"] == "Wh"
    np.testing.assert_allclose(found.trial.energy_kwh, again.energy_kwh, rtol=1e-12)
    assert (found.trial.counts == again.counts).all() and found.trial.settings == again.settings


_DIGITS = st.sampled_from(["1", "12", "25", "13", "2025", "00", "59"])
_MARKS = st.sampled_from(["-", "/", ".", ":", " ", "  ", "Mar", "mar", "PM", "am", "T"])


@given(st.lists(st.one_of(_DIGITS, _MARKS), min_size=1, max_size=11).map("".join))
def test_no_format_is_passed_over_that_pandas_would_read(text):
    expected = [f for f in FORMATS if pd.notna(pd.to_datetime(text.strip(), format=f, errors="coerce"))]
    bare = re.fullmatch(r"\d{8}|\d{12}|\d{14}", text.strip())
    if expected and not bare:
        assert formats_that_fit([text]) == expected
