"""Print the numbers of docs/feeder_rules.md from a study: `python tools/feeder_numbers.py results/study`."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from meterdp.core.parquet import read_table
from meterdp.feeders.tables import FEEDER_ATTACKS, FEEDER_ERRORS, FEEDER_RULES
from meterdp.figures.numbers import percent, plain, significant

SHOWN = (0.5, 2.0, 8.0)
SHARE_OF = {"interval": "every interval", "period": "whole period", "none": "–"}


def main(folder: Path) -> None:
    """Print all tables."""
    for table, write in ((FEEDER_RULES, _rules), (FEEDER_ERRORS, _errors), (FEEDER_ATTACKS, _attacks)):
        write(read_table(folder / f"{table.name}.parquet", table).to_pandas())


def _print(caption: str, header: list[str], rows: list[list[str]]) -> None:
    print(f"\n{caption}\n")
    for row in (header, ["---"] * len(header), *rows):
        print(f"| {' | '.join(row)} |")


def _rules(data: pd.DataFrame) -> None:
    names = {"random": lambda size: plain(size), "circuits": lambda size: f"circuits ({significant(size)})"}
    data["column"] = [names[row.grouping](row.feeder_size) for row in data.itertuples()]
    columns = list(data["column"].unique())
    for value, caption in (
        ("withheld_total_share", "Totals withheld"),
        ("withheld_energy_share", "Energy withheld"),
        ("exposed_reading_share", "Readings given away"),
        ("exposed_household_share", "Households of which a reading is given away"),
    ):
        rows = [
            [rule, SHARE_OF[share_of], *(percent(at.set_index("column")[value][name]) for name in columns)]
            for (rule, share_of), at in data.groupby(["rule", "share_of"], sort=False)
        ]
        _print(caption, ["rule", "share of", *columns], rows)
    print(f"\nGreatest error of a reading given away: {data['exposed_greatest_error_kwh'].max():.1g} kWh")


def _errors(data: pd.DataFrame) -> None:
    shown = data[data["epsilon"].isin(SHOWN) | data["epsilon"].isna()]
    for window, of_window in shown.groupby("window", sort=False):
        ways = list(dict.fromkeys(zip(of_window["method"], of_window["epsilon"].fillna(0), strict=True)))
        ways.sort(key=lambda way: list(of_window["method"].unique()).index(way[0]))
        rows = []
        for (grouping, size), at in of_window.groupby(["grouping", "feeder_size"], sort=False):
            errors = at.assign(epsilon=at["epsilon"].fillna(0)).set_index(["method", "epsilon"])
            cells = [
                f"{significant(errors['rmse_kwh'][way], 2)} ({significant(100 * errors['relative_rmse'][way], 2)} %)"
                for way in ways
            ]
            name = plain(size) if grouping == "random" else f"circuits ({significant(size)})"
            rows.append([name, significant(at["mean_total_kwh"].iloc[0], 3), *cells])
        header = [f"{method}{f' ε = {plain(epsilon)}' if epsilon else ''}" for method, epsilon in ways]
        _print(f"RMSE in kWh (share of the mean total), {window}", ["households", "mean total, kWh", *header], rows)


def _attacks(data: pd.DataFrame) -> None:
    groups, sound = (data[data["attack"] == name] for name in ("overlapping_groups", "others_known"))
    rows = [
        [
            row.rule,
            SHARE_OF[row.share_of],
            plain(row.rounded_to_kwh),
            plain(row.group_count),
            percent(row.known_reading_share),
            significant(1000 * row.rms_error_kwh, 2),
            significant(1000 * row.guess_rms_error_kwh, 2),
        ]
        for row in groups.itertuples()
    ]
    header = ["rule", "share of", "rounded to kWh", "groups", "known to the Wh", "RMSE, Wh", "of a guess, Wh"]
    if rows:
        households = int(groups["household_count"].iloc[0])
        _print(
            f"Overlapping groups of {plain(groups['feeder_size'].iloc[0])} of {households} households", header, rows
        )
    rows = [
        [
            plain(row.feeder_size),
            plain(row.epsilon),
            *(significant(x) for x in (row.rms_error_kwh, row.guess_rms_error_kwh, row.best_rms_error_kwh)),
            *(significant(x, 2) for x in (row.advantage_median, row.advantage_greatest, row.advantage_bound)),
        ]
        for row in sound[sound["epsilon"].isin(SHOWN)].itertuples()
    ]
    header = ["households", "ε", "RMSE, kWh", "of a guess", "of the best mixture"]
    _print("Sound totals, all others known", [*header, "advantage, median", "greatest", "bound"], rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
