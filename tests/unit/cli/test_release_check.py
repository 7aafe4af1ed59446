"""``meterdp release check``: everything that stands in the way, at once, and what will be charged, before any job."""

import copy
import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from meterdp.__main__ import main
from meterdp.cli.release import list_of_meters, to_check_in_export
from meterdp.core.config import load_schema
from meterdp.errors import REFUSAL
from meterdp.privacy.charge import Charge, epsilon_of, epsilon_text
from meterdp.privacy.ledger import Ledger
from meterdp.privacy.spent import CHARGED
from meterdp.release import asked as asking
from meterdp.release.asked import asked
from meterdp.release.service import ReleaseService
from meterdp.simulate.export import simulate_export
from meterdp.simulate.parameters import SimulationParameters, describe_simulated
from tests.conftest import ROOT, config_of
from tests.unit.release.charged import kinds, released, stopped

NAMED = {"population": "Made-up town", "budget_period": "2025", "what": ["mixture", "forecasts"]}
NAMED |= {"allow": ["poor", "repeat"]}  # so few homes are not worth their epsilon


@pytest.fixture
def homes(tmp_path):
    """A configuration of a real-looking export of 120 homes that could be released; its readings are not read."""
    (tmp_path / "homes.csv").write_text("meter_id,interval_start,kwh\n")
    meters = "".join(f"M{number:03d},C{number % 4}\n" for number in range(120))
    (tmp_path / "list.csv").write_text(f"meter_id,circuit\n{meters}")
    export = {
        "path": str(tmp_path / "homes.csv"),
        "meters": str(tmp_path / "list.csv"),
        "first_day": "2025-01-06",
        "last_day": "2025-03-02",
        "time_zone": "Europe/London",
        "interval_minutes": 30,
    }
    return {"export": export, "release": NAMED | {"ledger": str(tmp_path / "ledger.sqlite")}}


@pytest.fixture
def check(tmp_path, capsys):
    """A call of the command with a configuration; returns its exit code and what it prints."""

    def call(config):
        (tmp_path / "own.yaml").write_text(yaml.safe_dump(config))
        return main(["release", "check", "--config", str(tmp_path / "own.yaml")]), capsys.readouterr().out

    return call


def service_of(config, simulated=False):
    settings = config_of(config)
    if simulated:
        describe_simulated(settings)
    return ReleaseService(settings, list_of_meters(settings, simulated), simulated)


def refusals(said):
    return [line for line in said.splitlines() if line.startswith(REFUSAL)]


def test_all_that_is_missing_comes_at_once_with_sections_to_paste(tmp_path, homes, check):
    wanted = copy.deepcopy(homes)
    first = {"export": {key: homes["export"][key] for key in ("path", "interval_minutes")}}
    first["release"] = {"ledger": homes["release"]["ledger"], "delta": 1e-3, "allow": ["poor"]}
    code, said = check(first)
    fields = ("export.time_zone", "export.meters", "export.first_day", "export.last_day")
    fields += ("release.population", "release.budget_period", "release.delta")
    assert code == 1 and "Traceback" not in said
    assert [line.partition("field '")[2].partition("'")[0] for line in refusals(said)] == list(fields)
    pasted = said.partition("which add what was missing:")[2]
    sections = yaml.safe_load(pasted)
    assert sections["export"]["path"] == homes["export"]["path"] and sections["export"]["interval_minutes"] == 30
    assert sections["release"]["ledger"] == homes["release"]["ledger"]
    cost = {"epsilon": 1, "forecast_epsilon": 1, "delta": 1e-3, "cap_epsilon": 4, "cap_delta": 1e-5}
    assert {key: sections["release"].get(key) for key in cost} == cost, "whoever signs sees it, default or not"
    assert "household_epsilon" not in sections["release"], "nobody asks for them"
    code, said = check(sections)  # as they stand, none of the words to fill in is taken for a setting
    assert code == 1 and len(refusals(said)) == 7
    for section, keys in sections.items():
        keys |= {key: wanted[section][key] for key in keys if key in wanted[section]}
    sections["release"].pop("delta")
    assert check(sections)[0] == 0
    assert not (tmp_path / "ledger.sqlite").exists()


def test_paths_are_pasted_as_they_were_written_wherever_the_check_runs(tmp_path, homes, check, monkeypatch):
    """From the folder of the files their paths could be shorter, and would name others from elsewhere."""
    homes["export"]["meters"] = "./list.csv"
    del homes["export"]["last_day"]
    monkeypatch.chdir(tmp_path)
    sections = yaml.safe_load(check(homes)[1].partition("which add what was missing:")[2])
    assert {key: sections["export"][key] for key in ("path", "meters")} == {
        key: homes["export"][key] for key in ("path", "meters")
    }
    homes["release"]["population"] = None
    sections = yaml.safe_load(check(homes)[1].partition("which add what was missing:")[2])
    assert sections["release"]["ledger"] == str(tmp_path / "ledger.sqlite")


def test_a_layout_that_no_list_goes_with_is_refused_before_the_export_is_read(homes, check):
    wide = copy.deepcopy(homes)
    wide["export"] |= {"format": "wide_csv", "wide_layout": "meters"}
    code, said = check(wide)
    (refusal,) = refusals(said)
    assert code == 1 and "'export.meters': cannot be used with a column per meter" in refusal
    assert "what was missing" not in said


def test_make_asks_it_before_the_export_is_read_and_snakemake_starts():
    words = ["make", "--dry-run", "release", "EXPORT=homes.csv", "CONFIG=my.yaml"]
    recipe = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    recipe = recipe[recipe.index("meterdp release check") :]
    first = recipe.partition("|| exit 1")[0]
    assert '-- "$EXPORT"' in first and "config/config.yaml" in first and '--config="$CONFIG"' in first
    assert 0 < recipe.index("METERDP_PLAN_SAID=1") < recipe.index("snakemake --cores")


def test_a_value_that_does_not_do_hides_no_other_refusal(homes, check):
    homes["release"] |= {"budget_period": "Winter 2025", "population": None, "epsilonn": 1}
    homes["export"] |= {"time_zone": "Europe/Lodon", "meters": "nowhere.csv"}
    code, said = check(homes)
    assert code == 1 and len(refusals(said)) == 5
    assert "is 'Winter 2025', which is not in the required form" in said
    assert "write 'Europe/London' if you meant that" in said and "write 'epsilon' if you meant that key" in said
    assert "nowhere.csv, field 'export.meters': does not exist" in said
    assert "budget_period: '2025'" in said  # the year of the days


def test_a_list_that_cannot_be_read_is_told_together_with_settings(tmp_path, homes, check):
    (tmp_path / "list.csv").write_text("customer\nM1\nM2\n")
    homes["release"]["population"] = None
    code, said = check(homes)
    assert code == 1 and len(refusals(said)) == 2
    assert "list.csv, row 1: is not a list of meters" in said and "'release.population': is not set" in said
    assert said.startswith("meterdp cannot go on"), "no empty line comes first"


def test_what_a_list_is_too_short_for_comes_at_once(tmp_path, homes, check):
    (tmp_path / "list.csv").write_text("meter_id\n" + "".join(f"M{number}\n" for number in range(40)))
    homes["release"] |= {"what": ["mixture", "forecasts", "feeders"], "feeder_typical_daily_kwh": 10}
    homes["release"] |= {"forecast_groups": "circuit"}
    code, said = check(homes)
    assert code == 1 and len(refusals(said)) == 3
    assert "lists fewer than 50 households" in said and "does not name a feeder for every meter" in said
    assert "'release.forecast_groups': asks for circuits" in said


def test_a_meter_without_a_feeder_is_named_by_its_row(tmp_path, homes, check):
    """In the order of the file, not of the ids, which nobody prints."""
    rows = [f"M{number:03d},C{number % 4}\n" for number in range(120)][::-1]
    rows[17], rows[40] = "M102,\n", "M079,\n"
    (tmp_path / "list.csv").write_text(f"meter_id,circuit\n{''.join(rows)}")
    homes["release"] |= {"what": ["feeders"], "feeder_typical_daily_kwh": 10}
    code, said = check(homes)
    assert code == 1 and "M102" not in said and "M079" not in said
    assert "does not name a feeder for every meter: 2 of 120 have none, the first in row 19 of the list" in said


def test_columns_that_may_name_feeders_are_offered_those_named_after_stations_first(tmp_path, homes, check, capsys):
    def row(n):
        return f"M{n:03d};A{n};{'HG'[n % 3 == 0]};Hauptstr. {n};NS {n % 6};Strom\n"

    header = "meter_id;Vertragskonto;Tarifgruppe;Straße;Netzstation;Sparte\n"
    (tmp_path / "list.csv").write_text(header + "".join(map(row, range(120))))
    homes["release"] |= {"what": ["feeders"], "feeder_typical_daily_kwh": 10}
    code, said = check(homes)
    words = "rename 'Netzstation' or 'Tarifgruppe' lv_feeder_id if it names them; else add a column lv_feeder_id"
    assert code == 1 and words in said
    assert main(["plan", str(tmp_path / "list.csv"), "--what", "feeders"]) == 1
    assert words in capsys.readouterr().err


def test_a_refusal_about_the_smallest_stratum_names_what_is_joined(tmp_path, homes, check):
    tariffs = "".join(f"M{n},{'EFGH'[n % 4] if n < 700 else 'D'}\n" for n in range(1400))
    (tmp_path / "list.csv").write_text(f"meter_id,tariff\n{tariffs}")
    homes["release"] |= {"what": ["households"], "household_strata": ["tariff"], "household_epsilon": 0.1}
    code, said = check(homes | {"release": homes["release"] | {"allow": []}})
    assert code == 1 and "listed meters in the smallest of 2 strata" in refusals(said)[0]
    assert said.count("'other' joins E (175), F (175), G (175) and H (175)") == 1
    code, said = check(homes)
    assert code == 0 and said.count("'other' joins E (175), F (175), G (175) and H (175)") == 1


def test_the_check_of_an_export_says_that_a_release_of_its_list_would_be_refused(tmp_path, homes, capsys):
    (tmp_path / "list.csv").write_text("meter_id,tariff\n" + "".join(f"M{n},{'AB'[n < 200]}\n" for n in range(480)))
    homes["release"] |= {"what": ["households"], "household_strata": ["tariff"]}
    homes["export"]["last_day"] = "2025-02-04"
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(homes))
    main(["check", "--config", str(tmp_path / "own.yaml")])
    said = capsys.readouterr().out
    refused = [line for line in said.splitlines() if line.startswith("To be checked: a release would be refused: ")]
    assert len(refused) == 2 and "period of 30 days, but households need 56" in refused[0]
    assert "all listed meters into one stratum" in refused[1]


def test_where_the_grid_takes_less_than_was_set_aside_both_epsilons_are_said(homes, check):
    homes["release"] |= {"what": ["feeders"], "feeder_typical_daily_kwh": 10, "feeder_window": "average_day"}
    homes["release"] |= {"feeder_epsilon": 18, "cap_epsilon": 20}
    code, said = check(homes)
    assert code == 0
    epsilon = float(re.search(r"charged epsilon ([\d.]+) at delta 1e-05 \(release\.feeder_epsilon: 18\)", said)[1])
    assert 17 < epsilon < 18


@pytest.mark.parametrize(("days", "all_of_them"), [(7, False), (56, True)])
def test_days_that_are_the_whole_period_are_no_choice(homes, check, days, all_of_them):
    homes["release"] |= {"what": ["feeders"], "feeder_typical_daily_kwh": 10, "feeder_days": days}
    code, said = check(homes)
    assert code == 0 and ("these are the last days of the period" in said) != all_of_them


def test_an_epsilon_that_does_not_fit_the_grid_is_refused_by_the_name_of_its_setting(homes, check):
    homes["release"] |= {"what": ["households"], "household_epsilon": 20, "cap_epsilon": 20}
    code, said = check(homes)
    assert code == 1 and "field 'release.household_epsilon': noise is too small for the discretisation grid" in said


def test_what_will_be_charged_is_said_and_nothing_is_charged(tmp_path, homes, check):
    code, said = check(homes)
    assert code == 0 and not list(tmp_path.glob("ledger*"))
    (mixture, forecasts), refused = asked(service_of(homes))
    assert not refused
    total = epsilon_of(sum((mechanism.loss for mechanism in (*mixture, *forecasts)), Charge(0.0)), 1e-5)
    assert "This release covers 120 listed meters (Made-up town), in '2025':" in said
    assert (
        said.count("charged epsilon 1 at delta 1e-05") == 2
        and f"together epsilon {epsilon_text(total)} (with" in said
    )
    assert "forecasts for 120 households, the same for all" in said
    assert f"a meter will have spent up to epsilon {epsilon_text(total)}, within its limit of epsilon 4. " in said
    both = sum((mechanism.loss for mechanism in (*mixture, *forecasts)), Charge(0.0))
    fit = next(n for n in range(9) if epsilon_of(sum([both] * (n + 2), Charge(0.0)), 1e-5) > 4)
    like = rf", or {fit} more like this one," if fit else ""
    assert re.search(rf"epsilon 4\. One more release of epsilon [\d.]+{like} would fit", said)


def test_a_release_of_a_round_epsilon_is_said_to_cost_it(homes, check):
    """Households set aside more of delta for the grid than they use, so the noise is a little larger."""
    ten = {"what": ["households"], "household_epsilon": 10, "cap_epsilon": 20}
    code, said = check(changed(homes, **ten))
    assert code == 0 and "charged epsilon 10 at delta 1e-05 (release.household_epsilon)\n" in said
    assert "together epsilon 10; with everything" in said and "will have spent up to epsilon 10, within" in said
    ((households,),), _ = asked(service_of(changed(homes, **ten)))
    assert epsilon_of(households.loss, 1e-5) < 9.9985
    texts = {9.9925: "10", 1.46517: "1.47", 1 - 1e-9: "1", 1 + 1e-9: "1", 2.26: "2.26", 0.7: "0.7", 0.0: "0"}
    assert {epsilon: epsilon_text(epsilon) for epsilon in texts} == texts


def test_the_sum_is_of_all_budget_periods_that_are_named(homes, check):
    code, said = check(changed(homes, budget_period="2024, 2025"))
    assert code == 0 and "with everything charged before in '2024, 2025', a meter will have spent" in said


def test_a_ledger_that_begins_is_said_to_with_others_beside_it(tmp_path, homes, check):
    """A mistyped name would begin at zero without a word."""
    said = check(homes)[1]
    assert f"the ledger {tmp_path}/ledger.sqlite does not exist yet, so nothing counts as spent\n" in said
    Ledger(tmp_path / "ledger.sqlite").events()
    assert "does not exist yet" not in check(homes)[1]
    (tmp_path / "other.sqlite").write_text("no ledger")
    homes["release"]["ledger"] = str(tmp_path / "legder.sqlite")
    said = check(homes)[1]
    assert "so nothing counts as spent; what ledger.sqlite in the same folder charged is not counted here\n" in said


def test_a_ledger_that_does_not_know_a_released_folder_of_the_budget_period_is_refused(tmp_path, homes, check):
    """It is another one, or an older state that was restored. Other readings, and simulated ones, are no witness."""
    homes["results_dir"] = str(tmp_path / "results")
    service = service_of(homes)
    (mixture, forecasts), _ = asked(service)
    ledger, folder = Ledger(homes["release"]["ledger"]), tmp_path / "results/release/mixture"
    manifest = {
        "public_parameters": {},
        "population": "Made-up town",
        "simulated_data": False,
        "period": ["2025-03-03", "2025-04-06"],
        "privacy": {"epsilon": 1, "delta": 1e-5, "adjacency": "replace_one", "hides": [], "does_not_hide": []},
        "sha256": {"mixture.parquet": hashlib.sha256(b"noise").hexdigest()},
    }
    folder.mkdir(parents=True)

    def written(**changed):
        (folder / "manifest.json").write_text(json.dumps(manifest | changed))
        return check(homes)

    for path in (ledger.path, tmp_path / "another.sqlite"):
        homes["release"]["ledger"] = str(path)
        code, said = written()
        (line,) = refusals(said)
        assert code == 1 and "has readings of this budget period in mixture, which" in line
        assert f"which {path.name} does not know" in line and "or in a later state of this one; restore" in line
    homes["release"]["ledger"] = str(ledger.path)
    for free in ({"simulated_data": True}, {"period": ["2024-11-01", "2024-12-31"]}, {"period": None}):
        assert written(**free)[0] == 0, free
    released(ledger, service.request(mixture[0]), service.limit, lambda: {"a": b""})
    older = {path: path.read_bytes() for path in (ledger.path, ledger.copy_path)}
    released(ledger, service.request(forecasts[-1]), service.limit, lambda: {"mixture.parquet": b"noise", "b": b""})
    homes["release"]["epsilon"] = 0.9
    assert written()[0] == 0, "the ledger knows it"
    for path, data in older.items():
        path.write_bytes(data)
    assert written()[0] == 1
    folder.parent.joinpath("earlier").mkdir()
    folder.rename(folder.parent / "earlier/mixture-1")
    code, said = check(homes)
    assert code == 1 and "of this budget period in earlier/mixture-1, which" in said
    homes["release"] |= {"epsilon": 1, "what": ["mixture"]}
    assert check(homes)[0] == 0, "nothing is charged"


def test_files_that_the_ledger_has_lost_are_noticed_before_there_is_nothing_to_do(tmp_path, homes, check):
    homes["release"]["what"] = ["mixture"]
    service, ledger = service_of(homes), Ledger(homes["release"]["ledger"])
    (((mixture,),), _) = asked(service)
    released(ledger, service.request(mixture), service.limit)
    assert check(homes)[0] == 0
    ledger.files_path.rename(tmp_path / "elsewhere")
    code, said = check(homes)
    assert code == 1 and "has a stored file that was changed or is missing; restore" in said
    ledger.path.rename(tmp_path / "ledger")
    ledger.copy_path.rename(tmp_path / "copy")
    code, said = check(homes)
    assert code == 1 and "is missing, but not ledger.sqlite.key" in said and not ledger.path.exists()


def test_a_list_with_an_address_of_every_meter_is_to_be_checked(tmp_path, homes, check):
    path = Path(homes["export"]["meters"])
    lines = path.read_text().splitlines()
    assert "nearly every meter" not in check(homes)[1]
    rows = [f"{line},{n} High Street,{'flat' if n % 2 else 'house'}" for n, line in enumerate(lines[1:])]
    path.write_text("\n".join([f"{lines[0]},street,dwelling", *rows]) + "\n")
    code, said = check(homes)
    assert code == 0 and "for nearly every meter (street): all of it is public" in said


def test_who_forgot_to_name_a_licence_is_reminded_before_the_release(homes, check):
    """It is written when noise is drawn: what was drawn without one stays without."""
    homes["release"] |= {"publisher": None, "licence": None}
    code, said = check(homes)
    assert code == 0
    assert "To be checked: release.publisher and release.licence are not set: whoever gets the files cannot" in said
    homes["release"] |= {"publisher": "Net A/S"}
    assert "To be checked: release.licence is not set: whoever gets the files cannot" in check(homes)[1]
    homes["release"] |= {"licence": "https://creativecommons.org/licenses/by/4.0/"}
    assert "licence" not in check(homes)[1]


def test_an_energy_that_is_hardly_a_days_is_to_be_checked_and_an_impossible_one_refused(homes, check):
    """Of 120 homes on 4 feeders; readings count up to 20 kWh an hour."""
    homes["release"] |= {"what": ["feeders"]}
    for daily_kwh, said_of_it in ((0.5, True), (1, False), (12, False), (100, False), (365, True), (480, True)):
        homes["release"]["feeder_typical_daily_kwh"] = daily_kwh
        code, said = check(homes)
        (plan, charge) = said.index("This holds if"), said.index("This release covers")
        at = said.find("To be checked: release.feeder_typical_daily_kwh is")
        assert code == 0 and (plan < at < charge if said_of_it else at == -1)
        low, high = f"{daily_kwh / 2:g}", f"{2 * daily_kwh:g}"
        assert f"and a meter uses {low} to {high} kWh a day on average" in said
    homes["release"]["feeder_typical_daily_kwh"] = 481
    code, said = check(homes)
    assert code == 1 and len(refusals(said)) == 1 and "allows no meter more than 480 kWh a day" in said


def test_every_refusal_names_the_file_of_the_configuration(homes, check):
    """Those of settings alone, of the list and of the ledger."""
    for section, settings in (
        ("release", {"population": None}),
        ("release", {"what": ["feeders"], "feeder_typical_daily_kwh": 481}),
        ("release", {"what": ["households"], "household_strata": ["tariff"]}),
        ("release", {"allow": [], "epsilon": 0.1}),
        ("release", {"cap_epsilon": 1.2}),
    ):
        changed = copy.deepcopy(homes)
        changed[section] |= settings
        code, said = check(changed)
        assert code == 1 and all(re.match(rf"{REFUSAL} \S*own.yaml, field", line) for line in refusals(said)), said


def test_a_limit_is_refused_once_before_anything_is_charged_and_names_what_asks(homes, check):
    """Each alone would fit; and one whose own forecasts do not."""
    homes["release"]["cap_epsilon"] = 1.2
    code, said = check(homes)
    assert code == 1 and len(refusals(said)) == 1
    assert "field 'release.epsilon and release.forecast_epsilon': would spend more" in said
    homes["release"] |= {"cap_epsilon": 4, "what": ["forecasts"], "forecast_epsilon": 5}
    code, said = check(homes)
    assert code == 1 and len(refusals(said)) == 1 and "field 'release.forecast_epsilon': would spend more" in said


def test_what_was_drawn_before_is_not_said_to_be_charged_again(homes, check):
    service = service_of(homes)
    (mixture, _), _ = asked(service)
    ledger = Ledger(homes["release"]["ledger"])
    released(ledger, service.request(mixture[0]), service.limit, lambda: {"mixture.json": b"{}"})
    before = ledger.events()
    code, said = check(homes)
    assert code == 0
    assert (
        "synthetic profiles: already drawn and charged, so published unchanged: it lacks any readings corrected since"
        in said
    )
    assert ledger.events() == before
    homes["release"]["cap_epsilon"] = 8
    assert "within its limit of epsilon 4, stated earlier and lower than 8. One more" in check(homes)[1]
    homes["release"]["cap_epsilon"] = 1.2
    assert "field 'release.forecast_epsilon': would spend more" in check(homes)[1]


def with_meters(homes, count):
    """Write a list of so many meters, which is long enough to be worth its epsilon from a thousand on."""
    Path(homes["export"]["meters"]).write_text("meter_id\n" + "".join(f"M{n:04d}\n" for n in range(count)))


def changed(homes, **release):
    return homes | {"release": homes["release"] | release}


def mixture_of(homes, simulated=False):
    """Return a service, its request for the mixture, and its ledger."""
    service = service_of(changed(homes, what=["mixture"]), simulated)
    return service, service.request(asked(service)[0][0][0]), Ledger(service.config["release"]["ledger"])


def test_a_release_that_was_stopped_is_charged_again_only_if_it_was_lost(homes, check):
    """The sums are those that the ledger comes to, and what goes on is no repeat of what was released since."""
    with_meters(homes, 1000)
    homes = changed(homes, what=["mixture"], allow=[])
    service, request, ledger = mixture_of(homes)
    both = epsilon_of(request.charge + request.charge, 1e-5)

    stopped(ledger, request, service.limit, lost=True)
    code, said = check(homes)
    assert code == 0 and "    charged again: the last attempt at this release was lost in the middle of a dra" in said
    assert (
        "synthetic profiles: charged epsilon 1 at" in said
        and f"will have spent up to epsilon {epsilon_text(both)}," in said
    )
    stopped(ledger, request, service.limit, lost=False)
    code, said = check(homes)
    assert code == 0 and "charged again" not in said and "charged epsilon" not in said
    assert "resumes with what was drawn, and nothing more is charged for it\n  nothing more is charged; with" in said
    assert f"will have spent up to epsilon {epsilon_text(both)}," in said
    _, like, _ = mixture_of(changed(homes, epsilon=0.5))
    released(ledger, like, service.limit)
    assert check(homes)[0] == 0 and kinds(ledger).count(CHARGED) == 3
    code, said = check(changed(homes, what=["mixture", "forecasts"]))
    assert code == 0 and "together epsilon 1; with" in said, "the forecasts alone"


def test_a_repeat_is_refused_unless_allowed(homes, check):
    """A slip of whoever releases is charged in full; it tells which stored release it is like, and what to do."""
    with_meters(homes, 1000)
    homes = changed(homes, allow=[])
    service, request, ledger = mixture_of(homes)
    released(ledger, request, service.limit)
    assert check(homes)[0] == 0, "forecasts of the same days are no mixture"
    words = (
        r"own.yaml, field 'release.epsilon': would be charged again: it differs from the release of [\d-]{10} "
        r"\(mixture, 2025-01-06 to 2025-03-02\) in %s; undo that to publish the stored one unchanged at no cost, or "
        "add 'repeat' to release.allow to pay again%s\n"
    )
    free = "; without another charge, any number of profiles can be sampled from the released mixture .*"
    for slip, differs, more in (
        ({"population": "Mad River"}, "release.population", r"\."),
        ({"epsilon": 2}, "release.epsilon", r"\."),
        ({"synthetic_profiles": 7}, "release.synthetic_profiles", free),
    ):
        code, said = check(changed(homes, **slip))
        assert code == 1 and len(refusals(said)) == 1 and re.search(words % (differs, more), said), said
        assert "Nothing was read or charged" in said and "This release covers" not in said
        assert check(changed(homes, allow=["poor", "ids"], **slip))[0] == 1, "something else is allowed"
        code, said = check(changed(homes, allow=["repeat"], **slip))
        assert code == 0 and f" in {differs}\n" in said
    with_meters(homes, 1003)
    assert check(homes)[0] == 1, "three more meters charge a thousand again"
    assert check(homes | {"export": homes["export"] | {"last_day": "2025-03-09"}})[0] == 0, "new days are no repeat"
    Path(homes["export"]["meters"]).write_text("meter_id\n" + "".join(f"N{n}\n" for n in range(1000)))
    code, said = check(homes)
    assert code == 1 and len(refusals(said)) == 1 and "has none of the meters that were charged before for" in said
    assert check(changed(homes, allow=["repeat"]))[0] == 1 and check(changed(homes, population="Mad River"))[0] == 0
    code, said = check(changed(homes, allow=["ids"]))
    assert code == 0 and "none of the listed meters was on a list of this ledger before" in said, "no repeat"


def test_the_same_days_in_a_longer_period_are_a_repeat(homes, check):
    """Of feeder totals the last days are released, whenever the period begins."""
    window = {"feeder_days": 7, "feeder_typical_daily_kwh": 9, "allow": ["poor", "repeat"]}
    homes = changed(homes, what=["feeders"], **window)
    service = service_of(homes)
    ((feeders,),), _ = asked(service)
    released(Ledger(homes["release"]["ledger"]), service.request(feeders), service.limit, lambda: {"a": b""})
    earlier = homes | {"export": homes["export"] | {"first_day": "2025-01-01"}}
    words = r"charged again: it differs from the release of [\d-]{10} \(feeders, 2025-02-24 to 2025-03-02\) in %s\n"
    assert re.search(words % "export.first_day", check(earlier)[1])
    later = homes | {"export": homes["export"] | {"last_day": "2025-03-03"}}
    assert re.search(words % "export.last_day", check(later)[1]), "six of seven days"
    for days in ("2025-03-04", "2025-03-20"):
        assert "charged again" not in check(homes | {"export": homes["export"] | {"last_day": days}})[1]
    eight = check(changed(homes, feeder_days=8))[1]
    assert re.search(words % "release.feeder_days", eight), "seven of eight days"
    assert "charged again" not in check(changed(homes, feeder_days=14))[1], "as a quarter is after its last month"


@pytest.mark.parametrize(
    ("known", "now"),
    [
        pytest.param("ES0021{:06d}AB", "ES0021{:06d}AB1P", id="longer"),
        pytest.param("ES0021{:06d}AB", "00ES0021{:06d}AB", id="longer in front"),
        pytest.param("0042{:08d}", "42{:08d}", id="without zeros"),
        pytest.param("0000042{:04d}", "42{:04d}", id="without many zeros"),
        pytest.param("ES0021{:06d}AB", "ES-0021-{:06d}-AB", id="with signs"),
    ],
)
def test_meters_under_other_ids_are_refused_unless_allowed(homes, check, known, now):
    """Else each has a budget of its own."""
    ids = [known.format(n) for n in range(1000)]
    write = Path(homes["export"]["meters"]).write_text
    write("\n".join(["meter_id", *ids]))
    homes = changed(homes, allow=[])
    service, request, ledger = mixture_of(homes)
    released(ledger, request, service.limit)
    later = homes | {"export": homes["export"] | {"last_day": "2025-03-09"}}
    write("\n".join(["meter_id", *ids[:995], *(f"new {number}" for number in range(10))]))
    code, said = check(later)
    assert code == 0 and "  10 of the listed meters are new to the ledger\n" in said
    write("\n".join(["meter_id", *ids[:400], *map(now.format, range(400, 1000))]))
    code, said = check(later)
    assert code == 1 and "has 600 meters that are new to the ledger, which knows 600 of them under ids" in said
    assert check(changed(later, allow=["poor", "repeat"]))[0] == 1, "something else is allowed"
    code, said = check(changed(later, allow=["ids"]))
    assert (
        code == 0
        and "  600 of 600 listed meters new to the ledger seem to be meters it knows under other ids" in said
    )


def test_ids_that_a_spreadsheet_rounded_are_refused(homes, check):
    homes = changed(homes, allow=[])
    ids = ["3.25E+20", *(f"M{number:07d}" for number in range(999))]
    Path(homes["export"]["meters"]).write_text("\n".join(["meter_id", *ids]))
    code, said = check(homes)
    assert code == 1 and "has 1 of 1,000 ids that look like 1.23E+17, and each may stand for several meters" in said


def test_a_repeat_of_a_simulated_release_is_refused_too(tmp_path, check):
    simulated = {"simulate": {"households": 1000, "circuits": 4, "days": 60}}
    simulated |= {"release": {"ledger": str(tmp_path / "ledger.sqlite"), "what": ["mixture"]}}
    service, request, ledger = mixture_of(simulated, simulated=True)
    released(ledger, request, service.limit)
    assert check(simulated)[0] == 0 and check(changed(simulated, allow=["repeat"], epsilon=2))[0] == 0
    assert "would be charged again" in check(changed(simulated, epsilon=2))[1]


def test_of_what_is_charged_again_it_is_said_in_what_it_differs(tmp_path, homes, check, monkeypatch):
    """Names of settings alone; order and unused columns of the list are no difference."""
    homes["release"] |= {"what": ["mixture", "households"], "cap_epsilon": 8}
    service = service_of(homes)
    folders, _ = asked(service)
    for (mechanism,) in folders:
        released(Ledger(homes["release"]["ledger"]), service.request(mechanism), service.limit, lambda: {"a": b""})
    (tmp_path / "list.csv").write_text("meter_id,note\n" + "".join(f"M{n:03d},x\n" for n in reversed(range(120))))
    assert "charged again" not in check(homes)[1]

    def differs(**sections):
        changed = copy.deepcopy(homes)
        for section, settings in sections.items():
            changed[section] |= settings
        lines = [line.strip() for line in check(changed)[1].splitlines()]
        return [line for line in lines if line.startswith(("charged again", "without another"))]

    again, free = differs(release={"synthetic_households": 7})
    assert re.fullmatch(
        r"charged again: it differs from the release of [\d-]{10} \(households, 2025-01-06 to 2025-03-02\) "
        "in release.synthetic_households",
        again,
    )
    assert (
        free
        == "without another charge, `meterdp households draw` makes any number of households from the released folder"
    )
    again, free = differs(release={"synthetic_profiles": 7, "epsilon": 2})
    assert again.endswith(" in release.epsilon, release.synthetic_profiles") and "released mixture" in free
    (again,) = differs(release={"household_holidays": "US"}, export={})
    assert again.endswith(" in release.household_holidays")
    both = differs(release={"population": "Newtown"})
    assert len(both) == 2 and all(line.endswith(" in release.population") for line in both)
    both = differs(export={"stamp": "end"})
    assert len(both) == 2 and all(line.endswith(" in export.stamp") for line in both)
    assert differs(export={"last_day": "2025-02-23"}) == [], "other days are another release"
    strata = "".join(f"M{n:03d},{'ab'[n % 2]}\n" for n in range(120))
    (tmp_path / "list.csv").write_text(f"meter_id,house\n{strata}")
    monkeypatch.setattr("meterdp.households.mechanism.FEWEST_OF_STRATUM", 60)
    (again,) = differs(release={"household_strata": ["house"]})
    assert again.endswith(" in the groups on the list of meters, or the way its ids are written"), "the same meters"
    monkeypatch.undo()
    (tmp_path / "list.csv").write_text("meter_id\n" + "".join(f"M{n:03d}\n" for n in range(119)))
    assert all(line.endswith(" in the list of meters") for line in differs()) and len(differs()) == 2
    (tmp_path / "list.csv").write_text("meter_id\n" + "".join(f"N{n:03d}\n" for n in range(120)))
    assert differs() == [], "other meters are another release"


def test_a_list_that_matches_nothing_is_told_before_a_release_with_how_to_stop(tmp_path, homes):
    """As a spreadsheet drops zeros; whatever is in the rows, nothing is raised."""
    rows = "".join(f"00{n},2025-01-06 {h:02d}:00,0.5\n" for n in range(1001, 1021) for h in range(24))
    (tmp_path / "homes.csv").write_text(f"meter_id,interval_start,kwh\n{rows}")
    (tmp_path / "list.csv").write_text("meter_id\n" + "".join(f"{n}\n" for n in range(1001, 1061)))
    said = to_check_in_export(config_of(homes))
    assert any(line.startswith("To be checked: ") and "60 have no reading that counts" in line for line in said)
    assert any("with different leading zeros" in line for line in said)
    assert "STOP NOW (Ctrl-C). Nothing new has been charged yet" in said[-1] and "`make check`" in said[-1]
    assert "stays charged, and only the same release resumes at no cost" in said[-1]
    (tmp_path / "homes.csv").write_bytes(b"\x00\xff" * 100)
    assert to_check_in_export(config_of(homes)) == []


def test_files_of_which_no_stamp_can_be_read_are_told_before_a_release(tmp_path, homes):
    (tmp_path / "export").mkdir()
    for name, day in (("1", "2025-01-06"), ("2", "06.01.2025"), ("3", "07.01.2025")):
        rows = "".join(f"M{n:03d},{day} {h:02d}:00,0.5\n" for n in range(120) for h in range(24))
        (tmp_path / "export" / f"{name}.csv").write_text(f"meter_id,interval_start,kwh\n{rows}")
    homes["export"] |= {"path": str(tmp_path / "export"), "interval_minutes": 60}
    said = to_check_in_export(config_of(homes))
    words = "2 of 3 files begin with rows that mostly cannot be used (number 2 to 3, in order of names): the stamp is"
    assert any(line.startswith("To be checked: ") and words in line for line in said)
    assert "STOP NOW (Ctrl-C). Nothing new has been charged yet" in said[-1]


def test_a_simulated_export_is_known_by_its_list_before_it_is_simulated(tmp_path):
    config = {"simulate": {"households": 60, "circuits": 3, "days": 20}, "release": {"allow": ["poor"]}}
    service = service_of(config, simulated=True)
    parameters = SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml")
    own = {"households": 60, "circuits": 3, "days": 1}
    simulate_export(
        parameters, tmp_path / "e.csv", seed=service.config["seed"], meter_list_path=tmp_path / "list", **own
    )
    assert service.meter_list == (tmp_path / "list").read_bytes()
    folders, refused = asked(service)
    assert len(folders) == 2 and not refused


def test_every_folder_of_a_release_can_be_asked_for(homes):
    schema = load_schema(ROOT / "workflow/schemas/config.schema.yaml")
    what = schema["properties"]["release"]["properties"]["what"]["items"]["enum"]
    assert set(asking.MODULES) == set(what)
    homes["release"] |= {"what": what, "feeder_typical_daily_kwh": 10, "forecast_groups": "circuit"}
    folders, refused = asked(service_of(homes))
    assert len(folders) == len(what) and not refused
    said = "forecasts for 120 households, 4 different ones, one for each circuit of 30 households"
    assert folders[what.index("forecasts")][-1].what == said
    homes["release"] |= {"what": ["forecasts"], "forecast_protects": "label", "forecast_noise_std_log_kwh": 2.0}
    (((labels,),), refused) = asked(service_of(homes))
    assert labels.what == "forecasts for 120 households that hide whom they belong to" and labels.neighbourhoods
