"""Label flips of the published and exact families: a release, or one sentence that says why not, whatever the data.

Sensitivities against (2a)-(2c) recomputed after every single flip; the divergence Wishart noise costs against closed
forms where there are any, else Monte Carlo with control variates.
"""

import numpy as np
import pytest
from scipy.special import digamma, exp1

from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.mechanisms.reference.label_flip import (
    LabelledRecords,
    covariance_changes,
    covariance_costs,
    flip_sensitivities,
    mean_changes,
    square_roots,
)
from meterdp.mechanisms.registry import MECHANISMS
from meterdp.mixture.gmm import fit_labels
from tests.unit.mechanisms.made_up import FLOOR, labelled, public

NAMES = [name for name, kind in MECHANISMS.items() if kind.sees == "labels" and kind.family != "sound"]
RNG = np.random.default_rng(0)
NASTY = {
    "class of one record": labelled(RNG.normal(size=(40, 3)), [1] * 25 + [2] * 14 + [3]),
    "class of two records": labelled(RNG.normal(size=(40, 3)), [1] * 25 + [2] * 13 + [3] * 2),
    "class of as many records as dimensions": labelled(RNG.normal(size=(40, 3)), [1] * 25 + [2] * 12 + [3] * 3),
    "every class of one record": labelled(RNG.normal(size=(3, 2)), [1, 2, 3]),
    "one class": labelled(RNG.normal(size=(30, 3)), [1] * 30),
    "one record": labelled(np.zeros((1, 2)), [1]),
    "all records equal": labelled(np.full((20, 3), -1.5), [1] * 12 + [2] * 8),
    "records on a line": labelled(RNG.normal(size=(40, 1)) * [1.0, 2.0, 3.0], [1] * 25 + [2] * 15),
    "one dimension": labelled(RNG.normal(size=(30, 1)), [1] * 20 + [2] * 10),
    "hardly any spread": labelled(RNG.normal(size=(30, 2)) * 1e-12, [1] * 20 + [2] * 10),
    "large spread": labelled(RNG.normal(size=(30, 2)) * 1e4, [1] * 20 + [2] * 10),
}


@pytest.mark.parametrize("case", NASTY)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e6])
def test_release_is_feasible_whatever_the_data(case, name, epsilon):
    private = NASTY[case]
    released = MECHANISMS[name].calibrate(public(private, epsilon)).release(private, StudyNoise(1, case, name), 20)
    mixtures = released.mixtures
    assert mixtures.weights.sum(axis=1) == pytest.approx(1) and mixtures.weights.min() >= 0
    assert np.isfinite(mixtures.means).all()
    scale = np.abs(mixtures.covariances).max(axis=(-1, -2))
    assert (np.linalg.eigvalsh(mixtures.covariances)[..., 0] >= FLOOR - 1e-12 * scale).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_component_may_label_nobody(name):
    x = np.random.default_rng(2).normal(size=(60, 2))
    fit = fit_labels(x, np.arange(60) % 3 + 1, FLOOR)
    fit.labels[fit.labels == 3] = 1
    private = LabelledRecords(x, fit)
    assert 3 not in private.labels and len(fit.counts) == 3
    released = MECHANISMS[name].calibrate(public(private, 1.0)).release(private, StudyNoise(3, name), 5)
    assert np.isfinite(released.mixtures.means).all() and np.isfinite(released.mixtures.covariances).all()


@pytest.mark.parametrize("name", NAMES)
def test_claims_are_the_papers_and_not_for_release(name):
    guarantee = MECHANISMS[name].calibrate(public(NASTY["one class"], 2.0)).guarantee
    delta = 0.0 if name == "iid_laplace" else 1e-5
    assert (guarantee.epsilon, guarantee.delta, guarantee.adjacency) == (2.0, delta, "label_flip")
    assert guarantee.family == ("exact" if name == "kl_exact" else "published")
    assert guarantee.proof == f"docs/proofs/{name.removesuffix('_l1')}.md"


@pytest.mark.parametrize("name", NAMES)
def test_epsilon_too_small_for_floating_point_is_refused(name):
    settings = public(NASTY["one class"], 1e-7)
    with pytest.raises(InputError, match="field 'epsilon': is so small that the noise leaves no digit"):
        MECHANISMS[name].calibrate(settings)


def test_square_roots_of_singular_matrices():
    v = np.array([[1.0, 2.0, 3.0]])
    for matrix in (v.T @ v, np.zeros((3, 3)), np.diag([4.0, 0.0, 1e-12])):
        root = square_roots(matrix)
        assert root @ root.T == pytest.approx(matrix, abs=1e-12)


def statistics(x, labels, k):
    """Count, mean and unbiased covariance of one class; zero for a class of one record."""
    own = x[labels == k]
    covariance = np.cov(own.T).reshape(x.shape[1], -1) if len(own) > 1 else np.zeros((x.shape[1],) * 2)
    return own.mean(axis=0), covariance


def brute_force(x, labels, classes, flips):
    """Largest l1 and l2 change of (pi, mu_k, Sigma_k) over flips that leave no class empty, of all or out of k."""
    upper = np.triu_indices(x.shape[1])
    largest = np.zeros((6, classes))
    before = [statistics(x, labels, k + 1) for k in range(classes)]
    for n in range(len(x)):
        for target in range(1, classes + 1):
            flipped = labels.copy()
            flipped[n] = target
            if target == labels[n] or not (flipped == labels[n]).any():
                continue
            change = (np.bincount(flipped, minlength=classes + 1) - np.bincount(labels, minlength=classes + 1)) / len(
                x
            )
            for k in range(classes):
                mean, covariance = statistics(x, flipped, k + 1)
                parts = [change, mean - before[k][0], (covariance - before[k][1])[upper]]
                norms = [np.linalg.norm(p, order) for p in parts for order in (1, 2)]
                if flips == "all" or k + 1 == labels[n]:
                    largest[:, k] = np.maximum(largest[:, k], norms)
    return largest


@pytest.mark.parametrize(
    "sizes", [(20, 15, 9), (12, 3, 2), (10, 2, 1), (5, 1, 1), (2, 2), (1, 1, 6)], ids=lambda s: "-".join(map(str, s))
)
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("flips", ["all", "leaving"])
def test_formulas_agree_with_recomputation_after_every_flip(sizes, d, flips):
    rng = np.random.default_rng(sum(sizes) + d)
    labels = np.repeat(np.arange(1, len(sizes) + 1), sizes)
    x = rng.normal(size=(len(labels), d)) * 10 ** rng.uniform(-3, 3) + 100 * rng.normal()
    k = len(sizes)
    fitted = [statistics(x, labels, j + 1) for j in range(k)]
    ours = flip_sensitivities(x, labels, np.stack([f[0] for f in fitted]), np.stack([f[1] for f in fitted]), flips)
    expected = brute_force(x, labels, k, flips)
    scale = np.abs(x).max() ** 2 * 1e-10
    assert ours.weights_l1 == pytest.approx(expected[0].max())
    assert ours.weights_l2 == pytest.approx(expected[1].max())
    assert ours.means_l1 == pytest.approx(expected[2], rel=1e-9, abs=scale)
    assert ours.means_l2 == pytest.approx(expected[3], rel=1e-9, abs=scale)
    assert ours.covariances_l1 == pytest.approx(expected[4], rel=1e-7, abs=scale)
    assert ours.covariances_l2 == pytest.approx(expected[5], rel=1e-7, abs=scale)


@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0, 30.0])
def test_no_record_ruled_out_by_the_triangle_inequality_would_have_been_the_largest(spread):
    """Oracle: norms of all changes, for classes that coincide, overlap and lie far apart; heavy-tailed records."""
    rng = np.random.default_rng(int(10 * spread))
    labels = np.repeat([1, 2, 3, 4, 5], [400, 90, 7, 3, 1])
    x = rng.standard_t(2, size=(501, 4)) + spread * labels[:, None] * rng.normal(size=4)
    fitted = [statistics(x, labels, j + 1) for j in range(5)]
    arguments = x, labels, np.stack([f[0] for f in fitted]), np.stack([f[1] for f in fitted])
    ours = flip_sensitivities(*arguments)
    for order, found in ((1, ours.covariances_l1), (2, ours.covariances_l2)):
        expected = [np.linalg.norm(covariance_changes(*arguments, j + 1), order, axis=1).max() for j in range(5)]
        assert found == pytest.approx(expected, rel=1e-12)


def test_there_is_one_change_per_record_and_none_that_empties_a_class():
    x = np.arange(10.0).reshape(5, 2)
    labels = np.array([1, 1, 1, 2, 1])
    means = np.stack([x[labels == 1].mean(axis=0), x[3]])
    covariances = np.stack([np.cov(x[labels == 1].T), np.zeros((2, 2))])
    assert mean_changes(x, labels, means, 1).shape == (4, 2), "the only member of class 2 cannot enter class 1"
    assert mean_changes(x, labels, means, 2).shape == (4, 2), "nor can it leave class 2"
    assert covariance_changes(x, labels, means, covariances, 2).shape == (4, 3)


def test_a_component_that_labels_nobody_has_a_sensitivity_too():
    """EM can leave a component that is the most probable one of no record."""
    x = np.array([[1.0], [2.0], [5.0]])
    assert mean_changes(x, np.array([1, 1, 1]), np.array([[8 / 3], [3.0]]), 2).ravel() == pytest.approx([-2, -1, 2])


GAMMAS = np.geomspace(1e-3, 1e3, 7)


def curve(covariance, gammas=GAMMAS):
    costs = covariance_costs(np.asarray(covariance, dtype=float)[None])
    return np.array([costs.cost(np.array([g]))[0] for g in gammas])


def spectra(d):
    """Eigenvalues of Sigma^-1, the largest one: equal, made up, one large among small ones, over a wide range."""
    rng = np.random.default_rng(d)
    g = rng.normal(size=(d, d + 1))
    own = 1 / np.linalg.eigvalsh(g @ g.T)
    return [np.ones(d), own / own.max(), np.r_[1.0, np.full(d - 1, 1e-5)], np.geomspace(1, 1e-6, d)]


def moments(s):
    """Expectations of tr V, tr V^2, (tr V)^2 and ln|V|, V ~ Wishart_d(diag s, d + 1)."""
    d = len(s)
    n, trace, square = d + 1, s.sum(), (s**2).sum()
    log_determinant = np.log(s).sum() + d * np.log(2) + digamma((n - np.arange(d)) / 2).sum()
    return np.array(
        [n * trace, n * (n + 1) * square + n * trace**2, (n * trace) ** 2 + 2 * n * square, log_determinant]
    )


def monte_carlo(s, draws):
    """Return the cost at each gamma and its standard error, from independent draws with four control variates."""
    rng = np.random.default_rng(99)
    g = rng.standard_normal((draws, len(s), len(s) + 1)) * np.sqrt(s)[:, None]
    values = np.linalg.eigvalsh(g @ np.swapaxes(g, 1, 2))
    values = np.maximum(values, np.finfo(float).tiny)
    known = moments(s)
    trace, square, log_determinant = values.sum(axis=1), (values**2).sum(axis=1), np.log(values).sum(axis=1)
    controls = (np.stack([trace, square, trace**2, log_determinant], axis=1) - known) / (1 + np.abs(known))
    design = np.column_stack([np.ones(draws), controls])
    out = []
    for gamma in GAMMAS:
        u = values / gamma
        y = 0.5 * (u - np.log1p(u)).sum(axis=1)
        beta = np.linalg.lstsq(design, y, rcond=None)[0]
        out.append((beta[0], (y - design @ beta).std() / np.sqrt(draws)))
    return np.array(out).T


@pytest.mark.parametrize("d", [2, 3, 5, 8, 12])
def test_cost_agrees_with_monte_carlo_to_one_in_a_thousand(d):
    """Oracle: independent draws, whose own error is far smaller; six standard errors allowed, false alarm 1e-9."""
    for s in spectra(d):
        expected, error = monte_carlo(s, 200_000 if d < 5 else 30_000)
        assert (error < 3e-4 * expected).all()
        assert (np.abs(curve(np.diag(1 / s)) - expected) < 1e-3 * expected + 6 * error).all()


def test_cost_in_one_dimension_is_an_exponential_integral():
    """W is exponential of mean 2/gamma: E ln(1 + s W) = e^(gamma/2s) E_1(gamma/2s)."""
    gammas, variance = np.geomspace(1e-2, 1e2, 9), 0.3
    t = gammas * variance / 2
    expected = 0.5 * (1 / t - np.exp(t) * exp1(t))
    assert curve([[variance]], gammas) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("d", [1, 3, 7, 24])
def test_cost_of_little_and_of_much_noise_has_a_closed_form(d):
    """Little: 1/4 E tr (Sigma^-1 W)^2. Much: the logarithm of the determinant no longer sees I."""
    s = np.geomspace(1, 1e-2, d)
    trace, second, _, log_determinant = moments(s)
    little, much = curve(np.diag(1 / s), [1e8, 1e-8])
    assert little == pytest.approx(second / 4e16, rel=1e-6)
    assert much == pytest.approx(0.5 * (trace * 1e8 - log_determinant - d * np.log(1e8)), rel=1e-6)


def test_cost_depends_on_eigenvalues_only_and_scales_with_the_noise():
    rng = np.random.default_rng(3)
    g = rng.normal(size=(4, 5))
    covariance = g @ g.T
    own = curve(covariance)
    assert curve(np.diag(np.linalg.eigvalsh(covariance))) == pytest.approx(own, rel=1e-9)
    assert curve(covariance * 1e6, GAMMAS / 1e6) == pytest.approx(own, rel=1e-9)


def test_cost_is_convex_and_falls_with_the_stated_slope():
    """Oracle: central differences of the logarithm."""
    costs = covariance_costs(np.stack([np.diag([1.0, 2.0, 9.0]), 1e-4 * np.eye(3), np.diag([1e-3, 1.0, 1e3])]))
    step = 1e-4
    for gamma in np.geomspace(1e-4, 1e6, 21):
        g = np.full(3, gamma)
        logs, derivative = costs.log_slope(g)
        up, down = costs.cost(g * np.exp(step)), costs.cost(g * np.exp(-step))
        assert np.exp(logs) == pytest.approx((down - up) / (2 * step * gamma), rel=1e-4)
        higher, lower = (costs.log_slope(g * np.exp(e))[0] for e in (step, -step))
        assert derivative == pytest.approx((higher - lower) / (2 * step), rel=1e-5)
        assert ((derivative > -3 - 1e-9) & (derivative < -2 + 1e-9)).all()
        assert (costs.mass >= 0).all()
