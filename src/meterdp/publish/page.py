"""The page of a released folder: what it contains, how far it is off, the guarantee, how to load it, and pictures.

It is made from the other files of the folder alone. Its text is that of the folder's README; pictures show what was
released.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from markupsafe import Markup, escape

from meterdp.core.log_scale import LogScale
from meterdp.core.stamps import utc_offset_minutes
from meterdp.core.weekend import Weekend
from meterdp.households.columns import LEAST_DAYS_OF_SEASONS
from meterdp.pages.cards import Card, card, card_of_dates, card_of_days, card_of_mean_days, card_of_months
from meterdp.pages.html import render
from meterdp.pages.numbers import bound, count, counted, percent, plain, significant
from meterdp.publish.kinds import README, holds_if, kind_of
from meterdp.publish.loading import HOMEPAGE, code_of, columns_of
from meterdp.publish.odds import Bounds

TEMPLATE = Path(__file__).with_name("page.html")
# Pictures of a kind, and lines in one.
_SHOWN = 6
# Homes whose weeks are drawn.
_WEEKS = 3
# From so many whole months on there is a picture of them.
_FEWEST_MONTHS = 3
# Of more days single intervals would be one blot.
_DAYS_OF_INTERVALS = 14
_IN, _PROTECTED, _LEARNT, _USE = (
    "What is in it",
    "What is protected",
    "What can be learnt from it",
    "How to use it",
)


# Headings with their pictures.
Pictures = list[tuple[str, list[Card]]]


def page_of(files: Mapping[str, bytes], manifest: Mapping) -> bytes:
    """Return ``index.html`` of a released folder, from all its other files."""
    title, opening, sections = _read(files[README].decode())
    kind, privacy = kind_of(files), manifest["privacy"]
    protected = sections[_PROTECTED]
    text = render(
        TEMPLATE,
        title=title,
        opening=[_inline(words) for words in opening if not words.startswith("**")],
        simulated=manifest["simulated_data"],
        epsilon=plain(privacy["epsilon"]),
        delta=plain(privacy["delta"]),
        unit=privacy["unit"],
        inside=_points(sections[_IN]),
        pictures=LOOKS[kind](files, manifest),
        worth=expected_errors(manifest),
        protected=_points(protected),
        means=[_inline(words) for words in protected if not words.startswith("- ")],
        odds=_odds(privacy),
        learnt=_points(sections[_LEARNT]),
        code=code_of(files),
        columns=_columns(files),
        convert="pypsa" if kind == "mixture" else "",
        homepage=HOMEPAGE,
        footer=_footer(sections[_USE], manifest),
    )
    return text.encode()


# --- words ----------------------------------------------------------------------------------------------------------


def _read(page: str) -> tuple[str, list[str], dict[str, list[str]]]:
    """Return the title of a README, the paragraphs of its opening, and those of every section by its heading."""
    head, *rest = page.split("\n## ")
    title, *opening = head.strip().split("\n\n")
    sections = {heading: text.strip().split("\n\n") for heading, _, text in (part.partition("\n") for part in rest)}
    return title.removeprefix("# "), opening, sections


def _points(paragraphs: Sequence[str]) -> list[Markup]:
    lines = (line for text in paragraphs if text.startswith("- ") for line in text.split("\n"))
    return [_inline(line.removeprefix("- ")) for line in lines]


def _inline(words: str) -> Markup:
    """Return Markdown with code in backticks as HTML."""
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(words))))


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}. " if words else ""


def expected_errors(manifest: Mapping) -> dict | None:
    """Return the table of expected errors, as a template takes it."""
    stated = manifest.get("expected_error")
    if not stated:
        return None
    condition = holds_if(stated["usable_share"], stated.get("assumed", ""))
    found = _sentence(stated.get("found", ""))
    rows = [
        (one["of"], *(f"{100 * one[name]:.0f} %" for name in ("error", "error_q95", "guess")))
        for one in stated["quantities"]
    ]
    return {
        "contradicted": stated.get("contradicted"),
        "first": [f"{words}." for words in stated.get("first", [])],
        "caption": f"Expected error at ε = {plain(manifest['privacy']['epsilon'])}, from public numbers alone",
        "header": ("quantity", "on average", "1 in 20 releases above", "public guess"),
        "rows": rows,
        "words": 1,
        "notes": (f"{found}The errors hold if {condition}. A public guess is made without any readings.",),
    }


def _odds(privacy: Mapping) -> str | None:
    """Say how often somebody who must guess between two sets of readings of a meter can be right."""
    if privacy["adjacency"] != "replace_one":
        return None
    right = bound(Bounds.stated(privacy).naming(2))
    return (
        "In numbers: suppose somebody has this whole folder, knows everything about all other meters, and must "
        f"guess which of two equally likely sets of readings one meter had. They are right at most {right} of "
        "the time; tossing a coin is right 50 % of the time."
    )


def _footer(use: Sequence[str], manifest: Mapping) -> str:
    named = manifest["budget_period"] and not manifest["simulated_data"]
    budget = f"Budget period: {manifest['budget_period']}. " if named else ""
    return f"{' '.join(use)} {budget}Made with meterdp {manifest['meterdp_version']}."


def _columns(files: Mapping[str, bytes]) -> dict:
    """Return the table of all columns, as a template takes it."""
    header = "file", "column", "unit", "meaning"
    return {
        "caption": "",
        "header": header,
        "rows": columns_of(files),
        "words": len(header),
        "notes": (),
    }


# --- pictures -------------------------------------------------------------------------------------------------------


def _mixture(files: Mapping[str, bytes], manifest: Mapping) -> Pictures:
    mixture, stated = json.loads(files["mixture.json"]), manifest["log_scale"]
    scale = LogScale(*stated["clipped_to_kwh"], stated["offset_kwh"], stated["scale_kwh"])
    hours = [int(entry[:2]) for entry in mixture["entries"]]
    typical = scale.clipped_kwh(np.array(mixture["means"]))
    order = np.argsort(mixture["weights"])[::-1][:_SHOWN]
    patterns = [
        card(f"Pattern {k + 1}", f"{percent(mixture['weights'][k])} of households, typical energy", typical[k], hours)
        for k in order
    ]
    profiles = np.stack(_table(files["synthetic_profiles.parquet"])["energy_kwh"].to_numpy(zero_copy_only=False))
    drawn = [
        card(f"Synthetic profile {n + 1}", f"{significant(kwh.sum(), 2)} kWh in these hours", kwh, hours)
        for n, kwh in enumerate(profiles[:_SHOWN])
    ]
    return [("The largest patterns of use", patterns), ("The first of the synthetic profiles", drawn)]


def _households(files: Mapping[str, bytes], manifest: Mapping) -> Pictures:
    """Show what the households whose readings are released use on average, and a week of the first."""
    export = manifest["public_parameters"]["export"]
    per_day = 24 * 60 // export["interval_minutes"]
    table = _table(files["household_readings.parquet"], "household", "interval_start_utc", "energy_kwh")
    homes = int(table["household"][-1].as_py())
    kwh = table["energy_kwh"].to_numpy().reshape(homes, -1)
    starts = table["interval_start_utc"][: kwh.shape[1]].to_numpy().astype("datetime64[m]")
    local = starts + utc_offset_minutes(starts, export["time_zone"])
    stratum = _table(files["household_vectors.parquet"], "stratum")["stratum"].to_numpy()[:homes]
    first = _first_week(local, per_day)
    week = kwh[:_WEEKS, first : first + 7 * per_day]
    hourly = week.reshape(len(week), -1, max(per_day // 24, 1)).sum(axis=2)
    shown = [
        card_of_days(f"Synthetic household {n + 1}", f"{significant(one.sum(), 2)} kWh in the week", one, 60)
        for n, one in enumerate(hourly)
    ]
    day = local[first].astype("datetime64[D]").item()
    return [
        (
            f"The mean of the {counted(homes, 'synthetic household')} whose readings are in the folder, local time",
            _means(kwh, local, stratum, manifest),
        ),
        (f"The first synthetic households in the week from {day:%A} {day.day} {day:%B %Y}, local time", shown),
    ]


def _means(kwh: np.ndarray, local: np.ndarray, stratum: np.ndarray, manifest: Mapping) -> list[Card]:
    """Draw who uses how much and when: means of readings (H, T) by hour, kind of day and month.

    ``local`` (T,) are local starts, ``stratum`` (H,) names. Of many strata those with the most homes are drawn.
    """
    public = manifest["public_parameters"]
    minutes, weekend = public["export"]["interval_minutes"], Weekend.of(public["export"])
    hour, dates = local.astype("datetime64[h]").astype(int) % 24, local.astype("datetime64[D]")
    off = weekend.holds(dates.astype(int)) | np.isin(dates, np.array(public["days_off"], "datetime64[D]"))
    names, of, homes = np.unique(stratum, return_inverse=True, return_counts=True)
    largest = np.argsort(-homes, kind="stable")[:_SHOWN]
    mean = {names[k]: kwh[of == k].mean(axis=0) for k in largest}
    daily = [f"{significant(24 * 60 / minutes * one.mean(), 2)} kWh a day" for one in mean.values()]

    def mean_kw(one: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        days = np.bincount(hour[chosen], minlength=24)
        return np.bincount(hour[chosen], one[chosen], 24) / days * (60 / minutes)

    if (strata := len(public["public"]["strata"])) == 1:
        words = f"kW of a home; {daily[0]}, which may be a tenth off the model's, as homes are few"
        mean, key = {"": kwh.mean(axis=0)}, ()
    else:
        # A mean of few homes says little of their stratum.
        words = "kW of a home; means of few homes may be far off"
        words += f"; {len(mean)} of {strata} strata are shown" * (strata > len(mean))
        key = [f"{names[k]}: {counted(int(homes[k]), 'home')}, {kwh}" for k, kwh in zip(largest, daily, strict=True)]
    every = np.full(len(hour), True)
    kinds = {"working days": ~off, f"{weekend.plural}{', public holidays' * bool(public['days_off'])}": off}
    cards = [
        replace(
            card_of_mean_days("The mean day", words, {name: mean_kw(one, every) for name, one in mean.items()}),
            key=key,
        ),
        card_of_mean_days(
            "Working days and days off",
            f"kW of a home{', of all strata together' * (strata > 1)}",
            {kind: mean_kw(kwh.mean(axis=0), days) for kind, days in kinds.items()},
        ),
    ]
    months = _whole_months(dates)
    if len(months) >= _FEWEST_MONTHS:
        within = [dates.astype("datetime64[M]") == month for month in months]
        days = [len(np.unique(dates[chosen])) for chosen in within]
        of_month = {name: np.array([one[chosen].sum() for chosen in within]) / days for name, one in mean.items()}
        without = "; the period is too short for a model with seasons" * (
            public["public"]["days"] < LEAST_DAYS_OF_SEASONS
        )
        cards.append(card_of_months("The mean day of each month", f"kWh of a home{without}", of_month, months))
    return cards


def _whole_months(dates: np.ndarray) -> np.ndarray:
    """Return the months, datetime64[M], of which all days are among ascending ``dates``."""
    first, after = dates[0], dates[-1] + 1
    months = np.arange(first.astype("datetime64[M]"), after.astype("datetime64[M]"))
    return months[months.astype("datetime64[D]") >= first]


def _first_week(local: np.ndarray, per_day: int) -> int:
    """Return the place of the first Monday's first interval of (T,) local starts whose week has all hours once."""
    midnights = np.flatnonzero(local == local.astype("datetime64[D]"))
    # 1970-01-01 was a Thursday.
    mondays = midnights[(local[midnights].astype("datetime64[D]").astype(int) + 3) % 7 == 0]
    week = np.timedelta64(7 * 24 * 60, "m")
    ends = mondays + 7 * per_day
    whole = [m for m, end in zip(mondays, ends, strict=True) if end < len(local) and local[end] - local[m] == week]
    return int([*whole, *midnights][0])


def _forecasts(files: Mapping[str, bytes], manifest: Mapping) -> Pictures:
    """Show the first forecasts, by the names of their circuits if they have any."""
    steps = manifest["time"]["steps"]
    table = _table(files["forecasts.parquet"])
    column = "expected_kwh" if "expected_kwh" in table.column_names else "released_kwh"
    first = table.take(np.arange(0, len(table), steps)).to_pandas()
    first = first.sort_values([c for c in ("circuit", "forecast") if c in first])[:_SHOWN]
    names = [f"Forecast {n}" for n in first["forecast"]]
    if "circuit" in first and len(first) > 1:
        rows = zip(first["circuit"], first["household_count"], strict=True)
        names = [f"Circuit {circuit}: mean of {count(households)} households" for circuit, households in rows]
    starts = table["interval_start_utc"].to_numpy()[:2]
    minutes = float(np.diff(starts)[0] / np.timedelta64(1, "m")) if len(starts) > 1 else 60
    shown = [
        card_of_days(names[n], f"{significant(kwh.sum(), 3)} kWh in {count(len(kwh))} intervals", kwh, minutes)
        for n, kwh in enumerate(table[column].to_numpy().reshape(-1, steps)[first.index])
    ]
    return [("Different forecasts" if len(shown) > 1 else "The forecast", shown)]


def _feeders(files: Mapping[str, bytes], manifest: Mapping) -> Pictures:
    table = _table(files["feeders.parquet"]).to_pandas()
    errors = _table(files["feeder_errors.parquet"]).to_pandas().set_index("dataset_id")
    minutes, zone = (
        manifest["feeder_totals"]["interval_minutes"],
        manifest["public_parameters"]["export"]["time_zone"],
    )
    every, days, hours = [], [], []
    for feeder, rows in list(table.groupby("dataset_id", sort=False))[:_SHOWN]:
        kwh, name = rows["total_consumption_active_import"].to_numpy() / 1000, f"Feeder {feeder}"
        words = f"{count(rows['aggregated_device_count_active'].iloc[0])} meters, ± "
        words += (
            f"{significant(errors.loc[feeder, 'standard_error_wh'] / 1000, 2)} kWh in an interval (standard error)"
        )
        ends = rows["data_collection_log_timestamp"].dt.tz_localize(None).to_numpy().astype("datetime64[m]")
        starts = ends - np.timedelta64(minutes, "m")
        local = starts + utc_offset_minutes(starts, zone)
        dates, hour = local.astype("datetime64[D]"), local.astype("datetime64[h]").astype(int) % 24
        if len(np.unique(dates)) <= _DAYS_OF_INTERVALS:
            every.append(card_of_days(name, words, kwh, minutes))
        else:
            days.append(card_of_dates(name, words, kwh, dates))
            mean = np.bincount(hour, kwh) / np.bincount(hour) * (60 / minutes)
            hours.append(card(name, "mean energy of an hour", mean, range(24)))
    if every:
        return [("Energy of the first feeders in every interval, local time", every)]
    ranges = "Energy of the first feeders in an interval: the mean of each day on the range of its intervals"
    return [(ranges, days), ("The average day of the first feeders", hours)]


def _table(data: bytes, *columns: str) -> pa.Table:
    """Return a table, or some of its columns."""
    return pq.read_table(pa.BufferReader(data), columns=[*columns] or None)


LOOKS: Mapping[str, Callable[[Mapping[str, bytes], Mapping], Pictures]] = {
    "mixture": _mixture,
    "households": _households,
    "forecasts": _forecasts,
    "feeders": _feeders,
}
