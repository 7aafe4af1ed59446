"""Forecasts in kWh: their moments by simulation; intervals from past errors cover what they should."""

import itertools
from datetime import UTC, datetime

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import lognorm, norm

from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import as_arrow
from meterdp.forecasting.energy import censored_crps, energy_columns
from meterdp.forecasting.rolling import FEWEST, interval_offsets, past_errors
from meterdp.forecasting.tables import FORECASTS_KWH
from meterdp.profiles.grid import Calendar

H, N, K = 40, 25, 12
WIDE = LogScale(1e-9, 1e9)


def distribution_ends(mean, std, levels):
    reach = norm.ppf(0.5 + 0.5 * np.array(levels))[:, None] * std[:, None, :]
    return np.stack([mean[:, None] - reach, mean[:, None] + reach], axis=2)


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
