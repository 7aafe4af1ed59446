"""What callers may pass, read in one way: anything else is refused in words of meterdp, never in those of NumPy."""

from __future__ import annotations

from decimal import Decimal
from numbers import Integral, Real

import numpy as np

from meterdp.library.errors import Refused

# More rounds, starts or steps than anybody waits for.
MOST = 10**6


def is_whole(value, least: int = 1, most: int = MOST) -> bool:
    """Whether an argument is a whole number from ``least`` to ``most``."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_) and least <= value <= most


def is_real(value) -> bool:
    """Whether an argument is a finite number that a float64 holds."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        return False
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def is_one_of(value, words: tuple[str, ...]) -> bool:
    """Whether an argument is one of some words; an array is none, whatever is in it."""
    return isinstance(value, str) and value in words


def array_of(value, problem: str, *, field: str, hint: str) -> np.ndarray:
    """Return numbers as float64 of any shape, NaN where None, pandas.NA or a mask says that there is none.

    Raises
    ------
    Refused
        If anything is no real number, or is too large for float64: words, also those that spell a number, dates,
        truth values, complex numbers, rows of unequal length.
    """
    try:
        masked = np.ma.getmaskarray(value) if isinstance(value, np.ma.MaskedArray) else None
        array = np.asarray(value)
        if array.dtype.kind == "O":
            array = np.array([_number(each) for each in array.flat], dtype=float).reshape(array.shape)
        if array.dtype.kind not in "iuf":
            raise TypeError
        array = np.array(array, dtype=float, order="C")
    except Exception:  # of whatever the value is made of
        raise Refused(problem, field=field, hint=hint) from None
    if masked is not None:
        array[masked] = np.nan
    return array


def _number(value) -> float:
    if value is None or type(value).__name__ == "NAType":
        return np.nan
    if not isinstance(value, Real | Decimal) or isinstance(value, bool | np.bool_):
        raise TypeError
    return float(value)
