"""Forecasts in kWh: their moments by simulation; intervals from past errors cover what they should."""

import itertools
from datetime import UTC, datetime

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import lognorm, norm

from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import as_arrow
from meterdp.errors import InputError
from meterdp.evaluation.forecast_errors import Released, interval_rows
from meterdp.evaluation.tables import FORECAST_INTERVALS
from meterdp.forecasting.energy import censored_crps, energy_columns
from meterdp.forecasting.rolling import FEWEST, ForecastSet, interval_offsets, past_errors
from meterdp.forecasting.tables import FORECASTS_KWH
from meterdp.profiles.grid import Calendar

H, N, K = 40, 25, 12
WIDE = LogScale(1e-9, 1e9)


def ends(forecasts, *levels):
    """Intervals of the Gaussian distribution."""
    mean, std = forecasts.forecast_log_kwh, forecasts.forecast_std_log_kwh
    return {
        level: np.stack([mean - norm.ppf(0.5 + level / 2) * std, mean + norm.ppf(0.5 + level / 2) * std])
        for level in levels
    }


def distribution_ends(mean, std, levels):
    reach = norm.ppf(0.5 + 0.5 * np.array(levels))[:, None] * std[:, None, :]
    return np.stack([mean[:, None] - reach, mean[:, None] + reach], axis=2)


@pytest.fixture
def forecasts():
    """Readings that follow the stated distribution, a tenth of them missing."""
    generator = np.random.default_rng(0)
    mean, std = generator.normal(-1, 1, (H, N, K)), generator.uniform(0.1, 1.0, (H, N, K))
    actual = mean + std * generator.standard_normal((H, N, K))
    actual[generator.random((H, N, K)) < 0.1] = np.nan
    return ForecastSet(np.arange(H), mean, mean, mean, actual, std)


def test_median_mean_and_ends_are_those_of_a_log_normal_distribution():
    """Oracle: scipy.stats.lognorm; the bounds are far away."""
    calendar = Calendar(datetime(2025, 1, 6, tzinfo=UTC), 24, 60, "UTC")
    mean, std = np.array([[0.3, -2.0]]), np.array([[0.5, 1.1]])
    columns = energy_columns(
        np.array([7]), mean, std, distribution_ends(mean, std, [0.5, 0.9]), calendar, 3, [0.5, 0.9], WIDE
    )
    table = as_arrow(FORECASTS_KWH, columns).to_pandas()
    assert table["household"].tolist() == [7] * 4 and table["step"].tolist() == [1, 1, 2, 2]
    for row in table.itertuples():
        distribution = lognorm(std[0, row.step - 1], scale=np.exp(mean[0, row.step - 1]))
        assert row.median_kwh == pytest.approx(distribution.median())
        assert row.mean_kwh == pytest.approx(distribution.mean())
        assert (row.lower_kwh, row.upper_kwh) == pytest.approx(distribution.interval(row.level))
    assert table["interval_start_local"][2] == "2025-01-06T04:00:00+00:00"


def test_everything_in_kwh_stays_within_the_public_bounds():
    calendar = Calendar(datetime(2025, 1, 6, tzinfo=UTC), 24, 60, "UTC")
    mean, std = np.array([[-9.0], [0.0], [9.0]]), np.array([[2.0], [30.0], [0.0]])
    columns = energy_columns(
        np.arange(3), mean, std, distribution_ends(mean, std, [0.9]), calendar, 0, [0.9], LogScale(0.1, 5.0)
    )
    for name in ("median_kwh", "mean_kwh", "lower_kwh", "upper_kwh"):
        assert np.all((columns[name] >= 0.1) & (columns[name] <= 5.0))
    assert columns["median_kwh"].tolist() == pytest.approx([0.1, 1.0, 5.0])


def test_intervals_cover_what_they_should(forecasts):
    """Coverage of about 10,800 independent readings within 6.5 standard errors: false alarm below 1e-10 each."""
    rows = interval_rows(forecasts, ends(forecasts, 0.5, 0.9), WIDE)
    as_arrow(FORECAST_INTERVALS, {name: [row[name] for row in rows] for name in rows[0]})
    readings = np.isfinite(forecasts.actual_log_kwh).sum()
    for row in rows:
        assert abs(row["coverage"] - row["level"]) < 6.5 * np.sqrt(row["level"] * (1 - row["level"]) / readings)
        assert (row["household_count"], row["origin_count"]) == (H, N)
    assert [(r["interval"], r["level"]) for r in rows] == [(i, v) for v in (0.5, 0.9) for i in ("calibrated", "law")]
    assert rows[2]["mean_width_kwh"] > rows[0]["mean_width_kwh"] > 0
    assert rows[0]["coverage"] == rows[1]["coverage"], "the ends given are those of the distribution"


def test_calibrated_intervals_may_be_lopsided(forecasts):
    """Oracle: counting."""
    mean = forecasts.forecast_log_kwh
    lopsided = {0.8: np.stack([mean - 0.1, mean + 0.9])}
    row, _ = interval_rows(forecasts, lopsided, WIDE)
    inside = (forecasts.actual_log_kwh >= mean - 0.1) & (forecasts.actual_log_kwh <= mean + 0.9)
    seen = np.isfinite(forecasts.actual_log_kwh)
    assert row["coverage"] == pytest.approx(np.mean([inside[h][seen[h]].mean() for h in range(H)]))


def test_the_interval_of_a_release_counts_the_noise(forecasts):
    """Oracle: 4,000 draws of the noise about moved forecasts; coverage and width within 7 standard errors, seeded."""
    generator = np.random.default_rng(1)
    moved = forecasts.forecast_log_kwh[:3] + 0.4
    few = ForecastSet(*(value[:3] for value in vars(forecasts).values()))
    noise = generator.uniform(0.1, 0.8, (3, 1, K))
    bounds = (0.05, 3.0)
    row, distribution = interval_rows(
        few, ends(few, 0.9), LogScale(*bounds), Released("joint", "deterministic", 1.0, moved, noise)
    )
    assert distribution["coverage"] == pytest.approx(row["coverage"], abs=1e-12)
    seen = np.isfinite(few.actual_log_kwh)
    reach = 1.6448536269514722 * np.sqrt(few.forecast_std_log_kwh**2 + noise**2)
    covered, width = np.empty((2, 4000))
    for n in range(4000):
        centre = moved + noise * generator.standard_normal(moved.shape)
        inside = np.abs(few.actual_log_kwh - centre) <= reach
        wide = np.clip(np.exp(centre + reach), *bounds) - np.clip(np.exp(centre - reach), *bounds)
        covered[n], width[n] = (
            np.mean([v[h][seen[h]].mean() for h in range(3)]) for v in (inside.astype(float), wide)
        )
    assert row["coverage"] == pytest.approx(covered.mean(), abs=7 * covered.std() / np.sqrt(4000))
    assert row["mean_width_kwh"] == pytest.approx(width.mean(), abs=7 * width.std() / np.sqrt(4000))
    assert (row["method"], row["design"], row["query_model"]) == ("released", "joint", "deterministic")


def test_a_distribution_without_spread_covers_the_reading_it_equals():
    level = np.full((1, 2, 3), -2.0)
    constant = ForecastSet(np.array([0]), level, level, level, level.copy(), np.zeros((1, 2, 3)))
    for row in interval_rows(constant, ends(constant, 0.5), WIDE):
        assert (row["coverage"], row["mean_width_kwh"]) == (1.0, 0.0)


def test_without_a_held_out_reading_there_is_one_sentence(forecasts):
    nothing = ForecastSet(**{**vars(forecasts), "actual_log_kwh": np.full((H, N, K), np.nan)})
    with pytest.raises(InputError, match="no held-out reading"):
        interval_rows(nothing, ends(nothing, 0.5), WIDE)


def test_errors_at_or_after_the_origin_are_not_known():
    readings = np.arange(10.0)
    readings[4] = np.nan
    errors = past_errors(np.zeros((10, 3)), readings)
    for start in range(10):
        for step in range(3):
            known = start + step < 10 and start + step != 4
            assert errors[start, step] == start + step if known else np.isnan(errors[start, step])


def test_few_errors_leave_the_gaussian_distribution():
    errors = np.random.default_rng(0).normal(size=(200, 2))
    errors[: 200 - FEWEST + 1, 1] = np.nan
    offsets = interval_offsets(errors, np.array([7.0, 7.0]), [0.5, 0.9])
    assert offsets.shape == (2, 2, 2)
    assert np.allclose(offsets[:, 1, 1], 7 * norm.ppf([0.75, 0.95])) and (np.abs(offsets[:, :, 0]) < 2).all()


@pytest.mark.parametrize("distribution", ["skewed", "spiky", "switched", "constant"])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_a_new_error_is_covered_as_often_as_stated(distribution, level):
    """Exchangeable errors: coverage is the level up to 1/(n + 1) on each side and chance, 4,000 trials, seeded."""
    generator = np.random.default_rng(5)
    draw = {
        "skewed": lambda n: generator.lognormal(0, 1, n),
        "spiky": lambda n: generator.standard_t(1.5, n),
        "switched": lambda n: np.where(generator.random(n) < 0.2, 4.0, -0.1) + 1e-6 * generator.random(n),
        "constant": lambda n: np.full(n, 2.0),
    }[distribution]
    inside, gauss, trials, n = 0, 0, 4000, 96
    reach_of_distribution = norm.ppf(0.5 + level / 2)
    for _ in range(trials):
        sample = draw(n + 1)
        low, high = interval_offsets(sample[:n, None], np.array([sample[:n].std()]), [level])[0, :, 0]
        inside += low <= sample[n] <= high
        gauss += abs(sample[n]) <= reach_of_distribution * sample[:n].std()
    reach = 5 * np.sqrt(level * (1 - level) / trials) + 2 / (n + 1)
    if distribution == "constant":
        assert inside == trials
    else:
        assert abs(inside / trials - level) < reach
        assert (distribution, level) != ("skewed", 0.5) or abs(gauss / trials - level) > reach, "the check can fail"


@pytest.mark.parametrize("std", [0.01, 0.5, 1.2, 4.0])
@pytest.mark.parametrize("median", [-9.0, -1.0, 1.0, 2.5])
@pytest.mark.parametrize("scale", [LogScale(0.0025, 5.0), LogScale(0.0, 5.0, 0.01), LogScale(-3.0, 5.0, 0.0, 0.1)])
def test_the_ranked_probability_score_is_its_integral(scale, median, std):
    """Oracle: the integral of (F - 1{x >= y})^2 by adaptive quadrature."""
    low, high = scale.bounds_log_kwh
    bends = median + std * np.arange(-8.0, 9.0, 0.5)

    def integral(side, begin, end):
        def inside(z):
            return side((z - median) / std) ** 2 * (np.exp(z) + scale.scale_kwh**2 * np.exp(-z))

        cuts = [begin, *bends[(bends > begin) & (bends < end)], end]
        return sum(quad(inside, a, b, epsabs=1e-14)[0] for a, b in itertools.pairwise(cuts))

    for target in (0.01, 0.4, 4.9):
        y = float(scale.log(target))
        score = integral(norm.cdf, low, y) + integral(norm.sf, y, high)
        found = censored_crps(np.array(median), np.array(std), np.array(target), scale)
        assert found == pytest.approx(score, rel=1e-9, abs=1e-12)


def test_the_ranked_probability_score_of_a_certain_forecast_is_its_error():
    found = censored_crps(np.array([-1.0]), np.array([0.0]), np.array([0.4]), LogScale(0.0025, 5.0))
    assert found == pytest.approx(abs(np.exp(-1) - 0.4))
