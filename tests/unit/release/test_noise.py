"""Study-mode noise: same name, same numbers; other name, independent numbers."""

import numpy as np

from meterdp.core.noise import StudyNoise, new_salt, salted_ids


def test_a_stream_is_named_by_seed_and_keys():
    first = StudyNoise(1, "sound", 2.0).normal((5,))
    assert np.array_equal(first, StudyNoise(1, "sound", 2.0).normal((5,)))
    for other in (StudyNoise(2, "sound", 2.0), StudyNoise(1, "sound", 4.0), StudyNoise(1, "soun", "d2.0")):
        assert not np.array_equal(first, other.normal((5,)))


def test_noise_has_the_stated_distributions():
    noise, n = StudyNoise(3, "distributions"), 400_000
    assert abs(noise.normal((n,)).var() - 1) < 8 * np.sqrt(2 / n)  # 8 standard errors: false alarm < 1e-14
    assert abs(np.abs(noise.laplace((n,))).mean() - 1) < 8 / np.sqrt(n)
    uniform = noise.uniform((n,))
    assert abs(uniform.mean() - 0.5) < 8 / np.sqrt(12 * n) and uniform.min() >= 0 and uniform.max() < 1


def test_release_ids_are_distinct_stable_under_their_salt_and_in_no_order_of_households():
    salt = new_salt()
    ids = salted_ids(salt, np.arange(500))
    assert len(set(ids)) == 500 and all(len(i) == 16 and int(i, 16) >= 0 for i in ids)
    assert np.array_equal(ids[7:9], salted_ids(salt, np.array([7, 8])))
    assert abs(np.corrcoef(np.argsort(np.argsort(ids)), np.arange(500))[0, 1]) < 0.35  # false alarm < 1e-14
    assert not set(ids) & set(salted_ids(new_salt(), np.arange(500)))


def test_a_salt_is_128_bits_and_never_the_same():
    salts = {new_salt() for _ in range(100)}
    assert len(salts) == 100 and all(len(bytes.fromhex(s)) == 16 for s in salts)
