"""The variants of Liu et al. against code of its own: numpy, scipy's general optimiser, nothing of the mechanisms."""

import numpy as np
import pytest
from scipy.optimize import minimize

from meterdp.core.noise import StudyNoise
from meterdp.privacy.noise import NoiseSource
from meterdp_papers.liu.setting import COMPARED, DELTA, PROPOSED, RUNS, Run, public_settings, read
from meterdp_papers.liu.synthetic import Setting, draw_data_set
from meterdp_papers.liu.tables import FLIPS, VARIANTS

FLOOR, SETS = 1e-3, range(10)


def data_set(trial: int, classes: int = 3, records: int = 60):
    stream = StudyNoise(5, "readings", trial)
    return draw_data_set(Setting(classes=classes, records=records, dimension=2), stream, FLOOR)[0]


def changes_of_means(x, labels, k, flips):
    """(10): flip labels one by one and average again; only records of class k under "leaving"."""
    found = []
    for n in range(len(x)):
        if flips == "leaving" and labels[n] != k:
            continue
        flipped = labels.copy()
        flipped[n] = labels.max() + 1 if labels[n] == k else k
        found.append(x[flipped == k].mean(axis=0) - x[labels == k].mean(axis=0))
    return np.array(found)


def smallest_trace(points):
    """(23) at right-hand side one: min tr M over v' M^-1 v <= 1, by SLSQP on a Cholesky factor, best of three."""
    d = points.shape[1]
    lower = np.tril_indices(d)

    def matrix(entries):
        factor = np.zeros((d, d))
        factor[lower] = entries
        return factor @ factor.T

    inside = {"type": "ineq", "fun": lambda e: 1 - np.einsum("ni,ij,nj->n", points, np.linalg.inv(matrix(e)), points)}
    best = np.inf
    for scale in (1.5, 2.0, 4.0):
        start = np.linalg.cholesky(scale * d * (points.T @ points / len(points) + 1e-9 * np.eye(d)))
        start *= np.sqrt(np.einsum("ni,ij,nj->n", points, np.linalg.inv(start @ start.T), points).max())
        options = {"maxiter": 500, "ftol": 1e-12}
        found = minimize(lambda e: np.trace(matrix(e)), start[lower], constraints=[inside], options=options)
        if inside["fun"](found.x).min() > -1e-7:
            best = min(best, found.fun)
    return best


@pytest.mark.parametrize("flips", FLIPS)
@pytest.mark.parametrize("trial", SETS)
def test_noise_of_the_proposed_mechanism_is_that_of_own_code(trial, flips):
    """(10), (23) and the first value of (22) on ten data sets, from the printed formulas."""
    private = read(data_set(trial))[flips]
    x, labels, epsilon = private.x, private.labels, 1.0
    design = COMPARED[PROPOSED].calibrate(public_settings(private, epsilon, FLOOR)).design(private)
    for k, sigma in enumerate(private.fit.mixture.covariances, start=1):
        changes = changes_of_means(x, labels, k, flips)
        found = private.differences[k - 1]
        assert np.sort(np.abs(found), axis=0) == pytest.approx(np.sort(np.abs(changes), axis=0), rel=1e-9, abs=1e-13)
        whitened = np.linalg.solve(np.linalg.cholesky(sigma), changes.T).T
        trace = np.trace(private.shapes[k - 1].matrix)
        assert trace == pytest.approx(smallest_trace(whitened), rel=2e-5)
        # (22) with the split of the start, epsilon/3 each.
        members = (labels == k).sum()
        at_most = 3 / 2 * np.trace(np.linalg.inv(sigma))  # (d + 1)/d tr Sigma^-1 with d = 2
        assert design.gamma[k - 1] == pytest.approx(min(at_most, 2 * members * (epsilon / 3) / 3), rel=1e-9)


class Ones(NoiseSource):
    """Every number of noise is one: what is added is the scale."""

    def normal(self, shape):
        return np.ones(shape)

    def laplace(self, shape):
        return np.ones(shape)

    def uniform(self, shape):
        return np.full(shape, 0.5)


def added_to_means(run: Run, private, epsilon=6.0) -> np.ndarray:
    records = read(private)
    mechanism = run.calibrate(public_settings(private, epsilon, FLOOR))
    released = mechanism.release(run.records(records), Ones(), 1).mixtures
    return (released.means[0] - private.fit.mixture.means)[:, 0]


@pytest.mark.parametrize("flips", FLIPS)
@pytest.mark.parametrize("trial", SETS)
def test_baselines_share_noise_and_budget_over_classes_as_read(trial, flips):
    """Scales from flips one by one: the largest change of a mean, the largest of all, K times the budgets."""
    private = data_set(trial)
    x, labels, classes, epsilon = private.x, private.labels, 3, 6.0
    every = [changes_of_means(x, labels, k, flips) for k in (1, 2, 3)]
    l2 = np.array([np.linalg.norm(c, axis=1).max() for c in every])
    l1 = np.array([np.abs(c).sum(axis=1).max() for c in every])

    def gaussian(parts):
        return np.sqrt(2 * np.log(2 * parts / DELTA)) / (epsilon / parts)

    expected = {
        ("iid_gaussian", "parallel"): gaussian(3) * l2,
        ("iid_gaussian", "common"): gaussian(3) * np.full(3, l2.max()),
        ("iid_gaussian", "split"): gaussian(3 * classes) * l2,
        ("iid_gaussian_l1", "common"): gaussian(3) * np.full(3, l1.max()),
        ("iid_laplace", "parallel"): 3 / epsilon * l1,
        ("iid_laplace", "common"): 3 / epsilon * np.full(3, l1.max()),
        ("iid_laplace", "split"): 3 * classes / epsilon * l1,
    }
    for (name, over), scale in expected.items():
        assert added_to_means(Run(name, flips, over), private) == pytest.approx(scale, rel=1e-9), (
            name,
            over,
        )


def test_every_variant_has_every_mechanism_once_and_variants_differ():
    for variant in VARIANTS:
        assert sorted(v.mechanism for v in RUNS if v.of(variant)) == sorted(COMPARED)
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS) == 6
    private = data_set(0)
    coloured = {
        (v.flips, v.over_classes): added_to_means(v, private) for v in RUNS if v.mechanism == "coloured_gaussian"
    }
    assert len(coloured) == 6
    assert np.all(np.abs(coloured["leaving", "parallel"]) <= np.abs(coloured["all", "parallel"]) * (1 + 1e-6))
    ratio = coloured["all", "split"] / coloured["all", "parallel"]
    assert ratio == pytest.approx(np.full(3, 3 * np.sqrt(np.log(2 * 9 / DELTA) / np.log(2 * 3 / DELTA))), rel=1e-9)
