"""Everything that can be read out of a file: its bytes, and what is packed into them.

Parquet footers and columns, archives, SQLite tables and data URIs are taken apart, again and again. What cannot be
taken apart is said: a scan that saw nothing must not look like one that found nothing.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import gzip
import io
import lzma
import re
import sqlite3
import tarfile
import tempfile
import urllib.parse
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

# Parts of a file, in which a secret may be at home or not.
NAME, BYTES, FOOTER, COLUMN, CLOSED = "name", "bytes", "footer", "column", "cannot be opened"
_DEEPEST = 6
_DATA_URI = re.compile(rb"data:[^,\"'\s<>]{0,300};base64,([A-Za-z0-9+/=\s]+)")

# How packed files begin in base64, wherever they stand: gzip, zip, xz, bzip2, Parquet, SQLite, zstd.
_PACKED_BASE64 = re.compile(rb"(?:H4sI|UEsD|/Td6WFoA|Qlpo|UEFSMQ|U1FMaXRl|KLUv)[A-Za-z0-9+/\r\n]{16,}={0,2}")


@dataclass(frozen=True)
class Piece:
    """A part of a file.

    Parameters
    ----------
    part : str
        ``NAME``, ``BYTES``, ``FOOTER``, ``COLUMN`` or ``CLOSED``.
    where : str
        Path to it through the packing, e.g. "member 'x' > column 'y'".
    data : bytes
    numbers : (n,) float64 array
        Where it is a column of numbers.
    """

    part: str
    where: str
    data: bytes = b""
    numbers: np.ndarray | None = None


def pieces(data: bytes, where: str = "", depth: int = 0) -> Iterator[Piece]:
    """Yield the pieces of a file.

    Parameters
    ----------
    data : bytes
        All of the file.
    where, depth
        Of what it was packed in.
    """
    if data[:4] == b"PAR1" and data[-4:] == b"PAR1":
        yield from _tried(_parquet, data, where, depth)
        return
    yield Piece(BYTES, where or "text", data)
    if depth > _DEEPEST:
        yield Piece(CLOSED, where + "packed too deeply")
        return
    for fits, open_it in _OPENERS:
        if fits(data):
            yield from _tried(open_it, data, where, depth)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        yield Piece(BYTES, where + "UTF-16", data.decode("utf-16", "replace").encode("utf-8", "replace"))


def _tried(open_it: Callable, data: bytes, where: str, depth: int) -> Iterator[Piece]:
    try:
        yield from open_it(data, where, depth + 1)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile,
            sqlite3.Error, RuntimeError, pa.ArrowException):  # fmt: skip
        yield Piece(CLOSED, f"{where}damaged {open_it.__name__.strip('_')}")
        yield Piece(BYTES, where or "text", data)


def _parquet(data: bytes, where: str, depth: int) -> Iterator[Piece]:
    size = 8 + int.from_bytes(data[-8:-4], "little")
    yield Piece(COLUMN, where + "pages", data[:-size])
    yield Piece(FOOTER, where + "footer", data[-size:])
    file = pq.ParquetFile(io.BytesIO(data))
    for key, value in (file.metadata.metadata or {}).items():
        yield Piece(FOOTER, f"{where}footer, {key.decode(errors='replace')}", key + b"\n" + value)
        if key == b"ARROW:schema":
            yield Piece(FOOTER, where + "footer, schema", base64.b64decode(value))
    names = "\n".join(file.schema_arrow.names).encode()
    yield Piece(FOOTER, where + "names of columns", names)
    table = file.read()
    for name in table.column_names:
        for chunk in table[name].chunks:
            yield from _array(chunk, f"{where}column '{name}'", depth)


def _array(array: pa.Array, where: str, depth: int) -> Iterator[Piece]:
    kind = array.type
    if pa.types.is_dictionary(kind):
        yield from _array(array.dictionary_decode(), where, depth)
    elif pa.types.is_map(kind):
        yield from _array(array.keys, where, depth)
        yield from _array(array.items, where, depth)
    elif pa.types.is_nested(kind):
        parts = array.flatten()
        for part in parts if isinstance(parts, list) else [parts]:
            yield from _array(part, where, depth)
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        for value in array.drop_null().to_pylist():
            for piece in pieces(value, where + " > ", depth):
                part = CLOSED if piece.part == CLOSED else COLUMN
                yield Piece(part, piece.where, piece.data, piece.numbers)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        yield Piece(COLUMN, where, numbers=array.drop_null().cast(pa.float64(), safe=False).to_numpy())
    elif not pa.types.is_boolean(kind) and not pa.types.is_null(kind):
        words = array.drop_null().unique().cast(pa.string()).to_pylist()
        yield Piece(COLUMN, where, "\n".join(words).encode("utf-8", "replace"))


def _zip(data: bytes, where: str, depth: int) -> Iterator[Piece]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        yield Piece(BYTES, where + "comment", archive.comment)
        for member in archive.infolist():
            yield Piece(NAME, where + "name of a member", member.filename.encode() + b"\n" + member.comment)
            if not member.is_dir():
                yield from pieces(archive.read(member), f"{where}member > ", depth)


def _tar(data: bytes, where: str, depth: int) -> Iterator[Piece]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            yield Piece(NAME, where + "name of a member", f"{member.name}\n{member.linkname}".encode())
            if member.isfile():
                yield from pieces(archive.extractfile(member).read(), f"{where}member > ", depth)


def _sqlite(data: bytes, where: str, depth: int) -> Iterator[Piece]:
    with tempfile.NamedTemporaryFile() as copy:
        copy.write(data)
        copy.flush()
        with closing(sqlite3.connect(f"file:{copy.name}?mode=ro&immutable=1", uri=True)) as base:
            base.text_factory = bytes
            tables = base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (name,) in tables:
                table = name.decode()
                cursor = base.execute('SELECT * FROM "{}"'.format(table.replace('"', '""')))
                for at, column in enumerate(entry[0] for entry in cursor.description):
                    here = f"{where}table '{table}', column '{column}'"
                    rows = base.execute('SELECT * FROM "{}"'.format(table.replace('"', '""')))
                    values = [row[at] for row in rows]
                    numbers = [float(v) for v in values if isinstance(v, int | float)]
                    yield Piece(BYTES, here, numbers=np.array(numbers, float))
                    for value in values:
                        if isinstance(value, bytes):
                            yield from pieces(value, here + " > ", depth)


def _data_uris(data: bytes, where: str, depth: int) -> Iterator[Piece]:
    for found in _DATA_URI.finditer(data):
        try:
            inside = base64.b64decode(found[1], validate=False)
        except binascii.Error:
            yield Piece(CLOSED, where + "data URI")
            continue
        yield from pieces(inside, where + "data URI > ", depth)


def _base64(data: bytes, where: str, depth: int) -> Iterator[Piece]:
    for found in _PACKED_BASE64.finditer(data):
        text = found[0].rstrip(b"=").replace(b"\r", b"").replace(b"\n", b"")
        text = text[: len(text) - (len(text) % 4 == 1)]
        yield from pieces(base64.b64decode(text + b"=" * (-len(text) % 4)), where + "base64 > ", depth)


def _gzip(data: bytes, where: str, depth: int) -> Iterator[Piece]:
    # The header may name the file that was packed; it is found in the bytes.
    yield from pieces(gzip.decompress(data), where + "gzip > ", depth)


def _bzip2(data: bytes, where: str, depth: int) -> Iterator[Piece]:
    yield from pieces(bz2.decompress(data), where + "bzip2 > ", depth)


def _xz(data: bytes, where: str, depth: int) -> Iterator[Piece]:
    yield from pieces(lzma.decompress(data), where + "xz > ", depth)


def _zstd(data: bytes, where: str, depth: int) -> Iterator[Piece]:
    with pa.CompressedInputStream(io.BytesIO(data), "zstd") as stream:
        yield from pieces(stream.read(), where + "zstd > ", depth)


def _percent(data: bytes, where: str, depth: int) -> Iterator[Piece]:
    yield from pieces(urllib.parse.unquote_to_bytes(data), where + "percent-encoded > ", depth)


_OPENERS = (
    (lambda data: data[:2] == b"\x1f\x8b", _gzip),
    (lambda data: data[:3] == b"BZh", _bzip2),
    (lambda data: data[:6] == b"\xfd7zXZ\x00", _xz),
    (lambda data: data[:4] == b"\x28\xb5\x2f\xfd", _zstd),
    (lambda data: data[:4] == b"PK\x03\x04", _zip),
    (lambda data: data[257:262] == b"ustar", _tar),
    (lambda data: data[:16] == b"SQLite format 3\0", _sqlite),
    (lambda data: b";base64," in data, _data_uris),
    (lambda data: _PACKED_BASE64.search(data) is not None, _base64),
    (lambda data: b"data:" in data and b"%3C" in data, _percent),
)


def read(path: Path) -> Iterator[Piece]:
    """Yield the pieces of a file on disk; a link gives its target's name and nothing else."""
    if path.is_symlink():
        yield Piece(NAME, "target of a link", str(path.readlink()).encode())
        return
    try:
        data = path.read_bytes()
    except OSError:
        yield Piece(CLOSED, "unreadable file")
        return
    yield from pieces(data)
