"""What the report says about forecasts: fits, errors, other forecasters, intervals, Gaussianity."""

from __future__ import annotations

import numpy as np

from meterdp.evaluation.tables import (
    FORECAST_ERRORS,
    FORECAST_INTERVALS,
    FORECASTER_COMPARISON,
    GROUP_FORECAST_ERRORS,
)
from meterdp.figures.forecasts import method_label, methods_in_order
from meterdp.figures.numbers import MISSING, count, percent, plain, plus_minus, significant
from meterdp.figures.report.grid import Grid, Tables, count_range, households
from meterdp.figures.style import look
from meterdp.forecasting.forecasters.interface import OWN
from meterdp.forecasting.tables import ARMA_SUMMARY, FORECAST_MARKS_SUMMARY, GAUSSIAN_SUMMARY

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
        (
            r.status.replace("_", " "),
            r.meaning,
            count(r.household_count),
            percent(r.household_count / total),
            count(r.fit_count),
        )
        for r in data.itertuples()
    ]
    rows.append(("all", "", count(int(data["household_count"].sum())), "", count(int(data["fit_count"].sum()))))
    header = ("status", "in words", "households", "share", "fits, all windows")
    return Grid("How the fits ended, households by the first training window", header, rows, words=2)


def marks_grid(tables: Tables) -> Grid | None:
    """Households whose forecasts one should be wary of."""
    data = tables.get("forecast_marks_summary")
    if data is None:
        return None
    total = max(int(data["household_count"].sum()), 1)
    rows = [
        (r.mark.replace("_", " "), r.meaning, count(r.household_count), percent(r.household_count / total))
        for r in data.itertuples()
    ]
    return Grid("Forecasts to be wary of", ("mark", "in words", "households", "share"), rows, words=2)


def forecasters_grid(tables: Tables) -> Grid | None:
    """The study's forecast beside others, with paired standard errors."""
    data = tables.get("forecaster_comparison")
    if data is None:
        return None
    cells = {(r.forecaster, r.scale): r for r in data.itertuples()}
    rows = []
    for name in data["forecaster"].drop_duplicates():
        log, kwh = cells[name, "log_kwh"], cells[name, "kwh"]
        label = log.label if log.looks_at == OWN else f"{log.label}, across homes"
        if log.status != "run":
            rows.append((f"{label}: {log.status}", *[MISSING] * 6))
            continue
        own = name == data["forecaster"].iloc[0]
        rows.append(
            (
                f"{label}, the study’s own" if own else label,
                "1" if own else plus_minus(log.mse_ratio, log.mse_ratio_se),
                MISSING if own else percent(log.won_share),
                significant(kwh.mae),
                "1" if own else plus_minus(kwh.mae_ratio, kwh.mae_ratio_se),
                MISSING if own else percent(kwh.mae_won_share),
                significant(kwh.mase),
            )
        )
    header = (
        "forecaster",
        "squared error in log, ratio",
        "homes won",
        "absolute error, kWh",
        "its ratio",
        "homes won",
        "MASE",
    )
    caption = (
        f"What else could have been released, without privacy: {count_range(data['household_count'])} households, "
        f"{count_range(data['origin_count'])} forecasts each. Ratios are to the study’s own, with paired standard "
        "errors; above 1 the study’s is better, and within two errors of 1 there is no difference. Across homes: "
        "trained on all together, its privacy is not accounted for. MASE is the absolute error over that of "
        "yesterday’s reading"
    )
    return Grid(caption, header, rows)


def errors_grid(tables: Tables) -> Grid | None:
    """Errors of every forecast in log energy."""
    return _errors(tables, "log_kwh", "log energy")


def errors_kwh_grid(tables: Tables) -> Grid | None:
    """Errors of every forecast in kWh."""
    return _errors(tables, "kwh", "kWh")


def _errors(tables: Tables, scale: str, unit: str) -> Grid | None:
    data = tables.get("forecast_errors")
    if data is None:
        return None
    cells = {(r.method, r.design, r.rho): r for r in data[data["scale"] == scale].itertuples()}
    rows = []
    for key in methods_in_order(data):
        cell = cells.get(key)
        if cell is None:
            rows.append((method_label(*key), *[MISSING] * 6))
            continue
        row = [method_label(*key), plus_minus(cell.nmse, cell.nmse_se), significant(cell.nmse_median)]
        row += [significant(cell.relative_mse), significant(cell.mae), significant(cell.mae_median)]
        rows.append((*row, MISSING if cell.method == "arma" else percent(cell.won_share)))
    header = ("forecast", "NMSE", "median", "relative", f"absolute error, {unit}", "median", "homes better than ARMA")
    number, origins = data["household_count"], data["origin_count"]
    caption = (
        f"Errors in {unit} against held-out readings: {count_range(number)} households, {count_range(origins)} "
        "forecasts each; medians are over households"
    )
    return Grid(caption, header, rows)


def interval_grid(tables: Tables) -> Grid | None:
    """Coverage and width of the forecast intervals, a row per forecast and level."""
    data = tables.get("forecast_intervals")
    if data is None:
        return None
    # The distribution's intervals are shown once, to compare with.
    data = data[(data["interval"] == "calibrated") | (data["method"] != "released")]
    groups = dict(list(data.groupby(["method", "design", "rho"])))
    rows = [
        (
            method_label(*key) + ("" if r.interval == "calibrated" else ", by the Gaussian distribution alone"),
            percent(r.level),
            f"{percent(r.coverage)} ± {percent(r.coverage_se)}",
            significant(r.mean_width_kwh),
        )
        for key in methods_in_order(data)
        for r in groups[key].sort_values(["interval", "level"]).itertuples()
    ]
    header = ("forecast", "should cover", "covers", "mean width, kWh")
    return Grid("Central intervals of the forecasts, and how often the held-out reading lies inside", header, rows)


def gaussian_grid(tables: Tables) -> Grid | None:
    """How far log load is from the Gaussian distribution that the forecasts assume."""
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
        "Is each household’s log load Gaussian? A Gaussian distribution has skewness and excess kurtosis 0",
        header,
        rows,
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
                significant(kwh.relative_mse),
                significant(kwh.mae),
                significant(kwh.mae_median),
            )
        )
    header = (
        "forecast",
        "ε",
        "groups",
        "NMSE, log",
        "relative, log",
        "relative, kWh",
        "absolute error, kWh",
        "median",
    )
    caption = (
        f"The sound forecast: the private mean of a household’s group, replace_one, δ = "
        f"{plain(data['delta'].max())}, for the groups and one origin; "
        f"{count_range(data['household_count'])} households"
    )
    return Grid(caption, header, rows)


READS = (
    ARMA_SUMMARY,
    FORECAST_MARKS_SUMMARY,
    FORECAST_ERRORS,
    FORECASTER_COMPARISON,
    FORECAST_INTERVALS,
    GAUSSIAN_SUMMARY,
    GROUP_FORECAST_ERRORS,
)
GRIDS = {
    "arma": arma_grid,
    "marks": marks_grid,
    "errors": errors_grid,
    "errors_kwh": errors_kwh_grid,
    "forecasters": forecasters_grid,
    "intervals": interval_grid,
    "gaussian": gaussian_grid,
    "group_forecast": group_grid,
}
