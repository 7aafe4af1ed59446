"""Tables of the group forecast that are for the release alone."""

from __future__ import annotations

import pyarrow as pa

from meterdp.core.tables import INT, REAL, VECTOR, Column, Table

GROUP_RECORDS = Table(
    "group_records",
    "private",
    "What the group forecast is made of: a row per household with usable readings in the public window.",
    (
        Column("household", INT, "1", "dense index of the household"),
        Column("level_kwh", REAL, "kWh", "mean energy of an hour"),
        Column("ratio", VECTOR, "1", "energy of each hour of working days, then of weekends, over the level"),
        Column("bin_readings", pa.list_(INT), "readings", "of every hour of the day, by bin of the log of the ratio"),
    ),
    file_name="release/group_records/part-*.parquet",
)
