"""Gaussian noise in numbers: exact curves between two Gaussian distributions, and Gaussian DP in terms of (epsilon,
delta)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from meterdp.api.arguments import Refused, array_of, is_one_of, require
from meterdp.privacy import gaussian

_PAIRS = {"both": [[0, 1], [1, 0]], "forward": [[0, 1]], "reverse": [[1, 0]]}
# Largest asymmetry of a covariance, relative to its variances, that counts as rounding.
_ASYMMETRY = 1e-9
# Finite epsilon and mu up to here are converted; from one below on, or a delta below, to the safe side.
_GREATEST, _LEAST_MU, _LEAST_DELTA = 1e6, 1e-100, 1e-300


def privacy_curve(
    mean: ArrayLike,
    covariance: ArrayLike,
    other_mean: ArrayLike,
    other_covariance: ArrayLike,
    epsilon: ArrayLike,
    *,
    direction: Literal["both", "forward", "reverse"] = "both",
) -> float | np.ndarray:
    """Return the exact delta(epsilon) of a release that is Gaussian under two neighbours.

    With P = N(mean, covariance) and Q = N(other_mean, other_covariance), delta is the largest P(H) - e^epsilon Q(H)
    over all events H, the hockey-stick divergence. A release whose distribution is one of the two, whichever
    neighbour it was made from, is (epsilon, delta)-DP for that pair exactly if delta holds in both directions.

    Parameters
    ----------
    mean, other_mean : (d,) array_like
        Means; numbers if d = 1.
    covariance, other_covariance : (d, d) array_like
        Symmetric, positive semidefinite; numbers, the variances, if d = 1.
    epsilon : array_like
        Finite numbers, zero or more, of any shape.
    direction : {"both", "forward", "reverse"}
        ``forward`` is P against Q as above, ``reverse`` Q against P; ``both``, the larger, is what privacy needs.

    Returns
    -------
    float or ndarray
        delta in [0, 1], in the shape of ``epsilon``. The bound on the numerical error, below a thousandth of delta
        unless a covariance is nearly singular, is added, so that delta is never too small; one below 1e-300, also 0,
        can come back as 1e-300. 1 where a distribution is
        singular and not the same as the other; if both live in one subspace that is an upper bound.

    Raises
    ------
    ValueError
        One sentence that names the argument and the hint.

    Notes
    -----
    The loss is that of Ramakrishna et al., Proposition 1 and (29)-(31); its tails are integrated to a certified
    error. Equal covariances give Gaussian DP with mu the distance of the means in standard deviations (Balle and
    Wang 2018, Theorem 8).

    Examples
    --------
    One number with noise of standard deviation 2, moved by 1, as :func:`mu_for` and :func:`epsilon_for` see it:

    >>> import meterdp
    >>> epsilon = meterdp.epsilon_for(mu=0.5, delta=1e-5)
    >>> print(f"{meterdp.privacy_curve(0, 4, 1, 4, epsilon):.4g}")
    1e-05

    Two noises that differ in size and shape have two directions:

    >>> import numpy as np
    >>> wide, narrow = np.eye(2), np.diag([0.8, 0.9])
    >>> distributions = [0, 0], wide, [0, 0], narrow
    >>> for direction in ("forward", "reverse", "both"):
    ...     print(direction, meterdp.privacy_curve(*distributions, [0.1, 1], direction=direction).round(5))
    forward [0.03736 0.0006 ]
    reverse [0.01225 0.     ]
    both [0.03736 0.0006 ]
    """
    # Compiled where numba is there, which takes half a second to import; the conversions below do without.
    from meterdp.accounting.exact_curve import exact_tails
    from meterdp.accounting.gaussian_loss import pair_losses

    require(is_one_of(direction, tuple(_PAIRS)), "direction", "is not known", "use both, forward or reverse")
    m, other_m = _mean(mean, "mean"), _mean(other_mean, "other_mean")
    hint = "give distributions of as many entries"
    require(m.size == other_m.size, "other_mean", "has another length than mean", hint)
    s = _covariance(covariance, m.size, "covariance")
    other_s = _covariance(other_covariance, m.size, "other_covariance")
    at = _numbers(epsilon, "epsilon", np.inf)
    losses = pair_losses(np.stack([m, other_m]), np.stack([s, other_s]), _PAIRS[direction])
    tails = exact_tails(losses, at.ravel())
    delta = np.minimum(tails.hockey_stick + tails.hockey_stick_error, 1.0).max(axis=0).reshape(at.shape)
    return float(delta) if at.ndim == 0 else delta


def mu_for(epsilon: ArrayLike, delta: ArrayLike) -> float | np.ndarray:
    """Return the largest mu at which Gaussian DP gives (epsilon, delta)-DP.

    Gaussian noise of standard deviation s on a statistic that a neighbour moves by at most D (Euclidean) is mu-GDP
    with mu = D / s; so D / mu is the least noise there may be. Several such releases of the same records are mu-GDP
    with mu^2 the sum of their mu^2 (Dong, Roth and Su 2022, Corollary 3.3).

    Parameters
    ----------
    epsilon : array_like
        From 0 to 1e6, or infinite.
    delta : array_like
        From 0 to 1; arrays are broadcast.

    Returns
    -------
    float or ndarray
        Rounded down, so that (epsilon, delta) holds. 0 for delta = 0: no Gaussian noise is enough. A delta below
        1e-300 counts as 0.

    Raises
    ------
    ValueError
        One sentence that names the argument and the hint.

    Examples
    --------
    >>> import meterdp
    >>> print(f"{1 / meterdp.mu_for(epsilon=1, delta=1e-5):.4f} times the sensitivity")
    3.7306 times the sensitivity
    """
    return _each(
        gaussian.mu_for, _numbers(epsilon, "epsilon", _GREATEST, infinite=True), _numbers(delta, "delta", 1.0)
    )


def epsilon_for(mu: ArrayLike, delta: ArrayLike) -> float | np.ndarray:
    """Return the smallest epsilon at which mu-GDP is (epsilon, delta)-DP; the inverse of :func:`mu_for`.

    Parameters
    ----------
    mu : array_like
        From 0 to 1e6, or infinite.
    delta : array_like
        From 0 to 1; arrays are broadcast.

    Returns
    -------
    float or ndarray
        Rounded up, so that (epsilon, delta) holds. Infinity for delta = 0, unless mu is 0. A delta below 1e-300
        counts as 0, and a mu between 0 and 1e-100 as 1e-100.

    Raises
    ------
    ValueError
        One sentence that names the argument and the hint.

    Examples
    --------
    What twelve monthly releases of mu = 0.2 cost together:

    >>> import meterdp
    >>> print(f"{meterdp.epsilon_for(0.2 * 12**0.5, delta=1e-5):.3f}")
    2.876
    """
    mus = _numbers(mu, "mu", _GREATEST, infinite=True)
    mus = np.where((mus > 0) & (mus < _LEAST_MU), _LEAST_MU, mus)
    return _each(gaussian.epsilon_for, mus, _numbers(delta, "delta", 1.0))


def _each(of: Callable[[float, float], float], first: np.ndarray, delta: np.ndarray) -> float | np.ndarray:
    second = np.where(delta < _LEAST_DELTA, 0.0, delta)
    try:
        first, second = np.broadcast_arrays(first, second)
    except ValueError:
        problem, hint = "has a shape that does not go with the other argument", "use a number, or the same shape"
        raise Refused(problem, field="delta", hint=hint) from None
    values = [of(float(a), float(b)) for a, b in zip(first.flat, second.flat, strict=True)]
    return values[0] if first.ndim == 0 else np.array(values).reshape(first.shape)


def _numbers(value: ArrayLike, field: str, most: float, *, infinite: bool = False) -> np.ndarray:
    """Return numbers of any shape from 0 to ``most``, or infinite ones where they may be."""
    numbers = _array(value, field)
    within = (numbers >= 0) & (((numbers <= most) & np.isfinite(numbers)) | (infinite & (numbers == np.inf)))
    allowed = f"from 0 to {most:g}" if most < np.inf else "that are zero or more"
    require(within.all(), field, "is outside its allowed range", f"use numbers {allowed}")
    return numbers


def _mean(value: ArrayLike, field: str) -> np.ndarray:
    mean = np.atleast_1d(_array(value, field))
    is_row = mean.ndim == 1 and mean.size > 0 and np.isfinite(mean).all()
    require(is_row, field, "is not a row of finite numbers", "give one number for each entry")
    return mean


def _covariance(value: ArrayLike, d: int, field: str) -> np.ndarray:
    covariance = _array(value, field)
    covariance = covariance.reshape(1, 1) if covariance.size == 1 else covariance
    hint = f"give a symmetric matrix of {d} by {d} whose eigenvalues are not negative"
    is_square = covariance.shape == (d, d) and np.isfinite(covariance).all()
    require(is_square, field, "is not a finite square matrix of the length of the mean", hint)
    variances = np.diagonal(covariance)
    scale = np.sqrt(np.maximum(variances, 0.0))
    asymmetric = np.abs(covariance - covariance.T) > _ASYMMETRY * np.outer(scale, scale)
    require(not asymmetric.any(), field, "is not symmetric", hint)
    covariance = (covariance + covariance.T) / 2
    values = np.linalg.eigvalsh(covariance)
    negative = values[0] < -d * np.finfo(float).eps * max(values[-1], 0.0) or (variances < 0).any()
    require(not negative, field, "has a negative eigenvalue", hint)
    return covariance


def _array(value: ArrayLike, field: str) -> np.ndarray:
    return array_of(value, "is not numbers", field=field, hint="use numbers or an array of them")
