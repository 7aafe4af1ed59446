"""Nodes whose messages travel in an order that a test draws by lot, on a clock of their own: no socket, no waiting.

Nodes run in threads, one at a time. Who waits is handed what has come of some neighbours, in the order it was sent;
where nothing is under way, time passes.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from types import SimpleNamespace

from meterdp.federated.node import links
from meterdp.federated.node.messages import Kind, Message
from meterdp.federated.node.sockets import Event, Happening


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
