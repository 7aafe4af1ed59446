"""The log-density of a Gaussian mixture, for every caller, and how far a released mixture is from the fit.

The KL divergence of the joint (x, y), (8) of Liu et al., has a closed form: it splits into that of the weights and
the weighted divergences of the Gaussian classes. The likelihood of x alone needs no labels and cannot be flattered by
them.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, xlogy

from meterdp.mixture.draws import Mixture, MixtureDraws

# Of all classes, handled at a time: fits the cache, and malloc has such blocks at hand.
CHUNK_BYTES = 120_000


def standardised(x: np.ndarray, means: np.ndarray, whiten: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return L^-1 (x - mu) of every record (n, d) for every class, (K, n, d), into ``out`` if given.

    ``whiten`` (K, d, d) are inverses of any root L of the class covariances L L'.
    """
    z = np.matmul(x, np.swapaxes(whiten, 1, 2), out=out)
    z -= np.einsum("kij,kj->ki", whiten, means)[:, None]
    return z


def log_scales(weights: np.ndarray, whiten: np.ndarray) -> np.ndarray:
    """Return ln(pi_k |Sigma_k|^(-1/2)), (K,)."""
    with np.errstate(divide="ignore"):
        return np.log(weights) + np.linalg.slogdet(whiten)[1]


def class_log_densities(x: np.ndarray, mixture: Mixture) -> np.ndarray:
    """Return ln(pi_k N(x; mu_k, Sigma_k)) for every class and record, (K, n); -inf for a class of weight zero."""
    whiten = np.linalg.inv(np.linalg.cholesky(mixture.covariances))
    log_scale = log_scales(mixture.weights, whiten)[:, None]
    out = np.empty((mixture.classes, len(x)))
    rows = max(1, CHUNK_BYTES // (8 * mixture.means.size))
    for start in range(0, len(x), rows):
        z = standardised(x[start : start + rows], mixture.means, whiten)
        out[:, start : start + rows] = log_scale - 0.5 * np.einsum("knd,knd->kn", z, z)
    return out - 0.5 * x.shape[1] * np.log(2 * np.pi)


def record_log_densities(x: np.ndarray, mixture: Mixture) -> np.ndarray:
    """Return ln p(x) of every record under the mixture, (n,)."""
    return logsumexp(class_log_densities(x, mixture), axis=0)


def class_shares(log_density: np.ndarray) -> np.ndarray:
    """Return how much of each record belongs to each class: posterior probabilities (K, n), whose columns sum to one.

    From :func:`class_log_densities`.
    """
    return class_shares_and_total(log_density)[0]


def class_shares_and_total(log_density: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return :func:`class_shares` (K, n) and the log-density of the whole mixture (n,), from one exponential."""
    largest = log_density.max(axis=0)
    share = np.exp(log_density - largest)
    total = share.sum(axis=0)
    share /= total
    return share, largest + np.log(total)


def kl_terms(released: MixtureDraws, reference: Mixture | MixtureDraws) -> np.ndarray:
    """Return each class's share (R, K) of KL(released || reference) of the joint (x, y), (8), in nats.

    pi~_k (ln(pi~_k / pi_k) + KL(N~_k || N_k)); their sum over k is the divergence. The reference is one mixture for
    all draws, or one per draw, with weights that are positive where the released ones are.
    """
    d = released.means.shape[-1]
    lower = np.linalg.cholesky(reference.covariances)
    # L^-1 maps the reference class to the standard normal; the divergence does not change.
    inverse = np.linalg.inv(lower)
    shift = np.einsum("...ij,...j->...i", inverse, released.means - reference.means)
    whitened = inverse @ np.linalg.cholesky(released.covariances)
    trace = (whitened**2).sum(axis=(-1, -2))
    log_determinant = 2.0 * np.log(np.abs(np.diagonal(whitened, axis1=-2, axis2=-1))).sum(axis=-1)
    gaussian = 0.5 * (trace + (shift**2).sum(axis=-1) - d - log_determinant)
    weight = xlogy(released.weights, released.weights) - xlogy(released.weights, reference.weights)
    return weight + released.weights * gaussian


def kl_joint(released: MixtureDraws, reference: Mixture | MixtureDraws) -> np.ndarray:
    """Return KL(released || reference) of the joint (x, y) per draw, (8), in nats: (R,)."""
    return kl_terms(released, reference).sum(axis=-1)


def mean_log_likelihood(x: np.ndarray, draws: MixtureDraws) -> np.ndarray:
    """Return the mean log-density of the records under the marginal mixture of x, per draw (R,), nats per record."""
    return np.array([record_log_densities(x, draws.draw(r)).mean() for r in range(len(draws))])
