"""What the report says about hiding a household among k: a sentence for a reader in a hurry, and the numbers."""

from __future__ import annotations

from meterdp.evaluation.tables import GROUP_MEAN, HIDE_AMONG, HIDE_AMONG_YARDSTICKS
from meterdp.figures.hiding import ERROR, interval_words
from meterdp.figures.numbers import count, percent, plain, significant
from meterdp.figures.report.grid import Grid, Tables, count_range
from meterdp.figures.style import in_order, look

_MEASURES = {
    ERROR: "median household",
    "error_kwh_mean": "mean household",
    "error_kwh_rms": "all households, RMS",
    "absolute_error_kwh_median": "absolute, median household",
    "absolute_error_kwh_mean": "absolute, mean household",
}


def hiding_sentence(tables: Tables) -> str | None:
    """What hiding among the fewest and the most costs with the cheapest design, beside what a household uses."""
    data, marks = tables.get("hide_among"), tables.get("hide_among_yardsticks")
    if data is None or marks is None:
        return None
    data = data[data["design"] != GROUP_MEAN].dropna(subset=[ERROR])
    if data.empty:
        return None
    cheapest = data.groupby("size")[ERROR].min().sort_index()
    ends = cheapest.iloc[[0]] if len(cheapest) == 1 else cheapest.iloc[[0, -1]]
    costs = " and ".join(f"{significant(error, 2)} kWh among {count(size)}" for size, error in ends.items())
    typical = marks.set_index("yardstick")["median_kwh"]
    return (
        "To hide whose a forecast is among similar households, the cheapest noise design changes that of the median "
        f"household by {costs}, per {interval_words(int(marks['interval_minutes'].iloc[0]))}. The household uses "
        f"{significant(typical['energy'], 2)} kWh in that time, and its own forecast is off by "
        f"{significant(typical['forecast_error'], 2)} kWh."
    )


def hiding_grid(tables: Tables) -> Grid | None:
    """What hiding among k costs, a row per size and design."""
    data = tables.get("hide_among")
    data = None if data is None else data[data["group_count"] > 0]
    if data is None or data.empty:
        return None
    rows = []
    for size, designs in data.groupby("size"):
        at = designs.set_index("design")
        for design in in_order(at.index):
            row = at.loc[design]
            quartiles = (significant(row[f"error_kwh_{name}"], 2) for name in ("q25", "q75"))
            share = row["explained_share"]
            rows.append(
                (
                    f"{count(size)} or more",
                    look(design).label,
                    f"{count(row['group_count'])} of {count_range(row[['smallest_group', 'largest_group']])}",
                    *(significant(row[name], 2) for name in _MEASURES),
                    " to ".join(quartiles),
                    "none" if share < 0 else percent(share),
                    count(row["unserved_group_count"]),
                )
            )
    words = ("hidden among", "by", "groups")
    header = (*words, *_MEASURES.values(), "middle half of households", "variance explained", "groups not hidden")
    caption = (
        f"By how much hiding changes forecasts, kWh per interval, at ε = {plain(data['epsilon'].max())}, "
        f"δ = {plain(data['delta'].max())}; {count_range(data['household_count'])} households. Root mean "
        "square over a household’s intervals, but for the columns that say absolute. Every group gets the least "
        "noise that is enough for it; its mean needs none"
    )
    return Grid(caption, header, rows, words=len(words))


READS = (HIDE_AMONG, HIDE_AMONG_YARDSTICKS)
GRIDS = {"hiding": hiding_grid}
