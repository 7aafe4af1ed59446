"""Rounds of private EM: class sums under released responsibilities, every class updated in its own coordinates.

What both sound releases share (docs/proofs/sound.md, 3). Records are touched in the arguments of ``measure`` only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meterdp.core.noise import GaussianSource
from meterdp.mechanisms.interface import Released
from meterdp.mechanisms.published.projection import project_covariances
from meterdp.mechanisms.sound.domain import Domain
from meterdp.mechanisms.sound.plan import ROUND_RADIUS
from meterdp.mechanisms.sound.posterior import round_parameters
from meterdp.mechanisms.sound.stack import (
    Measure,
    Step,
    clip_to_unit_ball,
    moment_stack,
    residual_stack,
)
from meterdp.mixture.density import class_shares, log_scales, standardised
from meterdp.mixture.draws import MixtureDraws

CHUNK_BYTES = 128e6
# Of the standardised records of all classes.
RECORDS_BYTES = 2**21


def run_rounds(
    steps: tuple[Step, ...],
    x: np.ndarray,
    measure: Measure,
    start: MixtureDraws,
    records: np.ndarray,
    domain: Domain,
    eigenvalue_floor: float,
    given: np.ndarray | None = None,
    grid: float = 0.0,
    with_prior: Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None,
) -> Released:
    """Run private EM from released or public start classes.

    Parameters
    ----------
    steps : tuple of Step
        One measurement a round, one or more.
    x : (N, d) float64
        Records; clipped here, some at a time.
    measure : callable
        (step, stack (R, K, q)) -> noisy stack of the same shape.
    start : MixtureDraws
    records : (R,) float64
        N, public or released.
    domain : Domain
        Where records, and so means, live.
    eigenvalue_floor : float
        Public floor of released covariances.
    given : (N, K) float64, optional
        Indicators of given labels, in place of responsibilities.
    grid : float
        What every record adds is rounded to multiples of it; 0 for a study.
    with_prior : callable, optional
        (weights, means, covariances, records) -> maximum a posteriori estimates of the first three, as
        :meth:`~meterdp.mechanisms.sound.domain.Ball.with_prior`; none by default.
    """
    weights, means, covariances = start.weights, start.means, start.covariances
    d = x.shape[1]
    radius = ROUND_RADIUS * np.sqrt(d)
    for step in steps:
        labeller = MixtureDraws(weights, means, covariances)
        values, vectors = np.linalg.eigh(covariances)
        root = vectors * np.sqrt(values)[..., None, :]
        noisy = measure(step, _class_stacks(x, domain, labeller, np.linalg.inv(root), radius, given, grid))
        weights, shift, shape = round_parameters(
            noisy, step.noise_std, domain.round_weights, records, radius, d, domain.diagonal_apart
        )
        means = domain.clip(means + np.einsum("rkij,rkj->rki", root, shift))
        covariances = root @ shape @ np.swapaxes(root, -1, -2)
        if with_prior is not None:
            weights, means, covariances = with_prior(weights, means, covariances, records)
        covariances, projected = project_covariances(covariances, eigenvalue_floor)
    return Released(MixtureDraws(weights, means, covariances), projected, labeller)


def _class_stacks(
    x: np.ndarray,
    domain: Domain,
    labeller: MixtureDraws,
    whiten: np.ndarray,
    radius: float,
    given: np.ndarray | None,
    grid: float,
) -> np.ndarray:
    """Return the exact class stacks (R, K, q) in the coordinates of what was released last."""
    n, d = x.shape
    weights = domain.round_weights
    k = labeller.weights.shape[1]
    stacks = np.zeros((*labeller.weights.shape, 1 + d + d * (d + 1) // 2))
    rows = max(1, RECORDS_BYTES // (8 * k * d))
    # One draw at a time, and of it so many records, stay in the processor's cache.
    memory = np.empty((k, min(rows, n), d))
    for r in range(len(labeller)):
        log_scale = log_scales(labeller.weights[r], whiten[r])
        for first in range(0, n, rows):
            part = slice(first, min(first + rows, n))
            z = standardised(domain.clip(x[part]), labeller.means[r], whiten[r], out=memory[:, : part.stop - first])
            square = np.einsum("knd,knd->kn", z, z)
            share = given[part].T if given is not None else class_shares(log_scale[:, None] - 0.5 * square)
            if grid > 0:
                z /= radius
                stacks[r] += moment_stack(clip_to_unit_ball(z), weights, share, grid)
            else:
                stacks[r] += residual_stack(z, square, weights, share, radius)
    return stacks


def release_in_chunks(
    run: Callable[[np.ndarray, Measure, int], Released],
    x: np.ndarray,
    noise: GaussianSource,
    draws: int,
    classes: int,
) -> Released:
    """Call ``run`` with Gaussian noise for as many draws at a time as memory allows.

    Parameters
    ----------
    run : callable
        (x, measure, draws) -> Released.
    x : (N, d) float64
    noise : GaussianSource
    draws, classes : int
    """

    def measure(step: Step, stack: np.ndarray) -> np.ndarray:
        return noise.add_gaussian(stack, step.noise_std)

    size = max(1, int(CHUNK_BYTES / (8 * max(len(x), 1) * (4 * x.shape[1] + 2 * classes))))
    parts = [run(x, measure, min(size, draws - start)) for start in range(0, draws, size)]
    return Released(
        MixtureDraws.join([p.mixtures for p in parts]),
        np.concatenate([p.projected for p in parts]),
        None if parts[0].labeller is None else MixtureDraws.join([p.labeller for p in parts]),
        None if parts[0].records is None else np.concatenate([p.records for p in parts]),
    )
