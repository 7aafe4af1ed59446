"""Who the synthetic households are: type, circuit and meter id of each.

Type and circuit of household ``i`` depend on ``i`` (and the seed), not on how many households there are. Shares of
the types follow Table I of Liu et al. Every meter id says that the meter is synthetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meterdp.core.noise import keyed_generator
from meterdp.ingest.meter_list import MeterList
from meterdp.simulate.fields import Place, read_whole
from meterdp.simulate.parameters import HouseholdType, SimulationParameters

SYNTHETIC_PREFIX = "SYN-"


def override(name: str) -> Place:
    """Return where a setting stands that overrides a parameter."""
    return Place(None, ("simulate", name))


def type_sequence(households_by_type: list[int], count: int) -> np.ndarray:
    """Return the type of each of the first ``count`` households.

    Each household gets the type that is furthest below its share so far. So every run keeps the proportions, a longer
    run begins with the shorter one, and a full run has the numbers given.

    Parameters
    ----------
    households_by_type : list of int
        Numbers of a full run.
    count : int

    Returns
    -------
    (count,) int
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
    """The households of one simulation.

    Parameters
    ----------
    types : tuple of HouseholdType
    count : int
        Number of households, N.
    circuits : int
        Number of circuits, C.
    seed : int
    """

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
        """Return the type of a household."""
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
