"""``meterdp plan``: of numbers, a list or a configuration, in a table and a picture."""

import re
import subprocess
import sys

import numpy as np
import pytest
import yaml
from scipy.optimize import brentq
from scipy.stats import norm

from meterdp.__main__ import main
from meterdp.publish.kinds import KINDS
from meterdp.release.plan import HEADINGS


def said(capsys, *words):
    assert main(["plan", *map(str, words)]) == 0
    return capsys.readouterr().out


def test_several_numbers_of_meters_and_an_epsilon_for_all(capsys):
    out = said(capsys, "98", "1,409", "--epsilon", "2")
    for size in ("98", "1,409"):
        assert f"mixture: {size} listed meters, epsilon 2" in out
        assert f"forecasts: {size} listed meters, epsilon 2" in out
    assert "feeders: 98 meters per feeder, epsilon 2" in out
    assert "feeders: 101 meters per feeder, epsilon 2" in out  # 14 of about a hundred


def test_what_a_year_of_months_comes_to_is_said(capsys):
    """Oracle: delta of Gaussian noise by Balle and Wang (2018), at the epsilon that is printed and at that of one."""

    def delta(epsilon, mu):
        return norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)

    mu = brentq(lambda mu: delta(0.7, mu) - 1e-5, 0.01, 5)
    out = said(capsys, "600", "--what", "feeders", "--epsilon", "0.7")
    (epsilon,) = re.findall(
        r"about the same meters every month for a year costs epsilon ([\d.]+) in total\.$", out.strip()
    )
    assert delta(float(epsilon), np.sqrt(12) * mu) <= 1e-5 < delta(float(epsilon) - 0.01, np.sqrt(12) * mu)
    out = said(capsys, "600", "--what", "feeders", "mixture", "--epsilon", "0.7")
    (both,) = re.findall(r"Releasing feeders and mixture about .* costs epsilon ([\d.]+) in total\.$", out.strip())
    assert delta(float(both), np.sqrt(24) * mu) <= 1e-5 < delta(float(both) - 0.01, np.sqrt(24) * mu)


def test_what_several_releases_cost_together_is_said_as_before_a_release(capsys, tmp_path):
    release = {"what": ["mixture", "feeders"], "epsilon": 0.7, "feeder_epsilon": 1.1, "allow": ["poor"]}
    release |= {"ledger": str(tmp_path / "ledger.sqlite")}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({"simulate": {"households": 600}, "release": release}))
    words = r"together epsilon ([\d.]+) \(with Gaussian noise, several epsilons add up to less than their sum\)"
    (planned,) = re.findall(words, said(capsys, "--config", tmp_path / "own.yaml"))
    assert main(["release", "check", "--config", str(tmp_path / "own.yaml")]) == 0
    assert re.findall(words, capsys.readouterr().out) == [planned]
    assert "together" not in said(capsys, "--config", tmp_path / "own.yaml", "--what", "mixture")


def test_which_strata_a_list_makes_is_said_of_a_configuration(capsys, tmp_path):
    kinds = {"Parcelhus, fjernvarme": 430, "heat pump": 190, "flat": 170, "summer house": 110}
    rows = [kind for kind, meters in kinds.items() for _ in range(meters)]
    listed = "".join(f'm{n},"{kind}"\n' for n, kind in enumerate(rows))
    (tmp_path / "list.csv").write_text(f"meter_id,kategori\n{listed}")
    config = {
        "export": {"path": "e.csv", "meters": str(tmp_path / "list.csv"), "time_zone": "Europe/Copenhagen"},
        "release": {"what": ["households"], "household_strata": ["kategori"]},
    }
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(config))
    out = said(capsys, "--config", tmp_path / "own.yaml", "--figure", tmp_path / "plan.svg")
    assert "the smallest of 2 strata" in " ".join(re.findall("<!-- (.*?) -->", (tmp_path / "plan.svg").read_text()))
    assert "households: 430 listed meters in the smallest of 2 strata, epsilon 1\n" in out
    assert (
        "  release.household_strata makes 2 strata (groups of homes): 'Parcelhus, fjernvarme' of 430 meters; 'other' "
        "of 470 meters; 'other' joins heat pump (190), flat (170) and summer house (110): a group needs 300 meters\n"
    ) in out


def test_a_list_brings_its_feeders_unless_others_are_named(capsys, tmp_path):
    rows = "".join(f"m{i},c{i % 4}\n" for i in range(200))
    (tmp_path / "list.csv").write_text(f"meter_id,circuit\n{rows}")
    words = (tmp_path / "list.csv", "--what", "feeders")
    assert "feeders: 50 meters per feeder" in said(capsys, *words)
    assert "feeders: 20 meters per feeder" in said(capsys, *words, "--feeders", 10)


def test_feeders_that_are_asked_for_are_not_left_out_of_the_plan_of_a_list_without_them(capsys, tmp_path):
    """The sum of several releases would be that of fewer."""
    (tmp_path / "list.csv").write_text("meter_id,kind\n" + "".join(f"m{i},a\n" for i in range(600)))
    export = {"path": "e.csv", "meters": str(tmp_path / "list.csv"), "time_zone": "Europe/Rome"}
    for what, code in ((["mixture", "feeders"], 1), (["mixture"], 0)):
        (tmp_path / "own.yaml").write_text(yaml.safe_dump({"export": export, "release": {"what": what}}))
        assert main(["plan", "--config", str(tmp_path / "own.yaml")]) == code
        found = capsys.readouterr()
        assert ("lv_feeder_id" in found.err) == bool(code) and ("mixture: 600" in found.out) != bool(code)
    assert main(["plan", str(tmp_path / "list.csv")]) == 0
    assert "feeders" not in capsys.readouterr().out


def test_a_configuration_says_what_of_whom_and_at_which_epsilon(capsys, tmp_path):
    config = {"simulate": {"households": 300}, "release": {"what": ["mixture"], "epsilon": 3}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(config))
    out = said(capsys, "--config", tmp_path / "own.yaml")
    assert "mixture: 300 listed meters, epsilon 3" in out and "forecasts" not in out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("40",), "are 40, but a release needs at least 50; list more"),
        (("500", "--epsilon", "0"), "not positive"),
        (("500", "--feeders", "501"), "from 1 to the number of meters"),
        (("nowhere.csv",), "nowhere.csv"),
    ],
)
def test_what_cannot_be_planned_is_one_sentence(capsys, words, problem):
    assert main(["plan", *words]) == 1
    assert problem in capsys.readouterr().err


def test_a_list_that_cannot_be_read_is_said_with_its_reason(tmp_path, capsys):
    (tmp_path / "list.csv").write_text("customer\n" + "".join(f"m{i}\n" for i in range(60)))
    export = {"path": "e.csv", "meters": str(tmp_path / "list.csv"), "time_zone": "UTC"}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({"export": export}))
    assert main(["plan", "--config", str(tmp_path / "own.yaml")]) == 1
    assert "list.csv, row 1: is not a list of meters" in capsys.readouterr().err


def test_a_check_of_settings_takes_no_other_zone(tmp_path, capsys):
    (tmp_path / "own.yaml").write_text("seed: 1\n")
    assert main(["check", "--config", str(tmp_path / "own.yaml"), "--time-zone", "Europe/Copenhagen"]) == 1
    assert "field '--time-zone': does not go with --config" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["plan"], ["check"], ["release", "check"]])
def test_a_configuration_is_not_taken_for_an_export_or_a_list(tmp_path, capsys, command):
    own, more = (str(tmp_path / name) for name in ("own.yaml", "more.yaml"))
    for path in (own, more):
        with open(path, "w") as file:
            file.write("seed: 1\n")
    for words in ([own], ["--config", own, more]):
        assert main([*command, *words]) == 1
        assert f"{words[-1]}: looks like a configuration, which is passed with --config" in capsys.readouterr().err


def test_a_check_writes_over_no_file(tmp_path, capsys):
    (tmp_path / "my.yaml").write_text("seed: 1\n")
    assert main(["check", "nowhere.csv", "--write", str(tmp_path / "my.yaml")]) == 1
    assert "my.yaml: already exists; name a new file" in capsys.readouterr().err
    assert (tmp_path / "my.yaml").read_text() == "seed: 1\n"


def test_the_picture_shows_every_release(capsys, tmp_path):
    said(capsys, "500", "--figure", tmp_path / "plan.svg")
    drawn = (tmp_path / "plan.svg").read_text()
    assert drawn.startswith("<?xml") and all(f"<!-- {what}" in drawn for what in KINDS)


def test_a_check_of_a_configuration_begins_with_the_plan(tmp_path):
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({"simulate": {"households": 300}}))
    words = [sys.executable, "-m", "meterdp", "check", "--config", str(tmp_path / "own.yaml")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(HEADINGS[0]) and "mixture: 300 listed meters" in done.stdout


def test_help_does_not_load_numpy():
    code = (
        "import sys; from meterdp.__main__ import main\ntry: main(['plan', '--help'])\nfinally: print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Expected" not in done.stderr and not {"numpy", "yaml", "pandas"} & set(done.stdout.split())


def test_meters_that_are_named_are_not_those_of_the_simulation(capsys, tmp_path):
    """Whose period is four weeks, in which homes use 30 kWh a day."""
    whole = "(for households) a home uses 1.2 to 360 kWh a day and the period is a year"
    unlike = "the period is shorter than nine months"
    out = said(capsys, 600)
    assert whole in out and unlike not in out and "a meter uses 6 to 24 kWh a day" in out
    out = said(capsys)
    assert whole not in out and unlike in out and "a meter uses 15 to 60 kWh a day" in out
    export = {"first_day": "2025-01-01", "last_day": "2025-03-31"}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({"export": export}))
    out = said(capsys, 600, "--config", tmp_path / "own.yaml", "--what", "households")
    assert whole not in out and unlike in out
