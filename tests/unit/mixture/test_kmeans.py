"""K-means labels: numbered by size, reproducible, and refused where they cannot exist."""

from __future__ import annotations

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.mixture.kmeans import kmeans_labels


def blobs(sizes, centres, seed=0):
    rng = np.random.default_rng(seed)
    return np.vstack([c + 0.01 * rng.normal(size=(n, 2)) for n, c in zip(sizes, centres, strict=True)])


def test_separated_blobs_are_found_and_numbered_by_size():
    x = blobs([5, 50, 20], [(0, 0), (10, 0), (0, 10)])
    labels = kmeans_labels(x, 3, seed=3)
    assert labels.dtype == np.int32
    assert labels.tolist() == [3] * 5 + [1] * 50 + [2] * 20


def test_ties_in_size_go_by_the_first_entry_of_the_mean():
    x = blobs([10, 10, 10], [(5, 0), (-5, 0), (0, 9)])
    assert kmeans_labels(x, 3, seed=0).tolist() == [3] * 10 + [1] * 10 + [2] * 10


def test_same_seed_gives_the_same_labels():
    x = np.random.default_rng(1).normal(size=(300, 4))
    assert (kmeans_labels(x, 5, 7) == kmeans_labels(x, 5, 7)).all()


def test_one_class_and_as_many_classes_as_records():
    x = np.array([[0.0], [3.0], [9.0]])
    assert kmeans_labels(x, 1, 0).tolist() == [1, 1, 1]
    assert sorted(kmeans_labels(x, 3, 0)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("x", "k", "words"),
    [
        (np.zeros((2, 3)), 3, "fewer households than classes"),
        (np.zeros((9, 3)), 2, "fewer distinct profiles than classes"),
        (np.zeros((9, 3)), 0, "below one"),
    ],
)
def test_impossible_requests_are_one_sentence(x, k, words):
    with pytest.raises(InputError, match=words):
        kmeans_labels(x, k, 0)
