"""Tests of the innovations of a fit: left-over correlation, normality, and variance that comes in spells.

The Gaussian distribution (57) of Ramakrishna et al. assumes independent normal innovations; these say per household
how far that is from true. Missing readings are left out of every sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.special import chdtrc

SPARE_LAGS = 10  # degrees of freedom of both portmanteau tests


class ResidualTests(NamedTuple):
    """Tests of the standardised innovations; NaN where there are too few of them, or they are constant.

    The p-values are of Ljung-Box over p + q + 10 lags, chi-square with 10 degrees of freedom, of skewness and excess
    kurtosis together, and of McLeod-Li: Ljung-Box over 10 lags of the squares.
    """

    ljung_box_p: float = np.nan
    skewness: float = np.nan
    excess_kurtosis: float = np.nan
    jarque_bera_p: float = np.nan
    arch_p: float = np.nan


def residual_tests(innovation: np.ndarray, coefficient_count: int) -> ResidualTests:
    """Test innovations (T,) over their standard deviations, NaN where a reading is missing, of a fit with p + q
    coefficients.
    """
    correlation, skewness, kurtosis, squares, count = _statistics(
        np.ascontiguousarray(innovation, dtype=float), coefficient_count + SPARE_LAGS, SPARE_LAGS
    )
    return ResidualTests(
        float(chdtrc(SPARE_LAGS, correlation)),
        skewness,
        kurtosis,
        float(chdtrc(2, count / 6 * (skewness**2 + kurtosis**2 / 4))),
        float(chdtrc(SPARE_LAGS, squares)),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def _statistics(innovation, lags, square_lags):
    count, mean, second, third, fourth = 0, 0.0, 0.0, 0.0, 0.0
    for e in innovation:
        if np.isfinite(e):
            count += 1
            mean += e
    if count <= lags + 1:
        return np.nan, np.nan, np.nan, np.nan, count
    mean /= count
    centred, squared = np.zeros(innovation.size), np.zeros(innovation.size)
    for t in range(innovation.size):
        if np.isfinite(innovation[t]):
            centred[t] = innovation[t] - mean
            second += centred[t] ** 2 / count
            third += centred[t] ** 3 / count
            fourth += centred[t] ** 4 / count
    if not second > 0.0:
        return np.nan, np.nan, np.nan, np.nan, count
    around = 0.0
    for e in innovation:
        if np.isfinite(e):
            around += e**2 / count
    for t in range(innovation.size):
        if np.isfinite(innovation[t]):
            squared[t] = innovation[t] ** 2 - around
    kurtosis = fourth / second**2 - 3.0
    return (
        _portmanteau(centred, lags, count),
        third / second**1.5,
        kurtosis,
        _portmanteau(squared, square_lags, count),
        count,
    )


@njit(cache=True, nogil=True, error_model="numpy")
def _portmanteau(e, lags, count):
    """Ljung-Box statistic of a series with mean zero and zeros in its gaps."""
    power, total = 0.0, 0.0
    for t in range(e.size):
        power += e[t] ** 2
    if not power > 0.0:
        return np.nan
    for lag in range(1, lags + 1):
        left, right, product = e[lag:], e[: e.size - lag], 0.0
        for t in range(left.size):
            product += left[t] * right[t]
        total += (product / power) ** 2 / (count - lag)
    return count * (count + 2) * total
