"""The privacy ledger: what has been spent, on whom and for what.

One SQLite file outside the workflow's outputs. It is append-only (triggers refuse anything else), every event
carries the hash of the one before, and a copy is kept beside it. A release is charged, and the charge is on disk,
before noise is drawn; what was drawn is stored in the same file, all of it or nothing, before anybody sees it. The
same request gets the stored artefact byte for byte. A run that dies in between has spent its charge: the next one is
another attempt, charged again, and within the caps or not at all.

Everything that decides is public: population, period, mechanism, parameters. No record can bring about a refusal.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from scipy.optimize import brentq

from meterdp.accounting import gdp
from meterdp.accounting.gdp_with_response import composed_delta
from meterdp.core.errors import InputError
from meterdp.release.account import CHARGED, PUBLISHED, STORED, Account, Cap

_WAIT_SECONDS = 600
_MOST_EPSILON = 100.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    body TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS files (
    request TEXT NOT NULL, name TEXT NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (request, name)
);
CREATE TRIGGER IF NOT EXISTS events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER IF NOT EXISTS events_are_kept BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER IF NOT EXISTS files_stay BEFORE UPDATE ON files BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER IF NOT EXISTS files_are_kept BEFORE DELETE ON files BEGIN SELECT RAISE(ABORT, 'append-only'); END;
"""


@dataclass(frozen=True)
class Charge:
    """What one release costs: Gaussian DP, assigned labels, and what its discrete noise adds.

    Parameters
    ----------
    mu : float
        The Gaussian measurements are within ``total_variation`` of mu-GDP ones (docs/proofs/safe_noise.md).
    total_variation : float
    responses : tuple of (assignment epsilon, groups, times)
        Randomised responses (docs/proofs/group_forecast.md, 3).
    """

    mu: float
    total_variation: float = 0.0
    responses: tuple[tuple[float, int, int], ...] = ()

    def delta(self, epsilon: float) -> float:
        """Return the delta at ``epsilon``."""
        responses = {(a, groups): times for a, groups, times in self.responses}
        return composed_delta(self.mu, responses, epsilon) + (1 + math.exp(epsilon)) * self.total_variation

    def __add__(self, other: Charge) -> Charge:
        times = Counter()
        for a, groups, count in (*self.responses, *other.responses):
            times[a, groups] += count
        return Charge(
            math.hypot(self.mu, other.mu),
            self.total_variation + other.total_variation,
            tuple((*key, count) for key, count in sorted(times.items())),
        )

    @classmethod
    def of_event(cls, event: Mapping) -> Charge:
        """Read a charge out of an event of the ledger."""
        responses = tuple((float(a), int(groups), int(times)) for a, groups, times in event.get("responses", ()))
        return cls(event["mu"], event["total_variation"], responses)


@dataclass(frozen=True)
class Request:
    """One release, named by public words alone.

    Parameters
    ----------
    account : Account
    words : mapping
        Mechanism and parameters; whatever shapes the release and is public. JSON.
    charge : Charge
    days : (str, str)
        First and last day of the readings it is drawn from; in the ledger, not in the name.
    meters : str or None
        Digest of who is on the public list, likewise.
    """

    account: Account
    words: Mapping
    charge: Charge
    days: tuple[str, str] = ("", "")
    meters: str | None = None

    @property
    def key(self) -> str:
        """SHA-256 of account and words: the name of the request."""
        words = {"account": asdict(self.account), "words": self.words}
        return hashlib.sha256(_json(_same_numbers(words)).encode()).hexdigest()


def epsilon_of(charge: Charge, delta: float) -> float:
    """Return the smallest epsilon at which a charge keeps ``delta``, infinite beyond 100."""
    if charge.delta(0.0) <= delta:
        return 0.0
    if charge.delta(_MOST_EPSILON) > delta:
        # The margin of the grid grows with epsilon, so look for a place before it does.
        tries = [e for e in range(1, int(_MOST_EPSILON)) if charge.delta(e) <= delta]
        if not tries:
            return float("inf")
        return brentq(lambda e: charge.delta(e) - delta, 0.0, tries[0])
    return brentq(lambda e: charge.delta(e) - delta, 0.0, _MOST_EPSILON)


NOTHING = Charge(0.0)


class Ledger:
    """The ledger in one file.

    Parameters
    ----------
    path : path-like
        Created when it does not exist. Its copy ends in ``.copy``; a ledger that lacks what the copy has is refused.
    """

    def __init__(self, path):
        self.path = Path(path).resolve()  # one lock and one copy, however it is named
        self.copy_path = self.path.with_name(f"{self.path.name}.copy")

    def release(
        self,
        request: Request,
        cap: Cap,
        draw: Callable[[], Mapping[str, bytes]],
        check: Callable[[list[dict]], None] = lambda events: None,
    ) -> dict[str, bytes]:
        """Return the files of a release, drawn at most once.

        Parameters
        ----------
        request : Request
        cap : Cap
            Of the request's account.
        draw : callable
            Makes the files; called after the charge is on disk, if the request has no stored files yet.
        check : callable
            Given all events, raises what forbids the request; no other process can write in between.

        Raises
        ------
        InputError
            If the charge would exceed the cap, the ledger was tampered with, or it cannot be written.
        """
        return self.release_all([(request, lambda earlier: draw())], cap, check)[0]

    def release_all(
        self,
        links: Sequence[tuple[Request, Callable[[list[dict[str, bytes]]], Mapping[str, bytes]]]],
        cap: Cap,
        check: Callable[[list[dict]], None] = lambda events: None,
    ) -> list[dict[str, bytes]]:
        """Return the files of releases of one account that are of no use without one another.

        Nothing is charged unless all of them fit into the cap, and no other process can charge in between.

        Parameters
        ----------
        links : sequence of (request, draw)
            ``draw`` is given the files of the requests before it.
        cap, check
            As for :meth:`release`.
        """
        with self._alone(), closing(self._open()) as base:
            events, out = self._verified(base), []
            new = [request for request, _ in links if not _files(base, request.key)]
            if new:
                check(events)
                spent, account = _total(events, new[0].account), new[0].account
                charge = sum((request.charge for request in new), NOTHING)
                if (spent + charge).delta(cap.epsilon) > cap.delta:
                    raise _over(cap, spent, account, charge.total_variation)
            for request, draw in links:
                files = _files(base, request.key)
                if not files:
                    attempt = 1 + sum(e["kind"] == CHARGED and e["request"] == request.key for e in events)
                    self._append(base, CHARGED, request, attempt, cap=asdict(cap))
                    files = dict(draw(out))
                    self._store(base, request, attempt, files)
                out.append(files)
            return out

    def published(self, request: Request) -> None:
        """Note that the files of a request were handed over, once."""
        with self._alone(), closing(self._open()) as base:
            done = {e["request"] for e in self._verified(base) if e["kind"] == PUBLISHED}
            if request.key not in done:
                self._append(base, PUBLISHED, request, 0)

    def events(self) -> list[dict]:
        """Return every event, oldest first, after checking that none was changed or removed."""
        with self._alone(), closing(self._open()) as base:
            return self._verified(base)

    def stored(self, request_key: str) -> dict[str, bytes]:
        """Return the stored files of a request, none if it has none."""
        with self._alone(), closing(self._open()) as base:
            return _files(base, request_key)

    def spent(self, account: Account) -> Charge:
        """Return what an account has spent, lost attempts included."""
        return _total(self.events(), account)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait for every other process; the lock goes with the process that holds it, however that ends."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = open(self.path.with_name(f"{self.path.name}.lock"), "a")
        except OSError as error:
            raise _cannot_write(self.path, error) from None
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _open(self) -> sqlite3.Connection:
        if not self.path.exists() and self.copy_path.exists():
            raise _tampered(self.path, "is missing but for its copy")
        try:
            base = sqlite3.connect(self.path, timeout=_WAIT_SECONDS)
            base.execute("PRAGMA synchronous = EXTRA")
            base.executescript(_SCHEMA)
            os.chmod(self.path, 0o600)
        except (sqlite3.Error, OSError) as error:
            raise _cannot_write(self.path, error) from None
        return base

    def _verified(self, base: sqlite3.Connection) -> list[dict]:
        rows = _rows(base, self.path)
        before = ""
        for body, digest in rows:
            if digest != _chain(before, body):
                raise _tampered(self.path, "has an event that was changed")
            before = digest
        if self.copy_path.exists():
            with self._writing(), closing(sqlite3.connect(f"file:{self.copy_path}?mode=ro", uri=True)) as copy:
                kept = _rows(copy, self.copy_path)
            if rows[: len(kept)] != kept:
                raise _tampered(self.path, "lacks an event that its copy has")
        events = [json.loads(body) for body, _ in rows]
        known = {event["request"] for event in events if event["kind"] == STORED}
        if {request for (request,) in base.execute("SELECT DISTINCT request FROM files")} - known:
            raise _tampered(self.path, "holds files that no release stored")
        for event in events:
            if event["kind"] == STORED:
                found = {name: _digest(data) for name, data in _files(base, event["request"]).items()}
                if found != event["files"]:
                    raise _tampered(self.path, "has a stored file that was changed")
        return events

    def _append(self, base: sqlite3.Connection, kind: str, request: Request, attempt: int, **more) -> None:
        """Add an event; without space for the copy there is no event, so that a full disk spends nothing."""
        with self._writing():
            with base:
                _insert(base, self._event(kind, request, attempt, **more))
                copied = self._copied(base)
            os.replace(copied, self.copy_path)

    def _store(self, base: sqlite3.Connection, request: Request, attempt: int, files: Mapping[str, bytes]) -> None:
        """Keep what was drawn, with or without space for the copy, which the next event brings up to date."""
        key = request.key
        with self._writing():
            with base:  # one transaction: all files and the event, or none
                base.executemany(
                    "INSERT INTO files VALUES (?, ?, ?)", [(key, name, data) for name, data in files.items()]
                )
                _insert(base, self._event(STORED, request, attempt))
            os.replace(self._copied(base), self.copy_path)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise _cannot_write(self.path, error) from None

    def _event(self, kind: str, request: Request, attempt: int, **more) -> Callable[[sqlite3.Connection], dict]:
        def made(base: sqlite3.Connection) -> dict:
            event = {
                "kind": kind,
                "at_utc": datetime.now(UTC).isoformat(timespec="seconds"),
                "account": asdict(request.account),
                "request": request.key,
                "attempt": attempt,
                "words": dict(request.words),
                "days": list(request.days),
                "meters": request.meters,
                **asdict(request.charge),
                **more,
            }
            if kind == STORED:
                event["files"] = {name: _digest(data) for name, data in _files(base, request.key).items()}
            return event

        return made

    def _copied(self, base: sqlite3.Connection) -> Path:
        """Return a copy of the events that may replace the one beside the ledger; files are told by their digests."""
        temporary = self.copy_path.with_name(f".{self.copy_path.name}.part")
        temporary.unlink(missing_ok=True)
        try:
            with closing(sqlite3.connect(temporary)) as copy:
                with copy:
                    copy.executescript(_SCHEMA)
                    copy.executemany("INSERT INTO events (body, hash) VALUES (?, ?)", _rows(base, self.path))
            os.chmod(temporary, 0o600)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return temporary


def is_ledger(path: Path) -> bool:
    """Whether a file has what every ledger has; nothing is added to it."""
    # Not read-only, as SQLite may have to take back what a crash left half written.
    where = f"{path.resolve().as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(where, timeout=_WAIT_SECONDS, uri=True)) as base:
            return {("events",), ("files",)} <= set(base.execute("SELECT name FROM sqlite_master"))
    except sqlite3.Error:
        return False


def _insert(base: sqlite3.Connection, made: Callable[[sqlite3.Connection], dict]) -> None:
    last = base.execute("SELECT hash FROM events ORDER BY number DESC LIMIT 1").fetchone()
    body = _json(made(base))
    base.execute("INSERT INTO events (body, hash) VALUES (?, ?)", (body, _chain(last[0] if last else "", body)))


def _rows(base: sqlite3.Connection, path: Path) -> list[tuple[str, str]]:
    try:
        return base.execute("SELECT body, hash FROM events ORDER BY number").fetchall()
    except sqlite3.Error:
        raise _tampered(path, "is no ledger, or damaged") from None


def _files(base: sqlite3.Connection, request: str) -> dict[str, bytes]:
    return dict(base.execute("SELECT name, bytes FROM files WHERE request = ? ORDER BY name", (request,)))


def _total(events: list[dict], account: Account) -> Charge:
    mine = (e for e in events if e["kind"] == CHARGED and Account(**e["account"]) == account)
    return sum(map(Charge.of_event, mine), NOTHING)


def _same_numbers(value):
    """Write 1 and 1.0 alike, here and in what it holds."""
    if isinstance(value, Mapping):
        return {key: _same_numbers(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_same_numbers(entry) for entry in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _json(value) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _chain(before: str, body: str) -> str:
    return _digest(f"{before}\n{body}".encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _over(cap: Cap, spent: Charge, account: Account, total_variation: float) -> InputError:
    fits = (e / 100 for e in range(1, 5001) if _fits(cap, spent, e / 100, total_variation))
    left = max(fits, default=0.0)
    return InputError(
        f"would exceed what may be spent on '{account.population}' in '{account.period}' (epsilon {cap.epsilon:g} at "
        f"delta {cap.delta:g}); "
        + (f"one more release of epsilon {left:g} would fit" if left else "nothing is left"),
        field="release.epsilon",
        remedy="ask for less, wait for the next period, or have a higher cap agreed on",
    )


def _fits(cap: Cap, spent: Charge, epsilon: float, total_variation: float) -> bool:
    return (spent + Charge(gdp.mu_for(epsilon, cap.delta), total_variation)).delta(cap.epsilon) <= cap.delta


def _tampered(path: Path, what: str) -> InputError:
    return InputError(what, file=path, remedy="restore the ledger from a backup; nothing is released until then")


def _cannot_write(path: Path, error: Exception) -> InputError:
    if getattr(error, "sqlite_errorname", None) == "SQLITE_NOTADB":
        return _tampered(path, "is no ledger, or damaged")
    why = getattr(error, "strerror", None) or getattr(error, "sqlite_errorname", None) or type(error).__name__
    return InputError(f"cannot be written ({why})", file=path, remedy="free disk space, or correct its permissions")
