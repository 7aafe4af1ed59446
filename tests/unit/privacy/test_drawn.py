"""Attempts that died: what they drew is known and stays, or they are lost and charged again.

That releases go on with what was drawn is shown for all of them in tests/golden/test_release.py.
"""

import multiprocessing
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.privacy import drawn
from meterdp.privacy import release as module
from meterdp.privacy.charge import Charge
from meterdp.privacy.guarantee import Limit, PrivacyBudget
from meterdp.privacy.ledger import Ledger, Request
from meterdp.privacy.mechanism import NoisyQuery
from meterdp.privacy.noise import SafeNoise
from meterdp.privacy.release import Part, release
from meterdp.privacy.spent import CANCELLED, CHARGED, STORED
from tests.unit.release.charged import Made, fails, kinds

LIMIT, LOSS = Limit(2.0, 1e-5), Charge(0.1)
QUERY = NoisyQuery("sum", 0.1, 2.0)
RECORDS = np.zeros((50, 2))


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


def released(ledger, dies_at=None, records=RECORDS, std=2.0, ready=None, limit=LIMIT) -> dict[str, bytes]:
    """Release three sums, or die after so many of these answers."""

    def answer(records, noise, earlier):
        answers = []
        for number, ask in enumerate(
            (
                lambda: noise.measure(NoisyQuery("sum", 0.1, std), records.sum(axis=0)),
                lambda: noise.measure(QUERY, records.sum(axis=1)),
                lambda: noise.measure(NoisyQuery("energy", 0.1, 2.0), records),
            )
        ):
            if number == dies_at:
                raise KeyboardInterrupt
            answers.append(ask())
        return answers

    def render(answers, earlier):
        if dies_at == len(answers):
            raise KeyboardInterrupt
        return {str(number): answer.tobytes() for number, answer in enumerate(answers)}

    request = Request(PrivacyBudget("", "replace_one", "town", "2026"), {"artefact": "mixture"}, LOSS)
    return release([Part(request, Made(LOSS, answer, render))], records, ledger, limit, ready)[0]


def in_the_second_answer(instead):
    """Return what draws noise as a release does, but the second answer in another way."""
    real = SafeNoise.add_gaussian
    return lambda noise, exact, std: (instead if exact.shape == (50,) else real)(noise, exact, std)


def died(ledger, after, **more):
    with pytest.raises(KeyboardInterrupt):
        released(ledger, after, **more)


def answers(ledger):
    """Return the folder of the last attempt."""
    return max(ledger.unfinished_path.iterdir(), key=lambda path: int(path.name.rsplit("-")[-1]))


@pytest.mark.parametrize("after", range(4))
def test_what_was_drawn_stays_and_the_rest_is_drawn(ledger, after):
    died(ledger, after)
    kept = {path.stem: np.load(path)["answer"].tobytes() for path in answers(ledger).iterdir()}
    assert sorted(kept) == [str(number) for number in range(after)]
    files = released(ledger)
    assert {name: files[name] for name in kept} == kept
    assert kinds(ledger) == [CHARGED, STORED] and not list(ledger.unfinished_path.iterdir())


def test_answers_of_before_stay_when_records_change(ledger):
    """A correction of the export in between must not give a second answer to a query."""
    died(ledger, 1)
    (kept,) = answers(ledger).iterdir()
    before = np.load(kept)["answer"]
    files = released(ledger, records=np.ones((50, 2)) * 100)
    assert np.array_equal(np.frombuffer(files["0"]), before) and np.abs(before).max() < 100
    assert np.abs(np.frombuffer(files["2"]) - 100).max() < 20


def test_only_the_owner_reads_what_was_drawn(ledger):
    died(ledger, 2)
    paths = [ledger.unfinished_path, answers(ledger), *answers(ledger).iterdir()]
    assert len(paths) == 4 and not any(path.stat().st_mode & 0o077 for path in paths)


class Noted(SafeNoise):
    """Noise that takes its time, and of which every draw is written down."""

    notes: Path

    @in_the_second_answer
    def add_gaussian(self, exact, std):
        drawn = SafeNoise.add_gaussian(self, exact, std)
        with open(self.notes, "a") as file:
            print(drawn.tobytes().hex(), file=file, flush=True)
        time.sleep(0.002)
        return drawn


def one_release(ledger):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SafeNoise", Noted)
        released(ledger, limit=Limit(30.0, 1e-5))


def test_a_run_killed_at_any_moment_draws_an_answer_once_for_every_charge(ledger, monkeypatch):
    monkeypatch.setattr(Noted, "notes", ledger.path.with_name("notes"), raising=False)
    Noted.notes.touch()
    generator, context = np.random.default_rng(5), multiprocessing.get_context("fork")
    for _ in range(40):
        process = context.Process(target=one_release, args=(ledger,))
        process.start()
        time.sleep(generator.uniform(0, 0.04))
        process.kill()
        process.join()
        assert len(Noted.notes.read_text().splitlines()) <= kinds(ledger).count(CHARGED)
    one_release(ledger)
    noted = Noted.notes.read_text().splitlines()
    assert released(ledger)["1"].hex() == noted[-1] and len(noted) <= kinds(ledger).count(CHARGED)


STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def stoppable_release(ledger):
    """As under a terminal: a shell starts what it runs in the background with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    one_release(ledger)


@pytest.mark.parametrize("stop", STOPS)
def test_a_run_stopped_at_any_moment_loses_no_answer(tmp_path, monkeypatch, stop):
    """Nobody is charged twice, whether the signal ends the process at once or raises what ends it."""
    monkeypatch.setattr(Noted, "notes", tmp_path / "notes", raising=False)
    generator, context, stopped = np.random.default_rng(6), multiprocessing.get_context("fork"), 0
    for number in range(25):
        ledger = Ledger(tmp_path / f"{number}.sqlite")
        process = context.Process(target=stoppable_release, args=(ledger,))
        process.start()
        while not ledger.unfinished_path.exists():
            time.sleep(0.0005)
        time.sleep(generator.uniform(0, 0.05))
        os.kill(process.pid, stop)
        process.join()
        stopped += kinds(ledger).count(STORED) == 0
        one_release(ledger)
        assert kinds(ledger) == [CHARGED, STORED]
    assert stopped > 5 and len(Noted.notes.read_text().splitlines()) == 25


def test_signals_take_effect_as_before_once_the_answer_is_on_disk(ledger, monkeypatch):
    """All of them, also if the first raises; in another thread, which gets none, nothing is held."""
    came, add_gaussian = [], SafeNoise.add_gaussian

    def stopped_in_the_draw(*given):
        for stop in STOPS:
            signal.raise_signal(stop)
        assert came == []
        return add_gaussian(*given)

    def ends(number, frame):
        came.append((number, sorted(path.name for path in answers(ledger).iterdir())))
        raise KeyboardInterrupt

    monkeypatch.setattr(SafeNoise, "add_gaussian", in_the_second_answer(stopped_in_the_draw))
    before = {stop: signal.signal(stop, ends) for stop in STOPS}
    try:
        died(ledger, None)
        assert sorted(came) == sorted((stop, ["0.npz", "1.npz"]) for stop in STOPS)
        assert all(signal.getsignal(stop) is ends for stop in STOPS)
        monkeypatch.undo()
        with ThreadPoolExecutor(1) as other:
            assert list(other.submit(released, ledger).result()) == ["0", "1", "2"]
    finally:
        for stop, handler in before.items():
            signal.signal(stop, handler)
    assert kinds(ledger) == [CHARGED, STORED]


def test_a_second_stop_leaves_no_charge_half_taken_back(ledger, monkeypatch):
    """Who waits in vain for other nodes and presses Ctrl-C, does so twice."""
    real = drawn.Drawn.take_back
    monkeypatch.setattr(drawn.Drawn, "take_back", lambda one: real(one) and not signal.raise_signal(signal.SIGINT))
    died(ledger, None, ready=lambda: fails(KeyboardInterrupt()))
    assert kinds(ledger) == [CHARGED, CANCELLED]


def lost_in_a_draw(ledger, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(SafeNoise, "add_gaussian", in_the_second_answer(lambda *_: fails(KeyboardInterrupt())))
        died(ledger, None)


def lost_folder(ledger, monkeypatch):
    died(ledger, 2)
    answers(ledger).rename(ledger.path.with_name("elsewhere"))


def lost_by_damage(ledger, monkeypatch):
    died(ledger, 2)
    path = answers(ledger) / "1.npz"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match="the next attempt is charged"):
        released(ledger)


def lost_by_another_question(ledger, monkeypatch):
    died(ledger, 2)
    with pytest.raises(InputError, match=r"another version of meterdp.*the next attempt is charged"):
        released(ledger, std=3.0)


def lost_by_a_new_version(ledger, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(drawn, "version", lambda package: "0.0.1")
        died(ledger, 2)
    with pytest.raises(InputError, match=r"another version of meterdp.*the next attempt is charged"):
        released(ledger)


LOST = (lost_in_a_draw, lost_folder, lost_by_damage, lost_by_another_question, lost_by_a_new_version)


@pytest.mark.parametrize("lost", LOST)
def test_an_attempt_of_which_not_all_is_known_is_lost(ledger, lost, monkeypatch):
    lost(ledger, monkeypatch)
    before = {path.read_bytes() for path in ledger.path.parent.rglob("*.npz")}
    assert kinds(ledger) == [CHARGED]
    died(ledger, 3)
    assert kinds(ledger) == [CHARGED] * 2
    assert not before & {path.read_bytes() for path in answers(ledger).iterdir()}, "everything is drawn again"
    released(ledger)
    assert kinds(ledger) == [CHARGED] * 2 + [STORED] and not list(ledger.unfinished_path.iterdir())


def test_a_charge_is_taken_back_only_if_nothing_was_drawn(ledger):
    for _ in range(2):
        died(ledger, None, ready=lambda: fails(KeyboardInterrupt()))
    assert kinds(ledger) == [CHARGED, CANCELLED] * 2
    died(ledger, 1)
    died(ledger, None, ready=lambda: fails(KeyboardInterrupt()))
    assert kinds(ledger) == [CHARGED, CANCELLED] * 2 + [CHARGED], "an answer may have been seen"
    released(ledger)
    assert kinds(ledger)[4:] == [CHARGED, STORED]


def test_an_attempt_that_was_taken_back_does_not_go_on(ledger):
    """Not even if its folder is there again, as from a backup."""
    died(ledger, None, ready=lambda: fails(KeyboardInterrupt()))
    request = next(event["request"] for event in ledger.events())
    ledger.drawn(request, 1).begin()
    released(ledger)
    assert kinds(ledger) == [CHARGED, CANCELLED, CHARGED, STORED]
