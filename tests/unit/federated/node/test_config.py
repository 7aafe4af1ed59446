"""What a node refuses to start with, and what it says before it starts."""

import pytest
import yaml

from meterdp.__main__ import main
from meterdp.core.config import as_markdown, load_schema
from meterdp.errors import InputError
from meterdp.federated.node.config import SCHEMAS, read_agreement, read_node
from meterdp.federated.node.messages import new_keys
from meterdp.federated.node.run import exposed
from tests.unit.federated.node.made_up import all_settings, study_of, write_agreement


@pytest.fixture
def words(tmp_path):
    """The words of an agreement of three nodes."""
    file = tmp_path / "agreement.yaml"
    write_agreement(file, 3)
    return yaml.safe_load(file.read_text())


def agreement(tmp_path, words, hours=3):
    file = tmp_path / "changed.yaml"
    file.write_text(yaml.safe_dump(words))
    return read_agreement(file, study_of(hours)["profiles"])


def test_both_schemas_are_in_the_readme(repository):
    for name in ("node", "agreement"):
        assert (
            as_markdown(load_schema(SCHEMAS / f"{name}.schema.yaml")) in (repository / "config/README.md").read_text()
        )


def node(**changes):
    def change(words):
        words["nodes"][1].update(changes)

    return change


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda w: w.update(clases=3), "field 'clases': is not a known key; write 'classes'"),
        (
            lambda w: w.update(scheme="none"),
            "field 'scheme': is 'none', which is not one of federated, secure_sum",
        ),
        (lambda w: w.update(iterations=0), "field 'iterations': is 0 and must be at least 1"),
        (lambda w: w["nodes"].pop(), None),
        (lambda w: w.update(nodes=w["nodes"][:1]), "field 'nodes': names fewer than two nodes"),
        (
            lambda w: w["nodes"][1].pop("address"),
            r"'nodes\[1\]': does not have the keys name",
        ),
        (node(name="a/b"), r"'nodes\[1\]': has no usable name"),
        (node(name="n0"), "'nodes': has one name twice"),
        (node(address="127.0.0.1:5"), r"'nodes\[1\]': has no usable address; write e.g. tcp://"),
        (node(address="tcp://meters.example:0"), r"'nodes\[1\]': has no usable address"),
        (node(address="tcp://meters.example:99999"), r"'nodes\[1\]': has no usable address"),
        (node(address="tcp://*:5700"), r"'nodes\[1\]': has no usable address"),
        (node(public_key="#" * 40), r"'nodes\[1\]': has no usable public key"),
        (lambda w: w.update(timeout_seconds=float("inf")), "'timeout_seconds'"),
        (node(public_key="x" * 39), r"'nodes\[1\]': has no usable public key"),
        (lambda w: w.update(graph="edges", edges=[["n0", "n9"]]), r"'edges\[0\]': does not name two different nodes"),
        (lambda w: w.update(graph="edges", edges=[["n0", "n1"]]), "'graph': falls into 2 parts"),
        (
            lambda w: w.update(scheme="secure_sum", graph="edges", edges=[["n0", "n1"], ["n1", "n2"]]),
            "'graph': has no Hamiltonian cycle.*single neighbour; add edges, or use the scheme 'edge_masks'",
        ),
    ],
)
def test_an_agreement_that_cannot_be_is_refused(tmp_path, words, change, sentence):
    change(words)
    if sentence is None:
        assert len(agreement(tmp_path, words).peers) == 2
        return
    with pytest.raises(InputError, match=sentence):
        agreement(tmp_path, words)


def test_agreements_that_say_the_same_are_the_same(tmp_path, words):
    first = agreement(tmp_path, words)
    as_agreed = {**dict(reversed(words.items())), "largest_difference": 1.0e-06, "timeout_seconds": 5.0}
    assert agreement(tmp_path, as_agreed).digest == first.digest
    for key, value in {"classes": 5, "title": "another", "sum_bits": 30, "scheme": "federated"}.items():
        other = agreement(tmp_path, words | {key: value})
        assert other.digest != first.digest
        assert key in {part for part in first.parts if first.parts[part] != other.parts[part]}
    assert agreement(tmp_path, words, hours=4).parts["profiles"] != first.parts["profiles"]


def node_file(tmp_path, words, **changes):
    secret, public = new_keys(tmp_path / "keys", "n1")
    words["nodes"][1]["public_key"] = public
    (tmp_path / "agreement.yaml").write_text(yaml.safe_dump(words))
    section = {"name": "n1", "agreement": str(tmp_path / "agreement.yaml"), "secret_key": str(secret), **changes}
    file = tmp_path / "node.yaml"
    export, profiles = {"path": "e.csv", "time_zone": "UTC"}, {"vector": "half_day", "date": "2026-01-14"}
    file.write_text(yaml.safe_dump({"node": section, "export": export, "profiles": profiles}))
    return str(file)


def test_a_node_reads_who_it_is_beside_a_study(tmp_path, words):
    study = tmp_path / "study.yaml"
    study.write_text("profiles: {hours: 4}")
    settings = read_node([node_file(tmp_path, words), str(study)])
    assert settings.name == "n1" and settings.agreement.dimension == 4 and settings.study["export"]["path"] == "e.csv"
    assert settings.listen == words["nodes"][1]["address"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": "n7"}, "'node.name': is none of the nodes in the agreement; use 'n0' or 'n1' or 'n2'"),
        ({"nam": "n1"}, "'node.nam': is not a known key; write 'name'"),
        ({"name": "n2"}, "is not the key of node 'n2' in the agreement"),
        ({"secret_key": "nowhere"}, "nowhere: holds no secret key; make one with `meterdp node --new-keys"),
        ({"agreement": "nowhere"}, "nowhere: cannot be read"),
    ],
)
def test_a_node_that_is_not_itself_does_not_start(tmp_path, words, changes, sentence):
    with pytest.raises(InputError, match=sentence):
        read_node([node_file(tmp_path, words, **changes)])


def test_all_nodes_take_the_same_days(tmp_path, words):
    """By 'auto' each would take the middle day of its own export; the other profiles look at all days."""
    file, more = node_file(tmp_path, words), tmp_path / "more.yaml"
    for said, sentence in (
        ("profiles: {date: auto}", "'profiles.date': is 'auto', by which every node would take a day of its own"),
        ("profiles: {vector: mean}", "'profiles.vector': is 'mean'"),
        ("profiles: {vector: typical_day, date: auto}", "'profiles.vector': is 'typical_day'"),
    ):
        more.write_text(said)
        with pytest.raises(InputError, match=sentence):
            read_node([file, str(more)])
    parts = []
    for last in ("2026-01-14", "2026-01-15"):
        period = f"{{first_day: '2026-01-01', last_day: '{last}'}}"
        more.write_text(f"{{profiles: {{vector: typical_day, date: auto}}, export: {period}}}")
        parts.append(read_node([file, str(more)]).agreement.parts["profiles"])
    for profiles in ("vector: typical_day, date: auto", "vector: mean"):
        for weekend in ("[saturday, sunday]", "[friday, saturday]"):
            period = f"{{first_day: '2026-01-01', last_day: '2026-01-14', weekend: {weekend}}}"
            more.write_text(f"{{profiles: {{{profiles}}}, export: {period}}}")
            parts.append(read_node([file, str(more)]).agreement.parts["profiles"])
    assert parts[0] not in (parts[1], parts[3]) and parts[0] == parts[2], "working days are on other days"
    assert parts[4] == parts[5]


def test_a_node_needs_an_export_of_its_own(tmp_path, words):
    file = node_file(tmp_path, words)
    (tmp_path / "none.yaml").write_text("export: {path: null}")
    with pytest.raises(InputError, match=r"'export.path': is missing, and a node has no simulated one"):
        read_node([file, str(tmp_path / "none.yaml")])


def test_the_command_makes_keys_and_refuses_nonsense(tmp_path, capsys):
    assert main(["node", "--new-keys", str(tmp_path), "north"]) == 0
    public = yaml.safe_load(capsys.readouterr().out.splitlines()[-1])["public_key"]
    assert len(public) == 40 and public in (tmp_path / "north.key").read_text()
    assert main(["node"]) == 1 and "takes either configurations or --new-keys" in capsys.readouterr().err
    assert main(["node", str(tmp_path / "none.yaml")]) == 1
    assert "meterdp cannot go on." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "number", "sentences"),
    [
        ({"scheme": "edge_masks"}, 0, ["the sums of this node and 2 more", "n1 and n3 together learn the"]),
        ({"scheme": "edge_masks", "graph": "complete"}, 0, ["this node and 2 more", "n1 and n2 and n3 together"]),
        # Behind n1 there is nobody else.
        (
            {"scheme": "edge_masks", "graph": "edges", "edges": [["n0", "n1"], ["n1", "n2"], ["n2", "n3"]]},
            0,
            ["learns the sums of this node alone", "n1 learns the sums"],
        ),
        ({"scheme": "secure_sum"}, 1, ["this node and 2 more", "n0 and n2 together"]),
        (
            {"scheme": "federated"},
            1,
            ["hide nothing from the server; node 'n0' learns those of this node"],
        ),
    ],
)
def test_what_others_may_learn_is_said_before_a_run(tmp_path, settings, number, sentences):
    said = exposed(all_settings(tmp_path, 4, **settings)[number].agreement, number)
    for sentence in sentences:
        assert any(sentence in one for one in said), said
    # d = 3, K = 2: 2 (1 + 9) - 1 = 19 sums of the first iteration, 10 more of each of three, for 3 numbers a record.
    assert any("where a group has 16 records or fewer" in one for one in said), said
