"""Every figure of a study; an entry stands beside its drawing function."""

from __future__ import annotations

from collections.abc import Mapping

from meterdp.report.cost import KL_CURVE_FIGURE
from meterdp.report.densities import CLASS_PROFILES_FIGURE, MARGINAL_DENSITIES_FIGURE
from meterdp.report.feeders import FEEDER_TOTALS_FIGURE
from meterdp.report.fidelity import FIDELITY_FIGURE
from meterdp.report.forecasts import (
    DELTA_CURVES_FIGURE,
    FORECAST_ERRORS_FIGURE,
    FORECAST_EXAMPLES_FIGURE,
    FORECASTER_COMPARISON_FIGURE,
)
from meterdp.report.hiding import HIDE_AMONG_FIGURE
from meterdp.report.intake import INTAKE_FIGURE
from meterdp.report.pages import Figure

# In the order of the report.
FIGURES: tuple[Figure, ...] = (
    INTAKE_FIGURE,
    CLASS_PROFILES_FIGURE,
    KL_CURVE_FIGURE,
    MARGINAL_DENSITIES_FIGURE,
    FIDELITY_FIGURE,
    FEEDER_TOTALS_FIGURE,
    HIDE_AMONG_FIGURE,
    DELTA_CURVES_FIGURE,
    FORECAST_EXAMPLES_FIGURE,
    FORECAST_ERRORS_FIGURE,
    FORECASTER_COMPARISON_FIGURE,
)


def drawings(settings: Mapping) -> dict[str, Mapping]:
    """Return the names of all figures of a study of this configuration, with the options each is drawn with."""
    return {name: options for figure in FIGURES for name, options in figure.drawings(settings).items()}


def figure_of(name: str) -> Figure:
    """Return the figure called ``name``; a suffix after its name, such as the mechanism drawn, does not matter.

    Raises
    ------
    KeyError
        If there is no such figure.
    """
    for figure in FIGURES:
        if name == figure.name or (figure.variants and name.startswith(f"{figure.name}_")):
            return figure
    raise KeyError(f"no figure is called '{name}'")
