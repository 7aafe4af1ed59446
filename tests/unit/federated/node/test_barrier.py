"""The wait for all charges: whenever a node fails, refuses or is killed, nobody has paid for what nobody sent."""

from functools import partial

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.federated.node.links import Links
from meterdp.federated.node.messages import Kind
from tests.unit.federated.node.made_up import all_settings
from tests.unit.federated.node.schedules import Killed, Schedule

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
        graph = self._settings[i].agreement.scheme.links
        try:
            links = Links(self._settings[i], graph.neighbours(i), graph.diameter, 100, lambda text: None)
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
