"""What the report says about forecasts: fits, errors, intervals, and whether log load is Gaussian."""

from __future__ import annotations

import numpy as np

from meterdp.evaluation.tables import FORECAST_ERRORS, FORECAST_INTERVALS, GROUP_FORECAST_ERRORS
from meterdp.figures.forecasts import method_label, methods_in_order
from meterdp.figures.numbers import MISSING, count, percent, plain, plus_minus, probability, significant
from meterdp.figures.report.grid import Grid, Tables, count_range, households
from meterdp.figures.style import look
from meterdp.forecasting.tables import ARMA_SUMMARY, GAUSSIAN_SUMMARY

_METHODS = {
    "group": "sound group forecast",
    "mean_of_all": "mean of all forecasts",
    "public_level": "public level",
}


def forecast_sentence(tables: Tables) -> str | None:
    """How many of the households that passed were forecast, and how they were chosen."""
    fits, quality = tables.get("arma_summary"), tables.get("quality_summary")
    if fits is None or quality is None:
        return None
    kept = quality.loc[(quality["scope"] == "households") & (quality["reason"] == "kept"), "item_count"].sum()
    chosen = int(fits["household_count"].sum())
    return (
        f"{count(chosen)} of the {households(kept)} that passed the quality rules were fitted and forecast, chosen "
        "without a look at any reading; forecast.households sets how many."
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
        f"Errors against held-out readings: {count_range(number)} households, {count_range(origins)} forecasts each"
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
    header = ("series", "skewness, quartiles", "excess kurtosis, quartiles", "rejected at 1 %", "untested")
    return Grid(
        "Is each household’s log load Gaussian? A Gaussian law has skewness and excess kurtosis 0", header, rows
    )


def group_grid(tables: Tables) -> Grid | None:
    """The sound forecast against epsilon, beside forecasts without privacy."""
    data = tables.get("group_forecast_errors")
    if data is None:
        return None
    cells = {scale: at for scale, at in data.groupby("scale")}
    first = cells["log_kwh"].reset_index(drop=True)
    second = cells["kwh"].reset_index(drop=True)
    rows = []
    for r, kwh in zip(first.itertuples(), second.itertuples(), strict=True):
        protected = not np.isnan(r.epsilon)
        rows.append(
            (
                (_METHODS.get(r.method) or look(r.method).label) + (f", groups: {r.groups}" if protected else ""),
                plain(r.epsilon) if protected else "no privacy",
                count(r.group_count) if protected else MISSING,
                plus_minus(r.nmse, r.nmse_se),
                significant(r.relative_mse),
                plus_minus(kwh.nmse, kwh.nmse_se),
                significant(kwh.relative_mse),
            )
        )
    header = ("forecast", "ε", "groups", "NMSE, log", "relative, log", "NMSE, kWh", "relative, kWh")
    caption = (
        f"The sound forecast: the private mean of a household’s group, replace_one, δ = "
        f"{probability(data['delta'].max())}, for one origin; {count_range(data['household_count'])} households"
    )
    return Grid(caption, header, rows)


READS = (ARMA_SUMMARY, FORECAST_ERRORS, FORECAST_INTERVALS, GAUSSIAN_SUMMARY, GROUP_FORECAST_ERRORS)
GRIDS = {
    "arma": arma_grid,
    "errors": errors_grid,
    "intervals": interval_grid,
    "gaussian": gaussian_grid,
    "group_forecast": group_grid,
}
