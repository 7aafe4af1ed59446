"""Sums over registers and parts of intervals against a slow reading of the same words, on random messes of parts."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.sums import Parts, sums

MINUTE_US = 60_000_000


def slow(rows, needed, interval_us: int, anchor_us: int):
    """Rows of (register, start, length, kwh, place): the same rules, one row at a time."""
    became, last = Counter(), {}
    for register, start, length, kwh, row in rows:
        if np.isnan(kwh):
            became["value_missing"] += 1
        elif np.isinf(kwh):
            became["value_not_finite"] += 1
        elif length <= 0 or length > interval_us or interval_us % length:
            became["interval_differs"] += 1
        elif (start - anchor_us) % length:
            became["off_grid_stamp"] += 1
        else:
            key = register, start, length
            if key in last:
                became["duplicate_identical" if last[key][0] == kwh else "superseded_by_later_row"] += 1
            last[key] = kwh, row
    runs = defaultdict(list)
    for (register, start, length), (kwh, row) in last.items():
        runs[start - (start - anchor_us) % interval_us, register, length].append((kwh, row))
    whole = defaultdict(list)
    for (start, register, length), found in runs.items():
        if len(found) * length == interval_us:
            whole[start, register].append((max(row for _, row in found), sum(kwh for kwh, _ in found), len(found)))
        else:
            became["sum_incomplete"] += len(found)
    registers = defaultdict(dict)
    for (start, register), candidates in whole.items():
        best = max(candidates)
        became["superseded_by_later_row"] += sum(n for _, _, n in candidates) - best[2]
        registers[start][register] = best
    out = {}
    for start, found in registers.items():
        parts = sum(n for _, _, n in found.values())
        if needed(start) <= set(found):
            out[start] = sum(kwh for _, kwh, _ in found.values())
            became["part_of_sum"] += parts - 1
        else:
            became["sum_incomplete"] += parts
    return out, became


@pytest.mark.parametrize("seed", range(60))
def test_sums_follow_the_rules(seed):
    rng = np.random.default_rng(seed)
    zone, anchor_us = (("UTC", 0), ("Asia/Kolkata", 30 * MINUTE_US))[seed % 2]
    setting = ExportSettings(interval_minutes=60, time_zone=zone)
    n, registers = int(rng.integers(0, 400)), int(rng.integers(1, 4))
    length_us = rng.choice([15, 30, 60, *([7, 20, 120, 0] if seed % 3 == 0 else [])], n) * MINUTE_US
    start_us = rng.integers(0, 24, n) * 15 * MINUTE_US
    start_us += np.where(rng.random(n) < 0.02, 1, 0)
    kwh = rng.integers(-2, 4, n).astype(float)
    kwh[rng.random(n) < 0.05], kwh[rng.random(n) < 0.02] = np.nan, np.inf
    register = rng.integers(0, registers, n)
    # Rows in the order of the file, many of them shared as in a row per day, or a file of one line.
    row = np.sort(rng.integers(0, rng.choice([1, 10, 1000]), n))
    need = rng.random(registers) < 0.5

    def needed(start):
        return set(np.flatnonzero(need)) if start % (120 * MINUTE_US) < 60 * MINUTE_US else set()

    def required(starts_us):
        return np.array([[r in needed(s) for r in range(registers)] for s in starts_us.tolist()], bool).reshape(
            len(starts_us), registers
        )

    at, total, last_row, set_aside = sums(Parts(register, start_us, length_us, kwh, row), required, setting)
    rows = list(zip(register, start_us.tolist(), length_us.tolist(), kwh.tolist(), range(n), strict=True))
    expected, became = slow(rows, needed, 60 * MINUTE_US, anchor_us)
    assert dict(zip(at.tolist(), total.tolist(), strict=True)) == expected
    assert +set_aside == +became
    assert len(at) + sum(set_aside.values()) == n
    assert (np.diff(at) > 0).all() and set(last_row.tolist()) <= set(row.tolist())
