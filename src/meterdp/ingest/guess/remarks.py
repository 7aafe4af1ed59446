"""What is odd about the first readings but no reason to refuse them: other intervals, rows that contradict others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meterdp.ingest.batch import NO_CODE
from meterdp.ingest.clock import LAST_MARK, Clock
from meterdp.ingest.dense import CONFLICTING_ROWS, SUPERSEDED_BY_LATER_ROW
from meterdp.ingest.guess.trial import Trial
from meterdp.ingest.guess.zone import CLOCKS, local_changes

_FEWEST_GAPS = 20
_NEAR_HOURS = 3
# Of the rows that contradict another: so many near a change of clocks, and the rest is a correction now and then.
_NEARLY_ALL = 0.9
_MOST_DAYS = 4
_HOUR_US = 3_600_000_000


def remarks(trial: Trial, time_zone: str | None) -> list[str]:
    """Return what somebody who knows the export should look at, as sentences.

    Parameters
    ----------
    trial : Trial
    time_zone : str, optional
        Of the homes.
    """
    return [*_other_intervals(trial), *_hours_that_contradict(trial, time_zone)]


def _other_intervals(trial: Trial) -> Iterator[str]:
    usual = np.array([_usual_gap(row) for row in trial.energy_kwh])
    judged = usual[usual > 0]
    minutes, own = trial.settings.interval_minutes, int((judged == 1).sum())
    lengths, counts = np.unique(judged[judged > 1], return_counts=True)
    if not own or not len(lengths):  # all alike is a matter of the settings
        return
    others = ", ".join(f"{n:,} every {gap * minutes:,}" for gap, n in zip(lengths, counts, strict=True))
    yield (
        f"of {len(judged):,} meters, {own:,} have a reading every {minutes} minutes and {others}: a study leaves the "
        "others out, as most of their readings are missing; export them apart, or all at the longest interval"
    )


def _usual_gap(row: np.ndarray) -> int:
    """Return how many intervals the readings of a meter are nearly always apart, 0 where they do not tell."""
    gaps = np.diff(np.flatnonzero(~np.isnan(row)))
    if len(gaps) < _FEWEST_GAPS:
        return 0
    values, counts = np.unique(gaps, return_counts=True)
    return int(values[counts.argmax()]) if counts.max() >= _NEARLY_ALL * len(gaps) else 0


def _hours_that_contradict(trial: Trial, time_zone: str | None) -> Iterator[str]:
    if not trial.counts[[SUPERSEDED_BY_LATER_ROW, CONFLICTING_ROWS]].any():
        return
    hour = _contradicting_hours(trial)
    for zone in dict.fromkeys(zone for zone in (time_zone, trial.settings.time_zone, *CLOCKS) if zone):
        changes = local_changes(zone, hour)
        if not len(changes):
            continue
        near = (np.abs(hour[:, None] - changes) <= _NEAR_HOURS).any(axis=1)
        if near.mean() < _NEARLY_ALL:
            continue
        days = np.unique(hour[near].astype("datetime64[h]").astype("datetime64[D]")).astype(str)
        of_day = hour[near] % 24
        more = f" and {len(days) - _MOST_DAYS} more days" if len(days) > _MOST_DAYS else ""
        yield (
            f"{'all' if near.all() else 'nearly all'} of {len(hour):,} rows that contradict another row of the same "
            f"meter and interval lie between {of_day.min():02d}:00 and {of_day.max() + 1:02d}:00 on "
            f"{', '.join(days[:_MOST_DAYS])}{more}, when clocks of {zone} change: the export may have moved stamps "
            "there (export.stamp_time_zone, export.conflicting_rows)"
        )
        return


def _contradicting_hours(trial: Trial) -> np.ndarray:
    """Return the hour (since 1970, by the stamps) of every row with another reading than the row before it."""
    clock, index = Clock(trial.settings, descending=trial.survey.runs_backwards), {}
    parts = []
    for batch in trial.batches:
        number = np.array([index.setdefault(name, len(index)) for name in batch.meter_ids] + [NO_CODE])
        meter = number[batch.meter]
        starts = clock.interval_starts(meter, batch)
        good = (meter >= 0) & (starts > LAST_MARK) & np.isfinite(batch.energy)
        parts.append([values[good] for values in (meter, starts, batch.energy, batch.stamp_us // _HOUR_US)])
    meter, starts, energy, hour = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((starts, meter))
    same = (np.diff(meter[order]) == 0) & (np.diff(starts[order]) == 0)
    return hour[order][1:][same & (np.diff(energy[order]) != 0)]
