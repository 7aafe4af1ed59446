"""What of the section ``forecast`` a stage depends on: no other key is a reason to rerun."""

from __future__ import annotations

from collections.abc import Mapping

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


def some_of(section: Mapping, keys: tuple[str, ...]) -> dict:
    """Return these keys of a section."""
    return {key: section[key] for key in keys}
