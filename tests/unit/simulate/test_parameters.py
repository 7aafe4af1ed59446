"""Parameters of the simulator: the shipped file loads, every mistake is one sentence that names the key."""

from __future__ import annotations

import copy
import math

import pytest
import yaml

from meterdp.errors import InputError
from meterdp.simulate.parameters import SimulationParameters

TABLE_I = {
    "gas_heated": 687,
    "all_electric": 428,
    "solar": 102,
    "small_commercial": 147,
    "agricultural": 14,
    "large_commercial": 31,
}
MODE = ("household_types", 0, "deviation_modes", 0)


@pytest.fixture(scope="module")
def raw(repository) -> dict:
    return yaml.safe_load((repository / "resources" / "simulator.yaml").read_text())


def load_changed(raw, tmp_path, keys, value):
    """Load the shipped parameters with the entry at ``keys`` replaced, or removed if the value is ``KeyError``."""
    changed = copy.deepcopy(raw)
    inner = changed
    for key in keys[:-1]:
        inner = inner[key]
    if value is KeyError:
        del inner[keys[-1]]
    else:
        inner[keys[-1]] = value
    path = tmp_path / "changed.yaml"
    path.write_text(yaml.safe_dump(changed))
    return SimulationParameters.from_yaml(path)


def test_the_shipped_parameters_are_those_of_table_i(parameters):
    assert {kind.name: kind.households for kind in parameters.household_types} == TABLE_I
    assert parameters.households == 1409
    assert parameters.circuits == 12
    assert math.isclose(sum(component.share for component in parameters.noise), 1)


def test_every_parameter_of_the_shipped_file_is_described(repository):
    """Top-level keys, mess and types in their line or the one above, keys of a type in the list above them."""
    lines = (repository / "resources" / "simulator.yaml").read_text().splitlines()
    raw = yaml.safe_load("\n".join(lines))
    types = [f"- name: {kind['name']}" for kind in raw["household_types"]]
    for name in (*(f"{key}:" for key in (*raw, *raw["data_quality"])), *types):
        i = next(i for i, line in enumerate(lines) if line.strip().startswith(name))
        assert "#" in lines[i] or lines[i - 1].startswith("#"), name
    for key in raw["household_types"][0].keys() - {"name"}:
        assert any(line.startswith(f"#   {key} ") for line in lines), key


@pytest.mark.parametrize(
    ("keys", "value", "field"),
    [
        (("circuits",), 0, "circuits"),
        (("days",), 2.5, "days"),
        (("days",), True, "days"),
        (("start_date",), "2025-13-01", "start_date"),
        (("start_date",), 20251020, "start_date"),
        (("time_zone",), "America/Nowhere", "time_zone"),
        (("interval_minutes",), 7, "interval_minutes"),
        (("weather_persistence",), 1.0, "weather_persistence"),
        (("weather_persistence",), float("nan"), "weather_persistence"),
        (("noise",), [], "noise"),
        (("noise", 0, "share"), 0.9, "noise"),
        (("noise", 1, "decay_h"), None, "noise"),
        (("noise", 2, "period_h"), [0.1, 0.2], "noise.2.period_h.0"),
        (("noise", 2, "decay_h"), [2.0, 1.0], "noise.2.decay_h"),
        (("household_types", 0, "households"), 0, "household_types.0.households"),
        (("household_types", 0, "weekday_log_kwh"), [0.0] * 23, "household_types.0.weekday_log_kwh"),
        (("household_types", 0, "weekday_log_kwh"), ["x"] * 24, "household_types.0.weekday_log_kwh.0"),
        (("household_types", 0, "level_spread_log"), -0.1, "household_types.0.level_spread_log"),
        ((*MODE, "bumps"), {25: 1.0}, "household_types.0.deviation_modes.0.bumps.25"),
        ((*MODE, "bumps"), 3, "household_types.0.deviation_modes.0.bumps"),
        (("household_types", 1, "name"), "gas_heated", "household_types"),
        (("household_types", 1, "name"), "", "household_types.1.name"),
        (("household_types", 1, "levels"), 1, "household_types.1.levels"),
        (("household_types", 1, "base_load_kw"), KeyError, "household_types.1.base_load_kw"),
        (("household_types", 0, "winter", "bumps"), {}, "household_types.0.winter.bumps"),
        (("household_types", 0, "appliances", 0, "automatic"), "no", "household_types.0.appliances.0.automatic"),
        (("household_types", 0, "moves_per_year"), -1, "household_types.0.moves_per_year"),
        (("seasons", "length_days"), 200, "seasons.length_days"),
        (("vacations", "days"), [0, 3], "vacations.days.0"),
        (("tenancies", "at_least_days"), 0, "tenancies.at_least_days"),
        (("data_quality", "missing_rows", "one_in"), -1, "data_quality.missing_rows.one_in"),
        (("data_quality", "missing_rows", "row_share"), [0, 1.5], "data_quality.missing_rows.row_share.1"),
        (("data_quality", "missing_words", "words"), ['a"b'], "data_quality.missing_words.words.0"),
        (("data_quality", "missing_words", "words"), [], "data_quality.missing_words.words"),
        (("data_quality", "feed_in", "types"), ["Solar"], "data_quality.feed_in.types"),
        (("data_quality", "feed_in", "types"), [3], "data_quality.feed_in.types.0"),
        (("data_quality", "outages", 0, "rows"), "gone", "data_quality.outages.0.rows"),
        (("data_quality", "stuck_meter"), 3, "data_quality.stuck_meter"),
        (("data_quality", "stuck"), {}, "data_quality.stuck"),
    ],
)  # fmt: skip
def test_a_bad_value_is_refused_by_its_key(raw, tmp_path, keys, value, field):
    with pytest.raises(InputError) as caught:
        load_changed(raw, tmp_path, keys, value)
    assert caught.value.field == field
    assert str(caught.value).count("\n") == 0 and str(caught.value).endswith(".")


def test_a_misspelt_key_gets_the_right_one_as_hint(raw, tmp_path):
    with pytest.raises(InputError, match="write 'circuits' if you meant that key"):
        load_changed(raw, tmp_path, ("circiuts",), 3)


@pytest.mark.parametrize("content", [None, "a: [", "- 1\n- 2\n", ""])
def test_a_file_that_is_no_parameter_file_is_refused(tmp_path, content):
    path = tmp_path / "parameters.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=r"parameters\.yaml"):
        SimulationParameters.from_yaml(path)


def test_what_may_be_empty_may_be_empty(raw, tmp_path):
    without = load_changed(raw, tmp_path, ("data_quality", "outages"), [])
    assert without.data_quality.outages == ()
