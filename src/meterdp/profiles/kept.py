"""How many households the rules keep, told right after intake, before anything takes long."""

from __future__ import annotations

import pandas as pd

from meterdp.core.errors import InputError

# A study that loses more than this says why.
_WORTH_A_WORD = 0.1
_REMEDIES = {
    "too_few_readings": "`meterdp check` proposes the days that keep most meters (export.first_day, export.last_day)",
    "implausible_readings": "see export.unit and quality.plausible_power_kw",
    "stuck_meter": "see quality.stuck_hours",
}


def kept_in_words(quality: pd.DataFrame) -> str | None:
    """Say that many households are left out and why; None if hardly any are.

    Parameters
    ----------
    quality : DataFrame
        Columns of the table ``quality``.

    Returns
    -------
    str or None
        In tens of per cent, because the number of households that are kept is private.
    """
    kept = quality["kept"].mean() if len(quality) else 1.0
    if kept >= 1 - _WORTH_A_WORD:
        return None
    reason = quality.loc[~quality["kept"], "reason"].mode().iloc[0]
    words = reason.replace("_", " ")
    remedy = _REMEDIES.get(reason, "see the section quality of the configuration")
    share = f"about {round(kept, 1):.0%}" if kept > 0.05 else "hardly any"
    return f"quality: {share} of the households are kept; most of the others: {words}; {remedy}"


def refuse_nobody(quality: pd.DataFrame) -> None:
    """Refuse a study without a single household.

    Raises
    ------
    InputError
        If no household is kept; with the commonest reason and what helps.
    """
    if not quality["kept"].any():
        words = kept_in_words(quality) or "quality: there is no household"
        _, _, why = words.partition("; ")
        problem, _, remedy = why.rpartition("; ")
        raise InputError(
            f"leaves no household to study; {problem}", field="quality", remedy=remedy or "export readings of homes"
        )
