"""Exact delta(epsilon) between two Gaussian laws whose covariances differ.

The privacy loss is a quadratic form in a normal vector; its hockey-stick divergence is a line integral of the moment
generating function. With equal covariances it is the curve of :mod:`meterdp.accounting.gdp`.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

_STEP, _REACH = 0.02, 12.0
# Radians from the vertical, first choice first; below pi/4, or equal covariances would make the integrand grow.
_BENDS = (0.4, 0.2, 0.1, 0.05, 0.0)
_GROWTH = 3.0


def hockey_stick(shift: np.ndarray, covariance: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    """Return sup over sets H of P(H) - e^epsilon Q(H) for P = N(0, covariance), Q = N(shift, other).

    Parameters
    ----------
    shift : (d,) float64
    covariance, other : (d, d) float64
        Positive definite.
    epsilon : float
        Non-negative.

    Returns
    -------
    float
        E_P (1 - e^(epsilon - L))_+ with L = ln p/q. For K(u) = ln E_P e^(uL) this is
        (1/2 pi i) int e^(K(u) - u epsilon) / (u (u + 1)) du along any line that crosses the real axis right of zero
        where K is finite. All singularities are real, so the line may be a hyperbola through the saddle point that
        opens to the side on which the integrand decays; by the trapezoidal rule in asinh of the height. Absolute
        error below 1e-11 in 3000 random cases in one dimension, 1e-10 in three.
    """
    factor = np.linalg.cholesky(covariance)
    inverse = np.linalg.inv(np.linalg.cholesky(other))
    v, root, _ = np.linalg.svd(inverse @ factor)
    gamma, nu = root**2, v.T @ inverse @ shift

    def exponent(u):
        """K(u) - u epsilon - ln u - ln(u + 1), complex or real u of shape (n,)."""
        u = u[:, None]
        spread = 1 - u * (gamma - 1)
        cumulant = -u * np.log(gamma) - np.log(spread) + u * (1 + u) * nu**2 / spread
        return 0.5 * cumulant.sum(axis=1) - (u * epsilon + np.log(u) + np.log(u + 1))[:, 0]

    excess = gamma.max() - 1
    # K is finite up to 1/excess; without an excess the saddle lies below a few times (1 + epsilon)/|nu|^2.
    limit = min(1 / excess if excess > 0 else np.inf, 1e6)
    search = minimize_scalar(
        lambda log_u: float(exponent(np.array([np.exp(log_u)]))[0]),
        bounds=(-20.0, np.log(limit) + np.log1p(-1e-9)),
        method="bounded",
        options={"xatol": 1e-6},
    )
    saddle = float(np.exp(search.x))
    # Second derivative of the exponent at the saddle point: how fast the integrand falls off along the line.
    spread = 1 - saddle * (gamma - 1)
    curvature = (0.5 * ((gamma - 1) / spread) ** 2 + gamma * nu**2 / spread**3).sum()
    width = 1 / np.sqrt(curvature + saddle**-2 + (saddle + 1) ** -2)
    # Far out the exponent is -slope u.
    tilt = nu[gamma != 1] ** 2 / (gamma[gamma != 1] - 1)
    slope = epsilon + 0.5 * np.log(gamma).sum() + 0.5 * tilt.sum()
    y = np.arange(0.0, _REACH, _STEP)
    for bend in _BENDS:
        side = np.sign(slope) * np.sin(bend)
        u = saddle + width * (side * (np.cosh(y) - 1) + 1j * np.cos(bend) * np.sinh(y))
        log_values = exponent(u)
        # Between two scales of the covariances the integrand may rise before it falls: then bend less. The vertical
        # line never rises.
        if log_values.real.max() <= log_values[0].real + np.log(_GROWTH):
            break
    speed = width * (np.cos(bend) * np.cosh(y) - 1j * side * np.sinh(y))
    values = (np.exp(log_values) * speed).real
    values[0] /= 2
    return float(values.sum() * _STEP / np.pi)
