"""The feeders that a public list of meters names: those of a release, and those that a study judges before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from meterdp.errors import InputError
from meterdp.ingest.meter_list import MeterList
from meterdp.privacy.policy import refused

# The substation of feeders of a list that names none.
ONE_SUBSTATION = "all"


@dataclass(frozen=True)
class Feeders:
    """Which of F feeders each of N listed meters is on; public."""

    substation: tuple[str, ...]  # (F,), secondary substations and feeders in ascending order
    name: tuple[str, ...]
    feeder_of: tuple[int, ...]  # (N,), row of the feeder, in the order of the list

    @classmethod
    def of_meter_list(cls, meter_list: MeterList) -> Feeders:
        """Take the feeders that a list names, or its circuits; each meter has one, and no two are called alike."""
        place_of = {}
        for meter, circuit in meter_list.circuit_of.items():
            substation, feeder = meter_list.feeder_of.get(meter, (None, None))
            place_of[meter] = substation or ONE_SUBSTATION, feeder or circuit
        # Where the readings of a meter without a feeder count would be private. No feeder is too small: the proof
        # does not depend on its size, only the worth of its total does.
        without = [row for row, (_, feeder) in enumerate(place_of.values(), start=2) if feeder is None]
        if without:
            others = " or ".join(f"'{column}'" for column in meter_list.like_feeders)
            called = f"rename {others} lv_feeder_id if it names them; else " if others else ""
            raise refused(
                "export.meters",
                f"does not name a feeder for every meter: {len(without):,} of {len(place_of):,} have none, the first "
                f"in row {without[0]:,} of the list, empty rows not counted",
                f"{called}add a column lv_feeder_id (and secondary_substation_id), or circuit, and fill it in",
            )
        places = [place_of[meter] for meter in meter_list.meter_ids]
        known = sorted(set(places))
        at = {place: number for number, place in enumerate(known)}
        feeders = cls(*zip(*known, strict=True), tuple(at[place] for place in places))
        if len(set(feeders.ids)) < len(feeders.ids):  # c of a-b, and b-c of a
            raise refused(
                "export.meters",
                "has two feeders that would both be called <substation>-<feeder> in the released files",
                "leave hyphens out of secondary_substation_id or of lv_feeder_id",
            )
        return feeders

    @property
    def ids(self) -> list[str]:
        """Name of every feeder in the column dataset_id: its substation's, if the list names any, and its own."""
        if {*self.substation} == {ONE_SUBSTATION}:
            return [*self.name]
        return [f"{s}-{f}" for s, f in zip(self.substation, self.name, strict=True)]


def feeders_of_study(meters: pa.Table, listed: MeterList | None) -> np.ndarray | None:
    """Return the feeder 0..F-1 of every household 0..N-1 of the table ``meters``, (N,) int64, as a release has it.

    Without a list they are the circuits of the export; None where a release would be refused for its feeders.
    """
    meter_ids = meters["meter_id"].to_pylist()
    listed = listed or MeterList(dict(zip(meter_ids, meters["circuit"].to_pylist(), strict=True)))
    try:
        feeder_of = Feeders.of_meter_list(listed).feeder_of
    except InputError:
        return None
    of = dict(zip(listed.meter_ids, feeder_of, strict=True))
    return np.array([of[meter] for meter in meter_ids], dtype=np.int64)
