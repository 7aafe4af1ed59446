"""The ledger: charged before drawn, drawn once, within the caps, and nothing is forgotten."""

import fcntl
import hashlib
import json
import multiprocessing
import os
import signal
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.privacy import gaussian, ledger_file
from meterdp.privacy.charge import Charge
from meterdp.privacy.guarantee import Limit, PrivacyBudget
from meterdp.privacy.ledger import Ledger, Request
from meterdp.privacy.periods import interval_of
from meterdp.privacy.spent import CANCELLED, CHARGED, LISTED, PUBLISHED, RAISED, STORED
from meterdp.release.show import most_by_period
from tests.unit.release.charged import fails, kinds, never, refused, released, released_all, spent

BUDGET = PrivacyBudget("one household", "replace_one", "made-up town", "2026")
LIMIT = Limit(2.0, 1e-5)
TV = 1e-13
WIDE = Limit(12.0, 1e-5)
DAYS = ("2026-01-01", "2026-01-31")
YEAR = interval_of(date(2026, 1, 1), date(2026, 12, 31), "Europe/London")


def request(name="mixture", epsilon=1.0, budget=BUDGET):
    return Request(budget, {"mechanism": name}, Charge(gaussian.mu_for(epsilon, 1e-5), TV))


def listed(*meters, name="mixture", epsilon=0.5, period=YEAR, limit=LIMIT, **more):
    words = {"mechanism": name, "who": hashlib.sha256(repr(sorted(meters)).encode()).hexdigest(), "epsilon": epsilon}
    return Request(BUDGET, words, Charge(gaussian.mu_for(epsilon, 1e-5), TV), DAYS, meters, (period,), **more)


def lost():
    fails(ArithmeticError("nothing was released"))


def test_a_charge_is_on_disk_before_noise_is_drawn(ledger):
    def draw():
        with sqlite3.connect(f"file:{ledger.path}?mode=ro", uri=True) as other:
            (body,) = other.execute("SELECT body FROM events").fetchone()
        assert json.loads(body)["kind"] == CHARGED and json.loads(body)["mu"] == request().charge.mu
        return {"a.json": b"noise"}

    assert released(ledger, request(), LIMIT, draw) == {"a.json": b"noise"}
    assert kinds(ledger) == [CHARGED, STORED]


def test_the_same_request_gets_the_same_bytes_and_no_charge(ledger):
    first = released(ledger, request(), LIMIT, lambda: {"a": os.urandom(64), "b": b""})
    assert released(ledger, request(), LIMIT, never) == first
    assert spent(ledger, BUDGET) == request().charge
    ledger.published(request())
    ledger.published(request())
    assert kinds(ledger) == [CHARGED, STORED, PUBLISHED]


def test_charges_compose_as_gaussian_dp_does_up_to_the_cap(ledger):
    """Oracle: the closed form of the sum of squares."""
    small = [request(str(i), 0.5) for i in range(100)]
    allowed = 0
    with pytest.raises(
        InputError, match=r"release\.epsilon.*one more release of epsilon 0\.\d+ would fit"
    ) as refusal:
        for one in small:
            released(ledger, one, LIMIT)
            allowed += 1
    mu = gaussian.mu_for(0.5, 1e-5)
    most = max(n for n in range(1, 100) if gaussian.delta(mu * np.sqrt(n), 2.0) + (1 + np.exp(2)) * n * TV <= 1e-5)
    assert allowed == most > 2
    left = float(str(refusal.value).split("release of epsilon ")[1].split(" ")[0])
    released(ledger, request("last", left), LIMIT)
    with pytest.raises(InputError):
        released(ledger, request("too much", 0.1), LIMIT, never)


def test_a_draw_that_failed_is_spent_and_the_next_attempt_is_charged_again(ledger):
    with pytest.raises(ArithmeticError):
        released(ledger, request(), LIMIT, lost)
    assert kinds(ledger) == [CHARGED]
    released(ledger, request(), LIMIT)
    assert kinds(ledger) == [CHARGED, CHARGED, STORED]
    assert [e["attempt"] for e in ledger.events()] == [1, 2, 2]
    assert spent(ledger, BUDGET).mu == pytest.approx(np.sqrt(2) * request().charge.mu)
    refused(ledger, request("more", 1.5), LIMIT)  # beside one attempt it would fit


def draw_and_note(path):
    def draw():
        noise = os.urandom(16)
        with open(path, "ab") as file:
            file.write(noise)
            file.flush()
            os.fsync(file.fileno())
        time.sleep(0.002)
        return {"a": noise}

    return draw


def one_release(folder, start):
    start.wait()
    released(Ledger(folder / "ledger.sqlite"), request(), WIDE, draw_and_note(folder / "drawn"))


def test_of_eight_processes_one_draws(tmp_path):
    start = multiprocessing.Event()
    processes = [multiprocessing.Process(target=one_release, args=(tmp_path, start)) for _ in range(8)]
    for process in processes:
        process.start()
    start.set()
    for process in processes:
        process.join()
    assert {process.exitcode for process in processes} == {0}
    assert (tmp_path / "drawn").stat().st_size == 16
    assert kinds(Ledger(tmp_path / "ledger.sqlite")) == [CHARGED, STORED]


def test_a_run_killed_at_any_moment_has_paid_for_what_it_drew(tmp_path):
    ready = multiprocessing.Event()
    ready.set()
    generator = np.random.default_rng(5)
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for _ in range(40):
        process = multiprocessing.Process(target=one_release, args=(tmp_path, ready))
        process.start()
        time.sleep(generator.uniform(0, 0.06))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        drawn = (tmp_path / "drawn").stat().st_size // 16 if (tmp_path / "drawn").exists() else 0
        events = ledger.events()
        charged = sum(e["kind"] == CHARGED for e in events)
        assert drawn <= charged
        assert sum(e["kind"] == STORED for e in events) <= 1
    stored = released(ledger, request(), WIDE, draw_and_note(tmp_path / "drawn"))
    assert stored["a"] in (tmp_path / "drawn").read_bytes()
    assert released(ledger, request(), WIDE, never) == stored


def spoil(path, *statements):
    with closing(sqlite3.connect(path)) as base, base:
        for (trigger,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            base.execute(f"DROP TRIGGER {trigger}")
        for statement in statements:
            base.execute(statement)


@pytest.mark.parametrize("sealed", [False, True], ids=["read from the start", "read from a checkpoint"])
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE events SET body = replace(body, 'made-up', 'other') WHERE number = 2", "was changed"),
        ("DELETE FROM events WHERE number = 2", "was changed"),
        ("DELETE FROM events WHERE number = (SELECT max(number) FROM events)", "lacks an event that its copy has"),
        ("UPDATE lists SET bitmap = x'00'", "list of meters that was changed"),
        ("UPDATE meters SET hashes = x'0011223344556677'", "list of meters that was changed"),
        ("INSERT INTO lists VALUES (NULL, 'a list of nobody', x'00')", "list of meters that was changed"),
    ],
)
def test_tampering_is_found_and_nothing_is_released(ledger, monkeypatch, statement, said, sealed):
    if sealed:
        monkeypatch.setattr(ledger_file, "_EVENTS_A_CHECKPOINT", 4)
    released(ledger, listed("a", "b"), LIMIT)
    ledger.published(listed("a", "b"))
    released(ledger, listed("a", name="one more"), LIMIT)
    spoil(ledger.path, statement)
    with pytest.raises(InputError, match=said):
        ledger.verify()
    if sealed and "number = 2" in statement:  # what a checkpoint seals is read again by `meterdp ledger verify` alone
        return
    refused(ledger, listed("a", name="another"), LIMIT, said)


@pytest.mark.parametrize(
    "statement",
    [
        'UPDATE checkpoint SET state = replace(state, \'"mu":\', \'"mu":0.0,"nu":\')',
        "UPDATE checkpoint SET number = number - 1",
        "UPDATE checkpoint SET seal = CASE substr(seal, 1, 1) WHEN '0' THEN '1' ELSE '0' END || substr(seal, 2)",
    ],
)
def test_a_checkpoint_holds_what_its_key_sealed(ledger, monkeypatch, statement):
    monkeypatch.setattr(ledger_file, "_EVENTS_A_CHECKPOINT", 2)
    released(ledger, request(), LIMIT)
    spoil(ledger.path, statement)
    refused(ledger, request("another"), LIMIT, "has an event that was changed")


def test_a_checkpoint_changes_nothing(tmp_path, monkeypatch):
    """Oracle: a ledger that reads every event every time."""
    kept = {}
    for number, every in enumerate((10_000, 1, 3)):
        monkeypatch.setattr(ledger_file, "_EVENTS_A_CHECKPOINT", every)
        one = Ledger(tmp_path / f"{number}.sqlite")
        for epsilon, meters in ((0.5, "ab"), (0.7, "bc"), (0.4, "abc")):
            released(one, listed(*meters, epsilon=epsilon), LIMIT)
        with pytest.raises(InputError) as refusal:
            released(one, listed("b", epsilon=1.9), LIMIT, never)
        kept[every] = str(refusal.value), one.spent(), one.verify()
    assert kept[1] == kept[3] == kept[10_000]


def test_a_stored_file_that_was_changed_or_is_missing_is_never_handed_over(ledger):
    released(ledger, request(), LIMIT)
    (archive,) = ledger.files_path.iterdir()
    assert archive.stat().st_mode & 0o077 == 0 == ledger.files_path.stat().st_mode & 0o077
    archive.write_bytes(archive.read_bytes()[:-1])
    for _ in range(2):
        refused(ledger, request(), LIMIT, "stored file that was changed or is missing")
        with pytest.raises(InputError, match="stored file that was changed or is missing"):
            ledger.verify()
        archive.unlink(missing_ok=True)


def test_a_ledger_without_its_key_is_refused(ledger, tmp_path):
    other = Ledger(tmp_path / "other.sqlite")
    for one in (ledger, other):
        released(one, listed("a"), LIMIT)
    assert ledger.key_path.stat().st_mode & 0o077 == 0
    key = ledger.key_path.read_text()
    for spoilt in (None, "", "0" * 63, "no key", other.key_path.read_text()):
        ledger.key_path.unlink(missing_ok=True)
        if spoilt is not None:
            ledger.key_path.write_text(spoilt)
        for more in (request("another"), listed("a", name="more")):
            what = "does not exist; it is" if spoilt is None else "is not"
            refused(ledger, more, LIMIT, rf"{what} the key of the ledger.*restore it from the backup")
    ledger.key_path.write_text(key)
    assert ledger.verify() == {"events": 3, "lists of meters": 1, "stored releases": 1}


@pytest.mark.parametrize("left", ["key_path", "files_path", "unfinished_path"])
def test_no_ledger_begins_where_something_of_a_lost_one_is_left(ledger, tmp_path, left):
    released(ledger, listed("a"), LIMIT)
    (tmp_path / "elsewhere").mkdir()
    for path in (path for path in tmp_path.glob("ledger.sqlite*") if path != getattr(ledger, left)):
        path.rename(tmp_path / "elsewhere" / path.name)
    said = f"is missing, but not {getattr(ledger, left).name}: .* move these away"
    refused(ledger, listed("a", name="another"), LIMIT, said)
    for read in (ledger.events, ledger.verify, lambda: ledger.check([listed("a")], LIMIT)):
        with pytest.raises(InputError, match=said):
            read()
    assert not ledger.path.exists()
    getattr(ledger, left).rename(tmp_path / "elsewhere" / "moved")
    assert ledger.begins and ledger.events() == []


def test_a_run_that_died_while_it_made_the_ledger_is_no_loss(ledger, monkeypatch):
    monkeypatch.setattr(ledger_file, "_schema", lambda base: fails(ArithmeticError()))
    with pytest.raises(ArithmeticError):
        released(ledger, listed("a"), LIMIT, never)
    monkeypatch.undo()
    assert ledger.key_path.exists() and not ledger.begins
    released(ledger, listed("a"), LIMIT)


def test_stored_files_without_an_event_are_named(ledger, tmp_path, monkeypatch):
    """After a run that died while it stored, until it is repeated; and in an older state that was restored."""
    released(ledger, request(), LIMIT)
    older = {path: path.read_bytes() for path in (ledger.path, ledger.copy_path)}
    append = ledger_file.LedgerFile.append

    def dies(self, events, *more, **options):
        return fails(ArithmeticError()) if events[0]["kind"] == STORED else append(self, events, *more, **options)

    monkeypatch.setattr(ledger_file.LedgerFile, "append", dies)
    with pytest.raises(ArithmeticError):
        released(ledger, request("another"), LIMIT, lambda: {"a": b"drawn once"})
    monkeypatch.undo()
    said = "has no event for 1 of the files in ledger.sqlite.files .*if a run was killed.*an older state"
    with pytest.raises(InputError, match=said):
        ledger.verify()
    released(ledger, request("another"), LIMIT, never)
    assert ledger.verify()["stored releases"] == 2
    for path, data in older.items():
        path.write_bytes(data)
    with pytest.raises(InputError, match=said):
        ledger.verify()


def test_no_meter_is_named_in_the_ledger_and_other_ledgers_hash_otherwise(tmp_path):
    names = [f"MPAN-{n:012d}" for n in range(30)]
    found = []
    for town in "xy":
        one = Ledger(tmp_path / f"{town}.sqlite")
        released(one, listed(*names), LIMIT)
        written = b"".join(path.read_bytes() for path in (one.path, one.copy_path))
        assert not any(name.encode() in written or name.lower().encode() in written for name in names)
        found.append(next(event["meters"] for event in one.events() if event["kind"] == LISTED))
    assert found[0] != found[1]


def test_the_ledger_itself_refuses_changes_and_is_for_its_owner_only(ledger):
    released(ledger, request(), LIMIT)
    with sqlite3.connect(ledger.path) as base, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        base.execute("DELETE FROM events")
    assert ledger.path.stat().st_mode & 0o077 == 0 == ledger.copy_path.stat().st_mode & 0o077
    ledger.path.unlink()
    with pytest.raises(InputError, match="missing, except for its copy"):
        ledger.events()


def test_what_cannot_be_written_is_said_before_anything_is_drawn(tmp_path):
    (tmp_path / "file").touch()
    refused(Ledger(tmp_path / "file/ledger.sqlite"), request(), LIMIT, "cannot be written")
    (tmp_path / "text.sqlite").write_text("not a ledger at all, but long enough to be read as one " * 20)
    with pytest.raises(InputError):
        released(Ledger(tmp_path / "text.sqlite"), request(), LIMIT, never)


def test_the_key_of_a_request_is_its_public_words():
    assert request().key == request().key != request("other").key
    assert request().key != request(budget=PrivacyBudget("one household", "replace_one", "made-up town", "2027")).key
    with pytest.raises(ValueError):
        _ = Request(BUDGET, {"epsilon": float("nan")}, Charge(1.0)).key


def test_a_link_to_the_ledger_is_the_ledger(ledger, tmp_path):
    first = released(ledger, request(), LIMIT, lambda: {"a": os.urandom(8)})
    (tmp_path / "link.sqlite").symlink_to(ledger.path)
    assert released(Ledger(tmp_path / "link.sqlite"), request(), LIMIT, never) == first
    assert Ledger(tmp_path / "link.sqlite").path == ledger.path


def test_one_and_one_point_zero_are_one_request():
    keys = {Request(BUDGET, {"epsilon": e, "clip": [c, 2]}, Charge(1.0)).key for e in (1, 1.0) for c in (3, 3.0)}
    assert len(keys) == 1 != len(keys | {Request(BUDGET, {"epsilon": True, "clip": [3, 2]}, Charge(1.0)).key})


def test_a_charge_that_nothing_followed_is_taken_back(ledger):
    def not_ready():
        fails(ConnectionError("a peer is gone"))

    released(ledger, listed("b", epsilon=1.9), LIMIT)
    with pytest.raises(ConnectionError):
        released_all(ledger, [(listed("a"), never)], LIMIT, not_ready)
    assert kinds(ledger)[3:] == [LISTED, CHARGED, CANCELLED]
    assert spent(ledger, BUDGET) == listed("b", epsilon=1.9).charge
    released(ledger, listed("a", epsilon=1.99), LIMIT)
    for meter in "ab":
        refused(ledger, listed(meter, name="more", epsilon=1.0), LIMIT)


def test_others_use_the_ledger_while_noise_is_drawn_but_not_the_same_request(ledger):
    """The lock of the ledger is held for an event, that of a request from its charge to its files."""
    inside = []

    def draw():
        inside.append(kinds(ledger))
        released(ledger, request("another", 0.1), LIMIT, lambda: {"b": b"y"})
        with open(ledger.locks_path / request().key) as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return {"a": b"x"}

    released(ledger, request(), LIMIT, draw)
    assert inside == [[CHARGED]] and kinds(ledger) == [CHARGED, CHARGED, STORED, STORED]
    assert not list(ledger.locks_path.iterdir())


def test_linked_requests_are_charged_together_or_not_at_all(ledger):
    fits, too_much = (listed("a", name=name, epsilon=epsilon) for name, epsilon in (("one", 1.0), ("two", 1.9)))
    with pytest.raises(InputError, match="would spend more"):
        released_all(ledger, [(fits, never), (too_much, never)], LIMIT)
    with pytest.raises(InputError, match="would spend more"):
        ledger.check([fits, too_much], LIMIT)
    assert kinds(ledger) == []
    ledger.check([fits], LIMIT)
    assert kinds(ledger) == []


@pytest.mark.parametrize("before", [0.0, 0.7, 1.9])
def test_what_remains_is_the_largest_release_that_still_fits(ledger, before):
    """Oracle: the check that refuses. Of two lists that share a meter the one that spent more counts."""
    if before:
        released(ledger, listed("b", "c", name="earlier", epsilon=before), LIMIT)
    asked = listed("a", "b", epsilon=0.1)
    spent, (left, limit) = ledger.after([asked], LIMIT)
    assert max(one.mu for one in spent) == pytest.approx(
        np.hypot(gaussian.mu_for(before, 1e-5) if before else 0, asked.charge.mu)
    )
    assert limit == LIMIT
    assert ledger.after([asked], LIMIT) == (spent, (left, limit)) and "mixture" not in str(ledger.events())
    released(ledger, asked, LIMIT)
    assert ledger.after([asked], LIMIT) == (spent, (left, limit)), "as announced"
    if left:
        ledger.check([listed("a", "b", name="fits", epsilon=left)], LIMIT)
    with pytest.raises(InputError, match="would spend more"):
        ledger.check([listed("a", "b", name="too much", epsilon=left + 0.02)], LIMIT)


def test_a_raised_limit_holds_for_the_meters_it_names_in_its_period_and_is_an_event(ledger):
    released(ledger, listed("a", "b", epsilon=1.9), LIMIT)
    refused(ledger, listed("a", "b", name="more", epsilon=1.0), WIDE, "limit of epsilon 2 at")
    day = interval_of(date(2026, 3, 1), date(2026, 3, 1), "Europe/London")
    with pytest.raises(InputError, match="but is not the same period"):
        ledger.raise_limit(BUDGET, ["a"], (day,), WIDE)
    ledger.raise_limit(BUDGET, ["a"], (YEAR,), WIDE)
    assert kinds(ledger)[-1] == RAISED
    refused(ledger, listed("a", "b", name="more", epsilon=1.0), WIDE, "limit of epsilon 2 at")  # b may not
    refused(
        ledger, listed("a", name="more", epsilon=1.0), LIMIT, "limit of epsilon 2 at"
    )  # its own configuration does not allow it
    released(ledger, listed("a", name="more", epsilon=1.0), WIDE)
    released(ledger, listed("a", name="low", epsilon=0.1), Limit(3.0, 1e-5))
    refused(
        ledger, listed("a", name="yet more", epsilon=2.5), WIDE, "limit of epsilon 3 at"
    )  # and what is stated later binds again


def test_another_attempt_makes_no_plan_and_what_is_asked_for_with_it_does(ledger):
    with pytest.raises(ArithmeticError):
        released(ledger, listed("a"), LIMIT, lost)
    released_all(
        ledger, [(listed("a"), lambda _: {"a": b"x"}), (listed("a", name="two"), lambda _: {"b": b"y"})], LIMIT
    )
    assert [e["planned"] is None for e in ledger.events() if e["kind"] == CHARGED] == [False, True, False]


def test_another_attempt_with_another_list_makes_the_plan_of_its_meters(ledger):
    """A name of a request that does not hold its list, such as those of the library."""
    first, other = (replace(listed(*meters), parameters={"mechanism": "the same"}) for meters in ("a", "b"))
    with pytest.raises(ArithmeticError):
        released(ledger, first, LIMIT, lost)
    released(ledger, other, LIMIT)
    assert [e["planned"] is None for e in ledger.events() if e["kind"] == CHARGED] == [False, False]


def test_a_plan_stays_if_answers_were_seen_before_its_charge_was_taken_back(ledger):
    """Or whether it holds could be decided by what they say."""
    later, third = (replace(listed("a", name=str(tv)), charge=Charge(0.1, tv)) for tv in (1e-9, 5e-9))

    def not_ready():
        released(ledger, later, LIMIT)
        raise ConnectionError("a peer is gone")

    with pytest.raises(ConnectionError):
        released_all(ledger, [(listed("a"), never)], LIMIT, not_ready)
    assert max(charge.mu for charge in ledger.spent()[BUDGET.period]) == later.charge.mu
    refused(ledger, third, LIMIT)  # though the later one has made more room for such, if it is the first
    alone = Ledger(ledger.path.with_name("alone.sqlite"))
    for one in (later, third):
        released(alone, one, LIMIT)
    released(ledger, listed("a"), LIMIT)
    assert ledger.verify()["stored releases"] == 2


@pytest.mark.parametrize("meters", [(), ("AB", "c", "a\u200bb ")])
def test_a_list_names_somebody_and_nobody_twice(ledger, meters):
    refused(ledger, listed(*meters), LIMIT, r"export\.meters.*lists no meter, or one twice")


def test_a_digest_that_two_lists_have_stays_with_the_first(ledger, monkeypatch):
    monkeypatch.setattr(ledger_file, "_EVENTS_A_CHECKPOINT", 2)
    for meters, former in (("ab", ("one", "two")), ("cd", ("one", "three"))):
        released(ledger, listed(*meters, former_lists=former), LIMIT)
    assert ledger.verify()["lists of meters"] == 2


def test_what_is_shown_of_a_period_is_the_most_in_any_that_has_its_name(ledger):
    ledger.raise_limit(BUDGET, ["z"], (YEAR,), WIDE)
    assert most_by_period(ledger) == []
    for meter, epsilon, zone in (("a", 1.5, "Europe/London"), ("b", 0.5, "Asia/Tokyo")):
        period = interval_of(date(2026, 1, 1), date(2026, 12, 31), zone)
        released(ledger, listed(meter, epsilon=epsilon, period=period), LIMIT)
    (said,) = most_by_period(ledger)
    assert "epsilon 1.5 at" in said
