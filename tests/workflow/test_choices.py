"""Every choice the configuration offers can be planned, and comes from the registry that knows it."""

import importlib
import typing

import pytest
import yaml

from meterdp.core.choices import names_in
from meterdp.core.config import load_schema
from tests.workflow.conftest import ROOT, Planner

SCHEMA = ROOT / "workflow/schemas/config.schema.yaml"


def choices(section, path=()):
    """Every key with enumerated values: (path, values, whether the value is a list of them)."""
    for key, sub in section["properties"].items():
        if "properties" in sub:
            yield from choices(sub, (*path, key))
        elif "enum" in sub:
            yield (*path, key), sub["enum"], False
        elif "enum" in sub.get("items", {}):
            yield (*path, key), sub["items"]["enum"], True


def put(config, path, value):
    for key in path[:-1]:
        config = config.setdefault(key, {})
    config[path[-1]] = value


def test_every_value_of_every_enumerated_key_can_be_planned(tmp_path):
    keys = list(choices(load_schema(SCHEMA)))
    for name in ("export.csv", "pairs.csv"):
        (tmp_path / name).touch()
    configs = []
    for number in range(max(len(values) for _, values, _ in keys)):
        config = {
            "shards": 1,
            "trials": 1,
            "export": {"path": "export.csv", "time_zone": "UTC", "circuit_column": "feeder"},
            "neighbourhoods": {"file": "pairs.csv"},
        }
        for path, values, is_list in keys:
            put(config, path, values if is_list else values[number % len(values)])
        days = config["export"]["weekend"]
        config["export"]["weekend"] = [days[number % 7], days[(number + 1) % 7]]
        if config["profiles"]["log_scale"]["kind"] == "signed":
            config["profiles"]["clip_kwh_per_hour"] = [-15, 20]  # of no use without feed-in
        elif config["export"]["flow"] == "net":
            config["export"]["flow"] = "consumption"  # there is no room for feed-in
        configs.append(config)
    plans = [Planner(tmp_path).plan(config) for config in configs]
    assert all(plan.count("vary_mixture") == 1 for plan in plans), "one job runs all mechanisms"


def markers(schema):
    if isinstance(schema, dict):
        if "enum_of" in schema:
            yield schema["enum_of"]
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from markers(part)


@pytest.mark.parametrize("place", sorted(set(markers(yaml.safe_load(SCHEMA.read_text())))))
def test_names_read_from_a_registry_are_those_it_has(place):
    """Oracle: the registry, imported."""
    module, variable = f"meterdp.{place}".rsplit(".", 1)
    registry = getattr(importlib.import_module(module), variable)
    assert names_in(place) == list(typing.get_args(registry) or registry)


def test_what_is_not_a_written_out_registry_is_refused():
    for place in ("core.choices.ROOT", "core.choices.nothing"):
        with pytest.raises(ValueError, match="is not a registry whose names are written out"):
            names_in(place)
