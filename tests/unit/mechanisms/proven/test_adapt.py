"""Adapting a public prior mixture: what one record may move, what is learnt from exact stacks, when it is done."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import softmax

from meterdp.core.config import complete, load_schema
from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise
from meterdp.core.provenance import shipped
from meterdp.errors import InputError
from meterdp.evaluation.cost import average_profile_kwh
from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings
from meterdp.mechanisms.proven.adapt import (
    COSINE_REACH,
    COSINE_STD,
    ENOUGH_FOR_ROUNDS,
    ENOUGH_FOR_TWO,
    ENTRY_REACH,
    ENTRY_STD,
    LEAST_WEIGHT,
    OWN_STD,
    RADIUS,
    WEIGHTS,
    AdaptWeights,
    adapt_entries,
    adapt_plan,
    adapt_stack,
    adapted,
    differences,
    energy_share,
    level_for_energy,
    likeliest_shape,
)
from meterdp.mechanisms.proven.domain import MOST_KWH, Ball, Loads
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.plan import MOST_ROUNDS, ProvenSettings, make_plan
from meterdp.mechanisms.proven.prior_mixture import PriorMixture
from meterdp.mixture.density import mean_log_likelihood
from meterdp.mixture.draws import MixtureDraws, sample
from meterdp.mixture.gmm import fit_labels, kmeans_labels
from meterdp.privacy.mechanism import measure_with
from tests.statistical.replay import recorded
from tests.unit.mechanisms.made_up import FLOOR, HIGH, LOW, farthest, households, prior_mixture

EVERYWHERE = Loads(-np.inf, np.inf, 0.0, 0.0)

STACKS = [
    WEIGHTS,
    AdaptWeights(1, 1, 1, 1),
    AdaptWeights(0.3, 0.2, 1, 0),
    AdaptWeights(0.1, 1, 3, 0.5),
    AdaptWeights(0.5, 1, 0.2, 2),
]
IDS = [f"{w.count}-{w.mean}-{w.moment}-{w.energy}" for w in STACKS]


def contribution(parameters, weights, d, k=2):
    """Stacks of records (..., k + k d + 1), written out: free soft shares, one free residual per class, an energy."""
    share = softmax(parameters[..., :k], axis=-1)
    v = parameters[..., k:-1].reshape(*parameters.shape[:-1], k, d)
    square = (v * v).sum(axis=-1, keepdims=True)
    weight = share[..., None] / np.maximum(1.0, np.sqrt(square))
    parts = [weights.count * share, weights.mean * (weight * v).sum(axis=-2)]
    u = v / np.maximum(1.0, np.sqrt(square))
    moment = (share[..., None, None] * u[..., :, None] * u[..., None, :]).sum(axis=-3)
    rows, columns = np.triu_indices(d)
    parts.append(weights.moment * np.where(rows == columns, 1, math.sqrt(2)) * moment[..., rows, columns])
    return np.concatenate([*parts, weights.energy * np.clip(parameters[..., -1:], 0, 1)], axis=-1)


def largest(d, distance, size):
    """Brute force: random records and known extremes, the worst refined by random steps."""
    rng = np.random.default_rng(d)
    random = rng.normal(size=(300, size)) * 3
    starts = list(random[np.argsort(distance(random))[-3:]])
    for cosine in np.linspace(-1, 1, 41):  # wholly in one class each, at every angle
        one, two = np.zeros(d), np.zeros(d)
        one[0], two[0] = 1.0, cosine
        if d > 1:
            two[1] = math.sqrt(1 - cosine**2)
        starts.append(np.concatenate([[40.0, 0.0], one, one, [1.0], [0.0, 40.0], two, two, [0.0]])[:size])
    return farthest(distance, [*starts[:3], max(starts, key=distance)])


@pytest.mark.parametrize("weights", STACKS, ids=IDS)
@pytest.mark.parametrize("d", [1, 2, 4])
def test_no_pair_of_records_moves_a_stack_further_than_its_sensitivity_and_some_pair_does(weights, d):
    half = 2 + 2 * d + 1

    def length(stacks):
        return np.sqrt((stacks * stacks).sum(axis=-1))

    def replaced(pair):
        records = contribution(pair.reshape(*pair.shape[:-1], 2, half), weights, d)
        return length(records[..., 0, :] - records[..., 1, :])

    def added(record):
        return length(contribution(record, weights, d))

    for adjacency, distance, size in (("replace_one", replaced, 2 * half), ("add_remove", added, half)):
        found = largest(d, distance, size)
        assert found <= weights.sensitivity(adjacency) * (1 + 1e-9)
        # On a line there are no right angles, which the bound allows for.
        assert d == 1 or found >= weights.sensitivity(adjacency) * 0.995


def test_stack_is_the_sum_of_its_records_parts():
    public, x = prior_mixture(6), households(3, 50, 6, 3)
    mixture = MixtureDraws.single(public.mixture)
    values, vectors = np.linalg.eigh(mixture.covariances)
    roots = (vectors * np.sqrt(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    radius, expected = 2.0, 0
    for row in x:
        z = [np.linalg.solve(r, row - m) for r, m in zip(roots[0], public.mixture.means, strict=True)]
        density = [
            w * math.exp(-v @ v / 2) / np.linalg.det(r)
            for w, v, r in zip(public.mixture.weights, z, roots[0], strict=True)
        ]
        logits = np.log(np.maximum(density, 1e-300))
        energy = [np.exp(row).mean() / MOST_KWH]
        expected = expected + contribution(
            np.concatenate([logits, *(v / radius for v in z), energy]), WEIGHTS, 6, len(z)
        )
    exact = adapt_stack(x, EVERYWHERE, mixture, roots, radius, 0.0)
    assert exact[0] == pytest.approx(expected)
    assert adapt_stack(x, EVERYWHERE, mixture, roots, radius, 2.0**-20)[0] == pytest.approx(
        expected, abs=50 * 2.0**-20
    )


def test_without_noise_the_shift_and_the_covariance_of_a_gaussian_are_found():
    """Oracle: the parameters of the distribution the records are drawn from, near the prior mixture's."""
    d, n = 8, 200_000
    rng = np.random.default_rng(1)
    shift, odd = 0.1 * rng.normal(size=d), rng.normal(size=(d, d))
    covariance = 1.3 * (np.eye(d) + 0.1 * (odd + odd.T) / 2)
    radius = 1.1 * math.sqrt(d)
    x = rng.multivariate_normal(shift, covariance, n)
    stack = adapt_stack(x, EVERYWHERE, MixtureDraws(np.ones((1, 1)), np.zeros((1, 1, d)), np.eye(d)[None, None]),
                        np.eye(d)[None, None], radius, 0.0)  # fmt: skip
    weights, found, shape = adapted(stack, 1e-9, np.ones((1, 1)), np.array([float(n)]), radius, differences(Loads, d))
    assert weights[0] == pytest.approx([1.0])
    assert found[0] == pytest.approx(shift, abs=0.03)
    assert shape[0] == pytest.approx(covariance, abs=0.06)


@pytest.mark.parametrize("kind", [Loads, Ball])
def test_overwhelming_noise_leaves_the_prior_mixture_as_it_is(kind):
    prior, d = np.array([[0.7, 0.25, 0.05]]), 6
    noisy = np.random.default_rng(2).normal(size=(500, adapt_entries(3, d))) * 1e6
    weights, shift, shape = adapted(noisy, 1e6, prior, np.full(500, 100.0), 2.0, differences(kind, d))
    assert np.abs(weights - prior).max() < 0.02
    assert np.abs(shift).max() < 1e-2
    assert np.abs(shape - np.eye(d)).max() < 1e-2


@pytest.mark.parametrize("noise", [0.01, 0.3])
def test_the_shape_is_the_posterior_mean_under_the_prior(noise):
    """Oracle: the normal equations with the covariance of the prior written out, entry by entry."""
    d = 5
    rows, columns = np.triu_indices(d)
    twice = np.where(rows == columns, 1.0, math.sqrt(2))
    j = np.arange(d)
    waves = np.cos(np.pi * (j[:, None] + 0.5) * j / d)
    waves /= np.linalg.norm(waves, axis=0)
    prior = OWN_STD**2 * np.eye(len(rows))
    for a in range(d):
        for b in range(d):
            entries = ENTRY_STD**2 * math.exp(-0.5 * ((a - b) / ENTRY_REACH) ** 2)
            turns = COSINE_STD**2 * math.exp(-0.5 * (math.log((a + 1) / (b + 1)) / COSINE_REACH) ** 2)
            one, two = (twice * np.outer(waves[:, c], waves[:, c])[rows, columns] for c in (a, b))
            prior += entries * np.outer((rows == columns) & (rows == a), (rows == columns) & (rows == b))
            prior += turns * np.outer(one, two)
    odd = np.random.default_rng(4).normal(size=(d, d))
    shape = np.eye(d) + 0.2 * (odd + odd.T)
    difference = twice * (shape - np.eye(d))[rows, columns]
    expected = prior @ np.linalg.solve(prior + noise * np.eye(len(rows)), difference)
    found = likeliest_shape(shape[None], np.array([noise]), differences(Loads, d))[0] - np.eye(d)
    assert twice * found[rows, columns] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("noise", [1e-6, 1e6])
def test_levels_move_to_the_energy_that_was_measured_as_far_as_its_noise_deserves(noise):
    """Oracle: the mean energy of profiles drawn from the moved mixture."""
    loads = Loads(LOW, HIGH, 0.0, 0.0)
    mixtures = MixtureDraws.single(prior_mixture(6).mixture)
    x, _ = sample(mixtures.draw(0), 20_000, StudyNoise(1, "energy"))
    wanted = energy_share(loads.clip(loads.clip(x) - 0.5), loads).mean()
    moved = level_for_energy(mixtures, np.array([wanted]), np.array([noise]), loads)
    assert moved[0] == pytest.approx(-0.5 if noise < 1 else 0.0, abs=0.1)


def test_homes_at_a_third_of_the_level_of_the_prior_mixture_are_not_given_it():
    """Before, a hundred homes kept the level of the prior mixture: three times their mean energy."""
    public, x = prior_mixture(12), np.clip(households(9, 500) - 1.1, LOW, HIGH)
    settings = PublicSettings(2.0, 1e-5, 6, 12, 500, LOW, HIGH, FLOOR, sound=ProvenSettings(prior_mixture=public))
    released = Proven.calibrate(settings).release(PrivateRecords(x), StudyNoise(1, "level"), 20)
    scale = LogScale(float(np.exp(LOW)), float(np.exp(HIGH)))
    ratio = average_profile_kwh(released.mixtures, scale) / np.exp(x).mean(axis=0)
    assert ratio.min() > 0.5
    assert ratio.max() < 2


def test_homes_that_all_use_much_are_found_by_the_marginals():
    """With electric heating half of them count with less than they use, and a mixture alone comes out too high."""
    generator = np.random.default_rng(2)
    level = np.log(4) + 0.4 * generator.normal(size=(420, 1))
    x = np.minimum(level + 0.4 * generator.normal(size=(420, 24)), np.log(20))
    config = complete({}, load_schema(shipped("workflow/schemas/config.schema.yaml")))
    sections = (config[section] for section in ("mechanisms", "mixture", "profiles"))
    public = public_settings(1.0, 1e-5, x.shape, *sections)
    measure = measure_with(StudyNoise(1, "heating"), 0.0)
    released, beside = Proven.calibrate(public).run_whole(x, measure, 4)
    fitted = [MixtureDraws.single(one.fitted(public.eigenvalue_floor)) for one in beside]
    of = [average_profile_kwh(mixtures, public.log_scale).mean() for mixtures in (released.mixtures, *fitted)]
    off, *fitted_off = np.array(of) / np.exp(x).mean() - 1
    assert off > 0.3 and np.abs(fitted_off).max() < 0.3


def test_weights_stay_a_mixture_with_a_floor():
    prior = np.array([[0.5, 0.4, 0.1]])
    noisy = np.random.default_rng(3).normal(size=(500, adapt_entries(3, 4))) * 300
    weights, _, _ = adapted(noisy, 20.0, prior, np.full(500, 200.0), 2.0, differences(Loads, 4))
    assert weights.sum(axis=1) == pytest.approx(1)
    assert (weights * weights.shape[1] > LEAST_WEIGHT * prior.min() / 100).all()


def test_a_step_sees_the_records_under_what_the_step_before_released():
    """Oracle: the stacks written out, of the public mixture and then of every draw's own."""
    n, d, draws = 120, 6, 3
    x = households(3, n, d, 3)
    settings = ProvenSettings("replace_one", records_guess=n, prior_mixture=prior_mixture(d))
    mechanism = Proven.calibrate(PublicSettings(2.0, 1e-5, 3, d, n, LOW, HIGH, FLOOR, settings))
    ((log, released),) = recorded(
        mechanism, lambda spied: spied.release(PrivateRecords(x), StudyNoise(1, "steps"), draws)
    )
    (_, first, _), (_, second, _) = log
    start = MixtureDraws.single(settings.prior_mixture.mixture)
    between = released.responsibilities_model
    radius = RADIUS * math.sqrt(d)

    def stack(mixture):
        values, vectors = np.linalg.eigh(mixture.covariances)
        roots = (vectors * np.sqrt(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        return adapt_stack(x, mechanism.domain, mixture, roots, radius, 0.0)

    k = start.weights.shape[1]
    assert first == pytest.approx(np.repeat(stack(start), draws, axis=0))
    # The classes of what is released are in the order of its weights.
    assert np.sort(second[:, :k], axis=1) == pytest.approx(np.sort(stack(between)[:, :k], axis=1))
    assert second[:, k:] == pytest.approx(stack(between)[:, k:])
    assert not np.allclose(second[0], second[1])


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_a_public_rule_says_whether_rounds_follow(adjacency):
    public = prior_mixture(12)
    for mu in (0.1, 0.3, 1.0):
        for n in (100, 1409, 20_000):
            plan = make_plan(mu, n, 12, 6, ProvenSettings(adjacency, records_guess=n, prior_mixture=public))
            assert (plan.rounds == ()) == (n * mu / 12 < ENOUGH_FOR_ROUNDS)
            assert plan.classes == public.classes
            two = n * mu / 12 >= ENOUGH_FOR_TWO
            assert len(plan.steps_of("adapt")) == 1 + two
            assert sum(s.mu**2 for s in plan.steps) == pytest.approx(mu**2, rel=1e-12)
    assert adapt_plan(1e9, None, MOST_ROUNDS)[1] == MOST_ROUNDS
    with pytest.raises(InputError, match=r"field 'prior_mixture'.*classes of null"):
        ProvenSettings(classes=3, prior_mixture=public)


def test_a_small_export_is_described_a_nat_better_from_a_prior_mixture_of_other_households():
    """The bar of the design, on other households of classes the prior mixture knows, at another level."""
    x = households(77, 8000)
    known, x = x[:3000], np.clip(x[3000:] + 0.3, LOW, HIGH)
    train, test = PrivateRecords(x[:500]), x[500:]
    public = PriorMixture(fit_labels(known, kmeans_labels(known, 8, 0), FLOOR).mixture, "")
    found = {}
    for name, classes in (("own start", None), ("prior_mixture", public)):
        settings = PublicSettings(
            0.5, 1e-5, 6, 12, 500, LOW, HIGH, FLOOR, sound=ProvenSettings(prior_mixture=classes)
        )
        mixtures = Proven.calibrate(settings).release(train, StudyNoise(2, "bar"), 10).mixtures
        found[name] = mean_log_likelihood(test, mixtures).mean()
    assert found["prior_mixture"] >= found["own start"] + 1.0
