"""A profile of a day as a small drawing: a line over its area from zero up, with values under the pointer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meterdp.pages.numbers import significant

WIDTH, HEIGHT = 300, 84  # in units of the drawing


@dataclass(frozen=True)
class Card:
    """One profile with its name and what is said of it."""

    name: str  # level and peak hour; starts with a capital
    words: str  # how many households, and how much they use
    line: str  # points of the profile over the hours
    area: str  # and of the area below
    top: str  # energy at the upper edge
    values: Sequence[tuple[float, float, str]]  # left edge, width and words of every hour
    ticks: Sequence[tuple[float, str]]  # places and labels of hours along the lower edge


def card(name: str, words: str, profile_kwh: np.ndarray, hours_local: Sequence[int]) -> Card:
    """Return the card of a profile (d,) kWh of d hours; its name may begin with a small letter."""
    low, high = min(profile_kwh.min(), 0.0), max(profile_kwh.max(), 0.0)
    y = HEIGHT * (1 - (profile_kwh - low) / ((high - low) or 1.0))
    width = WIDTH / len(profile_kwh)
    x = width * (np.arange(len(profile_kwh)) + 0.5)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    zero = HEIGHT * (1 + low / ((high - low) or 1.0))
    values = [
        (n * width, width, f"{hour:02d}:00 to {hour + 1:02d}:00: {significant(kwh, 2)} kWh")
        for n, (hour, kwh) in enumerate(zip(hours_local, profile_kwh, strict=True))
    ]
    return Card(
        name[0].upper() + name[1:],
        words,
        line,
        f"{x[0]:.1f},{zero:.1f} {line} {x[-1]:.1f},{zero:.1f}",
        f"{significant(high, 2)} kWh",
        values,
        _ticks(hours_local),
    )


def _ticks(hours: Sequence[int]) -> list[tuple[float, str]]:
    """Return the edges of every third hour or, of a long profile, of every sixth."""
    step = 3 if len(hours) <= 12 else 6
    label = [*hours, hours[-1] + 1]
    return [(WIDTH * at / len(hours), f"{label[at]:02d}") for at in range(0, len(hours) + 1, step)]
