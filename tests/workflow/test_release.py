"""`snakemake release` end to end: only what passed the gate, drawn and charged once, the same bytes ever after."""

import hashlib
import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.mixture import GaussianMixture

from meterdp.core.parquet import metadata_of, read_table
from meterdp.ingest.meter_list import read_meter_list
from meterdp.ingest.tables import METERS, READINGS
from meterdp.privacy.ledger import CHARGED, PUBLISHED, STORED, Ledger
from meterdp.profiles.tables import LOG_LOAD, QUALITY
from meterdp.publish.kinds import DESCRIPTIONS, KINDS
from meterdp.publish.tables import (
    RELEASE_CROSSWALK,
    RELEASED_FEEDERS,
    RELEASED_GROUP_FORECASTS,
    RELEASED_MIXTURE,
    RELEASED_PROFILES,
    RELEASED_RECIPIENTS,
)
from tests.unit.release.charged import states
from tests.workflow.conftest import TINY

RELEASED = TINY | {
    "release": {
        "what": ["mixture", "forecasts", "feeders"],
        "synthetic_profiles": 200,
        "ledger": "books/ledger.sqlite",
        "allow": ["poor"],
    }
}


@pytest.fixture(scope="module")
def released(tiny_study):
    """The folder of the tiny study after its release."""
    done = tiny_study.run(RELEASED, "release")
    assert done.returncode == 0, done.stdout[-6000:]
    return tiny_study


@pytest.fixture
def folder(released):
    return released.folder / "results/release/mixture"


@pytest.fixture
def forecasts(released):
    return released.folder / "results/release/forecasts"


@pytest.fixture
def feeders(released):
    return released.folder / "results/release/feeders"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_folder_holds_the_declared_files_and_the_manifest_vouches_for_them(released, folder):
    assert {p.name for p in (released.folder / "results/release").iterdir()} == {"forecasts", "mixture", "feeders"}
    assert set(contents(folder)) == {*KINDS["mixture"].files, *DESCRIPTIONS}
    manifest = json.loads((folder / "manifest.json").read_text())
    for name, digest in manifest["sha256"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert set(manifest["sha256"]) == set(KINDS["mixture"].files) - {"manifest.json", "README.md"}
    listed = read_table(released.folder / "results/private/meters.parquet", METERS).num_rows
    assert manifest["public_parameters"]["public"]["records"] == listed, "valid or not"
    privacy = manifest["privacy"]
    assert (privacy["epsilon"], privacy["delta"], privacy["adjacency"]) == (1, 1e-5, "replace_one")
    for table in (RELEASED_MIXTURE, RELEASED_PROFILES):
        path = released.folder / "results" / table.file
        read_table(path, table)
        facts = metadata_of(path)
        assert facts["audience"] == "release" and "release" not in facts and facts["synthetic"] == "yes"
        assert "(1, 1e-05)-differential privacy" in facts["guarantee"]
    page = (folder / "README.md").read_text()
    assert (
        "households are simulated" in page
        and "epsilon 1 and delta 1e-05" in page
        and "2.72 times what it would be" in page
    )


def test_scikit_learn_reads_the_mixture(folder):
    values = json.loads((folder / "mixture.json").read_text())
    mixture = GaussianMixture(len(values["weights"]), covariance_type=values["covariance_type"])
    mixture.weights_, mixture.means_ = np.array(values["weights"]), np.array(values["means"])
    mixture.covariances_ = np.array(values["covariances"])
    mixture.precisions_cholesky_ = np.linalg.cholesky(np.linalg.inv(mixture.covariances_))
    table = read_table(folder / "mixture.parquet", RELEASED_MIXTURE).to_pandas()
    assert np.array_equal(np.stack(table["mean_log_kwh"]), mixture.means_) and len(values["entries"]) == 24
    profiles = np.stack(
        read_table(folder / "synthetic_profiles.parquet", RELEASED_PROFILES).to_pandas()["energy_kwh"]
    )
    assert profiles.shape == (200, 24) and np.isfinite(mixture.score_samples(np.log(profiles))).all()


def test_every_listed_meter_has_a_forecast_and_the_crosswalk_knows_whose(released, forecasts):
    private = released.folder / "results/private"
    meters = read_table(private / "meters.parquet", METERS)["meter_id"].to_pylist()
    crosswalk = read_table(private / "release/crosswalk.parquet", RELEASE_CROSSWALK)
    assert sorted(crosswalk["meter_id"].to_pylist()) == sorted(meters)
    recipients = read_table(forecasts / "recipients.parquet", RELEASED_RECIPIENTS)["release_id"].to_pylist()
    assert recipients == sorted(crosswalk["release_id"].to_pylist())
    names = {"forecasts.parquet", "recipients.parquet", "shape.parquet"}
    assert set(contents(forecasts)) == names | {*KINDS["forecasts"].files, *DESCRIPTIONS}
    manifest = json.loads((forecasts / "manifest.json").read_text())
    given = {n: hashlib.sha256((forecasts / n).read_bytes()).hexdigest() for n in names}
    assert given == manifest["sha256"]
    kept = sum(read_table(private / "quality.parquet", QUALITY)["kept"].to_pylist())
    last = read_table(private / "log_load/part-000.parquet", LOG_LOAD)["interval_start_utc"][-1].as_py()
    table = read_table(forecasts / "forecasts.parquet", RELEASED_GROUP_FORECASTS)
    assert (table["interval_start_utc"][0].as_py() - last).total_seconds() == 15 * 60, "right after the last reading"
    assert kept < len(meters), "a household that the quality rules drop has a forecast, too"


def test_feeder_totals_are_of_the_listed_circuits_and_as_large_as_their_readings_up_to_noise(released, feeders):
    """Oracle: the meters of the public list; the readings of the week, of the median feeder, within a factor of 4."""
    assert set(contents(feeders)) == {*KINDS["feeders"].files, *DESCRIPTIONS}
    totals = read_table(feeders / "feeders.parquet", RELEASED_FEEDERS).to_pandas()
    listed = read_meter_list(released.folder / "results/private/export/meters.csv").circuit_of.values()
    devices = totals.groupby("lv_feeder_id")["aggregated_device_count_active"].first()
    assert devices.to_dict() == Counter(listed) and len(totals) == 3 * 7 * 48 + 2 * 3, "clocks go back in that week"
    meters = read_table(released.folder / "results/private/meters.parquet", METERS)["circuit"].to_pylist()
    parts = sorted((released.folder / "results/private/readings").glob("*.parquet"))
    readings = pd.concat([read_table(part, READINGS).to_pandas() for part in parts])
    ends = totals["data_collection_log_timestamp"]
    week = readings[readings["interval_start_utc"].between(ends.min() - pd.Timedelta("30min"), ends.max(), "left")]
    exact = 1000 * week.groupby(week["household"].map(dict(enumerate(meters))))["energy_kwh"].sum()
    ratio = totals.groupby("lv_feeder_id")["total_consumption_active_import"].sum() / exact
    assert 0.25 < ratio.median() < 4


def test_no_id_no_seed_and_no_salt_leaves(released, folder, forecasts, feeders):
    private = released.folder / "results/private"
    ids = read_table(private / "meters.parquet", METERS)["meter_id"].to_pylist()
    salt = (private / "release_id_salt.txt").read_text().strip()
    for name, data in (contents(folder) | contents(forecasts) | contents(feeders)).items():
        for secret in (*ids, salt, "20251102", '"seed"'):
            assert secret.encode() not in data and secret not in name, name


def test_rerunning_whatever_changed_in_the_code_hands_over_the_same_bytes_and_charges_nothing(
    released, folder, forecasts, feeders
):
    ledger = Ledger(released.folder / "books/ledger.sqlite")
    before = [contents(one) for one in (folder, forecasts, feeders)]
    events = ledger.events()
    names = ("mixture", "forecasts", "feeders")
    wanted = [(name, kind) for name in names for kind in (CHARGED, STORED, PUBLISHED)]
    assert states(events) == sorted(wanted)
    done = released.run(RELEASED, "release", "--forcerun", *(f"release_{name}" for name in names))
    assert done.returncode == 0, done.stdout[-3000:]
    assert [contents(one) for one in (folder, forecasts, feeders)] == before and ledger.events() == events
    done = released.run(RELEASED, "release", "--dry-run")
    assert "Nothing to be done" in done.stdout


def test_a_release_over_the_cap_is_refused_with_what_is_left_and_nothing_is_written(released, folder):
    ledger, before = Ledger(released.folder / "books/ledger.sqlite"), contents(folder)
    events = ledger.events()
    greedy = RELEASED | {"release": RELEASED["release"] | {"epsilon": 4}}
    done = released.run(greedy, "release")
    said = [line for line in done.stdout.splitlines() if line.startswith("meterdp cannot go on.")]
    assert done.returncode != 0 and len(said) >= 1
    assert "would spend more on its meters" in said[0] and "one more release of epsilon 3." in said[0]
    assert ledger.events() == events and contents(folder) == before


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "export.meters': is not set: a release needs a public list of meters"),
        ({"export": {"meters": "list.csv"}}, "export.first_day': is not set: a release needs a public period"),
    ],
)
def test_an_export_without_public_list_and_period_is_refused_before_anything_runs(
    small_export, runner, changed, said
):
    path, frame, settings = small_export
    frame.to_csv(path, index=False)
    (path.parent / "list.csv").write_text("meter_id\nm00\n")
    settings = settings | {"export": settings["export"] | changed.get("export", {})}
    done = runner.run(settings, "release")
    assert done.returncode != 0 and said in done.stdout, done.stdout[-2000:]
    assert not (runner.folder / "results/private/readings").exists()
