"""Days and periods: every spelling of a day is that day, and what is no time is refused."""

from datetime import UTC, date, datetime, timedelta

import pytest

from meterdp.privacy.periods import covers, day_of, days_of, interval_of, overlap

DAY = date(2025, 1, 6)


@pytest.mark.parametrize("text", ["2025-01-06", "20250106", "2025-W02-1", "2025W021", DAY])
def test_a_day_is_the_same_in_every_spelling(text):
    assert day_of(text) == DAY


@pytest.mark.parametrize("text", ["6.1.2025", "2025-13-01", "", None, 20250106, datetime(2025, 1, 6), " 2025-01-06"])
def test_what_is_no_day_is_refused(text):
    with pytest.raises(ValueError):
        day_of(text)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("2025", [(date(2025, 1, 1), date(2025, 12, 31))]),
        ("2024-02", [(date(2024, 2, 1), date(2024, 2, 29))]),
        ("2025-12", [(date(2025, 12, 1), date(2025, 12, 31))]),
        ("2025-01-06 to 2025-02-02", [(DAY, date(2025, 2, 2))]),
        ("2026, 2025", [(date(y, 1, 1), date(y, 12, 31)) for y in (2025, 2026)]),
    ],
)
def test_periods_are_the_days_they_name(text, spans):
    assert days_of(text) == spans


@pytest.mark.parametrize(
    "text", ["", "25", "2025-13", "2025-02-01 to 2025-01-01", "2025, 2025-03", "year 2025", "2025-01-06", "0000"]
)
def test_what_is_no_period_is_refused(text):
    with pytest.raises(ValueError):
        days_of(text)


@pytest.mark.parametrize("zone", ["Europe/London", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia", "UTC"])
def test_an_interval_runs_from_midnight_to_midnight_there_and_an_unknown_zone_holds_it(zone):
    start, end = interval_of(DAY, date(2025, 7, 2), zone)
    from zoneinfo import ZoneInfo

    first, last = (datetime.fromtimestamp(s, UTC).astimezone(ZoneInfo(zone)) for s in (start, end))
    assert (first.date(), first.hour, last.date(), last.hour) == (DAY, 0, date(2025, 7, 3), 0)
    assert covers([interval_of(DAY, date(2025, 7, 2), None)], (start, end))


def test_days_that_share_hours_under_other_zones_overlap():
    """New York's day shares 19 hours with London's, and the evening before is the next day's in Auckland."""
    london = interval_of(DAY, DAY, "Europe/London")
    assert overlap(london, interval_of(DAY, DAY, "America/New_York"))
    assert overlap(london, interval_of(DAY + timedelta(1), DAY + timedelta(1), "Pacific/Auckland"))
    assert not overlap(london, interval_of(DAY + timedelta(1), DAY + timedelta(1), "Europe/London"))


def test_no_zone_is_refused():
    for zone in ("", "Europe/Londn", "../etc/passwd", 7):
        with pytest.raises(ValueError):
            interval_of(DAY, DAY, zone)


def test_several_periods_cover_what_lies_across_their_border():
    years = [interval_of(date(y, 1, 1), date(y, 12, 31), "Europe/London") for y in (2024, 2025)]
    across = interval_of(date(2024, 12, 30), date(2025, 1, 2), "Europe/London")
    assert covers(years, across) and not covers(years[:1], across) and not covers([], across)
