"""Released households: files from which any number can be drawn, charged once, and what is refused."""

import io
import json
import math
import re
from dataclasses import replace
from datetime import date
from html import unescape

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from meterdp.__main__ import main
from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.households.common import BLOCKS
from meterdp.households.configured import calendar_of, settings_of
from meterdp.households.marginal import USUAL_KWH_PER_HOUR
from meterdp.households.mechanism import COMMON_SHARE, MEASURED, HouseholdRecords, directions_of
from meterdp.households.released import FILE, ReleasedHouseholds
from meterdp.households.vector import VectorSettings
from meterdp.pages.numbers import significant
from meterdp.privacy import gaussian
from meterdp.privacy.guarantee import PrivacyBudget
from meterdp.privacy.ledger import CHARGED, Ledger
from meterdp.privacy.noise import GRID
from meterdp.profiles.grid import LocalTime
from meterdp.publish.kinds import DESCRIPTIONS, KINDS
from meterdp.publish.received import before_use
from meterdp.publish.tables import RELEASED_HOUSEHOLDS
from meterdp.release import households
from meterdp.release.plan import lines
from meterdp.release.worth import tried_households
from tests.unit.release.charged import service, spent

BUDGET = PrivacyBudget("", "replace_one", "town", "2025")
N = 700
EXPORT = {"first_day": "2025-01-01", "last_day": "2025-03-31", "time_zone": "Europe/Zurich", "interval_minutes": 60}
LIST = "meter_id,dwelling\n" + "".join(f"m{i:03d},{'flat' if i % 2 else 'house'}\n" for i in range(N))


@pytest.fixture
def town(tmp_path, monkeypatch):
    """What makes the service of a town; the period, the list and settings of the release can be changed."""
    monkeypatch.setattr("meterdp.mechanisms.proven.marginals.POOL", 2000)

    def make(meters=LIST, export=EXPORT, **changed):
        settings = {"what": ["households"], "household_holidays": "CH", "synthetic_households": 40}
        given = service(tmp_path, meters=meters.encode(), sections={"export": export}, **settings | changed)
        given.config["export"].update(export)
        return given

    return make


def vectors(given, seed=0):
    """Vectors of made-up households in the box of a configuration, flats below houses."""
    settings = settings_of(given.config)
    low, high = settings.bounds
    rng = np.random.default_rng(seed)
    x = np.clip(settings.typical + 0.1 * (high - low) * rng.normal(size=(N, len(low))), low, high)
    x[::2, settings.names.index("log_mean_kw")] += 0.7
    together = np.sin(np.arange(settings.columns.day_count) / 3)
    together = np.repeat(together, BLOCKS)
    return HouseholdRecords.of(x, 0.5 * together + 0.3 * rng.normal(size=(N, len(together))), GRID)


def released(given, x=None):
    return given.release(households.mechanisms(given.listed, given), vectors(given) if x is None else x)[0]


def test_files_are_those_declared_and_the_manifest_states_guarantee_and_worth(town):
    files = released(town())
    assert set(files) == {*KINDS["households"].files, *DESCRIPTIONS, "household_readings.parquet"}
    manifest = json.loads(files["manifest.json"])
    assert manifest["privacy"]["epsilon"] == 1 and manifest["privacy"]["adjacency"] == "replace_one"
    assert manifest["privacy"]["proof"][0] == "docs/proofs/households.md"
    assert manifest["expected_error"]["quantities"][0]["of"] == "mean energy of a home"
    drawn = pq.read_table(io.BytesIO(files["household_vectors.parquet"]))
    assert drawn.schema.metadata[b"meterdp.synthetic"] == b"yes", "whether or not the export is simulated"
    assert drawn.schema.remove_metadata().equals(RELEASED_HOUSEHOLDS.schema.remove_metadata())
    assert len(drawn) == 40 and len(drawn["vector"][0]) == 46
    readings = pq.read_table(io.BytesIO(files["household_readings.parquet"])).to_pandas()
    settings = ReleasedHouseholds.of(files[FILE]).settings
    assert len(readings) == 40 * settings.calendar.slot_count
    kwh = readings.groupby("household")["energy_kwh"].sum()
    mean_kw = np.exp([vector[0] for vector in drawn["vector"].to_pylist()])
    # Of few homes a reading at the bound takes more away; the noise of a release is another every time.
    error = np.abs(kwh.to_numpy() / (mean_kw * settings.hours * settings.calendar.slot_count) - 1)
    assert np.quantile(error, 0.9) < 0.05 and error.max() < 0.5
    page = files["README.md"].decode()
    assert "counts as a home of 12 kWh a day" in page
    assert page.startswith("# Synthetic households: ") and "How far off it is" in page


@pytest.mark.parametrize("low", [0.01, -6.0])
def test_no_reading_drawn_from_a_noisy_release_is_beyond_the_public_bounds(town, low):
    """Those of the folder, of the files drawn from it, and of another year; the page states the bounds."""
    few = "meter_id\n" + "".join(f"m{i:03d}\n" for i in range(60))
    given = town(meters=few, allow=["poor"])
    given.config["profiles"] |= {"clip_kwh_per_hour": [low, 7.0]}
    given.config["profiles"] |= {"log_scale": {"kind": "signed", "scale_kwh_per_hour": 0.1}} if low < 0 else {}
    settings, rng = settings_of(given.config), np.random.default_rng(1)
    x = settings.typical + 0.1 * np.ptp(settings.bounds, axis=0) * rng.normal(size=(60, len(settings.names)))
    deviations = np.zeros((60, settings.columns.day_count * BLOCKS))
    files = released(given, HouseholdRecords.of(np.clip(x, *settings.bounds), deviations, GRID))
    kwh = pq.read_table(io.BytesIO(files["household_readings.parquet"]))["energy_kwh"].to_numpy()
    low = min(low, 0.0)  # what is at a bound above zero counts as zero
    assert low <= kwh.min() and kwh.max() <= 7
    assert f"within {low:g} to 7 kWh per hour" in files["README.md"].decode()
    found = ReleasedHouseholds.of(files[FILE])
    assert found.settings.reading_kw == (low, 7)
    _, vectors = found.draw(20, StudyNoise(1, "drawn"))
    kwh = np.concatenate([rows["energy_kwh"] for rows in found.readings(vectors, 3, 2028)])
    assert low * (1 + 1e-9) <= kwh.min() and kwh.max() <= 7 * (1 + 1e-9)


def test_the_page_draws_the_released_readings_and_its_lines_load_them(town, tmp_path, monkeypatch):
    files = released(town(household_strata=["dwelling"]))
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    page, found = files["index.html"].decode(), {}
    exec(unescape(re.search(r"<pre><code>(.*?)</code></pre>", page, re.S)[1]), found)
    week = found["kwh"].tz_convert("Europe/Zurich").loc["2025-01-06":"2025-01-12", 1:3].sum()
    assert "in the week from Monday 6 January 2025, local time" in page
    shown = re.findall(r"<h3>Synthetic household (\d)</h3>\s*<p>([\d,.]+) kWh in the week</p>", page)
    assert [int(number) for number, _ in shown] == [1, 2, 3]
    assert [float(kwh.replace(",", "")) for _, kwh in shown] == pytest.approx(week.tolist(), rel=0.05)
    assert found["stratum"].isin(["flat", "house"]).all() and found["stratum"].index.tolist() == [*range(1, 41)]


def test_the_page_says_who_uses_how_much_and_when(town):
    """Oracle: means of the released readings by pandas, on local hours, kinds of day and months."""
    files = released(town(household_strata=["dwelling"]))
    readings = pd.read_parquet(io.BytesIO(files["household_readings.parquet"]))
    vectors = pd.read_parquet(io.BytesIO(files["household_vectors.parquet"]))
    dwelling = vectors.set_index("household")["stratum"].loc[1:40]
    kwh = readings.pivot_table("energy_kwh", "interval_start_utc", "household")
    kwh = kwh.tz_convert("Europe/Zurich").T.groupby(dwelling).mean().T
    homes, local = dwelling.value_counts().sort_index().sort_values(ascending=False, kind="stable"), kwh.index
    page = unescape(files["index.html"].decode())

    assert "The mean of the 40 synthetic households whose readings are in the folder, local time" in page
    for name in ("flat", "house"):
        assert f"{name}: {homes[name]} homes, {significant(kwh[name].mean() * 24, 2)} kWh a day<" in page
    hour = kwh.groupby(local.hour).mean().loc[19]
    said = "; ".join(f"{name} {significant(hour[name], 2)} kW" for name in homes.index)
    assert f"19:00 to 20:00: {said}" in page
    months = kwh.groupby(local.month).sum().div([31, 28, 31], axis=0)
    for number, month in enumerate(("January", "February", "March"), 1):
        said = "; ".join(f"{name} {significant(months[name][number], 2)} kWh" for name in homes.index)
        assert f"{month} 2025: {said}" in page
    assert "the period is too short for a model with seasons" in page

    # New Year is a day off on a Wednesday.
    off = local.day_of_week.isin([5, 6]) | local.normalize().isin(
        pd.to_datetime(json.loads(files["manifest.json"])["public_parameters"]["days_off"]).tz_localize(local.tz)
    )
    of_all = kwh @ (homes[kwh.columns] / 40)
    kinds = [significant(of_all[chosen].groupby(local[chosen].hour).mean()[12], 2) for chosen in (~off, off)]
    assert f"12:00 to 13:00: working days {kinds[0]} kW; Saturdays and Sundays, public holidays {kinds[1]} kW" in page


def test_a_release_of_homes_that_were_hardly_read_says_so_first(town, monkeypatch):
    """What was drawn tells: most synthetic homes are the public default, and what homes do together is noise."""
    given = town()
    settings = settings_of(given.config)
    read = vectors(given)
    assert "public default" not in released(given, read)["README.md"].decode()
    nobody = HouseholdRecords.of(
        np.tile(settings.typical, (N, 1)), np.zeros((N, settings.columns.day_count * BLOCKS)), GRID
    )
    other = town(household_epsilon=0.9)
    monkeypatch.setattr("meterdp.households.mechanism.MARGIN", np.inf)  # noise alone seldom passes for something
    files = released(other, nobody)
    said = "of the synthetic households are the public default for a meter without usable readings (12 kWh a day)"
    for name in ("README.md", "index.html", "custodian.html", "manifest.json"):
        assert said in files[name].decode()
        assert "do not trust the peak of many of them" in files[name].decode()
        assert "up to a seventh too low" not in files[name].decode(), "one sentence on peaks"
    assert files["README.md"].decode().index(said) < files["README.md"].decode().index("## What is in it")


def test_a_released_folder_is_written_for_tools_of_power_flow_as_it_is(town, tmp_path):
    files = released(town())
    folder = tmp_path / "households"
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    assert main(["release", "convert", str(folder), "--as", "pandapower", "--to", str(tmp_path / "out")]) == 0
    loads = pd.read_csv(tmp_path / "out/loads.csv")
    assert len(loads) == 40
    for sentence in before_use(json.loads(files["manifest.json"])):
        assert f"- {sentence}\n" in (tmp_path / "out/README.md").read_text()
    assert "up to a seventh too low" in (tmp_path / "out/README.md").read_text()
    (folder / "household_readings.parquet").write_bytes(files["household_vectors.parquet"])
    assert main(["release", "convert", str(folder), "--as", "pandapower", "--to", str(tmp_path / "two")]) == 1


def test_what_is_released_reads_back_and_draws_the_same_households_again(town):
    given = town(household_strata=["dwelling"])
    data = released(given)[FILE]
    found = ReleasedHouseholds.of(data)
    assert list(found.listed.items()) == [("flat", N // 2), ("house", N // 2)]
    among = found.generator().common
    assert among.z.tolist() == found.common.z.tolist() and 0 < among.persistence < 1
    assert found.settings.days_off == settings_of(given.config).days_off != ()
    assert json.dumps(found.stated, sort_keys=True) == json.dumps(json.loads(data), sort_keys=True)
    one, two = (found.draw(30, StudyNoise(1, "drawn")) for _ in range(2))
    assert one[0] == two[0] and np.array_equal(one[1], two[1]) and set(one[0]) == {"flat", "house"}
    low, high = found.settings.bounds
    assert ((one[1] >= low) & (one[1] <= high)).all()
    strata, flats = found.draw(2000, StudyNoise(1, "drawn"), "flat")
    _, houses = found.draw(2000, StudyNoise(1, "drawn"), "house")
    assert set(strata) == {"flat"} and houses[:, 0].mean() > flats[:, 0].mean()
    with pytest.raises(InputError, match=r"field '--stratum': is 'barn', which was not released; use one of these"):
        found.draw(3, StudyNoise(1, "drawn"), "barn")


def test_what_an_unread_home_uses_is_part_of_the_request_unless_it_is_the_default(town):
    """Ledgers of earlier versions do not name it; the default stands in the schema."""
    given = town()
    (usual,) = households.mechanisms(given.listed, given)
    assert given.config["profiles"]["default_kwh_per_hour"] == USUAL_KWH_PER_HOUR
    assert "default_kwh_per_hour" not in usual.parameters["profiles"]
    given.config["profiles"]["default_kwh_per_hour"] = 0.3
    (other,) = households.mechanisms(given.listed, given)
    assert other.parameters["profiles"]["default_kwh_per_hour"] == 0.3
    assert np.exp(settings_of(given.config).typical[0]) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("default", "low", "bounds"),
    [(0.5, 0.01, (0.05, 15.0)), (2.0, 0.01, (0.05, 15.0)), (0.02, 0.0, (0.002, 0.6)), (0.02, -1.0, (0.05, 15.0))],
)
def test_homes_that_use_little_have_lower_bounds(town, default, low, bounds):
    """Where the public guess says so; a plan says what it takes, of a list and of a number alone."""
    given = town()
    given.config["profiles"] |= {"default_kwh_per_hour": default, "clip_kwh_per_hour": [low, 20.0]}
    assert settings_of(given.config).mean_kw == pytest.approx(bounds, rel=1e-12)
    size = "a home uses" if low >= 0 else "the mean size of a home's load is"
    said = f"{size} {24 * bounds[0]:.3g} to {24 * bounds[1]:.3g} kWh a day"
    (released,) = households.mechanisms(given.listed, given)
    assert released.plan.assumed == said
    assert households.plan(given.config, N, 1).assumed == said
    given.config["export"]["last_day"] = None
    assert households.plan(given.config, N, 1).assumed == f"{said} and the period is a year"


def test_a_plan_of_net_load_says_that_it_was_not_tried(town):
    for low, net in ((0.0, False), (-5.0, True)):
        given = town()
        given.config["profiles"] |= {"clip_kwh_per_hour": [low, 20.0]}
        (released,) = households.mechanisms(given.listed, given)
        for plan in (released.plan, households.plan(given.config, N, 1), released.plan.again(1.0, N)):
            assert ("trials with homes that feed nothing in" in " ".join(plan.warnings)) == net
        said = households._default_home(settings_of(given.config))
        assert said == ("no net load" if net else "12 kWh a day")


def test_homes_below_the_least_that_a_release_tells_contradict_it(town):
    given = town()
    settings, x = settings_of(given.config), vectors(given)
    assert "the least that this release can show" not in released(given, x)["README.md"].decode()
    x.vectors[N // 5 :, settings.names.index("log_mean_kw")] = np.log(settings.mean_kw[0])
    page = released(town(household_epsilon=2.0), x)["README.md"].decode()
    assert "use less than 1.8 kWh a day, where 1.2 is the least that this release can show" in page


def test_strata_are_asked_for_by_some_of_their_words(town):
    found = ReleasedHouseholds.of(released(town())[FILE])
    listed = {"flat, no": 300, "flat, panels": 100, "house, panels": 400}
    found = replace(found, listed=listed, populations=found.populations * 3)
    strata, _ = found.draw(4000, StudyNoise(1, "drawn"), "flat")
    assert strata.count("flat, no") / 4000 == pytest.approx(0.75, abs=0.04) and "house, panels" not in strata
    assert set(found.draw(500, StudyNoise(1, "drawn"), "panels,flat")[0]) == {"flat, panels"}
    with pytest.raises(InputError, match="is 'house, no', which was not released"):
        found.draw(3, StudyNoise(1, "drawn"), "house, no")


def test_what_homes_do_together_is_released_and_drawn_on_the_same_days_of_any_year(town):
    found = ReleasedHouseholds.of(released(town(household_epsilon=4.0))[FILE])
    expected = np.sin(np.arange(90) / 3)
    assert found.common.z.shape == (90, BLOCKS) and found.common.share == pytest.approx(0.125, rel=0.3)
    assert np.corrcoef(found.common.z.mean(axis=1), expected)[0, 1] > 0.95
    own, later = found.generator().common, found.generator(2027).common
    assert np.array_equal(own.z, found.common.z)
    # 1 January to 31 March, and nothing on other days.
    assert np.array_equal(later.z[:90], own.z) and np.isnan(later.z[90:]).all()


def test_any_year_can_be_drawn_with_its_own_holidays_and_clock_changes(town):
    found = ReleasedHouseholds.of(released(town())[FILE])
    generator = found.generator(2028)
    assert generator.columns.calendar.slot_count == 366 * 24
    assert date(2028, 8, 1) in generator.days_off and date(2025, 8, 1) not in generator.days_off
    _, x = found.draw(3, StudyNoise(1, "drawn"))
    kwh = generator.kwh(x, 5)
    assert kwh.shape == (3, 366 * 24) and np.isfinite(kwh).all() and (kwh >= 0).all()
    assert kwh.mean(axis=1) == pytest.approx(np.exp(x[:, 0]), rel=0.25)


def test_what_is_no_release_is_refused_in_one_sentence():
    for data in (b"", b"[]", b'{"period": ["2025-01-01", "2025-03-31"]}'):
        with pytest.raises(InputError, match="does not hold released households; name a folder"):
            ReleasedHouseholds.of(data)


def test_a_release_is_charged_once_and_strata_cost_no_more(town):
    given = town()
    first, again = released(given), released(given, vectors(given, 3))
    assert first == again, "the same request, whatever the records"
    events = Ledger(given.config["release"]["ledger"])
    one = spent(events, BUDGET).mu
    assert [event["kind"] for event in events.events()].count(CHARGED) == 1
    files = released(town(household_strata=["dwelling"]))
    said = files["README.md"].decode()
    named = f"by dwelling: flat ({N // 2}), house ({N // 2})"
    assert f"one for each stratum (group of homes, with its number of meters) {named}" in said
    assert ", of one group with `--stratum`" in said and "--stratum" not in first["README.md"].decode()
    assert "quantile" not in re.sub("`[^`]*`", "", said) and "blended into the rest" not in said
    assert json.loads(files["manifest.json"])["strata"] == f"by dwelling: flat ({N // 2}), house ({N // 2})"
    assert "strata" not in json.loads(first["manifest.json"])
    assert "larger than the smallest" not in said
    assert spent(events, BUDGET).mu == pytest.approx(np.sqrt(2) * one, rel=1e-3)


@pytest.mark.parametrize(
    ("kinds", "mixed", "larger"),
    [
        ({"house": 430, "pump": 190, "flat": 170, "hut": 110}, "'other'", False),  # once larger groups were promised
        ({"house": 430, "pump": 310, "flat": 90}, "'other'", False),
        ({"house": 430, "": 470}, "'all'", False),
        ({"house": 430, "flat": 470}, None, True),
        ({"house": 430, "flat": 430}, None, False),
        ({"house": 430, "other": 470}, None, True),
    ],
)
def test_a_group_of_several_kinds_of_homes_is_not_said_to_be_better_for_being_larger(town, kinds, mixed, larger):
    """Nor that what is rare is kept, before the charge or in the folder."""
    said = [kind for kind, meters in kinds.items() for _ in range(meters)]
    meters = "meter_id,kind\n" + "".join(f"m{n:03d},{kind}\n" for n, kind in enumerate(said))
    given = town(meters=meters, household_strata=["kind"])
    (mechanism,) = households.mechanisms(given.listed, given)
    planned = households.plan(given.config, len(said), 1, given.listed)
    for words in (". ".join(mechanism.plan.points()), ". ".join(lines([planned]))):
        assert ("those with heat pumps or those that stand empty for months, are blended" in words) == bool(mixed)
        assert (f"a group of several kinds of homes ({mixed}) may be further off" in words) == bool(mixed)
        assert ("groups larger than the smallest (430 meters) are off by less" in words) == larger
    assert f"  {mechanism.strata.sentence}" in lines([planned])


def test_without_strata_homes_that_differ_are_said_to_be_blended(town):
    said = ". ".join(households.plan(town().config, N, 1).points())
    assert "are blended into the rest" in said and "several kinds" not in said and "strata" not in said


@pytest.mark.parametrize(
    ("meters", "epsilon", "hidden"),
    [(1800, 1, True), (2200, 1, False), (900, 2, True), (1100, 2, False), (400, 1.7, True), (400, 8, False)],
)
def test_a_plan_says_where_noise_hides_what_homes_do_together(meters, epsilon, hidden):
    """docs/households.md names 2,000 homes at epsilon 1 and 1,000 at epsilon 2."""
    said = " ".join(households.plan_of(epsilon, 1e-5, (meters,)).first)
    assert ("do not size cables or transformers by that peak" in said) == hidden


@pytest.mark.parametrize(("last_day", "seasons"), [("2025-09-26", False), ("2025-09-27", True)])
def test_of_less_than_nine_months_no_seasons_are_promised(town, last_day, seasons):
    config = town(export={"first_day": "2025-01-01", "last_day": last_day}).config
    said = " ".join(households.plan(config, 1000, 0).warnings)
    signal = 1000 * gaussian.mu_for(1, 1e-5) * math.sqrt(1 - COMMON_SHARE) / households.VECTOR_ENTRIES
    error, bound, flat = (f"{100 * share:.0f} %" for share in tried_households(signal)["seasons"])
    alike = "a guess that all months are alike"
    numbers = f"is off by {error} on average, more than {bound} in one release of 20 ({alike}: {flat})"
    assert (numbers in said, "too short to tell seasons" in said) == (seasons, not seasons)
    period = released(town())["README.md"].decode()  # of eight weeks
    assert "too short to tell seasons" in period and "one day or week of a household" in period


def test_circuits_and_feeders_of_the_list_are_strata_as_any_other_column_is(town):
    rows = "".join(f"m{i:03d},C{i % 2},S1,{'' if i % 2 else 'F1'},a\n" for i in range(N))
    meters = "meter_id,circuit,secondary_substation_id,lv_feeder_id,rate\n" + rows
    for columns, named in (
        (["circuit"], ("C0", "C1")),
        (["rate", "lv_feeder_id"], ("a, ", "a, F1")),
    ):
        given = town(meters=meters, household_strata=columns)
        (mechanism,) = households.mechanisms(given.listed, given)
        assert mechanism.strata.names == named and mechanism.mechanism.public.sizes == (N // len(named),) * len(named)
        assert all(f"'{name}' of {N // len(named)} meters" in mechanism.plan.strata for name in named)
        assert f"makes {len(named)} strata" in mechanism.plan.strata
    assert households.mechanisms(town().listed, town())[0].plan.strata == ""


@pytest.mark.parametrize(
    ("few", "joined", "apart"),
    [
        (
            {"pump": 320, "stove": 45},
            "'other' joins pump (320) and stove (45): a group needs 300 meters, and the smaller groups have only "
            "45 together",
            "to keep pump separate, leave these 45 meters out of the list, or name another column",
        ),
        (
            {"stove": 210, "pump": 160},
            "'other' joins stove (210) and pump (160): a group needs 300 meters",
            None,
        ),
        (
            {f"h{n}": 60 - n for n in range(8)},
            "'other' joins h0 (60), h1 (59), h2 (58), h3 (57), h4 (56) and 3 more: a group needs 300 meters",
            None,
        ),
        ({"other": 310}, None, None),
    ],
)
def test_what_is_joined_as_other_is_named_with_how_to_keep_a_large_group_apart(town, few, joined, apart):
    """Once 'other' was said to have those of fewer than 300 meters, though a larger group had been joined."""
    said = [name for name, meters in {"heat": 330, **few}.items() for _ in range(meters)]
    meters = "meter_id,heating\n" + "".join(f"m{n:03d},{name}\n" for n, name in enumerate(said))
    (mechanism,) = households.mechanisms(
        town(meters=meters).listed, town(meters=meters, household_strata=["heating"])
    )
    others = len(said) - 330
    expected = f"makes 2 strata (groups of homes): 'heat' of 330 meters; 'other' of {others} meters"
    assert mechanism.plan.strata.endswith("; ".join(filter(None, [expected, joined, apart])))
    words = f"by heating: heat (330), other ({others})" + (f". {joined}" if joined else "")
    assert mechanism.strata.words == words


def test_strata_that_cannot_be_made_are_refused(town):
    meters = "meter_id,secondary_substation_id\n" + "".join(f"m{i:03d},S1\n" for i in range(N))
    one = town(meters=meters, household_strata=["secondary_substation_id"])
    with pytest.raises(InputError, match=r"household_strata.*would put all listed meters into one stratum"):
        households.mechanisms(one.listed, one)
    with pytest.raises(InputError, match=r"names 'circuit', which is not a column.*\(dwelling\)"):
        given = town(household_strata=["circuit"])
        households.mechanisms(given.listed, given)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"household_strata": ["tariff"]}, r"household_strata.*names 'tariff', which is not a column.*\(dwelling\)"),
        ({"household_holidays": "XX"}, r"household_holidays.*is 'XX', of which no holidays are known"),
    ],
)
def test_settings_that_do_not_do_are_refused(town, changed, words):
    with pytest.raises(InputError, match=words):
        released(town(**changed))


def test_a_period_of_less_than_eight_weeks_is_refused(town):
    with pytest.raises(InputError, match=r"export\.last_day.*makes a period of 31 days, but households need 56"):
        town(export=EXPORT | {"last_day": "2025-01-31"})


def test_measured_functions_are_sums_and_differences_of_entries_that_there_are(town):
    names = settings_of(town().config).names
    along = np.array([of.coefficients for of in directions_of(names)])
    assert along.shape == (len(MEASURED), len(names)) and (np.abs(along).sum(axis=1) >= 1).all()
    x = vectors(town()).vectors
    peak = dict(zip(MEASURED, (x @ along.T).T, strict=True))["log_peak_kw"]
    assert peak == pytest.approx(x[:, names.index("log_mean_kw")] + x[:, names.index("highest")])


def test_the_plan_counts_the_entries_of_a_year():
    calendar = calendar_of(date(2025, 1, 1), date(2025, 12, 31), LocalTime(60, "UTC"))
    assert len(VectorSettings(calendar).entries) == households.VECTOR_ENTRIES
