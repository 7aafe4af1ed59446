"""Readings drawn from a release as a file, and two files of readings compared."""

import json
import re
import shutil
from functools import partial

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from meterdp.__main__ import main
from meterdp.core.job import progress
from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import metadata_of, read_table, table_bytes, write_table
from meterdp.core.weekend import SATURDAY_SUNDAY, Weekend
from meterdp.errors import InputError
from meterdp.households.files import draw_years, lines, read_years, score_files, zone_of
from meterdp.households.mechanism import Population
from meterdp.households.released import FILE, ReleasedHouseholds
from meterdp.households.tables import DRAWN_READINGS
from meterdp.households.vector import VectorSettings, household_vectors
from meterdp.mixture.draws import Mixture
from meterdp.publish.tables import RELEASED_HOUSEHOLDS
from meterdp.release.service import as_json, checksums
from tests.unit.households.homes import EIGHT_WEEKS, simulated

SETTINGS = VectorSettings(EIGHT_WEEKS)
GUARANTEE = "(1, 1e-05)-differential privacy for all readings of one listed meter"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder as a release leaves it: two strata, one with twice the energy."""
    x = household_vectors(simulated(6, EIGHT_WEEKS), SETTINGS).mean(axis=0)
    populations = tuple(
        Population(
            Mixture(np.ones(1), (x + shift * np.eye(len(x))[0])[None], 1e-4 * np.eye(len(x))[None]), np.empty(0), ()
        )
        for shift in (0.0, np.log(2))
    )
    place = tmp_path_factory.mktemp("households")
    found = ReleasedHouseholds(SETTINGS, None, {"flat": 300, "house": 100}, populations, None)
    vectors = {"household": [1], "stratum": ["flat"], "vector": [x]}
    files = {
        FILE: as_json(found.stated),
        "household_vectors.parquet": table_bytes(RELEASED_HOUSEHOLDS, vectors, {"guarantee": GUARANTEE}),
    }
    manifest = {
        "privacy": {"epsilon": 1, "delta": 1e-5, "adjacency": "replace_one", "hides": [], "does_not_hide": []},
        "public_parameters": {"export": {"time_zone": "UTC"}},
        "population": "town",
        "period": ["2025-01-06", "2025-03-02"],
        "simulated_data": True,
        "expected_error": {"first": ["no cable should be sized by it"]},
        "sha256": checksums(files),
    }
    for name, data in {**files, "manifest.json": as_json(manifest)}.items():
        (place / name).write_bytes(data)
    return place


def test_drawn_readings_are_a_declared_table_of_whole_households(folder, tmp_path):
    draw_years(folder, tmp_path / "drawn.parquet", 5, seed=3)
    table = read_table(tmp_path / "drawn.parquet", DRAWN_READINGS)
    slots = EIGHT_WEEKS.slot_count
    assert table["household"].to_numpy().tolist() == np.repeat(np.arange(1, 6), slots).tolist()
    stamps = table["interval_start_utc"].to_numpy().reshape(5, slots)
    assert (stamps == EIGHT_WEEKS.start_utc).all()
    assert (table["energy_kwh"].to_numpy() >= 0).all()
    data = (folder / FILE).read_bytes()
    strata, _ = ReleasedHouseholds.of(data).draw(5, StudyNoise(3, "households"))
    assert len(set(strata)) == 2 and table["stratum"].to_pylist() == np.repeat(strata, slots).tolist()


def test_the_same_seed_gives_the_same_readings_and_batches_do_not_matter(folder, tmp_path, monkeypatch):
    draw_years(folder, tmp_path / "a.parquet", 5, seed=3)
    monkeypatch.setattr("meterdp.households.generate._BATCH_NUMBERS", 2 * EIGHT_WEEKS.slot_count)
    draw_years(folder, tmp_path / "b.parquet", 5, seed=3)
    draw_years(folder, tmp_path / "c.parquet", 5, seed=4)
    a, b, c = (read_table(tmp_path / f"{name}.parquet", DRAWN_READINGS)["energy_kwh"].to_numpy() for name in "abc")
    assert a == pytest.approx(b, rel=1e-9) and not np.allclose(a, c)
    assert pq.ParquetFile(tmp_path / "b.parquet").num_row_groups == 3


def test_a_stratum_and_a_year_can_be_asked_for(folder, tmp_path, capsys):
    words = ["households", "draw", str(folder), "--n", "3", "--stratum", "house", "--year", "2027", "--to"]
    assert main([*words, str(tmp_path / "houses.parquet")]) == 0
    said = capsys.readouterr().out
    assert "readings of 3 synthetic households\n- no cable should be sized by it.\n" in said
    assert "covers 6 January to 2 March, too short a period to tell seasons: other days of 2027 carry none" in said
    houses, calendar = read_years(tmp_path / "houses.parquet", "UTC")
    assert houses.shape == (3, 365 * 24) and calendar.days[0].year == calendar.days[-1].year == 2027
    draw_years(folder, tmp_path / "flats.parquet", 3, seed=0, stratum="flat")
    before = (tmp_path / "houses.parquet").read_bytes()
    assert main([*words, str(tmp_path / "houses.parquet")]) == 1
    assert "houses.parquet: already exists; name a new file." in capsys.readouterr().err
    assert (tmp_path / "houses.parquet").read_bytes() == before
    flats, _ = read_years(tmp_path / "flats.parquet", "UTC")
    assert houses.mean() / flats.mean() == pytest.approx(2, rel=0.15)
    assert main([*words[:4], "0", "--to", str(tmp_path / "none.parquet")]) != 0
    assert main([*words[:-2], "20270", "--to", str(tmp_path / "none.parquet")]) != 0
    assert not (tmp_path / "none.parquet").exists()


def test_only_parquet_is_written_and_only_from_released_households(folder, tmp_path, capsys):
    words = ["households", "draw", "--n", "3", "--to"]
    assert main([*words, str(tmp_path / "drawn.csv"), str(folder)]) == 1
    assert "drawn.csv: must end in .parquet; name" in capsys.readouterr().err
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    manifest = json.loads((folder / "manifest.json").read_text())
    for name, holds in (
        ("mixture.parquet", "typical load profiles"),
        ("feeders.parquet", "energy totals of feeders"),
        ("recipients.parquet", "forecasts"),
    ):
        (other / "manifest.json").write_text(json.dumps(manifest | {"sha256": {name: "0"}}))
        assert main([*words, str(tmp_path / "drawn.parquet"), str(other)]) == 1
        said = f"other: is a release of {holds}, but households are drawn only from a release of households;"
        assert said in capsys.readouterr().err
    (other / "manifest.json").write_text(json.dumps(manifest | {"sha256": {"household_vectors.parquet": "0"}}))
    assert main([*words, str(tmp_path / "drawn.parquet"), str(other)]) == 1
    assert "other: has no households.json; name a folder" in capsys.readouterr().err
    assert not list(tmp_path.glob("drawn*"))


def test_how_much_is_drawn_is_said_with_its_total(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("meterdp.households.generate._BATCH_NUMBERS", 2 * EIGHT_WEEKS.slot_count)
    monkeypatch.setattr("meterdp.households.files.progress", partial(progress, every_s=0.0))
    draw_years(folder, tmp_path / "drawn.parquet", 5, seed=3)
    assert "parts of the readings of 5 households: 2/3 (" in capsys.readouterr().err


def test_a_drawn_file_carries_the_release_and_becomes_files_of_a_tool(folder, tmp_path, capsys):
    assert main(["release", "convert", str(folder), "--as", "pypsa", "--to", str(tmp_path / "out")]) == 1
    assert "readings have not been drawn yet; draw some with `meterdp households draw`" in capsys.readouterr().err
    assert main(["households", "draw", str(folder), "--n", "3", "--to", str(tmp_path / "drawn.parquet")]) == 0
    metadata = metadata_of(tmp_path / "drawn.parquet")
    assert metadata["guarantee"] == GUARANTEE and metadata["manifest"] == (folder / "manifest.json").read_text()
    words = ["release", "convert", str(tmp_path / "drawn.parquet"), "--as", "pypsa", "--to", str(tmp_path / "out")]
    assert main(words) == 0
    kwh, calendar = read_years(tmp_path / "drawn.parquet", "UTC")
    power_mw = pd.read_csv(tmp_path / "out/loads-p_set.csv", index_col=0)
    np.testing.assert_allclose(power_mw.to_numpy().T * 1000, kwh, rtol=0, atol=0.5001e-6)
    snapshots = pd.read_csv(tmp_path / "out/snapshots.csv", index_col=0)["snapshot"]
    assert (pd.to_datetime(snapshots).to_numpy() == calendar.start_utc).all()


def test_nothing_is_drawn_from_a_folder_that_is_not_what_was_released(folder, tmp_path, capsys):
    shutil.copytree(folder, tmp_path / "changed")
    (tmp_path / "changed" / FILE).write_bytes((folder / FILE).read_bytes() + b" ")
    for given, words in ((tmp_path / "changed", "not what was released"), (tmp_path, "has no manifest of a release")):
        assert main(["households", "draw", str(given), "--n", "3", "--to", str(tmp_path / "drawn.parquet")]) == 1
        assert words in capsys.readouterr().err
    assert not (tmp_path / "drawn.parquet").exists()


def test_files_of_other_names_and_kinds_are_compared_beside_their_own_halves(tmp_path, capsys):
    kwh = simulated(12, EIGHT_WEEKS)
    stamps = pd.to_datetime(EIGHT_WEEKS.start_utc)
    table = pd.DataFrame(
        {
            "meter_id": np.repeat([f"m{i}" for i in range(12)], len(stamps)),
            "timestamp": np.tile(stamps.strftime("%Y-%m-%d %H:%M"), 12),
            "kwh": kwh.ravel(),
        }
    )
    table.to_csv(tmp_path / "real.csv", index=False)
    double = table.rename(columns={"meter_id": "ID", "timestamp": "interval_start_utc", "kwh": "target"})
    double.assign(target=2 * double["target"]).to_parquet(tmp_path / "double.parquet")
    same = score_files(tmp_path / "real.csv", tmp_path / "real.csv", "UTC")
    # Of copies the distance is zero, and a forecast is judged on homes that copies were made of.
    rest = [row for row in same if not row.statistic.startswith(("distance to", "forecast"))]
    assert all(row.error == 0 for row in rest if row.error_unit in ("%", "KS", "min") and np.isfinite(row.error))
    rows = {(row.statistic, row.detail): row for row in score_files(
        tmp_path / "real.csv", tmp_path / "double.parquet", "UTC", "CH")}  # fmt: skip
    assert rows["energy, quantiles of homes", "0.5"].error == pytest.approx(100)
    assert rows["autocorrelation", "1 day"].error == pytest.approx(0, abs=1e-9)
    assert rows["energy, quantiles of homes", "0.5"].floor > 0
    table.assign(kwh=table["kwh"] / 100).to_csv(tmp_path / "little.csv", index=False)
    double.assign(target=double["target"] / 50).to_parquet(tmp_path / "little.parquet")
    for row in score_files(tmp_path / "little.csv", tmp_path / "little.parquet", "UTC", "CH"):
        if row.statistic.startswith("distance to"):
            of_usual = rows[row.statistic, row.detail]
            assert (row.real, row.synthetic) == pytest.approx((of_usual.real, of_usual.synthetic), rel=1e-6)
    asked = ["score", str(tmp_path / "real.csv"), str(tmp_path / "double.parquet")]
    assert main([*asked, "--weekend", "friday", "saturday"]) == 0
    elsewhere = capsys.readouterr().out.splitlines()
    assert main(asked) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "Days and hours of the day are those of UTC, as neither file names a time zone (--time-zone)."
    assert out[1].split() == ["real", "synthetic", "off", "by", "real", "against", "real"]
    (off, other), (mean, same) = ([line.split() for said in (out, elsewhere) for line in said if of in line]
                                  for of in ("profile of days off", "energy, quantiles of homes 0.5"))  # fmt: skip
    assert off[-6:] != other[-6:] and mean[:7] == same[:7], "energy is that of all days"
    assert len(out) == len(rows) + 2 == len(list(lines(list(rows.values())))) + 1
    units = {line[: line.index("  ")]: re.split(" {2,}", line)[1] for line in out[2:]}
    assert re.fullmatch(r"[\d.]+ h", units["hour of the peak"])
    assert re.fullmatch(r"[\d.]+ *", units["load factor, quantiles of homes 0.5"]), "no unit is printed of a ratio"


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"meter": "a", "interval_start": "2025-01-01", "kwh": 1.0}, "has no column household or meter_id"),
        (
            {"profile": 1, "energy_kwh": "[0.1, 0.2]"},
            "holds daily profiles, .* give readings of homes over many days",
        ),
        ({"household": 1, "interval_start": "2025-01-01", "kwh": 1.0}, "has no regular interval"),
    ],
)
def test_files_that_are_no_readings_are_refused(tmp_path, columns, words):
    pd.DataFrame([columns]).to_csv(tmp_path / "odd.csv", index=False)
    with pytest.raises(InputError, match=words):
        read_years(tmp_path / "odd.csv", "UTC")


def test_a_folder_is_no_file_of_readings(folder):
    with pytest.raises(InputError, match="is a folder; give readings of homes"):
        read_years(folder, "UTC")


def test_the_time_zone_is_that_of_a_release_a_file_is_of(tmp_path):
    """Drawn readings carry their manifest, those released lie beside it; another that lies there is of none."""
    zone = {"public_parameters": {"export": {"time_zone": "Europe/Copenhagen"}}, "sha256": {"released.parquet": "0"}}
    columns = {"household": [], "stratum": [], "interval_start_utc": [], "energy_kwh": []}
    for name, manifest in (("drawn", zone), ("released", None), ("other", None), ("odd", {"public_parameters": 3})):
        metadata = {} if manifest is None else {"manifest": json.dumps(manifest)}
        write_table(tmp_path / f"{name}.parquet", DRAWN_READINGS, columns, metadata)
    (tmp_path / "homes.csv").write_text("household\n")
    drawn, released, other, odd = (tmp_path / f"{n}.parquet" for n in ("drawn", "released", "other", "odd"))
    assert zone_of([released]) is None, "no manifest is there yet"
    (tmp_path / "manifest.json").write_text(json.dumps(zone))
    assert zone_of([drawn]) == ("Europe/Copenhagen", SATURDAY_SUNDAY, drawn)
    zone["public_parameters"]["export"]["weekend"] = ["friday", "saturday"]
    (tmp_path / "manifest.json").write_text(json.dumps(zone))
    assert zone_of([tmp_path / "homes.csv", other, released]) == ("Europe/Copenhagen", Weekend((4, 5)), released)
    assert zone_of([other, odd, tmp_path / "homes.csv", tmp_path / "nowhere.parquet"]) is None


def test_files_of_other_periods_are_refused(tmp_path):
    for name, first in (("one", "2025-01-01"), ("two", "2026-01-01")):
        stamps = pd.date_range(first, periods=60 * 24, freq="h")
        pd.DataFrame({"household": 1, "interval_start": stamps, "kwh": 1.0}).to_csv(tmp_path / f"{name}.csv")
    with pytest.raises(InputError, match="has other intervals than the real readings"):
        score_files(tmp_path / "one.csv", tmp_path / "two.csv", "UTC")


def test_an_attack_is_scored_beside_homes_that_were_not_used(tmp_path, capsys):
    kwh = simulated(12, EIGHT_WEEKS)
    for name, part in (("members", kwh[:6]), ("strangers", kwh[6:])):
        stamps = np.tile(EIGHT_WEEKS.start_utc, 6)
        number = np.repeat(np.arange(6), EIGHT_WEEKS.slot_count)
        table = pd.DataFrame({"household": number, "interval_start_utc": stamps, "energy_kwh": part.ravel()})
        table.to_parquet(tmp_path / f"{name}.parquet")
    words = ["score", *2 * [str(tmp_path / "members.parquet")], "--others", str(tmp_path / "strangers.parquet")]
    assert main(words) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("membership attack odds that it is right") and "above a guess" in last
