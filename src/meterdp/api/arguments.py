"""What callers may pass, read in one way: anything else is refused by a sentence of meterdp, never of NumPy.

Errors of the public API: one sentence with its hint, naming its parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from numbers import Integral, Real

import numpy as np

from meterdp.errors import InputError

# Field of the workflow -> parameter of the library. Where they share a name there is nothing to say.
_PARAMETER = {
    "classes": "n_components",
    "records": "X",
    "records_guess": "n_samples_guess",
    "rounds": "max_iter",
    "iteration_limit": "max_iter",
}


class Refused(InputError, ValueError):
    """An :class:`InputError` that is a ValueError too, as callers of a library expect of a wrong argument."""


def require(holds: bool, field: str, problem: str, hint: str) -> None:
    """Refuse an argument unless something holds."""
    if not holds:
        raise Refused(problem, field=field, hint=hint)


class RefusedType(Refused, TypeError):
    """The same for what scikit-learn's checks of an estimator expect a TypeError of."""


@contextmanager
def refusals() -> Iterator[None]:
    """Raise what other packages refuse as :class:`Refused`, in terms of parameters."""
    try:
        yield
    except InputError as error:
        field = error.field and _PARAMETER.get(error.field, error.field.removeprefix("release."))
        file = None if error.file == "config" else error.file
        problem, hint = (said.replace("release.cap_", "cap_") for said in (error.problem, error.hint))
        raise Refused(problem, hint=hint, file=file, row=error.row, field=field) from None


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


def is_one_of(value, names: tuple[str, ...]) -> bool:
    """Whether an argument is one of some names; an array is none, whatever is in it."""
    return isinstance(value, str) and value in names


def array_of(value, problem: str, *, field: str, hint: str) -> np.ndarray:
    """Return numbers as float64 of any shape, NaN where None, pandas.NA or a mask says that there is none.

    Refuses what is no real number, or is too large for float64: words, also those that spell a number, dates, truth
    values, complex numbers, rows of unequal length.
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
