"""What the report says: sentences and tables, every number of them from a Parquet artefact.

Each function takes the tables that were read, by name, and returns nothing where its table is missing, so that a
study of two mechanisms or without forecasts still has a report.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

import numpy as np
import pandas as pd

from meterdp.figures.forecasts import SIDES, method_label, methods_in_order
from meterdp.figures.numbers import count, percent, plain, plus_minus, probability, significant
from meterdp.figures.report.cost_words import cost_sentences, count_range
from meterdp.figures.report.grid import Grid, Tables
from meterdp.figures.style import in_order, look

NO_PROTECTION = 0.99  # a probability beyond which two households are told apart as good as always


def households(number: int) -> str:
    """Write a number of households."""
    return f"{count(number)} household{'' if number == 1 else 's'}"


# --- headline -------------------------------------------------------------------------------------------------------


def headline(tables: Tables, settings: Mapping) -> list[str]:
    """Return the key results as sentences, one per part of the study that was run."""
    sentences = [
        _headline_intake(tables),
        *cost_sentences(tables, settings.get("mechanisms", {}).get("figure_epsilon")),
        _headline_forecasts(tables.get("forecast_errors")),
        _headline_delta(tables.get("delta_curves"), settings.get("class_noise", {})),
    ]
    # No line break between a number and its error or its percent sign.
    return [s.replace(" ± ", "\u00a0±\u00a0").replace(" %", "\u00a0%") for s in sentences if s]


def _headline_intake(tables: Tables) -> str | None:
    quality, classes = tables.get("quality_summary"), tables.get("class_table")
    parts = []
    if quality is not None:
        counts = quality[quality["scope"] == "households"].set_index("reason")["item_count"]
        kept, total = int(counts.get("kept", 0)), int(counts.sum())
        parts.append(
            f"{count(kept)} of {households(total)} ({percent(kept / max(total, 1))}) passed the quality rules"
        )
    if classes is not None:
        sizes = classes["household_count"]
        span = households(sizes.min()) if len(sizes) == 1 else f"{count(sizes.min())} to {households(sizes.max())}"
        noun = "class" if len(sizes) == 1 else "classes"
        parts.append(f"{count(sizes.sum())} with a usable profile form {count(len(sizes))} {noun} of {span}")
    return "; ".join(parts) + "." if parts else None


def _headline_forecasts(errors: pd.DataFrame | None) -> str | None:
    if errors is None or "log_kwh" not in set(errors["scale"]):
        return None
    rows = errors[(errors["scale"] == "log_kwh") & (errors["method"] != "released")].set_index("method")
    naive = rows.drop(index="arma", errors="ignore")
    if "arma" not in rows.index or naive.empty:
        return None
    arma, best = rows.loc["arma"], naive["relative_mse"].idxmin()
    verdict = "below" if arma["relative_mse"] < naive.loc[best, "relative_mse"] else "not below"
    return (
        f"Over {households(arma['household_count'])} and {count(arma['origin_count'])} origins each, the ARMA "
        f"forecast leaves {percent(arma['relative_mse'])} of the variance of held-out log energy, {verdict} the best "
        f"naive forecast ({look(best).label.removeprefix('naive: ')}: {percent(naive.loc[best, 'relative_mse'])})."
    )


def _headline_delta(curves: pd.DataFrame | None, settings: Mapping) -> str | None:
    if curves is None:
        return None
    rows = curves[curves["query_model"] == "deterministic"]
    rows = rows[rows["design"] == settings.get("file_design", in_order(curves["design"])[-1])]
    rows = rows[rows["rho"] == settings.get("file_rho", rows["rho"].max())]
    if rows.empty:
        return None
    rows = rows[rows["sides"] == ("two" if "two" in set(rows["sides"]) else "one")]
    row = rows.loc[rows["epsilon"].idxmax()]
    sides = "in either direction " if row["sides"] == "two" else ""
    verdict = ": that pair is not protected" if row["delta"] > NO_PROTECTION else " (1 means no protection)"
    return (
        f"With the {look(row['design']).label} at ρ = {plain(row['rho'])}, the privacy loss of the worst pair of "
        f"neighbours exceeds ε = {plain(row['epsilon'])} {sides}with a probability of up to "
        f"{probability(row['delta'])} if only the added noise counts{verdict}."
    )


# --- intake ---------------------------------------------------------------------------------------------------------


def ingest_grid(tables: Tables) -> Grid | None:
    """Rows of the export by reason."""
    data = tables.get("ingest_report")
    if data is None:
        return None
    total = max(int(data["row_count"].sum()), 1)
    rows = [
        (r.reason.replace("_", " "), r.meaning, count(r.row_count), percent(r.row_count / total))
        for r in data.itertuples()
    ]
    rows.append(("all rows", "", count(int(data["row_count"].sum())), ""))
    return Grid("Rows of the export", ("reason", "in words", "rows", "share"), rows, words=2)


def quality_grid(tables: Tables, scope: str) -> Grid | None:
    """Households or readings by quality rule."""
    data = tables.get("quality_summary")
    data = None if data is None else data[data["scope"] == scope]
    if data is None or data.empty:
        return None
    expected = data.loc[data["reason"] == "expected_readings", "item_count"]
    total = max(int(expected.iloc[0] if len(expected) else data["item_count"].sum()), 1)
    rows = [
        (r.reason.replace("_", " "), r.meaning, count(r.item_count), percent(r.item_count / total))
        for r in data.itertuples()
    ]
    return Grid(f"{scope.capitalize()} by rule", ("rule", "in words", scope, "share"), rows, words=2)


# --- classes --------------------------------------------------------------------------------------------------------


def class_grid(tables: Tables) -> Grid | None:
    """Table I of Liu et al. for this export."""
    data = tables.get("class_table")
    if data is None:
        return None
    rows = [
        (
            f"Class {r.component}",
            count(r.household_count),
            percent(r.share),
            significant(r.mean_energy_kwh),
            f"{r.peak_hour_local:02d}:00",
            significant(r.spread_log_kwh),
            "yes" if r.floored else "no",
        )
        for r in data.sort_values("component").itertuples()
    ]
    rows.append(("all", count(int(data["household_count"].sum())), percent(data["share"].sum()), "", "", "", ""))
    header = (
        "class",
        "households",
        "share",
        "mean kWh per hour (arithmetic)",
        "peak hour",
        "spread (log kWh)",
        "variance floored",
    )
    return Grid("Who the households are (Table I of Liu et al. for this export)", header, rows)


def normality_grid(tables: Tables) -> Grid | None:
    """How Gaussian the classes are."""
    data = tables.get("normality")
    if data is None:
        return None
    rows = [
        (
            f"Class {r.component}",
            count(r.household_count),
            significant(r.mardia_skewness),
            significant(r.mardia_kurtosis_z),
            percent(r.share_within_90),
        )
        for r in data.sort_values("component").itertuples()
    ]
    header = ("class", "households", "Mardia skewness", "Mardia kurtosis (z)", "inside the 90 % ellipsoid")
    return Grid("How Gaussian the log profiles of each class are", header, rows)


def period_sentence(settings: Mapping) -> str | None:
    """Which days the study covers and which of them the profiles are from, as the configuration says."""
    export, profiles = settings.get("export", {}), settings.get("profiles", {})
    if not profiles:
        return None
    first, last, minutes = (export.get(key) for key in ("first_day", "last_day", "interval_minutes"))
    period = f"from {first} to {last}" if first and last else "from the first to the last stamp of the export"
    day = profiles["date"]
    if day == "auto" and first and last:
        begin, end = date.fromisoformat(first), date.fromisoformat(last)
        day = (begin + ((end - begin + timedelta(days=1)) // 2).days * timedelta(days=1)).isoformat()
    when = {"mean": "the mean over all days", "half_day": f"one stretch of hours on {day}"}[profiles["vector"]]
    when = when.replace("auto", "the middle day")
    return f"The study covers readings every {minutes} minutes {period}; a profile is {when}."


def hours_sentence(tables: Tables) -> str | None:
    """What the profile vector is and the public bounds it is clipped to."""
    data = tables.get("profile_hours")
    if data is None:
        return None
    data = data.sort_values("entry")
    low, high = (significant(np.exp(value), 2) for value in (data["low_log_kwh"].min(), data["high_log_kwh"].max()))
    first, last = data["label"].iloc[[0, -1]]
    noun = "hour" if len(data) == 1 else "hours"
    span = f"{first}" if len(data) == 1 else f"{first} to {last}"
    return (
        f"A profile has {count(len(data))} {noun}, {span} local time; the energy of each is clipped to the public "
        f"bounds {low} and {high} kWh before the log."
    )


# --- forecasts ------------------------------------------------------------------------------------------------------


def forecast_sentence(tables: Tables) -> str | None:
    """How many of the households that passed were forecast, and how they were chosen."""
    fits, quality = tables.get("arma_summary"), tables.get("quality_summary")
    if fits is None or quality is None:
        return None
    kept = quality.loc[(quality["scope"] == "households") & (quality["reason"] == "kept"), "item_count"].sum()
    chosen = int(fits["household_count"].sum())
    return (
        f"{count(chosen)} of the {households(kept)} that passed the quality rules were fitted and forecast, as many "
        "as forecast.households asks for, taken in a fixed order that looks at no reading."
    )


def arma_grid(tables: Tables) -> Grid | None:
    """How many households each step of the fallback chain served."""
    data = tables.get("arma_summary")
    if data is None:
        return None
    total = max(int(data["household_count"].sum()), 1)
    rows = [
        (r.status.replace("_", " "), r.meaning, count(r.household_count), percent(r.household_count / total))
        for r in data.itertuples()
    ]
    rows.append(("all", "", count(int(data["household_count"].sum())), ""))
    return Grid("How the ARMA fits ended", ("status", "in words", "households", "share"), rows, words=2)


def errors_grid(tables: Tables) -> Grid | None:
    """Errors of every forecast, log energy and kWh side by side."""
    data = tables.get("forecast_errors")
    if data is None:
        return None
    cells = {(r.method, r.design, r.rho, r.scale): r for r in data.itertuples()}
    rows = []
    for key in methods_in_order(data):
        row = [method_label(*key)]
        for scale in ("log_kwh", "kwh"):
            cell = cells.get((*key, scale))
            row += (
                ["–"] * 2 if cell is None else [plus_minus(cell.nmse, cell.nmse_se), significant(cell.relative_mse)]
            )
        rows.append(row)
    header = ("forecast", "NMSE, log energy", "relative, log energy", "NMSE, kWh", "relative, kWh")
    number, origins = data["household_count"], data["origin_count"]
    caption = (
        f"Errors against held-out readings, {count_range(number)} households, {count_range(origins)} origins each"
    )
    return Grid(caption, header, rows)


def interval_grid(tables: Tables) -> Grid | None:
    """Coverage and width of the forecast intervals, a row per forecast and level."""
    data = tables.get("forecast_intervals")
    if data is None:
        return None
    groups = dict(list(data.groupby(["method", "design", "rho"])))
    rows = [
        (
            method_label(*key),
            percent(r.level),
            f"{percent(r.coverage)} ± {percent(r.coverage_se)}",
            significant(r.mean_width_kwh),
        )
        for key in methods_in_order(data)
        for r in groups[key].sort_values("level").itertuples()
    ]
    header = ("forecast", "should cover", "covers", "mean width, kWh")
    return Grid("Central intervals of the forecasts, and how often the held-out reading lies inside", header, rows)


def gaussian_grid(tables: Tables) -> Grid | None:
    """How far log load is from the Gaussian law that the forecasts assume."""
    data = tables.get("gaussian_summary")
    if data is None:
        return None
    rows = []
    for r in data.itertuples():
        spread = [
            "{1} ({0} to {2})".format(*(significant(getattr(r, f"{name}_{q}")) for q in ("q25", "median", "q75")))
            for name in ("skewness", "excess_kurtosis")
        ]
        rows.append((r.series, *spread, percent(r.rejected_share), count(r.untested_count)))
    header = ("of each household", "skewness, quartiles", "excess kurtosis, quartiles", "rejected at 1 %", "untested")
    return Grid("Is log load Gaussian? A Gaussian law has skewness and excess kurtosis 0", header, rows)


def delta_grid(tables: Tables, sides: str) -> Grid | None:
    """Exact delta per design, query model and budget, one column per epsilon."""
    data = tables.get("delta_curves")
    data = None if data is None else data[data["sides"] == sides]
    if data is None or data.empty:
        return None
    epsilons = np.sort(data["epsilon"].unique())
    rows = []
    for design in in_order(data["design"]):
        part = data[data["design"] == design]
        if design == "none":  # without noise there is no budget: one row is enough
            part = part.drop_duplicates(["query_model", "epsilon"]).assign(rho=0.0)
        for (model, rho), curve in part.groupby(["query_model", "rho"]):
            at = curve.drop_duplicates("epsilon").set_index("epsilon")["delta"]
            deltas = [probability(at.get(epsilon)) for epsilon in epsilons]
            rows.append((look(design).label, model, "–" if design == "none" else plain(rho), *deltas))
    header = ("design", "query model", "ρ", *(f"ε = {plain(epsilon)}" for epsilon in epsilons))
    pairs = f"{count_range(data['pair_count'])} {'pairs' if sides == 'swap' else 'ordered pairs'}"
    return Grid(f"δ, {SIDES[sides]}: exact, for the worst of {pairs}", header, rows, words=2)


def prior_grid(tables: Tables) -> Grid | None:
    """Delta of the posterior odds at the largest epsilon, one column per prior ratio."""
    data = tables.get("delta_under_prior")
    if data is None or data.empty:
        return None
    epsilon, ratios = data["epsilon"].max(), np.sort(data["prior_ratio"].unique())
    data = data[(data["epsilon"] == epsilon) & (data["design"] != "none")]
    rows = []
    for design in in_order(data["design"]):
        for (model, rho), part in data[data["design"] == design].groupby(["query_model", "rho"]):
            at = part.set_index("prior_ratio")["delta"]
            rows.append((look(design).label, model, plain(rho), *(probability(at.get(ratio)) for ratio in ratios)))
    header = ("design", "query model", "ρ", *(f"{plain(ratio)} : 1" for ratio in ratios))
    caption = (
        f"δ at ε = {plain(epsilon)} for an analyst who holds one household of a pair for so many times as likely as "
        "the other before the release: the probability that the odds end above e to the power ε"
    )
    return Grid(caption, header, rows, words=2) if rows else None


def neighbourhood_grid(tables: Tables) -> Grid | None:
    """Sizes of the neighbourhoods."""
    data = tables.get("neighbourhood_summary")
    if data is None:
        return None
    rows = [
        (f"Neighbourhood {r.neighbourhood}", count(r.household_count), count(r.pair_count), count(r.households_alone))
        for r in data.sort_values("neighbourhood").itertuples()
    ]
    alone = " ".join(dict.fromkeys(f"Without a neighbour there is {m}." for m in data["meaning"] if m))
    header = ("neighbourhood", "households", "ordered pairs", "without a neighbour")
    return Grid(f"Households that must not be told apart. {alone}".rstrip(), header, rows)
