"""Marginals beside the sound mixture: bounded features, their exact sensitivity, levels against scipy.

From means to profiles: the reweighting against closed forms and scipy, samples within bounds and near it.
"""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import root

from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.core.noise import StudyNoise
from meterdp.evaluation.fidelity import energy_kwh, kolmogorov_smirnov, wasserstein
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings
from meterdp.mechanisms.proven import marginals
from meterdp.mechanisms.proven.marginals import (
    CANDIDATES,
    HOUR_COSINES,
    LINEAR_COSINES,
    TOTAL_WEIGHT,
    LinearFunction,
    LinearReference,
    Marginals,
    Reference,
    feature_sum,
    features,
    fit_exponents,
    hour_levels,
    sample_linear,
    sample_reweighted,
    sensitivity,
    statistics_of,
)
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.plan import ProvenSettings
from meterdp.mechanisms.proven.prior_mixture import SHIPPED, read_prior_mixture
from meterdp.mixture.draws import Mixture, sample
from meterdp.privacy.noise import GRID
from tests.unit.mechanisms.made_up import FLOOR, HIGH, LOW, households

D = 5


def distribution(seed=0, classes=3, d=D):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(classes, d, d + 3)) / 3
    weights = rng.dirichlet(np.ones(classes))
    return Mixture(weights, rng.normal(-1.2, 0.8, (classes, d)), root @ root.transpose(0, 2, 1) + 0.01 * np.eye(d))


@pytest.fixture(scope="module")
def reference():
    return Reference(distribution(), LOW, HIGH)


def nasty(rng, n, d=D):
    """Records within the bounds: random, extreme, ties, one hour alone."""
    corners = np.where(rng.random((n, d)) < 0.5, LOW, HIGH)
    flat = np.repeat(rng.uniform(LOW, HIGH, (n, 1)), d, axis=1)
    lonely = np.full((n, d), LOW)
    lonely[np.arange(n), rng.integers(0, d, n)] = HIGH
    ends = np.array([np.full(d, LOW), np.full(d, HIGH)])
    return np.concatenate([rng.uniform(LOW, HIGH, (n, d)), corners, flat, lonely, ends])


@pytest.mark.parametrize("scale", [PLAIN, LogScale(offset_kwh=0.5), LogScale(scale_kwh=0.3)], ids=lambda s: s.kind)
@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_no_pair_of_records_differs_by_more_than_the_sensitivity_and_some_nearly_does(d, scale):
    """Brute force over all pairs of 400 random and nasty records, for several released mixtures."""
    rng = np.random.default_rng(d)
    most = sensitivity("replace_one", d)
    largest = 0.0
    for seed in range(3):
        f = features(nasty(rng, 100, d), Reference(distribution(seed, d=d), LOW, HIGH, scale))
        square = (f**2).sum(axis=1)
        largest = max(largest, math.sqrt((square[:, None] + square - 2 * f @ f.T).max()))
        assert math.sqrt(square.max()) <= sensitivity("add_remove", d) * (1 + 1e-12)
    assert 0.999 * most < largest <= most * (1 + 1e-12)


def test_a_household_at_the_upper_bound_adds_as_much_as_is_charged(reference):
    added = np.linalg.norm(features(np.full((1, D), HIGH), reference))
    assert added == pytest.approx(sensitivity("add_remove", D), rel=1e-6)


@pytest.mark.parametrize("count", [1, 2, 3, marginals.HOUR_COSINES, marginals.PEAK_COSINES, marginals.ENERGY_COSINES])
def test_cosines_differ_most_between_the_two_ends(count):
    """The certificate of Lemma 4: one trigonometric polynomial, on a grid finer than its slope allows to hide.

    Brute force over pairs of levels beside it.
    """
    j = np.arange(1, count + 1)
    most = 8 * (1 / j[::2]).sum()
    step = 1e-4
    a = np.arange(0, math.pi / 2 - 1 / (2 * count), step)
    polynomial = (np.sin(np.outer(a, j)) ** 4 / j).sum(axis=1)
    slope = 4 * count * 3 * math.sqrt(3) / 16
    assert (polynomial.max() + slope * step) * 8 <= most, "away from the middle"
    assert j[1::2].sum() / 4 <= j[::2].sum(), "near the middle"
    c = marginals._cosines(np.linspace(0, 1, 801), count)
    square = (c**2).sum(axis=1)
    assert (square[:, None] + square - 2 * c @ c.T).max() == pytest.approx(most, rel=1e-12)


def test_two_records_in_upper_bins_differ_by_less_than_the_two_ends():
    """The last step of Lemma 4, with the bound of its proof and by brute force."""
    j, width = np.arange(1, marginals.ENERGY_COSINES + 1), (1 - min(marginals.TAIL_LEVELS)) * math.pi / 2
    bound = (8 / j * np.where(j * width <= math.pi / 2, np.sin(j * width) ** 2, 1.0)).sum()
    two, tail = marginals.TOTAL_WEIGHT**2, marginals.TAIL_WEIGHT**2
    assert two * bound + 2 * tail <= two * 8 * (1 / j[::2]).sum() + tail
    c = marginals._cosines(np.linspace(min(marginals.TAIL_LEVELS), 1, 301), marginals.ENERGY_COSINES)
    square = (c**2).sum(axis=1)
    assert (square[:, None] + square - 2 * c @ c.T).max() <= bound


def test_ties_of_a_mixture_beyond_its_bounds_cost_no_more():
    """A mixture of which most is clipped has a pool of equal energies; levels are ranks all the same."""
    m = distribution()
    high = Reference(Mixture(m.weights, m.means + 8, m.covariances), LOW, HIGH)
    x = np.concatenate(
        [nasty(np.random.default_rng(4), 60), HIGH - np.geomspace(1e-9, 1e-1, 60)[:, None] * np.ones(D)]
    )
    f = features(x, high)
    square = (f**2).sum(axis=1)
    assert (square[:, None] + square - 2 * f @ f.T).max() <= sensitivity("replace_one", D) ** 2 * (1 + 1e-12)
    assert square.max() <= sensitivity("add_remove", D) ** 2 * (1 + 1e-12)


def test_no_record_changes_what_another_one_adds(reference):
    x = nasty(np.random.default_rng(1), 20)
    one_by_one = sum(features(row[None], reference)[0] for row in x)
    assert feature_sum(x, reference) == pytest.approx(one_by_one, abs=1e-9)
    assert feature_sum(x[:0], reference) == pytest.approx(0)


def test_on_a_grid_every_record_is_rounded_for_itself(reference, monkeypatch):
    monkeypatch.setattr(marginals, "_RECORDS_AT_ONCE", 7)
    x = nasty(np.random.default_rng(2), 30)
    exact = feature_sum(x, reference, GRID)
    assert np.array_equal(exact / GRID, np.rint(exact / GRID))
    assert exact == pytest.approx(feature_sum(x, reference), abs=len(x) * GRID)
    moved = np.delete(x, 0, axis=0)
    alone = np.rint(features(x[:1], reference)[0] / GRID) * GRID
    assert np.array_equal(exact - feature_sum(moved, reference, GRID), alone)


def test_levels_of_an_hour_are_the_distribution_function(reference):
    """Oracle: scipy's normal distribution."""
    x, m = nasty(np.random.default_rng(3), 40), reference.mixture
    expected = sum(
        w * stats.norm.cdf(x, mean, np.sqrt(np.diag(c)))
        for w, mean, c in zip(m.weights, m.means, m.covariances, strict=True)
    )
    assert hour_levels(x, m) == pytest.approx(expected, abs=1e-12)


def test_features_of_the_mixture_itself_have_known_means(reference):
    """Monte Carlo: levels are uniform, so cosines have mean zero; false alarm 1e-9 over all of them."""
    n = 40_000
    x, _ = sample(reference.mixture, n, StudyNoise(1, "levels"))
    f = features(np.clip(x, LOW, HIGH), reference)
    tail = -np.diff([1 - level for level in marginals.TAIL_LEVELS] + [0])
    expected = np.concatenate([np.zeros(f.shape[1] - len(tail)), marginals.TAIL_WEIGHT * tail])
    # The pool that stands for energy and peak is a sample, too.
    error = f.std(axis=0) * math.sqrt(1 / n + 1 / marginals.POOL)
    assert (np.abs(f.mean(axis=0) - expected) <= stats.norm.isf(0.5e-9 / f.shape[1]) * error + 1e-12).all()


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_a_release_measures_them_once_beside_its_first_mixture(adjacency):
    x = households(0, 200, D)
    asked = []

    class Source:
        grid = 0.0

        def add_gaussian(self, exact, std):
            asked.append((exact.shape, std))
            return np.array(exact, dtype=float)

    settings = ProvenSettings(adjacency, records_guess=200, rounds=1, marginal_share=0.25)
    public = PublicSettings(2.0, 1e-5, 3, D, 200, LOW, HIGH, FLOOR, sound=settings)
    sound = Proven.calibrate(public)
    released = sound.release(PrivateRecords(x), Source(), 4)
    shape, std = asked[-1]
    assert shape == (1, marginals.statistics_of(D))
    assert std == pytest.approx(sensitivity(adjacency, D) / (sound.mu * 0.5), rel=1e-12)
    assert len(asked) == len(sound.plan.steps)
    own = Reference(released.mixtures.draw(0), LOW, HIGH)
    assert released.marginals.means == pytest.approx(features(x, own).mean(axis=0), abs=1e-12)
    assert released.marginals.noise_std == pytest.approx(std / 200, rel=1e-12)
    plain = Proven.calibrate(PublicSettings(2.0, 1e-5, 3, D, 200, LOW, HIGH, FLOOR, sound=ProvenSettings(rounds=1)))
    assert plain.release(PrivateRecords(x), Source(), 1).marginals is None


def test_energy_of_records_is_that_of_the_scale_and_features_rank_by_it():
    """Oracle: hours with feed-in, whose sum of e^y is largest where the energy is smallest."""
    scale = LogScale(-20.0, 20.0, scale_kwh=0.1)
    low, high = scale.bounds_log_kwh
    m = distribution()
    signed = Reference(
        Mixture(m.weights, np.log(0.1) + 2 * (m.means - m.means.mean()), m.covariances), low, high, scale
    )
    x = np.clip(signed.pool[:500], low, high)
    energy = 2 * 0.1 * np.sinh(x - np.log(0.1))
    assert np.allclose(signed.energy_of(x), energy.sum(axis=1)) and (signed.energy < 0).any()
    below = (signed.energy[None, :] < energy.sum(axis=1)[:, None]).mean(axis=1)
    first = features(x, signed)[:, D * HOUR_COSINES]
    assert np.allclose(first, TOTAL_WEIGHT * np.sqrt(2) * np.cos(np.pi * below), atol=1e-3)


HOURS = 4
DISTRIBUTION = Mixture(
    np.array([0.6, 0.4]),
    np.array([[-2.0, -1.5, -1.0, -1.2], [0.5, 0.0, 0.5, 1.0]]),
    np.array([0.3 * np.eye(HOURS) + 0.2, 0.2 * np.eye(HOURS) + 0.1]),
)


@pytest.fixture(scope="module")
def four_hours():
    return Reference(DISTRIBUTION, LOW, HIGH)


@pytest.mark.parametrize("mean", [-0.9, -0.2, 0.0, 0.5])
def test_one_coin_has_the_closed_form(mean):
    """Of +-1 with even odds E = tanh t: t + penalty solves tanh t + penalty (t - t0) = m."""
    pool = np.repeat([[-1.0], [1.0]], 5000, axis=0)
    for public in (0.0, 0.7, -1.0):
        t = fit_exponents(pool, np.array([mean]), 1e-6, np.array([public]))[0]
        assert math.tanh(t) == pytest.approx(mean, abs=2e-3)
        assert fit_exponents(pool, np.array([mean]), 1e6, np.array([public])) == pytest.approx(public, abs=1e-6)


def test_before_anything_is_measured_fewer_homes_use_much_of_an_adapted_mixture():
    """Of the mixture's profiles 7, 2 and 1 % use so much that they are in a bin, and stand for fewer homes each."""
    prior_mixture = read_prior_mixture(SHIPPED, 0, HOURS)
    for prior, expected in ((None, [1, 1, 1]), (prior_mixture, [0.7, 0.4, 0.2])):
        public = PublicSettings(
            *(1.0, 1e-5, 3, HOURS, 40, LOW, HIGH, FLOOR),
            sound=ProvenSettings(prior_mixture=prior, marginal_share=0.25),
        )
        x = np.random.default_rng(3).uniform(LOW, HIGH, (40, HOURS))
        of = Proven.calibrate(public).release(PrivateRecords(x), StudyNoise(5, "tail"), 1).marginals.reference
        pool, nothing = of.pool_features, np.zeros(statistics_of(HOURS))
        weight = np.exp(pool @ fit_exponents(pool, nothing, 1e6, of.public_exponents))
        at = np.searchsorted(marginals.TAIL_LEVELS, (of.energy_of(of.pool).argsort().argsort() + 0.5) / len(pool))
        homes = [weight[at == tail].mean() / weight[at == 0].mean() for tail in (1, 2, 3)]
        assert homes == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("noise_std", [0.001, 0.03, 0.3])
@pytest.mark.parametrize("public", [np.zeros(4), np.array([0.0, 0.4, 0.0, -0.6])])
def test_the_optimum_is_where_the_gradient_vanishes(noise_std, public):
    """Oracle: scipy's root of E_t f + penalty (t - t0) = m; the penalty is of the most likely prior, by scipy."""
    rng = np.random.default_rng(int(1000 * noise_std))
    pool = np.cos(np.pi * rng.random((4000, 1)) * np.arange(1, 5)) + 0.2 * rng.normal(size=(4000, 4))
    means = pool.mean(axis=0) + [0.2, -0.1, 0.05, 0.0] + noise_std * rng.normal(size=4)
    stands_for = np.exp(pool @ public) / np.exp(pool @ public).sum()
    variance = noise_std**2 + (stands_for**2).sum()
    covariance = np.cov(pool.T, bias=True, aweights=stands_for)
    found = means - np.average(pool, axis=0, weights=stands_for)
    likelihood = [
        stats.multivariate_normal.logpdf(found, np.zeros(4), s**2 * covariance + variance * np.eye(4))
        for s in marginals.PRIOR_STDS
    ]
    penalty = variance / marginals.PRIOR_STDS[int(np.argmax(likelihood))] ** 2

    def gradient(t):
        weight = np.exp(pool @ t - (pool @ t).max())
        return weight @ pool / weight.sum() - means + penalty * (t - public)

    expected = root(gradient, np.zeros(4), tol=1e-12).x
    t = fit_exponents(pool, means, noise_std, public)
    assert t == pytest.approx(expected, abs=1e-3 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("noise_std", [1e-9, 1.0, 1e6])
def test_nothing_overflows_and_noise_alone_reweighting_little(four_hours, noise_std):
    rng = np.random.default_rng(5)
    pool, public = features(four_hours.pool, four_hours), four_hours.public_exponents
    for means in (pool.mean(axis=0) + noise_std * rng.normal(size=pool.shape[1]), np.full(pool.shape[1], 1e3)):
        t = fit_exponents(pool, means, noise_std, public)
        assert np.isfinite(t).all()
    noisy = fit_exponents(pool, pool.mean(axis=0) + noise_std * rng.normal(size=pool.shape[1]), noise_std, public)
    if noise_std >= 1:
        assert (pool @ noisy).std() < 1.5, "weights of the mixture stay within a factor of a few"


def test_profiles_stay_within_the_bounds_repeat_and_have_the_reweighted_means(four_hours):
    """Feature means against those of the weighted pool: within the sampling error of independent profiles."""
    t = np.zeros(statistics_of(HOURS))
    t[[0, 5, 16]] = -0.6, 0.3, 0.5
    n = 2000
    x = sample_reweighted(four_hours, t, n, StudyNoise(3, "reweighting"))
    assert x.shape == (n, HOURS) and x.min() >= LOW and x.max() <= HIGH
    assert np.array_equal(x, sample_reweighted(four_hours, t, n, StudyNoise(3, "reweighting")))
    pool = features(four_hours.pool, four_hours)
    weight = np.exp(pool @ t)
    expected = weight @ pool / weight.sum()
    error = 6 * pool.std(axis=0) * math.sqrt(1 / (CANDIDATES * n) + weight @ weight / weight.sum() ** 2)
    assert (np.abs(features(x, four_hours).mean(axis=0) - expected) <= error + 0.01).all()
    assert np.unique(x, axis=0).shape == x.shape, "no profile twice"
    # In random order: energies of the first half are like those of the second.
    halves = energy_kwh(x)[: n // 2], energy_kwh(x)[n // 2 :]
    assert stats.ks_2samp(*halves).pvalue > 1e-9


@pytest.mark.parametrize("n", [1, 3, 25])
def test_few_profiles_and_several_blocks(four_hours, n, monkeypatch):
    monkeypatch.setattr(marginals, "_PROFILES_AT_ONCE", 10)
    monkeypatch.setattr(marginals, "_DRAWN_AT_ONCE", 50)
    assert sample_reweighted(four_hours, np.zeros(statistics_of(HOURS)), n, StudyNoise(4, "few")).shape == (n, HOURS)


def test_exponents_that_favour_one_record_in_a_thousand_still_end(four_hours):
    """The cut bounds the work: at least the share ``CUT_SHARE`` of what is drawn is kept."""
    t = np.zeros(statistics_of(HOURS))
    t[-1] = 50.0
    x = sample_reweighted(four_hours, t, 20, StudyNoise(5, "rare"))
    assert (energy_kwh(x) >= np.quantile(four_hours.energy, 0.985)).all()


def test_a_fitted_mixture_is_one_step_of_em_on_the_weighted_pool(four_hours):
    """Oracle: densities by scipy and sums by hand, profile by profile and class by class."""
    beside = Marginals(four_hours, four_hours.pool_features.mean(axis=0) + 0.1, 0.01)
    fitted, before, x = beside.fitted(FLOOR), four_hours.mixture, four_hours.pool
    z = four_hours.pool_features @ beside.exponents
    weight = np.exp(np.minimum(z - np.quantile(z, 1 - marginals.CUT_SHARE), 0))
    assert weight.std() > 0.1 * weight.mean()
    density = np.array(
        [
            w * stats.multivariate_normal(m, c).pdf(x)
            for w, m, c in zip(before.weights, before.means, before.covariances, strict=True)
        ]
    )
    share = density / density.sum(axis=0) * weight
    order = np.argsort(-share.sum(axis=1))
    np.testing.assert_allclose(fitted.weights, share.sum(axis=1)[order] / share.sum(), rtol=1e-9)
    for k, of in enumerate(order):
        many = share[of].sum() ** 2 / (share[of] ** 2).sum()
        # As many profiles that are as the class was: its moments about zero.
        kept = x.shape[1] / (many + x.shape[1])
        mean = (1 - kept) * np.average(x, axis=0, weights=share[of]) + kept * before.means[of]
        square = (1 - kept) * np.einsum("n,ni,nj->ij", share[of] / share[of].sum(), x, x)
        square += kept * (before.covariances[of] + np.outer(before.means[of], before.means[of]))
        np.testing.assert_allclose(fitted.means[k], mean, rtol=1e-9)
        np.testing.assert_allclose(fitted.covariances[k], square - np.outer(mean, mean), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("weights", [(1.0, 0.0), (1 - 1e-7, 1e-7)])
def test_a_class_that_hardly_any_profile_belongs_to_stays_as_it_was(weights):
    before = Mixture(np.array(weights), np.array([[-1.0, -2.0], [0.5, 0.4]]), np.array([np.eye(2), 1e-3 * np.eye(2)]))
    reference = Reference(before, LOW, HIGH)
    fitted = Marginals(reference, reference.pool_features.mean(axis=0), 1e-3).fitted(0.01)
    np.testing.assert_allclose(fitted.weights, weights, atol=1e-4)
    np.testing.assert_allclose(fitted.means, before.means, atol=0.05)
    # Not below the floor, and near what it was otherwise.
    np.testing.assert_allclose(fitted.covariances, [np.eye(2), 0.01 * np.eye(2)], atol=0.05)
    assert np.linalg.eigvalsh(fitted.covariances).min() >= 0.01 * (1 - 1e-9)


def test_of_neighbours_one_stays_and_the_sum_is_balanced():
    rng = np.random.default_rng(6)
    of = rng.normal(size=(500 * CANDIDATES, 7))
    chosen = marginals._balanced(of, rng.permutation(500))
    assert np.array_equal(np.sort(chosen // CANDIDATES), np.arange(500))
    total = np.linalg.norm((of - of.mean(axis=0))[chosen].sum(axis=0))
    assert total < 0.2 * math.sqrt(500 * 7), "far below that of a random choice"


def test_marginals_bring_profiles_of_a_wrong_mixture_nearer_to_the_households(four_hours):
    """Households of another distribution; hardly any noise. Distances fall by half and more."""
    true = Mixture(DISTRIBUTION.weights[::-1], DISTRIBUTION.means + 0.2, 0.7 * DISTRIBUTION.covariances)
    noise = StudyNoise(7, "wrong mixture")
    x, _ = sample(true, 4000, noise)
    x = np.clip(x, LOW, HIGH)
    beside = Marginals(four_hours, features(x, four_hours).mean(axis=0), 1e-4)
    reweighted = sample_reweighted(four_hours, beside.exponents, 4000, noise)
    plain, _ = sample(DISTRIBUTION, 4000, noise)
    for distance in (
        lambda y: kolmogorov_smirnov(y, x).mean(),
        lambda y: wasserstein(energy_kwh(y)[:, None], energy_kwh(x)[:, None])[0],
    ):
        assert distance(reweighted) < 0.5 * distance(np.clip(plain, LOW, HIGH))


DIRECTIONS = (
    LinearFunction((1.0, 0.0, 0.0, 0.0)),
    LinearFunction((0.5, 0.0, 0.0, 2.0)),
    LinearFunction((0.0, 0.0, 1.0, 1.0)),
    LinearFunction((0.0, -2.0, 0.0, 0.0), least=1.5),
)


def of_records(x: np.ndarray) -> np.ndarray:
    """Values of the functions, (n, m)."""
    return np.stack([np.maximum(x @ np.array(of.coefficients), of.least) for of in DIRECTIONS], axis=1)


@pytest.mark.parametrize("least", [False, True])
@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_no_pair_of_records_differs_by_more_in_linear_functions_than_the_sensitivity_and_some_nearly_does(
    adjacency, least
):
    directions = DIRECTIONS if least else tuple(LinearFunction(of.coefficients) for of in DIRECTIONS)
    reference = LinearReference(distribution(d=4), directions)
    rng = np.random.default_rng(3)
    along = np.array([of.coefficients for of in DIRECTIONS])
    # Far out every function has its own sign, so that u is zero or one in all of them.
    ends = np.array([sign @ np.linalg.pinv(along.T) * 1e6 for sign in rng.choice([-1.0, 1.0], (40, len(along)))])
    x = np.concatenate([nasty(rng, 300, 4), ends, -ends])
    f = features(x, reference)
    assert f.shape == (len(x), statistics_of(4, DIRECTIONS)) and np.isfinite(f).all()
    away = (
        [np.linalg.norm(f - one, axis=1).max() for one in f]
        if adjacency == "replace_one"
        else np.linalg.norm(f, axis=1)
    )
    bound = sensitivity(adjacency, 4, DIRECTIONS)
    # What lies at the least value has half of the mixture's share there, so no level is zero.
    assert max(away) <= bound * (1 + 1e-9) and max(away) > (0.9 if least else 0.99) * bound


def test_levels_of_linear_functions_are_shares_of_drawn_records_below():
    """Oracle: so many records of the mixture."""
    reference = LinearReference(distribution(d=4), DIRECTIONS)
    drawn, _ = sample(reference.mixture, 200_000, StudyNoise(5, "levels"))
    values = of_records(drawn)
    assert 0.1 < (values[:, 3] == DIRECTIONS[3].least).mean() < 0.9
    x, own = drawn[:40], values[:40]
    u = np.array([((values < one).mean(axis=0) + (values <= one).mean(axis=0)) / 2 for one in own])
    j = np.arange(1, LINEAR_COSINES + 1)
    expected = np.sqrt(2 / j) * np.cos(np.pi * j * u[..., None])
    assert features(x, reference) == pytest.approx(expected.reshape(40, -1), abs=0.05)


def test_records_drawn_follow_the_linear_functions_that_were_measured():
    """Oracle: the mean of each function over records from elsewhere, which the mixture has not."""
    reference = LinearReference(distribution(d=4), DIRECTIONS)
    other, _ = sample(reference.mixture, 5000, StudyNoise(6, "measured"))
    other = other + np.sqrt(np.diagonal(reference.mixture.covariances[0])) * 0.5
    beside = Marginals(reference, features(other, reference).mean(axis=0), 1e-4)
    drawn = sample_linear(reference, beside.exponents, 4000, StudyNoise(7, "drawn"))
    before, _ = sample(reference.mixture, 4000, StudyNoise(8, "before"))
    wanted, found, without = (np.quantile(of_records(y), [0.2, 0.5, 0.8], axis=0) for y in (other, drawn, before))
    assert (np.abs(found - wanted).max(axis=0) < 0.35 * np.abs(without - wanted).max(axis=0)).all()


def test_functions_that_cannot_be_moved_are_no_reference():
    with pytest.raises(ValueError, match="single entry"):
        LinearFunction((1.0, 1.0), least=0.0)
    alone, moved = LinearFunction((1.0, 0.0)), LinearFunction((0.0, 1.0), least=0.0)
    for directions in ((moved, alone), (alone, LinearFunction((1.0, 1.0)), moved)):
        with pytest.raises(ValueError, match="of an entry that no other has"):
            LinearReference(distribution(d=2), directions)


def test_what_most_records_have_least_is_had_by_as_many_that_are_drawn():
    """Oracle: the shares of records at the least value, and of those far above it, which one Gaussian cannot have."""
    mixture = Mixture(np.ones(1), np.array([[0.1, 0.0]]), np.diag([0.09, 1.0])[None])
    rng = np.random.default_rng(1)
    other = np.column_stack([np.where(rng.random(5000) < 0.9, 0.0, 0.8), rng.normal(size=5000)])
    shares = []
    for least in (0.0, -math.inf):
        reference = LinearReference(mixture, (LinearFunction((0.0, 1.0)), LinearFunction((1.0, 0.0), least)))
        beside = Marginals(reference, features(other, reference).mean(axis=0), 1e-3)
        drawn = sample_linear(reference, beside.exponents, 4000, StudyNoise(3, "zeros"))[:, 0]
        shares.append([(drawn <= 0).mean(), (drawn > 0.5).mean()])
    assert shares[0] == pytest.approx([0.9, 0.1], abs=0.02)
    assert shares[1][0] < 0.7
