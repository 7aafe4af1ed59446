"""Households over a whole period, from a simulated export to years that are drawn from the release."""

import json

import numpy as np
import pytest

from meterdp.__main__ import main
from meterdp.core.parquet import read_table
from meterdp.households.files import draw_years, read_years
from meterdp.households.released import FILE, ReleasedHouseholds
from meterdp.households.tables import HOUSEHOLD_SCORES
from meterdp.profiles.tables import QUALITY_SUMMARY
from tests.workflow.conftest import Runner

CONFIG = {
    "simulate": {"households": 50, "circuits": 2, "days": 56},
    "shards": 2,
    "release": {
        "what": ["households"],
        "ledger": "ledger.sqlite",
        "allow": ["poor"],
        "household_holidays": "US-CA",
        "synthetic_households": 20,
    },
}


STUDY = "results/study/household_scores.parquet"


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    """A folder with the release, from which a study of the same export goes on."""
    runner = Runner(tmp_path_factory.mktemp("households"))
    done = runner.run(CONFIG, "--", "release")
    assert done.returncode == 0, done.stdout[-3000:]
    return runner


def test_households_are_released_once_and_any_year_is_drawn_from_them(runner, tmp_path):
    folder = runner.folder / "results/release/households"
    first = (folder / FILE).read_bytes()
    released = ReleasedHouseholds.of(first)
    assert released.listed == {"all": 50} and len(released.settings.names) == 46
    assert json.loads((folder / "manifest.json").read_text())["privacy"]["adjacency"] == "replace_one"
    draw_years(folder, tmp_path / "years.parquet", 3, seed=1, year=2027)
    kwh, calendar = read_years(tmp_path / "years.parquet", "America/Los_Angeles")
    assert kwh.shape == (3, 365 * 96) and np.isfinite(kwh).all() and calendar.interval_minutes == 15
    assert main(["households", "draw", str(folder), "--n", "2", "--to", str(tmp_path / "drawn.parquet")]) == 0
    words = ["release", "convert", str(tmp_path / "drawn.parquet"), "--as", "opendss", "--to", str(tmp_path / "out")]
    assert main(words) == 0
    assert (tmp_path / "out/release_manifest.json").read_bytes() == (folder / "manifest.json").read_bytes()
    # A clock change is in the period.
    assert len((tmp_path / "out/household_1.csv").read_text().split()) == 56 * 96 + 4
    again = runner.run(CONFIG, "--forcerun", "release_households", "--", "release")
    assert again.returncode == 0 and (folder / FILE).read_bytes() == first, "the same request draws nothing again"


def test_a_study_of_eight_weeks_compares_the_homes_of_the_export_and_not_a_simulated_year(runner):
    done = runner.run(CONFIG, STUDY, "results/study/quality_summary.parquet")
    assert done.returncode == 0, done.stdout[-3000:]
    scores = read_table(runner.folder / STUDY, HOUSEHOLD_SCORES).to_pandas()
    assert set(scores["period"]) == {"export"} and set(scores["day_count"]) == {56}
    assert set(scores["household_count"]) == {50}, "everybody of the list, whatever was read"
    kept = read_table(runner.folder / "results/study/quality_summary.parquet", QUALITY_SUMMARY).to_pandas()
    kept = kept[(kept["scope"] == "households") & (kept["reason"] == "kept")]["item_count"].iloc[0]
    assert 20 <= scores["sample_count"].iloc[0] <= kept < 50
    assert set(scores["source"]) == {"own_vectors", "released"} and set(scores["epsilon"].dropna()) == {1, 4}
    energy = scores[(scores["statistic"] == "energy, quantiles of homes") & (scores["source"] == "own_vectors")]
    assert energy["absolute_error"].max() < 2
