"""One shard through the package ``profiles``: judge, log, seasonal mean, profile vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    """Rows of the tables ``quality``, ``log_load`` (of kept households) and ``profiles`` for one shard."""

    quality: pd.DataFrame
    log_load: Mapping
    profiles: Mapping


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
        {
            "household": np.repeat(shard.household[kept], shard.calendar.slot_count),
            "interval_start_utc": utc_column(np.tile(shard.calendar.start_utc, kept.sum())),
            "log_kwh": _with_nulls(logged),
            "seasonal_log_kwh": season.ravel(),
        },
        {"household": shard.household, "valid": valid, "log_kwh": pa.array(list(vectors), pa.list_(pa.float64()))},
    )


def _with_nulls(values: np.ndarray) -> pa.Array:
    return pa.array(values.ravel(), from_pandas=True)
