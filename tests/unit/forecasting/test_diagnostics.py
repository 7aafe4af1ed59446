"""Tests of the innovations of a fit; scipy and statsmodels are the oracles."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.diagnostic import acorr_ljungbox

from meterdp.forecasting.diagnostics import SPARE_LAGS, residual_tests


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
