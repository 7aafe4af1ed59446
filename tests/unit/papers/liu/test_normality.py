"""Mardia's statistics against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from meterdp.core.parquet import as_arrow
from meterdp.mixture.gmm import fit_labels
from meterdp_papers.liu.normality import mardia, normality
from meterdp_papers.liu.tables import LIU_NORMALITY


@pytest.fixture(scope="module")
def households():
    """Three classes; the third has a single household."""
    rng = np.random.default_rng(0)
    x = np.vstack([rng.normal(size=(300, 3)) - 1, 0.3 * rng.normal(size=(40, 3)) + [0, 2, 1], np.zeros((1, 3))])
    labels = np.repeat([1, 2, 3], [300, 40, 1])
    return x, fit_labels(x, labels, 1e-3)


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
    table = as_arrow(LIU_NORMALITY, normality(x, fit)).to_pydict()
    assert table["mardia_skewness"][2] is None
    assert table["mardia_kurtosis_z"][2] is None
    assert table["share_within_90"][0] == pytest.approx(0.9, abs=0.06)
