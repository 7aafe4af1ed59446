"""The coloured baseline with l1 bounds: means as without, weights and covariances as the i.i.d. one with them."""

from __future__ import annotations

from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.reference.baseline import ColouredGaussian, ColouredGaussianL1, IidGaussianL1
from tests.unit.mechanisms.made_up import public, records


def test_claim_is_the_papers_and_not_for_release():
    guarantee = ColouredGaussianL1.calibrate(public(records(0, n=60, d=2, k=2), 2.0)).guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.adjacency) == (2.0, 1e-5, "label_flip")
    assert guarantee.family == "published"
    assert guarantee.proof == "docs/proofs/coloured_gaussian.md"


def test_only_weights_and_covariances_have_an_l1_bound():
    private = records(0, n=200, d=3, k=3)
    settings = public(private, 1.0)
    ours, means, others = (
        kind.calibrate(settings).release(private, StudyNoise(1, "same"), 50).mixtures
        for kind in (ColouredGaussianL1, ColouredGaussian, IidGaussianL1)
    )
    assert (ours.means == means.means).all()
    assert (ours.weights == others.weights).all()
    assert (ours.covariances == others.covariances).all()
    assert (ours.covariances != means.covariances).any()
