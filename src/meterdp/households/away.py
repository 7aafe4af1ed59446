"""Spells in which no one is at home: which days they are, and spells in a year that is drawn.

A day is quiet if the 90 % quantile of its readings is below :data:`QUIET` times the median of what it is on all days
of the same household; a spell is two or more quiet days in a row. In a drawn year a household is away on as many days
as its vector says, in spells whose lengths have a public distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from meterdp.households import marginal

QUIET = 0.3
FEWEST_DAYS = 2
# Lengths of spells in days: median and standard deviation of their logarithm, as of Australian and Swiss homes.
_MEDIAN_DAYS, _LOG_STD = 4.0, 1.1
# Normal scores that readings of an empty home have among all readings of the household. Their 90 % quantile is where
# a reading is a part of the one at a high score, within bounds; their standard deviation is the same for all.
_EMPTY, _HIGH_SCORE, _TOP_SCORES, _SCORE_STD = 0.15, 1.2, (-2.0, -0.25), 0.5


def days_away(x: np.ndarray, day: np.ndarray, days: int) -> tuple[np.ndarray, int]:
    """Return which local days belong to spells, (days,) bool, and how many days have half of their readings.

    Of (T,) readings, NaN if missing; ``day`` is the local day 0..days-1 of every one, in order. A day with fewer
    readings ends a spell.
    """
    slots = np.bincount(day, minlength=days)
    readings = np.full((days, slots.max()), np.nan)
    readings[day, np.arange(len(x)) - (np.cumsum(slots) - slots)[day]] = np.where(np.isfinite(x), x, np.nan)
    known = np.isfinite(readings).sum(axis=1)
    enough = 2 * known >= np.maximum(slots, 1)
    if not enough.any():
        return np.zeros(days, dtype=bool), 0
    readings.sort(axis=1)  # those that are missing come last
    at = 0.9 * np.maximum(known - 1, 0)
    below, every = at.astype(int), np.arange(days)
    low, next_one = readings[every, below], readings[every, np.minimum(below + 1, np.maximum(known - 1, 0))]
    high = low + (next_one - low) * (at - below)
    quiet = enough & (high < QUIET * np.median(high[enough]))
    with_next = quiet[:-1] & quiet[1:]  # a spell has FEWEST_DAYS, two
    return np.append(with_next, False) | np.append(False, with_next), int(enough.sum())


@dataclass(frozen=True)
class Spells:
    """Spells of one household in the period drawn."""

    away: np.ndarray  # (T,) bool
    quantile_function: np.ndarray  # of the readings of the empty home, over SCORES

    def expected(self, at_home: np.ndarray) -> np.ndarray:
        """Return the expected load, (T,), from that with somebody at home."""
        return np.where(self.away, marginal.means(self.quantile_function), at_home)

    @property
    def ranked(self) -> np.ndarray:
        """Readings of the empty home from the lowest to the highest."""
        return np.interp(marginal.rank_scores(int(self.away.sum())), marginal.SCORES, self.quantile_function)


def draw_spells(rng: np.random.Generator, away: int, days: int) -> np.ndarray:
    """Draw on which local days a household is away, (days,) bool, ``away`` of them."""
    lengths = []
    while (left := away - sum(lengths)) > 0:
        length = round(_MEDIAN_DAYS * math.exp(_LOG_STD * rng.standard_normal()))
        lengths.append(min(max(length, FEWEST_DAYS), left))
    lengths = rng.permutation(lengths).astype(int)
    # Spells begin in the gaps between days at home.
    gaps = np.sort(rng.integers(days - away + 1, size=len(lengths)))
    out = np.zeros(days, dtype=bool)
    for begin, length in zip(gaps + np.cumsum(lengths) - lengths, lengths, strict=True):
        out[begin : begin + length] = True
    return out


def at_home_and_away(quantile_functions: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split (H, len(SCORES)) quantile functions into those of readings at home and, for (H,) ``share`` of them, away.

    The mixture of both by their shares is what was split.
    """
    at_home, away = np.empty_like(quantile_functions), np.empty_like(quantile_functions)
    for i, readings in enumerate(quantile_functions):
        limit = _EMPTY * np.interp(_HIGH_SCORE, marginal.SCORES, readings)
        top = np.clip(np.interp(limit, readings, marginal.SCORES), *_TOP_SCORES)
        middle = top - _SCORE_STD * ndtri(0.9)
        below = ndtr(marginal.SCORES) - share[i] * ndtr((marginal.SCORES - middle) / _SCORE_STD)
        below = np.maximum.accumulate(np.clip(below / (1 - share[i]), 0.0, 1.0))
        at_home[i] = np.interp(ndtr(marginal.SCORES), below, readings)
        away[i] = np.interp(middle + _SCORE_STD * marginal.SCORES, marginal.SCORES, readings)
    return at_home, away
