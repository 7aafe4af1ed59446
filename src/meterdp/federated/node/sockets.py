"""The sockets of a node: encrypted with CURVE, both ends authenticated by keys known beforehand.

Of two neighbours the later in the agreement connects to the earlier, so of any two only one must be reachable. A node
listens at one address for all of them and takes nobody whose key is not in the agreement. ZeroMQ does all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum

import zmq
from zmq.auth.thread import ThreadAuthenticator
from zmq.utils.monitor import parse_monitor_message

from meterdp.errors import InputError
from meterdp.federated.node.config import Peer

_DOMAIN = "meterdp"
_EVENTS = (
    zmq.EVENT_ACCEPTED
    | zmq.EVENT_DISCONNECTED
    | zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)
# A peer whose machine is gone is noticed after this, long before a slow one is given up.
_HEARTBEAT_MS, _HEARTBEAT_TIMEOUT_MS = 5_000, 15_000
_RECONNECT_MS, _SLOWEST_RECONNECT_MS = 100, 2_000
# Whoever connects and has not shown a key by then is cut off: each takes a descriptor.
_HANDSHAKE_MS = 5_000
# For handing the last messages over to the operating system, which sends them when the node has ended.
_LINGER_MS = 500
# So many messages of a peer are held; who sends on meanwhile is not read. A message in many pieces counts as one,
# whatever they come to: ZeroMQ limits each piece and delivers only what is complete.
_MOST_HELD = 16


class Happening(Enum):
    """What a poll may find about a neighbour."""

    CONNECTED = "connected"
    MESSAGE = "message"
    CLOSED = "closed"
    HANDSHAKE_FAILED = "handshake failed"
    KEY_REFUSED = "key refused"


@dataclass(frozen=True)
class Event:
    """What happened to which node; ``data`` is that of a message, ``link`` the connection, if several can be."""

    node: int
    what: Happening
    data: bytes = b""
    link: bytes = b""


class _Allowed:
    """The list of client keys for ZAP; counts who is turned away."""

    def __init__(self, keys: set[bytes]):
        self._keys, self.turned_away = keys, 0

    def callback(self, domain: str, key: bytes) -> bool:
        known = key in self._keys
        self.turned_away += not known
        return known


class Sockets:
    """Connections of one node to its neighbours.

    Who sends a message of more than ``most_bytes`` in one piece is cut off. Raises :class:`InputError` if the node
    cannot listen at ``listen``.
    """

    def __init__(
        self,
        me: int,
        peers: Sequence[Peer],
        neighbours: Sequence[int],
        secret_key: bytes,
        listen: str,
        most_bytes: int,
    ):
        self._context = zmq.Context()
        self._number = {peer.public_key: i for i, peer in enumerate(peers)}
        self._allowed = _Allowed(set(self._number) - {peers[me].public_key})
        self._pair = (peers[me].public_key, secret_key)
        self._most_bytes = most_bytes
        self._route: dict[int, bytes] = {}
        self._node_of_fd: dict[int, int] = {}
        self._left_behind: set[bytes] = set()
        self._gone_fds: set[int] = set()
        self._connected: set[int] = set()
        self._door: zmq.Socket | None = None
        self._dealers: dict[int, zmq.Socket] = {}
        self._monitors: dict[zmq.Socket, int | None] = {}
        self._guard = ThreadAuthenticator(self._context)
        self._guard.start()
        self._guard.configure_curve_callback(_DOMAIN, self._allowed)
        try:
            if any(i > me for i in neighbours):
                self._listen(listen)
            for i in neighbours:
                if i < me:
                    self._connect(i, peers[i])
        except BaseException:
            self.close(at_once=True)
            raise
        self._poller = zmq.Poller()
        for socket in (*self._dealers.values(), *self._monitors, *([self._door] if self._door else [])):
            self._poller.register(socket, zmq.POLLIN)

    @property
    def turned_away(self) -> int:
        """How often somebody with an unknown key was turned away."""
        return self._allowed.turned_away

    def _socket(self, kind: int) -> zmq.Socket:
        socket = self._context.socket(kind)
        socket.curve_publickey, socket.curve_secretkey = self._pair
        socket.maxmsgsize, socket.rcvhwm = self._most_bytes, _MOST_HELD
        socket.linger = _LINGER_MS
        socket.handshake_ivl = _HANDSHAKE_MS
        socket.heartbeat_ivl, socket.heartbeat_timeout = _HEARTBEAT_MS, _HEARTBEAT_TIMEOUT_MS
        socket.ipv6 = True
        return socket

    def _listen(self, address: str) -> None:
        self._door = self._socket(zmq.ROUTER)
        self._door.curve_server = True
        self._door.zap_domain = _DOMAIN.encode()
        self._door.router_mandatory = True
        self._monitors[self._door.get_monitor_socket(_EVENTS)] = None
        try:
            self._door.bind(address)
        except zmq.ZMQError as error:
            raise InputError(
                f"the node cannot listen at its address ({error.strerror})",
                field="node.listen",
                hint="free the port, or set node.listen to an address of this machine",
            ) from None

    def _connect(self, node: int, peer: Peer) -> None:
        dealer = self._dealers[node] = self._socket(zmq.DEALER)
        dealer.curve_serverkey = peer.public_key
        dealer.reconnect_ivl, dealer.reconnect_ivl_max = _RECONNECT_MS, _SLOWEST_RECONNECT_MS
        self._monitors[dealer.get_monitor_socket(_EVENTS)] = node
        try:
            dealer.connect(peer.address)
        except zmq.ZMQError as error:
            raise InputError(
                f"cannot be used to connect to node '{peer.name}' ({zmq.strerror(error.errno)})",
                field="nodes.address",
                hint="write the address at which the other nodes reach it, a name or number and a port",
            ) from None

    def send(self, node: int, data: bytes) -> bool:
        """Hand a message over to be sent; False if there is no connection."""
        try:
            if node in self._connected:
                self._dealers[node].send(data, zmq.NOBLOCK)
            elif node in self._route:
                self._door.send_multipart([self._route[node], data], zmq.NOBLOCK)
            else:
                return False
        except zmq.ZMQError as error:
            if error.errno in (zmq.EAGAIN, zmq.EHOSTUNREACH):
                return False
            raise
        return True

    def poll(self, seconds: float) -> list[Event]:
        """Wait until something happens, at most so long, and return it in order, of each node separately."""
        ready = dict(self._poller.poll(max(0, int(1000 * seconds))))
        events = []
        # Monitors first: a message that came before its sender left is there already when its leaving is known.
        for monitor, node in self._monitors.items():
            while monitor in ready and monitor.poll(0):
                events += self._link_events(node, parse_monitor_message(monitor.recv_multipart()))
        left = {event.node for event in events if event.what is Happening.CLOSED}
        messages = []
        for node, dealer in self._dealers.items():
            for frames in self._complete(dealer, ready, left, 1):
                messages.append(Event(node, Happening.MESSAGE, frames[0].bytes if len(frames) == 1 else b""))
        if self._door is not None:
            for frames in self._complete(self._door, ready, left, len(self._number)):
                messages += self._received(frames)
        return [m for m in messages if m.node in left] + events + [m for m in messages if m.node not in left]

    @staticmethod
    def _complete(socket: zmq.Socket, ready: Mapping, left: Set, senders: int) -> Iterator[list[zmq.Frame]]:
        """Read what has come, but not for ever from one that sends for ever."""
        for _ in range(senders * _MOST_HELD if socket in ready or left else 0):
            if not socket.poll(0):
                return
            yield socket.recv_multipart(copy=False)

    def _link_events(self, node: int | None, report: dict) -> list[Event]:
        event, value = report["event"], report["value"]
        if node is None:  # whoever knocked at the door is known only by the descriptor of the connection
            if event == zmq.EVENT_ACCEPTED:
                self._gone_fds.discard(value)
            elif event == zmq.EVENT_DISCONNECTED:
                self._gone_fds.add(value)
                known = self._node_of_fd.pop(value, None)
                # Not of one that the node has replaced: a relay that forgot its other side may close it late.
                if known is not None:
                    return [Event(known, Happening.CLOSED, link=self._route.pop(known))]
            return []
        match event:
            case zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self._connected.add(node)
                return [Event(node, Happening.CONNECTED)]
            case zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                return [Event(node, Happening.KEY_REFUSED)]
            case zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
                return [Event(node, Happening.HANDSHAKE_FAILED)]
            case zmq.EVENT_DISCONNECTED:
                self._connected.discard(node)
                return [Event(node, Happening.CLOSED)]
        return []

    def _received(self, frames: list[zmq.Frame]) -> list[Event]:
        """Return a message that came through the door, and that its sender left if it did so meanwhile."""
        node = self._number[frames[1].get("User-Id").encode()]
        link, connection = frames[0].bytes, frames[1].get(zmq.SRCFD)
        if link in self._left_behind:
            return []
        event = Event(node, Happening.MESSAGE, frames[1].bytes if len(frames) == 2 else b"", link)
        if self._route.get(node, link) != link:
            if connection in self._gone_fds:
                return []
            self._left_behind.add(self._route[node])
            self._node_of_fd = {fd: other for fd, other in self._node_of_fd.items() if other != node}
        if connection in self._gone_fds:
            self._route.pop(node, None)
            return [event, Event(node, Happening.CLOSED, link=link)]
        self._route[node], self._node_of_fd[connection] = link, node
        return [event]

    def close(self, at_once: bool = False) -> None:
        """Close everything, after what is under way has been sent."""
        linger = 0 if at_once else _LINGER_MS
        for socket in (*self._dealers.values(), *([self._door] if self._door else [])):
            socket.disable_monitor()
            socket.close(linger)
        for monitor in self._monitors:
            monitor.close(0)
        self._guard.stop()
        self._context.term()
