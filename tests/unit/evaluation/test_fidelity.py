"""Fidelity of synthetic profiles. Oracles: scipy.stats, closed forms, quadrature, brute force, normal equations."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import as_arrow
from meterdp.evaluation import fidelity
from meterdp.evaluation.fidelity import hourly_densities
from meterdp.evaluation.tables import MARGINALS
from meterdp.mixture.density import kl_joint
from meterdp.mixture.draws import Mixture, MixtureDraws
from meterdp.profiles.vector import Records
from meterdp.release.synthetic import Source


def gaussian(mean, covariance) -> Mixture:
    return Mixture(np.ones(1), np.atleast_2d(mean).astype(float), np.asarray(covariance, float)[None])


def random_mixture(seed, k=3, d=2) -> Mixture:
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(k, d, d + 2))
    return Mixture(rng.dirichlet(np.ones(k)), rng.normal(size=(k, d)), roots @ roots.transpose(0, 2, 1))


def samples(seed, n, m, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), 0.3 + 1.7 * rng.normal(size=(m, d))


# --- distances between samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 7), (40, 40), (33, 58)])
@pytest.mark.parametrize("tied", [False, True])
def test_distances_of_columns_are_those_of_scipy(n, m, tied):
    """Oracle: scipy.stats, also with many ties within and between the samples."""
    a, b = samples(n * m, n, m)
    if tied:
        a, b = np.round(a), np.round(b)
    ks = [stats.ks_2samp(a[:, j], b[:, j]).statistic for j in range(3)]
    distance = [stats.wasserstein_distance(a[:, j], b[:, j]) for j in range(3)]
    np.testing.assert_allclose(fidelity.kolmogorov_smirnov(a, b), ks, atol=1e-12)
    np.testing.assert_allclose(fidelity.wasserstein(a, b), distance, rtol=1e-10, atol=1e-12)


def test_constant_and_disjoint_samples():
    one, two = np.zeros((5, 1)), np.full((4, 1), 3.0)
    assert fidelity.kolmogorov_smirnov(one, one)[0] == fidelity.wasserstein(one, one)[0] == 0
    assert fidelity.kolmogorov_smirnov(one, two)[0] == pytest.approx(1)
    assert fidelity.wasserstein(one, two)[0] == pytest.approx(3)


def test_a_sample_has_no_distance_from_itself_in_another_order():
    x = samples(1, 50, 1, d=4)[0]
    measures = fidelity.sample_fidelity(x, x[::-1], np.eye(4))
    for measure, value in measures.items():
        np.testing.assert_allclose(value, 0, atol=1e-12, err_msg=measure)


def test_a_shift_moves_every_slice_by_its_projection():
    """Oracle: the Wasserstein distance of a sample and the same sample moved by s is |s| along every direction."""
    x = samples(2, 60, 1, d=3)[0]
    shift = np.array([0.4, -0.2, 1.0])
    directions = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, -1.0]])
    expected = np.abs(directions @ shift).mean()
    assert fidelity.sliced_wasserstein_log_kwh(x + shift, x, directions) == pytest.approx(expected)
    measures = fidelity.sample_fidelity(x, x + 0.7, directions)
    np.testing.assert_allclose(measures["wasserstein_hour"], 0.7)
    for measure in ("energy_mean_relative", "energy_hours_relative", "peak_q95_relative"):
        assert measures[measure] == pytest.approx(np.exp(0.7) - 1)
    some_less = fidelity.sample_fidelity(x, x + np.log([0.5, 1.0, 3.0]), directions)
    assert some_less["energy_hours_relative"] == pytest.approx((0.5 + 0 + 2) / 3), "no matter which way"
    assert measures["correlation_rms"] == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(fidelity.load_factor(x + 0.7), fidelity.load_factor(x))


def test_correlations_are_those_of_numpy_and_zero_for_an_hour_that_never_changes():
    a, b = samples(3, 40, 70, d=4)
    b[:, 1] += b[:, 0]
    upper = np.triu_indices(4, 1)
    gap = (np.corrcoef(a.T) - np.corrcoef(b.T))[upper]
    assert fidelity.correlation_difference(a, b) == pytest.approx(np.sqrt((gap**2).mean()))
    flat = a.copy()
    flat[:, 2] = np.log(0.1)
    assert fidelity.correlation_difference(flat, flat) == 0
    of_flat = np.corrcoef(flat[:, [0, 1, 3]].T)[np.triu_indices(3, 1)]
    everything_flat = np.full((5, 4), np.log(0.01))
    assert fidelity.correlation_difference(flat, everything_flat) == pytest.approx(np.sqrt((of_flat**2).sum() / 6))


def test_hours_of_the_peak_are_compared_by_their_shares():
    one, two = np.eye(3)[[0, 0, 1, 2]], np.eye(3)[[1, 1]]
    assert fidelity.peak_hour_total_variation(one, two) == pytest.approx(0.75)
    assert fidelity.peak_hour_total_variation(np.zeros((4, 3)), np.eye(3)[[0]]) == 0


def test_profiles_of_one_hour_have_no_correlations():
    x, y = samples(4, 20, 20, d=1)
    assert "correlation_rms" not in fidelity.sample_fidelity(x, y, np.ones((1, 1)))


# --- Example 1: classification --------------------------------------------------------------------------------------


def test_a_class_without_weight_is_never_the_most_probable():
    mixture = random_mixture(5)
    mixture = Mixture(np.array([0.7, 0.0, 0.3]), mixture.means, mixture.covariances)
    x = samples(6, 30, 1, d=2)[0] * 3
    expected = [w * stats.multivariate_normal(m, c).pdf(x) for w, m, c in zip(*vars(mixture).values(), strict=True)]
    np.testing.assert_array_equal(fidelity.most_probable_class(x, mixture), np.argmax(expected, axis=0))


@pytest.mark.parametrize(("k", "reference_k"), [(4, 4), (3, 5), (5, 2), (1, 3)])
def test_agreement_is_the_best_of_all_matchings(k, reference_k):
    """Oracle: every one-to-one matching of classes by brute force."""
    rng = np.random.default_rng(k + 10 * reference_k)
    labels, reference = rng.integers(k, size=60), rng.integers(reference_k, size=60)
    few, many = sorted((labels, reference), key=lambda x: x.max())
    matchings = permutations(range(int(many.max()) + 1), int(few.max()) + 1)
    best = max(np.mean(np.array(matching)[few] == many) for matching in matchings)
    assert fidelity.matched_agreement(labels, reference) == pytest.approx(best)


def test_renumbered_classes_agree_fully():
    labels = np.array([0, 1, 1, 2, 0])
    assert fidelity.matched_agreement(labels, np.array([2, 0, 1])[labels]) == 1


# --- Example 2: densities -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.1, 1.0, 3.0])
def test_total_variation_and_divergence_of_two_gaussians(delta):
    """Oracle: TV = 2 Phi(|delta|/2) - 1 and KL = delta^2/2 for a common covariance; false alarm 7 SE < 1e-11."""
    lower = np.array([[0.5, 0.0, 0.0], [0.3, 0.8, 0.0], [-0.2, 0.1, 1.5]])
    direction = np.array([0.48, 0.6, 0.64])
    a = gaussian(lower @ direction * delta, lower @ lower.T)
    b = gaussian(np.zeros(3), lower @ lower.T)
    gap = fidelity.density_gap(a, b, StudyNoise(1, "two Gaussians", repr(delta)), 40_000)
    assert gap.total_variation == pytest.approx(2 * stats.norm.cdf(delta / 2) - 1, abs=7 * gap.total_variation_se)
    assert gap.kl == pytest.approx(delta**2 / 2, abs=7 * gap.kl_se)
    assert 0 < gap.total_variation_se <= 1 / np.sqrt(8 * 40_000)
    assert gap.kl_se == pytest.approx(delta / np.sqrt(40_000), rel=0.05)


def test_total_variation_and_divergence_of_one_dimensional_mixtures():
    """Oracle: quadrature of the densities; false alarm 7 SE < 1e-11."""
    p = Mixture(np.array([0.6, 0.4]), np.array([[-1.0], [2.0]]), np.array([[[0.5]], [[1.0]]]))
    q = Mixture(np.array([0.1, 0.9]), np.array([[3.0], [-0.5]]), np.array([[[2.0]], [[0.8]]]))

    def density(mixture, x):
        parts = stats.norm.pdf(x, mixture.means[:, 0], np.sqrt(mixture.covariances[:, 0, 0]))
        return float(mixture.weights @ parts)

    def integral(f):
        return quad(f, -12, 14, points=[-1, 0, 2, 3], limit=400)[0]

    tv = integral(lambda x: 0.5 * abs(density(p, x) - density(q, x)))
    kl = integral(lambda x: density(p, x) * np.log(density(p, x) / density(q, x)))
    gap = fidelity.density_gap(p, q, StudyNoise(2, "mixtures"), 60_000)
    assert gap.total_variation == pytest.approx(tv, abs=7 * gap.total_variation_se)
    assert gap.kl == pytest.approx(kl, abs=7 * gap.kl_se)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_total_variation_pinsker_and_the_joint_divergence(seed):
    """TV <= sqrt(KL of x / 2) (Pinsker) and KL of x <= KL of the joint (8) (data processing); 7 SE < 1e-11."""
    a, b = random_mixture(seed), random_mixture(seed + 100)
    gap = fidelity.density_gap(a, b, StudyNoise(3, seed), 20_000)
    assert gap.total_variation <= gap.pinsker + 7 * (gap.total_variation_se + (gap.pinsker_se or 0))
    assert gap.kl <= kl_joint(MixtureDraws.single(a), b)[0] + 7 * gap.kl_se
    renumbered = Mixture(b.weights[::-1], b.means[::-1], b.covariances[::-1])
    again = fidelity.density_gap(a, renumbered, StudyNoise(3, seed), 20_000)
    assert again.kl == pytest.approx(gap.kl, abs=7 * (gap.kl_se + again.kl_se)), "no correspondence of classes needed"


def test_a_mixture_has_no_distance_from_itself_and_a_far_one_has_all_of_it():
    p = random_mixture(7)
    same = fidelity.density_gap(p, p, StudyNoise(4, "same"), 100)
    assert (same.total_variation, same.kl, same.pinsker, same.pinsker_se) == (0, 0, 0, None)
    far = Mixture(p.weights, p.means + 1e6, p.covariances)
    gap = fidelity.density_gap(far, p, StudyNoise(4, "far"), 100)
    assert gap.total_variation == 1 and gap.pinsker == 1 and gap.pinsker_se is None and np.isfinite(gap.kl)


def test_the_error_of_pinskers_bound_is_its_slope_times_that_of_the_divergence():
    """Oracle: finite difference of sqrt(KL / 2)."""
    gap = fidelity.DensityGap(0.2, 0.0, 0.3, 0.001)
    slope = (np.sqrt((0.3 + 1e-6) / 2) - np.sqrt((0.3 - 1e-6) / 2)) / 2e-6
    assert gap.pinsker_se == pytest.approx(0.001 * slope, rel=1e-6)
    assert fidelity.DensityGap(0.0, 0.0, -0.01, 0.02).pinsker == 0


# --- Example 3: training --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 3, 6])
def test_prediction_is_ridge_regression_by_the_normal_equations(d):
    """Oracle: (X'X + I)^-1 X'Y of centred records, and 1 - SSE/SST over all later hours."""
    rng = np.random.default_rng(d)
    mix = rng.normal(size=(d, d))
    train, test = rng.normal(size=(30, d)) @ mix + 1.0, rng.normal(size=(20, d)) @ mix + 1.2
    half, centre = d // 2, train.mean(axis=0)
    x, y = (train - centre)[:, :half], (train - centre)[:, half:]
    slopes = np.linalg.solve(x.T @ x + fidelity.RIDGE_PENALTY * np.eye(half), x.T @ y)
    predicted = (test - centre)[:, :half] @ slopes + centre[half:]
    total = ((test[:, half:] - test[:, half:].mean(axis=0)) ** 2).sum()
    expected = 1 - ((test[:, half:] - predicted) ** 2).sum() / total
    assert fidelity.prediction_r2(train, test) == pytest.approx(expected)


def test_prediction_reaches_the_share_of_variance_the_distribution_allows():
    """Oracle: R^2 = rho^2 for two hours of correlation rho; the tolerance of 0.06 is 7 standard errors."""
    rng = np.random.default_rng(8)
    distribution = np.linalg.cholesky([[1.0, 0.8], [0.8, 1.0]])
    train, test = (rng.normal(size=(8000, 2)) @ distribution.T for _ in range(2))
    assert fidelity.prediction_r2(train, test) == pytest.approx(0.64, abs=0.06)
    assert fidelity.prediction_r2(rng.normal(size=(8000, 2)) + 5, test) < -1, (
        "records of another distribution mislead"
    )


def test_energy_peak_and_load_factor_are_those_of_the_scale():
    """Homes that use, that feed in all day, and whose peak is zero."""
    scale = LogScale(scale_kwh=0.1)
    kwh = np.array([[0.5, 2.0, 1.5], [-2.0, -1.0, -3.0], [-1.0, 0.0, -2.0], [-1.0, 3.0, 1.0]])
    x = scale.log(kwh)
    assert np.allclose(fidelity.energy_kwh(x, scale), kwh.sum(axis=1))
    assert np.allclose(fidelity.peak_kwh(x, scale), kwh.max(axis=1), atol=1e-15)
    plain = np.log([[1.0, 3.0, 2.0], [4.0, 4.0, 4.0]])
    for measure, known in (
        (fidelity.peak_kwh, [3, 4]),
        (fidelity.energy_kwh, [6, 12]),
        (fidelity.load_factor, [2 / 3, 1]),
    ):
        np.testing.assert_allclose(measure(plain), known)
    factor = fidelity.load_factor(x, scale)
    assert np.allclose(factor, [2 / 3, 0, 0, 1 / 3]) and np.isfinite(factor).all()
    more = scale.log(kwh - 1.0)
    found = fidelity.sample_fidelity(x, more, np.eye(3), scale)
    assert found["energy_wasserstein"] == pytest.approx(3.0)
    assert found["energy_mean_relative"] < 0, "less energy, although the mean is below zero"


def test_densities_of_every_hour_are_on_the_bins_of_the_real_households():
    """Oracle: numpy's histogram of one hour at a time; what lies beyond the bins is in none."""
    generator = np.random.default_rng(9)
    real, other = generator.normal(size=(300, 2)), generator.normal(0.5, 2.0, (500, 2))
    records = Records(np.arange(301, dtype=np.int32), np.vstack([real, [[9, 9]]]), np.arange(301) < 300)
    source = Source("sound", "sound", 1.0, None)
    rows = as_arrow(MARGINALS, hourly_densities(records, [(source, other)])).to_pandas()
    for entry in (0, 1):
        at = rows[rows["entry"] == entry]
        expected, edges = np.histogram(real[:, entry], bins=40, density=True)
        found = at[at["source"] == "real"]
        np.testing.assert_allclose(found["density"], expected)
        np.testing.assert_allclose(found["log_kwh"], edges[:-1])
        drawn = at[at["source"] == "sound"]
        inside = (other[:, entry] >= edges[0]) & (other[:, entry] <= edges[-1])
        assert (drawn["density"] * np.diff(edges)).sum() == pytest.approx(inside.mean())
        assert set(drawn["family"]) == {"sound"} and set(drawn["epsilon"]) == {1.0}
    assert rows.loc[rows["source"] == "real", "epsilon"].isna().all()
