"""Homes for tests of households: simple ones whose numbers are known."""

from datetime import UTC, date, datetime

import numpy as np

from meterdp.profiles.grid import Calendar
from meterdp.simulate.fleet import Period
from meterdp.simulate.load import one_household

YEAR = Calendar(datetime(2025, 1, 1, tzinfo=UTC), 365 * 24, 60, "UTC")
NEXT_YEAR = Calendar(datetime(2026, 1, 1, tzinfo=UTC), 365 * 24, 60, "UTC")
EIGHT_WEEKS = Calendar(datetime(2025, 1, 6, tzinfo=UTC), 56 * 24, 60, "UTC")
# Both clock changes are in it, at local midnight the second.
SANTIAGO = Calendar(datetime(2025, 1, 1, 3, tzinfo=UTC), 365 * 24, 60, "America/Santiago")


def simulated(households: int, calendar: Calendar = YEAR) -> np.ndarray:
    """Homes with a daily and weekly shape, lasting deviations and an oven, (H, T) kWh."""
    period = Period(calendar.days[0], len(calendar.days), "UTC", calendar.interval_minutes)
    return np.array([one_household(period, 11, i) for i in range(households)])[:, : calendar.slot_count]


def seasonal(households: int, calendar: Calendar = YEAR, amplitude: float = 0.4) -> np.ndarray:
    """The same with most load in January."""
    days = calendar.local_day - (date(calendar.days[0].year, 1, 1) - date(1970, 1, 1)).days
    return simulated(households, calendar) * (1 + amplitude * np.cos(2 * np.pi * days / 365.2425))
