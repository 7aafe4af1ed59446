"""The privacy ledger: what has been spent, on whom and for what.

Append-only events in one SQLite file outside the workflow's outputs, each with the hash of the one before; a copy of
them is kept beside it. Every charge names the meters it counts for, by a list in which meters are keyed hashes; the
key lies in a file of its own. What was drawn lies in a folder, one archive a release, named by its digest.

A release is charged, and the charge is on disk, before noise is drawn; what was drawn is stored, all of it or
nothing, before anybody sees it. The same request gets the stored files byte for byte. If a run dies in between, the
next one goes on with the answers it had drawn (:mod:`meterdp.privacy.drawn`). Only what dies during a draw has lost
its charge: the next run is another attempt, charged again, and within the limits or not at all.

Everything that decides is public: the list of meters, days, mechanism, parameters. No record brings about a refusal.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from meterdp.errors import InputError
from meterdp.privacy.charge import NOTHING, Charge
from meterdp.privacy.drawn import Drawn, unstopped
from meterdp.privacy.guarantee import Limit, PrivacyBudget
from meterdp.privacy.ledger_file import LedgerFile, as_json_text, cannot_write, synced, tampered, write_whole
from meterdp.privacy.meter_lists import spellings
from meterdp.privacy.periods import Interval, days_in_common, days_read
from meterdp.privacy.spent import (
    CANCELLED,
    CHARGED,
    PUBLISHED,
    RAISED,
    STORED,
    Entry,
    check_budget,
    check_periods,
    most_spent,
    room,
    spent_of,
)

# A request that is not stored is charged, charged again because an attempt was lost, or resumes at no cost.
NEW, LOST, GOES_ON = "new", "lost", "goes on"
DUE = (NEW, LOST)
# Share of their days from which on two releases of the last days of a period are taken for the same.
_SAME_DAYS = 0.8


@dataclass(frozen=True)
class Request:
    """One release, named by public parameters alone."""

    budget: PrivacyBudget
    parameters: Mapping  # whatever shapes the release and is public, JSON; with the budget its name
    charge: Charge
    days: tuple[str, str] = ("", "")  # first and last of the readings it is drawn from
    meters: Sequence[str] | None = field(default=None, repr=False)  # the public list; None counts for all
    periods: tuple[Interval, ...] | None = None  # that its days are in, in UTC; without them it counts in all
    neighbourhoods: str | None = None  # digest of those within which names are hidden
    setting: str = "release.epsilon"  # that asks for it
    label: str | None = None  # the population as people write it
    former_lists: tuple[str, ...] = ()  # digests by which an earlier version of the ledger knew the list

    @property
    def key(self) -> str:
        named = {"account": asdict(self.budget), "words": self.parameters}
        return hashlib.sha256(as_json_text(_same_numbers(named)).encode()).hexdigest()


class Ledger:
    """The ledger in one file, created when it does not exist.

    Beside it, and to be backed up with it, lie its key (``.key``), the folder of what was drawn (``.files``) and a
    copy of the events (``.copy``); a ledger that lacks what the copy has is refused, and so is a new one where these
    are left of another. The folder ``.unfinished`` holds the answers of runs that died.
    """

    def __init__(self, path):
        self.path = Path(path).resolve()  # one lock and one copy, however it is named
        self.copy_path, self.key_path, self.files_path, self.unfinished_path, self.locks_path = (
            self.path.with_name(f"{self.path.name}.{what}")
            for what in ("copy", "key", "files", "unfinished", "locks")
        )

    @property
    def begins(self) -> bool:
        """Whether there is no ledger yet; refused if there was one, as what lies beside it is left."""
        if self.path.exists():
            return False
        if self.copy_path.exists():
            raise tampered(self.path, "is missing, except for its copy")
        if left := [one.name for one in (self.key_path, self.files_path, self.unfinished_path) if one.exists()]:
            raise InputError(
                f"is missing, but not {', '.join(left)}: a new ledger would count nothing as spent",
                file=self.path,
                hint="restore the ledger from a backup or, if nothing was ever released with it, move these away",
            )
        return True

    def check(self, requests: Sequence[Request], limit: Limit) -> dict[str, str]:
        """Refuse what :meth:`charge` would refuse, and charge nothing; return what becomes of what is not stored yet,
        by the key of the request.
        """
        with self._opened() as file:
            charged, _, _ = self._checked(file, requests, limit)
            due = {request.key: LOST if entry.planned is None else NEW for request, entry in charged}
            return {
                request.key: due.get(request.key, GOES_ON)
                for request in requests
                if file.entries.known(request.key)["archive"] is None
            }

    def unfinished(self) -> set[tuple[str, int]]:
        """Return the attempts, by request, that were stopped and can go on."""
        with self._opened() as file:
            last = {key: file.entries.known(key)["attempts"] for key in file.entries.state["requests"]}
            return {(key, attempt) for key, attempt in last.items() if self._goes_on(file, key, attempt)}

    def named(self, request: Request, former: Mapping, *, same_meters: bool = False) -> Request:
        """Return a request under its former parameters if the ledger knows it by them.

        ``same_meters`` is for former parameters that do not name the list: the charge must be for its meters alone.
        """
        if not self.path.exists():
            return request
        with self._opened() as file:
            before = replace(request, parameters=former)
            if same_meters:
                same = file.entries.lists_of(before.key) == {file.add_list(before.meters, before.former_lists)[0]}
                return before if same else request
            return before if file.entries.known(before.key)["attempts"] else request

    def nearest(self, request: Request) -> tuple[dict, list[str]] | None:
        """Return the charge of the stored release that a new request is most like, and the names of the public
        parameters in which the two differ.

        Both are of the same artefact and days, and have meters in common; None if there is none.
        """
        with self._opened() as file:
            meters, alike = _alike(request, file)
            wanted = _named({"release": asdict(request.budget), **request.parameters})
            former = {as_json_text(digest) for digest in request.former_lists}
            found = []
            for event in alike:
                known = _named({"release": event["account"], **event["words"]})
                known = {name: wanted.get(name) if one in former else one for name, one in known.items()}
                differ = [name for name in wanted | known if wanted.get(name) != known.get(name)]
                if _list_of(event, file) == meters:  # the digest is of their groups, too
                    differ = ["groups" if name == "list_of_meters_sha256" else name for name in differ]
                found.append((event, differ))
        return min(reversed(found), key=lambda one: len(one[1]), default=None)

    def replaced(self, request: Request) -> list[tuple[str, Charge]]:
        """Return the day and the charge of every other published release of the same artefact, days and population
        that has half of the meters of a request or more. Lost attempts are left out, as in :meth:`reported`.
        """
        with self._opened() as file:
            meters, alike = _alike(request, file)
            days, found = days_read(request.days, request.parameters), []
            for event in alike:
                known = file.entries.known(event["request"])
                counts = (
                    known["published"] and event["attempt"] == known["attempts"] and event["request"] != request.key
                )
                same = event["account"]["population"] == request.budget.population and _days_of(event) == days
                if counts and same and 2 * np.mean(file.lists.on_both(_list_of(event, file), meters)) >= 1:
                    found.append((event["at_utc"][:10], Charge.of_event(event)))
        return found

    def published(self, request: Request) -> None:
        """Note that the files of a request were written where everybody may see them, once."""
        with self._opened() as file:
            if not file.entries.known(request.key)["published"]:
                file.append([{"kind": PUBLISHED, "request": request.key}])

    def raise_limit(
        self, budget: PrivacyBudget, meters: Sequence[str], periods: tuple[Interval, ...] | None, limit: Limit
    ) -> None:
        """State another limit for the meters of a list, in the place of earlier ones; for all periods if None."""
        with self._opened() as file:
            digest, events, rows = file.add_list(meters)
            check_periods(
                file.entries.entries(), Entry(budget, digest, periods, NOTHING, limit, raises=True), file.lists
            )
            raised = {"kind": RAISED, "account": asdict(budget), "meters": digest, "periods": periods}
            file.append([*events, raised | {"cap": asdict(limit)}], rows)

    def events(self) -> list[dict]:
        """Return every event, oldest first, after checking that none was changed or removed."""
        with self._opened() as file:
            return file.verified()

    def verify(self) -> dict[str, int]:
        """Check every event, list and stored file, naming what was changed; return how many there are."""
        with self._opened() as file:
            events, lists, archives = file.verified(), len(file.lists.bitmaps), file.entries.archives()
            kept = {path.stem for path in self.files_path.glob("*.zip")}
        for archive in archives.values():
            self._read(archive)
        if unknown := sorted(kept.difference(archives.values())):
            names = ", ".join(f"{name[:12]}….zip" for name in unknown)
            raise InputError(
                f"is as it was written, but has no event for {len(unknown)} of the files in {self.files_path.name} "
                f"({names})",
                file=self.path,
                hint="if a run was killed while it stored its files, run that release again, then move away what is "
                "still named here; otherwise this is an older state of the ledger: restore the newest backup, and "
                "release nothing until then",
            )
        return {"events": len(events), "lists of meters": lists, "stored releases": len(archives)}

    def stored(self, request_key: str) -> dict[str, bytes]:
        """Return the stored files of a request, none if it has none."""
        with self._opened() as file:
            archive = file.entries.known(request_key)["archive"]
        return {} if archive is None else self._read(archive)

    def lacks(self, released: Mapping[str, Collection[str]]) -> list[str]:
        """Return the names of those released folders, given with the SHA-256 of their files, that are not stored."""
        with self._opened() as file:
            archives = file.entries.archives()
        left = dict(released)
        for archive in reversed(archives.values()):
            if left:
                stored = {hashlib.sha256(data).hexdigest() for data in self._read(archive).values()}
                left = {name: digests for name, digests in left.items() if not stored.issuperset(digests)}
        return [*left]

    def after(self, requests: Sequence[Request], limit: Limit) -> tuple[list[Charge], tuple[float, Limit]]:
        """Return what meters will have spent once all requests are charged, the charges that no other exceeds; and
        the largest epsilon, in hundredths, that one more release about them could have, with the lowest limit of one.

        All requests are about the same meters and days; what is stored already is not charged again.
        """
        with self._opened() as file:
            charged, _, _ = self._checked(file, requests, limit)
            digest = file.add_list(requests[0].meters, requests[0].former_lists)[0] if requests[0].meters else None
            one = Entry(requests[0].budget, digest, requests[0].periods, NOTHING, limit)
            entries = [*file.entries.entries(), *dict.fromkeys(entry for _, entry in charged)]
            return spent_of(entries, one, file.lists), room(entries, one, file.lists)

    def reported(
        self, requests: Sequence[Request], limit: Limit
    ) -> tuple[list[Charge], tuple[float, Limit], list[Charge]]:
        """Return what a released folder may say of the budget of its meters: what they have spent by releases that
        were stored and by all ``requests``, the charges that no other exceeds; the largest epsilon one more could
        have, with the lowest limit of one of them; and what they have spent in all budget periods together. It is
        the same whichever of the requests is stored first; all are about the same meters and days.

        Lost attempts, which come on top, are left out: whether a run died is internal, never released.
        """
        with self._opened() as file:
            first = requests[0]
            digest = file.add_list(first.meters, first.former_lists)[0] if first.meters else None
            one = Entry(first.budget, digest, first.periods, NOTHING, limit)
            planned = sum(request.charge.total_variation for request in requests)
            asked = {r.key: replace(one, budget=r.budget, charge=r.charge, planned=planned) for r in requests}
            entries, ever = file.entries.reported(asked), replace(one, periods=None)
            return (
                spent_of(entries, one, file.lists),
                room(entries, one, file.lists),
                spent_of(entries, ever, file.lists),
            )

    def spent(self) -> dict[str, list[Charge]]:
        """Return what meters have spent at most by budget period: the charges that no other exceeds."""
        with self._opened() as file:
            entries = file.entries.entries()
            periods: dict[str, set] = {}
            for entry in entries:
                periods.setdefault(entry.budget.period, set()).update(entry.periods or (None,))
            return {
                name: [charge for period in periods[name] for charge in most_spent(entries, period, file.lists)]
                for name in sorted(periods)
            }

    def spent_in_all(self) -> list[Charge]:
        """Return what meters have spent at most in all budget periods together: the charges that no other exceeds."""
        with self._opened() as file:
            return most_spent(file.entries.entries(), None, file.lists)

    def new_meters(self, meters: Sequence[str]) -> tuple[int, int]:
        """Return how many meters are on no list of the ledger, and how many of them are, in all likelihood, under an
        id that is written otherwise and not on the list of these meters.
        """
        with self._opened() as file:
            new = [meter for meter, known in zip(meters, file.knows(meters), strict=True) if not known]
            if not file.lists.hashes.size:
                return len(new), 0
            listed = {*meters}
            other = [sorted(spellings(meter) - listed) for meter in new]
            known = iter(file.knows([name for names in other for name in names]))
            return len(new), sum(any([next(known) for _ in names]) for names in other)

    def names(self, budget: PrivacyBudget) -> bool:
        """Whether something was charged under the names of the population and the period of a budget."""
        with self._opened() as file:
            budgets = [entry.budget for entry in file.entries.entries()]
        return (budget.population, budget.period) in {(one.population, one.period) for one in budgets}

    def left(self) -> dict[str, tuple[float, Limit]]:
        """Return by budget period the largest epsilon, in hundredths, that one more release about all meters could
        have, and the lowest limit that holds for one of them.
        """
        with self._opened() as file:
            entries = file.entries.entries()
            return {name: room(entries, one, file.lists) for name, one in _one_more(entries, None).items()}

    def sizes(self) -> dict[str, int]:
        """Return how many meters are on each list, by its digest."""
        with self._opened() as file:
            return {name: file.lists.count(name) for name in file.lists.bitmaps}

    def of_meter(
        self, meter: str
    ) -> tuple[list[dict], dict[str, tuple[list[Charge], tuple[float, Limit]]], list[Charge]]:
        """Return the events that count for one meter; by budget period what it has spent, and the largest epsilon, in
        hundredths, that one more release could have with its limit; and what it has spent in all periods together.
        """
        with self._opened() as file:
            own = file.add_list([meter])[0]  # forgotten when the file is closed
            entries = [e for e in file.entries.entries() if file.lists.share_meters(e.meters, own)]
            events = [
                event
                for event in file.verified()
                if event["kind"] not in (CHARGED, RAISED) or file.lists.share_meters(_list_of(event, file), own)
            ]
            last = _one_more(entries, own)
            found = {
                name: (spent_of(entries, one, file.lists), room(entries, one, file.lists))
                for name, one in last.items()
            }
            ever = [spent_of(entries, replace(one, periods=None), file.lists) for one in last.values()][-1:]
            return events, found, *(ever or [[]])

    def charge(self, requests: Sequence[Request], limit: Limit) -> dict[str, int]:
        """Charge what is not stored yet, all or nothing; return the number of its attempt by request.

        An attempt that can go on was charged when it began. All requests are about the same meters and days; the
        limit is what these may spend in their budget period.
        Raises InputError if a meter would pass one, the ledger was tampered with, or it cannot be written.
        """
        with self._opened() as file:
            due, events, rows = self._checked(file, requests, limit)
            known = {request.key: file.entries.known(request.key) for request in requests}
            attempts = {key: one["attempts"] for key, one in known.items() if one["archive"] is None}
            if not due:
                return attempts
            charges = []
            for request, entry in due:
                attempts[request.key] += 1
                self.drawn(request.key, attempts[request.key]).begin()
                planned = None if entry.planned is None else {"total_variation": entry.planned}
                charges.append(
                    {
                        "kind": CHARGED,
                        "account": asdict(request.budget),
                        "request": request.key,
                        "attempt": attempts[request.key],
                        "words": dict(request.parameters),
                        "days": list(request.days),
                        "meters": entry.meters,
                        "periods": request.periods,
                        **asdict(request.charge),
                        "planned": planned,
                        "neighbourhoods": request.neighbourhoods,
                        "label": request.label,
                        "cap": asdict(limit),
                    }
                )
            file.append([*events, *charges], rows)
            return attempts

    def drawn(self, key: str, attempt: int) -> Drawn:
        """Return what an attempt has drawn so far."""
        return Drawn(self.unfinished_path / f"{key}-{attempt}")

    @unstopped()
    def cancel(self, attempts: Mapping[str, int]) -> None:
        """Take charges back of which nothing was drawn."""
        with self._opened() as file:
            file.append(
                [
                    {"kind": CANCELLED, "request": key, "attempt": attempt}
                    for key, attempt in attempts.items()
                    if self.drawn(key, attempt).take_back()
                ]
            )

    def store(self, key: str, attempt: int, files: Mapping[str, bytes]) -> None:
        """Keep what was drawn, with or without space for the copy."""
        with self._opened() as file:  # nobody sees the files without their event
            name = self.keep(files)
            file.append([{"kind": STORED, "request": key, "attempt": attempt, "archive": name}], copied=False)
        for one in range(1, attempt + 1):
            self.drawn(key, one).remove()

    def keep(self, files: Mapping[str, bytes]) -> str:
        """Write files into the folder beside the ledger; return the digest by which they are known there."""
        archive = _archived(files)
        name = hashlib.sha256(archive).hexdigest()
        with cannot_write(self.path):
            self.files_path.mkdir(mode=0o700, exist_ok=True)
            write_whole(self._archive_path(name), self.files_path / f".{name}.part", archive)
            synced(self.files_path)
        return name

    def _archive_path(self, name: str) -> Path:
        return self.files_path / f"{name}.zip"

    def _read(self, name: str) -> dict[str, bytes]:
        try:
            archive = self._archive_path(name).read_bytes()
        except OSError:
            archive = b""
        if hashlib.sha256(archive).hexdigest() != name:
            raise tampered(self.path, "has a stored file that was changed or is missing")
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            return {one: files.read(one) for one in files.namelist()}

    def _checked(
        self, file: LedgerFile, requests: Sequence[Request], limit: Limit
    ) -> tuple[list[tuple[Request, Entry]], list, list]:
        """Refuse what does not fit; return what is charged with what, and what makes its list of meters known."""
        new = [request for request in requests if file.entries.known(request.key)["archive"] is None]
        if not new:
            return [], [], []
        digest, events, rows = None, [], []
        if new[0].meters is not None:
            digest, events, rows = file.add_list(new[0].meters, new[0].former_lists)
            file.entries.show(digest, new[0].former_lists)
        standing = {r.key: file.entries.standing_attempt(r.key, digest, r.periods) for r in new}
        due = [r for r in new if not self._goes_on(file, r.key, standing[r.key])]
        entries, charged = file.entries.entries(), []
        for lost in (True, False):  # another attempt needs no plan, whatever is asked for with it does
            part = [request for request in due if (standing[request.key] > 0) == lost]
            if part:
                charge = sum((request.charge for request in part), NOTHING)
                entry = Entry(
                    part[0].budget,
                    digest,
                    part[0].periods,
                    charge,
                    limit,
                    None if lost else charge.total_variation,
                    part[0].neighbourhoods,
                )
                settings = " and ".join(dict.fromkeys(request.setting for request in part))
                check_budget(entries, entry, file.lists, settings)
                entries.append(entry)
                charged += [(request, entry) for request in part]
        return charged, events, rows

    def _goes_on(self, file: LedgerFile, key: str, attempt: int) -> bool:
        """Whether an attempt that stands is the last of its request, and everything it drew is known."""
        return 0 < attempt == file.entries.known(key)["attempts"] and self.drawn(key, attempt).goes_on

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait for every other process; the lock goes with the process that holds it, however that ends."""
        with cannot_write(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = open(self.path.with_name(f"{self.path.name}.lock"), "a")
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextmanager
    def _opened(self) -> Iterator[LedgerFile]:
        with self.alone():
            _ = self.begins
            with closing(LedgerFile(self.path, self.copy_path, self.key_path)) as file:
                yield file

    @contextmanager
    def asked_once(self, requests: Sequence[Request]) -> Iterator[None]:
        """Let one process at a time charge, draw and store each of the requests."""
        with ExitStack() as locks:
            for key in sorted({request.key for request in requests}):
                locks.enter_context(self._locked(key))
            yield

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        path = self.locks_path / key
        while True:
            with cannot_write(self.path):
                self.locks_path.mkdir(mode=0o700, parents=True, exist_ok=True)
                lock = open(path, "a")
            with lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                try:
                    same = os.fstat(lock.fileno()).st_ino == path.stat().st_ino
                except FileNotFoundError:
                    same = False
                if same:  # and not one that its last holder took away
                    try:
                        yield
                    finally:
                        path.unlink(missing_ok=True)
                    return


def _one_more(entries: Sequence[Entry], meters: str | None) -> dict[str, Entry]:
    """Return an entry that costs nothing, about a list of meters, under the last limit of every budget period."""
    return {
        entry.budget.period: replace(entry, meters=meters, charge=NOTHING, planned=None, raises=False)
        for entry in entries
    }


def _alike(request: Request, file: LedgerFile) -> tuple[str | None, list[dict]]:
    """Return the list of a request, and the charges of stored releases of the same artefact and days about some of
    the same meters, oldest first. The last days of two periods are the same if four fifths of the longer ones
    are, or if all that are asked for were released.
    """
    stored = file.entries.archives()
    meters = file.add_list(request.meters, request.former_lists)[0] if request.meters else None
    of, days = request.parameters.get("artefact"), days_read(request.days, request.parameters)

    def same(event: Mapping) -> bool:
        if "window" in event["words"] and "window" in request.parameters and all(own := _days_of(event)):
            return days_in_common(own, days) >= _SAME_DAYS or own[0] <= days[0] <= days[1] <= own[1]
        return list(event.get("days") or ("", "")) == list(request.days) or _days_of(event) == days

    alike = [
        event
        for event in file.verified()
        if event["kind"] == CHARGED
        and event["request"] in stored
        and event["words"].get("artefact") == of
        and same(event)
        and file.lists.share_meters(_list_of(event, file), meters)
    ]
    return meters, alike


def _days_of(event: Mapping) -> list[str | None]:
    return days_read(event.get("days") or ("", ""), event["words"])


def _list_of(event: Mapping, file: LedgerFile) -> str | None:
    """Return the list of a charge or a limit, None for every meter: an earlier version knew it by other digests."""
    listed = event.get("meters")
    return listed if listed in file.lists.bitmaps else None


def _archived(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 1)
    return out.getvalue()


def _named(parameters: Mapping) -> dict[str, str]:
    """Return parameters as JSON, those of a section by the name of both."""
    out = {}
    for key, value in parameters.items():
        section = (
            {f"{key}.{name}": one for name, one in value.items()} if isinstance(value, Mapping) else {key: value}
        )
        out |= {name: as_json_text(_same_numbers(one)) for name, one in section.items()}
    return out


def _same_numbers(value):
    """Write 1 and 1.0 alike, here and in what it holds."""
    if isinstance(value, Mapping):
        return {key: _same_numbers(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_same_numbers(entry) for entry in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
