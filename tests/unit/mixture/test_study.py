"""The mixture of a study: records, labels, and fits that can be made again from stored labels."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from meterdp.core.parquet import as_arrow
from meterdp.errors import InputError
from meterdp.mixture.draws import Mixture
from meterdp.mixture.study import fit_from, fit_of_own_classes, marginal_columns, start_labels
from meterdp.mixture.tables import MARGINALS
from meterdp.profiles.vector import Records


@pytest.fixture
def records():
    generator = np.random.default_rng(4)
    centres = np.repeat([[-2.0, -1.0], [0.0, 0.5], [2.0, 1.0]], [60, 40, 20], axis=0)
    x = centres + 0.2 * generator.standard_normal(centres.shape)
    valid = np.ones(120, bool)
    valid[[3, 70]] = False
    x[~valid] = np.log(0.5)
    return Records(np.arange(120, dtype=np.int32), x, valid)


def test_records_come_from_the_profile_table_in_order(records):
    table = pa.table(
        {"household": records.household, "valid": records.valid, "log_kwh": pa.array(list(records.log_kwh))}
    )
    back = Records.from_table(pa.concat_tables([table.slice(0, 50), table.slice(50)]))
    assert np.array_equal(back.log_kwh, records.log_kwh) and np.array_equal(back.valid, records.valid)


def test_the_fit_is_made_again_from_the_stored_start(records):
    start = start_labels(records, 3, seed=1)
    first, again = (fit_from(records, start) for _ in range(2))
    assert np.array_equal(first.mixture.covariances, again.mixture.covariances)
    assert np.array_equal(first.labels, again.labels)
    assert first.counts.tolist() == [59, 39, 20]


def test_too_few_valid_households_are_refused_without_saying_how_many(records):
    few = Records(records.household[:4], records.log_kwh[:4], np.array([True, False, False, True]))
    with pytest.raises(InputError, match="asks for 3 classes, but too few households have a valid profile") as caught:
        start_labels(few, 3, seed=1)
    assert "2" not in str(caught.value).replace("_", "")


def variant_rows(name, family, released):
    k = released.classes
    return {
        "mechanism": [name] * k,
        "family": [family] * k,
        "epsilon": [2.0] * k,
        "component": list(range(1, k + 1)),
        "weight": released.weights,
        "mean_log_kwh": list(released.means),
        "covariance": [c.ravel() for c in released.covariances],
    }


def test_a_release_with_its_own_classes_is_shown_beside_the_households_of_these(records):
    x = records.log_kwh[records.valid]
    fit = fit_from(records, start_labels(records, 3, seed=1))
    mixture, order = fit.mixture, [2, 0, 1]
    shuffled = Mixture(mixture.weights[order], mixture.means[order] + 0.05, mixture.covariances[order])
    shares, own = fit_of_own_classes(x, shuffled)
    assert np.allclose(shares.sum(axis=0), fit.counts[order], atol=0.5)
    assert np.allclose(own.means, mixture.means[order], atol=0.01)

    tables = [
        pa.table(variant_rows("sound", "sound", shuffled)),
        pa.table(variant_rows("iid_laplace", "published", shuffled)),
    ]
    rows = as_arrow(MARGINALS, marginal_columns(x, fit, pa.concat_tables(tables), 2.0, {"sound"})).to_pandas()
    assert {c: set(r["curve"]) for c, r in rows.groupby("classes")} == {
        "fit": {"histogram", "fit", "iid_laplace"},
        "sound": {"histogram", "fit", "sound"},
    }
    peaks = (
        rows[rows["entry"] == 0].sort_values("density").groupby(["classes", "component", "curve"]).last()["log_kwh"]
    )
    for component in (1, 2, 3):
        assert peaks["sound", component, "fit"] == pytest.approx(peaks["sound", component, "sound"], abs=0.2)


def made_up_release(classes, dimension):
    """Overlapping classes, some of which differ in width alone."""
    generator = np.random.default_rng(classes)
    weights = generator.dirichlet(np.full(classes, 5.0))
    means = np.repeat(generator.normal(size=(-(-classes // 2), dimension)), 2, axis=0)[:classes]
    widths = np.where(np.arange(classes) % 2, 2.0, 0.5)
    return Mixture(weights, means, widths[:, None, None] * np.eye(dimension))


@pytest.mark.parametrize(("classes", "dimension"), [(1, 2), (2, 2), (4, 2), (7, 2), (1, 1), (5, 1)])
def test_own_classes_of_any_number_are_one_step_of_em(records, classes, dimension):
    """Oracle: one iteration of scikit-learn's EM from the released mixture."""
    x = records.log_kwh[records.valid][:, :dimension]
    released = made_up_release(classes, dimension)
    shares, own = fit_of_own_classes(x, released)
    oracle = GaussianMixture(
        classes,
        reg_covar=0.0,
        max_iter=1,
        weights_init=released.weights,
        means_init=released.means,
        precisions_init=np.linalg.inv(released.covariances),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        oracle.fit(x)
    known = shares.sum(axis=0) >= 1
    assert np.allclose(shares.sum(axis=1), 1) and known.any()
    assert np.allclose(own.weights, oracle.weights_)
    assert np.allclose(own.means[known], oracle.means_[known])
    assert np.allclose(own.covariances[known], oracle.covariances_[known], atol=1e-8)


@pytest.mark.parametrize("classes", [1, 2, 5, 8])
def test_a_release_may_have_fewer_or_more_classes_than_the_fit(records, classes):
    x = records.log_kwh[records.valid]
    fit = fit_from(records, start_labels(records, 3, seed=1))
    tables = [
        pa.table(variant_rows("dpem_zcdp", "published", made_up_release(classes, 2))),
        pa.table(variant_rows("kl_exact", "exact", fit.mixture)),
    ]
    rows = as_arrow(MARGINALS, marginal_columns(x, fit, pa.concat_tables(tables), 2.0, {"dpem_zcdp"})).to_pandas()
    shown = rows.groupby("classes")["component"].unique().map(set)
    assert shown["dpem_zcdp"] == set(range(1, classes + 1)) and shown["fit"] == {1, 2, 3}
    assert np.isfinite(rows["density"]).all() and (rows["density"] >= 0).all()


def test_a_released_class_nobody_comes_from_keeps_its_parameters(records):
    x = records.log_kwh[records.valid]
    far = Mixture(np.array([1.0, 0.0]), np.array([[0.0, 0.0], [50.0, 50.0]]), np.stack([np.eye(2)] * 2))
    shares, own = fit_of_own_classes(x, far)
    assert shares.sum(axis=0).tolist() == [len(x), 0]
    assert np.allclose(own.means[1], 50.0) and np.allclose(own.covariances[1], np.eye(2))
