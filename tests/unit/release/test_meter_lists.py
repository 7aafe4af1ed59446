"""A meter is known again however its name is written, and lists keep who is on them."""

import unicodedata

import numpy as np
import pytest

from meterdp.privacy.meter_lists import MeterLists, hashed, plain_name

KEY = b"k" * 32


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Zähler 7", unicodedata.normalize("NFD", "Zähler 7")),
        ("MAC000007", "mac000007"),
        ("MAC000007", " MAC 000007 "),
        ("MAC000007", "MAC\u200b0000\u200d07\ufeff"),
        ("MAC000007", "MAC\u2060000\u00ad007"),
        ("MAC000007", "MAC000007\ufe0f"),
        ("MAC000007", "\uff2d\uff21\uff23\uff10\uff10\uff10\uff10\uff10\uff17"),
        ("Straße", "STRASSE"),
        ("a\tb", "a\u00a0b"),
        ("ﬁ1", "FI1"),
        ("a\u034fb", "ab"),
        ("a\u2065b\u2800\ufff0", "AB"),
        ("Cafe\u200b\u0301", "Café"),
        ("e\u0323\u200d\u0302", "ệ"),
        ("\u1100\u200b\u1161", "가"),
        ("\u0345α", "ια"),
    ],
)
def test_a_name_is_the_same_in_every_spelling_that_looks_alike(one, other):
    assert plain_name(one) == plain_name(other)
    assert np.array_equal(hashed([one], KEY), hashed([other], KEY))


def test_plain_names_are_their_own_plain_names_and_different_meters_stay_different():
    names = [f"E{n:05d}" for n in range(2000)] + ["a-b", "a_b", "ab", "a.b", "\ud800", "ä", "a"]
    assert all(plain_name(plain_name(name)) == plain_name(name) for name in names)
    assert hashed(names, KEY).size == len(names)
    assert not np.intersect1d(hashed(names, KEY), hashed(names, b"another key, of its own, 32 long")).size


@pytest.mark.parametrize("seed", range(20))
def test_lists_are_the_sets_they_were_made_of(seed):
    """Oracle: sets of names."""
    generator = np.random.default_rng(seed)
    names = np.array([f"m{n}" for n in range(50)])
    lists, sets = MeterLists(), {}
    rows = []
    for _ in range(8):
        chosen = names[generator.random(50) < generator.random()]
        hashes = hashed(chosen, KEY)
        digest, bitmap, new = lists.add(hashes)
        sets[digest] = set(hashes.tolist())
        rows.append((digest, bitmap, new))
    again = MeterLists(
        np.frombuffer(b"".join(new for _, _, new in rows), dtype="<u8"),
        {digest: bitmap for digest, bitmap, _ in rows},
    )
    for one in (lists, again):
        known = set(one.hashes.tolist())
        assert known == set().union(*sets.values()) and one.count(None) == len(known) + 1
        for name, mine in sets.items():
            assert one.count(name) == len(mine) and one.on_both(name, None).sum() == len(mine)
            for other, theirs in sets.items():
                assert one.on_both(name, other).sum() == len(mine & theirs)
                assert one.on_both(name, other).size == len(theirs)
                assert one.share_meters(name, other) == bool(mine & theirs)
            assert one.on_both(None, name).all() and one.share_meters(None, name) and one.share_meters(name, None)
