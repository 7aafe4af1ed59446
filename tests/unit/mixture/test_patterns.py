"""Classes in words: level, hour of the peak, and what to say when a peak lies at the edge or nowhere."""

from __future__ import annotations

import numpy as np
import pytest

from meterdp.mixture.patterns import (
    fewest_households,
    in_small_classes,
    most_classes,
    pattern_names,
    too_many_classes,
)

NOON_ON = list(range(12, 24))
DAY = list(range(24))


def bump(hours: int, at: int, height: float) -> np.ndarray:
    """One kWh everywhere, more around one hour."""
    return 1.0 + height * np.exp(-0.5 * ((np.arange(hours) - at) / 3) ** 2)


def name_of(profile, hours, energy=1.0) -> str:
    """Name of a class beside one of the average customer, a thousand times as many."""
    names = pattern_names(
        np.array([1.0, energy]), np.array([0.999, 0.001]), np.stack([np.ones(len(hours)), profile]), hours
    )
    assert names[0].endswith(", flat")
    return names[1]


@pytest.mark.parametrize(
    ("profile", "hours", "shape"),
    [
        (bump(12, 7, 1.0), NOON_ON, "evening peak 19:00"),
        (np.where(np.arange(12) == 7, 5.0, 1.0), NOON_ON, "sharp evening peak 19:00"),
        (np.r_[np.ones(8), np.full(9, 5.0), np.ones(7)], DAY, "mostly from 08:00 to 17:00"),
        (np.r_[np.ones(8), np.full(4, 5.0), np.ones(12)], DAY, "sharp morning peak 08:00"),
        (bump(24, 7, 1.0), DAY, "morning peak 07:00"),
        (bump(24, 12, 1.0), DAY, "midday peak 12:00"),
        (bump(24, 15, 1.0), DAY, "afternoon peak 15:00"),
        (bump(24, 2, 1.0), DAY, "night peak 02:00"),
        (bump(24, 0, 1.0), DAY, "night peak 00:00"),
        (np.linspace(2, 1, 12), NOON_ON, "falling from 12:00"),
        (np.linspace(1, 2, 12), NOON_ON, "rising until 24:00"),
        (0.1 + np.r_[np.ones(4), np.zeros(4), np.ones(4)], NOON_ON, "dip at 16:00"),
        (1.0 - bump(12, 2, 5.0), NOON_ON, "most feed-in at 14:00"),
    ],
)
def test_the_shape_is_said_by_the_hour_of_the_peak(profile, hours, shape):
    assert name_of(profile, hours, 2.0).split(", ")[1] == shape


@pytest.mark.parametrize(
    ("energy", "level"),
    [
        (0.3, "low use"),
        (1.4, "medium use"),
        (1.6, "high use"),
        (3.9, "high use"),
        (40.0, "very high use"),
        (-0.4, "net feed-in"),
    ],
)
def test_the_level_is_that_against_the_average_customer(energy, level):
    assert name_of(bump(12, 7, 1.0), NOON_ON, energy).split(", ")[0] == level


def test_no_two_classes_have_one_name():
    profile = np.stack([bump(12, 7, 1.0)] * 4)
    names = pattern_names(np.array([1.0, 1.2, 1.2001, 5.0]), np.full(4, 0.25), profile, NOON_ON)
    assert len(set(names)) == 4
    assert names[0] == "low use, evening peak 19:00" and names[3] == "high use, evening peak 19:00"
    assert names[1:3] == [f"medium use (1.2 kWh), evening peak 19:00 ({letter})" for letter in "ab"]


def test_of_classes_that_are_too_many_for_the_export():
    assert fewest_households(12) == 60
    assert [most_classes(n, 12) for n in (0, 59, 119, 120, 1398)] == [1, 1, 1, 2, 23]
    assert not too_many_classes([668, 435, 146, 98, 37, 14], 12)  # two of six are small
    assert too_many_classes([40, 20, 12, 9, 5, 3], 12)
    assert not too_many_classes([500, 30, 20], 12)  # two of three are small, and 91 % of the households in the other
    assert not too_many_classes([221, 155, 119, 87, 21, 17], 24)  # the default of a small utility; two have panels
    assert in_small_classes([40, 70, 20], 12) == (2, 60)
    assert not too_many_classes([20], 12)  # one class is the least there is
