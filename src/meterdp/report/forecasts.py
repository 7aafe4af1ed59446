"""Forecasts: fits, examples, errors, other forecasters and intervals, in figures, tables and sentences.

The examples are Fig. 3 of Ramakrishna et al. on the export at hand; the errors set released forecasts beside the ARMA
forecast and two naive ones.
"""

from __future__ import annotations

from functools import partial
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from meterdp.evaluation.tables import (
    FORECAST_ERRORS,
    FORECAST_INTERVALS,
    FORECASTER_COMPARISON,
    GROUP_FORECAST_ERRORS,
)
from meterdp.forecasting.settings import OWN
from meterdp.forecasting.tables import ARMA_SUMMARY, FORECAST_MARKS_SUMMARY, GAUSSIAN_SUMMARY
from meterdp.publish.tables import FORECAST_EXAMPLES
from meterdp.report.intake import columns_by, households_by_rule
from meterdp.report.numbers import MISSING, count, counted, differs, percent, plain, plus_minus, significant
from meterdp.report.pages import FORECASTS, Grid, Tables, count_range, figure, grid_of, printed
from meterdp.report.style import (
    BLUE,
    GREY,
    ORANGE,
    VERMILION,
    canvas,
    in_order,
    legend_below,
    line_key,
    look,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_PARTS = {"history": GREY, "truth": VERMILION, "forecast": ORANGE, "released": BLUE}
_SCALES = {"log_kwh": "log energy", "kwh": "energy in kWh"}
_METHODS = {
    "group": "group forecast",
    "scaled": "its shape times the household’s own level",
    "own_mean": "the household’s own mean of the hour",
    "own_level": "the household’s own level",
    "own_level_public_shape": "a public shape times the household’s own level",
    "public_shape": "public level and shape",
    "public_level": "public level",
}


@figure(
    FORECAST_EXAMPLES,
    category=FORECASTS,
    look_for=(
        "Example households before and after noise (Fig. 3 of Ramakrishna et al.): the day before, what happened, "
        "the forecast and its released version. Look for whether the released forecast still follows the shape of "
        "the day, and remember that noise added to the logarithm becomes a factor in kWh."
    ),
    alternative=("Line plots in kWh, a row per example household: history, truth, forecast and released forecast."),
)
def forecast_examples(data: pd.DataFrame, output, title: str | None = None) -> None:
    """Draw history, truth, forecast and released forecast of the example households: Ramakrishna et al., Fig. 3.

    The left panel shows the whole window, the right one only the forecast on its own scale.
    """
    data = data.sort_values(["example", "hours_from_origin"])
    examples = data["example"].unique()
    design, rho = data[["design", "rho"]].iloc[0]
    title = f"{title or 'Example forecasts before and after noise'} ({look(design).label}, ρ = {plain(rho)})"
    with canvas(output, title, 1.2 + 2.1 * len(examples)) as drawing:
        from matplotlib.ticker import MultipleLocator

        body = drawing.subfigures()
        grid = body.subplots(len(examples), 2, squeeze=False, sharex="col", width_ratios=(3, 2))
        for number, (row, example) in enumerate(zip(grid, examples, strict=True), start=1):
            rows = data[data["example"] == example]
            _traces(row[0], rows, markersize=0)
            _traces(row[1], rows[rows["part"] != "history"], markersize=5)
            row[0].axvline(0, color="black", linewidth=0.8, linestyle=":")
            row[0].set_title(f"Household {number} of {len(examples)}")
            row[1].set_title("its forecast window")
            row[0].set_ylabel("energy in the interval (kWh)", fontsize=9)
        span = data["hours_from_origin"].max() - data["hours_from_origin"].min()
        step = next(s for s in (1, 2, 3, 6, 12, 24, 168) if span < 8 * s)
        grid[0, 0].xaxis.set_major_locator(MultipleLocator(step))
        body.supxlabel("hours from the origin of the forecast", fontsize=10)
        present = [part for part in _PARTS if part in set(data["part"])]
        legend_below(drawing, [line_key(color=_PARTS[part]) for part in present], present)


def _traces(axes: Axes, rows: pd.DataFrame, markersize: float) -> None:
    for part, colour in _PARTS.items():
        trace = rows[rows["part"] == part]
        line = {"linewidth": 1.2 if part == "history" else 1.6, "marker": ".", "markersize": markersize}
        axes.plot(trace["hours_from_origin"], trace["energy_kwh"], color=colour, **line)
    axes.margins(x=0.02)
    if not (rows["energy_kwh"] < 0).any():
        axes.set_ylim(bottom=0)


@figure(
    FORECAST_ERRORS,
    category=FORECASTS,
    look_for=(
        "Normalised squared error of each forecast against held-out readings, with its standard error over "
        "households; the dashed line is the ARMA forecast. Look for whether ARMA beats the naive forecasts at "
        "all, and how much of that the noise gives back."
    ),
    alternative="Points with error bars: error of the ARMA, naive and released forecasts, in log energy and in kWh.",
)
def forecast_errors(data: pd.DataFrame, output) -> None:
    """Draw the normalised squared error of every forecast with its standard error, in log energy and in kWh."""
    scales = [scale for scale in _SCALES if scale in set(data["scale"])]
    order = methods_in_order(data)
    title = "Errors of forecasts against held-out readings"
    with canvas(output, title, 1.6 + 0.3 * len(order)) as drawing:
        grid = drawing.subplots(1, len(scales), squeeze=False, sharey=True).ravel()
        for axes, scale in zip(grid, scales, strict=True):
            _error_panel(axes, data[data["scale"] == scale], order)
            axes.set_title(_SCALES[scale])
        grid[0].set_yticks(range(len(order)), [method_label(*key) for key in order])
        grid[0].set_ylim(len(order) - 0.5, -0.5)
        drawing.supxlabel("normalised squared error NMSE, mean over households ± SE (smaller is better)", fontsize=10)


def methods_in_order(data: pd.DataFrame) -> list[tuple[str, str, float]]:
    """Return the distinct (method, design, rho): forecasts first, then releases by design and budget.

    A release without noise is the ARMA forecast itself and left out.
    """
    data = data[(data["method"] != "released") | (data["design"] != "none")]
    keys = data[["method", "design", "rho"]].drop_duplicates().itertuples(index=False, name=None)
    rank = {m: i for i, m in enumerate(("arma", "last_week", "last_value", "released"))}
    designs = in_order(data["design"])
    return sorted(keys, key=lambda key: (rank.get(key[0], len(rank)), designs.index(key[1]), key[2]))


def method_label(method: str, design: str, rho: float) -> str:
    """Return how a row of ``forecast_errors`` is called in figures and tables."""
    return f"released, {look(design).label}, ρ = {plain(rho)}" if method == "released" else look(method).label


def _error_panel(axes: Axes, rows: pd.DataFrame, order: list[tuple]) -> None:
    cells = {(r.method, r.design, r.rho): r for r in rows.itertuples()}
    drawn = []
    for place, key in enumerate(order):
        cell = cells.get(key)
        if cell is None or not np.isfinite(cell.nmse):
            why = "not computed" if cell is None else f"mean {significant(cell.nmse)}"
            axes.text(0.02, place, why, transform=axes.get_yaxis_transform(), va="center", fontsize=9, color=GREY)
            continue
        style = look(key[1] if key[0] == "released" else key[0])
        error = np.nan_to_num(cell.nmse_se)
        axes.errorbar(cell.nmse, place, xerr=error, color=style.colour, marker=style.marker, linestyle="")
        drawn.append(cell.nmse)
    reference = cells.get(next((key for key in order if key[0] == "arma"), None))
    if reference is not None and np.isfinite(reference.nmse):
        axes.axvline(reference.nmse, color=ORANGE, linewidth=0.9, linestyle="--")
    if drawn and min(drawn) > 0 and max(drawn) > 30 * min(drawn):
        axes.set_xscale("log")
    else:
        axes.margins(x=0.08)
        axes.set_xlim(left=0)
    axes.grid(False, axis="y")


@figure(
    FORECASTER_COMPARISON,
    category=FORECASTS,
    look_for=(
        "Errors of other forecasters over those of the study’s forecast on the same households and times, with "
        "paired standard errors; nothing here is private. To the right of the dashed line the study’s forecast is "
        "better. Look for whether a simple mean of the last seven days would have done as well. The third panel "
        "is of forecasts added up over homes, by their means. Grey: trained across homes, its privacy is not "
        "accounted for."
    ),
    alternative=(
        "Points with error bars: error of each forecaster over the study's, in log energy, in kWh and for sums over "
        "homes."
    ),
)
def forecaster_comparison(data: pd.DataFrame, output) -> None:
    """Draw the errors of every forecaster relative to the study's own, with paired standard errors."""
    data = data[data["status"] == "run"]
    own = data["forecaster"].iloc[0]
    order = [name for name in data["forecaster"].drop_duplicates() if name != own]
    names = data.drop_duplicates("forecaster").set_index("forecaster")
    measures = {
        "squared error of log energy": ("log_kwh", "mse_ratio", "won_share"),
        "absolute error in kWh": ("kwh", "mae_ratio", "mae_won_share"),
        "error of the sum over homes": ("kwh", "sum_ratio", None),
    }
    own_sum = data.loc[(data["forecaster"] == own) & (data["scale"] == "kwh"), "sum_rmse_kwh"].iloc[0]
    data = data.assign(sum_ratio=data["sum_rmse_kwh"] / own_sum)
    with canvas(
        output, "What else could have been forecast, relative to the study’s forecast", 1.5 + 0.42 * len(order)
    ) as drawing:
        if not order:
            drawing.text(0.5, 0.4, "forecast.compare names no other forecaster", ha="center")
            return
        grid = drawing.subplots(1, len(measures), sharey=True)
        for axes, (title, (scale, ratio, won)) in zip(grid, measures.items(), strict=True):
            rows = data[data["scale"] == scale].set_index("forecaster")
            for place, name in enumerate(order):
                row = rows.loc[name]
                if not np.isfinite(row[ratio]):
                    continue
                style = BLUE if row["looks_at"] == OWN else GREY
                error = np.nan_to_num(row.get(f"{ratio}_se", 0.0))
                axes.errorbar(row[ratio], place, xerr=error, color=style, marker="o", linestyle="")
                if won:
                    at, text = axes.get_yaxis_transform(), percent(row[won])
                    axes.text(0.99, place, text, transform=at, ha="right", va="center", fontsize=8)
            axes.axvline(1.0, color=ORANGE, linewidth=1.1, linestyle="--")
            axes.set_title(title, fontsize=10)
            if won:
                axes.text(0.99, -0.62, "homes better", transform=axes.get_yaxis_transform(), ha="right", fontsize=8)
                low, high = axes.get_xlim()
                axes.set_xlim(low, high + 0.5 * (high - low))
            axes.grid(False, axis="y")
        labels = [
            names.loc[n, "label"] + ("" if names.loc[n, "looks_at"] == OWN else "\n(trained across homes)")
            for n in order
        ]
        grid[0].set_yticks(range(len(order)), labels)
        grid[0].set_ylim(len(order) - 0.5, -0.7)
        drawing.supxlabel(
            f"error over that of the study’s forecast ({names.loc[own, 'label']}), ± paired SE; above 1 is worse",
            fontsize=10,
        )


# --- tables ---------------------------------------------------------------------------------------------------------


@printed(ARMA_SUMMARY)
def arma_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """How many households each step of the fallback chain served."""
    households, fits = (int(data[name].sum()) for name in ("household_count", "fit_count"))
    columns = columns_by("status", "household_count", households, "status", "households")
    columns["fits, all windows"] = lambda row: count(row.fit_count)
    caption = "How the fits ended, households by the first training window"
    return grid_of(caption, data, columns, words=2, total=("all", "", count(households), "", count(fits)))


@printed(FORECAST_MARKS_SUMMARY)
def marks_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """Households whose forecasts one should be wary of."""
    total = int(data["household_count"].sum())
    columns = columns_by("mark", "household_count", total, "mark", "households")
    return grid_of("Forecasts to be wary of", data, columns, words=2)


@printed(FORECASTER_COMPARISON)
def forecasters_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """The study's forecast beside others, with paired standard errors."""
    cells = {(r.forecaster, r.scale): r for r in data.itertuples()}
    own, *others = data["forecaster"].drop_duplicates()
    log, kwh = cells[own, "log_kwh"], cells[own, "kwh"]
    mae, mase = significant(kwh.mae), significant(kwh.mase)
    rows = [(f"{_named(log)}, the study’s own", "1", MISSING, mae, "1", MISSING, mase)]
    for name in others:
        log, kwh = cells[name, "log_kwh"], cells[name, "kwh"]
        if log.status != "run":
            rows.append((f"{_named(log)}: {log.status}", *[MISSING] * 6))
            continue
        row = [_named(log), plus_minus(log.mse_ratio, log.mse_ratio_se), percent(log.won_share), significant(kwh.mae)]
        row += [plus_minus(kwh.mae_ratio, kwh.mae_ratio_se), percent(kwh.mae_won_share), significant(kwh.mase)]
        rows.append(row)
    header = ("forecaster", "squared error in log, ratio", "homes won", "absolute error, kWh", "its ratio")
    caption = (
        f"What else could have been released, without privacy: {count_range(data['household_count'])} households, "
        f"{count_range(data['origin_count'])} forecasts each. Ratios are to the study’s own, with paired standard "
        "errors; above 1 the study’s is better, and within two errors of 1 there is no difference. Across homes: "
        "trained on all together, its privacy is not accounted for. MASE is the absolute error over that of "
        "yesterday’s reading"
    )
    return Grid(caption, (*header, "homes won", "MASE"), rows)


@printed(FORECASTER_COMPARISON)
def means_grid(data: pd.DataFrame, tables: Tables) -> Grid | None:
    """Every forecaster by its mean, by sums over households and by its distribution."""
    data = data[(data["scale"] == "kwh") & (data["status"] == "run")]
    columns = {
        "forecaster": _named,
        "error of the mean, kWh": lambda r: significant(r.rmse_mean_kwh),
        "sum of medians": lambda r: off(r.sum_of_medians_bias_kwh, r.sum_kwh),
        "sum of means": lambda r: off(r.sum_bias_kwh, r.sum_kwh),
        "its error": lambda r: percent(r.sum_rmse_kwh / r.sum_kwh),
        "CRPS, kWh": lambda r: significant(r.crps_kwh),
        "in central 50 %": lambda r: percent(r.covered_50_share),
        "in central 90 %": lambda r: percent(r.covered_90_share),
    }
    caption = (
        "The same forecasters by their means, which alone may be added up, and by their distributions. Errors are "
        "root mean squares; a sum is over households, in one interval; who has one number has it for both. "
        "CRPS is the continuous ranked probability score: of a certain forecast it is the absolute error"
    )
    return grid_of(caption, data, columns)


def off(bias_kwh: float, sum_kwh: float) -> str:
    """Say by which share a sum is too low or too high."""
    share = bias_kwh / sum_kwh
    return (
        f"{percent(abs(share))} {'low' if share < 0 else 'high'}" if np.isfinite(share) and share else percent(share)
    )


def _named(row) -> str:
    return row.label if row.looks_at == OWN else f"{row.label}, across homes"


@printed(FORECAST_ERRORS)
def errors_grid(data: pd.DataFrame, tables: Tables, scale: str, unit: str) -> Grid:
    """Errors of every forecast on one scale."""
    cells = {(r.method, r.design, r.rho): r for r in data[data["scale"] == scale].itertuples()}
    header = ("forecast", "NMSE", "median", "relative", f"absolute error, {unit}", "median", "homes better than ARMA")
    if scale == "kwh":
        header += ("sum over homes", "its error")
    rows = []
    for key in methods_in_order(data):
        cell = cells.get(key)
        if cell is None:
            rows.append((method_label(*key), *[MISSING] * (len(header) - 1)))
            continue
        row = [method_label(*key), plus_minus(cell.nmse, cell.nmse_se), significant(cell.nmse_median)]
        row += [significant(cell.relative_mse), significant(cell.mae), significant(cell.mae_median)]
        row.append(MISSING if cell.method == "arma" else percent(cell.won_share))
        if scale == "kwh":
            row += [off(cell.sum_bias_kwh, cell.sum_kwh), percent(cell.sum_rmse_kwh / cell.sum_kwh)]
        rows.append(tuple(row))
    number, origins = data["household_count"], data["origin_count"]
    caption = (
        f"Errors in {unit} against held-out readings: {count_range(number)} households, {count_range(origins)} "
        "forecasts each; medians are over households" + ("; sums over homes are of means" if scale == "kwh" else "")
    )
    return Grid(caption, header, rows)


@printed(FORECAST_INTERVALS)
def interval_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """Coverage and width of the forecast intervals, a row per forecast and level."""
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


@printed(GAUSSIAN_SUMMARY)
def gaussian_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """How far log load is from the Gaussian distribution that the forecasts assume."""

    def spread(r, name: str) -> str:
        low, middle, high = (significant(getattr(r, f"{name}_{q}")) for q in ("q25", "median", "q75"))
        return f"{middle} ({low} to {high})"

    columns = {
        "series": lambda r: r.series,
        "skewness, quartiles": lambda r: spread(r, "skewness"),
        "excess kurtosis, quartiles": lambda r: spread(r, "excess_kurtosis"),
        "rejected at 1 %": lambda r: percent(r.rejected_share),
        "untested": lambda r: count(r.untested_count),
    }
    caption = "Is each household’s log load Gaussian? A Gaussian distribution has skewness and excess kurtosis 0"
    return grid_of(caption, data, columns)


@printed(GROUP_FORECAST_ERRORS)
def group_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """The group forecast against epsilon, beside own forecasts and public guesses."""

    def name(r) -> str:
        return _METHODS[r.method] + (f", groups: {r.groups}" if r.protected else "")

    columns = {
        "forecast": name,
        "ε": lambda r: plain(r.epsilon) if r.protected else "nothing released",
        "absolute error, kWh": lambda r: significant(r.mae_kwh),
        "median": lambda r: significant(r.mae_median_kwh),
        "energy of all": lambda r: f"{percent(abs(r.energy_bias))} {'more' if r.energy_bias > 0 else 'less'}",
        "± over draws": lambda r: percent(r.energy_error) if r.protected else MISSING,
        "in 50 % intervals": lambda r: MISSING if isnan(r.coverage_50) else percent(r.coverage_50),
        "in 90 % intervals": lambda r: MISSING if isnan(r.coverage_90) else percent(r.coverage_90),
    }
    released = data["delta"].dropna()
    caption = (
        "The group forecast: one for a period of readings, replace_one"
        + (f", δ = {plain(released.max())}" if len(released) else "")
        + f"; errors of single hours of {count_range(data['household_count'])} households on the "
        f"{count_range(data['hour_count'])} hours after"
    )
    return grid_of(caption, data.assign(protected=data["epsilon"].notna()), columns)


GRIDS = {
    "arma": arma_grid,
    "marks": marks_grid,
    "errors": partial(errors_grid, scale="log_kwh", unit="log energy"),
    "errors_kwh": partial(errors_grid, scale="kwh", unit="kWh"),
    "forecasters": forecasters_grid,
    "means": means_grid,
    "intervals": interval_grid,
    "gaussian": gaussian_grid,
    "group_forecast": group_grid,
}


# --- sentences ------------------------------------------------------------------------------------------------------


def fits_sentence(tables: Tables) -> str | None:
    """How many of the households that passed were forecast, and how they were chosen."""
    fits, counts = tables.get("arma_summary"), households_by_rule(tables)
    if fits is None or counts is None:
        return None
    chosen, kept = int(fits["household_count"].sum()), counts.get("kept", 0)
    return (
        f"{count(chosen)} of the {counted(kept, 'household')} that passed the quality rules were fitted and "
        "forecast, chosen without a look at any reading; forecast.households sets how many."
    )


def forecast_sentence(tables: Tables) -> str | None:
    """The study's forecast against the mean of the last seven days and against the best of all, in log and in kWh."""
    comparison, errors = tables.get("forecaster_comparison"), tables.get("forecast_errors")
    if comparison is None or comparison["mae"].isna().all():
        return None
    run = comparison[comparison["status"] == "run"]
    by = {scale: at.set_index("forecaster") for scale, at in run.groupby("scale")}
    own = by["kwh"].iloc[0]
    sentence = (
        f"For {counted(own['household_count'], 'household')}, forecast {count(own['origin_count'])} times each, the "
        f"forecast misses by {significant(own['mae'])} kWh an interval on average"
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
    return (
        f"{sentence}. Added up over households, medians are "
        f"{off(own['sum_of_medians_bias_kwh'], own['sum_kwh'])} and means {off(own['sum_bias_kwh'], own['sum_kwh'])}."
    )
