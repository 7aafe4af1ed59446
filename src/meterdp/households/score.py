"""The scorecard: how far synthetic households are from real ones, in the numbers a planner uses.

Households are summarised in batches of bounded memory; two summaries of the same calendar are compared. Beside every
row stands what one random half of the real households gives against the other half. That is more than sampling error
alone would leave between the real households and an equally large sample: about sqrt(2) times as much.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.stats import ks_2samp

from meterdp.core.noise import keyed_generator
from meterdp.households.closeness import membership_odds, nearest
from meterdp.households.columns import Columns
from meterdp.households.correlations import lag_products, lags_of
from meterdp.households.vector import VectorSettings, household_vectors
from meterdp.profiles.together import group_peaks

QUANTILES = (0.1, 0.5, 0.9)
GROUP_SIZES = (1, 10, 50, 100)
# Random groups of each size whose peaks are averaged.
GROUPS = 200
# Shares of the time in which the load of all is higher.
DURATIONS = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99)
LAG_NAMES = ("1 interval", "2 intervals", "1 day", "1 week")
# Readings below half a watt-hour are zeros.
ZERO_KWH = 0.0005
# A day is almost without use if its mean is below this share of that of a household's busiest days, a quantile.
ALMOST_NOTHING, BUSIEST = 0.15, 0.97
# Random halves of the real households whose differences are averaged.
HALVES = 10
# Quantiles of the distance to the closest real household.
CLOSEST = (0.05, 0.5)
# Harmonics of the day in the regression that forecasts a day ahead.
_HARMONICS = 2


@dataclass(frozen=True)
class Homes:
    """Numbers of H households, each from its own readings."""

    mean_kw: np.ndarray  # (H,)
    peak_kw: np.ndarray  # (H,)
    peak_hour: np.ndarray  # local hour of the day, (H,)
    ramp: np.ndarray  # standard deviation of changes between intervals over the mean size, (H,)
    zero_share: np.ndarray  # (H,)
    days_away: np.ndarray  # share of days in spells away, (H,)
    days_without_use: np.ndarray  # share of days almost without use, however many, (H,)
    autocorrelation: np.ndarray  # (H, 4)
    vector: np.ndarray  # of vector.py, in half widths of the public bounds, (H, d)
    moments: np.ndarray  # mean products of what a forecast knows and what then comes, (H, p, p)

    @classmethod
    def of(cls, kwh: np.ndarray, settings: VectorSettings) -> Homes:
        vector = settings.in_half_widths(household_vectors(kwh, settings))
        known = _known_a_day_ahead(settings.columns)
        rows = [_of_household(row / settings.hours, known, settings) for row in kwh]
        *numbers, acf, moments = (np.array(values) for values in zip(*rows, strict=True))
        return cls(*numbers, acf, vector, moments)

    def only(self, rows) -> Homes:
        return Homes(**{name: values[rows] for name, values in vars(self).items()})

    @classmethod
    def join(cls, parts: list[Homes]) -> Homes:
        return cls(**{name: np.concatenate([vars(part)[name] for part in parts]) for name in vars(parts[0])})


@dataclass(frozen=True)
class Summary:
    """Numbers of H households and their sums on a grid of T intervals."""

    columns: Columns
    homes: Homes
    group_peak_kw: np.ndarray  # mean over groups of the peak of a group's mean, of GROUP_SIZES below H and of all
    mean_load_kw: np.ndarray  # mean of all households, (T,)

    @property
    def households(self) -> int:
        return len(self.homes.mean_kw)

    @property
    def group_sizes(self) -> list[int]:
        return _group_sizes(self.households)

    @cached_property
    def _hours(self) -> np.ndarray:
        slots = self.columns.calendar.slots_per_day
        return (np.arange(slots) + 0.5) * 24 / slots

    def profile(self, days: np.ndarray | None = None) -> np.ndarray:
        """Mean load of all households by slot of the day, over all days or those of a (days,) mask, kW."""
        use = np.isfinite(self.mean_load_kw)
        if days is not None:
            use &= days[self.columns.day]
        slot = self.columns.calendar.slot_of_day[use]
        count = np.bincount(slot, minlength=len(self._hours))
        return np.bincount(slot, self.mean_load_kw[use], len(self._hours)) / np.maximum(count, 1)

    @property
    def profile_peak_hour(self) -> float:
        return float(self._hours[np.argmax(self.profile())])

    @property
    def monthly_kw(self) -> np.ndarray:
        """Mean load of all households in every calendar month of the period, NaN in one without a reading."""
        months = np.array([12 * day.year + day.month for day in self.columns.calendar.days])
        of, use = (months - months[0])[self.columns.day], np.isfinite(self.mean_load_kw)
        count = np.bincount(of[use], minlength=of[-1] + 1)
        total = np.bincount(of[use], self.mean_load_kw[use], len(count))
        return np.where(count, total / np.maximum(count, 1), np.nan)


def _group_sizes(households: int) -> list[int]:
    return [*(size for size in GROUP_SIZES if size < households), households]


def _memberships(households: int) -> list[np.ndarray]:
    """Weights of the households in random groups of every size, (groups, H) each; the last is everybody."""
    sizes = _group_sizes(households)
    out = []
    for size in sizes[:-1]:
        rng = keyed_generator(0, "groups of a scorecard", households, size)
        members = np.zeros((GROUPS, households))
        for row in members:
            row[rng.choice(households, size, replace=False)] = 1.0
        out.append(members)
    return [*out, np.ones((1, households))]


def summarise(batches: Iterable[np.ndarray], households: int, settings: VectorSettings) -> Summary:
    """Summarise so many households from batches of (h, T) kWh per interval, NaN where missing."""
    loads, parts = _Loads(households, settings), []
    for batch in batches:
        kwh = np.asarray(batch, float)
        loads.add(kwh)
        parts.append(Homes.of(kwh, settings))
    return Summary(settings.columns, Homes.join(parts), *loads.found)


class _Loads:
    """Mean loads of groups of households, which come in batches."""

    def __init__(self, households: int, settings: VectorSettings):
        self._members, self._hours = np.concatenate(_memberships(households)), settings.hours
        self._sum = np.empty((len(self._members), settings.calendar.slot_count))
        self._missing: np.ndarray | float = 0.0  # homes of every group without a reading; most homes miss nothing
        self._seen = 0

    def add(self, kwh: np.ndarray) -> None:
        finite = np.isfinite(kwh)
        weights = self._members[:, self._seen : self._seen + len(kwh)]
        kw = np.where(finite, kwh, 0.0) / self._hours
        # Far larger than a batch: to fill it with zeros first would take as long as to add to it.
        if self._seen:
            self._sum += weights @ kw
        else:
            np.matmul(weights, kw, out=self._sum)
        some = ~finite.all(axis=1)
        if some.any():
            self._missing = self._missing + weights[:, some] @ (~finite[some]).astype(float)
        self._seen += len(kwh)

    @property
    def found(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean peak of the groups of every size, and the mean load of all, kW."""
        size = self._members.sum(axis=1, keepdims=True)
        known = np.broadcast_to(
            self._members[:, : self._seen].sum(axis=1, keepdims=True) - self._missing, self._sum.shape
        )
        peaks = group_peaks(self._sum, known, size)
        of_size = (p[np.isfinite(p)] for p in np.split(peaks, np.arange(GROUPS, len(peaks), GROUPS)))
        # A mean of few is no load of all.
        enough = (known[-1] >= size[-1] / 2) & (known[-1] > 0)
        load = np.divide(self._sum[-1], known[-1], out=np.full(len(known[-1]), np.nan), where=enough)
        return np.array([p.mean() if len(p) else np.nan for p in of_size]), load


def _of_household(kw: np.ndarray, known: np.ndarray, settings: VectorSettings) -> list:
    """Return the numbers of :class:`Homes` of one of them, without its vector."""
    mean, hours, slots = np.nanmean(kw), settings.hours, settings.calendar.slots_per_day
    size = max(float(np.nanmean(np.abs(kw))), 1e-9)
    variance = max(float(np.nanvar(kw)), 1e-12)
    top = int(np.nanargmax(kw))
    zero = np.mean(np.abs(kw[np.isfinite(kw)]) * hours < ZERO_KWH)
    hour = (settings.calendar.slot_of_day[top] + 0.5) * hours
    acf = lag_products(kw - mean, lags_of(slots)) / variance
    ramp, (_, away) = np.nanstd(np.diff(kw)) / size, settings.at_home(kw)
    without_use = _days_without_use(kw, settings.columns, slots)
    return [mean, kw[top], hour, ramp, zero, away, without_use, acf, _moments(kw / size, known, slots)]


def _days_without_use(kw: np.ndarray, columns: Columns, slots: int) -> float:
    """Return on which share of days with half of their readings hardly anything was used or fed in."""
    known = np.isfinite(kw)
    count, total = (
        np.bincount(columns.day, of, columns.day_count) for of in (known, np.where(known, np.abs(kw), 0.0))
    )
    enough = 2 * count >= slots
    if not enough.any():
        return 0.0
    mean = total[enough] / count[enough]
    return float((mean < ALMOST_NOTHING * np.quantile(mean, BUSIEST)).mean())


def _known_a_day_ahead(columns: Columns) -> np.ndarray:
    """Return what is known of every interval from the calendar, (T, 3 + 2 harmonics)."""
    hour = 2 * np.pi * columns.calendar.minute_of_day / (24 * 60)
    off = columns.is_off[columns.day].astype(float)
    before = columns.is_off[np.maximum(columns.day - 1, 0)].astype(float)
    waves = [wave(k * hour) for k in range(1, _HARMONICS + 1) for wave in (np.cos, np.sin)]
    return np.column_stack([np.ones(len(off)), off, before, *waves])


def _moments(ratio: np.ndarray, known: np.ndarray, slots: int) -> np.ndarray:
    """Return mean products of the calendar, readings a day and a week before, the mean of the day up to then, and the
    reading that comes, (p, p); of intervals for which all are known."""
    week, filled = 7 * slots, np.where(np.isfinite(ratio), ratio, 0.0)
    total, count = (np.concatenate([[0.0], np.cumsum(of)]) for of in (filled, np.isfinite(ratio)))
    at = np.arange(week, len(ratio))
    day_mean = (total[at - slots + 1] - total[at - 2 * slots + 1]) / np.maximum(
        count[at - slots + 1] - count[at - 2 * slots + 1], 1
    )
    rows = np.column_stack([known[week:], ratio[at - slots], ratio[at - week], day_mean, ratio[at]])
    rows = rows[np.isfinite(rows).all(axis=1)]
    return rows.T @ rows / max(len(rows), 1)


def _forecast_rmse(train: np.ndarray, test: np.ndarray) -> float:
    """Return the root mean squared error, in multiples of a household's mean size, of a linear forecast a day ahead
    that is fitted to some households' moments (h, p, p) and judged on others'."""
    mean = train.mean(axis=0)
    ridge = 1e-6 * np.eye(len(mean) - 1)
    coefficients = np.append(-np.linalg.solve(mean[:-1, :-1] + ridge, mean[:-1, -1]), 1.0)
    return float(np.sqrt(coefficients @ test.mean(axis=0) @ coefficients))


@dataclass(frozen=True)
class Score:
    """One row of the scorecard, its error in ``error_unit``; ``floor`` is that of halves of the real households."""

    statistic: str
    detail: str
    unit: str
    real: float
    synthetic: float
    error: float
    error_unit: str
    floor: float = np.nan


def compare(real: Summary, synthetic: Summary) -> list[Score]:
    """Return all rows without floors. Monthly energy and profiles are compared as means over all households.

    The forecast is judged on every other real household, which those it is trained on are none of.
    """
    rows = []

    def relative(statistic, details, unit, one, other):
        for detail, a, b in zip(details, one, other, strict=True):
            error = 100 * (b / a - 1) if a else (0.0 if b == a else np.nan)
            rows.append(Score(statistic, str(detail), unit, float(a), float(b), float(error), "%"))

    def quantiles(statistic, unit, one, other):
        relative(statistic, QUANTILES, unit, np.quantile(one, QUANTILES), np.quantile(other, QUANTILES))

    def distance(statistic, detail, unit, one, other):
        error = ks_2samp(one, other, method="asymp").statistic  # of all sizes; no p-value is used
        rows.append(Score(statistic, detail, unit, np.median(one), np.median(other), float(error), "KS"))

    def shape(statistic, one, other):
        error = 100 * np.sqrt(np.mean((other - one) ** 2)) / one.mean()
        rows.append(Score(statistic, "", "kW", one.mean(), other.mean(), float(error), "% rms"))

    both = (real.homes, synthetic.homes)
    quantiles("energy, quantiles of homes", "kWh a day", *(24 * homes.mean_kw for homes in both))
    quantiles("peak, quantiles of homes", "kW", *(homes.peak_kw for homes in both))
    distance("hour of the peak", "", "h", *(homes.peak_hour for homes in both))
    quantiles("load factor, quantiles of homes", "1", *(homes.mean_kw / homes.peak_kw for homes in both))
    sizes = [size for size in real.group_sizes if size in synthetic.group_sizes]
    of_size = [dict(zip(s.group_sizes, s.group_peak_kw, strict=True)) for s in (real, synthetic)]
    relative("diversified peak, homes", sizes, "kW a home", *([peaks[size] for size in sizes] for peaks in of_size))
    if real.households != synthetic.households:
        relative(
            "diversified peak, homes", ["all"], "kW a home", real.group_peak_kw[-1:], synthetic.group_peak_kw[-1:]
        )
    levels = [1 - share for share in DURATIONS]
    loads = [np.nanquantile(s.mean_load_kw, levels) for s in (real, synthetic)]
    relative("load duration of all, share of time", DURATIONS, "kW a home", *loads)
    for k, name in enumerate(LAG_NAMES):
        distance("autocorrelation", name, "1", *(homes.autocorrelation[:, k] for homes in both))
    months = real.monthly_kw, synthetic.monthly_kw
    in_both = np.isfinite(months).all(axis=0)  # of the real ones a month's file may be missing
    shape("monthly energy", *(of_month[in_both] for of_month in months))
    off = real.columns.is_off
    shape("profile of working days", real.profile(~off), synthetic.profile(~off))
    shape("profile of days off", real.profile(off), synthetic.profile(off))
    hours = real.profile_peak_hour, synthetic.profile_peak_hour
    later = 60 * ((hours[1] - hours[0] + 12) % 24 - 12)
    rows.append(Score("peak hour of the mean profile", "", "h", *hours, later, "min"))
    quantiles("ramps, quantiles of homes", "1", *(homes.ramp for homes in both))
    distance("share of zeros", "", "1", *(homes.zero_share for homes in both))
    relative("share of days away", [""], "1", *([homes.days_away.mean()] for homes in both))
    relative("share of days almost without use", [""], "1", *([homes.days_without_use.mean()] for homes in both))
    trained_on, judged = (real.homes.moments[::2], synthetic.homes.moments), real.homes.moments[1::2]
    if len(judged):
        errors = ([_forecast_rmse(moments, judged)] for moments in trained_on)
        relative("forecast a day ahead, trained on them", ["rms error"], "of the mean", *errors)
        of_real = real.homes.vector
        closest = nearest(of_real, of_real, itself=True), nearest(synthetic.homes.vector, of_real)
        relative("distance to the closest real home", CLOSEST, "1", *(np.quantile(d, CLOSEST) for d in closest))
    return rows


def membership(members: np.ndarray, synthetic: np.ndarray, others: np.ndarray) -> Score:
    """Return the row of the attack that asks whether a household is among those the synthetic ones were made from.

    All are vectors in half widths, as of :class:`Homes`.
    """
    found = membership_odds(members, others, synthetic)
    return Score("membership attack", "odds that it is right", "to 1", 1.0, found, found - 1, "above a guess")


def floors(
    energy_kwh: np.ndarray, homes: Homes, settings: VectorSettings, halves: int = HALVES
) -> dict[tuple[str, str], float]:
    """Return the mean absolute error of every row between random halves of real homes, (H, T) readings in memory."""
    errors: dict[tuple[str, str], list[float]] = {}

    def part_of(rows: np.ndarray) -> Summary:
        loads = _Loads(len(rows), settings)
        loads.add(energy_kwh[rows])
        return Summary(settings.columns, homes.only(rows), *loads.found)

    for k in range(halves):
        order = keyed_generator(0, "halves of a scorecard", k).permutation(len(energy_kwh))
        middle = len(order) // 2
        for row in compare(*(part_of(np.sort(rows)) for rows in (order[:middle], order[middle:]))):
            errors.setdefault((row.statistic, row.detail), []).append(abs(row.error))
    return {key: float(np.nanmean(values)) for key, values in errors.items()}


def with_floors(rows: list[Score], found: dict[tuple[str, str], float]) -> list[Score]:
    return [replace(row, floor=found.get((row.statistic, row.detail), np.nan)) for row in rows]
