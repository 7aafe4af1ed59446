"""One test per defect of Li et al., D1 to D8: the number as found, by a second route wherever there is one.

The findings come from fixed streams; where they are random the second route has its own random numbers.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from meterdp.federated.graph import CORRUPT, five_node_example, random_geometric
from meterdp.federated.summation import RingSum, decoded
from meterdp_papers.li import errata as errata_consensus
from meterdp_papers.li import leakage
from meterdp_papers.li.errata import example, followed
from meterdp_papers.li.leakage import consensus_view
from meterdp_papers.li.pdmm import consensus


def closed(finding, rel=1e-6, absolute=1e-12) -> bool:
    return finding.value == pytest.approx(finding.closed_form, rel=rel, abs=absolute)


@pytest.mark.parametrize("update", ["printed", "corrected"])
def test_the_matrix_of_a_round_is_the_round(update):
    """Oracle of the growth in D1: the map, applied again and again, is what ``consensus`` does."""
    graph, c = five_node_example(), 0.7
    duals = np.random.default_rng(1).standard_normal((12, 1))
    run = consensus(graph, np.zeros((5, 1)), duals, 4, c=c, dual_update=update, traced=True)
    one = getattr(errata_consensus, f"{update}_map")(graph, c)
    state = np.vstack([np.zeros((5, 1)), duals])
    for y in run.trace:
        state = one @ state
        assert state[:5] == pytest.approx(y, rel=1e-10)


def test_D1_the_printed_update_diverges_and_the_literal_one_is_wrong(findings):
    """Oracle: eigenvalues of one round; on another graph, the average itself."""
    growth, wrong_end, corrected, literal, agreed, mended = findings["D1"]
    assert closed(growth, rel=0.02) and growth.value > 1.3 > 1 > growth.claimed
    assert closed(wrong_end) and wrong_end.value > 0.1
    assert corrected.value < 1e-12 and literal.value > 1e-4 and agreed.value < 1e-12
    assert closed(mended) and mended.value < 1e-12
    graph = random_geometric(12, np.random.default_rng(3))
    values, duals = np.arange(12.0)[:, None], np.zeros((len(graph.arcs.tail), 1))
    settled = {
        update: consensus(
            graph,
            values,
            duals,
            600,
            c=0.3,
            schedule="asynchronous",
            dual_update=update,
            generator=np.random.default_rng(4),
        ).at_node
        for update in ("corrected", "printed_neighbours")
    }
    assert settled["corrected"] == pytest.approx(np.full((12, 1), 5.5), abs=1e-9)
    wrong = settled["printed_neighbours"]
    assert np.ptp(wrong) < 1e-9 and abs(wrong[0, 0] - 5.5) > 1e-3


def test_D2_old_means_inflate_covariances(findings):
    """Oracle: scikit-learn's EM, started where ours stands still, does not move."""
    from sklearn.mixture import GaussianMixture

    excess, lost, printed, same = findings["D2"]
    assert closed(excess) and excess.value > 0.1 and lost.value > 1 and printed.value != printed.claimed
    assert same.value < 1e-9
    x, start = example()
    for update in ("printed", "textbook"):
        values, mixtures = followed(x, start, update)
        end = mixtures[-1]
        model = GaussianMixture(
            2,
            weights_init=end.weights,
            means_init=end.means,
            precisions_init=np.linalg.inv(end.covariances),
            reg_covar=0.0,
            tol=1e-12,
        ).fit(x)
        assert model.means_ == pytest.approx(end.means, abs=1e-4)
        assert model.score(x) * len(x) == pytest.approx(values[-1], abs=1e-6)


def test_D3_the_loop_never_runs(findings):
    rounds, left, needed = findings["D3"]
    assert rounds.value == 0 < rounds.claimed == needed.value and closed(left) and closed(needed)
    assert left.value > 1e5 * left.claimed


def test_D4_a_real_mask_tells_more_than_the_sum(findings):
    """Oracle: least squares of node 1's number on simulated messages; in whole numbers nothing is left to fit."""
    small, large, misprint = findings["D4"]
    assert closed(small) and closed(large) and closed(misprint)
    assert small.value > 1.5 * small.claimed and large.claimed < large.value < 1.001 * large.claimed
    x = np.random.default_rng(5).standard_normal((5, 40_000))
    graph, order = five_node_example(False), tuple(range(5))
    informed, scheme = {}, RingSum(graph, order, np.random.default_rng(6))
    real = x[0] + np.random.default_rng(6).standard_normal(40_000)  # under a mask of unit spread
    # From node 1 to node 2.
    for arithmetic, message in (("real", real), ("modular", decoded(scheme.partials(x)[1], scheme.step))):
        seen = np.stack([message / message.std(), x[0] + x[4]])
        fit = np.linalg.lstsq(seen.T, x[0], rcond=None)[0] @ seen
        informed[arithmetic] = -0.5 * math.log1p(-(np.corrcoef(fit, x[0])[0, 1] ** 2))
    assert informed["real"] == pytest.approx(small.value, abs=0.03)
    assert informed["modular"] == pytest.approx(leakage.of_a_sum(2), abs=0.03)


def test_D5_sums_over_few_nodes_give_their_records(findings):
    """Oracle of the last: count by hand; of the second, another solver on the moments of three records."""
    pairs, triples, several = findings["D5"]
    assert pairs.value < 1e-6 and triples.value == 1 and closed(several)
    three = np.array([-0.4, 0.3, 1.1])
    e1, p2, p3 = three.sum(), (three**2).sum(), (three**3).sum()
    e2 = (e1**2 - p2) / 2
    e3 = (p3 - e1 * p2 + e2 * e1) / 3
    assert np.sort(np.roots([1, -e1, e2, -e3]).real) == pytest.approx(three)


def test_D6_who_hears_the_ring_has_every_vector(findings):
    """Oracle: differences of the messages of a run."""
    ring, subspace, combinations = findings["D6"]
    assert closed(ring) and ring.value == 5 and closed(subspace) and closed(combinations)
    x = np.random.default_rng(7).standard_normal((5, 3))
    scheme = RingSum(five_node_example(False), tuple(range(5)), np.random.default_rng(8))
    partials = scheme.partials(x)
    assert decoded(np.diff(partials[1:], axis=0), scheme.step) == pytest.approx(x[1:], abs=1e-11)
    assert decoded(partials[1] - (partials[5] - (partials[-1] - partials[0])), scheme.step) == pytest.approx(
        x[0], abs=1e-11
    )


def test_D7_the_normaliser_grows_with_the_trials(findings):
    """Oracle: uniform records, whose estimate is the same."""
    few, many, share = findings["D7"]
    assert closed(few, rel=1e-3) and closed(many, rel=1e-3)
    assert many.value - few.value == pytest.approx(math.log(10), abs=0.01) and share.value < 0.6 < share.claimed
    x = np.random.default_rng(9).uniform(size=(1_000, 1))
    assert leakage.mutual_information(x, x, np.random.default_rng(10)) == pytest.approx(few.value, abs=0.01)


def test_D8_one_honest_neighbour_hides_among_two(findings):
    """Oracle: least squares of node 1's number on simulated transcripts."""
    alone, exposed, finite = findings["D8"]
    assert closed(alone, rel=1e-4) and closed(exposed) and closed(finite)
    assert alone.value > 1.5 * alone.claimed and finite.value > 2 * finite.claimed
    view = consensus_view(five_node_example(), CORRUPT, 6, 0.4)
    generator = np.random.default_rng(11)
    x = generator.standard_normal((5, 40_000))
    seen = view.of_values @ x + view.of_secrets @ generator.standard_normal((12, 40_000))
    fit = np.linalg.lstsq(seen.T, x[0], rcond=1e-9)[0] @ seen
    assert -0.5 * math.log1p(-(np.corrcoef(fit, x[0])[0, 1] ** 2)) == pytest.approx(finite.value, abs=0.03)


def test_the_committed_numbers_are_those_found(same_as_committed):
    same_as_committed("D")
