"""What of the section ``forecast`` a fit and a forecast past the end depend on: no other key is a reason to rerun."""

from __future__ import annotations

from collections.abc import Mapping

FIT = ("ar_order", "ma_order", "arma", "fit", "starts", "max_iterations")
AHEAD = (*FIT, "train_days", "horizon_steps")


def some_of(forecast: Mapping, keys: tuple[str, ...]) -> dict:
    """Return these keys of the section."""
    return {key: forecast[key] for key in keys}
