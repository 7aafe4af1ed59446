"""The files an export is made of: one file, or those of a folder or a zip in order of their names.

A file's name may be a meter id, so no message holds one: it says the place of the file in that order. Files that are
plainly no data are passed over: hidden ones, what macOS and Windows leave behind, and those called README or LICENSE.
"""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from meterdp.errors import InputError

ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
PACKED = (".gz", ".zip")
TEXT = (".csv", ".txt", ".tsv", ".dat", ".xml")
PARQUET = (".parquet", ".pq")
_OTHERS = frozenset(
    ".7z .bak .db .doc .docx .gz .htm .html .jpg .json .log .md .ods .parquet .pdf .png .sql .tar .tmp .xls .xlsm "
    ".xlsx .yaml .zip".split()
)
_MOST_PLACES = 4
# The last are what Spark and Dask leave beside Parquet files.
_NO_DATA = re.compile(
    r"(?i)\..*|~\$.*|__macosx|thumbs\.db|desktop\.ini|(readme|licen[cs]e)(\.\w+)?|_success|_(common_)?metadata"
)


@dataclass(frozen=True)
class Member:
    """One file of an export."""

    path: Path  # the file, or the zip it is in
    name: str  # may be a meter id
    export: Path  # what the user named
    inside: str | None = None  # its full name in the zip
    place: str = ""  # where it stands among several files, for messages; empty if there is no other
    size_bytes: int = 0  # before it is unpacked from a zip
    by_name: bool = False  # whether its name says that it is packed, and not its first bytes

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


def places_of(places: Sequence[str]) -> str:
    """Return the places of several files of an export as one: the first few, and how many more there are."""
    if len(places) < 2:
        return "".join(places)
    numbers, (_, _, behind) = [place.split()[1] for place in places], places[0].partition(" of ")
    *some, last = numbers if len(numbers) <= _MOST_PLACES else (*numbers[:_MOST_PLACES], None)
    more = last or f"{len(numbers) - _MOST_PLACES:,} more"
    return f"files {', '.join(some)} and {more} of {behind}"


def files_before(called: str) -> int:
    """Return how many files of the export come before that of a label."""
    found = re.search(r", file (\d+) of \d+, in order of names$", called)
    return int(found[1]) - 1 if found else 0


def members(path, *, by_name: bool = False) -> list[Member]:
    """Return the files of an export, which is a file, a folder (with all it holds) or a zip, in order of their names.

    A file in a folder may itself be packed. ``by_name`` is whether names say what is packed, and not first bytes.
    Raises ``InputError`` if a folder or zip holds no file, or several that are not all text by their names
    (or, in a folder, all Parquet), and ``zipfile.BadZipFile`` or ``OSError`` if a zip is damaged.
    """
    path = Path(path)
    if path.is_dir():
        names = sorted(
            (file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()), key=in_order
        )
        chosen = _data(path, names, TEXT + PACKED, PARQUET)
        sizes = [(path / name).stat().st_size for name in chosen]
        found = [
            Member(path / name, PurePosixPath(name).name, path, size_bytes=size, by_name=by_name)
            for name, size in zip(chosen, sizes, strict=True)
        ]
    elif is_zip(path, by_name=by_name):
        with zipfile.ZipFile(path) as archive:
            infos = {info.filename: info for info in archive.infolist() if not info.is_dir()}
        chosen = _data(path, sorted(infos, key=in_order), TEXT)
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


def in_order(name: str) -> tuple[str, str]:
    """Return by what names of files are put in order: without extensions first, so that a copy called "day (1).csv"
    comes after "day.csv".
    """
    whole = PurePosixPath(name)
    stem = whole.name.partition(".")[0] if not whole.name.startswith(".") else whole.name
    return str(whole.with_name(stem)), name


def is_zip(path: Path, *, by_name: bool) -> bool:
    if by_name:
        return path.suffix.lower() == ".zip"
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) in ZIP_STARTS


def _data(path: Path, names: Sequence[str], *kinds: tuple[str, ...]) -> list[str]:
    """Return the names that are not plainly no data; several must all have suffixes of one of the kinds."""
    data = [name for name in names if not any(_NO_DATA.fullmatch(part) for part in PurePosixPath(name).parts)]
    if not data:
        raise InputError("holds no files with data", file=path, hint="give the export itself")
    found = {PurePosixPath(name).suffix.lower() for name in data}
    if len(data) > 1 and not any(found <= {*suffixes} for suffixes in kinds):
        others = Counter(_kind(name) for name in data if PurePosixPath(name).suffix.lower() not in kinds[0])
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(others.items()))
        endings = "; or all in ".join(", ".join(suffixes) for suffixes in kinds)
        raise InputError(
            f"holds {len(data)} files that are not all text: {listed}",
            file=path,
            hint=f"leave only files of one export in it, with names that end in {endings}",
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
