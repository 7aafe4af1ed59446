"""What speaks against the settings of an export, from its first readings; ``meterdp check`` says it."""

from __future__ import annotations

from meterdp.errors import InputError
from meterdp.exports.guess.remarks import remarks
from meterdp.exports.guess.trial import MOST_READINGS, begin_strictly, first_batches, first_refusal, try_out
from meterdp.exports.roster import read_roster
from meterdp.exports.settings import ExportSettings


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
        From :func:`~meterdp.exports.guess.remarks.remarks`.

    Raises
    ------
    InputError
        If the file cannot be opened or its header cannot be read, as by any study.
    """
    settings = ExportSettings.from_config(export)
    roster = None if export["meters"] is None else read_roster(export["meters"])
    if roster is not None:
        trial = try_out(path, settings, *first_batches(path, settings, most_readings), roster)
        return trial.doubts(path), remarks(trial, export["time_zone"])
    try:
        begin_strictly(path, settings)  # the header, before all rows are read
        trial = try_out(path, settings, *first_batches(path, settings, most_readings))
    except InputError as error:
        return [error], []
    return trial.doubts(path) or first_refusal(path, trial), remarks(trial, export["time_zone"])
