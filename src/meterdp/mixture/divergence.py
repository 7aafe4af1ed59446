"""How far a released mixture is from the fit: KL divergence of the joint (x, y), and likelihood of the records.

(8) of Liu et al. in closed form: the divergence of the joint splits into that of the weights and the weighted
divergences of the Gaussian classes. The likelihood of x alone needs no labels and cannot be flattered by them.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from meterdp.mixture.density import record_log_densities
from meterdp.mixture.draws import Mixture, MixtureDraws


def kl_terms(released: MixtureDraws, reference: Mixture | MixtureDraws) -> np.ndarray:
    """Return each class's share of KL(released || reference) of the joint (x, y), (8).

    Parameters
    ----------
    released : MixtureDraws
    reference : Mixture or MixtureDraws
        One mixture for all draws, or one per draw. Weights positive where the released ones are.

    Returns
    -------
    (R, K) float64
        pi~_k (ln(pi~_k / pi_k) + KL(N~_k || N_k)), nats; their sum over k is the divergence.
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
    """Return KL(released || reference) of the joint (x, y) per draw, (8), in nats: (R,) float64."""
    return kl_terms(released, reference).sum(axis=-1)


def mean_log_likelihood(x: np.ndarray, draws: MixtureDraws) -> np.ndarray:
    """Return the mean log-density of the records under the marginal mixture of x, per draw.

    Parameters
    ----------
    x : (N, d) float64
        Log profile vectors, log kWh.
    draws : MixtureDraws

    Returns
    -------
    (R,) float64
        Nats per record.
    """
    return np.array([record_log_densities(x, draws.draw(r)).mean() for r in range(len(draws))])
