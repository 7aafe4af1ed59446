"""Write the tables of docs/feeder_rules.md from a study: `python tools/document_feeders.py results/study`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd

from meterdp.core.parquet import read_table
from meterdp.feeders.tables import FEEDER_ATTACKS, FEEDER_ERRORS, FEEDER_RULES
from meterdp.pages.numbers import percent, plain, significant

PAGE = Path(__file__).resolve().parents[1] / "docs/feeder_rules.md"
SIZES = (5, 15, 50, 100, 500)  # of the random feeders that are shown
SHARE_OF = {"interval": "every half-hour", "period": "the week", "none": "–"}
# Way -> its words and the epsilon that is shown.
WAYS = {
    ("sound", 0.5): "sound, ε = 0.5",
    ("sound", 2.0): "sound, ε = 2",
    ("sound", 8.0): "sound, ε = 8",
    ("gaussian", 2.0): "Gaussian, ε = 2",
    ("laplace_one_reading", 2.0): "one reading, ε = 2",
    ("mean_profile", None): "mean profile",
}


def as_markdown(folder: Path) -> dict[str, str]:
    """Return the tables by the name they have on the page."""
    rules, errors, attacks = (
        read_table(folder / f"{table.name}.parquet", table).to_pandas()
        for table in (FEEDER_RULES, FEEDER_ERRORS, FEEDER_ATTACKS)
    )
    rules, errors = (
        table[(table["grouping"] != "random") | table["feeder_size"].isin(SIZES)] for table in (rules, errors)
    )
    return {
        "withheld": _by_size(rules, "withheld_total_share"),
        "given away": _by_size(rules, "exposed_reading_share"),
        "others known": _others_known(attacks[attacks["attack"] == "others_known"]),
        "every half-hour": _errors(errors[errors["window"] == "days"]),
    }


def _table(header: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, ["---"] * len(header), *rows))


def _size(row) -> str:
    return plain(row.feeder_size) if row.grouping == "random" else "circuits"


def _by_size(data: pd.DataFrame, value: str) -> str:
    data = data.assign(size=[_size(row) for row in data.itertuples()])
    sizes = list(data["size"].unique())
    rows = [
        [rule, SHARE_OF[share_of], *(percent(at.set_index("size")[value][size]) for size in sizes)]
        for (rule, share_of), at in data.groupby(["rule", "share_of"], sort=False)
    ]
    return _table(["rule", "share of", *sizes], rows)


def _errors(data: pd.DataFrame) -> str:
    rows = []
    for _, at in data.groupby(["grouping", "feeder_size"], sort=False):
        found = {(row.method, None if pd.isna(row.epsilon) else row.epsilon): row for row in at.itertuples()}
        cells = [
            f"{significant(found[way].rmse_kwh, 2)} ({significant(100 * found[way].relative_rmse, 2)} %)"
            for way in WAYS
        ]
        first = next(at.itertuples())
        rows.append([_size(first), significant(first.mean_total_kwh), *cells])
    return _table(["households", "mean total", *WAYS.values()], rows)


def _others_known(data: pd.DataFrame) -> str:
    rows = [
        [
            plain(row.feeder_size),
            plain(row.epsilon),
            *(significant(x) for x in (row.rms_error_kwh, row.guess_rms_error_kwh, row.best_rms_error_kwh)),
            *(significant(x, 2) for x in (row.advantage_median, row.advantage_greatest, row.advantage_bound)),
        ]
        for row in data[data["feeder_size"].isin([5, 50, 500])].itertuples()
    ]
    header = ["households", "ε", "error, kWh", "of a guess", "of the best mixture"]
    return _table([*header, "advantage, median pair", "worst pair", "bound"], rows)


def main(folder: Path) -> None:
    """Put every table in the place of the one that follows its name."""
    page = PAGE.read_text()
    for name, table in as_markdown(folder).items():
        page, found = re.subn(rf"(<!-- {name} -->\n\n)(?:\|.*\n)+", lambda m, t=table: m[1] + t, page)
        if found != 1:
            raise ValueError(f"the page has {found} tables called '{name}'")
    PAGE.write_text(page)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
