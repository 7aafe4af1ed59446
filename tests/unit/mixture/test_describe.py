"""Descriptions of the classes: the declared tables, Mardia's statistics against their definition, densities."""

from __future__ import annotations

import numpy as np
import pytest

from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import as_arrow
from meterdp.mixture.describe import class_table, mardia, marginals, normality
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import fit_labels
from meterdp.mixture.tables import CLASS_TABLE, MARGINALS, NORMALITY

HOURS = np.array([6, 7, 8])


@pytest.fixture(scope="module")
def households():
    """Three classes; the third has a single household."""
    rng = np.random.default_rng(0)
    x = np.vstack([rng.normal(size=(300, 3)) - 1, 0.3 * rng.normal(size=(40, 3)) + [0, 2, 1], np.zeros((1, 3))])
    labels = np.repeat([1, 2, 3], [300, 40, 1])
    return x, fit_labels(x, labels, 1e-3)


def test_class_table_says_who_the_households_are(households):
    x, fit = households
    table = as_arrow(CLASS_TABLE, class_table(x, fit, HOURS)).to_pydict()
    assert table["household_count"] == [300, 40, 1]
    assert table["share"] == pytest.approx([300 / 341, 40 / 341, 1 / 341])
    assert table["mean_energy_kwh"] == pytest.approx([np.exp(x[:300]).mean(), np.exp(x[300:340]).mean(), 1.0])
    assert table["peak_hour_local"][1] == 7
    assert table["spread_log_kwh"][1] == pytest.approx(np.sqrt(x[300:340].var(axis=0, ddof=1).mean()))
    assert table["floored"] == [False, False, True]


def test_mardia_agrees_with_the_double_sum():
    """Oracle: the definition (1/N^2) sum_ij m_ij^3, quadratic in N."""
    x = np.random.default_rng(3).gamma(2.0, size=(200, 3))
    residual = x - x.mean(axis=0)
    m = residual @ np.linalg.inv(residual.T @ residual / 200) @ residual.T
    skewness, kurtosis_z = mardia(x)
    assert skewness == pytest.approx((m**3).mean())
    assert kurtosis_z == pytest.approx(((np.diag(m) ** 2).mean() - 15) / np.sqrt(8 * 15 / 200))


def test_mardia_sees_gaussian_and_heavy_tails():
    """Seeded; for the Gaussian the kurtosis is a z-score, so six standard deviations."""
    rng = np.random.default_rng(4)
    gaussian = rng.normal(size=(5000, 4)) @ rng.normal(size=(4, 4))
    skewness, kurtosis_z = mardia(gaussian)
    assert skewness < 0.1
    assert abs(kurtosis_z) < 6
    heavy = gaussian / np.sqrt(rng.chisquare(4, size=(5000, 1)))
    assert mardia(heavy)[1] > 50


def test_normality_is_null_where_a_class_is_too_small(households):
    x, fit = households
    table = as_arrow(NORMALITY, normality(x, fit)).to_pydict()
    assert table["mardia_skewness"][2] is None
    assert table["mardia_kurtosis_z"][2] is None
    assert table["share_within_90"][0] == pytest.approx(0.9, abs=0.06)


def one_grid_per_class(table):
    lines = table[table["curve"] != "histogram"]
    return (lines.groupby("component")["log_kwh"].nunique() == 801).all()


def test_marginals_are_densities_on_one_grid(households):
    x, fit = households
    one_hot = (fit.labels[:, None] == [1, 2, 3]).astype(float)
    columns = marginals(x, one_hot, fit.mixture, {"sound": fit.mixture}, max_bins=10, points=801)
    table = as_arrow(MARGINALS, {"classes": ["fit"] * len(columns["entry"]), **columns}).to_pandas()
    assert set(table["curve"]) == {"histogram", "fit", "sound"}
    bins = np.clip(np.ceil(2 * np.cbrt(fit.counts)), 1, 10)
    assert len(table) == 3 * (bins.sum() + 3 * 2 * 801)
    assert one_grid_per_class(table)
    one = table[(table["component"] == 2) & (table["entry"] == 1)]
    histogram, fitted = one[one["curve"] == "histogram"], one[one["curve"] == "fit"]
    width = np.diff(histogram["log_kwh"]).mean()
    assert (histogram["density"] * width).sum() == pytest.approx(1)
    assert np.trapezoid(fitted["density"], fitted["log_kwh"]) == pytest.approx(1, abs=0.05)
    released = one[one["curve"] == "sound"]
    assert (released["density"].to_numpy() == fitted["density"].to_numpy()).all()


def test_the_grid_goes_on_until_a_release_ends_but_not_for_a_flat_one(households):
    x, fit = households
    one_hot = (fit.labels[:, None] == [1, 2, 3]).astype(float)
    own = fit.mixture
    spread = Mixture(own.weights, own.means + np.array([[0, 0, 0], [3, 0, 0], [0, 0, 0]]), own.covariances * 4.0)
    flat = Mixture(own.weights, own.means, own.covariances * 1e4)

    def grid_of(released, component):
        columns = marginals(x, one_hot, own, released, points=101)
        at = (columns["component"] == component) & (columns["entry"] == 0) & (columns["curve"] == "fit")
        return columns["log_kwh"][at]

    alone, beside = grid_of({}, 2), grid_of({"a": spread}, 2)
    end = spread.means[1, 0] + 3 * np.sqrt(spread.covariances[1, 0, 0])
    assert beside[-1] >= end > alone[-1]
    assert np.allclose(np.diff(beside), np.diff(alone)[0]) and np.isin(alone.round(9), beside.round(9)).all()
    assert np.array_equal(grid_of({"a": flat}, 2), alone)
    far = Mixture(own.weights, own.means + 1e3, own.covariances)
    assert len(grid_of({"a": far}, 2)) == 2 * 101 - 1


def test_a_record_may_belong_to_several_classes():
    """Oracle: a record with a share of one quarter counts a quarter of another, by repeating whole records."""
    x = np.random.default_rng(5).normal(size=(50, 1))
    share = np.random.default_rng(6).integers(1, 5, size=50) / 4
    fit = Mixture(np.array([0.6, 0.4]), np.zeros((2, 1)), np.ones((2, 1, 1)))
    columns = marginals(x, np.stack([share, 1 - share], axis=1), fit, {}, max_bins=6)
    shown = (columns["component"] == 1) & (columns["curve"] == "histogram")
    expected, edges = np.histogram(np.repeat(x[:, 0], (4 * share).astype(int)), bins=6, density=True)
    assert np.allclose(columns["density"][shown], expected) and np.allclose(columns["log_kwh"][shown], edges[:-1])


def test_a_class_no_record_belongs_to_has_an_empty_histogram():
    x = np.random.default_rng(7).normal(size=(20, 2))
    fit = Mixture(np.array([1.0, 0.0]), np.array([[0.0, 0.0], [9.0, 9.0]]), np.stack([np.eye(2)] * 2))
    columns = marginals(x, np.tile([1.0, 0.0], (20, 1)), fit, {})
    empty = columns["component"] == 2
    assert (columns["density"][empty & (columns["curve"] == "histogram")] == 0).all()
    assert (columns["density"][empty & (columns["curve"] == "fit")] > 0).any()


def test_mean_energy_of_a_class_is_that_of_the_scale(households):
    x, fit = households
    scale = LogScale(scale_kwh=0.3)
    table = class_table(x, fit, HOURS, scale)
    for k in range(fit.mixture.classes):
        own = 2 * 0.3 * np.sinh(x[fit.labels == k + 1] - np.log(0.3))
        assert table["mean_energy_kwh"][k] == pytest.approx(own.mean())
