"""Fit a public library of classes to an export that is too small for moments of its own.

Learnt in one step are the K weights, one shift and one scale that all classes share, each in its own coordinates, and
the mean energy: K + d + 2 numbers in place of K (1 + d + d (d + 1)/2). A record enters through one bounded vector
(docs/proofs/sound.md, Lemma 5); which exports are too small is a public rule (section 9 there).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from meterdp.mechanisms.interface import Released
from meterdp.mechanisms.proven.domain import Loads
from meterdp.mechanisms.proven.library import Library
from meterdp.mechanisms.proven.posterior import invertible, response, trust
from meterdp.mechanisms.proven.stack import RECORDS_AT_ONCE, RECORDS_BYTES
from meterdp.mixture.density import class_shares, log_scales, standardised
from meterdp.mixture.draws import FixedNumbers, MixtureDraws, sample
from meterdp.mixture.gmm import raise_eigenvalues
from meterdp.privacy.mechanism import Measure, NoisyQuery, clip_to_unit_ball

# Public constants, chosen as docs/proofs/sound.md says.
RADIUS = 1.1
# A class has, by public knowledge, its weight in the library give or take so many times that weight, and at least
# the other part of it.
WEIGHT_SPREAD, LEAST_WEIGHT = 6.0, 0.1
# Variances of a shift, in standard deviations of a class: along the unit vector of equal hours, the level, which
# utilities differ in most, and of each direction across it.
LEVEL_VARIANCE, SHAPE_VARIANCE = 2.0, 0.1
# Mean energy of an hour above which a household counts with so much. A fit in logs misses energy by so many log kWh.
MOST_KWH, ENERGY_STD = 4.0, 0.5
# Levels that are tried for the energy, log kWh, the mixture's energy at some of them by so many of its profiles.
LEVELS, PROFILES = np.linspace(-1.5, 1.5, 301), 500
SCALE_RANGE = (0.08, 12.0)
# From this N mu / d on, rounds of private EM follow that give every class moments of its own; the library then gets
# this share of mu^2.
ENOUGH_FOR_ROUNDS = 60.0
SHARE_BESIDE_ROUNDS = 0.15


@dataclass(frozen=True)
class AdaptWeights:
    """Public weights of a stack: (a gamma, b u, c q, e w) of K shares, a residual, its mean square, an energy."""

    count: float  # a
    mean: float  # b
    square: float  # c
    energy: float  # e

    def sensitivity(self, adjacency: str) -> float:
        """Return the exact l2 sensitivity under "replace_one" or "add_remove", Lemma 5 of docs/proofs/sound.md."""
        a2, b2, c2, e2 = self.count**2, self.mean**2, self.square**2, self.energy**2
        if adjacency == "add_remove":
            return math.sqrt(a2 + b2 + c2 + e2)
        far = 4 * b2
        if c2 > 2 * b2:
            s = (1 - math.sqrt(1 - 2 * b2 / c2)) / 2
            far = max(far, b2 * (1 + s) ** 2 + c2 * (1 - s**2) ** 2)
        return math.sqrt(2 * a2 + far + e2)


# So small a weight of the square costs nothing beside the mean.
WEIGHTS = AdaptWeights(count=0.7, mean=0.5, square=0.7, energy=0.7)


def adapt_share(signal: float, classes: int, rounds: int | None, most_rounds: int) -> tuple[float, int]:
    """Return the share of mu^2 of the step, and how many rounds follow, by N mu / d = ``signal`` and K.

    A configuration may say how many; by default none for a small export, and ``most_rounds`` at most.
    """
    if rounds is None:
        rounds = (
            0
            if signal < ENOUGH_FOR_ROUNDS
            else int(np.clip(round(0.45 * math.sqrt(signal / classes)), 1, most_rounds))
        )
    return 1.0 if rounds == 0 else SHARE_BESIDE_ROUNDS, rounds


def adapt_entries(classes: int, dimension: int) -> int:
    """Return the entries of a stack: shares, residual, mean square, energy."""
    return classes + dimension + 2


def adapt_stack(
    x: np.ndarray, domain: Loads, mixture: MixtureDraws, roots: np.ndarray, radius: float, grid: float
) -> np.ndarray:
    """Return sum_n (a gamma_n, b u_n, c q_n, e w_n) of every draw, (R, K + d + 2) float64.

    u is the mean, over the classes a record belongs to, of its residuals clipped to the unit ball, q that of their
    squared lengths, w its energy as a share of the largest that counts. The mixture is released or public, ``roots``
    (R, K, d, d) are symmetric roots of its covariances, ``radius`` is in standard deviations, and the grid as in
    :func:`~meterdp.mechanisms.proven.stack.moment_stack`.
    """
    r, k, d = mixture.means.shape
    out = np.zeros((r, adapt_entries(k, d)))
    whiten = np.linalg.inv(roots)
    log_scale = log_scales(mixture.weights, whiten)
    # So many records of one draw, or all records of so many draws, stay in the processor's cache.
    together = max(1, RECORDS_BYTES // (8 * k * d * max(len(x), 1)))
    for first in range(0, len(x), RECORDS_AT_ONCE):
        clipped = domain.clip(x[first : first + RECORDS_AT_ONCE])
        for start in range(0, r, together):
            some = slice(start, min(start + together, r))
            z = standardised(clipped, mixture.means[some].reshape(-1, d), whiten[some].reshape(-1, d, d))
            z = z.reshape(-1, k, *clipped.shape)
            log_density = log_scale[some][..., None] - 0.5 * np.einsum("rknd,rknd->rkn", z, z)
            share = np.swapaxes(class_shares(np.swapaxes(log_density, 0, 1)), 0, 1)
            z = clip_to_unit_ball(z / radius)
            parts = np.concatenate(
                [
                    WEIGHTS.count * share,
                    WEIGHTS.mean * np.einsum("rkn,rknd->rdn", share, z),
                    WEIGHTS.square * np.einsum("rkn,rknd,rknd->rn", share, z, z)[:, None],
                    np.broadcast_to(WEIGHTS.energy * energy_share(clipped, domain), (len(z), 1, len(clipped))),
                ],
                axis=1,
            )
            out[some] += np.rint(parts / grid).sum(axis=2) * grid if grid > 0 else parts.sum(axis=2)
    return out


def energy_share(x: np.ndarray, domain: Loads, level: float = 0.0) -> np.ndarray:
    """Return the mean energy of an hour of each record (n, d) as a share in [0, 1] of the largest that counts.

    Records, in log kWh, are within the public bounds; ``level`` is added to every entry, which then is clipped again.
    """
    return np.clip(domain.log_scale.kwh(domain.clip(x + level)).mean(axis=1) / MOST_KWH, 0.0, 1.0)


def adapt(
    step: NoisyQuery,
    library: Library,
    x: np.ndarray,
    measure: Measure,
    records: np.ndarray,
    domain: Loads,
    eigenvalue_floor: float,
    grid: float,
) -> Released:
    """Fit weights, shift and scale of a library; records are touched in the argument of ``measure`` only.

    ``measure`` turns the stack (R, K + d + 2) of the step into a noisy one; ``records`` (R,) is N, public or
    released. What every record adds is rounded to multiples of ``grid``, 0 for a study.
    """
    draws, d = len(records), x.shape[1]
    radius = RADIUS * math.sqrt(d)
    start = library.mixture
    responsibilities_model = MixtureDraws(
        *(np.repeat(a[None], draws, axis=0) for a in (start.weights, start.means, start.covariances))
    )
    values, vectors = np.linalg.eigh(responsibilities_model.covariances)
    roots = (vectors * np.sqrt(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    noisy = measure(step, adapt_stack(x, domain, responsibilities_model, roots, radius, grid))
    weights, shift, scale = adapted(noisy, step.noise_std, start.weights[None], records, radius, d)
    means = responsibilities_model.means + np.einsum("rkij,rj->rki", roots, shift)
    covariances, raised = raise_eigenvalues(
        scale[:, None, None, None] * responsibilities_model.covariances, eigenvalue_floor
    )
    mixture = MixtureDraws(weights, domain.clip(means), covariances)
    factor = 1 / WEIGHTS.energy / records
    level = level_for_energy(mixture, factor * noisy[:, -1], factor * step.noise_std, domain)
    return Released(
        replace(mixture, means=domain.clip(means + level[:, None, None])), raised.any(axis=1), responsibilities_model
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
        of_mixture = np.interp(LEVELS, some, [energy_share(x, domain, level).mean() for level in some])
        moved[r] = LEVELS[((LEVELS / ENERGY_STD) ** 2 + ((share[r] - of_mixture) / std[r]) ** 2).argmin()]
    return moved


def adapted(
    noisy: np.ndarray, std: float, prior: np.ndarray, records: np.ndarray, radius: float, d: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights (R, K), common shift (R, d) and common scale (R,) from the noisy stack (R, K + d + 2).

    Each is drawn towards the library, whose weights are ``prior`` (1, K), by as much as its known noise deserves,
    ``std`` of each entry.
    """
    k, of = prior.shape[1], response(d, radius)
    shares = noisy[:, :k] / WEIGHTS.count / records[:, None]
    own, noise = (WEIGHT_SPREAD * prior) ** 2, (std / WEIGHTS.count / records[:, None]) ** 2
    weights = np.maximum((own * shares + noise * prior) / (own + noise), LEAST_WEIGHT * prior)
    factor = (radius / WEIGHTS.mean / records)[:, None]
    clipped, noise = factor * noisy[:, k : k + d], (std * factor / of.mean) ** 2
    level = clipped.mean(axis=1, keepdims=True)
    clipped = LEVEL_VARIANCE / (LEVEL_VARIANCE + noise) * level + SHAPE_VARIANCE / (SHAPE_VARIANCE + noise) * (
        clipped - level
    )
    factor = radius**2 / WEIGHTS.square / records / d
    square = factor * noisy[:, k + d] - (clipped**2).sum(axis=1) / d
    square = of.mean_square + trust((std * factor / of.mean_square) ** 2) * (square - of.mean_square)
    scale = np.clip(of.scale(invertible(square, of)), *SCALE_RANGE)
    return weights / weights.sum(axis=1, keepdims=True), clipped / of.mean, scale
