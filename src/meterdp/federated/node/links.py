"""What a node sends to its neighbours and takes from them: every message is the one that was due, or the run ends.

A run begins with a greeting. Neighbours compare the digests of their agreements, and numbers drawn afresh travel
through the whole graph: so all nodes are known to be there before anything private is sent, and their digest names
the run in all later messages. A node that finds something wrong, or hears of it, tells its neighbours and ends.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meterdp.federated.node.config import NodeSettings
from meterdp.federated.node.messages import (
    HEADER_BYTES,
    NO_RUN,
    Fault,
    Garbled,
    Kind,
    Message,
    Reason,
    bytes_on_link,
    uniform_words,
)
from meterdp.federated.node.sockets import Event, Happening, Sockets

_NONCE_WORDS = 2
_SAY_EVERY_S = 10.0
# After a greeting that failed, for nodes that come a little later.
_STAY_S = 5.0
# For what CURVE and ZMTP add to a message, generously.
_FRAME_BYTES = 1024
# A sum needs every node, so a neighbour is one sum ahead at most, of which no scheme sends more than three messages.
_MOST_WAITING = 8


@dataclass
class Sent:
    """What this node has sent: messages, bytes of numbers, and bytes on its connections (all but TCP and IP)."""

    messages: int = 0
    payload_bytes: int = 0
    link_bytes: int = 0

    def add(self, message_bytes: int) -> None:
        """Count one message."""
        self.messages += 1
        self.payload_bytes += message_bytes - HEADER_BYTES
        self.link_bytes += bytes_on_link(message_bytes)


class Links:
    """Links of one node that its scheme needs, open as a context; no message has more than ``most_words``."""

    def __init__(self, settings: NodeSettings, most_words: int, say: Callable[[str], object]):
        self.agreement, self.me = settings.agreement, settings.number
        graph = self.agreement.scheme.links
        self.neighbours, self.sent = graph.neighbours(self.me).tolist(), Sent()
        self._settings, self._depth, self._say = settings, graph.diameter, say
        n = len(self.agreement.peers)
        most = max(most_words, _NONCE_WORDS * n, _NONCE_WORDS + len(self.agreement.parts))
        self._most_bytes = HEADER_BYTES + 8 * most + _FRAME_BYTES
        self._timeout_s = float(self.agreement.settings["timeout_seconds"])
        self._run = NO_RUN
        self._nonce = uniform_words(_NONCE_WORDS)
        self._hello: dict[int, np.ndarray] = {}
        self._queue: dict[int, deque[Message]] = {i: deque() for i in self.neighbours}
        self._next_out = dict.fromkeys(self.neighbours, 0)
        self._next_in = dict.fromkeys(self.neighbours, 0)
        self._link: dict[int, bytes] = {}
        self._closed: set[int] = set()
        self._said_all = False
        self._ended: dict[int, Fault] = {}
        self._failed_handshake: set[int] = set()
        self._waiting_for: int | None = None
        self._greeting = False
        self._sockets: Sockets | None = None

    def __enter__(self) -> Links:
        self._sockets = Sockets(
            self.me,
            self.agreement.peers,
            self.neighbours,
            self._settings.secret_key,
            self._settings.listen,
            self._most_bytes,
        )
        return self

    def __exit__(self, kind, error, traceback) -> None:
        self.end(error)

    def end(self, error: BaseException | None = None) -> None:
        """Close the links, unless they are closed; the neighbours hear first of an error that ends the run."""
        if self._sockets is None:
            return
        try:
            if error is not None:
                self._tell(error)
                if self._greeting and isinstance(error, Fault):
                    self._tell_late(error)
        finally:
            sockets, self._sockets = self._sockets, None
            sockets.close()

    @property
    def run(self) -> bytes:
        """Name of this run, sixteen bytes made of fresh numbers of all nodes; known once they have met."""
        return self._run

    def name(self, node: int) -> str:
        return self.agreement.peers[node].name

    def fault(self, node: int, reason: Reason, detail: str = "") -> Fault:
        """Return what is to be raised if something is wrong with a neighbour."""
        return Fault(node, self.name(node), reason, self.me, self.name(self.me), False, detail)

    # Greeting

    def greet(self) -> None:
        """Wait until all nodes are there and know of each other; a :class:`Fault` if one does not come, has the wrong
        key or another agreement.
        """
        begun = said = time.monotonic()
        end = begun + float(self.agreement.settings["start_within_seconds"])
        self._greeting = True
        while missing := [i for i in self.neighbours if i not in self._hello]:
            now = time.monotonic()
            if now >= end:
                for node in self._failed_handshake.intersection(missing):
                    raise self.fault(node, Reason.WRONG_KEY)
                stranger = ", though somebody whose key is not in the agreement knocked here"
                raise self.fault(missing[0], Reason.ABSENT, stranger if self._sockets.turned_away else "")
            if now - said >= _SAY_EVERY_S:
                said = now
                self._say(f"waiting for {', '.join(map(self.name, missing))} ({now - begun:.0f} s)")
            for event in self._sockets.poll(min(1.0, end - now)):
                self._greet(event)
        self._greeting = False
        self._gather()

    def _greet(self, event: Event) -> None:
        node = event.node
        if node not in self._queue:
            return  # a node of the agreement, but not by its graph a neighbour: who is one finds that it differs
        match event.what:
            case Happening.CONNECTED:
                self._failed_handshake.discard(node)
                self._closed.discard(node)
                self._begin_link(node)
                self._send_hello(node)
            case Happening.CLOSED if self._is_current(event):  # it may come back
                self._closed.add(node)
                self._begin_link(node)
            case Happening.KEY_REFUSED:
                raise self.fault(node, Reason.KEY_REFUSED)
            case Happening.HANDSHAKE_FAILED:
                # Not the end: so looks, too, a forwarded port behind which the node is not up yet.
                if node not in self._failed_handshake:
                    self._say(f"the address of {self.name(node)} is answered, but not with its key; trying on")
                self._failed_handshake.add(node)
            case Happening.MESSAGE:
                self._take(event)

    def _begin_link(self, node: int) -> None:
        self._hello.pop(node, None)
        self._queue[node].clear()
        self._next_in[node] = self._next_out[node] = 0

    def _send_hello(self, node: int) -> None:
        parts = np.frombuffer(b"".join(self.agreement.parts.values()), "<u8")
        self.send(node, Kind.HELLO, 0, 0, np.concatenate([self._nonce, parts]))

    def _take_hello(self, node: int, message: Message) -> None:
        if message.agreement != self.agreement.digest:
            raise self.fault(node, Reason.OTHER_AGREEMENT, self._difference(message.words[_NONCE_WORDS:]))
        if len(message.words) != _NONCE_WORDS + len(self.agreement.parts):
            raise self.fault(node, Reason.GARBLED)
        self._hello[node] = message.words[:_NONCE_WORDS]
        if node > self.me:  # it connected to this node, and so it spoke first
            self._send_hello(node)

    def _difference(self, theirs: np.ndarray) -> str:
        if len(theirs) != len(self.agreement.parts):
            return ", of another version of meterdp"
        ours = np.frombuffer(b"".join(self.agreement.parts.values()), "<u8")
        keys = np.array(list(self.agreement.parts))[ours != theirs]
        return f": {', '.join(keys)}"

    def _gather(self) -> None:
        """Let everybody's fresh numbers reach everybody; their digest names the run."""
        n = len(self.agreement.peers)
        known = np.zeros((n, _NONCE_WORDS), dtype=np.uint64)
        known[self.me] = self._nonce
        for node, nonce in self._hello.items():
            known[node] = nonce
        for round_ in range(self._depth):
            before = known.copy()
            for node, words in self.swap(Kind.GATHER, 0, round_, before.ravel()).items():
                heard = words.reshape(n, _NONCE_WORDS)
                new = heard.any(axis=1)
                old = before.any(axis=1)
                if not new[self.me] or (heard != before)[new & old].any():
                    raise self.fault(node, Reason.OTHER_RUN)
                known[new] = heard[new]
        self._run = hashlib.sha256(self.agreement.digest + known.tobytes()).digest()[:16]

    # Messages

    def send(self, node: int, kind: Kind, iteration: int, round_: int, words: np.ndarray) -> None:
        """Send numbers to a neighbour."""
        message = Message(
            self._run, self.agreement.digest, self.me, kind, iteration, round_, self._next_out[node], words
        )
        data = message.encoded()
        self._next_out[node] += 1
        # Without a connection nothing comes back either, which is noticed there.
        if self._sockets.send(node, data):
            self.sent.add(len(data))

    def receive(self, node: int, kind: Kind, iteration: int, round_: int, size: int) -> np.ndarray:
        """Return the ``size`` numbers that a neighbour sent in one step; a :class:`Fault` if none come in time, or
        others.
        """
        message = self._next(node)
        if message.agreement != self.agreement.digest:
            raise self.fault(node, Reason.OTHER_AGREEMENT)
        if message.run != self._run:
            raise self.fault(node, Reason.OTHER_RUN)
        if (message.kind, message.iteration, message.round) != (kind, iteration, round_):
            raise self.fault(node, Reason.OUT_OF_STEP)
        if len(message.words) != size:
            raise self.fault(node, Reason.GARBLED)
        if not np.isfinite(message.words).all():
            raise self.fault(node, Reason.NOT_FINITE)
        return message.words

    def swap(self, kind: Kind, iteration: int, round_: int, words: np.ndarray) -> dict[int, np.ndarray]:
        """Send the same numbers to all neighbours and return as many from each."""
        for node in self.neighbours:
            self.send(node, kind, iteration, round_, words)
        return {node: self.receive(node, kind, iteration, round_, len(words)) for node in self.neighbours}

    def all_done(self, iteration: int, last: bool = False) -> None:
        """Return once every node has come so far.

        If it is the ``last`` thing sent, a neighbour that has said all it had to say may end as it likes.
        """
        nothing = np.empty(0, dtype=np.uint64)
        for round_ in range(self._depth):
            for node in self.neighbours:
                self.send(node, Kind.DONE, iteration, round_, nothing)
            self._said_all = last and round_ == self._depth - 1
            for node in self.neighbours:
                self.receive(node, Kind.DONE, iteration, round_, 0)

    def all_charged(self) -> None:
        """Return once every node has come so far, which it does when it has charged its ledger.

        No node sends anything that depends on its readings before this has returned there. So a node that it raises
        at may take its charge back, whatever the others do. It closes the links first: files of a ledger need
        descriptors, and connections of strangers take them.
        """
        try:
            self.all_done(0)
            self._look(0)
            for node in self.neighbours:
                self._check_not_gone(node)
        except BaseException as error:
            self.end(error)
            raise

    def _next(self, node: int) -> Message:
        end = time.monotonic() + self._timeout_s
        self._waiting_for = node
        while not self._queue[node]:
            self._check_not_gone(node)
            if not self._said_all:  # of a neighbour that ended what it said before is still taken, and more is needed
                for other in self._ended:
                    if not self._queue[other]:
                        self._check_not_gone(other)
            left = end - time.monotonic()
            if left <= 0:
                raise self.fault(node, Reason.SILENT)
            self._look(left)
        self._waiting_for = None
        return self._queue[node].popleft()

    def _look(self, seconds: float) -> None:
        """Take what has come, or comes within so many seconds."""
        for event in self._sockets.poll(seconds):
            if event.what is Happening.MESSAGE:
                self._take(event)
            elif event.what is Happening.CLOSED and self._is_current(event):
                self._closed.add(event.node)

    def _check_not_gone(self, node: int) -> None:
        if node in self._ended:
            raise self._ended[node]
        if node in self._closed:
            raise self.fault(node, Reason.CLOSED)

    def _take(self, event: Event) -> None:
        """Look at a message that came, and keep it until it is due."""
        node = event.node
        if node not in self._queue:
            return
        try:
            message = Message.decoded(event.data)
        except Garbled:
            raise self.fault(node, Reason.GARBLED) from None
        if message.kind == Kind.HELLO:
            new = self._is_new(node, message)
            if new and not self._greeting:
                raise self.fault(node, Reason.STARTED_AGAIN)
            if not new and node < self.me and message.sequence == 0:
                return  # its answer to a greeting that came twice, because the link broke in between
            if self._greeting and node > self.me and (new or message.sequence == 0):
                # It connected, for the first time or once more.
                self._closed.discard(node)
                self._begin_link(node)
                self._link[node] = event.link
        if message.kind != Kind.ABORT and not self._is_current(event):
            if self._greeting:
                return  # was under way when the link broke; a greeting follows
            raise self.fault(node, Reason.CLOSED)
        if message.sender != node:
            raise self.fault(node, Reason.GARBLED)
        if message.kind == Kind.ABORT:  # also to a node that was started again, and for which it is not the next
            fault = self._fault_in(node, message)
            if self._greeting:
                raise fault
            # What it said before holds, however much of it comes at once.
            self._ended.setdefault(node, fault)
            return
        if message.sequence != self._next_in[node]:
            raise self.fault(node, Reason.REPEATED if message.sequence < self._next_in[node] else Reason.MISSED)
        self._next_in[node] += 1
        if message.kind == Kind.HELLO and self._greeting:
            self._take_hello(node, message)
        elif len(self._queue[node]) == _MOST_WAITING:
            raise self.fault(node, Reason.GARBLED)
        else:
            self._queue[node].append(message)

    def _is_current(self, event: Event) -> bool:
        """Whether something happened on the connection over which a node greeted last."""
        return event.link == self._link.get(event.node, b"")

    def _is_new(self, node: int, message: Message) -> bool:
        """Whether a greeting is of another start of a node than the one before, if any."""
        return node not in self._hello or message.words[:_NONCE_WORDS].tolist() != self._hello[node].tolist()

    # The end of a run that failed

    def _fault_in(self, node: int, message: Message) -> Fault:
        """Return the fault that a neighbour tells."""
        words = message.words.tolist()
        about, reason, finder = words if len(words) == 3 else (node, Reason.OWN_ERROR, node)
        if max(about, finder) >= len(self.agreement.peers) or reason not in {int(r) for r in Reason}:
            return self.fault(node, Reason.GARBLED)
        if about == self.me and reason == Reason.SILENT and self._waiting_for is not None:
            return self.fault(self._waiting_for, Reason.SILENT)  # which is why this node was silent
        return Fault(about, self.name(about), Reason(reason), finder, self.name(finder), finder != about)

    def _tell(self, error: BaseException) -> None:
        for node in self.neighbours:
            self._tell_one(node, error)

    def _tell_late(self, error: Fault) -> None:
        """Tell also neighbours that come within a few seconds, rather than let them wait for this node."""
        late, end = set(self.neighbours) - set(self._hello) - {error.node}, time.monotonic() + _STAY_S
        while late and (left := end - time.monotonic()) > 0:
            for event in self._sockets.poll(left):
                if event.node in late and event.what in (Happening.CONNECTED, Happening.MESSAGE):
                    self._tell_one(event.node, error)
                    late.discard(event.node)

    def _tell_one(self, node: int, error: BaseException) -> None:
        own = (self.me, Reason.OWN_ERROR, self.me)
        words = (error.node, error.reason, error.finder) if isinstance(error, Fault) else own
        self.send(node, Kind.ABORT, 0, 0, np.array(words, dtype=np.uint64))
