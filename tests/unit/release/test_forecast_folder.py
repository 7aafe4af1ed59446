"""The folder of released forecasts: its page says how many of its files differ."""

import copy

import numpy as np
import pytest

from meterdp.core.config import complete, load_schema
from meterdp.release.forecasts import different_forecasts
from meterdp.release.service import ReleaseService
from tests.conftest import ROOT
from tests.unit.release.charged import release_forecasts

CONFIG = complete(
    {"export": {"time_zone": "America/Los_Angeles"}}, load_schema(ROOT / "workflow/schemas/config.schema.yaml")
)
N = 120


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ({"forecast_groups": "one"}, "All files hold one and the same forecast."),
        ({"forecast_groups": "circuit"}, "The files hold 4 different forecasts; households of a group have the same"),
        (
            {"forecast_protects": "label", "forecast_groups": "one", "forecast_noise_std_log_kwh": 2.0},
            "No two files hold the same forecast.",
        ),
    ],
    ids=["one group", "circuits", "labels"],
)
def test_the_page_says_how_many_forecasts_there_are(tmp_path, release, said):
    config = copy.deepcopy(CONFIG)
    config["export"] |= {"first_day": "2025-01-01", "last_day": "2025-01-28"}
    config["release"] |= {"ledger": str(tmp_path / "ledger.sqlite"), "what": ["forecasts"], **release}
    meter_list = "".join(f"m{number},c{number % 4}\n" for number in range(N))
    service = ReleaseService(config, f"meter_id,circuit\n{meter_list}".encode(), simulated=True)
    x = np.random.default_rng(2).normal(-2.0, 1.0, (N, CONFIG["forecast"]["horizon_steps"]))
    files = release_forecasts(x, tuple(number % 4 for number in range(N)), service)[0]
    assert said in files["README.md"].decode()


def test_forecasts_that_differ_are_counted():
    assert different_forecasts(np.zeros((5, 3))) == "All files hold one and the same forecast."
    assert different_forecasts(np.eye(3)) == "No two files hold the same forecast."
    assert "hold 2 different forecasts" in different_forecasts(np.eye(3)[[0, 0, 1]])
