"""The analyst's first questions: how much is used and when, by weekday and season, and who causes the peak.

Each has a figure and a sentence. Powers are means over households unless a comment says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from meterdp.consumption.tables import (
    CLASS_LOAD,
    COINCIDENCE,
    CONSUMPTION_QUANTILES,
    GROUP_PROFILES,
    GROUP_USE,
    PEAK_HOURS,
    TOTAL_LOAD,
)
from meterdp.core.log_scale import LOG, LogScale
from meterdp.core.weekend import Weekend
from meterdp.mixture.tables import CLASS_TABLE, MIXTURE
from meterdp.pages.numbers import count, counted, percent, plain, significant
from meterdp.profiles.tables import PROFILE_HOURS
from meterdp.report.classes import class_names
from meterdp.report.pages import CONSUMPTION, Grid, Tables, figure, grid_of, households_by_rule, printed
from meterdp.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LIGHT_GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    canvas,
    legend_below,
    panels,
    plain_log_ticks,
    show_points,
    show_strips,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

READS = (TOTAL_LOAD, CONSUMPTION_QUANTILES, PEAK_HOURS, CLASS_LOAD, COINCIDENCE)
# Bars of a histogram; what the largest households use beyond this share of them is in the last bar.
_BARS, _SHOWN_SHARE = 30, 0.95
# Months of a season, and how many days of it make a panel.
_SEASONS = ((12, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11))
_DAYS_OF_SEASON = 14
# Fewer months make no line.
_FEWEST_MONTHS = 3
# Times as much load in one season as in another that is worth a sentence.
_DIFFERENT_SEASONS = 1.03
# Of readings at a bound, whose logarithms are stored in single precision.
_ROUNDING = 1e-5
_OF_KINDS = ((BLUE, "-"), (ORANGE, "--"))  # of working days, of weekends
_MOST_CLASSES = 8
# Of the meters of a group, and how many groups are named.
_NOTICEABLY_LEFT_OUT, _FEWEST_LEFT_OUT, _MOST_NAMED = 0.2, 5, 4
# Columns of the list that are drawn, and colours of their entries; with more entries lines are dashed.
_MOST_COLUMNS, _MOST_LINES, _LONGEST_LABEL = 3, 10, 24
_ENTRY_COLOURS = (BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE, BLACK)
_HOURS = np.arange(0, 25, 6)
_NET = "Energy is what homes draw less what they feed in. "
# Of formats that say which way energy flows, and with it which registers are added up.
_ENERGY_OF = {
    ("nem12", "consumption"): (
        "Energy is what homes draw: all registers E of a NMI added up, so controlled load counts; registers B, what "
        "homes feed in, are not subtracted. "
    ),
    ("nem12", "net"): f"{_NET[:-2]}: all registers E of a NMI less all registers B. ",
    ("green_button", "consumption"): "Energy is what homes draw; what they feed in is not subtracted. ",
}


def clipping_sentence(settings: Mapping, tables: Tables) -> str:
    """Say what becomes of readings outside the public bounds in the tables of consumption, if these are known, and
    how many households reach the upper one."""
    if "profiles" not in settings:
        return ""
    scale = LogScale.from_config(settings["profiles"])
    low, high = scale.bounds_kwh
    least = f"at most {low:g} as zero" if scale.kind == LOG else f"less than {low:g} as {low:g}"
    export = settings.get("export", {})
    energy = _ENERGY_OF.get((export.get("format"), export.get("flow")), _NET if export.get("flow") == "net" else "")
    return (
        f"{energy}Readings of more than {high:g} kWh an hour count as {high:g}, and those of {least}."
        f"{_reaching(high, tables)}"
    )


def _reaching(high_kw: float, tables: Tables) -> str:
    """Say for which share of households the largest reading is the bound, unless it is for none."""
    if (quantiles := tables.get(CONSUMPTION_QUANTILES.name)) is None:
        return ""
    peaks = quantiles[quantiles["statistic"] == "peak_kw"]
    there = peaks.loc[peaks["value"] >= high_kw * (1 - _ROUNDING), "household_share"]
    if there.empty:
        return ""
    n = peaks["household_count"].iloc[0]  # the smallest is at share 0, the largest at 1
    share = (n - there.min() * (n - 1)) / n
    return (
        f" The largest reading of {percent(share)} of households is at that upper bound: if they really use more, "
        "their use and peaks, and those of their groups, are too low here; raise "
        "profiles.clip_kwh_per_hour for a study."
    )


# --- how much -------------------------------------------------------------------------------------------------------


@figure(
    CONSUMPTION_QUANTILES,
    PEAK_HOURS,
    category=CONSUMPTION,
    may_be_empty=True,
    look_for="If mean and median are far apart, a few households move the mean: plan with the distribution.",
    alternative="Histograms over households of daily energy and of the largest reading, and the hours of both peaks.",
)
def use_per_household(quantiles: pd.DataFrame, hours: pd.DataFrame, output) -> None:
    """Draw how daily energy and the largest reading differ between households, and when each peaks."""
    with canvas(output, "How much does a household use, and when does it peak?", 3.1) as drawing:
        left, middle, right = drawing.subplots(1, 3)
        if quantiles.empty:
            return
        for axes, statistic, title, unit in (
            (left, "daily_kwh", "How much a day?", "kWh a day"),
            (middle, "peak_kw", "How large is the largest reading?", "kW"),
        ):
            of_it = quantiles[quantiles["statistic"] == statistic]
            _histogram(axes, of_it["value"].to_numpy(), of_it["mean"].iloc[0], unit)
            axes.set_title(title)
        left.set_ylabel("% of households")
        right.set_title("At what hour is the peak?")
        shares = 100 * hours[["largest_reading_share", "highest_mean_share"]].to_numpy()
        right.bar(np.arange(24) + 0.5, shares[:, 0], width=0.9, color=LIGHT_GREY, label="largest reading")
        right.step(
            np.arange(25), [*shares[:, 1], shares[-1, 1]], where="post", color=BLUE, label="highest on average"
        )
        right.set_xticks(_HOURS)
        right.set_xlim(0, 24)
        right.set_xlabel("hour of the day")
        right.legend(fontsize=8, loc="upper left")
        texts = [
            f"{hour:02d}:00: largest reading of {percent(largest / 100)} of households, highest on average "
            f"of {percent(highest / 100)}"
            for hour, (largest, highest) in enumerate(shares)
        ]
        show_strips(right, range(25), texts)


def _histogram(axes: Axes, quantiles: np.ndarray, mean: float, unit: str) -> None:
    """Draw equally frequent values as a histogram with their median and the mean of households."""
    top = quantiles[int(_SHOWN_SHARE * (len(quantiles) - 1))]
    low = min(quantiles[0], 0.0)
    edges = np.linspace(low, max(top, low + 1e-3), _BARS + 1)
    heights = 100 * np.histogram(np.clip(quantiles, low, edges[-1]), edges)[0] / len(quantiles)
    axes.bar(edges[:-1], heights, width=np.diff(edges), align="edge", color=LIGHT_GREY, edgecolor="white")
    for value, colour, line, name in (
        (np.median(quantiles), BLACK, "-", "median"),
        (mean, VERMILION, "--", "mean"),
    ):
        axes.axvline(value, color=colour, linestyle=line, linewidth=1.4, label=f"{name} {significant(value, 2)}")
    axes.set_xlim(low, edges[-1])
    axes.set_xlabel(unit)
    axes.legend(fontsize=8, loc="upper right")
    texts = [
        f"{significant(a, 2)} to {significant(b, 2)} {unit}: {percent(h / 100)} of households"
        for a, b, h in zip(edges[:-1], edges[1:], heights, strict=True)
    ]
    more = significant(edges[-2], 2)
    texts[-1] = f"{more} {unit} or more: {percent(heights[-1] / 100)} of households"
    if quantiles[-1] > edges[-1]:  # else the last bar is as wide as the others
        axes.text(edges[-1], heights[-1], f"{more} or more", fontsize=8, ha="right", va="bottom")
    show_strips(axes, edges, texts)


# --- when -----------------------------------------------------------------------------------------------------------


def _days_of(load: pd.DataFrame) -> pd.DataFrame:
    """Return the known rows of the table ``total_load`` with the month, the kind of day and the hour of each."""
    load = load.dropna(subset=["mean_kw"])
    days = {day: date.fromisoformat(day) for day in load["day_local"].unique()}
    return load.assign(
        month=load["day_local"].map({day: when.month for day, when in days.items()}),
        kind=np.where(load["weekend"], *reversed(_kinds(load))),
        hour=load["minute_of_day_local"] / 60,
    )


def _weekend(load: pd.DataFrame) -> Weekend | None:
    """Return the weekend of the table ``total_load``; None of a period without both of its days."""
    days = {date.fromisoformat(day).weekday() for day in load["day_local"][load["weekend"]].unique()}
    return Weekend(tuple(sorted(days))) if len(days) == 2 else None


def _kinds(load: pd.DataFrame) -> tuple[str, str]:
    """Name working days and the weekend."""
    weekend = _weekend(load)
    return ("working days", "weekends") if weekend is None else (weekend.working_days, weekend.words)


def _seasons(load: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of every season with enough days; all together where fewer than two seasons have."""
    seasons = ((months, load[load["month"].isin(months)]) for months in _SEASONS)
    found = {
        _months([month for month in months if month in {*rows["month"]}]): rows
        for months, rows in seasons
        if rows["day_local"].nunique() >= _DAYS_OF_SEASON
    }
    return found if len(found) > 1 else {period_of(load): load}


def _months(months: Sequence[int]) -> str:
    """Write the months of a season that a period has.

    Examples
    --------
    >>> _months((12, 1, 2)), _months((4, 5)), _months((9,))
    ('December to February', 'April and May', 'September')
    """
    first, *_, last = (f"{date(2000, month, 1):%B}" for month in (months[0], *months))
    if len(months) == 1:
        return first
    return f"{first} {'and' if len(months) == 2 else 'to'} {last}"


def period_of(load: pd.DataFrame, short: bool = False) -> str:
    """Write the first and the last day of the table ``total_load``: ``20 October to 16 November 2025``."""
    return spoken_period(load["day_local"].min(), load["day_local"].max(), short)


def spoken_period(first: str, last: str, short: bool = False) -> str:
    """Write two days, the year once if it is the same; ``short`` with the first letters of the months.

    Examples
    --------
    >>> spoken_period("2025-10-20", "2025-11-16"), spoken_period("2024-12-30", "2025-01-02", short=True)
    ('20 October to 16 November 2025', '30 Dec 2024 to 2 Jan 2025')
    """
    first, last = date.fromisoformat(first), date.fromisoformat(last)
    year = "" if first.year == last.year else f" {first.year}"
    month = "%b" if short else "%B"
    return f"{first.day} {first:{month}}{year} to {last.day} {last:{month}} {last.year}"


@figure(
    TOTAL_LOAD,
    category=CONSUMPTION,
    may_be_empty=True,
    look_for="Where the lines differ, weekends need their own profile. Public holidays count as the weekdays they "
    "are on; release.household_holidays applies to synthetic households alone.",
    alternative="Mean power over the hours of the day, a line for weekdays and one for weekends, a panel a season.",
)
def load_by_hour(load: pd.DataFrame, output) -> None:
    """Draw the mean power by time of day, of weekdays and of weekends, in every season of the period."""
    kinds, load = _kinds(load), _days_of(load)
    seasons = _seasons(load) if len(load) else {}
    columns = max(len(seasons), 1)
    with canvas(output, "When do households use electricity, on weekdays and at weekends?", 3.5) as drawing:
        body = drawing.subfigures()
        grid = panels(body, columns, columns, sharey=True)
        for axes, (name, rows) in zip(grid, seasons.items(), strict=False):
            mean = rows.groupby(["kind", "hour"])["mean_kw"].mean()
            for kind, (colour, line) in zip(kinds, _OF_KINDS, strict=True):
                if kind in mean:
                    axes.plot(mean[kind].index, mean[kind], color=colour, linestyle=line, label=kind)
            axes.set_title(name, fontsize=10 if columns < 4 else 9)
            axes.set_xlim(0, 24)
            axes.set_xticks(_HOURS if columns > 1 else np.arange(0, 25, 3))
            _day_values(axes, mean.reset_index().pivot_table("mean_kw", "hour", "kind"))
        grid[0].set_ylim(bottom=min(0.0, grid[0].get_ylim()[0]))
        grid[0].set_ylabel("kW per household")
        body.supxlabel("hour of the day", fontsize=10)
        legend_below(drawing, *grid[0].get_legend_handles_labels())


def _day_values(axes: Axes, mean: pd.DataFrame) -> None:
    hours = mean.index.to_numpy()
    texts = [
        f"{_clock(hour)}: " + ", ".join(f"{kind} {significant(kw)} kW" for kind, kw in row.items())
        for hour, row in mean.iterrows()
    ]
    show_strips(axes, [*hours, 24], texts)


def _clock(hour: float) -> str:
    return f"{int(hour):02d}:{round(60 * (hour % 1)):02d}"


# --- total load -----------------------------------------------------------------------------------------------------


@figure(
    TOTAL_LOAD,
    category=CONSUMPTION,
    may_be_empty=True,
    look_for=(
        "Left: blue hours have a high load, yellow a low one; gaps are missing. Right: the share of the time with at "
        "least this load."
    ),
    alternative="A map of mean power, days across and hours down, and a load-duration curve beside it.",
)
def load_over_period(load: pd.DataFrame, output) -> None:
    """Draw total load over days and hours, and its duration curve."""
    with canvas(output, "When is total load high, and for how long?", 3.4) as drawing:
        left, right = drawing.subplots(1, 2, width_ratios=(2.4, 1))
        known = load.dropna(subset=["mean_kw"])
        if known.empty:
            return
        _map(drawing, left, load)
        shares, values = np.linspace(0, 100, 201), known["mean_kw"].to_numpy()
        curve = np.quantile(values, 1 - shares / 100)
        right.plot(shares, curve, color=BLUE)
        right.set_xlim(0, 100)
        right.set_ylim(bottom=min(0.0, curve[-1]))
        right.set_title("For how long?")
        right.set_xlabel("% of the time")
        right.set_ylabel("kW per household")
        texts = [
            f"{plain(a)} % of the time at least {significant(kw)} kW"
            for a, kw in zip(shares[4::4], curve[4::4], strict=True)
        ]
        show_strips(right, shares[::4], texts)


def _map(drawing, axes: Axes, load: pd.DataFrame) -> None:
    ends = np.array([load["day_local"].min(), load["day_local"].max()], "datetime64[D]")
    days = np.arange(ends[0], ends[1] + 1).astype(str).tolist()
    minutes = int(np.diff(np.unique(load["minute_of_day_local"])).min(initial=60))
    table = load.pivot_table("mean_kw", "minute_of_day_local", "day_local", dropna=False)
    table = table.reindex(index=range(0, 24 * 60, minutes), columns=days)
    image = axes.imshow(
        table.to_numpy(), aspect="auto", cmap="cividis_r", extent=(0, len(days), 24, 0), interpolation="nearest"
    )
    axes.grid(False)
    axes.set_title("When? (kW per household)")
    axes.set_yticks(_HOURS)
    axes.set_ylabel("hour of the day")
    step = max(1, len(days) // 4)
    shown = [(n + 0.5, date.fromisoformat(days[n])) for n in range(0, len(days), step)]
    axes.set_xticks([place for place, _ in shown], [f"{day.day} {day:%b}" for _, day in shown])
    drawing.colorbar(image, ax=axes, pad=0.01)


@printed(GROUP_USE)
def groups_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """How much the groups that the list of meters names use, and when."""
    data = data[data["household_count"] > 0]
    energy = data["household_count"] * data["mean_kw"]
    share = energy / energy.groupby(data["list_column"]).transform("sum")
    load = tables.get(TOTAL_LOAD.name)
    return grid_of(
        "Households by what the list of meters says" + ("" if load is None else f", {period_of(load, short=True)}"),
        data.assign(share=share),
        {
            "": lambda row: f"{row.list_column} {row.entry}",
            "households": lambda row: count(row.household_count),
            "left out": lambda row: count(row.left_out_count),
            "kWh a day, median": lambda row: significant(24 * row.median_kw),
            "mean": lambda row: significant(24 * row.mean_kw),
            "share of energy": lambda row: percent(row.share),
            "load is highest at": lambda row: _clock(row.peak_minute_of_day_local / 60),
            "kW each in the top 1 % of hours": lambda row: significant(row.at_peak_kw, 2),
            "highest kW each": lambda row: significant(row.highest_kw, 2),
            "on": lambda row: row.highest_day_local.replace("-", "\N{NON-BREAKING HYPHEN}"),
        },
        words=2,
    )


GRIDS = {"groups": groups_grid}


@figure(
    GROUP_PROFILES,
    category=CONSUMPTION,
    may_be_empty=True,
    look_for=(
        "Where lines cross, groups also differ in when they use energy. At most three columns and ten groups of each "
        "are drawn; group_profiles.parquet has all."
    ),
    alternative=(
        "Mean power by hour of the day, and of three months or more daily energy by month, a line for each group of "
        "households."
    ),
)
def use_of_groups(data: pd.DataFrame, output) -> None:
    """Draw the mean power of groups by hour of the day and, of enough months, their daily energy by month."""
    entries = data.groupby("list_column", sort=False)["entry"].nunique()
    columns = list(entries.sort_values(kind="stable").index[:_MOST_COLUMNS])
    with canvas(output, "When do groups of households use electricity?", 0.5 + 2.9 * max(len(columns), 1)) as drawing:
        by = ["hour_of_day_local"] + ["month_local"] * (data["month_local"].nunique() >= _FEWEST_MONTHS)
        grid = np.array(panels(drawing, len(by) * max(len(columns), 1), len(by))).reshape(-1, len(by))
        for column, row in zip(columns, grid, strict=False):
            of_column = data[data["list_column"] == column]
            name, shown = column, of_column["entry"].drop_duplicates()
            if len(shown) > _MOST_LINES:
                most = of_column.groupby("entry")["mean_kw"].mean().nlargest(_MOST_LINES).index
                name, shown = f"{column}, top {_MOST_LINES}", shown[shown.isin(most)]
            _hours_of_entries(row[0], name, _mean_of(of_column, by[0])[shown])
            if len(by) == 2:
                _months_of_entries(row[1], name, _mean_of(of_column, by[1])[shown])
            for axes in row:
                axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
            handles = row[0].get_legend_handles_labels()
            row[-1].legend(*handles, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))


def _hours_of_entries(axes: Axes, column: str, kw: pd.DataFrame) -> None:
    _lines_of_entries(axes, kw.index + 0.5, kw)
    _strips_of(axes, [*kw.index, 24], kw, [f"{hour:02d}:00" for hour in kw.index], "kW")
    axes.set(title=f"{column}: at what hour?", xlabel="hour of the day", ylabel="kW per household", xlim=(0, 24))
    axes.set_xticks(_HOURS)


def _months_of_entries(axes: Axes, column: str, kw: pd.DataFrame) -> None:
    _lines_of_entries(axes, kw.index, 24 * kw, marker="o", markersize=4)
    months = [f"{date(2000, month, 1):%B}" for month in kw.index]
    edges = [*(kw.index - 0.5), kw.index[-1] + 0.5]
    _strips_of(axes, edges, 24 * kw, months, "kWh a day")
    axes.set(title=f"{column}: in which months?", ylabel="kWh a day per household", xlim=(edges[0], edges[-1]))
    axes.set_xticks(kw.index, [name[0] for name in months])


def _lines_of_entries(axes: Axes, at: Sequence, values: pd.DataFrame, **style) -> None:
    for place, entry in enumerate(values):
        line = {"color": _ENTRY_COLOURS[place % len(_ENTRY_COLOURS)], "label": _shortened(entry)}
        axes.plot(at, values[entry], linestyle="-" if place < len(_ENTRY_COLOURS) else "--", **line, **style)


def _shortened(entry: str) -> str:
    return entry if len(entry) <= _LONGEST_LABEL else f"{entry[: _LONGEST_LABEL - 1]}…"


def _mean_of(data: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return the mean power of every entry (columns) by hour or month (rows), over all intervals."""
    energy = data.assign(energy=data["mean_kw"] * data["interval_count"])
    sums = energy.pivot_table(["energy", "interval_count"], by, "entry", aggfunc="sum")
    return sums["energy"] / sums["interval_count"]


def _strips_of(axes: Axes, edges: Sequence, values: pd.DataFrame, names: Sequence[str], unit: str) -> None:
    texts = [
        f"{name}: " + ", ".join(f"{entry} {significant(value)} {unit}" for entry, value in row.dropna().items())
        for name, (_, row) in zip(names, values.iterrows(), strict=True)
    ]
    show_strips(axes, edges, texts)


# --- coincidence and who causes the peak ----------------------------------------------------------------------------


@figure(
    COINCIDENCE,
    CLASS_LOAD,
    MIXTURE,
    CLASS_TABLE,
    PROFILE_HOURS,
    category=CONSUMPTION,
    may_be_empty=True,
    look_for=(
        "Left: the more households share a line, the less each adds to its peak; the shaded area covers all groups "
        "tried. Right: where the diamond is right of the dot, households use their energy when total load is high."
    ),
    alternative=(
        "Peak power per household over the size of a group, on a logarithmic axis; beside it, for each pattern of "
        "use, its shares of households, of energy and of the load in the 1 % of the time when that is highest."
    ),
)
def peaks_together(
    groups: pd.DataFrame,
    classes: pd.DataFrame,
    mixture: pd.DataFrame,
    class_table: pd.DataFrame,
    profile_hours: pd.DataFrame,
    output,
) -> None:
    """Draw how high groups of households peak together, and what each class contributes to the peak of the total."""
    with canvas(output, "How high do many households peak together, and who causes the peak?", 3.6) as drawing:
        body = drawing.subfigures()
        left, right = body.subplots(1, 2, width_ratios=(1, 1.1))
        if groups.empty:
            return
        left.fill_between(
            groups["home_count"], groups["lowest_kw"], groups["highest_kw"], color=BLUE, alpha=0.15, linewidth=0
        )
        left.plot(groups["home_count"], groups["peak_kw"], color=BLUE, marker="o")
        left.set_xscale("log")
        plain_log_ticks(left.xaxis, [n for n in (1, 10, 100, 1000) if n <= groups["home_count"].max()])
        left.set_ylim(bottom=0)
        left.set_title("How high do groups peak?")
        left.set_xlabel("households in a group")
        left.set_ylabel("peak, kW per household")
        texts = [
            f"{counted(row.home_count, 'household')}: {significant(row.peak_kw)} kW each, "
            f"{significant(row.lowest_kw)} to {significant(row.highest_kw)} kW over "
            f"{counted(row.group_count, 'group')}"
            for row in groups.itertuples()
        ]
        show_points(left, groups["home_count"], groups["peak_kw"], texts)
        names = class_names(mixture, class_table, profile_hours)
        _contributions(right, shares_of_classes(classes), names)
        legend_below(drawing, *right.get_legend_handles_labels())


def shares_of_classes(classes: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of every class in households, energy and load when that is highest; class 0 is left out."""
    weight = classes["household_count"]
    shares = classes.assign(
        households=weight / weight.sum(),
        energy=weight * classes["mean_kw"] / (weight * classes["mean_kw"]).sum(),
        peak=weight * classes["at_peak_kw"] / (weight * classes["at_peak_kw"]).sum(),
    )
    return shares[shares["component"] > 0].set_index("component")[["households", "energy", "peak"]]


def _contributions(axes: Axes, shares: pd.DataFrame, names: dict[int, str]) -> None:
    shown = shares.sort_values("peak", ascending=False).head(_MOST_CLASSES)
    place = np.arange(len(shown))
    axes.hlines(place, 100 * shown.min(axis=1), 100 * shown.max(axis=1), color=LIGHT_GREY, linewidth=3, zorder=1)
    looks = {
        "households": ("of households", {"marker": "|", "color": GREY, "markersize": 11, "markeredgewidth": 2}),
        "energy": ("of energy", {"marker": "o", "color": BLUE}),
        "peak": ("of load, highest 1 % of hours", {"marker": "D", "color": VERMILION}),
    }
    for column, (label, style) in looks.items():
        axes.plot(100 * shown[column], place, linestyle="", label=label, **style)
        texts = [f"{names[component]}: {percent(share)} {label}" for component, share in shown[column].items()]
        show_points(axes, 100 * shown[column], place, texts)
    axes.set_yticks(place, [names[component].replace(", ", ",\n", 1) for component in shown.index], fontsize=8)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(left=min(0.0, 100 * shown.min().min()))
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_title("Which patterns cause the peak?")
    axes.set_xlabel("% of the total")


# --- sentences ------------------------------------------------------------------------------------------------------


def answers(tables: Tables) -> dict[str, str]:
    """Return a sentence or two for every question that the study can answer, by the name of the question."""
    found = {
        "how much": _how_much(tables),
        "when": _when(tables),
        "season": _season(tables),
        "total": _total(tables),
        "coincidence": _coincidence(tables),
        "who": _who(tables),
        "groups": _left_out_of_groups(tables),
    }
    return {question: words for question, words in found.items() if words}


def _how_much(tables: Tables) -> str:
    data = tables.get(CONSUMPTION_QUANTILES.name)
    if data is None:
        return ""
    daily = data[data["statistic"] == "daily_kwh"]
    tenth, median, most = (significant(np.quantile(daily["value"], share), 2) for share in (0.1, 0.5, 0.9))
    mean, counts = significant(daily["mean"].iloc[0]), households_by_rule(tables)
    words = (
        f"The median household uses {median} kWh a day; the mean is {mean} kWh. One in ten uses less than {tenth} "
        f"kWh, one in ten more than {most} kWh."
    )
    zero = 0 if counts is None else int(sum(counts.get(reason, 0) for reason in ("all_zero", "mostly_zero")))
    are = "is" if zero == 1 else "are"
    return words + f" {counted(zero, 'household')} that read hardly anything but zero {are} left out." * (zero > 0)


def _left_out_of_groups(tables: Tables) -> str:
    """Say of which groups of the list so many are left out that their rows may not tell of the whole group."""
    data, counts = tables.get(GROUP_USE.name), households_by_rule(tables)
    if data is None:
        return ""
    listed = data["household_count"] + data["left_out_count"]
    many = (data["left_out_count"] >= _NOTICEABLY_LEFT_OUT * listed) & (data["left_out_count"] >= _FEWEST_LEFT_OUT)
    few = data.assign(listed=listed)[many]
    if few.empty:
        return ""
    said = [f"{row.list_column} {row.entry} ({row.left_out_count:,} of {row.listed:,})" for row in few.itertuples()]
    if (more := len(said) - _MOST_NAMED) > 0:
        said[_MOST_NAMED:] = [f"and {counted(more, 'other group')}"]
    words = f"Many households are left out of {', '.join(said)}: what follows is of the others."
    if counts is None or 2 * counts.get("mostly_zero", 0) < few["left_out_count"].max():
        return words
    return (
        f"{words} If they read zero nearly all the time, such as pumps or second homes, quality.max_zero_share: 1 "
        "keeps them."
    )


def _when(tables: Tables) -> str:
    data = tables.get(TOTAL_LOAD.name)
    if data is None:
        return ""
    load, weekend = _days_of(data), _weekend(data)
    mean = load.groupby(["weekend", "hour"])["mean_kw"].mean()
    clock = {off: _clock(mean[off].idxmax()) for off in (False, True) if off in mean}
    working_days = "on working days" if weekend is None else f"from {weekend.working_days}"
    said = [f"{at} at weekends" if off else f"{at} {working_days}" for off, at in clock.items()]
    if len(clock) == 2 and len(set(clock.values())) == 1:
        said = [f"{next(iter(clock.values()))} on all days"]
    words = f"Load is highest at {' and at '.join(said)}"
    if len(clock) == 2:
        change = mean[True].mean() / mean[False].mean() - 1
        days = "at weekends" if weekend is None else f"on {weekend.plural}"
        words += f"; use {days} is {percent(abs(change))} {'higher' if change > 0 else 'lower'}"
    return f"{words}."


def _season(tables: Tables) -> str:
    data = tables.get(TOTAL_LOAD.name)
    if data is None:
        return ""
    seasons = {name: rows["mean_kw"].mean() for name, rows in _seasons(_days_of(data)).items()}
    if len(seasons) < 2:
        return "The period covers a single season, so these numbers do not hold for the others."
    high, low = max(seasons, key=seasons.get), min(seasons, key=seasons.get)
    if seasons[high] < _DIFFERENT_SEASONS * seasons[low]:
        return f"Load differs by less than {percent(_DIFFERENT_SEASONS - 1)} from {low} to {high}."
    return (
        f"Load is highest {_in(high)} ({significant(seasons[high], 2)} kW per household on average) and lowest "
        f"{_in(low)} ({significant(seasons[low], 2)} kW)."
    )


def _in(months: str) -> str:
    return f"{'from' if ' to ' in months else 'in'} {months}"


def _total(tables: Tables) -> str:
    data = tables.get(TOTAL_LOAD.name)
    if data is None:
        return ""
    known = data.dropna(subset=["mean_kw"])
    top = known.loc[known["mean_kw"].idxmax()]
    day = date.fromisoformat(top["day_local"])
    times = significant(top["mean_kw"] / known["mean_kw"].mean(), 2)
    hours = np.diff(np.unique(data["interval_start_utc"])).min() / np.timedelta64(1, "h") if len(data) > 1 else 0.0
    read_mwh = (known["mean_kw"] * known["household_count"]).sum() * hours / 1000
    return (
        f"The load of {count(top['household_count'])} households together peaked on {day:%A}, {day.day} "
        f"{day:%B} {day.year}, at "
        f"{_clock(top['minute_of_day_local'] / 60)}, with {significant(top['mean_kw'])} kW per household "
        f"({significant(top['mean_kw'] * top['household_count'])} kW together), {times} times the mean. "
        f"In all, {significant(read_mwh)} MWh were read."
    )


def _coincidence(tables: Tables) -> str:
    data = tables.get(COINCIDENCE.name)
    if data is None or len(data) < 2:
        return ""
    at = data.set_index("home_count")["peak_kw"]
    every = significant(at.iloc[-1], 2)
    groups = {size: significant(at[size], 2) for size in (10, 100) if size in at.index}
    groups = [f"{peak} kW in groups of {size}" for size, peak in groups.items() if peak != every]
    every = f"{every} kW for all {count(at.index[-1])} together"
    return (
        f"A household alone peaks at {significant(at.iloc[0], 2)} kW; the peak per household is "
        f"{', '.join(groups)}{' and ' if groups else ''}{every}."
    )


def _who(tables: Tables) -> str:
    needed = [tables.get(table.name) for table in (CLASS_LOAD, MIXTURE, CLASS_TABLE, PROFILE_HOURS)]
    if any(data is None for data in needed):
        return ""
    classes, *others = needed
    shares, names = shares_of_classes(classes), class_names(*others)
    if shares.empty:
        return ""
    most = shares["peak"].idxmax()
    return (
        f"In the 1 % of the time with the highest load, the pattern ‘{names[most]}’ contributes most: "
        f"{percent(shares['peak'][most])} of the load, from {percent(shares['households'][most])} of households, "
        f"which use {percent(shares['energy'][most])} of the energy."
    )
