"""How far noise alone moves a component of average size, from public numbers alone.

By running the mechanism itself on Gaussians that are the same for everybody. No formula for the noise of the last
round will do: undoing the clipping multiplies that of a variance by up to four in one dimension, shrinkage takes most
of it away in many, and with few records the curve that undoes the clipping is far from straight.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from meterdp.core.noise import StudyNoise, fixed_normals
from meterdp.mixture.draws import MixtureDraws
from meterdp.privacy.mechanism import measure_with

if TYPE_CHECKING:
    from meterdp.mechanisms.proven.mechanism import Proven

# Records that stand for the Gaussian, in pairs around its mean, and how many there are to an entry of a record.
_RECORDS, _RECORDS_PER_ENTRY = 400, 4
# Runs, and how many entries of all of them together are enough.
_FEWEST_RUNS, _MOST_RUNS, _ENTRIES = 4, 200, 600
# Standard deviation of each entry, in units of the radius of the ball over the root of d: bounds four times as far.
_SPREAD = 0.25
# Of each entry, in standard deviations from the middle of the ball.
_MIDDLE = 0.5
# How far correlations of neighbouring features reach, as a share of all features: as those of hours of homes do.
# Shrinkage takes so many of them for noise, and the few axes with most of the variance follow the many with little.
_REACH = 1 / 3
# How often noise is halved in search of a larger error.
_HALVES = 12
# Noise of the run that tells what the noise of the others moved, as a share of theirs.
_HARDLY_ANY = 1e-3
# What so many stay below is one standard deviation if errors are normal, and no few large ones decide it.
_SHARE = 0.6827


@lru_cache(maxsize=64)
def noise_errors(mechanism: Proven) -> tuple[float, float]:
    """Return what two in three entries of a mean are off by at most, in standard deviations, and two in three
    variances, as a share of them: at this noise or, if that is more, at less of it, and of independent or, if that is
    more, of correlated features.

    Where noise exceeds everything, shrinkage makes all variances alike, and they can lie near those of the public
    Gaussian by accident. The clipping of records that are no Gaussian is not in it. For records in a ball.
    """
    d = mechanism.public.dimension
    reaches = (0.0, _REACH * d) if d > 1 else (0.0,)
    return tuple(np.max([_errors_of(mechanism, reach) for reach in reaches], axis=0).tolist())


def _errors_of(mechanism: Proven, reach: float) -> np.ndarray:
    """Return both errors for a Gaussian whose features have correlations exp(-|i - j|/reach), none if it is 0."""
    public, d = mechanism.public, mechanism.public.dimension
    half = max(_RECORDS, _RECORDS_PER_ENTRY * d) // 2
    runs = min(max(_ENTRIES // d, _FEWEST_RUNS), _MOST_RUNS)
    x = fixed_normals(f"a Gaussian of {2 * half} in {d}", (half, d))
    x = np.linalg.solve(np.linalg.cholesky(x.T @ x / half), x.T).T  # of unit covariance
    if reach:
        features = np.arange(d)
        x @= np.linalg.cholesky(np.exp(-np.abs(features[:, None] - features) / reach)).T
    ball = replace(public.sound.ball, centre=None)
    scale = _SPREAD * ball.radius / math.sqrt(d)
    x = scale * (np.concatenate([x, -x]) + _MIDDLE)
    settings = replace(public.sound, classes=1, ball=ball, grid=0.0, prior=None)
    public = replace(public, classes=1, records=len(x), sound=settings)

    def run(noise: float, draws: int) -> MixtureDraws:
        steps = tuple(_of_class(step, noise, mechanism.plan.classes) for step in mechanism.plan.steps)
        alike = replace(mechanism, public=public, plan=replace(mechanism.plan, classes=1, steps=steps))
        return alike.run(x, measure_with(StudyNoise(0, "noise errors"), 0.0), draws).mixtures

    share = len(x) / mechanism.public.records
    right = run(_HARDLY_ANY * share, 1)

    def errors(noise: float) -> np.ndarray:
        noisy = run(noise, runs)
        moved = np.abs(noisy.means - right.means) / scale, np.abs(_variances(noisy) / _variances(right) - 1)
        return np.array([np.quantile(one, _SHARE) for one in moved])

    most = errors(share)
    for half in range(1, _HALVES):
        found = errors(share / 2**half)
        most = np.maximum(most, found)
        if (found < most / 2).all():
            break
    return most


def _variances(mixtures: MixtureDraws) -> np.ndarray:
    return np.diagonal(mixtures.covariances, axis1=-2, axis2=-1)


def _of_class(step, share: float, classes: int):
    """Return a step with the noise it has for a class of average size, by the share of records that are run."""
    return replace(step, noise_std=step.noise_std * share * (classes if step.name.startswith("round") else 1))
