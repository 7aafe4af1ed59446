"""Whatever goes wrong with one node, every node ends, says which node and what, and nothing is written.

The faulty node is the last of a ring of four, or the first, which the others connect to; so one node is no
neighbour of it and has to be told.
"""

import resource
import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import yaml
import zmq

from meterdp.errors import InputError
from meterdp.federated.node import links, sockets
from meterdp.federated.node.links import Links
from meterdp.federated.node.messages import NO_RUN, Fault, Kind, Message, Reason, new_keys, read_secret
from meterdp.federated.node.run import run_node
from meterdp.federated.node.sockets import Event, Happening
from tests.unit.federated.node.made_up import (
    Lying,
    Nodes,
    Relay,
    all_settings,
    made_up_records,
    settings_of,
    write_agreement,
)

COUNT = 4


@pytest.fixture(params=[COUNT - 1, 0], ids=["it connects", "others connect to it"])
def faulty(request):
    return request.param


@pytest.fixture(autouse=True)
def short_stay(monkeypatch):
    """Keep nodes from waiting long for late ones."""
    monkeypatch.setattr(links, "_STAY_S", 0.2)


def ended(outcome, honest, about, reason):
    """Whether every honest node was ended by the same finding."""
    for i in honest:
        assert isinstance(outcome[i], Fault), outcome
    return {(outcome[i].node, outcome[i].reason) for i in honest} == {(about, reason)}


def start_all(tmp_path, settings):
    return Nodes(settings, made_up_records(COUNT), tmp_path / "results")


def run_with(tmp_path, faulty, act, **agreed):
    """Let three nodes meet a hand-made one that greets as it should and then does something; return all outcomes."""
    settings = all_settings(tmp_path, COUNT, **agreed)
    honest = [i for i in range(COUNT) if i != faulty]
    nodes = start_all(tmp_path, [settings[i] for i in honest])

    def misbehave():
        links = Links(settings[faulty], 1000, lambda text: None)
        links.__enter__()
        try:
            links.greet()
            act(links)
        finally:
            links._sockets.close()

    thread = threading.Thread(target=misbehave)
    thread.start()
    outcome = nodes.start().join()
    thread.join()
    assert nodes.written() == []
    return honest, outcome


def message(links, node, **fields):
    """Return the message that is due to the first node of federated sums: statistics, of the right size."""
    head = (links._run, links.agreement.digest, links.me, Kind.STATISTICS, 0, 0, links._next_out[node])
    due = Message(*head, np.zeros(1 + 3 + 6))
    return replace(due, **fields).encoded()


def hold(links):
    """Keep the links open until the others are gone."""
    there, end = set(links.neighbours), time.monotonic() + 5
    while there and time.monotonic() < end:
        there -= {event.node for event in links._sockets.poll(0.1) if event.what is Happening.CLOSED}
    assert not there


def telling(change):
    def act(links):
        for node in links.neighbours:
            for data in change(links, node):
                links._sockets.send(node, data)
        hold(links)

    return act


def damaged(links, node):
    data = bytearray(message(links, node))
    data[-3] ^= 4
    return [bytes(data)]


def twice(links, node):
    data = message(links, node)
    return [data, data]


def one_left_out(links, node):
    return [message(links, node, sequence=links._next_out[node] + 1)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (damaged, Reason.GARBLED),
        (lambda links, node: [b"something else"], Reason.GARBLED),
        # What no message is as long as is not even taken.
        (lambda links, node: [bytes(1_000_000)], Reason.CLOSED),
        (lambda links, node: [message(links, node)[:-8]], Reason.GARBLED),
        (lambda links, node: [message(links, node, words=np.zeros(9))], Reason.GARBLED),
        (lambda links, node: [message(links, node, sender=1)], Reason.GARBLED),
        (lambda links, node: [message(links, node, words=np.full(10, np.nan))], Reason.NOT_FINITE),
        (lambda links, node: [message(links, node, words=np.full(10, np.inf))], Reason.NOT_FINITE),
        (twice, Reason.REPEATED),
        (one_left_out, Reason.MISSED),
        (lambda links, node: [message(links, node, kind=Kind.SUMS)], Reason.OUT_OF_STEP),
        (lambda links, node: [message(links, node, iteration=1)], Reason.OUT_OF_STEP),
        (lambda links, node: [message(links, node, round=1)], Reason.OUT_OF_STEP),
        (lambda links, node: [message(links, node, run=NO_RUN)], Reason.OTHER_RUN),
        (lambda links, node: [message(links, node, agreement=bytes(16))], Reason.OTHER_AGREEMENT),
    ],
)
def test_a_message_that_is_not_the_one_due_ends_the_run(tmp_path, change, reason):
    honest, outcome = run_with(tmp_path, COUNT - 1, telling(change), scheme="federated")
    assert ended(outcome, honest, COUNT - 1, reason)


def test_so_does_a_node_that_others_connect_to(tmp_path):
    honest, outcome = run_with(tmp_path, 0, telling(damaged))
    assert ended(outcome, honest, 0, Reason.GARBLED)


def test_a_node_that_goes_away_is_noticed_at_once(tmp_path, faulty):
    begin = time.monotonic()
    honest, outcome = run_with(tmp_path, faulty, lambda links: None, timeout_seconds=50)
    assert ended(outcome, honest, faulty, Reason.CLOSED)
    assert time.monotonic() - begin < 20


def test_a_node_that_stays_silent_is_given_up(tmp_path, faulty):
    honest, outcome = run_with(tmp_path, faulty, lambda links: time.sleep(2), timeout_seconds=0.5)
    assert all(isinstance(outcome[i], Fault) and outcome[i].reason == Reason.SILENT for i in honest)
    assert faulty in {outcome[i].node for i in honest}


def test_a_node_that_ends_by_an_error_of_its_own_tells_so(tmp_path, faulty):
    def act(links):
        links._tell(ValueError())
        hold(links)

    honest, outcome = run_with(tmp_path, faulty, act)
    assert ended(outcome, honest, faulty, Reason.OWN_ERROR)


@pytest.mark.parametrize(
    ("reason", "reported", "words"),
    [
        (
            Reason.REPEATED,
            True,
            "node 'n3' sent a message a second time (as node 'n1' says), so the run ended without a result",
        ),
        (
            Reason.REPEATED,
            False,
            "node 'n3' sent a message a second time, so the run ended without a result; have it repaired",
        ),
        (
            Reason.OTHER_RUN,
            False,
            "nodes 'n1' and 'n3' take part in different runs, so the run ended without a result; see",
        ),
        (Reason.OTHER_RUN, True, "one may be running twice with one key"),
    ],
)
def test_a_fault_names_the_node_and_who_found_it_and_both_of_two_that_differ(reason, reported, words):
    assert words in str(Fault(3, "n3", reason, 1, "n1", reported))


def pair(tmp_path, **agreed):
    """Return the links of two neighbours."""
    own = all_settings(tmp_path, 2, graph="complete", **agreed)
    return [Links(own[i], 100, lambda text: None) for i in range(2)]


def test_who_found_it_is_named_also_by_those_further_away(tmp_path):
    """A neighbour passes on what one behind it found."""
    one = Links(all_settings(tmp_path, COUNT)[1], 100, lambda text: None)
    first = Fault(0, "n0", Reason.REPEATED, 3, "n3", False)
    words = np.array([first.node, first.reason, first.finder], dtype=np.uint64)
    told = one._fault_in(2, Message(NO_RUN, one.agreement.digest, 2, Kind.ABORT, 0, 0, 0, words))
    assert "node 'n0' sent a message a second time (as node 'n3' says)" in str(told) and told.finder == 3


def test_an_address_that_nobody_can_connect_to_is_refused(tmp_path):
    own = all_settings(tmp_path, 2, graph="complete")[1]
    peers = (replace(own.agreement.peers[0], address="tcp://*:5700"), own.agreement.peers[1])
    bad = replace(own, agreement=replace(own.agreement, peers=peers))
    with pytest.raises(InputError, match="cannot be used to connect to node 'n0'"):
        with Links(bad, 100, lambda text: None):
            pass


def test_a_late_node_is_waited_for(tmp_path, faulty):
    nodes = start_all(tmp_path, all_settings(tmp_path, COUNT))
    nodes.start(*(i for i in range(COUNT) if i != faulty))
    time.sleep(0.5)
    assert nodes.outcome == {}
    nodes.start(faulty)
    assert not any(isinstance(came, BaseException) for came in nodes.join().values())
    assert len(nodes.written()) == 2 * COUNT


def test_a_node_that_is_too_late_ends_the_run(tmp_path, faulty):
    honest = [i for i in range(COUNT) if i != faulty]
    nodes = start_all(tmp_path, all_settings(tmp_path, COUNT, start_within_seconds=0.5))
    outcome = nodes.start(*honest).join()
    near = [i for i in honest if faulty in nodes.settings[i].agreement.graph.neighbours(i)]
    assert ended(outcome, near, faulty, Reason.ABSENT) and nodes.written() == []
    assert all(isinstance(outcome[i], Fault) for i in honest)
    assert isinstance(nodes.start(faulty).join()[faulty], Fault) and nodes.written() == []


def greets_and_goes(own, times=5):
    """Let a node greet its neighbours and go away."""
    links = Links(own, 1000, lambda text: None)
    links.__enter__()
    links._greeting = True
    for _ in range(times):
        for event in links._sockets.poll(0.1):
            links._greet(event)
    links._sockets.close(at_once=True)
    return len(links._hello)


def test_a_node_that_is_started_again_while_its_neighbours_wait_is_taken_back(tmp_path, faulty):
    nodes = start_all(tmp_path, all_settings(tmp_path, COUNT))
    near = int(nodes.settings[faulty].agreement.graph.neighbours(faulty)[0])
    nodes.start(near)  # whose other neighbour is not there yet
    assert greets_and_goes(nodes.settings[faulty]) == 1
    outcome = nodes.start(*(i for i in range(COUNT) if i != near)).join()
    assert not any(isinstance(came, BaseException) for came in outcome.values()), outcome


def test_a_node_that_is_started_again_later_ends_the_run(tmp_path):
    def act(links):
        second = Links(links._settings, 1000, lambda text: None)
        with pytest.raises(Fault):
            with second:
                second.greet()
        hold(links)

    honest, outcome = run_with(tmp_path, COUNT - 1, act)
    assert ended(outcome, honest, COUNT - 1, Reason.STARTED_AGAIN)


@pytest.mark.parametrize("closes", ["later", "while they wait", "never"])
def test_a_link_that_is_lost_on_one_side_while_nodes_wait_begins_anew(tmp_path, closes):
    file = tmp_path / "agreement.yaml"
    keys = write_agreement(file, COUNT)
    words = yaml.safe_load(file.read_text())
    listen = words["nodes"][0]["address"]
    relay = Relay(int(listen.rpartition(":")[2]))
    words["nodes"][0]["address"] = relay.address
    file.write_text(yaml.safe_dump(words))
    settings = [settings_of(file, keys, i) for i in range(COUNT)]
    settings[0] = replace(settings[0], listen=listen)
    nodes = start_all(tmp_path, settings).start(0, 3)
    time.sleep(0.5)
    half_open = relay.forget()
    assert len(half_open) == 1
    time.sleep(0.5)
    if closes == "while they wait":
        half_open[0].shutdown(socket.SHUT_RDWR)
        time.sleep(0.2)
    outcome = nodes.start(1, 2).outcome
    if closes == "later":
        time.sleep(0.1)
        half_open[0].shutdown(socket.SHUT_RDWR)
    nodes.join()
    assert not any(isinstance(came, BaseException) for came in outcome.values()), outcome
    assert len(nodes.written()) == 2 * COUNT


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"classes": 3}, "have different agreements: classes, so"),
        ({"eigenvalue_floor": 0.01, "iterations": 3}, "have different agreements: iterations, eigenvalue_floor, so"),
        ({"graph": "complete"}, "have different agreements: graph, so"),
        ({"scheme": "secure_sum"}, "have different agreements: scheme, constants, so"),
        ({"hours": 4}, "have different agreements: profiles, so"),
    ],
)
def test_another_agreement_is_refused_by_key(tmp_path, changes, words):
    settings = all_settings(tmp_path, COUNT, {3: changes}, timeout_seconds=1, start_within_seconds=2)
    outcome = start_all(tmp_path, settings).start().join()
    assert all(isinstance(came, Fault) for came in outcome.values()), outcome
    assert any(words in str(outcome[i]) for i in (0, 2)), outcome
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_node_that_comes_after_the_greeting_failed_is_told_why(tmp_path, monkeypatch):
    monkeypatch.setattr(links, "_STAY_S", 3.0)
    different = {2: {"classes": 3}}
    nodes = start_all(tmp_path, all_settings(tmp_path, COUNT, different, start_within_seconds=30, graph="complete"))
    nodes.start(1, 2)  # which differ
    time.sleep(0.5)
    begin = time.monotonic()
    outcome = nodes.start(0, 3).join()
    assert time.monotonic() - begin < 10
    for i in (0, 3):
        assert "nodes 'n1' and 'n2'" in str(outcome[i]) or "nodes 'n2' and 'n1'" in str(outcome[i]), outcome


def with_another_key(own):
    """Return settings of a node whose secret key is not the one that the others know."""
    public, secret = zmq.curve_keypair()
    peers = tuple(replace(p, public_key=public) if p.name == own.name else p for p in own.agreement.peers)
    return replace(own, agreement=replace(own.agreement, peers=peers), secret_key=secret)


def test_a_stranger_is_turned_away_and_learns_why(tmp_path):
    settings = all_settings(tmp_path, COUNT, start_within_seconds=1)
    settings[3] = with_another_key(settings[3])
    nodes = start_all(tmp_path, settings)
    outcome = nodes.start().join()
    assert outcome[3].reason == Reason.KEY_REFUSED and outcome[3].node in (0, 2)
    assert {outcome[i].reason for i in (0, 2)} == {Reason.ABSENT} and {outcome[i].node for i in (0, 2)} == {3}
    # The other may have been told so before it noticed.
    assert any("somebody whose key is not in the agreement knocked here" in str(outcome[i]) for i in (0, 2))
    assert nodes.written() == []


def test_a_stranger_does_not_disturb_a_run(tmp_path):
    settings = all_settings(tmp_path, COUNT)
    nodes = start_all(tmp_path, settings).start(0, 1, 2)
    context, stranger = zmq.Context(), None
    try:
        stranger = context.socket(zmq.DEALER)
        stranger.curve_serverkey = settings[0].agreement.peers[0].public_key
        stranger.curve_publickey, stranger.curve_secretkey = zmq.curve_keypair()
        stranger.connect(settings[0].listen)
        stranger.send(b"let me in")
        time.sleep(0.3)
        outcome = nodes.start(3).join()
    finally:
        stranger.close(0)
        context.term()
    assert not any(isinstance(came, BaseException) for came in outcome.values()), outcome


def test_an_impostor_at_an_address_gets_nothing(tmp_path):
    settings = all_settings(tmp_path, COUNT, start_within_seconds=2)
    nodes = start_all(tmp_path, [with_another_key(settings[0]), *settings[1:]])
    outcome = nodes.start().join()
    assert {(outcome[i].node, outcome[i].reason) for i in (1, 3)} == {(0, Reason.WRONG_KEY)}
    assert nodes.written() == []


class InTheWay(list):
    """Puts a folder where a file is to go, once the nodes have met."""

    def __init__(self, path):
        super().__init__()
        self._path = path

    def append(self, text):
        if text == "all nodes are there":
            self._path.mkdir(parents=True)


def test_a_node_that_cannot_name_its_files_does_not_cost_the_others_theirs(tmp_path):
    nodes = start_all(tmp_path, all_settings(tmp_path, COUNT))
    nodes.said[3] = InTheWay(tmp_path / "results/n3/study/node/mixture.parquet")
    outcome = nodes.start().join()
    assert isinstance(outcome[3], IsADirectoryError)
    assert not any(isinstance(outcome[i], BaseException) for i in range(3)), outcome
    assert {path.parents[2].name for path in nodes.written() if path.name == "mixture.parquet"} == {"n0", "n1", "n2"}


def test_a_node_that_could_not_write_says_so_before_it_meets_the_others(tmp_path):
    nodes = start_all(tmp_path, all_settings(tmp_path, COUNT)[3:])
    (tmp_path / "results/n3/study/node/mixture.parquet").mkdir(parents=True)
    with pytest.raises(InputError, match=r"cannot be written \(Is a directory\); correct the"):
        raise nodes.start(3).join()[3]
    assert nodes.said[3] == []


def hold_until_it_ended(links, at_once):
    """Hand over what a neighbour sends after its greeting once its ABORT has come, at once or one by one."""
    poll, held, ended = links._sockets.poll, [], threading.Event()

    def held_back(seconds):
        while not ended.is_set():
            come = poll(10)
            assert come, "nothing came"
            kinds = [Message.decoded(e.data).kind if e.what is Happening.MESSAGE else None for e in come]
            greeting = [event for event, kind in zip(come, kinds, strict=True) if kind in (None, Kind.HELLO)]
            held.extend(event for event in come if event not in greeting)
            if Kind.ABORT in kinds:
                ended.set()
            if greeting:
                return greeting
        if not held:
            return poll(seconds)
        return [held.pop(0) for _ in range(len(held) if at_once else 1)]

    links._sockets.poll = held_back


@contextmanager
def neighbour_that(tmp_path, iteration, times=1, ends=True):
    """Give the links of a node whose neighbour greets, says it came to an iteration, and may end by an error."""
    first, second = pair(tmp_path)
    over = threading.Event()

    def speak():
        with first:
            first.greet()
            for _ in range(times):
                first.send(1, Kind.DONE, iteration, 0, np.empty(0, dtype=np.uint64))
            if ends:
                first._tell(ValueError())
            over.wait(10)

    thread = threading.Thread(target=speak)
    thread.start()
    yield second
    over.set()
    thread.join()


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("last", [True, False])
def test_what_a_node_said_before_it_ended_holds_at_the_very_end(tmp_path, last, at_once):
    """A neighbour that had come to its end and then ends otherwise leaves nobody without a result."""
    with neighbour_that(tmp_path, 1) as second, second:
        hold_until_it_ended(second, at_once)
        second.greet()
        second.all_done(1, last)
        if not last:
            with pytest.raises(Fault, match="ended with an error of its own"):
                second.all_done(2, last=True)


def test_nobody_draws_who_can_know_that_a_neighbour_ended(tmp_path):
    """The neighbour had said that it charged, and both came at once."""
    with neighbour_that(tmp_path, 0) as second, second:
        hold_until_it_ended(second, at_once=True)
        second.greet()
        with pytest.raises(Fault, match="ended with an error of its own"):
            second.all_charged()


def test_who_waits_for_one_neighbour_ends_at_once_if_another_ended(tmp_path):
    """Nothing more comes of it, and more is needed; the one waited for may take long."""
    one = Links(all_settings(tmp_path, 3, graph="complete")[0], 100, lambda text: None)
    words = np.array([1, Reason.OWN_ERROR, 1], dtype=np.uint64)
    ended = Message(NO_RUN, one.agreement.digest, 1, Kind.ABORT, 0, 0, 0, words).encoded()
    come = [[Event(1, Happening.MESSAGE, ended)]]
    one._sockets = SimpleNamespace(poll=lambda seconds: come.pop())
    with pytest.raises(Fault, match="node 'n1' ended with an error of its own"):
        one.receive(2, Kind.DONE, 0, 0, 0)


def test_more_than_can_be_under_way_is_not_kept(tmp_path):
    with neighbour_that(tmp_path, 1, times=500, ends=False) as second:
        with pytest.raises(Fault, match="damaged or of another form"), second:
            poll, at_once = second._sockets.poll, []
            second._sockets.poll = lambda seconds: at_once.append(poll(seconds)) or at_once[-1]
            second.greet()
            for _ in range(100):  # what came with the greeting may be few
                time.sleep(0.05)
                second.all_done(1)
    assert len(second._queue[0]) == links._MOST_WAITING
    assert max(sum(event.what is Happening.MESSAGE for event in events) for events in at_once) <= sockets._MOST_HELD


class Tampered:
    """A scheme that returns another sum at this node alone."""

    def __init__(self, scheme):
        self._scheme = scheme

    def __getattr__(self, name):
        return getattr(self._scheme, name)

    def total(self, links, iteration, values):
        total = self._scheme.total(links, iteration, values)
        return total + 1e-3 if iteration == 4 else total


def test_nodes_that_came_to_other_mixtures_write_nothing(tmp_path):
    settings = all_settings(tmp_path, COUNT)
    wrong = settings[3].agreement
    settings[3] = replace(settings[3], agreement=replace(wrong, scheme=Tampered(wrong.scheme)))
    nodes = start_all(tmp_path, settings)
    outcome = nodes.start().join()
    assert all(isinstance(came, Fault) and came.reason == Reason.DISAGREES for came in outcome.values()), outcome
    assert nodes.written() == []


@pytest.mark.parametrize(
    ("scheme", "iteration"), [("federated", 1), ("secure_sum", 1), ("edge_masks", 1), ("edge_masks", 0)]
)
@pytest.mark.parametrize(
    "change",
    [
        lambda total: np.full_like(total, 1e300),
        lambda total: -total,
        lambda total: total * np.geomspace(1, 1e7, len(total)),
    ],
    ids=["huge", "negative", "far away"],
)
def test_a_sum_that_cannot_be_is_blamed_on_nobody(tmp_path, scheme, change, iteration):
    """Whoever adds it up may lie, and so may any node whose part is in it: no other node can tell."""
    settings = all_settings(tmp_path, COUNT, scheme=scheme)
    lying = Lying(settings[0].agreement.scheme, iteration, change)
    settings[0] = replace(settings[0], agreement=replace(settings[0].agreement, scheme=lying))
    nodes = start_all(tmp_path, settings)
    outcome = nodes.start().join()
    assert {came.reason for came in outcome.values()} == {Reason.IMPOSSIBLE_SUM}, outcome
    assert all(came.node == came.finder != 0 for came in outcome.values())
    assert "a sum over all nodes that no readings give, and it is unknown which node sent wrong numbers" in str(
        outcome[2]
    )
    assert nodes.written() == []


def test_more_classes_than_records_are_no_node_s_fault(tmp_path):
    nodes = start_all(tmp_path, all_settings(tmp_path, COUNT, scheme="edge_masks", classes=200))
    outcome = nodes.start().join()
    assert all("came to a sum of fewer records than classes" in str(came) for came in outcome.values()), outcome
    assert nodes.written() == []


def test_a_secret_key_is_its_owners(tmp_path):
    file, public = new_keys(tmp_path / "keys", "north")
    assert file.stat().st_mode & 0o077 == 0 and read_secret(file)[0].decode() == public
    file.chmod(0o640)
    with pytest.raises(InputError, match="can be read by others; take their permission away"):
        read_secret(file)
    with pytest.raises(InputError, match="already exists"):
        new_keys(tmp_path / "keys", "north")
    with pytest.raises(InputError, match="is not a name for a node"):
        new_keys(tmp_path / "keys", "../north")
    with pytest.raises(InputError, match="holds no secret key"):
        read_secret(tmp_path / "keys/north.key")


@pytest.mark.parametrize("name", ["north.key", "north.key_secret"])
def test_keys_are_not_written_through_a_link(tmp_path, monkeypatch, name):
    """Neither through one that leads nowhere, nor through one that is put there meanwhile."""
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / name).symlink_to(elsewhere)
    with pytest.raises(InputError, match="already exists"):
        new_keys(tmp_path / "keys", "north")
    (tmp_path / "keys" / name).unlink()
    create = zmq.auth.create_certificates

    def meanwhile(*words):
        (tmp_path / "keys" / name).symlink_to(elsewhere)
        return create(*words)

    monkeypatch.setattr(zmq.auth, "create_certificates", meanwhile)
    file, public = new_keys(tmp_path / "keys", "north")
    assert not elsewhere.exists() and read_secret(file)[0].decode() == public
    assert sorted(path.name for path in file.parent.iterdir()) == ["north.key", "north.key_secret"]


def test_a_node_takes_all_descriptors_that_it_may(tmp_path, monkeypatch):
    for name in ("set_cpu_count", "set_io_thread_count"):  # which would stay so
        monkeypatch.setattr(pa, name, lambda count: None)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(500, before[1]), before[1]))
    try:
        run_node(all_settings(tmp_path, 2, graph="complete")[0], lambda settings, say: "done")
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_who_connects_and_shows_no_key_is_cut_off(tmp_path, monkeypatch):
    monkeypatch.setattr(sockets, "_HANDSHAKE_MS", 200)
    first, second = pair(tmp_path)
    with first:
        idle = [socket.create_connection(first.agreement.peers[0].address[6:].split(":")) for _ in range(20)]
        for one in idle:
            one.settimeout(10)
            with suppress(ConnectionResetError):
                while one.recv(100):
                    pass
            one.close()
        greeting = threading.Thread(target=first.greet)
        greeting.start()
        with second:
            second.greet()
        greeting.join(10)
        assert not greeting.is_alive()
