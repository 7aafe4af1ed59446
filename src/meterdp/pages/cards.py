"""Energy over a day or some days as a small drawing: a line over its area, with values under the pointer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from meterdp.pages.numbers import significant

WIDTH, HEIGHT = 300, 84  # in units of the drawing


@dataclass(frozen=True)
class Card:
    """One drawing with its name and what is said of it."""

    name: str  # starts with a capital
    words: str  # such as how many households, and how much they use
    line: str  # points of the energies over the time
    area: str  # and of the area below
    top: str  # energy at the upper edge
    values: Sequence[tuple[float, float, str]]  # left edge, width and text of every interval
    ticks: Sequence[tuple[float, str]]  # places and labels along the lower edge
    others: Sequence[str] = ()  # points of further lines
    key: Sequence[str] = ()  # of all lines, if they have names


def card(name: str, words: str, profile_kwh: np.ndarray, hours_local: Sequence[int]) -> Card:
    """Return the card of a profile (d,) kWh of d hours of a day; its name may begin with a small letter."""
    return _card(name, words, {"": profile_kwh}, *_hours(hours_local))


def card_of_mean_days(name: str, words: str, mean_kw: Mapping[str, np.ndarray]) -> Card:
    """Return the card of mean days (24,) kW, a line for each by name."""
    return _card(name, words, mean_kw, *_hours(range(24)), unit="kW")


def card_of_months(name: str, words: str, kwh: Mapping[str, np.ndarray], months: np.ndarray) -> Card:
    """Return the card of energies (M,) kWh of ``months`` (M,) datetime64[M], a line for each by name."""
    days = months.astype("datetime64[D]").tolist()
    ticks = [(at + 0.5, f"{day:%b}") for at, day in enumerate(days)][:: math.ceil(len(days) / 6)]
    return _card(name, words, kwh, [f"{day:%B %Y}" for day in days], ticks)


def _hours(hours_local: Sequence[int]) -> tuple[list[str], list[tuple[float, str]]]:
    """Return the texts of hours of a day, and labels at some of their starts and the end of the last."""
    hours = [f"{hour:02d}:00 to {hour + 1:02d}:00" for hour in hours_local]
    step, ends = 3 if len(hours) <= 12 else 6, [*hours_local, hours_local[-1] + 1]
    ticks = [(at, f"{ends[at]:02d}") for at in range(0, len(ends), step)]
    if ticks[-1][0] == len(hours):
        ticks[-1] = (len(hours), f"{ends[-1]:02d} h")
    return hours, ticks


def card_of_days(name: str, words: str, energy_kwh: np.ndarray, minutes: float) -> Card:
    """Return the card of energies (T,) kWh of intervals of so many minutes; more than a day begins at midnight."""
    per_day = round(24 * 60 / minutes)
    days = len(energy_kwh) / per_day
    texts = [f"day {n // per_day + 1}, " * (days > 1) + _clock(n % per_day * minutes) for n in range(len(energy_kwh))]
    if days > 1:
        ticks = [(per_day * (day + 0.5), f"{day + 1}" if day else "day 1") for day in range(int(days))]
    elif days == 1:
        ticks = [(per_day * hour / 24, f"{hour:02d}{' h' * (hour == 24)}") for hour in range(0, 25, 6)]
    else:
        ticks = [(0, _clock(0))]
    return _card(name, words, {"": energy_kwh}, texts, ticks)


def card_of_dates(name: str, words: str, energy_kwh: np.ndarray, dates: np.ndarray) -> Card:
    """Return the card of energies (T,) kWh over many days: the mean of each day on the range of its intervals.

    ``dates`` (T,) datetime64[D], ascending, has the day of every interval.
    """
    days, first = np.unique(dates, return_index=True)
    low, high = (bound.reduceat(energy_kwh, first) for bound in (np.minimum, np.maximum))
    mean = np.add.reduceat(energy_kwh, first) / np.diff([*first, len(dates)])
    texts = [
        f"{_day(day)}, {significant(least, 2)} to {significant(most, 2)} kWh, on average"
        for day, least, most in zip(days.tolist(), low, high, strict=True)
    ]
    return _card(name, words, {"": mean}, texts, _ticks_of_dates(days.tolist()), (low, high))


def _ticks_of_dates(days: Sequence[date]) -> list[tuple[float, str]]:
    """Return at most a dozen labels: of months in their middle, or of a short period every other week."""
    if len(days) <= 92:
        return [(at, _day(days[at])) for at in range(0, len(days) - 7, 14)]
    months = [(at, f"{day:%b}") for at, day in enumerate(days) if day.day == 15]
    return months[:: math.ceil(len(months) / 12)]


def _day(day: date) -> str:
    return f"{day.day} {day:%b}"


def _clock(minutes: float) -> str:
    return f"{int(minutes // 60):02d}:{int(minutes % 60):02d}"


def _card(
    name: str,
    words: str,
    lines: Mapping[str, np.ndarray],
    texts: Sequence[str],
    ticks: Sequence[tuple[float, str]],
    spread: tuple[np.ndarray, np.ndarray] | None = None,
    unit: str = "kWh",
) -> Card:
    """Draw one line over its area, from zero or the ``spread`` between two others, or several lines by name."""
    first, *others = lines.values()
    below, above = spread or (np.min([*lines.values()], axis=0), np.max([*lines.values()], axis=0))
    low, high = min(below.min(), 0.0), max(above.max(), 0.0)
    width = WIDTH / len(first)
    x = width * (np.arange(len(first)) + 0.5)

    def points(kwh, at: np.ndarray = x) -> str:
        y = np.broadcast_to(HEIGHT * (1 - (kwh - low) / ((high - low) or 1.0)), at.shape)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(at, y, strict=True))

    zero = points(0.0, x[[0, -1]]).split()
    line = points(first)
    area = f"{points(above)} {points(below[::-1], x[::-1])}" if spread else f"{zero[0]} {line} {zero[1]}"
    values = [
        f"{text}: " + "; ".join(f"{of} {significant(one[n], 2)} {unit}".lstrip() for of, one in lines.items())
        for n, text in enumerate(texts)
    ]

    return Card(
        name[0].upper() + name[1:],
        words,
        line,
        "" if others else area,
        f"{significant(high, 2)} {unit}",
        [(n * width, width, text) for n, text in enumerate(values)],
        [(width * at, label) for at, label in ticks],
        [points(one) for one in others],
        [*filter(None, lines)],
    )
