"""Other packages' ARMA(p, q) fits of the same series, and the one judge of everybody's likelihood.

Every method gets the training residual less its mean, so all have p + q coefficients and a variance to choose.
statsforecast needs an older pandas than the project: it runs in a process of its own, from the environment
`make benchmark` installs from requirements/benchmark.txt, and times itself.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from statsmodels.tsa.arima.estimators.innovations import innovations_mle
from statsmodels.tsa.arima.model import ARIMA
from statsmodels.tsa.statespace.sarimax import SARIMAX

from meterdp.forecasting.state_space import largest_pole

STATSFORECAST_PYTHON = Path(sys.prefix).with_name(Path(sys.prefix).name + "-benchmark") / "bin/python"
STATSFORECAST_SCRIPT = Path(__file__).with_name("statsforecast_fits.py")
# Nearer to the unit circle the start of statsmodels' filter, hence the judge itself, loses all digits.
LARGEST_AR_POLE = 1 - 1e-8


@dataclass(frozen=True)
class PeerFit:
    """Coefficients of one fit, NaN where the package gave none, its seconds, and what went wrong, if anything."""

    ar: np.ndarray
    ma: np.ndarray
    seconds: float
    trouble: str = ""

    @property
    def invertible(self) -> bool:
        """Whether the MA part is; an exact likelihood does not need it."""
        return bool(np.isfinite(self.ma).all()) and largest_pole(-self.ma) < 1.0


def statsmodels_arima(x: np.ndarray, order: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Fit by ``ARIMA(x, order=(p, 0, q), trend="n").fit()``, everything else as it comes."""
    result = ARIMA(x, order=(order[0], 0, order[1]), trend="n").fit()
    return result.arparams, result.maparams


def statsmodels_innovations(x: np.ndarray, order: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Fit by ``innovations_mle``, everything as it comes; raises where its start is not stationary."""
    result = innovations_mle(x, order=(order[0], 0, order[1]), demean=False)[0]
    return result.ar_params, result.ma_params


def timed(fit: Callable, x: np.ndarray, order: tuple[int, int]) -> PeerFit:
    """Run one fit; an exception is its trouble, not ours."""
    begin = time.perf_counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            ar, ma = fit(x, order)
        except Exception as error:  # whatever a package raises is counted
            lost = time.perf_counter() - begin
            return PeerFit(np.full(order[0], np.nan), np.full(order[1], np.nan), lost, type(error).__name__)
    return PeerFit(np.asarray(ar, dtype=float), np.asarray(ma, dtype=float), time.perf_counter() - begin)


def statsforecast_fits(series: np.ndarray, order: tuple[int, int]) -> list[PeerFit] | str:
    """Fit every row by statsforecast's ARIMA (CSS-ML) in its own environment; a sentence if it cannot run."""
    if not STATSFORECAST_PYTHON.exists():
        return "not run: its environment is not installed (make benchmark installs it)"
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "series.npz", Path(folder) / "fits.npz"
        np.savez(given, series=series, order=np.array(order))
        command = [str(STATSFORECAST_PYTHON), str(STATSFORECAST_SCRIPT), str(given), str(found)]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            return f"not run: {run.stderr.strip().splitlines()[-1] if run.stderr.strip() else run.returncode}"
        with np.load(found) as fits:
            columns = [fits[name] for name in ("ar", "ma", "seconds", "trouble")]
    return [PeerFit(ar, ma, float(taken), str(trouble)) for ar, ma, taken, trouble in zip(*columns, strict=True)]


def judged(x: np.ndarray, ar: np.ndarray, ma: np.ndarray) -> float:
    """Return statsmodels' exact Gaussian log-likelihood at given coefficients and the variance best for them.

    Parameters
    ----------
    x : (n,) float64 array
        Series less its mean; NaN where a reading is missing.
    ar, ma : (p,), (q,) float64 arrays
        Coefficients from whatever method.

    Returns
    -------
    float
        Nats; NaN if a coefficient is missing or the process is not stationary. An MA part that is not invertible
        has a likelihood like any other.
    """
    if not (np.isfinite(ar).all() and np.isfinite(ma).all()) or largest_pole(ar) > LARGEST_AR_POLE:
        return np.nan
    model = SARIMAX(
        x,
        order=(ar.size, 0, ma.size),
        concentrate_scale=True,
        enforce_stationarity=False,
        enforce_invertibility=False,
    )
    # Without enforce_stationarity the filter would start diffuse, which is not the likelihood of the process.
    model.ssm.initialize_stationary()
    model.loglikelihood_burn = 0
    return float(model.loglike(np.concatenate([ar, ma])))
