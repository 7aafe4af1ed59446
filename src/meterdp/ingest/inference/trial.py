"""The first readings of an export, taken in as a study would, to see what becomes of them.

What is odd about them but no reason to refuse them: other intervals, rows that contradict others.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from meterdp.core.log_scale import LOG, LogScale
from meterdp.core.stamps import utc_offset_minutes
from meterdp.errors import InputError
from meterdp.ingest.batch import BATCH_BYTES, NO_STAMP, NO_SUCH_TIME, Batch, NameIndex, plain_id
from meterdp.ingest.clock import LAST_MARK, Clock, clock_changes, midnights_us
from meterdp.ingest.dense import (
    BETWEEN,
    CONFLICTING_ROWS,
    NONEXISTENT_LOCAL_TIME,
    REASONS,
    SUPERSEDED_BY_LATER_ROW,
    USED,
    count_reasons,
)
from meterdp.ingest.fields import hours_hint
from meterdp.ingest.findings import INNOCENT, findings, sample_step, step_minutes, steps_minutes
from meterdp.ingest.growing import Chunks
from meterdp.ingest.inference.zone import CLOCKS, ClockEvidence, clock_evidence, local_changes
from meterdp.ingest.ingest import Survey, fill, household_numbers, left_out_of, refuse_unusable, survey_export
from meterdp.ingest.members import Member, label, places_of
from meterdp.ingest.meter_list import MeterList
from meterdp.ingest.readers.interface import format_named, reader
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.streams import Limit, files_of

# What a few seconds are enough for.
MOST_READINGS = 2_000_000
# Of many files so many, spread over all of them, and so much of each.
_MOST_FILES, _BEGIN_BYTES = 200, 1 << 16
_MOST_CELLS = 1 << 27  # of the grid, 1 GiB
_NO_LINK = {"meter_missing", "reading_type_missing"}
_NOT_ASKED_FOR = {"meter_not_listed", "other_register", "stamp_outside_period", "header_repeated"}
_FEWEST_GAPS = 20
_NEAR_HOURS = 3
# Of the rows that contradict another: so many near a change of clocks, and the rest is a correction now and then.
_NEARLY_ALL = 0.9
_MOST_DAYS = 4
# Days between files that follow one another, as a multiple of the fewest.
_FAR_APART = 1.5
# More rows than corrections explain that are not sent for everybody.
_MANY_CONTRADICT = 0.02
_MOST_PAIRS = 500  # of rows that contradict each other, which are looked at once more
_HOUR_US, _MINUTE_US = 3_600_000_000, 60_000_000
_DAY_MINUTES, _DAY_US = 24 * 60, 24 * _HOUR_US
# Shares of the meters that are read an hour of the day before.
_HARDLY_ANY, _MOST_OF = 0.1, 0.8
# Stamps as written are not farther than this from UTC, and the end of an interval from its start.
_SOME_HOURS = 24
# Share of zeros that tells on released means.
_MANY_ZEROS = 0.1
# Share of readings below zero that is no fault of a few meters.
_NOTICEABLE = 0.001
_NOTICEABLE_ENERGY = 0.01
_NEARLY_SAME = 0.001
# What homes with panels take and give in an hour, where nothing is known of them.
NET_CLIP_KWH_PER_HOUR = (-15, 20)


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
        clock = Clock(self.settings, descending=self.survey.runs_backwards)
        number = self.number_of
        slots, before = np.arange(out.shape[1]), np.zeros(out.shape[1], bool)
        first_last: dict[str, list[int]] = {}
        stopped_at, last_named = self.batches[-1].place, np.zeros(len(out), bool)
        named = {place: np.zeros(len(out), bool) for place in self.cut | {stopped_at}}
        for batch in self.batches:
            meter = number(batch.meter_ids, batch.meter)
            starts_us = clock.interval_starts(meter, batch)
            used = (meter >= 0) & (starts_us > LAST_MARK)
            slot = (starts_us[used] - self.starts_us[0]) // self.settings.interval_us
            if len(slot):
                known = first_last.setdefault(batch.place, [int(slot.min()), int(slot.max())])
                known[:] = min(known[0], int(slot.min())), max(known[1], int(slot.max()))
            if batch.place in named:
                named[batch.place][meter[used]] = True
            if batch.place == stopped_at:
                last_named[:] = False
                last_named[meter[used]] = True
        of_stopped = np.zeros_like(before)
        for place, (first, last) in first_last.items():
            (of_stopped if place == stopped_at else before)[max(first, 0) : last + 1] = True
            if place in self.cut:  # also where it overlaps others, as with corrections of their days
                out[~named[place], max(first, 0) : last + 1] = True
        given = ~np.isnan(self.energy_kwh)
        last_given = np.where(given.any(axis=1), len(slots) - 1 - given[:, ::-1].argmax(axis=1), -1)
        out[~named[stopped_at]] |= of_stopped & ~before
        out[last_named] |= of_stopped & (slots > last_given[last_named, None])
        return out & ~given

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
            starts.astype(np.int64) // _MINUTE_US + utc_offset_minutes(starts, settings.time_zone)
        ) % _DAY_MINUTES
        most = int(minutes.max()) // settings.interval_minutes + 1
        if most * settings.interval_minutes <= _DAY_MINUTES // 2 and 60 % (_DAY_MINUTES / most) == 0:
            yield InputError(
                f"numbers the intervals of a day up to {most}, so each has {_DAY_MINUTES // most} minutes, but the "
                f"setting says {settings.interval_minutes}",
                file=path,
                field="export.interval_minutes",
                hint=f"set it to {_DAY_MINUTES // most}",
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


def by_clock_us(utc_us: np.ndarray, time_zone: str) -> np.ndarray:
    """Return what the clock of a zone shows at (n,) instants, all in microseconds since 1970."""
    return utc_us + utc_offset_minutes(utc_us.astype("datetime64[us]"), time_zone) * _MINUTE_US


def read_strictly(path, settings: ExportSettings, places: Container[str] | None = None) -> None:
    """Read an export, or its files at some places, as a study without a list of meters does; raises at the first row
    that cannot be read.
    """
    files = [path]
    if places is not None:
        files = [file for file in files_of(path, by_name=settings.packed_by_name) if file.place in places]
    for limit in (_limit(settings), None):
        for file in files:
            for _ in reader(settings.format, limit=limit)(file, replace(settings, bad_rows="refuse")):
                pass
        if limit is not None and not limit.cut:
            return


def begin_strictly(path, settings: ExportSettings) -> None:
    """Read no more than the header and the first readings, as a study without a list of meters does."""
    next(iter(reader(settings.format, limit=_limit(settings))(path, settings)), None)


@dataclass(frozen=True)
class Begun:
    """The beginning of one of several files."""

    number: int  # which of all in order of names, from 1 on
    place: str
    unread: InputError | None  # why it cannot be read: rows are no reason, headers are
    unusable: str | None = None  # why most rows cannot be used, one of ``dense.REASONS``
    first_us: int | None = None  # of its readings, by the local clock
    last_us: int | None = None
    readings_per_row: int = 1
    named: frozenset[str] = frozenset()  # the meters whose rows it has


@dataclass(frozen=True)
class Beginnings:
    """The beginnings of several files of an export; none where there is one."""

    files: list[Begun]
    of: int  # how many files there are

    @property
    def every(self) -> bool:
        """Whether they are of all files, not of some."""
        return self.of == 1 or len(self.files) == self.of

    @property
    def unread(self) -> list[InputError]:
        return [file.unread for file in self.files if file.unread is not None]

    @property
    def named(self) -> set[str]:
        """The meters that any of them names."""
        return set().union(*(file.named for file in self.files))

    @property
    def starts(self) -> np.ndarray:
        """The days on which files begin, since 1970, ascending; none if first readings of one lie behind the start of
        a later one, so that files do not follow one another.
        """
        starts = np.unique([first // _DAY_US for first, _ in self.spans_us])
        follow = all(
            last // _DAY_US <= starts[starts > first // _DAY_US].min(initial=last) for first, last in self.spans_us
        )
        return starts if follow else starts[:0]

    @property
    def spans_us(self) -> list[tuple[int, int]]:
        """The first and the last reading of each, by the local clock."""
        return [(file.first_us, file.last_us) for file in self.files if file.first_us is not None]


def begin_files(path, settings: ExportSettings, meter_list: MeterList | None = None) -> Beginnings:
    files = list(enumerate(files_of(path, by_name=settings.packed_by_name), start=1))
    some = files[:: -(-len(files) // _MOST_FILES)] if len(files) > 1 else []
    listed = {} if meter_list is None else {meter: number for number, meter in enumerate(meter_list.circuit_of)}
    number_of = NameIndex(listed, grow=meter_list is None)
    return Beginnings([_begun(number, file, settings, number_of) for number, file in some], len(files))


def _begun(number: int, file: Member, settings: ExportSettings, number_of: NameIndex) -> Begun:
    limit = _limit(settings)
    begin = partial(reader(settings.format, limit=limit), file, batch_bytes=_BEGIN_BYTES)
    first = next(begin(settings=replace(settings, bad_rows="missing")), None)
    if first is None:
        return Begun(number, file.place, None)
    if "file_unreadable" in first.set_aside:
        try:
            next(begin(settings=replace(settings, bad_rows="refuse")), None)
        except InputError as error:
            return Begun(number, file.place, error)
    unusable = _mostly_unusable(first, settings, number_of, _NO_LINK if limit.cut else set())
    named = frozenset(names_in([first]))
    return Begun(number, file.place, None, unusable, *_span_us(first, settings), first.readings_per_row, named)


def _span_us(batch: Batch, settings: ExportSettings) -> tuple[int, int] | tuple[None, None]:
    """Return the first and the last reading of a batch by the local clock, None if it has none."""
    known = (batch.stamp_us > LAST_MARK) & np.isfinite(batch.energy)
    if not known.any():
        return None, None
    edges = np.array([batch.stamp_us[known].min(), batch.stamp_us[known].max()])
    edges -= settings.interval_us if settings.stamps_are_ends else 0
    if np.all(batch.stamps_are_utc):
        edges = by_clock_us(edges, settings.time_zone)
    return tuple(edges.tolist())


def _mostly_unusable(
    batch: Batch, settings: ExportSettings, number_of: NameIndex, passed_over: set[str]
) -> str | None:
    """Return why most readings of a batch cannot be used, of meters that are known and the days of the settings, or
    None if that is not so.
    """
    clock, meter = Clock(settings), number_of(batch.meter_ids, batch.meter)
    starts_us, counts = clock.interval_starts(meter, batch), left_out_of(batch)
    usable = starts_us[starts_us > LAST_MARK]
    anchor_us = clock.grid_anchor_us(usable[0]) if usable.size else 0
    count_reasons(starts_us, meter, batch.energy, batch.marks, anchor_us, settings.step_us, counts)
    rows = {reason: n for reason, n in zip(REASONS, counts.tolist(), strict=True) if reason not in _NOT_ASKED_FOR}
    bad = {reason: n for reason, n in rows.items() if reason not in INNOCENT | passed_over}
    return max(bad, key=bad.get) if 2 * sum(bad.values()) > sum(rows.values()) else None


def goes_on(trial: Trial, begun: Beginnings) -> bool:
    """Whether an export of which the start was read has later days: in another file, or in rows in order of time of
    that where reading stopped.
    """
    if trial.whole:
        return False
    end_us = trial.starts_us[-1] + _SOME_HOURS * _HOUR_US
    if any(last > end_us for _, last in begun.spans_us):
        return True
    of_last = [batch for batch in trial.batches if batch.place == trial.batches[-1].place]
    stamps = [batch.stamp_us[batch.stamp_us > LAST_MARK] for batch in (of_last[0], of_last[-1])]
    return all(map(len, stamps)) and bool(stamps[0].max() < stamps[1].min())


def outside(settings: ExportSettings, begun: Beginnings) -> int:
    """Return how many files begin with readings outside the days of the settings; of files in order of time, as those
    of earlier months are kept, only behind them.
    """
    if settings.period_us is None:
        return 0
    begin_us, end_us = settings.period_us[0] - _SOME_HOURS * _HOUR_US, settings.period_us[1] + _SOME_HOURS * _HOUR_US
    early = len(begun.starts) < 2
    return sum((early and last < begin_us) or first >= end_us for first, last in begun.spans_us)


def _limit(settings: ExportSettings) -> Limit:
    return Limit(format_named(settings.format).trial_bytes or 0)


class FirstReadings:
    """The start of an export, read as far as asked for; rows that cannot be read are marked, not refused."""

    def __init__(self, path, settings: ExportSettings):
        self._path, self.settings = path, replace(settings, bad_rows="missing")
        self._begin(_limit(settings))

    def _begin(self, limit: Limit | None) -> None:
        batches = reader(self.settings.format, limit=limit)
        self._coming = batches(self._path, self.settings, batch_bytes=BATCH_BYTES)
        self._cut = set() if limit is None else limit.cut
        self.batches: list[Batch] = []
        self._readings, self._next = 0, next(self._coming, None)

    @property
    def whole(self) -> bool:
        """Whether that is all of the export."""
        return self._next is None and not self._cut

    @property
    def cut(self) -> frozenset[str]:
        """Places of the files of which the reader looked at the beginning alone."""
        places = {batch.place for batch in self.batches}
        return frozenset(place for place in places if label(Path(self._path), place) in self._cut)

    @property
    def any_usable(self) -> bool:
        """Whether one of the readings can be used, as far as stamp and value tell."""
        return any(((batch.stamp_us != NO_STAMP) & np.isfinite(batch.energy)).any() for batch in self.batches)

    def read(self, most_readings: int) -> None:
        """Go on until there are so many readings; a feed whose links stand at its end is read to its end."""
        while self._next is not None and self._readings < most_readings:
            self.batches.append(self._next)
            self._readings += len(self._next.meter)
            self._next = next(self._coming, None)
        linked_later = any(_NO_LINK & batch.set_aside.keys() for batch in self.batches)
        if self._cut and (linked_later or not self.any_usable):
            self._begin(None)
            self.read(most_readings)


def first_batches(path, settings: ExportSettings) -> tuple[list[Batch], bool, frozenset[str]]:
    """Return the start of an export, whether that is all, and the places of files of which it is the beginning; see
    :class:`FirstReadings`.
    """
    first = FirstReadings(path, settings)
    first.read(MOST_READINGS)
    return first.batches, first.whole, first.cut


def batches_of_days(path, settings: ExportSettings, begun: Beginnings) -> tuple:
    """Return what :func:`first_batches` does, and :attr:`Trial.since_us`.

    Of files in order of time those with days of the settings come first, the latest before others, as a release of
    every month is about the last days. They are read whole, as many as fit, but of one that does not fit its start.
    """
    files = _in_time(path, settings, begun)
    if not files:
        return *first_batches(path, settings), None
    first_us, end_us = by_clock_us(np.array(settings.period_us), settings.time_zone)
    of_period = [begin_us < end_us and until_us > first_us for begin_us, until_us, _ in files]
    latest_first = sorted(range(len(files)), key=lambda n: (not of_period[n], -files[n][0], -n))
    taken: dict[int, list[Batch]] = {}
    readings, whole = 0, True
    for number in latest_first:
        start = FirstReadings(files[number][2], settings)
        start.read(2 * MOST_READINGS - readings)
        if taken and not start.whole:
            break
        taken[number], whole = start.batches, start.whole
        readings += sum(len(batch.meter) for batch in start.batches)
        if readings >= MOST_READINGS:
            break
    batches = [batch for number in sorted(taken) for batch in taken[number]]
    left = [until_us for n, (_, until_us, _) in enumerate(files) if of_period[n] and n not in taken]
    if not whole or not left:
        return batches, whole, frozenset(), None
    return batches, False, frozenset(), max(left)


def _in_time(path, settings: ExportSettings, begun: Beginnings) -> list[tuple[float, float, Member]]:
    """Return when each file begins and, as the next does, ends, by the local clock, and the file, in order of names;
    none where beginnings do not show that files follow one another, or where each is of meters of its own.

    A file of which that is not known lies between those beside it.
    """
    known = [file for file in begun.files if file.first_us is not None]
    own = len(begun.named) == sum(len(file.named) for file in begun.files)
    if settings.period_us is None or format_named(settings.format).reads_ahead or own or len(begun.starts) < 2:
        return []
    first_us = np.array([file.first_us for file in known], float)
    if len(known) < begun.of and (np.diff(first_us) < 0).any():
        return []
    number, every = [file.number for file in known], np.arange(1, begun.of + 1)
    begin_us = np.append(-np.inf, first_us)[np.searchsorted(number, every, side="right")]
    latest_us = np.append(first_us, np.inf)[np.searchsorted(number, every)]
    day = np.floor(first_us / _DAY_US)
    until_us = [first_us[day > np.floor(one / _DAY_US)].min(initial=np.inf) for one in latest_us]
    files = files_of(path, by_name=settings.packed_by_name)
    return [*zip(begin_us.tolist(), until_us, files, strict=True)]


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
    in_parts = chunks.row_counts[:, BETWEEN] >= _FEWEST_GAPS
    return Trial(settings, survey, chunks.counts, energy_kwh, batches, whole, cut, since_us, in_parts)


def _with_rows(meter_list: MeterList, batches: list[Batch]) -> MeterList:
    """Leave out listed meters that the batches do not name, as the grid has a row for every meter of the list; it
    has one at least.
    """
    named = names_in(batches)
    some = [meter for meter in meter_list.circuit_of if meter in named] or meter_list.meter_ids[:1]
    return MeterList({meter: meter_list.circuit_of[meter] for meter in some})


def names_in(batches: list[Batch]) -> set[str]:
    """Return the meters that some batches name."""
    return {plain_id(name) for batch in batches for name in batch.meter_ids}


def coverage(trial: Trial, begin: int, end: int, first_day: str, last_day: str) -> str:
    """Say how much of a typical meter's readings is missing between two slots of the days that are named."""
    empty, looked_at = np.isnan(trial.energy_kwh[:, begin:end]), ~trial.not_reached[:, begin:end]
    looked_at &= trial.known[begin:end] | ~empty.all(axis=0)  # files of days that were not read say nothing
    missing = (empty & looked_at).sum(axis=1) / np.maximum(looked_at.sum(axis=1), 1)
    missing = np.where((~empty).any(axis=1), missing, 1)
    # A meter of which no row is read, as none is of its kind, says nothing of the days.
    missing = float(np.median(missing[missing < 1])) if (missing < 1).any() else 1.0
    return f"from {first_day} to {last_day} {missing:.1%} of a typical meter's readings are missing"


def remarks(trial: Trial, time_zone: str | None, begun: Beginnings) -> list[str]:
    """Return what somebody who knows the export should look at, as sentences; ``time_zone`` is that of the homes."""
    zone = time_zone or trial.settings.time_zone
    odd = [
        *_other_intervals(trial),
        *(list(_days_of_nobody(trial, zone, begun)) or _files_far_apart(trial, begun)),
        *_other_clock(trial),
        *_skipped_hours(trial, begun),
        *_corrections(trial),
    ]
    return [*odd, *_hours_that_contradict(trial, time_zone)]


def _days_of_nobody(trial: Trial, zone: str, begun: Beginnings) -> Iterator[str]:
    """Days of the period, or of what was read of an export, on which no meter has a reading."""
    given = ~np.isnan(trial.energy_kwh).all(axis=0)
    tell = not trial.whole and begun.every and _beginnings_tell_days(trial, begun)
    if not given.any() or not (tell or trial.known.any()):
        return
    starts = trial.starts_us.astype("datetime64[us]")
    local = (starts + utc_offset_minutes(starts, zone) * np.timedelta64(1, "m")).astype("datetime64[D]")
    spans = np.array(begun.spans_us, "datetime64[us]").astype("datetime64[D]") if tell else []
    some = [local[given], *(np.arange(first, last + 1) for first, last in spans)]
    here = np.unique(np.concatenate(some))
    days = np.unique(local[trial.known])
    if tell:
        days = np.union1d(days, np.arange(here[0], here[-1] + 1))
    without = np.setdiff1d(days, here)
    runs = np.split(without, np.flatnonzero(np.diff(without).astype(int) > 1) + 1) if len(without) else []
    said = [f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    if said:
        more = f" and {len(said) - _MOST_DAYS} more times" if len(said) > _MOST_DAYS else ""
        number = "one day" if len(without) == 1 else f"{len(without)} of {len(days)} days"
        yield f"no meter has a reading on {number}: {', '.join(said[:_MOST_DAYS])}{more}; is a file missing?"


def _files_far_apart(trial: Trial, begun: Beginnings) -> Iterator[str]:
    """Say where a file may be missing among files that follow one another, by the days on which they begin."""
    if trial.whole or begun.of == 1 or not begun.every:
        return
    starts = begun.starts
    if len(starts) < 2:
        return
    period, usual = trial.settings.period_us, int(np.diff(starts).min())
    edges = starts if period is None else np.append(starts, -(-period[1] // _DAY_US))
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if end - begin > _FAR_APART * usual:
            first, last = np.array([begin, end - 1], "datetime64[D]")
            only = f"but from {first} to {last} only one does"
            yield f"files begin every {usual} days or so, {only}; is a file missing?"


def _beginnings_tell_days(trial: Trial, begun: Beginnings) -> bool:
    """Whether the first rows of every file that was read as a whole reach from its first day to its last, as they do
    where each file is of a day: then those of the other files tell their days, too.
    """
    days: dict[str, set[int]] = {}
    for batch in trial.batches:
        span = _span_us(batch, trial.settings)
        days.setdefault(batch.place, set()).update(us // _DAY_US for us in span if us is not None)
    whole = {place for place, some in days.items() if some} - trial.cut - {trial.batches[-1].place}
    begin = {f.place: (f.first_us // _DAY_US, f.last_us // _DAY_US) for f in begun.files if f.first_us is not None}
    as_begun = [begin.get(place) == (min(days[place]), max(days[place])) for place in whole]
    return begun.of == 1 or (bool(whole) and all(as_begun))


def feed_in_lost(trial: Trial, scale: LogScale) -> str | None:
    """Say that many readings are below zero and what a scale of hourly energy keeps; None if hardly any are."""
    least = scale.least_negative_kwh
    given = np.count_nonzero(~np.isnan(trial.energy_kwh))
    lost = np.count_nonzero(trial.energy_kwh < least * trial.settings.interval_minutes / 60)
    if lost <= _NOTICEABLE * given:
        return None
    below = f"{least:g} kWh an hour" if least else "zero"
    where = "on the plain logarithm they" if scale.kind == LOG else "they"
    return (
        f"{lost / given:.1%} of readings are below {below}: {where} are moved to the lower bound, or dropped if "
        "quality.repair lacks negative; where homes feed in, set profiles.log_scale to {kind: signed} and "
        f"profiles.clip_kwh_per_hour to bounds with room for it, such as {list(NET_CLIP_KWH_PER_HOUR)}"
    )


def many_zeros(trial: Trial, scale: LogScale) -> str | None:
    """Say that many readings of meters that do count are zero, for which a plain logarithm has no room."""
    counts = (trial.energy_kwh > 0).any(axis=1)
    given = np.count_nonzero(~np.isnan(trial.energy_kwh[counts]))
    zero = np.count_nonzero(trial.energy_kwh[counts] == 0)
    if scale.kind != LOG or zero <= _MANY_ZEROS * given:
        return None
    return (
        f"{zero / given:.0%} of readings are zero, for which the plain logarithm has no room: they become the lower "
        "bound of profiles.clip_kwh_per_hour, and means of released profiles and forecasts may be too high; if homes "
        "really use nothing, or meters count in large steps, see profiles.log_scale"
    )


def nearly_all_zero(trial: Trial, most_zero: float, meter_list: MeterList | None) -> str | None:
    """Say how many meters read zero so often that a quality rule leaves them out; None if none."""
    read = ~np.isnan(trial.energy_kwh)
    share = (trial.energy_kwh == 0).sum(axis=1) / np.maximum(read.sum(axis=1), 1)
    # What is zero in all of the period is left out whatever the rule.
    some = (trial.energy_kwh > 0).any(axis=1) if trial.whole else read.any(axis=1)
    if not (vacant := np.count_nonzero((share > most_zero) & some)):
        return None
    meters, them = ("meters read", "them") if vacant > 1 else ("meter reads", "it")
    in_release = ", and in released mixtures and households they count as the public default" * (
        meter_list is not None
    )
    return (
        f"{vacant:,} {meters} zero more than {most_zero:.0%} of the time on the days looked at: where that is so "
        f"over the whole period, a study leaves {them} out{in_release}. "
        "Second homes are kept with quality.max_zero_share: 1"
    )


def implausible(trial: Trial, power_kw: tuple[float, float]) -> tuple[Trial, str | None]:
    """Return a trial without the readings that quality rules take as missing, as their power is none of a home, and
    say how many there are, of how many meters; None if none.
    """
    (low, high), hours = power_kw, trial.settings.interval_minutes / 60
    kwh = trial.energy_kwh
    outside = (kwh < low * hours) | (kwh > high * hours)
    if not (of := int(outside.sum())):
        return trial, None
    # The same code in parts of an interval that are added up is no longer quite the same.
    amount = np.abs(kwh[outside])
    same = int((amount > (1 - _NEARLY_SAME) * amount.max()).sum())
    meters = int(outside.any(axis=1).sum())
    are = f"readings of {meters:,} meter{'s' * (meters > 1)} are" if of > 1 else "reading is"
    said = (
        f"{of:,} {are} below {low:g} or above {high:g} kW (quality.plausible_power_kw), which counts as missing"
        f"{'' if trial.whole else f' ({trial.part} only)'}"
    )
    if same > 1:
        those = "all of them are" if same == of else f"{same:,} of them, the largest, are"
        said += f"; {those} one number: if it stands for a missing reading, add it to export.missing_words"
    return replace(trial, energy_kwh=np.where(outside, np.nan, kwh)), said


def large_use(trial: Trial, scale: LogScale, most_daily_kwh: float | None) -> str | None:
    """Say how much of the energy lies above what a release counts of a meter: in an hour, and in feeder totals in a
    day on average, if there are any.
    """
    high, per_day = scale.bounds_kwh[1], 24 * 60 / trial.settings.interval_minutes
    limits = [f"{high:g} kWh an hour (profiles.clip_kwh_per_hour)"]
    energy = np.nansum(np.maximum(trial.energy_kwh, 0), axis=1)
    if not energy.any():
        return None
    counted = np.nansum(np.clip(trial.energy_kwh, 0, high * 24 / per_day), axis=1)
    if most_daily_kwh is not None:
        days = (~np.isnan(trial.energy_kwh)).sum(axis=1) / per_day
        counted = np.minimum(counted, most_daily_kwh * days)
        limits.append(f"{most_daily_kwh:,.0f} kWh a day on average in feeder totals")
    lost = 1 - counted.sum() / energy.sum()
    if lost <= _NOTICEABLE_ENERGY:
        return None
    of = int((counted < (1 - _NOTICEABLE_ENERGY) * energy).sum())
    return (
        f"{lost:.0%} of the energy is above the most a release counts for a meter ({' and '.join(limits)}); it comes "
        f"from {of:,} of {len(energy):,} meters: leave large users off the list, or release them separately"
    )


def _other_clock(trial: Trial) -> Iterator[str]:
    for one in trial.clocks[:1]:
        sentence = one.unlike(trial.settings.time_zone)
        yield from [] if sentence is None else [sentence]


def _skipped_hours(trial: Trial, begun: Beginnings) -> Iterator[str]:
    """Readings at hours that the clock of the settings skips, and columns that are too few for a day of 25 hours."""
    settings, skipped = trial.settings, int(trial.counts[NONEXISTENT_LOCAL_TIME])
    zone = settings.time_zone
    if skipped and not settings.counts_intervals:
        yield (
            f"{skipped:,} readings name an hour that the clock of {zone} skips: unless they only fill a gap, stamps "
            "are in UTC or standard time (export.stamp_time_zone), or homes are in another zone (export.time_zone)"
        )
    elif go_by_clock(trial):
        yield (
            f"hours follow the clock of {zone} instead of counting from midnight: {hours_hint(settings)}, or "
            "readings from a clock change to midnight will be an hour off"
        )
    elif skipped:
        yield (
            f"{skipped:,} readings are for an hour that their day does not have on the clock of {zone}: "
            "is that the zone of the homes (export.time_zone)?"
        )
    if (clock_changes_in(trial) < 0).any():
        yield from hours_without_column(trial, begun)


def clock_changes_in(trial: Trial) -> np.ndarray:
    """Return by how much the clock changes between the first reading and the last, (K,) microseconds."""
    changes = clock_changes(trial.settings.time_zone)
    first, last = np.searchsorted(changes.utc_us, trial.starts_us[[0, -1]], side="right")
    return np.diff(changes.offset_us[first : last + 1])


def hours_without_column(trial: Trial, begun: Beginnings) -> Iterator[str]:
    """Say that numbered columns are too few for a day of 25 hours, if they are."""
    widest = max(one.readings_per_row for one in (trial.batches[0], *begun.files))
    if trial.settings.wide_columns == "numbers" and widest == _DAY_MINUTES // trial.settings.interval_minutes:
        yield (
            "no column is for the hour that the clock repeats, so columns are assumed to count from midnight; "
            "if they follow the clock, name them 00:00, 01:00 and so on (export.wide_columns)"
        )


def short_days(trial: Trial) -> Iterator[str]:
    """Say whether numbered columns follow the clock on days of 23 hours, by most rows of such days."""
    by_clock: list[bool] = []
    per_day = _DAY_MINUTES // trial.settings.interval_minutes
    for batch in trial.batches if trial.settings.wide_columns == "numbers" else ():
        cells = np.isfinite(batch.energy), batch.stamp_us == NO_SUCH_TIME
        given, none = (of.reshape(-1, batch.readings_per_row)[:, :per_day] for of in cells)
        some = none.any(axis=1) & given.any(axis=1) & ~(none & given).any(axis=1)
        last_given = given.shape[1] - 1 - given[some, ::-1].argmax(axis=1)
        by_clock += (last_given > none[some].argmax(axis=1)).tolist()
    if by_clock and np.mean(by_clock) > 0.5:
        yield "on days of 23 hours, columns in the middle are empty and the last are not: they follow the clock"
    elif by_clock:
        yield "on days of 23 hours, the last columns are empty: columns count from midnight"


def go_by_clock(trial: Trial) -> bool | None:
    """Whether hours that are read as counted from midnight go by the clock: none begins with a change in spring while
    one is behind the end of the day, or none is the 25th of a day. None where no change of clocks tells.
    """
    settings, starts, verdicts = trial.settings, trial.starts_us, set()
    if not settings.numbers_rows or settings.interval_us != _HOUR_US:
        return None
    given, changes = (~np.isnan(trial.energy_kwh)).sum(axis=0), clock_changes(settings.time_zone)
    for at, before, after in zip(changes.utc_us, changes.offset_us[:-1], changes.offset_us[1:], strict=True):
        hour_us = int(at)
        if after < before:
            next_day = (at + after) // _DAY_US * _DAY_US + _DAY_US
            hour_us = int(midnights_us(np.array([next_day]), settings.time_zone)[0]) - _HOUR_US
        slot = (hour_us - int(starts[0])) // _HOUR_US
        if slot < 24 or not given[slot - 24 : slot - 23].any() or not given[slot + 1 :].any():
            continue
        here, usual = given[slot], given[slot - 24]
        if here >= _MOST_OF * usual:
            verdicts.add(False)
        elif here <= _HARDLY_ANY * usual:
            if after < before or trial.counts[NONEXISTENT_LOCAL_TIME] >= _MOST_OF * usual:
                verdicts.add(True)
    return verdicts.pop() if len(verdicts) == 1 else None


def _other_intervals(trial: Trial) -> Iterator[str]:
    """Meters that are read more often than others, or less."""
    settings, usual = trial.settings, np.array([_usual_gap(row) for row in trial.energy_kwh])
    usual[trial.in_parts] = 0
    minutes, more_often = settings.interval_minutes, int(trial.in_parts.sum())
    lengths, counts = np.unique(usual[usual > 0], return_counts=True)
    own = int(counts[lengths == 1].sum())
    longer = [(gap * minutes, n) for gap, n in zip(lengths.tolist(), counts.tolist(), strict=True) if gap > 1]
    if not more_often and not (own and longer):  # all alike is a matter of the settings
        return
    there = [f"{n:,} have a reading every {length:,} minutes" for length, n in [(minutes, own), *longer] if n]
    there += [f"{more_often:,} are read more often, if only at times"] if more_often else []
    longest = max([minutes, *(length for length, _ in longer)])
    steps = [step for step in steps_minutes(settings, trial.batches)[1] if step < longest and longest % step == 0]
    said = (
        f"of {counts.sum() + more_often:,} meters, {' and '.join(there)}: a study leaves out what is missing or "
        "covers only part of an interval; "
    )
    if settings.adds_up and steps and 60 % longest == 0:
        add_up = [f"export.interval_minutes to {longest}"] if longest > minutes else []
        add_up.append(f"export.shortest_interval_minutes to {min(steps):g}")
        yield f"{said}set {' and '.join(add_up)} to add the shorter ones up"
    else:
        yield f"{said}export them separately, or convert all to the longest"


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
        utc = " UTC" if all(np.all(batch.stamps_are_utc) for batch in trial.batches) else ""
        yield (
            f"{'all' if near.all() else 'nearly all'} of {len(hour):,} rows that contradict another row of the same "
            f"meter and interval lie between {of_day.min():02d}:00 and {of_day.max() + 1:02d}:00{utc} on "
            f"{', '.join(days[:_MOST_DAYS])}{more}, when clocks of {zone} change: the export may have moved stamps "
            "there (export.stamp_time_zone, export.conflicting_rows)"
        )
        return
    if many_contradict(trial):
        registers = (
            "keep the rows of one (export.keep_rows)"
            if trial.settings.keep_rows is None
            else "export.keep_rows must name another column that distinguishes them, too"
        )
        flows = f"if the export has several registers or flows of a meter, such as feed-in, {registers}; "
        yield (
            f"{len(hour):,} rows contradict another row of the same meter and interval: "
            f"{flows if trial.settings.has_other_columns else ''}if the export sends corrected readings again, "
            "export.conflicting_rows says which count"
        )


def _corrections(trial: Trial) -> Iterator[str]:
    """Say which file corrects readings of another: the names of files decide, not when they were written."""
    if not trial.counts[SUPERSEDED_BY_LATER_ROW] or many_contradict(trial):
        return
    number = {place: n for n, place in enumerate(dict.fromkeys(batch.place for batch in trial.batches))}
    places, number_and_rows = [*number], [(number[batch.place], len(batch.stamp_us)) for batch in trial.batches]
    pairs = np.repeat(*zip(*number_and_rows, strict=True))[_contradictions(trial)]
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    if len(pairs):
        corrected, counted = (places_of([places[n] for n in np.unique(files)]) for files in pairs.T)
        yield (
            f"{len(pairs):,} readings of {corrected}, do not count, as a later file has others of the same meter and "
            f"interval ({counted}): name files so that corrections come last"
        )


def many_contradict(trial: Trial) -> bool:
    """Whether more rows contradict another of the same meter and interval than corrections explain."""
    return trial.counts[[SUPERSEDED_BY_LATER_ROW, CONFLICTING_ROWS]].sum() > _MANY_CONTRADICT * trial.counts[USED]


def _contradicting_hours(trial: Trial) -> np.ndarray:
    """Return the hour (since 1970, by the stamps) of every row with another reading than the row before it."""
    return np.concatenate([batch.stamp_us for batch in trial.batches])[_contradictions(trial)[:, 1]] // _HOUR_US


def contradicting_rows(trial: Trial) -> dict[str, list[int]]:
    """Return the first rows of each file, by its place, that contradict others, and those; none if that is seldom."""
    if not many_contradict(trial) or trial.settings.format != "long_csv":
        return {}
    pairs = _contradictions(trial)
    pairs = pairs[pairs.max(axis=1).argsort(kind="stable")[:_MOST_PAIRS]]
    begins = np.cumsum([0, *(len(batch.stamp_us) for batch in trial.batches)])
    found: dict[str, set[int]] = {}
    for reading in np.unique(pairs).tolist():
        number = int(np.searchsorted(begins, reading, side="right")) - 1
        batch = trial.batches[number]
        found.setdefault(batch.place, set()).add(int(batch.row_of(reading - begins[number])))
    return {place: sorted(rows) for place, rows in found.items()}


def _contradictions(trial: Trial) -> np.ndarray:
    """Return two readings of a meter and interval that differ, for each that does, (n, 2) int64: which of all."""
    clock, number = Clock(trial.settings, descending=trial.survey.runs_backwards), trial.number_of
    parts, begin = [], 0
    for batch in trial.batches:
        meter = number(batch.meter_ids, batch.meter)
        starts = clock.interval_starts(meter, batch)
        good = np.flatnonzero((meter >= 0) & (starts > LAST_MARK) & np.isfinite(batch.energy))
        parts.append([meter[good], starts[good], batch.energy[good], begin + good])
        begin += len(meter)
    meter, starts, energy, reading = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((starts, meter))
    same = (np.diff(meter[order]) == 0) & (np.diff(starts[order]) == 0)
    at = np.flatnonzero(same & (np.diff(energy[order]) != 0))
    return reading[order][np.stack([at, at + 1], axis=1)]
