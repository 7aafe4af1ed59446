"""Is the log load Gaussian? Skewness, kurtosis and a test of every household's residual and of its innovations.

Section V of Ramakrishna et al. assumes a Gaussian process without a check. The innovations are independent if the
process fits, so theirs is the test of Jarque and Bera; the residual is not, and its test is the generalisation of
Lobato and Velasco (2004), which has the right size for a Gaussian process of any autocorrelation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import chdtrc

from meterdp.forecasting.arma import ArmaFit
from meterdp.forecasting.distribution import autocovariance
from meterdp.forecasting.state_space import arma_system, kalman_pass

FEWEST = 30  # values below which a limit distribution says nothing
REJECTED_BELOW = 0.01


def gaussian_columns(household: np.ndarray, fits: Sequence[ArmaFit], residual_log_kwh: np.ndarray) -> dict:
    """Return the columns of table ``gaussian_checks``, two rows per household.

    The residuals (H, T) are of the training window that the fits are from, NaN where a reading is missing.
    """
    rows = []
    for h, fit, x in zip(household, fits, residual_log_kwh, strict=True):
        passed = kalman_pass(arma_system(fit.ar, fit.ma), x - fit.mean)
        innovations = passed.innovation / np.sqrt(passed.innovation_scale)
        correlation = autocovariance(fit, x.size)
        correlation = correlation / correlation[0] if correlation[0] > 0 else np.eye(1, x.size)[0]
        rows.append({"household": int(h), "series": "residual", **check(x, correlation)})
        rows.append({"household": int(h), "series": "innovations", **check(innovations)})
    names = ("household", "series", *check(np.empty(0)))
    return {name: [row[name] for row in rows] for name in names}


def check(x: np.ndarray, correlation: np.ndarray | None = None) -> dict:
    """Judge one series (T,), NaN where missing, by its autocorrelations (T,) of lags 0.. under the fitted process, or
    as independent.

    For a stationary Gaussian series the sample skewness has variance 6/n_3 and the sample kurtosis 24/n_4, where n_k
    = n^2 / sum over seen s, t of rho(s - t)^k is the number of independent values that would vary as much (Lobato and
    Velasco, with the gaps counted). The statistic n_3 skew^2/6 + n_4 kurt^2/24 is chi-square with two degrees of
    freedom in the limit; n_3 = n_4 = n is the test of Jarque and Bera. All is None where there is too little to
    judge.
    """
    x = np.asarray(x, dtype=float)
    seen = np.isfinite(x)
    count = int(seen.sum())
    nothing = dict.fromkeys(("effective_count", "skewness", "excess_kurtosis", "statistic", "p_value"))
    centred = x[seen] - x[seen].mean() if count else x
    scale = np.abs(x[seen]).max(initial=0.0)
    variance = np.mean(centred**2) if count else 0.0
    if count < FEWEST or np.sqrt(variance) <= 1e-9 * max(1.0, scale):
        return {"reading_count": count, **nothing}
    skewness = np.mean(centred**3) / variance**1.5
    kurtosis = np.mean(centred**4) / variance**2 - 3.0
    third, fourth = (count if correlation is None else _effective(seen, correlation, power) for power in (3, 4))
    statistic = third * skewness**2 / 6 + fourth * kurtosis**2 / 24
    return {
        "reading_count": count,
        "effective_count": float(third),
        "skewness": float(skewness),
        "excess_kurtosis": float(kurtosis),
        "statistic": float(statistic),
        "p_value": float(chdtrc(2, statistic)),
    }


def _effective(seen: np.ndarray, correlation: np.ndarray, power: int) -> float:
    """n^2 / sum over seen pairs of correlation^power, at least one."""
    size = next_fast_len(2 * seen.size, real=True)
    pairs = irfft(np.abs(rfft(seen.astype(float), size)) ** 2, size)[: seen.size]
    weight = np.where(np.arange(seen.size) == 0, 1.0, 2.0)
    total = np.sum(weight * pairs * correlation**power)
    count = seen.sum()
    return max(1.0, count**2 / max(total, count * 1e-12))


def summary_rows(checks: pd.DataFrame) -> list[dict]:
    """Return the rows of table ``gaussian_summary`` from table ``gaussian_checks``."""
    rows = []
    for series in ("residual", "innovations"):
        part = checks[checks["series"] == series]
        tested = part.dropna(subset="p_value")
        row = {"series": series, "household_count": len(part), "untested_count": len(part) - len(tested)}
        for name in ("skewness", "excess_kurtosis"):
            quartiles = tested[name].astype(float).quantile([0.25, 0.5, 0.75]).tolist() if len(tested) else [None] * 3
            row |= {f"{name}_{q}": v for q, v in zip(("q25", "median", "q75"), quartiles, strict=True)}
        share = float((tested["p_value"] < REJECTED_BELOW).mean()) if len(tested) else None
        rows.append({**row, "rejected_share": share})
    return rows
