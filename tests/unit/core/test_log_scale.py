"""The scale of energy: there and back on every kind, one family, what it says of itself, and what is refused."""

import math

import mpmath as mp
import numpy as np
import pytest

from meterdp.core.log_scale import KINDS, LOG, OFFSET, PLAIN, SIGNED, LogScale
from meterdp.errors import InputError
from tests.conftest import config_of

SCALES = {
    LOG: LogScale(0.01, 100.0),
    OFFSET: LogScale(-0.05, 100.0, offset_kwh=0.3),
    SIGNED: LogScale(-20.0, 100.0, scale_kwh=0.2),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def by_definition(kind, scale, x):
    """Oracle: mpmath, in the words of the documentation."""
    o, c, x = mp.mpf(scale.offset_kwh), mp.mpf(scale.scale_kwh), mp.mpf(x)
    return {LOG: lambda: mp.log(x), OFFSET: lambda: mp.log(x + o), SIGNED: lambda: mp.log(c) + mp.asinh(x / (2 * c))}[
        kind
    ]()


@every_kind
def test_the_scale_is_its_definition_there_and_back_again(kind):
    scale = SCALES[kind]
    x = np.concatenate([np.linspace(*scale.bounds_kwh, 301), np.clip([-1e-9, 0.0, 1e-9, 0.02], *scale.bounds_kwh)])
    y = scale.log(x)
    assert np.allclose(y, [float(by_definition(kind, scale, v)) for v in x], rtol=1e-13, atol=1e-13)
    assert np.allclose(scale.kwh(y), x, rtol=1e-12, atol=1e-13)
    order = np.argsort(x)
    assert (np.diff(y[order]) >= 0).all() and scale.kind == kind
    assert (
        np.isnan(scale.clipped_log(np.array([np.nan]))).all()
        and np.isnan(scale.clipped_kwh(np.array([np.nan]))).all()
    )


@every_kind
def test_what_lies_outside_the_bounds_becomes_a_bound(kind):
    scale = SCALES[kind]
    low, high = scale.bounds_log_kwh
    assert scale.clipped_log(np.array([-1e6, 1e6])).tolist() == [low, high]
    assert np.allclose(scale.clipped_kwh(np.array([low - 5, high + 5])), scale.bounds_kwh)


@every_kind
def test_all_kinds_are_one_family_that_follows_the_logarithm_where_energy_is_large(kind):
    scale = SCALES[kind]
    y = np.linspace(*scale.bounds_log_kwh, 50)
    o, c = scale.offset_kwh, scale.scale_kwh
    assert np.allclose(scale.kwh(y), np.exp(y) - o - c**2 * np.exp(-y), rtol=1e-12, atol=1e-13)
    assert scale.log(1e4) == pytest.approx(math.log(1e4), abs=1e-4)


@every_kind
def test_energy_of_a_shorter_interval_moves_the_scale_by_the_logarithm_of_its_length(kind):
    hourly, quarter = SCALES[kind], SCALES[kind].over(15)
    x = np.linspace(*hourly.bounds_kwh, 40)
    assert np.allclose(quarter.log(x / 4), hourly.log(x) - math.log(4), rtol=1e-12, atol=1e-12)
    assert np.allclose(quarter.bounds_log_kwh, np.array(hourly.bounds_log_kwh) - math.log(4))


@every_kind
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_powers_of_energy_are_sums_of_exponentials(kind, order):
    scale = SCALES[kind]
    y = np.linspace(-2.0, 2.0, 30)
    total = sum(coefficient * np.exp(power * y) for power, coefficient in scale.powers(order).items())
    assert np.allclose(total, scale.kwh(y) ** order, rtol=1e-9, atol=1e-12)


@every_kind
def test_a_recipient_gets_there_and_back_by_what_is_stated(kind):
    scale = SCALES[kind].over(30)
    said = scale.stated
    names = {"ln": math.log, "exp": math.exp, "asinh": math.asinh, "sinh": math.sinh}
    there = said["log_kwh"].removeprefix("y = ").partition(" of the energy")[0]
    back = said["kwh"].removeprefix("x = ").partition(",")[0]
    for x in (0.02, 0.3, 7.0):
        y = eval(there, {"__builtins__": {}}, {**names, "x": x})
        assert y == pytest.approx(float(scale.log(x)), rel=1e-12)
        assert eval(back, {"__builtins__": {}}, {**names, "y": y}) == pytest.approx(x, rel=1e-12)
    assert said["clipped_to_kwh"] == list(scale.bounds_kwh) and said["kind"] == kind


def test_public_words_say_the_kind_and_its_own_constant_only_and_nothing_of_a_plain_log():
    config = {"kind": OFFSET, "offset_kwh_per_hour": 0.3, "scale_kwh_per_hour": 0.2}
    bounds = {"clip_kwh_per_hour": [0.01, 100]}
    assert LogScale.from_config(bounds | {"log_scale": config | {"kind": LOG}}).words == {}
    assert LogScale.from_config(bounds).words == {}, "a recipe from before there were other scales"
    for kind, key in ((OFFSET, "offset_kwh_per_hour"), (SIGNED, "scale_kwh_per_hour")):
        scale = LogScale.from_config(bounds | {"log_scale": config | {"kind": kind}})
        assert scale.words == {"kind": kind, key: config[key]}
        assert PLAIN.of_kind(scale.words).words == scale.words


@pytest.mark.parametrize(
    ("profiles", "field", "words"),
    [
        ({"clip_kwh_per_hour": [0, 100]}, "clip_kwh_per_hour", "above zero"),
        ({"clip_kwh_per_hour": [-1, 100]}, "clip_kwh_per_hour", "above zero"),
        (
            {"clip_kwh_per_hour": [-0.1, 100], "log_scale": {"kind": OFFSET}},
            "clip_kwh_per_hour",
            "minus the offset of 0.1",
        ),
        (
            {"log_scale": {"kind": OFFSET, "offset_kwh_per_hour": 0}},
            "log_scale.offset_kwh_per_hour",
            "greater than 0",
        ),
        ({"log_scale": {"kind": SIGNED, "scale_kwh_per_hour": -1}}, "log_scale.scale_kwh_per_hour", "greater than 0"),
        ({"log_scale": {"kind": "root"}}, "log_scale.kind", "not one of log, offset, signed"),
        ({"log_scale": {"offset": 1}}, "log_scale.offset", "not a known key"),
        ({"default_kwh_per_hour": -1.0}, "default_kwh_per_hour", "outside profiles.clip_kwh_per_hour"),
        (
            {"clip_kwh_per_hour": [-50, 100], "log_scale": {"kind": OFFSET, "offset_kwh_per_hour": 60}},
            "level_log_kwh",
            "reaches from 2.3 to 5.08 log kWh",
        ),
    ],
)
def test_a_scale_that_makes_no_sense_is_refused_in_one_sentence(profiles, field, words):
    with pytest.raises(InputError) as refused:
        config_of({"profiles": profiles})
    assert field in str(refused.value) and words in str(refused.value)


@pytest.mark.parametrize(
    "profiles",
    [
        {},
        {"clip_kwh_per_hour": [0, 100], "log_scale": {"kind": OFFSET}},
        {"clip_kwh_per_hour": [-0.09, 100], "log_scale": {"kind": OFFSET}},
        {"clip_kwh_per_hour": [-30, 100], "log_scale": {"kind": SIGNED}, "default_kwh_per_hour": 0},
    ],
)
def test_bounds_that_the_scale_holds_are_accepted(profiles):
    scale = LogScale.from_config(config_of({"profiles": profiles})["profiles"])
    assert np.isfinite(scale.bounds_log_kwh).all()
