"""Every figure and printed table of a study; each is declared where it is made."""

from __future__ import annotations

from meterdp.core.tables import Table
from meterdp.report import (
    classes,
    consumption,
    cost,
    densities,
    federation,
    feeders,
    fidelity,
    forecasts,
    hiding,
    intake,
    periods,
    weeks,
    worth,
)
from meterdp.report.pages import Figure, tables_of

# In the order of the report.
FIGURES: tuple[Figure, ...] = (
    consumption.use_per_household,
    consumption.load_by_hour,
    consumption.load_over_period,
    consumption.peaks_together,
    consumption.use_of_groups,
    densities.marginal_densities,
    fidelity.fidelity,
    periods.synthetic_homes,
    feeders.feeder_totals,
    hiding.hide_among,
    cost.kl_curve,
)
# Printed tables by the name that the page has for them.
GRIDS = {name: write for topic in (consumption, intake, federation) for name, write in topic.GRIDS.items()}
# What the report reads.
TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        *tables_of(GRIDS.values()),
        *(
            table
            for topic in (intake, classes, consumption, weeks, worth, forecasts, hiding)
            for table in topic.READS
        ),
    )
}
# Tables of a study whose mixture is fitted over circuits.
OF_FEDERATIONS = frozenset(table.name for table in tables_of(federation.GRIDS.values()))


def figure_of(name: str) -> Figure:
    """Return the figure called ``name``."""
    for figure in FIGURES:
        if name == figure.name:
            return figure
    raise KeyError(f"no figure is called '{name}'")
