"""EM over nodes is EM: both updates, every scheme, against plain formulas; sums on the ring; what is solvable."""

import itertools

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.stats import multivariate_normal

from meterdp.errors import InputError
from meterdp.federated.adversary import known_sums, smallest_group, solvable
from meterdp.federated.circuits import SCHEMES
from meterdp.federated.em import distributed_em, entries_of, local_statistics, m_step
from meterdp.federated.graph import CORRUPT, Graph, complete, five_node_example, random_geometric, ring
from meterdp.federated.summation import STEP, EdgeMasks, Federated, RingSum, decoded, encoded, tree_depth, tree_of
from meterdp.mixture.draws import Mixture


def _records(d, n, generator):
    centres = 3 * generator.normal(size=(3, d))
    x = centres[generator.integers(3, size=n)] + generator.normal(size=(n, d))
    start = Mixture(np.array([0.5, 0.3, 0.2]), x[:3].copy(), np.tile(2 * np.eye(d), (3, 1, 1)))
    return x, start


def _plain_em(x, mixture, iterations, update, floor):
    """(2) and (3) written out, record by record and class by class."""
    weights, means, covariances = mixture.weights, mixture.means, mixture.covariances
    curve = []
    for t in range(iterations + 1):
        density = np.array(
            [w * multivariate_normal(m, s).pdf(x) for w, m, s in zip(weights, means, covariances, strict=True)]
        )
        curve.append(np.log(density.sum(axis=0)).sum())
        if t == iterations:
            return np.array(curve), Mixture(weights, means, covariances)
        p = density / density.sum(axis=0)
        new_means = np.array([(pk[:, None] * x).sum(axis=0) / pk.sum() for pk in p])
        about = means if update == "printed" else new_means
        covariances = np.array(
            [
                sum(pi * np.outer(xi - m, xi - m) for pi, xi in zip(pk, x, strict=True)) / pk.sum()
                for pk, m in zip(p, about, strict=True)
            ]
        )
        weights, means = p.sum(axis=1) / len(x), new_means
        assert np.linalg.eigvalsh(covariances).min() > floor  # so that the floor of ours has nothing to do


@pytest.mark.parametrize("update", ["printed", "textbook"])
@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("name", SCHEMES)
def test_every_scheme_gives_the_likelihoods_of_plain_em(name, d, update):
    generator = np.random.default_rng(d)
    x, start = _records(d, 90, generator)
    curve, fitted = _plain_em(x, start, 12, update, 1e-6)
    graph = random_geometric(20, generator)
    # Nodes with several records, one and none.
    parts = np.split(x, [0, 1, 2, 30, 31, 40, 41, 50, 51, 52, 60, 61, 62, 70, 71, 80, 81, 82, 89])
    run = distributed_em(parts, start, 12, SCHEMES[name](graph, generator), update)
    np.testing.assert_allclose(run.log_likelihood, curve, atol=1e-7, rtol=0)
    for part in ("weights", "means", "covariances"):
        np.testing.assert_allclose(getattr(run.mixture, part), getattr(fitted, part), atol=1e-7)
    assert run.spread < 1e-7
    assert run.numbers == run.messages * entries_of(3, d)


def test_both_updates_climb_and_meet_the_same_points():
    """(3) as printed takes the best covariances for the old means, then the best means: no step loses likelihood."""
    slower, settled = [], 0
    for seed in range(5):
        x, start = _records(2, 60, np.random.default_rng(seed))
        ends = []
        for update in ("textbook", "printed"):
            run = distributed_em([x], start, 400, Federated(Graph.of(1, [])), update, 1e-3)
            assert (np.diff(run.log_likelihood) > -1e-8).all()
            ends.append(run)
            slower.append(run.log_likelihood[1])
        if ends[1].log_likelihood[-1] - ends[1].log_likelihood[-100] > 1e-10:
            continue  # still climbing, slowly
        settled += 1
        one = local_statistics(x, ends[1].mixture)[0]
        again = m_step(one, ends[1].mixture, "textbook", 1e-3)
        np.testing.assert_allclose(again.means, ends[1].mixture.means, atol=1e-5)
        np.testing.assert_allclose(again.covariances, ends[1].mixture.covariances, atol=1e-5)
    assert settled >= 3
    # The first step, from the same start and the same sums, gains less as printed.
    assert (np.array(slower[0::2]) > np.array(slower[1::2])).mean() > 0.8


def test_an_empty_class_keeps_its_place():
    mixture = Mixture(np.array([0.5, 0.5]), np.array([[0.0], [1e3]]), np.ones((2, 1, 1)))
    statistics, _ = local_statistics(np.random.default_rng(0).normal(size=(30, 1)), mixture)
    after = m_step(statistics, mixture, "textbook", 1e-6)
    assert after.means[1] == 1e3 and after.weights[1] < 1e-9 and np.isfinite(after.covariances).all()


def test_parts_must_be_as_many_as_nodes():
    x, start = _records(2, 10, np.random.default_rng(0))
    with pytest.raises(InputError, match="are of 1 nodes"):
        distributed_em([x], start, 1, Federated(ring(3)))


def test_modular_partial_sums_are_uniform_and_the_sum_is_exact():
    generator = np.random.default_rng(1)
    graph, values = ring(6), np.random.default_rng(2).normal(size=(6, 5)) * 1e4
    scheme_ = RingSum(graph, tuple(range(6)), generator)
    np.testing.assert_allclose(scheme_.total(values).at_node[3], values.sum(axis=0), atol=6 * STEP)
    sent = np.array([scheme_.partials(values)[1:] for _ in range(4000)]) / 2.0**64
    # Mean and variance of every message are those of a uniform number, whatever the values.
    np.testing.assert_allclose(sent.mean(axis=0), 0.5, atol=5 * np.sqrt(1 / 12 / 4000))
    np.testing.assert_allclose(sent.var(axis=0), 1 / 12, atol=5 * np.sqrt(1 / 180 / 4000))


def test_masked_values_are_uniform_and_joined_honest_nodes_sums_are_all_that_is_told():
    graph, corrupt = five_node_example(chord=False), CORRUPT
    generator, values = np.random.default_rng(1), np.random.default_rng(2).normal(size=(5, 2)) * 1e4
    masks = EdgeMasks(graph, generator)
    np.testing.assert_allclose(masks.total(values).at_node[3], values.sum(axis=0), atol=5 * STEP)
    shown = np.array([masks.masked(values) for _ in range(4000)]) / 2.0**64
    np.testing.assert_allclose(shown.mean(axis=0), 0.5, atol=5 * np.sqrt(1 / 12 / 4000))
    np.testing.assert_allclose(shown.var(axis=0), 1 / 12, atol=5 * np.sqrt(1 / 180 / 4000))
    # Modulo 2^64 as over the reals: combinations of shown values without masks of honest pairs are sums over parts.
    honest = [i for i in range(5) if i not in corrupt]
    incidence = np.zeros((3, len(graph.edges)))
    for e, (i, j) in enumerate(graph.edges.tolist()):
        if i in honest and j in honest:
            incidence[honest.index(i), e], incidence[honest.index(j), e] = -1, 1
    left, size, _ = np.linalg.svd(incidence)
    free = left[:, int((size > 1e-9).sum()) :].T
    sums = np.array([[float(i in group) for i in honest] for group in known_sums("edge_masks", graph, corrupt)])
    assert np.linalg.matrix_rank(free) == len(sums) == np.linalg.matrix_rank(np.vstack([free, sums]))


def test_a_tree_reaches_every_node_by_shortest_ways():
    graph = random_geometric(60, np.random.default_rng(3))
    parent = tree_of(graph)
    assert (parent == -1).sum() == 1 and all(parent[i] in graph.neighbours(i) for i in range(1, 60))
    assert tree_depth(ring(9)) == 4 and tree_depth(complete(9)) == 1 and tree_depth(Graph.of(1, [])) == 0


def test_numbers_that_do_not_fit_are_refused_without_being_told():
    for bad in (np.inf, np.nan, 2.0**62 * STEP):
        with pytest.raises(InputError, match="too large") as error:
            encoded(np.array([[bad]]), STEP, 3)
        assert str(bad) not in str(error.value)
    whole = np.array([-3.0, 2.0**20, 0.0])
    np.testing.assert_array_equal(decoded(encoded(whole, STEP, 3), STEP), whole)


def test_known_sums_of_the_example():
    cycle = tuple(range(5))
    for graph in (five_node_example(), five_node_example(chord=False)):
        assert known_sums("federated", graph, CORRUPT) == [(0,), (2,), (4,)]
        assert known_sums("secure_sum", graph, CORRUPT, cycle) == [(0, 4), (2,)]
        assert known_sums("secure_sum", graph, (), cycle, eavesdropper=True) == [(i,) for i in range(5)]
        assert known_sums("subspace", graph, (), eavesdropper=True) == [tuple(range(5))]
    assert known_sums("subspace", five_node_example(), CORRUPT) == [(0, 2, 4)]
    assert known_sums("subspace", five_node_example(chord=False), CORRUPT) == [(0, 4), (2,)]
    assert known_sums("secure_sum", ring(5), (), cycle) == [(0, 1, 2, 3, 4)]


@pytest.mark.parametrize("corrupt", [(0, 2), (1, 3), (4,), (0, 1, 3), ()])
def test_the_ring_tells_no_other_sum(corrupt):
    """What corrupt nodes hear on the ring is linear in (values, mask): its exact consequences by linear algebra."""
    n, honest = 5, [i for i in range(5) if i not in corrupt]
    columns = [*honest] + ([] if 0 in corrupt else ["mask"])
    heard = [np.ones(len(honest)).tolist() + [0.0] * (len(columns) - len(honest))]  # the result, of honest values
    for node in corrupt:
        for last in (node - 1, node):  # what it is sent, and what it sends
            if last >= 0:
                heard.append([1.0 if c == "mask" or (c != "mask" and c <= last) else 0.0 for c in columns])
        if node == 0:  # told at the end by the last
            heard.append([1.0] * len(columns))
    heard = np.array(heard)
    if "mask" in columns:
        left, size, _ = np.linalg.svd(heard[:, -1:])
        heard = left[:, int((size > 1e-9).sum()) :].T @ heard[:, :-1]
    groups = known_sums("secure_sum", ring(n), corrupt, tuple(range(n)))
    sums = np.array([[float(i in group) for i in honest] for group in groups])
    assert np.linalg.matrix_rank(heard) == len(groups) == np.linalg.matrix_rank(np.vstack([heard, sums]))


def test_smallest_groups():
    assert [smallest_group("subspace", complete(12), t) for t in (0, 1, 3, 6, 11)] == [12, 11, 9, 6, 1]
    assert [smallest_group("subspace", ring(12), t) for t in (0, 1, 2)] == [12, 11, 1]
    assert [smallest_group("secure_sum", complete(12), t, tuple(range(12))) for t in (0, 1, 2)] == [12, 11, 1]
    assert smallest_group("federated", complete(12), 0) == 1
    assert smallest_group("subspace", five_node_example(), 2) == 1  # nodes 1 and 3 of the paper cut off 2
    with pytest.raises(InputError):
        smallest_group("subspace", ring(4), 4)
    assert smallest_group("subspace", complete(200), 6) == 194  # without looking through all sets


@pytest.mark.parametrize("scheme", ["secure_sum", "subspace"])
@pytest.mark.parametrize("make", [ring, complete])
@pytest.mark.parametrize("n", range(3, 8))
def test_the_smallest_group_is_that_of_the_worst_set_of_nodes(scheme, make, n):
    """Oracle: every set of nodes, looked through."""
    graph, cycle = make(n), tuple(range(n))
    for t in range(n):
        sets = [corrupt for size in range(t + 1) for corrupt in itertools.combinations(range(n), size)]
        worst = min(len(group) for corrupt in sets for group in known_sums(scheme, graph, corrupt, cycle))
        assert smallest_group(scheme, graph, t, cycle) == worst


@pytest.mark.parametrize(("d", "classes", "records"), [(1, 2, 6), (2, 2, 9), (2, 3, 14), (3, 2, 12)])
def test_the_count_of_equations_is_the_rank_of_the_sums(d, classes, records):
    """Derivatives of the sums of t iterations by the records: their rank is what `solvable` counts."""
    generator = np.random.default_rng(d * 100 + classes)
    x = generator.normal(size=(records, d))
    mixtures = [
        Mixture(
            generator.dirichlet(5 * np.ones(classes)),
            generator.normal(size=(classes, d)),
            np.tile((0.5 + generator.random()) * np.eye(d), (classes, 1, 1)),
        )
        for _ in range(8)
    ]

    def sums(flat, t):
        return np.concatenate([local_statistics(flat.reshape(x.shape), m)[0] for m in mixtures[:t]])

    (row,) = solvable([(0,)], [records], d, classes)
    for t in range(1, 8):
        step = 1e-5
        flat = x.ravel()
        jacobian = np.array(
            [(sums(flat + step * e, t) - sums(flat - step * e, t)) / (2 * step) for e in np.eye(flat.size)]
        )
        moments = d + d * (d + 1) // 2
        counted = min(row.unknowns, t * row.per_iteration - (t - 1) * moments)
        assert np.linalg.matrix_rank(jacobian, tol=1e-6) == counted
        assert (counted == row.unknowns) == (t >= row.from_iteration)


def test_records_of_two_honest_nodes_are_solved_for():
    """Two records behind one known sum: the sums of the first iterations give them away."""
    generator = np.random.default_rng(5)
    x, start = _records(2, 2, generator)[0], _records(2, 30, generator)[1]
    (row,) = solvable([(0, 4)], {0: 1, 4: 1}, 2, 3)
    assert row.from_iteration == 1
    told = local_statistics(x, start)[0]
    found = min(
        (
            least_squares(lambda f: local_statistics(f.reshape(2, 2), start)[0] - told, generator.normal(size=4) * 3)
            for _ in range(20)
        ),
        key=lambda fit: fit.cost,
    ).x.reshape(2, 2)
    order = [0, 1] if abs(found[0] - x[0]).max() < abs(found[1] - x[0]).max() else [1, 0]
    np.testing.assert_allclose(found[order], x, atol=1e-5)


def test_one_class_is_never_solvable_by_iterating():
    (row,) = solvable([(0,)], [50], 2, 1)
    assert row.from_iteration == 0 and row.per_iteration == 5
