"""Records are clipped by a public radius; what cannot be a record is refused."""

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.mechanisms.dpem.mechanism import check_records, to_unit_ball


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


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_entries_are_refused(bad):
    x = np.zeros((5000, 2))
    x[4500, 1] = bad
    with pytest.raises(InputError, match="not a finite number"):
        to_unit_ball(x, 1.0)
    with pytest.raises(InputError, match="not a finite number"):
        check_records(x, 2)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf])
def test_a_radius_is_a_positive_number(radius):
    with pytest.raises(InputError, match="field 'radius'"):
        to_unit_ball(np.zeros((3, 2)), radius)


def test_records_are_more_than_classes_and_in_the_ball():
    with pytest.raises(InputError, match="fewer records than classes"):
        check_records(np.zeros((3, 2)), 4)
    check_records(np.zeros((4, 2)), 4)
    with pytest.raises(ValueError, match="outside the unit ball"):
        check_records(np.array([[0.0, 1.01]]), 1)
