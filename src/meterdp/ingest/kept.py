"""What was read from the files of an export, kept so that the next run reads only files that are new or changed.

Utilities deliver a file a month. Kept are the batches of each file as its reader yields them, before clock, grid and
repeats are looked at, so that an export read from them and one read from its files give the same tables to the bit.
A file is known by name, size and time of its last change, and by the settings and the source that read it.

To say what a new reading changed, digests of each meter's months are kept from the last one, not its readings.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from itertools import count, islice, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from meterdp.core.parquet import atomic_path
from meterdp.core.provenance import source_hash
from meterdp.errors import InputError
from meterdp.ingest.batch import NO_CODE, NO_STAMP, Batch, NameIndex, Names, Seen
from meterdp.ingest.clock import midnights_us
from meterdp.ingest.fields import MIXED_OFFSETS
from meterdp.ingest.members import Member
from meterdp.ingest.readers import interface
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.shapes import ISO8601
from meterdp.ingest.streams import files_of

_INDEX = "index.json"
# The zone of its months, in the metadata of the table ``meter_months``.
MONTHS_OF = "months_of"
# Names of a file beyond this are numbered again.
NAMES_BYTES = 32 << 20
_BYTES_PER_NAME = 200
_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("meter", pa.int32()),
        ("circuit", pa.int32()),
        ("stamp_us", pa.int64()),
        ("is_utc", pa.bool_()),
        ("energy", pa.float64()),
        ("unreadable", pa.int8()),
    ]
)


@dataclass(frozen=True)
class Outcome:
    """How many files of an export were read, and how many were known."""

    read: int
    known: int

    def sentence(self) -> str:
        """Return a sentence; how many files there are may be how many meters, so no number is printed."""
        share = self.read / max(self.read + self.known, 1)
        some = f"about {min(max(round(10 * share), 1), 9)} in 10 files are new or changed and were read"
        read = {0.0: "no file is new or changed, so none was read", 1.0: "every file was read"}.get(share, some)
        return f"export: {read}; ingest_changes.parquet says what changed"


class KeptReadings:
    """The batches of the files of an export.

    File names in the private ``folder`` are numbers, because those of the export may be meter ids. What some readers
    keep depends on the public list of meters. ``outcome`` is that of the first time :meth:`batches` was used up.
    """

    def __init__(self, folder, settings: ExportSettings, listed: Collection[str] | None = None):
        self._folder, self._settings = Path(folder), settings
        reads_ahead = interface.format_named(settings.format).reads_ahead
        self._listed = sorted(listed) if listed is not None and reads_ahead else None
        # Other readers pass readings on whatever their day, so a file is not read again for a longer period.
        self._reads_by = settings if reads_ahead else replace(settings, period_us=None)
        self.outcome: Outcome | None = None

    @property
    def months_path(self) -> Path:
        """Where the table ``meter_months`` of the last reading is."""
        return self._folder / "meter_months.parquet"

    def batches(self, path, read: Callable[[Member], Iterator[Batch]]) -> Iterator[Batch]:
        """Yield the batches of an export in order of its files, and keep them; ``read`` reads one of its files."""
        index, kept, new = self._index(), {}, 0
        taken = {*index.values()}
        free = (name for number in count() if (name := f"{number:06d}.arrow") not in taken)
        alike = _Alike(self._settings)
        for member in files_of(path, by_name=self._settings.packed_by_name):
            key = self._key(member)
            name = index.get(key)
            if name is None or not (self._folder / name).is_file():
                name = next(free)
                new += 1
                batches = self._written(self._folder / name, read(member))
            else:
                batches = self._read(self._folder / name, member.place)
            for batch in batches:
                alike.check(member, batch)
                yield batch
            kept[key] = name
        # Only now: a run that fails leaves the index as it was, and files it does not name are written over.
        if kept != index:
            with atomic_path(self._folder / _INDEX) as temporary:
                temporary.write_text(json.dumps(kept))
            names = {*kept.values()}
            for file in self._folder.glob("*.arrow"):
                if file.name not in names:
                    file.unlink()
        if self.outcome is None:
            self.outcome = Outcome(new, len(kept) - new)

    def _index(self) -> dict[str, str]:
        try:
            return json.loads((self._folder / _INDEX).read_text())
        except (OSError, ValueError):
            return {}

    def _key(self, member: Member) -> str:
        about = member.path.stat()
        known = (str(member.path), member.inside, member.size_bytes, about.st_size, about.st_mtime_ns)
        key = repr((known, self._reads_by, self._listed, source_hash(interface.__file__)))
        return hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()

    @staticmethod
    def _written(path: Path, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield batches and write them."""
        known: dict[str, dict[str, int]] = {"meter": {}, "circuit": {}}
        number = {column: NameIndex(names, grow=True) for column, names in known.items()}
        size = 0
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with atomic_path(path) as temporary, pa.ipc.new_stream(temporary, _SCHEMA, options=options) as writer:
            for batch in batches:
                about = {
                    "has_circuits": batch.circuit is not None,
                    "left_out": batch.left_out,
                    "set_aside": dict(batch.set_aside),
                    "again": size > NAMES_BYTES,
                }
                if about["again"]:
                    known, size = {column: {} for column in known}, 0
                    number = {column: NameIndex(names, grow=True) for column, names in known.items()}
                columns = {
                    "row": batch.row_of(np.arange(len(batch.meter))),
                    "stamp_us": batch.stamp_us,
                    "is_utc": np.broadcast_to(batch.stamps_are_utc, len(batch.meter)),
                    "energy": batch.energy,
                    "unreadable": batch.marks,
                }
                for column, ids, codes in (
                    ("meter", batch.meter_ids, batch.meter),
                    ("circuit", batch.circuits, batch.circuit),
                ):
                    before = len(known[column])
                    codes = np.full(len(batch.meter), NO_CODE) if codes is None else codes
                    columns[column] = number[column](ids, codes).astype(np.int32)
                    about[column] = [*islice(reversed(known[column]), len(known[column]) - before)][::-1]
                    size += sum(_BYTES_PER_NAME + len(name) for name in about[column])
                arrays = [pa.array(np.ascontiguousarray(columns[field.name]), field.type) for field in _SCHEMA]
                rows = pa.record_batch(arrays, schema=_SCHEMA)
                writer.write_batch(rows, custom_metadata={"about": json.dumps(about)})
                yield batch

    @staticmethod
    def _read(path: Path, place: str) -> Iterator[Batch]:
        """Yield what was written."""
        names = {"meter": Names(), "circuit": Names()}
        with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as reader:
            while True:
                try:
                    rows, metadata = reader.read_next_batch_with_custom_metadata()
                except StopIteration:
                    return
                about = json.loads(metadata[b"about"])
                if about["again"]:
                    names = {column: Names() for column in names}
                for column, known in names.items():
                    known += about[column]
                values = {field.name: rows[field.name].to_numpy(zero_copy_only=False) for field in _SCHEMA}
                is_utc = values["is_utc"]
                yield Batch(
                    first_row=1,  # not looked at, as the row of every reading is known
                    meter_ids=Seen(names["meter"], len(names["meter"])),
                    meter=values["meter"],
                    stamp_us=values["stamp_us"],
                    stamps_are_utc=bool(is_utc[0]) if len(is_utc) and (is_utc == is_utc[0]).all() else is_utc,
                    energy=values["energy"],
                    circuits=Seen(names["circuit"], len(names["circuit"])) if about["has_circuits"] else (),
                    circuit=values["circuit"] if about["has_circuits"] else None,
                    unreadable=values["unreadable"],
                    left_out=about["left_out"],
                    place=place,
                    rows=values["row"],
                    set_aside=about["set_aside"],
                )


class _Alike:
    """The rule of :class:`~meterdp.ingest.fields.StampParser` over files that are read one by one."""

    def __init__(self, settings: ExportSettings):
        self._settings = settings
        self._carries_offset: bool | None = None

    def check(self, member: Member, batch: Batch) -> None:
        """Refuse a file with a UTC offset where another has none, where bad rows are refused."""
        if self._settings.bad_rows != "refuse" or self._settings.time_format != ISO8601:
            return
        given = np.flatnonzero(batch.stamp_us != NO_STAMP)
        is_utc = np.broadcast_to(batch.stamps_are_utc, len(batch.meter))[given]
        if self._carries_offset is None and len(given):
            self._carries_offset = bool(is_utc[0])
        other = given[is_utc != self._carries_offset]
        if len(other):
            problem, hint = MIXED_OFFSETS
            row, name = batch.row_of(other[0]), self._settings.time_column
            raise InputError(problem, file=member.label, row=row, field=name, hint=hint)


class MeterMonths:
    """Digests of all months of all households, collected chunk by chunk.

    Slots start at ``starts_us`` (T,), UTC; months are local, because utilities cut their files by them.
    """

    def __init__(self, starts_us: np.ndarray, time_zone: str):
        self.time_zone = time_zone
        ends_us = starts_us[[0, -1]] if len(starts_us) else np.zeros(2, np.int64)
        first, last = ends_us.astype("datetime64[us]").astype("datetime64[M]")
        self._months = np.arange(first - 1, last + 2)  # all that the first and the last slot can be in
        begins_us = midnights_us(self._months.astype("datetime64[us]").astype(np.int64), time_zone)
        self._first = np.searchsorted(starts_us, begins_us)
        self._minute = starts_us // 60_000_000  # the slot, wherever the grid begins
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


def compared(now: pd.DataFrame, path: Path, time_zone: str) -> pd.DataFrame:
    """Return rows of the table ``ingest_changes``: ``now`` against the table ``meter_months`` at ``path``, if any is
    there and of months of the same zone.
    """
    before = now.iloc[:0]
    if path.is_file():
        table = pq.read_table(path, partitioning=None)
        # Months of another zone, or of UTC as earlier versions wrote them, hold other readings.
        if table.schema.metadata.get(f"meterdp.{MONTHS_OF}".encode()) == time_zone.encode():
            before = table.to_pandas()
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
