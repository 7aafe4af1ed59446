"""Describe the fitted classes: Table I of Liu et al.

Everything here is computed from private records for the analyst; nothing of it may be released.
"""

from __future__ import annotations

import numpy as np

from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.mixture.gmm import Fit, class_statistics


def class_table(x: np.ndarray, fit: Fit, hours_local: np.ndarray, scale: LogScale = PLAIN) -> dict[str, np.ndarray]:
    """Return the columns of ``CLASS_TABLE``: who the households of each class are (Table I)."""
    k = fit.mixture.classes
    counts, means, scatter = class_statistics(x, fit.labels, k)
    safe = np.maximum(counts, 1)
    energy_kwh = np.bincount(fit.labels - 1, weights=scale.kwh(x).mean(axis=1), minlength=k) / safe
    variance = np.diagonal(scatter, axis1=1, axis2=2) / np.maximum(counts - 1, 1)[:, None]
    return {
        "component": np.arange(1, k + 1),
        "household_count": counts,
        "share": counts / len(x),
        "mean_energy_kwh": energy_kwh,
        "peak_hour_local": np.asarray(hours_local)[means.argmax(axis=1)],
        "spread_log_kwh": np.sqrt(variance.mean(axis=1)),
        "floored": fit.floored,
    }
