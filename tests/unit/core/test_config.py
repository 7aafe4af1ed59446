"""The configuration schema: the one source of keys, defaults and refusals."""

import runpy

import pytest
import yaml

from meterdp.cli import configurations
from meterdp.core.config import (
    as_markdown,
    as_yaml,
    complete,
    load_schema,
    read_files,
    refuse_templates,
    shown_epsilon,
)
from meterdp.errors import InputError


@pytest.fixture(scope="module")
def schema(repository):
    return load_schema(repository / "workflow/schemas/config.schema.yaml")


def leaves(section, path=()):
    for key, sub in section["properties"].items():
        yield (*path, key), sub
        if "properties" in sub:
            yield from leaves(sub, (*path, key))


def test_every_key_is_described_and_closed(schema):
    for path, sub in leaves(schema):
        assert sub["description"].rstrip().endswith("."), path
        assert "default" in sub or sub["additionalProperties"] is False, path


def test_the_examples_are_configurations_once_they_name_an_export(schema, repository):
    examples = [
        path for folder in ("config/examples", "benchmarks") for path in (repository / folder).rglob("*.yaml")
    ]
    assert len({example.parent for example in examples}) == 2
    for example in examples:
        words = yaml.safe_load(example.read_text())
        complete({**words, "export": {**words["export"], "path": "export.csv"}}, schema, example.name)


def test_default_file_and_readme_are_generated_from_the_schema(schema, repository):
    assert (repository / "config/config.yaml").read_text() == as_yaml(schema)
    assert as_markdown(schema) in (repository / "config/README.md").read_text()


def test_defaults_fill_an_empty_configuration(schema):
    assert complete({}, schema) == yaml.safe_load(as_yaml(schema))


def test_partial_sections_are_filled(schema):
    filled = complete({"mixture": {"classes": 3}}, schema)
    assert filled["mixture"]["classes"] == 3 and filled["simulate"]["days"] == 28


def test_dates_and_whole_numbers_need_no_quotes_where_a_text_is_meant(schema, tmp_path):
    """In whichever way the file is read; what else a text is not stays refused."""
    written = (
        "export:\n  first_day: {0}2025-12-31{0}\n  keep_rows: {{CHANNEL: [{0}1{0}]}}\n  missing_words: [{0}-999{0}]\n"
    )
    written += "profiles: {{vector: half_day, date: {0}2025-12-31{0}}}\nrelease: {{budget_period: {0}2025{0}}}\n"
    (tmp_path / "bare.yaml").write_text(written.format(""))
    (tmp_path / "quoted.yaml").write_text(written.format('"'))
    bare, quoted = configurations([tmp_path / "bare.yaml"])[0], configurations([tmp_path / "quoted.yaml"])[0]
    assert bare == quoted and complete(read_files([str(tmp_path / "bare.yaml")]), schema) == complete(quoted, schema)
    for value, words in ((True, "not True"), (1.5, "not 1.5")):
        with pytest.raises(InputError, match=words):
            complete({"export": {"first_day": value}}, schema)


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"epsilon": 1}, r"^my.yaml, field 'epsilon': is not a known key; see config/README.md"),
        ({"mechanism": {"delta": 0.1}}, r"field 'mechanism': is not a known key; write 'mechanisms'"),
        ({"export": {"pth": "x"}}, r"field 'export.pth': is not a known key; write 'path'"),
        (
            {"mixture": {"clases": 3}},
            r"field 'mixture.clases': is not a known key; write 'classes' if you meant that key\.",
        ),
        (
            {"mechanisms": {"epsilons": [1, 0]}},
            r"'mechanisms.epsilons\[1\]': is 0 and must be greater than 0",
        ),
        (
            {"mechanisms": {"epsilons": [-2, 2]}},
            r"'mechanisms.epsilons\[0\]': is -2 and must be greater than 0; correct it",
        ),
        (
            {"mechanisms": {"delta": 1}},
            r"is 1 and must be less than 1; correct it, the default is 1.0e-05 \(privacy parameter delta\)\.$",
        ),
        ({"mechanisms": {"delta": 1.5}}, r"must be less than 1"),
        (
            {"neighbourhoods": {"by": "file"}},
            r"field 'neighbourhoods.file': is missing, but neighbourhoods.by is 'file'; give",
        ),
        ({"mechanisms": {"figure_epsilon": 3}}, r"'mechanisms.figure_epsilon': is no longer a setting; leave it out"),
        (
            {"class_noise": {"file_design": "joint", "designs": ["none"]}},
            r"'class_noise.designs': lacks joint, .*; add it, or leave",
        ),
        (
            {"class_noise": {"designs": ["none", "white"]}},
            r"'class_noise.designs': lacks published, .*add it, or set class_noise.file_design to white\.$",
        ),
        ({"export": {"unit": "BTU"}}, r"'export.unit': is 'BTU', which is not one of kWh, Wh"),
        (
            {"export": {"time_zone": "Mars/Base"}},
            r"'export.time_zone': is 'Mars/Base', which is not a known time zone",
        ),
        ({"export": "file.csv"}, r"'export': must be a section with keys"),
        ({"profiles": {"clip_kwh_per_hour": [2, 1]}}, r"bounds in the wrong order; give the lower bound first"),
        ({"export": {"flow": "net"}}, r"flow': is net, but profiles.clip_kwh_per_hour .*; set profiles.log_scale to"),
        ({"profiles": {"default_kwh_per_hour": 1000}}, r"lies outside profiles.clip_kwh_per_hour"),
        ({"profiles": {"date": "2025-02-30"}}, r"is '2025-02-30', which is not a date"),
        (
            {"export": {"last_day": "2025-09-31"}},
            r"'export.last_day': is '2025-09-31', which is not a date as in 2025",
        ),
        ({"export": {"first_day": "auto"}}, r"'export.first_day': is 'auto', which is not a date as in 2025"),
        ({"profiles": {"date": "20 October"}}, r"is '20 October', which is not a date as in 2025-10-20; correct it"),
        ({"results_dir": ""}, r"is '' and must have at least 1 character; correct it, the default is results"),
        ({"shards": 0}, r"'shards': is 0 and must be at least 1"),
        ({"shards": "many"}, r"'shards': must be of type integer, not 'many'"),
        (
            {"class_noise": {"file_rho": 9}},
            r"'class_noise.file_rho': is no longer a setting; leave it out: the files",
        ),
        ({"feeder_study": {"days": 9}}, r"'feeder_study': is no longer a setting; leave it out: a study measures"),
        (
            {"release": {"forecast_groups": "assigned"}},
            r"'release.forecast_groups': is 'assigned', .*; leave it out: a group of everybody",
        ),
        (
            {"mechanisms": {"sound": {"library": None}}},
            r"'mechanisms.sound.library': is no longer a setting; leave it out: mechanisms.sound.prior_mixture takes",
        ),
        (
            {"mechanisms": {"sound": {"marginal_share": 0}}},
            r"'mechanisms.sound.marginal_share': is no longer a setting; leave it out: it is 0.25, and a mixture of",
        ),
        (
            {"forecast": {"compare": ["pooled_ridge"]}},
            r"'forecast.compare\[0\]': is 'pooled_ridge', .*; leave it out: gradient",
        ),
        ({"federation": "feeder"}, r"'federation.by': is 'feeder', which is not one of None, circuit"),
        (
            {"federation": "circuit", "simulate": {"circuits": 2}},
            r"'simulate.circuits': is 2, but with fewer than 3 circuits each learns what the other has; raise it",
        ),
        (
            {"federation": {"by": "circuit", "colluding": 11}},
            r"'federation.colluding': is 11 of 12 circuits, so that no sum of two .*; lower it to 10 or less\.$",
        ),
        (
            {"federation": "circuit", "export": {"path": "export.csv", "time_zone": "UTC"}},
            r"'federation.by': is 'circuit', but nothing names the circuit of a meter; set export.circuit_column",
        ),
    ],
)
def test_bad_configurations_are_refused_in_one_sentence(schema, config, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        complete(config, schema, source="my.yaml")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("my.yaml, field '") and str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, r"mine.yaml: cannot be read; give the path of a configuration file\.$"),
        ("export:\n  path: [a, b\nseed: 1\n", r"mine.yaml, row \d+: is not valid YAML; write"),
        ("- a\n- b\n", r"mine.yaml: holds no keys; write"),
        ("title: Lærkeby\n".encode("cp1252"), r"mine.yaml: is not UTF-8 text; save it as UTF-8\.$"),
        ("sed: 3\n", r"field 'sed': is not a known key; write 'seed' if you meant that key\.$"),
    ],
)
def test_the_check_before_a_run_ends_in_one_sentence(repository, tmp_path, text, sentence):
    if text is not None:
        (tmp_path / "mine.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    main = runpy.run_path(str(repository / "tools/setting.py"))["main"]
    files = [str(repository / "config/config.yaml"), str(tmp_path / "mine.yaml")]
    with pytest.raises(SystemExit, match=sentence) as caught:
        main(["workflow/schemas/config.schema.yaml", "results_dir", *files])
    assert str(caught.value).startswith("meterdp cannot go on. ") and "\n" not in str(caught.value)


def test_a_section_with_a_shorthand_may_be_one_word(schema):
    short, none = (complete({"federation": word}, schema) for word in ("circuit", None))
    assert short == complete({"federation": {"by": "circuit"}}, schema)
    assert none == complete({}, schema) != short
    with pytest.raises(InputError, match="'mixture': must be a section with keys"):
        complete({"mixture": "em"}, schema)


def test_the_word_of_a_later_file_takes_the_place_of_the_section(schema, tmp_path):
    (tmp_path / "a.yaml").write_text("federation: {scheme: secure_sum}\n")
    (tmp_path / "b.yaml").write_text("federation: circuit\n")
    filled = complete(read_files([str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")]), schema)["federation"]
    assert (filled["by"], filled["scheme"]) == ("circuit", "edge_masks")


def test_later_files_lie_on_top_key_by_key(tmp_path):
    (tmp_path / "a.yaml").write_text("export: {unit: Wh, stamp: end}\nseed: 1\n")
    (tmp_path / "b.yaml").write_text("export: {unit: kW}\n")
    merged = read_files([str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")])
    assert merged == {"export": {"unit": "kW", "stamp": "end"}, "seed": 1}


def test_json_with_tabs_is_read_as_snakemake_reads_it(tmp_path):
    (tmp_path / "a.json").write_text('{\n\t"shards": 2\n}\n')
    assert read_files([str(tmp_path / "a.json")]) == {"shards": 2}


@pytest.mark.parametrize("text", ["__use_yte__: true\nshards: ?1 + 1\n", "{<<: {'__use_yte__': true}, a: '?1'}"])
def test_a_template_is_refused_whose_python_has_run(tmp_path, text):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"mine\.yaml, field '__use_yte__': is a template.* start with make"):
        refuse_templates([str(file)])
    file.write_text("shards: 2\n")
    refuse_templates([str(file), "/dev/fd/63"])


@pytest.mark.parametrize(
    ("epsilon", "tried", "shown"), [(1, [0.5, 1, 2], 1), (3, [4, 1, 2], 2), (3, [1, 2], 1), (3, [8], 8)]
)
def test_a_study_shows_the_epsilon_of_the_release_or_the_middle_one(epsilon, tried, shown):
    assert shown_epsilon({"mechanisms": {"epsilons": tried}, "release": {"epsilon": epsilon}}) == shown
