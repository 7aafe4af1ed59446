"""Messages between nodes as bytes: a header that says what a message is for, numbers of eight bytes, a digest.

The digest finds what a faulty node garbles. Against everybody else the links are encrypted and authenticated.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from enum import IntEnum

import numpy as np


class Kind(IntEnum):
    """What a message is for."""

    HELLO = 1
    GATHER = 2
    STATISTICS = 3
    SUMS = 4
    PARTIAL = 5
    TOTAL = 6
    DUAL = 7
    PRIMAL = 8
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
    """One message.

    Parameters
    ----------
    run, agreement : bytes
        Sixteen each: of this run, and of what was agreed on.
    sender : int
    kind : Kind
    iteration, round : int
        Step of the algorithm.
    sequence : int
        Messages that went before it over the same link in the same direction.
    words : (n,) float64 or uint64
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
        """Return the message as bytes."""
        kind = "<u8" if self.kind in WHOLE else "<f8"
        head = _HEAD.pack(
            *(_MAGIC, self.run, self.agreement, self.sender, self.kind, self.iteration, self.round, self.sequence),
            len(self.words),
        )
        body = np.ascontiguousarray(self.words, dtype=kind).tobytes()
        return head + _digest(head, body) + body

    @classmethod
    def decoded(cls, data: bytes) -> Message:
        """Invert :meth:`encoded`.

        Raises
        ------
        Garbled
            If it is no message, or not as it was sent.
        """
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
