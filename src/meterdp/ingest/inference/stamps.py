"""Whether stamps are starts or ends of intervals, by the first and the last of them and the name of their column."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from meterdp.core.stamps import DAY_US, MINUTE_US
from meterdp.ingest.batch import NO_STAMP, Batch
from meterdp.ingest.clock import clock_changes


@dataclass(frozen=True)
class StampEvidence:
    stamp: str  # start or end
    sure: bool
    sentence: str


def first_and_last_us(batches: Iterable[Batch]) -> np.ndarray | None:
    """Return the first and the last stamp, (2,) int64; None if none can be used."""
    stamps = np.concatenate(
        [np.zeros(0, np.int64), *(batch.stamp_us[batch.stamp_us != NO_STAMP] for batch in batches)]
    )
    return np.array([stamps.min(), stamps.max()]) if len(stamps) else None


def stamp_evidence(
    batches: list[Batch], interval_minutes: int, column: str, *, of_stamps: str, of_homes: str
) -> StampEvidence | None:
    """Tell starts from ends by the clock of the homes; None where nothing does.

    ``of_stamps`` is the zone of stamps that carry no offset.
    """
    edges = first_and_last_us(batches)
    if edges is None:
        return None
    is_utc = all(np.all(batch.stamps_are_utc) for batch in batches)
    if not is_utc and of_stamps != of_homes:
        edges, is_utc = edges - _offsets(edges, of_stamps), True
    return _evidence(edges + _offsets(edges, of_homes) if is_utc else edges, interval_minutes, column)


def evidence_against(
    stamp: str, batches: list[Batch], interval_minutes: int, column: str, *, of_stamps: str, of_homes: str
) -> StampEvidence | None:
    """Return what speaks against taking stamps for starts or ends; None if nothing does.

    An export may begin and end with a day by the clock of its stamps or of the homes.
    """
    found = [
        stamp_evidence(batches, interval_minutes, column, of_stamps=of_stamps, of_homes=zone)
        for zone in (of_stamps, of_homes)
    ]
    known = [one for one in found if one is not None]
    return known[0] if known and all(one.stamp != stamp for one in known) else None


def _offsets(utc_us: np.ndarray, time_zone: str) -> np.ndarray:
    changes = clock_changes(time_zone)
    return np.array([changes.offset_at(int(at)) for at in utc_us])


def _evidence(edges_us: np.ndarray, interval_minutes: int, column: str) -> StampEvidence | None:
    first, last = edges_us % DAY_US
    named = re.search("start|begin|from", column, re.IGNORECASE)
    if first == interval_minutes * MINUTE_US and last == 0 and not named:
        return StampEvidence("end", True, "days run from the end of the first interval to midnight: stamps are ends")
    if last == 0 and first != 0 and not named:
        return StampEvidence("end", False, "the last stamp is midnight, so stamps are probably ends of intervals")
    if first == 0 and last != 0:
        return StampEvidence("start", True, "days begin at midnight: stamps are starts")
    if named:
        return StampEvidence("start", True, "the column of stamps is named after the starts of intervals")
    return None
