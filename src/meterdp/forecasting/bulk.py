"""Fit many households and keep the fits as a table: one shard is one call.

Section V-A of Ramakrishna et al. Every household of the input has a row in the output, whatever its readings.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from meterdp.core.progress import progress
from meterdp.forecasting.arma import STATUS_MEANING, ArmaFit, ArmaSettings, fit_arma


def fit_households(residual_log_kwh: np.ndarray, settings: ArmaSettings | None = None) -> list[ArmaFit]:
    """Fit every row.

    Parameters
    ----------
    residual_log_kwh : (H, T) float64 array
        Training window of each household, NaN where a reading is missing.
    settings : ArmaSettings, optional
        Order and limits.
    """
    return [fit_arma(row, settings) for row in progress(residual_log_kwh, "ARMA fits", total=len(residual_log_kwh))]


def fit_columns(household: np.ndarray, fits: Sequence[ArmaFit]) -> dict:
    """Return the columns of table ``arma_fits``; ``household`` holds the (H,) dense indices."""
    return {
        "household": np.asarray(household, np.int32),
        "status": [fit.status for fit in fits],
        "ar": [fit.ar for fit in fits],
        "ma": [fit.ma for fit in fits],
        "mean_log_kwh": [fit.mean for fit in fits],
        "innovation_variance": [fit.innovation_variance for fit in fits],
        "log_likelihood": [fit.log_likelihood for fit in fits],
        "observation_count": [fit.observation_count for fit in fits],
    }


def fits_of(table: pa.Table) -> list[ArmaFit]:
    """Read table ``arma_fits`` back, in row order."""
    return [
        ArmaFit(
            row["status"],
            np.asarray(row["ar"], dtype=float),
            np.asarray(row["ma"], dtype=float),
            row["mean_log_kwh"],
            row["innovation_variance"],
            row["log_likelihood"],
            row["observation_count"],
        )
        for row in table.to_pylist()
    ]


def summary_columns(statuses: Sequence[str]) -> dict:
    """Return the columns of table ``arma_summary``: every status of the chain, served or not.

    Parameters
    ----------
    statuses : sequence of str
        One per household, e.g. the status column of ``arma_fits``.
    """
    return {
        "status": list(STATUS_MEANING),
        "household_count": [list(statuses).count(status) for status in STATUS_MEANING],
        "meaning": list(STATUS_MEANING.values()),
    }
