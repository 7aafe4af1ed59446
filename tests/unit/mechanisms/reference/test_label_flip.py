"""The published and exact families on data nobody likes: a release, or one sentence that says why not."""

from __future__ import annotations

import numpy as np
import pytest

from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.mechanisms.reference.label_flip import LabelledRecords, lemma_1_multiplier, square_roots
from meterdp.mechanisms.registry import MECHANISMS
from meterdp.mixture.gmm import fit_labels
from tests.unit.mechanisms.flips import labelled
from tests.unit.mechanisms.made_up import FLOOR, public

NAMES = [name for name, kind in MECHANISMS.items() if kind.sees == "labels" and kind.family != "sound"]
RNG = np.random.default_rng(0)
NASTY = {
    "class of one record": labelled(RNG.normal(size=(40, 3)), [1] * 25 + [2] * 14 + [3]),
    "class of two records": labelled(RNG.normal(size=(40, 3)), [1] * 25 + [2] * 13 + [3] * 2),
    "class of as many records as dimensions": labelled(RNG.normal(size=(40, 3)), [1] * 25 + [2] * 12 + [3] * 3),
    "every class of one record": labelled(RNG.normal(size=(3, 2)), [1, 2, 3]),
    "one class": labelled(RNG.normal(size=(30, 3)), [1] * 30),
    "one record": labelled(np.zeros((1, 2)), [1]),
    "all records equal": labelled(np.full((20, 3), -1.5), [1] * 12 + [2] * 8),
    "records on a line": labelled(RNG.normal(size=(40, 1)) * [1.0, 2.0, 3.0], [1] * 25 + [2] * 15),
    "one dimension": labelled(RNG.normal(size=(30, 1)), [1] * 20 + [2] * 10),
    "hardly any spread": labelled(RNG.normal(size=(30, 2)) * 1e-12, [1] * 20 + [2] * 10),
    "large spread": labelled(RNG.normal(size=(30, 2)) * 1e4, [1] * 20 + [2] * 10),
}


@pytest.mark.parametrize("case", NASTY)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e6])
def test_release_is_feasible_whatever_the_data(case, name, epsilon):
    private = NASTY[case]
    released = MECHANISMS[name].calibrate(public(private, epsilon)).release(private, StudyNoise(1, case, name), 20)
    mixtures = released.mixtures
    assert mixtures.weights.sum(axis=1) == pytest.approx(1) and mixtures.weights.min() >= 0
    assert np.isfinite(mixtures.means).all()
    scale = np.abs(mixtures.covariances).max(axis=(-1, -2))
    assert (np.linalg.eigvalsh(mixtures.covariances)[..., 0] >= FLOOR - 1e-12 * scale).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_component_may_label_nobody(name):
    x = np.random.default_rng(2).normal(size=(60, 2))
    fit = fit_labels(x, np.arange(60) % 3 + 1, FLOOR)
    fit.labels[fit.labels == 3] = 1
    private = LabelledRecords(x, fit)
    assert 3 not in private.labels and len(fit.counts) == 3
    released = MECHANISMS[name].calibrate(public(private, 1.0)).release(private, StudyNoise(3, name), 5)
    assert np.isfinite(released.mixtures.means).all() and np.isfinite(released.mixtures.covariances).all()


@pytest.mark.parametrize("name", NAMES)
def test_epsilon_too_small_for_floating_point_is_refused(name):
    settings = public(NASTY["one class"], 1e-7)
    with pytest.raises(InputError, match="field 'epsilon': is so small that the noise leaves no digit"):
        MECHANISMS[name].calibrate(settings)


def test_lemma_1_is_what_it_says():
    epsilon, delta = np.array([0.5, 2.0]), 1e-5
    assert 2 * np.log(2 / delta) / lemma_1_multiplier(epsilon, delta) ** 2 == pytest.approx(epsilon**2)


def test_square_roots_of_singular_matrices():
    v = np.array([[1.0, 2.0, 3.0]])
    for matrix in (v.T @ v, np.zeros((3, 3)), np.diag([4.0, 0.0, 1e-12])):
        root = square_roots(matrix)
        assert root @ root.T == pytest.approx(matrix, abs=1e-12)
