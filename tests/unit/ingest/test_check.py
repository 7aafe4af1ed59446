"""``meterdp check`` on exports nobody has described: what it finds reads the file; what it refuses it names."""

import gzip
import re
import zipfile
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import yaml

from meterdp.__main__ import main
from meterdp.cli.release import to_check_in_export
from meterdp.core.config import complete, load_schema
from meterdp.errors import InputError
from meterdp.ingest.batch import Batch
from meterdp.ingest.inference.examine import (
    MAX_UNUSABLE_SHARE,
    PLAUSIBLE_POWER_KW,
    TYPICAL_DAILY_KWH,
    config_text,
    examine,
    finding_words,
)
from meterdp.ingest.inference.first_readings import first_batches
from meterdp.ingest.inference.listed import have
from meterdp.ingest.inference.quantities import parts_of
from meterdp.ingest.inference.table import decoded
from meterdp.ingest.inference.trial import try_out
from meterdp.ingest.inference.zone import CLOCKS, best_period, clock_evidence
from meterdp.ingest.meter_list import MeterList, digest_of_meters, parse_meter_list, read_meter_list
from meterdp.ingest.readers.wide_csv import times_not_read, times_of_day_us
from meterdp.ingest.settings import ExportSettings
from tests.unit.ingest.made_up import ingested
from tests.unit.ingest.made_up_exports import METERS, READ, REFUSED, ZONE, against, plain, readings

NO_LOCAL_CLOCK = {
    *("UTC", "Parquet", "Parquet called CSV", "settlement periods", "standard time", "ends in UTC"),
    *("Unix time, s", "Unix time, ms", "numbered rows", "numbered rows in Spanish"),
}

INTERVAL = pd.Timedelta(minutes=30)


@pytest.fixture(scope="module")
def schema(repository):
    return load_schema(repository / "workflow/schemas/config.schema.yaml")


@pytest.fixture(scope="module")
def frame():
    return readings()


def written(folder, frame, case):
    name, write, expected = case
    write(frame, folder / name)
    return folder / name, expected


@pytest.mark.parametrize("name", READ)
def test_the_settings_it_prints_read_the_file_as_it_was_meant(tmp_path, frame, schema, name):
    minutes = READ[name][2].get("interval_minutes", 30)
    frame = frame if minutes == 30 else readings(minutes)
    path, expected = written(tmp_path, frame, READ[name])
    found = examine(path, time_zone=ZONE if name in NO_LOCAL_CLOCK else None)
    assert found.findings == [] and found.settings["time_zone"] == ZONE, "the skipped hour tells a local clock"
    assert {key: found.settings.get(key) for key in expected} == expected
    assert found.settings["interval_minutes"] == minutes
    config = complete(yaml.safe_load(config_text(path, found)), schema)
    table = ingested(path, config["export"]).energy_kwh
    truth = frame.pivot_table(index="utc", columns="meter_id", values="kwh")
    assert table.shape == truth.shape and (table.index == truth.index).all()
    np.testing.assert_allclose(table.to_numpy(), truth.to_numpy(), rtol=1e-9)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_named_for_what_it_is(tmp_path, frame, capsys, name):
    path, words = written(tmp_path, frame, REFUSED[name])
    assert main(["check", str(path)]) == 1
    said = capsys.readouterr()
    assert words in said.out + said.err
    assert "Traceback" not in said.err
    ids_and_values = [*frame["meter_id"].unique(), *map(str, frame["kwh"].iloc[:50])]
    assert not [word for word in ids_and_values if word in said.err]


def export_of(schema, **changes) -> dict:
    return complete({"export": {"path": "e.csv", "time_zone": ZONE, "interval_minutes": 30, **changes}}, schema)[
        "export"
    ]


@pytest.mark.parametrize(
    ("changes", "words", "hint"),
    [
        ({"interval_minutes": 60}, "cannot be used", {"interval_minutes": 30}),
        ({"interval_minutes": 15}, "has readings 30 minutes apart", {"interval_minutes": 30}),
        ({"unit": "Wh"}, "read in Wh, a typical meter uses less a day", {"unit": "kWh"}),
        ({"unit": "MWh"}, "read in MWh, a typical meter uses more a day", {"unit": "kWh"}),
        ({"energy_column": "usage"}, "is missing from the header", {"energy_column": "kwh"}),
        ({"time_format": "%d/%m/%Y %H:%M"}, "time_format", {"time_format": "%Y-%m-%d %H:%M"}),
        ({"format": "parquet"}, "is not a Parquet file", {"format": "long_csv"}),
        ({"delimiter": ";"}, "is missing from the header", {"delimiter": ","}),
    ],
)
def test_settings_that_do_not_describe_the_export_are_refused_and_the_hint_works(
    tmp_path, frame, schema, changes, words, hint
):
    path, _ = written(tmp_path, frame, READ["plain"])
    export = export_of(schema, **changes)
    problems = against(path, export)
    assert words in str(problems[0])
    with pytest.raises(InputError, match=words):  # a study says the same if nobody has checked
        ingested(path, export)
    assert str(next(iter(hint.values()))) in str(problems[0]) or next(iter(hint)) in str(problems[0])
    assert against(path, export | hint) == []
    assert len(ingested(path, export | hint).energy_kwh) == frame["utc"].nunique()


def test_with_a_public_list_of_meters_nothing_a_row_holds_ends_a_study(tmp_path, frame, schema, capsys):
    path, _ = written(tmp_path, frame, READ["plain"])
    (tmp_path / "meters.csv").write_text("meter_id\nM000\nM001\n")
    export = export_of(schema, interval_minutes=60, first_day="2025-03-10", last_day="2025-04-06")
    listed = export | {"meters": str(tmp_path / "meters.csv")}
    assert "cannot be used" in str(against(path, listed)[0])
    (tmp_path / "listed.yaml").write_text(yaml.safe_dump({"export": listed}))
    assert main(["check", str(path), "--config", str(tmp_path / "listed.yaml")]) == 0
    assert " would be empty; the reason is below.\nTo be checked: " in capsys.readouterr().out
    assert len(ingested(path, listed, meter_list=read_meter_list(listed["meters"])).readings)


def test_what_a_check_holds_of_a_list_does_not_grow_with_meters_without_rows(tmp_path, frame, schema):
    path, _ = written(tmp_path, frame, READ["plain"])
    settings = ExportSettings.from_config(export_of(schema, first_day="2025-03-10", last_day="2025-04-06"))
    batches, whole, _ = first_batches(path, settings)
    found = []
    for more in (0, 1000):
        listed = MeterList(dict.fromkeys(["M000", "M001", *(f"X{n}" for n in range(more))]))
        found.append(try_out(path, settings, batches, whole, meter_list=listed))
    few, many = found
    assert few.survey.meter_ids == many.survey.meter_ids == ["M000", "M001"]
    assert np.array_equal(few.energy_kwh, many.energy_kwh, equal_nan=True) and np.isfinite(few.energy_kwh).any()
    assert np.array_equal(few.counts, many.counts)
    nobody = try_out(path, settings, batches, whole, meter_list=MeterList({"X1": None, "X2": None}))
    assert nobody.survey.meter_ids == ["X1"] and np.isnan(nobody.energy_kwh).all()


def test_meters_with_start_dates_of_their_own_get_the_period_that_keeps_most(tmp_path):
    frame = readings(days=90)
    age = (frame["utc"] - frame["utc"].min()).dt.days
    joined = frame["meter_id"].str[1:].astype(int) * 9
    frame[age >= joined].pipe(plain).to_csv(tmp_path / "e.csv", index=False)
    found = examine(tmp_path / "e.csv", time_zone=ZONE)
    first, last = (pd.Timestamp(found.settings[key], tz=ZONE) for key in ("first_day", "last_day"))
    assert found.period[2] == METERS > found.period[3]
    said = f"{METERS} of {METERS} meters have enough of them for a study; over all 90 days of the export"
    assert f"{said} {found.period[3]} have" in finding_words(tmp_path / "e.csv", found)
    # With a tenth missing allowed, the last to join may join up to a tenth of the period later.
    begin, days = frame["utc"].min().tz_convert(ZONE), (last - first).days + 1
    assert (begin + pd.Timedelta(days=int(joined.max())) - first).days <= 0.1 * days + 1
    assert last.date() == frame["utc"].max().tz_convert(ZONE).date()


def test_a_real_export_needs_a_time_zone(schema):
    with pytest.raises(InputError, match=r"field 'export\.time_zone': is not set.*meterdp check"):
        complete({"export": {"path": "e.csv"}}, schema)


def test_the_weekend_of_the_homes_is_proposed_and_another_one_is_told(tmp_path, frame, capsys):
    path, _ = written(tmp_path, frame, READ["decimal comma"])
    own = {"interval_minutes": 30, "delimiter": ";", "decimal": ","}
    found = examine(path, time_zone="Asia/Muscat")
    assert found.settings["weekend"] == ["friday", "saturday"]
    assert "- the weekend is taken to be Friday and Saturday (export.weekend)" in finding_words(path, found)
    assert "weekend" not in examine(path, time_zone="Asia/Dubai").settings
    known = examine(path, time_zone="Asia/Dubai", known={"weekend": ["thursday", "friday"]})
    assert known.settings["weekend"] == ["thursday", "friday"]
    for zone, weekend, odd in (
        ("Asia/Muscat", {}, "in the country of Asia/Muscat it is Friday and Saturday"),
        ("Asia/Muscat", {"weekend": ["friday", "saturday"]}, None),
        ("Asia/Muscat", {"weekend": ["thursday", "friday"]}, None),
        ("Asia/Muscat", {"weekend": ["saturday", "sunday"]}, None),  # on purpose
        ("Asia/Dubai", {}, None),
    ):
        code, said = checked(tmp_path, capsys, path, export={"time_zone": zone, **own, **weekend})
        assert code == 0 and ("export.weekend" in said) == (odd is not None) and (odd or "") in said


@pytest.mark.parametrize("weekend", [["friday"], "friday", None, ["fri", "sat"], [4, 5], ["friday", "friday"]])
def test_a_weekend_that_is_none_is_refused_and_that_of_the_country_proposed(tmp_path, frame, capsys, weekend):
    path, _ = written(tmp_path, frame, READ["decimal comma"])
    code, said = checked(tmp_path, capsys, path, export={"time_zone": "Asia/Muscat", "weekend": weekend})
    assert code == 1 and "'export.weekend" in said and "weekend:\n  - friday\n  - saturday\n" in said


@pytest.mark.parametrize("beside", ["2019-03-01 00:00:00", "2025-02-01T00:00:00Z", "2019-03-01"])
@pytest.mark.parametrize("zero", [False, True])
def test_stamps_of_a_spreadsheet_are_read_beside_another_date(tmp_path, beside, zero):
    """And the energy of a vacant home is not passed over for a number that changes."""
    frame = plain(readings())
    serial = pd.to_datetime(frame["interval_start"]) - pd.Timestamp("1899-12-30")
    rows = pd.DataFrame(
        {
            "meter": frame["meter_id"],
            "contract_start": beside,
            "stamp": (serial / pd.Timedelta("1D")).map("{:.9f}".format),
            "kwh": np.where(frame["meter_id"] == "M000", 0.0, frame["kwh"]) if zero else frame["kwh"],
            "humidity": np.random.default_rng(1).integers(30, 90, len(frame)),
        }
    ).sort_values(["meter", "stamp"])
    rows.to_csv(tmp_path / "e.csv", index=False)
    found = examine(tmp_path / "e.csv", time_zone=ZONE)
    assert (found.settings["time_column"], found.settings["time_format"]) == ("stamp", "spreadsheet")
    assert "energy_column" not in found.settings and found.findings == []


@pytest.mark.parametrize(
    ("export", "words"),
    [
        ({"weekend": ["friday", "saturday"]}, "is set, but the weekend of simulated households is fixed"),
        ({"path": "e.csv", "time_zone": ZONE, "weekend": ["friday"]}, "'export.weekend': "),
        ({"path": "e.csv", "time_zone": ZONE, "weekend": ["friday", "friday"]}, "'export.weekend': "),
        ({"path": "e.csv", "time_zone": ZONE, "weekend": ["friday", "someday"]}, "'export.weekend[1]': "),
    ],
)
def test_a_weekend_is_two_days_of_real_homes(schema, export, words):
    with pytest.raises(InputError, match=re.escape(words)):
        complete({"export": export}, schema)


def test_the_limits_are_those_of_the_configuration(schema):
    config = complete({}, schema)
    export = config["export"]
    assert export["max_unusable_share"] == MAX_UNUSABLE_SHARE
    assert tuple(export["typical_daily_kwh"]) == TYPICAL_DAILY_KWH
    assert tuple(config["quality"]["plausible_power_kw"]) == PLAUSIBLE_POWER_KW


def test_a_configuration_that_fits_is_said_to_do_so_and_another_gets_one_that_does(tmp_path, frame, capsys):
    path, _ = written(tmp_path, frame, READ["decimal comma"])
    good = {"export": {"time_zone": ZONE, "interval_minutes": 30, "delimiter": ";", "decimal": ","}}
    bad = {"export": {"time_zone": ZONE, "interval_minutes": 30}}
    for name, config in (("good.yaml", good), ("bad.yaml", bad)):
        (tmp_path / name).write_text(yaml.safe_dump(config))
    assert main(["check", str(path), "--config", str(tmp_path / "good.yaml")]) == 0
    mean = frame.groupby("meter_id")["kwh"].transform("mean")
    of_hour = (frame["kwh"] / mean).groupby(frame["local"].str[11:13].astype(int)).mean()
    last = pd.concat([of_hour, of_hour], ignore_index=True).rolling(4).mean().idxmin()  # of the four that use least
    daily = 48 * frame.groupby("meter_id")["kwh"].mean()
    assert capsys.readouterr().out == (
        "From 2025-03-10 to 2025-04-06, 0.0% of a typical meter's readings are missing; a typical meter uses "
        f"{daily.median():.3g} kWh a day; use is lowest around {(last - 1) % 24}:00 ({ZONE}).\n"
        f"The settings fit {path} (4 meters, 4 of them with readings): a study can run.\n"
    )
    assert main(["check", str(path), "--config", str(tmp_path / "bad.yaml")]) == 1
    said = capsys.readouterr().out
    proposed = yaml.safe_load(said.partition("A configuration that reads it:")[2])
    (tmp_path / "proposed.yaml").write_text(yaml.safe_dump(proposed))
    assert main(["check", "--config", str(tmp_path / "proposed.yaml")]) == 0
    assert main(["check", str(path), "--time-zone", ZONE, "--write", str(tmp_path / "new.yaml")]) == 0
    assert yaml.safe_load((tmp_path / "new.yaml").read_text())["export"]["decimal"] == ","
    assert main(["check", str(path), "--write", str(tmp_path / "new.yaml")]) == 1  # never over a file


@pytest.mark.parametrize("listed", [False, True])
def test_a_month_without_readings_is_told_by_the_share_that_is_missing(tmp_path, frame, capsys, listed):
    march = plain(frame[frame["local"] < "2025-03-24"])
    march.to_csv(tmp_path / "e.csv", index=False)
    export = {"time_zone": ZONE, "interval_minutes": 30, "first_day": "2025-03-10", "last_day": "2025-04-06"}
    if listed:
        (tmp_path / "meters.csv").write_text("\n".join(["meter_id", *march["meter_id"].unique()]))
        export["meters"] = str(tmp_path / "meters.csv")
    assert main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE]) == 0
    words = "rom {} to {}, {}% of a typical meter's readings are missing"
    assert words.format("2025-03-10", "2025-03-23", "0.0") in capsys.readouterr().out
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    missing = 1 - (march["meter_id"] == "M000").sum() / (frame["meter_id"] == "M000").sum()
    assert "no meter has 90% of the readings of these days: a study would leave all of them out" in said
    if listed:  # which a release may have all the same
        assert code == 0 and words.format("2025-03-10", "2025-04-06", f"{100 * missing:.1f}") in said
    else:
        assert code == 1 and "last_day: '2025-03-23'" in said


def test_what_has_been_read_is_not_looked_at_again(tmp_path, frame, capsys):
    path, _ = written(tmp_path, frame, READ["plain"])
    (tmp_path / "bad.yaml").write_text("export: {time_zone: Europe/London, interval_minutes: 60}")
    words = ["check", str(path), "--config", str(tmp_path / "bad.yaml"), "--unless-read", str(tmp_path / "done")]
    assert main(words) == 1
    (tmp_path / "done").write_text("")
    assert main(words) == 0
    capsys.readouterr()


def _with_total_rows(frame, path, name):
    total = frame.groupby(["utc", "local"], as_index=False)["kwh"].sum().assign(meter_id=name)
    plain(pd.concat([frame, total])).to_csv(path, index=False)


def _with_total_column(frame, path, name):
    wide = frame.pivot_table(index=["utc", "local"], columns="meter_id", values="kwh").reset_index("utc", drop=True)
    wide.assign(**{name: wide.sum(axis=1)}).to_csv(path, index_label="interval_start")


@pytest.mark.parametrize("write", [_with_total_rows, _with_total_column])
@pytest.mark.parametrize(
    ("name", "is_total"),
    [("Total", 1), ("SUM", 1), ("Gesamtverbrauch", 1), ("Grand total (kWh)", 1), ("Sumner 4", 0), ("Totalis1", 0)],
)
def test_a_total_that_counts_as_a_meter_is_told(tmp_path, frame, capsys, write, name, is_total):
    write(frame, tmp_path / "e.csv", name)
    assert main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE]) == 0
    said = capsys.readouterr().out
    assert f"{METERS + 1} meters" in said  # never left out in silence
    assert said.count("is named like a total") == 2 * is_total  # in words, and above the configuration


def test_an_entry_without_a_digit_among_ambiguous_numbers_is_no_crash(tmp_path, frame):
    watt_hours = (frame["kwh"] * 1000 + 1000).map("{:,.0f}".format).where(frame.index % 50 != 3, "\x01")
    plain(frame).assign(kwh=watt_hours).to_csv(tmp_path / "e.csv", index=False)
    found = examine(tmp_path / "e.csv", time_zone=ZONE)
    assert "is not a number" in str(found.findings[-1])


def checked(tmp_path, capsys, path, **sections):
    """Return exit code and output of a check of an export with a configuration."""
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(sections))
    return main(["check", str(path), "--config", str(tmp_path / "own.yaml")]), capsys.readouterr().out


@pytest.mark.parametrize(
    ("start", "minutes", "stamp"),
    [
        *(("2025-03-01", 30, "start"), ("2025-03-01", 60, "end")),
        *(("2025-10-20", 30, "end"), ("2025-10-20", 60, "start")),
    ],
    ids=["skipped start", "skipped end", "repeated end", "repeated start"],
)
def test_a_zone_whose_clock_changes_contradict_the_stamps_is_refused(tmp_path, capsys, start, minutes, stamp):
    frame = readings(minutes=minutes, days=40, start=start)
    later = pd.Timedelta(minutes=minutes if stamp == "end" else 0)
    frame["local"] = (frame["utc"] + later).dt.tz_convert(ZONE).dt.strftime("%Y-%m-%d %H:%M")
    plain(frame).to_csv(tmp_path / "e.csv", index=False)
    own = {"interval_minutes": minutes, "stamp": stamp}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export={"time_zone": "America/New_York", **own})
    assert code == 1 and "field 'export.time_zone': " in said and "such as Europe/London" in said
    for zone in ("Europe/London", "Europe/Lisbon"):
        assert checked(tmp_path, capsys, tmp_path / "e.csv", export={"time_zone": zone, **own})[0] == 0


@pytest.mark.parametrize("minutes", [30, 60])
@pytest.mark.parametrize("stamp", ["start", "end"])
def test_standard_time_on_a_clock_that_changes_is_refused_and_the_hint_works(tmp_path, capsys, minutes, stamp):
    frame = readings(minutes=minutes, days=40, start="2025-03-01")
    later = pd.Timedelta(minutes=minutes if stamp == "end" else 0)
    frame["local"] = (frame["utc"] + later).dt.strftime("%Y-%m-%d %H:%M")
    plain(frame).to_csv(tmp_path / "e.csv", index=False)
    own = {"time_zone": ZONE, "interval_minutes": minutes, "stamp": stamp}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=own)
    assert code == 1 and "holds readings in an hour that the clock of Europe/London skips" in said
    assert "set export.stamp_time_zone" in said
    assert "time_zone: Europe/London\n  stamp_time_zone: UTC\n" in said, "the proposal keeps the zone of the homes"
    assert checked(tmp_path, capsys, tmp_path / "e.csv", export=own | {"stamp_time_zone": "UTC"})[0] == 0


def test_the_end_of_an_interval_by_the_old_clock_contradicts_nothing(tmp_path, capsys):
    frame = readings(minutes=60, days=28)
    local = pd.to_datetime(frame["local"]) + pd.Timedelta(hours=1)
    plain(frame.assign(local=local.dt.strftime("%Y-%m-%d %H:%M"))).to_csv(tmp_path / "e.csv", index=False)
    own = {"time_zone": ZONE, "interval_minutes": 60, "stamp": "end"}
    assert checked(tmp_path, capsys, tmp_path / "e.csv", export=own)[0] == 0


@pytest.mark.parametrize("clock", ["old", "new", "both"])
@pytest.mark.parametrize("start", ["2025-03-03", "2025-10-01"])
@pytest.mark.parametrize("days", [28, 40], ids=["to the end of the month", "and later days"])
def test_ends_of_intervals_at_a_change_by_the_old_clock_or_the_new_one_follow_the_clock(
    tmp_path, capsys, clock, start, days
):
    """As Spanish exports have them, of some meters so and of some so; none of them is in standard time."""
    days += 1 if start == "2025-03-03" else 3
    frame = readings(minutes=60, days=days, start=start)
    old = pd.to_datetime(frame["local"]) + pd.Timedelta(hours=1)
    new = (frame["utc"] + pd.Timedelta(hours=1)).dt.tz_convert(ZONE).dt.tz_localize(None)
    by_old = frame["meter_id"].isin(
        {"old": [f"M{n:03d}" for n in range(METERS)], "both": ["M000", "M001"]}.get(clock, [])
    )
    frame["local"] = old.where(by_old, new).dt.strftime("%Y-%m-%d %H:%M")
    plain(frame).rename(columns={"interval_start": "interval_end"}).to_csv(tmp_path / "e.csv", index=False)
    own = {"time_zone": ZONE, "interval_minutes": 60, "stamp": "end", "time_column": "interval_end"}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=own)
    assert code == 0 and "clock" not in said
    main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE])
    said = capsys.readouterr().out
    assert "no daylight-saving jump" not in said and "stamp_time_zone" not in said
    if clock == "both":
        assert "by the British and Irish rule: a local clock" in said


def test_a_substation_among_the_meters_does_not_move_the_hour_of_least_use(tmp_path, capsys):
    frame = readings(meters=10)
    quiet = pd.to_datetime(frame["local"]).dt.hour.between(1, 4)
    homes = frame.assign(kwh=frame["kwh"].mask(quiet, 0.01))
    evening = frame["local"].str[11:13].isin(["20", "21", "22", "23"])
    substation = frame.assign(meter_id="S", kwh=900.0).assign(kwh=lambda f: f["kwh"].mask(evening, 5.0))
    for rows in (homes, pd.concat([homes, substation[frame["meter_id"] == "M000"]])):
        plain(rows).to_csv(tmp_path / "e.csv", index=False)
        main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE])
        assert "use is lowest around 3:00 by the file's clock" in capsys.readouterr().out


NET = {"log_scale": {"kind": "signed"}, "clip_kwh_per_hour": [-15, 20]}


def _feed_in(frame, kwh: float = -0.6):
    """Let a home of four feed in at noon."""
    noon = frame["local"].str[11:13].isin(["12", "13"]) & (frame["meter_id"] == "M000")
    return plain(frame.assign(kwh=frame["kwh"].mask(noon, kwh))), float(noon.mean())


def test_feed_in_that_the_scale_does_not_keep_is_told_with_what_keeps_it(tmp_path, frame, schema, capsys):
    net, share = _feed_in(frame)
    net.to_csv(tmp_path / "e.csv", index=False)
    words = f"{share:.1%} of readings are below zero: on the plain logarithm they are moved to the lower bound"
    assert main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE, "--write", str(tmp_path / "new.yaml")]) == 0
    assert words in capsys.readouterr().out
    proposed = yaml.safe_load((tmp_path / "new.yaml").read_text())
    assert proposed["profiles"] == NET and complete(proposed, schema)["profiles"]["log_scale"]["kind"] == "signed"
    assert "The days and the section profiles were chosen from the readings" in (tmp_path / "new.yaml").read_text()
    (tmp_path / "meters.csv").write_text("\n".join(["meter_id", *frame["meter_id"].unique()]))
    export = {"time_zone": ZONE, "interval_minutes": 30, "meters": str(tmp_path / "meters.csv")}
    export |= {"first_day": "2025-03-10", "last_day": "2025-04-06"}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    assert code == 0 and f"To be checked: {words}" in said and "such as [-15, 20]" in said
    assert "below" not in checked(tmp_path, capsys, tmp_path / "e.csv", export=export, profiles=NET)[1]
    low = NET | {"clip_kwh_per_hour": [-1, 20]}  # 0.6 kWh in half an hour are more
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export, profiles=low)
    assert code == 0 and f"{share:.1%} of readings are below -1 kWh an hour: they are moved" in said


def test_readings_that_are_hardly_ever_below_zero_are_not_told(tmp_path, frame, capsys):
    net = plain(frame).assign(kwh=frame["kwh"].where(frame.index != 7, -0.2))
    net.to_csv(tmp_path / "e.csv", index=False)
    assert main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE]) == 0
    said = capsys.readouterr().out
    assert "below zero" not in said and "profiles" not in said


@pytest.mark.parametrize(("codes", "named"), [(["9999999"] * 3, True), (["9999999", "8888", "-7777"], False)])
def test_readings_that_quality_rules_drop_are_told_and_are_no_large_use(tmp_path, frame, capsys, codes, named):
    """What stands for a missing reading would be nearly all of the energy."""
    rows = plain(frame).astype({"kwh": str})
    rows.loc[[70, 700, 1700], "kwh"] = codes
    rows.to_csv(tmp_path / "e.csv", index=False)
    (tmp_path / "list.csv").write_text("\n".join(["meter_id", *frame["meter_id"].unique()]))
    days = {"first_day": "2025-03-10", "last_day": "2025-04-06", "meters": str(tmp_path / "list.csv")}
    export = {"time_zone": ZONE, "interval_minutes": 30, **days}
    words = (
        "3 readings of 2 meters are below -50 or above 80 kW (quality.plausible_power_kw), which counts as missing"
    )
    code = f"{words}; all of them are the same number: if it stands for a missing reading"
    said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)[1]
    assert words in said and (code in said) == named and "a release counts" not in said and "99999" not in said
    assert main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE]) == 0
    assert words in capsys.readouterr().out
    wide = {"plausible_power_kw": [-50_000, 50_000_000]}
    said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export, quality=wide)[1]
    assert "100% of the energy is above the most that counts for a meter" in said and "implausible" not in said
    if named:
        missing = export | {"missing_words": ["", "9999999"]}
        assert words not in checked(tmp_path, capsys, tmp_path / "e.csv", export=missing)[1]


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("most", [0.9, 1])
def test_meters_that_are_left_out_as_vacant_are_told(tmp_path, frame, capsys, listed, most):
    """Two that are read at home one day in twenty, and one that is never read but zero, which is no second home."""
    first, second, third, *_ = frame["meter_id"].unique()
    day = frame["utc"].rank(method="dense").sub(1) // 48
    away = frame["meter_id"].isin([first, second]) & (day % 20 > 0) | (frame["meter_id"] == third)
    plain(frame).assign(kwh=frame["kwh"].where(~away, 0.0)).to_csv(tmp_path / "e.csv", index=False)
    export = {"time_zone": ZONE, "interval_minutes": 30}
    if listed:
        (tmp_path / "list.csv").write_text("\n".join(["meter_id", *frame["meter_id"].unique()]))
        export |= {"meters": str(tmp_path / "list.csv"), "first_day": "2025-03-10", "last_day": "2025-04-06"}
    said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export, quality={"max_zero_share": most})[1]
    words = "2 meters read zero more than 90% of the time on the days looked at"
    assert (words in said) == (most < 1)
    assert ("in released mixtures and households they count as the public default" in said) == (listed and most < 1)


@pytest.mark.parametrize("step", [0.1, 0.01])
def test_zeros_of_meters_that_count_in_large_steps_are_told(tmp_path, frame, capsys, step):
    coarse = plain(frame).assign(kwh=np.floor(frame["kwh"] * 0.4 / step) * step)
    share = (coarse["kwh"] == 0).mean()
    coarse.to_csv(tmp_path / "e.csv", index=False)
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export={"time_zone": ZONE, "interval_minutes": 30})
    words = f"{share:.0%} of readings are zero, which the plain logarithm cannot represent"
    assert code == 0 and (words in said) == (step == 0.1) == (share > 0.1)


@pytest.mark.parametrize(
    ("scale", "low", "told"), [("log", 0.01, True), ("log", 0.0001, False), ("offset", 0, False)]
)
def test_energy_that_a_lower_bound_takes_for_zero_is_told(tmp_path, frame, capsys, scale, low, told):
    small = plain(frame).assign(kwh=frame["kwh"] / 40)
    lost = (small["kwh"] > 0) & (small["kwh"] <= low / 2)
    small.to_csv(tmp_path / "e.csv", index=False)
    profiles = {"clip_kwh_per_hour": [low, 2], "log_scale": {"kind": scale, "offset_kwh_per_hour": 0.01}}
    export = {"time_zone": ZONE, "interval_minutes": 30}
    said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export, profiles=profiles)[1]
    words = (
        f"{lost.mean():.0%} of readings, with {small['kwh'][lost].sum() / small['kwh'].sum():.0%} of the energy, are "
        "above zero and at most 0.01 kWh an hour"
    )
    assert (words in said) == told == ("'Homes that use little' in config/README.md" in said)


@pytest.mark.parametrize("name", ["corrections.csv", "z.csv"])
def test_of_files_that_contradict_each_other_it_is_said_which_counts(tmp_path, frame, capsys, name):
    """The order of names decides, and corrections need not come last in it."""
    rows, folder = plain(frame), tmp_path / "export"
    folder.mkdir()
    rows.to_csv(folder / "readings.csv", index=False)
    rows.iloc[5:12].assign(kwh=9.0).to_csv(folder / name, index=False)
    words = (
        "7 readings of file 1 of 2, in order of names, do not count, as a later file has others of the same meter "
        "and interval (file 2 of 2, in order of names): name files so that corrections come last"
    )
    found = examine(folder, time_zone=ZONE)
    assert words in found.odd
    assert words in checked(tmp_path, capsys, folder, export={"time_zone": ZONE, "interval_minutes": 30})[1]


@pytest.mark.parametrize(
    ("column", "unit", "told"),
    [
        ("Consumo (kW)", "kWh", "by its name, the column 'Consumo (kW)' is in kW, but export.unit is kWh"),
        ("Consumo (kW)", "kW", None),
        ("Consumo", "kW", None),
        ("power_w", "kWh", "by its name, the column 'power_w' is in W, but export.unit is kWh"),
        ("kilowatt_hours", "kWh", None),
        ("kilowatt_hrs", "kWh", None),
        ("energy_w", "kWh", None),
        ("Injeção (kWh)", "kWh", "readings are taken from 'Injeção (kWh)', which looks like energy fed in"),
        ("Block energy kVAh", "kWh", "'Block energy kVAh', which looks like apparent or reactive energy, not kWh"),
        ("Import VAh", "kWh", "readings are taken from 'Import VAh', which looks like apparent or reactive energy"),
        ("Energia reactiva", "kWh", "'Energia reactiva', which looks like apparent or reactive energy, not kWh"),
        ("kvarh_import", "kWh", "readings are taken from 'kvarh_import', which looks like apparent or reactive"),
        ("Förbrukning per kvart (kWh)", "kWh", None),
    ],
)
def test_the_name_of_the_column_is_held_against_the_settings(tmp_path, frame, capsys, column, unit, told):
    plain(frame).rename(columns={"kwh": column}).to_csv(tmp_path / "e.csv", index=False)
    export = {"time_zone": ZONE, "interval_minutes": 30, "energy_column": column, "unit": unit}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    assert code == 0 and ("To be checked" in said) == (told is not None) and (told or "") in said


@pytest.mark.parametrize("broken", [20, 600])
def test_broken_rows_of_a_file_behind_the_period_are_weighed_with_all_of_its_rows(tmp_path, capsys, broken):
    frame = plain(readings()).sort_values("interval_start", kind="stable")
    (tmp_path / "export").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), 2)):
        lines = frame.iloc[rows].to_csv(index=False).splitlines()
        if number:
            lines[1 : 1 + broken] = [line + ",1" for line in lines[1 : 1 + broken]]
        (tmp_path / "export" / f"{number}.csv").write_text("\n".join([*lines[: 1 + 1000], ""]))
    export = {"time_zone": ZONE, "interval_minutes": 30, "first_day": "2025-03-10", "last_day": "2025-03-12"}
    _, said = checked_with(tmp_path, capsys, tmp_path / "export", export | {"bad_rows": "missing"}, listed=False)
    assert ("1 of 2 files begins with rows that mostly cannot be used" in " ".join(said.split())) == (broken == 600)


@pytest.mark.parametrize("kept", ["A-", "1-1:2.8.0*255", "Immissione", "A+", "1.8.0", "B1", "exported"])
def test_a_register_of_feed_in_that_is_kept_is_told(tmp_path, frame, capsys, kept):
    plain(frame).assign(Tipo=kept).to_csv(tmp_path / "e.csv", index=False)
    export = {"time_zone": ZONE, "interval_minutes": 30, "keep_rows": {"Tipo": [kept]}}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    told = f"rows with '{kept}' in 'Tipo' look like energy fed in, but report and releases call readings energy used"
    assert code == 0 and (told in said) == (kept in ("A-", "1-1:2.8.0*255", "Immissione"))


@pytest.mark.parametrize("registers", [False, True])
@pytest.mark.parametrize("corrections", [False, True])
def test_two_registers_of_a_few_homes_are_told_and_corrections_are_not(tmp_path, capsys, registers, corrections):
    """One home of sixty has a second row for every hour, of what it feeds in; in a later file that corrects."""
    frame = plain(readings(minutes=60, days=14, meters=60)).assign(Grandeur="EA")
    more = frame[frame["meter_id"] == "M007"].assign(kwh=0.0, Grandeur="EI")
    (tmp_path / "export").mkdir()
    first = frame if corrections else pd.concat([frame, more]).sort_values("interval_start", kind="stable")
    for name, rows in (("1", first), ("2", more[: 336 * corrections])):
        rows.iloc[:, : 3 + registers].to_csv(tmp_path / "export" / f"{name}.csv", index=False)
    export = {"time_zone": ZONE, "interval_minutes": 60, "first_day": "2025-03-10", "last_day": "2025-03-23"}
    _, said = checked(tmp_path, capsys, tmp_path / "export", export=export)
    words = "336 rows of 1 meter, one reading zero and the other not, contradict another row of the same meter"
    assert (words in said) == (not corrections)
    assert ("add export: {keep_rows: {Grandeur: [entry to keep]}}" in said) == (registers and not corrections)


def test_a_signed_scale_that_keeps_no_feed_in_is_refused(tmp_path, frame, capsys):
    path, _ = written(tmp_path, frame, READ["plain"])
    sections = {"export": {"time_zone": ZONE, "interval_minutes": 30}, "profiles": {"log_scale": {"kind": "signed"}}}
    code, said = checked(tmp_path, capsys, path, **sections)
    assert code == 1 and "field 'profiles.clip_kwh_per_hour': has a lower bound of 0.01, so" in said
    assert "'signed' keeps no feed-in" in said and said.count("\n") == 1


DAYS_TO_MIDNIGHT = "days run from the end of the first interval to midnight: stamps are ends"
DAYS_FROM_MIDNIGHT = "days begin at midnight: stamps are starts"
LAST_AT_MIDNIGHT = "the last stamp is midnight, so stamps are probably ends of intervals"
NAMED_ENDS = "the column of stamps is named after the ends of intervals"


@pytest.mark.parametrize(
    ("column", "is_end", "left_out", "words", "listed"),
    [
        ("stamp", True, 0, DAYS_TO_MIDNIGHT, True),
        ("stamp", False, 0, DAYS_FROM_MIDNIGHT, False),
        ("stamp", True, 3, LAST_AT_MIDNIGHT, True),
        ("interval_end", True, 0, NAMED_ENDS, False),
        ("interval_start", False, 3, "the column of stamps is named after the starts of intervals", True),
    ],
)
def test_stamps_of_another_kind_than_the_settings_say_are_told_as_without_settings(
    tmp_path, capsys, column, is_end, left_out, words, listed
):
    frame = readings()
    local = pd.to_datetime(frame["local"]) + pd.Timedelta(minutes=30 * is_end)
    frame = plain(frame.assign(local=local.dt.strftime("%Y-%m-%d %H:%M")))[local >= local.min() + left_out * INTERVAL]
    frame.rename(columns={"interval_start": column}).to_csv(tmp_path / "e.csv", index=False)
    assert main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE]) == 0
    assert words in capsys.readouterr().out
    export = {"time_zone": ZONE, "interval_minutes": 30, "time_column": column}
    if listed:
        (tmp_path / "meters.csv").write_text("\n".join(["meter_id", *frame["meter_id"].unique()]))
        export |= {"meters": str(tmp_path / "meters.csv"), "first_day": "2025-03-10", "last_day": "2025-04-06"}
    right, wrong = ("end", "start") if is_end else ("start", "end")
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export | {"stamp": wrong})
    assert code == 0 and f"To be checked: {words}, but export.stamp says {wrong}: " in said
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export | {"stamp": right})
    assert code == 0 and "To be checked" not in said


@pytest.mark.parametrize(
    ("column", "end"),
    [
        *((name, False) for name in ("dato", "måledato", "fra_dato", "FraDato", "von_Datum")),
        *(
            (name, True)
            for name in ("til_dato", "tilDato", "to", "valid_to", "bis_Datum", "Zeit bis", "interval_end")
        ),
    ],
)
def test_columns_are_named_after_ends_by_whole_words(tmp_path, capsys, column, end):
    """A Danish or Norwegian "dato" is a date, not a "to"."""
    plain(readings(60, meters=2)).rename(columns={"interval_start": column}).to_csv(tmp_path / "e.csv", index=False)
    main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE])
    assert (NAMED_ENDS in capsys.readouterr().out) == end


@pytest.mark.parametrize("day_of", ["UTC", "Europe/Berlin"])
def test_days_by_the_clock_of_stamps_or_of_homes_contradict_nothing(tmp_path, capsys, day_of):
    """An hour ends at 00:00 UTC where a day of Berlin begins; that is no sign of starts."""
    begin = pd.Timestamp("2025-01-06", tz=day_of)
    ends = pd.date_range(begin, periods=28 * 24, freq="h").tz_convert("UTC") + pd.Timedelta(hours=1)
    kwh = np.random.default_rng(2).gamma(2, 0.3, len(ends)).round(3)
    frame = pd.DataFrame({"meter_id": "M1", "stamp": ends.strftime("%Y-%m-%d %H:%M"), "kwh": kwh})
    frame.to_csv(tmp_path / "e.csv", index=False)
    export = {"time_zone": "Europe/Berlin", "stamp_time_zone": "UTC", "time_column": "stamp", "interval_minutes": 60}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export | {"stamp": "end"})
    assert code == 0 and "To be checked" not in said
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    assert (DAYS_TO_MIDNIGHT in said) == (day_of == "UTC")


def test_meters_of_two_intervals_are_told_with_how_many_there_are(tmp_path, capsys):
    frame = readings(meters=10)
    hourly = frame["meter_id"].isin(["M000", "M001", "M002"]) & (frame["utc"].dt.minute == 30)
    plain(frame[~hourly]).to_csv(tmp_path / "e.csv", index=False)
    words = "of 10 meters, 7 have a reading every 30 minutes and 3 have a reading every 60 minutes"
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export={"time_zone": ZONE, "interval_minutes": 30})
    assert code == 0 and words in said
    assert "set export.interval_minutes to 60 and export.shortest_interval_minutes to 30 to add" in said
    added_up = {"time_zone": ZONE, "interval_minutes": 60, "shortest_interval_minutes": 30}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=added_up)
    assert code == 0 and "To be checked" not in said
    assert main(["check", str(tmp_path / "e.csv")]) == 0 and words in capsys.readouterr().out


@pytest.mark.parametrize(("switched", "listed"), [(2, True), (10, False)])
def test_meters_that_change_to_shorter_intervals_are_told_and_added_up(tmp_path, capsys, switched, listed):
    """The last tenth of the period, which by its share of all rows alone nobody would notice."""
    frame = readings(meters=10, days=50)
    late = (frame["utc"] >= frame["utc"].max() - pd.Timedelta(days=5)) & (frame["meter_id"] < f"M{switched:03d}")
    whole = frame["utc"].dt.minute == 0
    plain(frame[whole | late]).to_csv(tmp_path / "e.csv", index=False)
    export = {"time_zone": ZONE, "interval_minutes": 60}
    if listed:
        (tmp_path / "meters.csv").write_text("\n".join(["meter_id", *frame["meter_id"].unique()]))
        days = frame["local"].str[:10]
        export |= {"meters": str(tmp_path / "meters.csv"), "first_day": days.min(), "last_day": days.max()}
    words = f"{switched} are read more often, if only at times"
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    assert words in said and "export.shortest_interval_minutes" in said
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export | {"shortest_interval_minutes": 30})
    assert code == 0 and "To be checked" not in said
    assert main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE]) == 0
    said = capsys.readouterr().out
    assert "  shortest_interval_minutes: 30\n" in said
    assert said.count("some meters are read every 30 minutes: their readings are added up") == 2


@pytest.mark.parametrize(
    ("first", "days", "words"),
    [
        (
            "2025-06-30",
            92,
            "no jump on the dates when New Zealand clocks change, and cannot tell about other clocks",
        ),
        (
            "2025-07-30",
            61,
            "no jump on the dates when New Zealand clocks change, and cannot tell about other clocks",
        ),
        (
            "2025-03-01",
            30,
            "no jump on the dates when British and Irish or Central European or Eastern European or",
        ),
        ("2025-06-30", 80, "the period has no daylight-saving change"),
        ("2025-01-01", 365, "no daylight-saving jump: standard time or UTC"),
    ],
)
def test_a_clock_that_does_not_change_is_told_by_the_rules_of_the_period(tmp_path, capsys, first, days, words):
    stamps = pd.date_range(first, periods=24 * days, freq="h")
    kwh = 1 + 0.5 * np.sin(np.arange(len(stamps)) / 4)
    frame = pd.DataFrame({"interval_start": stamps.strftime("%Y-%m-%d %H:%M"), "kwh": kwh.round(3)})
    pd.concat([frame.assign(meter_id=f"m{n}") for n in range(5)]).to_csv(tmp_path / "e.csv", index=False)
    assert main(["check", str(tmp_path / "e.csv")]) == 0
    assert words in capsys.readouterr().out


def test_an_export_that_begins_or_ends_with_the_day_of_a_change_does_not_follow_it_by_ending_there():
    """America changed clocks on 9 March 2025 at 02:00, Europe at 01:00 UTC on 30 March."""
    hours = pd.date_range("2025-03-10 02:00", "2025-03-30 01:00", freq="h", inclusive="left").as_unit("us").asi8
    stamp_us = np.repeat(hours, 5)
    batch = Batch(2, ["m"], np.zeros(len(stamp_us), np.int32), stamp_us, False, np.ones(len(stamp_us)))
    assert clock_evidence([batch]).changes is None
    whole = pd.date_range("2025-03-09", "2025-03-31", freq="h", inclusive="left").as_unit("us").asi8
    batch = replace(
        batch, meter=np.zeros(5 * len(whole), np.int32), stamp_us=np.repeat(whole, 5), energy=np.ones(5 * len(whole))
    )
    assert clock_evidence([batch]).changes is False and len(clock_evidence([batch]).unlike_zones) == 4
    local = (
        pd.to_datetime(whole, unit="us")
        .tz_localize("UTC")
        .tz_convert("Europe/Berlin")
        .tz_localize(None)
        .as_unit("us")
        .asi8
    )
    found = clock_evidence([replace(batch, stamp_us=np.repeat(local, 5))])
    assert "Europe/Zurich" in found.zones and "America/Los_Angeles" in found.unlike_zones


@pytest.mark.parametrize("own", ["UTC", "Etc/GMT-1", "Europe/Berlin"])
def test_a_clock_of_stamps_that_the_user_names_is_not_replaced_by_another(tmp_path, capsys, own):
    """The stamps are in UTC, and the list or a column is wrong; a clock that changes is none of theirs."""
    frame = readings().assign(local=lambda f: f["utc"].dt.tz_localize(None))
    plain(frame).to_csv(tmp_path / "e.csv", index=False)
    export = {"time_zone": "Europe/Berlin", "stamp_time_zone": own, "interval_minutes": 30}
    period = {"first_day": "2025-03-10", "last_day": "2025-04-06"}
    (tmp_path / "twice.csv").write_text("meter_id,tariff\nM000,1\nM000,2\n")
    listed = export | period | {"meters": str(tmp_path / "twice.csv")}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=listed)
    assert code == 1 and "a second time" in said and "by itself" not in said
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export | {"energy_column": "energy"})
    assert code == 1 and f"stamp_time_zone: {'Etc/GMT-1' if own == 'Europe/Berlin' else own}\n" in said


@pytest.mark.parametrize(
    ("zone", "against", "proposed"),
    [
        ("Europe/Paris", ["UTC", "Europe/London", "Indian/Reunion", "Africa/Lagos", "Asia/Tokyo"], "Europe/Zurich"),
        ("America/Toronto", ["UTC", "America/Chicago", "America/Denver"], "America/New_York"),
        ("Australia/Brisbane", ["Australia/Perth", "UTC"], "Australia/Brisbane"),
        ("Asia/Kolkata", ["Asia/Karachi", "UTC"], "Asia/Kolkata"),
        ("America/Sao_Paulo", ["America/New_York"], "America/Araguaina"),
    ],
)
def test_offsets_of_stamps_tell_the_zone_and_contradict_others(tmp_path, capsys, zone, against, proposed):
    """A file for each of two months, so that both offsets of a clock that changes stand near a beginning."""
    frame = readings(days=40, meters=2)
    frame["local"] = [stamp.isoformat() for stamp in frame["utc"].dt.tz_convert(zone)]
    late = frame["local"] >= "2025-04-01"
    (tmp_path / "export").mkdir()
    for name, rows in (("1.csv", frame[~late]), ("2.csv", frame[late])):
        plain(rows).to_csv(tmp_path / "export" / name, index=False)
    (tmp_path / "list.csv").write_text("meter_id\nM000\nM001\n")
    export = {"interval_minutes": 30, "time_format": "ISO8601"}
    assert main(["check", str(tmp_path / "export")]) == 0
    said = capsys.readouterr().out
    assert f"time_zone: {proposed}\n" in said
    listed = {"meters": str(tmp_path / "list.csv"), "first_day": "2025-03-12", "last_day": "2025-04-10"}
    for other in against:
        code, said = checked(tmp_path, capsys, tmp_path / "export", export=export | {"time_zone": other})
        assert code == 1 and f"which is not that of {other}; set it to the zone of the homes" in said
    code, said = checked(tmp_path, capsys, tmp_path / "export", export=export | {"time_zone": other} | listed)
    assert code == 0 and f"which is not that of {other}" in said
    stated = {"time_zone": other, "stamp_time_zone": zone}  # of stamps, not of homes
    assert checked(tmp_path, capsys, tmp_path / "export", export=export | stated)[0] == 0
    code, said = checked(tmp_path, capsys, tmp_path / "export", export=export | {"time_zone": zone})
    assert code == 0 and "which is not that of" not in said


@pytest.mark.parametrize(("zone", "listed"), [("UTC", False), ("Europe/Istanbul", True), ("Etc/GMT-1", False)])
def test_a_zone_without_changes_is_told_where_stamps_skip_an_hour(tmp_path, frame, capsys, zone, listed):
    plain(frame).to_csv(tmp_path / "e.csv", index=False)
    (tmp_path / "list.csv").write_text("meter_id\nM000\nM001\n")
    export = {"interval_minutes": 30, "first_day": "2025-03-10", "last_day": "2025-04-06"}
    export |= {"meters": str(tmp_path / "list.csv")} if listed else {}
    words = (
        f"by the British and Irish rule, not by the clock of {zone}: if stamps are local time, set export.time_zone"
    )
    for settings in ({"time_zone": zone}, {"time_zone": ZONE, "stamp_time_zone": zone}):
        code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export | settings)
        assert code == 0 and words in said
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export | {"time_zone": ZONE})
    assert code == 0 and "rule, not by the clock" not in said


@pytest.mark.parametrize(("lost", "most"), [(1, False), (3, True), (4, True)])
def test_ids_that_lost_their_zeros_are_told(tmp_path, frame, capsys, lost, most):
    frame = frame.assign(meter_id=frame["meter_id"].str.replace("M", "00"))
    plain(frame).to_csv(tmp_path / "e.csv", index=False)
    ids = [*(f"{number}" for number in range(lost)), *(f"{number:05d}" for number in range(lost, METERS))]
    (tmp_path / "list.csv").write_text("\n".join(["meter_id", *ids]) + "\n")
    days = {"first_day": "2025-03-10", "last_day": "2025-04-06"}
    export = {"time_zone": ZONE, "interval_minutes": 30, "meters": str(tmp_path / "list.csv"), **days}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    assert code == 0 and f"of 4 listed meters, {have(lost)} no reading that counts" in said
    meters = "1 listed meter is" if lost == 1 else f"{lost} listed meters are"
    assert f"{meters} in the export with different leading zeros, blanks, signs or capitals, or full-width" in said
    assert ("a release would mostly hold noise around a public guess" in said) == most


@pytest.mark.parametrize("chosen", ["meter_no", "mpan"])
@pytest.mark.parametrize("exchanged", [True, False])
def test_an_exchange_of_meters_says_why_their_column_matters(tmp_path, frame, capsys, chosen, exchanged):
    """In the second of two files, so that no stamp has both meters of a point."""
    point, number = frame["meter_id"].str.replace("M", "S"), frame["meter_id"].str.replace("M", "7")
    later = frame["local"] >= "2025-04-01"
    if exchanged:
        number = number.where(~later | (point != "S001"), "7999")
    frame = (
        plain(frame)
        .drop(columns="meter_id")
        .assign(meter_no=number, **{"mpan" if chosen == "mpan" else "site": point})
    )
    (tmp_path / "export").mkdir()
    for part, rows in frame.groupby(later):
        rows.to_csv(tmp_path / "export" / f"{part:d}.csv", index=False)
    assert main(["check", str(tmp_path / "export"), "--time-zone", ZONE]) == 0
    said = capsys.readouterr().out
    of_point, other = ("mpan", "meter_no") if chosen == "mpan" else ("site", "site")
    assert f"meters are distinguished by '{chosen}'; '{other}' is possible, too: use the one that stays with" in said
    assert (
        f"; some entries of '{of_point}' have several of 'meter_no': if these are one home, " in said
    ) == exchanged


@pytest.mark.parametrize("other", ["m001", "M 001"])
def test_ids_that_differ_in_capitals_or_blanks_are_told(tmp_path, frame, capsys, other):
    frame = plain(frame).replace({"meter_id": {"M002": other}})
    frame.loc[9, "kwh"] = np.inf
    frame.to_csv(tmp_path / "e.csv", index=False)
    words = "1 of 4 ids in the export differs from another only in capitals, blanks or full-width digits"
    assert main(["check", str(tmp_path / "e.csv")]) == 0
    said = capsys.readouterr().out
    assert words in said and "  1 row: the reading is infinite\n" in said
    (tmp_path / "list.csv").write_text("meter_id\nM000\nM001\nM003\n")
    days = {"first_day": "2025-03-10", "last_day": "2025-04-06"}
    export = {"time_zone": ZONE, "interval_minutes": 30, "meters": str(tmp_path / "list.csv"), **days}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    assert code == 0 and f"To be checked: {words}" in said


def test_days_of_a_missing_file_are_named_and_the_longest_part_is_proposed(tmp_path, capsys):
    frame, begin = readings(days=63), pd.Timestamp("2025-03-10")
    day = (pd.to_datetime(frame["local"].str[:10]) - begin).dt.days
    plain(frame[~day.between(21, 34)]).to_csv(tmp_path / "e.csv", index=False)
    first, last, end = ((begin + pd.Timedelta(days=n)).date() for n in (21, 34, 62))
    words = f"no meter has a reading on 14 of 63 days: {first} to {last}; is a file missing?"
    export = {"time_zone": ZONE, "interval_minutes": 30}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    assert code == 1 and words in said and "no meter has 90% of the readings of these days" in said
    assert f"last_day: '{end}'" in said
    plain(frame[~day.between(14, 48)]).to_csv(tmp_path / "e.csv", index=False)
    assert main(["check", str(tmp_path / "e.csv")]) == 0
    said = capsys.readouterr().out
    assert "4 of 4 meters have enough of them for a study; over all 63 days of the export 0 have" in said
    period = {key: pd.Timestamp(re.search(f"{key}: '(.*)'", said)[1]) for key in ("first_day", "last_day")}
    assert 14 <= (period["last_day"] - period["first_day"]).days + 1 <= 16, "no four weeks keep a meter"


@pytest.mark.parametrize("often", [1, 8])
def test_meters_that_are_read_more_often_are_told_and_do_not_count(tmp_path, capsys, often):
    """Their readings at full half hours are of ten minutes: of few the check says so, of many a study is refused."""
    frame, fine = readings(meters=20), readings(minutes=10, meters=20)
    some = [f"M{number:03d}" for number in range(often)]
    frame = pd.concat([frame[~frame["meter_id"].isin(some)], fine[fine["meter_id"].isin(some)]])
    plain(frame).to_csv(tmp_path / "e.csv", index=False)
    export = {"time_zone": ZONE, "interval_minutes": 30, "max_unusable_share": 0.2}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    assert f"of 20 meters, {20 - often} have a reading every 30 minutes and {often} are read more often" in said
    assert code == (often > 1) and ("some meters are read more often: set export.shortest_" in said) == (often > 1)
    result = ingested(tmp_path / "e.csv", ExportSettings(**{**export, "max_unusable_share": 1.0}))
    others = result.energy_kwh.drop(columns=some)
    assert result.energy_kwh[some].isna().all(axis=None) and not others.isna().any(axis=None)
    result = ingested(tmp_path / "e.csv", ExportSettings(**export, shortest_interval_minutes=10))
    frame["utc"] = frame["utc"].dt.floor("30min")
    energy = frame.pivot_table(index="utc", columns="meter_id", values="kwh", aggfunc="sum")
    np.testing.assert_allclose(result.energy_kwh.to_numpy(), energy[[*result.energy_kwh]].to_numpy())


def test_rows_that_contradict_each_other_at_a_clock_change_are_said_to_lie_there(tmp_path, capsys):
    """Half of the meters have the readings of two hours an hour early, as a real Australian export has."""
    frame = readings(days=40, start="2025-03-01")
    late = frame["utc"].between("2025-03-30 01:00+00:00", "2025-03-30 01:30+00:00")
    moved = frame["meter_id"].isin(["M000", "M001"]) & late
    early = frame["utc"] - pd.to_timedelta(moved.astype(int), unit="h")
    frame["local"] = early.dt.strftime("%Y-%m-%d %H:%M")
    plain(frame).to_csv(tmp_path / "e.csv", index=False)
    words = "all of 4 rows that contradict another row of the same meter and interval lie between 00:00 and 01:00 on "
    own = {"time_zone": ZONE, "stamp_time_zone": "UTC", "interval_minutes": 30}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=own)
    assert code == 0 and f"{words}2025-03-30, when clocks of Europe/London change" in said
    assert main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE]) == 0
    found, _, proposed = capsys.readouterr().out.partition("A configuration that reads it:")
    assert words in found and words not in proposed  # counts of readings have no place in a configuration
    again = frame.iloc[[500, 1900]].assign(kwh=9.0)
    plain(pd.concat([readings(days=40, start="2025-03-01"), again])).to_csv(tmp_path / "e.csv", index=False)
    own = {"time_zone": ZONE, "interval_minutes": 30}
    assert "contradict another" not in checked(tmp_path, capsys, tmp_path / "e.csv", export=own)[1]


@pytest.mark.parametrize("columns", [1, 2])
def test_a_column_per_meter_is_refused_by_its_header_and_has_no_rows_to_keep(tmp_path, frame, capsys, columns):
    """Half of the stamps return with other readings."""
    wide = plain(frame).pivot_table(index="interval_start", columns="meter_id", values="kwh")
    wide = pd.concat([wide, wide.iloc[::2] + 1])
    wide.loc[:, np.repeat(wide.columns, columns)].to_csv(tmp_path / "e.csv")
    own = {"format": "wide_csv", "wide_layout": "meters", "time_zone": ZONE, "interval_minutes": 30}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=own)
    assert code == columns - 1 and said.count(f"row 1: names {METERS} meters in more than one column") == code
    if not code:
        assert "rows contradict another row of the same meter and interval: if the export sends corrected" in said
        assert "export.keep_rows" not in said and "export.energy_column" not in said


def test_a_layout_that_no_release_is_made_from_is_proposed_with_what_to_write_instead(tmp_path, frame, capsys):
    said = {}
    for name in ("a column per meter", "a day per row"):
        path, _ = written(tmp_path, frame, READ[name])
        assert main(["check", str(path)]) == 0
        said[name] = capsys.readouterr().out.count("no release: for one, write a row per reading")
    assert said == {"a column per meter": 2, "a day per row": 0}  # once in the configuration


@pytest.mark.parametrize(
    ("several", "packed"), [(False, ""), (True, ""), (False, ".gz")], ids=["one file", "two files", "packed"]
)
@pytest.mark.parametrize(("of_home", "other", "sure"), [("1.29.0", "2.29.0", True), ("Tag", "Nacht", False)])
def test_registers_that_come_later_are_named_by_the_rows_that_contradict(
    tmp_path, capsys, few_lines, of_home, other, sure, several, packed
):
    """The first rows that layouts are guessed from have one register; a few homes have another."""
    frame = plain(readings()).assign(register=of_home)
    more = frame[frame["meter_id"] == frame["meter_id"].iloc[-1]].assign(register=other, kwh=0.12345)
    path = tmp_path / ("export" if several else f"e.csv{packed}")
    if several:
        path.mkdir()
        for number, part in enumerate([frame, pd.concat([frame, more])]):
            part.to_csv(path / f"{number}.csv", index=False)
    else:
        pd.concat([frame, more]).to_csv(path, index=False)
    main(["check", str(path)])
    out = capsys.readouterr().out
    contradict = f"{len(more):,} rows contradict another row of the same meter and interval"
    named = f"field 'register': has several rows per meter and interval, distinguished by this column ({other}, "
    assert (contradict in out, named in out, "- 1.29.0\n" in out) == (not sure, not sure, sure)
    export = {"time_zone": ZONE, "interval_minutes": 30}
    said = checked(tmp_path, capsys, path, export=export)[1]
    assert contradict in said and "corrections come last" not in said
    assert ("going by its first rows, set export.keep_rows to {register: [1.29.0]}" in said, named in said) == (
        sure,
        not sure,
    )


@pytest.mark.parametrize("meters", [1, 5])
def test_a_column_of_registers_is_not_taken_for_meters_by_rows_of_a_few(tmp_path, capsys, few_lines, meters):
    """As the energy data of German grid companies: feed-in stands behind all consumption or beside it."""
    frame = plain(readings()).assign(OBIS="1-0:1.8.0").rename(columns={"meter_id": "Zählpunkt"})
    some = frame[frame["Zählpunkt"].isin(frame["Zählpunkt"].unique()[:meters])]
    behind = pd.concat([frame, some.assign(OBIS="1-0:2.8.0", kwh=0.12345)])
    beside = pd.concat([some, some.assign(OBIS="1-0:2.8.0", kwh=0.12345)]).sort_index(kind="stable")
    for rows in (behind, beside[: 2 * 1000]):
        rows.to_csv(tmp_path / "e.csv", index=False)
        assert main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE]) == 0
        said = capsys.readouterr().out
        assert "  meter_column: Zählpunkt\n" in said and "    OBIS:\n    - 1-0:1.8.0\n" in said
        assert "contradict another" not in said and "distinguish" not in said
        assert "rows of the register '1-0:1.8.0' are read, others (1-0:2.8.0) not, by 'OBIS'" in said


def test_one_unit_is_said_of_one_column(tmp_path, capsys):
    frame = readings()
    plain(frame.assign(kwh=(frame["kwh"] * 1000).round())).to_csv(tmp_path / "e.csv", index=False)
    main(["check", str(tmp_path / "e.csv")])
    said = capsys.readouterr().out
    assert "  in Wh;" in said and "the export says kWh" in said and "the unit is kWh" not in said


def test_a_configuration_without_an_export_is_looked_through(tmp_path, capsys):
    for settings, code, said in (
        ({"seed": 1}, 0, "one will be simulated: a study can run"),
        ({"quality": {"refuse": ["spike"]}}, 1, "'quality.refuse': is no longer a setting"),
    ):
        (tmp_path / "my.yaml").write_text(yaml.safe_dump(settings))
        assert main(["check", "--config", str(tmp_path / "my.yaml")]) == code
        assert said in capsys.readouterr().out


def test_an_error_elsewhere_in_the_configuration_reprints_nothing(tmp_path, frame, capsys):
    path, _ = written(tmp_path, frame, READ["plain"])
    good = {"time_zone": ZONE, "interval_minutes": 30}
    code, said = checked(tmp_path, capsys, path, export=good, mixture={"clases": 3})
    assert code == 1 and said.count("\n") == 1 and "write 'classes' if you meant that key" in said


def test_a_file_of_a_listed_meter_that_is_no_text_ends_nothing(tmp_path, frame, capsys):
    """The first of several files, which may hold the rows of one meter alone."""
    (tmp_path / "export").mkdir()
    for number, (meter, rows) in enumerate(frame.groupby("meter_id")):
        encoding = "utf-16" if number == 0 else "utf-8"
        (tmp_path / f"export/{meter}.csv").write_bytes(plain(rows).to_csv(index=False).encode(encoding))
    (tmp_path / "list.csv").write_text("\n".join(["meter_id", *frame["meter_id"].unique()]))
    export = {"time_zone": ZONE, "interval_minutes": 30, "meters": str(tmp_path / "list.csv")}
    days = {"first_day": "2025-03-10", "last_day": "2025-04-06"}
    code, said = checked(tmp_path, capsys, tmp_path / "export", export=export | days)
    assert code == 0 and "a study can run" in said and "of 4 listed meters, 1 has no reading that counts" in said


def test_a_few_stamps_with_another_offset_contradict_no_zone(tmp_path, frame, capsys):
    words = [stamp.isoformat() for stamp in frame["utc"].dt.tz_convert(ZONE)]
    words[5] = words[5].replace("+00:00", "+03:00")
    plain(frame.assign(local=words)).to_csv(tmp_path / "e.csv", index=False)
    export = {"time_zone": ZONE, "interval_minutes": 30, "time_format": "ISO8601"}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    assert code == 0 and "which is not that of" not in said


def test_few_stamps_of_one_file_contradict_a_zone_that_many_of_another_fit(tmp_path, capsys):
    """In summer +03:00 is Athens, in winter not; stamps in UTC say nothing. Of a file sorted by time few are read."""
    (tmp_path / "export").mkdir()
    for name, start, zone in (
        ("1.csv", "2025-02-01", "UTC"),
        ("2.csv", "2025-06-01", "Africa/Nairobi"),
        ("3.csv", "2025-01-06", "Africa/Nairobi"),
    ):
        frame = readings(days=20, start=start)
        stamps = frame["utc"].dt.tz_convert(zone)
        rows = plain(frame.assign(local=[stamp.isoformat().replace("+00:00", "Z") for stamp in stamps]))
        (rows[:9] if name == "3.csv" else rows).to_csv(tmp_path / "export" / name, index=False)
    main(["check", str(tmp_path / "export")])
    assert "time_zone: Africa/Addis_Ababa\n" in capsys.readouterr().out
    export = {"interval_minutes": 30, "time_format": "ISO8601"}
    for zone, wrong in (("Europe/Athens", True), ("Africa/Nairobi", False)):
        code, said = checked(tmp_path, capsys, tmp_path / "export", export=export | {"time_zone": zone})
        assert (code == 1 and f"which is not that of {zone}" in said) == wrong


def test_one_row_with_another_offset_contradicts_no_zone_where_a_beginning_has_few_stamps(tmp_path, frame, capsys):
    stamps = frame["utc"].dt.tz_convert(ZONE)
    every = [plain(frame.assign(local=[s.isoformat() for s in stamps], meter_id=f"X{n:03}"))[:8] for n in range(200)]
    rows = pd.concat(every).sort_values("interval_start", ignore_index=True)
    rows.loc[5, "interval_start"] = rows.loc[5, "interval_start"].replace("+00:00", "+03:00")
    rows.to_csv(tmp_path / "e.csv", index=False)
    export = {"time_zone": ZONE, "interval_minutes": 30, "time_format": "ISO8601"}
    assert "which is not that of" not in checked(tmp_path, capsys, tmp_path / "e.csv", export=export)[1]


def test_text_that_is_not_utf_8_is_one_error_and_its_encoding_is_proposed(tmp_path, frame, capsys):
    (tmp_path / "e.csv").write_bytes(plain(frame).to_csv(index=False).encode("utf-16"))
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export={"time_zone": ZONE, "interval_minutes": 30})
    assert code == 1 and said.count("meterdp cannot go on") == 1
    assert "is not UTF-8 text; set export.encoding to that of the file" in said and "encoding: utf-16" in said


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16"])
def test_the_encoding_is_proposed_where_registers_come_later(tmp_path, capsys, few_lines, encoding):
    """Rows that contradict others are looked at once more, by then as UTF-8."""
    frame = plain(readings()).assign(register="1.29.0").rename(columns={"meter_id": "Zählpunkt"})
    more = frame[frame["Zählpunkt"] == frame["Zählpunkt"].iloc[-1]].assign(register="2.29.0", kwh=0.12345)
    path = tmp_path / "e.csv"
    path.write_bytes(pd.concat([frame, more]).to_csv(index=False).encode(encoding))
    assert main(["check", str(path), "--time-zone", ZONE]) == 0
    said = capsys.readouterr()
    assert f"  encoding: {encoding}\n" in said.out and "is not UTF-8 text" not in said.out + said.err
    said = checked(tmp_path, capsys, path, export={"time_zone": ZONE, "encoding": encoding})[1]
    assert f"  encoding: {encoding}\n" in said and "is not UTF-8 text" not in said


@pytest.mark.parametrize(
    "text, encoding, proposed",
    [
        ("計器,時刻,電力量\n1,順潮流,ﾔﾏﾀﾞ ﾀﾛｳ\n", "cp932", "cp932"),
        ("števec,začetek,količina\nšola,žaga,Žiče\n", "windows-1250", "windows-1252"),
        ("Žižkov,příliš,žluťoučký\n", "windows-1250", "windows-1250"),
        ("мерач;време;потрошња\nЉубљана;Њива;ћуприја\n", "windows-1251", "windows-1251"),
        ("énergie;cœur – „œuf“\nŒuvre;Noël\n", "windows-1252", "windows-1252"),
    ],
)
def test_japanese_is_told_from_letters_where_windows_has_them_too(text, encoding, proposed):
    assert decoded(text.encode(encoding))[1] == proposed


def test_one_line_that_is_not_utf_8_makes_no_other_encoding(tmp_path, frame, capsys):
    lines = plain(frame.assign(meter_id="é" + frame["meter_id"])).to_csv(index=False).encode().splitlines(True)
    (tmp_path / "e.csv").write_bytes(b"".join([*lines[:9], b"\xe9M000,2025-03-10 00:00,1\n", *lines[9:]]))
    assert main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE]) == 1
    assert "is not UTF-8 text; set export.encoding" in capsys.readouterr().err


def test_a_misspelt_zone_is_one_error_with_the_zone_that_was_meant(tmp_path, frame, capsys):
    path, _ = written(tmp_path, frame, READ["plain"])
    code, said = checked(tmp_path, capsys, path, export={"time_zone": "Europe/Lodon", "interval_minutes": 30})
    assert code == 1 and said.count("\n") == 1 and "write 'Europe/London' if you meant that" in said
    assert main(["check", str(path), "--time-zone", "Zurich"]) == 1
    assert "write 'Europe/Zurich' if you meant that" in capsys.readouterr().err


def test_a_list_of_meters_may_have_semicolons_as_an_export_has():
    commas = parse_meter_list(b"meter_id,tariff\nM1,a\nM2,b\n")
    assert parse_meter_list(b"meter_id;tariff\nM1;a\nM2;b\n") == commas
    assert commas.meter_ids == ["M1", "M2"] and commas.said_of == {"tariff": {"M1": "a", "M2": "b"}}
    with pytest.raises(InputError, match="no column of its header is meter_id"):
        parse_meter_list(b"meter_id;tariff,zone\nM1;a,b\n")


def test_a_list_is_read_as_spreadsheets_save_it_and_with_the_name_that_the_export_gives_meters():
    said = {"M1": "Wärmepumpe", "M2": "Öffentlich"}
    text = "Konto;Zählpunktbezeichnung;Tarif\r\n7;M1;Wärmepumpe\r\n8;M2;Öffentlich\r\n8;M2;Öffentlich\r\n;;\r\n"
    tabs = text.replace(";", "\t")
    saved = [text.encode(), text.encode("utf-8-sig"), text.encode("cp1252"), tabs.encode("utf-16"), tabs.encode()]
    for data in saved:
        meters = parse_meter_list(data)
        assert meters.meter_column == "Zählpunktbezeichnung" and meters.meter_ids == ["M1", "M2"]
        assert meters.said_of == {"Konto": {"M1": "7", "M2": "8"}, "Tarif": said}
        assert digest_of_meters(data) == digest_of_meters(b"meter_id\nM2\nM1\n")
    for data in (b"PK\x03\x04\x81\x8d", "meter_id,契約\nM1,従量電灯\n".encode("cp932")):
        with pytest.raises(InputError, match="is not a CSV file; save the list as CSV UTF-8"):
            parse_meter_list(data)


def test_check_says_which_column_of_the_list_names_the_meters_and_which_make_groups(tmp_path, frame, capsys):
    path, settings = written(tmp_path, frame, READ["plain"])
    meters = sorted(frame["meter_id"].unique())
    rows = [f"{meter};{'Wärme' if n % 2 else 'Haushalt'};{n} Lane;Bonn" for n, meter in enumerate(meters, 1)]
    rows += [f"X{n};Haushalt;{n} Alley;Bonn" for n in range(8)]
    (tmp_path / "list.csv").write_bytes("\n".join(["Zählpunkt;Tarif;Straße;Ort", *rows]).encode("cp1252"))
    days = {"first_day": "2025-03-10", "last_day": "2025-03-11"}
    listed = {"meters": str(tmp_path / "list.csv"), "interval_minutes": 30, "time_zone": ZONE, **days}
    code, said = checked(tmp_path, capsys, path, export=settings | listed)
    assert code == 0 and "are in the column 'Zählpunkt' of the list." in said
    assert "The report compares groups of the list by Tarif." in said
    assert "no groups by Straße: a column needs 2 to 10 different entries" in said


def by_hour(start: str, zone: str, columns: str, days: int = 40) -> pd.DataFrame:
    """A row per meter and day, with hours of the clock and one for the repeated hour, or counted from midnight."""
    begin = pd.Timestamp(start, tz=zone)
    utc = pd.date_range(begin, begin + pd.DateOffset(days=days), freq="h", inclusive="left").tz_convert("UTC")
    local = utc.tz_convert(zone)
    kwh = np.random.default_rng(5).gamma(2, 0.3, (3, len(utc))).round(3)
    date = local.strftime("%Y-%m-%d")
    frame = pd.concat(pd.DataFrame({"meter": f"M{m}", "date": date, "kwh": kwh[m]}) for m in range(3))
    number = frame.groupby(["meter", "date"]).cumcount() + 1
    if columns == "clock":
        number = np.tile(local.hour + 1, 3)
        frame["column"] = [f"HE{n:02d}" for n in number]
        again = frame.duplicated(["meter", "date", "column"])
        frame.loc[again, "column"] += "X"
    else:
        frame["column"] = [f"HE{n:02d}" for n in number]
    return frame.pivot_table(index=["meter", "date"], columns="column", values="kwh")


@pytest.mark.parametrize(
    ("named", "zone", "rule"),
    [
        ("starts", "America/Chicago", "America/Los_Angeles"),
        ("ends", "America/Chicago", "America/Los_Angeles"),
        ("starts", "Europe/Athens", "Europe/Athens"),
        ("ends", "Europe/Athens", "Europe/Zurich"),  # as named by starts in Zurich
        (None, "America/Chicago", "UTC"),
    ],
)
def test_days_of_23_hours_tell_how_columns_are_numbered(tmp_path, monkeypatch, named, zone, rule):
    """Behind the rows that the layout is told by, and without a day whose number is that of a month in them."""
    monkeypatch.setattr("meterdp.ingest.inference.table._LINES", 5)
    begin = pd.Timestamp("2024-03-01", tz=zone)
    utc = pd.date_range(begin, begin + pd.DateOffset(days=40), freq="h", inclusive="left").tz_convert("UTC")
    start, end = (pd.Series((utc + pd.Timedelta(hours=later)).tz_convert(zone).tz_localize(None)) for later in (0, 1))
    counted = start.groupby(start.dt.date).cumcount() + 1
    hour = {"starts": start.dt.hour + 1, "ends": end.dt.hour.replace(0, 24), None: counted}[named]
    kwh = np.random.default_rng(5).gamma(2, 0.3, (4, len(utc))).round(3)
    stamps = {"date": start.dt.strftime("%m/%d/%Y"), "hour": hour.map("h{:02d}".format)}
    rows = pd.concat(pd.DataFrame({"meter": f"M{m}", **stamps, "kwh": kwh[m]}) for m in range(4))
    rows.pivot_table(index=["date", "meter"], columns="hour", values="kwh").to_csv(tmp_path / "e.csv")
    for given in (None, zone):
        found = examine(tmp_path / "e.csv", time_zone=given)
        assert found.findings == [] and found.settings["time_zone"] == (given or rule)
        assert found.settings["time_format"] == "%m/%d/%Y" and "(export.time_format)" not in "".join(found.to_check)
        said, to_check = " ".join(found.said), " ".join(found.to_check)
        assert ("columns in the middle are empty and the last are not: they follow" in said) == (named is not None)
        assert ("the last columns are empty: columns count from midnight" in said) == (
            named is None and given == zone
        )
        assert ("no column is for the hour that the clock repeats" in to_check) == (named is given is None)
    table = ingested(tmp_path / "e.csv", found.settings).energy_kwh
    assert table.index.tz_convert("UTC").equals(utc) and (table.to_numpy().T == kwh).all()


@pytest.mark.parametrize("start", ["2024-03-01", "2024-10-01"])
@pytest.mark.parametrize(
    ("zone", "by_new_clock", "by_old_clock"),
    [
        ("Europe/Rome", ["Central European", "British and Irish"], ["Central European", "Eastern European"]),
        ("Europe/Athens", ["Central European", "Eastern European"], ["Eastern European"]),
        ("America/Denver", ["North American"], ["North American"]),
    ],
)
def test_ends_of_hours_fit_rules_by_the_old_clock_and_by_the_new(tmp_path, start, zone, by_new_clock, by_old_clock):
    begin = pd.Timestamp(start, tz=zone)
    utc = pd.date_range(begin, begin + pd.DateOffset(days=61), freq="h", inclusive="left").tz_convert("UTC")
    hour, kwh = pd.Timedelta(hours=1), np.random.default_rng(5).gamma(2, 0.3, (4, len(utc))).round(3)
    for end, rules in [
        ((utc + hour).tz_convert(zone).tz_localize(None), by_new_clock),
        (utc.tz_convert(zone).tz_localize(None) + hour, by_old_clock),
    ]:
        stamps = end.strftime("%Y-%m-%d %H:%M")
        rows = pd.concat(pd.DataFrame({"meter": f"M{m}", "ora": stamps, "kwh": kwh[m]}) for m in range(4))
        rows.to_csv(tmp_path / "e.csv", index=False)
        found = examine(tmp_path / "e.csv")
        assert found.findings == [] and [CLOCKS[zone] for zone in found.clock.zones] == rules
        assert found.settings["time_zone"] == found.clock.zones[0] and found.settings["stamp"] == "end"
        of_homes = ingested(tmp_path / "e.csv", found.settings | {"time_zone": zone}).energy_kwh
        assert of_homes.index.tz_convert("UTC").equals(utc) and (of_homes.to_numpy().T == kwh).all()


@pytest.mark.parametrize("ends", [False, True])
def test_intervals_named_by_both_their_times_are_read_by_one(tmp_path, ends):
    edges = [f"{hour:02d}:00" for hour in range(25)]
    names = [f"{a}-{b}" for a, b in pairwise(edges)]
    days = pd.date_range("2025-05-05", periods=10).strftime("%d/%m/%Y")
    kwh = np.random.default_rng(5).gamma(2, 0.3, (30, 24)).round(3)
    key = {"POD": np.repeat(["M0", "M1", "M2"], 10), "Giorno": np.tile(days, 3)}
    pd.concat([pd.DataFrame(key), pd.DataFrame(kwh, columns=names)], axis=1).to_csv(tmp_path / "e.csv", index=False)
    found = examine(tmp_path / "e.csv", time_zone="Europe/Rome")
    assert found.findings == [] and found.settings["wide_layout"] == "days"
    settings = found.settings | {"stamp": "end" if ends else "start"}
    table = ingested(tmp_path / "e.csv", settings).energy_kwh
    assert (table.to_numpy().T == kwh.reshape(3, 240)).all()
    assert table.index[0] == pd.Timestamp("2025-05-05", tz="Europe/Rome")


def test_columns_named_by_times_that_count_from_midnight_are_told(tmp_path, capsys):
    """On the day of 23 hours the last four quarters are empty; that of 25 hours has four values more."""
    days = pd.date_range("2025-03-24", periods=14)
    kwh = np.random.default_rng(5).gamma(2, 0.1, (42, 96)).round(3).astype(object)
    date = np.tile(days, 3)
    kwh[date == np.datetime64("2025-03-30"), 92:] = ""
    names = [f"{n // 4:02d}:{n % 4 * 15:02d}" for n in range(96)]
    key = {"POD": np.repeat(["M0", "M1", "M2"], 14), "Giorno": pd.Series(date).dt.strftime("%d/%m/%Y")}
    path = tmp_path / "e.csv"
    pd.concat([pd.DataFrame(key), pd.DataFrame(kwh, columns=names)], axis=1).to_csv(path, index=False)
    export = {"format": "wide_csv", "wide_layout": "days", "meter_column": "POD", "date_column": "Giorno"}
    export |= {"time_format": "%d/%m/%Y", "interval_minutes": 15, "time_zone": "Europe/Rome"}
    said = " ".join(checked(tmp_path, capsys, path, export=export)[1].split())
    assert "unless they only fill a gap, columns count from midnight (number them from 1 on and set" in said
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:9], lines[9] + ",1,1,1,1", *lines[10:], ""]))
    code, said = checked(tmp_path, capsys, path, export=export)
    said = " ".join(said.split())
    assert code == 1 and "row 10: has more or fewer fields than the header" in said
    assert "if days of 25 hours have more values, number the intervals of such a day in the header" in said


def test_sums_of_parts_of_the_day_beside_its_intervals_are_not_read(tmp_path):
    """Of another length than the intervals, or beside columns that are named by one time."""
    hours, quarters = ([f"{m // 60:02d}:{m % 60:02d}" for m in range(0, 1441, step)] for step in (60, 15))
    kwh = np.random.default_rng(5).gamma(2, 0.1, (30, 96)).round(3)
    by_hour = kwh.reshape(30, 24, 4).sum(axis=2).round(3)
    of_hours, of_quarters = ([f"{a}-{b}" for a, b in pairwise(edges)] for edges in (hours, quarters))
    sums = np.stack([by_hour[:, 7:23].sum(axis=1), by_hour.sum(axis=1)], axis=1).round(3)
    key = {"meter": np.repeat(["M0", "M1", "M2"], 10)}
    key["date"] = np.tile(pd.date_range("2025-05-05", periods=10).strftime("%Y-%m-%d"), 3)
    for names, read, minutes, others, beside in (
        (hours[:-1], by_hour, 60, ["07:00-23:00", "00:00-24:00"], sums),
        (of_hours, by_hour, 60, ["07:00-23:00", "00:00-24:00"], sums),
        (of_quarters, kwh, 15, of_hours, by_hour),
        (hours[:-1], by_hour, 60, of_quarters, kwh),
    ):
        frame = pd.concat([pd.DataFrame(a, columns=b) for a, b in ((beside, others), (read, names))], axis=1)
        frame = pd.concat([pd.DataFrame(key), frame], axis=1)
        frame.to_csv(tmp_path / "e.csv", index=False)
        export = {"format": "wide_csv", "wide_layout": "days", "meter_column": "meter", "date_column": "date"}
        export |= {"time_format": "%Y-%m-%d", "interval_minutes": minutes, "time_zone": "Europe/Rome"}
        if beside is sums:  # so few may be for the hour that the clock repeats
            with pytest.raises(InputError, match="field '07:00-23:00': looks like one more interval and is not read"):
                ingested(tmp_path / "e.csv", export)
            continue
        table = ingested(tmp_path / "e.csv", export).energy_kwh
        assert (table.to_numpy().T == read.reshape(3, -1)).all()
    twelve = [f"{a}:00-{b}:00" for a, b in pairwise([12, *range(1, 13), *range(1, 13)])]
    assert times_of_day_us(twelve, ends=False) == {}
    assert len(times_not_read([*of_hours, "02:00-03:00X"], range(24))) == 1


@pytest.mark.parametrize("columns", ["clock", "counted"])
@pytest.mark.parametrize(
    ("zone", "rule"), [("America/Chicago", "North American"), ("Europe/Berlin", "Central European")]
)
def test_days_of_25_hours_tell_the_zone_of_numbered_columns(tmp_path, capsys, columns, zone, rule):
    by_hour("2024-10-10", zone, columns).to_csv(tmp_path / "e.csv")
    assert main(["check", str(tmp_path / "e.csv"), "--write", str(tmp_path / "my.yaml")]) == 0
    said = capsys.readouterr().out
    assert f"{rule}" in said and "is one of several zones with the same clock changes" in said
    assert "clock change skips" not in said and f"{3 * (40 * 24 + 1):,} usable readings" in said
    assert ("is the hour that the clock repeats" in said) == (columns == "clock")
    export = {"format": "wide_csv", "wide_columns": "numbers", "interval_minutes": 60, "time_format": "%Y-%m-%d"}
    export |= {"meter_column": "meter", "time_zone": "UTC"}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    assert code == 0 and "3 readings are for an hour that their day does not have" in said


def rows_by_hour(start: str, zone: str, mark: str | None, days: int = 40) -> pd.DataFrame:
    """A row per meter, day and hour, 1 to 24 by the clock with a mark on the repeated one, or counted from midnight
    if ``mark`` is None; and the UTC start.
    """
    begin = pd.Timestamp(start, tz=zone)
    utc = pd.date_range(begin, begin + pd.DateOffset(days=days), freq="h", inclusive="left").tz_convert("UTC")
    local = pd.Series(utc.tz_convert(zone).tz_localize(None))
    date = local.dt.strftime("%Y-%m-%d")
    hour = (local.dt.hour + 1).astype(str) + local.duplicated().map({True: mark, False: ""})
    hour = date.groupby(date).cumcount() + 1 if mark is None else hour
    kwh = np.random.default_rng(5).gamma(2, 0.3, (3, len(utc))).round(3)
    frames = [
        pd.DataFrame({"meter": f"M{m}", "date": date, "hour": hour, "kwh": kwh[m], "utc": utc}) for m in range(3)
    ]
    return pd.concat(frames, ignore_index=True)


COUNTED = "hours are assumed to count from midnight"
BY_CLOCK = "hours follow the clock of Europe/Warsaw instead of counting from midnight"
BY_HOUR = {"time_column": "date", "time_of_day_column": "hour", "meter_column": "meter", "interval_minutes": 60}


@pytest.mark.parametrize(
    ("start", "mark", "zone"),
    [
        *(("2024-03-05", "A", "America/Chicago"), ("2024-03-05", "*", "Europe/Warsaw")),
        *(("2024-03-05", "", "America/Chicago"), ("2024-03-05", None, "Europe/Warsaw")),
        *(("2024-03-05", "", "Europe/Warsaw"), ("2024-03-05", None, "America/Chicago")),
        *(("2024-10-10", "A", "Europe/Warsaw"), ("2024-10-10", "*", "America/Chicago")),
        *(("2024-10-10", "", "Europe/Warsaw"), ("2024-10-10", None, "America/Chicago")),
        *(("2024-10-10", "", "America/Chicago"), ("2024-10-10", None, "Europe/Warsaw")),
    ],
)
def test_days_of_clock_changes_tell_how_hours_are_numbered(tmp_path, capsys, start, mark, zone):
    rule = {"America/Chicago": "North American", "Europe/Warsaw": "Central European"}[zone]
    rows = rows_by_hour(start, zone, mark)
    rows.drop(columns="utc").to_csv(tmp_path / "e.csv", index=False)
    found = examine(tmp_path / "e.csv", time_zone=zone)
    assert found.findings == [] and not [said for said in found.to_check if COUNTED in said]
    assert found.settings["time_format"] == "%Y-%m-%d" + " %H" * (mark is not None)
    assert found.settings.get("stamp") == (None if mark is None else "end")
    table = ingested(tmp_path / "e.csv", found.settings).energy_kwh
    truth = rows.pivot_table(index="utc", columns="meter", values="kwh")
    assert table.index.equals(truth.index) and (table.to_numpy() == truth.to_numpy()).all()
    if mark is None and start == "2024-03-05":
        return  # a day of 23 hours may be any
    assert main(["check", str(tmp_path / "e.csv")]) == 0
    said = capsys.readouterr().out
    assert rule in said and "is one of several zones with the same clock changes" in said
    assert "no daylight-saving change" not in said


@pytest.mark.parametrize(("minutes", "said"), [(60, True), (30, False)])
def test_hours_that_no_change_of_clocks_tells_are_said_to_be_counted(tmp_path, minutes, said):
    frame = plain(readings(minutes, start="2025-05-05"))
    day = frame["interval_start"].str[:10]
    frame.assign(interval_start=day, n=frame.groupby(["meter_id", day]).cumcount() + 1).to_csv(
        tmp_path / "e.csv", index=False
    )
    found = examine(tmp_path / "e.csv", time_zone=ZONE)
    sentences = [sentence for sentence in found.to_check if COUNTED in sentence]
    assert len(sentences) == said and "stamp" not in found.settings
    assert all("set export.time_format to '%Y-%m-%d %H' and export.stamp to end" in words for words in sentences)


def test_another_file_tells_how_hours_are_numbered(tmp_path):
    rows = rows_by_hour("2024-09-10", "Europe/Warsaw", "A", days=80)
    (tmp_path / "e").mkdir()
    for month, some in rows.drop(columns="utc").groupby(rows["date"].str[:7]):
        some.to_csv(tmp_path / "e" / f"{month}.csv", index=False)
    found = examine(tmp_path / "e", time_zone="Europe/Warsaw")
    assert found.settings["time_format"] == "%Y-%m-%d %H" and found.settings["stamp"] == "end"
    assert int(found.trial.counts[0]) == len(rows) and not any(COUNTED in said for said in found.to_check)
    assert sum("count" in said for said in found.said) == 0


@pytest.mark.parametrize(
    ("start", "mark", "listed"),
    [
        *(
            ("2024-10-10", "A", True),
            ("2024-10-10", "A", False),
            ("2024-10-10", "", True),
            ("2024-10-10", None, False),
        ),
        *(("2024-03-05", "A", False), ("2024-03-05", "", True), ("2024-03-05", None, True)),
    ],
)
def test_hours_by_the_clock_are_told_to_settings_that_count_them(tmp_path, capsys, start, mark, listed):
    rows = rows_by_hour(start, "Europe/Warsaw", mark)
    rows.drop(columns="utc").to_csv(tmp_path / "e.csv", index=False)
    export = {**BY_HOUR, "time_format": "%Y-%m-%d", "time_zone": "Europe/Warsaw"}
    if listed:
        (tmp_path / "list.csv").write_text("meter_id\nM0\nM1\nM2\n")
        export |= {"meters": str(tmp_path / "list.csv"), "first_day": start, "last_day": rows["date"].max()}
    hint = "set export.time_format to '%Y-%m-%d %H' and export.stamp to end"
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    if mark == "A" and start == "2024-10-10" and not listed:
        assert code == 1 and f"for hours by the clock, also 3A, {hint}" in said
    else:
        assert code == 0 and said.count(f"To be checked: {BY_CLOCK}: {hint}") == (mark is not None)
    assert "is that the zone of the homes" not in said and "daily or monthly sums" not in said
    if mark is not None:
        code, said = checked(
            tmp_path, capsys, tmp_path / "e.csv", export=export | {"time_format": "%Y-%m-%d %H", "stamp": "end"}
        )
        assert code == 0 and "To be checked" not in said
        export |= {"time_format": "%Y-%m-%d %H", "stamp": "start"}
        code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
        assert code == (not listed) and "is not an hour of the day, 0 to 23" in said
        assert not listed or "they are the ends of intervals, but export.stamp says start" in said


def test_columns_of_a_day_that_may_be_hours_of_the_clock_are_said(tmp_path, capsys):
    wide = by_hour("2024-10-10", "Europe/Berlin", "clock")
    export = {"format": "wide_csv", "wide_columns": "numbers", "interval_minutes": 60, "time_format": "%Y-%m-%d"}
    export |= {"meter_column": "meter", "time_zone": "Europe/Berlin"}
    for table, said in ((wide, False), (wide.drop(columns="HE03X"), True), (wide.drop(columns="HE03X")[:10], False)):
        table.to_csv(tmp_path / "e.csv")
        code, out = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
        assert code == 0 and ("no column is for the hour that the clock repeats" in out) == said


@pytest.mark.parametrize("name", ["02:00X", "25:00", "02:00 (2)"])
def test_a_column_that_looks_like_a_time_is_never_left_out_in_silence(tmp_path, frame, capsys, name):
    _, write, _ = READ["a day per row"]
    write(frame, tmp_path / "e.csv")
    table = pd.read_csv(tmp_path / "e.csv", dtype=str)
    table.insert(7, name, "")
    table.insert(5, "remark", "x")
    table.to_csv(tmp_path / "e.csv", index=False)
    export = {"format": "wide_csv", "interval_minutes": 30, "time_format": "%Y-%m-%d", "time_zone": ZONE}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    assert code == 1 and f"field '{name}': looks like one more interval and is not read" in said
    assert "'remark' and 1 others are not read, though among the columns of intervals" in said or name == "25:00"
    with pytest.raises(InputError, match="looks like one more interval"):
        ingested(tmp_path / "e.csv", export)


def test_readings_in_an_hour_that_the_clock_skips_are_said_with_their_settings(tmp_path, frame, capsys):
    stray = plain(frame).iloc[:1].assign(interval_start="2025-03-30 01:30")
    pd.concat([plain(frame), stray]).to_csv(tmp_path / "e.csv", index=False)
    export = {"time_zone": ZONE, "interval_minutes": 30}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    assert code == 0 and "1 readings name an hour that the clock of Europe/London skips" in said
    assert "UTC or standard time (export.stamp_time_zone)" in said


@pytest.mark.parametrize("name", ["Consumer No", "consumer_id", "Unidade consumidora", "Consommateur"])
@pytest.mark.parametrize("first", [True, False])
def test_the_number_of_a_consumer_is_no_energy(tmp_path, capsys, name, first):
    frame = plain(readings(60, meters=3)).rename(columns={"kwh": "Consumption (kWh)"})
    frame["meter_id"] = 170_014_968_700 + frame["meter_id"].str[1:].astype(int)
    frame = frame.rename(columns={"meter_id": name})
    frame[[*frame.columns[:: 1 if first else -1]]].to_csv(tmp_path / "e.csv", index=False)
    assert main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE]) == 0
    said = capsys.readouterr().out
    assert f"  meter_column: {name}\n  energy_column: Consumption (kWh)\n" in said and "To be checked" not in said
    assert "17001496870" not in said


def test_a_class_of_consumers_is_no_meter(tmp_path, capsys):
    frame = plain(readings(60, meters=3)).rename(columns={"meter_id": "K No"})
    frame.insert(1, "Consumer Class", np.where(frame["K No"] == "M001", "LT-I", "LT-II"))
    frame.to_csv(tmp_path / "e.csv", index=False)
    assert main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE]) == 0
    assert "  meter_column: K No\n" in capsys.readouterr().out


def test_a_column_of_apparent_energy_is_none_to_read_instead(tmp_path, capsys):
    """Also where it comes first, and where there is no other, which is then said."""
    frame = plain(readings(60, meters=2)).rename(columns={"kwh": "Block energy kWh"})
    frame.insert(2, "Block energy kVAh", (1.05 * frame["Block energy kWh"]).round(3))
    for columns in (frame.columns, frame.columns[[0, 1, 3, 2]]):
        frame[columns].to_csv(tmp_path / "e.csv", index=False)
        assert main(["check", str(tmp_path / "e.csv")]) == 0
        said = capsys.readouterr().out
        assert "energy_column: Block energy kWh\n" in said and "kVAh" not in said
    frame.drop(columns="Block energy kWh").to_csv(tmp_path / "e.csv", index=False)
    main(["check", str(tmp_path / "e.csv")])
    said = capsys.readouterr().out
    assert (
        "readings are taken from 'Block energy kVAh', which looks like apparent or reactive energy, not kWh\n" in said
    )


@pytest.mark.parametrize(
    "name",
    [
        *(
            "Energia oddana [kWh]",
            "export_kwh",
            "Feed-in kWh",
            "Einspeisung (kWh)",
            "teruglevering kWh",
            "逆潮流 kWh",
            "Injection kWh",
        ),
        *("Energia immessa kWh", "Energía vertida", "kWh received", "returned_kwh", "Generation kWh"),
    ],
)
def test_a_column_of_energy_fed_in_is_none_to_read_instead(tmp_path, capsys, name):
    frame = plain(readings(60, meters=2)).rename(columns={"kwh": "Energia pobrana [kWh]"})
    frame[name] = np.where(np.arange(len(frame)) % 10, np.nan, 0.25)
    frame.to_csv(tmp_path / "e.csv", index=False)
    assert main(["check", str(tmp_path / "e.csv")]) == 0
    said = capsys.readouterr().out
    assert f"'{name}' looks like energy fed in, which is not read: for net load subtract it" in said
    assert "is possible, too" not in said and "energy_column: Energia pobrana [kWh]\n" in said
    frame.assign(**{name: np.nan}).to_csv(tmp_path / "e.csv", index=False)
    assert main(["check", str(tmp_path / "e.csv")]) == 0
    of_energy = re.search("kwh|energ", name, re.IGNORECASE) is not None
    assert ("which is not read" in capsys.readouterr().out) == of_energy
    frame.drop(columns="Energia pobrana [kWh]").to_csv(tmp_path / "e.csv", index=False)
    main(["check", str(tmp_path / "e.csv")])
    assert f"readings are taken from '{name}', which looks like energy fed in\n" in capsys.readouterr().out


@pytest.mark.parametrize("names", [("kW A", "kW B"), ("kwh_l1", "kwh_l2"), ("Phase 1 kWh", "Phase 2 kWh")])
def test_phases_are_refused_unless_their_sum_is_read(tmp_path, capsys, names):
    frame = plain(readings())
    parts = frame.assign(**dict.fromkeys(names, frame["kwh"] / 2)).drop(columns="kwh")
    parts.to_csv(tmp_path / "e.csv", index=False)
    assert main(["check", str(tmp_path / "e.csv")]) == 1
    said = capsys.readouterr().out
    assert f"field '{names[0]}': looks like one of several phases or tariffs, which must be added: " in said
    assert "write a column with their sum" in said and "is possible, too" not in said
    assert "A configuration to use once this is corrected:" in said
    export = {"time_zone": ZONE, "interval_minutes": 30, "energy_column": names[0]}
    with pytest.raises(InputError, match="which must be added"):
        ingested(tmp_path / "e.csv", export)
    parts.assign(kwh=parts[list(names)].sum(axis=1)).to_csv(tmp_path / "e.csv", index=False)
    assert checked(tmp_path, capsys, tmp_path / "e.csv", export=export | {"energy_column": "kwh"})[0] == 0


@pytest.mark.parametrize(
    ("names", "alike"),
    [
        (["kwh", "kwh_t1", "kwh_t2"], []),
        (["kwh_t1", "kwh_t2"], ["kwh_t1", "kwh_t2"]),
        (["kW A", "V A", "kW B"], ["kW A", "kW B"]),
        (["use", "user"], []),
        (["reading 1"], []),
    ],
)
def test_which_columns_are_parts_of_one_energy(names, alike):
    assert parts_of(names[0], names) == alike


@pytest.mark.parametrize("sort", ["meter_id", "interval_start"], ids=["values", "names"])
@pytest.mark.parametrize(
    ("energy", "counter"),
    [("kilowatt_hours", "kilowatt_hours_total"), ("kWh", "cumulative kWh"), ("watt_hours", "register_watt_hours")],
)
def test_energy_of_intervals_is_preferred_to_a_counter_beside_it(tmp_path, capsys, energy, counter, sort):
    """By values, or by names in a file sorted by time that has few rows of each of many meters."""
    frame = readings(days=10, meters=4 if sort == "meter_id" else 900)
    rows = plain(frame).sort_values([sort, "interval_start"], kind="stable")
    rows.insert(1, counter, rows.groupby("meter_id")["kwh"].cumsum().add(500).round(3))
    if sort == "interval_start":
        rows = rows[:4000]
    rows.rename(columns={"kwh": energy}).to_csv(tmp_path / "e.csv", index=False)
    main(["check", str(tmp_path / "e.csv")])
    said = capsys.readouterr().out
    assert f"energy_column: {energy}\n" in said and f"'{counter}' is possible, too" in said
    if sort == "meter_id":
        export = {"time_zone": ZONE, "interval_minutes": 30, "energy_column": counter}
        code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
        assert (
            code == 1
            and f"values that only rise: readings of a register, not the energy of an interval; name '{energy}'"
            in said
        )


@pytest.mark.parametrize(
    ("name", "unit"),
    [("kilowatt_hours", "kWh"), ("Kilowatt-Hour", "kWh"), ("watt_hours", "Wh"), ("megawatt hours", "MWh")],
)
def test_a_unit_that_is_written_out_is_named(tmp_path, frame, capsys, name, unit):
    rows = plain(frame).assign(kwh=frame["kwh"] * {"kWh": 1, "Wh": 1000, "MWh": 0.001}[unit])
    rows.rename(columns={"kwh": name}).to_csv(tmp_path / "e.csv", index=False)
    main(["check", str(tmp_path / "e.csv")])
    said = capsys.readouterr().out
    assert (
        f"the unit is {unit}, according to the name of the readings' column" in said
        and "the unit is not named" not in said
    )


def test_a_total_beside_its_parts_is_no_counter_where_values_fall(tmp_path, capsys):
    rows = plain(readings(days=10)).rename(columns={"kwh": "kwh_total"})
    rows["kwh"] = 0.25
    rows.to_csv(tmp_path / "e.csv", index=False)
    main(["check", str(tmp_path / "e.csv")])
    assert "energy_column: kwh_total\n" in capsys.readouterr().out


@pytest.mark.parametrize(("home", "meter"), [("customer_code", "meter_serial"), ("MaLo", "Zählpunkt")])
def test_an_id_of_the_home_is_named_beside_that_of_its_meter(tmp_path, capsys, home, meter):
    rows = plain(readings()).rename(columns={"meter_id": home})
    old = rows["interval_start"] < "2025-03-20"
    rows.insert(0, meter, "S" + rows[home] + np.where((rows[home] == "M001") & old, "A", "B"))
    rows.to_csv(tmp_path / "e.csv", index=False)
    main(["check", str(tmp_path / "e.csv")])
    said = capsys.readouterr().out
    assert f"meter_column: {meter}\n" in said and f"'{home}' is possible, too" in said
    assert f"'{meter}' would split it into several" in said


def test_the_advice_for_a_counter_leads_to_readings_with_the_right_stamps(tmp_path, capsys):
    frame = readings(start="2025-05-01")
    frame["local"] = (frame["utc"] + pd.Timedelta("30min")).dt.tz_convert(ZONE).dt.strftime("%Y-%m-%d %H:%M")
    counter = plain(frame).assign(kwh=frame.groupby("meter_id")["kwh"].cumsum() + 5000)
    counter = counter.rename(columns={"interval_start": "Read time"})
    counter.to_csv(tmp_path / "e.csv", index=False)
    assert main(["check", str(tmp_path / "e.csv")]) == 1
    said = capsys.readouterr().out
    assert "values that only rise" in said and "keep the later stamp" in said and "export.unit to" not in said
    assert "A configuration to use once this is corrected:" in said
    # A large number on it is neither what a home uses nor a word for a missing reading.
    assert "a typical meter uses" not in said and "export.missing_words" not in said
    counter["kwh"] = counter.groupby("meter_id")["kwh"].diff().round(3)
    counter.dropna().to_csv(tmp_path / "e.csv", index=False)
    found = examine(tmp_path / "e.csv", time_zone=ZONE)
    assert found.settings["stamp"] == "end" and "probably ends" in " ".join(found.to_check)


def test_the_energy_of_a_vacant_home_is_not_passed_over(tmp_path, monkeypatch):
    """Where the rows that are looked at are those of one home which reads zero."""
    frame = plain(readings(meters=3))
    frame["kwh"] = np.where(frame["meter_id"] == "M000", 0.0, frame["kwh"])
    frame["hour"] = frame["interval_start"].str[11:13].astype(int)
    monkeypatch.setattr("meterdp.ingest.inference.table._LINES", 900)
    for name in ("kwh", "value"):
        rows = frame.rename(columns={"kwh": name}).sort_values(["meter_id", "interval_start"])
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        assert examine(tmp_path / f"{name}.csv", time_zone=ZONE).settings.get("energy_column", "kwh") == name


@pytest.mark.parametrize("start", [5_000, 37_000, 64_000, 237_000])
@pytest.mark.parametrize("names", ["kwh", "מצב מונה"])
@pytest.mark.parametrize("date", ["together", "apart"])
def test_a_register_is_neither_a_date_nor_passed_over_for_the_number_of_the_meter(
    tmp_path, capsys, start, names, date
):
    """Days since 1899 are numbers such as 45,678.25; a serial number is one as well, and hardly ever changes."""
    frame = plain(readings())
    frame["kwh"] = (frame.groupby("meter_id")["kwh"].cumsum() + start).round(3)
    serial = 16_000_000 + frame["meter_id"].factorize()[0]
    serial[(frame["meter_id"] == "M001") & (frame["interval_start"] > "2025-03-24")] += 5
    frame.insert(1, "number", serial)
    if date == "apart":
        frame.insert(2, "time", frame["interval_start"].str[11:])
        frame["interval_start"] = frame["interval_start"].str[:10]
    frame.rename(columns={"kwh": names}).to_csv(tmp_path / "e.csv", index=False)
    assert main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE]) == 1
    said = capsys.readouterr().out
    assert "holds values that only rise" in said and (names == "kwh" or f"energy_column: {names}\n" in said)
    assert f"{METERS} meters" in said and "meter_column" not in said


def months(folder, frame):
    """Write an export of three files; return its folder and the settings that read it."""
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        plain(frame).iloc[rows].to_csv(folder / f"{number}.csv", index=False)
    found = examine(folder, time_zone=ZONE)
    assert found.findings == []
    return folder, found.settings


def checked_with(tmp_path, capsys, folder, settings, listed):
    export = {"path": str(folder)} | settings
    if listed:
        (tmp_path / "meters.csv").write_text("meter_id\n" + "".join(f"M{n:03d}\n" for n in range(METERS)))
        export["meters"] = str(tmp_path / "meters.csv")
    (tmp_path / "my.yaml").write_text(yaml.safe_dump({"export": export}))
    capsys.readouterr()
    code = main(["check", "--config", str(tmp_path / "my.yaml")])
    return code, capsys.readouterr().out


@pytest.fixture
def few_lines(monkeypatch):
    """Guess a layout from no more than the first three thousand of 5,376 rows."""
    monkeypatch.setattr("meterdp.ingest.inference.table._LINES", 3000)


@pytest.fixture
def few_looked_at(monkeypatch):
    """Look at no more than the first three thousand of 5,376 readings."""
    monkeypatch.setattr("meterdp.ingest.inference.examine._FIRST_LOOK", 500)
    monkeypatch.setattr("meterdp.ingest.inference.examine.MOST_READINGS", 3000)
    monkeypatch.setattr("meterdp.ingest.inference.first_readings.MOST_READINGS", 3000)
    monkeypatch.setattr("meterdp.ingest.inference.first_readings.BATCH_BYTES", 1 << 15)


@pytest.mark.parametrize("by_month", [False, True])
def test_first_rows_of_other_days_do_not_tell_which_meters_have_readings(tmp_path, capsys, few_looked_at, by_month):
    """Of months the first is not asked for, nor read if it has a file; with wrong ids it is said all the same."""
    frame = plain(readings(meters=10)).sort_values("interval_start", kind="stable")
    (tmp_path / "export").mkdir()
    march = frame["interval_start"] < ("2025-04-01" if by_month else "2026")
    frame[march].to_csv(tmp_path / "export/1.csv", index=False)
    if by_month:
        frame[~march].to_csv(tmp_path / "export/2.csv", index=False)
    export = {"time_zone": ZONE, "interval_minutes": 30, "meters": str(tmp_path / "meters.csv")}
    export |= {"first_day": "2025-04-01", "last_day": "2025-04-06"}
    (tmp_path / "meters.csv").write_text("\n".join(["meter_id", *frame["meter_id"].unique()]))
    code, said = checked(tmp_path, capsys, tmp_path / "export", export=export)
    assert code == 0 and "have no reading" not in said and "100" not in said.replace(str(tmp_path), "")
    assert ("the first rows lie outside these days: only the whole export shows" in said) != by_month
    assert ("10 listed meters, 10 of them with readings" in said) == by_month and "a study can run" in said
    assert ("(2 files; " in said) == by_month
    (tmp_path / "meters.csv").write_text("\n".join(["meter_id", *map(str, range(10))]))
    assert (
        "of 10 listed meters, 10 have no reading" in checked(tmp_path, capsys, tmp_path / "export", export=export)[1]
    )


@pytest.mark.parametrize(
    ("order", "files", "follow"),
    [
        (["meter_id", "interval_start"], 1, False),
        (["interval_start", "meter_id"], 1, True),
        (["interval_start", "meter_id"], 3, True),
        (["meter_id", "interval_start"], 4, False),
    ],
    ids=["by meter", "by time", "files by time", "a file a meter"],
)
def test_the_last_day_is_left_open_where_later_days_follow(tmp_path, few_looked_at, order, files, follow):
    frame = plain(readings()).sort_values(order, kind="stable")
    (tmp_path / "export").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), files)):
        frame.iloc[rows].to_csv(tmp_path / "export" / f"{number}.csv", index=False)
    found = examine(tmp_path / "export", time_zone=ZONE)
    assert not found.trial.whole and found.findings == []
    assert found.settings.get("last_day") == (None if follow else "2025-04-06")
    assert ("later days follow" in " ".join(found.to_check)) == follow
    assert yaml.safe_load(config_text("e", found))["export"].items() >= {"first_day": "2025-03-10"}.items()


@pytest.mark.parametrize("name", ["%d-%b-%Y", "%Y-%m-%d"], ids=["months mixed", "in order"])
@pytest.mark.parametrize("numbered", [True, False])
def test_of_a_file_a_day_the_days_without_a_file_are_named(tmp_path, capsys, few_looked_at, name, numbered):
    """Names that begin with the day put the first days of all months first; of these the check reads only some."""
    frame = plain(readings(days=70, start="2025-05-05"))
    day = pd.to_datetime(frame["interval_start"]).dt.normalize()
    if numbered:
        number = frame.groupby(["meter_id", day]).cumcount() + 1
        frame = frame.assign(Block=number, interval_start=day.dt.strftime("%d-%b-%y"))
    (tmp_path / "export").mkdir()
    for one, rows in frame.groupby(day):
        if one.strftime("%m-%d") not in ("05-20", "06-10", "06-11"):
            rows.to_csv(tmp_path / "export" / f"LP_{one.strftime(name)}.csv", index=False)
    assert main(["check", str(tmp_path / "export"), "--time-zone", ZONE]) == 0
    said = capsys.readouterr().out
    assert "no meter has a reading on 3 of 70 days: 2025-05-20, 2025-06-10 to 2025-06-11; is a file missing?" in said
    assert re.search(r"0\.0% of a typical meter's readings are missing", said)
    assert "later days follow" in said and "0 of 4 meters" not in said


@pytest.mark.parametrize(
    ("left", "told"),
    [
        ({"2025-07": 2}, "the file that begins on 2025-07-01 is only 5"),
        ({"2025-07": 3}, None),
        ({"2025-09": 2}, None),  # the last may be on its way
        ({"2025-05": 2, "2025-07": 2}, None),  # one in three is of another kind
        ({"2025-07": (2, 2)}, None),  # the other meters are in a file of their own
        ({"2025-06": "corrected"}, None),
    ],
    ids=["half", "three quarters", "last", "two", "in two files", "corrections"],
)
def test_a_file_that_is_much_smaller_than_those_beside_it_is_told(tmp_path, capsys, left, told):
    frame = plain(readings(minutes=60, days=183, start="2025-04-01"))
    (tmp_path / "export").mkdir()
    for month, rows in frame.groupby(frame["interval_start"].str[:7]):
        number = rows["meter_id"].str[1:].astype(int)
        if left.get(month) == "corrected":
            of_day = rows[rows["interval_start"].str[8:10] == "11"]
            of_day.to_csv(tmp_path / "export" / f"{month}-new.csv", index=False)
        first, second = left[month] if isinstance(left.get(month), tuple) else (left.get(month, METERS), 0)
        first = METERS if isinstance(first, str) else first
        rows[number < first].to_csv(tmp_path / "export" / f"{month}.csv", index=False)
        if second:
            rows[number >= first].to_csv(tmp_path / "export" / f"{month}-late.csv", index=False)
    settings = {"time_zone": ZONE, "interval_minutes": 60}
    for more in ({}, {"export": settings}):
        _, said = checked(tmp_path, capsys, tmp_path / "export", **more)
        assert ("as large as those before and after it" in said) == (told is not None) and (told or "") in said


@pytest.mark.parametrize(
    ("begin", "told"),
    [(2000, False), (1 << 16, True), (None, False)],
    ids=["first days", "all days", "all days of the first month"],
)
def test_days_that_only_unread_rows_of_files_can_have_are_not_missing(
    tmp_path, capsys, few_looked_at, monkeypatch, begin, told
):
    """Of files by month, one or two are read as a whole, and of the others no more than where they begin."""
    frame = plain(readings(minutes=60, days=122, start="2025-04-01", meters=2 if begin else 4))
    april = frame[frame["interval_start"] < "2025-05"].iloc[: 30 * 24].to_csv(index=False)
    monkeypatch.setattr("meterdp.ingest.inference.first_readings._BEGIN_BYTES", begin or len(april))
    day = frame["interval_start"].str[:10]
    (tmp_path / "export").mkdir()
    for month, rows in frame[~day.isin(["2025-06-29", "2025-06-30"])].groupby(day.str[:7]):
        rows.to_csv(tmp_path / "export" / f"{month}.csv", index=False)
    assert main(["check", str(tmp_path / "export"), "--time-zone", ZONE]) == 0
    said = capsys.readouterr().out
    words = "no meter has a reading on 2 of 122 days: 2025-06-29 to 2025-06-30; is a file missing?"
    assert (words in said) == ("is a file missing" in said) == told and "(first rows only)" in said
    export = {"time_zone": ZONE, "interval_minutes": 60, "first_day": "2025-04-01"}
    for last_day, missing in (("2025-06-28", False), ("2025-06-30", True)):  # whose end is read as a whole
        said = checked(tmp_path, capsys, tmp_path / "export", export={**export, "last_day": last_day})[1]
        assert ("2025-06-29 to 2025-06-30; is a file missing?" in said) == ("is a file missing" in said) == missing


@pytest.mark.parametrize(
    ("left_out", "last_day", "told"),
    [
        ("2025-07", "2025-07-31", "no meter has a reading on 31 of 122 days: 2025-07-01 to 2025-07-31; is a file"),
        ("2025-05", "2025-07-31", "no meter has a reading on 31 of 122 days: 2025-05-01 to 2025-05-31; is a file"),
        ("2025-04", "2025-07-31", "every 30 days or so, but from 2025-03-01 to 2025-04-30 only one does; is a file"),
        ("2025-07", "2025-06-30", None),
        ("none", "2025-07-31", None),
    ],
)
@pytest.mark.parametrize(
    ("order", "begin_bytes"),
    [
        (["meter_id", "interval_start"], 2000),
        (["meter_id", "interval_start"], 16_000),  # three weeks of the first meter
        (["interval_start", "meter_id"], 2000),
    ],
)
def test_a_month_without_a_file_is_told_though_the_check_reads_not_all(
    tmp_path, capsys, few_looked_at, monkeypatch, left_out, last_day, told, order, begin_bytes
):
    monkeypatch.setattr("meterdp.ingest.inference.first_readings._BEGIN_BYTES", begin_bytes)
    frame = plain(readings(minutes=60, days=153, start="2025-03-01", meters=2)).sort_values(order)
    month = frame["interval_start"].str[:7]
    (tmp_path / "export").mkdir()
    for name, rows in frame[month != left_out].groupby(month):
        rows.to_csv(tmp_path / "export" / f"{name}.csv", index=False)
    export = {
        "path": str(tmp_path / "export"),
        "interval_minutes": 60,
        "first_day": "2025-03-01",
        "last_day": last_day,
    }
    (tmp_path / "my.yaml").write_text(yaml.safe_dump({"export": export | {"time_zone": ZONE}}))
    main(["check", "--config", str(tmp_path / "my.yaml")])
    said = capsys.readouterr().out
    assert (told is None or told in said) and ("is a file missing" in said) == (told is not None)


def test_every_second_month_without_a_file_is_told(tmp_path, capsys, few_looked_at, monkeypatch):
    monkeypatch.setattr("meterdp.ingest.inference.first_readings._BEGIN_BYTES", 2000)
    frame = plain(readings(minutes=60, days=181, start="2025-01-01", meters=2)).sort_values("interval_start")
    month = frame["interval_start"].str[:7]
    (tmp_path / "export").mkdir()
    for name, rows in frame[~month.isin(["2025-02", "2025-04"])].groupby(month):
        rows.to_csv(tmp_path / "export" / f"{name}.csv", index=False)
    assert main(["check", str(tmp_path / "export"), "--time-zone", ZONE]) == 0
    said = capsys.readouterr().out
    assert re.findall("but from (.*?) to", said) == ["2025-01-01", "2025-03-01"]


@pytest.mark.parametrize("first_corrected", ["2025-05-05", "2025-05-20"])
def test_corrections_of_the_month_before_are_no_sign_of_a_missing_file(
    tmp_path, capsys, few_looked_at, monkeypatch, first_corrected
):
    """The first home of June's file has new readings of three days of May before those of June."""
    monkeypatch.setattr("meterdp.ingest.inference.first_readings._BEGIN_BYTES", 4000)
    frame = plain(readings(minutes=60, days=122, start="2025-03-01", meters=2)).sort_values(
        ["meter_id", "interval_start"]
    )
    month = frame["interval_start"].str[:7]
    corrected = frame[frame["interval_start"] >= first_corrected].iloc[: 3 * 24]
    (tmp_path / "export").mkdir()
    for name, rows in frame.groupby(month):
        rows = pd.concat([corrected, rows]) if name == "2025-06" else rows
        rows.to_csv(tmp_path / "export" / f"{name}.csv", index=False)
    assert main(["check", str(tmp_path / "export"), "--time-zone", ZONE]) == 0
    assert "is a file missing" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("what", "first_day", "told", "orders"),
    [
        ("feeders", "2025-03-01", "2 have no reading from 2025-07-01 to 2025-07-31 (a release would be off by", "mt"),
        (
            "forecasts",
            "2025-03-01",
            "2 have no reading from 2025-07-04 to 2025-07-31 (a release would be off by",
            "tm",
        ),
        ("mixture", "2025-03-01", None, "mt"),
        ("feeders", "2025-07-01", "2 have no reading that counts (a release would be off by", "tm"),
    ],
)
@pytest.mark.parametrize("begun", [200, 3], ids=["all files begun", "every second file begun"])
def test_the_last_month_is_looked_at_where_every_month_is_released(
    tmp_path, capsys, schema, few_looked_at, monkeypatch, what, first_day, told, orders, begun
):
    """Of five files by month the check reads two, those with the days that count, and misses half of the meters."""
    monkeypatch.setattr("meterdp.ingest.inference.first_readings._BEGIN_BYTES", 2000)
    monkeypatch.setattr("meterdp.ingest.inference.first_readings._MOST_FILES", begun)
    order = {"m": ["meter_id", "interval_start"], "t": ["interval_start", "meter_id"]}[orders[begun == 3]]
    frame = plain(readings(minutes=60, days=153, start="2025-03-01", meters=4)).sort_values(order, kind="stable")
    month = frame["interval_start"].str[:7]
    (tmp_path / "export").mkdir()
    for name, rows in frame.groupby(month):
        rows.to_csv(tmp_path / "export" / f"{name}.csv", index=False)
    (tmp_path / "list.csv").write_text("meter_id,circuit\n" + "".join(f"M{n:03d},F\n" for n in range(4)))
    release = {"budget_period": "2025", "what": [what], "feeder_days": 31, "feeder_typical_daily_kwh": 9}
    export = {"time_zone": ZONE, "interval_minutes": 60, "meters": str(tmp_path / "list.csv")}
    export |= {"path": str(tmp_path / "export"), "first_day": first_day, "last_day": "2025-07-31"}
    (tmp_path / "my.yaml").write_text(yaml.safe_dump({"export": export, "release": release}))
    if what == "mixture" and begun == 3:  # it is of all days, of which these are known
        told = "2 have no reading from 2025-07-01 to 2025-07-31\n"
    for half in (False, True):
        if half:
            last = frame[(month == "2025-07") & frame["meter_id"].isin(["M002", "M003"])]
            last.to_csv(tmp_path / "export/2025-07.csv", index=False)
        assert main(["check", "--config", str(tmp_path / "my.yaml")]) == 0
        said = capsys.readouterr().out
        assert ("have no reading" in said) == (half and told is not None)
        assert not half or told is None or f"of 4 listed meters, {told}" in said
        since = first_day if first_day > "2025-06-01" else "2025-07-01" if begun == 3 else "2025-06-01"
        assert f"From {since} to 2025-07-31, " in said and said.count("To be checked") == (half and told is not None)
        before_release = to_check_in_export(complete({"export": export, "release": release}, schema))
        assert [line for line in said.splitlines() if line.startswith("To be checked")] == before_release[:-1]


def test_first_rows_without_a_reading_tell_no_days(tmp_path, capsys, few_looked_at, monkeypatch):
    monkeypatch.setattr("meterdp.ingest.inference.first_readings._BEGIN_BYTES", 60)
    frame = plain(readings())
    (tmp_path / "export").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), 4)):
        part = frame.iloc[rows].assign(kwh=lambda part: part["kwh"].where(np.arange(len(part)) > 9))
        part.to_csv(tmp_path / "export" / f"{number}.csv", index=False)
    assert main(["check", str(tmp_path / "export"), "--time-zone", ZONE]) == 0
    assert "is a file missing" not in capsys.readouterr().out


@pytest.mark.parametrize("order", [["meter_id", "interval_start"], ["interval_start", "meter_id"]])
@pytest.mark.parametrize("files", [1, 2])
@pytest.mark.parametrize("lost", [False, True])
def test_what_was_not_read_any_more_is_not_missing(tmp_path, capsys, few_looked_at, order, files, lost):
    """Reading stops inside a file, behind the rows of some of its meters, or begins with the last of two."""
    frame = plain(readings())
    day = pd.to_datetime(frame["interval_start"]).dt.normalize()
    if lost:
        frame = frame[~day.between("2025-03-17", "2025-03-20") | (frame["meter_id"] == "M000")]
    half = day[frame.index] < "2025-03-24"
    (tmp_path / "export").mkdir()
    for number, rows in enumerate([frame] if files == 1 else [frame[half], frame[~half]]):
        rows.sort_values(order, kind="stable").to_csv(tmp_path / "export" / f"{number}.csv", index=False)
    assert main(["check", str(tmp_path / "export"), "--time-zone", ZONE]) == 0
    said = capsys.readouterr().out
    assert "(first rows only)" in said and (lost or "of 4 meters have enough" not in said)
    period = {"first_day": "2025-03-10", "last_day": "2025-04-06"}
    settings = {"time_zone": ZONE, "interval_minutes": 30} | period
    _, said = checked_with(tmp_path, capsys, tmp_path / "export", settings, True)
    share = re.search(r"([\d.]+)% of a typical meter's readings are missing( \(first rows only\))?", said)
    assert (share[2] is None) == (files == 2)
    assert float(share[1]) > 10 if lost else share[1] == "0.0"


def test_files_by_place_and_month_that_were_not_read_are_not_missing(tmp_path, capsys, few_looked_at):
    """All months of one place and the first of another are read."""
    frame = plain(readings(minutes=60, days=60, start="2025-04-01", meters=6))
    (tmp_path / "export").mkdir()
    place = np.where(frame["meter_id"] == "M000", "a", "b")
    for (one, month), rows in frame.groupby([place, frame["interval_start"].str[:7]]):
        rows.to_csv(tmp_path / "export" / f"{one}_{month}.csv", index=False)
    settings = {"time_zone": ZONE, "interval_minutes": 60}
    _, said = checked(tmp_path, capsys, tmp_path / "export", export=settings)
    assert "to 2025-05-30, 0.0% of a typical meter's readings are missing (first rows only)" in said
    assert main(["check", str(tmp_path / "export"), "--time-zone", ZONE]) == 0
    said = capsys.readouterr().out
    assert "to 2025-05-30, 0.0% of a typical meter's readings are missing (first rows only)" in said
    assert "first_day: '2025-04-01'\n  last_day: '2025-05-30'\n" in said


@pytest.mark.parametrize(
    ("odd", "listed", "packed"),
    [
        *(("date", False, False), ("date", True, True), ("decimal", False, True), ("decimal", True, False)),
        *(("month first", False, True), ("month first", True, False), (None, False, False), (None, True, True)),
    ],
)
def test_files_written_otherwise_than_the_first_are_named(tmp_path, capsys, few_looked_at, listed, packed, odd):
    """Though so few rows are read that all of them are of the first files."""
    frame = plain(readings()).sort_values("interval_start", kind="stable")
    files = [frame.iloc[rows].copy() for rows in np.array_split(np.arange(len(frame)), 4)]
    stamp = pd.to_datetime(frame["interval_start"])
    settings = {"time_zone": ZONE, "interval_minutes": 30, "first_day": "2025-03-10", "last_day": "2025-04-06"}
    for number, rows in enumerate(files):
        if number >= 2 and odd == "date":
            rows["interval_start"] = stamp[rows.index].dt.strftime("%d.%m.%Y %H:%M")
        elif number >= 2 and odd == "decimal":
            rows["kwh"] = rows["kwh"].astype(str).str.replace(".", ",")
        elif odd == "month first":
            rows["interval_start"] = stamp[rows.index].dt.strftime("%m/%d/%Y %H:%M")
            settings["time_format"] = "%d/%m/%Y %H:%M"
            settings |= {"first_day": "2025-01-01", "last_day": "2025-12-31"}
    (tmp_path / "export").mkdir()
    texts = {f"{number}.csv": rows.to_csv(index=False, sep=";") for number, rows in enumerate(files)}
    for name, text in texts.items():
        (tmp_path / "export" / name).write_text(text)
    path = tmp_path / "export"
    if packed:
        path = tmp_path / "export.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in texts.items():
                archive.writestr(name, text)
    settings["delimiter"] = ";"
    code, said = checked_with(tmp_path, capsys, path, settings, listed)
    named = re.search(r"\d of 4 files begin with rows that mostly cannot be used .*", said)
    if odd is None:
        assert code == 0 and named is None
        return
    assert code == int(not listed) and "M0" not in said
    assert ("To be checked: " + str(path) in said) == listed
    if odd == "month first":
        assert f"set {'it' if listed else 'export.time_format'} to '%m/%d/%Y %H:%M'" in said
        return
    assert named[0].startswith("2 of 4 files begin with rows that mostly cannot be used (number 3 to 4, in order of")
    form = {"date": "%d.%m.%Y %H:%M", "decimal": ","}[odd]
    assert f"; there it looks like '{form}': convert all files to one form" in named[0]
    if not listed:
        found = examine(path, time_zone=ZONE)
        assert any("2 of 4 files begin with rows" in str(finding) for finding in found.findings)


def test_a_study_that_stops_at_a_later_file_does_not_advise_to_break_the_earlier_ones(tmp_path):
    frame = plain(readings())
    (tmp_path / "e").mkdir()
    frame[:700].to_csv(tmp_path / "e" / "1.csv", index=False)
    stamp = pd.to_datetime(frame["interval_start"]).dt
    frame[700:].assign(interval_start=stamp.strftime("%d.%m.%Y %H:%M")).to_csv(tmp_path / "e" / "2.csv", index=False)
    with pytest.raises(InputError) as refused:
        ingested(tmp_path / "e", {"time_zone": ZONE, "interval_minutes": 30})
    hint = "'%d.%m.%Y %H:%M' would read it, but the file before it has another format: bring all to one"
    assert refused.value.hint == hint
    # The first file fits where day and month are confused.
    for number, rows in ((1, frame[:96]), (2, frame[96:])):
        rows = rows.assign(interval_start=stamp.strftime("%d/%m/%Y %H:%M"))
        rows.to_csv(tmp_path / "e" / f"{number}.csv", index=False)
    with pytest.raises(InputError, match=r"file 2 .* set export\.time_format to '%d/%m/%Y %H:%M'"):
        ingested(tmp_path / "e", {"time_zone": ZONE, "interval_minutes": 30, "time_format": "%m/%d/%Y %H:%M"})


def test_a_copy_of_a_file_comes_after_it_so_that_its_corrections_count(tmp_path):
    frame = plain(readings())
    first, second = frame.assign(kwh=frame["kwh"] + 1), frame
    (tmp_path / "e").mkdir()
    first.to_csv(tmp_path / "e" / "LP_14-May.csv", index=False)
    second.to_csv(tmp_path / "e" / "LP_14-May (1).csv", index=False)
    with zipfile.ZipFile(tmp_path / "e.zip", "w") as archive:
        for file in sorted((tmp_path / "e").iterdir()):
            archive.write(file, file.name)
    truth = readings().pivot_table(index="utc", columns="meter_id", values="kwh")
    for path in (tmp_path / "e", tmp_path / "e.zip"):
        found = ingested(path, {"time_zone": ZONE, "interval_minutes": 30}).energy_kwh
        np.testing.assert_allclose(found.to_numpy(), truth.to_numpy())


def test_ids_behind_an_apostrophe_are_those_without(tmp_path):
    frame = plain(readings()).assign(meter_id=lambda f: "00" + f["meter_id"].str[1:])
    half = np.arange(len(frame)) % 2 == 0
    frame["meter_id"] = np.where(half, "'" + frame["meter_id"], frame["meter_id"])
    frame.to_csv(tmp_path / "e.csv", index=False)
    found = ingested(tmp_path / "e.csv", {"time_zone": ZONE, "interval_minutes": 30})
    assert list(found.energy_kwh) == [f"00{n:03d}" for n in range(METERS)] and found.energy_kwh.notna().all().all()
    listed = "meter_id\n" + "".join(f"'00{n:03d}\n" for n in range(METERS)) + "'quoted\n"
    assert parse_meter_list(listed.encode()).meter_ids == ["'quoted", *(f"00{n:03d}" for n in range(METERS))]


@pytest.mark.parametrize(("minutes", "refused"), [(15, True), (30, False)])
def test_numbers_that_fill_half_of_a_day_are_of_longer_intervals(tmp_path, capsys, minutes, refused):
    frame = plain(readings(start="2025-05-05"))
    day = frame["interval_start"].str[:10]
    frame = frame.assign(Block=frame.groupby(["meter_id", day]).cumcount() + 1, interval_start=day)
    frame.to_csv(tmp_path / "e.csv", index=False)
    section = {
        "time_zone": ZONE,
        "interval_minutes": minutes,
        "time_of_day_column": "Block",
        "time_format": "%Y-%m-%d",
    }
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=section)
    assert code == int(refused)
    words = "field 'export.interval_minutes': numbers the intervals of a day up to 48, so each has 30 minutes"
    assert (words in said) == refused and ("set it to 30" in said) == refused


def test_ids_that_a_spreadsheet_rounded_are_named_as_the_reason(tmp_path, capsys):
    numbers = range(590543520100104197, 590543520100104203)
    frame = plain(readings(minutes=60, days=14, meters=6))
    frame["meter_id"] = frame["meter_id"].str[1:].astype(int).map(lambda n: str(numbers[n]))
    frame.to_csv(tmp_path / "e.csv", index=False)
    own = {"time_zone": ZONE, "interval_minutes": 60, "first_day": "2025-03-10", "last_day": "2025-03-23"}
    own |= {"meters": str(tmp_path / "meters.csv")}
    some = [*map(str, numbers[:3])]

    def said(*more, ids=some):
        (tmp_path / "meters.csv").write_text("meter_id\n" + "".join(f'"{m}"\n' for m in [*ids, *more]))
        return checked(tmp_path, capsys, tmp_path / "e.csv", export=own)

    assert "once, each in its own row; a spreadsheet or program that reads" in said("5,90544E+17", "5,90544E+17")[1]
    assert (
        "a spreadsheet or" in said(*2 * ["590543520100104000"])[1] and "a spreadsheet or" not in said("M1", "M1")[1]
    )
    assert said(some[0])[0] == 0  # the same row twice, and no sign of rounding
    code, text = said("5.90544E+17")
    assert code == 0 and "1 of the ids on the list looks like 1.23E+17, and each may stand for several meters" in text
    assert "(4 listed meters, 3 of them with readings; 3 of 6 meters in the export are not on the list)" in text
    for rounded in ("590543520100104000", "590543520100104192"):
        code, text = said(rounded, ids=some[1:])
        assert code == 0 and " of the meters in the export seem to be on the list under a rounded id" in text
    assert "a spreadsheet or" not in said("9905435201001000")[1]
    assert "not on the list" not in said(*numbers[3:])[1]
    frame.assign(meter_id="5,90544E+17").to_csv(tmp_path / "e.csv", index=False, sep=";")
    main(["check", str(tmp_path / "e.csv")])
    assert "1 of the ids in the export looks like 1.23E+17" in capsys.readouterr().out


def test_first_rows_without_a_change_of_clocks_are_not_said_to_be_the_period(tmp_path, capsys, few_looked_at):
    frame = plain(readings(minutes=60, meters=3, days=150, start="2025-01-01"))
    (tmp_path / "export").mkdir()
    for month, rows in frame.groupby(frame["interval_start"].str[:7]):
        rows.to_csv(tmp_path / f"export/{month}.csv", index=False)
    assert main(["check", str(tmp_path / "export")]) == 0
    assert "the first rows have no daylight-saving change, so stamps do not reveal" in capsys.readouterr().out


@pytest.mark.parametrize("others", [False, True])
def test_months_that_name_the_same_meters_tell_who_of_a_list_is_not_there(tmp_path, capsys, few_looked_at, others):
    """Each file is in order of meters, of which some begin in the second half of what is looked at."""
    frame = plain(readings(meters=10))
    (tmp_path / "export").mkdir()
    frame[frame["interval_start"] < "2025-03-16"].to_csv(tmp_path / "export/1.csv", index=False)
    later = frame[frame["interval_start"] >= "2025-03-14"]  # again, so that it is open which files have which days
    later = later.assign(meter_id=lambda f: f["meter_id"].str.replace("M", "N")) if others else later
    later.to_csv(tmp_path / "export/2.csv", index=False)
    (tmp_path / "meters.csv").write_text("\n".join(["meter_id", *frame["meter_id"].unique(), "X1"]))
    export = {"time_zone": ZONE, "interval_minutes": 30, "meters": str(tmp_path / "meters.csv")}
    export |= {"first_day": "2025-03-10", "last_day": "2025-04-06"}
    code, said = checked(tmp_path, capsys, tmp_path / "export", export=export)
    words = "1 of 11 listed meters is not in the first rows, which seem to name all meters (a release would be off"
    assert code == 0 and (words in said) == (not others)
    newer = frame[frame["interval_start"] >= "2025-04-06"].replace({"meter_id": {"M000": "X1"}})
    newer.to_csv(tmp_path / "export/3.csv", index=False)
    assert words not in checked(tmp_path, capsys, tmp_path / "export", export=export)[1]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("ids", ["other", "lower", "full width", "beside"])
def test_a_list_of_which_nobody_is_in_the_export_is_told_so(tmp_path, capsys, request, whole, ids):
    if not whole:
        request.getfixturevalue("few_looked_at")
    frame = plain(readings()).assign(account=lambda f: "A" + f["meter_id"].str[1:])
    frame.to_csv(tmp_path / "e.csv", index=False)
    listed = {"other": "X{:03d}", "lower": "m{:03d}", "full width": "M０{:02d}", "beside": "A{:03d}"}[ids]
    (tmp_path / "list.csv").write_text("\n".join(["meter_id", *(listed.format(n) for n in range(METERS))]) + "\n")
    days = {"first_day": "2025-03-10", "last_day": "2025-04-06"}
    export = {"time_zone": ZONE, "interval_minutes": 30, "meters": str(tmp_path / "list.csv"), **days}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    assert code == 0 and "(4 listed meters, 0 of them with readings) would be empty; the reason" in said
    assert "of 4 listed meters, 4 have no reading that counts (a release would mostly hold noise" in said
    words = "listed meters are in the export with different leading zeros, blanks, signs or capitals, or full-width"
    assert (words in said) == (ids in ("lower", "full width"))
    assert ("ids from the list are in the column 'account' (export.meter_column)" in said) == (ids == "beside")


@pytest.mark.parametrize(
    ("on_list", "in_export", "words"),
    [
        ("ES01870000{:03d}NM", "ES01870000{:03d}NM0F", "are a listed id with extra characters: if they are the same"),
        ("ES01870000{:03d}NM0F", "ES01870000{:03d}NM", "are a listed id without its first or last characters: if"),
        ("GR201870000{:03d}", "201870000{:03d}", "are a listed id without its first or last characters: if"),
        ("{}", "{}1", None),
        ("1870000{:03d}", "001870000{:03d}", None),
    ],
    ids=["longer", "shorter", "without a prefix", "plain numbers", "zeros in front"],
)
def test_ids_that_differ_from_listed_ones_in_their_first_or_last_characters_are_counted(
    tmp_path, capsys, on_list, in_export, words
):
    """In a later month alone, of which every listed meter has a reading before."""
    frame = plain(readings())
    names = {f"M{n:03d}": (on_list.format(n), in_export.format(n)) for n in range(METERS)}
    (tmp_path / "export").mkdir()
    for number, later in enumerate((False, True)):
        rows = frame[(frame["interval_start"] >= "2025-03-24") == later]
        rows = rows.assign(meter_id=rows["meter_id"].map(lambda name, at=number: names[name][at]))
        rows.to_csv(tmp_path / f"export/{number}.csv", index=False)
    (tmp_path / "list.csv").write_text("\n".join(["meter_id", *(listed for listed, _ in names.values())]) + "\n")
    export = {"time_zone": ZONE, "interval_minutes": 30, "meters": str(tmp_path / "list.csv")}
    export |= {"first_day": "2025-03-10", "last_day": "2025-04-06"}
    code, said = checked(tmp_path, capsys, tmp_path / "export", export=export)
    assert code == 0 and ("change the ids in the export" in said) == (words is not None)
    assert words is None or f"To be checked: 4 of 4 ids in the export that are not on the list {words}" in said
    assert "0187" not in said


def test_columns_that_are_not_read_are_named_with_their_entries(tmp_path, capsys):
    frame = plain(readings())
    frame["Flag"] = np.where(np.arange(len(frame)) % 50 == 0, "E", "")
    frame["class"] = np.where(frame["meter_id"] == "M001", "GS", "R1")
    frame["person"] = "P1234" + frame["meter_id"]
    frame["constant"] = "x"
    frame["OBIS"] = np.where(np.arange(len(frame)) % 2, "1-0:1.8.1", "1-0:1.8.2")
    frame["Consumer Name"] = frame["meter_id"].map(dict(M000="Anita", M001="Ravi", M002="Li", M003="Wu"))
    frame.to_csv(tmp_path / "e.csv", index=False)
    registers = "'OBIS' (1-0:1.8.1, 1-0:1.8.2)"
    words = f"not read: 'Flag' (E, or empty), 'class' (GS, R1), {registers}, 'Consumer Name'; if one of these"
    assert main(["check", str(tmp_path / "e.csv"), "--time-zone", ZONE]) == 0
    assert words in (said := capsys.readouterr().out) and "P1234" not in said and "'constant'" not in said
    assert not any(name in said for name in ("Anita", "Ravi", "Li,", "Wu"))
    export = {"time_zone": ZONE, "interval_minutes": 30}
    assert words in checked(tmp_path, capsys, tmp_path / "e.csv", export=export)[1]
    export["keep_rows"] = {"Flag": [""], "class": ["R1", "GS"]}
    assert "'Flag'" not in checked(tmp_path, capsys, tmp_path / "e.csv", export=export)[1]


@pytest.mark.parametrize(
    ("name", "factors", "refused"),
    [
        *(
            ("MULT", ["1", "40"], True),
            ("Multiplier", ["1,000", "80,000"], True),
            ("ct_ratio", ["1.0", "1.0"], False),
        ),
        *(("power_factor", ["0.9", "1"], False), ("multiple", ["yes", "no"], False), ("k", ["1", "20"], True)),
    ],
)
def test_factors_that_readings_are_not_multiplied_by_end_a_study_without_a_list(
    tmp_path, capsys, name, factors, refused
):
    frame = plain(readings())
    frame[name] = np.where(frame["meter_id"] == "M001", factors[1], factors[0])
    frame.to_csv(tmp_path / "e.csv", index=False)
    section = {"time_zone": ZONE, "interval_minutes": 30}
    words = f"field '{name}': holds factors"
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=section)
    assert (code, words in said) == (int(refused), refused)
    if refused:
        with pytest.raises(InputError, match=words):
            ingested(tmp_path / "e.csv", section)
    (tmp_path / "list.csv").write_text("meter_id\nM000\nM001\n")
    listed = section | {"meters": str(tmp_path / "list.csv"), "first_day": "2025-03-10", "last_day": "2025-04-06"}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=listed)
    assert (code, words in said) == (0, refused)


@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz"])
def test_a_factor_of_a_meter_far_down_is_found(tmp_path, capsys, few_lines, name):
    frame = plain(readings())
    frame["MULT"] = np.where(frame["meter_id"] == "M003", 40, 1)
    frame.to_csv(tmp_path / name, index=False)
    assert main(["check", str(tmp_path / name), "--time-zone", ZONE]) == 1
    assert "field 'MULT': holds factors (1, 40), and readings are not multiplied" in capsys.readouterr().out


def test_use_above_what_a_release_counts_is_told_by_meters_and_share(tmp_path, capsys):
    frame = plain(readings())
    frame.loc[frame["meter_id"] == "M003", "kwh"] = 30.0  # in half an hour
    frame.to_csv(tmp_path / "e.csv", index=False)
    (tmp_path / "list.csv").write_text("meter_id,circuit\n" + "".join(f"M{n:03d},c\n" for n in range(METERS)))
    days = {"first_day": "2025-03-10", "last_day": "2025-04-06"}
    section = {"time_zone": ZONE, "interval_minutes": 30, "meters": str(tmp_path / "list.csv"), **days}
    kwh = frame.groupby("meter_id")["kwh"].sum()
    for release, most in (({}, 20 * 24), ({"what": ["feeders"], "feeder_typical_daily_kwh": 10}, None)):
        _, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=section, release=release)
        said = re.search(r"(\d+)% of the energy is above .*? it comes from 1 of 4 meters", said)
        counted = [min(k, most or k) for k in [*kwh[:3], 10 * 28]]
        expected = 1 - (sum(kwh[:3]) + min(kwh["M003"], 28 * (most or 0))) / kwh.sum()
        assert said is not None and (most is None or abs(int(said[1]) / 100 - expected) < 0.006), counted
    frame["kwh"] = frame["kwh"].clip(upper=5)
    frame.to_csv(tmp_path / "e.csv", index=False)
    assert "of the energy is above" not in checked(tmp_path, capsys, tmp_path / "e.csv", export=section)[1]


@pytest.mark.parametrize("listed", [False, True])
def test_a_file_of_several_that_cannot_be_read_is_named_with_its_reason(tmp_path, frame, capsys, listed):
    """A study without a list would be refused; with one it runs, and somebody should know."""
    folder, settings = months(tmp_path / "export", frame)
    (folder / "2.csv").write_bytes("Zähler;Wert\n1;2\n".encode("cp1252"))
    code, said = checked_with(tmp_path, capsys, folder, settings, listed)
    assert "file 3 of 3, in order of names, row 1: is not UTF-8 text" in said
    assert (code, "1 of 3 files cannot be read" in said) == ((0, True) if listed else (1, False))
    assert main(["check", str(folder), "--time-zone", ZONE]) == 1
    assert "file 3 of 3, in order of names, row 1, field 'meter_id': is missing" in capsys.readouterr().out


@pytest.mark.parametrize(("listed", "titled"), [(False, (1, 2)), (True, (1, 2)), (False, (0,))])
def test_a_title_above_the_header_of_some_files_is_said_with_what_to_do(tmp_path, frame, capsys, listed, titled):
    """Such files are intact."""
    folder, settings = months(tmp_path / "export", frame)
    for number in titled:
        file = folder / f"{number}.csv"
        file.write_text("All of March\n" + file.read_text())
    settings |= {"skip_rows": 1} if 0 in titled else {}
    code, said = checked_with(tmp_path, capsys, folder, settings, listed)
    rows, skip = ((2, 1), 0) if 0 in titled else ((1, 2), 1)
    wrong = "row {}, field 'meter_id': is not in this row but in row {}, which seems to be the header; ".format(*rows)
    hint = f"delete the rows above the headers, or set export.skip_rows to {skip} if all files have as many"
    assert code == (not listed) and f"file 2 of 3, in order of names, {wrong}{hint}" in said
    assert "cut short or damaged" not in said
    main(["check", str(folder), "--time-zone", ZONE])
    assert "\n  2 files unreadable, or not readable to the end\n" in capsys.readouterr().out


def test_a_column_that_no_file_has_is_refused_with_a_list_too(tmp_path, frame, capsys):
    folder, settings = months(tmp_path / "export", frame)
    code, said = checked_with(tmp_path, capsys, folder, settings | {"energy_column": "Leistung"}, True)
    assert code == 1 and "file 1 of 3, in order of names, row 1, field 'Leistung': is missing from the header" in said


def test_rows_that_are_no_text_make_no_file_unreadable(tmp_path, frame, capsys):
    """What a household's rows hold is not what ends a check of a public list, in every file though they are."""
    folder, settings = months(tmp_path / "export", frame)
    for path in folder.iterdir():
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(lines[0] + b"\xff\xfe,\x00\n" + b"".join(lines[1:]))
    code, said = checked_with(tmp_path, capsys, folder, settings, listed=True)
    assert code == 0 and "cannot be read" not in said


@pytest.mark.parametrize(
    ("listed", "damage"),
    [(False, "cut gzip"), (True, "cut gzip"), (False, "a bad last row"), (True, "a bad last row")],
)
def test_rows_that_cannot_be_read_are_told_with_their_place(tmp_path, frame, capsys, listed, damage):
    """Without a list they end a study; with one they count as missing, and a release would be charged."""
    folder = tmp_path / "weeks"
    folder.mkdir()
    table = plain(frame)
    for number, (_, rows) in enumerate(table.groupby(pd.to_datetime(table["interval_start"]).dt.isocalendar().week)):
        text = rows.to_csv(index=False)
        if number == 2 and damage == "a bad last row":
            text += "M000,2025-0"
        packed = gzip.compress(text.encode(), mtime=0)
        (folder / f"{number:02d}.csv.gz").write_bytes(packed[:-9] if (number, damage) == (2, "cut gzip") else packed)
    (tmp_path / "list.csv").write_text("meter_id\nM000\nM001\nM002\nM003\n")
    days = {"first_day": "2025-03-10", "last_day": "2025-04-06"}
    export = {"time_zone": ZONE, "interval_minutes": 30} | (
        days | {"meters": str(tmp_path / "list.csv")} if listed else {}
    )
    (tmp_path / "my.yaml").write_text(yaml.safe_dump({"export": export}))
    assert main(["check", str(folder), "--config", str(tmp_path / "my.yaml")]) == (not listed)
    said = capsys.readouterr().out
    where = ", file 3 of 4, in order of names"
    assert f"{where}: is cut short or damaged" in said or f"{where}, row 1338: has more or fewer fields" in said
    assert ("counted as missing: " in said) == listed


@pytest.mark.parametrize("export", ["a file per meter", "rows in order of time"])
@pytest.mark.parametrize(("unknown", "worth"), [(0, ""), (1, "at least"), (3, "noise around a public guess")])
def test_listed_meters_that_an_export_lacks_are_told_from_its_first_rows(
    tmp_path, capsys, few_looked_at, export, unknown, worth
):
    """What was read of the export has three meters of files in order, or some days of all four."""
    frame, settings = plain(readings()), {"meter_column": None}
    (tmp_path / "export").mkdir()
    if export == "a file per meter":
        for meter, rows in frame.groupby("meter_id"):
            rows.drop(columns="meter_id").to_csv(tmp_path / "export" / f"{meter}.csv", index=False)
    else:
        frame.sort_values("interval_start", kind="stable").to_csv(tmp_path / "export" / "all.csv", index=False)
        settings = {}
    ids = sorted(frame["meter_id"].unique())
    listed = [*ids[: METERS - unknown], *(f"X{number}" for number in range(unknown))]
    (tmp_path / "list.csv").write_text("\n".join(["meter_id", *listed]) + "\n")
    settings |= {"time_zone": ZONE, "interval_minutes": 30, "meters": str(tmp_path / "list.csv")}
    settings |= {"first_day": "2025-03-10", "last_day": "2025-04-06"}
    code, said = checked(tmp_path, capsys, tmp_path / "export", export=settings)
    there = ("has no file named after it", "is not in the first rows")
    there = there if unknown == 1 else ("have no file named after them", "are not in the first rows")
    there = there[export != "a file per meter"]
    assert code == 0 and (f"{unknown} of 4 listed meters {there}" in said) == (unknown > 0)
    are = "is" if unknown == 1 else "are"
    assert (f"; {unknown} of 4 meters in the export {are} not on the list)" in said) == (unknown > 0)
    assert ("(4 files; " in said) == (export == "a file per meter")
    if unknown:
        [line] = [line for line in said.splitlines() if "listed meters" in line and there in line]
        assert ("assumes that 95% of the meters have usable readings" if worth == "at least" else worth) in line


def test_in_rows_in_order_of_meters_those_that_follow_are_not_missed(tmp_path, capsys, few_looked_at):
    frame = plain(readings()).sort_values(["meter_id", "interval_start"], kind="stable")
    frame.to_csv(tmp_path / "e.csv", index=False)
    (tmp_path / "list.csv").write_text("\n".join(["meter_id", *sorted(frame["meter_id"].unique())]) + "\n")
    export = {"time_zone": ZONE, "interval_minutes": 30, "meters": str(tmp_path / "list.csv")}
    export |= {"first_day": "2025-03-10", "last_day": "2025-04-06"}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export)
    assert code == 0 and "in the first rows, " in said and "are not in the first rows" not in said


def test_a_few_meters_that_join_later_do_not_cost_all_others_days():
    given = np.ones((100, 396), bool)
    for meter in range(4):  # each in another month, so that no run of a year has all
        given[meter, : 100 * meter + 60] = False
    assert best_period(given, 1) == (0, 396, 96, 96)


@pytest.mark.parametrize(
    ("what", "days", "told"),
    [
        ("feeders", 31, "1 has readings in less than half of the intervals from 2025-07-01 to 2025-07-31 and counts "
         "as a public typical meter (a release would be off by"),
        ("feeders", 20, "2 have readings in less than half of the intervals from 2025-07-12 to 2025-07-31 and count "
         "as public typical meters (a release would be off by"),
        ("forecasts", 31, "2 have readings in less than half of the intervals from 2025-07-04 to 2025-07-31"),
        ("mixture", 31, None),
    ],
)  # fmt: skip
def test_meters_that_moved_out_or_in_during_the_released_days_are_told(tmp_path, capsys, what, days, told):
    """By the rule of the release: read in half of its days."""
    frame = plain(readings(minutes=60, days=61, start="2025-06-01", meters=4))
    day, meter = frame["interval_start"].str[:10], frame["meter_id"]
    gone = ((meter == "M002") & (day > "2025-07-13")) | ((meter == "M003") & (day > "2025-07-16"))
    frame[~gone].to_csv(tmp_path / "e.csv", index=False)
    (tmp_path / "list.csv").write_text("meter_id,circuit\n" + "".join(f"M{n:03d},F\n" for n in range(4)))
    release = {"budget_period": "2025", "what": [what], "feeder_days": days, "feeder_typical_daily_kwh": 9}
    export = {"time_zone": ZONE, "interval_minutes": 60, "meters": str(tmp_path / "list.csv")}
    export |= {"first_day": "2025-06-01", "last_day": "2025-07-31"}
    code, said = checked(tmp_path, capsys, tmp_path / "e.csv", export=export, release=release)
    assert code == 0 and ("less than half" in said) == (told is not None) and "have no reading" not in said
    assert told is None or f"of 4 listed meters, {told}" in said
    assert "of 4 listed meters, 2 have fewer than 90% of the readings of these days, and a study leaves them" in said


@pytest.mark.parametrize("files", [1, 2])
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("last_day", [None, "2025-02-04", "2025-12-31"])
@pytest.mark.parametrize(
    "columns", ["meter_id,interval_start,kwh", f"meter_id,date,{','.join(map(str, range(1, 25)))}"]
)
def test_an_export_of_headers_alone_is_said_to_have_no_readings(tmp_path, capsys, files, listed, last_day, columns):
    """Whatever the days, which may be those of clock changes."""
    wide = {"format": "wide_csv", "time_column": "date", "wide_columns": "numbers"} if "date" in columns else {}
    for number in range(files):
        (tmp_path / "export").mkdir(exist_ok=True)
        (tmp_path / f"export/{number}.csv").write_text(f"{columns}\n")
    (tmp_path / "list.csv").write_text("meter_id\n" + "".join(f"m{n}\n" for n in range(60)))
    export = {"path": str(tmp_path / "export"), "time_zone": ZONE, "interval_minutes": 60, **wide}
    export |= {"meters": str(tmp_path / "list.csv")} if listed else {}
    export |= {"first_day": "2025-01-06", "last_day": last_day} if last_day else {}
    (tmp_path / "my.yaml").write_text(yaml.safe_dump({"export": export}))
    code, said = main(["check", "--config", str(tmp_path / "my.yaml")]), "".join(capsys.readouterr())
    assert code == int(not (listed and last_day)), said
    assert re.search("no reading|no usable|no row|none of", said), said


@pytest.mark.parametrize(("register", "said_of_it"), [("B1", True), ("E2", False)])
def test_registers_that_are_left_out_are_told_with_what_subtracts_feed_in(tmp_path, capsys, register, said_of_it):
    values = ",".join(f"{0.1 + 0.01 * (n % 48):.2f}" for n in range(48))
    rows = ["100,NEM12,202504120954,MDP,RETAILER"]
    for suffix in ("E1", register):
        rows.append(f"200,NMI0000001,E1{register},,{suffix},N1,SERIAL,kWh,30,")
        rows += [f"300,202504{day:02d},{values},A,,,20250501000000," for day in range(1, 29)]
    (tmp_path / "e.csv").write_text("\n".join([*rows, "900"]) + "\n")
    assert main(["check", str(tmp_path / "e.csv")]) == 0
    assert ("set export.flow to net" in "".join(capsys.readouterr())) == said_of_it
