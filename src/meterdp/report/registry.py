"""Every figure and printed table of a study; each is declared where it is made."""

from __future__ import annotations

from collections.abc import Mapping

from meterdp.core.tables import Table
from meterdp.report import (
    classes,
    cost,
    densities,
    federation,
    feeders,
    fidelity,
    forecasts,
    hiding,
    intake,
    noise,
    periods,
)
from meterdp.report import first as first_page
from meterdp.report.pages import Figure, tables_of

# In the order of the report.
FIGURES: tuple[Figure, ...] = (
    intake.intake,
    classes.class_profiles,
    cost.kl_curve,
    densities.marginal_densities,
    fidelity.fidelity,
    feeders.feeder_totals,
    periods.synthetic_homes,
    hiding.hide_among,
    noise.delta_curves,
    forecasts.forecast_examples,
    forecasts.forecast_errors,
    forecasts.forecaster_comparison,
)
# Printed tables by the name that the page has for them.
GRIDS = {
    name: write
    for topic in (intake, classes, federation, cost, periods, forecasts, noise, hiding)
    for name, write in topic.GRIDS.items()
}
# What the report reads.
TABLES: dict[str, Table] = {table.name: table for table in (*tables_of(GRIDS.values()), *first_page.READS)}
# Tables of a study whose mixture is fitted over circuits.
OF_FEDERATIONS = frozenset(table.name for table in tables_of(federation.GRIDS.values()))


def drawings(settings: Mapping) -> dict[str, Mapping]:
    """Return the names of all figures of a study of this configuration, with the options each is drawn with."""
    return {name: options for figure in FIGURES for name, options in figure.drawings(settings).items()}


def figure_of(name: str) -> Figure:
    """Return the figure called ``name``; a suffix after its name, such as the mechanism drawn, does not matter."""
    for figure in FIGURES:
        if name == figure.name or (figure.variants and name.startswith(f"{figure.name}_")):
            return figure
    raise KeyError(f"no figure is called '{name}'")
