"""Earlier configurations are rewritten: what went is left out, what was renamed keeps its value, comments stay."""

import itertools

import pytest
import yaml

from meterdp.__main__ import main
from meterdp.core.config import REMOVED, load_schema, looked_through
from meterdp.core.provenance import shipped
from meterdp.core.upgrade import RENAMED, upgraded

SCHEMA = load_schema(shipped("workflow/schemas/config.schema.yaml"))
EARLIER = """\
title: Ours   # kept
# Said of mixtures.
mixture:
  classes: 3
  fit: labels  # goes with its setting
  eigenvalue_floor:
    0.01
mechanisms: {figure_epsilon: 2, sdp_solver: own, epsilons: [1, 2], draws: 9, sound: {library: null, rounds: 3}}
forecast:
  compare:
  - season
  - pooled_ridge

  # Of fits.
  starts: 9
release: {forecast_groups: assigned, insist: true}
neighbourhoods:
  nearest: 7
hide_among:
  sizes:
  - 2
  # between entries
  - 5
seed: 4
"""
NOW = """\
title: Ours   # kept
# Said of mixtures.
mixture:
  classes: 3
mechanisms: {epsilons: [1, 2], sound: {prior_mixture: null}}
forecast:
  compare:
  - season

  # Of fits.
release: {allow: [poor, repeat, ids]}
neighbourhoods:
  size: 7
seed: 4
"""


def test_only_settings_that_went_or_were_renamed_change():
    text, said = upgraded(EARLIER)
    assert text == NOW and len(said) == 13
    assert "neighbourhoods.nearest is now neighbourhoods.size" in said
    assert "mixture.fit is left out: the fit is to the K-means labels" in said
    assert looked_through(yaml.safe_load(text), SCHEMA)[1] == []
    assert upgraded(text) == (text, []), "nothing is left to change"


@pytest.mark.parametrize("name", REMOVED)
def test_every_such_setting_is_found_wherever_it_stands(name):
    key, _, choice = name.partition(": ")
    *sections, last = key.split(".")
    for flow, beside in itertools.product([True, False], [{}, {"zz": 1}, {"aa": 1}, {"aa": 1, "zz": 1}]):
        value = {last: choice or {"of": ["a", 1]}} | beside
        for section in reversed(sections):
            value = {section: value}
        text, said = upgraded(yaml.safe_dump(value, default_flow_style=flow))
        after = yaml.safe_load(text)
        for section in sections:
            after = (after or {})[section]
        assert len(said) == 1, (flow, beside)
        kept = {RENAMED[name]: value_of(value, key)} if name in RENAMED else {}
        assert (after or {}) == kept | beside, (flow, beside)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("export:\n  register: 1-1:1.8.0  # ours\n  register_column: OBIS\n", {"keep_rows": {"OBIS": ["1-1:1.8.0"]}}),
        ("export: {register_column: 'a: b', path: x, register: 'no'}", {"path": "x", "keep_rows": {"a: b": ["no"]}}),
        ("export: {register_column: null, path: x, register: null}", {"path": "x"}),
    ],
)
def test_the_register_to_read_becomes_rows_to_keep(text, after):
    text, said = upgraded(text)
    assert yaml.safe_load(text) == {"export": after} and upgraded(text) == (text, [])
    config = {"export": after | {"time_zone": "UTC"}}
    assert len(said) == 2 and looked_through(config, SCHEMA)[1] == []


def value_of(config, key):
    for part in key.split("."):
        config = config[part]
    return config


def test_the_command_rewrites_a_file_and_says_so(tmp_path, capsys):
    path = tmp_path / "my.yaml"
    path.write_text(EARLIER)
    assert main(["config", "upgrade", str(path)]) == 0
    assert path.read_text() == NOW and (tmp_path / "my.yaml.old").read_text() == EARLIER
    said = capsys.readouterr().out
    assert "Changed: mechanisms.sound.library is now mechanisms.sound.prior_mixture.\n" in said
    assert said.endswith(f"{path} is up to date; its old content is in {path}.old.\n")
    assert main(["config", "upgrade", str(path)]) == 0
    assert capsys.readouterr().out == f"{path} is up to date.\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mixture: {clases: 3}\n", "write 'classes' if you meant that key"),
        ("a: [\n", "is not valid YAML"),
    ],
)
def test_what_it_cannot_mend_is_said_and_the_file_stays(tmp_path, capsys, text, says):
    path = tmp_path / "my.yaml"
    path.write_text(text)
    assert main(["config", "upgrade", str(path)]) == 1
    out, err = capsys.readouterr()
    assert says in out + err and path.read_text() == text and [*tmp_path.iterdir()] == [path]


def test_what_a_file_was_is_never_lost(tmp_path, capsys):
    path, old = tmp_path / "my.yaml", tmp_path / "my.yaml.old"
    path.write_text(EARLIER)
    old.write_text("earlier still")
    assert main(["config", "upgrade", str(path)]) == 1
    assert "move it away" in capsys.readouterr().err
    assert path.read_text() == EARLIER and old.read_text() == "earlier still"
