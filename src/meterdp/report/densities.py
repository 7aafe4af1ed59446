"""Whether synthetic households use what real ones do, hour by hour: one small panel an hour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meterdp.evaluation.tables import MARGINALS
from meterdp.pages.numbers import percent, plain, significant
from meterdp.profiles.tables import PROFILE_HOURS
from meterdp.profiles.vector import scale_of
from meterdp.report.pages import RELEASES, figure
from meterdp.report.style import LIGHT_GREY, area_key, canvas, legend_below, line_key, look, panels, show_strips

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_PANELS, _COLUMNS = 8, 4
_PROVEN = "sound"


@figure(
    MARGINALS,
    PROFILE_HOURS,
    category=RELEASES,
    look_for="Where line and grey bars differ, the release has too many or too few households that use that much.",
    alternative="Small panels, one an hour: a histogram of the energy of real households, a line of synthetic ones.",
)
def marginal_densities(data: pd.DataFrame, profile_hours: pd.DataFrame, output) -> None:
    """Draw the energy of real households and of those of the proven release, as histograms of at most eight hours."""
    hours = profile_hours.sort_values("entry")
    entries = hours["entry"].to_numpy()[:: -(-len(hours) // _PANELS)]
    released = data[data["family"] == _PROVEN]
    at = "" if released.empty else f" (ε = {plain(released['epsilon'].iloc[0])})"
    rows = -(-len(entries) // _COLUMNS)
    with canvas(
        output, f"Do synthetic households use what real ones do, hour by hour?{at}", 0.9 + 1.55 * rows
    ) as drawing:
        body = drawing.subfigures()
        for axes, entry in zip(panels(body, len(entries), min(_COLUMNS, len(entries))), entries, strict=True):
            real, other = (rows[rows["entry"] == entry] for rows in (data[data["source"] == "real"], released))
            _panel(axes, real, other, scale_of(hours))
            axes.set_title(hours.set_index("entry")["label"][entry].replace("-", " to "), fontsize=9.5)
        body.supxlabel("energy in the hour (kWh, log scale)", fontsize=10)
        body.supylabel("share of households", fontsize=10)
        keys = {"real households": area_key(color=LIGHT_GREY)}
        if len(released):
            keys["synthetic households of a release"] = line_key(color=look(released["source"].iloc[0]).colour)
        legend_below(drawing, list(keys.values()), list(keys))


def _panel(axes: Axes, real: pd.DataFrame, released: pd.DataFrame, scale) -> None:
    left = real["log_kwh"].to_numpy()
    width = left[1] - left[0]
    edges = np.append(left, left[-1] + width)
    axes.bar(left, real["density"], width=width, align="edge", color=LIGHT_GREY, linewidth=0)
    shares = [real["density"].to_numpy() * width]
    if len(released):
        axes.stairs(released["density"], edges, color=look(released["source"].iloc[0]).colour, linewidth=1.4)
        shares.append(released["density"].to_numpy() * width)
    ticks = np.linspace(edges[0], edges[-1], 5)[[1, 3]]
    axes.set_xticks(ticks, [significant(float(scale.kwh(tick)), 1) for tick in ticks])
    axes.set_yticks([])
    axes.set_xlim(edges[0], edges[-1])
    axes.spines["left"].set_visible(False)
    kwh = [significant(float(scale.kwh(edge)), 2) for edge in edges]
    texts = [
        f"{low} to {high} kWh: "
        + ", ".join(map(" ".join, zip(("real", "synthetic"), map(percent, both), strict=False)))
        for low, high, *both in zip(kwh[:-1], kwh[1:], *shares, strict=True)
    ]
    show_strips(axes, edges, texts)
