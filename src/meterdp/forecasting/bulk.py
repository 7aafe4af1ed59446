"""Fit many households and keep the fits as a table: one shard is one call.

Section V-A of Ramakrishna et al. Every household of the input has a row in the output, whatever its readings.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from itertools import repeat

import numpy as np
import pyarrow as pa

from meterdp.core.job import progress
from meterdp.forecasting.arma import STATUS_MEANING, ArmaFit, ArmaSettings, fit_arma

_COLUMN_OF = {field.name: "mean_log_kwh" if field.name == "mean" else field.name for field in fields(ArmaFit)}


def fit_households(
    residual_log_kwh: np.ndarray, settings: ArmaSettings | None = None, threads: int = 1
) -> list[ArmaFit]:
    """Fit every row.

    Parameters
    ----------
    residual_log_kwh : (H, T) float64 array
        Training window of each household, NaN where a reading is missing.
    settings : ArmaSettings, optional
        Order and limits.
    threads : int
        Cores to use; the fits do not depend on it. statsmodels runs on one.

    Returns
    -------
    list of H ArmaFit
    """
    settings = settings or ArmaSettings()
    rows, label = np.asarray(residual_log_kwh, dtype=float), "ARMA fits"
    if settings.method != "kernel" or threads <= 1:
        return [fit_arma(row, settings) for row in progress(rows, label, total=len(rows), private=True)]
    with ThreadPoolExecutor(threads) as pool:  # compiled code holds no interpreter lock
        fits = pool.map(fit_arma, rows, repeat(settings))
        return list(progress(fits, label, total=len(rows), private=True))


def fit_columns(household: np.ndarray, fits: Sequence[ArmaFit]) -> dict:
    """Return the columns of table ``arma_fits``; ``household`` holds the (H,) dense indices."""
    return {"household": np.asarray(household, np.int32)} | {
        column: [getattr(fit, field) for fit in fits] for field, column in _COLUMN_OF.items()
    }


def fits_of(table: pa.Table) -> list[list[ArmaFit]]:
    """Read table ``arma_fits`` back: the households of every window, in row order."""
    fits = [
        ArmaFit(
            **{
                field: np.asarray(row[column], dtype=float) if field in ("ar", "ma") else row[column]
                for field, column in _COLUMN_OF.items()
            }
        )
        for row in table.to_pylist()
    ]
    windows = table["window"].to_numpy()
    return [[fits[i] for i in np.flatnonzero(windows == w)] for w in np.unique(windows)]


def summary_columns(statuses: Sequence[str], windows: Sequence[int]) -> dict:
    """Return the columns of table ``arma_summary``: every status of the chain, served or not.

    Parameters
    ----------
    statuses, windows : sequences of str and int
        One per fit, the columns of ``arma_fits``.
    """
    first = [status for status, window in zip(statuses, windows, strict=True) if window == 0]
    return {
        "status": list(STATUS_MEANING),
        "fit_count": [list(statuses).count(status) for status in STATUS_MEANING],
        "household_count": [first.count(status) for status in STATUS_MEANING],
        "meaning": list(STATUS_MEANING.values()),
    }
