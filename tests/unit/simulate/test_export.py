"""The written file: format, clock change, determinism, independence of the size of the run, whole or not at all."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pandas as pd
import pytest

from meterdp.errors import InputError
from meterdp.simulate.export import simulate_export
from meterdp.simulate.load import LoadModel
from meterdp.simulate.parameters import simulated_export

SMALL = {"seed": 3, "households": 12, "circuits": 3, "days": 3, "start_date": "2025-11-01"}


def lines(path) -> list[str]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return data.decode("ascii").splitlines()


def test_the_file_is_one_long_csv_with_synthetic_meter_ids(export_path, export):
    assert lines(export_path)[0] == "meter_id,circuit,interval_start,kwh"
    assert export["meter_id"].str.fullmatch(r"SYN-\d{7}").all()
    assert export["circuit"].str.fullmatch(r"C0[1-5]").all()
    assert export["interval_start"].str.fullmatch(r"2025-1[01]-\d\d \d\d:(00|15|30|45)").all()
    assert export["kwh"].str.fullmatch(r"(-?\d+(\.\d{1,3})?)|NULL|").all()
    assert not (export["kwh"] == "-0").any()


def test_the_settings_that_read_the_export_are_those_it_is_written_with(parameters, export, period):
    layout = simulated_export("2025-10-20", 28)
    columns = [layout[f"{name}_column"] for name in ("meter", "circuit", "time", "energy")]
    assert columns == export.columns[:4].tolist()
    assert layout["time_zone"] == parameters.time_zone
    assert layout["last_day"] == "2025-11-16"
    assert layout["interval_minutes"] == parameters.interval_minutes
    stamps = pd.to_datetime(export["interval_start"], format=layout["time_format"])
    assert stamps.min() == pd.Timestamp(period.start_date)  # the start of the first interval, not its end


def test_rows_are_by_meter_then_time(sent):
    assert sent["meter_id"].is_monotonic_increasing
    before = sent[sent["interval_start"] < "2025-11-02 01:00"]
    assert before.groupby("meter_id")["interval_start"].agg(lambda s: s.is_monotonic_increasing).all()


def test_every_household_is_there_with_one_circuit(export):
    assert export["meter_id"].nunique() == 130
    assert len(export[["meter_id", "circuit"]].drop_duplicates()) == 130


def test_the_day_of_the_clock_change_has_100_intervals_and_01_00_twice_in_order(sent, planned, fleet):
    touched = planned["missing_rows"] | planned["missing_block"] | planned["duplicate_rows"]
    change = sent[sent["interval_start"].str.startswith("2025-11-02") & ~sent["meter_id"].isin(touched)]
    assert change["meter_id"].nunique() > 50
    for _, rows in change.groupby("meter_id"):
        hours = rows["interval_start"].str[11:].tolist()
        assert len(hours) == 100
        assert hours[4:12] == ["01:00", "01:15", "01:30", "01:45"] * 2
        assert sorted(set(hours)) == [f"{h:02d}:{m:02d}" for h in range(24) for m in (0, 15, 30, 45)]


def test_the_two_passes_of_the_repeated_hour_are_different_readings(sent):
    repeated = sent[sent["interval_start"].str.startswith("2025-11-02 01:") & (sent["number"] > 0)]
    values = repeated.groupby(["meter_id", "interval_start"])["number"].nunique()
    assert (values == 2).mean() > 0.5


def test_meters_have_two_resolutions(sent, parameters):
    """Some meters report every reading in steps of 0.01 kWh, most in steps of 0.001."""
    fine = sent["kwh"].str.contains(r"\.\d{3}$").groupby(sent["meter_id"]).any()
    assert 0.5 < fine.mean() < 0.95


def test_same_parameters_and_seed_give_the_same_bytes(parameters, tmp_path):
    simulate_export(parameters, tmp_path / "a.csv.gz", **SMALL)
    simulate_export(parameters, tmp_path / "b.csv.gz", **SMALL)
    simulate_export(parameters, tmp_path / "c.csv.gz", **{**SMALL, "seed": 4})
    simulate_export(parameters, tmp_path / "d.csv", **SMALL)
    first = (tmp_path / "a.csv.gz").read_bytes()
    assert first == (tmp_path / "b.csv.gz").read_bytes()
    assert first != (tmp_path / "c.csv.gz").read_bytes()
    assert lines(tmp_path / "a.csv.gz") == lines(tmp_path / "d.csv")


@pytest.mark.parametrize("households", [1, 70])
def test_readings_of_a_household_do_not_depend_on_how_many_others_there_are(parameters, tmp_path, households):
    """70 is more than one batch of meters."""
    simulate_export(parameters, tmp_path / "few.csv", **{**SMALL, "households": households})
    simulate_export(parameters, tmp_path / "many.csv", **{**SMALL, "households": 90})
    few = lines(tmp_path / "few.csv")
    ids = {line.split(",")[0] for line in few}
    assert len(ids) == households + 1  # and the header
    assert few == [line for line in lines(tmp_path / "many.csv") if line.split(",")[0] in ids]


def test_without_overrides_the_parameters_hold(parameters, tmp_path):
    kinds = tuple(replace(kind, households=1) for kind in parameters.household_types)
    six = replace(parameters, household_types=kinds, days=1, circuits=2)
    simulate_export(six, tmp_path / "six.csv", seed=1)
    rows = [line.split(",") for line in lines(tmp_path / "six.csv")[1:]]
    assert len({row[0] for row in rows}) == 6
    assert {row[2][:10] for row in rows} == {"2025-10-20"}


@pytest.mark.parametrize(
    ("override", "field"),
    [
        ({"households": 0}, "simulate.households"),
        ({"households": True}, "simulate.households"),
        ({"circuits": -1}, "simulate.circuits"),
        ({"days": 1.5}, "simulate.days"),
        ({"start_date": "2 November"}, "simulate.start_date"),
        ({"seed": -1}, "seed"),
        ({"seed": None}, "seed"),
    ],
)
def test_a_bad_override_is_refused_and_nothing_is_written(parameters, tmp_path, override, field):
    with pytest.raises(InputError) as caught:
        simulate_export(parameters, tmp_path / "never.csv", **{**SMALL, **override})
    assert caught.value.field == field
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_fails_half_way_leaves_nothing(parameters, tmp_path, monkeypatch):
    energy = LoadModel.energy

    def fails_late(self, kind, household):
        if household == 66:
            raise RuntimeError("killed")
        return energy(self, kind, household)

    monkeypatch.setattr(LoadModel, "energy", fails_late)
    with pytest.raises(RuntimeError):
        simulate_export(parameters, tmp_path / "half.csv.gz", **{**SMALL, "households": 80})
    assert list(tmp_path.iterdir()) == []
