"""The plan of a release is said, or the release refused, before any rule that charges, whatever is asked for."""

import pytest

from meterdp.__main__ import main
from meterdp.errors import REFUSAL
from meterdp.publish.kinds import KINDS
from meterdp.release.plan import HEADINGS

FEW = {"households": 98, "circuits": 2, "days": 60}


@pytest.mark.parametrize("what", list(KINDS))
def test_no_folder_of_a_useless_release_can_be_asked_for(runner, what):
    config = {"simulate": FEW, "release": {"what": list(KINDS), "ledger": "ledger.sqlite"}}
    target = f"results/private/release/{what}.published"
    done = runner.run(config, "--dry-run", "--", target)
    assert done.returncode != 0
    assert HEADINGS[0] in done.stdout and done.stdout.index(HEADINGS[0]) < done.stdout.index(REFUSAL)
    assert "field 'release.epsilon': is too small for 98 listed meters" in done.stdout


def test_the_plan_is_said_once_and_first(runner):
    config = {"simulate": FEW, "release": {"ledger": "ledger.sqlite", "allow": ["poor"]}}
    done = runner.run(config, "--dry-run", "--", "release")
    assert done.returncode == 0 and done.stdout.count(HEADINGS[0]) == 1
    assert done.stdout.index(HEADINGS[0]) < done.stdout.index("release_mixture")


def test_what_is_charged_is_said_as_the_check_of_a_release_says_it(runner, capsys, monkeypatch):
    """Without `make`, and in a dry run, too."""
    config = {"simulate": FEW, "release": {"ledger": "ledger.sqlite", "allow": ["poor"]}}
    said = runner.run(config, "--dry-run", "--", "release").stdout
    monkeypatch.chdir(runner.folder)
    assert main(["release", "check", "--config", "config.yaml"]) == 0
    checked = capsys.readouterr().out
    assert "charged epsilon 1 at delta 1e-05" in checked and checked in said


def test_what_is_missing_is_refused_as_the_check_of_a_release_refuses_it(runner, capsys, monkeypatch):
    """All of it at once, with sections to paste."""
    (runner.folder / "homes.csv").write_text("meter_id,interval_start,kwh\n")
    config = {"export": {"path": "homes.csv", "time_zone": "UTC"}, "release": {"ledger": "ledger.sqlite"}}
    said = runner.run(config, "--dry-run", "--", "release").stdout
    monkeypatch.chdir(runner.folder)
    assert main(["release", "check", "--config", "config.yaml"]) == 1
    refused = capsys.readouterr().out
    assert refused.count(REFUSAL) == 5 and "which add what was missing" in refused and refused in said


def test_before_a_release_stands_what_of_the_export_is_to_be_checked(planted_release):
    """Most of its listed meters have no readings."""
    _, charge, rest = planted_release.printed.rpartition("This release covers 60 listed meters")
    warned, stop, running = (
        rest.find("To be checked: of 60 listed meters, 48"),
        rest.find("STOP NOW"),
        rest.find("steps; running"),
    )
    assert charge and 0 < warned < stop < running
