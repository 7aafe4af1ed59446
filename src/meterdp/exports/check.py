"""What speaks against the settings of an export, from its first readings; ``meterdp check`` says it."""

from __future__ import annotations

from meterdp.core.errors import InputError
from meterdp.exports.guess.trial import MOST_READINGS, begin_strictly, first_batches, first_refusal, try_out
from meterdp.exports.roster import read_roster
from meterdp.exports.settings import ExportSettings


def against(path, export: dict, most_readings: int = MOST_READINGS) -> list[InputError]:
    """Return what speaks against settings of an export, from its first readings.

    Parameters
    ----------
    path : path-like
    export : mapping
        The section ``export`` of a complete configuration.
    most_readings : int
        No more are looked at.

    Returns
    -------
    list of InputError
        With a public list of meters none of them may end a run.

    Raises
    ------
    InputError
        If the file cannot be opened or its header cannot be read, as by any study.
    """
    settings = ExportSettings.from_config(export)
    roster = None if export["meters"] is None else read_roster(export["meters"])
    if roster is not None:
        return try_out(path, settings, *first_batches(path, settings, most_readings), roster).doubts(path)
    try:
        begin_strictly(path, settings)  # the header, before all rows are read
        trial = try_out(path, settings, *first_batches(path, settings, most_readings))
    except InputError as error:
        return [error]
    return trial.doubts(path) or first_refusal(path, trial)
