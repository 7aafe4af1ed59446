"""What clipping does to a Gaussian: the constants that make clipped sums consistent estimates of its moments.

A standardised record z is used as u = z / max(r, |z|). For z ~ N(m, s (I + D)) near N(0, I), D traceless, clipped
sums respond to mean, scale and shape with known factors; dividing by them undoes the bias of clipping. All are
functions of d and r alone, hence public.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import chdtr, chdtrc, gammaln

LOG_SCALES = np.linspace(-5.0, 5.0, 401)


def clipped_mean_square(d: int, square: float | np.ndarray) -> np.ndarray:
    """Return E[min(|z|^2, r^2)] / d for z ~ N(0, I_d), ``square`` = r^2."""
    return chdtr(d + 2, square) + square * chdtrc(d, square) / d


@dataclass(frozen=True)
class Response:
    """How clipped sums respond to the parameters of a Gaussian near the standard one.

    Parameters
    ----------
    mean : float
        d E[r u] / d m.
    shape : float
        Factor of the traceless D in E[r^2 u u'] divided by the trace of E[r^2 u u'] / d.
    mean_square : float
        E[r^2 |u|^2] / d at scale one.
    log_mean_squares : (L,) float64
        ln E[r^2 |u|^2] / d at the scales exp(``LOG_SCALES``), increasing.
    largest_mean_square : float
        r^2 / d, what the mean square cannot exceed.
    """

    mean: float
    shape: float
    mean_square: float
    log_mean_squares: np.ndarray
    largest_mean_square: float

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
