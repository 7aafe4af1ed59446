"""The stacks of the sound release: their exact content and, by brute force, their replace-one sensitivity."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.special import softmax

from meterdp.mechanisms.proven.domain import Ball, Loads
from meterdp.mechanisms.proven.plan import POOLED_WEIGHTS
from meterdp.mechanisms.proven.stack import RADIUS_EDGES, StackWeights, moment_stack, radius_stack
from meterdp.privacy.mechanism import clip_to_unit_ball
from meterdp.solvers.svec import smat, svec
from tests.unit.mechanisms.made_up import farthest

STACKS = [
    Loads.round_weights,
    Ball.round_weights,
    POOLED_WEIGHTS,
    StackWeights(1, 1, 1),
    StackWeights(0, 2, 1),
    StackWeights(0.1, 1, 0.72),
]
IDS = [f"{w.count}-{w.mean}-{w.moment}" for w in STACKS]


@cache
def pairs(d):
    """Rows and columns of an upper triangle, and the factor of each entry: off the diagonal it stands for two."""
    i, j = np.array([(i, j) for i in range(d) for j in range(i, d)]).T
    return i, j, np.sqrt(1 + (i != j))


def part(v, weights):
    """(a, b v, c svec(v v')), written out from its definition, of vectors (..., d)."""
    i, j, factor = pairs(v.shape[-1])
    count = np.broadcast_to(float(weights.count), (*v.shape[:-1], 1))
    return np.concatenate([count, weights.mean * v, weights.moment * factor * v[..., i] * v[..., j]], axis=-1)


def contribution(parameters, weights, d, k=2):
    """Stacks of records (..., k + k d): soft responsibilities and residuals, all free within their bounds."""
    share = softmax(parameters[..., :k], axis=-1)
    v = parameters[..., k:].reshape(*parameters.shape[:-1], k, d)
    v = v / np.maximum(1.0, np.sqrt((v * v).sum(axis=-1, keepdims=True)))
    return share[..., None] * part(v, weights)


def length(stacks):
    """Euclidean lengths of stacks (..., k, q)."""
    return np.sqrt((stacks * stacks).sum(axis=(-2, -1)))


def largest(d, distance, size):
    """Brute force: random records, hard labels and opposite points, the worst refined by random steps."""
    random = np.random.default_rng(d).normal(size=(300, size)) * 3
    starts = list(random[np.argsort(distance(random))[-3:]])
    e = np.eye(d)[0] * 1.0
    reweighted = np.cos(2.0) * e + (np.sin(2.0) * np.eye(d)[1] if d > 1 else 0)
    for label, v in ((0, -e), (0, reweighted), (1, e)):
        one, two = (np.array([40.0, 0.0]), e), (np.array([40.0, 0.0])[:: -1 if label else 1], v)
        starts.append(np.concatenate([np.concatenate([a, b, b]) for a, b in (one, two)])[:size])
    return farthest(distance, starts)


@pytest.mark.parametrize("weights", STACKS, ids=IDS)
@pytest.mark.parametrize("d", [1, 2, 4])
def test_no_pair_of_records_moves_a_stack_further_than_its_replace_one_sensitivity(weights, d):
    def distance(pair):
        records = contribution(pair.reshape(*pair.shape[:-1], 2, -1), weights, d)
        return length(records[..., 0, :, :] - records[..., 1, :, :])

    found = largest(d, distance, 4 + 4 * d)
    assert found <= weights.sensitivity("replace_one") * (1 + 1e-9)
    if d > 1:
        assert found >= weights.sensitivity("replace_one") * 0.99, "the stated sensitivity is reached"


@pytest.mark.parametrize("weights", STACKS, ids=IDS)
@pytest.mark.parametrize("d", [1, 2, 4])
def test_no_record_adds_more_than_the_add_remove_sensitivity(weights, d):
    found = largest(d, lambda record: length(contribution(record, weights, d)), 2 + 2 * d)
    assert found <= weights.sensitivity("add_remove") * (1 + 1e-9)
    assert found >= weights.sensitivity("add_remove") * 0.999


@pytest.mark.parametrize("weights", STACKS, ids=IDS)
def test_a_flipped_label_moves_one_part_between_two_classes(weights):
    """A unit residual of the old class leaves, another unit residual enters: the two lengths add in square."""
    moved = math.hypot(*(np.linalg.norm(part(v, weights)) for v in (np.eye(3)[0], -np.eye(3)[1])))
    assert weights.sensitivity("label_flip") == pytest.approx(moved)


def test_where_all_share_one_class_only_its_residual_can_move():
    """Oracle: the worst angle between two unit vectors, on a grid."""
    weights, angles = POOLED_WEIGHTS, np.linspace(0, np.pi, 20001)
    v = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    worst = max(np.linalg.norm(part(np.array([1.0, 0.0]), weights) - part(u, weights)) for u in v[::10])
    assert weights.sensitivity("replace_one", classes=1) == pytest.approx(worst, rel=1e-5)
    assert weights.sensitivity("replace_one", classes=1) <= weights.sensitivity("replace_one")


def test_stack_is_the_sum_of_its_records_parts():
    rng = np.random.default_rng(0)
    u = rng.uniform(-0.5, 0.5, size=(3, 40, 4))
    share = rng.uniform(size=(3, 40))
    expected = [sum(share[r, n] * part(u[r, n], Loads.round_weights) for n in range(40)) for r in range(3)]
    assert moment_stack(u, Loads.round_weights, share) == pytest.approx(np.array(expected))
    assert moment_stack(u, Loads.round_weights) == pytest.approx(
        moment_stack(u, Loads.round_weights, np.ones((3, 40)))
    )


def test_svec_keeps_lengths_and_can_be_undone():
    a = np.random.default_rng(1).normal(size=(7, 5, 5))
    a = a + a.transpose(0, 2, 1)
    assert np.linalg.norm(svec(a), axis=1) == pytest.approx(np.linalg.norm(a, axis=(1, 2)))
    assert smat(svec(a), 5) == pytest.approx(a)


def test_residuals_are_clipped_to_the_unit_ball_and_small_ones_kept():
    z = np.array([[1.5, 2.0], [0.05, 0.0], [1e150, 1e150]])
    expected = np.array([[0.6, 0.8], [0.05, 0.0], [math.sqrt(0.5), math.sqrt(0.5)]])
    assert clip_to_unit_ball(z) == pytest.approx(expected)


def test_radius_histogram_counts_every_record_once_and_replacing_one_moves_it_by_root_two():
    rng = np.random.default_rng(3)
    z = rng.normal(size=(500, 6)) * np.exp(3 * rng.normal(size=(500, 1)))
    z[0], z[1] = 0.0, 1e9
    histogram = radius_stack(z)
    assert histogram.sum() == 500
    assert len(histogram) == len(RADIUS_EDGES) - 1
    assert histogram[0] >= 1
    assert histogram[-1] >= 1
    moved = z.copy()
    moved[0] = 1e9
    assert np.linalg.norm(radius_stack(moved) - histogram) == pytest.approx(math.sqrt(2))
