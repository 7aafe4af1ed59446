"""One test per defect of Park et al., P1 to P7: the number as found, by a second route wherever there is one.

The findings come from fixed streams. Where they are random the second route has its own random numbers, and bounds
are at least 6.5 standard errors: false alarm below 1e-9.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from scipy.stats import norm

from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.dpem.mechanism import EmSettings, MixtureModel, Perturbation, mirrored
from meterdp.mixture.gmm import ClassSums
from meterdp_papers.park import errata as stated
from meterdp_papers.park.clusters import spectral_norm

SIGMAS = 6.5


def closed(finding, rel=1e-6) -> bool:
    return finding.value == pytest.approx(finding.closed_form, rel=rel)


def agrees(finding) -> bool:
    return abs(finding.value - finding.closed_form) < SIGMAS * finding.standard_error


def test_P1_the_largest_norm_moves_all_records(findings):
    """Oracle: records along one line, where everything is a fraction."""
    move, ratio, delta = findings["P1"]
    assert closed(move) and closed(ratio) and closed(delta)
    assert move.claimed == 0 and ratio.value > 100 and delta.value > 0.9 > delta.claimed
    line, longer = np.array([0.5, 1.0]), np.array([0.5, 10.0])
    assert (line / line.max())[0] - (longer / longer.max())[0] == pytest.approx(0.5 * move.value)


def test_P2_noise_by_a_noisy_count_is_too_small(findings):
    """Oracle: the mechanism itself, run on two neighbouring classes, and its true loss."""
    lone, small, none_left, renyi = findings["P2"]
    for finding in (lone, small, none_left):
        assert agrees(finding) and finding.value - SIGMAS * finding.standard_error > finding.claimed
    assert closed(renyi) and renyi.value > 100 * renyi.claimed

    setting, draws = stated.MARITAL, 8_000
    step = setting.step_epsilon(1.0)
    settings = EmSettings(1, "GGG", step_epsilon=step, step_delta=setting.step_delta, eigenvalue_floor=1e-9)
    # One class of one record at x or at -x among a hundred others far away.
    stats = [
        ClassSums(np.array([100.0, 1.0]), np.array([[0.0], [sign]]), np.ones((2, 1, 1)), 0.0) for sign in (1.0, -1.0)
    ]
    noise = StudyNoise(7, "P2 test")
    model, perturbation = MixtureModel(101, settings), Perturbation(noise, step, setting.step_delta)
    drawn = [model.perturbed(stats[0], perturbation).mixture for _ in range(draws)]
    count = np.maximum(101 * np.array([mixture.weights[1] for mixture in drawn]), 1.0)
    std = setting.multiplier(1.0) * 2 / count
    out = np.array([mixture.means[1, 0] for mixture in drawn])
    losses = norm.logpdf(out, 1.0, std) - norm.logpdf(out, -1.0, std)
    share = np.maximum(-np.expm1(step - losses), 0.0)
    # Renormalised weights shift the count a little; the stated delta is a millionth.
    assert share.mean() == pytest.approx(lone.value, rel=0.2)


def test_P2_multipliers_are_those_of_zcdp():
    """Oracle: dp-accounting's Renyi accountant agrees, with the tighter conversion it has."""
    for setting in (stated.STROKE, stated.LIFE_SCIENCES, stated.MARITAL):
        accountant = RdpAccountant()
        accountant.compose(dp_event.GaussianDpEvent(setting.multiplier(1.0)), setting.steps)
        assert 0.75 < accountant.get_epsilon(stated.DELTA) <= 1.0
        assert setting.step_epsilon(1.0) < 1, "the classical calibration is proven below one"


def test_P3_stated_noise_drowns_every_second_moment(findings):
    """Oracles: all eigenvalues of a smaller matrix; the trace of a second moment in the unit ball."""
    stated_noise, smaller, misread, epsilon, code = findings["P3"]
    assert agrees(code) and code.value > 40
    for finding in (stated_noise, smaller, misread):
        assert closed(finding, 0.01)
    assert stated_noise.value > smaller.value > 4 > 1 > misread.value
    assert closed(epsilon) and epsilon.value > 10 * epsilon.claimed
    noise = mirrored(StudyNoise(3, "P3 test").normal((200, 200)))
    assert np.array_equal(noise, noise.T)
    assert spectral_norm(noise) == pytest.approx(np.abs(np.linalg.eigvalsh(noise)).max(), rel=1e-6)
    x = np.random.default_rng(1).normal(size=(50, 20))
    x /= np.linalg.norm(x, axis=1).max()
    assert np.linalg.eigvalsh(x.T @ x / 50).max() <= np.trace(x.T @ x / 50) <= 1


def test_P4_the_deltas_of_the_steps_exceed_delta(findings):
    linear, llg, advanced, life_sciences, code, fits, left = findings["P4"]
    assert all(closed(f) for f in findings["P4"])
    assert linear.value == pytest.approx(20 * 21 * 1e-6) and llg.value == pytest.approx(20 * 10 * 1e-6)
    assert min(linear.value, llg.value, advanced.value) > linear.claimed > life_sciences.value
    assert code.value == pytest.approx(21 / 11 * 1e-4) and fits.value == pytest.approx(1e-4) and left.value < 0


def test_P5_a_covariance_around_its_own_mean_moves_twice_as_far(findings):
    """Oracle: the worst case in one dimension, by hand."""
    worst, found = findings["P5"]
    assert closed(worst) and worst.value > found.value > worst.claimed
    n = 100
    assert np.var([1.0] * (n - 1) + [-1.0]) / (2 / n) == pytest.approx(worst.value)


def test_P6_two_methods_are_private_in_different_senses(findings):
    replaced, added = findings["P6"]
    assert closed(replaced) and closed(added)
    assert replaced.value > replaced.claimed > added.value


def test_P7_shares_of_a_record_add_up_to_one(findings):
    """Oracle: random pairs never come near the bound that is charged."""
    together, stroke, life_sciences = findings["P7"]
    assert all(closed(f) for f in findings["P7"])
    assert together.claimed == 10 * together.value and stroke.value > life_sciences.value > 1
    generator = np.random.default_rng(2)
    shares = generator.dirichlet(np.ones(10), size=(1000, 2))
    ends = generator.normal(size=(1000, 2, 4))
    ends /= np.linalg.norm(ends, axis=2, keepdims=True)
    outer = np.einsum("nsk,nsi,nsj->nskij", shares, ends, ends)
    assert (np.sum((outer[:, 0] - outer[:, 1]) ** 2, axis=(1, 2, 3))).max() <= 2
    assert math.sqrt(21 / 2) == pytest.approx(stroke.value)


def test_the_committed_numbers_are_those_found(same_as_committed):
    same_as_committed("P")
