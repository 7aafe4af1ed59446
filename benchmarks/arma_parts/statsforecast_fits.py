"""Fit every series of a file by statsforecast and time each fit; runs in the environment of that package.

``python statsforecast_fits.py SERIES.npz FITS.npz``. It imports nothing of this project.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from statsforecast.models import ARIMA


def fit(x: np.ndarray, p: int, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the AR and MA coefficients of one series of mean zero."""
    found = ARIMA(order=(p, 0, q), include_mean=False, method="CSS-ML").fit(x).model_["coef"]
    ar, ma = [found[f"ar{i + 1}"] for i in range(p)], [found[f"ma{i + 1}"] for i in range(q)]
    return np.array(ar, dtype=float), np.array(ma, dtype=float)


def main(given: str, written: str) -> None:
    """Fit all rows and write coefficients, seconds and trouble."""
    with np.load(given) as file:
        series, (p, q) = file["series"], (int(n) for n in file["order"])
    n = len(series)
    ar, ma, seconds, trouble = np.full((n, p), np.nan), np.full((n, q), np.nan), np.zeros(n), [""] * n
    warnings.simplefilter("ignore")
    fit(np.sin(np.arange(100.0) ** 2), 1, 1)  # what the package does only once is not timed
    for row, x in enumerate(series):
        begin = time.perf_counter()
        try:
            ar[row], ma[row] = fit(x, p, q)
        except Exception as error:  # whatever a package raises is counted
            trouble[row] = type(error).__name__
        seconds[row] = time.perf_counter() - begin
    np.savez(written, ar=ar, ma=ma, seconds=seconds, trouble=np.array(trouble))


if __name__ == "__main__":
    main(*sys.argv[1:3])
