"""The scorecard: nothing between a set of homes and itself, known numbers otherwise."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.linear_model import LinearRegression

from meterdp.consumption.study import Consumption
from meterdp.households.closeness import membership_odds, nearest
from meterdp.households.score import compare, floors, membership, summarise, with_floors
from meterdp.households.vector import VectorSettings
from tests.unit.households.homes import EIGHT_WEEKS, YEAR, seasonal

SETTINGS = VectorSettings(YEAR)


@pytest.fixture(scope="module")
def homes():
    values = seasonal(12)
    values[3, 100:500] = np.nan
    return values


@pytest.fixture(scope="module")
def summary(homes):
    return summarise([homes], len(homes), SETTINGS)


def score(rows, statistic, detail=""):
    return next(row for row in rows if (row.statistic, row.detail) == (statistic, detail))


def test_a_set_of_homes_has_no_distance_from_itself(summary):
    rows = compare(summary, summary)
    copies = [row for row in rows if row.statistic == "distance to the closest real home"]
    assert [row.synthetic for row in copies] == pytest.approx([0, 0], abs=1e-6)
    trained = score(rows, "forecast a day ahead, trained on them", "rms error")
    # Trained on those it is judged on, too.
    assert trained.synthetic < trained.real
    assert all(abs(row.error) < 1e-9 for row in rows if row not in (*copies, trained))


def test_a_month_without_readings_is_not_compared(homes, summary):
    """The file of February is missing."""
    days = np.array([day.month for day in summary.columns.calendar.days])[summary.columns.day]
    gap = np.where(days == 2, np.nan, homes)
    rows = compare(summarise([gap], len(homes), SETTINGS), summary)
    assert score(rows, "monthly energy").error == pytest.approx(0, abs=1e-9)


def test_batches_change_nothing(homes, summary):
    again = summarise([homes[:5], homes[5:]], len(homes), SETTINGS)
    assert again.group_peak_kw == pytest.approx(summary.group_peak_kw)
    assert again.homes.autocorrelation == pytest.approx(summary.homes.autocorrelation)


def test_homes_that_use_twice_as_much_differ_by_as_much(homes, summary):
    rows = compare(summary, summarise([2 * homes], len(homes), SETTINGS))
    for statistic in ("energy, quantiles of homes", "peak, quantiles of homes"):
        assert score(rows, statistic, "0.5").error == pytest.approx(100)
    assert score(rows, "diversified peak, homes", "10").error == pytest.approx(100)
    assert score(rows, "monthly energy").error > 99
    assert score(rows, "autocorrelation", "1 day").error == pytest.approx(0, abs=1e-12)
    assert score(rows, "ramps, quantiles of homes", "0.9").error == pytest.approx(0, abs=1e-9)


def test_homes_that_live_an_hour_later_peak_an_hour_later(homes, summary):
    rows = compare(summary, summarise([np.roll(homes, 1, axis=1)], len(homes), SETTINGS))
    assert score(rows, "peak hour of the mean profile").error == 60


def test_homes_that_stand_empty_for_most_of_a_year_are_seen(homes, summary):
    """Oracle: nine months without anything in three of twelve homes, none in the others."""
    some = homes.copy()
    some[:3, 24 * 90 : 24 * 364] = 0.0
    rows = compare(summarise([some], len(homes), SETTINGS), summary)
    assert score(rows, "share of days almost without use").real == pytest.approx(0.25 * 274 / 365, abs=0.01)
    assert score(rows, "share of days almost without use").error < -95
    assert score(rows, "share of zeros").error == pytest.approx(0.25)


def test_diversified_peaks_are_means_over_groups(homes, summary):
    """Oracle: all 66 groups of ten of the twelve homes; 200 random ones miss their mean by a few per mille."""
    groups = [np.nanmean(homes[list(group)], axis=0).max() for group in combinations(range(12), 10)]
    assert summary.group_sizes == [1, 10, 12]
    assert summary.group_peak_kw[1] == pytest.approx(np.mean(groups), rel=0.01)
    assert summary.group_peak_kw[2] == pytest.approx(np.nanmean(homes, axis=0).max())


def test_homes_that_are_not_read_at_the_same_time_raise_no_peak():
    """Oracle: the same homes with all their readings; and the rule, one group and interval after the other."""
    rng = np.random.default_rng(4)
    complete = rng.gamma(0.5, 1.0, (40, EIGHT_WEEKS.slot_count))
    gaps = complete.copy()
    gaps[:, ::2][rng.random(gaps[:, ::2].shape) < 0.4] = np.nan
    settings = VectorSettings(EIGHT_WEEKS)
    found, whole = (summarise([kwh], 40, settings).group_peak_kw for kwh in (gaps, complete))
    assert found[1:] == pytest.approx(whole[1:], rel=0.03)
    all_homes = [column[np.isfinite(column)] for column in gaps.T]
    most = max(map(len, all_homes))
    assert found[-1] == pytest.approx(max(column.mean() for column in all_homes if len(column) >= 0.8 * most))
    # The study of consumption says the same of the same groups.
    consumption = Consumption(np.arange(40), np.zeros(40, int))
    consumption.add(np.arange(40), gaps, EIGHT_WEEKS)
    assert found[-1] == pytest.approx(dict(consumption.group_peaks_kw())[40][0], abs=1e-6)


def test_floors_are_beside_every_row(homes, summary):
    found = floors(homes, summary.homes, SETTINGS, halves=2)
    rows = with_floors(compare(summary, summary), found)
    assert score(rows, "energy, quantiles of homes", "0.5").floor > 0
    assert 0 < score(rows, "autocorrelation", "1 interval").floor <= 1
    assert np.isnan(score(rows, "diversified peak, homes", "12").floor)


def test_forecasts_are_as_good_as_those_of_least_squares(homes, summary):
    """Oracle: a regression by rows, of homes in multiples of their own mean, each of the same weight."""

    def rows_of(kw):
        ratio = kw / np.nanmean(kw)
        table = pd.DataFrame({"y": ratio, "day": YEAR.local_day, "minute": YEAR.minute_of_day})
        hour = 2 * np.pi * table["minute"] / 1440
        for k in (1, 2):
            table[f"cos{k}"], table[f"sin{k}"] = np.cos(k * hour), np.sin(k * hour)
        off = SETTINGS.columns.is_off[SETTINGS.columns.day]
        table["one"], table["off"], table["off_before"] = 1.0, off, np.roll(off, 24)
        table["yesterday"], table["last_week"] = table["y"].shift(24), table["y"].shift(168)
        # Of the day up to the reading of yesterday at this hour.
        table["mean"] = table["y"].rolling(24, min_periods=1).mean().shift(24)
        return table.iloc[168:].dropna().drop(columns=["day", "minute"])

    rows = [rows_of(kw) for kw in homes]
    weights = np.concatenate([np.full(len(of), 1 / len(of)) for of in rows[::2]])
    train, test = pd.concat(rows[::2]), [of for of in rows[1::2]]
    model = LinearRegression(fit_intercept=False).fit(train.drop(columns="y"), train["y"], sample_weight=weights)
    error = np.sqrt(np.mean([np.mean((of["y"] - model.predict(of.drop(columns="y"))) ** 2) for of in test]))
    found = score(compare(summary, summary), "forecast a day ahead, trained on them", "rms error")
    assert found.real == pytest.approx(error, rel=1e-3)


def test_homes_without_habits_teach_a_worse_forecast(homes, summary):
    shuffled = np.random.default_rng(0).permuted(np.nan_to_num(homes, nan=1.0), axis=1)
    rows = compare(summary, summarise([shuffled], len(homes), SETTINGS))
    assert score(rows, "forecast a day ahead, trained on them", "rms error").error > 5


def test_copies_are_found_and_chance_is_not(homes):
    rng = np.random.default_rng(1)
    members, strangers, more = rng.normal(size=(3, 300, 20))
    copies = members + 0.05 * rng.normal(size=members.shape)
    assert membership_odds(members, strangers, copies) > 100
    assert membership_odds(members, strangers, more) == pytest.approx(1, abs=0.35)
    half = np.concatenate([copies[:100], more[:200]])
    assert 1.4 < membership_odds(members, strangers, half) < 4


def test_the_attack_is_a_row_of_the_scorecard(homes):
    parts = [summarise([part], 4, SETTINGS).homes.vector for part in (homes[:4], homes[:4], homes[4:8])]
    assert membership(*parts).synthetic > 2


def test_nearest_is_the_least_distance():
    rng = np.random.default_rng(2)
    x, to = rng.normal(size=(700, 5)), rng.normal(size=(40, 5))
    assert nearest(x, to) == pytest.approx(cdist(x, to).min(axis=1))
    assert nearest(to, to, itself=True) == pytest.approx(np.sort(cdist(to, to), axis=1)[:, 1])
