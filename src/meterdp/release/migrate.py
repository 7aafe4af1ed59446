"""Bring a ledger of an earlier version into the form of this one: same events, same requests, files beside it."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing

from meterdp.errors import InputError
from meterdp.privacy.ledger import Ledger
from meterdp.privacy.ledger_file import LedgerFile, cannot_write, chain, is_of_earlier_version, tampered
from meterdp.privacy.spent import MOVED, STORED


def migrate(ledger: Ledger) -> dict[str, int]:
    """Rewrite a ledger; return how many events and stored releases it has.

    A charge without the list of its meters, which an earlier version knew by a digest alone, counts for every meter
    until a release shows that list.

    Parameters
    ----------
    ledger : Ledger

    Raises
    ------
    InputError
        If it is of this version already, was tampered with, or the disk is full; then it stays as it was.
    """
    with ledger.alone():
        if not is_of_earlier_version(ledger.path):
            raise InputError("needs no migration", file=ledger.path, hint="use it as it is")
        events, stored = _checked(ledger)
        new_path, new_copy = (path.with_name(f".{path.name}.part") for path in (ledger.path, ledger.copy_path))
        for path in (new_path, new_copy):
            path.unlink(missing_ok=True)
        LedgerFile(new_path, new_copy, ledger.key_path).close()  # makes tables and key
        with cannot_write(new_path), closing(sqlite3.connect(new_path)) as base, base:
            base.executemany("INSERT INTO events (body, hash) VALUES (?, ?)", events)
        moved = [
            {"kind": MOVED, "request": request, "archive": ledger.keep(files)} for request, files in stored.items()
        ]
        with closing(LedgerFile(new_path, new_copy, ledger.key_path)) as file:
            file.append(moved)
            file.verified()
        with cannot_write(ledger.path):
            # Between the two the copy lacks the last events, which a copy may.
            os.replace(new_path, ledger.path)
            if new_copy.exists():
                os.replace(new_copy, ledger.copy_path)
    return {"events": len(events) + len(moved), "stored releases": len(moved)}


def _checked(ledger: Ledger) -> tuple[list[tuple[str, str]], dict[str, dict[str, bytes]]]:
    """Return events and stored files by request, after checking both as that version did."""
    with cannot_write(ledger.path), closing(sqlite3.connect(ledger.path)) as base:
        rows = base.execute("SELECT body, hash FROM events ORDER BY number").fetchall()
        stored: dict[str, dict[str, bytes]] = {}
        for request, name, data in base.execute("SELECT request, name, bytes FROM files ORDER BY request, name"):
            stored.setdefault(request, {})[name] = data
    before, declared = "", {}
    for body, digest in rows:
        if digest != chain(before, body):
            raise tampered(ledger.path, "has an event that was changed")
        before = digest
        event = json.loads(body)
        if event["kind"] == STORED:
            declared[event["request"]] = event["files"]
    if {request: _digests(files) for request, files in stored.items()} != declared:
        raise tampered(ledger.path, "has a stored file that was changed")
    if ledger.copy_path.exists():
        with cannot_write(ledger.copy_path), closing(sqlite3.connect(ledger.copy_path)) as copy:
            kept = copy.execute("SELECT body, hash FROM events ORDER BY number").fetchall()
        if rows[: len(kept)] != kept:
            raise tampered(ledger.path, "lacks an event that its copy has")
    return rows, stored


def _digests(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
