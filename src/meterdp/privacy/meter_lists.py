"""Who is on which public list of meters: every meter one number, every list one bit a meter.

The ledger knows a meter by a keyed hash of its name alone, whichever way Unicode writes it. Two meters whose hashes
collide count as one, which charges too much and never too little.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

# Letters without a picture that are no format characters, and code points that Unicode keeps for more of them.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)
_SHORTEST_NAME = 6
# In front of a number, which a spreadsheet drops.
_MOST_ZEROS = 8
_SIGNS = re.compile(r"[\W_]")
_UNSEEN_KINDS = {"Cf", "Cc", "Zs", "Zl", "Zp"}


def plain_name(meter: str) -> str:
    """Return the name of a meter without what nobody sees: case, blanks, zero-width letters, Unicode forms."""
    if meter.isascii() and meter.isprintable():
        return meter.replace(" ", "").lower()
    before, name = None, meter
    while name != before:  # what is seen may join once what is between is gone
        before = name
        name = _UNSEEN.sub("", "".join(c for c in name if unicodedata.category(c) not in _UNSEEN_KINDS))
        name = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", name).casefold())
    return name


def keyed(meters: Iterable[str], key: bytes) -> np.ndarray:
    """Return the keyed hash of every meter, (M,) uint64."""
    digests = (
        hashlib.blake2b(plain_name(meter).encode(errors="surrogatepass"), key=key, digest_size=8).digest()
        for meter in meters
    )
    return np.frombuffer(b"".join(digests), dtype="<u8")


def hashed(meters: Iterable[str], key: bytes) -> np.ndarray:
    """Return one keyed hash for every meter, ascending and each once, (M,) uint64."""
    return np.unique(keyed(meters, key))


def shorter(meter: str) -> set[str]:
    """Return the names that a meter may have on another list: without up to three characters at one of its ends."""
    return {name for cut in (1, 2, 3) for name in (meter[cut:], meter[:-cut]) if len(name) >= _SHORTEST_NAME}


def spellings(meter: str) -> set[str]:
    """Return the names that a meter may have been listed under before: shorter ones, without signs, or with the zeros
    in front that a spreadsheet drops.
    """
    bare = _SIGNS.sub("", meter)
    zeros = {"0" * count + meter for count in range(1, _MOST_ZEROS + 1)} if len(meter) >= _SHORTEST_NAME else set()
    return (shorter(meter) | zeros | ({bare} if len(bare) >= _SHORTEST_NAME else set())) - {meter}


def digest_of(hashes: np.ndarray) -> str:
    """Return the name of a list: a digest of the hashes of its meters."""
    return hashlib.sha256(hashes.tobytes()).hexdigest()


@dataclass
class MeterLists:
    """The lists that a ledger knows.

    ``hashes`` are those of the meters of all lists, (M,) uint64, in the order of their numbers; ``bitmaps`` has for
    the digest of every list one bit for every number, the first in the highest bit.
    """

    hashes: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype="<u8"))
    bitmaps: dict[str, bytes] = field(default_factory=dict)

    def numbers_of(self, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of every hash, (m,) int64, and the hashes that are new; they get the next numbers."""
        order = np.argsort(self.hashes, kind="stable")
        known = self.hashes[order]
        place = np.searchsorted(known, hashes)
        found = place < known.size
        found[found] = known[place[found]] == hashes[found]
        numbers = np.empty(hashes.size, dtype=np.int64)
        numbers[found] = order[place[found]]
        numbers[~found] = self.hashes.size + np.arange(np.count_nonzero(~found))
        return numbers, hashes[~found]

    def add(self, hashes: np.ndarray) -> tuple[str, bytes, bytes]:
        """Add a list; return its digest, its bitmap and the hashes of the meters that are new, as bytes."""
        numbers, new = self.numbers_of(hashes)
        self.hashes = np.concatenate([self.hashes, new])
        bits = np.zeros(self.hashes.size, dtype=bool)
        bits[numbers] = True
        digest, bitmap = digest_of(hashes), np.packbits(bits).tobytes()
        self.bitmaps[digest] = bitmap
        return digest, bitmap, new.tobytes()

    def _bits(self, digest: str) -> np.ndarray:
        """Return which meters are on a list, (M,) bool."""
        stored = np.frombuffer(self.bitmaps[digest], dtype=np.uint8)
        bits = np.zeros(self.hashes.size, dtype=np.uint8)
        known = np.unpackbits(stored)[: bits.size]  # meters that came later are on none of the earlier lists
        bits[: known.size] = known
        return bits.view(bool)

    def count(self, whose: str | None) -> int:
        """Return how many meters are on a list; for None all that are known, and one that is on no list."""
        return self.hashes.size + 1 if whose is None else int(np.count_nonzero(self._bits(whose)))

    def on_both(self, name: str | None, whose: str | None) -> np.ndarray:
        """Return which meters of the list ``whose`` are on another one, (m,) bool; None stands for every meter."""
        if name is None:
            return np.ones(self.count(whose), dtype=bool)
        bits = self._bits(name)
        return np.append(bits, False) if whose is None else bits[self._bits(whose)]

    def share_meters(self, one: str | None, other: str | None) -> bool:
        """Whether two lists have a meter in common; None stands for every meter, whoever that is."""
        return one is None or other is None or bool((self._bits(one) & self._bits(other)).any())
