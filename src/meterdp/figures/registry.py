"""Every figure of a study by name.

A drawing function takes paths of Parquet files by table name, ``output`` and its own options, and returns nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from meterdp.figures.cost import kl_curve
from meterdp.figures.fidelity import fidelity
from meterdp.figures.forecasts import delta_curves, forecast_errors, forecast_examples
from meterdp.figures.intake import intake
from meterdp.figures.mixture import class_profiles, marginal_densities

FIGURES: dict[str, Callable[..., None]] = {
    figure.__name__: figure
    for figure in (
        intake,
        class_profiles,
        kl_curve,
        marginal_densities,
        fidelity,
        delta_curves,
        forecast_examples,
        forecast_errors,
    )
}
