"""Forecasts and what class-based noise does to them: privacy curves, examples, errors.

The curves are Fig. 4 and the examples Fig. 3 of Ramakrishna et al. on the export at hand; the errors set released
forecasts beside the ARMA forecast and two naive ones.

What the report says about forecasts: fits, errors, other forecasters, intervals, Gaussianity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meterdp.class_noise.query_models import RANDOMNESS
from meterdp.class_noise.tables import DELTA_CURVES
from meterdp.evaluation.tables import FORECAST_ERRORS, FORECASTER_COMPARISON
from meterdp.forecasting.forecasters.interface import OWN
from meterdp.release.tables import FORECAST_EXAMPLES
from meterdp.report import numbers
from meterdp.report.pages import FORECASTS, Figure
from meterdp.report.style import (
    BLUE,
    GREY,
    ORANGE,
    VERMILION,
    canvas,
    every_step,
    in_order,
    legend_below,
    line_key,
    load,
    look,
    panels,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
from meterdp.evaluation.tables import (
    FORECAST_INTERVALS,
    GROUP_FORECAST_ERRORS,
)
from meterdp.forecasting.tables import ARMA_SUMMARY, FORECAST_MARKS_SUMMARY, GAUSSIAN_SUMMARY
from meterdp.report.numbers import MISSING, count, percent, plain, plus_minus, significant
from meterdp.report.pages import Grid, Tables, count_range, households

SIDES = {
    "one": "one-sided, Pr(L > ε)",
    "two": "two-sided, Pr(|L| > ε)",
    "hockey_stick": "(ε, δ)-DP of one file",
    "swap": "(ε, δ)-DP of the files of a neighbourhood",
}
NO_PROTECTION = 0.99  # a delta beyond which two households are told apart as good as always
_LOG_BELOW = 0.05  # a delta from which on the axis is logarithmic
_LOWEST = 1e-12
_PARTS = {"history": GREY, "truth": VERMILION, "forecast": ORANGE, "released": BLUE}
_BOUND = {"linewidth": 1.0, "alpha": 0.45}
_SCALES = {"log_kwh": "log energy", "kwh": "energy in kWh"}


def delta_curves(delta_curves, output, sides: str = "one") -> None:
    """Draw delta over epsilon per design, a column per accuracy budget, a row per query model: Fig. 4.

    Marked lines are exact, the lighter ones beside them the Chernoff bound of Lemma 1 where there is one. The axis of
    delta is logarithmic if some delta is below 0.05. No noise has no accuracy budget and is repeated in every panel.

    Parameters
    ----------
    delta_curves : path-like
        Table ``delta_curves``.
    output : path-like
        SVG to write.
    sides : {"one", "two", "hockey_stick", "swap"}
        Pr(L > eps), as the paper draws it; Pr(|L| > eps), its Definition 1; the delta of (eps, delta)-DP of one
        file, or of all files of a neighbourhood.

    Notes
    -----
    Where no household has a neighbour there is no curve; the figure says so.
    """
    data = load(delta_curves, DELTA_CURVES, may_be_empty=True)
    data = data[data["sides"] == sides]
    if data.empty:
        with canvas(output, f"Privacy curves of the released forecasts ({SIDES[sides]})", 1.6) as figure:
            figure.text(0.5, 0.4, "no household has a neighbour, so there is no pair to tell apart", ha="center")
        return
    models = [m for m in RANDOMNESS if m in set(data["query_model"])]
    budgets = np.sort(data.loc[data["design"] != "none", "rho"].unique())
    budgets = budgets if budgets.size else np.sort(data["rho"].unique())[:1]
    budgets, hidden = _with_protection(data, budgets)
    columns = min(len(budgets), 4)
    lines = -(-len(budgets) // columns)
    title = f"Privacy curves of the released forecasts ({SIDES[sides]})"
    with canvas(output, title, 1.3 + 2.5 * lines * len(models)) as figure:
        bodies = np.atleast_1d(figure.subfigures(len(models), 1))
        for body, model in zip(bodies, models, strict=True):
            heading = f"Query model {model}: {RANDOMNESS[model]}"
            body.suptitle(heading, x=0.01, ha="left", fontsize=10, weight="normal")
            rows = data[data["query_model"] == model]
            for axes, rho in zip(panels(body, len(budgets), columns, sharex=True, sharey=True), budgets, strict=True):
                _delta_panel(axes, rows, rho)
                _delta_scale(axes, data["delta"])
            body.supxlabel("ε", fontsize=10)
            body.supylabel("δ, worst pair", fontsize=10)
        if hidden.size:
            named = ", ".join(numbers.plain(rho) for rho in hidden)
            bodies[-1].supxlabel(f"ε\nNot drawn: ρ = {named}, where every δ is above {NO_PROTECTION}", fontsize=10)
        designs = [look(design) for design in in_order(data["design"])]
        handles = [line_key(color=d.colour, marker=d.marker, markersize=4) for d in designs]
        labels = [d.label for d in designs]
        if data["delta_chernoff"].notna().any():
            handles.append(line_key(color="black", **_BOUND))
            labels.append("lighter: Chernoff bound")
        legend_below(figure, handles, labels, columns=5)


DELTA_CURVES_FIGURE = Figure(
    draw=delta_curves,
    tables=(DELTA_CURVES,),
    category=FORECASTS,
    look_for=(
        "Probability δ that the privacy loss of the worst pair of neighbours exceeds ε, for each noise design and "
        "accuracy budget ρ (Fig. 4 of Ramakrishna et al.). Lines with markers are exact, lighter ones the Chernoff "
        "bound of the paper. Look for how far below 1 the curves are: at δ near 1 the noise does not hide the "
        "worst pair."
    ),
    alternative=(
        "Curves of delta over epsilon, a column per accuracy budget and a row per query model, one colour per design."
    ),
)


def _with_protection(data: pd.DataFrame, budgets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the budgets at which some design protects, and the others; all are drawn where none does."""
    least = data[data["design"] != "none"].groupby("rho")["delta"].min().reindex(budgets)
    hidden = (least > NO_PROTECTION).to_numpy()
    return (budgets, budgets[:0]) if hidden.all() else (budgets[~hidden], budgets[hidden])


def _delta_panel(axes: Axes, rows: pd.DataFrame, rho: float) -> None:
    for design in in_order(rows["design"]):
        style = look(design)
        curve = rows[rows["design"] == design]
        # Without noise there is no budget: whichever row there is stands in every panel.
        curve = curve[curve["rho"] == rho] if (curve["rho"] == rho).any() or design != "none" else curve
        curve = curve.drop_duplicates("epsilon").sort_values("epsilon")
        axes.plot(curve["epsilon"], curve["delta_chernoff"].astype(float), color=style.colour, **_BOUND)
        axes.plot(
            curve["epsilon"], curve["delta"], color=style.colour, marker=style.marker, markersize=4, linewidth=1.5
        )
    if rows.loc[rows["rho"].isin([rho, 0]), "delta"].min() > NO_PROTECTION:
        text = "all curves lie on top of\neach other, above 0.99"
        axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes, fontsize=9)
    axes.set_title(f"ρ = {numbers.plain(rho)} (log kWh)²", fontsize=9.5)


def _delta_scale(axes: Axes, deltas: pd.Series) -> None:
    positive = deltas[deltas > 0]
    if positive.empty or positive.min() >= _LOG_BELOW:
        axes.set_ylim(-0.03, 1.05)
        return
    axes.set_yscale("log")
    axes.set_ylim(max(_LOWEST, positive.min() / 3), 2)


def forecast_examples(forecast_examples, output, title: str | None = None) -> None:
    """Draw history, truth, forecast and released forecast of the example households: Ramakrishna et al., Fig. 3.

    The left panel shows the whole window, the right one only the forecast on its own scale.

    Parameters
    ----------
    forecast_examples : path-like
        Table ``forecast_examples``.
    output : path-like
        SVG to write.
    title : str, optional
        In place of the study's; design and rho are added to it.
    """
    data = load(forecast_examples, FORECAST_EXAMPLES).sort_values(["example", "hours_from_origin"])
    examples = data["example"].unique()
    design, rho = data[["design", "rho"]].iloc[0]
    title = f"{title or 'Example forecasts before and after noise'} ({look(design).label}, ρ = {numbers.plain(rho)})"
    with canvas(output, title, 1.2 + 2.1 * len(examples)) as figure:
        body = figure.subfigures()
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
        every_step(grid[0, 0].xaxis, step)
        body.supxlabel("hours from the origin of the forecast", fontsize=10)
        present = [part for part in _PARTS if part in set(data["part"])]
        legend_below(figure, [line_key(color=_PARTS[part]) for part in present], present)


FORECAST_EXAMPLES_FIGURE = Figure(
    draw=forecast_examples,
    tables=(FORECAST_EXAMPLES,),
    category=FORECASTS,
    look_for=(
        "Example households before and after noise (Fig. 3 of Ramakrishna et al.): the day before, what happened, "
        "the forecast and its released version. Look for whether the released forecast still follows the shape of "
        "the day, and remember that noise added to the logarithm becomes a factor in kWh."
    ),
    alternative=("Line plots in kWh, a row per example household: history, truth, forecast and released forecast."),
)


def _traces(axes: Axes, rows: pd.DataFrame, markersize: float) -> None:
    for part, colour in _PARTS.items():
        trace = rows[rows["part"] == part]
        line = {"linewidth": 1.2 if part == "history" else 1.6, "marker": ".", "markersize": markersize}
        axes.plot(trace["hours_from_origin"], trace["energy_kwh"], color=colour, **line)
    axes.margins(x=0.02)
    if not (rows["energy_kwh"] < 0).any():
        axes.set_ylim(bottom=0)


def forecast_errors(forecast_errors, output) -> None:
    """Draw the normalised squared error of every forecast with its standard error, in log energy and in kWh.

    Parameters
    ----------
    forecast_errors : path-like
        Table ``forecast_errors``.
    output : path-like
        SVG to write.
    """
    data = load(forecast_errors, FORECAST_ERRORS)
    scales = [scale for scale in _SCALES if scale in set(data["scale"])]
    order = methods_in_order(data)
    title = "Errors of forecasts against held-out readings"
    with canvas(output, title, 1.6 + 0.3 * len(order)) as figure:
        grid = figure.subplots(1, len(scales), squeeze=False, sharey=True).ravel()
        for axes, scale in zip(grid, scales, strict=True):
            _error_panel(axes, data[data["scale"] == scale], order)
            axes.set_title(_SCALES[scale])
        grid[0].set_yticks(range(len(order)), [method_label(*key) for key in order])
        grid[0].set_ylim(len(order) - 0.5, -0.5)
        figure.supxlabel("normalised squared error NMSE, mean over households ± SE (smaller is better)", fontsize=10)


FORECAST_ERRORS_FIGURE = Figure(
    draw=forecast_errors,
    tables=(FORECAST_ERRORS,),
    category=FORECASTS,
    look_for=(
        "Normalised squared error of each forecast against held-out readings, with its standard error over "
        "households; the dashed line is the ARMA forecast. Look for whether ARMA beats the naive forecasts at "
        "all, and how much of that the noise gives back."
    ),
    alternative="Points with error bars: error of the ARMA, naive and released forecasts, in log energy and in kWh.",
)


def forecaster_comparison(forecaster_comparison, output) -> None:
    """Draw the errors of every forecaster relative to the study's own, with paired standard errors.

    Parameters
    ----------
    forecaster_comparison : path-like
        Table ``forecaster_comparison``.
    output : path-like
        SVG to write.
    """
    data = load(forecaster_comparison, FORECASTER_COMPARISON)
    data = data[data["status"] == "run"]
    own = data["forecaster"].iloc[0]
    order = [name for name in data["forecaster"].drop_duplicates() if name != own]
    names = data.drop_duplicates("forecaster").set_index("forecaster")
    measures = {
        "squared error of log energy": ("log_kwh", "mse_ratio", "won_share"),
        "absolute error in kWh": ("kwh", "mae_ratio", "mae_won_share"),
    }
    with canvas(
        output, "What else could have been forecast, relative to the study’s forecast", 1.5 + 0.42 * len(order)
    ) as figure:
        if not order:
            figure.text(0.5, 0.4, "forecast.compare names no other forecaster", ha="center")
            return
        grid = figure.subplots(1, 2, sharey=True)
        for axes, (title, (scale, ratio, won)) in zip(grid, measures.items(), strict=True):
            rows = data[data["scale"] == scale].set_index("forecaster")
            for place, name in enumerate(order):
                row = rows.loc[name]
                if not np.isfinite(row[ratio]):
                    continue
                style = BLUE if row["looks_at"] == OWN else GREY
                error = np.nan_to_num(row[f"{ratio}_se"])
                axes.errorbar(row[ratio], place, xerr=error, color=style, marker="o", linestyle="")
                text = f"{numbers.percent(row[won])} of homes"
                axes.text(
                    0.99, place, text, transform=axes.get_yaxis_transform(), ha="right", va="center", fontsize=8
                )
            axes.axvline(1.0, color=ORANGE, linewidth=1.1, linestyle="--")
            axes.set_title(title)
            axes.text(0.99, -0.62, "better in", transform=axes.get_yaxis_transform(), ha="right", fontsize=8)
            low, high = axes.get_xlim()
            axes.set_xlim(low, high + 0.5 * (high - low))
            axes.grid(False, axis="y")
        labels = [
            names.loc[n, "label"] + ("" if names.loc[n, "looks_at"] == OWN else "\n(trained across homes)")
            for n in order
        ]
        grid[0].set_yticks(range(len(order)), labels)
        grid[0].set_ylim(len(order) - 0.5, -0.7)
        figure.supxlabel(
            f"error over that of the study’s forecast ({names.loc[own, 'label']}), ± paired SE; above 1 is worse",
            fontsize=10,
        )


FORECASTER_COMPARISON_FIGURE = Figure(
    draw=forecaster_comparison,
    tables=(FORECASTER_COMPARISON,),
    category=FORECASTS,
    look_for=(
        "Errors of other forecasters over those of the study’s forecast on the same households and times, with "
        "paired standard errors; nothing here is private. To the right of the dashed line the study’s forecast is "
        "better. Look for whether a simple mean of the last seven days would have done as well. Grey: trained across "
        "homes, its privacy is not accounted for."
    ),
    alternative="Points with error bars: error of each forecaster over the study's, in log energy and in kWh.",
)


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
    return f"released, {look(design).label}, ρ = {numbers.plain(rho)}" if method == "released" else look(method).label


def _error_panel(axes: Axes, rows: pd.DataFrame, order: list[tuple]) -> None:
    cells = {(r.method, r.design, r.rho): r for r in rows.itertuples()}
    drawn = []
    for place, key in enumerate(order):
        cell = cells.get(key)
        if cell is None or not np.isfinite(cell.nmse):
            why = "not computed" if cell is None else f"mean {numbers.significant(cell.nmse)}"
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
