"""The error of a hockey stick is stated for covariances of any condition, against 60 digits."""

import mpmath
import numpy as np
import pytest
from mpmath import mp

from meterdp.accounting.exact_curve import exact_tails, worst_pair
from meterdp.accounting.gaussian_loss import PairLosses, pair_losses

EPSILONS = np.array([0.1, 1.0, 4.0])


def made_up(generator, condition, same):
    """Two distributions in five dimensions whose covariances have about this condition, and means near each other."""

    def covariance():
        axes = np.linalg.qr(generator.standard_normal((5, 5)))[0]
        values = condition ** -np.linspace(0, 1, 5)
        out = axes * values @ axes.T
        return (out + out.T) / 2

    first = covariance()
    second = first if same else first + 0.05 * np.min(np.linalg.eigvalsh(first)) * covariance() / 2
    root = np.linalg.cholesky(first)
    means = np.stack([np.zeros(5), root @ generator.standard_normal(5) * 0.3])
    return means, np.stack([first, (second + second.T) / 2])


def exact_losses(means, covariances):
    """gamma and nu by their definitions, in 60 digits."""
    with mpmath.workdps(60):
        first, second = (mp.cholesky(mp.matrix(c.tolist())) for c in covariances)
        turned = mp.inverse(second) * first
        values, vectors = mp.eigsy(turned * turned.T)
        away = vectors.T * (mp.inverse(second) * (mp.matrix(means[1].tolist()) - mp.matrix(means[0].tolist())))
        gamma = np.array([[float(v) for v in values]])
        return PairLosses(gamma, np.array([[float(v) for v in away]]), np.zeros(1, bool))


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("exponent", [2, 6, 9, 12, 14])
def test_the_stated_error_holds_for_any_condition(exponent, same):
    generator = np.random.default_rng(exponent)
    for _ in range(6):
        means, covariances = made_up(generator, 10.0**exponent, same)
        stated = exact_tails(pair_losses(means, covariances, [[0, 1]]), EPSILONS)
        truth = exact_tails(exact_losses(means, covariances), EPSILONS)
        error = stated.hockey_stick_error + truth.hockey_stick_error
        assert (np.abs(stated.hockey_stick - truth.hockey_stick) <= error).all()


def test_without_it_the_error_would_be_too_small_and_with_it_a_usual_one_is_no_larger():
    generator = np.random.default_rng(12)
    missed = 0
    for _ in range(20):
        means, covariances = made_up(generator, 1e12, False)
        losses = pair_losses(means, covariances, [[0, 1]])
        plain = exact_tails(PairLosses(losses.gamma, losses.nu, losses.singular), EPSILONS)
        truth = exact_tails(exact_losses(means, covariances), EPSILONS)
        missed += (np.abs(plain.hockey_stick - truth.hockey_stick) > 2 * plain.hockey_stick_error).any()
    assert missed >= 10
    losses = pair_losses(*made_up(generator, 1e3, False), [[0, 1]])
    plain = exact_tails(PairLosses(losses.gamma, losses.nu, losses.singular), EPSILONS)
    assert (exact_tails(losses, EPSILONS).hockey_stick_error <= plain.hockey_stick_error + 1e-9).all()


def test_the_worst_pair_carries_the_error_of_every_pair():
    """Pairs whose integral is not computed are bounded with their rounding, too."""
    generator, telling = np.random.default_rng(3), 0
    for scale in (0.1, 0.5, 3.0):
        for _ in range(5):
            (near, small), (_, rough) = made_up(generator, 10.0, True), made_up(generator, 1e13, False)
            means = np.concatenate([scale * near, np.zeros((2, 5))])
            losses = pair_losses(means, np.concatenate([small, rough]), [[0, 1], [2, 3]])
            found, alone = worst_pair(losses, 1.0), exact_tails(losses, [1.0])
            above = (alone.hockey_stick + alone.hockey_stick_error)[:, 0]
            assert found.delta + found.error >= above.max() * (1 - 1e-12)
            telling += above[1] > above[0]
    assert telling > 0, "the second pair is the one that nothing is certain of"


def test_a_pair_that_is_skipped_inside_a_batch_counts_with_its_error():
    """Twelve clear pairs, and two whose bound is small as nothing is certain of their covariances; none normal."""
    corner, near_one = 1.5, 1 - 1e-15
    means = np.array([[0, 0], [corner, 0], [0, corner], [corner, corner], [100, 100], [100, 100 + 3e-9]])
    clear = [size * np.eye(2) for size in (1, 1.001, 1.002, 1.003)]
    rough = np.array([[1, near_one], [near_one, 1]])
    covariances = np.array([*clear, rough, 1.001 * rough])
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b] + [(4, 5), (5, 4)]
    losses = pair_losses(means, covariances, pairs)
    found, alone = worst_pair(losses, 1.0), exact_tails(losses, [1.0])
    assert found.evaluated < len(pairs), "some are skipped"
    largest = min((alone.hockey_stick + alone.hockey_stick_error).max(), 1.0)  # no delta is above one
    assert found.delta + found.error >= largest * (1 - 1e-12)
    assert found.error > 0.1


def test_distributions_that_are_the_same_are_told_apart_by_nothing():
    means, covariances = np.zeros((2, 5)), made_up(np.random.default_rng(1), 1e13, True)[1]
    tails = exact_tails(pair_losses(means, covariances, [[0, 1]]), EPSILONS)
    assert (tails.hockey_stick == 0).all() and (tails.hockey_stick_error <= 1e-299).all()
