"""Leak scan: are secrets of an export in files that may leave, or where they have no business?

``meterdp audit leaks`` looks into every file below a folder, such as results/release before it is handed over. A
finding names the secret, never its value. In the folder of all results some secrets are at home (``HOMES``).

It finds copies, whole or packed, not what can be worked out: that is what the proofs are for. It cannot read digits
drawn as outlines or pixels, encrypted or otherwise packed data, and, outside Parquet, binary numbers of fewer than
eight bytes. Files are read whole, one after the other.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from meterdp.audit.contents import BYTES, CLOSED, COLUMN, FOOTER, NAME, Piece, read
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

_BLOCK_BYTES = 1 << 24
_STRIDE = 1 << 20
_RELATIVE = 1e-9
# With a decimal point, a decimal comma, or commas between thousands.
_LONG_NUMBERS = tuple(map(re.compile, (rb"\d+(?:\.\d+)?", rb"\d+(?:,\d+)?", rb"\d{1,3}(?:,\d{3})+(?:\.\d+)?")))
# Needles are looked up by so many of their first bytes, then compared whole.
_WIDTHS = (8, 4, 3)
_EVERYWHERE = (NAME, BYTES, FOOTER, COLUMN)


@dataclass(frozen=True)
class Home:
    """Where secrets belong.

    Parameters
    ----------
    files : str
        Pattern of paths below the folder that is scanned; ``*`` crosses folders.
    parts : tuple of str
        Parts of the file.
    kinds : tuple of str
        Kinds of secrets.
    why : str
    """

    files: str
    parts: tuple[str, ...]
    kinds: tuple[str, ...]
    why: str


# What is handed over names the public feeders of the list, where their energy is released, and has no other home.
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
    Home("study/quality_summary.parquet", (COLUMN,), (COUNT,), "what was left out and why"),
    Home("study/report.html", (BYTES,), (COUNT,), "what was left out and why"),
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


@dataclass(frozen=True)
class Finding:
    """A secret where it should not be, or a file that could not be looked into.

    Parameters
    ----------
    secret : str
        Its name, ``CLOSED`` for such a file.
    kind : str
    file : Path
        Below the folder.
    part, where : str
        As of a :class:`meterdp.audit.contents.Piece`.
    """

    secret: str
    kind: str
    file: Path
    part: str
    where: str


class Scanner:
    """Looks for many secrets at once.

    Parameters
    ----------
    secrets : iterable of Secret
    """

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
                            if not (needle.whole and _in_a_word(block, at, needle)):
                                found.add(secret)
        return found

    def _in_digits(self, data: bytes) -> set[Secret]:
        if not self._digits:
            return set()
        written = {token for pattern in _LONG_NUMBERS for token in pattern.findall(data)}
        tokens = {significant(token.decode()) for token in written if len(token) >= FEWEST_DIGITS}
        return {secret for token in tokens for secret in self._digits.get(token, ())}

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


def _in_a_word(block: bytes, at: int, needle: Needle) -> bool:
    before, after = block[max(at - 2, 0) : at], block[at + len(needle.data) :][:2]
    more = after[:1].isalnum() or before[-1:].isalnum()
    fraction = before[-1:] in (b".", b",") and before[:-1].isdigit()
    return more or (needle.data[:1].isdigit() and (fraction or (after[:1] in (b".", b",") and after[1:].isdigit())))


def scan(folder, secrets: Iterable[Secret], homes: Sequence[Home] = ()) -> list[Finding]:
    """Look for secrets in every file below a folder, its names included.

    Parameters
    ----------
    folder : path-like
        Or one file.
    secrets : iterable of Secret
    homes : sequence of Home
        Where which secrets may be; ``HOMES`` if ``folder`` is the results folder.

    Returns
    -------
    list of Finding
        One for each secret and place, in the order of the paths.

    Raises
    ------
    InputError
        If there is no such folder.
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


def scan_text(text: str, secrets: Iterable[Secret]) -> list[str]:
    """Return the names of the secrets in a text, such as what a run printed."""
    return sorted({secret.name for secret in Scanner(secrets).found_in(Piece(BYTES, "text", text.encode()))})


def _pieces(path: Path, file: Path) -> Iterator[Piece]:
    yield Piece(NAME, "name of the file", str(file).encode("utf-8", "surrogateescape"))
    if path.is_symlink() or path.is_file():
        yield from read(path)


def _at_home(home: Home, secret: Secret, file: Path, piece: Piece) -> bool:
    return piece.part in home.parts and secret.kind in home.kinds and fnmatchcase(file.as_posix(), home.files)


def read_secrets(path) -> list[Secret]:
    """Read secrets from a CSV with the columns name, kind and value.

    Raises
    ------
    InputError
        If it is no such file, or a secret could be met by chance. The message holds no value.
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

    Raises
    ------
    InputError
        If it is no such list, or all ids are so short that they are met by chance.
    """
    secrets = []
    for number, meter in enumerate(read_meter_list(path).meter_ids, 1):
        try:
            secrets.append(Secret(f"meter {number} of the list", METER, meter))
        except ValueError:
            continue
    if not secrets:
        raise InputError("has only ids that are met by chance", file=path, hint="scan for other secrets")
    return secrets


def scale_of(recipe) -> LogScale:
    """Return the scale that the recorded configuration of a study names.

    Raises
    ------
    InputError
        If it names none.
    """
    try:
        return PLAIN.of_kind(read_files([recipe])["profiles"]["log_scale"])
    except (KeyError, TypeError):
        raise InputError(
            "does not say profiles.log_scale", file=recipe, hint="give the study/config.yaml of the study"
        ) from None
