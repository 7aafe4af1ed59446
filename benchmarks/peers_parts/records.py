"""The records that everybody gets: Swiss homes, Australian homes and simulated ones, split by household.

A data set is a matrix of log hourly energies, log kWh, one row a record, and the household of each. Training and
held-out records are of different households: no source is judged by days of a home it was trained on. Real homes are
few: as many records as there are homes come from one record a home, more of them are *days* of homes, and one day
more or less is then what neighbours differ by, for everybody alike. Real data lie in a folder beside the project
(resources/datasets.yaml says where they are published).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from arma_parts.series import FAULTY_METERS, SWISS
from utilities import flat

from meterdp.core.noise import StudyNoise
from meterdp.simulate.load import hourly_log_kwh
from meterdp.simulate.parameters import SimulationParameters

ROOT = Path(__file__).resolve().parents[2]
AUSTRALIAN = SWISS.parents[1] / "au_nsw_30min/readings.parquet"
SIMULATED_HOMES, SIMULATED_DAY = 64_000, date(2025, 12, 3)
SEED = 3303
HELD_OUT_SHARE, MOST_HELD_OUT = 0.2, 4_000
SWISS_HOMES, SWISS_DAYS, AUSTRALIAN_DAYS, SIMULATED = (
    "Swiss homes",
    "Swiss home-days",
    "Australian home-days",
    "simulated homes",
)


@dataclass(frozen=True)
class Pool:
    """Records of one kind: ``x`` is (n, 24) or (n, 48) log kWh of one or two days, ``home`` (n,) whose each is."""

    x: np.ndarray
    home: np.ndarray

    def split(self, number: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return n training records and up to 4,000 held-out ones of other homes; ``number`` is that of the split."""
        homes = np.unique(self.home)
        order = StudyNoise(SEED, "homes", number).uniform((len(homes),)).argsort()
        held_out = np.isin(self.home, homes[order[: int(HELD_OUT_SHARE * len(homes))]])
        shuffled = StudyNoise(SEED, "records", number).uniform((len(self.x),)).argsort()
        train, test = (self.x[shuffled[part[shuffled]]] for part in (~held_out, held_out))
        if len(train) < n:
            raise ValueError(f"{n} records asked for, there are {len(train)}")
        return train[:n], test[:MOST_HELD_OUT]


def _of_days(hourly: pd.DataFrame, days: int, low_kwh: float, high_kwh: float) -> Pool:
    """Return records of so many days in a row that do not overlap, from columns home, day, hour and kwh."""
    wide = hourly.set_index(["home", "day", "hour"])["kwh"].unstack("hour").dropna()  # noqa: PD010
    wide = wide[wide.sum(axis=1) > 0]  # a meter that counted nothing all day
    home, day = (wide.index.get_level_values(name).to_numpy() for name in ("home", "day"))
    log = np.log(np.clip(wide.to_numpy(), low_kwh, high_kwh))
    if days == 1:
        return Pool(log, home)
    even = (home[1:] == home[:-1]) & (np.diff(day) == 1) & (day[:-1] % 2 == 0)
    first = np.flatnonzero(even)
    return Pool(np.hstack([log[first], log[first + 1]]), home[first])


def _hourly(home: np.ndarray, stamp: pd.Series, kwh: np.ndarray, intervals: int) -> pd.DataFrame:
    """Return energies by home, day since 1970 and hour; days without all their intervals are left out."""
    day = stamp.to_numpy().astype("datetime64[D]").astype(int)
    frame = pd.DataFrame({"home": home, "day": day, "hour": stamp.dt.hour.to_numpy(), "kwh": kwh})
    sums = frame.groupby(["home", "day", "hour"], sort=True)["kwh"].agg(["sum", "count", "min"]).reset_index()
    good = (sums["count"] == intervals) & (sums["min"] >= 0)
    return sums[good].rename(columns={"sum": "kwh"})[["home", "day", "hour", "kwh"]]


@cache
def _swiss() -> pd.DataFrame:
    table = pd.read_csv(SWISS, dtype={"meter_id": str})
    table = table[~table["meter_id"].isin(FAULTY_METERS)]
    return _hourly(table["meter_id"].to_numpy(), pd.to_datetime(table["interval_start"]), table["kwh"].to_numpy(), 4)


@cache
def _australian() -> pd.DataFrame:
    table = pd.read_parquet(AUSTRALIAN)
    stamp = pd.to_datetime(table["reading_datetime"])
    return _hourly(table["customer_id"].to_numpy(), stamp, table["general_supply_kwh"].to_numpy(), 2)


def available(data: str) -> bool:
    """Whether the readings of a data set are here."""
    return data == SIMULATED or (AUSTRALIAN if data == AUSTRALIAN_DAYS else SWISS).exists()


@cache
def pool(data: str, days: int, low_kwh: float, high_kwh: float) -> Pool:
    """Return all records of a data set of one or two days, clipped to the public bounds."""
    if data == SIMULATED:
        utility = flat(SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml"))
        x = hourly_log_kwh(utility, SEED, SIMULATED_HOMES, SIMULATED_DAY, days, (low_kwh, high_kwh))
        return Pool(x, np.arange(len(x)))
    if data == AUSTRALIAN_DAYS:
        return _of_days(_australian(), days, low_kwh, high_kwh)
    whole = _of_days(_swiss(), days, low_kwh, high_kwh)
    if data == SWISS_DAYS:
        return whole
    working = _swiss()
    working = working[(working["day"] + 3) % 7 < 5]  # day 0, 1970-01-01, was a Thursday
    of_day = _of_days(working, 1, low_kwh, high_kwh)
    means = pd.DataFrame(of_day.x).groupby(of_day.home).mean()
    return Pool(means.to_numpy(), means.index.to_numpy())
