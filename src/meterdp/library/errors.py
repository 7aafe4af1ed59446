"""Errors of the public face: one sentence with its hint, in the words of its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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


class RefusedType(Refused, TypeError):
    """The same for what scikit-learn's checks of an estimator expect a TypeError of."""


@contextmanager
def refusals() -> Iterator[None]:
    """Raise what the rooms refuse as :class:`Refused`, in terms of parameters."""
    try:
        yield
    except InputError as error:
        field = error.field and _PARAMETER.get(error.field, error.field.removeprefix("release."))
        file = None if error.file == "config" else error.file
        raise Refused(error.problem, hint=error.hint, file=file, row=error.row, field=field) from None
