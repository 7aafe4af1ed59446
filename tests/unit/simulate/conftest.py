"""One small synthetic export, read back as text with pandas: the oracle of the mess is a recount of the file."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import pytest

from meterdp.simulate.data_quality import plan_faults
from meterdp.simulate.export import simulate_export
from meterdp.simulate.fleet import Fleet, Period
from meterdp.simulate.parameters import SimulationParameters

SEED = 7
HOUSEHOLDS = 130
CIRCUITS = 5
DAYS = 12
START = date(2025, 10, 26)  # the clocks change on the eighth day


@pytest.fixture(scope="session")
def parameters(repository) -> SimulationParameters:
    """The parameters that ship."""
    return SimulationParameters.from_yaml(repository / "resources" / "simulator.yaml")


@pytest.fixture(scope="session")
def fleet(parameters) -> Fleet:
    return Fleet(parameters.household_types, HOUSEHOLDS, CIRCUITS, SEED)


@pytest.fixture(scope="session")
def period(parameters) -> Period:
    return Period(START, DAYS, parameters.time_zone, parameters.interval_minutes)


@pytest.fixture(scope="session")
def planned(parameters, fleet) -> dict[str, set[str]]:
    """Meter ids each kind of mess is meant to hit."""
    plan = plan_faults(parameters.data_quality, fleet)
    return {kind: {fleet.meter_id(i) for i in np.flatnonzero(hits)} for kind, hits in plan.items()}


@pytest.fixture(scope="session")
def export_path(parameters, tmp_path_factory):
    path = tmp_path_factory.mktemp("simulated") / "export.csv"
    simulate_export(
        parameters, path, seed=SEED, households=HOUSEHOLDS, circuits=CIRCUITS, days=DAYS, start_date=START
    )
    return path


@pytest.fixture(scope="session")
def export(export_path) -> pd.DataFrame:
    """All rows as written, with the number, and whether the row was resent after the last meter's own rows."""
    rows = pd.read_csv(export_path, dtype=str, keep_default_na=False)
    rows["number"] = pd.to_numeric(rows["kwh"], errors="coerce")
    last = rows["meter_id"].max()
    own = (rows["meter_id"] == last) & (rows["meter_id"].shift() != last)
    after = np.arange(len(rows)) > np.flatnonzero(own)[0]
    rows["resent"] = after & (rows["meter_id"] != last)
    return rows


@pytest.fixture(scope="session")
def sent(export) -> pd.DataFrame:
    """Rows in their place, without the resent ones."""
    return export[~export["resent"]]
