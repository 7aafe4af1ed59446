"""A public box in the ball of the sound release: maps of one record at a time, and back again for mixtures."""

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.mechanisms.proven.mechanism import Box
from meterdp.mixture.draws import Mixture

BOX = Box((0.0, -50.0, 1e6), (3.0, 50.0, 1e6 + 1e-3))
WILD = np.random.default_rng(0).normal(0, 1, (200, 3)) * [3, 100, 1e6]


def test_every_record_lies_in_the_ball_and_is_mapped_by_itself():
    z = BOX.scaled(WILD)
    assert not BOX.ball.outside(z).any() and np.array_equal(BOX.ball.clip(z), z)
    assert np.array_equal(z, np.concatenate([BOX.scaled(row[None]) for row in WILD]))
    corners = BOX.scaled(np.array([BOX.low, BOX.high]))
    assert corners == pytest.approx(np.array([-np.ones(3), np.ones(3)]), abs=1e-6)
    extreme = np.array([[np.finfo(float).max, -np.finfo(float).max, 5e-324]])
    assert np.array_equal(BOX.scaled(extreme), [[1.0, -1.0, -1.0]])


def test_moments_of_scaled_records_come_back_as_those_of_the_records():
    """Oracle: NumPy's mean and covariance of the clipped records."""
    x = np.clip(WILD, BOX.low, BOX.high)[:, :2]
    box = Box(BOX.low[:2], BOX.high[:2])
    z = box.scaled(x)
    back = box.unscaled(Mixture(np.ones(1), z.mean(axis=0)[None], np.cov(z.T)[None]))
    assert back.means[0] == pytest.approx(x.mean(axis=0))
    assert back.covariances[0] == pytest.approx(np.cov(x.T))


def test_means_end_within_the_box():
    back = BOX.unscaled(Mixture(np.ones(1), np.array([[1.4, -1.7, 0.0]]), np.eye(3)[None]))
    assert back.means[0] == pytest.approx([3.0, -50.0, 1e6 + 5e-4], rel=1e-12)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 0), (1, 0), (np.nan, 1), (0, np.inf), (-1e300, 1e300), (0, 1e-200), (-np.inf, np.inf)]
)
def test_a_box_that_is_none_is_refused(low, high):
    with pytest.raises(InputError, match=r"field 'bounds'.*; give .* from public knowledge"):
        Box((0.0, low), (1.0, high))
