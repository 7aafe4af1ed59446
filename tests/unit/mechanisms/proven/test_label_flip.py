"""The sound release of given labels: same unit of privacy as the paper, with a proof."""

from __future__ import annotations

import numpy as np
import pytest

from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.proven.label_flip import ProvenLabelFlip
from meterdp.mechanisms.reference.label_flip import LabelledRecords
from meterdp.mixture.density import kl_joint
from meterdp.mixture.gmm import fit_labels
from meterdp.privacy import gaussian
from tests.unit.mechanisms.made_up import FLOOR, public, records


def test_rounds_compose_to_exactly_the_budget():
    mechanism = ProvenLabelFlip.calibrate(public(records(0, n=200, d=3, k=2), 2.0))
    assert gaussian.compose(*(s.mu for s in mechanism.steps)) == pytest.approx(gaussian.mu_for(2.0, 1e-5), rel=1e-12)
    assert mechanism.guarantee.adjacency == "label_flip"
    assert "not protected" in mechanism.guarantee.unit


def test_with_a_large_budget_it_is_the_fit_of_the_given_labels():
    """Oracle: (2a)-(2c). Classes are cut by K-means, not Gaussian, so clipping leaves a bias of about 0.05 nat."""
    private = records(3, n=4000, d=3, k=3)
    mechanism = ProvenLabelFlip.calibrate(public(private, 500.0))
    released = mechanism.release(private, StudyNoise(1, "flip"), 20)
    assert kl_joint(released.mixtures, private.fit.mixture).mean() < 0.1
    assert released.mixtures.weights.mean(axis=0) == pytest.approx(private.fit.mixture.weights, abs=2e-3)
    assert released.responsibilities_model is None, "the classes are those of the given labels, in their order"


def test_divergence_falls_with_epsilon():
    private = records(4, n=1500, d=3, k=3)
    costs = [
        kl_joint(
            ProvenLabelFlip.calibrate(public(private, e)).release(private, StudyNoise(2, "flip"), 60).mixtures,
            private.fit.mixture,
        ).mean()
        for e in (0.5, 2.0, 8.0)
    ]
    assert costs[0] > costs[1] > costs[2]


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 50.0])
def test_degenerate_classes_get_finite_releases(epsilon):
    rng = np.random.default_rng(0)
    x = np.vstack([rng.normal(size=(30, 4)), np.full((5, 4), 2.0), rng.normal(size=(1, 4))])
    private = LabelledRecords(x, fit_labels(x, np.repeat([1, 2, 3], [30, 5, 1]), FLOOR))
    mixtures = (
        ProvenLabelFlip.calibrate(public(private, epsilon)).release(private, StudyNoise(3, "flip"), 50).mixtures
    )
    assert np.isfinite(mixtures.means).all()
    assert np.linalg.eigvalsh(mixtures.covariances).min() > 0
    assert mixtures.weights.min() > 0
