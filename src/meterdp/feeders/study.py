"""Which energies and which feeders a study of feeder totals takes, and what private totals cost.

The last whole local days of the study's households, and their average day. Gaps are filled from a household's own
readings first, for the truth as for the mechanism, so that errors are those of clipping, noise and post-processing
alone. Households are put on feeders of given sizes at random, by numbers that are the same for everybody, and on
their own, those of a release, where the list of meters or the export names them.

Errors are set beside what a layman would do: clip every reading to a public bound and add Laplace or Gaussian noise
to every total. To hide all readings of a household that noise has to grow with their number (``laplace``,
``gaussian``); tools that protect one value at a time add noise as if a household had one reading
(``laplace_one_reading``), which is another promise. The number of households times the mean profile of all, without
noise, is what knowing nothing of a feeder costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, cached_property

import numpy as np

from meterdp.core.job import progress
from meterdp.core.log_scale import LogScale
from meterdp.core.noise import fixed_uniforms
from meterdp.feeders.mechanism import FeederRecords, FeederTotals, filled
from meterdp.feeders.plan import AVERAGE_DAY, DAYS, FeederPublic, Window, total_minutes
from meterdp.forecasting.select import choose_households, fixed_order
from meterdp.privacy import gaussian
from meterdp.privacy.noise import NoiseSource
from meterdp.profiles.dense import LogLoad

# Fewer households make no feeders to speak of.
FEWEST_HOUSEHOLDS = 50
# What a study measures: four feeders of the largest size, and those of the sizes there are households for.
STUDIED = {
    "households": 2000,
    "sizes": (5, 15, 30, 50, 100, 200, 500),
    "epsilons": (0.5, 2, 8),
    # The last whole days of the export: a week has all kinds of days.
    "days": 7,
    # Public limit of a reading in the simpler mechanisms: what a home seldom exceeds in an hour.
    "clip_kwh_per_hour": 5,
    "draws": 3,
}
RANDOM, OWN = "random", "own"


@dataclass(frozen=True)
class Energies:
    """Energies that totals are of: ``readings_kwh`` (N, A, T), none negative, none missing.

    A of them are averaged into each of the T intervals of a window of so many ``days``, 1 for an average day.
    """

    name: str
    readings_kwh: np.ndarray
    days: int

    @cached_property
    def energy_kwh(self) -> np.ndarray:
        """Energy in the intervals of the window, (N, T)."""
        return self.readings_kwh.mean(axis=1)

    @property
    def averaged_days(self) -> int:
        """A, days averaged into each of the window."""
        return self.readings_kwh.shape[1]

    def clipped_kwh(self, bound_kwh: float) -> np.ndarray:
        """Return the energies (N, T) of readings that are clipped one by one, so that each counts for a share."""
        return np.minimum(self.readings_kwh, bound_kwh).mean(axis=1)

    @property
    def shape(self) -> dict[str, int]:
        """What a mechanism knows of the window."""
        per_day = self.energy_kwh.shape[1] // self.days
        return {"intervals_per_day": per_day, "days": self.days, "averaged_days": self.averaged_days}


@dataclass(frozen=True)
class Grouping:
    """Which ``feeder`` 0..F-1 everybody is on, (N,) int64: random ones or their own.

    Feeders 0..judged-1 are of the size that is studied; one more may hold who is left over.
    """

    kind: str
    feeder: np.ndarray
    judged: int

    @property
    def feeders(self) -> int:
        return int(self.feeder.max()) + 1

    @property
    def size(self) -> float:
        """Mean number of households on the feeders that are judged."""
        return float((self.feeder < self.judged).sum() / self.judged)


@dataclass(frozen=True)
class FeederStudy:
    """Energies, feeders and public settings of a study.

    ``windows`` are of the same N households, and none where there are too few of them or less than a day; ``feeder``
    (N,), 0..F-1, is None if not everybody's is known. ``settings`` holds :data:`STUDIED` and ``typical_daily_kwh``,
    the public guess of a household's energy in a day.
    """

    windows: tuple[Energies, ...]
    feeder: np.ndarray | None
    interval_minutes: int
    settings: Mapping
    delta: float

    @classmethod
    def from_parts(
        cls, parts: Iterable[LogLoad], own: np.ndarray | None, scale: LogScale, settings: Mapping, delta: float
    ) -> FeederStudy:
        """Take the log load of the households of a study, part by part, its scale and the own feeder of every
        household of the export, if it is known.
        """
        window, taken, records = None, [], []
        for load in parts:
            window = window or last_days(load, settings["days"])
            if window is not None and len(load.household):
                x, read = _records(load, window, scale, settings["typical_daily_kwh"])
                taken.append(load.household[read])
                records.append(x)
        if window is None or sum(map(len, taken)) < FEWEST_HOUSEHOLDS:
            return cls((), None, 0, settings, delta)
        x, days = np.concatenate(records), window.day_count
        windows = Energies(DAYS, x[:, None], days), Energies(AVERAGE_DAY, x.reshape(len(x), days, -1), 1)
        feeder = None if own is None else np.unique(own[np.concatenate(taken)], return_inverse=True)[1]
        if feeder is not None and feeder.max() == 0:  # a single one has the mean profile of all
            feeder = None
        return cls(windows, feeder, window.interval_minutes, settings, delta)

    def mechanism(self, grouping: Grouping, window: Energies, epsilon: float) -> FeederTotals:
        """Return the sound mechanism for some feeders and energies."""
        feeder = tuple(grouping.feeder.tolist())
        level = self.settings["typical_daily_kwh"]
        return _calibrated(
            FeederPublic(epsilon, self.delta, feeder, grouping.feeders, typical_daily_kwh=level, **window.shape)
        )

    def groupings(self) -> Iterator[Grouping]:
        """Yield random feeders of every size there are households for, then their own."""
        households = len(self.windows[0].energy_kwh)
        for size in self.settings["sizes"]:
            if size <= households:
                yield random_feeders(households, size)
        if self.feeder is not None:
            yield Grouping(OWN, self.feeder, int(self.feeder.max()) + 1)


@cache
def _calibrated(public: FeederPublic) -> FeederTotals:
    """Calibrate once what several tables need: it takes longer than a release."""
    return FeederTotals.calibrate(public)


def last_days(load: LogLoad, days: int) -> Window | None:
    """Return the last whole local days of the grid, so many or as many as there are; None if there is none."""
    calendar = load.calendar
    if calendar is None:
        return None
    midnights = np.flatnonzero(calendar.longer(1).minute_of_day == 0)
    if len(midnights) < 2:
        return None
    last = date(1970, 1, 1) + timedelta(days=int(calendar.local_day[midnights[-1] - 1]))
    minutes = total_minutes(calendar.interval_minutes)
    return Window(DAYS, last, min(days, len(midnights) - 1), minutes, calendar.time_zone)


def _records(load: LogLoad, window: Window, scale: LogScale, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the energies (n, T) of households that were read, gaps filled, and which of all (H,) these are."""
    # Only the window and the public level in kWh a day say how gaps are filled.
    public = FeederPublic(1.0, 0.5, (0,), 1, window.intervals_per_day, window.record_days, level)
    x, read = filled(window.records(load.log_kwh, load.calendar, scale), public)
    return x[read], read


def study_households(count: int, own: np.ndarray | None, most: int) -> np.ndarray:
    """Return the households of a study, ascending: all 0..count-1, or so many at most, whatever the readings.

    Where their own feeders are known these are whole feeders in a fixed pseudo-random order, so that they keep their
    size; else, or if that is one feeder or too few households, the first households of such an order.
    """
    every = np.arange(count)
    if count <= most:
        return every
    if own is not None:
        sizes = np.bincount(own)
        order = fixed_order(np.arange(len(sizes)), "feeder study")
        whole = order[np.cumsum(sizes[order]) <= most]
        if len(whole) > 1 and sizes[whole].sum() >= FEWEST_HOUSEHOLDS:
            return every[np.isin(own, whole)]
    return choose_households(every, most)


def random_feeders(households: int, size: int) -> Grouping:
    """Put N households on feeders of ``size`` at random; the last feeder holds those left over, if any."""
    place = fixed_uniforms(f"feeders of {size}", (households,)).argsort().argsort()
    return Grouping(RANDOM, place // size, households // size)


def by_feeder(combine: np.ufunc, values: np.ndarray, feeder: np.ndarray, feeders: int) -> np.ndarray:
    """Return the sums (``np.add``) or largest (``np.maximum``) of values (N, T) per feeder, (F, T); 0 of nobody."""
    out = np.zeros((feeders, values.shape[1]))
    order = np.argsort(feeder, kind="stable")
    present, first = np.unique(feeder[order], return_index=True)
    if present.size:
        out[present] = combine.reduceat(values[order], first, axis=0)
    return out


# -- errors ----------------------------------------------------------------------------------------------------------

SOUND, LAPLACE, GAUSSIAN = "sound", "laplace", "gaussian"
LAPLACE_ONE_READING, MEAN_PROFILE = "laplace_one_reading", "mean_profile"
METHODS = SOUND, LAPLACE, GAUSSIAN, LAPLACE_ONE_READING, MEAN_PROFILE
PROTECTS = {
    LAPLACE_ONE_READING: "one reading of one household",
    MEAN_PROFILE: "nothing",
} | dict.fromkeys((SOUND, LAPLACE, GAUSSIAN), "all readings of one household")

# Names an independent stream of the study's noise.
NoiseOf = Callable[..., NoiseSource]
Draw = Callable[[NoiseSource], np.ndarray]


def error_rows(study: FeederStudy, noise_of: NoiseOf) -> list[dict]:
    """Return the rows of the table ``feeder_errors``."""
    wanted = [(g, w) for w in study.windows for g in study.groupings()]
    return [
        row for g, w in progress(wanted, "feeder totals", total=len(wanted)) for row in _errors(study, g, w, noise_of)
    ]


def _errors(study: FeederStudy, grouping: Grouping, window: Energies, noise_of: NoiseOf) -> list[dict]:
    exact = by_feeder(np.add, window.energy_kwh, grouping.feeder, grouping.feeders)
    mean_total_kwh = float(exact[: grouping.judged].mean())
    facts = {
        "window": window.name,
        "day_count": window.days * window.averaged_days,
        "interval_minutes": study.interval_minutes,
        "grouping": grouping.kind,
        "feeder_size": grouping.size,
        "feeder_count": grouping.judged,
        "household_count": len(window.energy_kwh),
        "mean_total_kwh": mean_total_kwh,
    }

    def row(method: str, epsilon: float | None, delta: float | None, totals: list[np.ndarray]) -> dict:
        errors = np.array([drawn[: grouping.judged] - exact[: grouping.judged] for drawn in totals])
        rmse = float(np.sqrt((errors**2).mean()))
        return facts | {
            "method": method,
            "protects": PROTECTS[method],
            "epsilon": epsilon,
            "delta": delta,
            "rmse_kwh": rmse,
            "mae_kwh": float(np.abs(errors).mean()),
            "relative_rmse": rmse / mean_total_kwh,
            "draw_count": len(errors),
        }

    rows = []
    for epsilon in study.settings["epsilons"]:
        for method, draw in _draws(study, grouping, window, epsilon).items():
            noise = noise_of("feeder totals", window.name, grouping.kind, repr(grouping.size), method, repr(epsilon))
            delta = study.delta if method in (SOUND, GAUSSIAN) else 0.0
            rows.append(row(method, epsilon, delta, [draw(noise) for _ in range(study.settings["draws"])]))
    guess = np.bincount(grouping.feeder)[:, None] * window.energy_kwh.mean(axis=0)
    return [*rows, row(MEAN_PROFILE, None, None, [guess])]


def _draws(study: FeederStudy, grouping: Grouping, window: Energies, epsilon: float) -> dict[str, Draw]:
    """Return by method what draws totals (F, T) of a noise source."""
    mechanism = study.mechanism(grouping, window, epsilon)
    records = FeederRecords(window.energy_kwh)
    bound = study.settings["clip_kwh_per_hour"] * study.interval_minutes / 60
    clipped = by_feeder(np.add, window.clipped_kwh(bound), grouping.feeder, grouping.feeders)
    noises = layman_noise(bound, window, epsilon, study.delta)
    return {SOUND: lambda noise: mechanism.release(records, noise).total_kwh} | {
        # Totals are not negative, and everybody knows.
        method: lambda noise, add=add: np.maximum(clipped + add(noise, clipped.shape), 0.0)
        for method, add in noises.items()
    }


def layman_noise(bound_kwh: float, window: Energies, epsilon: float, delta: float) -> dict[str, Callable]:
    """Return by method what draws noise (source, shape) for totals of readings clipped to [0, ``bound_kwh``].

    Replacing a household moves the totals of its feeder by the bound in each of T intervals, so by T bounds in l1 and
    by sqrt(T) bounds in l2. One reading of several that are averaged moves their mean by its share.
    """
    intervals = window.energy_kwh.shape[1]
    laplace = intervals * bound_kwh / epsilon
    std = np.sqrt(intervals) * bound_kwh / gaussian.mu_for(epsilon, delta)
    one = bound_kwh / window.averaged_days / epsilon
    return {
        LAPLACE: lambda noise, shape: laplace * noise.laplace(shape),
        GAUSSIAN: lambda noise, shape: std * noise.normal(shape),
        LAPLACE_ONE_READING: lambda noise, shape: one * noise.laplace(shape),
    }
