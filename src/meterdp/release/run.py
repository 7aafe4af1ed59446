"""The steps of a release, as the workflow runs them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from meterdp.release.service import ReleaseService


def run(module: ModuleType, files: Mapping, config: Mapping, simulated: bool, folder) -> list[str] | None:
    """Release what a module of :mod:`meterdp.release.asked` makes, and publish it as ``folder``.

    Parameters
    ----------
    module : module
    files : mapping of str to path(s)
        ``records``, ``known`` (table ``meters``) and ``meters`` (the public list).
    config : mapping
        The whole configuration.
    simulated : bool
    folder : path-like

    Returns
    -------
    list of str, or None
        Names of households' files in the order of the records, private; None where households have none.

    Raises
    ------
    InputError
        If policy or ledger refuses, or the files cannot be written.
    """
    service = ReleaseService(config, Path(files["meters"]).read_bytes(), simulated)
    mechanisms = module.mechanisms(service.listed, service)
    records = module.records(files, config, service.listed)
    _, release_ids = service.release(mechanisms, records, folder)
    return release_ids
