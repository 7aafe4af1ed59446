"""Public rules that decide which readings and which households a study uses.

Every rule looks at one household and at constants of the configuration, so that an unusual household changes
nothing for another, given the period: without a public export.first_day and export.last_day the grid, and with it
every share of missing readings, follows the stamps of all meters. Nothing is repaired: a reading that breaks a rule
counts as missing, a household that breaks one is left out, and both are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from meterdp.profiles.grid import Shard

HOUSEHOLD_RULES = {
    "implausible_readings": "left out: too many readings outside the plausible power range (unit or meter fault)",
    "stuck_meter": "left out: too many readings in long runs of one value (stuck meter)",
    "too_few_readings": "left out: too many readings missing",
    "all_zero": "left out: every reading is zero",
    "mostly_zero": "left out: nearly every reading is zero (vacant)",
    "kept": "kept",
}
READING_RULES = {
    "missing_readings": "slots without a usable row in the export",
    "implausible_readings": "readings outside the plausible power range, taken as missing",
    "stuck_readings": "readings in a long run of one non-zero value, taken as missing",
    "zero_readings": "readings of exactly zero, kept",
    "negative_readings": "readings below zero (feed-in), kept and clipped before the log",
}


@dataclass(frozen=True)
class QualityRules:
    """Thresholds from the configuration; see config/README.md, section quality."""

    plausible_power_kw: tuple[float, float]
    max_implausible_share: float
    stuck_hours: float
    max_missing_share: float
    max_zero_share: float

    @classmethod
    def from_config(cls, config: Mapping) -> QualityRules:
        """Take the section ``quality`` of the configuration."""
        return cls(**{**config, "plausible_power_kw": tuple(config["plausible_power_kw"])})


def in_long_runs(values: np.ndarray, min_length: int) -> np.ndarray:
    """Mark entries of runs of one finite non-zero value longer than ``min_length``.

    Parameters
    ----------
    values : (H, T) float64
    min_length : int

    Returns
    -------
    (H, T) bool
    """
    out = np.zeros(values.shape, dtype=bool)
    for row, marks in zip(values, out, strict=True):
        change = np.flatnonzero(np.r_[True, row[1:] != row[:-1], True])  # NaN differs from NaN: runs of one
        length = np.diff(change)
        long = (length > min_length) & (row[change[:-1]] != 0) & np.isfinite(row[change[:-1]])
        for begin, count in zip(change[:-1][long], length[long], strict=True):
            marks[begin : begin + count] = True
    return out


def judge(shard: Shard, rules: QualityRules) -> tuple[pd.DataFrame, np.ndarray]:
    """Apply the rules to a shard.

    Parameters
    ----------
    shard : Shard
        Readings (H, T).
    rules : QualityRules

    Returns
    -------
    quality : DataFrame
        Rows of the table ``quality``, one per household.
    usable_kwh : (H, T) float64
        Readings with implausible and stuck ones set to NaN.
    """
    energy = shard.energy_kwh
    hours = shard.calendar.interval_minutes / 60
    with np.errstate(invalid="ignore"):
        low, high = (power * hours for power in rules.plausible_power_kw)
        missing = np.isnan(energy)
        implausible = (energy < low) | (energy > high)
        negative = (energy < 0) & ~implausible
    stuck = in_long_runs(energy, int(rules.stuck_hours / hours)) & ~implausible
    usable = np.where(implausible | stuck, np.nan, energy)
    slots = max(energy.shape[1], 1)
    zero = (usable == 0).sum(axis=1)
    present = np.maximum(np.isfinite(usable).sum(axis=1), 1)
    unusable_share = np.isnan(usable).sum(axis=1) / slots
    broken = {
        "implausible_readings": implausible.sum(axis=1) / slots > rules.max_implausible_share,
        "stuck_meter": (unusable_share > rules.max_missing_share) & (stuck.sum(axis=1) > missing.sum(axis=1)),
        "too_few_readings": unusable_share > rules.max_missing_share,
        "all_zero": zero == present,
        "mostly_zero": zero / present > rules.max_zero_share,
    }
    reason = np.select(list(broken.values()), list(broken), default="kept")
    quality = pd.DataFrame(
        {
            "household": shard.household,
            "expected_readings": np.full(len(energy), energy.shape[1], dtype=np.int64),
            "missing_readings": missing.sum(axis=1),
            "zero_readings": zero,
            "negative_readings": negative.sum(axis=1),
            "implausible_readings": implausible.sum(axis=1),
            "stuck_readings": stuck.sum(axis=1),
            "kept": reason == "kept",
            "reason": reason,
        }
    )
    return quality, usable


def summarise(quality: pd.DataFrame) -> pd.DataFrame:
    """Count households by reason and readings by rule: rows of the table ``quality_summary``."""
    households = quality["reason"].value_counts()
    rows = [("households", r, int(households.get(r, 0)), m) for r, m in HOUSEHOLD_RULES.items()]
    rows.append(("readings", "expected_readings", int(quality["expected_readings"].sum()), "slots of the grid"))
    rows += [("readings", r, int(quality[r].sum()), m) for r, m in READING_RULES.items()]
    return pd.DataFrame(rows, columns=["scope", "reason", "item_count", "meaning"])
