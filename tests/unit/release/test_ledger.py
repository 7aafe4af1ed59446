"""The ledger: charged before drawn, drawn once, within the caps, and nothing is forgotten."""

import json
import multiprocessing
import os
import signal
import sqlite3
import time

import numpy as np
import pytest

from meterdp.accounting import gdp
from meterdp.core.errors import InputError
from meterdp.release.account import Account, Cap
from meterdp.release.ledger import CHARGED, PUBLISHED, STORED, Charge, Ledger, Request

ACCOUNT = Account("one household", "replace_one", "made-up town", "2026")
CAP = Cap(2.0, 1e-5)
TV = 1e-13
WIDE = Cap(12.0, 1e-5)


def request(name="mixture", epsilon=1.0, account=ACCOUNT):
    return Request(account, {"mechanism": name}, Charge(gdp.mu_for(epsilon, 1e-5), TV))


def kinds(ledger):
    return [event["kind"] for event in ledger.events()]


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


def never():
    raise AssertionError("noise was drawn")


def test_a_charge_is_on_disk_before_noise_is_drawn(ledger):
    def draw():
        with sqlite3.connect(f"file:{ledger.path}?mode=ro", uri=True) as other:
            (body,) = other.execute("SELECT body FROM events").fetchone()
        assert json.loads(body)["kind"] == CHARGED and json.loads(body)["mu"] == request().charge.mu
        return {"a.json": b"noise"}

    assert ledger.release(request(), CAP, draw) == {"a.json": b"noise"}
    assert kinds(ledger) == [CHARGED, STORED]


def test_the_same_request_gets_the_same_bytes_and_no_charge(ledger):
    first = ledger.release(request(), CAP, lambda: {"a": os.urandom(64), "b": b""})
    assert ledger.release(request(), CAP, never) == first
    assert ledger.spent(ACCOUNT) == request().charge
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
            ledger.release(one, CAP, lambda: {"a": b"x"})
            allowed += 1
    mu = gdp.mu_for(0.5, 1e-5)
    most = max(n for n in range(1, 100) if gdp.delta(mu * np.sqrt(n), 2.0) + (1 + np.exp(2)) * n * TV <= 1e-5)
    assert allowed == most > 2
    left = float(str(refusal.value).split("release of epsilon ")[1].split(" ")[0])
    ledger.release(request("last", left), CAP, lambda: {"a": b"x"})
    with pytest.raises(InputError):
        ledger.release(request("too much", 0.1), CAP, never)


def test_accounts_are_never_added(ledger):
    cap = Cap(1.0, 1e-5 + 1e-10)
    others = [
        Account("class label", "label_flip", "made-up town", "2026"),
        Account("one household", "replace_one", "another town", "2026"),
        Account("one household", "replace_one", "made-up town", "2027"),
    ]
    for account in (ACCOUNT, *others):
        ledger.release(request(account=account), cap, lambda: {"a": b"x"})
    with pytest.raises(InputError, match="nothing is left"):
        ledger.release(request("again", 1.0), cap, never)


def test_a_draw_that_failed_is_spent_and_the_next_attempt_is_charged_again(ledger):
    def fails():
        raise ArithmeticError("nothing was released")

    with pytest.raises(ArithmeticError):
        ledger.release(request(), CAP, fails)
    assert kinds(ledger) == [CHARGED]
    ledger.release(request(), CAP, lambda: {"a": b"x"})
    assert kinds(ledger) == [CHARGED, CHARGED, STORED]
    assert [e["attempt"] for e in ledger.events()] == [1, 2, 2]
    assert ledger.spent(ACCOUNT).mu == pytest.approx(np.sqrt(2) * request().charge.mu)


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
    Ledger(folder / "ledger.sqlite").release(request(), WIDE, draw_and_note(folder / "drawn"))


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
    stored = ledger.release(request(), WIDE, draw_and_note(tmp_path / "drawn"))
    assert stored["a"] in (tmp_path / "drawn").read_bytes()
    assert ledger.release(request(), WIDE, never) == stored


def spoil(path, *statements):
    with sqlite3.connect(path) as base:
        for trigger in ("events_stay", "events_are_kept", "files_stay", "files_are_kept"):
            base.execute(f"DROP TRIGGER {trigger}")
        for statement in statements:
            base.execute(statement)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE events SET body = replace(body, 'made-up', 'other') WHERE number = 1", "was changed"),
        ("DELETE FROM events WHERE number = 1", "was changed"),
        ("DELETE FROM events WHERE number = 2", "lacks an event that its copy has"),
        ("UPDATE files SET bytes = x'00'", "stored file that was changed"),
    ],
)
def test_tampering_is_found_and_nothing_is_released(ledger, statement, said):
    ledger.release(request(), CAP, lambda: {"a": b"x"})
    spoil(ledger.path, statement)
    with pytest.raises(InputError, match=said):
        ledger.release(request("another"), CAP, never)


def test_the_ledger_itself_refuses_changes_and_is_for_its_owner_only(ledger):
    ledger.release(request(), CAP, lambda: {"a": b"x"})
    with sqlite3.connect(ledger.path) as base, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        base.execute("DELETE FROM events")
    assert ledger.path.stat().st_mode & 0o077 == 0 == ledger.copy_path.stat().st_mode & 0o077
    ledger.path.unlink()
    with pytest.raises(InputError, match="missing but for its copy"):
        ledger.events()


def test_what_cannot_be_written_is_said_before_anything_is_drawn(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        Ledger(tmp_path / "file/ledger.sqlite").release(request(), CAP, never)
    (tmp_path / "text.sqlite").write_text("not a ledger at all, but long enough to be read as one " * 20)
    with pytest.raises(InputError):
        Ledger(tmp_path / "text.sqlite").release(request(), CAP, never)


def test_the_key_of_a_request_is_its_public_words():
    assert request().key == request().key != request("other").key
    assert request().key != request(account=Account("one household", "replace_one", "made-up town", "2027")).key
    with pytest.raises(ValueError):
        _ = Request(ACCOUNT, {"epsilon": float("nan")}, Charge(1.0)).key


def test_files_that_no_release_stored_are_never_handed_over(ledger):
    """Found by an attack: an INSERT is no change of what is there."""
    ledger.release(request("first"), CAP, lambda: {"a": b"x"})
    with sqlite3.connect(ledger.path) as base:
        base.execute("INSERT INTO files VALUES (?, 'a', x'00')", (request().key,))
    with pytest.raises(InputError, match="holds files that no release stored"):
        ledger.release(request(), CAP, never)


def test_a_link_to_the_ledger_is_the_ledger(ledger, tmp_path):
    first = ledger.release(request(), CAP, lambda: {"a": os.urandom(8)})
    (tmp_path / "link.sqlite").symlink_to(ledger.path)
    assert Ledger(tmp_path / "link.sqlite").release(request(), CAP, never) == first
    assert Ledger(tmp_path / "link.sqlite").path == ledger.path


def test_one_and_one_point_zero_are_one_request():
    keys = {Request(ACCOUNT, {"epsilon": e, "clip": [c, 2]}, Charge(1.0)).key for e in (1, 1.0) for c in (3, 3.0)}
    assert len(keys) == 1 != len(keys | {Request(ACCOUNT, {"epsilon": True, "clip": [3, 2]}, Charge(1.0)).key})
