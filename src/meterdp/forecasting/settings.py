"""What every study and release forecasts with beside the section ``forecast``, and what of both a stage depends on.

No other key is a reason to rerun.
"""

from __future__ import annotations

from collections.abc import Mapping

STUDIED = {
    # What the season leaves is an ARMA process; ``forecast.compare`` sets the others beside it.
    "method": "arma",
    # Coefficients are estimated again after so many days, on the latest training window.
    "refit_days": 7,
    # Order of the long autoregression, method ``ar``.
    "long_ar_order": 24,
    # Of what the season leaves; the paper estimates it in the training window.
    "mean": "zero",
    # Bound of the moduli of the reciprocal autoregressive roots: how long a deviation from the season may last.
    "largest_root": 0.99,
    # A forecast is held between the extremes of the household's own last days.
    "cap_days": 14,
    # Errors of so many days before an origin calibrate its intervals.
    "calibration_days": 14,
    "interval_levels": (0.5, 0.9),
    # The compiled search, with a prior that keeps partial autocorrelations off the unit circle.
    "arma": "kernel",
    "fit": "forecast",
    # Points the search starts at, and its iterations from each.
    "starts": 3,
    "max_iterations": 1000,
}
PROCESS = (
    "method",
    "ar_order",
    "ma_order",
    "long_ar_order",
    "mean",
    "largest_root",
    "arma",
    "fit",
    "starts",
    "max_iterations",
)
WINDOWS = ("train_days", "refit_days", "horizon_steps", "origins")
POINTS = (*WINDOWS, "cap_days")
AHEAD = (*PROCESS, "train_days", "cap_days", "horizon_steps")

# Of forecasters: whose readings a forecast follows from.
OWN = "household's own readings"
POOLED = "trained across homes, its privacy is not accounted for"


def studied(forecast: Mapping) -> dict:
    """Return the section ``forecast`` with what every study and release forecasts with."""
    return {**STUDIED, **forecast}


def some_of(section: Mapping, keys: tuple[str, ...]) -> dict:
    """Return these keys of a section."""
    return {key: section[key] for key in keys}
