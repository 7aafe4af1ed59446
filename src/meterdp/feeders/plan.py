"""Public rules of the feeder totals: the window, what is measured of a record, its clipping and its noise.

A record is the energy of one meter in the intervals of a public window of local days. It has a cell for every day and
time of day, so that days of 23 and 25 hours fit: an hour that the clock skips is a gap, and of an hour that comes
twice the mean of both passes counts. Measured are a few coefficients on orthonormal cosines, the level first. Which
of them are worth their noise is decided by the error that a public distribution of households predicts; its constants
were chosen on simulated households (docs/proofs/feeder_totals.md, 5).

Noisy sums become posterior means: what all feeders share is measured well, what differs between them is shrunk. Model
of one coefficient: the sum of feeder f is S_f = n_f theta + r_f s a_f with theta ~ N(0, b^2), a_f standard normal and
a public r_f, sqrt(n_f) if meters are alike wherever they are. Observed are S_f and the sum of all S_f, each with
noise of known variance. Factors on s and on b are common to a block of coefficients and integrated over a public
grid, so that the result neither trusts the public distribution too much nor follows the noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property, lru_cache
from itertools import product
from zoneinfo import ZoneInfo

import numpy as np
from scipy.special import ndtr

from meterdp.core.constraints import ONE_OR_MORE, POSITIVE, PROBABILITY, Fits, OneOf, check
from meterdp.core.log_scale import LogScale
from meterdp.core.pieces import Pieces
from meterdp.core.stamps import DAY_MINUTES, utc_offset_minutes
from meterdp.ingest.meter_list import LEAST_READ
from meterdp.privacy import gaussian
from meterdp.privacy.gaussian import rounded, total_variation
from meterdp.privacy.mechanism import NoisyQuery, check_grid, delta_beside_the_grid
from meterdp.profiles.dense import log_load_batches
from meterdp.profiles.grid import Calendar, LocalTime
from meterdp.profiles.tables import RECENT_LOAD

COUNTS = ("listed", "measured")
# What a meter uses a day, if a study names nothing else.
TYPICAL_DAILY_KWH = 12.0
# The predicted error holds if meters use from 1 / GUESS_FACTOR to GUESS_FACTOR times the typical energy on average:
# with less, noise is large against totals, and with more, clipping takes too much (test_mechanism.py measures it).
GUESS_FACTOR = 2
# Public shape of a day: cosines 1, 2, ... of the time of day, relative to the mean.
CENTRE_SHAPE = (-0.2, 0.0, 0.0, -0.1, 0.1)
# Entries of a record above so many typical ones are cut first; keeps sums of squares finite.
ENTRY_LIMIT = 1e6
# Of the meters, what is typically not read.
MISSING_SHARE = 0.02

# The public distribution, in units of the typical energy: standard deviations between meters ...
LEVEL_STD = 1.0
SHAPE_STD, SHAPE_DECAY = 0.8, 1.0
DAY_STD, DAY_DECAY = 0.7, 0.6
# ... times the measured mean level, within these bounds ...
LEVEL_BOUNDS = (0.25, 8.0)
# ... of what the mean of all meters is off the public centre ...
LEVEL_MEAN_STD = 1.0
SHAPE_MEAN_STD, SHAPE_MEAN_DECAY = 0.3, 1.0
DAY_MEAN_STD, DAY_MEAN_DECAY = 0.1, 0.7
# ... between meters of one feeder, as a correlation ...
FEEDER_CORRELATION = 0.02
# ... and of the logarithm of a meter's energy, or size of its shape, which says what clipping takes away.
TAIL_STD_LOG = 1.0

# What may be chosen. Shares of mu^2 of the sum over all meters, beside those of feeders:
COMMON_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
# the level in typical ones that a meter above it is scaled down to,
LEVEL_LIMITS = (3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 48.0)
# how many coefficients are measured,
COEFFICIENTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 96, 192, 336)
# the radius of the ball the shape is clipped to, in root mean squares of the public distribution,
SHAPE_RADII = (0.7, 1.0, 1.4, 2.0)
# and of the square of the sensitivity, what the level gets.
LEVEL_SHARES = (0.2, 0.4, 0.6, 0.8)

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
    typical_daily_kwh: float = TYPICAL_DAILY_KWH
    count: str = "listed"
    grid: float = 0.0
    averaged_days: int = 1

    def __post_init__(self):
        feeder = np.asarray(self.feeder)
        named = feeder.size > 0 and feeder.min() >= 0 and feeder.max() < self.feeders
        constraints = {
            "epsilon": POSITIVE,
            "delta": PROBABILITY,
            "feeder": Fits(named, "one of the feeders 0..F-1 for every meter"),
            "intervals_per_day": ONE_OR_MORE,
            "days": ONE_OR_MORE,
            "typical_daily_kwh": POSITIVE,
            "count": OneOf(COUNTS),
            "averaged_days": ONE_OR_MORE,
        }
        check(self, constraints)

    @property
    def meters(self) -> int:
        """N, meters of the list."""
        return len(self.feeder)

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
        entries = (self.feeders + 1) * (self.intervals + 1)
        return delta_beside_the_grid(self.epsilon, self.delta, entries, self.meters)


@dataclass(frozen=True)
class Measurement:
    """Noisy sums of the weighted, clipped coefficients of records.

    ``weight`` (K,), per kWh, is that of the first K coefficients; the weighted shape, coefficients 1..K-1, is clipped
    to a ball of ``radius``; ``count_weight`` is that of whether a meter was read, 0 where that is not measured.
    """

    step: NoisyQuery
    weight: np.ndarray
    radius: float
    count_weight: float

    @property
    def entries(self) -> int:
        return len(self.weight) + (self.count_weight > 0)

    @property
    def noise_std(self) -> np.ndarray:
        """Standard deviation of the noise of the coefficients, (K,), kWh."""
        return self.step.noise_std / self.weight


@dataclass(frozen=True)
class FeederPlan:
    """The two measurements of a release, fixed before any record is seen.

    Parameters
    ----------
    mu : float
        Of both together.
    common, own : Measurement
        Of all meters together, and of every feeder's.
    level_limit : float
        Largest level, in typical ones.
    basis : (K, T) float64
        Orthonormal rows, the level first; K is that of ``common``, no smaller than that of ``own``.
    household_std, mean_std : (K,) float64
        Public distribution of the coefficients: between meters, and of the mean of all around the public centre, kWh.
    block : (K,) int64
        LEVEL, SHAPE (means over the days) or DAY (differences between them).
    unmeasured_std, unmeasured_mean_std : float
        Root mean squares over the intervals of what the distribution says beside the K coefficients, kWh: of the
        differences between meters, and of the mean of all around the public centre.
    error_kwh : float
        Root mean square over the intervals of the expected error of a feeder of mean size, by the same distribution.
    errors_kwh : (F,) float64
        The same of every feeder, by its size.
    """

    mu: float
    common: Measurement
    own: Measurement
    level_limit: float
    basis: np.ndarray
    household_std: np.ndarray
    mean_std: np.ndarray
    block: np.ndarray
    unmeasured_std: float
    unmeasured_mean_std: float
    error_kwh: float
    errors_kwh: np.ndarray

    @property
    def tells_days(self) -> bool:
        """Whether a difference between days is measured; else all days of a window get the same totals."""
        return bool((self.block == DAY).any())

    def total_variation(self, public: FeederPublic) -> float:
        """Distance of one release on its grid from the same with continuous noise; 0 without a grid."""
        if public.grid == 0:
            return 0.0
        sums = ((self.common, 1), (self.own, public.feeders))
        return sum(n * m.entries * total_variation(m.step.noise_std / public.grid) for m, n in sums)


def cosines(count: int) -> np.ndarray:
    """Return the orthonormal cosines of ``count`` points (DCT-II), (count, count), the constant first."""
    angle = np.pi / count * np.outer(np.arange(count), np.arange(count) + 0.5)
    return np.cos(angle) * np.where(np.arange(count) == 0, 1.0, math.sqrt(2.0))[:, None] / math.sqrt(count)


@dataclass(frozen=True)
class Distribution:
    """The public distribution of all coefficients in the order they are measured in, (T,) each.

    Standard deviations between meters and of the mean of all around the public centre, kWh, the block of each, and
    its number: day by day, those of the mean over the days first.
    """

    household: np.ndarray
    mean: np.ndarray
    block: np.ndarray
    number: np.ndarray


def public_distribution(public: FeederPublic | Typical) -> Distribution:
    """Return the distribution of the coefficients: the level, then what the mean of all meters is least known of."""
    h = np.arange(public.intervals_per_day)
    j = np.arange(public.days)[:, None]
    averaged = math.sqrt(public.averaged_days)
    # One coefficient of a single day is 1/sqrt(days) of that of a mean over the days.
    per_day = 1 / math.sqrt(public.days)
    noise = DAY_STD * per_day / averaged / (1 + h) ** DAY_DECAY
    shape = np.hypot(np.where(h == 0, LEVEL_STD, SHAPE_STD / np.maximum(h, 1) ** SHAPE_DECAY), noise)
    shape_mean = np.where(h == 0, LEVEL_MEAN_STD, SHAPE_MEAN_STD / np.maximum(h, 1) ** SHAPE_MEAN_DECAY)
    day_mean = DAY_MEAN_STD * per_day / averaged / (1 + h) ** DAY_MEAN_DECAY
    household = (np.where(j == 0, shape, noise) * public.unit_kwh).ravel()
    mean = (np.where(j == 0, shape_mean, day_mean) * public.unit_kwh).ravel()
    block = np.where(j > 0, DAY, np.where(h == 0, LEVEL, SHAPE)).ravel()
    number = np.argsort(np.where(block == LEVEL, -np.inf, -mean), kind="stable")
    return Distribution(household[number], mean[number], block[number], number)


@dataclass(frozen=True)
class Choice:
    """One way to weigh and clip K records' coefficients for a sensitivity of one, or C of them at once.

    ``coefficients``, ``shape_radius`` and ``level_share`` are numbers or (C,); the share is that of the square of the
    sensitivity.
    """

    coefficients: int | np.ndarray
    level_limit: float
    shape_radius: float | np.ndarray
    level_share: float | np.ndarray

    @property
    def radius(self) -> float | np.ndarray:
        """Radius of the ball of the weighted shape, which a replaced record crosses."""
        return np.sqrt(1 - self.level_share) / 2

    @property
    def count_weight(self) -> float:
        """Weight of whether a meter was read, which costs nothing.

        A meter that was not read adds the centre, from which no record is as far as two can be from each other. So
        replacing it may move this entry by what is left (docs/proofs/feeder_totals.md, 3).
        """
        above = (self.level_limit - 1) / self.level_limit
        return math.sqrt(1 - self.level_share * above**2 - self.radius**2)

    def weights(self, household: np.ndarray, unit_kwh: float) -> np.ndarray:
        """Return the weights (K,) or (C, K) of the level, which a record moves across its interval, and of the shape.

        Of C choices with different numbers of coefficients K is the largest, and what a choice leaves out weighs 0.
        Among weights with sum w_k^2 s_k^2 = (radius / shape_radius)^2, so that a typical shape fits ``shape_radius``
        times into the ball, w_k^2 proportional to 1 / s_k has the smallest sum of 1 / w_k^2, that is of noise: by
        Cauchy and Schwarz the product of the two sums is at least (sum s_k)^2.
        """
        count = np.asarray(self.coefficients)[..., None]
        shape, measured = household[1 : count.max()], np.arange(1, count.max()) < count
        total = (measured * shape).sum(axis=-1, keepdims=True)
        level = np.sqrt(self.level_share) / (self.level_limit * unit_kwh)
        scale = measured * np.asarray(self.radius / self.shape_radius)[..., None]
        return np.concatenate(
            [np.asarray(level)[..., None], scale / np.sqrt(shape * np.where(count > 1, total, 1))], axis=-1
        )

    def __getitem__(self, at: int | slice) -> Choice:
        """Return one or some of C choices."""
        return Choice(self.coefficients[at], self.level_limit, self.shape_radius[at], self.level_share[at])


def make_plan(public: FeederPublic) -> FeederPlan:
    """Return the plan with the smallest error that the public distribution predicts, by a search one choice after the
    other.

    Noise that does not fit the grid is refused, by public numbers alone.
    """
    mu = gaussian.mu_for(public.epsilon, public.delta_of_curve)
    distribution = public_distribution(public)
    share, common, own = best_choices(
        mu, Typical(public.meters, public.feeders, public.intervals_per_day, public.days, public.averaged_days)
    )
    common_mu, own_mu = mu * math.sqrt(share), mu * math.sqrt(1 - share)
    k, measured = common.coefficients, ((common, 1 / common_mu), (own, 1 / own_mu))
    error = predicted_error(public, distribution, *measured)
    errors = predicted_error(public, distribution, *measured, meters=public.listed)
    return FeederPlan(
        mu=mu,
        common=_measurement("common", common, public, distribution, common_mu),
        own=_measurement("feeders", own, public, distribution, own_mu),
        level_limit=common.level_limit,
        basis=_rows(public, distribution.number[:k]),
        household_std=distribution.household[:k],
        mean_std=distribution.mean[:k],
        block=distribution.block[:k],
        unmeasured_std=math.sqrt((distribution.household[k:] ** 2).sum() / public.intervals),
        unmeasured_mean_std=math.sqrt((distribution.mean[k:] ** 2).sum() / public.intervals),
        error_kwh=math.sqrt(error / public.intervals),
        errors_kwh=np.sqrt(errors / public.intervals),
    )


@dataclass(frozen=True)
class Typical:
    """What the best choices follow from beside mu; in typical energies, as twice the energy has twice the error."""

    meters: int
    feeders: int
    intervals_per_day: int
    days: int
    averaged_days: int

    @property
    def unit_kwh(self) -> float:
        return math.sqrt(self.days / self.intervals_per_day)


# Whoever plans a release asks for the same again and again: of the release, of others beside it, of any energy.
@lru_cache(1024)
def best_choices(mu: float, typical: Typical) -> tuple[float, Choice, Choice]:
    """Return the share of mu^2 of the sum over all meters, and what is measured of it and of the sums of feeders."""
    distribution = public_distribution(typical)
    shares = np.array(COMMON_SHARES)
    common_std, own_std = 1 / (mu * np.sqrt(shares)), 1 / (mu * np.sqrt(1 - shares))
    found = []
    for limit in LEVEL_LIMITS:
        choices = _choices(typical.days * typical.intervals_per_day, limit)
        of_count = [choices[choices.coefficients == k] for k in np.unique(choices.coefficients)]
        alone = [predicted_error(typical, distribution, (c, common_std[:, None]), None) for c in of_count]
        for number, at in enumerate(_first_least(np.concatenate(alone, axis=1))):
            common = choices[at]
            narrower = choices[choices.coefficients <= common.coefficients]
            both = (common, common_std[number]), (narrower, own_std[number])
            errors = predicted_error(typical, distribution, *both)
            best = _first_least(errors)
            found.append((errors[best], COMMON_SHARES[number], common, narrower[best]))
    return found[_first_least(np.array([error for error, *_ in found]))][1:]


def _first_least(errors: np.ndarray) -> np.ndarray:
    """Return where the last axis first is at its least; a difference of rounding must not choose a plan."""
    return (errors <= (1 + 1e-9) * errors.min(axis=-1, keepdims=True)).argmax(axis=-1)


def _rows(public: FeederPublic, number: np.ndarray) -> np.ndarray:
    """Return cosines across the days times cosines within the day, (K, T), by their numbers."""
    j, h = np.divmod(number, public.intervals_per_day)
    product_of = cosines(public.days)[j][:, :, None] * cosines(public.intervals_per_day)[h][:, None]
    return product_of.reshape(len(number), public.intervals)


def _measurement(
    name: str, choice: Choice, public: FeederPublic, distribution: Distribution, mu: float
) -> Measurement:
    measured = public.count == "measured"
    reach = rounded(1.0, choice.coefficients + measured, public.grid)
    step = NoisyQuery(name, reach, reach / mu)
    check_grid(step, public.meters * (1 + public.grid), public.grid)
    weight = choice.weights(distribution.household, public.unit_kwh)
    return Measurement(step, weight, choice.radius, choice.count_weight if measured else 0.0)


def _choices(most: int, limit: float) -> Choice:
    """Return all choices up to so many coefficients, by their number."""
    of_shape = list(product(SHAPE_RADII, LEVEL_SHARES))
    counts = sorted({min(n, most) for n in COEFFICIENTS})
    rows = [(n, *one) for n in counts for one in (of_shape if n > 1 else [(1.0, 1.0)])]
    count, radius, share = np.array(rows).T
    return Choice(count.astype(int), limit, radius, share)


Measured = tuple[Choice, float]


def predicted_error(
    public: FeederPublic | Typical,
    distribution: Distribution,
    common: Measured,
    own: Measured | None,
    meters: np.ndarray | None = None,
) -> float | np.ndarray:
    """Return the squared error of a feeder's totals that the public distribution predicts, summed over intervals,
    kWh^2.

    Of a feeder of mean size, or of feeders of so many ``meters`` (F,) beside others of mean size: noise after
    shrinkage, what clipping takes away, and what is not measured. ``common`` and ``own`` are what is measured of all
    meters together and of each feeder's. One of them may be C choices at once, those of ``common`` of the same number
    of coefficients, for S standard deviations (S, 1) of its noise.
    """
    choice, std = common
    k, feeders = np.max(choice.coefficients), public.feeders
    mean_size = public.meters / feeders
    n = mean_size if meters is None else meters
    household, mean = distribution.household[:k], distribution.mean[:k]
    precision = np.zeros(k)
    if own is not None:
        measured = (own[0].weights(distribution.household, public.unit_kwh) / own[1]) ** 2
        precision = np.concatenate([measured, np.zeros((*measured.shape[:-1], k - measured.shape[-1]))], axis=-1)
    sum_variance = (np.asarray(std)[..., None] / choice.weights(distribution.household, public.unit_kwh)) ** 2

    # As in posterior.conditional, where all other feeders are of mean size.
    def feeder_of(count: float | np.ndarray) -> tuple[np.ndarray, ...]:
        sampling = spread(count) * household**2
        left = 1 / (1 + sampling * precision)
        return sampling * left, count * left, count**2 * precision * left, left

    alone, along, _, left = one = feeder_of(np.asarray(n)[..., None])
    others = one if meters is None else feeder_of(mean_size)
    alone_of_all, along_of_all, from_feeders, _ = (
        its_own + (feeders - 1) * other for its_own, other in zip(one, others, strict=True)
    )
    theta_variance = 1 / (from_feeders + 1 / mean**2)
    with_all = alone + along * theta_variance * along_of_all
    of_all = alone_of_all + along_of_all**2 * theta_variance + sum_variance
    variance = alone + along**2 * theta_variance - with_all**2 / of_all
    typical = public.unit_kwh * math.exp(TAIL_STD_LOG**2 / 2)
    level_loss = lost_share(choice.level_limit, 0.0) * typical
    # The square of a shape's size has mean one.
    shape_loss = lost_share(choice.shape_radius, -(TAIL_STD_LOG**2)) ** 2 * (mean[1:] ** 2).sum()
    unmeasured = n * (distribution.household[k:] ** 2).sum() + n**2 * (distribution.mean[k:] ** 2).sum()
    if own is not None:
        loss = lost_share(own[0].shape_radius, -(TAIL_STD_LOG**2))
        shape_loss = shape_loss + loss**2 * (mean[1:] ** 2 * (1 - left[..., 1:]) ** 2).sum(axis=-1)
    return variance.sum(axis=-1) + n**2 * (level_loss**2 + shape_loss) + unmeasured


def guess_error_kwh(public: FeederPublic, meters: float) -> float:
    """Return the same error, a root mean square over the intervals, of the public centre for every meter of a feeder
    of so many.

    Its level is taken to be right: somebody named the typical energy.
    """
    distribution = public_distribution(public)
    shape = distribution.mean[distribution.block != LEVEL]
    return math.sqrt(difference_kwh(public, meters) ** 2 + meters**2 * (shape**2).sum() / public.intervals)


def difference_kwh(public: FeederPublic, meters: float) -> float:
    """Return by how much feeders of so many meters differ, a root mean square: the error of the exact mean of all
    meters for every meter."""
    return math.sqrt(spread(meters) * (public_distribution(public).household ** 2).sum() / public.intervals)


def spread(meters: np.ndarray) -> np.ndarray:
    """Return the variance of the sum over so many meters of one feeder, where that of one meter is one."""
    return meters * (1 + FEEDER_CORRELATION * np.maximum(meters - 1, 0))


def lost_share(limit: float | np.ndarray, log_median: float) -> float | np.ndarray:
    """Return E[max(X - limit, 0)] / E[X] of the public log-normal distribution with a median."""
    z = (np.log(limit) - log_median) / TAIL_STD_LOG
    mean = math.exp(log_median + TAIL_STD_LOG**2 / 2)
    return ndtr(TAIL_STD_LOG - z) - limit / mean * ndtr(-z)


def expected_excess(level: float, limit: float) -> float:
    """Return E[max(X - limit, 0)] of the log-normal distribution whose clipped mean E[min(X, limit)] is ``level``.

    Both in typical ones; a level beyond nine tenths of the limit counts as that.
    """

    def clipped(log_median: float) -> float:
        return math.exp(log_median + TAIL_STD_LOG**2 / 2) * (1 - lost_share(limit, log_median))

    from scipy.optimize import brentq  # a third of a second that plans need not wait for

    level = min(max(level, limit / 1000), 0.9 * limit)
    log_median = brentq(lambda m: clipped(m) - level, math.log(limit) - 20, math.log(limit) + 20)
    return math.exp(log_median + TAIL_STD_LOG**2 / 2) - clipped(log_median)


# Factors on the public standard deviations, equally likely beforehand.
HOUSEHOLD_FACTORS = 2.0 ** np.arange(-2.0, 2.01)
MEAN_FACTORS = 2.0 ** np.arange(-3.0, 2.01)
# Factors with a likelihood this much smaller than that of the best, as a logarithm, count for nothing.
NEGLIGIBLE_LOG = 35.0
_NUMBERS_AT_ONCE = 1 << 15


@dataclass(frozen=True)
class Observed:
    """Noisy sums of a block of K coefficients: of every feeder (F, K), and over all feeders (K,).

    ``precision`` (K,) is one over the variance of the former's noise, 0 where feeders were not measured;
    ``all_variance`` (K,) that of the latter's noise.
    """

    feeders: np.ndarray
    precision: np.ndarray
    all_meters: np.ndarray
    all_variance: np.ndarray


def posterior(
    seen: Observed, count: np.ndarray, variance_factor: np.ndarray, household_std: np.ndarray, mean_std: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance (F, K) of the exact sums of feeders.

    ``count`` (F,) is n, the meters of every feeder, ``variance_factor`` (F,) r^2, and ``household_std`` and
    ``mean_std`` (K,) are s and b of the public distribution.
    """
    found = []
    factors = np.array([*product(HOUSEHOLD_FACTORS, MEAN_FACTORS)])[..., None, None]
    # Of few feeders many factors at once: their arrays are so small that calls would take longest.
    at_once = max(1, _NUMBERS_AT_ONCE // max(seen.feeders.size, 1))
    for begin in range(0, len(factors), at_once):
        s, b = factors[begin : begin + at_once].swapaxes(0, 1)
        found += zip(*conditional(seen, count, variance_factor, s * household_std, b * mean_std), strict=True)
        best = max(log_likelihood for log_likelihood, _, _ in found)
        # Of thousands of feeders hardly any two factors are left, and no memory is needed for the others.
        found = [one for one in found if one[0] > best - NEGLIGIBLE_LOG]
    log_weight = np.array([log_likelihood for log_likelihood, _, _ in found])
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    mean = sum(w * m for w, (_, m, _) in zip(weight, found, strict=True))
    # The total variance is the mean of the variances plus that of the means; differences of squares would cancel.
    variance = sum(w * (v + (m - mean) ** 2) for w, (_, m, v) in zip(weight, found, strict=True))
    return mean, variance


def conditional(
    seen: Observed, count: np.ndarray, variance_factor: np.ndarray, household_std: np.ndarray, mean_std: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the log-likelihood of the noisy sums, up to a constant, and mean and variance (F, K) of the exact ones.

    The factors are given, in ``household_std`` and ``mean_std`` (K,), or of several at once in (..., 1, K). First the
    feeders: theta by generalised least squares, which leaves a covariance of a diagonal and one outer product. Then
    the sum of all of them, as one Kalman update.
    """

    def over_feeders(terms: np.ndarray) -> np.ndarray:
        return terms.sum(axis=-2, keepdims=True)

    def over_all(terms: np.ndarray) -> np.ndarray:
        return terms.reshape(*terms.shape[:-2], -1).sum(axis=-1)

    n, y = np.asarray(count, float)[:, None], seen.feeders
    sampling = np.asarray(variance_factor)[:, None] * household_std**2
    left = 1 / (1 + sampling * seen.precision)
    own_precision = seen.precision * left
    from_feeders = over_feeders(n**2 * own_precision)
    theta_variance = 1 / (from_feeders + 1 / mean_std**2)
    pulled = over_feeders(n * y * own_precision)
    theta = theta_variance * pulled
    mean = left * n * theta + (1 - left) * y
    alone, along = sampling * left, n * left
    with_all = alone + along * theta_variance * over_feeders(along)
    variance = alone + along**2 * theta_variance
    all_variance = over_feeders(with_all) + seen.all_variance
    surprise = seen.all_meters - over_feeders(mean)
    log_likelihood = 0.5 * (
        over_all(np.log(left))
        - over_all(np.log1p(mean_std**2 * from_feeders))
        - over_all(y**2 * own_precision)
        + over_all(theta * pulled)
        - over_all(np.log(all_variance) + surprise**2 / all_variance)
    )
    return log_likelihood, mean + with_all / all_variance * surprise, variance - with_all**2 / all_variance


WINDOWS = DAYS, AVERAGE_DAY = ("days", "average_day")
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class Window:
    """The last days of the public period: every interval of them, or their mean at every time of day ("average_day").

    ``interval_minutes`` is that of the totals, ``time_zone`` the IANA name of the zone the days are of.
    """

    kind: str
    last_day: date
    day_count: int
    interval_minutes: int
    time_zone: str

    @property
    def first_day(self) -> date:
        return self.last_day - timedelta(days=self.day_count - 1)

    @property
    def intervals_per_day(self) -> int:
        """Cells of a local day."""
        return DAY_MINUTES // self.interval_minutes

    @property
    def record_days(self) -> int:
        """Days of a record: 1 for an average day."""
        return self.day_count if self.kind == DAYS else 1

    def ends_utc(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the UTC ends of all intervals, (n,) datetime64[us], and the cell of a record each belongs to, (n,).

        Those of an average day are stamped as the last day is.
        """
        first = self.first_day if self.kind == DAYS else self.last_day
        begin, end = (_midnight(day, self.time_zone) for day in (first, self.last_day + timedelta(days=1)))
        length = np.timedelta64(self.interval_minutes, "m")
        start = np.arange(begin, end, length)
        cell = self._cell(start)
        return start + length, cell if self.kind == DAYS else cell % self.intervals_per_day

    def records(self, log_kwh: np.ndarray, calendar: Calendar, scale: LogScale) -> np.ndarray:
        """Return the records of (H, T) log load, (H, record_days * intervals_per_day) float64 kWh, NaN where missing.

        Energy below zero, which is export, counts as none in every reading before any are added up. An average day is
        missing where a meter was read in less than ``LEAST_READ`` of the intervals of all its days.
        ``scale`` is that of the readings, whose interval divides that of the totals.
        """
        per_total = self.interval_minutes // calendar.interval_minutes
        whole = np.full((len(log_kwh), self.day_count * self.intervals_per_day), np.nan)
        cell = self._cell(calendar.start_utc)
        inside = (cell >= 0) & (cell < whole.shape[1])
        at, energy = cell[inside], np.maximum(scale.clipped_kwh(log_kwh[:, inside]), 0.0)
        expected = np.bincount(at, minlength=whole.shape[1])
        sums = np.zeros(whole.shape)
        np.add.at(sums.T, at, energy.T)
        # A reading that is missing makes the sum NaN; a cell the grid does not fill is missing, too.
        full = (expected > 0) & (expected % per_total == 0)
        whole[:, full] = sums[:, full] * (per_total / expected[full])
        if self.kind == DAYS:
            return whole
        by_day = whole.reshape(len(whole), self.day_count, self.intervals_per_day)
        given = np.isfinite(by_day)
        total, count = np.where(given, by_day, 0.0).sum(axis=1), given.sum(axis=1)
        read = given.mean(axis=(1, 2)) >= LEAST_READ
        return np.where((count > 0) & read[:, None], total / np.maximum(count, 1), np.nan)

    def _cell(self, start_utc: np.ndarray) -> np.ndarray:
        """Return the cell of intervals that start at ``start_utc``, counted from the first day on, (n,) int64."""
        local = start_utc.astype("datetime64[m]").astype(np.int64) + utc_offset_minutes(start_utc, self.time_zone)
        day, minute = np.divmod(local, DAY_MINUTES)
        return (day - (self.first_day - _EPOCH).days) * self.intervals_per_day + minute // self.interval_minutes


def total_minutes(interval_minutes: int) -> int:
    """Return the interval of the totals for one of the readings: half an hour, or an hour where that does not fit."""
    return 30 if 30 % interval_minutes == 0 else 60


def _midnight(day: date, time_zone: str) -> np.datetime64:
    local = datetime.combine(day, time(), ZoneInfo(time_zone))
    return np.datetime64(local.astimezone(UTC).replace(tzinfo=None), "us")


def listed_records(paths: Sequence, households: int, window: Window, config: Mapping) -> Pieces:
    """Return the records of all listed meters, (N, T) kWh, NaN where there is no usable reading; read piece by piece.

    Whether a reading is usable is what the public rules of section ``quality`` say of it beside the others of its
    meter. ``paths`` are the parts of the table ``recent_load``.
    """
    local = LocalTime.of(config["export"])
    scale = LogScale.of_interval(config["profiles"], local.interval_minutes)

    def read() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for path in paths:
            for household, log_kwh, calendar in log_load_batches(path, local, table=RECENT_LOAD):
                yield household, window.records(log_kwh, calendar, scale)

    return Pieces((households, window.record_days * window.intervals_per_day), read)
