"""Private K-means: Lloyd's algorithm without noise, the printed formulas with it, NICV by brute force."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from meterdp.accounting.sequence import Sequence
from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.mechanisms.dpem.kmeans import dp_kmeans, dp_lloyd, kmeans_sequence, lloyd_sequence, nicv
from tests.unit.mechanisms.dpem.made_up import NotedNoise, clusters


@pytest.mark.parametrize("run", [dp_kmeans, dp_lloyd])
@pytest.mark.parametrize(("n", "d", "k", "iterations"), [(500, 2, 4, 3), (20_000, 5, 3, 8)])
def test_without_noise_it_is_lloyds_algorithm(run, n, d, k, iterations):
    x = clusters(n, d, k)
    start = x[:k].copy()
    centres = run(x, start, iterations, math.inf, StudyNoise(0, "none"))
    oracle = KMeans(k, init=start, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd").fit(x)
    assert centres == pytest.approx(oracle.cluster_centers_, abs=1e-10)
    assert nicv(x, centres) * n == pytest.approx(oracle.inertia_, rel=1e-9)


def test_nicv_is_the_mean_squared_distance_to_the_nearest_centre():
    x, centres = clusters(10_000, 3, 2), clusters(7, 3, 7)
    assert nicv(x, centres) == pytest.approx((cdist(x, centres) ** 2).min(axis=1).mean())


def one_iteration(x, start):
    label = cdist(x, start).argmin(axis=1)
    k = len(start)
    return np.bincount(label, minlength=k), np.array([x[label == j].sum(axis=0) for j in range(k)])


@pytest.mark.parametrize("step_epsilon", [0.5, 0.002])
def test_the_papers_noise_is_that_of_13_to_16(step_epsilon):
    n, d, k = 1000, 2, 3
    x, start = clusters(n, d, k), clusters(k, d, k)
    counts, sums = one_iteration(x, start)
    noise = NotedNoise("ours", step_epsilon)
    centres = dp_kmeans(x, start, 1, step_epsilon, noise, count_floor=5.0)
    assert [distribution for distribution, _ in noise.drawn] == ["laplace", "laplace"]
    shares = np.clip(counts / n + 2 / n / step_epsilon * noise.drawn[0][1], 0, 1)
    noisy = np.maximum(n * shares / shares.sum(), 5.0)
    expected = sums / counts[:, None] + 2 * math.sqrt(d) / noisy[:, None] / step_epsilon * noise.drawn[1][1]
    assert centres == pytest.approx(expected)


@pytest.mark.parametrize("step_epsilon", [0.5, 0.002])
def test_dplloyd_has_sensitivity_d_plus_one(step_epsilon):
    n, d, k = 1000, 2, 3
    x, start = clusters(n, d, k), clusters(k, d, k)
    counts, sums = one_iteration(x, start)
    noise = NotedNoise("lloyd", step_epsilon)
    centres = dp_lloyd(x, start, 1, step_epsilon, noise)
    scale = (d + 1) / step_epsilon
    noisy = np.maximum(counts + scale * noise.drawn[0][1], 1.0)
    assert centres == pytest.approx((sums + scale * noise.drawn[1][1]) / noisy[:, None])


def test_an_empty_class_keeps_its_centre_without_noise():
    x = clusters(50, 2, 1)
    start = np.array([x.mean(axis=0), [0.0, 1.0], [50.0, 50.0]])
    centres = dp_kmeans(x, start, 3, math.inf, StudyNoise(0, "empty"))
    assert (centres[2] == start[2]).all()


def test_the_accountant_is_told_every_answer():
    assert kmeans_sequence(5, 10) == Sequence(60, 0, 0.0)
    assert lloyd_sequence(10) == Sequence(10, 0, 0.0)


@pytest.mark.parametrize("run", [dp_kmeans, dp_lloyd])
def test_bad_records_are_refused(run):
    x = clusters(20, 2, 2)
    with pytest.raises(InputError, match="fewer records than classes"):
        run(x[:1], x[:2], 1, 1.0, StudyNoise(0, "few"))
    with pytest.raises(InputError, match="not a finite number"):
        run(np.full((5, 2), np.nan), x[:2], 1, 1.0, StudyNoise(0, "nan"))
