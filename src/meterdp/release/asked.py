"""What a configuration asks to release: known from settings and the public list of meters, before a reading is read.

So whatever policy and ledger refuse is said before anything runs, as is what will be charged, and what it is worth.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from types import ModuleType

from meterdp.errors import InputError
from meterdp.ingest.meter_list import MeterList, read_meter_list
from meterdp.privacy.policy import FEWEST_HOUSEHOLDS, refusals_of_list
from meterdp.publish.kinds import KINDS, MANIFEST
from meterdp.release import feeders, forecasts, households, mixture
from meterdp.release.plan import Plan
from meterdp.release.service import Releasable, ReleaseService

# Each has
# - mechanisms(listed, service): what is charged and drawn together, from settings and the public list alone;
# - records(files, config, listed): what the mechanisms take, from tables of the study;
# - plan(config, meters, feeders, listed): what a release is expected to be worth, of so many meters and feeders and
#   of the list if there is one; None where public numbers do not tell.
MODULES: Mapping[str, ModuleType] = {
    "mixture": mixture,
    "households": households,
    "forecasts": forecasts,
    "feeders": feeders,
}


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
            if error.field == "epsilon":  # as mechanisms call it, which know no configuration
                setting = f"release.{KINDS[what].epsilon}"
                error = InputError(error.problem, hint=error.hint, file="config", field=setting)
            refused.setdefault(str(error), error)
    return found, list(refused.values())


def run(module: ModuleType, files: Mapping, config: Mapping, simulated: bool, folder) -> list[str] | None:
    """Release what one of the modules makes, and publish it as ``folder``.

    Of the files, ``records`` and ``known`` (table ``meters``) are the study's, ``meters`` is the public list. Returns
    what :meth:`ReleaseService.release` does of households' files.
    """
    service = ReleaseService(
        config, Path(files["meters"]).read_bytes(), simulated, lambda service: chain.from_iterable(asked(service)[0])
    )
    mechanisms = module.mechanisms(service.listed, service)
    records = module.records(files, config, service.listed)
    files, release_ids = service.release(mechanisms, records, folder)
    stated = json.loads(files[MANIFEST]).get("expected_error", {})
    planned = [words for one in mechanisms if one.plan is not None for words in one.plan.first]
    unplanned = [words for words in stated.get("first", []) if words not in planned]
    for words in [*filter(None, [stated.get("contradicted")]), *unplanned]:
        print(f"{Path(folder).name}: {words}.", file=sys.stderr)
    return release_ids


def plans(config: Mapping, meters: int, feeders: int, listed: MeterList | None = None) -> list[Plan]:
    """Return what the releases of a configuration are expected to be worth for so many listed meters on feeders.

    None of a list that is too short for any.
    """
    if meters < FEWEST_HOUSEHOLDS:
        return []
    planned = (MODULES[what].plan(config, meters, feeders, listed) for what in config["release"]["what"])
    return [plan for plan in planned if plan is not None]


def plans_of_list(config: Mapping, simulated: bool) -> list[Plan]:
    """Return the plans of the public list of meters; none if there is none that can be read."""
    try:
        size = size_of_list(config, simulated)
        return [] if size is None else plans(config, *size)
    except InputError:
        return []


def size_of_list(config: Mapping, simulated: bool) -> tuple[int, int, MeterList | None] | None:
    """Return what :func:`counted` does of the public list of meters, None if there is none; raises InputError if it
    cannot be read.
    """
    if simulated:
        return config["simulate"]["households"], config["simulate"]["circuits"], None
    path = config["export"]["meters"]
    return None if path is None else counted(read_meter_list(path))


def counted(listed: MeterList) -> tuple[int, int, MeterList]:
    """Return the number of meters of a list, of their feeders or circuits, one if it names none, and the list."""
    feeders = set(listed.feeder_of.values()) or set(listed.circuit_of.values())
    return len(listed.circuit_of), len(feeders), listed
