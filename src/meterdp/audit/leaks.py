"""Leak scan: are secrets of an export in released files, or where they have no business?

``meterdp audit leaks`` looks into every file below a folder, such as results/release before it is published. A
finding names the secret, never its value. In the folder of all results some secrets are at home (``HOMES``).

It finds copies, whole or packed, not what can be worked out: that is what the proofs are for. It cannot read digits
drawn as outlines or pixels, encrypted or otherwise packed data, and, outside Parquet, binary numbers of fewer than
eight bytes. Files are read whole, one after the other, and what is packed into them (Parquet footers and columns,
archives, SQLite tables, data URIs) is taken apart, again and again. What cannot be taken apart is said: a scan that
saw nothing must not look like one that found nothing.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import csv
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from meterdp.audit.forms import (
    CIRCUIT,
    COUNT,
    DIGEST,
    FEWEST_DIGITS,
    METER,
    READING,
    RELEASE_ID,
    SALT,
    SEED,
    Needle,
    Secret,
    digit_strings,
    floats,
    integers,
    needles,
    significant,
)
from meterdp.core.config import read_files
from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.errors import InputError
from meterdp.ingest.meter_list import read_meter_list

# -- what can be read out of a file ----------------------------------------------------------------------------------

# Parts of a file, in which a secret may be at home or not.
NAME, BYTES, FOOTER, COLUMN, CLOSED = "name", "bytes", "footer", "column", "cannot be opened"
_DEEPEST = 6
_DATA_URI = re.compile(rb"data:[^,\"'\s<>]{0,300};base64,([A-Za-z0-9+/=\s]+)")

# How packed files begin in base64, wherever they stand: gzip, zip, xz, bzip2, Parquet, SQLite, zstd.
_PACKED_BASE64 = re.compile(rb"(?:H4sI|UEsD|/Td6WFoA|Qlpo|UEFSMQ|U1FMaXRl|KLUv)[A-Za-z0-9+/\r\n]{16,}={0,2}")


@dataclass(frozen=True)
class Piece:
    """A part of a file: its bytes, or the numbers (n,) of a column.

    ``part`` is ``NAME``, ``BYTES``, ``FOOTER``, ``COLUMN`` or ``CLOSED``; ``where`` the path to it through the
    packing, e.g. "member 'x' > column 'y'".
    """

    part: str
    where: str
    data: bytes = b""
    numbers: np.ndarray | None = None


def pieces(data: bytes, where: str = "", depth: int = 0) -> Iterator[Piece]:
    """Yield the pieces of a whole file; ``where`` and ``depth`` are those of what it was packed in."""
    if data[:4] == b"PAR1" and data[-4:] == b"PAR1":
        yield from _tried("parquet", _parquet, data, where, depth)
        return
    yield Piece(BYTES, where or "text", data)
    if depth > _DEEPEST:
        yield Piece(CLOSED, where + "packed too deeply")
        return
    for name, fits, open_it in _OPENERS:
        if fits(data):
            yield from _tried(name, open_it, data, where, depth)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        yield Piece(BYTES, where + "UTF-16", data.decode("utf-16", "replace").encode("utf-8", "replace"))


def _tried(name: str, open_it: Callable, data: bytes, where: str, depth: int) -> Iterator[Piece]:
    try:
        yield from open_it(data, where, depth + 1)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile,
            sqlite3.Error, RuntimeError, pa.ArrowException):  # fmt: skip
        yield Piece(CLOSED, f"{where}damaged {name}")
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
                rows = base.execute('SELECT * FROM "{}"'.format(table.replace('"', '""')))
                names = [entry[0] for entry in rows.description]
                for column, values in zip(names, zip(*rows, strict=True), strict=False):
                    here = f"{where}table '{table}', column '{column}'"
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


def _unpacked(name: str, unpack: Callable[[bytes], bytes]) -> Callable:
    """Return what opens a file that is packed whole."""

    def open_it(data: bytes, where: str, depth: int) -> Iterator[Piece]:
        yield from pieces(unpack(data), f"{where}{name} > ", depth)

    return open_it


def _zstd(data: bytes) -> bytes:
    with pa.CompressedInputStream(io.BytesIO(data), "zstd") as stream:
        return stream.read()


# What a file may be, how its bytes begin or look, and what opens it. The header of a gzip may name the file that was
# packed; it is found in the bytes.
_OPENERS = (
    ("gzip", lambda data: data[:2] == b"\x1f\x8b", _unpacked("gzip", gzip.decompress)),
    ("bzip2", lambda data: data[:3] == b"BZh", _unpacked("bzip2", bz2.decompress)),
    ("xz", lambda data: data[:6] == b"\xfd7zXZ\x00", _unpacked("xz", lzma.decompress)),
    ("zstd", lambda data: data[:4] == b"\x28\xb5\x2f\xfd", _unpacked("zstd", _zstd)),
    ("zip", lambda data: data[:4] == b"PK\x03\x04", _zip),
    ("tar", lambda data: data[257:262] == b"ustar", _tar),
    ("sqlite", lambda data: data[:16] == b"SQLite format 3\0", _sqlite),
    ("data_uris", lambda data: b";base64," in data, _data_uris),
    ("base64", lambda data: _PACKED_BASE64.search(data) is not None, _base64),
    (
        "percent",
        lambda data: b"data:" in data and b"%3C" in data,
        _unpacked("percent-encoded", urllib.parse.unquote_to_bytes),
    ),
)


# -- where secrets are at home ---------------------------------------------------------------------------------------

_EVERYWHERE = (NAME, BYTES, FOOTER, COLUMN)


@dataclass(frozen=True)
class Home:
    """Where secrets of some kinds belong, and why: in some parts of the files of a pattern.

    The pattern is of paths below the folder that is scanned; ``*`` crosses folders.
    """

    files: str
    parts: tuple[str, ...]
    kinds: tuple[str, ...]
    why: str


# A released file names the public feeders of the list, where their energy is released, and has no other home.
RELEASE_HOMES = (Home("feeders/*", (BYTES, COLUMN), (CIRCUIT,), "feeders, as the public list names them"),)
# The results folder. Nothing else has a home in release/, in a log, a benchmark, a file name or a Parquet footer.
HOMES = (
    Home("private/*.parquet", (COLUMN,), (METER, CIRCUIT, READING, COUNT), "canonical readings and their counts"),
    Home("private/export/*", (BYTES,), (METER, CIRCUIT, READING), "the simulated export"),
    Home("private/export_kept/*.arrow", (BYTES,), (METER, CIRCUIT, READING), "what was read of the export's files"),
    Home("private/release_id_salt.txt", (BYTES,), (SALT,), "the salt itself"),
    Home("private/*crosswalk.parquet", (COLUMN,), (RELEASE_ID,), "which household a release id belongs to"),
    Home("study/forecasts/*", _EVERYWHERE, (RELEASE_ID,), "forecast files are named by release id"),
    Home("study/group_forecasts/*", _EVERYWHERE, (RELEASE_ID,), "forecast files are named by release id"),
    Home("study/forecast_examples.parquet", (COLUMN,), (READING,), "three example households, Fig. 3"),
    Home("study/example_households.parquet", (COLUMN,), (READING,), "six example households, week by week"),
    Home("study/consumption_quantiles.parquet", (COLUMN,), (READING, COUNT), "quantiles over households"),
    Home("study/coincidence.parquet", (COLUMN,), (READING, COUNT), "the peak of groups of one household"),
    Home("study/total_load.parquet", (COLUMN,), (COUNT,), "households with a reading"),
    Home("study/class_load.parquet", (COLUMN,), (COUNT,), "households of every class"),
    Home("study/quality_summary.parquet", (COLUMN,), (COUNT,), "excluded customers and why"),
    Home("study/report.html", (BYTES,), (COUNT,), "excluded customers and why"),
    Home("study/config.yaml", (BYTES,), (SEED,), "the recipe of a study, never of a release"),
    *(replace(home, files=f"release/{home.files}") for home in RELEASE_HOMES),
)

# The folder .snakemake of a run, which somebody may mail for support.
SNAKEMAKE_HOMES = (
    Home("metadata/*", (BYTES,), (SEED,), "parameters of the rules, from the configuration"),
    Home("metadata/*", (BYTES,), (DIGEST,), "Snakemake's checksums of small inputs, such as the list of meters"),
)
LEDGER_HOMES = (
    Home("*.sqlite*", (BYTES,), (DIGEST,), "whose budget is spent: the ledger knows a list by its digest"),
)
# What the homes are of a folder that is called so.
HOMES_OF = {"release": RELEASE_HOMES, "results": HOMES, "snakemake": SNAKEMAKE_HOMES, "ledger": LEDGER_HOMES}


# -- the scan ------------------------------------------------------------------------------------------------------

_BLOCK_BYTES = 1 << 24
_STRIDE = 1 << 20
_RELATIVE = 1e-9
# With a decimal point, a decimal comma, or commas between thousands.
_LONG_NUMBERS = tuple(map(re.compile, (rb"\d+(?:\.\d+)?", rb"\d+(?:,\d+)?", rb"\d{1,3}(?:,\d{3})+(?:\.\d+)?")))
_POINT_BEFORE = re.compile(rb"\d[.,]\d*$")
# Needles are looked up by so many of their first bytes, then compared whole.
_WIDTHS = (8, 4, 3)


@dataclass(frozen=True)
class Finding:
    """A secret, by its name, where it should not be, or (``CLOSED``) a file that could not be looked into.

    ``file`` lies below the folder; ``part`` and ``where`` are those of a :class:`Piece`.
    """

    secret: str
    kind: str
    file: Path
    part: str
    where: str


class Scanner:
    """Looks for many secrets at once."""

    def __init__(self, secrets: Iterable[Secret]):
        self._secrets = tuple(secrets)
        # Start -> length -> the bytes in full: thousands of ids begin alike.
        self._needles: dict[bytes, dict[int, dict[bytes, list[tuple[Needle, Secret]]]]] = {}
        self._digits: dict[str, list[Secret]] = {}
        values = []
        for secret in self._secrets:
            for needle in set(needles(secret)):
                width = next(width for width in _WIDTHS if len(needle.data) >= width)
                alike = self._needles.setdefault(needle.data[:width], {}).setdefault(len(needle.data), {})
                alike.setdefault(needle.data, []).append((needle, secret))
            for digits in digit_strings(secret):
                self._digits.setdefault(digits, []).append(secret)
            for value in map(abs, floats(secret)):
                values.append((value, _RELATIVE, secret))
                values.append((float(np.float32(value)), 0.0, secret))
            values += [(float(number), 0.0, secret) for number in integers(secret)]
        self._values = values
        self._longest = max((length for lengths in self._needles.values() for length in lengths), default=0)
        self._starts = {width: _Starts(width, self._needles) for width in {len(start) for start in self._needles}}

    def found_in(self, piece: Piece) -> set[Secret]:
        """Return the secrets in a piece."""
        found = set()
        if piece.data:
            found |= self._in_bytes(piece.data) | self._in_digits(piece.data)
        if piece.numbers is not None and piece.numbers.size:
            found |= self._in_numbers(piece.numbers)
        return found

    def _in_bytes(self, data: bytes) -> set[Secret]:
        found = set()
        for begin in range(0, len(data), _BLOCK_BYTES):
            # The end of a block is looked at with the beginning of the next.
            block = data[max(begin - 2, 0) : begin + _BLOCK_BYTES + self._longest + 1]
            for width, starts in self._starts.items():
                for at in starts.places(block):
                    if begin and at < 2:
                        continue  # seen before, with what stands in front of it
                    for length, alike in self._needles[block[at : at + width]].items():
                        for needle, secret in alike.get(block[at : at + length], ()):
                            other = needle.whole and _in_a_word(block, at, needle)
                            if not (other or (needle.digits and _in_decimals(block, at))):
                                found.add(secret)
        return found

    def _in_digits(self, data: bytes) -> set[Secret]:
        if not self._digits:
            return set()
        written = {token for pattern in _LONG_NUMBERS for token in pattern.findall(data)}
        numbers = {significant(token.decode()) for token in written if len(token) >= FEWEST_DIGITS}
        return {secret for token in numbers for secret in self._digits.get(token, ())}

    def _in_numbers(self, numbers: np.ndarray) -> set[Secret]:
        ordered = np.sort(np.abs(numbers[np.isfinite(numbers)]))
        found = set()
        for value, relative, secret in self._values:
            low, high = value * (1 - relative), value * (1 + relative)
            if np.searchsorted(ordered, low, "left") < np.searchsorted(ordered, high, "right"):
                found.add(secret)
        return found


class _Starts:
    """First bytes of needles, to be found in one pass over the data however many they are."""

    def __init__(self, width: int, starts: Iterable[bytes]):
        self._width = width
        codes = [int.from_bytes(start, "little") for start in starts if len(start) == width]
        self._codes = np.unique(np.array(codes, np.uint64))
        self._maybe = np.zeros(1 << 20, bool)
        self._maybe[self._mixed(self._codes)] = True

    def places(self, block: bytes) -> list[int]:
        """Return where in the block one of them stands."""
        count = len(block) - self._width + 1
        if count <= 0:
            return []
        octets = np.frombuffer(block, np.uint8)
        # Eight bytes from every place on, those behind the width left out.
        padded = np.concatenate([octets, np.zeros(8, np.uint8)])
        windows = np.ndarray(count, np.dtype("<u8"), padded, strides=(1,))
        here = []
        for begin in range(0, count, _STRIDE):
            codes = windows[begin : begin + _STRIDE] & np.uint64((1 << 8 * self._width) - 1)
            some = np.flatnonzero(self._maybe[self._mixed(codes)])
            places = np.searchsorted(self._codes, codes[some]).clip(max=len(self._codes) - 1)
            here.append(begin + some[self._codes[places] == codes[some]])
        return np.concatenate(here).tolist()

    @staticmethod
    def _mixed(codes: np.ndarray) -> np.ndarray:
        return (codes * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(44)


def _in_decimals(block: bytes, at: int) -> bool:
    return _POINT_BEFORE.search(block[max(at - 24, 0) : at]) is not None


def _in_a_word(block: bytes, at: int, needle: Needle) -> bool:
    before, after = block[max(at - 2, 0) : at], block[at + len(needle.data) :][:2]
    more = after[:1].isalnum() or before[-1:].isalnum()
    fraction = before[-1:] in (b".", b",") and before[:-1].isdigit()
    return more or (needle.data[:1].isdigit() and (fraction or (after[:1] in (b".", b",") and after[1:].isdigit())))


def scan(folder, secrets: Iterable[Secret], homes: Sequence[Home] = ()) -> list[Finding]:
    """Look for secrets in every file below a folder, or in one file, its names included.

    Returns one finding for each secret and place, in the order of the paths. ``homes`` says where which secrets may
    be: ``HOMES`` if ``folder`` is the results folder. A folder that is not there is refused.
    """
    root = Path(folder)
    if not root.exists():
        raise InputError("is not a folder", file=root, hint="give the folder to look into")
    scanner = Scanner(secrets)
    found: dict[Finding, None] = {}
    for path in [root] if root.is_file() else sorted(root.rglob("*")):
        file = path.relative_to(root.parent if root.is_file() else root)
        for piece in _pieces(path, file):
            if piece.part == CLOSED:
                found[Finding(CLOSED, "", file, CLOSED, piece.where)] = None
            for secret in scanner.found_in(piece):
                if not any(_at_home(home, secret, file, piece) for home in homes):
                    found[Finding(secret.name, secret.kind, file, piece.part, piece.where)] = None
    return sorted(found, key=lambda one: (one.file, one.secret, one.part, one.where))


def _pieces(path: Path, file: Path) -> Iterator[Piece]:
    """Yield the pieces of what is on disk; of a link its target's name and nothing else."""
    yield Piece(NAME, "name of the file", str(file).encode("utf-8", "surrogateescape"))
    if path.is_symlink():
        yield Piece(NAME, "target of a link", str(path.readlink()).encode())
    elif path.is_file():
        try:
            data = path.read_bytes()
        except OSError:
            yield Piece(CLOSED, "unreadable file")
        else:
            yield from pieces(data)


def _at_home(home: Home, secret: Secret, file: Path, piece: Piece) -> bool:
    return piece.part in home.parts and secret.kind in home.kinds and fnmatchcase(file.as_posix(), home.files)


# -- what to look for ----------------------------------------------------------------------------------------------


def read_secrets(path) -> list[Secret]:
    """Read secrets from a CSV with the columns name, kind and value.

    Refused, without the value, if one is so common that it could be met without a leak.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InputError("cannot be read", file=path, hint="save the secrets as CSV in UTF-8") from None
    secrets = []
    for number, row in enumerate(rows, start=2):
        if set(row) != {"name", "kind", "value"} or None in row.values():
            raise InputError("is not a name, a kind and a value", file=path, row=number, hint="write these three")
        try:
            secrets.append(Secret(row["name"], row["kind"], row["value"]))
        except ValueError as error:
            raise InputError(str(error), file=path, row=number, hint="choose another secret") from None
    return secrets


def meters_of(path) -> list[Secret]:
    """Return the meters of a list as secrets, named by their place in its order; too short ids are left out.

    Refused if all are so short.
    """
    secrets = []
    for number, meter in enumerate(read_meter_list(path).meter_ids, 1):
        try:
            secrets.append(Secret(f"meter {number} of the list", METER, meter))
        except ValueError:
            continue
    if not secrets:
        raise InputError("has only ids that occur without a leak", file=path, hint="scan for other secrets")
    return secrets


def scale_of(recipe) -> LogScale:
    """Return the scale that the recorded configuration of a study names."""
    try:
        return PLAIN.of_kind(read_files([recipe])["profiles"]["log_scale"])
    except (KeyError, TypeError):
        raise InputError(
            "does not say profiles.log_scale", file=recipe, hint="give the study/config.yaml of the study"
        ) from None
