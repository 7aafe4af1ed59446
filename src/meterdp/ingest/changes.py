"""What a new reading of an export changed: per month, how many meters are new, gone, revised or as they were.

Only digests of a meter's month are kept from the last reading, not its readings.
"""

from __future__ import annotations

import hashlib
from array import array
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq


class MeterMonths:
    """Digests of all months of all households, collected band by band.

    Parameters
    ----------
    starts_us : (T,) int64
        UTC starts of the slots, microseconds since 1970.
    """

    def __init__(self, starts_us: np.ndarray):
        month = starts_us.astype("datetime64[us]").astype("datetime64[M]")
        self._months, self._first = np.unique(month, return_index=True)
        # Where in its month a slot lies does not depend on where the grid begins.
        self._minute = (starts_us - month.astype("datetime64[us]").astype(np.int64)) // 60_000_000
        self._columns = {name: array("q") for name in ("household", "month", "reading_count", "digest")}

    def add(self, first_household: int, energy_kwh: np.ndarray) -> None:
        """Add (H, T) readings of consecutive households, NaN where there is none."""
        edges = [*self._first.tolist(), energy_kwh.shape[1]]
        for household, row in enumerate(energy_kwh, start=first_household):
            for month, (begin, end) in enumerate(pairwise(edges)):
                given = np.flatnonzero(~np.isnan(row[begin:end])) + begin
                if not len(given):
                    continue
                digest = hashlib.blake2b(self._minute[given].tobytes(), digest_size=8)
                digest.update(row[given].tobytes())
                number = int.from_bytes(digest.digest(), "little", signed=True)
                for column, value in zip(self._columns.values(), (household, month, len(given), number), strict=True):
                    column.append(value)

    def table(self, meter_ids: list[str]) -> pd.DataFrame:
        """Return rows of the table ``meter_months``; household h has the id ``meter_ids[h]``."""
        columns = {name: np.array(column, np.int64) for name, column in self._columns.items()}
        meter, month = np.array(meter_ids, object), self._months.astype(str).astype(object)
        columns = {
            "meter_id": meter[columns.pop("household")],
            "month": month[columns.pop("month")],
            **columns,
        }
        return pd.DataFrame(columns)


def compared(now: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return rows of the table ``ingest_changes``: ``now`` against the table ``meter_months`` at ``path``, if any."""
    before = now.iloc[:0]
    if path.is_file():
        before = pq.read_table(path, partitioning=None).to_pandas()
    both = now.merge(before, on=["meter_id", "month"], how="outer", suffixes=("", "_before"), indicator="side")
    in_both, same = both["side"] == "both", both["digest"] == both["digest_before"]
    counted = pd.DataFrame(
        {
            "month": both["month"],
            "same_meters": in_both & same,
            "revised_meters": in_both & ~same,
            "new_meters": both["side"] == "left_only",
            "gone_meters": both["side"] == "right_only",
            "reading_count": both["reading_count"].fillna(0),
            "reading_count_before": both["reading_count_before"].fillna(0),
        }
    )
    return counted.groupby("month", as_index=False).sum().astype(dict.fromkeys(counted.columns[1:], "int64"))
