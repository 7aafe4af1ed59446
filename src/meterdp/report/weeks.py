"""The load of all and of example households, week by week: what the report's viewer draws.

It is the one part of the report that needs a script: uPlot (``vendor/``) draws, ``weeks.js`` turns the pages. Values
go into the page as whole steps of 16 bits, finer than a pixel.
"""

from __future__ import annotations

import base64
import json
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from meterdp.consumption.tables import EXAMPLE_HOUSEHOLDS, TOTAL_LOAD
from meterdp.report.pages import Tables

if TYPE_CHECKING:
    import pandas as pd

READS = (TOTAL_LOAD, EXAMPLE_HOUSEHOLDS)
_FOLDER = Path(__file__).parent
# A longer period is shown in hours: half a year of half hours is what a page should hold.
MOST_SLOTS = 10_000
_MISSING, _STEPS = 65_535, 65_000
_WEEK = 7


def weeks_of(tables: Tables) -> str | None:
    """Return what the viewer shows, as JSON that may stand in a page; None without the tables it is from."""
    load, homes = (tables.get(table.name) for table in READS)
    if load is None or homes is None:
        return None
    minutes = _minutes(load)
    first = date.fromisoformat(load["day_local"].min())
    monday = first - timedelta(days=first.weekday())
    weeks = -(-((date.fromisoformat(load["day_local"].max()) - monday).days + 1) // _WEEK)
    series = {"Mean of all households": load.rename(columns={"mean_kw": "power_kw"})}
    series |= {f"Household {home}": rows for home, rows in homes.groupby("home")}
    shown = [{"name": name, **_packed(_by_week(rows, monday, weeks, minutes))} for name, rows in series.items()]
    return json.dumps({"monday": monday.isoformat(), "minutes": minutes, "series": shown}).replace("</", "<\\/")


def scripts() -> list[str]:
    """Return the scripts of the viewer, in their order."""
    files = "vendor/uPlot.iife.min.js", "weeks.js"
    return [(_FOLDER / file).read_text(encoding="utf-8") for file in files]


def style() -> str:
    """Return the style of what the viewer draws."""
    return (_FOLDER / "vendor/uPlot.min.css").read_text(encoding="utf-8")


def _minutes(load: pd.DataFrame) -> int:
    if len(load) > MOST_SLOTS:
        return 60
    return int(np.diff(np.unique(load["minute_of_day_local"])).min(initial=60))


def _by_week(rows: pd.DataFrame, monday: date, weeks: int, minutes: int) -> np.ndarray:
    """Return the mean power in every slot of so many local weeks, NaN without a reading."""
    per_day = 24 * 60 // minutes
    days = {day: (date.fromisoformat(day) - monday).days for day in rows["day_local"].unique()}
    slot = rows["day_local"].map(days).to_numpy() * per_day + rows["minute_of_day_local"].to_numpy() // minutes
    kw = rows["power_kw"].to_numpy(float)
    read = np.isfinite(kw)
    count = np.bincount(slot[read], minlength=weeks * _WEEK * per_day)
    total = np.bincount(slot[read], kw[read], len(count))
    return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)


def _packed(kw: np.ndarray) -> dict:
    """Return numbers as whole steps above the lowest, little-endian, in base64."""
    known = kw[np.isfinite(kw)]
    low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
    step = (high - low) / _STEPS or 1.0
    whole = np.where(np.isfinite(kw), np.rint((np.nan_to_num(kw) - low) / step), _MISSING)
    data = base64.b64encode(whole.astype("<u2").tobytes()).decode()
    return {"low": round(float(low), 6), "step": float(f"{step:.6g}"), "data": data}
