"""ARMA(p, q) fit of one deseasonalised log-load series, with a fallback chain instead of a crash.

Section V of Ramakrishna et al.; the exact Gaussian likelihood is maximised by statsmodels (state space, gaps
allowed). Whatever the input, a fit comes back whose AR part is stationary and whose MA part is invertible by a
margin, and whose status says which step of the chain gave it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from statsmodels.tsa.statespace.sarimax import SARIMAX

from meterdp.core.errors import InputError
from meterdp.forecasting.state_space import arma_system, concentrated_likelihood, kalman_pass, largest_pole

STATUS_MEANING = {
    "arma": "ARMA(p, q) by maximum likelihood, optimiser converged",
    "arma_limit": "ARMA(p, q) by maximum likelihood, optimiser stopped at its iteration limit",
    "arma_restart": "ARMA(p, q) by maximum likelihood from a second start, the first gave no admissible fit",
    "ar": "AR(p) by Yule-Walker, no admissible ARMA fit was found",
    "white": "mean only: too few readings, or a constant series",
}


@dataclass(frozen=True)
class ArmaSettings:
    """Public settings of the fits.

    Parameters
    ----------
    order : (int, int)
        p and q of (59).
    iteration_limit : int
        Iterations of the optimiser per start; each costs about p + q + 2 likelihoods.
    tolerance_nats : float
        A step that gains less log-likelihood than this ends the search.
    root_margin : float
        Every reciprocal root of the AR and MA polynomials has modulus at most ``1 - root_margin``. Closer to one the
        likelihood of the state space form is not to be trusted, and forecasts do not improve.
    minimum_readings_per_parameter : int
        With fewer readings than this times p + q + 1, only the mean is fitted.
    """

    order: tuple[int, int] = (6, 5)
    iteration_limit: int = 100
    tolerance_nats: float = 1e-3
    root_margin: float = 1e-4
    minimum_readings_per_parameter: int = 10

    def __post_init__(self):
        if min(self.order) < 0 or sum(self.order) == 0:
            raise InputError(
                "the ARMA order is not a pair of non-negative integers with a positive sum",
                field="order",
                remedy="use for example [6, 5]",
            )


@dataclass(frozen=True)
class ArmaFit:
    """A fitted process x[t] - mean = sum phi_i (x[t-i] - mean) + e[t] + sum theta_j e[t-j].

    Parameters
    ----------
    status : str
        Key of :data:`STATUS_MEANING`.
    ar, ma : (p,), (q,) float64 arrays
        phi and theta; empty where the status has no such part.
    mean : float
        Mean of the training residual, log kWh.
    innovation_variance : float
        Variance of e, (log kWh)^2.
    log_likelihood : float
        Exact Gaussian log-likelihood in nats; NaN for a constant or empty series.
    observation_count : int
        Readings used.
    """

    status: str
    ar: np.ndarray
    ma: np.ndarray
    mean: float
    innovation_variance: float
    log_likelihood: float
    observation_count: int


def fit_arma(residual_log_kwh: np.ndarray, settings: ArmaSettings | None = None) -> ArmaFit:
    """Fit an ARMA(p, q) to one series (Ramakrishna et al., section V-A).

    Parameters
    ----------
    residual_log_kwh : (T,) float64 array
        Log load minus its seasonal mean, training window; NaN where a reading is missing.
    settings : ArmaSettings, optional
        Order and limits; ARMA(6, 5) if left out, as in section VI-B.

    Returns
    -------
    ArmaFit
        Of the first step of the chain arma, arma_limit, arma_restart, ar, white that is admissible.
    """
    settings = settings or ArmaSettings()
    x = np.asarray(residual_log_kwh, dtype=float)
    x = np.where(np.isfinite(x), x, np.nan)
    seen = int(np.isfinite(x).sum())
    none = np.empty(0)
    mean = float(np.nanmean(x)) if seen else 0.0
    spread = float(np.nanstd(x)) if seen else 0.0
    needed = settings.minimum_readings_per_parameter * (sum(settings.order) + 1)
    # A constant series leaves rounding noise after subtracting its mean: compare with the scale of the numbers.
    if seen < needed or spread <= 1e-9 * max(1.0, abs(mean)):
        return _at("white", none, none, mean, x, settings)
    # Unit spread: the optimiser's step and stopping rule are then free of the unit of the readings.
    scaled = (x - mean) / spread
    yule_walker = _yule_walker(scaled, settings.order[0])
    for start in (None, np.concatenate([yule_walker, np.zeros(settings.order[1])])):
        found = _maximum_likelihood(scaled, start, settings)
        if found is None:
            continue
        ar, ma, converged = found
        status = "arma_restart" if start is not None else "arma" if converged else "arma_limit"
        fit = _at(status, ar, ma, mean, x, settings)
        if fit is not None:
            return fit
    return _at("ar", yule_walker, none, mean, x, settings) or _at("white", none, none, mean, x, settings)


def _at(status, ar, ma, mean, x, settings) -> ArmaFit | None:
    """Return the fit at given coefficients, or None if they are not admissible."""
    if not (np.isfinite(ar).all() and np.isfinite(ma).all()):
        return None
    if max(largest_pole(ar), largest_pole(-ma)) > 1.0 - settings.root_margin:
        return None
    variance, log_likelihood, count = concentrated_likelihood(kalman_pass(arma_system(ar, ma), x - mean))
    if status != "white" and not (np.isfinite(log_likelihood) and variance > 0.0):
        return None
    return ArmaFit(status, ar, ma, mean, variance, log_likelihood, count)


def _maximum_likelihood(x, start, settings) -> tuple[np.ndarray, np.ndarray, bool] | None:
    """Run statsmodels' optimiser from ``start`` (its own if None); None if it raises, whatever the reason."""
    p, q = settings.order
    # L-BFGS-B compares relative gains of the log-likelihood per reading, which is of order one at unit spread.
    factor = settings.tolerance_nats / np.isfinite(x).sum() / np.finfo(float).eps
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = SARIMAX(x, order=(p, 0, q), concentrate_scale=True)
            result = model.fit(
                start_params=start,
                method="lbfgs",
                maxiter=settings.iteration_limit,
                factr=factor,
                pgtol=1e-5,
                cov_type="none",
                disp=0,
            )
        except (np.linalg.LinAlgError, ValueError, FloatingPointError, IndexError):
            return None
    coefficients = np.asarray(result.params, dtype=float)
    return coefficients[:p], coefficients[p : p + q], bool(result.mle_retvals["converged"])


def _yule_walker(x: np.ndarray, order: int) -> np.ndarray:
    """AR coefficients from the sample autocovariances of the series with gaps set to its mean, zero.

    Dividing every lag by the same count keeps the autocovariances positive definite, so the result is stationary;
    gaps pull it towards zero, which is acceptable for a fallback.
    """
    if order == 0:
        return np.empty(0)
    filled = np.nan_to_num(x)
    cov = np.array([filled[: filled.size - lag] @ filled[lag:] for lag in range(order + 1)]) / filled.size
    toeplitz = cov[np.abs(np.subtract.outer(np.arange(order), np.arange(order)))]
    return np.linalg.lstsq(toeplitz, cov[1:], rcond=None)[0]
