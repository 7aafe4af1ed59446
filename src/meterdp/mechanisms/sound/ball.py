"""A private mixture of any records within a public radius, by the mechanism of the sound release.

It differs from a release of load profiles in its :mod:`~meterdp.mechanisms.sound.domain`: no levels, no hours, any
number of classes and entries. Proof note: docs/proofs/sound.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from meterdp.errors import InputError
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings
from meterdp.mechanisms.sound.domain import Ball
from meterdp.mechanisms.sound.mechanism import Sound
from meterdp.mechanisms.sound.plan import SoundSettings
from meterdp.mechanisms.sound.stack import RECORDS_AT_ONCE
from meterdp.mixture.draws import Mixture
from meterdp.mixture.prior import Prior
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.noise import GaussianSource

# Smallest eigenvalue of a released covariance, relative to the squared radius, if none is given.
EIGENVALUE_FLOOR_RATIO = 1e-6


@dataclass(frozen=True)
class BallRelease:
    """What :func:`fit_ball` returns.

    Parameters
    ----------
    mixture : Mixture
        In the unit of the records.
    guarantee : Guarantee
        What is claimed of the mixture.
    clipped_count : int
        Records outside the ball, clipped to it: private, not covered by the guarantee.
    """

    mixture: Mixture
    guarantee: Guarantee
    clipped_count: int


def calibrate_ball(
    classes: int,
    dimension: int,
    records: int,
    epsilon: float,
    delta: float,
    ball: Ball,
    *,
    grid: float = 0.0,
    adjacency: Literal["replace_one", "add_remove"] = "replace_one",
    rounds: int | None = None,
    eigenvalue_floor: float | None = None,
    prior: Prior | None = None,
) -> Sound:
    """Return the calibrated mechanism, from public numbers alone.

    Parameters
    ----------
    classes, dimension : int
        K and d.
    records : int
        N under ``replace_one``, a public guess of it under ``add_remove``.
    epsilon, delta : float
    ball : Ball
        Public.
    grid : float
        Of the noise source.
    adjacency : {"replace_one", "add_remove"}
    rounds : int, optional
        Of private EM; by default a rule.
    eigenvalue_floor : float, optional
        Public, in the squared unit of the records; a millionth of the squared radius by default.
    prior : Prior, optional
        For maximum a posteriori estimates, of records in the unit ball around the origin; none by default.

    Raises
    ------
    InputError
        If a number is outside its range, as N < K.
    """
    settings = SoundSettings(
        adjacency, records if adjacency == "add_remove" else None, classes, rounds, grid=grid, ball=ball, prior=prior
    )
    floor = EIGENVALUE_FLOOR_RATIO * ball.radius**2 if eigenvalue_floor is None else eigenvalue_floor
    # Bounds of an entry are for loads: the ball is what records are clipped to, and any two in order will do here.
    public = PublicSettings(
        epsilon, delta, classes, dimension, records, -ball.radius, ball.radius, floor, sound=settings
    )
    return Sound.calibrate(public)


def fit_ball(
    x: np.ndarray,
    classes: int,
    epsilon: float,
    delta: float,
    noise: GaussianSource,
    radius: float = 1.0,
    centre: tuple[float, ...] | None = None,
    *,
    records_guess: int | None = None,
    **choices,
) -> BallRelease:
    """Release a Gaussian mixture of records under (epsilon, delta)-DP for one whole record.

    Parameters
    ----------
    x : (N, d) float64
        Finite records; what lies outside the ball is clipped to it.
    classes : int
        K, at most N.
    epsilon, delta : float
    noise : GaussianSource
        Of a study, or a safe one: its grid decides which.
    radius : float
        Public bound of the distance of a record from the centre, in the unit of the records.
    centre : tuple of float, optional
        Public; the origin by default.
    records_guess : int, optional
        Public guess of N; ``add_remove`` needs it, since N itself is then private.
    **choices
        Further ones of :func:`calibrate_ball`.

    Raises
    ------
    InputError
        If a record has a missing or infinite entry, there are fewer records than classes, ``add_remove`` comes
        without a guess, or a number is outside its range.
    """
    records = records_guess if choices.get("adjacency") == "add_remove" else len(x)
    if records is None:
        raise InputError(
            "is not set", field="records_guess", hint="give a public guess of the number of records, for add_remove"
        )
    x = np.asarray(x, dtype=float)
    if x.ndim != 2 or not x.size or not np.isfinite([x.min(), x.max()]).all():
        raise InputError(
            "are not rows of finite numbers",
            field="records",
            hint="leave out or fill in records with missing entries, by a rule that looks at one record alone",
        )
    ball = Ball(radius, centre)
    mechanism = calibrate_ball(classes, x.shape[1], records, epsilon, delta, ball, grid=noise.grid, **choices)
    released = mechanism.release(PrivateRecords(x), noise, 1)
    return BallRelease(
        released.mixtures.draw(0),
        mechanism.guarantee,
        sum(int(ball.outside(x[i : i + RECORDS_AT_ONCE]).sum()) for i in range(0, len(x), RECORDS_AT_ONCE)),
    )
