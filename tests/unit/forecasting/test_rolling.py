"""Rolling origins: where they lie, what a forecast may know, and that the tables keep everything."""

import numpy as np
import pytest

from meterdp.core.errors import InputError
from meterdp.core.parquet import as_arrow
from meterdp.forecasting.arma import STATUS_MEANING, ArmaSettings
from meterdp.forecasting.bulk import fit_columns, fit_households, fits_of, summary_columns
from meterdp.forecasting.law import forecast_covariance, forecast_means, forecast_std, query_covariance
from meterdp.forecasting.rolling import forecast_columns, forecast_set, law_columns, roll, rolling_origins
from meterdp.forecasting.tables import ARMA_FITS, ARMA_SUMMARY, FORECAST_LAWS, FORECASTS
from tests.unit.forecasting.processes import process, simulate, with_gaps

TRAIN, TOTAL, HORIZON, WEEK = 300, 420, 4, 70
STAMPS = np.datetime64("2024-03-01T00:00", "us") + np.arange(TOTAL) * np.timedelta64(15, "m")
LAST_WEEK = np.maximum(np.arange(TOTAL) - WEEK, -1)


@pytest.fixture
def study():
    """Three households, one of them without a reading."""
    generator = np.random.default_rng(0)
    fits = [process("ar1"), process("arma21"), process("white")]
    season = np.tile(generator.standard_normal(WEEK), TOTAL // WEEK)
    log_kwh = np.stack([season + simulate(fit, TOTAL, generator) for fit in fits])
    log_kwh[1] = with_gaps(log_kwh[1], 0.2, generator)
    log_kwh[2] = np.nan
    return np.array([4, 7, 9]), fits, log_kwh, np.tile(season, (3, 1))


@pytest.mark.parametrize("count", [1, 2, 20, 117])
def test_origins_spread_over_the_held_out_part(count):
    origins = rolling_origins(TRAIN, TOTAL, HORIZON, count)
    assert origins.size == count == np.unique(origins).size
    assert origins[-1] == TOTAL - HORIZON
    if count > 1:
        assert origins[0] == TRAIN
        assert np.ptp(np.diff(origins)) <= 1


def test_no_room_for_the_origins_is_one_sentence():
    with pytest.raises(InputError, match="rolling origins"):
        rolling_origins(TRAIN, TOTAL, HORIZON, 118)


def test_a_forecast_is_the_conditional_mean_plus_season(study):
    household, fits, log_kwh, season = study
    origins = rolling_origins(TRAIN, TOTAL, HORIZON, 20)
    rolled = roll(household, fits, log_kwh, season, origins, HORIZON, LAST_WEEK)
    for row, fit in enumerate(fits):
        for column, origin in enumerate(origins):
            past = (log_kwh - season)[row, :origin]
            oracle = (
                forecast_means(fit, past, np.array([origin]), HORIZON)[0] + season[row, origin : origin + HORIZON]
            )
            assert np.allclose(rolled.forecast_log_kwh[row, column], oracle)
            spread = forecast_std(fit, past, np.array([origin]), HORIZON)[0]
            assert np.allclose(rolled.forecast_std_log_kwh[row, column], spread)
            assert np.array_equal(
                rolled.actual_log_kwh[row, column], log_kwh[row, origin : origin + HORIZON], equal_nan=True
            )


def test_naive_forecasts_know_only_the_past(study):
    household, fits, log_kwh, season = study
    origins = rolling_origins(TRAIN, TOTAL, HORIZON, 20)
    rolled = roll(household, fits, log_kwh, season, origins, HORIZON, LAST_WEEK)
    for column, origin in enumerate(origins):
        before = log_kwh[1, :origin]
        assert np.all(rolled.last_value_log_kwh[1, column] == before[np.isfinite(before)][-1])
        assert np.array_equal(
            rolled.last_week_log_kwh[1, column], log_kwh[1, origin - WEEK : origin - WEEK + HORIZON], equal_nan=True
        )
    assert np.isnan(rolled.last_value_log_kwh[2]).all()


def test_a_last_week_slot_that_is_missing_or_in_the_future_gives_no_forecast(study):
    household, fits, log_kwh, season = study
    origins = np.array([TRAIN])
    slots = np.full(TOTAL, -1)
    slots[TRAIN + 1] = TRAIN  # a clock change cannot make a reading known early
    slots[TRAIN + 2] = TRAIN - 1
    rolled = roll(household, fits, log_kwh, season, origins, HORIZON, slots)
    assert np.array_equal(np.isnan(rolled.last_week_log_kwh[0, 0]), [True, True, False, True])
    assert rolled.last_week_log_kwh[0, 0, 2] == log_kwh[0, TRAIN - 1]


def test_the_forecast_table_keeps_everything(study):
    household, fits, log_kwh, season = study
    origins = rolling_origins(TRAIN, TOTAL, HORIZON, 20)
    rolled = roll(household, fits, log_kwh, season, origins, HORIZON, LAST_WEEK)
    table = as_arrow(FORECASTS, forecast_columns(rolled, origins, STAMPS))
    assert table.num_rows == 3 * 20 * HORIZON
    assert table["last_value_log_kwh"].null_count == 20 * HORIZON
    back = forecast_set(table.take(np.random.default_rng(1).permutation(table.num_rows)))
    for name in vars(rolled):
        assert np.array_equal(getattr(back, name), getattr(rolled, name), equal_nan=True)
    first = table.slice(0, HORIZON)
    assert [t.replace(tzinfo=None) for t in first["interval_start_utc"].to_pylist()] == list(
        STAMPS[TRAIN : TRAIN + HORIZON].tolist()
    )


def test_the_law_is_that_of_the_origin_given_the_gaps_before_it(study):
    household, fits, log_kwh, season = study
    origin = TOTAL - HORIZON
    table = as_arrow(FORECAST_LAWS, law_columns(household, fits, log_kwh, season, origin, HORIZON, STAMPS[origin]))
    assert table["household"].to_pylist() == [4, 7, 9]
    covariance = np.array(table["covariance"].to_pylist()).reshape(3, HORIZON, HORIZON)
    rolled = roll(household, fits, log_kwh, season, np.array([origin]), HORIZON, LAST_WEEK)
    assert np.allclose(np.array(table["mean_log_kwh"].to_pylist()), rolled.forecast_log_kwh[:, 0])
    for row, fit in enumerate(fits):
        past = (log_kwh - season)[row, :origin]
        assert np.allclose(covariance[row], forecast_covariance(fit, HORIZON, past))
        assert np.allclose(table["query_covariance"][row].as_py(), query_covariance(fit, HORIZON, past).ravel())
        assert np.allclose(table["query_mean_log_kwh"][row].as_py(), fit.mean + season[row, origin:])


def test_fits_survive_their_table():
    generator = np.random.default_rng(5)
    residual = np.stack([simulate(process("arma21"), 300, generator), np.full(300, -2.0), np.full(300, np.nan)])
    fits = fit_households(residual, ArmaSettings(order=(2, 1)))
    table = as_arrow(ARMA_FITS, fit_columns(np.array([1, 2, 3]), fits))
    back = fits_of(table)
    assert [fit.status for fit in back] == ["arma", "white", "white"]
    for one, other in zip(fits, back, strict=True):
        assert all(
            np.array_equal(a, b, equal_nan=True)
            for a, b in zip(list(vars(one).values())[1:], list(vars(other).values())[1:], strict=True)
        )
    summary = as_arrow(ARMA_SUMMARY, summary_columns(table["status"].to_pylist())).to_pylist()
    assert {row["status"]: row["household_count"] for row in summary} == {
        status: {"arma": 1, "white": 2}.get(status, 0) for status in STATUS_MEANING
    }
