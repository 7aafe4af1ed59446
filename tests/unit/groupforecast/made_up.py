"""A made-up study of the group forecast: 40 of the 50 meters of an export have forecasts."""

import numpy as np
import pyarrow as pa

from meterdp.core.parquet import as_arrow
from meterdp.forecasting.rolling import ForecastSet, forecast_columns
from meterdp.forecasting.tables import FORECASTS
from meterdp.groupforecast.study import GroupStudy
from meterdp.ingest.tables import METERS

METER_COUNT = 50
HOUSEHOLDS = np.arange(3, 43, dtype=np.int32)
ORIGINS, STEPS = 3, 4
SALT = "0123456789abcdef" * 2
SETTINGS = {
    "groups": ["one", "circuit", "assigned"],
    "epsilons": [1, 8],
    "delta": 1e-5,
    "most_groups": 6,
    "draws": 5,
}


def forecasts(household=HOUSEHOLDS):
    """A level for every household, readings and forecasts about it; one reading is missing."""
    generator = np.random.default_rng(4)
    shape = (household.size, ORIGINS, STEPS)
    level = -2.0 + generator.standard_normal((household.size, 1, 1))
    values = [level + 0.3 * generator.standard_normal(shape) for _ in range(4)]
    values[3][0, 1, 2] = np.nan
    return ForecastSet(household, *values, np.ones(shape))


def forecasts_table(made=None):
    start = np.datetime64("2025-11-02T00:00") + np.arange(40) * np.timedelta64(60, "m")
    return as_arrow(FORECASTS, forecast_columns(made or forecasts(), np.array([0, 10, 20]), start))


def meters(named=True):
    return as_arrow(
        METERS,
        {
            "household": np.arange(METER_COUNT),
            "meter_id": [f"m{i}" for i in range(METER_COUNT)],
            "circuit": pa.array([f"C{i % 3}" if named else None for i in range(METER_COUNT)], pa.string()),
            "shard": [0] * METER_COUNT,
            "duplicate_rows": [0] * METER_COUNT,
            "conflicting_rows": [0] * METER_COUNT,
        },
    )


def study(settings=SETTINGS, named=True, made=None, households=METER_COUNT):
    return GroupStudy.from_tables(forecasts_table(made), meters(named), households, 60, 0.5, settings)
