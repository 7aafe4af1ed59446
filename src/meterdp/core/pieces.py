"""Records of all households of a public list, some at a time: what a mechanism adds up, once or several times.

A piece holds so many households in the order of the list, whoever has a record: what a matrix product makes of a
household then depends on its place in the public list, and not on who else was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

# Households of a piece; the last may have fewer.
PIECE = 4096


@dataclass(frozen=True)
class Pieces:
    """Records of N households with so many entries, (N, d) float64, that are read whenever they are asked for.

    ``read`` yields places 0..N-1 in the list, ascending, and the records there, (h, d); the others have none.
    """

    shape: tuple[int, int]
    read: Callable[[], Iterator[tuple[np.ndarray, np.ndarray]]]

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield the records piece by piece, NaN where there is none."""
        count, _ = self.shape
        begin, piece = 0, None
        for place, records in self.read():
            taken = 0
            while taken < len(place):
                piece = self._empty(begin) if piece is None else piece
                end = int(np.searchsorted(place, begin + PIECE))
                piece[place[taken:end] - begin] = records[taken:end]
                taken = end
                if taken < len(place):
                    yield piece
                    begin, piece = begin + PIECE, None
        while begin < count:
            yield self._empty(begin) if piece is None else piece
            begin, piece = begin + PIECE, None

    def _empty(self, begin: int) -> np.ndarray:
        return np.full((min(PIECE, self.shape[0] - begin), self.shape[1]), np.nan)


def pieces(records: np.ndarray | Pieces) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield where each piece of (N, d) records is, and the piece itself."""
    cut = records
    if isinstance(records, np.ndarray):
        cut = (records[first : first + PIECE] for first in range(0, len(records), PIECE))
    for number, piece in enumerate(cut):
        yield slice(number * PIECE, number * PIECE + len(piece)), piece
