"""Public rules that decide which readings and which households a study uses.

Every rule looks at one household and at constants of the configuration, so that an unusual household changes
nothing for another, given the period: without a public export.first_day and export.last_day the grid, and with it
every share of missing readings, follows the stamps of all meters. A reading that breaks a rule counts as missing
unless its kind is repaired, a household that breaks one is left out, and all are counted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numba
import numpy as np
import pandas as pd

from meterdp.errors import InputError
from meterdp.profiles.constants import QUALITY
from meterdp.profiles.grid import Shard
from meterdp.profiles.lone import catch_ups, coarse_readings, filled, register_resets, spikes, spread_over_gaps
from meterdp.profiles.tables import READ_MONTHS
from meterdp.profiles.unit_slip import unit_slips

HOUSEHOLD_RULES = {
    "coarse_interval": "left out: most readings are of a longer interval than the export's",
    "implausible_readings": "left out: too many readings outside the plausible power range (unit or meter fault)",
    "stuck_meter": "left out: too many readings in long runs of one value (stuck meter)",
    "unit_slip": "left out: too many readings in a unit slip",
    "no_readings": "left out: no reading in the period",
    "too_few_readings": "left out: too many readings missing",
    "all_zero": "left out: every reading is zero",
    "mostly_zero": "left out: nearly every reading is zero (vacant)",
    "kept": "kept",
}
READING_RULES = {
    "missing_readings": "slots without a usable row in the export",
    "coarse_readings": "readings of a longer interval than the export's, taken as missing",
    "unit_slip_readings": "readings in a stretch 10, 100 or 1000 times too large or small, repaired or missing",
    "catch_up_readings": "readings after a gap that hold its energy as well, spread over it or taken as missing",
    "register_reset_readings": "single negative readings of a register set back, taken as missing",
    "spike_readings": "single implausible readings far above all others, taken as missing",
    "implausible_readings": "other readings outside the plausible power range, taken as missing",
    "stuck_readings": "readings in a long run of one value that is not standby, taken as missing",
    "repaired_readings": "slots with a repaired value",
    "zero_readings": "readings of exactly zero, kept",
    "negative_readings": "negative readings below the public bounds, moved to the bound or taken as missing",
}
ROW_RULES = {
    "duplicate_rows": "rows not used because an earlier one of the same meter and interval says the same",
    "conflicting_rows": "rows not used because another of the same meter and interval says otherwise",
}
# Households judged in one go: a rule needs a few copies of their readings.
_AT_ONCE = 64


@dataclass(frozen=True)
class QualityRules:
    """Thresholds from the configuration; see config/README.md, section quality."""

    plausible_power_kw: tuple[float, float]
    max_implausible_share: float
    stuck_hours: float
    max_missing_share: float
    max_zero_share: float
    level_tolerance: float
    unit_slip_hours: float
    unit_slip_power_kw: float
    spike_factor: float
    catch_up_factor: float
    catch_up_hours: float
    coarse_hours: float
    gap_intervals: int
    repair: Collection[str]

    @classmethod
    def from_config(cls, config: Mapping) -> QualityRules:
        """Take the section ``quality`` of the configuration."""
        return cls(**{**QUALITY, **config, "plausible_power_kw": tuple(config["plausible_power_kw"])})

    def repairs(self, kind: str) -> bool:
        """Whether readings of a kind are repaired; they are missing otherwise."""
        return kind in self.repair


@numba.njit(cache=True, nogil=True)
def in_long_runs(values, min_length):
    """Mark entries of runs of one finite non-zero value longer than ``min_length``, (H, T) bool."""
    out = np.zeros(values.shape, np.bool_)
    for i in range(values.shape[0]):
        begin = 0
        for t in range(1, values.shape[1] + 1):
            if t < values.shape[1] and values[i, t] == values[i, begin]:  # NaN differs from NaN: runs of one
                continue
            if t - begin > min_length and values[i, begin] != 0 and np.isfinite(values[i, begin]):
                out[i, begin:t] = True
            begin = t
    return out


# Share of a meter's other readings that may lie below a run of one value that is its standby.
_STANDBY_LEVEL = 0.05


def stuck_readings(usable: np.ndarray, plausible: np.ndarray, min_length: int) -> np.ndarray:
    """Mark plausible entries of long runs of one value, (H, T) bool, but not those of a meter at its lowest.

    What is drawn with everything off, such as by a pump in winter or a holiday home, can be the same for days.
    """
    runs = in_long_runs(usable, min_length) & plausible
    for i in np.flatnonzero(runs.any(axis=1)):
        others = usable[i][plausible[i] & ~runs[i]]
        if others.size:
            runs[i] &= usable[i] > np.quantile(others, _STANDBY_LEVEL, method="lower")
    return runs


def judge(shard: Shard, rules: QualityRules, least_kwh: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    """Apply the rules to a shard: rows of the table ``quality``, and usable readings (H, T) kWh, NaN where missing.

    Readings below ``least_kwh`` are ``negative``: 0, or the public lower bound of an interval where that is below
    zero.
    """
    tables, usable = [], np.empty(shard.energy_kwh.shape)
    for begin in range(0, max(len(usable), 1), _AT_ONCE):
        some = slice(begin, begin + _AT_ONCE)
        quality, usable[some] = _judge_some(
            Shard(shard.household[some], shard.energy_kwh[some], shard.calendar), rules, least_kwh
        )
        tables.append(quality)
    return pd.concat(tables, ignore_index=True), usable


def _judge_some(shard: Shard, rules: QualityRules, least_kwh: float) -> tuple[pd.DataFrame, np.ndarray]:
    """Judge households whose marks and copies of readings fit into memory at once."""
    calendar = shard.calendar
    hours = calendar.interval_minutes / 60
    low, high = (power * hours for power in rules.plausible_power_kw)
    energy = shard.energy_kwh
    missing = np.isnan(energy)
    repaired = np.zeros(energy.shape, dtype=bool)
    found = {"missing": missing, "coarse": coarse_readings(energy, rules.coarse_hours / hours)}
    usable = np.where(found["coarse"], np.nan, energy)

    power = unit_slips(usable, calendar, rules.unit_slip_hours, rules.level_tolerance, rules.unit_slip_power_kw)
    found["unit_slip"] = power != 0
    if rules.repairs("unit_slip"):
        factor = 10.0 ** np.abs(power)
        usable = np.where(power > 0, usable / factor, usable * np.where(power < 0, factor, 1.0))
        repaired |= found["unit_slip"]
    else:
        usable = np.where(found["unit_slip"], np.nan, usable)

    with np.errstate(invalid="ignore"):
        plausible = (usable >= low) & (usable <= high)
    # A reading taken as missing before leaves no gap that a meter could catch up on.
    sent = np.where(missing, np.nan, np.nan_to_num(usable))
    gap_slots = catch_ups(sent, plausible, calendar, rules.catch_up_factor, rules.level_tolerance)
    found["catch_up"] = gap_slots > 0
    others, plausible = np.where(found["catch_up"], np.nan, usable), plausible & ~found["catch_up"]
    found["register_reset"] = register_resets(others, plausible, rules.level_tolerance, calendar.slots_per_day)
    others[found["register_reset"]], plausible = np.nan, plausible & ~found["register_reset"]
    found["spike"] = spikes(others, plausible, rules.spike_factor, calendar.slots_per_day)
    found["implausible"] = np.isfinite(others) & ~plausible & ~found["spike"]
    found["stuck"] = stuck_readings(usable, plausible, int(rules.stuck_hours / hours))
    found["negative"] = plausible & (usable < least_kwh) & ~found["stuck"]

    spread = np.zeros(energy.shape, dtype=bool)
    if rules.repairs("catch_up"):
        usable, spread = spread_over_gaps(usable, gap_slots, int(rules.catch_up_hours / hours))
        repaired |= spread
    gone = found["catch_up"] & ~spread
    for kind in ("register_reset", "spike", "implausible", "stuck"):
        gone |= found[kind]
    if not rules.repairs("negative"):
        gone |= found["negative"]
    usable[gone] = np.nan
    if rules.repairs("gap"):
        usable, fill = filled(usable, calendar, rules.gap_intervals)
        repaired |= fill

    slots = max(energy.shape[1], 1)
    count = {kind: marks.sum(axis=1) for kind, marks in found.items()}
    zero = (usable == 0).sum(axis=1)
    present = np.maximum(np.isfinite(usable).sum(axis=1), 1)
    unusable_share = np.isnan(usable).sum(axis=1) / slots
    too_few = unusable_share > rules.max_missing_share
    broken = {
        "no_readings": missing.all(axis=1),
        "coarse_interval": 2 * count["coarse"] > (~missing).sum(axis=1),
        "implausible_readings": count["implausible"] / slots > rules.max_implausible_share,
        "stuck_meter": too_few & (count["stuck"] > count["missing"]),
        "unit_slip": too_few & (count["unit_slip"] > count["missing"]),
        "too_few_readings": too_few,
        "all_zero": zero == present,
        "mostly_zero": zero / present > rules.max_zero_share,
    }
    reason = np.select(list(broken.values()), list(broken), default="kept")
    quality = pd.DataFrame(
        {
            "household": shard.household,
            "expected_readings": np.full(len(energy), energy.shape[1], dtype=np.int64),
            **{f"{kind}_readings": number for kind, number in count.items()},
            "repaired_readings": (repaired & np.isfinite(usable)).sum(axis=1),
            "zero_readings": zero,
            "kept": reason == "kept",
            "reason": reason,
        }
    )
    return quality, usable


_REMEDIES = {
    "no_readings": "see whether the list of meters and the export call them alike, and export.first_day and last_day",
    "too_few_readings": "`meterdp check` proposes the days that keep most meters (export.first_day, export.last_day)",
    "implausible_readings": "see export.unit and quality.plausible_power_kw",
    "stuck_meter": "see quality.stuck_hours",
}


def refuse_nobody(quality: pd.DataFrame) -> None:
    """Refuse a study without a single household that is kept, with the commonest reason and what helps."""
    if quality["kept"].any():
        return
    # No log says how many are kept, not even roughly: tables and report do.
    problem, hint = "there is none", "export readings of homes"
    if len(quality):
        reason = quality["reason"].mode().iloc[0]
        problem = f"most of them: {reason.replace('_', ' ')}"
        hint = _REMEDIES.get(reason, "see the section quality of the configuration")
    raise InputError(f"leaves no household to study; {problem}", field="quality", hint=hint)


def summarise(quality: pd.DataFrame, meters: pd.DataFrame, read_months: pd.DataFrame) -> pd.DataFrame:
    """Count households by reason, readings by rule and by month, and repeated rows: rows of the table
    ``quality_summary``.
    """
    households = quality["reason"].value_counts()
    rows = [("households", r, int(households.get(r, 0)), m) for r, m in HOUSEHOLD_RULES.items()]
    rows.append(("readings", "expected_readings", int(quality["expected_readings"].sum()), "slots of the grid"))
    rows += [("readings", r, int(quality[r].sum()), m) for r, m in READING_RULES.items()]
    rows += [("rows", r, int(meters[r].sum()), m) for r, m in ROW_RULES.items()]
    of_month = read_months.groupby("month").sum()
    for which in ("expected", "missing"):
        counts, meaning = of_month[f"{which}_readings"], READ_MONTHS.schema.field(f"{which}_readings").metadata
        meant = meaning[b"description"].decode()
        rows += [(f"{which} in a month", month, int(of), meant) for month, of in counts.items()]
    return pd.DataFrame(rows, columns=["scope", "reason", "item_count", "meaning"])
