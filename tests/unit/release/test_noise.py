"""Study-mode noise: same name, same numbers; other name, independent numbers."""

import numpy as np

from meterdp.release.noise import StudyNoise, study_release_ids


def test_a_stream_is_named_by_seed_and_keys():
    first = StudyNoise(1, "sound", 2.0).normal((5,))
    assert np.array_equal(first, StudyNoise(1, "sound", 2.0).normal((5,)))
    for other in (StudyNoise(2, "sound", 2.0), StudyNoise(1, "sound", 4.0), StudyNoise(1, "soun", "d2.0")):
        assert not np.array_equal(first, other.normal((5,)))


def test_noise_has_the_stated_laws():
    noise, n = StudyNoise(3, "laws"), 400_000
    assert abs(noise.normal((n,)).var() - 1) < 8 * np.sqrt(2 / n)  # 8 standard errors: false alarm < 1e-14
    assert abs(np.abs(noise.laplace((n,))).mean() - 1) < 8 / np.sqrt(n)
    uniform = noise.uniform((n,))
    assert abs(uniform.mean() - 0.5) < 8 / np.sqrt(12 * n) and uniform.min() >= 0 and uniform.max() < 1


def test_release_ids_are_distinct_hexadecimal_and_do_not_follow_the_order_of_households():
    ids = study_release_ids(500, 7)
    assert len(set(ids)) == 500 and all(len(i) == 16 and int(i, 16) >= 0 for i in ids)
    assert not np.array_equal(np.sort(ids), ids)
    assert np.array_equal(ids[:10], study_release_ids(10, 7))
