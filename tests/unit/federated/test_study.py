"""Circuits as nodes: what a federation of them refuses, what each layer protects, and how they share noise.

The mixture of a study, fitted over circuits, is the same as in one place.
"""

import numpy as np
import pyarrow as pa
import pytest

from meterdp.core.parquet import as_arrow, write_table
from meterdp.errors import InputError
from meterdp.federated import tables
from meterdp.federated.adversary import solvable
from meterdp.federated.circuits import Circuits, graph_file
from meterdp.federated.fitted import read_fitted
from meterdp.federated.shared_noise import shared_noise, shares_of
from meterdp.federated.study import (
    ITERATIONS,
    announce,
    fit_over_circuits,
    iteration_columns,
    mixture_columns,
    protection_rows,
    solvable_households,
    sound_epsilons,
)
from meterdp.federated.tables import FEDERATED_MIXTURE
from meterdp.mechanisms.proven.domain import start_classes
from meterdp.mechanisms.proven.plan import ALONE, Shares
from meterdp.mixture.density import record_log_densities
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import raise_eigenvalues, share_statistics
from meterdp.mixture.study import fit_from, start_labels
from meterdp.privacy import gaussian
from meterdp.profiles.vector import Records

FEDERATION = {
    "by": "circuit",
    "scheme": "edge_masks",
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
            r"'federation.by': is 'circuit', but the export has 2 of them: with fewer than 3, each",
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
        "5 circuits fit one mixture, scheme edge_masks. Who controls 2 of them learns exactly only sums over 3 or "
        "more of the others: 546 numbers in each of 50 iterations. From these every record can be solved for if "
        "there are 1,903 households or fewer.\n"
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
    }
    seen = {r["colluding"]: r["epsilon"] for r in rows if r["layer"] == "sound"}
    assert seen[1] == pytest.approx(2.0, abs=1e-6) and seen[None] < 2.0 < seen[3]
    assert np.all([r["used"] == (r["scheme"] in ("", "edge_masks")) for r in rows if r["colluding"] in (None, 1)])


TWELVE = [f"circuit {i}" for i in range(12)]


def test_without_circuits_one_holds_all():
    for nothing in (None, FEDERATION | {"by": None}):
        assert shared_noise(nothing, meters([None, None])) is None and shares_of(nothing, meters([None])) == ALONE


@pytest.mark.parametrize(
    ("scheme", "graph", "colluding", "honest"),
    [
        ("edge_masks", "complete", 1, 11),
        ("edge_masks", "complete", 6, 6),
        ("edge_masks", "ring", 2, 1),
        ("secure_sum", "complete", 1, 11),
        ("secure_sum", "complete", 2, 1),
        ("federated", "complete", 1, 1),
    ],
)
def test_the_noise_is_shared_by_those_who_are_left_together(scheme, graph, colluding, honest):
    settings = FEDERATION | {"scheme": scheme, "graph": graph, "colluding": colluding}
    assert shares_of(settings, meters(TWELVE)) == Shares(12, honest, colluding)


def test_words_tell_how_circuits_add_up_and_name_none_of_them(tmp_path):
    path = tmp_path / "secret lines.csv"
    edges = [f"{a},{b}" for a, b in zip(TWELVE, [*TWELVE[1:], TWELVE[0]], strict=True)]
    path.write_text("\n".join(["node,neighbour", *edges]))
    settings = FEDERATION | {"graph": str(path), "scheme": "edge_masks"}
    shared = shared_noise(settings, meters(TWELVE))
    assert shared.words["graph"].startswith("sha256 of edges ") and "secret" not in repr(shared.words)
    assert "circuit 3" not in repr(shared.words) + shared.sentence
    assert "any 1 of them" in shared.sentence and "of 12 circuits" in shared.sentence
    other = shared_noise(settings | {"graph": "ring"}, meters(TWELVE))
    assert other.words == {"by": "circuit", "scheme": "edge_masks", "graph": "ring"}


def test_secure_summation_without_a_cycle_is_refused(tmp_path):
    path = tmp_path / "star.csv"
    path.write_text("node,neighbour\n" + "".join(f"{TWELVE[0]},{name}\n" for name in TWELVE[1:]))
    with pytest.raises(InputError, match="has no Hamiltonian cycle"):
        shared_noise(FEDERATION | {"graph": str(path), "scheme": "secure_sum"}, meters(TWELVE))


def test_fewer_shares_of_noise_cost_what_gaussian_privacy_says():
    """Oracle: mu of one Gaussian measurement whose noise has h of n parts of the variance."""
    settings = FEDERATION | {"scheme": "edge_masks", "colluding": 3}
    graph = Circuits.of(meters(TWELVE), settings).graph
    seen = dict(sound_epsilons(graph, settings, (None, 1, 3, 6), 2.0, 1e-5))
    for t, hiding in ((None, 12), (1, 11), (3, 9), (6, 6)):
        mu = gaussian.mu_for(2.0, 1e-5) * np.sqrt(9 / hiding)
        assert gaussian.delta(mu, seen[t]) == pytest.approx(1e-5, rel=1e-6)


MIXTURE = {"classes": 4}
SCHEMES = ("federated", "secure_sum", "edge_masks")


@pytest.fixture(scope="module")
def records():
    """Households around three levels; some are not valid, and those of one circuit are none of them."""
    generator = np.random.default_rng(3)
    x = generator.normal(size=(400, 5)) * 0.4 + generator.integers(-2, 1, size=400)[:, None]
    valid = generator.random(400) < 0.9
    node = generator.integers(0, 7, size=400)
    valid[node == 6] = False
    x[~valid] = 50.0  # would show at once
    return Records(np.arange(400, dtype=np.int32), x, valid), node


def circuits(node, **changed):
    names = [f"C{i}" for i in node]
    return Circuits.of(
        pa.table({"household": pa.array(range(len(node)), pa.int32()), "circuit": names}), FEDERATION | changed
    )


def in_one_place(x, start, steps, floor):
    """Textbook EM on all records at once."""
    mixture, log_likelihood = start, [record_log_densities(x, start).sum()]
    for _ in range(steps):
        _, counts, means, scatter = share_statistics(x, mixture, 1e-6)
        covariances = raise_eigenvalues(scatter / counts[:, None, None], floor)[0]
        mixture = Mixture(counts / len(x), means, covariances)
        log_likelihood.append(record_log_densities(x, mixture).sum())
    return mixture, log_likelihood


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("graph", ["complete", "ring"])
def test_the_fit_is_that_of_all_records_in_one_place(records, scheme, graph):
    """Oracle: EM on the pooled valid records from start classes by their mean and covariance."""
    everything, node = records
    settings = FEDERATION | {"scheme": scheme, "graph": graph}
    fit = fit_over_circuits(everything, circuits(node, graph=graph), settings, MIXTURE, np.random.default_rng(1))
    x = everything.log_kwh[everything.valid]
    means, covariances = start_classes(x.mean(axis=0)[None], np.cov(x.T, ddof=0)[None], 4)
    start = Mixture(np.full(4, 0.25), means[0], covariances[0])
    expected, log_likelihood = in_one_place(x, start, ITERATIONS, 1e-3)
    for one, other in ((fit.start, start), (fit.run.mixture, expected)):
        for name in ("weights", "means", "covariances"):
            assert np.allclose(getattr(one, name), getattr(other, name), rtol=0, atol=1e-8), name
    assert np.allclose(fit.run.log_likelihood, log_likelihood, rtol=1e-8)
    assert fit.run.log_likelihood[-1] > fit.run.log_likelihood[0] + 10


def test_the_rules_after_it_make_the_same_fit_of_the_stored_mixture(records, tmp_path):
    everything, node = records
    fit = fit_over_circuits(everything, circuits(node), FEDERATION, MIXTURE, np.random.default_rng(1))
    write_table(tmp_path / "federated_mixture.parquet", FEDERATED_MIXTURE, mixture_columns(fit))
    start, fitted = read_fitted([str(tmp_path / "federated_mixture.parquet")])
    assert np.array_equal(start.means, fit.start.means) and np.array_equal(fitted.means, fit.run.mixture.means)
    labels = start_labels(everything, 4, seed=1, elsewhere=start)
    found = fit_from(everything, labels, fitted)
    n = int(everything.valid.sum())
    assert labels.min() >= 1 and labels.max() <= 4 and len(labels) == n == found.counts.sum()
    assert (np.diff(found.counts) <= 0).all()
    order = np.argsort(-fitted.weights)
    assert np.allclose(found.mixture.weights, fitted.weights[order], atol=1 / n)
    assert np.array_equal(np.sort(found.mixture.means, axis=0), np.sort(fitted.means, axis=0))
    assert read_fitted([]) == (None, None)


def test_the_table_counts_what_was_sent(records):
    everything, node = records
    q = 4 * (1 + 5 + 15)
    for scheme, messages in (("federated", 14), ("secure_sum", 13)):
        fit = fit_over_circuits(
            everything, circuits(node), FEDERATION | {"scheme": scheme}, MIXTURE, np.random.default_rng(1)
        )
        table = as_arrow(tables.FEDERATION, iteration_columns(fit, scheme)).to_pandas()
        assert table["iteration"].tolist() == list(range(ITERATIONS + 1))
        assert (table["message_count"] == messages).all()
        assert table["number_count"].tolist() == [messages * (1 + 5 + 15)] + [messages * q] * ITERATIONS


def test_secure_summation_needs_a_cycle(records, tmp_path):
    everything, node = records
    path = tmp_path / "star.csv"
    path.write_text("node,neighbour\n" + "".join(f"C0,C{i}\n" for i in range(1, 7)))
    settings = {"graph": str(path), "scheme": "secure_sum"}
    with pytest.raises(InputError, match="has no Hamiltonian cycle"):
        fit_over_circuits(
            everything, circuits(node, **settings), FEDERATION | settings, MIXTURE, np.random.default_rng(1)
        )


def test_too_few_valid_households_are_refused_as_in_one_place():
    few = Records(np.arange(4, dtype=np.int32), np.zeros((4, 5)), np.array([True, False, False, True]))
    with pytest.raises(InputError, match="asks for 4 classes, but too few households have a valid profile"):
        fit_over_circuits(few, circuits(np.arange(4)), FEDERATION, MIXTURE, np.random.default_rng(1))
