"""The scorecard: nothing between a set of homes and itself, known numbers otherwise."""

from itertools import combinations

import numpy as np
import pytest

from meterdp.households.columns import Columns
from meterdp.households.score import compare, floors, summarise, with_floors
from tests.unit.households.homes import YEAR, seasonal

COLUMNS = Columns(YEAR, ())


@pytest.fixture(scope="module")
def homes():
    values = seasonal(12)
    values[3, 100:500] = np.nan
    return values


@pytest.fixture(scope="module")
def summary(homes):
    return summarise([homes], len(homes), COLUMNS)


def score(rows, statistic, detail=""):
    return next(row for row in rows if (row.statistic, row.detail) == (statistic, detail))


def test_a_set_of_homes_has_no_distance_from_itself(summary):
    assert all(abs(row.error) < 1e-9 for row in compare(summary, summary))


def test_batches_change_nothing(homes, summary):
    again = summarise([homes[:5], homes[5:]], len(homes), COLUMNS)
    assert again.group_peak_kw == pytest.approx(summary.group_peak_kw)
    assert again.autocorrelation == pytest.approx(summary.autocorrelation)


def test_homes_that_use_twice_as_much_differ_by_as_much(homes, summary):
    rows = compare(summary, summarise([2 * homes], len(homes), COLUMNS))
    for statistic in ("energy, quantiles of homes", "peak, quantiles of homes"):
        assert score(rows, statistic, "0.5").error == pytest.approx(100)
    assert score(rows, "diversified peak, homes", "10").error == pytest.approx(100)
    assert score(rows, "monthly energy").error > 99
    assert score(rows, "autocorrelation", "1 day").error == pytest.approx(0, abs=1e-12)
    assert score(rows, "ramps, quantiles of homes", "0.9").error == pytest.approx(0, abs=1e-9)


def test_homes_that_live_an_hour_later_peak_an_hour_later(homes, summary):
    rows = compare(summary, summarise([np.roll(homes, 1, axis=1)], len(homes), COLUMNS))
    assert score(rows, "peak hour of the mean profile").error == 60


def test_diversified_peaks_are_means_over_groups(homes, summary):
    """Oracle: all 66 groups of ten of the twelve homes; 200 random ones miss their mean by a few per mille."""
    groups = [np.nanmean(homes[list(group)], axis=0).max() for group in combinations(range(12), 10)]
    assert summary.group_sizes == [1, 10, 12]
    assert summary.group_peak_kw[1] == pytest.approx(np.mean(groups), rel=0.01)
    assert summary.group_peak_kw[2] == pytest.approx(np.nanmean(homes, axis=0).max())


def test_floors_are_beside_every_row(homes, summary):
    found = floors(homes, COLUMNS, halves=2)
    rows = with_floors(compare(summary, summary), found)
    assert score(rows, "energy, quantiles of homes", "0.5").floor > 0
    assert 0 < score(rows, "autocorrelation", "1 interval").floor <= 1
    assert np.isnan(score(rows, "diversified peak, homes", "12").floor)
