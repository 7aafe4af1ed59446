"""What the sound release measures beside its mixture: hour by hour, over all hours and at the peak, how far from it.

One measurement more (docs/proofs/sound.md, 2 and 6). A record enters by where it stands in the released mixture: the
level u, the share of the mixture below it, of every hour, of the energy over all hours and of the largest hour. Means
of cos(pi j u) over the records are zero if the mixture is right, and say otherwise where it is not.

They become synthetic profiles, and a better mixture, by post-processing: the distribution nearest to the mixture that
has the released means m of features f, by maximum entropy. Its density is that of the mixture times exp(t' f(x)),
normalised: every profile is one the mixture could have made, only more or less often. So the dependence between hours
stays and nothing leaves the public bounds. Exponents t are drawn towards public ones by as much as the noise in m
deserves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr

from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.mechanisms.proven.domain import LEAST_WEIGHT
from meterdp.mixture.density import class_log_densities, class_shares
from meterdp.mixture.draws import FixedNumbers, Mixture, sample
from meterdp.mixture.gmm import raise_eigenvalues
from meterdp.privacy.noise import NoiseSource

# Public constants, tuned as docs/proofs/sound.md says. Cosines of an hour, of the energy and of the largest hour.
HOUR_COSINES, ENERGY_COSINES, PEAK_COSINES = 4, 12, 8
# Cosines of a linear function of a record in a ball.
LINEAR_COSINES = 12
_RECORDS_AT_ONCE = 20_000
# By how much the least value of a function may be missed.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class LinearFunction:
    """A linear function of records of d entries, and the least value it has of any record there can be.

    What a mixture has below ``least`` counts as being there. Where most records have the least value, records of a
    mixture cannot be weighted to have it, too; such a function is a single entry, whose values are moved
    (:func:`sample_linear`).
    """

    coefficients: tuple[float, ...]  # (d,)
    least: float = -math.inf

    def __post_init__(self):
        if not self.weighted and np.count_nonzero(self.coefficients) != 1:
            raise ValueError("a function with a least value must be of a single entry")

    @property
    def weighted(self) -> bool:
        """Whether records are weighted by it."""
        return math.isinf(self.least)


Directions = tuple[LinearFunction, ...]
# Energy and peak are two numbers of which each deserves more than one hour.
TOTAL_WEIGHT = 1.5
# Lower ends of the bins of u that are counted for the energy: cosines of u hardly see one household in a hundred.
TAIL_LEVELS = (0.9, 0.97, 0.99)
TAIL_WEIGHT = 3.0
# Where a prior mixture is adapted to few homes, too many of them use much: by public knowledge, a profile in each of
# these bins stands for so many homes.
ADAPTED_TAIL, TAIL = (0.7, 0.4, 0.2), (1.0, 1.0, 1.0)
# Profiles of the mixture that stand for its distribution of energy and peak.
POOL = 20_000


@dataclass(frozen=True)
class Reference:
    """A released mixture as what records are compared with, within public bounds of a reading."""

    mixture: Mixture
    low_log_kwh: float
    high_log_kwh: float
    log_scale: LogScale = PLAIN
    tail_homes: tuple[float, ...] = TAIL

    @cached_property
    def pool(self) -> np.ndarray:
        """The same profiles of the mixture for everybody, (POOL, d) log kWh: no noise and nothing hidden."""
        x, _ = sample(self.mixture, POOL, FixedNumbers())
        return self.clip(x)

    @cached_property
    def pool_features(self) -> np.ndarray:
        return self.features(self.pool)

    @property
    def public_exponents(self) -> np.ndarray:
        """Exponents (q,) before anything is measured."""
        tail = np.log(self.tail_homes) / TAIL_WEIGHT
        return np.concatenate([np.zeros(statistics_of(self.mixture.dimension) - len(tail)), tail])

    @cached_property
    def energy(self) -> np.ndarray:
        """Energies over all hours of the pool, increasing, (POOL,) kWh."""
        return np.sort(self.energy_of(self.pool))

    def energy_of(self, x: np.ndarray) -> np.ndarray:
        """Return the energies over all hours of profiles (n, d) in log kWh, (n,) kWh."""
        return self.log_scale.kwh(x).sum(axis=1)

    @cached_property
    def peak(self) -> np.ndarray:
        """Largest hours of the pool, increasing, (POOL,) log kWh."""
        return np.sort(self.pool.max(axis=1))

    def features(self, x: np.ndarray) -> np.ndarray:
        """Return sqrt(2/j) cos(pi j u), j = 1..HOUR_COSINES, per hour, then the same of energy and peak, and the
        indicators of the upper bins of the energy.
        """
        energy = _level(self.energy_of(x), self.energy)
        bins = np.searchsorted(TAIL_LEVELS, energy, side="right")
        return np.concatenate(
            [
                _cosines(hour_levels(x, self.mixture), HOUR_COSINES).reshape(len(x), -1),
                TOTAL_WEIGHT * _cosines(energy, ENERGY_COSINES),
                TOTAL_WEIGHT * _cosines(_level(x.max(axis=1), self.peak), PEAK_COSINES),
                TAIL_WEIGHT * (bins[:, None] == np.arange(1, len(TAIL_LEVELS) + 1)),
            ],
            axis=1,
        )

    def clip(self, x: np.ndarray) -> np.ndarray:
        return np.clip(x, self.low_log_kwh, self.high_log_kwh)

    def order_of(self, x: np.ndarray) -> np.ndarray:
        """Return what neighbouring candidates are alike in, (n,)."""
        return self.energy_of(x)


@dataclass(frozen=True)
class LinearReference:
    """A released mixture of records in a ball, as what linear functions of records are compared with."""

    mixture: Mixture
    directions: Directions

    def __post_init__(self):
        along = np.array([of.coefficients for of in self.directions]) != 0
        moved = np.array([not of.weighted for of in self.directions])
        # To move an entry would change every other function of it.
        if (np.diff(moved.astype(int)) < 0).any() or (along[:, along[moved].any(axis=0)].sum(axis=0) > 1).any():
            raise ValueError("functions with a least value must be the last, each of an entry that no other has")

    @cached_property
    def weighted(self) -> LinearReference:
        """The same for the functions alone by which records are weighted."""
        return LinearReference(self.mixture, tuple(of for of in self.directions if of.weighted))

    @property
    def parts(self) -> list[slice]:
        """Which features belong together: of all functions by which records are weighted, then of each other one."""
        first, count = len(self.weighted.directions), len(self.directions)
        ends = [LINEAR_COSINES * number for number in (0, *range(first, count + 1))]
        return [slice(*pair) for pair in pairwise(ends)]

    @cached_property
    def pool(self) -> np.ndarray:
        """The same records of the mixture for everybody, (POOL, d)."""
        return sample(self.mixture, POOL, FixedNumbers())[0]

    @cached_property
    def pool_features(self) -> np.ndarray:
        return self.features(self.pool)

    def features(self, x: np.ndarray) -> np.ndarray:
        """Return sqrt(2/j) cos(pi j u), j = 1..LINEAR_COSINES, for every linear function."""
        along = np.array([of.coefficients for of in self.directions])
        least = np.array([of.least for of in self.directions])
        projected = Mixture(
            self.mixture.weights,
            self.mixture.means @ along.T,
            along @ self.mixture.covariances @ along.T,
        )
        values = np.maximum(x @ along.T, least)
        u = hour_levels(values, projected)
        u = np.where(values > least + _ROUNDING, u, u / 2)  # ties by half
        return _cosines(u, LINEAR_COSINES).reshape(len(x), -1)

    @property
    def public_exponents(self) -> np.ndarray:
        return np.zeros(statistics_of(self.mixture.dimension, self.directions))

    def clip(self, x: np.ndarray) -> np.ndarray:
        return x

    def order_of(self, x: np.ndarray) -> np.ndarray:
        """Return what neighbouring candidates are alike in, (n,): the first of the linear functions."""
        return x @ np.array(self.directions[0].coefficients)


def statistics_of(dimension: int, directions: Directions = ()) -> int:
    """Return the number q of statistics of records of d hours, or of linear functions of any records."""
    if directions:
        return len(directions) * LINEAR_COSINES
    return dimension * HOUR_COSINES + ENERGY_COSINES + PEAK_COSINES + len(TAIL_LEVELS)


def sensitivity(adjacency: str, dimension: int, directions: Directions = ()) -> float:
    """Return the l2 sensitivity of the sum of :func:`features`, Lemma 4 of docs/proofs/sound.md."""
    adding = adjacency == "add_remove"

    def cosines(count: int) -> float:
        if adding:
            return 2 * sum(1 / j for j in range(1, count + 1))
        return 8 * sum(1 / j for j in range(1, count + 1, 2))

    if directions:
        return math.sqrt(len(directions) * cosines(LINEAR_COSINES))
    totals = TOTAL_WEIGHT**2 * (cosines(ENERGY_COSINES) + cosines(PEAK_COSINES))
    # Two records in different upper bins have energies too near to each other for more than one bin to count.
    return math.sqrt(dimension * cosines(HOUR_COSINES) + totals + TAIL_WEIGHT**2)


def features(x: np.ndarray, reference: Reference | LinearReference) -> np.ndarray:
    """Return the bounded vector (n, q) of every record (n, d) within the public domain.

    Cosines of where it stands in the mixture: of u, the share of the mixture below it.
    """
    return reference.features(x)


def feature_sum(x: np.ndarray, reference: Reference | LinearReference, grid: float = 0.0) -> np.ndarray:
    """Return the sum of :func:`features` over the records, (q,) float64.

    With a grid every record's vector is rounded to its multiples first, so that the sum is exact.
    """
    total = np.zeros(statistics_of(x.shape[1], getattr(reference, "directions", ())))
    for first in range(0, len(x), _RECORDS_AT_ONCE):
        part = features(x[first : first + _RECORDS_AT_ONCE], reference)
        total += np.rint(part / grid).sum(axis=0) if grid > 0 else part.sum(axis=0)
    return total * grid if grid > 0 else total


def hour_levels(x: np.ndarray, mixture: Mixture) -> np.ndarray:
    """Return the share of the mixture below every reading, hour by hour: (n, d) float64 in [0, 1]."""
    deviation = np.sqrt(np.diagonal(mixture.covariances, axis1=-2, axis2=-1))
    below = sum(w * ndtr((x - m) / s) for w, m, s in zip(mixture.weights, mixture.means, deviation, strict=True))
    return np.clip(below / mixture.weights.sum(), 0.0, 1.0)


def _level(values: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Return the share of ``ordered`` below each value, ties by half."""
    order = values.argsort()  # neighbours are found near each other, which takes a quarter of the time
    below, up_to = (np.searchsorted(ordered, values[order], side=side) for side in ("left", "right"))
    level = np.empty(len(values))
    level[order] = (below + up_to) / (2 * len(ordered))
    return level


def _cosines(u: np.ndarray, count: int) -> np.ndarray:
    """Return sqrt(2/j) cos(pi j u) for j = 1..count, along a new last axis.

    By cos((j + 1) a) = 2 cos(a) cos(j a) - cos((j - 1) a), since a cosine takes ten times as long as a product; what
    rounding adds must not pass the bound that the sensitivity is from.
    """
    before, now = 1.0, np.cos(np.pi * u)
    twice, out = 2 * now, np.empty((*u.shape, count))
    for j in range(1, count + 1):
        out[..., j - 1] = math.sqrt(2 / j) * np.clip(now, -1.0, 1.0)
        before, now = now, twice * now - before
    return out


# Root mean squares of what the mixture may miss, in units of what its own records differ by.
PRIOR_STDS = np.geomspace(1e-3, 1.0, 61)
# Share of the mixture whose weights are cut: bounds how many profiles are drawn for one that is kept.
CUT_SHARE = 1e-3
# Profiles of which one stays.
CANDIDATES = 10
_STEPS = 300
_PROFILES_AT_ONCE, _DRAWN_AT_ONCE = 5_000, 50_000


@dataclass(frozen=True)
class Marginals:
    """What the sound release says about marginals beside one mixture."""

    reference: Reference | LinearReference
    means: np.ndarray  # (q,), noisy means of the features over the records
    noise_std: float  # of the noise in each

    @cached_property
    def exponents(self) -> np.ndarray:
        """Exponents t of the reweighted mixture, (q,) float64; of every function that is moved, by itself."""
        pool, public = self.reference.pool_features, self.reference.public_exponents
        parts = getattr(self.reference, "parts", [slice(None)])
        return np.concatenate(
            [fit_exponents(pool[:, part], self.means[part], self.noise_std, public[part]) for part in parts]
        )

    def fitted(self, eigenvalue_floor: float) -> Mixture:
        """Return a mixture of as many classes near the reweighted one, largest first: a step of EM on its pool.

        To every class d profiles count that are as it was, so that one of few profiles keeps a covariance; its weight
        is never below a tenth of what it was, as in the fit before.
        """
        x, before = self.reference.pool, self.reference.mixture
        shares = class_shares(class_log_densities(x, before)) * pool_weights(self.reference, self.exponents)
        weights, squares = shares.sum(axis=1), (shares**2).sum(axis=1)
        # As many equal profiles would have means as uncertain.
        shares *= (weights / np.maximum(squares, 1e-300))[:, None]
        kept = x.shape[1]
        count = shares.sum(axis=1) + kept
        means = (shares @ x + kept * before.means) / count[:, None]
        covariances = np.empty_like(before.covariances)
        for k, share in enumerate(shares):
            residual, moved = x - means[k], before.means[k] - means[k]
            old = before.covariances[k] + np.outer(moved, moved)
            covariances[k] = ((share[:, None] * residual).T @ residual + kept * old) / count[k]
        covariances, _ = raise_eigenvalues(covariances, eigenvalue_floor)
        weights = np.maximum(weights / weights.sum(), LEAST_WEIGHT * before.weights)
        order = np.argsort(-weights, kind="stable")
        return Mixture(weights[order] / weights.sum(), means[order], covariances[order])


def fit_exponents(pool: np.ndarray, means: np.ndarray, noise_std: float, public: np.ndarray) -> np.ndarray:
    """Return the exponents t that maximise t'm - ln E exp(t'f) - (s^2 / v) |t - t0|^2 / 2, (q,) float64.

    The dual of relaxed maximum entropy: of all distributions q the one with the least KL(q || p) / v plus |E_q f -
    m|^2 / (2 s^2), where p is the mixture with the ``public`` exponents t0 (q,). The variance v of what p misses is
    the most likely one if E_q f - E_p f is N(0, v Cov_p f) (empirical Bayes). ``pool`` (M, q) are features of
    profiles of the mixture.
    """
    stands_for = np.exp(pool @ public)
    stands_for /= stands_for.sum()
    centre = stands_for @ pool
    deviation, found = pool - centre, means - centre
    # The mean of the pool is one of M profiles only.
    variance = noise_std**2 + stands_for @ stands_for
    spread, axes = np.linalg.eigh((stands_for[:, None] * deviation).T @ deviation)
    explained = PRIOR_STDS[:, None] ** 2 * np.maximum(spread, 0.0) + variance
    likelihood = -(np.log(explained) + (axes.T @ found) ** 2 / explained).sum(axis=1)
    penalty = variance / PRIOR_STDS[likelihood.argmax()] ** 2

    def loss(t: np.ndarray) -> tuple[float, np.ndarray]:
        z = deviation @ t
        top = z.max()
        weight = stands_for * np.exp(z - top)
        total = weight.sum()
        value = np.log(total) + top - t @ found + 0.5 * penalty * (t @ t)
        return float(value), weight @ deviation / total - found + penalty * t

    start = np.zeros(len(found))
    return public + minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}).x


def pool_weights(reference: Reference | LinearReference, exponents: np.ndarray) -> np.ndarray:
    """Return how likely records of the pool are to stand for the reweighted mixture, (POOL,), at most one."""
    z = reference.pool_features @ exponents
    return np.exp(np.minimum(z - np.quantile(z, 1 - CUT_SHARE), 0.0))


def sample_linear(reference: LinearReference, exponents: np.ndarray, n: int, noise: NoiseSource) -> np.ndarray:
    """Return records that have the distributions of the linear functions, (n, d): weighted, then moved."""
    first, *others = reference.parts
    weighted = reference.weighted
    x = sample_reweighted(weighted, exponents[first], n, noise)
    weight = pool_weights(weighted, exponents[first])
    for function, part in zip(reference.directions[len(weighted.directions) :], others, strict=True):
        of = LinearReference(reference.mixture, (function,))
        x = _moved(x, function, weighted.pool, weight, pool_weights(of, exponents[part]))
    return x


def _moved(
    x: np.ndarray, function: LinearFunction, pool: np.ndarray, weight: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """Return records (n, d) with one entry moved so that the function is distributed as of the pool with weights
    ``wanted``, not ``weight``; who has more than another still has no less.
    """
    entry = int(np.flatnonzero(function.coefficients)[0])
    size, values = function.coefficients[entry], function.coefficients[entry] * pool[:, entry]
    order = values.argsort()
    level, wanted_level = ((np.cumsum(w[order]) - w[order] / 2) / w.sum() for w in (weight, wanted))
    x, values = x.copy(), values[order]
    at = np.interp(size * x[:, entry], values, level)
    x[:, entry] = np.interp(at, wanted_level, np.maximum(values, function.least)) / size
    return x


def sample_reweighted(
    reference: Reference | LinearReference, exponents: np.ndarray, n: int, noise: NoiseSource
) -> np.ndarray:
    """Return profiles that stand for the reweighted mixture, within the public bounds, (n, d) float64, log kWh.

    Chance is kept small: of ``CANDIDATES`` independent profiles of neighbouring energies, the one stays that brings
    the mean features of all that stay nearest to those of all candidates. The order is random.
    """
    top = np.quantile(reference.pool_features @ exponents, 1 - CUT_SHARE)
    rate = pool_weights(reference, exponents).mean()
    blocks = [np.empty((0, reference.mixture.dimension))]
    for first in range(0, n, _PROFILES_AT_ONCE):
        size = min(_PROFILES_AT_ONCE, n - first)
        x, of = _independent(reference, exponents, top, rate, CANDIDATES * size, noise)
        order = reference.order_of(x).argsort(kind="stable")
        blocks.append(x[order][_balanced(of[order], noise.uniform((size,)).argsort())])
    return np.concatenate(blocks)


def _independent(
    reference: Reference | LinearReference, exponents: np.ndarray, top: float, rate: float, n: int, noise: NoiseSource
) -> tuple[np.ndarray, np.ndarray]:
    """Draw independent profiles and their features by rejection: exponents above ``top`` count as that, ``rate`` are
    kept.
    """
    kept, kept_features, missing = [], [], n
    while missing > 0:
        x, _ = sample(reference.mixture, min(int(1.1 * missing / rate) + 100, _DRAWN_AT_ONCE), noise)
        x = reference.clip(x)
        of = features(x, reference)
        chance = np.exp(np.minimum(of @ exponents - top, 0.0))
        taken = np.flatnonzero(noise.uniform((len(x),)) < chance)[:missing]
        kept.append(x[taken])
        kept_features.append(of[taken])
        missing -= len(taken)
    return np.concatenate(kept), np.concatenate(kept_features)


def _balanced(of: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return one row out of each ``CANDIDATES`` neighbours, groups in the given order, (n,) int.

    Each keeps the sum of deviations from the mean of all rows of ``of`` (CANDIDATES n, q) as near to zero as it can.
    """
    groups = (of - of.mean(axis=0)).reshape(len(order), CANDIDATES, -1)
    total, chosen = np.zeros(of.shape[1]), np.empty(len(order), dtype=np.int64)
    for i, group in enumerate(order):
        best = ((groups[group] + total) ** 2).sum(axis=1).argmin()
        total += groups[group, best]
        chosen[i] = group * CANDIDATES + best
    return chosen
