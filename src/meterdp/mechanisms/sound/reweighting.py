"""From measured marginals to synthetic profiles: the distribution nearest to the mixture that has them, by maximum
entropy.

Post-processing of a released mixture and released means m of features f (``marginals.py``). The density is that of
the mixture times exp(t' f(x)), normalised: every profile is one the mixture could have made, only more or less often.
So the dependence between hours stays and nothing leaves the public bounds. Exponents t are drawn towards zero by as
much as the noise in m deserves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from meterdp.mechanisms.sound.marginals import Reference, features
from meterdp.mixture.sampling import sample
from meterdp.privacy.noise import NoiseSource

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
    """What the sound release says about marginals beside one mixture.

    Parameters
    ----------
    reference : Reference
        The released mixture.
    means : (q,) float64
        Noisy means of the features over the records.
    noise_std : float
        Standard deviation of the noise in each.
    """

    reference: Reference
    means: np.ndarray
    noise_std: float

    @cached_property
    def exponents(self) -> np.ndarray:
        """Exponents t of the reweighted mixture, (q,) float64."""
        return fit_exponents(features(self.reference.pool, self.reference), self.means, self.noise_std)


def fit_exponents(pool: np.ndarray, means: np.ndarray, noise_std: float) -> np.ndarray:
    """Return the exponents t that maximise t'm - ln E exp(t'f) - (s^2 / v) |t|^2 / 2, (q,) float64.

    The dual of relaxed maximum entropy: of all distributions q the one with the least KL(q || mixture) / v plus
    |E_q f - m|^2 / (2 s^2). The variance v of what the mixture misses is the most likely one if E_q f - E f is
    N(0, v Cov f) (empirical Bayes).

    Parameters
    ----------
    pool : (M, q) float64
        Features of profiles of the mixture.
    means : (q,) float64
    noise_std : float
    """
    centre = pool.mean(axis=0)
    deviation, found = pool - centre, means - centre
    # The mean of the pool is one of M profiles only.
    variance = noise_std**2 + 1 / len(pool)
    spread, axes = np.linalg.eigh(deviation.T @ deviation / len(pool))
    explained = PRIOR_STDS[:, None] ** 2 * np.maximum(spread, 0.0) + variance
    likelihood = -(np.log(explained) + (axes.T @ found) ** 2 / explained).sum(axis=1)
    penalty = variance / PRIOR_STDS[likelihood.argmax()] ** 2

    def loss(t: np.ndarray) -> tuple[float, np.ndarray]:
        z = deviation @ t
        top = z.max()
        weight = np.exp(z - top)
        total = weight.sum()
        value = np.log(total / len(z)) + top - t @ found + 0.5 * penalty * (t @ t)
        return float(value), weight @ deviation / total - found + penalty * t

    start = np.zeros(len(found))
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}).x


def sample_reweighted(reference: Reference, exponents: np.ndarray, n: int, noise: NoiseSource) -> np.ndarray:
    """Return profiles that stand for the reweighted mixture, within the public bounds, (n, d) float64, log kWh.

    Chance is kept small: of ``CANDIDATES`` independent profiles of neighbouring energies, the one stays that brings
    the mean features of all that stay nearest to those of all candidates. The order is random.

    Parameters
    ----------
    reference : Reference
    exponents : (q,) float64
    n : int
    noise : NoiseSource
        Source of uniform and normal numbers.
    """
    z = features(reference.pool, reference) @ exponents
    top = np.quantile(z, 1 - CUT_SHARE)
    rate = np.exp(np.minimum(z - top, 0.0)).mean()
    blocks = [np.empty((0, reference.mixture.dimension))]
    for first in range(0, n, _PROFILES_AT_ONCE):
        size = min(_PROFILES_AT_ONCE, n - first)
        x = _independent(reference, exponents, top, rate, CANDIDATES * size, noise)
        x = x[reference.energy_of(x).argsort(kind="stable")]
        blocks.append(x[_balanced(features(x, reference), noise.uniform((size,)).argsort())])
    return np.concatenate(blocks)


def _independent(
    reference: Reference, exponents: np.ndarray, top: float, rate: float, n: int, noise: NoiseSource
) -> np.ndarray:
    """Draw independent profiles by rejection: exponents above ``top`` count as that, ``rate`` are kept."""
    kept, missing = [], n
    while missing > 0:
        x, _ = sample(reference.mixture, min(int(1.1 * missing / rate) + 100, _DRAWN_AT_ONCE), noise)
        x = np.clip(x, reference.low_log_kwh, reference.high_log_kwh)
        chance = np.exp(np.minimum(features(x, reference) @ exponents - top, 0.0))
        kept.append(x[noise.uniform((len(x),)) < chance][:missing])
        missing -= len(kept[-1])
    return np.concatenate(kept)


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
