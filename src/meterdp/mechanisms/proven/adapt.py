"""Fit a public prior mixture to an export: its weights, and a shift and a shape that all classes share.

Learnt in one step or two are K weights, a shift and a matrix by which every class is moved and stretched in its own
coordinates, and the mean energy: K + d + d (d + 1)/2 + 1 numbers in place of K (1 + d + d (d + 1)/2). A record enters
through one bounded vector (docs/proofs/sound.md, Lemma 5). What is known of how utilities differ is a public prior,
and a number is believed by as much as its noise deserves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from meterdp.mechanisms.interface import Released
from meterdp.mechanisms.proven.domain import LEAST_WEIGHT, MOST_KWH, Ball, Domain, Loads
from meterdp.mechanisms.proven.posterior import invertible, of_unit_scale, response, shape_of
from meterdp.mechanisms.proven.prior_mixture import PriorMixture
from meterdp.mechanisms.proven.stack import RECORDS_AT_ONCE, RECORDS_BYTES, StackWeights
from meterdp.mixture.density import class_shares, log_scales, standardised
from meterdp.mixture.draws import FixedNumbers, MixtureDraws, sample
from meterdp.mixture.gmm import raise_eigenvalues
from meterdp.privacy.mechanism import Measure, NoisyQuery, clip_to_unit_ball
from meterdp.solvers.svec import smat, svec

# Public constants, chosen as docs/proofs/sound.md says.
RADIUS = 1.1
# A class has, by public knowledge, its weight in the prior mixture give or take so many times that weight.
WEIGHT_SPREAD = 6.0
# Standard deviations of what utilities differ by, in those of a class. Of a shift of all entries by the same, the
# level, and of one along the cosine of j half turns over the record, by so much less as j + 1 is more.
LEVEL_STD, SHIFT_STD = 0.9, 0.5
# Of the common shape, whose mean diagonal is one: of variances of neighbouring entries, which are alike over so many
# of them; of variances along neighbouring cosines, which are alike over so much of log(j + 1); of every entry by
# itself; and of the common scale.
ENTRY_STD, ENTRY_REACH = 0.18, 3.0
COSINE_STD, COSINE_REACH = 0.25, 0.6
OWN_STD = 0.08
SCALE_STD = 0.8
# The same of records in a ball, whose entries have no order: of every entry's shift, and of its variance.
BALL_SHIFT_STD, BALL_ENTRY_STD = 0.5, 0.3
# Shares of mu^2 of the steps, of which the second finds what the first has left; below this N mu / d a single one is
# better.
STEP_SHARES = (0.3, 0.7)
ENOUGH_FOR_TWO = 9.0
LEAST_EIGENVALUE = 0.15
# A fit in logs misses energy by so many log kWh.
ENERGY_STD = 0.35
# Levels that are tried for the energy, log kWh, the mixture's energy at some of them by so many of its profiles.
LEVELS, PROFILES = np.linspace(-1.5, 1.5, 301), 500
SCALE_RANGE = (0.08, 12.0)
# From this N mu / d on, rounds of private EM follow that give every class moments of its own, more the more there is;
# the prior mixture then gets this share of mu^2.
ENOUGH_FOR_ROUNDS, ROUNDS_POWER = 80.0, 0.8
SHARE_BESIDE_ROUNDS = 0.25


@dataclass(frozen=True)
class AdaptWeights:
    """Public weights of a stack (a gamma, b u, c svec(M), e w): shares, a residual, its second moment, an energy."""

    count: float  # a
    mean: float  # b
    moment: float  # c
    energy: float  # e

    def sensitivity(self, adjacency: str) -> float:
        """Return the exact l2 sensitivity under "replace_one" or "add_remove", Lemma 5 of docs/proofs/sound.md."""
        moments = StackWeights(0.0, self.mean, self.moment).sensitivity(adjacency, 1)
        shares = 1 if adjacency == "add_remove" else 2
        return math.sqrt(shares * self.count**2 + moments**2 + self.energy**2)


WEIGHTS = AdaptWeights(count=0.7, mean=0.5, moment=0.85, energy=0.9)
# Records in a ball have no energy.
BALL_WEIGHTS = replace(WEIGHTS, energy=0.0)


@dataclass(frozen=True)
class Differences:
    """What is publicly known of how records of others differ from a prior mixture, in standard deviations of a class.

    A shift has these standard deviations (d,) along orthonormal ``axes``, the columns of (d, d); svec of a shape near
    I has these variances (q,) along orthonormal ``directions`` (m, q), and ``OWN_STD`` beside.
    """

    weights: AdaptWeights  # of the stack that finds them
    axes: np.ndarray
    shift_std: np.ndarray
    directions: np.ndarray
    variances: np.ndarray


@lru_cache
def differences(kind: type[Domain], d: int) -> Differences:
    """Return what records of d entries in a domain differ by."""
    if kind is Ball:
        own = svec(np.eye(d)[:, :, None] * np.eye(d)[:, None, :]).T
        known = np.full(d, BALL_SHIFT_STD), own, np.full(d, BALL_ENTRY_STD**2)
        return Differences(BALL_WEIGHTS, np.eye(d), *known)
    std = math.sqrt(d) * np.where(np.arange(d) > 0, SHIFT_STD, LEVEL_STD) / (1 + np.arange(d))
    return Differences(WEIGHTS, cosines(d), std, *shape_prior(d))


def adapt_plan(signal: float, rounds: int | None, most_rounds: int) -> tuple[list[float], int]:
    """Return the share of mu^2 of every step, and how many rounds follow, by N mu / d = ``signal``.

    A configuration may say how many rounds; by default none for a small export, and ``most_rounds`` at most.
    """
    if rounds is None:
        enough = signal >= ENOUGH_FOR_ROUNDS
        rounds = min(round((signal / ENOUGH_FOR_ROUNDS) ** ROUNDS_POWER), most_rounds) if enough else 0
    together = 1.0 if rounds == 0 else SHARE_BESIDE_ROUNDS
    return [together * share for share in (STEP_SHARES if signal >= ENOUGH_FOR_TWO else (1.0,))], rounds


def adapt_entries(classes: int, dimension: int) -> int:
    """Return the entries of a stack: shares, residual, second moment, energy."""
    return classes + dimension + dimension * (dimension + 1) // 2 + 1


def adapt_stack(
    x: np.ndarray, domain: Domain, mixture: MixtureDraws, roots: np.ndarray, radius: float, grid: float
) -> np.ndarray:
    """Return sum_n (a gamma_n, b u_n, c svec(M_n), e w_n) of every draw, (R, K + d + d (d + 1)/2 + 1) float64.

    u is the mean, over the classes a record belongs to, of its residuals clipped to the unit ball, M that of their
    products v v', w its energy as a share of the largest that counts. The mixture is released or public, ``roots``
    (R, K, d, d) are symmetric roots of its covariances, ``radius`` is in standard deviations, and the grid as in
    :func:`~meterdp.mechanisms.proven.stack.moment_stack`.
    """
    r, k, d = mixture.means.shape
    out = np.zeros((r, adapt_entries(k, d)))
    whiten, weights = np.linalg.inv(roots), differences(type(domain), d).weights
    log_scale = log_scales(mixture.weights, whiten)
    rows = RECORDS_AT_ONCE if grid == 0 else max(1, RECORDS_BYTES // (8 * out.shape[1]))
    for first in range(0, len(x), rows):
        clipped = domain.clip(x[first : first + rows])
        energy = weights.energy * energy_share(clipped, domain) if weights.energy else np.zeros(len(clipped))
        for i in range(r):
            z = standardised(clipped, mixture.means[i], whiten[i])
            share = class_shares(log_scale[i][:, None] - 0.5 * np.einsum("knd,knd->kn", z, z))
            z = clip_to_unit_ball(z / radius)
            count, mean = weights.count * share, weights.mean * np.einsum("kn,knd->nd", share, z)
            z *= np.sqrt(share)[..., None]
            if grid == 0:
                z = z.reshape(-1, d)
                parts = count.sum(axis=1), mean.sum(axis=0), weights.moment * svec(z.T @ z), [energy.sum()]
                out[i] += np.concatenate(parts)
            else:
                moment = weights.moment * svec(np.einsum("kni,knj->nij", z, z))
                parts = np.concatenate([count.T, mean, moment, energy[:, None]], axis=1)
                out[i] += np.rint(parts / grid).sum(axis=0) * grid
    return out


def energy_share(x: np.ndarray, domain: Loads) -> np.ndarray:
    """Return the mean energy of an hour of each record (..., d) as a share in [0, 1] of the largest that counts.

    Records are in log kWh and within the public bounds.
    """
    return np.clip(domain.log_scale.kwh(x).mean(axis=-1) / MOST_KWH, 0.0, 1.0)


def adapt(
    steps: Sequence[NoisyQuery],
    prior_mixture: PriorMixture,
    x: np.ndarray,
    measure: Measure,
    records: np.ndarray,
    domain: Domain,
    eigenvalue_floor: float,
    grid: float,
) -> Released:
    """Fit weights, shift and shape of a prior mixture; records are touched in the argument of ``measure`` only.

    ``measure`` turns the stack (R, q) of each step into a noisy one; ``records`` (R,) is N, public or
    released. What every record adds is rounded to multiples of ``grid``, 0 for a study.
    """
    draws, d = len(records), x.shape[1]
    radius, known = RADIUS * math.sqrt(d), differences(type(domain), d)
    start = prior_mixture.mixture
    mixture = MixtureDraws(
        *(np.repeat(a[None], draws, axis=0) for a in (start.weights, start.means, start.covariances))
    )
    raised, energy, precision = False, np.zeros(draws), 0.0
    for step in steps:
        responsibilities_model = mixture
        # Before the first step all draws have the same mixture, so its stack is made once.
        of = MixtureDraws.single(start) if step is steps[0] else mixture
        values, vectors = np.linalg.eigh(of.covariances)
        roots = (vectors * np.sqrt(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        stack = adapt_stack(x, domain, of, roots, radius, grid)
        noisy = measure(step, np.broadcast_to(stack, (draws, stack.shape[1])))
        roots = np.broadcast_to(roots, mixture.covariances.shape)
        weights, shift, shape = adapted(noisy, step.noise_std, mixture.weights, records, radius, known)
        means = mixture.means + np.einsum("rkij,rj->rki", roots, shift)
        covariances, below = raise_eigenvalues(roots @ shape[:, None] @ roots, eigenvalue_floor)
        mixture, raised = MixtureDraws(weights, domain.clip(means), covariances), raised | below.any(axis=1)
        # The energy of a record is the same in every step.
        energy, precision = energy + noisy[:, -1] / step.noise_std**2, precision + step.noise_std**-2
    if known.weights.energy == 0:
        return Released(mixture, raised, responsibilities_model)
    factor = 1 / known.weights.energy / records
    level = level_for_energy(mixture, factor * energy / precision, factor / math.sqrt(precision), domain)
    return Released(
        replace(mixture, means=domain.clip(mixture.means + level[:, None, None])), raised, responsibilities_model
    )


def level_for_energy(mixtures: MixtureDraws, share: np.ndarray, std: np.ndarray, domain: Loads) -> np.ndarray:
    """Return how far levels have to move for the mean energy that was measured, (R,) log kWh.

    A fit in logs hardly sees what most of the energy is in, its upper tail. The likeliest move, given the noise of
    the measurement and how far such fits are off by public knowledge. ``share`` (R,) are noisy means of
    :func:`energy_share`, ``std`` (R,) are of their noise.
    """
    moved, some = np.empty(len(mixtures)), LEVELS[::15]
    for r in range(len(mixtures)):
        x, _ = sample(mixtures.draw(r), PROFILES, FixedNumbers())
        by_hour = np.ascontiguousarray(x.T)[:, None] + some[:, None]  # adding up hours is quick if they come first
        at_levels = energy_share(domain.clip(np.moveaxis(by_hour, 0, -1)), domain).mean(axis=1)
        of_mixture = np.interp(LEVELS, some, at_levels)
        moved[r] = LEVELS[((LEVELS / ENERGY_STD) ** 2 + ((share[r] - of_mixture) / std[r]) ** 2).argmin()]
    return moved


def adapted(
    noisy: np.ndarray, std: float, prior: np.ndarray, records: np.ndarray, radius: float, known: Differences
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights (R, K), a common shift (R, d) and shape (R, d, d) from the noisy stack of one step.

    Each is drawn towards what was known before, weights towards ``prior`` (R, K), by as much as its known noise
    deserves, ``std`` of each entry.
    """
    k, d, by = prior.shape[1], len(known.axes), known.weights
    of = response(d, radius)
    shares = noisy[:, :k] / by.count / records[:, None]
    own, noise = (WEIGHT_SPREAD * prior) ** 2, (std / by.count / records[:, None]) ** 2
    weights = np.maximum((own * shares + noise * prior) / (own + noise), LEAST_WEIGHT * prior)

    factor = (radius / by.mean / records / of.mean)[:, None]
    own = known.shift_std**2
    shift = (factor * noisy[:, k : k + d] @ known.axes) * (own / (own + (std * factor) ** 2)) @ known.axes.T

    factor = radius**2 / by.moment / records
    clipped = of.mean * shift
    raw = factor[:, None, None] * smat(noisy[:, k + d : -1], d) - clipped[:, :, None] * clipped[:, None, :]
    noise, own = (std * factor) ** 2, SCALE_STD**2
    mean_square = np.trace(raw, axis1=-2, axis2=-1) / d
    believed = own / (own + noise / d / of.mean_square**2)
    mean_square = invertible(of.mean_square + believed * (mean_square - of.mean_square), of)
    shape = shape_of(raw, mean_square, of)
    values, axes = np.linalg.eigh(likeliest_shape(shape, noise / (mean_square * of.shape) ** 2, known))
    shape = of_unit_scale((axes * np.maximum(values, LEAST_EIGENVALUE)[:, None, :]) @ np.swapaxes(axes, -1, -2))
    scale = np.clip(of.scale(mean_square), *SCALE_RANGE)
    return weights / weights.sum(axis=1, keepdims=True), shift, scale[:, None, None] * shape


def likeliest_shape(noisy: np.ndarray, noise: np.ndarray, known: Differences) -> np.ndarray:
    """Return the posterior mean of shapes (R, d, d) near I under what is known, from noisy ones.

    ``noise`` (R,) is the variance of the noise on every entry of svec.
    """
    d = noisy.shape[-1]
    difference, noise = svec(noisy - np.eye(d)), noise[:, None]
    own = OWN_STD**2
    along, apart = known.variances + own, own / (own + noise)
    more = (along / (along + noise) - apart) * (difference @ known.directions)
    found = apart * difference + more @ known.directions.T
    return np.eye(d) + smat(found, d)


def shape_prior(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the directions (q, m) in which utilities differ most in svec of a shape, orthonormal, and variances."""
    entry, turn = np.arange(d), np.log1p(np.arange(d))

    def root(places: np.ndarray, std: float, reach: float) -> np.ndarray:
        values, vectors = np.linalg.eigh(std**2 * np.exp(-0.5 * (np.subtract.outer(places, places) / reach) ** 2))
        return vectors * np.sqrt(np.maximum(values, 0.0))

    of_entries = svec(np.eye(d)[:, :, None] * np.eye(d)[:, None, :])
    waves = cosines(d).T
    of_waves = svec(waves[:, :, None] * waves[:, None, :])
    roots = [of_entries.T @ root(entry, ENTRY_STD, ENTRY_REACH), of_waves.T @ root(turn, COSINE_STD, COSINE_REACH)]
    directions, lengths, _ = np.linalg.svd(np.hstack(roots), full_matrices=False)
    kept = lengths > 1e-6 * lengths[0]
    return directions[:, kept], lengths[kept] ** 2


def cosines(d: int) -> np.ndarray:
    """Return the orthonormal cosines (d, d) of half a turn more each, the first of none: columns of the DCT-II."""
    entry = np.arange(d)
    waves = np.cos(np.pi * (entry[:, None] + 0.5) * entry / d)
    return waves / np.linalg.norm(waves, axis=0)
