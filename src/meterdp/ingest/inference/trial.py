"""The first readings of an export, taken in as a study would, to see what becomes of them."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from meterdp.core.stamps import DAY_MINUTES, HOUR_US, MINUTE_US, utc_offset_minutes
from meterdp.errors import InputError
from meterdp.ingest.batch import Batch, NameIndex
from meterdp.ingest.clock import LAST_MARK, Clock
from meterdp.ingest.dense import BETWEEN, CONFLICTING_ROWS, REASONS, SUPERSEDED_BY_LATER_ROW
from meterdp.ingest.findings import findings, sample_step, step_minutes
from meterdp.ingest.growing import Chunks
from meterdp.ingest.inference.first_readings import Beginnings, by_clock_us, names_in, read_strictly
from meterdp.ingest.inference.zone import ClockEvidence, clock_evidence
from meterdp.ingest.ingest import Survey, fill, household_numbers, refuse_unusable, survey_export
from meterdp.ingest.members import label, places_of
from meterdp.ingest.meter_list import MeterList
from meterdp.ingest.settings import ExportSettings

_MOST_CELLS = 1 << 27  # of the grid, 1 GiB
FEWEST_GAPS = 20
# Stamps as written are not farther than this from UTC, and the end of an interval from its start.
_SOME_HOURS = 24


@dataclass(frozen=True)
class Trial:
    """What became of the first readings."""

    settings: ExportSettings
    survey: Survey  # meters and range of stamps
    counts: np.ndarray  # (R,) rows per reason, in the order of ``dense.REASONS``
    energy_kwh: np.ndarray  # (H, T) on the grid, meters in order of their ids
    batches: list[Batch]
    whole: bool  # whether these are all readings of the export, or of its files with the days of the settings
    cut: frozenset[str] = frozenset()  # places of the files of which a reader looked at the beginning alone
    since_us: int | None = None  # by the local clock, from when on all files were read to their ends
    in_parts: np.ndarray | None = None  # (M,) bool: meters with readings of parts of intervals that are not added up

    @property
    def starts_us(self) -> np.ndarray:
        """UTC start of every slot, (T,) int64 microseconds since 1970."""
        first = self.survey.first_slot
        return self.survey.anchor_us + (first + np.arange(self.survey.slots)) * self.settings.interval_us

    @property
    def number_of(self) -> NameIndex:
        """Number of a meter, in order of the ids that count."""
        return NameIndex({meter: n for n, meter in enumerate(sorted(self.survey.meter_ids))}, grow=False)

    @property
    def part(self) -> str:
        """What was read, if it is not the whole."""
        return "first rows" if self.since_us is None else "last files"

    @cached_property
    def known(self) -> np.ndarray:
        """Slots of which all readings were read, (T,) bool, as far as files in order of time tell."""
        if self.whole or self.since_us is None:
            return np.full(self.survey.slots, self.whole)
        return by_clock_us(self.starts_us, self.settings.time_zone) >= self.since_us

    @cached_property
    def not_reached(self) -> np.ndarray:
        """Readings that stand behind where reading stopped, if they are there, (H, T) bool: of the last file that was
        read, for meters that it does not name so far, and behind the last reading of those of which it was reading;
        of files of which only the beginning was looked at, for meters that are not in it.
        """
        out = np.zeros(self.energy_kwh.shape, bool)
        if self.whole or self.since_us is not None:
            return out
        slots, before = np.arange(out.shape[1]), np.zeros(out.shape[1], bool)
        stopped_at, of_stopped = self.batches[-1].place, np.zeros_like(before)
        files, last_named = self._files_read
        for place, (named, first, last) in files.items():
            (of_stopped if place == stopped_at else before)[first : last + 1] = True
            if place in self.cut:  # also where it overlaps others, as with corrections of their days
                out[~named, first : last + 1] = True
        given = ~np.isnan(self.energy_kwh)
        last_given = np.where(given.any(axis=1), len(slots) - 1 - given[:, ::-1].argmax(axis=1), -1)
        if stopped_at in files:
            out[~files[stopped_at][0]] |= of_stopped & ~before
        out[last_named] |= of_stopped & (slots > last_given[last_named, None])
        return out & ~given

    @cached_property
    def in_read_files(self) -> np.ndarray:
        """Readings between the first and the last of a file that was read and names their meter, (H, T) bool, where
        meters have several files: others may stand in one that was not read.
        """
        out = np.zeros(self.energy_kwh.shape, bool)
        if self.whole or self.since_us is not None:
            return ~out
        files = self._files_read[0].values()
        in_several = sum((named.astype(int) for named, _, _ in files), np.zeros(len(out), int)) > 1
        if not in_several.any():
            return ~out
        for named, first, last in files:
            out[named, first : last + 1] = True
        return out

    @cached_property
    def _files_read(self) -> tuple[dict[str, tuple[np.ndarray, int, int]], np.ndarray]:
        """Return the meters that each file with readings names, (H,) bool, and its first and last slot, by its place;
        and the meters in the last batch.
        """
        clock, number = Clock(self.settings, descending=self.survey.runs_backwards), self.number_of
        found: dict[str, tuple[np.ndarray, int, int]] = {}
        here = np.zeros(len(self.energy_kwh), bool)
        for batch in self.batches:
            meter = number(batch.meter_ids, batch.meter)
            starts_us = clock.interval_starts(meter, batch)
            used = (meter >= 0) & (starts_us > LAST_MARK)
            here = np.zeros(len(self.energy_kwh), bool)
            here[meter[used]] = True
            if not used.any():
                continue
            slot = (starts_us[used] - self.starts_us[0]) // self.settings.interval_us
            edges = max(int(slot.min()), 0), int(slot.max())
            named, first, last = found.get(batch.place, (here, *edges))
            found[batch.place] = named | here, min(first, edges[0]), max(last, edges[1])
        return found, here

    @cached_property
    def contradictions(self) -> tuple[np.ndarray, np.ndarray]:
        """Two readings of a meter and interval that differ, for each that does, (n, 2) int64: which of all; and the
        meter, (n,).
        """
        if not self.counts[[SUPERSEDED_BY_LATER_ROW, CONFLICTING_ROWS]].any():
            return np.zeros((0, 2), np.int64), np.zeros(0, np.int64)
        clock, number = Clock(self.settings, descending=self.survey.runs_backwards), self.number_of
        parts, begin = [], 0
        for batch in self.batches:
            meter = number(batch.meter_ids, batch.meter)
            starts = clock.interval_starts(meter, batch)
            good = np.flatnonzero((meter >= 0) & (starts > LAST_MARK) & np.isfinite(batch.energy))
            parts.append([meter[good], starts[good], batch.energy[good], begin + good])
            begin += len(meter)
        meter, starts, energy, reading = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.lexsort((starts, meter))
        same = (np.diff(meter[order]) == 0) & (np.diff(starts[order]) == 0)
        at = np.flatnonzero(same & (np.diff(energy[order]) != 0))
        return reading[order][np.stack([at, at + 1], axis=1)], meter[order][at]

    @cached_property
    def file_of(self) -> np.ndarray:
        """The file of every reading, by the order in which they were read, (n,) int64."""
        number = {place: n for n, place in enumerate(self.places)}
        of_batch = [(number[batch.place], len(batch.stamp_us)) for batch in self.batches]
        return np.repeat(*np.array(of_batch, np.int64).reshape(-1, 2).T)

    @property
    def places(self) -> list[str]:
        """The places of the files that were read."""
        return [*dict.fromkeys(batch.place for batch in self.batches)]

    def findings(self, path) -> list[InputError]:
        """Return every reason to believe that the settings do not describe the export."""
        some = self.energy_kwh[:: sample_step(len(self.energy_kwh))]
        found = findings(path, self.settings, self.counts, some, self.step_minutes)
        return [*found, *self._half_days(path), *self._wrong_clock(path)]

    def _half_days(self, path) -> Iterator[InputError]:
        """Numbers of intervals that fill a part of every day, as the intervals are longer."""
        settings, given = self.settings, ~np.isnan(self.energy_kwh).all(axis=0)
        if not settings.numbers_rows or not given.any():
            return
        starts = self.starts_us[given].astype("datetime64[us]")
        minutes = (
            starts.astype(np.int64) // MINUTE_US + utc_offset_minutes(starts, settings.time_zone)
        ) % DAY_MINUTES
        most = int(minutes.max()) // settings.interval_minutes + 1
        if most * settings.interval_minutes <= DAY_MINUTES // 2 and 60 % (DAY_MINUTES / most) == 0:
            yield InputError(
                f"numbers the intervals of a day up to {most}, so each has {DAY_MINUTES // most} minutes, but the "
                f"setting says {settings.interval_minutes}",
                file=path,
                field="export.interval_minutes",
                hint=f"set it to {DAY_MINUTES // most}",
            )

    @cached_property
    def clocks(self) -> list[ClockEvidence]:
        """What stamps tell about their clock; nothing if they agree with that of the settings, or number intervals.

        At a change the end of an interval may be written by the old clock or by the new one: both are tried.
        """
        settings = self.settings
        if settings.counts_intervals:
            return []
        shifts = (0, settings.interval_us) if settings.stamps_are_ends else (0,)
        found = [clock_evidence(self.batches, shift) for shift in shifts]
        return [] if any(one.follows(settings.time_zone) for one in found) else found

    def _wrong_clock(self, path) -> Iterator[InputError]:
        said = [one.against(self.settings.time_zone) for one in self.clocks]
        found = next((one for one in said if one is not None and one[2]), said[0] if said and all(said) else None)
        if found is not None:
            problem, hint, _ = found
            yield InputError(problem, file=path, field="export.time_zone", hint=hint)

    def step_minutes(self) -> float | None:
        """Return how far neighbouring stamps of a meter are usually apart."""
        return step_minutes(self.settings, self.batches)


def first_refusal(path, trial: Trial) -> list[InputError]:
    """Return what a study without a list of meters says of the first row that cannot be read, if any."""
    unreadable = ("file_unreadable", "row_malformed", "unit_differs", "stamp_unreadable", "value_unreadable")
    if not any(trial.counts[list(REASONS).index(name)] for name in unreadable):
        return []
    try:
        read_strictly(path, trial.settings, {batch.place for batch in trial.batches})
    except InputError as error:
        return [error]
    return []


def not_to_their_end(path, trial: Trial, named: Container[str]) -> Iterator[str]:
    """Say which files are cut short or damaged, except those that are ``named`` as such already."""
    places = dict.fromkeys(batch.place for batch in trial.batches if "file_unreadable" in batch.set_aside)
    if cut := [place for place in places if label(path, place) not in named]:
        yield f"{label(path, places_of(cut))}: cut short or damaged, and what should follow there is missing"


def goes_on(trial: Trial, begun: Beginnings) -> bool:
    """Whether an export of which the start was read has later days: in another file, or in rows in order of time of
    that where reading stopped.
    """
    if trial.whole:
        return False
    end_us = trial.starts_us[-1] + _SOME_HOURS * HOUR_US
    if any(last > end_us for _, last in begun.spans_us):
        return True
    of_last = [batch for batch in trial.batches if batch.place == trial.batches[-1].place]
    stamps = [batch.stamp_us[batch.stamp_us > LAST_MARK] for batch in (of_last[0], of_last[-1])]
    return all(map(len, stamps)) and bool(stamps[0].max() < stamps[1].min())


def try_out(
    path,
    settings: ExportSettings,
    batches: list[Batch],
    whole: bool,
    cut: frozenset[str] = frozenset(),
    since_us: int | None = None,
    meter_list: MeterList | None = None,
) -> Trial:
    """Take in the readings of some batches; raises ``InputError`` if no stamp lies on the grid."""
    settings = replace(settings, bad_rows="missing")
    if meter_list is not None:
        meter_list = _with_rows(meter_list, batches)

    def read() -> Iterator[Batch]:
        return iter(batches)

    survey = survey_export(path, settings, read, meter_list)
    cells = len(survey.meter_ids) * survey.slots
    if cells > _MOST_CELLS and len(batches) > 1:
        return try_out(path, settings, batches[: len(batches) // 2], False, cut, meter_list=meter_list)
    edges = [0, len(survey.meter_ids)]
    with Chunks(settings, survey.anchor_us, survey.first_slot, survey.slots, edges) as chunks:
        fill(path, settings, read, survey, household_numbers(survey)[1], chunks)
        [(_, energy_kwh)] = chunks.arrays()
    refuse_unusable(path, settings, survey, chunks)
    in_parts = chunks.row_counts[:, BETWEEN] >= FEWEST_GAPS
    return Trial(settings, survey, chunks.counts, energy_kwh, batches, whole, cut, since_us, in_parts)


def _with_rows(meter_list: MeterList, batches: list[Batch]) -> MeterList:
    """Leave out listed meters that the batches do not name, as the grid has a row for every meter of the list; it
    has one at least.
    """
    named = names_in(batches)
    some = [meter for meter in meter_list.circuit_of if meter in named] or meter_list.meter_ids[:1]
    return MeterList({meter: meter_list.circuit_of[meter] for meter in some})


def coverage(trial: Trial, begin: int, end: int, first_day: str, last_day: str) -> str:
    """Say how much of a typical meter's readings is missing between two slots of the days that are named."""
    empty, looked_at = np.isnan(trial.energy_kwh[:, begin:end]), ~trial.not_reached[:, begin:end]
    looked_at &= trial.known[begin:end] | ~empty.all(axis=0)  # files of days that were not read say nothing
    looked_at &= trial.in_read_files[:, begin:end]
    missing = (empty & looked_at).sum(axis=1) / np.maximum(looked_at.sum(axis=1), 1)
    missing = np.where((~empty).any(axis=1), missing, 1)
    # A meter of which no row is read, as none is of its kind, says nothing of the days.
    missing = float(np.median(missing[missing < 1])) if (missing < 1).any() else 1.0
    part = "" if trial.whole else f" ({trial.part} only)"
    return f"from {first_day} to {last_day}, {missing:.1%} of a typical meter's readings are missing{part}"
