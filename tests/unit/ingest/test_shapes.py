"""Shapes of stamps and the formats that read them, against strptime on every usual way of writing one instant."""

import re
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meterdp.ingest.batch import NO_STAMP
from meterdp.ingest.fields import StampParser
from meterdp.ingest.shapes import FORMATS, ISO8601, SPREADSHEET, UNIX, formats_that_fit, shape_of

# The day is no month and the time is in the afternoon.
STAMP = datetime(2018, 10, 28, 14, 30, 15)
WITHOUT_MARKS = ("%Y%m%d", "%Y%m%d%H%M", "%Y%m%d%H%M%S")


@pytest.mark.parametrize("known", [*FORMATS, *WITHOUT_MARKS])
def test_every_usual_format_is_found_from_what_it_writes(known):
    found = formats_that_fit([STAMP.strftime(known), f" {(STAMP + timedelta(days=1)).strftime(known)} "])
    assert known in found
    # Whatever else fits says the same of both stamps, as %I does of %H in the morning.
    text = STAMP.strftime(known)
    assert {datetime.strptime(text, other) for other in found} == {datetime.strptime(text, known)}


@pytest.mark.parametrize("sign", ["/", "-"])
def test_a_day_that_may_be_a_month_gives_both(sign):
    both = [f"%d{sign}%m{sign}%Y %H:%M", f"%m{sign}%d{sign}%Y %H:%M"]
    assert formats_that_fit([f"01{sign}02{sign}2020 00:15"]) == both
    assert formats_that_fit([f"01{sign}02{sign}2020 00:15", f"13{sign}02{sign}2020 00:15"]) == both[:1]
    assert formats_that_fit([f"01{sign}02{sign}2020 00:15", f"02{sign}13{sign}2020 00:15"]) == both[1:]


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["2018-10-28T02:30"], [ISO8601]),
        (["2018-10-28T02:30:00+02:00", "2018-10-28T02:30:00Z"], [ISO8601]),
        (["2018-10-28 02:30:00.5000000"], [ISO8601]),
        (["2018-10-28 02:30"], ["%Y-%m-%d %H:%M"]),
        (["2018-10-28 02:30", "2018-10-28 02:45:00"], [ISO8601]),
        (["45231.0104166667", "45231"], [SPREADSHEET]),
        (["45231,0104166667"], [SPREADSHEET]),
        (["28.10.2018 02:30", "45231"], []),
        (["201810280230", "20181028"], []),
        (["17"], []), (["1234567"], []), (["2018"], []), (["now"], []), ([""], []), ([], []), (["½"], []),
        (["28.10.2018 25:30"], []),
    ],
)  # fmt: skip
def test_what_fits_and_what_does_not(texts, found):
    assert formats_that_fit(texts) == found


@given(st.text(max_size=60))
def test_a_shape_tells_no_digit_and_no_letter(text):
    shape = shape_of(text)
    body = shape[:40]
    assert len(body) == min(len(text), 40) and shape[40:] == ("..." if len(text) > 40 else "")
    for given_, shown in zip(text, body, strict=False):
        kind = "d" if given_.isdigit() else "a" if given_.isalpha() else given_
        assert shown == kind or (shown == "?" and not (given_.isascii() and given_.isprintable()))
    assert shape.isascii() and shape.isprintable()


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2037, 12, 31)),
    st.sampled_from([known for known in FORMATS if "%H:%M" in known]),
)
def test_24_00_is_the_next_midnight_and_nothing_else_is_read_anew(stamp, known):
    """Against the date and a day more by the calendar."""
    day = stamp.replace(hour=0, minute=0, second=0, microsecond=0)
    texts = [day.strftime(known), *(stamp.replace(minute=m).strftime(known) for m in (0, 24, 59))]
    # Not by replacing 00:00 in the text: 01Jan2000:00:00:00 has it in the year.
    late, too_late = (day.strftime(known.replace("%H:%M", f"24:{minute}")) for minute in ("00", "01"))
    read, present, _ = StampParser(known, ("",)).read_words([late, *texts, too_late, "24:00"])
    want = [datetime.strptime(t, known) for t in texts]
    if re.search("%y:%H", known, re.IGNORECASE):  # a colon before the time
        assert read[0] == NO_STAMP
    else:
        assert read[0] == np.datetime64(day + timedelta(days=1), "us").astype(np.int64)
        assert known in formats_that_fit([late, texts[1]])
    assert read[1:-2].tolist() == [np.datetime64(w, "us").astype(np.int64) for w in want]
    assert (read[-2:] == NO_STAMP).all() and present.all()


@pytest.mark.parametrize(
    "text", ["2025-10-01 24:00:30", "2025-10-01 24:00:00.5", "2025-10-01 124:00", "2025-10-01 24:000"]
)
@pytest.mark.parametrize("known", ["%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"])
def test_what_is_not_quite_24_00_is_no_stamp(known, text):
    assert StampParser(known, ()).read_words([text])[0].tolist() == [NO_STAMP]


def test_a_format_without_a_24_hour_clock_knows_no_24_00():
    for known, text in (("ISO8601", "2025-10-01T24:00"), ("%Y-%m-%d %I:%M %p", "2025-10-01 24:00 PM")):
        assert StampParser(known, ()).read_words([text])[0].tolist() == [NO_STAMP]


@given(st.integers(0, 10**11), st.integers(0, 999_999))
def test_unix_time_is_read_to_the_microsecond_in_either_unit(seconds, micros):
    whole = seconds * 1_000_000 + micros
    for known, text in (
        ("unix_s", f"{seconds}.{micros:06d}"),
        ("unix_s", f"{seconds}.{micros:06d}999"),
        ("unix_ms", f"{whole // 1000}.{whole % 1000:03d}"),
    ):
        stamp_us, present, is_utc = StampParser(known, ("",)).read_words([text])
        assert (stamp_us.tolist(), present.tolist(), is_utc.tolist()) == ([whole], [True], [True])


@pytest.mark.parametrize(
    "text", ["-1", "", "1e9", "1,5", "17000000000000000000", "1" * 16, "now", "1 7", "٣", "0x10"]
)
def test_what_is_no_count_of_seconds_is_no_stamp(text):
    for known in UNIX:
        assert StampParser(known, ()).read_words([text])[0].tolist() == [NO_STAMP]


def test_unix_time_is_known_by_its_digits():
    assert formats_that_fit(["1700000000", "1700001800.0"]) == ["unix_s"]
    assert formats_that_fit(["1700000000000", "1700001800000"]) == ["unix_ms"]
    assert formats_that_fit(["1700000000", "1700001800000"]) == formats_that_fit(["2700000000"]) == []
