"""Public rules of the feeder totals: what is measured of a record, how it is weighed and clipped, with what noise.

A record is the energy of one meter in the intervals of a public window. Measured are a few of its coefficients on
orthonormal cosines, the level first. Everything here is a function of configuration and of the public list: which
coefficients are worth their noise is decided by the error that a public law of households predicts. The constants of
that law were chosen on simulated households (docs/proofs/feeder_totals.md, 5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meterdp.accounting import gdp
from meterdp.accounting.discreteness import FEWEST_NOISE_STEPS, delta_margin, rounded, total_variation
from meterdp.core.errors import InputError
from meterdp.core.noise import MOST_STD_STEPS, MOST_STEPS
from meterdp.mechanisms.sound.stack import Step

COUNTS = ("listed", "measured")
# Public shape of a day: cosines 1, 2, ... of the time of day, relative to the mean.
CENTRE_SHAPE = (-0.1, 0.2, 0.1)
# A meter above so many times the typical energy is scaled down to it.
LEVEL_LIMIT = 6.0
# Share of the intervals a meter needs readings in to count as read.
LEAST_READ = 0.5
# Entries of a record above so many typical ones are cut first; keeps sums of squares finite.
ENTRY_LIMIT = 1e6
# Share of mu^2 that measures how many meters were read.
COUNT_SHARE = 0.05

# The public law, in units of the typical energy: standard deviations between meters ...
LEVEL_STD = 1.0
SHAPE_STD, SHAPE_DECAY = 0.5, 1.0
DAY_STD, DAY_DECAY = 0.35, 0.5
# ... and of what the mean of all meters is off the public centre.
LEVEL_MEAN_STD = 1.0
SHAPE_MEAN_STD, SHAPE_MEAN_DECAY = 0.3, 1.0
DAY_MEAN_STD, DAY_MEAN_DECAY = 0.1, 1.0
# Radius of the ball the shape of a record is clipped to, in standard deviations of that law.
SHAPE_RADIUS = 1.0
# Of the sensitivity's square, what the level may get.
LEVEL_SHARES = np.arange(0.1, 0.95, 0.1)

# How many coefficients may be measured.
COEFFICIENTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)

LEVEL, SHAPE, DAY = 0, 1, 2


@dataclass(frozen=True)
class FeederPublic:
    """Everything the feeder totals may know before they see a record.

    Parameters
    ----------
    epsilon, delta : float
        Privacy parameters of one release.
    feeder : tuple of N int
        Public feeder 0..F-1 of every meter of a public list.
    feeders : int
        F.
    intervals_per_day : int
    days : int
        Days of the window; 1 for an average day.
    typical_daily_kwh : float
        Public level: what a meter typically uses a day. Bounds and the record of a meter that was not read follow it.
    count : {"listed", "measured"}
        Whether the totals are of all listed meters or of those that were read, whose number is then measured.
    grid : float
        What records are rounded to and noise is drawn on, a power of two; 0 in a study.
    averaged_days : int
        Days that were averaged into each day of the window.
    """

    epsilon: float
    delta: float
    feeder: tuple[int, ...]
    feeders: int
    intervals_per_day: int = 48
    days: int = 7
    typical_daily_kwh: float = 12.0
    count: str = "listed"
    grid: float = 0.0
    averaged_days: int = 1

    def __post_init__(self):
        feeder = np.asarray(self.feeder)
        checks = {
            "epsilon": (0 < self.epsilon < math.inf, "use a positive number"),
            "delta": (0 < self.delta < 1, "use a number between 0 and 1, such as 1e-5"),
            "feeder": (
                feeder.size > 0 and feeder.min() >= 0 and feeder.max() < self.feeders,
                "give every meter one of the feeders 0..F-1",
            ),
            "intervals_per_day": (self.intervals_per_day >= 1, "use one interval or more"),
            "days": (self.days >= 1, "use one day or more"),
            "typical_daily_kwh": (0 < self.typical_daily_kwh < math.inf, "use a positive number"),
            "count": (self.count in COUNTS, f"use one of {', '.join(COUNTS)}"),
            "averaged_days": (self.averaged_days >= 1, "use one day or more"),
        }
        for name, (holds, remedy) in checks.items():
            if not holds:
                raise InputError("is outside its allowed range", field=name, remedy=remedy)

    @property
    def intervals(self) -> int:
        """T, intervals of the window."""
        return self.days * self.intervals_per_day

    @cached_property
    def listed(self) -> np.ndarray:
        """Listed meters of every feeder, (F,) int64."""
        return np.bincount(self.feeder, minlength=self.feeders)

    @cached_property
    def centre_kwh(self) -> np.ndarray:
        """Public energy of a meter in the intervals of the window, (T,): the centre of clipping."""
        time = (np.arange(self.intervals_per_day) + 0.5) * math.pi / self.intervals_per_day
        day = 1 + sum(a * np.cos(k * time) for k, a in enumerate(CENTRE_SHAPE, start=1))
        return np.tile(self.typical_daily_kwh / self.intervals_per_day * day, self.days)

    @property
    def unit_kwh(self) -> float:
        """Coefficient of the level of a typical meter: u sqrt(T) for u kWh in every interval."""
        return self.typical_daily_kwh / self.intervals_per_day * math.sqrt(self.intervals)

    @property
    def delta_of_curve(self) -> float:
        """What is left of delta for continuous noise (docs/proofs/safe_noise.md), all of it in a study."""
        if self.grid == 0:
            return self.delta
        left = self.delta - delta_margin(self.epsilon, self.feeders * (self.intervals + 1), FEWEST_NOISE_STEPS)
        if left <= 0:
            raise _does_not_fit()
        return left


@dataclass(frozen=True)
class FeederPlan:
    """The one measurement of a release, fixed before any record is seen.

    Parameters
    ----------
    mu : float
    step : Step
        Sums over feeders of the weighted, clipped coefficients.
    basis : (K, T) float64
        Orthonormal rows, the level first.
    weight : (K,) float64
        Of the coefficients, per kWh. The shape, rows 1.., lies in the unit ball after clipping.
    count_weight : float
        Of whether a meter was read; 0 where that is not measured.
    household_std, mean_std : (K,) float64
        Public law of the coefficients: between meters, and of the mean of all around the public centre, kWh.
    block : (K,) int64
        LEVEL, SHAPE (means over the days) or DAY (differences between them).
    unmeasured_std : float
        Root mean square over the intervals of what the law says of a meter beside the K coefficients, kWh.
    """

    mu: float
    step: Step
    basis: np.ndarray
    weight: np.ndarray
    count_weight: float
    household_std: np.ndarray
    mean_std: np.ndarray
    block: np.ndarray
    unmeasured_std: float

    def total_variation(self, public: FeederPublic) -> float:
        """Distance of one release on its grid from the same with continuous noise; 0 without a grid."""
        if public.grid == 0:
            return 0.0
        entries = public.feeders * (len(self.weight) + (self.count_weight > 0))
        return entries * total_variation(self.step.noise_std / public.grid)


def cosines(count: int) -> np.ndarray:
    """Return the orthonormal cosines of ``count`` points (DCT-II), (count, count), the constant first."""
    angle = np.pi / count * np.outer(np.arange(count), np.arange(count) + 0.5)
    return np.cos(angle) * np.where(np.arange(count) == 0, 1.0, math.sqrt(2.0))[:, None] / math.sqrt(count)


def public_law(public: FeederPublic) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (household_std, mean_std, block) of all T coefficients, each (days, intervals_per_day)."""
    h = np.arange(public.intervals_per_day)
    j = np.arange(public.days)[:, None]
    averaged = math.sqrt(public.averaged_days)
    # One coefficient of a single day is 1/sqrt(days) of that of a mean over the days.
    per_day = 1 / math.sqrt(public.days)
    noise = DAY_STD * per_day / averaged / (1 + h) ** DAY_DECAY
    shape = np.hypot(np.where(h == 0, LEVEL_STD, SHAPE_STD / np.maximum(h, 1) ** SHAPE_DECAY), noise)
    shape_mean = np.where(h == 0, LEVEL_MEAN_STD, SHAPE_MEAN_STD / np.maximum(h, 1) ** SHAPE_MEAN_DECAY)
    day_mean = DAY_MEAN_STD * per_day / averaged / (1 + h) ** DAY_MEAN_DECAY
    household = np.where(j == 0, shape, noise)
    mean = np.where(j == 0, shape_mean, day_mean)
    block = np.where(j > 0, DAY, np.where(h == 0, LEVEL, SHAPE))
    return household * public.unit_kwh, mean * public.unit_kwh, block


def make_plan(public: FeederPublic) -> FeederPlan:
    """Return the plan with the smallest predicted error.

    Raises
    ------
    InputError
        If the noise does not fit the grid, by public numbers alone.
    """
    mu = gdp.mu_for(public.epsilon, public.delta_of_curve)
    household, mean, block = (a.ravel() for a in public_law(public))
    rows = np.kron(cosines(public.days), cosines(public.intervals_per_day))
    # What is dropped last is what the mean of all meters is least known of.
    order = np.argsort(-mean, kind="stable")
    household, mean, block, rows = household[order], mean[order], block[order], rows[order]
    left = 1 - (COUNT_SHARE if public.count == "measured" else 0.0)
    best = None
    for count in sorted(
        {min(n, len(order)) for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 336)}
    ):
        for share in LEVEL_SHARES if count > 1 else (1.0,):
            weight = _weights(public, household[:count], share)
            std = math.sqrt(4 / (1 - share) if count > 1 else 4.0) / (mu * math.sqrt(left))
            error = predicted_error(public, household, mean, weight, std)
            if best is None or error < best[0]:
                best = error, weight, std * mu
    _, weight, sensitivity = best
    count = len(weight)
    entries = count + (public.count == "measured")
    reach = rounded(sensitivity, entries, public.grid)
    step = Step("feeders", reach, reach / mu)
    if public.grid > 0:
        std_steps = step.noise_std / public.grid
        sum_steps = len(public.feeder) * (sensitivity / public.grid + 1)
        if not (FEWEST_NOISE_STEPS <= std_steps <= MOST_STD_STEPS and sum_steps < MOST_STEPS):
            raise _does_not_fit()
    count_weight = math.sqrt(1 - left) * sensitivity
    beside = math.sqrt((household[count:] ** 2).sum() / public.intervals)
    return FeederPlan(
        mu, step, rows[:count], weight, count_weight, household[:count], mean[:count], block[:count], beside
    )


def _weights(public: FeederPublic, household: np.ndarray, share: float) -> np.ndarray:
    """Return the weights (K,) of the level and of the shape.

    Among weights with sum w_k^2 s_k^2 = 1, so that a typical shape just fits the unit ball, w_k^2 proportional to
    1 / s_k has the smallest sum of 1 / w_k^2, that is of noise: by Cauchy and Schwarz the product of the two sums is
    at least (sum s_k)^2.
    """
    shape = household[1:] * SHAPE_RADIUS
    weight = np.empty(len(household))
    weight[1:] = 1 / np.sqrt(shape * shape.sum())
    # Replacing a record moves the level by LEVEL_LIMIT units and the shape across its ball.
    whole = 4 / (1 - share) if len(household) > 1 else 4.0
    weight[0] = math.sqrt(share * whole) / (LEVEL_LIMIT * public.unit_kwh)
    return weight


def predicted_error(
    public: FeederPublic, household: np.ndarray, mean: np.ndarray, weight: np.ndarray, std: float
) -> float:
    """Return the squared error of a feeder's totals that the public law predicts, summed over intervals, kWh^2.

    Of a feeder of mean size: noise of the mean of all meters, noise of its own sum, each after shrinkage, and what is
    not measured.
    """
    total = len(public.feeder)
    n, k = total / public.feeders, len(weight)
    sampling, noise = n * household[:k] ** 2, (std / weight) ** 2
    own = sampling * noise / (sampling + noise)
    of_mean = public.feeders * (sampling + noise) / total**2
    common = (n * noise / (sampling + noise)) ** 2 * of_mean * mean[:k] ** 2 / (of_mean + mean[:k] ** 2)
    return float((own + common).sum() + (n * household[k:] ** 2 + n**2 * mean[k:] ** 2).sum())


def _does_not_fit() -> InputError:
    return InputError(
        "asks for noise that does not fit its grid",
        field="epsilon",
        remedy="use an epsilon between 0.01 and 10, or fewer households",
    )
