"""Rolling origins: where they lie, what a forecast may know, what holds it, and that the tables keep everything.

On real homes the chain ends in admissible fits and the forecast beats both naive ones.
"""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from meterdp.core.parquet import as_arrow
from meterdp.errors import InputError
from meterdp.forecasting.arma import STATUS_MEANING, ArmaSettings, fit_households, summary_columns
from meterdp.forecasting.distribution import forecast_covariance, forecast_means, forecast_std, query_covariance
from meterdp.forecasting.plausible import (
    DRIFT_FACTOR,
    HELD_SHARE,
    MARKS,
    innovation_ratio,
    mark_rows,
    marks,
    plausible_bounds,
)
from meterdp.forecasting.rolling import (
    Rolling,
    TrainingWindow,
    distribution_columns,
    forecast_columns,
    forecast_set,
    roll,
    rolling_origins,
    training_windows,
)
from meterdp.forecasting.select import choose_households
from meterdp.forecasting.state_space import largest_pole
from meterdp.forecasting.study import window_fit_columns
from meterdp.forecasting.tables import (
    ARMA_FITS,
    ARMA_SUMMARY,
    FORECAST_DISTRIBUTIONS,
    FORECAST_MARKS_SUMMARY,
    FORECASTS,
)
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar
from tests.unit.forecasting.processes import process, simulate, with_gaps

TRAIN, TOTAL, HORIZON, WEEK = 300, 420, 4, 168
CALENDAR = Calendar(datetime(2024, 3, 1, tzinfo=UTC), TOTAL, 60, "UTC")
ORIGINS = rolling_origins(TRAIN, TOTAL, HORIZON, 20)


def rolling(origins=ORIGINS, limit=None, levels=(0.5, 0.9)):
    window = TrainingWindow(slice(0, TRAIN), np.arange(len(origins)))
    return Rolling([window], origins, HORIZON, limit, 120, tuple(levels))


@pytest.fixture
def study():
    """Three households, one of them without a reading."""
    generator = np.random.default_rng(0)
    fits = [process("ar1"), process("arma21"), process("white")]
    season = np.resize(generator.standard_normal(WEEK), TOTAL)
    log_kwh = np.stack([season + simulate(fit, TOTAL, generator) for fit in fits])
    log_kwh[1] = with_gaps(log_kwh[1], 0.2, generator)
    log_kwh[2] = np.nan
    return LogLoad(np.array([4, 7, 9], np.int32), log_kwh, np.tile(season, (3, 1)), CALENDAR), fits


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
    load, fits = study
    log_kwh, season = load.log_kwh, load.seasonal_log_kwh
    rolled = roll(load, [fits], rolling()).forecasts
    for row, fit in enumerate(fits):
        for column, origin in enumerate(ORIGINS):
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


def test_the_forecast_table_keeps_everything(study):
    load, fits = study
    rolled = roll(load, [fits], rolling()).forecasts
    table = as_arrow(FORECASTS, forecast_columns(rolled, ORIGINS, CALENDAR.start_utc))
    assert table.num_rows == 3 * 20 * HORIZON
    back = forecast_set(table.take(np.random.default_rng(1).permutation(table.num_rows)))
    for name in vars(rolled):
        assert np.array_equal(getattr(back, name), getattr(rolled, name), equal_nan=True)
    first = table.slice(0, HORIZON)
    assert [t.replace(tzinfo=None) for t in first["interval_start_utc"].to_pylist()] == list(
        CALENDAR.start_utc[TRAIN : TRAIN + HORIZON].tolist()
    )


def test_the_distribution_is_that_of_the_origin_given_the_gaps_before_it(study):
    load, fits = study
    log_kwh, season = load.log_kwh, load.seasonal_log_kwh
    origin = TOTAL - HORIZON
    table = as_arrow(FORECAST_DISTRIBUTIONS, distribution_columns(load, fits, origin, HORIZON, None))
    assert table["household"].to_pylist() == [4, 7, 9]
    covariance = np.array(table["covariance"].to_pylist()).reshape(3, HORIZON, HORIZON)
    rolled = roll(load, [fits], rolling(np.array([origin]))).forecasts
    assert np.allclose(np.array(table["mean_log_kwh"].to_pylist()), rolled.forecast_log_kwh[:, 0])
    for row, fit in enumerate(fits):
        past = (log_kwh - season)[row, :origin]
        assert np.allclose(covariance[row], forecast_covariance(fit, HORIZON, past))
        assert np.allclose(table["query_covariance"][row].as_py(), query_covariance(fit, HORIZON, past).ravel())
        assert np.allclose(table["query_mean_log_kwh"][row].as_py(), fit.mean + season[row, origin:])


def test_a_forecast_is_held_within_the_late_readings_and_the_distribution_says_so(study):
    load, fits = study
    season = load.seasonal_log_kwh.copy()
    season[0, ORIGINS[-1] :] += 30.0
    absurd = LogLoad(load.household, load.log_kwh, season, CALENDAR)
    rolled = roll(absurd, [fits], rolling(limit=48))
    past = load.log_kwh[0, ORIGINS[-1] - 48 : ORIGINS[-1]]
    assert np.allclose(rolled.forecasts.forecast_log_kwh[0, -1], past.max()) and rolled.held[0, -1].all()
    assert not rolled.held[2].any(), "without readings there is no bound"
    distribution = distribution_columns(absurd, fits, int(ORIGINS[-1]), HORIZON, 48)
    assert np.array_equal(distribution["mean_log_kwh"][0], rolled.forecasts.forecast_log_kwh[0, -1])
    assert np.allclose(distribution["query_mean_log_kwh"][0], fits[0].mean + season[0, ORIGINS[-1] :])
    for row in (0, 1):
        for place, origin in enumerate(ORIGINS):
            late = load.log_kwh[row, origin - 48 : origin]
            ahead = rolled.forecasts.forecast_log_kwh[row, place]
            assert (np.nanmin(late) <= ahead).all() and (ahead <= np.nanmax(late)).all()


def test_intervals_are_quantiles_of_past_errors_of_the_same_step(study):
    """Oracle: every past forecast made on its own, and numpy's quantile of what it missed by."""
    load, fits = study
    rolled = roll(load, [fits], rolling())
    for row, place in ((0, 7), (1, 19)):
        origin, residual = ORIGINS[place], load.residual_log_kwh[row]
        errors = [[] for _ in range(HORIZON)]
        for past in range(origin - 120, origin):
            means = forecast_means(fits[row], residual, np.array([past]), HORIZON)[0]
            for step in range(HORIZON):
                if past + step < origin and np.isfinite(residual[past + step]):
                    errors[step].append(residual[past + step] - means[step])
        for step in range(HORIZON):
            for number, level in enumerate((0.5, 0.9)):
                oracle = np.quantile(errors[step], [0.5 - level / 2, 0.5 + level / 2], method="weibull")
                own = rolled.interval_log_kwh[row, place, number, :, step]
                assert np.allclose(own - rolled.forecasts.forecast_log_kwh[row, place, step], oracle)


def test_windows_follow_the_origins():
    """Every origin is at most ``refit_days`` behind the end of the window that serves it."""
    calendar = Calendar(datetime(2024, 3, 1, tzinfo=UTC), 24 * 60, 60, "UTC")
    origins = rolling_origins(24 * 15, calendar.slot_count, HORIZON, 24)
    windows = training_windows(calendar, 15, 7, origins)
    assert np.concatenate([w.origins for w in windows]).tolist() == list(range(24))
    for window in windows:
        late = origins[window.origins] - window.slots.stop
        assert (late >= 0).all() and (late < 7 * 24).all() and window.slots.stop - window.slots.start == 15 * 24
    (only,) = training_windows(calendar, 15, None, origins)
    assert only.slots == calendar.window(15) and only.origins.size == 24


def test_coefficients_come_from_the_window_that_serves_the_origin(study):
    load, fits = study
    windows = [TrainingWindow(slice(0, TRAIN), np.arange(8)), TrainingWindow(slice(50, 350), np.arange(8, 20))]
    both = Rolling(windows, ORIGINS, HORIZON, None, 120)
    mixed = roll(load, [fits, fits[::-1]], both).forecasts.forecast_log_kwh
    one, other = (roll(load, [f, f], both).forecasts.forecast_log_kwh for f in (fits, fits[::-1]))
    assert np.array_equal(mixed[:, :8], one[:, :8]) and np.array_equal(mixed[:, 8:], other[:, 8:])
    assert not np.array_equal(one[0], other[0])


def test_fits_survive_their_table():
    generator = np.random.default_rng(5)
    residual = np.stack([simulate(process("arma21"), 300, generator), np.full(300, -2.0), np.full(300, np.nan)])
    fits = fit_households(residual, ArmaSettings(order=(2, 1)))
    table = as_arrow(ARMA_FITS, window_fit_columns(np.array([1, 2, 3]), [fits, fits[::-1]]))
    assert table["status"].to_pylist() == ["arma", "white", "white", "white", "white", "arma"]
    for fit, row in zip([*fits, *fits[::-1]], table.to_pylist(), strict=True):
        for name, value in vars(fit).items():
            written = row["mean_log_kwh" if name == "mean" else name]
            if isinstance(value, str):
                assert value == written
            else:
                assert np.array_equal(np.asarray(value, float), np.asarray(written, float), equal_nan=True)
    summary = as_arrow(
        ARMA_SUMMARY, summary_columns(table["status"].to_pylist(), table["window"].to_pylist())
    ).to_pylist()
    assert sum(row["fit_count"] for row in summary) == 6
    assert {row["status"]: row["household_count"] for row in summary} == {
        status: {"arma": 1, "white": 2}.get(status, 0) for status in STATUS_MEANING
    }


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 5, 8, 50])
def test_bounds_are_those_of_the_readings_before_the_origin(slots):
    """Oracle: a loop."""
    generator = np.random.default_rng(slots)
    x = generator.normal(size=(3, 20))
    x[generator.random(x.shape) < 0.3] = np.nan
    low, high = plausible_bounds(x, slots)
    assert low.shape == high.shape == (3, 21)
    for origin in range(21):
        for row in range(3):
            late = x[row, max(0, origin - slots) : origin]
            late = late[np.isfinite(late)]
            wanted = (late.min(), late.max()) if late.size else (-np.inf, np.inf)
            assert (low[row, origin], high[row, origin]) == wanted


def test_drift_of_the_innovations_is_a_mark():
    """Oracle: the factor the noise was multiplied with."""
    generator = np.random.default_rng(9)
    fit, size, end = process("ar1"), 2400, 1200
    rows = np.stack([simulate(fit, size, generator) for _ in range(4)])
    rows[1, end:] = simulate(fit, size - end, generator) * 3.0
    rows[2, end:] = simulate(fit, size - end, generator) * 0.3
    rows[3, end + 50 :] = np.nan
    ratio = innovation_ratio([fit] * 4, rows, end, size)
    assert ratio[0] == pytest.approx(1, abs=0.2) and ratio[1] == pytest.approx(9, rel=0.2)
    assert ratio[2] == pytest.approx(0.09, rel=0.5) and np.isnan(ratio[3])
    found = marks(np.array([0.0, 2 * HELD_SHARE, 0.0, 2 * HELD_SHARE]), ratio)
    assert found == ["as_trained", "drift_held", "drift", "held"]
    assert DRIFT_FACTOR < 9
    summary = as_arrow(FORECAST_MARKS_SUMMARY, {k: [r[k] for r in mark_rows(found)] for k in mark_rows(found)[0]})
    assert summary["household_count"].to_pylist() == [1, 1, 1, 1] and summary["mark"].to_pylist() == list(MARKS)


FIFTEEN_DAYS, SLOTS_A_WEEK, STEPS, HOMES = 1440, 672, 12, 12


@pytest.fixture(scope="module")
def homes(shared_data):
    """Twelve homes by the fixed order: log load of three weeks and the weekly mean of the training window."""
    readings = pd.read_parquet(shared_data / "ch_bamberg_15min" / "elcons_15min_long.parquet")
    wide = readings.pivot_table(index="vid", columns=["week", "slot"], values="kwh").to_numpy()[
        :, : 3 * SLOTS_A_WEEK + SLOTS_A_WEEK
    ]
    wide = wide[(wide > 0).mean(axis=1) > 0.9]
    log_kwh = np.log(np.maximum(wide[choose_households(np.arange(len(wide)), HOMES)], 1e-3))
    slot = np.arange(log_kwh.shape[1]) % SLOTS_A_WEEK
    means = np.stack(
        [log_kwh[:, :FIFTEEN_DAYS][:, slot[:FIFTEEN_DAYS] == s].mean(axis=1) for s in range(SLOTS_A_WEEK)], axis=1
    )
    return log_kwh, means[:, slot]


def test_forecasts_of_real_homes_beat_the_naive_ones(homes):
    log_kwh, season = homes
    fits = fit_households((log_kwh - season)[:, :FIFTEEN_DAYS], ArmaSettings(iteration_limit=30))
    assert all(fit.status.startswith("arma") for fit in fits)
    assert all(max(largest_pole(fit.ar), largest_pole(-fit.ma)) < 1 for fit in fits)
    calendar = Calendar(datetime(2018, 10, 29, tzinfo=UTC), log_kwh.shape[1], 15, "UTC")
    origins = rolling_origins(FIFTEEN_DAYS, log_kwh.shape[1], STEPS, 40)
    rolling = Rolling(training_windows(calendar, 15, None, origins), origins, STEPS, None, 0)
    rolled = roll(LogLoad(np.arange(HOMES), log_kwh, season, calendar), [fits], rolling).forecasts
    slots = origins[:, None] + np.arange(STEPS)
    naive = (log_kwh[:, slots - SLOTS_A_WEEK], np.repeat(log_kwh[:, origins - 1, None], STEPS, axis=2))
    own, *others = (((f - log_kwh[:, slots]) ** 2).mean() for f in (rolled.forecast_log_kwh, *naive))
    assert own < min(others)
