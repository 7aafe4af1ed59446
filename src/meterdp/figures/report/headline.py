"""The key results of the report as sentences, every number of them from a Parquet artefact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from meterdp.figures.forecasts import NO_PROTECTION
from meterdp.figures.numbers import count, differs, percent, plain, probability, significant
from meterdp.figures.report.cost import cost_sentences
from meterdp.figures.report.grid import Tables, households
from meterdp.figures.style import in_order, look
from meterdp.forecasting.forecasters.interface import OWN

if TYPE_CHECKING:
    import pandas as pd


def headline(tables: Tables, settings: Mapping) -> list[str]:
    """Return the key results as sentences, one per part of the study that was run."""
    sentences = [
        _headline_intake(tables),
        *cost_sentences(tables, settings.get("mechanisms", {}).get("figure_epsilon")),
        _headline_forecasts(tables.get("forecaster_comparison"), tables.get("forecast_errors")),
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


def _headline_forecasts(comparison: pd.DataFrame | None, errors: pd.DataFrame | None) -> str | None:
    """The study's forecast against the mean of the last seven days and against the best of all, in log and in kWh."""
    if comparison is None or comparison["mae"].isna().all():
        return None
    run = comparison[comparison["status"] == "run"]
    by = {scale: at.set_index("forecaster") for scale, at in run.groupby("scale")}
    own = by["kwh"].iloc[0]
    sentence = (
        f"For {households(own['household_count'])}, forecast {count(own['origin_count'])} times each, the forecast "
        f"misses by {significant(own['mae'])} kWh an interval on average"
    )
    if errors is not None:
        arma = errors[(errors["method"] == "arma") & (errors["scale"] == "kwh")].iloc[0]
        sentence += f" ({significant(arma['mae_median'])} kWh for the median household)"
    if "rolling_mean" in by["kwh"].index:
        log, kwh = (by[scale].loc["rolling_mean"] for scale in ("log_kwh", "kwh"))
        sentence += (
            f"; the mean of the last seven days misses by {significant(kwh['mae_ratio'])} times as much, "
            f"and by {significant(log['mse_ratio'])} times in squared error of log energy"
        )
    others = {scale: at["mse_ratio" if scale == "log_kwh" else "mae_ratio"].iloc[1:] for scale, at in by.items()}
    if (by["kwh"]["looks_at"].iloc[1:] == OWN).any():
        # Of those that look at the household's own readings alone, as the study's does.
        name = others["kwh"][by["kwh"]["looks_at"].iloc[1:] == OWN].idxmin()
        kwh, log = by["kwh"].loc[name], by["log_kwh"].loc[name]
        found = differs(kwh["mae_ratio"] - 1, kwh["mae_ratio_se"])
        sentence += (
            f". Of the other forecasters from a household’s own readings the best is the {kwh['label']}: "
            + ("" if found else "no difference found, ")
            + f"{significant(kwh['mae_ratio'])} times the error in kWh, {significant(log['mse_ratio'])} times the "
            "squared error in log"
        )
    return f"{sentence}."


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
        f"In forecasts released with the {look(row['design']).label} at ρ = {plain(row['rho'])}, the privacy loss of "
        f"the worst pair of neighbours exceeds ε = {plain(row['epsilon'])} {sides}with a probability of up to "
        f"{probability(row['delta'])} if only the added noise counts{verdict}."
    )
