"""What is read of an export to judge it: its first readings, and the beginning of every file."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from meterdp.core.stamps import DAY_US, MINUTE_US, utc_offset_minutes
from meterdp.errors import InputError
from meterdp.ingest.batch import BATCH_BYTES, NO_STAMP, Batch, NameIndex, plain_id
from meterdp.ingest.clock import LAST_MARK, Clock
from meterdp.ingest.dense import REASONS, count_reasons
from meterdp.ingest.findings import INNOCENT
from meterdp.ingest.ingest import left_out_of
from meterdp.ingest.members import PACKED, Member, label
from meterdp.ingest.meter_list import MeterList
from meterdp.ingest.readers.interface import format_named, reader
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.streams import Limit, files_of

# What a few seconds are enough for.
MOST_READINGS = 2_000_000
# Of many files so many, spread over all of them, and so much of each.
_MOST_FILES, _BEGIN_BYTES = 200, 1 << 16
_NO_LINK = {"meter_missing", "reading_type_missing"}
# Of such a row nobody can tell whether its day is asked for.
_OF_NO_DAY = {"row_malformed", "stamp_unreadable", "stamp_missing"}
_NOT_ASKED_FOR = {"meter_not_listed", "other_register", "stamp_outside_period", "header_repeated"}


def by_clock_us(utc_us: np.ndarray, time_zone: str) -> np.ndarray:
    """Return what the clock of a zone shows at (n,) instants, all in microseconds since 1970."""
    return utc_us + utc_offset_minutes(utc_us.astype("datetime64[us]"), time_zone) * MINUTE_US


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
    days: frozenset[int] = frozenset()  # of its readings, since 1970
    readings_per_row: int = 1
    named: frozenset[str] = frozenset()  # the meters whose rows it has
    size_bytes: int = 0  # as it lies in the folder, or unpacked from the zip that is the export

    @property
    def of_one_meter(self) -> bool:
        """Whether it has rows of a single meter, of which more may follow."""
        may_go_on = self.size_bytes > _BEGIN_BYTES or self.place.lower().endswith(PACKED)
        return len(self.named) == 1 and may_go_on


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
        starts = np.unique([first // DAY_US for first, _ in self.spans_us])
        follow = all(
            last // DAY_US <= starts[starts > first // DAY_US].min(initial=last) for first, last in self.spans_us
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
    days = frozenset((_by_clock_us(first, np.unique, settings) // DAY_US).tolist())
    span = span_us(first, settings)
    return Begun(number, file.place, None, unusable, *span, days, first.readings_per_row, named, file.size_bytes)


def span_us(batch: Batch, settings: ExportSettings) -> tuple[int, int] | tuple[None, None]:
    """Return the first and the last reading of a batch by the local clock, None if it has none."""
    edges = _by_clock_us(batch, lambda starts_us: starts_us[[starts_us.argmin(), starts_us.argmax()]], settings)
    return tuple(edges.tolist()) if edges.size else (None, None)


def _by_clock_us(batch: Batch, some: Callable[[np.ndarray], np.ndarray], settings: ExportSettings) -> np.ndarray:
    """Return when some readings of a batch start, by the local clock; none where it has none."""
    starts_us = batch.stamp_us[(batch.stamp_us > LAST_MARK) & np.isfinite(batch.energy)]
    if not starts_us.size:
        return starts_us
    starts_us = some(starts_us) - (settings.interval_us if settings.stamps_are_ends else 0)
    return by_clock_us(starts_us, settings.time_zone) if np.all(batch.stamps_are_utc) else starts_us


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
    every = dict(zip(REASONS, counts.tolist(), strict=True))
    rows = {reason: n for reason, n in every.items() if reason not in _NOT_ASKED_FOR}
    bad = {reason: n for reason, n in rows.items() if reason not in INNOCENT | passed_over}
    worst = max(bad, key=bad.get)
    elsewhere = every["stamp_outside_period"] if worst in _OF_NO_DAY else 0
    return worst if 2 * sum(bad.values()) > sum(rows.values()) + elsewhere else None


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
    day = np.floor(first_us / DAY_US)
    until_us = [first_us[day > np.floor(one / DAY_US)].min(initial=np.inf) for one in latest_us]
    files = files_of(path, by_name=settings.packed_by_name)
    return [*zip(begin_us.tolist(), until_us, files, strict=True)]


def names_in(batches: list[Batch]) -> set[str]:
    """Return the meters that some batches name."""
    return {plain_id(name) for batch in batches for name in batch.meter_ids}
