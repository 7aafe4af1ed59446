"""Errors of the paper's forecasts by their definitions, written out as loops."""

import numpy as np
import pandas as pd
import pytest

from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.core.parquet import as_arrow
from meterdp.errors import InputError
from meterdp.forecasting.rolling import ForecastSet
from meterdp_papers.ramakrishna.households import forecast_errors
from meterdp_papers.ramakrishna.tables import RAMAKRISHNA_FORECAST_ERRORS

H, N, K = 5, 20, 3


@pytest.fixture
def forecasts() -> ForecastSet:
    generator = np.random.default_rng(0)
    actual = generator.normal(-1, 1, (H, N, K))
    forecast = actual + generator.normal(0, 0.3, (H, N, K))
    actual[generator.random((H, N, K)) < 0.1] = np.nan
    actual[4] = np.nan  # a household that cannot be judged
    return ForecastSet(np.arange(H), forecast, actual)


def by_definition(forecasts, transform) -> tuple[float, float]:
    """nmse, mean over households, and relative_mse, one cell at a time."""
    nmse, errors, deviations = [], 0.0, 0.0
    for predicted, actual in zip(forecasts.forecast_log_kwh, forecasts.actual_log_kwh, strict=True):
        cells = zip(predicted.ravel(), actual.ravel(), strict=True)
        pairs = [(transform(f), transform(y)) for f, y in cells if np.isfinite(y)]
        if not pairs:
            continue
        mean = sum(y for _, y in pairs) / len(pairs)
        error = sum((f - y) ** 2 for f, y in pairs)
        nmse.append(error / sum(y**2 for _, y in pairs))
        errors, deviations = errors + error, deviations + sum((y - mean) ** 2 for _, y in pairs)
    return sum(nmse) / len(nmse), errors / deviations


SIGNED = LogScale(-50.0, 50.0, scale_kwh=0.4)


@pytest.mark.parametrize(
    ("log_scale", "scale", "transform"),
    [
        (PLAIN, "log_kwh", float),
        (PLAIN, "kwh", np.exp),
        (SIGNED, "kwh", lambda y: 2 * 0.4 * np.sinh(y - np.log(0.4))),
    ],
)
def test_errors_are_their_definitions(forecasts, log_scale, scale, transform):
    rows = forecast_errors(forecasts, log_scale)
    as_arrow(RAMAKRISHNA_FORECAST_ERRORS, pd.DataFrame(rows))
    (row,) = [r for r in rows if r["scale"] == scale]
    assert (row["nmse"], row["relative_mse"]) == pytest.approx(by_definition(forecasts, transform))
    assert (row["household_count"], row["origin_count"]) == (H - 1, N)


def test_without_a_held_out_reading_there_is_one_sentence(forecasts):
    nothing = ForecastSet(forecasts.household, forecasts.forecast_log_kwh, np.full((H, N, K), np.nan))
    with pytest.raises(InputError, match="no held-out reading"):
        forecast_errors(nothing)
