"""Energy over a day or some days as a small drawing: a line over its area, with values under the pointer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


def card(name: str, words: str, profile_kwh: np.ndarray, hours_local: Sequence[int]) -> Card:
    """Return the card of a profile (d,) kWh of d hours of a day; its name may begin with a small letter."""
    hours = [f"{hour:02d}:00 to {hour + 1:02d}:00" for hour in hours_local]
    step, ends = 3 if len(hours) <= 12 else 6, [*hours_local, hours_local[-1] + 1]
    ticks = [(at, f"{ends[at]:02d}") for at in range(0, len(ends), step)]
    if ticks[-1][0] == len(hours):
        ticks[-1] = (len(hours), f"{ends[-1]:02d} h")
    return _card(name, words, profile_kwh, hours, ticks)


def card_of_days(name: str, words: str, energy_kwh: np.ndarray, minutes: float) -> Card:
    """Return the card of energies (T,) kWh of intervals of so many minutes; more than a day begins at midnight."""
    per_day = round(24 * 60 / minutes)
    days = len(energy_kwh) / per_day
    texts = [f"day {n // per_day + 1}, " * (days > 1) + _clock(n % per_day * minutes) for n in range(len(energy_kwh))]
    ticks = (
        [(per_day * (day + 0.5), f"{day + 1}" if day else "day 1") for day in range(int(days))]
        if days > 1
        else [(0, _clock(0))]
    )
    return _card(name, words, energy_kwh, texts, ticks)


def _clock(minutes: float) -> str:
    return f"{int(minutes // 60):02d}:{int(minutes % 60):02d}"


def _card(
    name: str, words: str, energy_kwh: np.ndarray, texts: Sequence[str], ticks: Sequence[tuple[float, str]]
) -> Card:
    low, high = min(energy_kwh.min(), 0.0), max(energy_kwh.max(), 0.0)
    y = HEIGHT * (1 - (energy_kwh - low) / ((high - low) or 1.0))
    width = WIDTH / len(energy_kwh)
    x = width * (np.arange(len(energy_kwh)) + 0.5)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    zero = HEIGHT * (1 + low / ((high - low) or 1.0))
    return Card(
        name[0].upper() + name[1:],
        words,
        line,
        f"{x[0]:.1f},{zero:.1f} {line} {x[-1]:.1f},{zero:.1f}",
        f"{significant(high, 2)} kWh",
        [
            (n * width, width, f"{text}: {significant(kwh, 2)} kWh")
            for n, (text, kwh) in enumerate(zip(texts, energy_kwh, strict=True))
        ],
        [(width * at, label) for at, label in ticks],
    )
