"""Who the synthetic households are (type, circuit and meter id of each) and the intervals their meters count.

Type and circuit of household ``i`` depend on ``i`` (and the seed), not on how many households there are. Shares of
the types follow Table I of Liu et al. Every meter id says that the meter is synthetic. Random numbers of simulated
nodes have a seed, too: whoever knows it can take their masks off.

Intervals are regular in UTC and stamped in local time. A local day with a clock change has 92 or 100 intervals of 15
minutes; the repeated hour appears twice, in order, as in the export of a utility that writes no time zone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

import numpy as np
import pandas as pd

from meterdp.core.noise import keyed_generator
from meterdp.ingest.meter_list import MeterList
from meterdp.simulate.fields import Place, read_whole
from meterdp.simulate.parameters import HouseholdType, SimulationParameters

SYNTHETIC_PREFIX = "SYN-"


def override(name: str) -> Place:
    """Return where a setting stands that overrides a parameter."""
    return Place(None, ("simulate", name))


def type_sequence(households_by_type: list[int], count: int) -> np.ndarray:
    """Return the type of each of the first ``count`` households, (count,) int.

    Each household gets the type that is furthest below its share so far. So every run keeps the proportions, a longer
    run begins with the shorter one, and a full run has the numbers given.
    """
    share = np.array(households_by_type) / sum(households_by_type)
    given = np.zeros(len(share))
    sequence = np.empty(count, dtype=np.int64)
    for i in range(count):
        sequence[i] = np.argmax(share * (i + 1) - given)
        given[sequence[i]] += 1
    return sequence


@dataclass(frozen=True)
class Fleet:
    """The N households of one simulation on C circuits."""

    types: tuple[HouseholdType, ...]
    count: int
    circuits: int
    seed: int

    @classmethod
    def of(
        cls,
        parameters: SimulationParameters,
        *,
        seed: int,
        households: int | None = None,
        circuits: int | None = None,
    ) -> Fleet:
        """Take the parameters of a simulation, some of them overridden."""
        return cls(
            parameters.household_types,
            parameters.households if households is None else read_whole(households, override("households"), 1),
            parameters.circuits if circuits is None else read_whole(circuits, override("circuits"), 1),
            read_whole(seed, Place(None, ("seed",))),
        )

    @property
    def meter_list(self) -> MeterList:
        """The public list of meters and their circuits."""
        return MeterList({self.meter_id(i): self.circuit_name(i) for i in range(self.count)})

    @cached_property
    def type_index(self) -> np.ndarray:
        """Type of every household, (N,) int."""
        return type_sequence([kind.households for kind in self.types], self.count)

    def kind(self, household: int) -> HouseholdType:
        return self.types[self.type_index[household]]

    @cached_property
    def _cumulated_circuit_shares(self) -> np.ndarray:
        """Per type the cumulated shares of the circuits, (types, C): a type is not spread evenly over circuits."""
        shares = [
            keyed_generator(self.seed, "circuits", kind.name).dirichlet(np.full(self.circuits, kind.circuit_evenness))
            for kind in self.types
        ]
        return np.cumsum(shares, axis=1)

    def circuit(self, household: int) -> int:
        """Return the circuit of a household, from 0."""
        shares = self._cumulated_circuit_shares[self.type_index[household]]
        position = keyed_generator(self.seed, "circuit", household).random()
        return min(int(np.searchsorted(shares, position, side="right")), self.circuits - 1)

    def circuit_name(self, household: int) -> str:
        """Return the name of the household's circuit, as written in the export."""
        return f"C{self.circuit(household) + 1:02d}"

    def meter_id(self, household: int) -> str:
        """Return the id of the household's meter, as written in the export."""
        return f"{SYNTHETIC_PREFIX}{household + 1:07d}"


def simulated_stream(seed: int, *keys: str | int) -> np.random.Generator:
    """Return the generator of an experiment on synthetic nodes; same seed and keys, same numbers."""
    return keyed_generator(seed, *keys)


STAMP_FORMAT = "%Y-%m-%d %H:%M"
SATURDAY = 5


@dataclass(frozen=True)
class Period:
    """All T intervals of D local days from ``start_date`` on; an interval divides an hour."""

    start_date: date
    days: int
    time_zone: str
    interval_minutes: int

    @cached_property
    def _local(self) -> pd.DatetimeIndex:
        return pd.date_range(
            self._midnight(self.start_date),
            self._midnight(self.start_date + timedelta(days=self.days)),
            freq=f"{self.interval_minutes}min",
            inclusive="left",
        )

    def _midnight(self, day: date) -> pd.Timestamp:
        # Some zones change their clocks at midnight: then the day begins at its first existing, first-pass instant.
        return pd.Timestamp(day).tz_localize(self.time_zone, ambiguous=True, nonexistent="shift_forward")

    @property
    def last_date(self) -> date:
        return self.start_date + timedelta(days=self.days - 1)

    @property
    def slot_count(self) -> int:
        return len(self._local)

    @property
    def slots_per_day(self) -> int:
        """Intervals of a day without a clock change, S."""
        return 24 * 60 // self.interval_minutes

    @property
    def hours_per_slot(self) -> float:
        return self.interval_minutes / 60

    @cached_property
    def stamps(self) -> list[str]:
        """Local start of every interval, as written in the export, length T."""
        return self._local.strftime(STAMP_FORMAT).tolist()

    @cached_property
    def slot_of_day(self) -> np.ndarray:
        """Interval of the local day by the clock, (T,) int in [0, S)."""
        return (self._local.hour * 60 + self._local.minute).to_numpy() // self.interval_minutes

    @cached_property
    def day_index(self) -> np.ndarray:
        """Local calendar day, (T,) int in [0, D)."""
        return (self._local.tz_localize(None).normalize() - pd.Timestamp(self.start_date)).days.to_numpy()

    @cached_property
    def first_slot_of_day(self) -> np.ndarray:
        """First interval of every local day and the end of the last, (D + 1,) int."""
        return np.searchsorted(self.day_index, np.arange(self.days + 1))

    @cached_property
    def utc_hour(self) -> np.ndarray:
        """UTC hour of day of the middle of every interval, (T,) float64."""
        utc = self._local.tz_convert("UTC")
        return (utc.hour + utc.minute / 60).to_numpy() + self.hours_per_slot / 2

    @cached_property
    def repeated(self) -> np.ndarray:
        """Whether the stamp of an interval occurs twice, (T,) bool."""
        return pd.Series(self.stamps).duplicated(keep=False).to_numpy()

    def day_of_year(self, first: int = 0) -> np.ndarray:
        """Return the day of the year, from 1, of every day from day ``first`` on, (D - first,) int."""
        return pd.date_range(
            self.start_date + timedelta(days=first), periods=self.days - first
        ).day_of_year.to_numpy()

    def weekend(self, count: int, first: int = 0) -> np.ndarray:
        """Whether each of ``count`` days from day ``first`` on is a Saturday or Sunday, (count,) bool."""
        weekday = (self.start_date.weekday() + first + np.arange(count)) % 7
        return weekday >= SATURDAY
