"""Out-of-core ingestion: from any export to canonical readings, a meter crosswalk and a count of every unused row.

The export is streamed once, and its readings are put into a dense array on a regular UTC grid that widens as meters
and stamps come. If that does not fit into the memory given, the export is streamed a second time, now that meters and
range are known, into several arrays, one after the other; at once, where a public list and period say them. All
tables appear together when everything is written, or none does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from meterdp.core.job import progress
from meterdp.core.parquet import atomic_path, open_table, write_table
from meterdp.core.stamps import DAY_US
from meterdp.errors import InputError
from meterdp.ingest.batch import BATCH_BYTES, NO_CODE, NOT_LISTED, Batch, NameIndex
from meterdp.ingest.clock import LAST_MARK, Clock
from meterdp.ingest.dense import (
    DIFFERING,
    FILE_UNREADABLE,
    FINER_INTERVAL,
    REASONS,
    REPEATED,
    ROW_MALFORMED,
    SHORTEST_US,
    USED,
    run_begins,
    slot_range,
)
from meterdp.ingest.findings import findings, sample_step, step_minutes
from meterdp.ingest.growing import Chunks, Growing, chunk_edges, room_bytes
from meterdp.ingest.kept import MONTHS_OF, KeptReadings, MeterMonths, compared
from meterdp.ingest.members import Member, label, places_of
from meterdp.ingest.meter_list import USABLE, MeterList
from meterdp.ingest.readers.interface import reader
from meterdp.ingest.settings import LONGEST_EXPORT_DAYS, ExportSettings
from meterdp.ingest.tables import INGEST_CHANGES, INGEST_REPORT, METER_MONTHS, METERS, READINGS

MEMORY_BYTES = 2 << 30
_ROWS_PER_WRITE = 1 << 19
# Not how many: a log may not count.
_FEW_METERS = (
    f"export: fewer than {USABLE:.0%} of the listed meters have any reading in these days, so a release would be off "
    "by more than it states. If ids or days are a mistake, stop (Ctrl-C) and correct them: no release is charged yet"
)


def ingest(
    path: str | Path,
    settings: ExportSettings,
    *,
    meter_list: MeterList | None = None,
    readings_paths: Sequence[str | Path],
    meters_path: str | Path,
    report_path: str | Path,
    metadata: Mapping[str, str] | None = None,
    batch_bytes: int = BATCH_BYTES,
    threads: int = 1,
    memory_bytes: int = MEMORY_BYTES,
    changes_path: str | Path | None = None,
    kept_folder: str | Path | None = None,
    months_of: str | None = None,
) -> None:
    """Read an export and write the tables ``readings`` (in shards), ``meters`` and ``ingest_report``.

    Households are numbered in order of meter id; shard s holds the s-th of equally long runs of them, each on the
    same grid of UTC intervals, null where no reading was usable: over the public period of the settings, or without
    one from the first to the last stamp of the export, which any one meter can move. The grid runs through the full
    hours of the local clock at the first stamp. What is written does not depend on the number of shards (except for
    the split) nor on ``batch_bytes``, ``threads`` and ``memory_bytes``.

    With a public list of meters the households are those of the list, a household's readings follow from its own
    rows, the list and the settings, no row of any meter ends the run, and what the export says about circuits does
    not count. Without one it may name no two circuits for a meter and must hold a usable reading.

    ``readings_paths`` has one file per shard. ``metadata`` passes into the files. About ``batch_bytes`` of the export
    are looked at in one go by ``threads`` at once; readings that do not fit into ``memory_bytes`` lie in scratch
    files meanwhile. ``changes_path`` is for the table ``ingest_changes``, of the months of the zone ``months_of``,
    by default that of the stamps; in ``kept_folder`` what is read from each file is kept, and found again the next
    time.

    Raises ``InputError`` if the export cannot be read, spans more than ``LONGEST_EXPORT_DAYS`` or changes meanwhile.
    """
    listed = None if meter_list is None else frozenset(meter_list.circuit_of)
    batches = reader(settings.format, threads, listed=listed)

    def read_file(member: Member | str | Path) -> Iterator[Batch]:
        return batches(member, settings, batch_bytes=batch_bytes)

    kept = None if kept_folder is None else KeptReadings(kept_folder, settings, listed)

    unread: dict[str, None] = {}  # places of files, in their order

    def read() -> Iterator[Batch]:
        for batch in read_file(path) if kept is None else kept.batches(path, read_file):
            if "file_unreadable" in batch.set_aside:
                unread[batch.place] = None
            yield batch

    growing = Growing(settings, room_bytes(memory_bytes))
    survey = survey_export(path, settings, read, meter_list, growing)
    rank, household_of = household_numbers(survey)
    growing.finish(rank, survey.first_slot, survey.slots)
    scratch = Path(readings_paths[0]).parent
    scratch.mkdir(parents=True, exist_ok=True)
    shards = np.array_split(np.arange(len(rank)), len(readings_paths))
    edges = chunk_edges(shards, survey.slots * settings.parts, memory_bytes) if growing.given_up else [0, len(rank)]
    last = len(edges) - 2
    # A shard without households stands behind all of them.
    chunk_of = np.searchsorted(edges[1:-1], [s[0] if len(s) else len(rank) for s in shards], side="right")
    starts_us = survey.anchor_us + (survey.first_slot + np.arange(survey.slots)) * settings.interval_us
    with ExitStack() as stack:
        chunks = growing
        if growing.given_up:
            grid = (survey.anchor_us, survey.first_slot, survey.slots)
            chunks = stack.enter_context(Chunks(settings, *grid, edges, scratch))
            fill(path, settings, read, survey, household_of, chunks)
        parts, meters, report = (
            [stack.enter_context(atomic_path(p)) for p in group]
            for group in (readings_paths, [meters_path], [report_path])
        )
        changes = [] if changes_path is None else [stack.enter_context(atomic_path(changes_path))]
        months = None if kept is None else MeterMonths(starts_us, months_of or settings.time_zone)
        pool = stack.enter_context(ThreadPoolExecutor(threads))

        def write_shards() -> Iterator[None]:
            sample, every, with_readings = [], sample_step(len(rank)), 0
            for number, (first, energy_kwh) in enumerate(chunks.arrays()):
                sample.append(energy_kwh[-first % every :: every].copy())  # a view would keep the whole chunk
                if number == last:
                    _refuse(path, settings, survey, chunks, np.concatenate(sample), read)
                jobs = [
                    pool.submit(_write_readings, part, households, energy_kwh, first, starts_us, metadata)
                    for part, households, chunk in zip(parts, shards, chunk_of, strict=True)
                    if chunk == number
                ]
                if months is not None:
                    months.add(first, energy_kwh)
                with_readings += np.isfinite(energy_kwh).any(axis=1).sum()
                for job in jobs:
                    yield job.result()
            if survey.listed and with_readings < USABLE * len(rank):
                print(_FEW_METERS, file=sys.stderr)

        for _ in progress(write_shards(), "readings, shards written", len(parts)):
            pass
        meter_ids = [survey.meter_ids[m] for m in rank]
        crosswalk = {
            "household": np.arange(len(rank)),
            "meter_id": meter_ids,
            "circuit": [survey.circuit_of.get(m) for m in rank.tolist()],
            "shard": np.repeat(np.arange(len(parts)), [len(s) for s in shards]),
            "duplicate_rows": chunks.row_counts[:, REPEATED],
            "conflicting_rows": chunks.row_counts[:, DIFFERING],
        }
        write_table(meters[0], METERS, crosswalk, metadata)
        write_table(report[0], INGEST_REPORT, _report(chunks.counts, [*unread]), metadata)
        now = None if months is None else months.table(meter_ids)
        for changed in changes:
            rows = INGEST_CHANGES.schema.empty_table()
            if months is not None:
                rows = compared(now, kept.months_path, months.time_zone)
            write_table(changed, INGEST_CHANGES, rows, metadata)
    if kept is not None:
        write_table(kept.months_path, METER_MONTHS, now, {**(metadata or {}), MONTHS_OF: months.time_zone})
        print(kept.outcome.sentence(), file=sys.stderr)
    if chunks.counts[FILE_UNREADABLE]:
        print("export: not every file could be read to its end, see private/ingest_report.parquet", file=sys.stderr)


@dataclass
class Survey:
    """What the first pass finds; meters are numbered in the order in which the export names them."""

    meter_ids: list[str] = field(default_factory=list)
    circuit_of: dict[int, str] = field(default_factory=dict)
    anchor_us: int | None = None
    first_slot: int = np.iinfo(np.int64).max
    last_slot: int = np.iinfo(np.int64).min
    first_slot_at: tuple[str, int] = ("", 0)  # file among several, and row
    last_slot_at: tuple[str, int] = ("", 0)
    runs_backwards: np.ndarray | None = None
    listed: bool = False

    @classmethod
    def of_list(cls, meter_list: MeterList) -> Survey:
        """Return what a public list says: its meters, in its order, and their circuits."""
        meters, circuit_of = list(meter_list.meter_ids), meter_list.circuit_of
        return cls(meters, {i: circuit_of[m] for i, m in enumerate(meters) if circuit_of[m] is not None}, listed=True)

    @property
    def slots(self) -> int:
        return self.last_slot - self.first_slot + 1


def survey_export(
    path,
    settings: ExportSettings,
    read: Callable[[], Iterator[Batch]],
    meter_list: MeterList | None = None,
    growing: Growing | None = None,
) -> Survey:
    """Stream the export once for its meters, circuits and range of stamps, and put its readings into ``growing``.

    Twice if a meter's rows run from new to old and there is no public period: the range may then move by an hour. Not
    at all if a public list and period say everything, and ``growing`` has no room.
    """
    if growing is not None and meter_list is not None and settings.period_us is not None:
        survey = Survey.of_list(meter_list)
        survey.anchor_us, survey.first_slot, survey.last_slot = _period_grid(settings, Clock(settings))
        if not growing.has_room(len(survey.meter_ids), survey.slots):
            growing.give_up()
            return survey
    survey, clock = _survey(path, settings, read, meter_list, growing=growing)
    backwards = clock.runs_backwards
    if clock.repeats and backwards.any():
        if growing is not None:
            growing.give_up()
        if settings.period_us is None:
            survey, _ = _survey(path, settings, read, meter_list, backwards)
        survey.runs_backwards = backwards
    # With list and period, what happens must not depend on what anybody's rows hold.
    if survey.first_slot > survey.last_slot and (meter_list is None or settings.period_us is None):
        raise InputError(
            "has no stamp on the interval grid",
            file=path,
            field=settings.time_column,
            hint="check export.interval_minutes, export.time_format, the time zone and the period"
            + ("" if settings.keep_rows is None else ", and whether there are rows that export.keep_rows keeps"),
        )
    if settings.period_us is not None:
        # A public period makes the grid, and so every household's record, independent of the other households.
        survey.anchor_us, survey.first_slot, survey.last_slot = _period_grid(settings, clock)
    if survey.slots * settings.interval_us > LONGEST_EXPORT_DAYS * DAY_US:
        (one, first), (other, last) = survey.first_slot_at, survey.last_slot_at
        rows = f"rows {first} and {last}" if one == other else f"row {first} of {one} and row {last} of {other}"
        raise InputError(
            f"the stamps of {rows} are more than {LONGEST_EXPORT_DAYS // 366} years apart",
            file=label(path, one if one == other else ""),
            hint="remove rows with a wrong date, or split the export",
        )
    return survey


def _period_grid(settings: ExportSettings, clock: Clock) -> tuple[int, int, int]:
    """Return anchor, first and last slot of the public period."""
    begin, end = settings.period_us
    anchor_us = clock.grid_anchor_us(begin)
    return anchor_us, (begin - anchor_us) // settings.interval_us, (end - anchor_us) // settings.interval_us - 1


def _survey(
    path, settings, read, meter_list: MeterList | None, runs_backwards=None, growing: Growing | None = None
) -> tuple[Survey, Clock]:
    survey = Survey() if meter_list is None else Survey.of_list(meter_list)
    clock, index = Clock(settings, descending=runs_backwards), {m: i for i, m in enumerate(survey.meter_ids)}
    number = NameIndex(index, grow=meter_list is None)
    for batch in progress(read(), "export, meters and stamps, batches read"):
        meter = number(batch.meter_ids, batch.meter)
        starts_us = clock.interval_starts(meter, batch)
        if batch.circuit is not None and meter_list is None:
            _note_circuits(path, settings, survey, batch, meter)
        if survey.anchor_us is None:
            usable = starts_us[(starts_us > LAST_MARK) & (meter >= 0)]
            if usable.size:
                survey.anchor_us = clock.grid_anchor_us(usable[0])
            elif growing is not None and settings.period_us is None:
                growing.give_up()  # rows that come before there is a grid
        found = None
        if survey.anchor_us is not None:
            found = slot_range(starts_us, meter, survey.anchor_us, settings.step_us, settings.interval_us)
            first, last, first_at, last_at = found
            if first < survey.first_slot:
                survey.first_slot, survey.first_slot_at = first, (batch.place, batch.row_of(first_at))
            if last > survey.last_slot:
                survey.last_slot, survey.last_slot_at = last, (batch.place, batch.row_of(last_at))
        if growing is not None and not growing.given_up:
            if settings.period_us is None:
                grid = survey.anchor_us, *_with_parts(settings, starts_us, meter, survey.anchor_us)
            else:
                grid = _period_grid(settings, clock)
            growing.put(starts_us, meter, batch.energy, batch.marks, *grid, meters=len(index))
            growing.counts += left_out_of(batch)
    survey.meter_ids = list(index)
    return survey, clock


def _with_parts(settings: ExportSettings, starts_us, meter, anchor_us: int) -> tuple[int, int]:
    """Return the first and last slot that rows are of, also those between stamps of the grid."""
    step_us = min(settings.step_us, SHORTEST_US)
    first, last, _, _ = slot_range(starts_us, meter, anchor_us, step_us, settings.interval_us)
    return first, last + settings.stamps_are_ends


def _note_circuits(path, settings: ExportSettings, survey: Survey, batch: Batch, meter: np.ndarray) -> None:
    """Keep the circuit of every meter and refuse a meter on two."""
    # Most rows say what the one before said.
    begins = run_begins(meter, batch.circuit)
    pairs = meter[begins] * len(batch.circuits) + batch.circuit[begins]
    for at in begins[np.sort(np.unique(pairs, return_index=True)[1])]:
        circuit = batch.circuits[batch.circuit[at]]
        if survey.circuit_of.setdefault(int(meter[at]), circuit) != circuit:
            raise InputError(
                "names a different circuit from an earlier row of the same meter",
                file=label(path, batch.place),
                row=batch.row_of(at),
                field=settings.circuit_column,
                hint="give each meter one circuit, or leave out export.circuit_column",
            )


def household_numbers(survey: Survey) -> tuple[np.ndarray, np.ndarray]:
    """Return the meters in order of their ids, (H,), and the household of every meter, (H + 2,).

    The last two entries are for ``NOT_LISTED`` and ``NO_CODE``, which stay what they are.
    """
    rank = np.argsort(np.array(survey.meter_ids, dtype=object), kind="stable")
    household_of = np.empty(len(rank) + 2, np.int64)
    household_of[rank] = np.arange(len(rank))
    household_of[[NO_CODE, NOT_LISTED]] = NO_CODE, NOT_LISTED
    return rank, household_of


def _refuse(path, settings: ExportSettings, survey: Survey, chunks: Chunks, sample: np.ndarray, read) -> None:
    """Refuse an export that changed, and without a list of meters one that the settings do not describe."""
    refuse_unusable(path, settings, survey, chunks)
    if survey.listed:
        return
    for finding in findings(path, settings, chunks.counts, sample, lambda: step_minutes(settings, [next(read())])):
        raise finding


def refuse_unusable(path, settings: ExportSettings, survey: Survey, chunks: Chunks) -> None:
    """Refuse an export that changed while it was read, or without a list of meters one that holds no reading."""
    if not chunks.all_inside:
        raise _changed(path)
    if not chunks.counts[[USED, FINER_INTERVAL]].any() and not survey.listed:
        raise InputError(
            "holds no usable reading",
            file=path,
            field=settings.energy_column,
            hint="check export.energy_column and export.missing_words",
        )


def _changed(path) -> InputError:
    return InputError("changed while it was read", file=path, hint="run again once it is complete")


def fill(path, settings, read, survey: Survey, household_of: np.ndarray, chunks: Chunks) -> None:
    """Put the readings into chunks of households; ``household_of`` is from :func:`household_numbers`.

    If it turns out that a meter's rows run from new to old, it does so again.
    """
    clock = Clock(settings, descending=survey.runs_backwards)
    number = NameIndex({name: number for number, name in enumerate(survey.meter_ids)}, grow=False)
    for batch in progress(read(), "export, readings, batches read"):
        meter = number(batch.meter_ids, batch.meter)
        chunks.put(clock.interval_starts(meter, batch), household_of[meter], batch.energy, batch.marks)
        chunks.counts += left_out_of(batch)
        if not survey.listed and (meter == NOT_LISTED).any():
            raise _changed(path)
    if survey.runs_backwards is None and clock.repeats and clock.runs_backwards.any():
        survey.runs_backwards = clock.runs_backwards
        chunks.start_again()
        fill(path, settings, read, survey, household_of, chunks)


def left_out_of(batch: Batch) -> np.ndarray:
    """Return (R,) readings per reason that a reader left out of a batch."""
    counts = np.array([batch.set_aside.get(reason, 0) for reason in REASONS])
    counts[ROW_MALFORMED] += batch.left_out
    return counts


def _write_readings(path, households: np.ndarray, energy_kwh, first: int, starts_us: np.ndarray, metadata) -> None:
    """Write the readings of one shard in runs of whole households."""
    slots = len(starts_us)
    step = max(1, _ROWS_PER_WRITE // slots)
    with open_table(path, READINGS, metadata) as add:
        for at in range(0, len(households), step):
            some = households[at : at + step]
            rows = slice(some[0] - first, some[-1] + 1 - first)
            add(
                {
                    "household": np.repeat(some, slots),
                    "interval_start_utc": np.tile(starts_us, len(some)),
                    "energy_kwh": pa.array(energy_kwh[rows].ravel(), from_pandas=True),
                }
            )


def _report(counts: np.ndarray, unread: Sequence[str]) -> dict:
    """Return the report: 'used' and every reason that occurred, with the places of files that cannot be read."""
    meanings = dict(REASONS)
    if any(unread):
        meanings["file_unreadable"] = f"{REASONS['file_unreadable'].rstrip('.')} ({places_of(unread)})."
    rows = [(reason, n, meaning) for (reason, meaning), n in zip(meanings.items(), counts.tolist(), strict=True)]
    kept = [row for row in rows if row[1] or row[0] == "used"]
    return dict(zip(("reason", "row_count", "meaning"), map(list, zip(*kept, strict=True)), strict=True))
