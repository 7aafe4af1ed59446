"""Of rows of several registers or states those that are kept are read, as if there were no others."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from meterdp.__main__ import main
from meterdp.errors import InputError
from meterdp.ingest.settings import ExportSettings
from tests.unit.ingest.made_up import ingested, two_days
from tests.unit.ingest.made_up_exports import plain, readings

ZONE = "Europe/Zurich"
KEPT, OTHERS = "1-1:1.8.0", ["1-1:2.8.0", "", "1-1:1.8.0*1", "kvarh"]
REGISTER = {"keep_rows": {"obis": (KEPT,)}, "time_zone": ZONE}
# What a row of another register may hold: nothing of it is looked at.
JUNK = {"interval_start": ["2021-06-01 00:00", "x", "", "2021-06-01T00:00Z"], "kwh": ["9.5", "x", "", "1e999"]}


def with_others(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The rows, between them some of other registers of the same meters and of one more."""
    generator = np.random.default_rng(seed)
    more = frame.sample(frac=1.5, replace=True, random_state=seed).assign(
        obis=lambda rows: generator.choice(OTHERS, len(rows)),
        unit="kvarh",
        **{name: generator.choice(words, int(1.5 * len(frame))) for name, words in JUNK.items()},
    )
    place = np.concatenate([np.arange(len(frame)), generator.uniform(0, len(frame), len(more))])
    both = pd.concat([frame, more]).iloc[np.argsort(place, kind="stable")]
    return both.reset_index(drop=True)


def rows_of_one() -> pd.DataFrame:
    frame = two_days()
    text = ["" if np.isnan(kwh) else str(kwh) for kwh in frame["kwh"]]
    return pd.DataFrame({"meter_id": frame["meter"], "interval_start": frame["local"], "kwh": text}).assign(
        obis=f" {KEPT}", unit="kWh"
    )


@pytest.mark.parametrize("bad_rows", ["refuse", "missing"])
@pytest.mark.parametrize("time_format", ["%Y-%m-%d %H:%M", "ISO8601"])
@pytest.mark.parametrize("unit_column", [None, "unit"])
def test_readings_are_those_of_the_export_without_the_other_rows(tmp_path, bad_rows, time_format, unit_column):
    """Oracle: the rows of the register alone."""
    alone = rows_of_one()
    both = with_others(alone, seed=1)
    alone.to_csv(tmp_path / "alone.csv", index=False)
    both.to_csv(tmp_path / "both.csv", index=False)
    own = {"time_format": time_format, "unit_column": unit_column, "bad_rows": bad_rows}
    expected = ingested(tmp_path / "alone.csv", ExportSettings(time_zone=ZONE, **own))
    found = ingested(tmp_path / "both.csv", ExportSettings(**REGISTER, **own))
    pd.testing.assert_frame_equal(found.energy_kwh, expected.energy_kwh, check_exact=True)
    assert found.counts == expected.counts | {"other_register": len(both) - len(alone)}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_parquet_and_csv_of_the_same_rows_agree(tmp_path_factory, seed):
    folder = tmp_path_factory.mktemp("registers")
    both = with_others(rows_of_one(), seed)
    both.to_csv(folder / "e.csv", index=False)
    pq.write_table(pa.Table.from_pandas(both.replace("", None), preserve_index=False), folder / "e.parquet")
    by_csv = ingested(folder / "e.csv", ExportSettings(**REGISTER))
    by_parquet = ingested(folder / "e.parquet", ExportSettings(format="parquet", **REGISTER))
    pd.testing.assert_frame_equal(by_csv.energy_kwh, by_parquet.energy_kwh, check_exact=True)
    assert by_csv.counts == by_parquet.counts


def test_days_of_other_registers_are_left_out_cell_by_cell(tmp_path):
    times = [f"{minute // 60:02d}:{minute % 60:02d}" for minute in range(0, 1440, 15)]
    rows = [
        [meter, obis, day, *(["x"] * 96 if obis != KEPT else [str(k / 100) for k in range(96)])]
        for meter in ("A", "B")
        for day in ("2021-06-01", "2021-06-02")
        for obis in (KEPT, "1-1:2.8.0")
    ]
    pd.DataFrame(rows, columns=["meter_id", "obis", "date", *times]).to_csv(tmp_path / "e.csv", index=False)
    found = ingested(tmp_path / "e.csv", ExportSettings(format="wide_csv", time_format="%Y-%m-%d", **REGISTER))
    assert found.counts == {"used": 2 * 2 * 96, "other_register": 2 * 2 * 96}
    assert found.energy_kwh["A"].tolist() == [k / 100 for k in range(96)] * 2


@pytest.mark.parametrize(
    "given",
    [
        {"format": "nem12"},
        {"format": "wide_csv", "wide_layout": "meters"},
        {"energy_column": "obis"},
        {"time_column": "obis"},
    ],
)
def test_settings_that_do_not_fit_are_refused(given):
    with pytest.raises(InputError, match=r"export\.keep_rows"):
        ExportSettings(keep_rows={"obis": (KEPT,)}, **given)


@pytest.mark.parametrize("form", ["long_csv", "parquet", "wide_csv"])
@pytest.mark.parametrize("bad_rows", ["refuse", "missing"])
def test_rows_are_kept_by_several_entries_of_several_columns(tmp_path, form, bad_rows):
    """Oracle: the rows that pandas finds; an empty entry is one, and null is an empty one."""
    generator = np.random.default_rng(3)
    alone = rows_of_one().replace("", "0.25").drop_duplicates(["meter_id", "interval_start"])
    if form == "wide_csv":
        alone["date"] = alone["interval_start"].str[:10]
        alone["time"] = alone["interval_start"].str[11:]
        alone = alone.pivot_table(
            index=["meter_id", "date"], columns="time", values="kwh", aggfunc="last"
        ).reset_index()
    alone["obis"] = generator.choice(["a", "b", ""], len(alone))
    alone["state"] = generator.choice(["W", "E", "F"], len(alone))
    keep = {"obis": ("a", ""), "state": ("W", "E")}
    kept = alone[alone["obis"].isin(keep["obis"]) & alone["state"].isin(keep["state"])]
    assert 0 < len(kept) < len(alone)
    given = {"time_zone": ZONE, "bad_rows": bad_rows, "format": form}
    if form == "wide_csv":
        given["time_format"] = "%Y-%m-%d"
    energy = []
    for name, rows, more in (("all", alone, {"keep_rows": keep}), ("kept", kept, {})):
        if form == "parquet":
            pq.write_table(pa.Table.from_pandas(rows.replace("", None), preserve_index=False), tmp_path / name)
        else:
            rows.to_csv(tmp_path / name, index=False)
        energy.append(ingested(tmp_path / name, ExportSettings(**given, **more)))
    found, expected = energy
    pd.testing.assert_frame_equal(found.energy_kwh, expected.energy_kwh, check_exact=True)
    assert found.counts["used"] == expected.counts["used"] > 0
    assert sum(found.counts.values()) == sum(expected.counts.values()) + found.counts["other_register"]


def test_a_column_that_leaves_rows_out_may_be_that_of_the_circuit(tmp_path):
    rows = rows_of_one().assign(circuit=lambda t: np.where(t["meter_id"] == t["meter_id"].iloc[0], "F1", "F2"))
    rows.to_csv(tmp_path / "e.csv", index=False)
    given = ExportSettings(time_zone=ZONE, circuit_column="circuit", keep_rows={"circuit": ("F1",)})
    found = ingested(tmp_path / "e.csv", given)
    assert found.counts["other_register"] == (rows["circuit"] == "F2").sum() > 0


@pytest.mark.parametrize(
    ("register", "proposed"),
    [
        *((KEPT, True), ("1.8.0", True), ("kWh import", True), ("Bezug", True), ("順潮流", True)),
        *(("1-1:1.8.1", False), ("T1", False)),
    ],
)
def test_a_check_proposes_the_register_of_consumption_where_it_is_sure(tmp_path, capsys, register, proposed):
    frame = plain(readings(days=14))
    both = pd.concat([frame.assign(register=register), frame.assign(register="kWh export", kwh=frame["kwh"] / 7)])
    both.to_csv(tmp_path / "e.csv", index=False)
    code = main(
        ["check", str(tmp_path / "e.csv"), "--time-zone", "Europe/London", "--write", str(tmp_path / "my.yaml")]
    )
    out, error = capsys.readouterr()
    if not proposed:
        assert code == 1 and f"({register}, kWh export)" in error
        assert "add export: {keep_rows: {register: [entry to keep]}}" in error and "to your configuration" in error
        return
    proposal = yaml.safe_load((tmp_path / "my.yaml").read_text())["export"]
    assert code == 0 and proposal["keep_rows"] == {"register": [register]}
    assert f"rows of the register '{register}' are read, others (kWh export) not, by 'register'" in out
    assert main(["check", "--config", str(tmp_path / "my.yaml")]) == 0


@pytest.mark.parametrize(
    ("day", "night", "at_once"),
    [("Afname Dag", "Afname Nacht", False), ("1-1:1.8.1", "1-1:1.8.2", False), ("Afname Dag", "Afname Nacht", True)],
)
def test_registers_of_two_tariffs_are_kept_unless_their_energy_must_be_added(tmp_path, capsys, day, night, at_once):
    """As Belgian networks send them: each interval stands in the register of its tariff, feed-in beside it."""
    frame = plain(readings(days=14))
    in_day = frame["interval_start"].str[11:13].between("07", "21")
    both = [frame.assign(Register=np.where(in_day, day, night))]
    if at_once:
        both = [frame.assign(Register=name, kwh=frame["kwh"] / 2) for name in (day, night)]
    export = pd.concat([*both, frame.assign(Register="Injectie Dag", kwh=0.1)])
    export.sort_values(["meter_id", "interval_start"], kind="stable").to_csv(tmp_path / "e.csv", index=False)
    code = main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE, "--write", str(tmp_path / "my.yaml")])
    out, error = capsys.readouterr()
    if at_once:
        assert code == 1 and "add up those that are parts of the consumption" in error
        return
    proposal = yaml.safe_load((tmp_path / "my.yaml").read_text())["export"]
    assert code == 0 and sorted(proposal["keep_rows"]["Register"]) == [day, night]
    assert "are read, others (" in out and "0.0% of a typical meter's readings are missing" in out


def test_each_of_two_columns_may_tell_rows_apart(tmp_path, capsys):
    frame = plain(readings(days=14))
    rows = [
        frame.assign(Channel=channel, Quantity=quantity, kwh=frame["kwh"] * factor)
        for channel, quantity, factor in (
            ("Del", "kWh", 1), ("Rec", "kWh", 0.2), ("Del", "pulses", 1000), ("Rec", "pulses", 200)
        )
    ]  # fmt: skip
    both = pd.concat(rows).sort_values(["meter_id", "interval_start"], kind="stable")
    both.to_csv(tmp_path / "e.csv", index=False)
    words = ["check", str(tmp_path / "e.csv"), "--time-zone", "Europe/London", "--write", str(tmp_path / "my.yaml")]
    assert main(words) == 0
    assert "are read, others (" in capsys.readouterr().out
    export = yaml.safe_load((tmp_path / "my.yaml").read_text())["export"]
    assert export["keep_rows"] == {"Channel": ["Del"], "Quantity": ["kWh"]}
    assert main(["check", "--config", str(tmp_path / "my.yaml")]) == 0
    # With one of them the check says which is missing.
    (tmp_path / "half.yaml").write_text(yaml.safe_dump({"export": export | {"keep_rows": {"Channel": ["Del"]}}}))
    main(["check", "--config", str(tmp_path / "half.yaml")])
    said = capsys.readouterr().out
    assert "set export.keep_rows to {Channel: [Del], Quantity: [kWh]}" in said


@pytest.mark.parametrize(
    ("state", "noticed"),
    [
        (lambda t, lost: np.where(lost, "F", "W"), True),  # not measured, and written as zero
        (lambda t, lost: np.where(lost, "", "W"), True),
        (lambda t, lost: np.where(t["interval_start"].str[11:] < "06:00", "night", "day"), False),
        (lambda t, lost: np.where(t["meter_id"] == "M000", "vacant", "home"), False),  # says something of the meter
        (lambda t, lost: np.where(np.arange(len(t)) % 7 == 3, "E", "R"), False),
    ],
)
def test_zeros_that_a_column_of_states_explains_are_noticed(tmp_path, capsys, state, noticed):
    frame = plain(readings(days=14))
    lost = np.random.default_rng(5).random(len(frame)) < 0.04
    frame["kwh"] = np.where(lost | (frame["meter_id"] == "M000"), 0.0, frame["kwh"])
    frame.assign(Status=state(frame, lost)).to_csv(tmp_path / "e.csv", index=False)
    words = ["check", str(tmp_path / "e.csv"), "--time-zone", "Europe/London"]
    main([*words, "--write", str(tmp_path / "my.yaml")])
    said = capsys.readouterr().out
    assert ("'Status' has the entry" in said and "nearly all zero" in said) == noticed
    main(["check", "--config", str(tmp_path / "my.yaml")])
    assert ("nearly all zero" in capsys.readouterr().out) == noticed
    if noticed:
        export = yaml.safe_load((tmp_path / "my.yaml").read_text())["export"] | {"keep_rows": {"Status": ["W"]}}
        (tmp_path / "kept.yaml").write_text(yaml.safe_dump({"export": export}))
        assert main(["check", "--config", str(tmp_path / "kept.yaml")]) == 0
        assert "nearly all zero" not in capsys.readouterr().out


def test_what_tells_rows_apart_is_looked_for_in_more_than_the_first_file(tmp_path, capsys):
    """A file per home: the first one has no panels and measures in kWh."""
    frame = plain(readings(days=14)).assign(Unit="kWh", Type="Consumption", Quality="Measured")
    folder = tmp_path / "homes"
    folder.mkdir()
    for number, (meter, rows) in enumerate(frame.groupby("meter_id")):
        if number == 1:
            rows = rows.assign(Unit="Wh", kwh=rows["kwh"] * 1000)
        if number == 2:
            rows = pd.concat([rows, rows.assign(Type="Production", kwh=0.25)])
            rows = rows.sort_values("interval_start", kind="stable")
        if number == 3:
            lost = np.random.default_rng(6).random(len(rows)) < 0.1
            rows = rows.assign(Quality=np.where(lost, "Missing", "Measured"), kwh=np.where(lost, 0.0, rows["kwh"]))
        rows.to_csv(folder / f"{meter}.csv", index=False)
    words = ["check", str(folder), "--time-zone", "Europe/London", "--write", str(tmp_path / "my.yaml")]
    assert main(words) == 0
    assert "'Quality' has the entry" in capsys.readouterr().out
    config = yaml.safe_load((tmp_path / "my.yaml").read_text())
    assert (config["export"]["unit_column"], config["export"]["keep_rows"]) == ("Unit", {"Type": ["Consumption"]})
    found = ingested(folder, {key: value for key, value in config["export"].items() if key != "path"}).energy_kwh
    truth = frame.pivot_table(index="interval_start", columns="meter_id", values="kwh")
    keep = truth.columns[:3]
    np.testing.assert_allclose(found[keep].to_numpy(), truth[keep].to_numpy(), rtol=1e-12)
    # Settings that leave out what other files need are told.
    del config["export"]["unit_column"]
    (tmp_path / "without.yaml").write_text(yaml.safe_dump(config))
    assert main(["check", "--config", str(tmp_path / "without.yaml")]) == 1
    assert "field 'Unit': names units (Wh)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("keep", "lacking"),
    [
        (["W", "E"], None),
        (["W", "E", "lost"], None),
        (["W", "Estimerat"], "'Estimerat'"),
        (["w"], "'w'"),
        (["E", "W", "x"], "'x'"),
    ],
)
def test_an_entry_to_keep_that_no_row_has_is_told(tmp_path, capsys, keep, lacking):
    frame = plain(readings(days=14))
    frame["Status"] = np.where(np.arange(len(frame)) % 9 == 3, "E", "W")
    frame.loc[100, ["Status", "kwh"]] = "lost", None
    frame.to_csv(tmp_path / "e.csv", index=False)
    export = {"path": str(tmp_path / "e.csv"), "time_zone": "Europe/London", "interval_minutes": 30}
    (tmp_path / "my.yaml").write_text(yaml.safe_dump({"export": export | {"keep_rows": {"Status": keep}}}))
    main(["check", "--config", str(tmp_path / "my.yaml")])
    said = capsys.readouterr().out
    assert ("rows that were looked at has" in said) == (lacking is not None)
    assert lacking is None or f"none of the {len(frame):,} rows that were looked at has {lacking} in" in said


@pytest.mark.parametrize(
    ("wrong", "kept"),
    [({"Type": "A"}, {"Type": ["A"]}), ({"Type": 5}, None), ({"Type": [["A"]]}, None), ("Type", None), ([1], None)],
)
def test_rows_to_keep_that_are_not_in_order_are_refused_with_what_can_be_made_of_them(tmp_path, capsys, wrong, kept):
    frame = plain(readings(days=14))
    both = pd.concat([frame.assign(Type="A"), frame.assign(Type="B", kwh=frame["kwh"] / 7)])
    both.sort_values(["meter_id", "interval_start"], kind="stable").to_csv(tmp_path / "e.csv", index=False)
    (tmp_path / "my.yaml").write_text(
        yaml.safe_dump({"export": {"path": str(tmp_path / "e.csv"), "keep_rows": wrong}})
    )
    assert main(["check", "--config", str(tmp_path / "my.yaml")]) == 1
    said = capsys.readouterr().out
    assert "field 'export.keep_rows" in said and "of type" in said
    if kept is None:
        assert "export: {keep_rows: {Type: [entry to keep]}}" in said
    else:
        assert yaml.safe_load(said.partition("A configuration that reads it:")[2])["export"]["keep_rows"] == kept
