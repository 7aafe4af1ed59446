"""Private K-means and factor analysis: Lloyd's algorithm, scikit-learn without noise, the printed formulas."""

import math
import time

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import chi2, multivariate_normal
from sklearn.cluster import KMeans
from sklearn.decomposition import FactorAnalysis

from meterdp.accounting.sequence import Sequence
from meterdp.core.noise import StudyNoise, fixed_normals
from meterdp.mechanisms.dpem.kmeans import (
    Factors,
    analyze_gauss_std,
    answers_of,
    dp_kmeans,
    dp_lloyd,
    fit_factors,
    nicv,
    noisy_second_moment,
    second_moment,
    start_factors,
)
from meterdp.mechanisms.dpem.mechanism import to_unit_ball
from tests.unit.mechanisms.made_up import NotedNoise, clusters


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


def test_the_noise_of_the_public_code_is_half_of_that_and_by_exact_counts():
    n, d, k = 1000, 2, 3
    x, start = clusters(n, d, k), clusters(k, d, k)
    counts, sums = one_iteration(x, start)
    noise = NotedNoise("code", 0.1)
    centres = dp_kmeans(x, start, 1, 0.1, noise, change=1.0, counts="exact")
    ((_, drawn),) = noise.drawn
    assert centres == pytest.approx((sums + math.sqrt(d) / 0.1 * drawn) / counts[:, None])


@pytest.mark.parametrize("change", [1.0, 2.0])
def test_class_sums_over_noisy_counts_change_by_what_the_noise_is_scaled_to(change):
    """Oracle: one member of unit norm more or less, or replaced by its opposite, at the same noisy counts."""
    n, d = 400, 2
    x = np.tile([0.6, 0.0], (n, 1))
    corner = np.full((1, d), 1 / math.sqrt(d))
    other = np.vstack([x[1:], corner]), (x[1:] if change == 1 else np.vstack([x[1:], -corner]))
    start = np.array([[0.5, 0.0], [50.0, 50.0]])

    class Zero(NotedNoise):
        def laplace(self, shape):
            return np.zeros(shape)

    first, last = (dp_kmeans(rows, start, 1, 1.0, Zero("zero", 1.0), divisor="noisy")[0] for rows in other)
    moved = np.abs(first * len(other[0]) - last * len(other[1])).sum()
    assert moved == pytest.approx(change * math.sqrt(d))


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
    assert answers_of(10, 6) == Sequence(60, 0, 0.0)
    assert answers_of(10) == Sequence(10, 0, 0.0)


# Of statistical tests.
FALSE_ALARM = 1e-10


def factor_records(n=600, d=8, q=3, seed=0):
    """Records of a factor model, centred: scikit-learn has a mean, the paper has none."""
    rng = np.random.default_rng([seed, n, d, q])
    common = rng.normal(size=(n, q)) @ rng.normal(size=(q, d))
    x = common + rng.normal(size=(n, d)) * rng.uniform(0.5, 1, d)
    return to_unit_ball(x - x.mean(axis=0), 5 * math.sqrt(q * d))


def start(d=8, q=3):
    return start_factors(fixed_normals("start", (d, q)))


def test_without_noise_it_reaches_the_maximum_scikit_learn_finds():
    x = factor_records()
    moment = noisy_second_moment(x, math.inf, 1e-4, StudyNoise(0, "none"))
    got = fit_factors(moment, 20_000, start())
    oracle = FactorAnalysis(3, tol=1e-10, max_iter=5000, svd_method="lapack").fit(x - x.mean(axis=0))
    assert got.mean_log_likelihood(moment) == pytest.approx(oracle.score(x - x.mean(axis=0)), abs=1e-6)
    assert got.noise_variances == pytest.approx(oracle.noise_variance_, rel=1e-2)
    covariance = got.loadings @ got.loadings.T + np.diag(got.noise_variances)
    assert covariance == pytest.approx(oracle.get_covariance(), abs=1e-5)


def dense(moment, factors, iterations, loadings):
    """Oracle: the printed update with every matrix written out."""
    w, psi = factors.loadings, np.diag(factors.noise_variances)
    for _ in range(iterations):
        inverse = np.linalg.inv(psi)
        g = np.linalg.inv(np.eye(w.shape[1]) + w.T @ inverse @ w)
        new = moment @ inverse @ w @ g.T @ np.linalg.inv(g + g @ w.T @ inverse @ moment @ inverse @ w @ g.T)
        used = new if loadings == "new" else w
        psi = np.diag(np.diag(moment - used @ g @ w.T @ inverse @ moment))
        w = new
    return Factors(w, np.diag(psi))


@pytest.mark.parametrize("loadings", ["new", "old"])
@pytest.mark.parametrize("iterations", [1, 2, 20])
def test_an_update_is_the_printed_one_and_the_likelihood_that_of_scipy(loadings, iterations):
    x = factor_records()
    moment = second_moment(x)
    got = fit_factors(moment, iterations, start(), loadings, least_variance=1e-12)
    oracle = dense(moment, start(), iterations, loadings)
    assert got.loadings == pytest.approx(oracle.loadings, rel=1e-8, abs=1e-12)
    assert got.noise_variances == pytest.approx(oracle.noise_variances, rel=1e-8)
    covariance = oracle.loadings @ oracle.loadings.T + np.diag(oracle.noise_variances)
    expected = multivariate_normal(np.zeros(8), covariance).logpdf(x).mean()
    assert got.mean_log_likelihood(moment) == pytest.approx(expected)


def test_the_likelihood_never_falls():
    moment = second_moment(factor_records())
    likelihood = [fit_factors(moment, j, start()).mean_log_likelihood(moment) for j in range(0, 60, 3)]
    assert (np.diff(likelihood) > -1e-12).all() and likelihood[-1] > likelihood[0] + 1


def test_both_readings_of_the_noise_variances_have_the_same_fixed_points():
    moment = second_moment(factor_records())
    end = fit_factors(moment, 20_000, start())
    again = fit_factors(moment, 1, end, "old")
    assert again.noise_variances == pytest.approx(end.noise_variances, rel=1e-5)


@pytest.mark.parametrize("misread", [False, True])
def test_the_noise_is_one_symmetric_matrix_of_the_stated_size(misread):
    x = factor_records(n=100, d=60)
    noisy = noisy_second_moment(x, 0.3, 1e-4, StudyNoise(0, "analyze gauss"), misread=misread)
    noise = noisy - x.T @ x / 100
    assert (noisy == noisy.T).all()
    std = math.sqrt(2 * math.log(1.25e4)) * 2 / 100 / 0.3
    assert analyze_gauss_std(100, 0.3, 1e-4) == pytest.approx(std)
    assert analyze_gauss_std(100, 0.3, 1e-4, change=1.0) == pytest.approx(std / 2)
    upper = noise[np.triu_indices(60)] / (std**2 if misread else std)
    low, high = chi2.ppf([FALSE_ALARM, 1 - FALSE_ALARM], len(upper))
    assert low < (upper**2).sum() < high


def test_a_second_moment_changes_by_root_two_at_most():
    rng = np.random.default_rng(1)
    x = factor_records(n=20, d=3)
    largest = 0.0
    for trial in range(300):
        other = x.copy()
        one, two = rng.normal(size=(2, 3)) if trial else (np.eye(3)[0], np.eye(3)[1])
        x[0], other[0] = one / np.linalg.norm(one), two / np.linalg.norm(two)
        largest = max(largest, np.linalg.norm(x.T @ x - other.T @ other))
    assert largest == pytest.approx(math.sqrt(2))


def test_noise_that_makes_variances_negative_leaves_positive_ones():
    noisy = noisy_second_moment(factor_records(n=20, d=30), 0.1, 1e-4, StudyNoise(0, "much"))
    assert np.linalg.eigvalsh(noisy)[0] < 0
    got = fit_factors(noisy, 50, start(30))
    assert np.isfinite(got.loadings).all() and (got.noise_variances > 0).all()


def test_faces_take_seconds():
    d, begin = 2048, time.process_time()
    x = factor_records(n=400, d=d, q=10)
    moment = noisy_second_moment(x, 0.3, 1e-4, StudyNoise(0, "faces"))
    got = fit_factors(moment, 20, start(d, 10))
    assert got.loadings.shape == (d, 10) and np.isfinite(got.loadings).all()
    assert time.process_time() - begin < 5
