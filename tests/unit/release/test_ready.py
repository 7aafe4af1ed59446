"""A release that waits for others between its charge and its draw, and what becomes of the charge."""

import os
import resource
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress

import pytest

from meterdp.cli.ledger import COMMANDS
from meterdp.errors import InputError
from meterdp.privacy import gaussian
from meterdp.privacy.charge import Charge
from meterdp.privacy.guarantee import Limit, PrivacyBudget
from meterdp.privacy.ledger import Request
from meterdp.privacy.spent import CANCELLED, CHARGED, STORED
from tests.unit.federated.node.test_failures import pair
from tests.unit.release.charged import fails, kinds, never, released_all

LIMIT = Limit(1.2, 1e-5)  # lets one through


def request(name):
    budget = PrivacyBudget("one household", "replace_one", "made-up town", "2026")
    return Request(budget, {"artefact": "mixture", "mechanism": name}, Charge(gaussian.mu_for(1.0, 1e-5), 1e-13))


def drawn(earlier):
    return {"a": b"noise"}


@pytest.mark.parametrize("error", [InputError("was refused", hint="ask"), KeyboardInterrupt(), SystemExit(143)])
def test_a_charge_is_taken_back_where_the_wait_fails(ledger, error):
    for name in ("first", "second"):
        with pytest.raises(type(error)):
            released_all(ledger, [(request(name), never)], LIMIT, lambda: fails(error))
    assert kinds(ledger) == [CHARGED, CANCELLED] * 2
    released_all(ledger, [(request("third"), drawn)], LIMIT, lambda: None)
    with pytest.raises(InputError):
        released_all(ledger, [(request("fourth"), never)], LIMIT, lambda: fails(AssertionError("was charged")))
    assert kinds(ledger)[4:] == [CHARGED, STORED]


def test_a_charge_stands_where_the_draw_fails(ledger):
    """Something may have been sent by then."""
    with pytest.raises(ConnectionError):
        released_all(ledger, [(request("first"), lambda earlier: fails(ConnectionError()))], LIMIT, lambda: None)
    assert kinds(ledger) == [CHARGED]


def test_a_charge_stands_where_the_process_is_killed_in_its_wait(ledger):
    child = os.fork()
    if child == 0:
        try:
            released_all(ledger, [(request("first"), never)], LIMIT, lambda: os.kill(os.getpid(), signal.SIGKILL))
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert kinds(ledger) == [CHARGED]
    with pytest.raises(InputError):
        released_all(ledger, [(request("second"), never)], LIMIT, lambda: None)
    assert kinds(ledger) == [CHARGED]


def test_a_ledger_can_be_shown_while_a_release_waits_and_while_it_draws(ledger, capsys):
    def show():
        arguments = type("Arguments", (), {"ledger": ledger.path, "meter": None})
        shown = threading.Thread(target=COMMANDS["show"].run, args=(arguments,), daemon=True)
        shown.start()
        shown.join(20)
        assert not shown.is_alive(), "the ledger was locked"
        assert "made-up town" in capsys.readouterr().out

    def draw(earlier):
        show()
        return {"a": b"noise"}

    released_all(ledger, [(request("first"), draw)], LIMIT, show)
    assert kinds(ledger) == [CHARGED, STORED]


STRANGER = """
import socket, sys, time
taken = []
while True:
    try:
        taken.append(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
    except OSError:
        time.sleep(0.01)
"""


@contextmanager
def few_descriptors(more):
    """Leave so many descriptors beside those that are open."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 1 + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_stranger_who_takes_all_descriptors_does_not_keep_a_charge_from_being_taken_back(ledger, tmp_path):
    first, second = pair(tmp_path)
    taken = threading.Event()

    def other():
        with suppress(ZeroDivisionError), second:
            second.greet()
            taken.wait(30)
            raise ZeroDivisionError

    neighbour = threading.Thread(target=other)
    neighbour.start()
    port = first.agreement.peers[0].address.rpartition(":")[2]
    stranger = subprocess.Popen([sys.executable, "-c", STRANGER, port])

    def wait():
        limited.enter_context(few_descriptors(8))
        with suppress(OSError):
            while True:
                os.close(os.open(os.devnull, os.O_RDONLY))
        taken.set()
        first.all_charged()

    try:
        with ExitStack() as limited, pytest.raises(InputError, match="ended with an error of its own"), first:
            first.greet()
            released_all(ledger, [(request("first"), never)], LIMIT, wait)
    finally:
        stranger.kill()
        stranger.wait()
        neighbour.join()
    assert kinds(ledger) == [CHARGED, CANCELLED]
