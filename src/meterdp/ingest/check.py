"""What speaks against the settings of an export, from its first readings; ``meterdp check`` says it."""

from __future__ import annotations

from meterdp.errors import InputError
from meterdp.ingest.guess.remarks import remarks
from meterdp.ingest.guess.trial import MOST_READINGS, begin_strictly, first_batches, first_refusal, try_out
from meterdp.ingest.meter_list import read_meter_list
from meterdp.ingest.settings import ExportSettings


def against(path, export: dict, most_readings: int = MOST_READINGS) -> list[InputError]:
    """Return what speaks against settings of an export; see :func:`looked_at`."""
    return looked_at(path, export, most_readings)[0]


def looked_at(path, export: dict, most_readings: int = MOST_READINGS) -> tuple[list[InputError], list[str]]:
    """Return what speaks against settings of an export, from its first readings, and what else is odd about them.

    Parameters
    ----------
    path : path-like
    export : mapping
        The section ``export`` of a complete configuration.
    most_readings : int
        No more are looked at.

    Returns
    -------
    against : list of InputError
        With a public list of meters none of them may end a run.
    odd : list of str
        From :func:`~meterdp.ingest.guess.remarks.remarks`.

    Raises
    ------
    InputError
        If the file cannot be opened or its header cannot be read, as by any study.
    """
    settings = ExportSettings.from_config(export)
    meter_list = None if export["meters"] is None else read_meter_list(export["meters"])
    if meter_list is not None:
        trial = try_out(path, settings, *first_batches(path, settings, most_readings), meter_list)
        return trial.doubts(path), remarks(trial, export["time_zone"])
    try:
        begin_strictly(path, settings)  # the header, before all rows are read
        trial = try_out(path, settings, *first_batches(path, settings, most_readings))
    except InputError as error:
        return [error], []
    return trial.doubts(path) or first_refusal(path, trial), remarks(trial, export["time_zone"])
