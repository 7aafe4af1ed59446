"""Declared fields of the simulator's parameters: what a value may be stands beside its name.

A parameter class is a frozen dataclass whose fields are annotated with the readers made here; :func:`build` reads one
from a mapping and refuses, in one sentence that names the key, what is unknown, missing or out of range.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from meterdp.errors import InputError

T = TypeVar("T")
Reader = Callable[[Any, "Place"], Any]
ALL = "all"


@dataclass(frozen=True)
class Place:
    """Where a value stands: the file, if it is in one, and the path of keys to it."""

    file: Path | None
    keys: tuple[str, ...] = ()

    def at(self, key) -> Place:
        """Return the place of ``key`` below this one."""
        return Place(self.file, (*self.keys, str(key)))

    def refuse(self, problem: str, hint: str) -> InputError:
        """Return the error for a value at this place."""
        return InputError(problem, hint=hint, file=self.file, field=".".join(self.keys) or None)


def build(cls: type[T], raw: Any, place: Place) -> T:
    """Read ``cls`` from a mapping of its field names to values as YAML gives them, which stands at ``place``.

    ``cls`` is a frozen dataclass whose fields are ``Annotated[type, reader]``. InputError for the first key that is
    unknown or missing, or whose value is not allowed.
    """
    if not isinstance(raw, Mapping):
        raise place.refuse("must be a section with keys", "write its keys indented below it")
    readers = {name: hint.__metadata__[0] for name, hint in get_type_hints(cls, include_extras=True).items()}
    for key in raw:
        if key not in readers:
            close = difflib.get_close_matches(str(key), readers, n=1)
            raise place.at(key).refuse(
                "is not a known key",
                f"write '{close[0]}' if you meant that key" if close else f"use one of {', '.join(readers)}",
            )
    for name in readers:
        if name not in raw:
            raise place.at(name).refuse("is missing", "add it, as in resources/simulator.yaml")
    return cls(**{name: read(raw[name], place.at(name)) for name, read in readers.items()})


def _read_number(value, place: Place, low=-math.inf, high=math.inf) -> float:
    numeric = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not numeric or not low <= value <= high:
        limits = f"a number from {low:g} to {high:g}"
        if math.isinf(high):
            limits = "any number" if math.isinf(low) else f"a number of at least {low:g}"
        raise place.refuse("is not an allowed value", f"give {limits}")
    return float(value)


def read_whole(value, place: Place, low: int = 0) -> int:
    """Return ``value`` if it is a whole number of at least ``low``, or refuse it."""
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        raise place.refuse("is not an allowed value", f"give a whole number of at least {low}")
    return value


def _read_list(value, place: Place, length: int | None = None) -> list:
    if not isinstance(value, list) or not value or (length is not None and len(value) != length):
        raise place.refuse("is not an allowed value", f"give a list of {length or 'one or more'} values")
    return value


def number(low: float = -math.inf, high: float = math.inf) -> Reader:
    """Declare a finite number in [low, high]."""
    return lambda value, place: _read_number(value, place, low, high)


def whole(low: int = 0) -> Reader:
    """Declare a whole number of at least ``low``."""
    return lambda value, place: read_whole(value, place, low)


def curve(length: int) -> Reader:
    """Declare a list of ``length`` finite numbers."""
    return lambda value, place: tuple(
        _read_number(v, place.at(i)) for i, v in enumerate(_read_list(value, place, length))
    )


def span(low: float = 0.0, high: float = math.inf, *, optional: bool = False) -> Reader:
    """Declare a range ``[lowest, highest]`` within [low, high]; null too if ``optional``."""

    def read(value, place: Place):
        if value is None and optional:
            return None
        first, last = (_read_number(v, place.at(i), low, high) for i, v in enumerate(_read_list(value, place, 2)))
        if first > last:
            raise place.refuse("has its ends in the wrong order", "give the lower one first")
        return first, last

    return read


def text(value, place: Place) -> str:
    """Read a non-empty text."""
    if not isinstance(value, str) or not value:
        raise place.refuse("is not an allowed value", "give a text")
    return value


def flag(value, place: Place) -> bool:
    """Read yes or no."""
    if not isinstance(value, bool):
        raise place.refuse("is not an allowed value", "give true or false")
    return value


def choice(*allowed: str) -> Reader:
    """Declare one of the words ``allowed``."""

    def read(value, place: Place):
        if value not in allowed:
            raise place.refuse("is not an allowed value", f"give one of {', '.join(allowed)}")
        return value

    return read


def words(value, place: Place) -> tuple[str, ...]:
    """Read a list of texts that can stand in a CSV field; the empty text is one."""
    for i, word in enumerate(_read_list(value, place)):
        if not isinstance(word, str) or any(c in word for c in ',"\r\n'):
            raise place.at(i).refuse("is not an allowed value", "give a text without comma, quote or line end")
    return tuple(value)


def names(value, place: Place) -> tuple[str, ...]:
    """Read a list of names, or the word ``all``, which reads as an empty tuple."""
    if value == ALL:
        return ()
    for i, name in enumerate(_read_list(value, place)):
        if not isinstance(name, str):
            raise place.at(i).refuse("is not a name", f"give names of household types or '{ALL}'")
    return tuple(value)


def day(value, place: Place) -> date:
    """Read a calendar date, a YAML date or a text YYYY-MM-DD."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise place.refuse("is not a date", "write it as YYYY-MM-DD") from None


def hours_and_weights(value, place: Place) -> tuple[tuple[float, float], ...]:
    """Read a mapping of hours of the day, 0 to 24, to signed weights as pairs."""
    if not isinstance(value, Mapping) or not value:
        raise place.refuse("must be a mapping of hours to weights", "write {7: 1.0, 19: -0.5}, say")
    return tuple(
        (_read_number(hour, place.at(hour), 0, 24), _read_number(weight, place.at(hour)))
        for hour, weight in value.items()
    )


def section(cls: type) -> Reader:
    """Declare a nested section of class ``cls``."""
    return lambda value, place: build(cls, value, place)


def sections(cls: type, *, may_be_empty: bool = False) -> Reader:
    """Declare a list of sections of class ``cls``."""

    def read(value, place: Place):
        if value == [] and may_be_empty:
            return ()
        return tuple(build(cls, v, place.at(i)) for i, v in enumerate(_read_list(value, place)))

    return read
