"""Canaries through the whole workflow: their records are their own, and nothing is left outside the folder."""

import dataclasses

import numpy as np
import pytest

from meterdp.audit import SETTINGS, canaries, one_run
from meterdp.core.config import complete, load_schema
from meterdp.errors import InputError
from meterdp.simulate.parameters import SimulationParameters
from tests.conftest import ROOT

COUNT = 40


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    config = complete({}, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))
    parameters = SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml")
    # What the workflow hands over, and nothing else.
    audited = {key: config[key] for key in SETTINGS}
    return canaries.Fleet.simulated(tmp_path_factory.mktemp("audit"), audited, parameters, COUNT)


@pytest.fixture(scope="module")
def planted(fleet):
    return canaries.plant(fleet, np.arange(COUNT) % 4 < 2)


def test_a_canary_that_is_in_has_the_record_of_its_rows_and_the_others_the_default(planted):
    kwh = np.exp(planted.log_kwh[:COUNT])
    rules = {canaries.LOW_KWH, canaries.HIGH_KWH}
    assert set(kwh[planted.coins].round(9).ravel()) == {round(value, 9) for value in rules}
    assert np.allclose(kwh[planted.coins], canaries.canary_kwh_per_hour(COUNT)[planted.coins])
    assert np.allclose(kwh[~planted.coins], 0.5)
    assert np.array_equal(planted.log_kwh[COUNT:], planted.all_in[COUNT:]), "nobody else is moved"


def test_a_record_that_follows_other_households_is_refused(fleet, monkeypatch):
    records = fleet.records

    def leaking(self, coins):
        return records(coins) + 1e-9 * coins.sum()

    monkeypatch.setattr(canaries.Fleet, "records", leaking)
    with pytest.raises(ArithmeticError, match="changed with the rows of another"):
        canaries.plant(fleet, np.arange(COUNT) % 2 == 0)


def test_rules_that_leave_canaries_no_profile_are_refused(fleet):
    strict = fleet.config | {"profiles": fleet.config["profiles"] | {"clip_kwh_per_hour": [5.0, 100.0]}}
    with pytest.raises(InputError, match="no valid profile"):
        canaries.plant(dataclasses.replace(fleet, config=strict), np.arange(COUNT) % 2 == 0)


def test_a_release_goes_through_a_ledger_of_the_audits_own(fleet, planted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    score = canaries.released_scores(fleet, planted, 1.0)
    assert score.shape == (COUNT,) and np.isfinite(score).all()
    assert (fleet.folder / "ledger-1.sqlite").is_file() and list(tmp_path.iterdir()) == []


def test_without_noise_worth_the_name_the_coins_are_read_and_with_it_they_are_not(fleet, planted):
    """Chance of 35 of 40 right by guessing: 1e-6. At epsilon 0.1 so many right answers have a chance below 1e-5."""
    broken = canaries.transcript_scores(fleet, planted, 0.1, std_factor=1e-4)
    assert one_run.right_guesses(broken, planted.coins, COUNT) >= 35
    sound = canaries.transcript_scores(fleet, planted, 0.1)
    assert one_run.right_guesses(sound, planted.coins, COUNT) < 35
