"""Declared constraints: what they let through, and the sentence that refuses the rest."""

from types import SimpleNamespace

import numpy as np
import pytest

from meterdp.core.constraints import ONE_OR_MORE, POSITIVE, PROBABILITY, SHARE_BELOW_ONE, Fits, Number, OneOf, check
from meterdp.errors import InputError

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("constraint", "good", "bad", "sentence"),
    [
        (POSITIVE, (1e-300, 5, np.float64(2)), (0, -1, INFINITY, NAN, "1", True), "a finite number greater than 0"),
        (PROBABILITY, (1e-9, 0.5), (0, 1, NAN), "a finite number greater than 0 and less than 1"),
        (SHARE_BELOW_ONE, (0, 0.99), (1, -0.1), "a finite number at least 0 and less than 1"),
        (ONE_OR_MORE, (1, np.int32(7), 2.0), (0, 1.5, INFINITY), "a whole number at least 1"),
        (Number(0, 1_000, closed="both", optional=True), (None, 0, 1000), (1001, -1), "and at most 1,000, or none"),
        (Number(), (-1e9,), (INFINITY, NAN), "a finite number"),
        (OneOf(("days", "hours")), ("days",), ("day", 3, None, np.zeros(2)), "one of days, hours"),
    ],
)
def test_values_are_refused_with_value_and_range(constraint, good, bad, sentence):
    for value in good:
        check(SimpleNamespace(a=value), {"a": constraint})
    for value in bad:
        with pytest.raises(InputError) as caught:
            check(SimpleNamespace(a=value), {"a": constraint})
        said = str(caught.value)
        assert "field 'a': is " in said and said.endswith(f"{sentence}.")
        assert "is missing" in said or repr(value) in said


def test_what_depends_on_other_parameters_is_refused_without_its_value():
    with pytest.raises(InputError, match=r"^field 'a': does not go with the other parameters; use fewer\.$"):
        check(SimpleNamespace(a=12345), {"a": Fits(False, "fewer")})
