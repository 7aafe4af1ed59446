"""Refuse a study that the quality rules leave without a household, right after intake."""

from __future__ import annotations

import pandas as pd

from meterdp.errors import InputError

_REMEDIES = {
    "too_few_readings": "`meterdp check` proposes the days that keep most meters (export.first_day, export.last_day)",
    "implausible_readings": "see export.unit and quality.plausible_power_kw",
    "stuck_meter": "see quality.stuck_hours",
}


def refuse_nobody(quality: pd.DataFrame) -> None:
    """Refuse a study without a single household.

    Parameters
    ----------
    quality : DataFrame
        Columns of the table ``quality``.

    Raises
    ------
    InputError
        If no household is kept; with the commonest reason and what helps.
    """
    if quality["kept"].any():
        return
    # No log says how many are kept, not even roughly: tables and report do.
    problem, hint = "there is none", "export readings of homes"
    if len(quality):
        reason = quality["reason"].mode().iloc[0]
        problem = f"most of them: {reason.replace('_', ' ')}"
        hint = _REMEDIES.get(reason, "see the section quality of the configuration")
    raise InputError(f"leaves no household to study; {problem}", field="quality", hint=hint)
