"""All a reader yields, in one piece, for tests that look at a reader alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from meterdp.ingest.settings import ExportSettings


@dataclass(frozen=True)
class All:
    """``kwh`` by meter and UTC start in microseconds, and readings by what became of them."""

    kwh: dict[tuple[str, int], float]
    meters: set[str]
    became: Counter


def read_all(reader, path, settings: ExportSettings, **options) -> All:
    """Read a file to its end."""
    kwh, meters, became = {}, set(), Counter()
    for batch in reader.batches(path, settings, **options):
        meters |= set(batch.meter_ids)
        became.update({reason: n for reason, n in batch.set_aside.items() if n})
        for meter, stamp, value in zip(batch.meter, batch.stamp_us.tolist(), batch.energy.tolist(), strict=True):
            assert (batch.meter_ids[meter], stamp) not in kwh
            kwh[batch.meter_ids[meter], stamp] = value
        if len(batch.energy):
            became["used"] += len(batch.energy)
    return All(kwh, meters, became)


def edited(data: bytes, edits) -> bytes:
    """Return bytes with pieces replaced at relative places."""
    for place, length, piece in edits:
        at = int(place * len(data))
        data = data[:at] + piece + data[at + length :]
    return data
