"""The stacks of the sound release: their exact content and, by brute force, their replace-one sensitivity."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from meterdp.mechanisms.sound import FINAL_WEIGHTS, ROUND_WEIGHTS
from meterdp.mechanisms.sound_stack import (
    RADIUS_EDGES,
    StackWeights,
    class_stack,
    clipped_residuals,
    nearest,
    radius_stack,
    smat,
    svec,
)

STACKS = [FINAL_WEIGHTS, ROUND_WEIGHTS, StackWeights(1, 1, 1), StackWeights(0, 2, 1), StackWeights(0.1, 1, 0.72)]
IDS = [f"{w.count}-{w.mean}-{w.moment}" for w in STACKS]


def contribution(v, label, weights, k=2):
    """One record's part of the stack, written out from its definition."""
    out = np.zeros((k, 1 + len(v) + len(v) * (len(v) + 1) // 2))
    outer = [math.sqrt(1 + (i != j)) * v[i] * v[j] for i in range(len(v)) for j in range(i, len(v))]
    out[label] = np.concatenate([[weights.count], weights.mean * v, weights.moment * np.array(outer)])
    return out if weights.moment else out[:, : 1 + len(v)]


def into_ball(v):
    return v / max(1.0, np.linalg.norm(v))


@pytest.mark.parametrize("weights", STACKS, ids=IDS)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_no_pair_of_records_moves_a_stack_further_than_its_sensitivity(weights, d):
    """Brute force: random pairs, then the worst of them refined by Nelder and Mead, same and different classes."""
    rng = np.random.default_rng(d)
    largest = 0.0
    for other in (0, 1):

        def distance(pair, other=other):
            u, v = into_ball(pair[:d]), into_ball(pair[d:])
            return np.linalg.norm(contribution(u, 0, weights) - contribution(v, other, weights))

        starts = sorted(rng.normal(size=(200, 2 * d)), key=distance)[-3:]
        starts.append(np.concatenate([np.eye(d)[0], -np.eye(d)[0]]))
        for start in starts:
            refined = minimize(lambda p: -distance(p), start, method="Nelder-Mead", options={"maxiter": 4000})
            largest = max(largest, distance(start), -refined.fun)
    assert largest <= weights.sensitivity * (1 + 1e-9)
    if d > 1:
        assert largest >= weights.sensitivity * 0.999, "the stated sensitivity is reached"


def test_stack_is_the_sum_of_its_records_parts():
    rng = np.random.default_rng(0)
    u = rng.uniform(-0.5, 0.5, size=(3, 40, 4))
    labels = rng.integers(0, 3, size=(3, 40))
    ours = class_stack(u, labels, 3, FINAL_WEIGHTS)
    expected = [sum(contribution(u[r, n], labels[r, n], FINAL_WEIGHTS, k=3) for n in range(40)) for r in range(3)]
    assert ours == pytest.approx(np.array(expected))
    assert class_stack(u, labels, 3, ROUND_WEIGHTS).shape == (3, 3, 5)


def test_svec_keeps_lengths_and_can_be_undone():
    a = np.random.default_rng(1).normal(size=(7, 5, 5))
    a = a + a.transpose(0, 2, 1)
    assert np.linalg.norm(svec(a), axis=1) == pytest.approx(np.linalg.norm(a, axis=(1, 2)))
    assert smat(svec(a), 5) == pytest.approx(a)


def test_residuals_are_clipped_to_the_unit_ball_and_small_ones_kept():
    y = np.array([[3.0, 4.0], [0.1, 0.0], [1e300, 1e300]])
    u = clipped_residuals(y[:2], np.zeros((1, 1, 2)), np.zeros((1, 2), dtype=int), np.array([2.0]))
    assert u[0] == pytest.approx(np.array([[0.6, 0.8], [0.05, 0.0]]))


def test_nearest_is_the_nearest():
    rng = np.random.default_rng(2)
    x, centroids = rng.normal(size=(50, 3)), rng.normal(size=(4, 5, 3))
    expected = np.linalg.norm(x[None, :, None] - centroids[:, None], axis=-1).argmin(axis=-1)
    assert (nearest(x, centroids) == expected).all()


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
