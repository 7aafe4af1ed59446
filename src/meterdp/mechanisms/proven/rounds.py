"""Rounds of private EM: class sums under released responsibilities, every class updated in its own coordinates.

What both sound releases share (docs/proofs/sound.md, 3). Records are touched in the arguments of ``measure`` only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meterdp.mechanisms.interface import Released
from meterdp.mechanisms.proven.domain import Domain
from meterdp.mechanisms.proven.plan import ROUND_RADIUS
from meterdp.mechanisms.proven.posterior import round_parameters
from meterdp.mechanisms.proven.stack import RECORDS_BYTES, moment_stack, residual_stack
from meterdp.mixture.density import class_shares, log_scales, standardised
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import raise_eigenvalues
from meterdp.privacy.mechanism import Measure, NoisyQuery, clip_to_unit_ball

CHUNK_BYTES = 128e6


def run_rounds(
    steps: tuple[NoisyQuery, ...],
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
    """Run private EM from released or public start classes, one round or more; records are clipped here.

    ``measure`` turns the stack (R, K, q) of a step into a noisy one. ``records`` (R,) is N, public or released,
    ``given`` (N, K) the indicators of given labels, in place of responsibilities; what every record adds is rounded
    to multiples of ``grid``, 0 for a study. ``with_prior`` maps (weights, means, covariances, records) to maximum a
    posteriori estimates of the first three, as :meth:`~meterdp.mechanisms.proven.domain.Ball.with_prior`.
    """
    weights, means, covariances = start.weights, start.means, start.covariances
    d = x.shape[1]
    radius = ROUND_RADIUS * np.sqrt(d)
    for step in steps:
        responsibilities_model = MixtureDraws(weights, means, covariances)
        values, vectors = np.linalg.eigh(covariances)
        root = vectors * np.sqrt(values)[..., None, :]
        noisy = measure(
            step, _class_stacks(x, domain, responsibilities_model, np.linalg.inv(root), radius, given, grid)
        )
        weights, shift, shape = round_parameters(
            noisy, step.noise_std, domain.round_weights, records, radius, d, domain.diagonal_apart
        )
        means = domain.clip(means + np.einsum("rkij,rkj->rki", root, shift))
        covariances = root @ shape @ np.swapaxes(root, -1, -2)
        if with_prior is not None:
            weights, means, covariances = with_prior(weights, means, covariances, records)
        covariances, raised = raise_eigenvalues(covariances, eigenvalue_floor)
    return Released(MixtureDraws(weights, means, covariances), raised.any(axis=1), responsibilities_model)


def _class_stacks(
    x: np.ndarray,
    domain: Domain,
    responsibilities_model: MixtureDraws,
    whiten: np.ndarray,
    radius: float,
    given: np.ndarray | None,
    grid: float,
) -> np.ndarray:
    """Return the exact class stacks (R, K, q) in the coordinates of what was released last."""
    n, d = x.shape
    weights = domain.round_weights
    draws, k = responsibilities_model.weights.shape
    stacks = np.zeros((draws, k, 1 + d + d * (d + 1) // 2))
    log_scale = log_scales(responsibilities_model.weights, whiten)
    # So many records of one draw, or all records of so many draws, stay in the processor's cache.
    rows = max(1, RECORDS_BYTES // (8 * k * d))
    together = max(1, rows // max(n, 1))
    memory = np.empty((min(together, draws) * k, min(rows, n), d))
    for first in range(0, n, rows):
        clipped = domain.clip(x[first : first + rows])
        size = len(clipped)
        for r in range(0, draws, together):
            some = slice(r, min(r + together, draws))
            means, roots = responsibilities_model.means[some].reshape(-1, d), whiten[some].reshape(-1, d, d)
            z = standardised(clipped, means, roots, out=memory[: len(means), :size])
            square = np.einsum("knd,knd->kn", z, z)
            by_class = (-1, k, size)
            if given is None:
                log_density = log_scale[some][..., None] - 0.5 * square.reshape(by_class)
                share = np.swapaxes(class_shares(np.swapaxes(log_density, 0, 1)), 0, 1)
            else:
                share = np.broadcast_to(given[first : first + size].T, square.reshape(by_class).shape)
            share = share.reshape(square.shape)
            if grid > 0:
                z /= radius
                own = moment_stack(clip_to_unit_ball(z), weights, share, grid)
            else:
                own = residual_stack(z, square, weights, share, radius)
            stacks[some] += own.reshape(-1, k, own.shape[1])
    return stacks


def release_in_chunks(
    run: Callable[[np.ndarray, Measure, int], Released],
    x: np.ndarray,
    measure: Measure,
    draws: int,
    classes: int,
) -> Released:
    """Call ``run``, (x, measure, draws) -> Released, for as many draws at a time as memory allows."""
    size = max(1, int(CHUNK_BYTES / (8 * max(len(x), 1) * (4 * x.shape[1] + 2 * classes))))
    parts = [run(x, measure, min(size, draws - start)) for start in range(0, draws, size)]
    return Released(
        MixtureDraws.join([p.mixtures for p in parts]),
        np.concatenate([p.projected for p in parts]),
        None
        if parts[0].responsibilities_model is None
        else MixtureDraws.join([p.responsibilities_model for p in parts]),
        None if parts[0].records is None else np.concatenate([p.records for p in parts]),
    )
