"""Who the households are: names, mean profiles, sizes of the classes of a study, and how Gaussian they are.

Profiles are taken back from log energy to kWh, on a plain log as geometric means.
"""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from meterdp.core.log_scale import LOG, LogScale
from meterdp.mixture.patterns import pattern_names
from meterdp.mixture.tables import CLASS_TABLE, MIXTURE, NORMALITY
from meterdp.profiles.tables import PROFILE_HOURS
from meterdp.profiles.vector import scale_of
from meterdp.report.numbers import count, percent, significant
from meterdp.report.pages import HOUSEHOLDS, Grid, Tables, figure, grid_of, printed
from meterdp.report.style import (
    BLUE,
    LIGHT_GREY,
    WIDTH_IN,
    area_key,
    canvas,
    legend_below,
    line_key,
    one_three_ticks,
    panels,
    plain_log_ticks,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def mean_profiles_kwh(mixture: pd.DataFrame, profile_hours: pd.DataFrame) -> np.ndarray:
    """Return the mean energy of every class and hour, (K, d) float64, kWh; classes and hours in their order.

    Parameters are the tables of these names.
    """
    from meterdp.forecasting.energy import censored_moment  # not for a plan, which reads the report's modules too

    scale = scale_of(profile_hours)
    ends = profile_hours["low_log_kwh"].min(), profile_hours["high_log_kwh"].max()
    low, high = (float(scale.kwh(end)) for end in ends)
    return censored_moment(*_moments(mixture), replace(scale, low_kwh=low, high_kwh=high), 1)


def _moments(mixture: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations of log energy by class and hour, (K, d) each."""
    classes = mixture.sort_values("component")
    mean = np.stack(classes["mean_log_kwh"].to_list())
    covariance = np.stack(classes["covariance"].to_list()).reshape(*mean.shape, -1)
    return mean, np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))


def class_names(mixture: pd.DataFrame, class_table: pd.DataFrame, profile_hours: pd.DataFrame) -> dict[int, str]:
    """Return the name of every class by its number; parameters are the tables of these names."""
    classes = class_table.sort_values("component")
    hours = profile_hours.sort_values("entry")["hour_of_day_local"].to_list()
    energy, share = classes["mean_energy_kwh"].to_numpy(), classes["share"].to_numpy()
    names = pattern_names(energy, share, mean_profiles_kwh(mixture, profile_hours), hours)
    return dict(zip(classes["component"].to_list(), names, strict=True))


@figure(
    MIXTURE,
    CLASS_TABLE,
    PROFILE_HOURS,
    category=HOUSEHOLDS,
    look_for=(
        "Mean profile of each class with a band of one standard deviation, both of log energy, in kWh; grey lines "
        "are the other classes. A class called floored had its variance raised to the public floor. Look for classes "
        "that differ in level only or in the hour of their peak, and for small classes, which cost the most to "
        "protect."
    ),
    alternative="One panel per class: mean energy over the hours of the profile, with a band, on a log scale in kWh.",
)
def class_profiles(mixture: pd.DataFrame, class_table: pd.DataFrame, profile_hours: pd.DataFrame, output) -> None:
    """Draw the mean profile of every class in kWh with a band of one standard deviation of the log."""
    entries, sizes = profile_hours.sort_values("entry"), class_table.set_index("component")
    scale, names = scale_of(entries), class_names(mixture, class_table, entries)
    mean, deviation = _moments(mixture)
    low, high = scale.kwh(mean - deviation), scale.kwh(mean + deviation)
    plain = scale.kind == LOG
    middle = np.arange(mean.shape[1]) + 0.5
    columns = min(3, len(mean))
    rows = -(-len(mean) // columns)
    title = "Mean load profile of each class, and how many households it has"
    with canvas(output, title, 1.2 + 2.35 * rows, WIDTH_IN if columns > 1 else 5.0) as drawing:
        body = drawing.subfigures()
        grid = panels(body, len(mean), columns, sharex=True, sharey=True)
        for k, (axes, component) in enumerate(zip(grid, sorted(mixture["component"]), strict=True)):
            for other in np.delete(mean, k, axis=0):
                axes.plot(middle, scale.kwh(other), color=LIGHT_GREY, linewidth=0.9)
            axes.fill_between(middle, low[k], high[k], color=BLUE, alpha=0.22, linewidth=0)
            axes.plot(middle, scale.kwh(mean[k]), color=BLUE, marker="o", markersize=3.5)
            size, share, floored = sizes.loc[component, ["household_count", "share", "floored"]]
            heading = f"Class {component}: {count(size)} ({percent(share)}){', floored' if floored else ''}"
            axes.set_title(f"{heading}\n{textwrap.fill(names[component], 34)}")
            axes.title.set_fontsize(8.5)
            if plain:
                axes.set_yscale("log")
            else:
                axes.set_yscale("function", functions=(scale.log, scale.kwh))
        plain_log_ticks(grid[0].yaxis, _energy_ticks(low.min(), high.max(), scale))
        _hour_ticks(grid[0], entries["hour_of_day_local"].to_numpy())
        body.supxlabel("local hour of day", fontsize=10)
        body.supylabel(f"energy in the hour (kWh, {'log scale' if plain else 'model scale'})", fontsize=10)
        handles = [
            (area_key(color=BLUE, alpha=0.22, linewidth=0), line_key(color=BLUE, marker="o", markersize=3.5)),
            line_key(color=LIGHT_GREY, linewidth=1.2),
        ]
        centre = "geometric mean" if plain else "mean"
        labels = [f"{centre} ± 1 standard deviation of log energy", "means of the other classes"]
        legend_below(drawing, handles[: len(mean)], labels[: len(mean)])


def _energy_ticks(low: float, high: float, scale: LogScale) -> list[float]:
    """Return 1, 3, 10, ... of either sign and zero between two energies, as far as the scale tells them apart."""
    if scale.kind == LOG:
        return one_three_ticks(low, high)
    least = scale.offset_kwh + scale.scale_kwh
    sizes = np.array(one_three_ticks(least, max(abs(low), abs(high), least)))
    ticks = np.concatenate([-sizes[::-1], [0.0], sizes])
    return ticks[(ticks >= low) & (ticks <= high)].tolist()


def _hour_ticks(axes: Axes, hours: np.ndarray) -> None:
    """Label the edges of the hours, at most about eight of them."""
    step = next(s for s in (1, 2, 3, 4, 6, 12, 24) if len(hours) <= 8 * s)
    places = np.arange(0, len(hours) + 1, step)
    labels = [f"{hours[p] if p < len(hours) else (hours[-1] + 1) % 24:02d}" for p in places]
    axes.set_xlim(0, len(hours))
    axes.set_xticks(places, labels)


@printed(CLASS_TABLE)
def class_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """Table I of Liu et al. for this export."""
    names, peaks = {}, data.set_index("component")["peak_hour_local"].to_dict()
    if "mixture" in tables and "profile_hours" in tables:
        mixture, entries = tables["mixture"], tables["profile_hours"].sort_values("entry")
        names = class_names(mixture, data, entries)
        # Of energy, as in the names; the highest mean of the logarithm may come at another hour.
        highest = entries["hour_of_day_local"].to_numpy()[mean_profiles_kwh(mixture, entries).argmax(axis=1)]
        peaks = dict(zip(sorted(mixture["component"]), highest, strict=True))
    columns = {
        "class": lambda r: f"Class {r.component}" + (f": {names[r.component]}" if names else ""),
        "households": lambda r: count(r.household_count),
        "share": lambda r: percent(r.share),
        "mean kWh per hour (arithmetic)": lambda r: significant(r.mean_energy_kwh),
        "peak hour": lambda r: f"{peaks[r.component]:02d}:00",
        "spread (log kWh)": lambda r: significant(r.spread_log_kwh),
        "variance floored": lambda r: "yes" if r.floored else "no",
    }
    total = ("all", count(int(data["household_count"].sum())), percent(data["share"].sum()), "", "", "", "")
    caption = "Classes of households (Table I of Liu et al. for this export)"
    return grid_of(caption, data.sort_values("component"), columns, total=total)


@printed(NORMALITY)
def normality_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """How Gaussian the classes are."""
    columns = {
        "class": lambda r: f"Class {r.component}",
        "households": lambda r: count(r.household_count),
        "Mardia skewness": lambda r: significant(r.mardia_skewness),
        "Mardia kurtosis (z)": lambda r: significant(r.mardia_kurtosis_z),
        "inside the 90 % ellipsoid": lambda r: percent(r.share_within_90),
    }
    return grid_of("How Gaussian the log profiles of each class are", data.sort_values("component"), columns)


GRIDS = {"classes": class_grid, "normality": normality_grid}
