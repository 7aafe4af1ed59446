"""Tables of the ``release`` room: synthetic profiles. The release gate and its ledger will declare theirs here."""

from __future__ import annotations

from dataclasses import replace

from meterdp.core.tables import Table
from meterdp.profiles.tables import PROFILES

_MEANING = {
    "household": "synthetic household 1..n; it stands for nobody",
    "valid": "true: every synthetic household has a profile",
    "log_kwh": "log energy per hour, clipped to the public bounds, in order of the hours",
}

# The columns of PROFILES, so that whatever reads profiles reads these.
SYNTHETIC_PROFILES = Table(
    "synthetic_profiles",
    "study",
    "Profile vectors sampled from one mechanism's mixture, as many as there are valid real ones.",
    tuple(replace(column, description=_MEANING[column.name]) for column in PROFILES.columns),
)
