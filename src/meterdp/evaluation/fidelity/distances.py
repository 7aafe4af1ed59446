"""How close synthetic log profiles come to real ones: Example 2 of Liu et al. (density estimation and simulation).

Distances between two samples of profiles, none of which assumes a distribution: hour by hour, jointly, and in what a
planner
reads off a profile (hour and size of the peak, energy, load factor). Two samples of one distribution give values
near zero that shrink with the sample size, so values compare between samples of equal size only.
"""

from __future__ import annotations

import numpy as np

from meterdp.core.log_scale import PLAIN, LogScale


def _cdf_gaps(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return F_a - F_b between neighbouring values of both samples, and the lengths of these gaps, per column."""
    values = np.concatenate([a, b])
    order = np.argsort(values, axis=0, kind="stable")
    step = np.where(order < len(a), 1 / len(a), -1 / len(b))
    return np.cumsum(step, axis=0)[:-1], np.diff(np.take_along_axis(values, order, axis=0), axis=0)


def kolmogorov_smirnov(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the two-sample Kolmogorov-Smirnov statistic max |F_a - F_b| of every column.

    Parameters
    ----------
    a : (n, d) float64
    b : (m, d) float64

    Returns
    -------
    (d,) float64
        In [0, 1].
    """
    gap, length = _cdf_gaps(a, b)
    # Between tied values the distribution functions have not finished their step.
    return np.where(length > 0, np.abs(gap), 0.0).max(axis=0, initial=0.0)


def wasserstein(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the Wasserstein-1 distance of every column, the integral of |F_a - F_b|, in the unit of the columns.

    Parameters and shapes as in :func:`kolmogorov_smirnov`.
    """
    if len(a) == len(b):  # the integral over probabilities is then a sum over ranks, which needs no merging
        return np.abs(np.sort(a.T, axis=1) - np.sort(b.T, axis=1)).mean(axis=1)
    gap, length = _cdf_gaps(a, b)
    return (np.abs(gap) * length).sum(axis=0)


def sliced_wasserstein_log_kwh(a: np.ndarray, b: np.ndarray, directions: np.ndarray) -> float:
    """Return the mean Wasserstein-1 distance of projections: a distance of the joint distributions of all hours.

    Parameters
    ----------
    a : (n, d) float64
        Log profiles, log kWh.
    b : (m, d) float64
    directions : (q, d) float64
        Unit vectors, chosen without looking at the profiles.

    Returns
    -------
    float
        log kWh.
    """
    return float(wasserstein(a @ directions.T, b @ directions.T).mean())


def correlation_difference(a: np.ndarray, b: np.ndarray) -> float:
    """Return the root mean square difference of the correlations between hours, over all pairs of hours.

    An hour without any variation has correlation zero with all others.

    Parameters
    ----------
    a : (n, d) float64
        Log profiles, log kWh; n and d at least two.
    b : (m, d) float64
    """
    upper = np.triu_indices(a.shape[1], k=1)
    return float(np.sqrt(np.mean((_correlation(a)[upper] - _correlation(b)[upper]) ** 2)))


def _correlation(x: np.ndarray) -> np.ndarray:
    deviation = x.std(axis=0)
    # A column of one value has a standard deviation of rounding errors, which must not be divided by.
    constant = np.ptp(x, axis=0) == 0
    z = np.where(constant, 0.0, (x - x.mean(axis=0)) / np.where(constant, 1.0, deviation))
    return z.T @ z / len(x)


def peak_hour_total_variation(a: np.ndarray, b: np.ndarray) -> float:
    """Return the total variation distance between the distributions of the hour of the peak; ties count as the first.

    Parameters and shapes as in :func:`correlation_difference`.
    """
    shares = [np.bincount(x.argmax(axis=1), minlength=x.shape[1]) / len(x) for x in (a, b)]
    return float(0.5 * np.abs(shares[0] - shares[1]).sum())


def peak_kwh(x: np.ndarray, scale: LogScale = PLAIN) -> np.ndarray:
    """Return the energy of the largest hour of each log profile, (n,) float64, kWh."""
    return scale.kwh(x.max(axis=1))


def energy_kwh(x: np.ndarray, scale: LogScale = PLAIN) -> np.ndarray:
    """Return the energy over all hours of each log profile, (n,) float64, kWh."""
    return scale.kwh(x).sum(axis=1)


def load_factor(x: np.ndarray, scale: LogScale = PLAIN) -> np.ndarray:
    """Return mean over peak of each log profile, (n,) float64 at most 1; 0 where no hour is above zero."""
    peak = peak_kwh(x, scale)
    return np.where(peak > 0, energy_kwh(x, scale) / (x.shape[1] * np.where(peak > 0, peak, 1.0)), 0.0)


def _relative(value: float, real: float) -> float:
    """Return how much larger a value is than the real one, in units of its size."""
    return float(np.sign(real) * (value / real - 1))


def sample_fidelity(
    real: np.ndarray, other: np.ndarray, directions: np.ndarray, scale: LogScale = PLAIN
) -> dict[str, np.ndarray | float]:
    """Return every distance of this module between ``other`` and ``real`` profiles, by measure.

    Parameters
    ----------
    real : (n, d) float64
        Log profiles of real households, log kWh.
    other : (m, d) float64
        Log profiles to judge.
    directions : (q, d) float64
        Unit vectors for the sliced Wasserstein distance.
    scale : LogScale
        Of the profiles.

    Returns
    -------
    dict
        ``ks_hour`` and ``wasserstein_hour`` are (d,) float64, the others numbers; relative differences are those
        of ``other`` against ``real``. Correlations are left out for profiles of one hour.
    """
    ks, distance = kolmogorov_smirnov(other, real), wasserstein(other, real)
    peak, peak_real = peak_kwh(other, scale), peak_kwh(real, scale)
    energy, energy_real = energy_kwh(other, scale), energy_kwh(real, scale)
    measures: dict[str, np.ndarray | float] = {
        "ks_hour": ks,
        "wasserstein_hour": distance,
        "ks_mean": float(ks.mean()),
        "wasserstein_mean": float(distance.mean()),
        "sliced_wasserstein": sliced_wasserstein_log_kwh(other, real, directions),
        "peak_hour_tv": peak_hour_total_variation(other, real),
        "peak_wasserstein": float(wasserstein(peak[:, None], peak_real[:, None])[0]),
        "peak_q95_relative": _relative(np.quantile(peak, 0.95), np.quantile(peak_real, 0.95)),
        "energy_wasserstein": float(wasserstein(energy[:, None], energy_real[:, None])[0]),
        "energy_mean_relative": _relative(energy.mean(), energy_real.mean()),
        "load_factor_ks": float(
            kolmogorov_smirnov(load_factor(other, scale)[:, None], load_factor(real, scale)[:, None])[0]
        ),
    }
    if real.shape[1] > 1:
        measures["correlation_rms"] = correlation_difference(other, real)
    return measures
