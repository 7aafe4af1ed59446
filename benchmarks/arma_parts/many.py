"""Fit all rows of a file in a fresh process with an empty compilation cache: what a utility waits for.

``python many.py SERIES.npy MODE THREADS``; benchmarks/arma.py times the whole process.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

from meterdp.forecasting.arma import ArmaSettings, fit_households


def main(path: str, mode: str, threads: str) -> None:
    """Fit and print how many households each status has."""
    fits = fit_households(np.load(path), ArmaSettings(fit=mode), int(threads))
    print("; ".join(f"{count} {status}" for status, count in Counter(fit.status for fit in fits).most_common()))


if __name__ == "__main__":
    main(*sys.argv[1:4])
