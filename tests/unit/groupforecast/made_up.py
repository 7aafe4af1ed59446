"""A made-up town: 50 listed meters, 45 of them read, and five weeks of hours."""

import copy

import numpy as np
import pyarrow as pa

from meterdp.core.config import complete, load_schema
from meterdp.core.parquet import as_arrow
from meterdp.core.weekend import SATURDAY_SUNDAY
from meterdp.groupforecast.mechanism import GroupForecast
from meterdp.groupforecast.plan import HOURS, GroupPublic, cells_of
from meterdp.groupforecast.records import household_records
from meterdp.groupforecast.study import Hours
from meterdp.ingest.tables import METERS
from tests.conftest import ROOT

METER_COUNT = 50
MISSING = (3, 17, 20, 31, 44)
SALT = "0123456789abcdef" * 2
FIRST_DAY = 20_396  # 2025-11-04, a Tuesday
SHAPE = tuple((1 + 0.4 * np.sin((np.arange(HOURS) - 10) * np.pi / 12)).tolist())
CONFIG = complete({}, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))


def config(**release) -> dict:
    out = copy.deepcopy(CONFIG)
    out["release"] |= release
    out["export"] |= {"time_zone": "Europe/Berlin"}
    return out


def town(count=METER_COUNT, days=35, seed=3, level=0.7, missing=MISSING) -> Hours:
    """Log-normal levels and hours around a shape with an evening peak, a flatter one at weekends."""
    generator, cell = np.random.default_rng(seed), cells_of(FIRST_DAY, days, SATURDAY_SUNDAY)
    shape = np.concatenate([1 + 0.6 * np.sin((np.arange(HOURS) - 12) * np.pi / 12), np.ones(HOURS)])
    own = level * np.exp(0.7 * generator.standard_normal((count, 1)))
    kwh = own * shape[cell] * np.exp(0.5 * generator.standard_normal((count, len(cell))) - 0.125)
    kwh[[m for m in missing if m < count]] = np.nan
    return Hours(kwh, cell, FIRST_DAY)


def public(epsilon=1.0, count=METER_COUNT, circuits=0, **others) -> GroupPublic:
    circuit = tuple((np.arange(count) % circuits).tolist()) if circuits else None
    groups = "circuit" if circuits else "one"
    return GroupPublic(epsilon, 1e-5, count, 0.5, 20.0, SHAPE, groups, circuit, **others)


def calibrate(*args, **others) -> GroupForecast:
    return GroupForecast.calibrate(public(*args, **others))


def records_of(hours: Hours):
    return household_records(hours.kwh, hours.cell, public().cell_shape)


def meters(named=True) -> pa.Table:
    count = METER_COUNT
    return as_arrow(
        METERS,
        {
            "household": np.arange(count),
            "meter_id": [f"m{i}" for i in range(count)],
            "circuit": pa.array([f"C{i % 3}" if named else None for i in range(count)], pa.string()),
            "shard": [0] * count,
            "duplicate_rows": [0] * count,
            "conflicting_rows": [0] * count,
        },
    )
