"""What a configuration asks to release: known from settings and the public list of meters, before a reading is read.

So whatever policy and ledger refuse is said before anything runs, as is what will be charged, and what it is worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType

from meterdp.errors import InputError
from meterdp.ingest.meter_list import read_meter_list
from meterdp.privacy.policy import refusals_of_list
from meterdp.release import feeders, forecasts, mixture
from meterdp.release.service import Releasable, ReleaseService

# Each has
# - mechanisms(listed, service): what is charged and drawn together, from settings and the public list alone;
# - records(files, config, listed): what the mechanisms take, from tables of the study;
# - expected(config, listed): a sentence on how far a release is expected to be off, None where nothing is known;
# - worthless(config, listed), if a release may be: the reasons why it is not worth its epsilon.
MODULES: Mapping[str, ModuleType] = {"mixture": mixture, "forecasts": forecasts, "feeders": feeders}


def asked(service: ReleaseService) -> tuple[list[tuple[Releasable, ...]], list[InputError]]:
    """Return all that is asked for, each as mechanisms charged together, and all that is refused about it."""
    release, listed = service.config["release"], service.listed
    refused = {str(e): e for e in refusals_of_list(release["delta"], len(listed.circuit_of), service.limit)}
    found = []
    for what in release["what"]:
        try:
            together = MODULES[what].mechanisms(listed, service)
            for mechanism in together:
                service.request(mechanism)
            found.append(together)
        except InputError as error:
            refused.setdefault(str(error), error)
    return found, list(refused.values())


def worthless(config: Mapping, simulated: bool) -> Iterator[InputError]:
    """Yield why releases of a configuration are not worth their epsilon, as far as public numbers tell.

    A group forecast always is: it is never worse than the public level that it shrinks to. So are totals of feeders:
    they are posterior means, which say how far they are off.
    """
    listed = _listed(config, simulated)
    for what in config["release"]["what"]:
        if listed is not None and hasattr(MODULES[what], "worthless"):
            yield from MODULES[what].worthless(config, listed)


def statements(config: Mapping, simulated: bool) -> list[str]:
    """Return a sentence for each release of which public numbers alone tell the error."""
    listed = _listed(config, simulated)
    if listed is None:
        return []
    said = (MODULES[what].expected(config, listed) for what in config["release"]["what"])
    return [sentence for sentence in said if sentence is not None]


def _listed(config: Mapping, simulated: bool) -> int | None:
    """Return the number of meters of the public list; None if there is none that can be read."""
    if simulated:
        return config["simulate"]["households"]
    try:
        return len(read_meter_list(config["export"]["meters"]).meter_ids)
    except (InputError, TypeError):
        return None
