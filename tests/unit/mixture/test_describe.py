"""Descriptions of the classes: the declared table."""

from __future__ import annotations

import numpy as np
import pytest

from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import as_arrow
from meterdp.mixture.describe import class_table
from meterdp.mixture.gmm import fit_labels
from meterdp.mixture.tables import CLASS_TABLE

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


def test_mean_energy_of_a_class_is_that_of_the_scale(households):
    x, fit = households
    scale = LogScale(scale_kwh=0.3)
    table = class_table(x, fit, HOURS, scale)
    for k in range(fit.mixture.classes):
        own = 2 * 0.3 * np.sinh(x[fit.labels == k + 1] - np.log(0.3))
        assert table["mean_energy_kwh"][k] == pytest.approx(own.mean())
