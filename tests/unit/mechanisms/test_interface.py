"""Settings are checked when made, records must fit together, the registry names what there is."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from meterdp.core.config import load_schema
from meterdp.errors import InputError
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings
from meterdp.mechanisms.reference.label_flip import LabelledRecords
from meterdp.mechanisms.registry import MECHANISMS, mechanism
from meterdp.mechanisms.tables import VARIANT
from meterdp.mixture.gmm import fit_labels
from meterdp.report import style
from tests.unit.mechanisms.made_up import public, records

GOOD = PublicSettings(1.0, 1e-5, 6, 12, 1409, -5.0, 3.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon", 0.0),
        ("epsilon", np.nan),
        ("epsilon", np.inf),
        ("delta", 0.0),
        ("delta", 1.0),
        ("delta", np.nan),
        ("classes", 0),
        ("dimension", 0),
        ("records", 5),
        ("low_log_kwh", 3.0),
        ("low_log_kwh", -np.inf),
        ("eigenvalue_floor", 0.0),
    ],
)
def test_settings_outside_their_range_are_one_sentence_naming_the_field(field, value):
    with pytest.raises(InputError, match=f"field '{field}'"):
        dataclasses.replace(GOOD, **{field: value})


def test_records_must_belong_together_and_be_finite():
    x = np.random.default_rng(0).normal(size=(10, 2))
    fit = fit_labels(x, np.ones(10, dtype=int), 1e-3)
    with pytest.raises(ValueError, match="belong together"):
        LabelledRecords(x[1:], fit)
    with pytest.raises(ValueError, match="matrix"):
        PrivateRecords(x[0])
    x[0, 0] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        PrivateRecords(x)


def test_registry_holds_every_mechanism_under_its_name(repository):
    for name, cls in MECHANISMS.items():
        calibrated = mechanism(name).calibrate(GOOD)
        assert calibrated.name == name
        guarantee = calibrated.guarantee
        assert guarantee.family == cls.family
        assert (repository / guarantee.proof).is_file(), "a mechanism has a proof note"
        folder, file = cls.__module__.split(".")[-2:]
        test_file = repository / f"tests/unit/mechanisms/{folder}/test_{file}.py"
        assert test_file.is_file(), "a mechanism has a test file"
    assert {c.name for c in VARIANT.columns} >= {"mechanism", "family", "epsilon", "delta"}


def test_configuration_offers_the_mechanisms_and_each_looks_different(repository):
    schema = load_schema(repository / "workflow/schemas/config.schema.yaml")
    offered = schema["properties"]["mechanisms"]["properties"]["variants"]["items"]["enum"]
    assert set(offered) <= set(MECHANISMS)
    assert {name for name, kind in MECHANISMS.items() if kind.family != "sound"} <= set(offered)
    assert len({style.look(name).colour for name in offered}) == len(offered)
    looks = [style.look(name) for name in MECHANISMS]
    assert len({look.label for look in looks}) == len({look.marker for look in looks}) == len(looks)


def test_the_configuration_says_which_mechanisms_make_fewer_draws(repository):
    schema = load_schema(repository / "workflow/schemas/config.schema.yaml")
    said = schema["properties"]["mechanisms"]["properties"]["variants"]["description"]
    limits = {name: kind.most_draws for name, kind in MECHANISMS.items() if kind.most_draws is not None}
    assert re.findall(r"`(\w+)` makes (\d+) at most", said) == [(name, str(most)) for name, most in limits.items()]


def test_unknown_mechanisms_are_refused_with_the_list_of_known_ones():
    with pytest.raises(InputError, match=f"choose from {', '.join(MECHANISMS)}"):
        mechanism("magic")


@pytest.mark.parametrize("name", MECHANISMS)
def test_calibration_sees_no_record(name):
    settings = public(records(0, n=100, d=2, k=2))
    assert MECHANISMS[name].calibrate(settings) == MECHANISMS[name].calibrate(settings)
    assert dataclasses.is_dataclass(MECHANISMS[name])
    with pytest.raises(dataclasses.FrozenInstanceError):
        MECHANISMS[name].calibrate(settings).public = None
