"""Noise in shares: with t = 0 the central release in distribution; what colluding nodes see, against the proof
note."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.federated.graph import complete, ring
from meterdp.federated.shared_noise import SharedSums, release_together, shares_for
from meterdp.federated.summation import decoded, encoded
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings
from meterdp.mechanisms.proven.domain import Ball
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.plan import ALONE, ProvenSettings, Shares, step_entries
from meterdp.privacy import gaussian
from meterdp.privacy.noise import GRID, SafeNoise
from tests.unit.mechanisms.made_up import FLOOR, HIGH, LOW, households, prior_mixture

N, D, K, NODES = 240, 2, 3, 12
DRAWS = 1000
# Chance that equal distributions are told apart, over all the numbers compared.
ERROR = 1e-6


def calibrated(shares=ALONE, epsilon=2.0, **others):
    settings = ProvenSettings(shares=shares, **others)
    return Proven.calibrate(PublicSettings(epsilon, 1e-5, K, D, N, LOW, HIGH, FLOOR, settings))


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


@pytest.mark.parametrize(("name", "colluding"), [("secure_sum", 0), ("edge_masks", 3)])
def test_it_is_the_central_release_in_distribution(name, colluding):
    """With nobody colluding that of the same epsilon; otherwise one with the noise of all nodes."""
    x, shared = households(0, N, D, K), SharedSums(name, complete(NODES), colluding)
    noises = [StudyNoise(1, "shares", name, i) for i in range(NODES)]
    together = release_together(
        calibrated(shared.shares), shared, parts_of(x), noises, np.random.default_rng(2), DRAWS
    )
    alone = calibrated() if colluding == 0 else calibrated(shared.shares)
    central = numbers(alone.release(PrivateRecords(x), StudyNoise(3, "central"), DRAWS).mixtures)
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


class Recorded:
    """The central noise of a release, drawn once, told to one node; the others add none."""

    def __init__(self, source, factor, silent=False):
        self.grid, self.source, self.factor, self.silent, self.std = source.grid, source, factor, silent, []

    def add_gaussian(self, exact, std):
        self.std.append(std)
        return exact + 0.0 if self.silent else self.source.add_gaussian(exact, self.factor * std)


class Replayed:
    """Noise that was drawn for zeros, so that two runs can have the same."""

    def __init__(self, grid):
        self.grid, self.kept, self.place = grid, [], 0

    def add_gaussian(self, exact, std):
        if self.place == len(self.kept):
            source = SafeNoise() if self.grid else StudyNoise(5, "replayed", self.place)
            self.kept.append(source.add_gaussian(np.zeros(exact.shape), std))
        self.place += 1
        return exact + self.kept[self.place - 1]


KINDS = {
    "with marginals": dict(marginal_share=0.25),
    "add_remove": dict(adjacency="add_remove", records_guess=N),
    "ball": dict(ball=Ball(6.0)),
    "prior_mixture": dict(adjacency="add_remove", records_guess=N, prior_mixture=prior_mixture(D, 2)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["federated", "secure_sum", "edge_masks"])
def test_on_the_grid_nodes_add_up_to_the_bits_of_the_central_release(name, kind):
    """All the noise at one node, none at the others: statistics of parts are those of the whole, exactly."""
    x, shared = households(1, N, D, K), SharedSums(name, ring(5), 1)
    sound = calibrated(shared.shares, grid=GRID, **KINDS[kind])
    once = Replayed(GRID)
    central = sound.release(PrivateRecords(x), once, 1)
    once.place = 0
    sources = [Recorded(once, np.sqrt(5), silent=i != 3) for i in range(5)]
    parts = np.split(x, [0, 17, 100, 101])
    together = release_together(sound, shared, parts, sources, np.random.default_rng(0))
    for part in ("weights", "means", "covariances"):
        np.testing.assert_array_equal(getattr(together[4].mixtures, part), getattr(central.mixtures, part))
    if kind == "with marginals":
        np.testing.assert_array_equal(together[2].marginals.means, central.marginals.means)
    # What every node is to draw: a fifth of the variance of each step.
    planned = [step.noise_std for step in sound.plan.steps]
    for source in sources:
        np.testing.assert_allclose(np.array(source.std) * np.sqrt(5), planned, rtol=1e-12)


def test_what_colluding_nodes_see_costs_what_was_asked_for():
    for t in (0, 1, 3, 6, 11):
        sound = calibrated(SharedSums("edge_masks", complete(NODES), t).shares)
        # Against the noise that honest nodes draw, n - t shares of 1/n each.
        honest = np.sqrt((NODES - t) / NODES)
        seen = sum((step.sensitivity / (honest * step.noise_std)) ** 2 for step in sound.plan.steps)
        assert seen == pytest.approx(gaussian.mu_for(2.0, 1e-5) ** 2)
    on_grid = calibrated(SharedSums("edge_masks", complete(NODES), 3).shares, grid=GRID)
    entries = sum(step_entries(step, on_grid.plan.classes, D) / step.noise_std**2 for step in on_grid.plan.steps)
    assert on_grid.total_variation == pytest.approx(entries * 12 / 9 * GRID**2 / 8, rel=1e-6)
    assert shares_for("federated", complete(NODES), 0).honest == 1
    assert shares_for("secure_sum", complete(NODES), 2, tuple(range(NODES))).honest == 1


def test_a_crowded_bin_is_no_reason_to_refuse():
    """A node whose value would not fit alone must not be told apart from one whose value does."""
    count = 370_000
    for rows in (count, count - 1):
        x = np.concatenate([np.full((rows, D), -1.2), households(2, 2 * count - rows, D, K)])
        shared = SharedSums("edge_masks", complete(NODES), 1)
        sound = Proven.calibrate(
            PublicSettings(2.0, 1e-5, K, D, len(x), LOW, HIGH, FLOOR, ProvenSettings(shares=shared.shares, rounds=1))
        )
        parts = [x[:count], *np.array_split(x[count:], NODES - 1)]
        noises = [StudyNoise(1, "crowd", i) for i in range(NODES)]
        out = release_together(sound, shared, parts, noises, np.random.default_rng(0))
        assert np.isfinite(out[0].mixtures.covariances).all()


def test_values_that_wrap_add_up():
    big = np.array([[2.0**62.5], [-(2.0**62)], [2.0**63], [3.0 - 2.0**62]]) * GRID
    total = decoded(encoded(big, GRID, 4, wraps=True).sum(axis=0, dtype=np.uint64), GRID)
    exact = sum(int(v) for v in (big / GRID).ravel())
    assert int(total[0] / GRID) % 2**64 == exact % 2**64
    with pytest.raises(InputError):
        encoded(big, GRID, 4)


def test_two_discrete_gaussians_add_up_to_one():
    """Lemma 3, summed: at scales of a few steps already to fifteen digits."""
    n = np.arange(-400, 401)

    def distribution(scale):
        p = np.exp(-(n**2) / (2 * scale**2))
        return p / p.sum()

    for a, b in ((4.0, 4.0), (4.0, 9.0), (6.0, 6.0 * np.sqrt(11))):
        both = np.convolve(distribution(a), distribution(b))[400:-400]
        np.testing.assert_allclose(both[200:-200], distribution(np.hypot(a, b))[200:-200], rtol=1e-9, atol=1e-18)


def test_what_does_not_belong_together_is_refused():
    x, shared = households(0, N, D, K), SharedSums("secure_sum", ring(4), 1)
    sound, parts = calibrated(shared.shares), np.array_split(x, 4)
    noises, masks = [StudyNoise(1, i) for i in range(4)], np.random.default_rng(0)
    with pytest.raises(ValueError, match="other shares"):
        release_together(sound, SharedSums("federated", ring(4), 1), parts, noises, masks)
    with pytest.raises(ValueError, match="of its own"):
        release_together(sound, shared, parts, noises[:1] * 4, masks)
    with pytest.raises(ValueError, match="of its own"):
        release_together(sound, shared, parts[:3], noises[:3], masks)
    with pytest.raises(InputError, match="not as many as public"):
        release_together(sound, shared, [part[:-1] for part in parts], noises, masks)
    with pytest.raises(ValueError, match="another grid"):
        release_together(sound, shared, parts, [SafeNoise() for _ in range(4)], masks)


@pytest.mark.parametrize("bad", [(0, 1, 0), (3, 0, 0), (3, 4, 0), (3, 2, 3), (5, 5, 4)])
def test_impossible_shares_are_refused(bad):
    with pytest.raises(InputError):
        Shares(*bad)


def test_a_node_that_fails_ends_all():
    class Broken(StudyNoise):
        def add_gaussian(self, exact, std):
            raise RuntimeError("no noise")

    x, graph = households(0, N, D, K), ring(3)
    noises, shared = [StudyNoise(1, 0), StudyNoise(1, 1), Broken(1, 2)], SharedSums("federated", graph, 0)
    with pytest.raises(RuntimeError, match="no noise"):
        release_together(calibrated(shared.shares), shared, np.array_split(x, 3), noises, np.random.default_rng(0))
