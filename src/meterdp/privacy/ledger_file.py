"""The file of a ledger: append-only events in a chain of hashes, lists of meters, and a copy of both.

Opened, it reads the sums of its last checkpoint, which its key seals, and checks the chain from there.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import numpy as np

from meterdp.errors import InputError, unwritable
from meterdp.privacy.meter_lists import MeterLists, digest_of, hashed, keyed
from meterdp.privacy.spent import LISTED, Entries

_WAIT_SECONDS = 600
_EVENTS_A_CHECKPOINT = 100
_KEY_BYTES = 32
_TABLES = {
    "events": "body TEXT NOT NULL, hash TEXT NOT NULL",
    "meters": "hashes BLOB NOT NULL",
    "lists": "digest TEXT NOT NULL UNIQUE, bitmap BLOB NOT NULL",
}


def _schema(base: str) -> str:
    return "".join(
        f"CREATE TABLE IF NOT EXISTS {base}.{name} (number INTEGER PRIMARY KEY AUTOINCREMENT, {columns});"
        f"CREATE TRIGGER IF NOT EXISTS {base}.{name}_stay BEFORE UPDATE ON {name} "
        "BEGIN SELECT RAISE(ABORT, 'append-only'); END;"
        f"CREATE TRIGGER IF NOT EXISTS {base}.{name}_are_kept BEFORE DELETE ON {name} "
        "BEGIN SELECT RAISE(ABORT, 'append-only'); END;"
        for name, columns in _TABLES.items()
    )


# What need not be read again; if lost, it is made again.
_CHECKPOINT = (
    "CREATE TABLE IF NOT EXISTS main.checkpoint "
    "(only_one INTEGER PRIMARY KEY, number INTEGER, hash TEXT, state TEXT, seal TEXT);"
)


class LedgerFile:
    """An open ledger; nobody else may have it open.

    Raises InputError if it cannot be read or written, was tampered with, lacks its key, or is of an earlier version.
    """

    def __init__(self, path: Path, copy_path: Path, key_path: Path):
        self.path, self.copy_path = path, copy_path
        self.base = self._connected()
        try:
            # The key is on disk before the ledger is one.
            new = not self._value("SELECT count(*) FROM main.sqlite_master")
            if not new and is_of_earlier_version(path):
                raise InputError(
                    "is a ledger of an earlier version", file=path, hint="run `meterdp ledger migrate` on it once"
                )
            self._key = _key(key_path, new and not copy_path.exists())
            with cannot_write(path):
                self.base.executescript(_schema("main") + _CHECKPOINT)
                os.chmod(path, 0o600)
            self.entries, self._last = self._read()
            if self.entries.state.get("key") not in (None, self._name_of_key):
                raise _no_key(key_path)
            self._check_copy()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.base.close()

    def _connected(self) -> sqlite3.Connection:
        with cannot_write(self.path):
            base = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)
            base.execute("PRAGMA synchronous = EXTRA")
            return base

    def _value(self, query: str, *values):
        with cannot_write(self.path):
            row = self.base.execute(query, values).fetchone()
        return None if row is None else row[0]

    def _read(self) -> tuple[Entries, tuple[int, str]]:
        """Return what the events add up to, and the number and hash of the last one."""
        entries, number, before = self._checkpoint() or (Entries(), 0, "")
        rows, _ = self._chained(entries, number, before)
        return entries, (rows[-1][0], rows[-1][2]) if rows else (number, before)

    def _chained(self, entries: Entries, number: int, before: str) -> tuple[list[tuple], list[dict]]:
        """Add up the events after one of this number and hash, checking their chain; return their rows, and them."""
        with cannot_write(self.path):
            rows = self.base.execute(
                "SELECT number, body, hash FROM main.events WHERE number > ? ORDER BY number", (number,)
            ).fetchall()
        events = []
        for expected, (stated, body, digest) in enumerate(rows, start=number + 1):
            if digest != chain(before, body) or stated != expected:
                raise tampered(self.path, "has an event that was changed")
            before = digest
            events.append(json.loads(body))
            entries.apply(events[-1])
        return rows, events

    def _checkpoint(self) -> tuple[Entries, int, str] | None:
        with cannot_write(self.path):
            row = self.base.execute("SELECT number, hash, state, seal FROM main.checkpoint").fetchone()
        if row is None:
            return None
        number, digest, state, seal = row
        there = self._value("SELECT hash FROM main.events WHERE number = ?", number)
        count = self._value("SELECT count(*) FROM main.events WHERE number <= ?", number)
        if not hmac.compare_digest(seal, self._seal(number, digest, state)) or (there, count) != (digest, number):
            raise tampered(self.path, "has an event that was changed")
        return Entries(json.loads(state)), number, digest

    @property
    def _name_of_key(self) -> str:
        return hmac.new(self._key, b"the key of a ledger", "sha256").hexdigest()

    def _seal(self, number: int, digest: str, state: str) -> str:
        return hmac.new(self._key, f"{number}\n{digest}\n{state}".encode(), "sha256").hexdigest()

    def _check_copy(self) -> None:
        if not self.copy_path.exists():
            return
        for number, digest in self._of_copy("SELECT number, hash FROM events ORDER BY number DESC LIMIT 1"):
            if self._value("SELECT hash FROM main.events WHERE number = ?", number) == digest:
                continue
            raise tampered(self.path, "lacks an event that its copy has")

    def _of_copy(self, query: str) -> list[tuple]:
        # Not read-only, as SQLite may have to take back what a crash left half written.
        with (
            cannot_write(self.copy_path),
            closing(sqlite3.connect(f"{self.copy_path.as_uri()}?mode=rw", uri=True)) as copy,
        ):
            made = copy.execute("SELECT name FROM sqlite_master WHERE name = 'events'").fetchone()
            return copy.execute(query).fetchall() if made else []  # a crash came before its first event

    def verified(self) -> list[dict]:
        """Return every event, after checking the chain from the first one, the copy and every list."""
        sums = Entries()
        rows, events = self._chained(sums, 0, "")
        if sums.state != self.entries.state:
            raise tampered(self.path, "has an event that was changed")
        if self.copy_path.exists():
            kept = self._of_copy("SELECT number, body, hash FROM events ORDER BY number")
            if rows[: len(kept)] != kept:
                raise tampered(self.path, "lacks an event that its copy has")
        _ = self.lists
        return events

    @cached_property
    def lists(self) -> MeterLists:
        """The lists of meters, after checking that none was changed."""
        with cannot_write(self.path):
            batches = [row[0] for row in self.base.execute("SELECT hashes FROM main.meters ORDER BY number")]
            bitmaps = dict(self.base.execute("SELECT digest, bitmap FROM main.lists"))
        state = self.entries.state
        if [_digest(batch) for batch in batches] != state["batches"] or {
            name: _digest(bitmap) for name, bitmap in bitmaps.items()
        } != state["lists"]:
            raise tampered(self.path, "has a list of meters that was changed")
        return MeterLists(np.frombuffer(b"".join(batches), dtype="<u8"), bitmaps)

    def knows(self, meters: Sequence[str]) -> np.ndarray:
        """Return which meters are on a list, (M,) bool."""
        return np.isin(keyed(meters, self._key), self.lists.hashes)

    def add_list(self, meters: Sequence[str], former: Sequence[str] = ()) -> tuple[str, list, list]:
        """Make a list known to an open ledger; return its digest, and the events and rows that keep it.

        ``former`` are digests of its file, by which it may be known.
        """
        known = self.entries.state["former"]
        if (same := {known.get(one) for one in former}) != {None} and len(same) == 1:
            return same.pop(), [], []  # a million hashes take seconds
        hashes = hashed(meters, self._key)
        if not meters or hashes.size < len(meters):
            raise InputError(
                "lists no meter, or one twice: names that differ only in case or blanks are the same",
                file="config",
                field="export.meters",
                hint="list every meter once, under a clearly different name",
            )
        digest, events, rows = digest_of(hashes), [], []
        unknown = sorted(set(former) - known.keys())
        if digest not in self.lists.bitmaps:
            _, bitmap, new = self.lists.add(hashes)
            rows = [("meters", (new,)), ("lists", (digest, bitmap))]
            kept = {"bitmap_sha256": _digest(bitmap), "batch_sha256": _digest(new), "key": self._name_of_key}
            events = [{"kind": LISTED, "meters": digest, "former": unknown, **kept}]
        elif unknown:
            kept = {"bitmap_sha256": None, "batch_sha256": None}
            events = [{"kind": LISTED, "meters": digest, "former": unknown, **kept}]
        return digest, events, rows

    def append(self, events: Sequence[dict], rows: Sequence[tuple[str, tuple]] = (), copied: bool = True) -> None:
        """Add events, and the rows (table, values) that belong to them, all or nothing.

        Where not ``copied``, the copy may lack space for them: the next event brings it up to date.
        """
        at = datetime.now(UTC).isoformat(timespec="seconds")
        number, before = self._last
        bodies = []
        for event in events:
            body = as_json_text({**event, "at_utc": at})
            before = chain(before, body)
            bodies.append((body, before))
        with cannot_write(self.path):
            try:
                self._write(bodies, rows, with_copy=True)
            except (sqlite3.Error, OSError):
                if copied:
                    raise
                self._write(bodies, rows, with_copy=False)
        for body, _ in bodies:
            self.entries.apply(json.loads(body))
        self._last = number + len(bodies), before
        if number // _EVENTS_A_CHECKPOINT != self._last[0] // _EVENTS_A_CHECKPOINT:
            self._seal_the_sums()

    def _write(self, bodies: Sequence[tuple[str, str]], rows: Sequence[tuple[str, tuple]], with_copy: bool) -> None:
        with self._copy_attached() if with_copy else nullcontext():
            self.base.execute("BEGIN IMMEDIATE")
            try:
                self.base.executemany("INSERT INTO main.events (body, hash) VALUES (?, ?)", bodies)
                for table, values in rows:
                    marks = ", ".join("?" * len(values))
                    self.base.execute(f"INSERT INTO main.{table} VALUES (NULL, {marks})", values)
                if with_copy:
                    for table in _TABLES:
                        self.base.execute(
                            f"INSERT INTO copy.{table} SELECT * FROM main.{table} WHERE number > "
                            f"(SELECT ifnull(max(number), 0) FROM copy.{table}) ORDER BY number"
                        )
                self.base.execute("COMMIT")
            except BaseException:
                if self.base.in_transaction:
                    self.base.execute("ROLLBACK")
                raise

    @contextmanager
    def _copy_attached(self) -> Iterator[None]:
        """SQLite commits to both files, or to neither."""
        self.base.execute("ATTACH DATABASE ? AS copy", (str(self.copy_path),))
        try:
            self.base.execute("PRAGMA copy.synchronous = EXTRA")
            self.base.executescript(_schema("copy"))
            os.chmod(self.copy_path, 0o600)
            yield
        finally:
            self.base.execute("DETACH DATABASE copy")

    def _seal_the_sums(self) -> None:
        """Keep what the events add up to; without space for it the next opening reads more."""
        number, digest = self._last
        state = as_json_text(self.entries.state)
        with suppress(sqlite3.Error):
            self.base.execute(
                "INSERT OR REPLACE INTO main.checkpoint VALUES (1, ?, ?, ?, ?)",
                (number, digest, state, self._seal(number, digest, state)),
            )


def _key(path: Path, new: bool) -> bytes:
    if new and not path.exists():
        with cannot_write(path):
            write_whole(path, path.with_name(f".{path.name}.part"), secrets.token_hex(_KEY_BYTES).encode())
    try:
        key = bytes.fromhex(path.read_text())
    except (OSError, ValueError):
        key = b""
    if len(key) != _KEY_BYTES:
        raise _no_key(path)
    return key


def write_whole(path: Path, part: Path, data: bytes | memoryview) -> None:
    """Write a file for its owner alone, by way of ``part``: it is on disk under its name, or does not exist."""
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def synced(folder: Path) -> None:
    """Return when the names in a folder are on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _no_key(path: Path) -> InputError:
    what = "is not" if path.exists() else "does not exist; it is"
    return InputError(
        f"{what} the key of the ledger, without which its meters cannot be recognised",
        file=path,
        hint="restore it from the backup of the ledger; nothing is released until then",
    )


def is_ledger(path: Path) -> bool:
    """Whether a file has what every ledger has; nothing is added to it."""
    tables = _tables(path)
    return "events" in tables and not tables.isdisjoint({"lists", "files"})


def is_of_earlier_version(path: Path) -> bool:
    """Whether a ledger holds its files itself."""
    return {"events", "files"} <= _tables(path)


def _tables(path: Path) -> set[str]:
    # Not read-only, as SQLite may have to take back what a crash left half written.
    where = f"{path.resolve().as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(where, timeout=_WAIT_SECONDS, uri=True)) as base:
            return {name for (name,) in base.execute("SELECT name FROM sqlite_master")}
    except sqlite3.Error:
        return set()


def as_json_text(value) -> str:
    """Return a value as JSON, always written alike."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def chain(before: str, body: str) -> str:
    """Return the hash of an event after one with the hash ``before``."""
    return _digest(f"{before}\n{body}".encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tampered(path: Path, what: str) -> InputError:
    return InputError(what, file=path, hint="restore the ledger from a backup; nothing is released until then")


@contextmanager
def cannot_write(path: Path) -> Iterator[None]:
    """Say in one sentence that a file cannot be written."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        if getattr(error, "sqlite_errorname", None) in ("SQLITE_NOTADB", "SQLITE_CORRUPT"):
            raise tampered(path, "is not a ledger, or is damaged") from None
        raise unwritable(error, path, "free disk space, or correct its permissions") from None
