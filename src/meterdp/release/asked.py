"""What a configuration asks to release: known from settings and the public list of meters, before a reading is read.

So whatever gate and ledger refuse can be told before anything runs, and what will be charged, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from meterdp.distributed.configured import shared_noise
from meterdp.errors import InputError
from meterdp.exports.roster import Roster, parse_roster
from meterdp.groupforecast.study import public_list
from meterdp.privacy.ledger import Request
from meterdp.privacy.release import Part
from meterdp.release.desk import Desk
from meterdp.release.feeders import Feeders, feeders_part
from meterdp.release.gate import refusals_of_list
from meterdp.release.household_forecasts import forecast_parts, neighbourhoods
from meterdp.release.label_forecasts import label_part
from meterdp.release.mixture import mixture_part


@dataclass(frozen=True)
class Asked:
    """One folder that a release would publish.

    Parameters
    ----------
    what : str
        What is in it, as a phrase.
    parts : tuple of Part
        Charged together or not at all.
    """

    what: str
    parts: tuple[Part, ...]

    @property
    def requests(self) -> list[Request]:
        """What the ledger is asked for."""
        return [part.request for part in self.parts]


def asked(desk: Desk) -> tuple[list[Asked], list[InputError]]:
    """Return all that a configuration asks to release, and everything that gate and mechanisms refuse about it."""
    listed, release = parse_roster(desk.roster), desk.config["release"]
    refused = {str(error): error for error in refusals_of_list(release["delta"], len(listed.circuit_of), desk.cap)}
    found = []
    for what in release["what"]:
        try:
            found.append(_KINDS[what](listed, desk))
        except InputError as error:
            refused.setdefault(str(error), error)
    return found, list(refused.values())


def _mixture(listed: Roster, desk: Desk) -> Asked:
    shared = shared_noise(desk.config["federation"], _meters(listed))
    shape = (len(listed.circuit_of), desk.config["profiles"]["hours"])
    return Asked("a mixture and synthetic profiles", (mixture_part(shape, desk, shared),))


def _forecasts(listed: Roster, desk: Desk) -> Asked:
    households, circuit = public_list(_meters(listed), desk.config["release"]["forecast_households"])
    if desk.config["release"]["forecast_protects"] == "label":
        part = label_part(len(households), neighbourhoods(circuit, desk), desk)
        return Asked(f"{len(households):,} forecast files that hide whom they belong to", (part,))
    parts = forecast_parts(len(households), circuit, desk)
    groups = parts[0].request.words["group_count"]
    same = f"{groups} forecasts, one for each group" if groups > 1 else "one and the same forecast in all of them"
    return Asked(f"{len(households):,} forecast files, {same}", parts)


def _feeders(listed: Roster, desk: Desk) -> Asked:
    return Asked("the energy of every feeder", (feeders_part(Feeders.of_roster(listed), desk),))


_KINDS: Mapping[str, Callable[[Roster, Desk], Asked]] = {
    "mixture": _mixture,
    "forecasts": _forecasts,
    "feeders": _feeders,
}


def _meters(listed: Roster) -> pa.Table:
    """Return the columns of the table ``meters`` that follow from the list."""
    circuits = [listed.circuit_of[meter] for meter in listed.meter_ids]
    return pa.table(
        {
            "household": pa.array(range(len(circuits)), pa.int32()),
            "circuit": pa.array(circuits, pa.string()),
        }
    )
