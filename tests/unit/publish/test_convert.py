"""Files for other tools: the energy of the release, under its names and guarantee, as the tools load it."""

import csv
import errno
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tracemalloc
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meterdp.__main__ import main
from meterdp.core.parquet import open_table, write_table
from meterdp.core.weekend import SATURDAY_SUNDAY, Weekend
from meterdp.errors import InputError
from meterdp.households.tables import DRAWN_READINGS
from meterdp.privacy.guarantee import STUDY_MODE
from meterdp.publish import convert
from meterdp.publish.convert import PROVENANCE, TOOLS, hours_of_day, read_release, working_day
from meterdp.publish.received import checked, passed_on
from meterdp.publish.tables import RELEASED_PROFILES, SYNTHETIC_PROFILES
from meterdp.release.synthetic import synthetic_columns
from tests.unit.groupforecast.made_up import records_of, town
from tests.unit.release.charged import DEFAULTS, release_forecasts, release_mixture, service

LOADERS = Path(__file__).parent / "loaders"
DRAWN = "drawn.parquet"
ARTEFACTS = ("mixture", "forecasts", DRAWN)
N = 60
# Of the drawn readings: half-hours over two days, a clock change of the time zone of the release among them.
DRAWN_N, DRAWN_START, HALF_HOURS = 5, np.datetime64("2025-03-08T08:00:00"), 96
TOOLS_PYTHON = Path(sys.prefix).with_name(f"{Path(sys.prefix).name}-tools") / "bin/python"


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Released folders of made-up households, one of synthetic profiles and one of forecasts."""
    folder = tmp_path_factory.mktemp("released")
    made = service(folder, cap_epsilon=8.0, synthetic_profiles=11)
    generator = np.random.default_rng(3)
    vectors = generator.normal(-1.0, 0.7, (N, DEFAULTS["profiles"]["hours"]))
    records = records_of(town(N, 28)).x
    files = {
        "mixture": release_mixture(vectors, made),
        "forecasts": release_forecasts(records, None, made)[0],
    }
    for artefact, contents in files.items():
        (folder / artefact).mkdir()
        for name, data in contents.items():
            (folder / artefact / name).write_bytes(data)
    kwh = generator.gamma(0.5, 0.4, (DRAWN_N, HALF_HOURS))
    kwh[0, :3] = 0, 1.25e-9, -0.5  # nothing; less than a milliwatt; fed in
    write_drawn(folder / DRAWN, kwh, passed_on(folder / "mixture"))
    return folder


def write_drawn(path, kwh, metadata, minutes=30, at_once=2, start=DRAWN_START):
    """Write readings (n, T) as `meterdp households draw` does, some households a row group."""
    stamps = start + np.arange(kwh.shape[1]) * np.timedelta64(60 * minutes, "s")
    with open_table(path, DRAWN_READINGS, {"synthetic": "yes", **metadata}) as add:
        for begin in range(0, len(kwh), at_once):
            batch = kwh[begin : begin + at_once]
            number = np.arange(begin + 1, begin + 1 + len(batch), dtype=np.int32)
            columns = (
                np.repeat(number, kwh.shape[1]),
                ["flat"] * batch.size,
                np.tile(stamps, len(batch)),
                batch.ravel(),
            )
            add(dict(zip((c.name for c in DRAWN_READINGS.columns), columns, strict=True)))


def manifest_of(source):
    return (source.with_name("mixture") if source.is_file() else source) / "manifest.json"


def hours_of(source):
    return 0.5 if source.is_file() else 1.0


def source_kwh(folder):
    """The energy of what is converted by the name it must have, straight from the Parquet files."""
    if folder.is_file():
        rows = pd.read_parquet(folder).groupby("household")["energy_kwh"]
        return {f"household_{n}": kwh.to_numpy() for n, kwh in rows}
    if folder.name == "mixture":
        rows = pd.read_parquet(folder / "synthetic_profiles.parquet")
        return {f"profile_{p:02d}": np.array(e) for p, e in zip(rows["profile"], rows["energy_kwh"], strict=True)}
    kwh = pd.read_parquet(folder / "forecasts.parquet").groupby("forecast")["expected_kwh"]
    recipients = pd.read_parquet(folder / "recipients.parquet")
    return {
        f"home_{name}": kwh.get_group(n).to_numpy()
        for name, n in zip(recipients["release_id"], recipients["forecast"], strict=True)
    }


def columns(path, first):
    """A CSV with a header as float columns by name, from column ``first`` on."""
    header, *rows = csv.reader(io.StringIO(path.read_text()))
    return {name: np.array([float(r[i]) for r in rows]) for i, name in enumerate(header) if i >= first}


def kwh_of_opendss(out, hours):
    shapes = re.findall(
        r"^New LoadShape\.(\w+) npts=(\d+) minterval=(\d+) mult=\(file=(\w+)\.csv\) UseActual=yes$",
        (out / "loadshapes.dss").read_text(),
        re.MULTILINE,
    )
    energy = {}
    for name, npts, minutes, file in shapes:
        power_kw = np.array((out / f"{file}.csv").read_text().split(), float)
        assert file == name and int(npts) == power_kw.size and int(minutes) == 60 * hours
        peak = re.search(rf"^New Load\.{name} .* kW=(\S+) ", (out / "loads.dss").read_text(), re.MULTILINE)[1]
        assert float(peak) == power_kw.max()
        energy[name] = power_kw * hours
    return energy


def kwh_of_pypsa(out, hours):
    snapshots = pd.read_csv(out / "snapshots.csv", index_col=0)
    assert (snapshots[["objective", "stores", "generators"]] == hours).all(axis=None)
    power = columns(out / "loads-p_set.csv", 1)
    assert list(pd.read_csv(out / "loads.csv")["name"]) == list(power)
    return {name: 1000 * mw * hours for name, mw in power.items()}


def kwh_of_pandapower(out, hours):
    assert (pd.read_csv(out / "time_steps.csv")["hours"] == hours).all()
    power = columns(out / "p_mw.csv", 1)
    assert list(pd.read_csv(out / "loads.csv")["name"]) == list(power)
    return {name: 1000 * mw * hours for name, mw in power.items()}


def kwh_of_gridlabd(out, hours):
    model, energy = (out / "loads.glm").read_text(), {}
    stop = re.search(r"stoptime '(.*) UTC'", model)[1]
    for path in out.glob("*.player"):
        stamps, power_w = zip(*(line.split(" UTC,") for line in path.read_text().splitlines()), strict=True)
        held = np.diff(pd.to_datetime([*stamps, stop]).to_numpy()) / np.timedelta64(1, "h")
        assert np.allclose(held, hours, rtol=1e-6, atol=0) and f"file {path.name};" in model
        energy[path.stem] = np.array(power_w, float) * held / 1000
    return energy


READ_BACK = {
    "opendss": kwh_of_opendss,
    "pypsa": kwh_of_pypsa,
    "pandapower": kwh_of_pandapower,
    "gridlabd": kwh_of_gridlabd,
}


def test_every_tool_is_tested():
    assert set(READ_BACK) == set(TOOLS) == {p.stem.removeprefix("in_") for p in LOADERS.glob("in_*.py")}


@pytest.mark.parametrize("artefact", ARTEFACTS)
@pytest.mark.parametrize("tool", TOOLS)
def test_files_hold_the_energy_of_the_release_and_nothing_negative(released, tmp_path, tool, artefact):
    """Drawn readings, which may be fed in, are held to a milliwatt."""
    source, out = released / artefact, tmp_path / "out"
    assert main(["release", "convert", str(source), "--as", tool, "--to", str(out)]) == 0
    found, expected = READ_BACK[tool](out, hours_of(source)), source_kwh(source)
    assert set(found) == set(expected) and len(found) == {"mixture": 11, "forecasts": N, DRAWN: DRAWN_N}[artefact]
    within = {"rtol": 0, "atol": 0.5001e-6 * 0.5} if artefact == DRAWN else {"rtol": 1e-14}
    for name, kwh in found.items():
        assert (artefact == DRAWN or (kwh >= 0).all()) and np.isfinite(kwh).all()
        np.testing.assert_allclose(kwh, expected[name], **within)


@pytest.mark.parametrize("artefact", ARTEFACTS)
@pytest.mark.parametrize("tool", TOOLS)
def test_every_folder_carries_manifest_guarantee_and_what_is_not_hidden(released, tmp_path, capsys, tool, artefact):
    out = tmp_path / "out"
    assert main(["release", "convert", str(released / artefact), "--as", tool, "--to", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"Converted: {out} has {len(list(out.iterdir()))} files for {tool};")
    raw = manifest_of(released / artefact).read_bytes()
    assert (out / PROVENANCE).read_bytes() == raw
    page = " ".join((out / "README.md").read_text().split())
    assert "-differential privacy for all readings of one listed meter" in page
    assert "The households are simulated." in page
    privacy = json.loads(raw)["privacy"]
    assert all(s in page for s in [*privacy["hides"], *privacy["does_not_hide"]])
    assert not list(tmp_path.glob(".out.*"))


@pytest.mark.parametrize("tool", TOOLS)
def test_the_tool_itself_loads_them_and_sees_the_same_energy(released, tmp_path, tool):
    """Oracle: OpenDSS, PyPSA, pandapower and GridLAB-D; GridLAB-D prints six digits, OpenDSS solves to 1e-4.

    Some 1e-7 kWh are the milliwatt that drawn readings are held to, and less than that in OpenDSS.
    """
    if not TOOLS_PYTHON.exists():
        pytest.skip("the tools are not installed (make tools installs them beside the project's environment)")
    folders = []
    for artefact in ARTEFACTS:
        words = ["release", "convert", str(released / artefact), "--as", tool, "--to", str(tmp_path / artefact)]
        assert main(words) == 0
        profiles = read_release(released / artefact)
        folders.append((str(tmp_path / artefact), profiles.energy_kwh.shape[1], profiles.interval_minutes))
    # One process for all, as some of the tools take ten seconds to import.
    command = [TOOLS_PYTHON, LOADERS / f"in_{tool}.py", json.dumps(folders)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert run.returncode == 0, run.stderr
    answers = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    assert len(answers) == len(ARTEFACTS)
    for artefact, found in zip(ARTEFACTS, answers, strict=True):
        expected, stamps = source_kwh(released / artefact), found.pop("stamps", None)
        starts = [*pd.to_datetime(read_release(released / artefact).interval_start_utc)]
        assert stamps is None or [*pd.to_datetime(stamps)] == starts
        assert set(found) == set(expected)
        for name, kwh in found.items():
            rtol, atol = 1e-4 if tool == "opendss" else 1e-5, 3e-7 if artefact == DRAWN else 0
            np.testing.assert_allclose(kwh, expected[name], rtol, atol)


def test_forecasts_by_circuit_name_the_circuit_of_every_load(released, tmp_path):
    circuit, folder = tuple((np.arange(N) % 3).tolist()), tmp_path / "forecasts"
    made = service(tmp_path, forecast_groups="circuit")
    folder.mkdir()
    for name, data in release_forecasts(records_of(town(N, 28)).x, circuit, made)[0].items():
        (folder / name).write_bytes(data)
    assert main(["release", "convert", str(folder), "--as", "pypsa", "--to", str(tmp_path / "out")]) == 0
    kwh, circuits = READ_BACK["pypsa"](tmp_path / "out", 1.0), pd.read_csv(tmp_path / "out" / "circuits.csv")
    rows = pd.read_parquet(folder / "forecasts.parquet")
    assert (
        circuits["circuit"].value_counts().to_dict() == rows.groupby("circuit")["household_count"].first().to_dict()
    )
    for name, circuit in circuits.itertuples(index=False):
        np.testing.assert_allclose(kwh[name], rows.loc[rows["circuit"] == circuit, "expected_kwh"], rtol=1e-14)
    assert "`circuits.csv` names the circuit of each" in (tmp_path / "out" / "README.md").read_text()
    assert not read_release(released / "forecasts").circuits


def test_synthetic_profiles_begin_on_the_day_asked_for_and_else_on_the_first_of_the_period(released):
    own, asked = (read_release(released / "mixture", d) for d in (None, date(2024, 7, 3)))
    assert own.local_start[0] == "2025-01-02T00:00:00-08:00", "New Year's Day is no working day"
    assert "the day is Thursday 2025-01-02, the first Monday to Friday of the period" in own.dated
    assert asked.local_start[0] == "2024-07-03T00:00:00-07:00" and "--date" in asked.dated
    assert (np.diff(asked.interval_start_utc) == np.timedelta64(1, "h")).all()
    forecasts = read_release(released / "forecasts")
    assert forecasts.local_start[0] == "2025-01-29T00:00:00-08:00"
    with pytest.raises(InputError, match="leave --date out"):
        read_release(released / "forecasts", date(2024, 7, 3))


def test_a_working_day_is_none_of_the_weekend():
    friday = date(2025, 1, 3)
    assert working_day(friday, SATURDAY_SUNDAY, None)[0] == friday
    assert working_day(friday, SATURDAY_SUNDAY, ["2025-01-03"])[0] == date(2025, 1, 6)
    day, words = working_day(friday, Weekend((4, 5)), ["2025-01-05"])
    assert day == date(2025, 1, 6) and words.startswith("is Monday 2025-01-06, the first Sunday to Thursday of the")


@pytest.mark.parametrize("day", [date(2025, 3, 9), date(2025, 11, 2)])
def test_a_day_whose_clock_changes_within_the_hours_is_refused(day):
    for start, hours in ((0, 24), (12, 48), (1, 2)):
        before = day if start < 12 else date.fromordinal(day.toordinal() - 1)
        with pytest.raises(InputError, match="clock change within the hours"):
            hours_of_day(before, start, hours, "America/Los_Angeles")
    assert hours_of_day(day, 12, 12, "America/Los_Angeles").size == 12


def test_what_is_not_for_release_is_refused_by_name(tmp_path, capsys):
    folder = tmp_path / "study/synthetic"
    folder.mkdir(parents=True)
    columns = synthetic_columns(np.zeros((4, 12)))
    write_table(folder / "sound.parquet", SYNTHETIC_PROFILES, columns, {"guarantee": STUDY_MODE})
    for given in (folder, tmp_path / "nowhere", tmp_path):
        assert main(["release", "convert", str(given), "--as", "pypsa", "--to", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err.splitlines()
    assert "sound.parquet: is not for release; take a folder that `make release` wrote" in said[0]
    assert all("has no manifest of a release" in line for line in said[1:]) and len(said) == 3
    assert not (tmp_path / "out").exists()


def test_a_study_file_in_a_folder_with_a_manifest_is_refused(released, tmp_path):
    folder = tmp_path / "mixture"
    shutil.copytree(released / "mixture", folder)
    columns = synthetic_columns(np.zeros((4, 12)))
    write_table(folder / "synthetic_profiles.parquet", SYNTHETIC_PROFILES, columns, {"guarantee": STUDY_MODE})
    with pytest.raises(InputError, match="not what was released"):
        read_release(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    digest = hashlib.sha256((folder / "synthetic_profiles.parquet").read_bytes()).hexdigest()
    manifest["sha256"]["synthetic_profiles.parquet"] = digest
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"synthetic_profiles\.parquet: is not for release"):
        read_release(folder)


@pytest.mark.parametrize(
    ("first", "days_off", "day"),
    [
        ("2025-01-01", None, "Thursday 2025-01-02"),
        ("2025-01-01", ["2025-01-02", "2025-01-03"], "Monday 2025-01-06"),
        ("2025-12-24", None, "Monday 2025-12-29"),
        ("2025-12-31", ["2026-01-02"], "Monday 2026-01-05"),
        ("2025-05-31", None, "Monday 2025-06-02"),
    ],
)
def test_a_typical_working_day_is_stamped_with_no_holiday_that_is_known(released, tmp_path, first, days_off, day):
    def change(words):
        words["period"][0] = first
        words["public_parameters"] |= {"days_off": days_off} if days_off else {}

    folder, out = rewritten(released / "mixture", tmp_path / "mixture", change), tmp_path / "out"
    assert main(["release", "convert", str(folder), "--as", "pandapower", "--to", str(out)]) == 0
    page = " ".join((out / "README.md").read_text().split())
    assert f"from {day.split()[1]}T00:00:00" in page and f"the day is {day}, the first Monday to Friday" in page
    assert ("other public holidays are not known" in page) == (days_off is None)


@pytest.mark.parametrize(("day", "works"), [("2025-06-07", False), ("2025-12-25", False), ("2025-06-09", True)])
def test_a_day_off_asked_for_with_profiles_of_working_days_is_said(released, tmp_path, day, works):
    out = tmp_path / "out"
    asked = ["--date", day, "--as", "pandapower", "--to", str(out)]
    assert main(["release", "convert", str(released / "mixture"), *asked]) == 0
    page = " ".join((out / "README.md").read_text().split())
    assert f"from {day}T00:00:00" in page and "was asked for with --date" in page
    assert ("though it is not a working day and the profiles are of working days" in page) == (not works)


def rewritten(source, folder, change):
    """Return a copy of a released folder whose manifest was changed."""
    shutil.copytree(source, folder)
    words = json.loads((folder / "manifest.json").read_text())
    change(words)
    (folder / "manifest.json").write_text(json.dumps(words))
    return folder


@pytest.mark.parametrize("tool", TOOLS)
def test_no_word_of_a_release_commands_a_terminal_or_a_script(released, tmp_path, tool):
    def change(words):
        words["privacy"]["hides"] = ["all\x1b[2J\x85"]
        columns = {"profile": [1], "energy_kwh": [np.ones(12)]}
        guarantee = "(1, 1e-05)-differential privacy for\x1b]0;all\x07 \u2028 \x9b1A readings"
        path = tmp_path / "mixture/synthetic_profiles.parquet"
        write_table(path, RELEASED_PROFILES, columns, {"guarantee": guarantee})
        words["sha256"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()

    folder, out = rewritten(released / "mixture", tmp_path / "mixture", change), tmp_path / "out"
    assert main(["release", "convert", str(folder), "--as", tool, "--to", str(out)]) == 0
    for path in out.iterdir():
        assert all(c.isprintable() or c == "\n" for c in path.read_text()), path.name
    assert "\\x1b]0;all\\x07" in (out / "README.md").read_text()


def test_what_is_converted_is_what_was_hashed(released, tmp_path, monkeypatch):
    shutil.copytree(released / "mixture", tmp_path / "mixture")
    before = read_release(tmp_path / "mixture")

    def then_swapped(folder, name, *more):
        found = checked(folder, name, *more)
        columns = {"profile": [1], "energy_kwh": [np.full(12, 7.0)]}
        write_table(folder / name, RELEASED_PROFILES, columns, {"guarantee": "mine"})
        return found

    monkeypatch.setattr(convert, "checked", then_swapped)
    np.testing.assert_array_equal(read_release(tmp_path / "mixture").energy_kwh, before.energy_kwh)


@pytest.mark.parametrize(
    ("artefact", "change"),
    [
        ("mixture", lambda words: words["public_parameters"].pop("profiles")),
        ("mixture", lambda words: words["public_parameters"]["export"].update(time_zone="../etc/passwd")),
        ("mixture", lambda words: words.update(period=[None, 3])),
        ("forecasts", lambda words: words["time"].update(zone="Nowhere/Town")),
        ("forecasts", lambda words: words["time"].update(interval_minutes=0)),
        ("forecasts", lambda words: words["time"].update(interval_minutes=15)),
        ("forecasts", lambda words: words.update(clipped_to_kwh=[])),
        ("forecasts", lambda words: words.update(clipped_to_kwh=["0", "1"])),
    ],
)
def test_a_manifest_that_does_not_go_with_its_files_is_refused(released, tmp_path, artefact, change):
    folder = rewritten(released / artefact, tmp_path / artefact, change)
    with pytest.raises(InputError, match=r"holds files that do not belong to its manifest\.json"):
        read_release(folder)


@pytest.mark.parametrize("artefact", ["mixture", "forecasts"])
def test_what_is_released_is_verified(released, artefact, capsys):
    assert main(["release", "verify", str(released / artefact)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Verified: ") and "without a checksum" not in out and "not there" not in out


def test_names_that_no_release_gives_are_not_written_into_scripts(released, tmp_path):
    folder = tmp_path / "forecasts"
    shutil.copytree(released / "forecasts", folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    file = folder / "recipients.parquet"
    recipients = pq.read_table(file)
    names = ["x npts=1\nRedirect evil.dss\n", *recipients["release_id"].to_pylist()[1:]]
    pq.write_table(recipients.set_column(0, recipients.schema.field(0), pa.array(names)), file)
    manifest["sha256"][file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="holds files that do not belong to its manifest"):
        read_release(folder)


def test_feeder_totals_are_no_profiles_of_homes(released, tmp_path):
    """Their manifest has other words, and nothing but the names of files is asked of it."""
    words = json.loads((released / "mixture/manifest.json").read_text())
    words["sha256"] = {"feeders.parquet": "0", "feeders.csv": "0"}
    (tmp_path / "manifest.json").write_text(json.dumps(words))
    for day in (None, date(2025, 1, 1)):
        with pytest.raises(InputError, match="holds totals of feeders"):
            read_release(tmp_path, day)


def test_a_folder_that_is_there_is_never_overwritten_and_a_wrong_tool_not_taken(released, tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["release", "convert", str(released / "mixture"), "--as", "opendss", "--to", str(tmp_path)]) == 1
    assert "already exists" in capsys.readouterr().err and [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(SystemExit):
        main(["release", "convert", str(released / "mixture"), "--as", "excel", "--to", str(tmp_path / "out")])


@pytest.mark.parametrize("tool", TOOLS)
def test_a_drawn_year_is_written_in_short_numbers_and_little_memory(released, tmp_path, tool, monkeypatch):
    """Oracle: memory traced by Python, less than the readings of all homes would take as objects."""
    minutes, homes = 60, 16
    kwh = np.random.default_rng(1).gamma(0.5, 0.4, (homes, 8760))
    write_drawn(tmp_path / "year.parquet", kwh, passed_on(released / "mixture"), minutes, at_once=7)
    tracemalloc.start()
    assert (
        main(["release", "convert", str(tmp_path / "year.parquet"), "--as", tool, "--to", str(tmp_path / "out")]) == 0
    )
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20 * kwh.size
    found = READ_BACK[tool](tmp_path / "out", 1.0)
    assert list(found) == [f"household_{n:02d}" for n in range(1, homes + 1)] or tool == "gridlabd"
    for number, row in enumerate(kwh, start=1):
        np.testing.assert_allclose(found[f"household_{number:02d}"], row, rtol=0, atol=0.5001e-6)
    page = (tmp_path / "out/README.md").read_text()
    assert "16 load profiles in 8,760 intervals of 60 minutes from 2025-03-08T00:00:00-08:00\non" in page
    assert "They are drawn from released households: the mean power" in page
    texts = [path.read_text() for path in (tmp_path / "out").glob("*.csv")]
    texts += [path.read_text().replace(" UTC", "") for path in (tmp_path / "out").glob("*.player")]
    numbers = re.findall(r"(?:^|,)(\d+\.\d+)", "\n".join(texts), re.MULTILINE)
    assert len(numbers) > 0.99 * kwh.size
    assert max(len(each.split(".")[1]) for each in numbers) == {"gridlabd": 3, "opendss": 6}.get(tool, 9)


def test_readings_lie_on_disk_and_a_full_one_is_one_sentence(released, monkeypatch):
    assert isinstance(read_release(released / DRAWN).energy_kwh, np.memmap)

    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(convert.tempfile, "TemporaryFile", Full)
    with pytest.raises(
        InputError, match=r"cannot be read, or copied to .* \(No space left on device\); free 0\.0 GB there"
    ):
        read_release(released / DRAWN)


def odd(change):
    """Return readings of two households after a change of their columns, by name."""
    stamps = DRAWN_START + np.arange(4) * np.timedelta64(3600, "s")
    columns = {
        "household": np.repeat(np.array([1, 2], dtype=np.int32), 4),
        "stratum": np.array(["flat"] * 8),
        "interval_start_utc": np.tile(stamps, 2),
        "energy_kwh": np.ones(8),
    }
    change(columns)
    return columns


def put(name, at, value):
    return lambda columns: columns[name].__setitem__(at, value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("energy_kwh", 3, np.nan), "has an energy that is not finite"),
        (put("interval_start_utc", 5, DRAWN_START), "has other intervals for some households"),
        (put("household", 7, 3), "has other intervals for some households"),
        (put("household", 3, 2), "has other intervals for some households"),
        (put("household", slice(None), np.arange(1, 9)), "has no two readings of a household"),
        (put("interval_start_utc", [1, 5], DRAWN_START), "does not have one regular interval"),
        (put("interval_start_utc", [3, 7], np.datetime64("2025-03-09")), "does not have one regular interval"),
        (lambda columns: columns.update({k: v[:0] for k, v in columns.items()}), "has no two readings"),
    ],
)
def test_readings_that_are_not_as_they_were_drawn_are_refused(released, tmp_path, change, words):
    metadata = passed_on(released / "mixture")
    write_table(tmp_path / "odd.parquet", DRAWN_READINGS, odd(change), metadata)
    with pytest.raises(InputError, match=f"{words}.*convert the file as `meterdp households draw` wrote it"):
        read_release(tmp_path / "odd.parquet")


def test_readings_that_do_not_say_where_they_come_from_are_refused(released, tmp_path, capsys):
    path, metadata = tmp_path / "odd.parquet", passed_on(released / "mixture")
    for said, words in (
        ({}, "not for release"),
        ({"guarantee": STUDY_MODE}, "not for release"),
        ({"guarantee": metadata["guarantee"]}, "does not say what release it was drawn from"),
        (metadata | {"manifest": "{}"}, "does not say what release it was drawn from"),
        (metadata | {"manifest": metadata["manifest"].replace("Los_Angeles", "Atlantis")}, "names no time zone"),
        (metadata | {"guarantee": "(9, 1e-05)-differential privacy for all"}, "states a different guarantee"),
    ):
        write_table(path, DRAWN_READINGS, odd(lambda columns: None), said)
        assert main(["release", "convert", str(path), "--as", "pypsa", "--to", str(tmp_path / "out")]) == 1
        assert words in capsys.readouterr().err
    pd.DataFrame(odd(lambda columns: None)).to_parquet(path)
    with pytest.raises(InputError, match="is not a file of drawn households"):
        read_release(path)
    path.write_text("household,kwh\n")
    with pytest.raises(InputError, match="is not a file of drawn households"):
        read_release(path)
    assert not (tmp_path / "out").exists()


def test_days_of_readings_are_known_and_too_many_are_refused(released, monkeypatch):
    with pytest.raises(InputError, match="holds readings, whose days are known; leave --date out"):
        read_release(released / DRAWN, date(2025, 1, 1))
    monkeypatch.setattr(convert, "MOST_READINGS", 450)
    with pytest.raises(InputError, match=r"holds 480 readings, .* is too large for the tools; draw fewer households"):
        read_release(released / DRAWN)
