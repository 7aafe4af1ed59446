"""Open a file of an export as a stream of bytes: plain, gzip or in a zip, never unpacked to disk.

The files an export is made of: one file, or those of a folder or a zip in order of their names.

A file's name may be a meter id, so no message holds one: it says the place of the file in that order. Files that are
plainly no data are passed over: hidden ones, what macOS and Windows leave behind, and those called README or LICENSE.
"""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import pyarrow as pa

from meterdp.core.regular import check_access, check_file
from meterdp.errors import InputError
from meterdp.ingest.batch import Batch, nothing_but
from meterdp.ingest.settings import ExportSettings

ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
PACKED = (".gz", ".zip")
TEXT = (".csv", ".txt", ".tsv", ".dat", ".xml")
_OTHERS = frozenset(
    ".7z .bak .db .doc .docx .gz .htm .html .jpg .json .log .md .ods .parquet .pdf .png .sql .tar .tmp .xls .xlsm "
    ".xlsx .yaml .zip".split()
)
_NO_DATA = re.compile(r"(?i)\..*|__macosx|thumbs\.db|desktop\.ini|(readme|licen[cs]e)(\.\w+)?")


@dataclass(frozen=True)
class Member:
    """One file of an export.

    Parameters
    ----------
    path : Path
        The file, or the zip it is in.
    name : str
        Its name; may be a meter id.
    inside : str, optional
        Its full name in the zip.
    export : Path
        What the user named.
    place : str
        Where it stands among several files, for messages; empty if there is no other.
    size_bytes : int
        Its size before it is unpacked from a zip.
    by_name : bool
        Whether its name says that it is packed, and not its first bytes.
    """

    path: Path
    name: str
    export: Path
    inside: str | None = None
    place: str = ""
    size_bytes: int = 0
    by_name: bool = False

    @property
    def label(self) -> str:
        """What messages call it."""
        return label(self.export, self.place)

    @property
    def meter_id(self) -> str:
        """Its name without extensions: the meter, where the file is all of one meter."""
        name = self.name.encode(errors="backslashreplace").decode()  # a name need not be text
        while (stem := PurePosixPath(name)).suffix.lower() in TEXT + PACKED and stem.stem != name:
            name = stem.stem
        return name.strip()


def label(export, place: str) -> str:
    """Return what messages call a file of an export."""
    return f"{export}, {place}" if place else str(export)


def members(path, *, by_name: bool = False) -> list[Member]:
    """Return the files of an export in order of their names.

    Parameters
    ----------
    path : path-like
        A file, a folder (with all it holds) or a zip. A file in a folder may itself be packed.
    by_name : bool
        Whether names say what is packed, and not the first bytes of a file.

    Raises
    ------
    InputError
        If a folder or zip holds no file, or several that are not all text by their names.
    zipfile.BadZipFile, OSError
        If a zip is damaged.
    """
    path = Path(path)
    if path.is_dir():
        names = sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
        chosen = _data(path, names, TEXT + PACKED)
        sizes = [(path / name).stat().st_size for name in chosen]
        found = [
            Member(path / name, PurePosixPath(name).name, path, size_bytes=size, by_name=by_name)
            for name, size in zip(chosen, sizes, strict=True)
        ]
    elif is_zip(path, by_name=by_name):
        with zipfile.ZipFile(path) as archive:
            infos = {info.filename: info for info in archive.infolist() if not info.is_dir()}
        chosen = _data(path, sorted(infos), TEXT)
        if any(infos[name].flag_bits & 1 for name in chosen):
            raise InputError("is protected by a password", file=path, hint="unpack it and give what is inside")
        found = [
            Member(path, PurePosixPath(name).name, path, name, size_bytes=infos[name].file_size) for name in chosen
        ]
    else:
        return [Member(path, path.name, path, by_name=by_name)]
    if len(found) == 1:
        return found
    return [
        replace(member, place=f"file {number} of {len(found)}, in order of names")
        for number, member in enumerate(found, start=1)
    ]


def is_zip(path: Path, *, by_name: bool) -> bool:
    """Whether a file is a zip, by its name or by its first bytes."""
    if by_name:
        return path.suffix.lower() == ".zip"
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) in ZIP_STARTS


def _data(path: Path, names: Sequence[str], suffixes: tuple[str, ...]) -> list[str]:
    """Return the names that are not plainly no data; several must all have one of the suffixes."""
    data = [name for name in names if not any(_NO_DATA.fullmatch(part) for part in PurePosixPath(name).parts)]
    if not data:
        raise InputError("holds no files with data", file=path, hint="give the export itself")
    others = Counter(_kind(name) for name in data if PurePosixPath(name).suffix.lower() not in suffixes)
    if others and len(data) > 1:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(others.items()))
        raise InputError(
            f"holds {len(data)} files that are not all text: {kinds}",
            file=path,
            hint=f"leave only files of one export in it, with names that end in {', '.join(suffixes)}",
        )
    return data


def _kind(name: str) -> str:
    """Return the kind of a file; behind the dot may stand a part of an id, or a customer."""
    suffix = PurePosixPath(name).suffix.lower()
    return suffix if suffix in _OTHERS else "of no known kind"


def state_of(path) -> str | None:
    """Return a hash of the names, sizes and times of all files of a folder, None for a file.

    For the workflow: another file, or a change of one, is another hash. The names themselves, which may be meter ids,
    stay out of what it prints and keeps.
    """
    path = Path(path)
    if not path.is_dir():
        return None
    known = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        if file.is_file():
            about = file.stat()
            known.update(os.fsencode(file.relative_to(path)))
            known.update(f"\0{about.st_size}\0{about.st_mtime_ns}\0".encode())
    return known.hexdigest()


GZIP_START = b"\x1f\x8b"
# What the decompressors raise on damaged input; pyarrow raises OSError, and errors of its own on Parquet.
DAMAGE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, pa.ArrowException)


@dataclass
class Limit:
    """How much of each file is looked at, by readers that otherwise go through all of it before they yield anything.

    Parameters
    ----------
    most_bytes : int
        Of each file, unpacked.
    cut : set of str
        Labels of the files that went on behind them.
    """

    most_bytes: int
    cut: set[str] = field(default_factory=set)

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


@contextmanager
def telling_damage(file) -> Iterator[None]:
    """Say in one sentence what a decompressor says in many ways."""
    try:
        yield
    except NotImplementedError:
        raise InputError(
            "is compressed in a way this Python cannot read",
            file=file,
            hint="unpack it and give the file inside",
        ) from None
    except DAMAGE:
        raise InputError("is cut short or damaged", file=file, hint="copy or export it again") from None


def files_of(path, *, by_name: bool = False) -> list[Member]:
    """Return the files of an export in order of their names; see :func:`meterdp.ingest.streams.members`.

    Of one of these files, itself.

    Raises
    ------
    InputError
        If there is none, or files that are no text, or the file is missing, empty or a damaged zip.
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
            yield from read(member)
        except InputError:
            if settings.bad_rows == "refuse" or not (member.place or settings.meter_column is None):
                raise
            yield nothing_but({"file_unreadable": 1}, member.place)


@contextmanager
def open_bytes(member: Member | str | Path) -> Iterator:
    """Yield a readable binary stream of an unpacked file of an export.

    Parameters
    ----------
    member : Member or path-like
        A plain file, a gzip file, or a zip with one member; told apart by their first bytes, or by name. Or a member
        of a zip. A path must be of an export of one file.

    Raises
    ------
    InputError
        If the file is missing, empty, called .gz or .zip but is not, damaged, or a zip of several in a folder.
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
