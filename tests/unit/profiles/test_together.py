"""Peaks of groups. Oracle: the rule in words, one group and interval after the other."""

import numpy as np
import pytest

from meterdp.profiles.together import group_peaks


def peaks_by_hand(kw, groups):
    for group in groups:
        read = [[kw[home, t] for home in group if np.isfinite(kw[home, t])] for t in range(kw.shape[1])]
        most = max(map(len, read))
        means = [sum(r) / len(r) for r in read if r and 2 * len(r) >= len(group) and len(r) >= 0.8 * most]
        yield max(means, default=np.nan)


@pytest.mark.parametrize("missing", [0.0, 0.1, 0.45, 0.7])
def test_only_intervals_count_in_which_most_of_a_group_were_read(missing):
    rng = np.random.default_rng(3)
    kw = rng.gamma(1.0, 1.0, (30, 60)) - 0.2
    kw[:, ::3][rng.random(kw[:, ::3].shape) < missing] = np.nan
    kw[:4, 20:] = np.nan
    kw[rng.random(kw.shape) < missing / 2] = np.nan
    groups = [rng.choice(30, 10, replace=False) for _ in range(20)]
    read = np.isfinite(kw)
    total = np.array([np.where(read, kw, 0.0)[group].sum(axis=0) for group in groups])
    count = np.array([read[group].sum(axis=0) for group in groups])
    expected = list(peaks_by_hand(kw, groups))
    np.testing.assert_allclose(group_peaks(total, count, 10), expected, rtol=1e-12)
    np.testing.assert_allclose(group_peaks(total, count, np.full((20, 1), 10.0)), expected, rtol=1e-12)


def test_a_group_of_which_half_were_never_read_has_no_peak():
    found = group_peaks(np.ones((3, 2)), np.array([[4, 4], [0, 0], [5, 1]]), 10)
    assert np.isnan(found[:2]).all() and found[2] == 0.2
