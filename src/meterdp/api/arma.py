"""Exact maximum-likelihood ARMA fits of many meters at once.

The compiled search of :mod:`meterdp.forecasting`, as the workflow runs it (Ramakrishna et al., section V). It needs
numba, which the library alone does not bring, so it is imported where it is called.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from meterdp.api.arguments import MOST, array_of, is_one_of, is_whole, refusals, require
from meterdp.core.log_scale import LogScale
from meterdp.errors import optional_packages

# The square of a larger one, or of many of them together, is more than a float64 holds.
MOST_READING = 1e100
# Natural logs that are all positive, as those of watt-hours are, lie between these: from 3 Wh to 160 kWh.
_LOWEST_LOG, _LARGEST_LOG = 1, 12

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from meterdp.forecasting.arma import ArmaFit


@dataclass(frozen=True, repr=False, eq=False)
class ArmaFits:
    """Fits of N series x[t] - mean = sum phi_i (x[t-i] - mean) + e[t] + sum theta_j e[t-j]; from :func:`fit_arma`.

    Every number here is that of a single meter, without noise: private, as the readings are.

    Parameters
    ----------
    meters : tuple
        Names of the series: the columns of a DataFrame, otherwise 0..N-1.
    status : (N,) str array
        ``arma``, ``arma_limit`` (stopped at the iteration limit), ``arma_bound`` (a partial autocorrelation at its
        bound), ``ar`` (Yule-Walker, where no ARMA fit was admissible) or ``white`` (the mean alone: too few readings,
        or a constant series).
    ar, ma : (N, p), (N, q) float64 arrays
        phi and theta; zero where a fit has none.
    mean : (N,) float64 array
        On the log scale; NaN, like the forecasts, for a series without a reading.
    sigma2 : (N,) float64 array
        Variance of e, squared log units.
    log_likelihood : (N,) float64 array
        Exact Gaussian log-likelihood of the log readings, nats; NaN for a constant series.
    readings_used : (N,) int array
    """

    meters: tuple
    status: np.ndarray
    ar: np.ndarray
    ma: np.ndarray
    mean: np.ndarray
    sigma2: np.ndarray
    log_likelihood: np.ndarray
    readings_used: np.ndarray
    _fits: tuple[ArmaFit, ...]
    _log: np.ndarray
    _scale: LogScale | None

    def forecast(self, steps: int) -> np.ndarray:
        """Return forecasts of the ``steps`` readings after the last one.

        Returns
        -------
        (N, steps) float64 array
            In the unit of the readings: conditional means of logs, or in kWh their exponentials, which are medians.
        """
        from meterdp.forecasting.distribution import forecast_means

        log = self._rows(forecast_means, steps)
        return log if self._scale is None else self._scale.clipped_kwh(log)

    def forecast_std(self, steps: int) -> np.ndarray:
        """Return the standard deviations of those readings given the past, on the log scale; (N, steps) float64."""
        from meterdp.forecasting.distribution import forecast_std

        return self._rows(forecast_std, steps)

    def _rows(self, of, steps: int) -> np.ndarray:
        _check_whole(steps, "steps", 24)
        end = np.array([self._log.shape[1]])
        rows = np.array([of(fit, row, end, steps)[0] for fit, row in zip(self._fits, self._log, strict=True)])
        rows[self.readings_used == 0] = np.nan
        return rows

    def __repr__(self) -> str:
        # A fit of one meter must not end in a log because somebody printed its name.
        return f"ArmaFits({len(self.meters)} series, ARMA({self.ar.shape[1]}, {self.ma.shape[1]}))"


def fit_arma(
    readings: ArrayLike | pd.DataFrame,
    order: tuple[int, int] = (6, 5),
    *,
    unit: Literal["log_kwh", "kwh"] = "log_kwh",
    bounds_kwh: tuple[float, float] | None = None,
    mean: Literal["estimated", "zero"] = "estimated",
    fit: Literal["likelihood", "forecast"] = "likelihood",
    starts: int = 9,
    max_iter: int = 1000,
    threads: int = 1,
) -> ArmaFits:
    """Fit an ARMA(p, q) to every meter by exact maximum likelihood, gaps allowed.

    The likelihood is that of deviations from the sample mean, which is not part of the search. The first call in a
    new installation compiles for some twenty seconds.

    A fit never fails: if no ARMA fit is admissible, it is an autoregression or a mean, and ``status`` says so. The AR
    part is stationary and the MA part invertible by a margin. **Nothing here is differentially private**:
    coefficients and forecasts are as sensitive as the readings.

    No daily or weekly pattern is removed. For good forecasts subtract one first, as the workflow does.

    Parameters
    ----------
    readings : (N, T) array_like or DataFrame
        One row per meter; in a DataFrame one *column* per meter and one row per interval. Intervals are of equal
        length and in order; an index of times that says otherwise is refused. A missing reading is NaN (None,
        pandas.NA, a mask); infinite ones are refused.
    order : (int, int)
        p and q, 0 to 24 each, not both 0.
    unit : {"log_kwh", "kwh"}
        Whether readings are logs (any base and origin will do), or energies whose natural log is fitted. Logs that
        look like energies bring a warning; so does an array of more meters than readings.
    bounds_kwh : (float, float), optional
        Energies are clipped to them before the log is taken; the lower one is positive. Needed for ``kwh``.
    mean : {"estimated", "zero"}
        The sample mean, or zero if the level was subtracted together with a pattern.
    fit : {"likelihood", "forecast"}
        The likelihood alone, or with a prior that keeps partial autocorrelations off the unit circle, as the
        workflow: a higher likelihood is not a better forecast.
    starts : int
        Points from which the search starts; the likelihood has many maxima.
    max_iter : int
        Iterations from each of them.
    threads : int
        Cores; fits do not depend on it.

    Returns
    -------
    ArmaFits
        With an entry for each meter in ``meters`` (names), ``status`` (text), ``ar`` (N, p), ``ma`` (N, q), ``mean``,
        ``sigma2`` (of the innovations), ``log_likelihood`` (nats) and ``readings_used``; its methods
        ``forecast(steps)`` and ``forecast_std(steps)`` return (N, steps) arrays. ``help`` of it says more.

    Raises
    ------
    ValueError
        One sentence that names the argument and the hint.
    ImportError
        If numba is not installed, which ``meterdp[study]`` brings.

    Examples
    --------
    >>> import meterdp, numpy as np, pandas as pd
    >>> hours = pd.date_range("2025-01-06", periods=480, freq="h")
    >>> noise = np.random.default_rng(1).normal(0, 0.3, (480, 2))
    >>> kwh = pd.DataFrame(np.exp(noise + np.vstack([np.zeros(2), 0.5 * noise[:-1]])), hours, ["north", "south"])
    >>> fits = meterdp.fit_arma(kwh, order=(0, 1), unit="kwh", bounds_kwh=(0.01, 100))
    >>> fits
    ArmaFits(2 series, ARMA(0, 1))
    >>> fits.ma.round(1).tolist(), fits.forecast(steps=24).shape
    ([[0.5], [0.5]], (2, 24))
    """
    with optional_packages("meterdp.fit_arma"):
        from meterdp.forecasting.arma import ArmaSettings, fit_households
    rows, meters = _rows(readings)
    scale = _scale(unit, bounds_kwh)
    for field, word, words in (
        ("mean", mean, ("estimated", "zero")),
        ("fit", fit, ("likelihood", "forecast")),
    ):
        require(is_one_of(word, words), field, "is not known", f"use {' or '.join(words)}")
    for field, number, usual in (("starts", starts, 9), ("max_iter", max_iter, 1000), ("threads", threads, 1)):
        _check_whole(number, field, usual)
    with refusals():
        settings = ArmaSettings(order=_order(order), mean=mean, fit=fit, starts=starts, iteration_limit=max_iter)
    _warn_of_likely_mistakes(rows, scale, table=hasattr(readings, "columns"))
    log = rows if scale is None else scale.clipped_log(rows)
    fits = tuple(fit_households(log, settings, threads))
    p, q = settings.order
    return ArmaFits(
        meters,
        np.array([one.status for one in fits]),
        np.array([np.pad(one.ar, (0, p - one.ar.size)) for one in fits]),
        np.array([np.pad(one.ma, (0, q - one.ma.size)) for one in fits]),
        np.array([one.mean if one.observation_count else np.nan for one in fits]),
        np.array([one.innovation_variance for one in fits]),
        np.array([one.log_likelihood for one in fits]),
        np.array([one.observation_count for one in fits]),
        fits,
        log,
        scale,
    )


def _rows(readings) -> tuple[np.ndarray, tuple]:
    table = hasattr(readings, "columns")
    require(
        not table or _in_equal_steps(readings),
        "readings",
        "have an index of times that does not increase in equal steps",
        "use one row for each interval, in the order of UTC, with NaN where a reading is missing",
    )
    try:
        given = readings.to_numpy().T if table else readings
    except (AttributeError, TypeError, ValueError):
        given = None  # is one number and no table
    rows = array_of(given, "are not numbers", field="readings", hint="use NaN where a reading is missing")
    require(
        rows.ndim == 2 and rows.size > 0,
        "readings",
        "are not a table of meters and intervals",
        "give one row a meter, also for one meter, or a DataFrame with one column a meter",
    )
    require(
        not (np.abs(rows, where=~np.isnan(rows), out=np.zeros_like(rows)) > MOST_READING).any(),
        "readings",
        f"hold infinite numbers, or larger ones than {MOST_READING:g}",
        "use NaN where a reading is missing, and another unit if all are so large",
    )
    return rows, tuple(readings.columns) if table else tuple(range(len(rows)))


def _warn_of_likely_mistakes(rows: np.ndarray, scale: LogScale | None, *, table: bool) -> None:
    """Warn of what may be meant and mostly is not: an array the other way round, energies passed as logs."""
    n, t = rows.shape
    if n > t and not table:
        warnings.warn(
            f"field 'readings': an array has one row a meter, so these are {n:,} meters with {t:,} readings each; "
            "transpose it if a row is an interval",
            UserWarning,
            stacklevel=3,
        )
    seen = rows[~np.isnan(rows)]
    low, high = (seen.min(), seen.max()) if seen.size else (0, 0)
    if scale is None and low >= 0 < high and not _LOWEST_LOG < low <= high < _LARGEST_LOG:
        warnings.warn(
            "field 'unit': the readings, none of which is negative, look like energies and are fitted as logs; "
            "use unit='kwh' with bounds_kwh if they are energies",
            UserWarning,
            stacklevel=3,
        )


def _in_equal_steps(table) -> bool:
    """Whether the rows of a table are in order of time, none missing and none twice, as far as its index tells."""
    # Of dates, durations and periods; local times with a zone are in UTC here.
    times = getattr(getattr(table, "index", None), "asi8", None)
    if times is None or len(times) < 2:
        return True
    steps = np.diff(times)
    return bool(steps[0] > 0 and (steps == steps[0]).all())


def _order(order) -> tuple[int, int]:
    whole = isinstance(order, tuple | list) and [is_whole(part, least=0) for part in order] == [True, True]
    require(whole, "order", "is not a pair of whole numbers", "use for example (6, 5)")
    return int(order[0]), int(order[1])


def _check_whole(value, field: str, usual: int) -> None:
    require(is_whole(value), field, f"is not a whole number from 1 to {MOST:,}", f"use for example {usual}")


def _scale(unit: str, bounds_kwh) -> LogScale | None:
    require(is_one_of(unit, ("log_kwh", "kwh")), "unit", "is not known", "use log_kwh or kwh")
    require(
        (unit == "kwh") == (bounds_kwh is not None),
        "bounds_kwh",
        "go with unit='kwh' and with it alone",
        "give for example (0.01, 100), or leave them out for logs",
    )
    if bounds_kwh is None:
        return None
    problem, hint = "are not two positive numbers with the lower one first", "use (0.01, 100)"
    bounds = array_of(bounds_kwh, problem, field="bounds_kwh", hint=hint)
    require(bounds.shape == (2,) and 0 < bounds[0] < bounds[1] < np.inf, "bounds_kwh", problem, hint)
    return LogScale(*bounds.tolist())
