"""Errors by their definitions, written out as loops, and the expected error of a released forecast by simulation."""

from dataclasses import replace

import numpy as np
import pytest

from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import as_arrow
from meterdp.errors import InputError
from meterdp.evaluation.forecast_errors import Released, forecast_errors, released_errors
from meterdp.evaluation.tables import FORECAST_ERRORS
from meterdp.forecasting.rolling import METHODS, ForecastSet

H, N, K = 5, 20, 3


@pytest.fixture
def forecasts():
    generator = np.random.default_rng(0)
    actual = generator.normal(-1, 1, (H, N, K))
    arrays = {
        name: actual + generator.normal(0, s, (H, N, K))
        for name, s in zip(METHODS.values(), (0.3, 1, 2), strict=True)
    }
    actual[generator.random((H, N, K)) < 0.1] = np.nan
    arrays["last_week_log_kwh"][generator.random((H, N, K)) < 0.1] = np.nan
    actual[4] = np.nan  # a household that cannot be judged
    return ForecastSet(np.arange(H), actual_log_kwh=actual, **arrays)


def by_definition(forecasts, predicted, transform):
    """nmse per household and relative_mse, one cell at a time over the cells every method covers."""
    nmse, errors, deviations, cells = [], 0.0, 0.0, 0
    for h in range(H):
        pairs = [
            (transform(predicted[h, n, k]), transform(forecasts.actual_log_kwh[h, n, k]))
            for n in range(N)
            for k in range(K)
            if np.isfinite(forecasts.actual_log_kwh[h, n, k]) and np.isfinite(forecasts.last_week_log_kwh[h, n, k])
        ]
        if not pairs:
            continue
        mean = sum(y for _, y in pairs) / len(pairs)
        error = sum((f - y) ** 2 for f, y in pairs)
        nmse.append(error / sum(y**2 for _, y in pairs))
        errors, deviations, cells = (
            errors + error,
            deviations + sum((y - mean) ** 2 for _, y in pairs),
            cells + len(pairs),
        )
    return np.array(nmse), errors / deviations, errors / cells


@pytest.mark.parametrize("scale", ["log_kwh", "kwh"])
@pytest.mark.parametrize("method", METHODS)
def test_errors_are_their_definitions(forecasts, method, scale):
    transform = float if scale == "log_kwh" else np.exp
    nmse, relative, mse = by_definition(forecasts, getattr(forecasts, METHODS[method]), transform)
    (row,) = [r for r in forecast_errors(forecasts) if r["method"] == method and r["scale"] == scale]
    assert row["nmse"] == pytest.approx(nmse.mean())
    assert row["nmse_se"] == pytest.approx(nmse.std(ddof=1) / 2)
    assert row["relative_mse"] == pytest.approx(relative)
    assert row["mse"] == pytest.approx(mse)
    assert (row["household_count"], row["origin_count"]) == (4, N)


BOUNDS = (0.3, 2.0)  # narrow: a good part of the released values is clipped
WIDE = LogScale(1e-6, 1e6)


def test_a_released_forecast_has_the_expected_error_of_a_draw(forecasts):
    """Oracle: 40,000 draws of the noise; the largest of two relative errors stays below 2 % (seeded)."""
    generator = np.random.default_rng(1)
    variance = generator.uniform(0.02, 0.2, (H, K))
    draws = generator.standard_normal((40_000, H, 1, K)) * np.sqrt(variance)[None, :, None, :]
    common = np.isfinite(forecasts.actual_log_kwh) & np.isfinite(forecasts.last_week_log_kwh)
    moved = forecasts.forecast_log_kwh + generator.normal(0, 0.3, (H, N, K))
    made = Released("white", "deterministic", 0.3, moved, np.sqrt(variance)[:, None, :])
    released = {row["scale"]: row["mse"] for row in released_errors(forecasts, made, LogScale(*BOUNDS))}
    sums = {"log_kwh": 0.0, "kwh": 0.0}
    for draw in draws.reshape(400, 100, H, 1, K):
        log_error = (moved + draw - forecasts.actual_log_kwh)[:, common]
        error = (np.clip(np.exp(moved + draw), *BOUNDS) - np.exp(forecasts.actual_log_kwh))[:, common]
        sums["log_kwh"] += np.mean(log_error**2) / 400
        sums["kwh"] += np.mean(error**2) / 400
    for scale, value in sums.items():
        assert released[scale] == pytest.approx(value, rel=0.02)


def test_sums_of_released_forecasts_are_those_of_drawn_noise(forecasts):
    """Oracle: 4,000 draws, seeded, within 6 standard errors; the study's own by the mean of its distribution."""
    generator, scale = np.random.default_rng(2), LogScale(*BOUNDS)
    std = np.full((H, N, K), 0.5)
    judged = replace(forecasts, forecast_std_log_kwh=std)
    seen = np.isfinite(judged.actual_log_kwh) & np.isfinite(judged.last_week_log_kwh)
    truth = np.where(seen, np.exp(judged.actual_log_kwh), 0.0).sum(axis=0)[seen.any(axis=0)]
    noisy = judged.forecast_log_kwh + std * generator.standard_normal((4000, H, N, K))
    sums = np.where(seen, np.clip(np.exp(noisy), *BOUNDS), 0.0).sum(axis=1)[:, seen.any(axis=0)]
    bias, square = (sums - truth).mean(axis=1), ((sums - truth) ** 2).mean(axis=1)
    made = Released("white", "deterministic", 0.3, judged.forecast_log_kwh, std)
    own, released = (rows[-1] for rows in (forecast_errors(judged, scale)[:2], released_errors(judged, made, scale)))
    assert released["sum_kwh"] == pytest.approx(truth.mean())
    assert released["sum_bias_kwh"] == pytest.approx(bias.mean(), abs=6 * bias.std() / np.sqrt(4000))
    assert released["sum_rmse_kwh"] ** 2 == pytest.approx(square.mean(), abs=6 * square.std() / np.sqrt(4000))
    # The noise is drawn from the distribution the study's own mean is of; what it adds to the error is not in it.
    assert own["sum_bias_kwh"] == pytest.approx(released["sum_bias_kwh"])
    assert own["sum_rmse_kwh"] < released["sum_rmse_kwh"]


def without_noise(forecasts):
    return Released("none", "deterministic", 0.0, forecasts.forecast_log_kwh, np.zeros((H, 1, K)))


def test_without_noise_a_released_forecast_is_the_forecast(forecasts):
    plain = [r for r in forecast_errors(forecasts) if r["method"] == "arma"]
    for row, other in zip(plain, released_errors(forecasts, without_noise(forecasts), WIDE), strict=True):
        assert other["mse"] == pytest.approx(row["mse"])
        assert other["nmse"] == pytest.approx(row["nmse"])


def test_rows_fit_their_table(forecasts):
    rows = forecast_errors(forecasts) + released_errors(forecasts, without_noise(forecasts), WIDE)
    table = as_arrow(FORECAST_ERRORS, {name: [row[name] for row in rows] for name in rows[0]})
    assert table.num_rows == 8


def test_one_household_has_no_standard_error(forecasts):
    one = ForecastSet(*(value if value is None else value[:1] for value in vars(forecasts).values()))
    assert np.isnan(forecast_errors(one)[0]["nmse_se"])


def test_an_export_too_short_for_last_week_is_one_sentence(forecasts):
    short = ForecastSet(**{**vars(forecasts), "last_week_log_kwh": np.full((H, N, K), np.nan)})
    with pytest.raises(InputError, match="week"):
        forecast_errors(short)


@pytest.mark.parametrize("noise", [0.0, 0.6])
def test_absolute_errors_medians_and_shares_are_those_of_drawn_noise(forecasts, noise):
    """Oracle: 4,000 draws, seeded, within 6 standard errors; readings within the bounds, as log load is clipped."""
    inside = ForecastSet(**{**vars(forecasts), "actual_log_kwh": np.clip(forecasts.actual_log_kwh, *np.log(BOUNDS))})
    shape = inside.actual_log_kwh.shape
    moved = inside.forecast_log_kwh + 0.2
    rows = {
        r["scale"]: r
        for r in released_errors(inside, Released("x", "", 1.0, moved, np.full(shape, noise)), LogScale(*BOUNDS))
    }
    seen = np.isfinite(inside.actual_log_kwh) & np.isfinite(inside.last_week_log_kwh)
    judged = seen.any(axis=(1, 2))
    generator = np.random.default_rng(3)
    drawn = {scale: [] for scale in ("log_kwh", "kwh")}
    for _ in range(4000):
        released = moved + noise * generator.standard_normal(shape)
        off = {"log_kwh": released - inside.actual_log_kwh}
        off["kwh"] = np.clip(np.exp(released), *BOUNDS) - np.exp(inside.actual_log_kwh)
        for scale, gap in off.items():
            drawn[scale].append([np.abs(gap[h][seen[h]]).mean() for h in np.flatnonzero(judged)])
    for scale, values in drawn.items():
        values = np.array(values)
        reach = 6 * values.std(axis=0).max() / np.sqrt(len(values)) + 1e-12
        assert rows[scale]["mae"] == pytest.approx(values.mean(), abs=reach)
        assert rows[scale]["mae_median"] == pytest.approx(np.median(values.mean(axis=0)), abs=reach)
    own = inside.forecast_log_kwh - inside.actual_log_kwh
    won = [
        np.mean((own[h] + 0.2)[seen[h]] ** 2 + noise**2) < np.mean(own[h][seen[h]] ** 2)
        for h in np.flatnonzero(judged)
    ]
    assert rows["log_kwh"]["won_share"] == np.mean(won)


def test_errors_in_kwh_are_those_of_the_scale(forecasts):
    """Oracle: the definition, cell by cell, with the inverse of a signed scale."""
    scale = LogScale(-50.0, 50.0, scale_kwh=0.4)
    (row,) = [r for r in forecast_errors(forecasts, scale) if r["method"] == "arma" and r["scale"] == "kwh"]
    nmse, relative, mse = by_definition(
        forecasts, forecasts.forecast_log_kwh, lambda y: 2 * 0.4 * np.sinh(y - np.log(0.4))
    )
    assert row["nmse"] == pytest.approx(nmse.mean()) and row["mse"] == pytest.approx(mse)
    assert row["relative_mse"] == pytest.approx(relative)
    without = [r for r in released_errors(forecasts, without_noise(forecasts), scale) if r["scale"] == "kwh"]
    assert without[0]["mse"] == pytest.approx(mse)
