"""ARMA(p, q) fits of deseasonalised log-load series, with a fallback chain instead of a crash, and the fits as a
table.

Two simpler processes stand beside it under the same settings: an autoregression of high order, and none at all.

Section V of Ramakrishna et al.; the exact Gaussian likelihood, gaps allowed, is maximised by the compiled search of
:mod:`meterdp.forecasting.kernel.search`. Whatever the input, a fit comes back whose AR part is stationary and whose
MA part is invertible by a margin, and whose status says which step of the chain gave it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from itertools import repeat

import numpy as np

from meterdp.errors import InputError
from meterdp.forecasting.diagnostics import residual_tests
from meterdp.forecasting.kernel.likelihood import MAX_ORDER
from meterdp.forecasting.kernel.search import ROOT_MARGIN, innovations, maximise
from meterdp.forecasting.state_space import concentrated_likelihood, largest_pole

STATUS_MEANING = {
    "arma": "ARMA(p, q): the search converged",
    "arma_limit": "ARMA(p, q): the search stopped at its iteration limit",
    "arma_bound": "ARMA(p, q): the search converged with a partial autocorrelation at its bound",
    "ar": "AR(p) by Yule-Walker: asked for, or because no admissible ARMA fit was found",
    "white": "mean only: asked for, or too few readings, or a constant series",
}


# Under ``fit="forecast"``, artanh of each partial autocorrelation over its bound has a normal prior with mean zero
# and these standard deviations, infinity for none.
AR_PRIOR_SD, MA_PRIOR_SD = 3.0, 0.6
# Partial autocorrelations of both parts have modulus at most one less this, by ``fit``.
PACF_MARGINS = {"likelihood": 1e-4, "forecast": 0.01}
# With fewer readings than this times p + q + 1, only the mean is fitted.
MINIMUM_READINGS_PER_PARAMETER = 10


@dataclass(frozen=True)
class ArmaSettings:
    """Public settings of the fits.

    Parameters
    ----------
    process : {"arma", "ar", "season"}
        ARMA(p, q); AR of order ``long_ar_order`` by Yule-Walker; or no process, so that a forecast is the season.
    order : (int, int)
        p and q of (59), 0..24 each.
    mean : {"estimated", "zero"}
        Of the residual: estimated from the training window, or zero because the season is a mean of late readings.
    fit : {"likelihood", "forecast"}
        Maximise the likelihood alone, or with a prior that keeps partial autocorrelations off the unit circle: a
        higher likelihood is not a better forecast.
    starts, iteration_limit : int
        Start points of the search, and iterations of the optimiser per start.
    forecast_root_margin : float
        Under ``fit="forecast"`` roots of the AR part that are closer than this to one are all moved away from it by
        a common factor, and the variance is estimated again: what is nearly a random walk drifts off for days.
    """

    process: str = "arma"
    order: tuple[int, int] = (6, 5)
    long_ar_order: int = 24
    mean: str = "estimated"
    fit: str = "likelihood"
    starts: int = 9
    iteration_limit: int = 1000
    forecast_root_margin: float = 0.01

    def __post_init__(self):
        if min(self.order) < 0 or sum(self.order) == 0 or max(self.order) > MAX_ORDER:
            raise InputError(
                f"the ARMA order is not a pair of integers from 0 to {MAX_ORDER} with a positive sum",
                field="order",
                hint="use for example [6, 5]",
            )
        if not 1 <= self.long_ar_order <= MAX_ORDER:
            raise InputError(
                f"the order of the long autoregression is not from 1 to {MAX_ORDER}",
                field="long_ar_order",
                hint="use for example 24",
            )
        for field, allowed in (
            ("process", tuple(PROCESSES)),
            ("mean", ("estimated", "zero")),
            ("fit", tuple(PACF_MARGINS)),
        ):
            if getattr(self, field) not in allowed:
                raise InputError(
                    f"the ARMA setting '{getattr(self, field)}' is not known",
                    field=field,
                    hint=f"use {' or '.join(allowed)}",
                )
        if self.starts < 1 or self.iteration_limit < 1:
            raise InputError(
                "the ARMA search is given no start or no iteration",
                field="starts" if self.starts < 1 else "iteration_limit",
                hint="use a positive integer",
            )
        if not 0 < self.forecast_root_margin < 1:
            raise InputError(
                "a margin of the ARMA fits is not between 0 and 1", field="margin", hint="use for example 1e-4"
            )

    @classmethod
    def from_config(cls, forecast: Mapping) -> ArmaSettings:
        """Take the section ``forecast``, or the keys of it in :data:`meterdp.forecasting.settings.PROCESS`."""
        return cls(
            process=forecast["method"],
            order=(forecast["ar_order"], forecast["ma_order"]),
            long_ar_order=forecast["long_ar_order"],
            mean=forecast["mean"],
            fit=forecast["fit"],
            starts=forecast["starts"],
            iteration_limit=forecast["max_iterations"],
            forecast_root_margin=1.0 - forecast["largest_root"],
        )

    @property
    def pacf_bound(self) -> float:
        """Bound of the partial autocorrelations that holds for this ``fit``."""
        return 1.0 - PACF_MARGINS[self.fit]

    @property
    def used_order(self) -> tuple[int, int]:
        return {"arma": self.order, "ar": (self.long_ar_order, 0), "season": (0, 0)}[self.process]

    def prior_precision(self) -> np.ndarray:
        """Precision of the prior on each artanh partial autocorrelation, AR part first; (p + q,), zeros for none."""
        sd = np.repeat([AR_PRIOR_SD, MA_PRIOR_SD], self.order)
        return sd**-2.0 if self.fit == "forecast" else np.zeros(sd.size)


@dataclass(frozen=True)
class ArmaFit:
    """A fitted process x[t] - mean = sum phi_i (x[t-i] - mean) + e[t] + sum theta_j e[t-j].

    ``status`` is a key of :data:`STATUS_MEANING`; ``ar`` (p,) and ``ma`` (q,) are phi and theta, empty where the
    status has no such part; the mean is in log kWh, the innovation variance in (log kWh)^2. The exact Gaussian
    log-likelihood, in nats and without a prior, is NaN for a constant or empty series. The tests are those of
    :class:`meterdp.forecasting.diagnostics.ResidualTests`. The effort is the start the fit was found from, iterations
    of that descent and likelihoods of all; zeros where nothing was searched.
    """

    status: str
    ar: np.ndarray
    ma: np.ndarray
    mean: float
    innovation_variance: float
    log_likelihood: float
    observation_count: int
    ljung_box_p: float = np.nan
    skewness: float = np.nan
    excess_kurtosis: float = np.nan
    jarque_bera_p: float = np.nan
    arch_p: float = np.nan
    start: int = 0
    iterations: int = 0
    evaluations: int = 0


def fit_arma(residual_log_kwh: np.ndarray, settings: ArmaSettings | None = None) -> ArmaFit:
    """Fit an ARMA(p, q) to one series (Ramakrishna et al., section V-A).

    ``residual_log_kwh`` (T,) is log load minus its seasonal mean in the training window, NaN where a reading is
    missing; an infinite one, or one beyond 1e100 in the log, counts as missing. The fit is of the first admissible
    step of the chain: the search, then ar, white; shorter chains for the other processes.
    """
    settings = settings or ArmaSettings()
    x = np.asarray(residual_log_kwh, dtype=float)
    seen = np.abs(x) < 1e100  # squares must not overflow
    x = np.where(seen, x, np.nan)
    count = int(seen.sum())
    none = np.empty(0)
    mean = float(x[seen].mean()) if count and settings.mean == "estimated" else 0.0
    spread = float(np.sqrt(np.mean((x[seen] - mean) ** 2))) if count else 0.0
    needed = MINIMUM_READINGS_PER_PARAMETER * (sum(settings.used_order) + 1)
    # A constant series leaves rounding noise after subtracting its mean: compare with the scale of the numbers.
    scale = np.abs(x[seen]).max(initial=0.0)
    if count < needed or float(np.ptp(x[seen])) <= 1e-9 * max(1.0, scale):
        return _at("white", none, none, mean, x)
    # Unit spread: the optimiser's step and stopping rule are then free of the unit of the readings.
    for status, ar, ma, effort in PROCESSES[settings.process]((x - mean) / spread, settings):
        fit = _at(status, _away_from_one(ar, settings), ma, mean, x)
        if fit is not None:
            return replace(fit, **effort)
    return _at("white", none, none, mean, x)


def _away_from_one(ar: np.ndarray, settings: ArmaSettings) -> np.ndarray:
    """Multiply all reciprocal roots by one factor, so that the largest is within the bound of a forecast."""
    largest, bound = largest_pole(ar), 1.0 - settings.forecast_root_margin
    if settings.fit != "forecast" or largest <= bound:
        return ar
    return ar * (bound / largest) ** np.arange(1, ar.size + 1)


def _arma_chain(x, settings) -> Iterator[tuple[str, np.ndarray, np.ndarray, dict]]:
    """Yield candidates for an ARMA(p, q): the end of the compiled search, if there is one, and an AR(p)."""
    found = maximise(x, settings)
    if found is not None:
        status = "arma_limit" if not found.converged else "arma_bound" if found.at_bound else "arma"
        effort = {"start": found.start, "iterations": found.iterations, "evaluations": found.evaluations}
        yield status, found.ar, found.ma, effort
    yield from _ar_chain(x, settings, settings.order[0])


def _ar_chain(x, settings, order: int | None = None) -> Iterator[tuple[str, np.ndarray, np.ndarray, dict]]:
    """Yield the autoregression, if it is admissible."""
    ar = _yule_walker(x, settings.long_ar_order if order is None else order)
    if np.isfinite(ar).all() and largest_pole(ar) <= 1.0 - ROOT_MARGIN:
        yield "ar", ar, np.empty(0), {}


# Process -> candidates of its fit, best first; without any the mean is all there is.
PROCESSES = {"arma": _arma_chain, "ar": _ar_chain, "season": lambda x, settings: ()}


def _at(status, ar, ma, mean, x) -> ArmaFit | None:
    """Return the fit at given coefficients, or None if it has no likelihood."""
    innovation, scale = innovations(ar, ma, x - mean)
    variance, log_likelihood, count = concentrated_likelihood(innovation, scale)
    if status != "white" and not (np.isfinite(log_likelihood) and variance > 0.0):
        return None
    tests = residual_tests(innovation / np.sqrt(scale * variance), ar.size + ma.size) if variance > 0.0 else ()
    return ArmaFit(status, ar, ma, mean, variance, log_likelihood, count, *tests)


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


# Many households, and the fits as a table.

_COLUMN_OF = {field.name: "mean_log_kwh" if field.name == "mean" else field.name for field in fields(ArmaFit)}


def fit_households(
    residual_log_kwh: np.ndarray, settings: ArmaSettings | None = None, threads: int = 1
) -> list[ArmaFit]:
    """Fit every row of (H, T), NaN where a reading is missing; fits do not depend on ``threads``."""
    from meterdp.core.job import progress  # without the extra the sentence is on numba, not on what this imports

    settings = settings or ArmaSettings()
    rows, label = np.asarray(residual_log_kwh, dtype=float), "ARMA fits"
    if threads <= 1:
        return [fit_arma(row, settings) for row in progress(rows, label, total=len(rows), private=True)]
    with ThreadPoolExecutor(threads) as pool:  # compiled code holds no interpreter lock
        fits = pool.map(fit_arma, rows, repeat(settings))
        return list(progress(fits, label, total=len(rows), private=True))


def fit_columns(household: np.ndarray, fits: Sequence[ArmaFit]) -> dict:
    """Return the columns of table ``arma_fits``; ``household`` holds the (H,) dense indices."""
    return {"household": np.asarray(household, np.int32)} | {
        column: [getattr(fit, field) for fit in fits] for field, column in _COLUMN_OF.items()
    }


def summary_columns(statuses: Sequence[str], windows: Sequence[int]) -> dict:
    """Return the columns of table ``arma_summary``: every status of the chain, served or not, from columns of
    ``arma_fits``.
    """
    first = [status for status, window in zip(statuses, windows, strict=True) if window == 0]
    return {
        "status": list(STATUS_MEANING),
        "fit_count": [list(statuses).count(status) for status in STATUS_MEANING],
        "household_count": [first.count(status) for status in STATUS_MEANING],
        "meaning": list(STATUS_MEANING.values()),
    }
