"""The choice of households: fixed, blind to readings, stable when the number grows."""

import numpy as np
import pytest

from meterdp.forecasting.select import choose_households, fixed_order


def test_choice_does_not_depend_on_the_order_of_the_input():
    kept = np.arange(0, 600, 3)
    shuffled = np.random.default_rng(0).permutation(kept)
    assert np.array_equal(choose_households(kept, 50), choose_households(shuffled, 50))


def test_a_larger_study_contains_the_smaller_one():
    kept = np.arange(500)
    assert set(choose_households(kept, 100)) <= set(choose_households(kept, 137))


@pytest.mark.parametrize(("available", "asked", "given"), [(0, 10, 0), (7, 10, 7), (7, 7, 7), (7, 0, 0)])
def test_count_may_exceed_what_is_there(available, asked, given):
    chosen = choose_households(np.arange(available), asked)
    assert chosen.dtype == np.int32
    assert chosen.size == given == np.unique(chosen).size


def test_a_negative_count_is_refused():
    with pytest.raises(ValueError, match="negative"):
        choose_households(np.arange(3), -1)


def test_the_order_spreads_over_the_indices():
    """Mean of 200 of 10,000 indices, uniform: standard error 204, so 6.5 of them is a false alarm below 1e-10."""
    assert abs(choose_households(np.arange(10_000), 200).mean() - 5000) < 6.5 * 204


def test_purposes_name_unrelated_orders():
    household = np.arange(100)
    orders = fixed_order(household, "a"), fixed_order(household, "b")
    assert all(np.array_equal(np.sort(order), household) for order in orders)
    assert not np.array_equal(*orders)
