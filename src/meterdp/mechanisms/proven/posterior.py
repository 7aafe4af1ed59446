"""Post-processing of the sound release: noisy sums to usable parameters, from released numbers and noise levels only.

Empirical Bayes throughout: each statistic is drawn towards something better known by as much as its own noise
deserves, so classes without records end as a small weight on a pooled shape instead of as nonsense. Nothing here sees
a record (docs/proofs/sound.md, 5).

Clipping is undone by constants that make clipped sums consistent estimates of a Gaussian's moments. A standardised
record z is used as u = z / max(r, |z|). For z ~ N(m, s (I + D)) near N(0, I), D traceless, clipped sums respond to
mean, scale and shape with known factors, which are functions of d and r alone, hence public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import chdtr, chdtrc, erfcx, gammaln

from meterdp.mechanisms.proven.stack import RADIUS_EDGES, StackWeights
from meterdp.solvers.svec import smat

LOG_SCALES = np.linspace(-5.0, 5.0, 401)


def clipped_mean_square(d: int, square: float | np.ndarray) -> np.ndarray:
    """Return E[min(|z|^2, r^2)] / d for z ~ N(0, I_d), ``square`` = r^2."""
    return chdtr(d + 2, square) + square * chdtrc(d, square) / d


@dataclass(frozen=True)
class Response:
    """How clipped sums respond to the parameters of a Gaussian near the standard one."""

    mean: float  # d E[r u] / d m
    shape: float  # factor of the traceless D in E[r^2 u u'] divided by the trace of E[r^2 u u'] / d
    mean_square: float  # E[r^2 |u|^2] / d at scale one
    log_mean_squares: np.ndarray  # (L,), ln E[r^2 |u|^2] / d at the scales exp(LOG_SCALES), increasing
    largest_mean_square: float  # r^2 / d, what the mean square cannot exceed

    def scale(self, mean_square: np.ndarray) -> np.ndarray:
        """Return the scale s whose clipped mean square is the given one, by interpolation in the table."""
        return np.exp(np.interp(np.log(mean_square), self.log_mean_squares, LOG_SCALES))


@lru_cache
def response(d: int, radius: float) -> Response:
    """Return the responses at dimension ``d`` and clip radius ``radius``."""
    square = radius**2
    inside, outside = chdtr(d, square), chdtrc(d, square)
    mean = inside
    if d > 1:
        # E[1/|z|; |z| > r] by the density of chi_{d-1}; a shift moves the direction of far records only.
        inverse_length = np.exp(gammaln((d - 1) / 2) - gammaln(d / 2)) / np.sqrt(2) * chdtrc(d - 1, square)
        mean += radius * (1 - 1 / d) * inverse_length
    at_one = float(clipped_mean_square(d, square))
    shape = 1 - 2 * square * outside / (at_one * d * (d + 2))
    scales = np.exp(LOG_SCALES)
    table = np.log(scales * clipped_mean_square(d, square / scales))
    return Response(float(mean), float(shape), at_one, np.maximum.accumulate(table), square / d)


# Public constants, tuned as docs/proofs/sound.md says.
RADIUS_QUANTILE = 0.75
RADIUS_FACTOR = 1.3
# Shrinkage charges noise a tenth above its expectation, so that a lucky draw is not taken for structure.
NOISE_MARGIN = 1.1
EIGENVALUE_RATIOS = (0.02, 0.6)
# Squared lengths per dimension that shifts of a mean and differences of shape (target at I) hardly exceed.
LARGEST_SHIFT_PER_DIMENSION = 4.0
LARGEST_SHAPE_PER_DIMENSION = 1.0
SCALE_PRIOR_VARIANCE = 1.0
# A household's level makes up no more than this share of the variance of an hour, and its hours no more than this
# correlation beyond the level: what exceeds them is left to the data.
LARGEST_LEVEL_SHARE, LARGEST_CORRELATION = 0.7, 0.7
# Smallest eigenvalue of the pooled target, relative to the mean square, and smallest mean square, relative to r^2.
LOWEST_TARGET_RATIO, LOWEST_MEAN_SQUARE = 0.4, 0.1
# Of records in a ball: smallest variance relative to the mean one, and smallest eigenvalue of the correlations.
LOWEST_VARIANCE_RATIO, LOWEST_CORRELATION_RATIO = 0.02, 0.1
# One round changes the scale of a class by no more than these factors.
SCALE_RANGE = (0.08, 12.0)
# Mean squares are kept where the clipping curve can be inverted: shares of its value at scale one and of its limit.
MEAN_SQUARE_RANGE = (0.02, 0.995)
_TINY = np.finfo(float).tiny


def radius_from(histogram: np.ndarray, records: np.ndarray, d: int) -> np.ndarray:
    """Return the first clip radius (R,) from noisy histograms (R, B): 1.3 times their upper quartile.

    The quartile, rounded up to an edge of a bin, stands where noise cannot pass for households in the tail.
    """
    above = np.cumsum(histogram[:, ::-1], axis=1)[:, ::-1] / records[:, None]
    # Share of records above each upper edge; the last edge has none.
    above = np.concatenate([above[:, 1:], np.zeros((len(above), 1))], axis=1)
    edge = RADIUS_EDGES[1:][(above <= 1 - RADIUS_QUANTILE).argmax(axis=1)]
    return RADIUS_FACTOR * np.sqrt(d * 2.0**edge)


def positive_counts(noisy: np.ndarray, std: float) -> np.ndarray:
    """Return the posterior mean of non-negative counts under a flat prior, given Gaussian noise of ``std``."""
    z = noisy / std
    hazard = np.sqrt(2 / np.pi) / erfcx(-z / np.sqrt(2))
    return np.maximum(noisy + std * hazard, 1e-3 * std)


def structure_share(square: np.ndarray, noise: np.ndarray, largest: float) -> np.ndarray:
    """Return how much of a noisy difference is structure: James and Stein, capped by public knowledge.

    ``square`` (...) is the squared length of the difference, ``noise`` (...) that expected of the noise alone,
    ``largest`` one that the structure hardly exceeds: it caps the share at largest / (largest + noise), so that a
    lucky draw of overwhelming noise is not taken for structure.
    """
    found = 1 - noise / np.maximum(square, np.maximum(noise, _TINY))
    return np.minimum(found, largest / (largest + noise))


def shrink_shift(shift: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Shrink shifts (..., d) of known noise variance (...) per entry towards zero."""
    d = shift.shape[-1]
    share = structure_share((shift**2).sum(axis=-1), d * variance, LARGEST_SHIFT_PER_DIMENSION * d)
    return share[..., None] * shift


def shrink_covariances(
    raw: np.ndarray, target: np.ndarray, variance: np.ndarray, diagonal_apart: bool = False
) -> np.ndarray:
    """Shrink noisy symmetric matrices (..., d, d) towards positive definite targets by their known noise level.

    In coordinates where the target is I: raw = I + structure + noise, noise = A E A' with svec(E) white, ``variance``
    (...) that of its entries. The difference is scaled by its share of structure, 1 - margin E|noise|^2 / |raw -
    I|^2, and eigenvalues that the noise left in it explains are not allowed far below one: the result is positive
    definite. ``diagonal_apart`` gives the diagonal its own share: its d entries stand out from noise when d (d - 1)/2
    others cannot.
    """
    d = raw.shape[-1]
    lower = np.linalg.cholesky(target)
    inverse = np.linalg.inv(lower)
    difference = inverse @ raw @ np.swapaxes(inverse, -1, -2) - np.eye(d)
    gram = np.swapaxes(inverse, -1, -2) @ inverse
    # E |A E A'|_F^2 for svec(E) white of variance v: v/2 ((tr G)^2 + |G|_F^2), G = A'A.
    energy = 0.5 * variance * (np.trace(gram, axis1=-2, axis2=-1) ** 2 + (gram**2).sum(axis=(-2, -1)))
    if diagonal_apart:
        # Where G is near a multiple of I, as it is here, the diagonal has this part of the noise.
        parts = [
            (np.eye(d, dtype=bool), 2 / (d + 1), 2 / d),
            (~np.eye(d, dtype=bool), (d - 1) / (d + 1), 4 / (d + 1)),
        ]
    else:
        parts = [(np.ones((d, d), bool), 1.0, 4 / (d + 1))]
    structure, edge = np.zeros_like(difference), 0.0
    for where, part, factor in parts:
        own = difference * where
        share = structure_share(
            (own**2).sum(axis=(-2, -1)), NOISE_MARGIN * part * energy, LARGEST_SHAPE_PER_DIMENSION * d
        )
        structure += share[..., None, None] * own
        # Largest eigenvalue of the noise that was kept, if it were isotropic.
        edge = np.hypot(edge, share * np.sqrt(factor * part * energy))
    values, vectors = np.linalg.eigh(structure)
    lowest = np.clip(edge, *EIGENVALUE_RATIOS)
    kept = (vectors * np.maximum(1 + values, lowest[..., None])[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return lower @ kept @ np.swapaxes(lower, -1, -2)


def household_shape(covariance: np.ndarray) -> np.ndarray:
    """Return the nearest covariance of a common level plus AR(1) hours, by moments, for symmetric matrices (R, d, d).

    Three numbers say most about households (their level, the spread around it and how fast it is forgotten) and are
    averages over so many entries that noise hardly moves them.
    """
    d = covariance.shape[-1]
    # Noise can make a trace negative; what is left must still be a variance beside the other entries.
    smallest = 1e-6 * np.abs(covariance).max(axis=(-2, -1)) + _TINY
    variance = np.maximum(np.trace(covariance, axis1=-2, axis2=-1) / d, smallest)
    by_lag = np.array([np.diagonal(covariance, lag, -2, -1).mean(axis=-1) for lag in range(d)])
    far = by_lag[d // 3 : max(2 * d // 3, d // 3) + 1].mean(axis=0) if d > 1 else 0 * variance
    level = np.clip(far, 0, LARGEST_LEVEL_SHARE * variance)
    rest = variance - level
    correlation = np.clip((by_lag[min(1, d - 1)] - level) / rest, 0, LARGEST_CORRELATION)
    hours = np.arange(d)
    lags = np.abs(hours[:, None] - hours)
    return level[:, None, None] + rest[:, None, None] * correlation[:, None, None] ** lags


# (raw, variance, radius, colour) -> covariance, all before ``colour`` undoes the whitening.
CovarianceRule = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def household_covariance(raw: np.ndarray, variance: np.ndarray, radius: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """Return the covariance (R, d, d) of whitened loads, shrunk towards :func:`household_shape`.

    ``raw`` (R, d, d) is that of noisy sums, ``variance`` (R,) that of the noise on each entry of svec(raw).
    """
    target = household_shape(colour @ raw @ colour.T)
    whiten = np.linalg.inv(colour)
    scale = _least_mean_square(raw, radius)
    values, vectors = np.linalg.eigh(whiten @ target @ whiten.T)
    # Noise alone must not make a point of the population, neither as a whole nor in some direction.
    values = np.maximum(values, LOWEST_TARGET_RATIO * scale[:, None])
    target = (vectors * values[:, None, :]) @ np.swapaxes(vectors, -1, -2)
    return shrink_covariances(raw, target, variance)


def diagonal_covariance(raw: np.ndarray, variance: np.ndarray, radius: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """Return the covariance (R, d, d) of records of which nothing is known, each entry shrunk by its own noise.

    Variances are drawn towards their mean; each correlation towards zero, by the noise it has at these variances
    against the mean square correlation that is more than noise. As :func:`household_covariance` otherwise.
    """
    d = raw.shape[-1]
    noise = variance[:, None]
    own = np.diagonal(raw, axis1=-2, axis2=-1)
    typical = _least_mean_square(raw, radius)[:, None]
    apart = own - own.mean(axis=1, keepdims=True)
    share = structure_share(
        (apart**2).sum(axis=1), d * variance, LARGEST_SHIFT_PER_DIMENSION * (typical**2).sum(axis=1) * d
    )
    # Any variance is positive: what noise has made of a small one says little.
    own = positive_counts(typical + share[:, None] * apart, np.sqrt(np.maximum(share[:, None], _TINY) * noise))
    own = np.maximum(own, LOWEST_VARIANCE_RATIO * typical)
    rows, columns = np.triu_indices(d, 1)
    scale = own[:, rows] * own[:, columns]
    off = raw[:, rows, columns]
    # Entries off the diagonal of smat have half the variance of svec's.
    spread = np.maximum((off**2 - noise / 2).sum(axis=1) / np.maximum(scale.sum(axis=1), _TINY), 0)
    kept = spread[:, None] * scale / (spread[:, None] * scale + noise / 2)
    correlation = np.zeros(raw.shape)
    correlation[:, rows, columns] = correlation[:, columns, rows] = off * kept / np.sqrt(scale)
    values, vectors = np.linalg.eigh(correlation)
    values = np.maximum(1 + values, LOWEST_CORRELATION_RATIO)
    root = np.sqrt(own)
    return root[:, :, None] * ((vectors * values[:, None, :]) @ np.swapaxes(vectors, -1, -2)) * root[:, None, :]


def _least_mean_square(raw: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return the mean variance (R,), kept above a share of the squared clip radius."""
    d = raw.shape[-1]
    return np.maximum(np.trace(raw, axis1=-2, axis2=-1) / d, LOWEST_MEAN_SQUARE * radius**2 / d)


def pooled_parameters(
    noisy: np.ndarray,
    std: float,
    weights: StackWeights,
    records: np.ndarray,
    radius: np.ndarray,
    colour: np.ndarray,
    covariance_of: CovarianceRule = household_covariance,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean (R, d) and covariance (R, d, d) of all records, from the pooled stack.

    The mean is shrunk towards the centre of clipping. The stack (R, 1 + d + d (d + 1)/2) is of records whitened and
    clipped to ``radius`` (R,), with noise of ``std`` on each entry; ``records`` (R,) is N, public or released,
    ``colour`` (d, d) the public matrix that undoes the whitening.
    """
    d = len(colour)
    factor = radius / weights.mean / records
    mean = shrink_shift(factor[:, None] * noisy[:, 1 : 1 + d], (std * factor) ** 2)
    factor = radius**2 / weights.moment / records
    raw = factor[:, None, None] * smat(noisy[:, 1 + d :], d) - mean[:, :, None] * mean[:, None, :]
    covariance = covariance_of(raw, (std * factor) ** 2, radius, colour)
    return mean @ colour.T, colour @ covariance @ colour.T


def round_parameters(
    noisy: np.ndarray,
    std: float,
    weights: StackWeights,
    records: np.ndarray,
    radius: float,
    d: int,
    diagonal_apart: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights (R, K), shifts (R, K, d) and covariances (R, K, d, d) from the noisy stack of one round.

    Every class in its own coordinates, where what the last round released is the standard normal: a shift of zero
    and a covariance I mean "as before". Shapes are shrunk in two stages: what all classes changed alike towards I,
    and that of each class towards the common one.

    Parameters
    ----------
    noisy : (R, K, 1 + d + d (d + 1)/2) float64
    std, weights, records, d
        As in :func:`pooled_parameters`.
    radius : float
        Clip radius, in standard deviations.
    diagonal_apart : bool
        As in :func:`shrink_covariances`.
    """
    k, of = noisy.shape[1], response(d, radius)
    counts = positive_counts(noisy[..., 0] / weights.count, std / weights.count)
    counts *= (records / counts.sum(axis=1))[:, None]
    clipped = radius * noisy[..., 1 : 1 + d] / weights.mean / counts[..., None]
    clipped = shrink_shift(clipped, (radius * std / weights.mean / counts) ** 2)
    variance = (radius**2 * std / weights.moment) ** 2
    scatter = radius**2 * smat(noisy[..., 1 + d :] / weights.moment, d)
    scatter -= counts[..., None, None] * clipped[..., :, None] * clipped[..., None, :]

    pooled = scatter.sum(axis=1) / records[:, None, None]
    typical = np.trace(pooled, axis1=-2, axis2=-1) / d
    relative_noise = k * variance / d / (records * of.mean_square) ** 2
    typical = invertible(of.mean_square + trust(relative_noise) * (typical - of.mean_square), of)
    common = shape_of(pooled, typical, of)
    noise = k * variance / (records * typical * of.shape) ** 2
    common = of_unit_scale(shrink_covariances(common, np.eye(d), noise, diagonal_apart))

    own = np.trace(scatter, axis1=-2, axis2=-1) / d / counts
    relative_noise = variance / d / (counts * typical[:, None]) ** 2
    mean_square = invertible(typical[:, None] + trust(relative_noise) * (own - typical[:, None]), of)
    shape = shape_of(scatter / counts[..., None, None], mean_square, of)
    noise = variance / (counts * mean_square * of.shape) ** 2
    shape = shrink_covariances(shape, common[:, None], noise, diagonal_apart)
    scale = np.clip(of.scale(mean_square), *SCALE_RANGE)
    return counts / records[:, None], clipped / of.mean, scale[..., None, None] * of_unit_scale(shape)


def trust(relative_noise: np.ndarray) -> np.ndarray:
    """Return how much of a relative difference of scale to believe, given the variance of its noise."""
    return SCALE_PRIOR_VARIANCE / (SCALE_PRIOR_VARIANCE + relative_noise)


def invertible(mean_square: np.ndarray, of: Response) -> np.ndarray:
    """Return mean squares brought to where the clipping curve can be inverted."""
    low, high = MEAN_SQUARE_RANGE
    return np.clip(mean_square, low * of.mean_square, high * of.largest_mean_square)


def shape_of(second_moment: np.ndarray, mean_square: np.ndarray, of: Response) -> np.ndarray:
    """Return I plus the traceless part of a second moment, relative to its mean square, undoing the clipping."""
    identity = np.eye(second_moment.shape[-1])
    own = np.trace(second_moment, axis1=-2, axis2=-1) / len(identity)
    traceless = second_moment - own[..., None, None] * identity
    return identity + traceless / (mean_square * of.shape)[..., None, None]


def of_unit_scale(shape: np.ndarray) -> np.ndarray:
    return shape * (shape.shape[-1] / np.trace(shape, axis1=-2, axis2=-1))[..., None, None]
