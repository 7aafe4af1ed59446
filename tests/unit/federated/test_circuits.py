"""Circuits as nodes, what a federation of them refuses, and what each layer protects."""

import numpy as np
import pyarrow as pa
import pytest

from meterdp.errors import InputError
from meterdp.federated.adversary import solvable
from meterdp.federated.circuits import Circuits, graph_file
from meterdp.federated.study import announce, protection_rows, solvable_households

FEDERATION = {
    "by": "circuit",
    "scheme": "subspace",
    "graph": "complete",
    "colluding": 1,
}


def meters(circuits):
    return pa.table({"household": pa.array(range(len(circuits)), pa.int32()), "circuit": circuits})


def test_every_household_belongs_to_the_node_of_its_circuit_in_any_order_of_rows():
    table = meters(["west", "east", "north", "east", "west"])
    for rows in (table, table.take([4, 2, 0, 1, 3])):
        circuits = Circuits.of(rows, FEDERATION)
        assert circuits.names == ("east", "north", "west")
        assert [circuits.names[i] for i in circuits.node] == ["west", "east", "north", "east", "west"]
    assert circuits.graph.degrees.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("circuits", "changed", "sentence"),
    [
        (
            ["a", "b", None, "c"],
            {},
            r"'federation.by': is 'circuit', but not every meter's circuit is known; name them",
        ),
        (
            ["a", "b", "a"],
            {},
            r"'federation.by': is 'circuit', but the export has 2 of them, and of fewer than 3 each",
        ),
        (list("abcd"), {"colluding": 3}, r"'federation.colluding': is 3 of 4 circuits.*; lower it to 2 or less\.$"),
    ],
)
def test_what_hides_nothing_is_refused_in_one_sentence(circuits, changed, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        Circuits.of(meters(circuits), FEDERATION | changed)
    assert "\n" not in str(caught.value)


def test_an_edge_file_is_read_by_the_names_of_circuits(tmp_path):
    path = tmp_path / "lines.csv"
    path.write_text("node,neighbour\neast,north\nnorth,west\n")
    settings = FEDERATION | {"graph": str(path)}
    graph = Circuits.of(meters(["west", "east", "north"]), settings).graph
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph_file(settings) == str(path)
    assert graph_file(FEDERATION) is None and graph_file(settings | {"by": None}) is None


@pytest.mark.parametrize(("dimension", "classes", "iterations"), [(12, 6, 50), (12, 6, 1), (3, 2, 7), (2, 1, 9)])
def test_a_household_more_than_the_solvable_ones_needs_an_iteration_more(dimension, classes, iterations):
    most = solvable_households(dimension, classes, iterations)
    at, beyond = (solvable([(0,)], [n], dimension, classes)[0].from_iteration for n in (most, most + 1))
    assert 0 < at <= iterations and (beyond > iterations or beyond == 0)


def test_the_log_says_before_the_fit_what_it_gives_away(capsys):
    announce(Circuits.of(meters(list("abcde")), FEDERATION | {"colluding": 2}), FEDERATION | {"colluding": 2}, 12, 6)
    said = capsys.readouterr().err
    assert said == (
        "5 circuits fit one mixture, scheme subspace. Who controls 2 of them learns exactly only sums over 3 or more "
        "of the others: 546 numbers in each of 50 iterations, enough to solve for every reading behind them where "
        f"that are {solvable_households(12, 6, 50)} households or fewer.\n"
    )


def test_rows_are_of_all_schemes_and_collusions_that_leave_two_circuits():
    rows = protection_rows(
        Circuits.of(meters(list("abcdef")), FEDERATION | {"graph": "ring"}), FEDERATION, 12, 6, 2.0, 1e-5
    )
    sent = {
        (r["scheme"], r["against"], r["colluding"]): r["smallest_group"] for r in rows if r["layer"] == "transcript"
    }
    assert sent == {
        ("edge_masks", "listener", None): 6,
        ("edge_masks", "circuits", 1): 5,
        ("edge_masks", "circuits", 3): 1,
        ("federated", "server", None): 1,
        ("secure_sum", "listener", None): 1,
        ("secure_sum", "circuits", 1): 5,
        ("secure_sum", "circuits", 3): 1,
        ("subspace", "listener", None): 6,
        ("subspace", "circuits", 1): 5,
        ("subspace", "circuits", 3): 1,
    }
    seen = {r["colluding"]: r["epsilon"] for r in rows if r["layer"] == "sound"}
    assert seen[1] == pytest.approx(2.0, abs=1e-6) and seen[None] < 2.0 < seen[3]
    assert np.all([r["used"] == (r["scheme"] in ("", "subspace")) for r in rows if r["colluding"] in (None, 1)])
