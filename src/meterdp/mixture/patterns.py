"""Classes for readers: their patterns of use by name, and whether they are too many or too small.

A class is named by its level and by when it uses most. Levels compare with the average customer of the study, so a
name is relative to the others; limits are constants of this file.

How many classes so many households can carry is a rule of thumb from public numbers. A class of d hours has d means
and d (d + 1) / 2 numbers of its covariance. With fewer than five households for each hour these follow single
households, and a mixture of many such classes is a poor yardstick for anything.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Energy over that of the average customer, up to which a class is called so.
LEVELS = ((0.5, "low use"), (1.5, "medium use"), (4.0, "high use"), (np.inf, "very high use"))
# Largest hour over the mean of all hours: below no peak is named, from SHARP on it is a sharp one, unless so many
# hours in a row are nearly as high, as in a shop.
FLAT, SHARP, PLATEAU_HOURS = 1.15, 1.75, 5
# A dip: the least hour is below this share of the mean, while use is near its largest hour before and after.
DIP, NEAR = 0.5, 0.75
# A class with fewer than this many records per dimension has no covariance worth the name.
SMALL_CLASS_FACTOR = 5
_PARTS = ((6, "night"), (11, "morning"), (14, "midday"), (17, "afternoon"), (23, "evening"), (24, "night"))


def pattern_names(
    energy_kwh: np.ndarray, share: np.ndarray, profile_kwh: np.ndarray, hours_local: Sequence[int]
) -> list[str]:
    """Return a name for every class, such as "medium use, evening peak 19:00"; no two are the same.

    ``energy_kwh`` (K,) is the mean of an hour, ``share`` (K,) that of the households, ``profile_kwh`` (K, d) the mean
    profile. Classes that would have one name are distinguished by their energy, or else by a letter.
    """
    average = float(np.sum(np.asarray(share) * np.abs(energy_kwh)))
    levels = [_level(energy, average) for energy in energy_kwh]
    shapes = [_shape(profile, hours_local) for profile in profile_kwh]
    names = [f"{level}, {shape}" for level, shape in zip(levels, shapes, strict=True)]
    distinct = [
        f"{levels[k]} ({energy_kwh[k]:.2g} kWh), {shapes[k]}" if names.count(name) > 1 else name
        for k, name in enumerate(names)
    ]
    return [
        f"{name} ({chr(ord('a') + distinct[:k].count(name))})" if distinct.count(name) > 1 else name
        for k, name in enumerate(distinct)
    ]


def _level(energy: float, average: float) -> str:
    if energy < 0:
        return "net feed-in"
    return next(name for limit, name in LEVELS if energy < limit * average or limit == np.inf)


def _shape(profile: np.ndarray, hours_local: Sequence[int]) -> str:
    """Say when a profile is highest; at its ends only that it falls or rises, as the peak may lie outside."""
    mean, largest, peak = profile.mean(), profile.max(), int(profile.argmax())
    if mean <= 0:  # feeds in on the whole: what tells is when it does
        return f"most feed-in at {_clock(hours_local[profile.argmin()])}"
    if largest < FLAT * mean:
        return "flat"
    if min(profile[0], profile[-1]) > NEAR * largest and profile.min() < DIP * mean:
        return f"dip at {_clock(hours_local[profile.argmin()])}"
    whole_day = len(profile) >= 24
    if peak == 0 and not whole_day:
        return f"falling from {_clock(hours_local[0])}"
    if peak == len(profile) - 1 and not whole_day:
        return f"rising until {_clock(hours_local[-1] + 1)}"
    high = np.flatnonzero(profile > NEAR * largest)
    if largest >= SHARP * mean and PLATEAU_HOURS <= len(high) == high[-1] - high[0] + 1:
        return f"mostly from {_clock(hours_local[high[0]])} to {_clock(hours_local[high[-1]] + 1)}"
    hour = hours_local[peak]
    part = next(name for end, name in _PARTS if hour < end)
    return f"{'sharp ' if largest >= SHARP * mean else ''}{part} peak {_clock(hour)}"


def _clock(hour: int) -> str:
    return f"{int(hour):02d}:00"


def fewest_households(hours: int) -> int:
    """Return how many households a class of so many hours should have."""
    return SMALL_CLASS_FACTOR * hours


def most_classes(households: int, hours: int) -> int:
    """Return how many classes so many households can carry if all are of one size, at least one."""
    return max(households // fewest_households(hours), 1)


def in_small_classes(counts: Sequence[int], hours: int) -> tuple[int, int]:
    """Return how many classes, of ``counts`` (K,) households, are small, and how many households are in these."""
    small = [count for count in map(int, counts) if count < fewest_households(hours)]
    return len(small), sum(small)


def too_many_classes(counts: Sequence[int], hours: int) -> bool:
    """Return whether a mixture has several classes, and small ones hold most of its households ``counts`` (K,).

    A few small classes beside large ones can be groups worth knowing, such as homes with solar panels.
    """
    return len(counts) > 1 and 2 * in_small_classes(counts, hours)[1] > sum(map(int, counts))
