"""Public rules for readings and households."""

import dataclasses
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from meterdp.core.config import complete, load_schema
from meterdp.errors import InputError
from meterdp.profiles.grid import Calendar, Shard
from meterdp.profiles.quality import (
    HOUSEHOLD_RULES,
    KINDS,
    QualityRules,
    in_long_runs,
    judge,
    refuse_by_policy,
    summarise,
)
from tests.conftest import ROOT

CONFIG = complete(
    {"quality": {"plausible_power_kw": [-10, 80]}}, load_schema(ROOT / "workflow/schemas/config.schema.yaml")
)
RULES = QualityRules.from_config(CONFIG["quality"])
SLOTS = 96 * 10


@pytest.fixture
def readings(rng=None):
    generator = np.random.default_rng(3)
    return generator.gamma(2.0, 0.1, size=(8, SLOTS)) + 0.001


def shard(energy):
    calendar = Calendar(datetime(2025, 1, 6, tzinfo=UTC), energy.shape[1], 15, "UTC")
    return Shard(np.arange(len(energy), dtype=np.int32), energy, calendar)


def test_each_rule_finds_its_household(readings):
    readings[1, 100:120] = 500.0  # a unit slip: 2 % of the readings
    readings[2, 100:400] = 0.25  # stuck for 75 hours
    readings[3, :200] = np.nan
    readings[4] = 0.0
    readings[5, : int(0.95 * SLOTS)] = 0.0
    readings[6, 40] = -1.0
    quality, usable = judge(shard(readings), RULES)
    assert quality["reason"].tolist() == [
        "kept", "implausible_readings", "stuck_meter", "too_few_readings", "all_zero", "mostly_zero", "kept", "kept",
    ]  # fmt: skip
    assert quality["implausible_readings"].tolist() == [0, 20, 0, 0, 0, 0, 0, 0]
    assert quality.loc[2, "stuck_readings"] == 300 and quality.loc[6, "negative_readings"] == 1
    assert np.isnan(usable[1, 100:120]).all() and np.isnan(usable[2, 100:400]).all()
    assert np.array_equal(usable[0], readings[0])


def test_rules_look_at_one_household_at_a_time(readings):
    together, _ = judge(shard(readings), RULES)
    readings[1:] = 1e6
    again, _ = judge(shard(readings), RULES)
    assert together.iloc[0].to_dict() == again.iloc[0].to_dict()


def test_a_share_is_one_of_all_slots_whoever_else_has_readings_in_them(readings):
    """At every threshold in turn, so that no denominator but the public number of slots will do."""
    readings[0, :200] = np.nan
    readings[0, 300:310] = 500.0
    for limit in np.linspace(0.005, 0.4, 80):
        rules = dataclasses.replace(RULES, max_missing_share=limit, max_implausible_share=limit / 20)
        company, alone, silent = readings.copy(), readings[:1].copy(), readings.copy()
        silent[1:] = np.nan
        found = [judge(shard(energy), rules)[0].iloc[0].to_dict() for energy in (company, alone, silent)]
        assert found[0] == found[1] == found[2], limit
    assert judge(shard(readings), dataclasses.replace(RULES, max_missing_share=0.22))[0]["reason"][0] != "kept"


def test_long_runs_ignore_zeros_and_gaps_and_respect_the_length():
    row = np.array([[1.0, 1.0, 1.0, 0, 0, 0, 0, np.nan, np.nan, np.nan, np.nan, 2.0, 2.0, 2.0, 2.0]])
    assert in_long_runs(row, 3)[0].tolist() == [False] * 11 + [True] * 4
    assert not in_long_runs(row, 4).any()


def test_summary_counts_every_household_once_and_all_reasons_are_listed(readings):
    readings[4] = 0.0
    quality, _ = judge(shard(readings), RULES)
    meters = pd.DataFrame({"duplicate_rows": [3, 4], "conflicting_rows": [0, 1]})
    summary = summarise(quality, meters)
    households = summary[summary["scope"] == "households"]
    assert summary.loc[summary["scope"] == "rows", "item_count"].tolist() == [7, 1]
    assert households["item_count"].sum() == len(readings)
    assert set(households["reason"]) == set(HOUSEHOLD_RULES)
    expected = summary[(summary["scope"] == "readings") & (summary["reason"] == "expected_readings")]
    assert expected["item_count"].item() == readings.size


def test_a_household_without_any_reading_is_left_out():
    quality, _ = judge(shard(np.full((1, SLOTS), np.nan)), RULES)
    assert quality["reason"].item() == "too_few_readings"


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_counts_households_and_says_what_to_do(readings, kind):
    quality, _ = judge(shard(readings), RULES)
    refusing = dict(RULES.policies) | {kind: "refuse"}
    refuse_by_policy(quality, refusing)  # nothing of the kind: no refusal
    quality.loc[[2, 5], KINDS[kind]] = 3
    refuse_by_policy(quality, RULES.policies)
    with pytest.raises(InputError, match=rf"quality.policies.{kind}': .* 2 of 8 households have some; .*quarantine"):
        refuse_by_policy(quality, refusing)


def test_a_list_of_meters_goes_with_no_refusal():
    schema = load_schema(ROOT / "workflow/schemas/config.schema.yaml")
    export = {"path": "readings.csv", "time_zone": "Europe/Zurich"}
    refusing = {kind: {"quality": {"policies": {kind: "refuse"}}} for kind in KINDS}
    refusing["rows"] = {"export": {"conflicting_rows": "refuse"}}
    for settings in refusing.values():
        own = settings.get("export", {})
        complete({**settings, "export": export | own}, schema)
        for more in ({"meters": "list.csv"}, {"path": None, "time_zone": None}):
            with pytest.raises(InputError, match="is 'refuse', but with a public list of meters"):
                complete({**settings, "export": export | own | more}, schema)


@pytest.mark.parametrize("policy", ["repair", "quarantine"])
def test_a_reading_below_zero_that_the_scale_holds_is_no_fault(readings, policy):
    """Feed-in of two hours down to -2 kWh and one reading of -2.5 kWh, with a public lower bound of -2.2 kWh."""
    readings[0, 40:48] = np.linspace(-0.1, -2.0, 8)
    readings[0, 60] = -2.5
    readings[1, 100] = 0.0
    rules = dataclasses.replace(RULES, policies={**RULES.policies, "negative": policy})
    plain, _ = judge(shard(readings), rules)
    quality, usable = judge(shard(readings), rules, -2.2)
    assert plain.loc[0, "negative_readings"] == 9 and quality.loc[0, "negative_readings"] == 1
    assert np.array_equal(usable[0, 40:48], readings[0, 40:48]) and usable[1, 100] == 0
    assert usable[0, 60] == -2.5 if policy == "repair" else np.isnan(usable[0, 60])
    assert quality["kept"].all() and np.array_equal(usable[2:], readings[2:])
