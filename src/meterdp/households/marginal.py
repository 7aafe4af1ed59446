"""The distribution of a household's readings: quantiles on a signed log scale, and a quantile function from them.

Readings are taken in multiples r of the household's mean size and put on y = ln c + asinh(r / 2c): a logarithm where
r is large against the public c, linear around zero, so that zeros and feed-in have a place.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import ndtr, ndtri

# c above, in multiples of the mean size.
NEAR_ZERO = 0.02
# Probability levels between the lowest and the highest reading; those two depend on the period.
INNER_LEVELS = (0.02, 0.1, 0.25, 0.45, 0.65, 0.8, 0.9, 0.95, 0.98, 0.995, 0.999)
QUANTILES = len(INNER_LEVELS) + 2
# Grid of normal scores on which quantile functions are tabulated.
SCORES = np.linspace(-4.8, 4.8, 481)
SCORE_STEP = SCORES[1] - SCORES[0]
# Largest reading, in multiples of the mean size.
LARGEST = 100.0
# Default of profiles.default_kwh_per_hour, and bounds of a home's mean power that go with it, kW.
USUAL_KWH_PER_HOUR, MEAN_KW = 0.5, (0.05, 15.0)


def mean_bounds_kw(config: Mapping) -> tuple[float, float]:
    """Return the public bounds of a home's mean power, by the public guess of it; net load has the usual ones."""
    net_load = config["profiles"]["clip_kwh_per_hour"][0] < 0
    return MEAN_KW if net_load else mean_bounds_around(config["profiles"]["default_kwh_per_hour"])


def mean_bounds_around(mean_kw: float) -> tuple[float, float]:
    """Return bounds of homes' mean power, lower where it is below the usual one.

    Both in proportion, so that noise stays as it is beside what homes use.
    """
    share = mean_kw / USUAL_KWH_PER_HOUR if 0 < mean_kw < USUAL_KWH_PER_HOUR else 1
    return tuple(share * bound for bound in MEAN_KW)


def signed_log(ratio):
    return np.log(NEAR_ZERO) + np.arcsinh(np.asarray(ratio) / (2 * NEAR_ZERO))


def from_signed_log(y):
    return 2 * NEAR_ZERO * np.sinh(y - np.log(NEAR_ZERO))


def levels(slots: int) -> np.ndarray:
    """Return the levels of the quantiles of a period of so many slots, (QUANTILES,): lowest to highest reading."""
    return np.array([0.5 / slots, *INNER_LEVELS, 1 - 0.5 / slots])


def _cell_probabilities() -> np.ndarray:
    """Probability of a standard normal number next to every score of the grid, (len(SCORES),)."""
    middles = (SCORES[1:] + SCORES[:-1]) / 2
    return np.diff(ndtr(np.concatenate([[-np.inf], middles, [np.inf]])))


CELL_PROBABILITIES = _cell_probabilities()


@lru_cache(maxsize=64)
def rank_scores(readings: int) -> np.ndarray:
    """Return the normal scores of the ranks of so many readings, (readings,)."""
    return ndtri((np.arange(readings) + 0.5) / max(readings, 1))


def means(quantile_functions: np.ndarray) -> np.ndarray:
    """Return those of readings with (H, len(SCORES)) quantile functions, (H,)."""
    return quantile_functions @ CELL_PROBABILITIES


def variances(quantile_functions: np.ndarray) -> np.ndarray:
    """Return those of readings with (H, len(SCORES)) quantile functions, (H,)."""
    return quantile_functions**2 @ CELL_PROBABILITIES - means(quantile_functions) ** 2


def _increasing(values: np.ndarray) -> np.ndarray:
    """Return rows that do not decrease and are unchanged where they did not: noise may have swapped quantiles."""
    rising = np.maximum.accumulate(values, axis=1)
    falling = np.minimum.accumulate(values[:, ::-1], axis=1)[:, ::-1]
    return (rising + falling) / 2


def quantile_functions(
    quantiles: np.ndarray, zero_share: np.ndarray, mean: np.ndarray, slots: int, bounds: np.ndarray
) -> np.ndarray:
    """Tabulate quantile functions of r over :data:`SCORES` from (H, QUANTILES) signed logs, (H, len(SCORES)).

    All values are within ``bounds``, (2,) or (2, H). Their means are ``mean`` (H,), as far as bounds allow: the body
    of the distribution is moved on the signed log scale, the largest reading stays. The lowest ``zero_share`` of
    readings that are not negative are zero.
    """
    scores, (lowest, highest) = ndtri(levels(slots)), signed_log(bounds)[..., None]
    knots = np.clip(_increasing(quantiles), lowest, highest)
    body = PchipInterpolator(scores, knots, axis=1)(np.clip(SCORES, scores[0], scores[-1]))
    # Beyond the largest reading, for longer periods than the one measured.
    slope = (knots[:, -1] - knots[:, -2]) / (scores[-1] - scores[-2])
    body += slope[:, None] * np.maximum(SCORES - scores[-1], 0)
    free = np.clip((scores[-1] - SCORES) / (scores[-1] - scores[-4]), 0, 1)

    def moved(by: np.ndarray) -> np.ndarray:
        y = np.clip(body + by[:, None] * free, lowest, highest)
        return _with_zeros(from_signed_log(y), zero_share)

    low, high = np.full(len(knots), -3.0), np.full(len(knots), 3.0)
    for _ in range(30):
        middle = (low + high) / 2
        below = means(moved(middle)) < mean
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.maximum.accumulate(moved((low + high) / 2), axis=1)


def _with_zeros(ratio: np.ndarray, zero_share: np.ndarray) -> np.ndarray:
    """Put the zeros just above the negative readings."""
    level = ndtr(SCORES)
    negative = (ratio < 0) @ CELL_PROBABILITIES
    zero = (level >= negative[:, None]) & (level < (negative + zero_share)[:, None])
    return np.where(zero, 0.0, ratio)
