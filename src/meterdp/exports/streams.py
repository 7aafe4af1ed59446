"""Open an export as a stream of bytes: plain, gzip, or a zip with one member, never unpacked to disk."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from meterdp.core.errors import InputError

GZIP_START = b"\x1f\x8b"
ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
# What the decompressors raise on damaged input; pyarrow raises OSError.
DAMAGE = (OSError, EOFError, zlib.error, zipfile.BadZipFile)


def check_file(path) -> Path:
    """Return ``path`` if it is a file that holds something, else raise :class:`InputError`."""
    path = Path(path)
    if not path.is_file():
        raise InputError("does not exist or is not a file", file=path, remedy="give the path of the meter export")
    if not os.access(path, os.R_OK):
        raise InputError("may not be read by this user", file=path, remedy="change its permissions")
    if path.stat().st_size == 0:
        raise empty(path)
    return path


def empty(path) -> InputError:
    """The error for an export without a single reading."""
    return InputError("holds no readings", file=path, remedy="export the readings again")


@contextmanager
def open_bytes(path) -> Iterator:
    """Yield a readable binary stream of the unpacked export.

    Parameters
    ----------
    path : path-like
        A plain file, a gzip file, or a zip with one member; told apart by their first bytes.

    Raises
    ------
    InputError
        If the file is missing, empty, called .gz or .zip but is not, damaged, or a zip without exactly one member.
    """
    path = check_file(path)
    with path.open("rb") as file:
        start = file.read(4)
    try:
        if start.startswith(GZIP_START):
            with pa.input_stream(path, compression="gzip") as stream:
                yield stream
        elif start in ZIP_STARTS:
            with zipfile.ZipFile(path) as archive, archive.open(_only_member(path, archive)) as stream:
                yield stream
        elif path.suffix.lower() in (".gz", ".zip"):
            kind = path.suffix.lower().lstrip(".")
            raise InputError(
                f"is not a {kind} file, despite its name",
                file=path,
                remedy="correct its name or compress it again",
            )
        else:
            with pa.input_stream(path, compression=None) as stream:
                yield stream
    except NotImplementedError:
        raise InputError(
            "is compressed in a way this Python cannot read",
            file=path,
            remedy="unpack it and give the file inside",
        ) from None
    except DAMAGE:
        raise InputError("is cut short or damaged", file=path, remedy="copy or export it again") from None


def _only_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) != 1:
        raise InputError(
            f"holds {len(members)} files",
            file=path,
            remedy="zip one export only, or unpack it and give the path of one file",
        )
    if members[0].flag_bits & 1:
        raise InputError("is protected by a password", file=path, remedy="unpack it and give the file inside")
    return members[0]
