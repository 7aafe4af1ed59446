"""The page of a released folder: made of its files alone, with pictures of them, and it loads nothing."""

import json
import math
import re
from html import unescape
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from meterdp.core.log_scale import LogScale
from meterdp.errors import InputError
from meterdp.pages.numbers import bound, percent
from meterdp.publish.folder import described
from meterdp.publish.kinds import CUSTODIAN, DESCRIPTIONS, PAGE, README
from meterdp.publish.loading import code_of
from meterdp.publish.page import LOOKS
from meterdp.publish.received import verify
from meterdp.release import asked
from meterdp.release.mixture import ReleasedMixture
from tests import chromium
from tests.unit.groupforecast.made_up import records_of, town
from tests.unit.publish.test_about import ABOUT, DAY, SAID, N, service
from tests.unit.release.charged import release_forecasts, release_mixture
from tests.unit.release.charged import service as charged_service

KINDS = ("mixture", "forecasts", "label")


def released(kind, folder, simulated=False):
    generator = np.random.default_rng(5)
    if kind == "mixture":
        return release_mixture(generator.normal(-1.0, 0.7, (N, 24)), service(folder, simulated))
    protects = {"forecast_protects": "label", "what": ["forecasts"]} if kind == "label" else {}
    x = generator.normal(-2.0, 1.0, (N, 12)) if protects else records_of(town(N, 28)).x
    return release_forecasts(x, None, service(folder, simulated, **protects))[0]


@pytest.fixture(scope="module", params=KINDS)
def files(request, tmp_path_factory):
    return released(request.param, tmp_path_factory.mktemp(request.param))


def words_of(page: bytes) -> str:
    """Visible text, white space as single spaces."""
    text = re.sub(r"<(style|svg)\b.*?</\1>|</?code>", "", page.decode(), flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


EXPECTED = re.compile("in one release of 20|from public numbers alone|far less certain")


def test_it_says_what_the_readme_says(files):
    words = words_of(files[PAGE])
    readme, loading = files[README].decode().replace("`", "").split("## How to load it\n")
    for cell in (cell.strip() for line in loading.split("\n") if line.startswith("| ") for cell in line.split("|")):
        assert cell in words or cell == "---"
    for line in readme.split("\n"):
        # Expected errors are a table on the page.
        if line.strip() and not line.startswith(("#", "**")) and not EXPECTED.search(line):
            assert " ".join(line.removeprefix("- ").split()) in words, line
    for title in re.findall(r"^#+ (.*)$", readme, re.M):
        assert title in words or title in ("How far off it is", "How to use it")


def test_what_can_be_learnt_is_how_many_are_listed_and_not_who(files):
    """A data-protection officer once read that the list could be learnt from the folder, which does not hold it."""
    assert "who is on the public list" not in files[README].decode().lower()
    for words in (words_of(files[PAGE]).split("What can be learnt from it")[1], words_of(files[CUSTODIAN])):
        assert (
            "ow many meters are listed, in all and in each group named here (which meters these are is not" in words
        )
    assert json.loads(files["manifest.json"])["listed_meters"] == N


def test_guarantee_worth_and_a_way_to_load_it_are_on_it(files):
    words, manifest = words_of(files[PAGE]), json.loads(files["manifest.json"])
    privacy = manifest["privacy"]
    assert f"RELEASED WITH DIFFERENTIAL PRIVACY: ε = {privacy['epsilon']:g}, δ = 10⁻⁵, for {privacy['unit']}" in words
    for sentence in manifest.get("expected_error", {}).get("first", []):
        assert f"{sentence}." in words
    for one in manifest.get("expected_error", {"quantities": []})["quantities"]:
        assert f"{one['of']} {100 * one['error']:.0f} %" in words
    assert "import pandas as pd" in words and "meterdp release verify ." in words
    assert f"Published by {SAID['publisher']}. Licence: {SAID['licence']}." in words
    assert "SIMULATED" not in words


def test_the_odds_are_those_of_the_best_guess_and_only_where_readings_are_hidden(files):
    """Oracle: the largest accuracy on a grid of false positives under both inequalities of (epsilon, delta)."""
    privacy = json.loads(files["manifest.json"])["privacy"]
    words = words_of(files[PAGE])
    if privacy["adjacency"] != "replace_one":
        assert "a coin is right" not in words
        return
    epsilon, delta = privacy["epsilon"], privacy["delta"]
    false = np.linspace(0, 1, 200_001)
    true = np.minimum(math.exp(epsilon) * false + delta, 1 - (1 - delta - false) * math.exp(-epsilon))
    best = ((np.clip(true, 0, 1) + 1 - false) / 2).max()
    assert f"are right at most {bound(best)} of the time; tossing a coin is right 50 %" in words


def test_the_code_on_it_runs(files, tmp_path, monkeypatch):
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    code = unescape(re.search(r"<pre><code>(.*?)</code></pre>", files[PAGE].decode(), re.S)[1])
    assert f"```python\n{code}\n```" in files[README].decode()
    found: dict = {}
    exec(code, found)
    assert len(found.get("profiles", found.get("of_first"))) > 0
    if "mixture.json" in files:
        low, high = json.loads(files["mixture.json"])["log_scale"]["clipped_to_kwh"]
        assert found["kwh"].shape == (1000, 24) and low <= found["kwh"].min() < found["kwh"].max() <= high
        mixture = json.loads(files["mixture.json"])
        mean = np.array(mixture["weights"]) @ np.array(mixture["means"])
        assert (np.abs(found["y"].mean(axis=0) - mean) < 6 * found["y"].std(axis=0) / np.sqrt(1000)).all()


@pytest.mark.parametrize("constant", [{}, {"offset_kwh": 0.5}, {"scale_kwh": 0.25}])
def test_the_code_goes_back_to_kwh_on_every_scale(constant):
    scale, y = LogScale(-0.25 if constant else 0.01, 20, **constant), np.linspace(-3, 4, 50)
    found = {"np": np, "y": y}
    code = code_of({"mixture.parquet": b"", "mixture.json": json.dumps({"log_scale": scale.stated}).encode()})
    exec(code.rpartition("\n")[2], found)
    assert found["kwh"] == pytest.approx(scale.clipped_kwh(y))


def test_pictures_are_of_what_was_released(files):
    page = files[PAGE].decode()
    if "mixture.json" in files:
        mixture = json.loads(files["mixture.json"])
        assert percent(max(mixture["weights"])) in words_of(files[PAGE]).replace("of households", "")
        tops = re.findall(r'aria-label="Energy over time: Pattern \d+; highest value ([\d.]+) kWh"', page)
        largest = int(np.argmax(mixture["weights"]))
        assert float(tops[0]) == pytest.approx(np.exp(mixture["means"][largest]).max(), rel=0.06)
        assert len(tops) == min(6, len(mixture["weights"]))
    else:
        assert 1 <= page.count('aria-label="Energy over time: Forecast') <= 6


def test_nothing_is_on_it_that_is_not_in_the_folder(files, tmp_path):
    """It is the same from the other files alone, whoever makes it and wherever."""
    bare = {name: data for name, data in files.items() if name not in DESCRIPTIONS}
    assert described(bare, ABOUT, DAY)[PAGE] == files[PAGE]
    text = files[PAGE].decode()
    assert "secret-folder" not in text and "list.csv" not in text and str(tmp_path.parent) not in text
    assert not re.search(r"\b[0-9a-f]{16}\b", text), "no name of a household's file"


def test_it_goes_with_the_folder_and_a_changed_guarantee_on_it_is_found(files, tmp_path):
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    assert PAGE not in verify(tmp_path).files
    if b"epsilon 1 and delta" in files[PAGE]:
        (tmp_path / PAGE).write_bytes(files[PAGE].replace(b"epsilon 1 and delta", b"epsilon 0.1 and delta"))
        with pytest.raises(InputError, match="states a different guarantee"):
            verify(tmp_path)


def test_simulated_households_are_said_to_be_so(tmp_path):
    assert "SIMULATED HOUSEHOLDS: they stand in for real ones" in words_of(released("mixture", tmp_path, True)[PAGE])


def test_a_browser_shows_it_without_an_error_or_a_request(files, tmp_path):
    (tmp_path / PAGE).write_bytes(files[PAGE])
    (facts,) = chromium.inspect_pages([tmp_path / PAGE], width=400)
    assert facts.errors == [] and not facts.scrolls_sideways
    assert facts.requests == [(tmp_path / PAGE).resolve().as_uri()]


def feeder_cards(first, last, minutes=30, zone="Europe/London"):
    """Cards of a made-up feeder that uses 1 kWh in an interval, 3 kWh from six in the evening to midnight."""
    local = pd.date_range(first, pd.Timestamp(last) + pd.Timedelta(days=1), freq=f"{minutes}min", tz=zone)[:-1]
    wh = np.where(local.hour >= 18, 3000, 1000)
    table = pd.DataFrame(
        {
            "dataset_id": "F1",
            "aggregated_device_count_active": 60,
            "total_consumption_active_import": wh,
            "data_collection_log_timestamp": local.tz_convert("UTC") + pd.Timedelta(minutes=minutes),
        }
    )
    errors = pd.DataFrame({"dataset_id": ["F1"], "standard_error_wh": [500.0]})
    files = {"feeders.parquet": table.to_parquet(), "feeder_errors.parquet": errors.to_parquet()}
    manifest = {"feeder_totals": {"interval_minutes": minutes}, "public_parameters": {"export": {"time_zone": zone}}}
    return LOOKS["feeders"](files, manifest)


def test_a_week_of_feeders_is_drawn_by_interval_and_a_year_by_day():
    ((_, (week,)),) = feeder_cards("2025-01-06", "2025-01-12")
    assert len(week.line.split()) == 7 * 48 and [label for _, label in week.ticks][:2] == ["day 1", "2"]
    ((_, (single,)),) = feeder_cards("2025-01-06", "2025-01-06")
    assert [label for _, label in single.ticks] == ["00", "06", "12", "18", "24 h"]
    (heading, (year,)), (_, (day,)) = feeder_cards("2025-01-01", "2025-12-31")
    assert "mean of each day" in heading
    assert len(year.line.split()) == 365 and len(year.area.split()) == 2 * 365
    assert year.values[0][2] == "1 Jan, 1.0 to 3.0 kWh, on average: 1.5 kWh"
    # Days of clock changes are whole, too: of 23 and 25 hours.
    assert {text.partition(", on")[0].partition(", ")[2] for _, _, text in year.values} == {"1.0 to 3.0 kWh"}
    assert [label for _, label in year.ticks] == "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    assert min(np.diff([at for at, _ in year.ticks])) > 20, "labels would lie on each other"
    assert day.values[18][2] == "18:00 to 19:00: 6.0 kWh" and day.values[17][2] == "17:00 to 18:00: 2.0 kWh"
    (_, (quarter,)), _ = feeder_cards("2025-01-01", "2025-03-31")
    assert [label for _, label in quarter.ticks][:2] == ["1 Jan", "15 Jan"] and len(quarter.ticks) < 8
    (_, (long,)), _ = feeder_cards("2023-01-01", "2025-12-31", 60)
    assert len(long.ticks) == 12


def household_cards(last, strata, weekend=("saturday", "sunday"), minutes=30, zone="Asia/Muscat", days_off=()):
    """Cards of made-up homes from 10 January 2025 on, one for each of ``strata``.

    Home n uses 2 n kW on Fridays and 10 n kW on other days.
    """
    local = pd.date_range("2025-01-10", pd.Timestamp(last) + pd.Timedelta(days=1), freq=f"{minutes}min", tz=zone)[:-1]
    kw = np.where(local.day_of_week == 4, 2, 10)
    homes = np.arange(1, len(strata) + 1)
    readings = pd.DataFrame(
        {
            "household": np.repeat(homes, len(local)),
            "interval_start_utc": np.tile(local.tz_convert("UTC"), len(homes)),
            "energy_kwh": np.outer(homes, kw * minutes / 60).ravel(),
        }
    )
    # There are more vectors than readings.
    vectors = pd.DataFrame({"household": [*homes, len(homes) + 1], "stratum": [*strata, "undrawn"]})
    files = {"household_readings.parquet": readings, "household_vectors.parquet": vectors}
    export = {"interval_minutes": minutes, "time_zone": zone, "weekend": list(weekend)}
    public = {"days": len(np.unique(local.date)), "strata": dict.fromkeys(vectors["stratum"], 300)}
    if set(strata) == {"all"}:
        public["strata"] = {"all": 300}
    manifest = {"public_parameters": {"export": export, "public": public, "days_off": list(days_off)}}
    (_, means), (_, weeks) = LOOKS["households"]({name: one.to_parquet() for name, one in files.items()}, manifest)
    return means, weeks


def test_the_mean_home_is_drawn_by_hour_kind_of_day_and_month():
    (day, kinds), weeks = household_cards("2025-03-30", ["all", "all"], ("friday", "saturday"))
    assert len(weeks) == 2 and weeks[0].name == "Synthetic household 1"
    assert not day.key and not day.others and day.area != ""
    # Of 80 days 12 are Fridays; the mean of both homes is 3 kW on these and 15 kW on others.
    mean = (12 * 3 + 68 * 15) / 80
    assert f"{24 * mean:.0f} kWh a day, which may be a tenth off the model's" in day.words
    assert [text.partition(": ")[2] for *_, text in day.values] == 24 * [f"{mean:.0f} kW"]
    assert kinds.key == ["working days", "Fridays and Saturdays"] and kinds.words == "kW of a home"
    assert {text.partition(": ")[2] for *_, text in kinds.values} == {
        "working days 15 kW; Fridays and Saturdays 9.0 kW"
    }
    # Days off that are named count as the weekend does; of two whole months there is no picture.
    (_, kinds), _ = household_cards("2025-03-31", ["all"], days_off=["2025-01-10", "2025-01-17"])
    working, off = (10 * 2 + 45 * 10) / 55, (2 * 2 + 24 * 10) / 26
    said = f"working days {working:.1f} kW; Saturdays and Sundays, public holidays {off:.1f} kW"
    assert {text.partition(": ")[2] for *_, text in kinds.values} == {said}


def test_whole_months_of_three_or_more_are_drawn_with_their_clock_changes():
    (_, _, months), _ = household_cards("2025-04-30", ["all"], zone="Europe/Zurich")
    assert [label for _, label in months.ticks] == ["Feb", "Mar", "Apr"]
    # March has four Fridays, and with the clock change an hour less on a Sunday.
    assert months.values[1][2] == f"March 2025: {(4 * 24 * 2 + 27 * 24 * 10 - 10) / 31:.0f} kWh"
    assert "too short for a model with seasons" in months.words
    (_, _, years), _ = household_cards("2027-03-31", ["all"], minutes=60)
    assert len(years.values) == 26 and len(years.ticks) <= 12 and "seasons" not in years.words


def test_strata_are_lines_of_one_picture_the_six_with_the_most_homes():
    (day, kinds), _ = household_cards("2025-03-15", ["h", "g, <b>", "f", "e", "d", "c", "b", "b"])
    assert day.key[0].startswith("b: 2 homes, ") and day.key[1].startswith("c: 1 home, ") and len(day.key) == 6
    assert len(day.others) == 5 and day.area == "" and "6 of 8 strata are shown" in day.words
    assert kinds.words == "kW of a home, of all strata together" and len(kinds.others) == 1
    # All are on the scale of the largest.
    lowest = [min(float(point.split(",")[1]) for point in line.split()) for line in (day.line, *day.others)]
    assert min(lowest) == lowest[0] == 0.0 and lowest[1] == pytest.approx(84 * (1 - 6 / 7.5), abs=0.1)


def test_a_mixture_of_homes_that_were_hardly_read_says_so_first(tmp_path, capsys, monkeypatch):
    """The public default in the place of most records; with few such records nothing is said."""
    rng, default = np.random.default_rng(7), np.log(0.5)
    for share, month in ((0.03, "01"), (1.0, "02")):
        log_kwh = np.where(rng.random((300, 1)) < share, default, rng.normal(-1.0, 0.7, (300, 24)))
        names = b"meter_id\n" + b"".join(b"m%d\n" % n for n in range(300))
        given = charged_service(tmp_path, month, meters=names, epsilon=8, cap_epsilon=20)
        monkeypatch.setattr(asked, "ReleaseService", lambda *_, given=given: given)
        made_up = SimpleNamespace(
            mechanisms=lambda listed, service: [ReleasedMixture.configured(300, service, None)],
            records=lambda *_, log_kwh=log_kwh: log_kwh,
        )
        (tmp_path / "list.csv").write_bytes(given.meter_list)
        asked.run(made_up, {"meters": tmp_path / "list.csv"}, {}, True, tmp_path / "out/release" / month)
        readme = (tmp_path / "out/release" / month / README).read_text()
        words = words_of((tmp_path / "out/release" / month / PAGE).read_bytes())
        said = "of the synthetic households are the public default for a meter without usable readings (12 kWh a day)"
        for text in (readme.split("## What is in it")[0], words.split("What is in it")[0], capsys.readouterr().err):
            assert (said in text) == (share == 1.0)
