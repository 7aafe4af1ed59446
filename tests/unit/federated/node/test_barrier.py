"""The wait for all charges: whenever a node fails, refuses or is killed, nobody has paid for what nobody sent.

Messages travel in an order that a test draws by lot, on a clock of their own: no socket, no waiting. Nodes run in
threads, one at a time. Who waits is handed what has come of some neighbours, in the order it was sent; where nothing
is under way, time passes.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.federated.node import links
from meterdp.federated.node.links import Links
from meterdp.federated.node.messages import Kind, Message
from meterdp.federated.node.sockets import Event, Happening
from tests.unit.federated.node.made_up import all_settings


class Killed(BaseException):
    """Ends a node that says nothing more."""


class Schedule:
    """One order of events.

    Parameters
    ----------
    monkeypatch : pytest.MonkeyPatch
        Puts it in the place of sockets and clock.
    seed : int
    fault : (int, int, type of BaseException), optional
        A node, and what is raised at which of its calls of a socket.
    """

    def __init__(self, monkeypatch, seed, fault=None):
        self.now, self.calls, self.sent = 0.0, {}, {}
        self._chance, self._fault = random.Random(seed), fault
        self._pipes: dict[tuple[int, int], deque[Event]] = {}
        self._waiting: dict[int, float] = {}
        self._handed: dict[int, list[Event]] = {}
        self._running = 0
        self._change = threading.Condition()
        monkeypatch.setattr(links, "Sockets", lambda *words: _Sockets(self, words[0], words[2]))
        monkeypatch.setattr(links, "time", SimpleNamespace(monotonic=lambda: self.now))

    def run(self, nodes):
        """Run functions, a node each, to their ends."""

        def alone(i, node):
            self._wait(i, 0.0)
            try:
                node()
            finally:
                with self._change:
                    self._running -= 1
                    self._change.notify_all()

        threads = [threading.Thread(target=alone, args=one, daemon=True) for one in nodes.items()]
        self._running = len(threads)
        for thread in threads:
            thread.start()
        while self._step():
            pass
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()

    def _step(self):
        with self._change:
            assert self._change.wait_for(lambda: not self._running, 30)
            if not self._waiting:
                return False
            ready = sorted(i for i in self._waiting if any(self._pipes.get((j, i)) for j in self.calls))
            if ready and self._chance.random() < 0.9:
                node = self._chance.choice(ready)
                self._handed[node] = self.come(node)
            else:
                node = min(self._waiting, key=lambda i: (self._waiting[i], i))
                if not ready:
                    self.now = max(self.now, self._waiting[node])
                self._handed[node] = []
            self._running += 1
            del self._waiting[node]
            self._change.notify_all()
            return True

    def come(self, node):
        """Take some of what is under way to a node."""
        out = []
        for (_, to), pipe in sorted(self._pipes.items()):
            for _ in range(self._chance.randint(0, len(pipe)) if to == node else 0):
                out.append(pipe.popleft())
        return out

    def _wait(self, node, seconds):
        with self._change:
            self._running -= 1
            self._waiting[node] = self.now + seconds
            self.calls.setdefault(node, 0)
            self._change.notify_all()
            assert self._change.wait_for(lambda: node in self._handed, 30)
            return self._handed.pop(node)

    def count(self, node):
        """Note that a node uses a socket; raise what is to be raised there."""
        self.calls[node] += 1
        if self._fault and self._fault[:2] == (node, self.calls[node]):
            raise self._fault[2]

    def put(self, node, to, event):
        """Let something be under way."""
        self._pipes.setdefault((node, to), deque()).append(event)


class _Sockets:
    turned_away = 0

    def __init__(self, schedule, me, neighbours):
        self._schedule, self._me, self._neighbours, self._dead = schedule, me, neighbours, False
        self._first = [Event(i, Happening.CONNECTED) for i in neighbours if i < me]

    def _count(self):
        try:
            self._schedule.count(self._me)
        except Killed:
            self._dead = True
            raise

    def send(self, node, data):
        if self._dead:
            return False
        self._count()
        self._schedule.sent.setdefault(self._me, []).append(Kind(Message.decoded(data).kind))
        self._schedule.put(self._me, node, Event(self._me, Happening.MESSAGE, data))
        return True

    def poll(self, seconds):
        self._count()
        first, self._first = self._first, []
        if first or seconds == 0:
            return first + self._schedule.come(self._me)
        return self._schedule._wait(self._me, seconds)

    def close(self, at_once=False):
        for node in self._neighbours:
            self._schedule.put(self._me, node, Event(self._me, Happening.CLOSED))


# What says nothing of readings.
PUBLIC = {Kind.HELLO, Kind.GATHER, Kind.PLAN, Kind.DONE, Kind.ABORT}


class Books:
    """What becomes of the charges of nodes that release together as ``between_nodes`` does."""

    def __init__(self, settings, refuses=()):
        self._settings, self._refuses = settings, refuses
        self.charged, self.standing, self.drawn, self.ended = set(), set(), set(), {}

    def nodes(self):
        return {i: partial(self._run, i) for i in range(len(self._settings))}

    def _run(self, i):
        try:
            links = Links(self._settings[i], 100, lambda text: None)
            with links:
                links.greet()
                links.swap(Kind.PLAN, 0, 0, np.zeros(4))
                if i in self._refuses:
                    raise InputError("would pass the limit")
                self.charged.add(i)
                self.standing.add(i)
                try:
                    links.all_charged()
                except (Exception, KeyboardInterrupt):
                    self.standing.discard(i)
                    raise
                assert len(self.charged) == len(self._settings), "drawn before all had charged"
                self.drawn.add(i)
                links.swap(Kind.STATISTICS, 1, 0, np.zeros(5))
                links.all_done(2, last=True)
                links.end()
        except BaseException as error:
            self.ended[i] = error


@pytest.fixture(scope="module", params=[("complete", 3), ("ring", 4)], ids=["complete", "ring"])
def settings(request, tmp_path_factory):
    graph, count = request.param
    folder = tmp_path_factory.mktemp("barrier")
    return all_settings(folder, count, graph=graph, timeout_seconds=50, start_within_seconds=50)


def ran(monkeypatch, settings, seed, fault=None, refuses=()):
    schedule, books = Schedule(monkeypatch, seed, fault), Books(settings, refuses)
    schedule.run(books.nodes())
    for i in range(len(settings)):
        assert i in books.drawn or set(schedule.sent.get(i, ())) <= PUBLIC
    return schedule, books


def test_all_draw_when_all_have_charged(monkeypatch, settings):
    for seed in range(30):
        _, books = ran(monkeypatch, settings, seed)
        assert books.ended == {} and len(books.drawn) == len(settings)


def test_where_one_refuses_nobody_has_spent_anything(monkeypatch, settings):
    for seed in range(30):
        _, books = ran(monkeypatch, settings, seed, refuses={seed % len(settings)})
        assert books.drawn == books.standing == set() and len(books.ended) == len(settings)


@pytest.mark.parametrize("how", [KeyboardInterrupt, Killed])
def test_a_charge_stands_where_something_may_have_been_sent_and_nowhere_else(monkeypatch, settings, how):
    """The fault strikes one node at each of its sends and looks in turn; messages come in another order each time."""
    calls, spoilt, seen = ran(monkeypatch, settings, 0)[0].calls, 0, set()
    for node in range(len(settings)):
        for call in range(1, calls[node] + 1):
            _, books = ran(monkeypatch, settings, 1000 * node + call, (node, call, how))
            killed = {node} if how is Killed and node in books.charged else set()
            # Whoever was killed between charge and draw could not take the charge back.
            assert books.drawn <= books.standing <= books.drawn | killed
            assert len(books.charged) == len(settings) or not books.drawn
            spoilt += bool(books.ended)
            seen.add((len(books.charged) == len(settings), len(books.drawn)))
    assert spoilt > 20
    # Ends before all had charged, in the wait with nobody past it, and with some past it.
    assert {(False, 0), (True, 0), (True, len(settings))} <= seen and len(seen) > 3
