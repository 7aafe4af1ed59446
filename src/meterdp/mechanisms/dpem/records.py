"""Records in the unit ball, as every mechanism of Park et al. asks for (Section 3).

The paper divides by the largest norm of the data, which is private (defect P1). Here a public radius does, and
records beyond it are clipped and counted.
"""

from __future__ import annotations

import numpy as np

from meterdp.errors import InputError

# Room for rounding of a norm that is one.
_ROUNDING = 1e-6
_ROWS_AT_ONCE = 4096


def to_unit_ball(x: np.ndarray, radius: float, centre: np.ndarray | float | None = None) -> tuple[np.ndarray, int]:
    """Return (x - centre)/radius with what lies beyond the unit ball drawn back to it, and how many records did.

    Parameters
    ----------
    x : (N, d) float64
    radius : float
        Public, positive.
    centre : (d,) float64 or float, optional
        Public; the origin by default.

    Returns
    -------
    u : (N, d) float64
        Rows of norm one at most.
    clipped : int
        A private count: for the eyes of the study only.

    Raises
    ------
    InputError
        If an entry is not a finite number, or the radius is not positive.
    """
    if not 0 < radius < np.inf:
        raise InputError(
            "the radius of the ball is not a positive number", field="radius", hint="use a public bound of a norm"
        )
    u = (x if centre is None else x - centre) / radius
    _refuse_missing(u)
    norm = np.sqrt(np.einsum("nd,nd->n", u, u))
    clipped = norm > 1
    u[clipped] /= norm[clipped, None]
    return u, int(clipped.sum())


def check_records(x: np.ndarray, classes: int) -> None:
    """Refuse records that a mechanism of this package is not made for.

    Raises
    ------
    InputError
        If there are fewer records than classes, or an entry is not a finite number.
    ValueError
        If a record lies outside the unit ball: :func:`to_unit_ball` comes first.
    """
    if len(x) < classes:
        raise InputError(
            "there are fewer records than classes",
            field="classes",
            hint="lower the number of classes or supply more records",
        )
    for start in range(0, len(x), _ROWS_AT_ONCE):
        part = x[start : start + _ROWS_AT_ONCE]
        _refuse_missing(part)
        if (np.einsum("nd,nd->n", part, part) > 1 + _ROUNDING).any():
            raise ValueError("a record lies outside the unit ball")


def _refuse_missing(x: np.ndarray) -> None:
    if not np.isfinite(x).all():
        raise InputError(
            "a record holds an entry that is not a finite number", field="records", hint="fill or drop such records"
        )
