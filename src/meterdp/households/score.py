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
from meterdp.households.columns import Columns
from meterdp.households.correlations import lag_products, lags_of

QUANTILES = (0.1, 0.5, 0.9)
GROUP_SIZES = (1, 10, 50, 100)
# Random groups of each size whose peaks are averaged.
GROUPS = 200
# Shares of the time in which the load of all is higher.
DURATIONS = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99)
LAG_NAMES = ("1 interval", "2 intervals", "1 day", "1 week")
HOURS_OF_YEAR = 8760
# Readings below half a watt-hour are zeros.
ZERO_KWH = 0.0005
# Random halves of the real households whose differences are averaged.
HALVES = 10


@dataclass(frozen=True)
class Summary:
    """Numbers of H households and their sums on a grid of T intervals."""

    columns: Columns
    mean_kw: np.ndarray  # (H,)
    peak_kw: np.ndarray  # (H,)
    peak_hour: np.ndarray  # local hour of the day, (H,)
    autocorrelation: np.ndarray  # (H, 4)
    ramp: np.ndarray  # standard deviation of changes between intervals over the mean size, (H,)
    zero_share: np.ndarray  # (H,)
    group_peak_kw: np.ndarray  # mean over groups of the peak of a group's mean, of GROUP_SIZES below H and of all
    mean_load_kw: np.ndarray  # mean of all households, (T,)

    @property
    def households(self) -> int:
        return len(self.mean_kw)

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
        """Mean load of all households in every calendar month of the period."""
        month = np.array([12 * day.year + day.month for day in self.columns.calendar.days])[self.columns.day]
        use = np.isfinite(self.mean_load_kw)
        _, of = np.unique(month[use], return_inverse=True)
        return np.bincount(of, self.mean_load_kw[use]) / np.bincount(of)


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


def summarise(batches: Iterable[np.ndarray], households: int, columns: Columns) -> Summary:
    """Summarise so many households from batches of (h, T) kWh per interval, NaN where missing."""
    slots = columns.calendar.slots_per_day
    hours = 24 / slots
    members = np.concatenate(_memberships(households))
    load = np.zeros((len(members), columns.calendar.slot_count))
    known = np.zeros_like(load)
    rows = []
    begin = 0
    for batch in batches:
        kw = np.asarray(batch, float) / hours
        finite = np.isfinite(kw)
        weights = members[:, begin : begin + len(kw)]
        load += weights @ np.where(finite, kw, 0.0)
        known += weights @ finite
        rows += [_of_household(row, hours, slots, columns) for row in kw]
        begin += len(kw)
    # A mean of few is no load of the group: it would peak where hardly anybody was read.
    enough = known >= members.sum(axis=1, keepdims=True) / 2
    means = np.divide(load, known, out=np.full(load.shape, np.nan), where=enough & (known > 0))
    peaks = np.nanmax(means, axis=1)
    sizes = np.split(peaks, np.arange(GROUPS, len(peaks), GROUPS))
    mean, peak, hour, ramp, zero, *acf = np.array(rows).T
    return Summary(
        columns, mean, peak, hour, np.array(acf).T, ramp, zero, np.array([p.mean() for p in sizes]), means[-1]
    )


def _of_household(kw: np.ndarray, hours: float, slots: int, columns: Columns) -> list[float]:
    """Return mean, peak, hour of the peak, ramp, share of zeros and autocorrelations of one household."""
    mean = np.nanmean(kw)
    variance = max(float(np.nanvar(kw)), 1e-12)
    top = int(np.nanargmax(kw))
    ramp = np.nanstd(np.diff(kw)) / max(float(np.nanmean(np.abs(kw))), 1e-9)
    zero = np.mean(np.abs(kw[np.isfinite(kw)]) * hours < ZERO_KWH)
    hour = (columns.calendar.slot_of_day[top] + 0.5) * hours
    return [mean, kw[top], hour, ramp, zero, *(lag_products(kw - mean, lags_of(slots)) / variance)]


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
    """Return all rows without floors. Monthly energy and profiles are compared as means over all households."""
    rows = []

    def relative(statistic, details, unit, one, other):
        for detail, a, b in zip(details, one, other, strict=True):
            error = 100 * (b / a - 1) if a else (0.0 if b == a else np.nan)
            rows.append(Score(statistic, str(detail), unit, float(a), float(b), float(error), "%"))

    def quantiles(statistic, unit, one, other):
        relative(statistic, QUANTILES, unit, np.quantile(one, QUANTILES), np.quantile(other, QUANTILES))

    def distance(statistic, detail, one, other):
        error = ks_2samp(one, other).statistic
        rows.append(Score(statistic, detail, "1", np.median(one), np.median(other), float(error), "KS"))

    def shape(statistic, one, other):
        error = 100 * np.sqrt(np.mean((other - one) ** 2)) / one.mean()
        rows.append(Score(statistic, "", "kW", one.mean(), other.mean(), float(error), "% rms"))

    year = HOURS_OF_YEAR
    quantiles("energy, quantiles of homes", "kWh a year", real.mean_kw * year, synthetic.mean_kw * year)
    quantiles("peak, quantiles of homes", "kW", real.peak_kw, synthetic.peak_kw)
    distance("hour of the peak", "", real.peak_hour, synthetic.peak_hour)
    quantiles(
        "load factor, quantiles of homes", "1", real.mean_kw / real.peak_kw, synthetic.mean_kw / synthetic.peak_kw
    )
    sizes = [size for size in real.group_sizes if size in synthetic.group_sizes]
    both = [dict(zip(s.group_sizes, s.group_peak_kw, strict=True)) for s in (real, synthetic)]
    relative("diversified peak, homes", sizes, "kW a home", *([peaks[size] for size in sizes] for peaks in both))
    if real.households != synthetic.households:
        relative(
            "diversified peak, homes", ["all"], "kW a home", real.group_peak_kw[-1:], synthetic.group_peak_kw[-1:]
        )
    levels = [1 - share for share in DURATIONS]
    loads = [np.nanquantile(s.mean_load_kw, levels) for s in (real, synthetic)]
    relative("load duration of all, share of time", DURATIONS, "kW a home", *loads)
    for k, name in enumerate(LAG_NAMES):
        distance("autocorrelation", name, real.autocorrelation[:, k], synthetic.autocorrelation[:, k])
    shape("monthly energy", real.monthly_kw, synthetic.monthly_kw)
    off = real.columns.is_off
    shape("profile of working days", real.profile(~off), synthetic.profile(~off))
    shape("profile of days off", real.profile(off), synthetic.profile(off))
    hours = real.profile_peak_hour, synthetic.profile_peak_hour
    later = 60 * ((hours[1] - hours[0] + 12) % 24 - 12)
    rows.append(Score("peak hour of the mean profile", "", "h", *hours, later, "min"))
    quantiles("ramps, quantiles of homes", "1", real.ramp, synthetic.ramp)
    relative("share of zeros", [""], "1", [real.zero_share.mean()], [synthetic.zero_share.mean()])
    return rows


def floors(energy_kwh: np.ndarray, columns: Columns, halves: int = HALVES) -> dict[tuple[str, str], float]:
    """Return the mean absolute error of every row between random halves of (H, T) real readings in memory."""
    errors: dict[tuple[str, str], list[float]] = {}
    for k in range(halves):
        order = keyed_generator(0, "halves of a scorecard", k).permutation(len(energy_kwh))
        middle = len(order) // 2
        one, other = (
            summarise([energy_kwh[np.sort(part)]], len(part), columns) for part in (order[:middle], order[middle:])
        )
        for row in compare(one, other):
            errors.setdefault((row.statistic, row.detail), []).append(abs(row.error))
    return {key: float(np.nanmean(values)) for key, values in errors.items()}


def with_floors(rows: list[Score], found: dict[tuple[str, str], float]) -> list[Score]:
    return [replace(row, floor=found.get((row.statistic, row.detail), np.nan)) for row in rows]
