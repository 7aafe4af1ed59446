"""Homes with solar panels from CSV to release on a signed log: feed-in keeps its size."""

import json
import math

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from meterdp.consumption.tables import TOTAL_LOAD
from meterdp.core.parquet import read_table
from meterdp.evaluation.tables import (
    FORECASTER_COMPARISON,
    HIDE_AMONG_YARDSTICKS,
)
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS, FORECASTS, FORECASTS_KWH
from meterdp.mixture.tables import CLASS_TABLE, LABELS
from meterdp.profiles.tables import LOG_LOAD, PROFILES, QUALITY
from meterdp.publish.convert import read_release
from meterdp.publish.tables import FORECAST_EXAMPLES, RELEASED_GROUP_FORECASTS, RELEASED_PROFILES, SYNTHETIC_PROFILES
from tests.workflow.conftest import TINY, Runner

HOMES, DAYS, LOW, HIGH = 60, 17, -6.0, 30.0
SCALE = {"kind": "signed", "scale_kwh_per_hour": 0.15}


def energy(y):
    """Oracle: the inverse as docs/guarantees.md and config/README.md say it, kWh of an hour."""
    return 2 * 0.15 * np.sinh(np.asarray(y, dtype=float) - math.log(0.15))


def write_export(folder) -> pd.DataFrame:
    """Hourly net load: two homes in three feed in around noon; a few readings lie below the public bounds."""
    generator = np.random.default_rng(5)
    stamps = pd.date_range("2025-05-05", periods=24 * DAYS, freq="h")
    hour = stamps.hour.to_numpy()
    sun = np.clip(np.sin((hour - 6) / 12 * np.pi), 0, None)
    panels = np.where(np.arange(HOMES) % 3 > 0, generator.uniform(1.0, 4.0, HOMES), 0.0)
    weather = generator.uniform(0.3, 1.0, DAYS).repeat(24)
    load = generator.gamma(2.0, 0.25, (HOMES, 24 * DAYS)) * (1 + 0.5 * np.cos((hour - 19) / 24 * 2 * np.pi))
    net = (load - panels[:, None] * sun * weather).round(3)
    net[1, 100:103] = -9.0 - 0.01 * np.arange(3)
    names = [f"pv{i:03d}" for i in range(HOMES)]
    table = pd.DataFrame({"meter_id": np.repeat(names, len(stamps)), "interval_start": np.tile(stamps, HOMES)})
    table = table.assign(kwh=net.ravel())
    table["interval_start"] = table["interval_start"].dt.strftime("%Y-%m-%d %H:%M")
    table.to_csv(folder / "export.csv", index=False)
    pd.DataFrame({"meter_id": names}).to_csv(folder / "meters.csv", index=False)
    return pd.DataFrame(net, index=names)


SETTINGS = TINY | {
    "shards": 1,
    "export": {
        "path": "export.csv",
        "meters": "meters.csv",
        "time_zone": "UTC",
        "interval_minutes": 60,
        "first_day": "2025-05-05",
        "last_day": "2025-05-21",
    },
    "profiles": {
        "vector": "half_day",
        "start_hour": 12,
        "hours": 12,
        "clip_kwh_per_hour": [LOW, HIGH],
        "log_scale": SCALE,
        "default_kwh_per_hour": 0.0,
    },
    "mixture": {"classes": 2},
    "mechanisms": {
        "variants": ["sound"],
        "epsilons": [4],
        "sound": {"level_log_kwh": -1.2},
    },
    "class_noise": {"designs": ["none", "white"], "file_design": "white", "rhos": [0.45]},
    "release": {
        "forecast_groups": "one",
        "forecast_epsilon": 4,
        "population": "homes with panels",
        "budget_period": "2025",
        "synthetic_profiles": 300,
        "ledger": "books/ledger.sqlite",
        "allow": ["poor"],
        "cap_epsilon": 8,
        "epsilon": 3,
    },
}


@pytest.fixture(scope="module")
def net_load(tmp_path_factory):
    """A runner, what it was given, and the tables of the study on a signed log."""
    runner = Runner(tmp_path_factory.mktemp("net_load"))
    net = write_export(runner.folder)
    done = runner.run(SETTINGS)
    assert done.returncode == 0, done.stdout[-6000:]
    return runner, net


def table(runner, which, name=None):
    return read_table(runner.folder / "results" / (name or which.file), which).to_pandas()


def test_energy_below_zero_is_no_fault_and_keeps_its_size(net_load):
    runner, net = net_load
    quality = table(runner, QUALITY)
    assert quality["kept"].all() and quality["negative_readings"].tolist() == [3 * (h == 1) for h in range(HOMES)]
    load = table(runner, LOG_LOAD, "private/log_load/part-000.parquet")
    told = np.stack([load["log_kwh"][load["household"] == h] for h in range(HOMES)])
    assert np.allclose(energy(told), net.clip(LOW, HIGH))
    seasonal = energy(load["seasonal_log_kwh"])
    assert seasonal.min() < -1 and (seasonal >= LOW - 1e-9).all()
    vectors = table(runner, PROFILES)
    assert vectors["valid"].all()
    noon = energy(np.stack(vectors["log_kwh"])[:, 0])
    day = net.to_numpy()[:, 8 * 24 + 12]
    assert np.allclose(noon, day), "the vector begins at noon of the middle day"


def test_every_number_in_kwh_is_that_of_the_signed_inverse(net_load):
    runner, _ = net_load
    forecasts = table(runner, FORECASTS)
    actual, forecast = energy(forecasts["actual_log_kwh"]), energy(forecasts["forecast_log_kwh"])
    assert (actual < -1).any() and (forecast < -1).any()
    off = forecast - actual
    compared = table(runner, FORECASTER_COMPARISON).query("forecaster == 'arma' and scale == 'kwh'").iloc[0]
    homes = forecasts["household"]
    assert compared["mae"] == pytest.approx(pd.Series(np.abs(off)).groupby(homes).mean().mean())
    yardstick = table(runner, HIDE_AMONG_YARDSTICKS).query("yardstick == 'energy'").iloc[0]
    assert yardstick["median_kwh"] == pytest.approx(pd.Series(actual).groupby(homes).mean().median())
    kwh = table(runner, FORECASTS_KWH)
    for column in ("median_kwh", "mean_kwh", "lower_kwh", "upper_kwh"):
        assert kwh[column].between(LOW, HIGH).all()
    assert (kwh["lower_kwh"] <= kwh["median_kwh"]).all() and (kwh["median_kwh"] <= kwh["upper_kwh"]).all()
    distributions = table(runner, FORECAST_DISTRIBUTIONS, "private/forecast_distributions.parquet")
    medians = kwh.drop_duplicates(["household", "step"]).sort_values(["household", "step"])["median_kwh"]
    assert np.allclose(
        medians, energy(np.concatenate(distributions.sort_values("household")["mean_log_kwh"].to_list()))
    )
    vectors, labels = table(runner, PROFILES), table(runner, LABELS)
    per_home = energy(np.stack(vectors["log_kwh"])).mean(axis=1)
    for row in table(runner, CLASS_TABLE).itertuples():
        members = labels.loc[labels["component"] == row.component, "household"]
        assert row.mean_energy_kwh == pytest.approx(per_home[members].mean())
    examples = table(runner, FORECAST_EXAMPLES)
    assert (examples["energy_kwh"] < 0).any() and examples["energy_kwh"].between(LOW, HIGH).all()


def test_synthetic_profiles_feed_in_as_real_ones_do_and_figures_go_below_zero(net_load):
    runner, net = net_load
    synthetic = energy(np.stack(table(runner, SYNTHETIC_PROFILES, "study/synthetic/sound.parquet")["log_kwh"]))
    real = net.to_numpy()[:, 8 * 24 + 12 : 8 * 24 + 24]
    assert 0.3 < (synthetic[:, 0] < 0).mean() < 0.9, "two homes in three feed in at noon"
    assert abs(synthetic.mean() - real.mean()) < 0.5
    load = table(runner, TOTAL_LOAD)
    assert np.allclose(load["mean_kw"], net.clip(LOW, HIGH).mean()) and load["mean_kw"].min() < 0
    assert (runner.folder / "results/study/figures/load_by_hour.svg").stat().st_size > 1000


def test_a_release_states_its_scale_and_holds_energy_below_zero(net_load):
    runner, _ = net_load
    done = runner.run(SETTINGS, "release")
    assert done.returncode == 0, done.stdout[-6000:]
    release = runner.folder / "results/release"
    manifest = json.loads((release / "mixture/manifest.json").read_text())
    assert manifest["public_parameters"]["profiles"]["log_scale"] == SCALE
    assert manifest["log_scale"]["clipped_to_kwh"] == [LOW, HIGH]
    names = {"ln": np.log, "exp": np.exp, "sinh": np.sinh}
    stated = manifest["log_scale"]["kwh"].removeprefix("x = ").partition(",")[0]
    mixture = json.loads((release / "mixture/mixture.json").read_text())
    means = np.array(mixture["means"])
    assert np.allclose(eval(stated, {"__builtins__": {}}, {**names, "y": means}), energy(means))
    profiles = np.stack(
        read_table(release / "mixture/synthetic_profiles.parquet", RELEASED_PROFILES).to_pandas()["energy_kwh"]
    )
    # Noise is drawn anew for every run, so nothing is asked of where the profiles lie but that both signs occur.
    assert profiles.min() >= LOW and profiles.max() <= HIGH and (profiles < 0).any() and (profiles > 0).any()
    weights = np.array(mixture["weights"])
    rows = read_table(release / "forecasts/forecasts.parquet", RELEASED_GROUP_FORECASTS).to_pandas()
    assert len(rows) and (rows["expected_kwh"] >= 0).all(), "what a home feeds in counts as no energy"
    assert (read_release(release / "mixture").energy_kwh < 0).any(), "what converts a release takes feed-in"
    assert pq.read_metadata(release / "mixture/mixture.parquet").num_rows == len(weights)
