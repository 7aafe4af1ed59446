"""Messages between nodes, the keys of their links, the numbers that mask sums, and what can be wrong with a peer.

A message is a header that says what it is for, numbers of eight bytes, and a digest, which finds what a faulty node
garbles. Against everybody else the links are encrypted and authenticated by key pairs in the certificate files of
ZeroMQ: ``NAME.key`` is public, ``NAME.key_secret`` is not.

Masks come straight from the operating system: from what a neighbour receives of a generator like PCG64 the rest of
its numbers could be worked out. They protect sums while they are formed; the noise of a release is drawn in
:mod:`meterdp.privacy.release` only. A fault of a peer is one sentence that holds no value.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
import tempfile
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
import zmq.auth

from meterdp.errors import InputError, unwritable


class Kind(IntEnum):
    """What a message is for."""

    HELLO = 1
    GATHER = 2
    STATISTICS = 3
    SUMS = 4
    PARTIAL = 5
    TOTAL = 6
    MODEL = 9
    DONE = 10
    ABORT = 11
    MASK = 12
    PLAN = 13


# Numbers of these kinds are whole, those of all others are real.
WHOLE = {Kind.HELLO, Kind.GATHER, Kind.PARTIAL, Kind.DONE, Kind.ABORT, Kind.MASK, Kind.PLAN}
_KINDS = {int(kind) for kind in Kind}
NO_RUN = bytes(16)
_MAGIC = b"MDP1"
# Magic, run, agreement, sender, kind, iteration, round, sequence, words; little-endian.
_HEAD = struct.Struct("<4s16s16sHBxIIQI")
_DIGEST_BYTES = 16
HEADER_BYTES = _HEAD.size + _DIGEST_BYTES
# What CURVE adds: name of the command 8, nonce 8, authenticator 16, flags 1. ZMTP adds flags and a length of 1 or 8.
_CURVE_BYTES, _SHORT_FRAME = 33, 255


class Garbled(ValueError):
    """Bytes that are no message."""


@dataclass(frozen=True)
class Message:
    """One message of one run: sixteen bytes name it, and sixteen what was agreed on.

    ``iteration`` and ``round`` are the step of the algorithm, ``sequence`` the messages that went before it over the
    same link in the same direction, ``words`` (n,) float64 or uint64.
    """

    run: bytes
    agreement: bytes
    sender: int
    kind: Kind
    iteration: int
    round: int
    sequence: int
    words: np.ndarray

    def encoded(self) -> bytes:
        kind = "<u8" if self.kind in WHOLE else "<f8"
        head = _HEAD.pack(
            *(_MAGIC, self.run, self.agreement, self.sender, self.kind, self.iteration, self.round, self.sequence),
            len(self.words),
        )
        body = np.ascontiguousarray(self.words, dtype=kind).tobytes()
        return head + _digest(head, body) + body

    @classmethod
    def decoded(cls, data: bytes) -> Message:
        """Invert :meth:`encoded`; raise :class:`Garbled` for what is no message, or not as it was sent."""
        head, digest, body = data[: _HEAD.size], data[_HEAD.size : HEADER_BYTES], data[HEADER_BYTES:]
        if len(data) < HEADER_BYTES or _digest(head, body) != digest:
            raise Garbled
        magic, run, agreement, sender, kind, iteration, round_, sequence, words = _HEAD.unpack(head)
        if magic != _MAGIC or kind not in _KINDS or 8 * words != len(body):
            raise Garbled
        numbers = np.frombuffer(body, "<u8" if kind in WHOLE else "<f8")
        return cls(run, agreement, sender, Kind(kind), iteration, round_, sequence, numbers)


def bytes_on_link(message_bytes: int) -> int:
    """Return what a message of so many bytes takes on its connection, without the headers of TCP and IP."""
    box = message_bytes + _CURVE_BYTES
    return box + (2 if box <= _SHORT_FRAME else 9)


def _digest(head: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(head + body, digest_size=_DIGEST_BYTES).digest()


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


def new_keys(folder, name: str) -> tuple[Path, str]:
    """Make a key pair for a node and return the secret file, readable by its owner only, and the public key for the
    agreement.

    The public key lies beside the secret one. Raises :class:`InputError` if the name is not one for a node, or has
    keys already.
    """
    if not NAME.fullmatch(name):
        raise InputError(
            "is not a name for a node", field="name", hint="use up to 40 letters, digits, dashes and underscores"
        )
    folder = Path(folder)
    files = [folder / f"{name}.key", folder / f"{name}.key_secret"]
    for file in files:
        if os.path.lexists(file):
            raise InputError("already exists", file=file, hint="use another name, or keep the keys you have")
    before = os.umask(0o077)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as own:
            zmq.auth.create_certificates(own, name)
            for file in files:  # in the place of a link that somebody put there meanwhile, not through it
                os.replace(Path(own, file.name), file)
    except OSError as error:
        raise unwritable(error, folder, "name another folder") from None
    finally:
        os.umask(before)
    return files[1], zmq.auth.load_certificate(files[0])[0].decode()


def read_secret(file) -> tuple[bytes, bytes]:
    """Return the public and the secret key in a file that only its owner can read; refuse any other."""
    try:
        if stat.S_IMODE(os.stat(file).st_mode) & 0o077:
            raise InputError("can be read by others", file=file, hint="take their permission away (chmod 600)")
        public, secret = zmq.auth.load_certificate(file)
    except (OSError, ValueError):
        public = secret = None
    if secret is None:
        raise InputError("holds no secret key", file=file, hint="make one with `meterdp node --new-keys FOLDER NAME`")
    return public, secret


def uniform_words(size: int) -> np.ndarray:
    """Return independent whole numbers, uniform modulo 2^64."""
    return np.frombuffer(os.urandom(8 * size), dtype="<u8").astype(np.uint64)


_AGAIN = "start all nodes again"


class Reason(IntEnum):
    """What a node found about a peer; the number goes to the other nodes, the person gets a sentence and a hint."""

    def __new__(cls, number: int, what: str, hint: str):
        one = int.__new__(cls, number)
        one._value_, one.what, one.hint = number, what, hint
        return one

    ABSENT = (1, "did not come up in time", f"have it started within start_within_seconds, and {_AGAIN}")
    WRONG_KEY = (
        2,
        "did not come up in time, and whoever answers at its address does not hold its key",
        "ask its owner whether it was up, and with which key",
    )
    KEY_REFUSED = (
        3,
        "does not accept the key of this node",
        "have the agreements of both compared: they name different public keys",
    )
    OTHER_AGREEMENT = (4, "have different agreements", "give every node the same file and the same section profiles")
    SILENT = (
        5,
        "sent nothing within timeout_seconds: it failed, or waits for a node that did",
        f"see what it says itself, and {_AGAIN}",
    )
    CLOSED = (6, "closed its link before the end", f"see what it says itself, and {_AGAIN}")
    GARBLED = (7, "sent a message that is damaged or of another form", f"have it repaired, and {_AGAIN}")
    NOT_FINITE = (8, "sent a number that is not finite", f"have its records checked, and {_AGAIN}")
    REPEATED = (9, "sent a message a second time", f"have it repaired, and {_AGAIN}")
    MISSED = (10, "left out a message, or sent one too early", f"have it repaired, and {_AGAIN}")
    OUT_OF_STEP = (11, "sent a message of another step of the algorithm", f"have it repaired, and {_AGAIN}")
    OTHER_RUN = (
        12,
        "take part in different runs",
        f"see that each node runs once, as one may be running twice with one key, and {_AGAIN}",
    )
    DISAGREES = (
        13,
        "came to another mixture than its neighbour, by more than largest_difference",
        "use fewer classes at every node, and trust neither result",
    )
    OWN_ERROR = (14, "ended with an error of its own", f"see what it says itself, and {_AGAIN}")
    STARTED_AGAIN = (15, "was started again while the others were at work", _AGAIN)
    OTHER_PLAN = (
        16,
        "would release with other public settings",
        "give every node the same sections profiles and mechanisms.sound, and the same version of meterdp",
    )
    # These two name who found it: any node's part may have made the sum what it is, and so may whoever passed it on.
    IMPOSSIBLE_SUM = (
        17,
        "came to a sum over all nodes that no readings give, and it is unknown which node sent wrong numbers",
        f"have every node checked, and {_AGAIN}",
    )
    FEW_RECORDS = (18, "came to a sum of fewer records than classes", "agree on fewer classes at every node")


# Between two nodes, either of which may be the odd one: both are named.
_OF_TWO = {Reason.OTHER_AGREEMENT, Reason.OTHER_RUN}


class Fault(InputError):
    """Something is wrong with a peer, and the run ends at every node without a result.

    It is about ``node``, found by ``finder``, which ``reported`` it if that is another node than this one; ``detail``
    holds public words.
    """

    def __init__(
        self, node: int, name: str, reason: Reason, finder: int, finder_name: str, reported: bool, detail: str = ""
    ):
        self.node, self.reason, self.finder = node, reason, finder
        who = f"nodes '{finder_name}' and '{name}'" if reason in _OF_TWO else f"node '{name}'"
        by = f" (as node '{finder_name}' says)" if reported and reason not in _OF_TWO else ""
        super().__init__(f"{who} {reason.what}{detail}{by}, so the run ended without a result", hint=reason.hint)
