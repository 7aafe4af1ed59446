"""Readings of households as files: what is drawn from a release, and two files of readings to be compared."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa

from meterdp.core.job import progress
from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import metadata_of, open_table
from meterdp.core.regular import check_file, contents
from meterdp.core.weekend import SATURDAY_SUNDAY, Weekend
from meterdp.errors import InputError
from meterdp.households.configured import days_off
from meterdp.households.marginal import mean_bounds_around
from meterdp.households.released import FILE, ReleasedHouseholds
from meterdp.households.score import Score, compare, floors, membership, summarise, with_floors
from meterdp.households.tables import DRAWN_READINGS
from meterdp.households.vector import VectorSettings
from meterdp.profiles.grid import Calendar

_MOST_BYTES = 2**30
# Names of the columns of a file of readings, of which the first that is there counts.
HOUSEHOLD = ("household", "meter_id", "household_id", "id")
START = ("interval_start_utc", "interval_start", "timestamp", "datetime", "date")
ENERGY = ("energy_kwh", "kwh", "target", "value")
_NEEDED = (
    "give readings of homes over many days, a row for each interval: household, interval_start_utc, energy_kwh, as "
    "in household_readings.parquet or what `meterdp households draw` writes"
)


def draw_years(
    folder,
    target,
    households: int,
    seed: int,
    year: int | None = None,
    stratum: str | None = None,
    metadata: Mapping[str, str] | None = None,
) -> str | None:
    """Write readings of synthetic households of a released folder as Parquet, some at a time.

    The same seed, number and stratum give the same households. ``metadata`` are what the file says of the release.
    Returns a sentence if a year has days without a season. InputError if the folder holds no released households, or
    the stratum is none of theirs.
    """
    source = Path(folder) / FILE
    released = ReleasedHouseholds.of(
        contents(check_file(source), _MOST_BYTES, "name a folder release/households"), source
    )
    strata, vectors = released.draw(households, StudyNoise(seed, "households"), stratum)
    with open_table(target, DRAWN_READINGS, {"synthetic": "yes", **(metadata or {})}) as add:
        parts = math.ceil(households / released.generator(year).batch_size)
        label = f"parts of the readings of {households:,} households"
        for rows in progress(released.readings(vectors, seed, year), label, parts):
            add(rows | {"stratum": pa.array(strata).take(rows["household"] - 1)})
    return released.without_seasons(year)


def score_files(
    real, synthetic, time_zone: str, country: str | None = None, others=None, weekend: Weekend = SATURDAY_SUNDAY
) -> list[Score]:
    """Return the scorecard of two files of readings, floors beside: of real households against each other.

    ``others`` is a file of real households like them that the synthetic ones were not made from; with it, an attack
    tells these from the real ones. All are Parquet or CSV with columns of household, start of the interval in UTC and
    energy in kWh, over the same period and interval. InputError if they are not.
    """
    paths = [real, synthetic] + ([] if others is None else [others])
    read = [read_years(path, time_zone, weekend) for path in paths]
    real_kwh, calendar = read[0]
    for path, (_, other) in zip(paths, read, strict=True):
        if other != calendar:
            raise InputError(
                "has other intervals than the real readings",
                file=path,
                hint="give readings of the same period and interval, and draw synthetic households for it",
            )
    days = calendar.days
    usual_kw = float(np.nanmean(np.abs(real_kwh))) * 60 / calendar.interval_minutes
    settings = VectorSettings(
        calendar,
        days_off(country, days[0], days[-1]),
        bool((real_kwh < 0).any()),
        # Distances are in half widths of bounds in which homes differ.
        mean_bounds_around(usual_kw),
    )
    summaries = [summarise([kwh], len(kwh), settings) for kwh, _ in read]
    rows = compare(*summaries[:2])
    if others is not None:
        rows.append(membership(*(summary.homes.vector for summary in summaries)))
    floor = floors(real_kwh, summaries[0].homes, settings)
    return with_floors(rows, floor)


def zone_of(paths: Sequence[Path]) -> tuple[str, Weekend, Path] | None:
    """Return the time zone and the weekend of the first of some files whose release names a zone, and that file.

    Drawn readings carry the manifest of their release; those that were released lie beside it.
    """
    for path in paths:
        beside = path.parent / "manifest.json"
        try:
            said = metadata_of(path).get("manifest") if path.suffix == ".parquet" else None
            manifest = json.loads(contents(beside, _MOST_BYTES, "") if said is None else said)
            if said is None and path.name not in manifest["sha256"]:
                continue
            export = manifest["public_parameters"]["export"]
            return ZoneInfo(export["time_zone"]).key, Weekend.of(export), path
        except (OSError, ValueError, LookupError, TypeError, RecursionError, InputError):
            continue
    return None


def read_years(path, time_zone: str, weekend: Weekend = SATURDAY_SUNDAY) -> tuple[np.ndarray, Calendar]:
    """Return the readings of a file, (H, T) kWh with NaN where there are none, on its regular calendar."""
    path = Path(path)
    if path.is_dir():
        raise InputError("is a folder", file=path, hint=_NEEDED)
    check_file(path)
    read = pd.read_parquet if path.suffix == ".parquet" else pd.read_csv
    table = read(path)
    if "profile" in table.columns:
        problem = "holds daily profiles, hours of one day without a date, and is not a file of readings"
        raise InputError(problem, file=path, hint=_NEEDED)
    household, start, energy = (_column(table, names, path) for names in (HOUSEHOLD, START, ENERGY))
    stamps = pd.to_datetime(start, utc=True).dt.tz_convert(None).to_numpy("datetime64[m]")
    minutes = np.diff(np.unique(stamps)).min() if len(np.unique(stamps)) > 1 else np.timedelta64(0, "m")
    interval = int(minutes / np.timedelta64(1, "m"))
    if interval == 0 or 24 * 60 % interval:
        raise InputError("has no regular interval", file=path, hint="give readings of 5 to 60 minutes")
    at = ((stamps - stamps.min()) / minutes).astype(int)
    code, _ = pd.factorize(household)
    kwh = np.full((code.max() + 1, at.max() + 1), np.nan)
    kwh[code, at] = energy
    first = pd.Timestamp(stamps.min(), tz="UTC").to_pydatetime()
    return kwh, Calendar(first, kwh.shape[1], interval, time_zone, weekend)


def _column(table: pd.DataFrame, names: tuple[str, ...], path) -> pd.Series:
    lower = {str(name).lower(): name for name in table.columns}
    for name in names:
        if name in lower:
            return table[lower[name]]
    raise InputError(f"has no column {' or '.join(names)}", file=path, hint=_NEEDED)


def lines(rows: list[Score]) -> Iterator[str]:
    """Yield the scorecard as a table for people."""
    head = ("", "real", "synthetic", "off by", "real against real")
    cells = [
        (f"{row.statistic} {row.detail}".strip(), f"{_short(row.real)} {row.unit if row.unit != '1' else ''}",
         _short(row.synthetic), f"{_short(row.error)} {row.error_unit}", _short(row.floor))
        for row in rows
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    for row in (head, *cells):
        yield "  ".join((row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])))


def _short(number: float) -> str:
    """Write a number with three digits, and all digits before the point."""
    return "–" if np.isnan(number) else f"{float(f'{number:.3g}'):,g}"
