"""Records that are read piece by piece: those of the whole list, whatever parts they come in, as often as asked."""

import numpy as np
import pytest

from meterdp.core import pieces as module
from meterdp.core.pieces import Pieces, pieces


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch):
    monkeypatch.setattr(module, "PIECE", 8)


def reading(place, records, cuts):
    """Return what reads some records in parts."""

    def read():
        for begin, end in zip([0, *cuts], [*cuts, len(place)], strict=True):
            yield place[begin:end], records[begin:end]

    return read


@pytest.mark.parametrize("count", [1, 7, 8, 9, 40])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_pieces_are_the_list_in_order_whatever_parts_they_are_read_in(count, share):
    """Oracle: a dense array."""
    rng = np.random.default_rng(count)
    place = np.flatnonzero(rng.random(count) < share)
    records = rng.normal(size=(len(place), 3))
    dense = np.full((count, 3), np.nan)
    dense[place] = records
    for cuts in ([], [0], sorted(rng.integers(0, len(place) + 1, 5).tolist())):
        made = Pieces((count, 3), reading(place, records, cuts))
        for _ in range(2):
            found = list(pieces(made))
            assert [len(piece) for _, piece in found] == [len(piece) for _, piece in pieces(dense)]
            assert np.array_equal(np.concatenate([piece for _, piece in found]), dense, equal_nan=True)
            assert [part for part, _ in found] == [part for part, _ in pieces(dense)]


def test_nobody_has_no_pieces():
    assert (
        list(pieces(np.empty((0, 3))))
        == list(pieces(Pieces((0, 3), reading(np.empty(0, int), np.empty((0, 3)), []))))
        == []
    )
