"""One shard through the package ``profiles``: judge, log, seasonal mean, profile vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa

from meterdp.core.log_scale import LogScale
from meterdp.core.stamps import utc_column
from meterdp.profiles.grid import Shard
from meterdp.profiles.quality import QualityRules, judge
from meterdp.profiles.seasonal import Season, seasonal_part
from meterdp.profiles.vector import VectorRules, profile_vectors


@dataclass(frozen=True)
class ShardTables:
    """Rows of the tables ``quality``, ``log_load`` (of kept households), ``profiles`` and ``read_months`` for one
    shard.
    """

    quality: pd.DataFrame
    log_load: Mapping
    profiles: Mapping
    read_months: Mapping


def process_shard(
    shard: Shard, quality: Mapping, profiles: Mapping, train_days: int, horizon_steps: int
) -> ShardTables:
    """Judge the readings of a shard and derive what later stages use, by these sections of the configuration.

    ``train_days`` is the length of the first training window. A rolling season is known ``horizon_steps`` slots
    ahead.
    """
    rules = VectorRules.from_config(profiles)
    minutes = shard.calendar.interval_minutes
    scale = LogScale.of_interval(profiles, minutes)
    judged, usable = judge(shard, QualityRules.from_config(quality), scale.least_negative_kwh)
    kept = judged["kept"].to_numpy()
    vectors, valid = profile_vectors(usable, kept, shard.calendar, rules)
    logged = scale.clipped_log(usable[kept])
    train = shard.calendar.window(train_days)
    season = seasonal_part(logged, shard.calendar, Season.from_config(profiles, train, horizon_steps, minutes))
    return ShardTables(
        judged,
        _load_rows(shard.household[kept], shard.calendar.start_utc, logged) | {"seasonal_log_kwh": season.ravel()},
        {"household": shard.household, "valid": valid, "log_kwh": pa.array(list(vectors), pa.list_(pa.float64()))},
        _read_months(shard),
    )


def _read_months(shard: Shard) -> dict:
    of_slot = shard.calendar.local_day.astype("datetime64[D]").astype("datetime64[M]")
    months, month = np.unique(of_slot, return_inverse=True)
    missing = np.bincount(month, weights=np.isnan(shard.energy_kwh).sum(axis=0), minlength=len(months))
    return {
        "month": months.astype(str),
        "expected_readings": len(shard.energy_kwh) * np.bincount(month, minlength=len(months)),
        "missing_readings": missing.astype(np.int64),
    }


def recent_load(shard: Shard, quality: Mapping, profiles: Mapping, first_day: date) -> dict:
    """Return the rows of the table ``recent_load`` for a shard: all its households, from a local day on.

    Readings are judged beside all others of their meter, as for a study. Rules about households are not asked: they
    look at days that a release may not be about, and whether a meter was read on its own days is for it to say.
    """
    calendar = shard.calendar
    scale = LogScale.of_interval(profiles, calendar.interval_minutes)
    _, usable = judge(shard, QualityRules.from_config(quality), scale.least_negative_kwh)
    recent = calendar.local_day >= (first_day - date(1970, 1, 1)).days
    return _load_rows(shard.household, calendar.start_utc[recent], scale.clipped_log(usable[:, recent]))


def _load_rows(household: np.ndarray, start_utc: np.ndarray, log_kwh: np.ndarray) -> dict:
    """Return columns of the log load (H, T) of households (H,), a row for every slot that starts at (T,)."""
    return {
        "household": np.repeat(household, len(start_utc)),
        "interval_start_utc": utc_column(np.tile(start_utc, len(household))),
        "log_kwh": pa.array(log_kwh.ravel(), from_pandas=True),
    }
