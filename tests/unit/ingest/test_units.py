"""A column of units: energy is converted row by row, and what is none is left out; unread, it ends a study."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from meterdp.__main__ import main
from meterdp.errors import InputError
from meterdp.ingest.settings import ExportSettings, conversion
from tests.unit.ingest.made_up import ingested, two_days
from tests.unit.ingest.made_up_exports import ZONE, plain, readings

# Of intervals of a quarter hour.
KWH_PER = {"kWh": 1, " KWH": 1, "Wh": 1e-3, "WH": 1e-3, "MWh": 1e3, "KW": 0.25, "w": 0.25e-3}
NO_ENERGY = ("KVARH", "kVAh", "V", "kvar")


def in_own_units(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows whose unit changes from row to row."""
    unit = np.resize([*KWH_PER], len(frame))
    return frame.assign(unit=unit, kwh=(frame["kwh"] / [KWH_PER[u] for u in unit]).map(repr))


def with_other_quantities(frame: pd.DataFrame) -> pd.DataFrame:
    more = frame.iloc[::3].assign(unit=np.resize(NO_ENERGY, len(frame.iloc[::3])), kwh="7")
    return pd.concat([frame, more]).sort_index(kind="stable")


@pytest.mark.parametrize("bad_rows", ["refuse", "missing"])
@pytest.mark.parametrize("time_format", ["%Y-%m-%d %H:%M", "ISO8601"])
@pytest.mark.parametrize("written", ["csv", "quoted", "parquet"])
@pytest.mark.parametrize("unit", ["kWh", "Wh"])
def test_rows_in_several_units_are_the_energy_in_kwh(tmp_path, bad_rows, time_format, written, unit):
    """Oracle: the same rows in kWh, without those of other quantities."""
    frame = two_days().rename(columns={"local": "interval_start", "meter": "meter_id"}).dropna()
    frame = frame[["meter_id", "interval_start", "kwh"]]
    rows = with_other_quantities(in_own_units(frame))
    settings = {"time_zone": "Europe/Zurich", "time_format": time_format, "bad_rows": bad_rows}
    frame.to_csv(tmp_path / "kwh.csv", index=False)
    expected = ingested(tmp_path / "kwh.csv", ExportSettings(**settings))
    if written == "parquet":
        settings["format"] = "parquet"
        pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), tmp_path / "e")
    else:
        # A quoted delimiter is left to the reader of all lines.
        remark = "a,b" if written == "quoted" else ""
        rows.assign(remark=remark).to_csv(tmp_path / "e", index=False)
    found = ingested(tmp_path / "e", ExportSettings(**settings, unit=unit, unit_column="unit"))
    np.testing.assert_allclose(found.energy_kwh, expected.energy_kwh, rtol=1e-15)
    assert found.counts == expected.counts | {"other_register": len(rows) - len(frame)}


def test_what_is_converted():
    assert conversion("WH", "kWh", 15) == (1, 1000) and conversion("MWh", "Wh", 15) == (1_000_000, 1)
    assert conversion("w", "kW", 15) == (1, 1000) and conversion("kwh", "kWh", 15) == (1, 1)
    assert conversion("KW", "kWh", 15) == (1, 4) and conversion("Wh", "kW", 30) == (1, 500)
    assert [conversion(text, "kWh", 15) for text in ("", "m3", "kvarh")] == [None] * 3


def wide(frame: pd.DataFrame) -> pd.DataFrame:
    """A row per meter and day; every second meter in Wh, another row of reactive energy and one of feed-in."""
    table = frame.assign(date=frame["local"].str[:10], time=frame["local"].str[11:])
    table = table.pivot_table(index=["meter_id", "date"], columns="time", values="kwh").reset_index()
    times = [name for name in table if ":" in name]
    table.insert(2, "UOM", np.where(table["meter_id"].isin(["M001", "M003"]), "WH", "KWH"))
    table.insert(3, "Chan", "Del")
    delivered = table.copy()
    delivered.loc[table["UOM"] == "WH", times] *= 1000
    reactive = table.assign(UOM="KVARH")
    fed_in = delivered.assign(Chan="Rec")
    fed_in[times] *= 0.1
    return pd.concat([delivered, reactive, fed_in]).sort_values(["meter_id", "date"], kind="stable")


@pytest.mark.parametrize("layout", ["long", "wide"])
@pytest.mark.parametrize("quantities", ["Del", "Del Rec", "KVARH", "KVARH Rec"])
def test_a_check_proposes_unit_and_register_in_one_go(tmp_path, capsys, layout, quantities):
    frame = readings()
    rows = wide(frame)
    rows = rows[
        ((rows["UOM"] != "KVARH") | ("KVARH" in quantities)) & ((rows["Chan"] == "Del") | ("Rec" in quantities))
    ]
    if layout == "long":
        rows = rows.melt(["meter_id", "date", "UOM", "Chan"], var_name="time", value_name="kwh").dropna()
        rows = rows.assign(interval_start=rows["date"] + " " + rows["time"]).drop(columns=["date", "time"])
        rows = rows.sort_values(["meter_id", "interval_start"], kind="stable")
    rows.to_csv(tmp_path / "e.csv", index=False)
    words = ["check", str(tmp_path / "e.csv"), "--time-zone", ZONE]
    assert main([*words, "--write", str(tmp_path / "my.yaml")]) == 0
    said = capsys.readouterr().out
    assert "rows in Wh are converted" in said and ("rows in KVARH are not energy" in said) == ("KVARH" in quantities)
    export = yaml.safe_load((tmp_path / "my.yaml").read_text())["export"]
    assert (export["unit"], export["unit_column"]) == ("kWh", "UOM")
    assert export.get("keep_rows") == ({"Chan": ["Del"]} if "Rec" in quantities else None)
    assert main(["check", "--config", str(tmp_path / "my.yaml")]) == 0
    found = ingested(tmp_path / "e.csv", {key: value for key, value in export.items() if key != "path"}).energy_kwh
    truth = frame.pivot_table(index="utc", columns="meter_id", values="kwh")
    np.testing.assert_allclose(found.to_numpy(), truth.to_numpy(), rtol=1e-12)


@pytest.mark.parametrize("both", [False, True])
def test_power_beside_energy_is_converted_and_of_both_of_a_meter_energy_is_read(tmp_path, capsys, both):
    frame = plain(readings())
    power = frame["meter_id"].isin(["M001", "M003"])
    rows = [frame[~power | both].assign(UOM="KWH"), frame[power].assign(UOM="KW", kwh=frame["kwh"] * 2)]
    pd.concat(rows).sort_index(kind="stable").to_csv(tmp_path / "e.csv", index=False)
    words = ["check", str(tmp_path / "e.csv"), "--time-zone", ZONE, "--write", str(tmp_path / "my.yaml")]
    assert main(words) == 0
    assert ("rows in kW are converted" in capsys.readouterr().out) != both
    export = yaml.safe_load((tmp_path / "my.yaml").read_text())["export"]
    assert export["unit_column"] == "UOM" and ("keep_rows" in export) == both
    found = ingested(tmp_path / "e.csv", {key: value for key, value in export.items() if key != "path"}).energy_kwh
    truth = readings().pivot_table(index="utc", columns="meter_id", values="kwh")
    np.testing.assert_allclose(found.to_numpy(), truth.to_numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    ("units", "export", "refused"),
    [
        (["kWh", "Wh"], {}, True),
        (["kWh", "kvarh"], {}, True),
        (["Wh"], {}, True),
        (["kW"], {}, True),
        (["W"], {"unit": "Wh"}, True),
        (["kWh"], {}, False),
        (["Wh"], {"unit": "Wh"}, False),
        (["kW"], {"unit": "kW"}, False),
        (["kWh", "Wh"], {"unit_column": "Unit"}, False),
        (["kWh", "Wh"], {"keep_rows": {"Unit": ["kWh"]}}, False),
        (["kWh", "Wh"], {"keep_rows": {"Unit": ["Wh"]}}, True),
    ],
)
def test_units_that_nobody_reads_end_a_study_that_has_no_list_of_meters(tmp_path, capsys, units, export, refused):
    frame = plain(readings())
    of_meter = frame["meter_id"].map(dict(zip(frame["meter_id"].unique(), np.resize(units, 4), strict=True)))
    frame["kwh"] *= 1000 if export.get("unit") == "Wh" else 1
    frame.assign(Unit=of_meter).to_csv(tmp_path / "e.csv", index=False)
    section = {"time_zone": ZONE, "interval_minutes": 30} | export
    if refused:
        with pytest.raises(InputError, match=r"field 'Unit': names units.*export\.unit_column"):
            ingested(tmp_path / "e.csv", section | {"typical_daily_kwh": [0.0, 1e9]})
    else:
        ingested(tmp_path / "e.csv", section)
    days = {"first_day": "2025-03-10", "last_day": "2025-04-06"}
    (tmp_path / "list.csv").write_text("meter_id\nM000\nM001\n")
    for more, code in (({}, int(refused)), (days | {"meters": str(tmp_path / "list.csv")}, 0)):
        (tmp_path / "my.yaml").write_text(yaml.safe_dump({"export": section | more}))
        assert main(["check", str(tmp_path / "e.csv"), "--config", str(tmp_path / "my.yaml")]) == code
        assert ("names units" in capsys.readouterr().out) == refused
    # What is in the rows never ends a study of a public list.
    ingested(tmp_path / "e.csv", section | days, listed=["M000", "M001"])


def test_registers_nobody_can_be_sure_of_are_shown_and_the_advice_leads_to_a_configuration(tmp_path, capsys):
    frame = plain(readings(days=14)).rename(columns={"kwh": "Value"})
    both = pd.concat([frame.assign(Channel=name, Value=frame["Value"] * n) for n, name in ((1, "T1"), (2, "T2"))])
    both.sort_values(["meter_id", "interval_start"], kind="stable").to_csv(tmp_path / "e.csv", index=False)
    words = ["check", str(tmp_path / "e.csv")]
    assert main(words) == 1
    assert "field 'Channel': has several rows per meter and interval" in (said := capsys.readouterr().err)
    assert "(T1, T2)" in said and "add export: {keep_rows: {Channel: [entry to keep]}}, with" in said
    assert "to your configuration or a new one, and check again with it for the other settings" in said
    chosen = {"keep_rows": {"Channel": ["T1"]}}
    (tmp_path / "my.yaml").write_text(yaml.safe_dump({"export": chosen}))
    assert main([*words, "--config", str(tmp_path / "my.yaml")]) == 1
    said = capsys.readouterr().out
    assert "has several rows" not in said and "contradict" not in said
    proposed = yaml.safe_load(said.partition("A configuration that reads it:")[2])
    assert proposed["export"].items() >= chosen.items() and proposed["export"]["energy_column"] == "Value"
    (tmp_path / "proposed.yaml").write_text(yaml.safe_dump(proposed))
    assert main(["check", "--config", str(tmp_path / "proposed.yaml")]) == 0
    assert "(4 meters, 4 of them with readings): a study can run" in capsys.readouterr().out


def test_a_column_of_units_taken_for_registers_leads_to_both_settings(tmp_path, capsys):
    """Half of the meters are in WH, so that rows of KWH leave them out and mix what they deliver and receive."""
    wide(readings()).to_csv(tmp_path / "e.csv", index=False)
    export = {"format": "wide_csv", "time_format": "%Y-%m-%d", "interval_minutes": 30, "time_zone": ZONE}
    registers = {"keep_rows": {"UOM": ["KWH"]}}
    (tmp_path / "my.yaml").write_text(yaml.safe_dump({"export": export | registers}))
    assert main(["check", str(tmp_path / "e.csv"), "--config", str(tmp_path / "my.yaml")]) == 0
    said = capsys.readouterr().out
    assert "of 4 meters, 2 have no reading that counts" in said
    assert "export.keep_rows must name another column that distinguishes them" in said
    assert "set export.unit_column to UOM, export.keep_rows to {Chan: [Del]}" in said
    both = {"unit_column": "UOM", "keep_rows": {"Chan": ["Del"]}}
    (tmp_path / "my.yaml").write_text(yaml.safe_dump({"export": export | both}))
    assert main(["check", str(tmp_path / "e.csv"), "--config", str(tmp_path / "my.yaml")]) == 0
    assert "(4 meters, 4 of them with readings): a study can run" in capsys.readouterr().out


def test_listed_meters_without_a_reading_are_counted(tmp_path, capsys):
    plain(readings()).to_csv(tmp_path / "e.csv", index=False)
    (tmp_path / "list.csv").write_text("meter_id\nM000\nM001\nX1\nX2\nX3\n")
    export = {"time_zone": ZONE, "interval_minutes": 30, "first_day": "2025-03-10", "last_day": "2025-04-06"}
    (tmp_path / "my.yaml").write_text(yaml.safe_dump({"export": export | {"meters": str(tmp_path / "list.csv")}}))
    assert main(["check", str(tmp_path / "e.csv"), "--config", str(tmp_path / "my.yaml")]) == 0
    said = capsys.readouterr().out
    assert "of 5 listed meters, 3 have no reading that counts" in said
    meters = "(5 listed meters, 2 of them with readings; 2 of 4 meters in the export are not on the list)"
    assert f"{meters}: a study can run, but look at this first:\n" in said and "X1" not in said


@pytest.mark.parametrize(
    ("entries", "sure"),
    [
        (["Del", "Rec"], "Del"),
        (["DELIVERED", "RECEIVED"], "DELIVERED"),
        (["Import", "Export"], "Import"),
        (["E1", "B1"], "E1"),
        (["E1", "E2", "B1"], None),
        (["kWh", "pulses"], "kWh"),
        (["Active Import", "Reactive"], "Active Import"),
        (["Import", "Import T2"], None),
        (["1.8.0", "1.8.1", "2.8.0"], "1.8.0"),
        (["Consumption", "Import"], None),
        (["1", "2"], None),
    ],
)
def test_entries_that_surely_mean_what_a_home_takes(tmp_path, capsys, entries, sure):
    frame = plain(readings(days=14))
    rows = pd.concat([frame.assign(Flow=entry, kwh=frame["kwh"] / n) for n, entry in enumerate(entries, start=1)])
    rows.sort_values(["meter_id", "interval_start"], kind="stable").to_csv(tmp_path / "e.csv", index=False)
    assert main(["check", str(tmp_path / "e.csv"), "--write", str(tmp_path / "my.yaml")]) == (sure is None)
    if sure is None:
        assert f"({', '.join(sorted(entries))})" in capsys.readouterr().err
    else:
        assert yaml.safe_load((tmp_path / "my.yaml").read_text())["export"]["keep_rows"] == {"Flow": [sure]}
