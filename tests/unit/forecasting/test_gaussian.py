"""Checks for Gaussianity and tests of the innovations.

scipy and statsmodels are the oracles for independent values, simulation for dependent ones.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.signal import lfilter
from statsmodels.stats.diagnostic import acorr_ljungbox

from meterdp.core.parquet import as_arrow
from meterdp.forecasting.diagnostics import SPARE_LAGS, residual_tests
from meterdp.forecasting.gaussian import check, gaussian_columns, summary_rows
from meterdp.forecasting.tables import GAUSSIAN_CHECKS, GAUSSIAN_SUMMARY
from tests.unit.forecasting.processes import process, simulate, with_gaps


@pytest.mark.parametrize("distribution", ["normal", "gumbel", "uniform"])
def test_independent_values_oracle_is_scipy(distribution):
    x = getattr(np.random.default_rng(0), distribution)(size=500)
    found = check(np.insert(x, [3, 3, 200], np.nan))
    oracle = stats.jarque_bera(x)
    assert found["reading_count"] == found["effective_count"] == 500
    assert found["skewness"] == pytest.approx(stats.skew(x))
    assert found["excess_kurtosis"] == pytest.approx(stats.kurtosis(x))
    assert found["statistic"] == pytest.approx(oracle.statistic)
    assert found["p_value"] == pytest.approx(oracle.pvalue)


def test_the_effective_count_is_its_definition_with_gaps():
    """Oracle: the double sum over all seen pairs."""
    generator = np.random.default_rng(1)
    x = with_gaps(generator.standard_normal(120), 0.3, generator)
    correlation = 0.8 ** np.arange(120)
    seen = np.flatnonzero(np.isfinite(x))
    total = sum(correlation[abs(s - t)] ** 3 for s in seen for t in seen)
    assert check(x, correlation)["effective_count"] == pytest.approx(seen.size**2 / total)


def test_a_gaussian_process_is_rejected_about_as_often_as_stated_and_not_by_the_plain_test_alone():
    """AR(0.9), 600 series of 1,440, seeded: at 1 % the share is below 0.06; the plain test rejects more than 0.2.

    The variance of the skewness over 6/n_3 is within 0.6..1.5, seven standard errors.
    """
    generator = np.random.default_rng(2)
    correlation = 0.9 ** np.arange(1440)
    series = lfilter([1.0], [1.0, -0.9], generator.standard_normal((600, 1740)), axis=1)[:, 300:]
    found = [check(x, correlation) for x in series]
    plain = np.mean([check(x)["p_value"] < 0.01 for x in series])
    assert np.mean([f["p_value"] < 0.01 for f in found]) < 0.06 and plain > 0.2
    assert 0.6 < np.var([f["skewness"] for f in found]) / (6 / found[0]["effective_count"]) < 1.5


def test_every_household_has_two_rows_whatever_its_readings():
    generator = np.random.default_rng(4)
    fits = [process("arma21"), process("white"), process("white"), process("ar1")]
    skewed = process("ar1").mean + lfilter([1.0], [1.0, -0.9], generator.exponential(size=800) - 1)
    residual = np.stack([simulate(fits[0], 800, generator), np.full(800, -1.3), np.full(800, np.nan), skewed])
    table = as_arrow(GAUSSIAN_CHECKS, gaussian_columns(np.array([3, 5, 8, 9]), fits, residual)).to_pandas()
    assert table["household"].tolist() == [3, 3, 5, 5, 8, 8, 9, 9]
    assert table["p_value"].isna().tolist() == [False, False, True, True, True, True, False, False]
    innovations = table[table["series"] == "innovations"].set_index("household")
    assert innovations.loc[9, "p_value"] < 1e-9 < innovations.loc[3, "p_value"]
    assert innovations.loc[9, "skewness"] > 1
    rows = summary_rows(table)
    as_arrow(GAUSSIAN_SUMMARY, pd.DataFrame(rows))
    assert [(r["household_count"], r["untested_count"]) for r in rows] == [(4, 2), (4, 2)]
    assert rows[1]["rejected_share"] == 0.5


def test_a_summary_of_nobody_has_no_quartiles():
    columns = gaussian_columns(np.array([1]), [process("white")], np.full((1, 50), np.nan))
    rows = summary_rows(as_arrow(GAUSSIAN_CHECKS, columns).to_pandas())
    as_arrow(GAUSSIAN_SUMMARY, {name: [row[name] for row in rows] for name in rows[0]})
    assert all(row["rejected_share"] is None and row["untested_count"] == 1 for row in rows)


def draws():
    generator = np.random.default_rng(3)
    normal = generator.standard_normal(600)
    spells = normal * np.exp(0.8 * np.sin(np.arange(600) / 25))
    return {
        "normal": normal,
        "correlated": normal[1:] + 0.4 * normal[:-1],
        "heavy tails": generator.standard_t(4, 600),
        "skewed": generator.exponential(size=600),
        "spells": spells,
        "two values": np.where(normal > 0.3, 1.0, -0.6),
    }


@pytest.mark.parametrize("fitted", [0, 11])
@pytest.mark.parametrize("name", draws())
def test_oracles_are_statsmodels_and_scipy(name, fitted):
    e = draws()[name]
    tests = residual_tests(e, fitted)
    lags = fitted + SPARE_LAGS
    assert tests.ljung_box_p == pytest.approx(
        acorr_ljungbox(e, lags=[lags], model_df=fitted)["lb_pvalue"].iloc[0], rel=1e-8, abs=1e-300
    )
    assert tests.arch_p == pytest.approx(
        acorr_ljungbox(e**2, lags=[SPARE_LAGS])["lb_pvalue"].iloc[0], rel=1e-8, abs=1e-300
    )
    assert tests.skewness == pytest.approx(stats.skew(e))
    assert tests.excess_kurtosis == pytest.approx(stats.kurtosis(e))
    assert tests.jarque_bera_p == pytest.approx(stats.jarque_bera(e).pvalue, rel=1e-8, abs=1e-300)


def test_each_test_sees_what_it_is_for():
    """At p < 1e-6 where there is something, p > 1e-3 where there is not; seeded."""
    p = {name: residual_tests(e, 0) for name, e in draws().items()}
    assert min(p["normal"].ljung_box_p, p["normal"].jarque_bera_p, p["normal"].arch_p) > 1e-3
    assert p["correlated"].ljung_box_p < 1e-6
    assert max(p["heavy tails"].jarque_bera_p, p["skewed"].jarque_bera_p) < 1e-6
    assert p["spells"].arch_p < 1e-6


def test_gaps_leave_the_moments_to_the_rest():
    """Oracle: scipy on the readings that are there; correlations only of pairs that are there."""
    e = draws()["skewed"]
    gappy = np.full(2 * e.size, np.nan)
    gappy[::2] = e
    tests = residual_tests(gappy, 0)
    assert tests.skewness == pytest.approx(stats.skew(e))
    assert tests.jarque_bera_p == pytest.approx(stats.jarque_bera(e).pvalue, rel=1e-8)
    power = np.sum((e - e.mean()) ** 2)
    r = [np.sum((e - e.mean())[k:] * (e - e.mean())[: e.size - k]) / power for k in range(1, 6)]
    statistic = e.size * (e.size + 2) * sum(v**2 / (e.size - 2 * k) for k, v in enumerate(r, 1))
    assert tests.ljung_box_p == pytest.approx(stats.chi2.sf(statistic, SPARE_LAGS), rel=1e-8)


@pytest.mark.parametrize("e", [np.empty(0), np.full(50, np.nan), np.zeros(50), np.ones(50), np.arange(5.0)])
def test_nothing_to_say_is_nan(e):
    assert np.isnan(residual_tests(e, 2)).all()
