"""Nodes that talk over sockets come to what one process comes to that holds all records.

The sound release with noise in shares runs over the same links as any sum; here with the noise of a study.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import read_table
from meterdp.federated.em import distributed_em
from meterdp.federated.graph import complete, ring
from meterdp.federated.node.links import Links
from meterdp.federated.node.messages import Reason
from meterdp.federated.node.protocol import PROTOCOLS
from meterdp.federated.node.tables import NODE_MIXTURE
from meterdp.federated.shared_noise import SharedSums, release_at_node, release_together
from meterdp.federated.study import one_class, start_from
from meterdp.federated.summation import Federated
from meterdp.mechanisms.interface import PublicSettings, Released
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.plan import ProvenSettings
from meterdp.mixture.study import mixture_of
from meterdp.privacy.noise import MOST_STEPS, SafeNoise
from meterdp.release.between_nodes import _released
from tests.unit.federated.node.made_up import SMALL, D, Lying, Nodes, all_settings, in_threads, made_up_records
from tests.unit.mechanisms.made_up import FLOOR, HIGH, LOW, households


def in_one_process(records):
    scheme = Federated(ring(len(records)))
    pooled = distributed_em(records, one_class(D), 1, scheme, eigenvalue_floor=0.001).mixture
    start = start_from(pooled, SMALL["classes"], 0.001)
    return distributed_em(records, start, SMALL["iterations"], scheme, eigenvalue_floor=0.001).mixture


@pytest.mark.parametrize(
    ("scheme", "graph"),
    [
        ("federated", {"graph": "ring"}),
        ("secure_sum", {"graph": "ring"}),
        ("secure_sum", {"graph": "complete"}),
        ("edge_masks", {"graph": "ring"}),
        ("edge_masks", {"graph": "edges", "edges": [["n0", "n1"], ["n1", "n2"], ["n1", "n3"], ["n3", "n2"]]}),
    ],
)
def test_every_scheme_gives_the_mixture_of_all_records(tmp_path, scheme, graph):
    """Oracle: the same EM in one process that is shown everything."""
    records = made_up_records(4)
    settings = all_settings(tmp_path, 4, scheme=scheme, **graph)
    nodes = Nodes(settings, records, tmp_path)
    outcome = nodes.start().join()
    assert not [came for came in outcome.values() if isinstance(came, BaseException)]
    expected = in_one_process(records)
    for i in range(4):
        for name in ("weights", "means", "covariances"):
            assert getattr(outcome[i], name) == pytest.approx(getattr(expected, name), abs=1e-9)
        written = mixture_of(read_table(tmp_path / f"n{i}" / NODE_MIXTURE.file, NODE_MIXTURE).to_pandas())
        order = np.argsort(-outcome[i].weights)
        assert np.array_equal(written.means, outcome[i].means[order])


N, HOURS, K, NODES = 240, 2, 3, 4


@pytest.mark.parametrize("scheme", ["secure_sum", "edge_masks"])
def test_nodes_release_what_threads_of_one_process_do(tmp_path, scheme):
    """Oracle: ``release_together`` with the same noise; masks are others, and cancel."""
    shared = SharedSums(scheme, complete(NODES), 1)
    sound = Proven.calibrate(
        PublicSettings(2.0, 1e-5, K, HOURS, N, LOW, HIGH, FLOOR, ProvenSettings(shares=shared.shares))
    )
    parts = np.split(households(0, N, HOURS, K), [60, 61, 150])
    expected = release_together(
        sound, shared, parts, [StudyNoise(1, "share", i) for i in range(NODES)], np.random.default_rng(0)
    )
    settings, outcome = all_settings(tmp_path, NODES, scheme=scheme, graph="complete"), {}

    def run(i):
        own = replace(settings[i].agreement.scheme, wraps=True)
        try:
            with Links(settings[i], 100_000, lambda text: None) as links:
                links.greet()
                step = itertools.count()
                outcome[i] = release_at_node(
                    sound,
                    parts[i],
                    StudyNoise(1, "share", i),
                    lambda vector: own.total(links, next(step), vector),
                )
                links.all_done(next(step))
        except BaseException as error:
            outcome[i] = error

    in_threads(run, range(NODES))
    for i in range(NODES):
        assert not isinstance(outcome[i], BaseException), outcome
        for name in ("weights", "means", "covariances"):
            assert np.array_equal(getattr(outcome[i].mixtures, name), getattr(expected[0].mixtures, name))


def calibrated(**settings):
    shared = SharedSums("edge_masks", complete(NODES), 1)
    chosen = ProvenSettings(shares=shared.shares, grid=SafeNoise.grid, **settings)
    return Proven.calibrate(PublicSettings(2.0, 1e-5, K, HOURS, N, LOW, HIGH, FLOOR, chosen))


def release_between(tmp_path, sound, bend):
    """Let nodes in threads draw their shares and sum them; the first tells others sums that are bent."""
    settings = all_settings(tmp_path, NODES, scheme="edge_masks", graph="complete", timeout_seconds=20)
    lying = Lying(settings[0].agreement.scheme.on_grid(SafeNoise.grid), 2, bend)
    lying.on_grid = lambda grid: lying
    settings[0] = replace(settings[0], agreement=replace(settings[0].agreement, scheme=lying))
    parts, outcome = np.split(households(0, N, HOURS, K), [60, 61, 150]), {}

    def run(i):
        try:
            with Links(settings[i], 10_000, lambda text: None) as links:
                links.greet()
                outcome[i] = _released(sound, parts[i], SafeNoise(), settings[i], links)
                assert links._sockets is None, "connections take descriptors that the ledger needs"
        except BaseException as error:
            outcome[i] = error

    in_threads(run, range(NODES))
    return outcome


def test_links_are_closed_before_anything_is_stored(tmp_path):
    outcome = release_between(tmp_path, calibrated(), lambda total: total)
    assert all(isinstance(came, Released) for came in outcome.values()), outcome


def test_a_sum_that_is_too_large_is_refused_by_every_node_and_blamed_on_none(tmp_path):
    outcome = release_between(tmp_path, calibrated(), lambda total: total + 2.0**26)
    assert {came.reason for came in outcome.values()} == {Reason.IMPOSSIBLE_SUM}, outcome
    assert all(came.node == came.finder != 0 for came in outcome.values())


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_any_sum_that_is_not_too_large_gives_a_mixture(share):
    """Whatever a node that adds up may tell within the limit, no other one fails by it."""
    sound, most = calibrated(marginal_share=share), 2 * MOST_STEPS * SafeNoise.grid
    generator = np.random.default_rng(5)

    def measure(step, stack):
        kinds = (generator.uniform(-most, most, stack.shape), np.full(stack.shape, -most), np.zeros(stack.shape))
        spoilt = np.where(generator.random(stack.shape) < 0.1, generator.choice([-most, most], stack.shape), stack)
        return (*kinds, spoilt, -kinds[1])[generator.integers(5)]

    for _ in range(10):
        released, _ = sound.run_whole(households(0, N, HOURS, K), measure, 1)
        for name in ("weights", "means", "covariances"):
            assert np.isfinite(getattr(released.mixtures, name)).all()


def test_every_scheme_sums_what_lies_on_the_grid_of_the_noise_whatever_its_size(tmp_path):
    """On a grid of its own and of any size, modulo 2^64."""
    for name in PROTOCOLS:
        scheme = all_settings(tmp_path, NODES, scheme=name, graph="complete")[0].agreement.scheme
        words = vars(scheme.on_grid(2.0**-28))
        assert words["links"] is scheme.links
        assert (words.get("step", 2.0**-28), words.get("wraps", True)) == (2.0**-28, True)
