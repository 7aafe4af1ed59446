"""Which energies and which feeders a study of feeder totals takes.

The last whole local days of the study's households, and their average day. Gaps are filled from a household's own
readings first, for the truth as for the mechanism, so that errors are those of clipping, noise and post-processing
alone. Households are put on feeders of given sizes at random, by numbers that are the same for everybody, and on
their own circuits where the export names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from meterdp.core.log_scale import LogScale
from meterdp.core.noise import fixed_uniforms
from meterdp.feeders.mechanism import filled
from meterdp.feeders.plan import FeederPublic
from meterdp.profiles.dense import LogLoad

# Fewer households make no feeders to speak of.
FEWEST_HOUSEHOLDS = 50
DAYS, AVERAGE_DAY = WINDOWS = "days", "average_day"
RANDOM, CIRCUITS = "random", "circuits"
# Shorter intervals are put together to these.
HALF_HOUR = 30


@dataclass(frozen=True)
class Window:
    """Energies that totals are of.

    Parameters
    ----------
    name : {"days", "average_day"}
    energy_kwh : (N, T) float64
        None negative, none missing.
    days : int
        Days of the window, 1 for an average day.
    averaged_days : int
        Days averaged into each of them.
    """

    name: str
    energy_kwh: np.ndarray
    days: int
    averaged_days: int

    @property
    def shape(self) -> dict[str, int]:
        """What a mechanism is told of the window."""
        per_day = self.energy_kwh.shape[1] // self.days
        return {"intervals_per_day": per_day, "days": self.days, "averaged_days": self.averaged_days}


@dataclass(frozen=True)
class Grouping:
    """Which feeder everybody is on.

    Parameters
    ----------
    kind : {"random", "circuits"}
    feeder : (N,) int64
        0..F-1.
    judged : int
        Feeders 0..judged-1 are of the size that is studied; one more may hold who is left over.
    """

    kind: str
    feeder: np.ndarray
    judged: int

    @property
    def feeders(self) -> int:
        """F."""
        return int(self.feeder.max()) + 1

    @property
    def size(self) -> float:
        """Mean number of households on the feeders that are judged."""
        return float((self.feeder < self.judged).sum() / self.judged)


@dataclass(frozen=True)
class FeederStudy:
    """Energies, feeders and public settings of a study.

    Parameters
    ----------
    windows : tuple of Window
        Of the same N households; empty where there are too few of them or less than a day.
    circuit : (N,) int64 array or None
        0..G-1; None if not everybody's is known.
    interval_minutes : int
    settings : mapping
        Section ``feeder_study`` of the configuration.
    epsilons : sequence of float
    delta : float
    """

    windows: tuple[Window, ...]
    circuit: np.ndarray | None
    interval_minutes: int
    settings: Mapping
    epsilons: Sequence[float]
    delta: float

    @classmethod
    def from_tables(
        cls,
        load: LogLoad,
        meters: pa.Table,
        scale: LogScale,
        settings: Mapping,
        epsilons: Sequence[float],
        delta: float,
    ) -> FeederStudy:
        """Take the log load of the households of a study, its scale and the table ``meters``."""
        energy, days, minutes = last_days(load, scale, settings["days"])
        window = Window(DAYS, energy, days, 1)
        x, read = energy, np.zeros(len(energy), bool)
        if days:
            level = settings["typical_daily_kwh"]
            x, read = filled(energy, FeederPublic(1, 0.5, (0,), 1, typical_daily_kwh=level, **window.shape))
        names = dict(zip(meters["household"].to_pylist(), meters["circuit"].to_pylist(), strict=True))
        named = [names[h] for h in load.household[read].tolist()]
        circuit = None if None in named else np.unique(named, return_inverse=True)[1]
        windows = ()
        if read.sum() >= FEWEST_HOUSEHOLDS:
            x = x[read]
            average = x.reshape(len(x), days, -1).mean(axis=1)
            windows = (Window(DAYS, x, days, 1), Window(AVERAGE_DAY, average, 1, days))
        return cls(windows, circuit, minutes, settings, [float(e) for e in epsilons], delta)

    def public(self, grouping: Grouping, window: Window, epsilon: float) -> FeederPublic:
        """Return what calibrates a mechanism."""
        feeder = tuple(grouping.feeder.tolist())
        level = self.settings["typical_daily_kwh"]
        return FeederPublic(epsilon, self.delta, feeder, grouping.feeders, typical_daily_kwh=level, **window.shape)

    def groupings(self) -> Iterator[Grouping]:
        """Yield random feeders of every size there are households for, then the circuits."""
        households = len(self.windows[0].energy_kwh)
        for size in self.settings["sizes"]:
            if size <= households:
                yield random_feeders(households, size)
        if self.circuit is not None:
            yield Grouping(CIRCUITS, self.circuit, int(self.circuit.max()) + 1)


def last_days(load: LogLoad, scale: LogScale, days: int) -> tuple[np.ndarray, int, int]:
    """Return the energies (H, T) of the last whole local days, how many, and the minutes of an interval.

    Days are of 24 hours, back from a local midnight; energies fed in count as zero, and missing ones are NaN.
    """
    calendar = load.calendar
    if calendar is None:
        return np.empty((0, 0)), 0, HALF_HOUR
    after_last = calendar.longer(1).minute_of_day
    midnights = np.flatnonzero(after_last == 0)
    end = int(midnights[-1]) if midnights.size else 0
    days = min(days, end // calendar.slots_per_day)
    energy = np.maximum(scale.kwh(load.log_kwh[:, end - days * calendar.slots_per_day : end]), 0.0)
    together = HALF_HOUR // calendar.interval_minutes if HALF_HOUR % calendar.interval_minutes == 0 else 1
    energy = energy.reshape(len(energy), energy.shape[1] // together, together).sum(axis=2)
    return energy, days, calendar.interval_minutes * together


def random_feeders(households: int, size: int) -> Grouping:
    """Put N households on feeders of ``size`` at random; the last feeder holds those left over, if any."""
    place = fixed_uniforms(f"feeders of {size}", (households,)).argsort().argsort()
    return Grouping(RANDOM, place // size, households // size)
