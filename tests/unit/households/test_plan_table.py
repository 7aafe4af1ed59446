"""What the table of ``resources/household_plan.csv`` is made of: the tool runs, and asks what it says it asks."""

import math
import runpy
import sys
from dataclasses import replace

import numpy as np
import pytest

from meterdp.core.noise import StudyNoise
from meterdp.households.vector import household_vectors
from meterdp.simulate.load import simulated_kwh
from meterdp.simulate.parameters import SimulationParameters
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def tool():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return runpy.run_path(str(ROOT / "tools/make_household_plan.py"), run_name="read")
    finally:
        sys.path.pop(0)


def test_quantities_are_those_of_the_readings(tool):
    """Oracle: means and quantiles of a year of simulated readings themselves."""
    parameters = SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml")
    parameters = replace(parameters, interval_minutes=tool["MINUTES"], time_zone="UTC")
    kwh = simulated_kwh(parameters, 5, 60, tool["FIRST"], 365)
    kwh = kwh[kwh.mean(axis=1) < tool["SETTINGS"].mean_kw[1]]  # no business beyond the bounds
    said = tool["said_of"](household_vectors(kwh, tool["SETTINGS"]))
    assert said["mean"] == pytest.approx([kwh.mean()], rel=0.02)
    assert said["hours"] == pytest.approx(kwh.mean(axis=0).reshape(365, 24).mean(axis=0), rel=0.06)
    days = kwh.mean(axis=0).reshape(365, 24).mean(axis=1)
    months = np.array([day.month for day in tool["DAYS"]])
    # Two waves a year leave the rest of a month to what homes do together.
    assert said["months"] == pytest.approx([days[months == month].mean() for month in range(1, 13)], rel=0.1)
    assert said["seasons"] == pytest.approx(said["months"] / said["months"].mean(), rel=1e-12)
    weekend = np.array([day.weekday() >= 5 for day in tool["DAYS"]])
    assert said["weekends"] == pytest.approx(days[weekend].mean() / days[~weekend].mean(), rel=0.02)
    assert said["energy"] == pytest.approx(np.quantile(kwh.mean(axis=1), tool["HOUSEHOLD_QUANTILES"]), rel=0.08)
    assert len(said["peak"]) == len(tool["HOUSEHOLD_QUANTILES"]) and (np.diff(said["peak"]) > 0).all()


def test_a_signal_decides_how_far_a_release_is_off(tool):
    settings = tool["SETTINGS"]
    rng = np.random.default_rng(2)
    low, high = settings.bounds
    vectors = np.clip(settings.typical + 0.1 * (high - low) * rng.normal(size=(300, len(low))), low, high)
    real, errors = tool["said_of"](vectors)["hours"], []
    for signal in (1, 64):
        of, records = tool["mechanism"](signal)
        x = vectors[rng.integers(0, 300, records)]
        (population,), _ = of.release(tool["HouseholdRecords"].of(x), StudyNoise(3, "plan", repr(signal)))
        errors.append(tool["off"](tool["said_of"](*tool["reweighted"](population))["hours"], real))
    assert errors[1] < 0.15 < errors[0] and math.isfinite(errors[0])
