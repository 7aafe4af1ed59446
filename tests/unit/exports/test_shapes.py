"""Shapes of stamps and the formats that read them, against strptime on every usual way of writing one instant."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meterdp.exports.shapes import FORMATS, ISO8601, SPREADSHEET, formats_that_fit, serial_seconds, shape_of

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
    body = shape.removesuffix("...")
    assert len(body) == min(len(text), 40) and (shape != body) == (len(text) > 40)
    for given_, shown in zip(text, body, strict=False):
        kind = "d" if given_.isdigit() else "a" if given_.isalpha() else given_
        assert shown == kind or (shown == "?" and not (given_.isascii() and given_.isprintable()))
    assert shape.isascii() and shape.isprintable()


@given(st.datetimes(datetime(1990, 1, 1), datetime(2099, 12, 31)), st.sampled_from([".", ","]))
def test_a_serial_number_is_days_since_the_end_of_1899_to_the_second(when, mark):
    when = when.replace(microsecond=0)
    days = (when - datetime(1899, 12, 30)) / timedelta(days=1)
    seconds, bad = serial_seconds([f"{days:.10f}".replace(".", mark), "x", f"{int(days)}"])
    assert bad.tolist() == [False, True, False]
    assert datetime(1970, 1, 1) + timedelta(seconds=int(seconds[0])) == when
    assert datetime(1970, 1, 1) + timedelta(seconds=int(seconds[2])) == when.replace(hour=0, minute=0, second=0)


def test_the_serial_number_spreadsheets_show():
    seconds, _ = serial_seconds(["45231.0104166667"])
    assert datetime(1970, 1, 1) + timedelta(seconds=int(seconds[0])) == datetime(2023, 11, 1, 0, 15)
