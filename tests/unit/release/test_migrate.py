"""A ledger of an earlier version: same requests, same files, nothing counts less than before."""

import hashlib
import json
import sqlite3
from contextlib import closing
from dataclasses import asdict, replace
from datetime import date

import pytest

from meterdp.__main__ import main
from meterdp.errors import InputError
from meterdp.ingest.meter_list import digest_of_meters
from meterdp.privacy import gaussian
from meterdp.privacy.charge import Charge
from meterdp.privacy.guarantee import Limit, PrivacyBudget
from meterdp.privacy.ledger import Ledger, Request
from meterdp.privacy.periods import interval_of
from meterdp.privacy.spent import MOVED
from meterdp.release.show import migrate
from tests.unit.release.charged import never, refused, released, spent

BUDGET = PrivacyBudget("one household", "replace_one", "town", "2025")
LIMIT = Limit(2.0, 1e-5)
LIST = b"meter_id\na\nb\n"
DAYS = ("2025-01-06", "2025-02-02")
YEAR, NEXT = (interval_of(date(y, 1, 1), date(y, 12, 31), "Europe/London") for y in (2025, 2026))
SCHEMA = """
CREATE TABLE events (number INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE files (request TEXT NOT NULL, name TEXT NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (request, name));
"""


def request(name="mixture", epsilon=1.9, budget=BUDGET, meters=("a", "b"), period=YEAR):
    words = {"artefact": name, "mechanism": "sound", "public": {"epsilon": epsilon}}
    words |= {"export": {"time_zone": "Europe/London"}, "list_of_meters_sha256": hashlib.sha256(LIST).hexdigest()}
    known = (words["list_of_meters_sha256"], digest_of_meters(LIST))
    charge = Charge(gaussian.mu_for(epsilon, 1e-5), 1e-15)
    return Request(budget, words, charge, DAYS, meters, (period,), former_lists=known)


def earlier(path, *requests, files=None, **changed):
    """Write a ledger as the version before did: files inside, a digest for the list, days beside the words."""
    with closing(sqlite3.connect(path)) as base, base:
        base.executescript(SCHEMA)
        before = ""
        for one in requests:
            event = {"at_utc": "2025-03-01T00:00:00+00:00", "account": asdict(one.budget), "request": one.key}
            event |= {"attempt": 1, "words": one.parameters, "days": list(one.days), "meters": digest_of_meters(LIST)}
            event |= asdict(one.charge) | {"cap": asdict(LIMIT)} | changed
            drawn = {"mixture.json": b"drawn for " + one.key.encode(), "page": b""} if files is None else files
            digests = {name: hashlib.sha256(data).hexdigest() for name, data in drawn.items()}
            for kind, more in (("charged", {}), ("stored", {"files": digests}), ("published", {})):
                body = json.dumps(event | {"kind": kind} | more, sort_keys=True, separators=(",", ":"))
                before = hashlib.sha256(f"{before}\n{body}".encode()).hexdigest()
                base.execute("INSERT INTO events (body, hash) VALUES (?, ?)", (body, before))
            base.executemany("INSERT INTO files VALUES (?, ?, ?)", [(one.key, *file) for file in drawn.items()])
    return Ledger(path)


def migrated(path, *requests, **changed):
    ledger = earlier(path, *requests, **changed)
    migrate(ledger)
    return ledger


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


def test_the_same_request_gets_its_files_and_costs_nothing(path, capsys):
    ledger = earlier(path, request(), request("forecasts", 0.3))
    refused(ledger, request(), LIMIT, r"of an earlier version; run `meterdp ledger migrate`")
    assert main(["ledger", "migrate", str(path)]) == 0
    said = capsys.readouterr().out
    assert "8 events, 2 stored releases" in said and "Back it up with ledger.sqlite.key" in said
    for one in (request(), request("forecasts", 0.3)):
        assert released(ledger, one, LIMIT, never) == {"mixture.json": b"drawn for " + one.key.encode(), "page": b""}
    assert ledger.verify()["stored releases"] == 2
    assert spent(ledger, BUDGET) == request().charge + request("forecasts", 0.3).charge
    assert [e["kind"] for e in ledger.events()].count(MOVED) == 2
    assert main(["ledger", "migrate", str(path)]) == 1 and "needs no migration" in capsys.readouterr().err


def test_a_charge_whose_list_was_not_shown_counts_for_everybody_until_it_is(path):
    ledger = migrated(path, request())
    others = replace(request("more", 1.0, meters=("c",)), former_lists=("another digest",))
    refused(ledger, others, LIMIT)
    refused(ledger, request("more", 1.0), LIMIT)
    released(ledger, request("little", 0.1), LIMIT)  # shows the list
    released(ledger, others, LIMIT)
    refused(ledger, replace(request("other", 1.0, meters=("b", "z")), former_lists=()), LIMIT)
    released(ledger, request("more", 1.0, period=NEXT), LIMIT)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"account": asdict(replace(BUDGET, period="pilot"))}, "a period that is no time"),
        ({"days": ["", ""]}, "no days"),
    ],
)
def test_what_has_no_known_time_counts_always(path, changed, what):
    ledger = migrated(path, request(), **changed)
    released(ledger, request("little", 0.1), LIMIT)
    refused(ledger, request("more", 1.0, period=NEXT), LIMIT)


def test_days_outside_of_the_period_they_were_charged_to_count_too(path):
    """An earlier version took any name for a period: here readings of 2026 were charged to 2025."""
    ledger = migrated(path, request(), days=["2026-01-06", "2026-02-02"])
    released(ledger, request("little", 0.1), LIMIT)
    for period in (YEAR, NEXT):
        refused(ledger, request("more", 1.0, period=period), LIMIT)


def test_nothing_that_was_changed_is_migrated(path):
    ledger = earlier(path, request())
    before = path.read_bytes()
    for statement, said in (
        ("UPDATE events SET body = replace(body, 'town', 'city') WHERE number = 2", "event that was changed"),
        ("UPDATE files SET bytes = x'00'", "stored file that was changed"),
        ("DELETE FROM files", "stored file that was changed"),
    ):
        path.write_bytes(before)
        with closing(sqlite3.connect(path)) as base, base:
            base.execute(statement)
        spoilt = path.read_bytes()
        with pytest.raises(InputError, match=said):
            migrate(ledger)
        assert path.read_bytes() == spoilt


def test_a_migration_that_was_killed_is_done_again(path, monkeypatch):
    ledger = earlier(path, request())
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        migrate(ledger)
    monkeypatch.undo()
    migrate(ledger)
    assert released(ledger, request(), LIMIT, never)["page"] == b"" and ledger.verify()["events"] == 4


def test_a_charge_counts_in_the_time_zone_its_own_words_name(path):
    """Two of one name were in different zones: the last hours of 2025 in London are of 2026 in Auckland."""
    days = ("2025-12-01", "2025-12-31")
    london, auckland = (replace(request(epsilon=1.9), days=days), replace(request("little", 0.1), days=days))
    auckland = replace(auckland, parameters=auckland.parameters | {"export": {"time_zone": "Pacific/Auckland"}})
    ledger = migrated(path, london, auckland)
    there = interval_of(date(2026, 1, 1), date(2026, 12, 31), "Pacific/Auckland")
    refused(ledger, request("more", 1.0, period=there), LIMIT)


def test_a_period_at_the_end_of_time_counts_always(path):
    ledger = migrated(path, request(), account=asdict(replace(BUDGET, period="9999")))
    refused(ledger, request("more", 1.0, period=NEXT), LIMIT)
