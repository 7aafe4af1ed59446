"""What a configuration asks to release: known from settings and the public list of meters, before a reading is read.

So whatever gate and ledger refuse can be told before anything runs, and what will be charged, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from meterdp.errors import InputError
from meterdp.federated.configured import shared_noise
from meterdp.groupforecast.study import public_list
from meterdp.ingest.meter_list import MeterList, parse_meter_list
from meterdp.privacy.ledger import Request
from meterdp.privacy.policy import refusals_of_list
from meterdp.privacy.release import Part
from meterdp.release.feeders import Feeders, feeders_part
from meterdp.release.household_forecasts import forecast_parts, neighbourhoods
from meterdp.release.label_forecasts import label_part
from meterdp.release.mixture import mixture_part
from meterdp.release.service import ReleaseService


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


def asked(service: ReleaseService) -> tuple[list[Asked], list[InputError]]:
    """Return all that a configuration asks to release, and everything that gate and mechanisms refuse about it."""
    listed, release = parse_meter_list(service.meter_list), service.config["release"]
    refused = {
        str(error): error for error in refusals_of_list(release["delta"], len(listed.circuit_of), service.limit)
    }
    found = []
    for what in release["what"]:
        try:
            found.append(_KINDS[what](listed, service))
        except InputError as error:
            refused.setdefault(str(error), error)
    return found, list(refused.values())


def _mixture(listed: MeterList, service: ReleaseService) -> Asked:
    shared = shared_noise(service.config["federation"], _meters(listed))
    shape = (len(listed.circuit_of), service.config["profiles"]["hours"])
    return Asked("a mixture and synthetic profiles", (mixture_part(shape, service, shared),))


def _forecasts(listed: MeterList, service: ReleaseService) -> Asked:
    households, circuit = public_list(_meters(listed), service.config["release"]["forecast_households"])
    if service.config["release"]["forecast_protects"] == "label":
        part = label_part(len(households), neighbourhoods(circuit, service), service)
        return Asked(f"{len(households):,} forecast files that hide whom they belong to", (part,))
    parts = forecast_parts(len(households), circuit, service)
    groups = parts[0].request.words["group_count"]
    same = f"{groups} forecasts, one for each group" if groups > 1 else "one and the same forecast in all of them"
    return Asked(f"{len(households):,} forecast files, {same}", parts)


def _feeders(listed: MeterList, service: ReleaseService) -> Asked:
    return Asked("the energy of every feeder", (feeders_part(Feeders.of_meter_list(listed), service),))


_KINDS: Mapping[str, Callable[[MeterList, ReleaseService], Asked]] = {
    "mixture": _mixture,
    "forecasts": _forecasts,
    "feeders": _feeders,
}


def _meters(listed: MeterList) -> pa.Table:
    """Return the columns of the table ``meters`` that follow from the list."""
    circuits = [listed.circuit_of[meter] for meter in listed.meter_ids]
    return pa.table(
        {
            "household": pa.array(range(len(circuits)), pa.int32()),
            "circuit": pa.array(circuits, pa.string()),
        }
    )
