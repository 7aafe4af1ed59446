"""Open a file of an export as a stream of bytes: plain, gzip or in a zip, never unpacked to disk."""

from __future__ import annotations

import codecs
import io
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from meterdp.core.regular import check_access, check_file
from meterdp.errors import InputError
from meterdp.ingest.batch import Batch, nothing_but
from meterdp.ingest.members import PACKED, Member, is_zip, members
from meterdp.ingest.settings import ExportSettings

GZIP_START = b"\x1f\x8b"
# What the decompressors raise on damaged input; pyarrow raises OSError, and errors of its own on Parquet.
DAMAGE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, pa.ArrowException)
# Windows writes a little more under these names than they stand for. None has codes that hold for what follows, so
# nothing in one line changes how another is read.
_OF_WINDOWS = {"shift_jis": "cp932", "big5": "cp950", "euc_kr": "cp949"}


@dataclass
class Limit:
    """How much of each file is looked at by readers that otherwise go through all of it before they yield."""

    most_bytes: int  # of each file, unpacked
    cut: set[str] = field(default_factory=set)  # labels of the files that went on behind them

    def start_of(self, stream, label: str) -> _Start:
        """Return a stream of the whole lines among the first bytes of a file."""
        return _Start(stream, label, self)


class _Start:
    def __init__(self, stream, label: str, limit: Limit):
        self._stream, self._label, self._limit, self._left = stream, label, limit, limit.most_bytes

    def read(self, size: int) -> bytes:
        if size < self._left:
            more = self._stream.read(size)
            self._left -= len(more)
            return more
        more = self._stream.read(self._left + 1) if self._left else b""
        if len(more) > self._left:
            self._limit.cut.add(self._label)
            more = more[: more.rfind(b"\n") + 1 or self._left]
        self._left = 0
        return more


class _AsUtf8(io.RawIOBase):
    """Text of another encoding as UTF-8; bytes that mean nothing in it are marked as such, U+FFFD."""

    def __init__(self, stream, encoding: str):
        decoder = codecs.getincrementaldecoder(_OF_WINDOWS.get(encoding, encoding))
        self._stream, self._decoder, self._rest = stream, decoder("replace"), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        more = b" "
        while not self._rest and more:
            more = self._stream.read(len(buffer))
            self._rest = self._decoder.decode(more, final=not more).encode()
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


@contextmanager
def open_text(member: Member | str | Path, encoding: str) -> Iterator:
    """Yield what :func:`open_bytes` does of a text, as UTF-8."""
    with open_bytes(member) as stream:
        yield stream if encoding in ("ascii", "utf-8") else io.BufferedReader(_AsUtf8(stream, encoding), 1 << 20)


@contextmanager
def telling_damage(file) -> Iterator[None]:
    """Say in one sentence what a decompressor says in many ways."""
    try:
        yield
    except io.UnsupportedOperation:  # an OSError of ours, not of the file
        raise
    except NotImplementedError:
        raise InputError(
            "is compressed in a way this Python cannot read",
            file=file,
            hint="unpack it and give the file inside",
        ) from None
    except DAMAGE:
        raise InputError("is cut short or damaged", file=file, hint="copy or export it again") from None


def files_of(path, *, by_name: bool = False) -> list[Member]:
    """Return the files of an export in order of their names; of one of these files, itself.

    Raises ``InputError`` if there is none, or files that are no text, or the file is missing, empty or a damaged zip.
    """
    if isinstance(path, Member):
        return [path]
    path = Path(path)
    if not path.is_dir():
        check_file(path)
    with telling_damage(path):
        return members(path, by_name=by_name)


def file_by_file(path, settings: ExportSettings, read: Callable[[Member], Iterator[Batch]]) -> Iterator[Batch]:
    """Yield what ``read`` yields of each file of an export.

    A file among several, or named after a meter, may hold the rows of one meter. So where bad rows are left out, one
    that cannot be read is counted as far as it was not read, and ends nothing.
    """
    for member in files_of(path, by_name=settings.packed_by_name):
        check_access(member.path, member.label)  # no row can take that away
        try:
            for batch in read(member):
                yield replace(batch, place=member.place)
        except InputError:
            if settings.bad_rows == "refuse" or not (member.place or settings.meter_column is None):
                raise
            yield nothing_but({"file_unreadable": 1}, member.place)


def ahead(batches: Iterator[Batch], most: int = 4) -> Iterator[Batch]:
    """Yield batches that another thread reads, at most so many of them ahead, in their order."""
    waiting: deque[Future] = deque()
    with ThreadPoolExecutor(1) as thread:
        try:
            while True:
                while len(waiting) < most:
                    waiting.append(thread.submit(next, batches, None))
                batch = waiting.popleft().result()
                if batch is None:
                    return
                yield batch
        finally:
            thread.shutdown(cancel_futures=True)
            batches.close()


@contextmanager
def open_bytes(member: Member | str | Path) -> Iterator:
    """Yield a readable binary stream of an unpacked file of an export: plain, gzip, or a zip with one file in it,
    distinguished by the first bytes, or by name. A path must be of an export of one file.

    Raises ``InputError`` if the file is missing, empty, called .gz or .zip but is not, damaged, or a zip of several
    in a folder.
    """
    if not isinstance(member, Member):
        files = files_of(member)
        if len(files) != 1:
            raise InputError(
                f"holds {len(files)} files",
                file=member,
                hint="give an export of this format as one file, plain or packed",
            )
        member = files[0]
    if member.inside is not None:
        with telling_damage(member.label), zipfile.ZipFile(member.path) as archive:
            with archive.open(member.inside) as stream:
                yield stream
        return
    path = check_file(member.path, member.label)
    if is_zip(path, by_name=member.by_name):
        with telling_damage(member.label):
            inner = members(path, by_name=member.by_name)
        if len(inner) != 1:
            raise InputError(
                f"holds {len(inner)} files", file=member.label, hint="put them into one folder without packing them"
            )
        with open_bytes(replace(inner[0], export=member.export, place=member.place)) as stream:
            yield stream
        return
    with path.open("rb") as file:
        packed = file.read(len(GZIP_START)) == GZIP_START
    suffix = path.suffix.lower()
    if not packed and suffix in PACKED:
        raise InputError(
            f"is not a {suffix.lstrip('.')} file, despite its name",
            file=member.label,
            hint="correct its name or compress it again",
        )
    packed &= not member.by_name or suffix == ".gz"
    with telling_damage(member.label), path.open("rb") as plain:
        if not packed:
            yield plain
            return
        with pa.input_stream(plain, compression="gzip") as stream:
            yield stream
