"""The released `joint`: no order in which files are handed out is told apart by more than is charged."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from meterdp.class_noise.towards_centre import LabelPublic, TowardsCentre
from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.privacy import gaussian
from meterdp.privacy.noise import GRID, SafeNoise

STD, STEPS = 0.2, 4


def calibrate(neighbourhood, epsilon=2.0, std=STD):
    return TowardsCentre.calibrate(LabelPublic(epsilon, 1e-5, tuple(neighbourhood), STEPS, std, -1.0, GRID))


def worst_order(moved):
    """The largest l2 distance between files and files in another order, by the assignment problem."""
    squares = ((moved[:, None] - moved) ** 2).sum(axis=-1)
    rows, columns = linear_sum_assignment(squares, maximize=True)
    return math.sqrt(squares[rows, columns].sum())


@pytest.mark.parametrize("labels", [2, 3, 17, 60])
@pytest.mark.parametrize("spread", [1e-9, 0.05, 1.0, 40.0])
def test_the_worst_order_of_a_neighbourhood_is_within_the_charge(labels, spread):
    mechanism = calibrate([0] * labels + [1] * 2)
    for seed in range(5):
        x = spread * np.random.default_rng(seed).standard_normal((labels + 2, STEPS))
        moved = mechanism.moved(x)
        assert np.array_equal(moved / GRID, np.rint(moved / GRID))
        worst = worst_order(moved[:labels])
        assert worst <= mechanism.mu * STD
        if spread > 0.5 and labels > 2:
            assert worst > 0.5 * mechanism.mu * STD, "the bound wastes less than half"


def test_opposite_pairs_reach_the_bound():
    """Brute force over all orders of four files."""
    x = np.array([[1.0, 0, 0, 0], [-1, 0, 0, 0], [0, 2, 0, 0], [0, -2, 0, 0]]) - 1.0
    mechanism = calibrate([0] * 4)
    moved = mechanism.moved(x)
    orders = (((moved - moved[list(order)]) ** 2).sum() for order in itertools.permutations(range(4)))
    assert math.sqrt(max(orders)) == pytest.approx(mechanism.mu * STD, rel=1e-4)


def test_another_order_of_the_list_gives_the_same_files_to_the_last_bit():
    generator = np.random.default_rng(3)
    x = generator.standard_normal((30, STEPS))
    mechanism = calibrate([0] * 30)
    for _ in range(20):
        order = generator.permutation(30)
        assert np.array_equal(mechanism.moved(x[order]), mechanism.moved(x)[order])


def test_neighbourhoods_do_not_touch_one_another():
    x = np.random.default_rng(4).standard_normal((40, STEPS))
    mechanism = calibrate([0, 1] * 20)
    before = mechanism.moved(x)
    x[1::2] *= 3
    after = mechanism.moved(x)
    assert np.array_equal(before[::2], after[::2]) and not np.array_equal(before[1::2], after[1::2])


def test_what_is_near_enough_stays_and_the_rest_moves_to_the_mean():
    generator = np.random.default_rng(5)
    near = -1.0 + 1e-4 * generator.standard_normal((10, STEPS))
    assert np.abs(calibrate([0] * 10).moved(near) - near).max() <= GRID
    far = generator.standard_normal((400, STEPS))
    moved = calibrate([0] * 400).moved(far)
    assert np.allclose(moved.mean(axis=0), far.mean(axis=0), atol=1e-6)
    assert np.linalg.norm(moved - moved.mean(axis=0)) < 0.05 * np.linalg.norm(far - far.mean(axis=0))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300, -1e300])
def test_wild_forecasts_end_no_release(value):
    x = np.zeros((20, STEPS))
    x[3] = value
    mechanism = calibrate([0] * 20)
    released = mechanism.release(x, SafeNoise())
    assert np.isfinite(released).all() and worst_order(mechanism.moved(x)) <= mechanism.mu * STD


def test_the_guarantee_is_the_curve_of_the_charge():
    """Oracle: a Monte Carlo of the loss of one exchange that spends all of mu."""
    mechanism = calibrate([0, 0], epsilon=1.0)
    assert gaussian.delta(mechanism.mu, 1.0) == pytest.approx(1e-5, rel=1e-4)
    x = np.array([[3.0] * STEPS, [-3.0] * STEPS])
    moved = mechanism.moved(x)
    noise = StudyNoise(1, "label").normal((400_000, 2, STEPS)) * STD
    shift = (moved - moved[::-1]) / STD
    loss = (noise / STD * shift).sum(axis=(1, 2)) + (shift**2).sum() / 2
    measured = np.maximum(0, -np.expm1(0.1 - loss)).mean()
    assert measured == pytest.approx(gaussian.delta(mechanism.mu, 0.1), abs=6.5 * 0.5 / math.sqrt(400_000))
    guarantee = mechanism.guarantee
    assert (guarantee.family, guarantee.adjacency) == ("model", "class_label")


def test_noise_of_another_grid_and_what_does_not_fit_are_refused():
    with pytest.raises(ValueError, match="another grid"):
        calibrate([0] * 3).release(np.zeros((3, STEPS)), StudyNoise(1, "wrong"))
    with pytest.raises(InputError, match="public number"):
        calibrate([0] * 3).release(np.zeros((4, STEPS)), SafeNoise())
    for wrong, said in (
        ({"epsilon": 40.0}, "release.forecast_epsilon.*noise is too small for the discretisation grid; decrease"),
        ({"epsilon": 30.0}, "noise is too small for the discretisation grid; increase delta above"),
        ({"std": 1e-4}, "is 0.0001 log kWh, which does not fit the discretisation grid; use 0.01 to 10"),
    ):
        with pytest.raises(InputError, match=said):
            calibrate([0] * 3, **wrong)
