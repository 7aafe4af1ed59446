"""What a transcript gives away, against the groups of ``adversary`` and the closed forms of ``leakage``."""

import numpy as np
import pytest

from meterdp.federated.adversary import known_sums
from meterdp.federated.graph import CORRUPT, five_node_example, random_geometric, ring
from meterdp.federated.summation import RingSum, decoded
from meterdp_papers.li import leakage
from meterdp_papers.li.leakage import (
    consensus_view,
    ring_view,
    seen_in_consensus,
    seen_on_ring,
    sums_on_ring,
)
from meterdp_papers.li.pdmm import consensus

HONEST = (0, 2, 4)
ORDER = tuple(range(5))


def spanned_by(view, groups, corrupt) -> bool:
    """Whether exactly the sums over these groups and the corrupt nodes' own values are known."""
    wanted = [[i] for i in corrupt] + [list(g) for g in groups]
    return len(view.exact()) == len(wanted) and all(view.knows(g) for g in wanted)


@pytest.mark.parametrize("schedule", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("chord", [True, False])
def test_a_consensus_gives_away_the_sums_of_honest_parts_and_nothing_more(schedule, chord):
    """Without the chord node 2 has corrupt neighbours only, and is read off like a stretch of one."""
    graph = five_node_example(chord)
    view = consensus_view(graph, CORRUPT, 12, 0.4, schedule, np.random.default_rng(1))
    groups = known_sums("subspace", graph, CORRUPT)
    assert groups == ([HONEST] if chord else [(0, 4), (2,)])
    assert spanned_by(view, groups, CORRUPT)
    assert view.knows([2]) is (not chord) and not view.knows([0])


def test_a_consensus_on_a_random_graph_gives_away_its_honest_parts():
    graph = random_geometric(12, np.random.default_rng(2), radius=0.42)
    corrupt = sorted(graph.neighbours(int(np.argmin(graph.degrees))).tolist())  # all around one node
    view = consensus_view(graph, corrupt, 20, 0.3)
    groups = known_sums("subspace", graph, corrupt)
    assert 1 in map(len, groups) and spanned_by(view, groups, corrupt)


def test_an_eavesdropper_alone_learns_the_sum_over_all():
    assert spanned_by(consensus_view(five_node_example(), (), 12, 0.4), [ORDER], ())


@pytest.mark.parametrize("corrupt", [(1, 3), (0, 2), (0,), (2, 3), (0, 4)])
def test_secure_summation_gives_away_the_stretches_between_corrupt_nodes(corrupt):
    groups = known_sums("secure_sum", ring(5), corrupt, ORDER)
    assert spanned_by(ring_view(ORDER, corrupt), groups, corrupt)
    values = np.random.default_rng(3).standard_normal((5, 4))
    scheme = RingSum(ring(5), ORDER, np.random.default_rng(4))
    found = sums_on_ring(scheme.partials(values), ORDER, corrupt)
    assert sorted(found) == groups
    for group, words in found.items():
        assert decoded(words, scheme.step) == pytest.approx(values[list(group)].sum(axis=0), abs=1e-11)


def test_what_is_seen_on_a_ring_is_the_view_times_what_goes_in():
    values = np.random.default_rng(5).standard_normal((5, 3))
    mask = 2.0 * np.random.default_rng(6).standard_normal((1, 3))
    partials = np.cumsum(np.vstack([mask, values]), axis=0)
    view = ring_view(ORDER, CORRUPT)
    own = view.of_values[-2:] @ values
    seen = np.vstack([seen_on_ring(partials, ORDER, CORRUPT), own])
    assert view.of_values @ values + view.of_secrets @ partials[:1] == pytest.approx(seen, abs=1e-12)


def test_weights_turn_a_transcript_into_the_sum_of_the_honest_nodes():
    graph, rounds, c = five_node_example(), 12, 0.4
    generator = np.random.default_rng(7)
    values, noise = generator.standard_normal((5, 50)), 1e3 * generator.standard_normal((12, 50))
    trace = consensus(graph, values, noise, rounds, c=c, traced=True).trace
    seen = seen_in_consensus(graph, values, noise, trace, CORRUPT)
    weights = consensus_view(graph, CORRUPT, rounds, c).weights(HONEST)
    assert weights @ seen == pytest.approx(values[list(HONEST)].sum(axis=0), abs=1e-9)


@pytest.mark.parametrize("mask_std", [0.3, 3.0, 30.0])
@pytest.mark.parametrize("chord", [True, False])
def test_masks_of_finite_size_leave_what_the_laplacian_says(chord, mask_std):
    """The closed form is what a synchronous transcript gives away; drawn orders of activation give away no more."""
    graph = five_node_example(chord)
    part = graph.components(CORRUPT)[0]
    exact = leakage.of_masked(graph.part(part).laplacian(), mask_std, part.index(0))
    assert consensus_view(graph, CORRUPT, 12, 0.4).information(0, 1.0, mask_std) == pytest.approx(exact, rel=1e-9)
    for seed in range(5):
        drawn = consensus_view(graph, CORRUPT, 12, 0.4, "asynchronous", np.random.default_rng(seed))
        assert drawn.information(0, 1.0, mask_std) <= exact * (1 + 1e-9)


def test_a_real_mask_of_secure_summation_hides_as_far_as_it_spreads():
    """(12) is an inequality: beside the sum of nodes 0 and 4 their neighbour sees one of them behind the mask."""
    exact = leakage.of_a_sum(2)
    found = [ring_view(ORDER, CORRUPT).information(0, 1.0, std) for std in (1.0, 10.0, 1e4)]
    assert found[0] > found[1] > found[2] == pytest.approx(exact, rel=1e-6) and found[0] > 1.2 * exact
