"""`dpem_zcdp`: records in the unit ball, the noise its accountant allows, mixtures whatever the data."""

import dataclasses
import math

import numpy as np
import pytest

from meterdp.accounting.registry import CURVES
from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.mechanisms.dpem.kmeans import dp_kmeans, dp_lloyd, noisy_second_moment
from meterdp.mechanisms.dpem.mechanism import (
    EIGENVALUE_FLOOR,
    ITERATIONS,
    DpEmZcdp,
    EmSettings,
    ball_radius,
    check_records,
    fit,
    start_mixture,
    to_unit_ball,
)
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings
from meterdp.mechanisms.proven.plan import ProvenSettings
from meterdp.mixture.density import mean_log_likelihood
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import fit_labels
from tests.unit.mechanisms.made_up import FLOOR, HIGH, LOW, households


def public(n, d, k=6, epsilon=2.0, delta=1e-5, **others):
    return PublicSettings(epsilon, delta, k, d, n, LOW, HIGH, FLOOR, **others)


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 8.0, 1e3])
@pytest.mark.parametrize("delta", [1e-12, 1e-5])
def test_rho_of_all_answers_is_what_epsilon_and_delta_allow(epsilon, delta):
    mechanism = DpEmZcdp.calibrate(public(1409, 12, epsilon=epsilon, delta=delta))
    steps = ITERATIONS * (2 * 6 + 1)
    multiplier = math.sqrt(2 * math.log(1.25 / mechanism.settings.step_delta)) / mechanism.settings.step_epsilon
    rho = steps / (2 * multiplier**2)
    assert rho + 2 * math.sqrt(rho * math.log(1 / delta)) == pytest.approx(epsilon, rel=1e-6)
    # Closed form of the inverse, cancellation avoided.
    root = epsilon / (math.sqrt(math.log(1 / delta) + epsilon) + math.sqrt(math.log(1 / delta)))
    assert multiplier == pytest.approx(math.sqrt(steps / 2) / root, rel=1e-6)
    assert CURVES["zcdp"].delta(mechanism.settings.step_epsilon, mechanism.settings.sequence(6), epsilon) <= delta


def test_a_release_is_fit_in_the_ball_mapped_back():
    n, d = 300, 4
    x = households(0, n, d, 3)
    settings = public(n, d, 3, 50.0, sound=ProvenSettings(level_log_kwh=-0.7))
    mechanism = DpEmZcdp.calibrate(settings)
    released = mechanism.release(PrivateRecords(x), StudyNoise(0, "one"), 1)
    radius = (HIGH - LOW) / 2 * math.sqrt(d)
    oracle = fit((x + 0.7) / radius, mechanism.start, mechanism.settings, StudyNoise(0, "one"))
    assert released.mixtures.weights[0] == pytest.approx(oracle.weights)
    assert released.mixtures.means[0] == pytest.approx(radius * oracle.means - 0.7)
    assert released.mixtures.covariances[0] == pytest.approx(radius**2 * oracle.covariances)
    before = dataclasses.replace(mechanism.settings, iterations=ITERATIONS - 1)
    responsibilities_model = fit((x + 0.7) / radius, mechanism.start, before, StudyNoise(0, "one"))
    assert released.responsibilities_model.means[0] == pytest.approx(radius * responsibilities_model.means - 0.7)
    assert ball_radius(settings) == pytest.approx(radius)


def test_draws_are_independent_runs():
    x = households(1, 200, 3, 2)
    mechanism = DpEmZcdp.calibrate(public(200, 3, 2))
    released = mechanism.release(PrivateRecords(x), StudyNoise(0, "draws"), 3)
    assert released.mixtures.weights.shape == (3, 2) and released.projected.shape == (3,)
    assert len(np.unique(released.mixtures.means[:, 0, 0])) == 3


def test_with_next_to_no_noise_it_describes_households_as_well_as_one_gaussian_at_least():
    x = households(2, 3000, 6, 3)
    one = fit_labels(x, np.ones(3000, dtype=int), FLOOR).mixture
    mechanism = DpEmZcdp.calibrate(public(3000, 6, 3, epsilon=1e9))
    released = mechanism.release(PrivateRecords(x), StudyNoise(0, "no noise"), 1).mixtures
    assert mean_log_likelihood(x, released)[0] > mean_log_likelihood(x, MixtureDraws.single(one))[0]


NASTY = {
    "all records equal": np.full((20, 3), -1.5),
    "on a line": np.random.default_rng(0).normal(size=(40, 1)) * [1.0, 2.0, 3.0],
    "far outside the bounds": np.random.default_rng(1).normal(size=(30, 2)) * 1e4,
    "as many records as classes": np.zeros((2, 2)),
    "one dimension": np.random.default_rng(2).normal(size=(30, 1)),
}


@pytest.mark.parametrize("case", NASTY)
@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 1e9])
def test_release_is_a_mixture_whatever_the_data(case, epsilon):
    x = NASTY[case]
    settings = public(*x.shape, 2, epsilon)
    mixtures = DpEmZcdp.calibrate(settings).release(PrivateRecords(x), StudyNoise(1, case), 4).mixtures
    assert mixtures.weights.sum(axis=1) == pytest.approx(1) and mixtures.weights.min() >= 0
    assert np.isfinite(mixtures.means).all()
    floor = EIGENVALUE_FLOOR * ball_radius(settings) ** 2
    scale = np.abs(mixtures.covariances).max(axis=(-1, -2))
    assert (np.linalg.eigvalsh(mixtures.covariances)[..., 0] >= floor - 1e-9 * scale).all()
    assert np.isfinite(np.linalg.cholesky(mixtures.covariances)).all()


def test_the_floor_of_the_study_counts_where_it_is_the_higher():
    settings = dataclasses.replace(public(100, 2, 2), eigenvalue_floor=5.0)
    assert DpEmZcdp.calibrate(settings).settings.eigenvalue_floor * ball_radius(settings) ** 2 == pytest.approx(5.0)


def test_records_outside_the_radius_are_drawn_to_the_sphere():
    x = np.array([[3.0, 4.0], [0.3, 0.4], [-30.0, 0.0], [0.0, 0.0]])
    assert to_unit_ball(x, 5.0) == pytest.approx(np.array([[0.6, 0.8], [0.06, 0.08], [-1, 0], [0, 0]]))
    u = to_unit_ball(x, 1.0, np.array([3.0, 4.0]))
    assert (u[0] == 0).all()
    assert np.linalg.norm(u[1:], axis=1) == pytest.approx(1)
    check_records(u, 4)
    assert (x == [[3, 4], [0.3, 0.4], [-30, 0], [0, 0]]).all(), "the argument stays as it is"


def test_the_radius_is_not_taken_from_the_records():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 3))
    far = np.concatenate([x, 1e6 * x[:1]])
    assert (to_unit_ball(far, 2.0)[:100] == to_unit_ball(x, 2.0)).all()


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf])
def test_a_radius_is_a_positive_number(radius):
    with pytest.raises(InputError, match="field 'radius'"):
        to_unit_ball(np.zeros((3, 2)), radius)


NOISE = StudyNoise(0, "refused")
START = start_mixture(np.eye(3, 2))
RUNS = {
    "check_records": lambda x: check_records(x, 3),
    "fit": lambda x: fit(x, START, EmSettings(1, "GGG"), NOISE),
    "dp_kmeans": lambda x: dp_kmeans(x, START.means, 1, 1.0, NOISE),
    "dp_lloyd": lambda x: dp_lloyd(x, START.means, 1, 1.0, NOISE),
    "noisy_second_moment": lambda x: noisy_second_moment(x, 1.0, 1e-4, NOISE),
}


@pytest.mark.parametrize("run", RUNS)
def test_bad_records_are_refused(run):
    few = np.zeros((0 if run == "noisy_second_moment" else 2, 2))
    with pytest.raises(InputError, match="fewer records than classes"):
        RUNS[run](few)
    x = np.zeros((5000, 2))
    for bad in (np.nan, np.inf):
        x[4500, 1] = bad
        with pytest.raises(InputError, match="not a finite number"):
            RUNS[run](x)
    with pytest.raises(InputError, match="not a finite number"):
        to_unit_ball(x, 1.0)
    with pytest.raises(ValueError, match="outside the unit ball"):
        RUNS[run](np.array([[0.0, 1.01]] * 3))
    check_records(np.zeros((3, 2)), 3)
