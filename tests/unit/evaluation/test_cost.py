"""Cost rows: declared tables, references of each kind, small classes apart; and held-out log-likelihood.

There nobody is judged on households it has seen, and the numbers are plain averages.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import as_arrow
from meterdp.evaluation.cost import FOLDS, average_profile_kwh, cost, held_out_gap, reference_fits, split
from meterdp.evaluation.tables import COST
from meterdp.mechanisms.interface import PrivateRecords, Released
from meterdp.mechanisms.registry import MECHANISMS
from meterdp.mechanisms.tables import VARIANT
from meterdp.mixture.density import kl_joint, mean_log_likelihood
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import fit_labels, kmeans_labels
from meterdp.mixture.patterns import fewest_households
from tests.unit.mechanisms.made_up import FLOOR, households, public, records


@pytest.fixture(scope="module")
def private():
    return records(0, n=500, d=4, k=3)


@pytest.mark.parametrize("name", MECHANISMS)
def test_rows_are_instances_of_the_declared_tables(private, name):
    mechanism = MECHANISMS[name].calibrate(public(private, 2.0))
    result = cost(mechanism, private, private, StudyNoise(1, name), 20, 5)
    row = result.row | held_out_gap([], None, False, 3, None, 1)
    table = as_arrow(COST, {k: [v] for k, v in row.items()}).to_pylist()[0]
    table = {k: v for k, v in table.items() if not k.startswith("heldout")}
    assert table["draw_count"] == 20
    assert table["kl_q05"] <= table["kl_q25"] <= table["kl_median"] <= table["kl_q75"] <= table["kl_q95"]
    assert all(np.isfinite(v) for v in table.values() if isinstance(v, float))
    variant = as_arrow(VARIANT, result.variant).to_pydict()
    first = mechanism.release(private, StudyNoise(1, name), 20).mixtures.draw(0)
    assert variant["component"] == [1, 2, 3]
    assert variant["mean_log_kwh"][1] == first.means[1].tolist()
    assert np.reshape(variant["covariance"][2], (4, 4)) == pytest.approx(first.covariances[2])


def test_published_mechanisms_are_compared_with_the_fit(private):
    mechanism = MECHANISMS["kl_published"].calibrate(public(private, 2.0))
    result = cost(mechanism, private, private, StudyNoise(2, "kl"), 30, 10)
    released = mechanism.release(private, StudyNoise(2, "kl"), 30).mixtures
    divergence = kl_joint(released, private.fit.mixture)
    assert result.row["kl_mean"] == pytest.approx(divergence.mean())
    assert result.row["kl_se"] == pytest.approx(divergence.std(ddof=1) / np.sqrt(30))
    own = mean_log_likelihood(private.x, released.slice(0, 10))
    classes = zip(*vars(private.fit.mixture).values(), strict=True)
    fitted = np.log(sum(w * np.exp(_log_density(private.x, m, c)) for w, m, c in classes)).mean()
    assert result.row["loglik_gap_mean"] == pytest.approx(fitted - own.mean())


def _log_density(x, mean, covariance):
    z = x - mean
    form = np.einsum("ni,ij,nj->n", z, np.linalg.inv(covariance), z)
    return -0.5 * (form + np.linalg.slogdet(2 * np.pi * covariance)[1])


def test_small_classes_are_a_part_of_the_whole():
    private = records(0)
    assert (private.fit.counts < fewest_households(12)).any()
    row = cost(
        MECHANISMS["kl_published"].calibrate(public(private, 1.0)), private, private, StudyNoise(3, "kl"), 10, 2
    ).row
    assert 0 < row["kl_small_classes_mean"] < row["kl_mean"]


def test_one_draw_has_no_standard_error(private):
    row = cost(MECHANISMS["sound"].calibrate(public(private)), private, private, StudyNoise(4, "one"), 1).row
    assert np.isnan(row["kl_se"])
    assert np.isfinite(row["kl_mean"])


def responsibilities_model(means, covariance, weights=None):
    k = len(means)
    return MixtureDraws(
        np.full((1, k), 1 / k) if weights is None else np.array([weights]),
        np.array([means], dtype=float),
        np.broadcast_to(covariance, (1, k, *covariance.shape)),
    )


def test_reference_of_far_apart_classes_is_the_labelled_fit(private):
    """Responsibilities are labels where classes do not touch; the fit divides by N_k - 1, one EM step by N_k."""
    x = np.vstack([private.x, private.x + 60.0])
    fits, small = reference_fits(
        x, responsibilities_model([private.x.mean(axis=0), private.x.mean(axis=0) + 60], np.eye(4)), FLOOR
    )
    expected = fit_labels(x, np.repeat([1, 2], len(private.x)), FLOOR).mixture
    n = len(private.x)
    assert not small.any()
    assert fits.weights[0] == pytest.approx(expected.weights)
    assert fits.means[0] == pytest.approx(expected.means)
    assert fits.covariances[0] == pytest.approx(expected.covariances * (n - 1) / n)


def test_reference_is_one_step_of_expectation_maximisation(private):
    """Oracle: scikit-learn, one iteration from the same start."""
    start = private.fit.mixture
    model = GaussianMixture(
        3,
        max_iter=1,
        reg_covar=0.0,
        weights_init=start.weights,
        means_init=start.means,
        precisions_init=np.linalg.inv(start.covariances),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(private.x)
    fits, small = reference_fits(private.x, MixtureDraws.single(start), FLOOR)
    assert fits.weights[0] == pytest.approx(model.weights_, rel=1e-6)
    assert fits.means[0] == pytest.approx(model.means_, rel=1e-6)
    assert fits.covariances[0][~small[0]] == pytest.approx(model.covariances_[~small[0]], rel=1e-6)


def test_reference_of_an_empty_class_is_finite_and_small(private):
    x = private.x
    far = responsibilities_model([x.mean(axis=0), np.full(4, 500.0)], np.eye(4))
    fits, small = reference_fits(x, far, FLOOR)
    assert small.tolist() == [[False, True]]
    assert fits.weights[0, 1] == pytest.approx(0.5 / (len(x) + 0.5))
    assert fits.means[0, 1] == pytest.approx(far.means[0, 1])
    assert np.linalg.eigvalsh(fits.covariances[0, 1]).min() > 0


@pytest.mark.parametrize("scale", [LogScale(0.01, 5.0), LogScale(-0.05, 5.0, offset_kwh=0.1)])
def test_the_average_profile_is_that_of_sampled_households(scale):
    """Oracle: numerical integration of the clipped energy over each class's Gaussian, hour by hour."""
    mixtures = responsibilities_model([[0.3, -2.0], [1.2, 0.1]], np.array([[0.4, 0.1], [0.1, 2.0]]), [0.7, 0.3])
    z = np.linspace(-9, 9, 40_001)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    deviation = np.sqrt([0.4, 2.0])
    expected = [
        sum(
            weight * np.trapezoid(scale.clipped_kwh(mean[j] + deviation[j] * z) * density, z)
            for weight, mean in zip(mixtures.weights[0], mixtures.means[0], strict=True)
        )
        for j in range(2)
    ]
    assert average_profile_kwh(mixtures, scale)[0] == pytest.approx(expected, rel=1e-6)


def test_the_energy_is_that_of_the_households(private):
    row = cost(MECHANISMS["sound"].calibrate(public(private)), private, private, StudyNoise(1, "energy"), 2, 1).row
    settings = MECHANISMS["sound"].calibrate(public(private)).public
    clipped = np.clip(private.x, settings.low_log_kwh, settings.high_log_kwh)
    assert row["mean_energy_kwh"] == pytest.approx(np.exp(clipped).mean())


def fit(x, k):
    return fit_labels(x, kmeans_labels(x, k, 0), FLOOR)


@pytest.fixture(scope="module")
def population():
    x = households(0, 300, 4, 3)
    valid = np.arange(300) % 10 > 0
    x[~valid] = -1.2
    return x, valid


class Oracle:
    """A 'mechanism' that releases a given mixture, or the fit itself."""

    def __init__(self, log, mixture=None):
        self.log, self.mixture = log, mixture

    def release(self, private, noise, draws):
        self.log.append(private)
        mixture = self.mixture or private.fit.mixture
        return Released(MixtureDraws.join([MixtureDraws.single(mixture)] * draws), np.zeros(draws, dtype=bool))


def test_folds_partition_the_export_and_tests_hold_valid_households_only(population):
    x, valid = population
    folds = split(x, valid, 3, fit, StudyNoise(1, "folds"))
    assert len(folds) == FOLDS
    assert sum(len(f.test) for f in folds) == valid.sum()
    tested = np.concatenate([f.test for f in folds])
    assert np.array_equal(np.sort(tested, axis=0), np.sort(x[valid], axis=0))
    for f in folds:
        assert len(f.train.x) in (239, 240, 241)
        seen = {row.tobytes() for row in f.fit_of(3).x}
        assert not any(row.tobytes() in seen for row in f.test)


def mean_density(x, mixture):
    """Mean log density of a one-class mixture."""
    return _log_density(x, mixture.means[0], mixture.covariances[0]).mean()


def test_releasing_the_fit_itself_costs_nothing(population):
    folds = split(*population, 3, fit, StudyNoise(1, "folds"))
    log = []
    row = held_out_gap(folds, lambda n: Oracle(log), True, 3, StudyNoise(2, "noise"), 2)
    assert row["heldout_gap_mean"] == pytest.approx(0)
    assert row["heldout_gap_same_k_mean"] == pytest.approx(0)
    assert len(log) == FOLDS


def test_a_mechanism_without_labels_is_handed_all_records_and_judged_against_its_own_number_of_classes(population):
    folds = split(*population, 3, fit, StudyNoise(1, "folds"))
    one = fit(population[0], 1).mixture
    log, sizes = [], []

    def calibrate(n):
        sizes.append(n)
        return Oracle(log, one)

    row = held_out_gap(folds, calibrate, False, 3, StudyNoise(2, "noise"), 2)
    assert all(type(p) is PrivateRecords for p in log)
    assert sizes == [len(f.train.x) for f in folds]
    density = [mean_density(f.test, one) for f in folds]
    assert row["heldout_loglik_mean"] == pytest.approx(np.mean(density))
    single = [mean_density(f.test, f.fit_of(1).fit.mixture) for f in folds]
    assert row["heldout_gap_same_k_mean"] == pytest.approx(np.mean(np.subtract(single, density)))
    assert row["heldout_gap_mean"] != pytest.approx(row["heldout_gap_same_k_mean"])


def test_too_few_households_give_no_number_instead_of_a_wrong_one():
    x = households(0, 20, 4, 3)
    folds = split(x, np.ones(20, dtype=bool), 6, fit, StudyNoise(1, "folds"))
    assert folds == []
    row = held_out_gap(folds, lambda n: None, False, 6, StudyNoise(2, "noise"), 2)
    assert all(np.isnan(v) for v in row.values())
