"""How numbers are written."""

from __future__ import annotations

import doctest
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meterdp.pages import numbers
from meterdp.pages.numbers import count, percent, plain, plus_minus, significant


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(numbers).failed == 0


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (9.996, "10.0"),
        (0.00099996, "0.00100"),
        (99999.6, "100,000"),
        (9999999.6, "1.00 × 10⁷"),
        (2345678.0, "2,345,678"),
        (-0.5, "−0.500"),
        (2.5e12, "2.50 × 10¹²"),
        (-3e-9, "−3.00 × 10⁻⁹"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_significant_digits_at_the_edges(number, text):
    assert significant(number) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (1 - 1e-16, "100 %"),
        (0.9996, ">99.9 %"),
        (0.9994, "99.9 %"),
        (0.0004, "<0.1 %"),
        (1.432, "143.2 %"),
        (math.nan, "–"),
    ],
)
def test_a_percentage_never_rounds_to_none_or_all(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (0.031, 0.00186, "0.0310 ± 0.0019"),
        (2.5, 0.996, "2.5 ± 1.0"),
        (120.0, 250.0, "120 ± 250"),
        (-1.25, 0.1, "−1.25 ± 0.10"),
        (3.0, 0.0, "3.00 ± 0"),
        (3.0, math.nan, "3.00"),
        (math.inf, math.inf, "∞"),
        (-0.3, 68.0, "0 ± 68"),
        (-0.0004, 0.09, "0.000 ± 0.090"),
        (-1234.5, 251.0, "−1,230 ± 250"),
        (28312.4, 99.6, "28,310 ± 100"),
        (1.1e8, 1.2e7, "(1.10 ± 0.12) × 10⁸"),
        (-23456789.0, 1e9, "(0 ± 100) × 10⁷"),
        (5.0, 1e-12, "5.00 ± 1.0 × 10⁻¹²"),
    ],
)
def test_a_mean_is_written_to_the_place_of_its_error(mean, error, text):
    assert plus_minus(mean, error) == text


@pytest.mark.parametrize(
    ("difference", "error", "found"),
    [(1.9, 1.0, False), (-2.1, 1.0, True), (0.1, math.nan, True), (math.inf, 1.0, True), (0.0, 0.0, False)],
)
def test_a_difference_within_two_standard_errors_is_no_finding(difference, error, found):
    assert numbers.differs(difference, error) is found


def test_a_probability_below_what_is_computed_is_not_written_with_digits():
    assert numbers.probability(1e-300) == "<10⁻⁵⁰" and numbers.probability(0.0) == "0"


@given(st.floats(min_value=-1e15, max_value=1e15))
def test_three_significant_digits_are_within_half_a_per_cent(number):
    text = significant(number).replace("−", "-").replace(",", "")
    mantissa, _, power = text.partition(" × 10")
    exponent = int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)
    assert math.isclose(float(mantissa) * 10.0**exponent, number, rel_tol=0.00501, abs_tol=1e-300)


def test_parameters_have_no_trailing_zeros_and_counts_have_separators():
    assert [plain(v) for v in (2.0, 0.45, 0.68571, 1e-5, 2.5e-6, 1409.0)] == [
        "2",
        "0.45",
        "0.68571",
        "10⁻⁵",
        "2.5 × 10⁻⁶",
        "1,409",
    ]
    assert [count(v) for v in (0, 999, 3_787_392)] == ["0", "999", "3,787,392"]
