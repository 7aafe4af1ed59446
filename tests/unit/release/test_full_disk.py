"""A disk that is full or read-only: one sentence, nothing drawn that is not charged, nothing drawn twice."""

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from meterdp.errors import InputError
from meterdp.privacy import ledger as ledgers
from meterdp.privacy.ledger import Ledger
from meterdp.privacy.ledger_file import LedgerFile
from meterdp.publish.folder import replace_folder
from tests.conftest import ROOT
from tests.unit.release.charged import released
from tests.unit.release.full_disk import WIDE, attempt, checked, largest_file, request

NOBODY = 65534


def test_files_that_may_not_grow_end_a_release_in_every_phase(tmp_path):
    """A limit on the size of files (RLIMIT_FSIZE) stops a write where a full disk would."""
    attempt(tmp_path, "first")
    steps = (-10_000_000, -40_000, *range(0, 90_000, 8192))
    ended = {checked(tmp_path, number, largest_file(more)) for number, more in enumerate(steps)}
    assert {"before the charge", "after the draw", "went well"} <= ended


def test_a_small_disk_that_is_filled_more_and_more(tmp_path):
    """On a file system of eight megabytes, in a namespace of its own."""
    mounting = f'mount -t tmpfs -o size=8m none "{tmp_path}"'
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-Urm", "sh", "-c", mounting]).returncode:
        pytest.skip("no small file system can be mounted here")
    command = f'{mounting} && exec "{sys.executable}" -m tests.unit.release.full_disk "{tmp_path}"'
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", command], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    assert {"before the charge", "after the draw", "went well"} <= set(done.stdout.splitlines())


def test_a_database_that_may_not_grow(tmp_path, monkeypatch):
    """SQLite itself says "database or disk is full"."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    released(ledger, request("first"), WIDE, lambda: {"a": b"x"})
    opened = LedgerFile._connected

    def small(self):
        base = opened(self)
        (pages,) = base.execute("PRAGMA page_count").fetchone()
        base.execute(f"PRAGMA max_page_count = {pages}")
        return base

    monkeypatch.setattr(LedgerFile, "_connected", small)
    big = ledgers.Request(request("x").budget, {"words": "w" * 4096}, request("x").charge)
    with pytest.raises(InputError, match=r"cannot be written \(SQLITE_FULL\); free disk space"):
        released(ledger, big, WIDE, lambda: pytest.fail("noise was drawn"))
    monkeypatch.undo()
    assert not any(event["request"] == big.key for event in ledger.events())


def no_space_for_the_copy(monkeypatch, event):
    """From the event with this number on, the copy cannot be written."""
    attached, seen = LedgerFile._copy_attached, []

    def fails(self):
        seen.append(1)
        if len(seen) >= event:
            raise OSError(28, "No space left on device")
        return attached(self)

    monkeypatch.setattr(LedgerFile, "_copy_attached", fails)


def test_without_space_for_the_copy_nothing_is_charged_or_drawn(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    no_space_for_the_copy(monkeypatch, event=1)
    with pytest.raises(InputError, match="No space left on device"):
        released(ledger, request("a"), WIDE, lambda: pytest.fail("noise was drawn"))
    assert ledger.events() == []


def test_what_is_stored_without_space_for_the_copy_is_handed_over_and_the_copy_catches_up(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    no_space_for_the_copy(monkeypatch, event=2)
    assert released(ledger, request("a"), WIDE, lambda: {"a": b"noise"}) == {"a": b"noise"}
    with closing(sqlite3.connect(ledger.copy_path)) as copy:
        assert copy.execute("SELECT count(*) FROM events").fetchone() == (1,)
    monkeypatch.undo()
    assert released(ledger, request("a"), WIDE, lambda: pytest.fail("noise was drawn twice")) == {"a": b"noise"}
    ledger.published(request("a"))
    with closing(sqlite3.connect(ledger.copy_path)) as copy:
        assert copy.execute("SELECT count(*) FROM events").fetchone() == (3,), "the copy did not catch up"


def as_nobody(folder):
    """Root may write everywhere; so the child becomes somebody who may not."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


@pytest.fixture
def read_only():
    """Make a folder read-only, and those above it passable, until the test is over."""
    changed = []

    def change(folder):
        for above in folder.parents:
            mode = above.stat().st_mode
            if not mode & 0o001 and above.stat().st_uid == os.getuid():
                changed.append((above, mode))
                above.chmod(mode | 0o011)
        changed.append((folder, folder.stat().st_mode))
        folder.chmod(0o555)

    yield change
    for folder, mode in reversed(changed):
        folder.chmod(mode)


@pytest.mark.parametrize("there", [False, True], ids=["no ledger yet", "a ledger"])
def test_a_read_only_folder(tmp_path, read_only, there):
    folder = tmp_path / "books"
    folder.mkdir()
    if there:
        attempt(folder, "first")
    read_only(folder)
    drawn, said = attempt(folder, "second", as_nobody)
    assert drawn == 0 and "cannot be written" in said and "correct its permissions" in said
    folder.chmod(0o755)
    assert len(Ledger(folder / "ledger.sqlite").events()) == 2 * there


def published_in_a_child(results, limit):
    """Exit code of a child that hands two files over under a limit: 3 for a sentence with its hint."""
    pid = os.fork()
    if not pid:
        try:
            limit(results)
            replace_folder({"a": b"2" * 5000, "b": b"3"}, results / "release/mixture")
        except InputError as error:
            os._exit(3 if "correct the permissions" in str(error) else 4)
        finally:
            os._exit(5)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_read_only_results_folder_leaves_what_was_there(tmp_path, read_only):
    results = tmp_path / "results"
    replace_folder({"a": b"1"}, results / "release/mixture")
    read_only(results / "private")
    assert published_in_a_child(results, as_nobody) == 3
    assert files_of(results / "release/mixture") == {"a": b"1"}


def test_a_disk_that_is_full_while_files_are_handed_over_leaves_what_was_there(tmp_path):
    results = tmp_path / "results"
    replace_folder({"a": b"1"}, results / "release/mixture")
    assert published_in_a_child(results, lambda _: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))) == 3
    assert files_of(results / "release/mixture") == {"a": b"1"}
    assert list((results / "private").iterdir()) == [], "half files were left"
    replace_folder({"a": b"2"}, results / "release/mixture")
    assert files_of(results / "release/mixture") == {"a": b"2"}


def test_a_folder_that_cannot_take_its_place_leaves_what_was_there(tmp_path, monkeypatch):
    folder, replace = tmp_path / "results/release/mixture", os.replace
    replace_folder({"a": b"1"}, folder)

    def fails(source, target):
        if str(source).endswith(".part"):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(InputError, match="No space left on device"):
        replace_folder({"a": b"2"}, folder)
    assert files_of(folder) == {"a": b"1"} and list((tmp_path / "results/private").iterdir()) == []


def test_the_same_disk_when_it_is_not_small_enough(tmp_path):
    """The yardstick of the others: without a limit every attempt goes well."""
    assert checked(tmp_path, 0, lambda folder: None) == "went well"
