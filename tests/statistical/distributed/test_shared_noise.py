"""Noise in shares: with t = 0 the central release in law; what colluding nodes see, against the proof note."""

import itertools

import numpy as np
import pytest
from scipy.stats import ks_2samp

from meterdp.accounting import gdp
from meterdp.core.errors import InputError
from meterdp.distributed.graph import Graph, complete, five_node_example, random_geometric, ring
from meterdp.distributed.pdmm import Stop, consensus
from meterdp.distributed.schemes import SCHEMES, scheme
from meterdp.distributed.shared_noise import hiding_shares, release_together, shares_for
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings
from meterdp.mechanisms.sound.mechanism import Sound
from meterdp.mechanisms.sound.plan import SoundSettings
from meterdp.mechanisms.sound.shares import ALONE, Shares
from meterdp.release.noise import StudyNoise
from meterdp.release.safe_noise import GRID, SafeNoise
from tests.unit.mechanisms.made_up import FLOOR, HIGH, LOW, households

N, D, K, NODES = 240, 4, 3, 12
DRAWS = 1000
# Chance that equal laws are told apart, over all the numbers compared.
ERROR = 1e-6


def calibrated(shares=ALONE, epsilon=2.0, **others):
    settings = SoundSettings(shares=shares, **others)
    return Sound.calibrate(PublicSettings(epsilon, 1e-5, K, D, N, LOW, HIGH, FLOOR, settings))


def parts_of(x):
    """Uneven, one of them empty."""
    return np.split(x, [0, 5, 6, 40, 60, 90, 91, 120, 180, 200, 239])


def numbers(mixtures):
    """What is compared: every parameter, and sizes and shapes that no single one shows."""
    sizes = np.linalg.slogdet(mixtures.covariances)[1]
    whole = np.einsum("rk,rkd->rd", mixtures.weights, mixtures.means)
    return np.column_stack(
        [a.reshape(len(mixtures), -1) for a in (mixtures.weights, mixtures.means, mixtures.covariances, sizes, whole)]
    )


def smallest_p(a, b):
    """Smallest p-value times the number of comparisons (Bonferroni)."""
    values = [ks_2samp(one, other).pvalue for one, other in zip(a.T, b.T, strict=True) if np.ptp(one) > 0]
    return min(values) * len(values)


@pytest.mark.parametrize("name", ["secure_sum", "subspace"])
def test_with_nobody_colluding_it_is_the_central_release_in_law(name):
    x, graph = households(0, N, D, K), complete(NODES)
    shares = shares_for(name, graph, 0, tuple(range(NODES)), mask_ratio=1e4)
    noises = [StudyNoise(1, "shares", name, i) for i in range(NODES)]
    together = release_together(
        calibrated(shares), parts_of(x), noises, scheme(name, graph, np.random.default_rng(2)), DRAWS
    )
    central = numbers(calibrated().release(PrivateRecords(x), StudyNoise(3, "central"), DRAWS).mixtures)
    assert smallest_p(numbers(together[0].mixtures), central) > ERROR
    for other in together[1:]:  # every node holds the same release, to the bit
        np.testing.assert_array_equal(numbers(other.mixtures), numbers(together[0].mixtures))


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_the_comparison_sees_noise_of_another_size(factor):
    x = households(0, N, D, K)

    class Wrong(StudyNoise):
        def add_gaussian(self, exact, std):
            return super().add_gaussian(exact, factor * std)

    right = numbers(calibrated().release(PrivateRecords(x), StudyNoise(3, "central"), DRAWS).mixtures)
    wrong = numbers(calibrated().release(PrivateRecords(x), Wrong(4, "wrong"), DRAWS).mixtures)
    assert smallest_p(wrong, right) < ERROR


@pytest.mark.parametrize("name", SCHEMES)
def test_on_the_grid_nodes_add_up_to_the_same_bits(name):
    x, graph = households(1, N, D, K), ring(5)
    sound = calibrated(shares_for(name, graph, 1, tuple(range(5)), 1e3), grid=GRID, marginal_share=0.25)
    together = release_together(
        sound,
        np.array_split(x, 5),
        [SafeNoise() for _ in range(5)],
        scheme(name, graph, np.random.default_rng(0)),
    )
    for other in together[1:]:
        np.testing.assert_array_equal(other.mixtures.covariances, together[0].mixtures.covariances)
        np.testing.assert_array_equal(other.marginals.means, together[0].marginals.means)


def test_what_colluding_nodes_see_costs_what_was_asked_for():
    graph = complete(NODES)
    for t in (0, 1, 3, 6, 11):
        sound = calibrated(shares_for("subspace", graph, t))
        out = sum(step.mu**2 for step in sound.plan.steps)
        assert out == pytest.approx(sound.mu**2 * (NODES - t) / NODES)
        # Each step as the colluding nodes see it: their own shares are known to them.
        shares = sound.public.sound.shares
        assert shares.seen_by_colluding * np.sqrt(NODES) * shares.of_node == pytest.approx(
            np.sqrt((NODES - t) / NODES)
        )
        seen = sum(
            (step.sensitivity / (step.noise_std * shares.of_node * np.sqrt(NODES - t))) ** 2
            for step in sound.plan.steps
        )
        assert seen == pytest.approx(gdp.mu_for(2.0, 1e-5) ** 2)
    assert shares_for("federated", graph, 0).honest == 1
    assert shares_for("secure_sum", graph, 2, tuple(range(NODES))).honest == 1


GRAPHS = {
    "example": (five_node_example(), [(1, 3), (1,), (0, 2), ()]),
    "complete": (complete(5), [(0,), (0, 1), (0, 1, 2), ()]),
    "ring": (ring(6), [(0,), (0, 3), (0, 2), ()]),
    "geometric": (random_geometric(9, np.random.default_rng(1)), [(0,), (3, 5), ()]),
}


@pytest.mark.parametrize("schedule", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("name", GRAPHS)
def test_transcripts_tell_no_more_than_the_lemma(name, schedule):
    """The transcript is linear in statistics, noise and masks: its Gaussian DP parameter is exact linear algebra."""
    graph, sets = GRAPHS[name]
    arcs, n = graph.arcs, graph.nodes
    for corrupt, ratio in itertools.product(sets, (0.3, 1.0, 8.0)):
        honest = [i for i in range(n) if i not in corrupt]
        hidden = [a for a in range(len(arcs.tail)) if arcs.tail[a] in honest and arcs.head[a] in honest]
        unknowns = len(honest) + len(hidden)
        values, dual_noise = np.zeros((n, unknowns)), np.zeros((len(arcs.tail), unknowns))
        values[honest, range(len(honest))] = 1
        dual_noise[hidden, range(len(honest), unknowns)] = ratio
        out = consensus(
            graph,
            values,
            dual_noise,
            Stop(rounds=12 * n),
            c=0.4,
            schedule=schedule,
            generator=np.random.default_rng(7),
            traced=True,
        )
        seen = out.trace.reshape(-1, unknowns)
        # e_i' A' (A A')^+ A e_i is the squared length of e_i's part in the row space of A.
        _, size, rows = np.linalg.svd(seen, full_matrices=False)
        rows = rows[size > 1e-9 * size[0]]
        cost = (rows[:, : len(honest)] ** 2).sum(axis=0)
        laplacian = ratio**2 * graph.part(honest).laplacian()
        lemma = np.diag(np.linalg.inv(np.eye(len(honest)) + laplacian / 2))
        if schedule == "synchronous":
            np.testing.assert_allclose(cost, lemma, atol=1e-6)
        else:  # the first to be active on an edge overwrites one of its two dual variables unseen
            np.testing.assert_allclose(cost, np.diag(np.linalg.inv(np.eye(len(honest)) + laplacian)), atol=1e-6)
            assert (cost <= lemma + 1e-9).all()
        assert lemma.max() <= 1 / hiding_shares(graph, corrupt, ratio) + 1e-12


def test_large_masks_leave_the_joined_honest_nodes():
    graph = five_node_example()
    assert hiding_shares(graph, (1, 3), 1e4) == pytest.approx(3, rel=1e-6)
    assert hiding_shares(five_node_example(chord=False), (1, 3), 1e4) == pytest.approx(1)
    assert hiding_shares(complete(12), (), 1e-9) == pytest.approx(1)
    shares = shares_for("subspace", complete(NODES), 3, mask_ratio=1e4)
    assert 9 * (1 - 1e-6) < shares.honest < 9


@pytest.mark.parametrize("bad", [(0, 1, 0), (3, 0, 0), (3, 4, 0), (3, 2, 3)])
def test_impossible_shares_are_refused(bad):
    with pytest.raises(InputError):
        Shares(*bad)


def test_a_node_that_fails_ends_all():
    class Broken(StudyNoise):
        def add_gaussian(self, exact, std):
            raise RuntimeError("no noise")

    x, graph = households(0, N, D, K), ring(3)
    noises = [StudyNoise(1, 0), StudyNoise(1, 1), Broken(1, 2)]
    sound = calibrated(shares_for("federated", graph, 0))
    with pytest.raises(RuntimeError, match="no noise"):
        release_together(sound, np.array_split(x, 3), noises, scheme("federated", graph, np.random.default_rng(0)))
    assert Graph.of(1, []).connected
