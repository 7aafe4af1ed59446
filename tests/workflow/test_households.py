"""Households over a whole period, from a simulated export to years that are drawn from the release."""

import json

import numpy as np

from meterdp.__main__ import main
from meterdp.households.files import draw_years, read_years
from meterdp.households.released import FILE, ReleasedHouseholds

CONFIG = {
    "simulate": {"households": 60, "circuits": 2, "days": 56},
    "shards": 2,
    "release": {
        "what": ["households"],
        "ledger": "ledger.sqlite",
        "insist": True,
        "household_holidays": "US-CA",
        "synthetic_households": 20,
    },
}


def test_households_are_released_once_and_any_year_is_drawn_from_them(runner, tmp_path):
    done = runner.run(CONFIG, "--", "release")
    assert done.returncode == 0, done.stdout[-3000:]
    folder = runner.folder / "results/release/households"
    first = (folder / FILE).read_bytes()
    released = ReleasedHouseholds.of(first)
    assert released.listed == {"all": 60} and len(released.settings.names) == 45
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
