"""Figs 1 to 5 of Park et al. and printed tables from the tables of the reproduction, one function each."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from meterdp.accounting import FAR_ORDER, LARGEST_ORDER
from meterdp.pages import numbers
from meterdp.report.pages import Grid, grid_of
from meterdp.report.style import (
    BLACK,
    BLUE,
    GREY,
    LIGHT_GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    Look,
    legend_below,
    line_key,
    look,
    plain_log_ticks,
)
from meterdp_papers.common.figures import Exhibits, ellipse, note_below, sheet, source_of
from meterdp_papers.park import tables as park

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


EXHIBITS = Exhibits("Park et al.")

_LOOKS = {
    park.ZCDP: Look(f"{park.LINE_NAMES[park.ZCDP]} (and moments, real orders)", BLUE, "o"),
    park.MOMENTS: Look(park.LINE_NAMES[park.MOMENTS], SKY, "P"),
    park.ADVANCED: Look(park.LINE_NAMES[park.ADVANCED], PURPLE, "D"),
    park.LINEAR: Look(park.LINE_NAMES[park.LINEAR], ORANGE, "s"),
    park.LLG_ZCDP: Look(park.LINE_NAMES[park.LLG_ZCDP], VERMILION, "v"),
    park.LLG_MOMENTS: Look(park.LINE_NAMES[park.LLG_MOMENTS], GREY, "x"),
    park.PUBLIC_ZCDP: Look(park.LINE_NAMES[park.PUBLIC_ZCDP], BLUE, "o"),
    park.OURS: look("sound"),
}
_DASHED = (park.MOMENTS, park.LLG_MOMENTS, park.PUBLIC_ZCDP)


_STATUS_COLOURS = {"single": BLUE, "married": VERMILION, "widowed": PURPLE, "divorced": ORANGE}
_WEST, _EAST, _SOUTH, _NORTH = 5.0, 15.5, 46.3, 54.2
_DEGREE_RATIO = 1 / np.cos(np.radians(50.0))


@EXHIBITS.figure(
    park.PARK_MAP,
    "Simulated people by marital status, EM’s means and covariances, and those of one release. EM’s mean of the "
    "married is the one person’s place. Look for released means "
    "that are nowhere near the country: noise hides the person because it hides everything about small classes.",
    "Two maps of dots with means and ellipses, for 104 people and for 50 times as many.",
)
def fig1(data: pd.DataFrame, output) -> None:
    epsilons = np.sort(data["epsilon"].dropna().unique())
    epsilon = epsilons[-1]
    times = np.sort(data["times"].unique())
    title = f"Fig. 1: the lone married person, ε = {numbers.plain(epsilon)}"
    with sheet(output, title, 5.6, 0.4, 1, 2, sharex=True, sharey=True) as (figure, body, row):
        for axes, many in zip(np.ravel(row), times, strict=True):
            _people(axes, data[data["times"] == many], epsilon)
            axes.set_title("104 people" if many == 1 else f"{many} times as many", fontsize=9.5)
        body.supxlabel("longitude (degrees east)", fontsize=10)
        body.supylabel("latitude (degrees north)", fontsize=10)
        handles = [line_key(color=c, marker="o", linestyle="") for c in _STATUS_COLOURS.values()]
        handles += [
            line_key(color=BLACK, marker="*", markersize=11, linestyle=""),
            line_key(color=GREY, marker="+", markeredgewidth=2, linestyle="-"),
            line_key(color=GREY, marker="x", markeredgewidth=2, linestyle="--"),
        ]
        words = [*_STATUS_COLOURS, "the lone person", "EM: mean, 2 standard deviations", "released: the same"]
        legend_below(figure, handles, words)


def _people(axes: Axes, data: pd.DataFrame, epsilon: float) -> None:
    people = data[data["kind"].isin(["person", "lone person"])]
    axes.scatter(
        people["longitude"],
        people["latitude"],
        s=7,
        color=[_STATUS_COLOURS[s] for s in people["status"]],
        alpha=0.45,
        linewidth=0,
    )
    lone = people[people["kind"] == "lone person"]
    axes.plot(lone["longitude"], lone["latitude"], "*", color=BLACK, markersize=11, zorder=5)
    outside = []
    for row in data[data["kind"] == "em"].itertuples():
        _class(axes, row, "+", "-")
    for row in data[(data["kind"] == "released") & (data["epsilon"] == epsilon)].itertuples():
        if _WEST <= row.longitude <= _EAST and _SOUTH <= row.latitude <= _NORTH:
            _class(axes, row, "x", "--")
        else:
            outside.append(row)
    if outside:
        words = [f"{row.status} ({_coordinates(row)})" for row in outside]
        axes.text(
            0.985,
            0.985,
            "Released off the map:\n" + "\n".join(words),
            transform=axes.transAxes,
            fontsize=8,
            ha="right",
            va="top",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5},
        )
    axes.set_xlim(_WEST, _EAST)
    axes.set_ylim(_SOUTH, _NORTH)
    axes.set_aspect(_DEGREE_RATIO)


def _coordinates(row) -> str:
    return f"{row.longitude:,.0f}°, {row.latitude:,.0f}°".replace("-", "−")


def _class(axes: Axes, row, marker: str, line: str) -> None:
    colour, place = _STATUS_COLOURS[row.status], (row.longitude, row.latitude)
    axes.add_patch(ellipse(place, row.covariance, 2, color=colour, linestyle=line, linewidth=1.3))
    axes.plot(*place, marker, color=colour, markersize=10, markeredgewidth=2.2, zorder=4)


_LIKELIHOOD = (
    "Test log-likelihood per record less that of EM without noise in the same split (dotted: none), mean over splits "
    "with its standard error; left under the variant of the paper’s public code, right with a higher floor of "
    "eigenvalues, which EM has as well. The sound release, left, is ours. It can exceed EM, because its own floor is "
    "a millionth and EM stops after the paper’s number of iterations from a public start. "
)
_LIKELIHOOD_ALTERNATIVE = "Two panels of curves against epsilon, one curve per scheme and composition."


@EXHIBITS.figure(
    park.PARK_CURVE,
    f"{_LIKELIHOOD}The patients are simulated, because the paper’s are private. Look for how much the floor "
    "alone moves every curve: the noise is larger than the covariances it is added to.",
    _LIKELIHOOD_ALTERNATIVE,
)
def fig2(data: pd.DataFrame, output) -> None:
    _likelihood_figure(data, output, "Fig. 2: test log-likelihood against ε, 20 iterations, K = 10, d = 100")


@EXHIBITS.figure(
    park.PARK_CURVE,
    f"{_LIKELIHOOD}Look for where integer orders part from zCDP: below ε = 0.5 only, because they end at "
    f"{LARGEST_ORDER}; with real orders the accountant gives the same budget as zCDP everywhere, with integer "
    f"orders to {FAR_ORDER:,} nearly the same.",
    _LIKELIHOOD_ALTERNATIVE,
)
def fig3(data: pd.DataFrame, output) -> None:
    _likelihood_figure(data, output, "Fig. 3: test log-likelihood against ε, 10 iterations, K = 3, d = 10")


def _likelihood_figure(whole: pd.DataFrame, output, title: str) -> None:
    variants = [r for r in (park.SHOWN.name, park.ALSO_SHOWN.name) if r in set(whole["reading"])]
    lines = [line for line in _LOOKS if line in set(whole["line"])]
    with sheet(output, title, 5.4, 1.4, 1, len(variants), sharey=True) as (figure, body, (panels,)):
        for axes, variant in zip(panels, variants, strict=True):
            data = whole[whole["reading"] == variant]
            for name in lines:
                rows = data[data["line"] == name].sort_values("epsilon")
                error = rows["shortfall_se"].fillna(0)
                axes.errorbar(rows["epsilon"], -rows["shortfall_mean"], yerr=error, **_line(name))
            axes.set_xscale("log")
            plain_log_ticks(axes.xaxis, np.sort(data["epsilon"].unique()))
            axes.axhline(0, color=BLACK, linewidth=1, linestyle=":")
            axes.set_yscale("symlog", linthresh=1, linscale=0.6)
            axes.yaxis.set_major_formatter(lambda value, _: numbers.plain(value))
            free = data[data["line"] == "em"]["log_likelihood_mean"].mean()
            split = numbers.counted(data["trials"].max(), "split")
            axes.set_title(f"{variant}; {split};\nEM without noise: {free:.2f} nats".replace("-", "−"), fontsize=9.5)
            axes.set_xlabel("ε (log scale)")
            axes.tick_params(axis="y", labelleft=True)
        panels[0].set_ylabel(
            "test log-likelihood less that of EM without noise\n(nats per record, log scale beyond ±1)"
        )
        note_below(body, f"{source_of(whole)}{_left_out(whole)}")
        handles = [line_key(**_line(name)) for name in lines]
        legend_below(figure, handles, [_LOOKS[name].label for name in lines], columns=3)


def _line(name: str) -> dict:
    style = _LOOKS[name]
    line = {"color": style.colour, "marker": style.marker, "linewidth": 1.5, "linestyle": "-"}
    return line | ({"linestyle": "--", "markerfacecolor": "white"} if name in _DASHED else {})


def _left_out(data: pd.DataFrame) -> str:
    lines = [line for line in _LOOKS if data.loc[data["line"] == line, "deltas_left_out"].any()]
    if not lines:
        return ""
    words = " and ".join(_LOOKS[line].label for line in lines)
    return f"; {words}: the δᵢ alone exceed δ = 10⁻⁴ and are left out of it (defect P4)"


@EXHIBITS.figure(
    park.PARK_CLUSTERS,
    "Some of the records and the centres that each method finds in the first fold; NICV is the mean over all "
    "folds, in the unit ball. DPLloyd’s noise is for a record that is added, that of the paper’s method for one "
    "that is replaced (defect P6). Look for centres in the sea: means of clusters with few records.",
    "Four maps of dots with crosses, one per method.",
)
def fig4(data: pd.DataFrame, output) -> None:
    records, centres = data[data["kind"] == "record"], data[data["kind"] == "centre"]
    title = "Fig. 4: centres of check-ins, ε = 0.01, one fold"
    with sheet(output, title, 6.6, 1.4, 2, 2, sharex=True, sharey=True) as (_, body, panels):
        for axes, (method, label) in zip(panels.flat, park.METHODS.items(), strict=True):
            at = centres[centres["method"] == method]
            axes.scatter(records["longitude"], records["latitude"], s=4, color=LIGHT_GREY, linewidth=0)
            axes.plot(at["longitude"], at["latitude"], "X", color=BLUE, markersize=9, markeredgecolor="white")
            first = at.iloc[0]
            se = "" if np.isnan(first["nicv_se"]) else f" ± {numbers.significant(first['nicv_se'], 1)}"
            value = numbers.significant(first["nicv_mean"], 2)
            outside = (at["longitude"].abs() > 180) | (at["latitude"].abs() > 90)
            words = f"; {numbers.counted(outside.sum(), 'centre')} off the globe" if outside.any() else ""
            axes.set_title(f"{label} (NICV {value}{se}{words})", fontsize=9.5)
            axes.set_xlim(-180, 180)
            axes.set_ylim(-90, 90)
            axes.set_xticks(range(-180, 181, 60))
            axes.set_yticks(range(-90, 91, 30))
        body.supylabel("latitude (degrees north)", fontsize=10)
        words = f"{source_of(data)}; read as: {data['reading'].iloc[0]}"
        note_below(body, words, "longitude (degrees east)")


@EXHIBITS.figure(
    park.PARK_FACES,
    "The ten columns of the loadings as pictures, rotated to be orthogonal and the longest first. With the noise "
    "that the paper states nothing is left of a face. Its public code passes the noise’s variance where a "
    "standard deviation belongs and divides by the largest norm of a pixel instead of a picture (defect P3): "
    "faces are back at the ε = 1 it is set to, and at ε = 0.3 some of them if one picture is said to change the "
    "second moment by 1/N only.",
    "A grid of grey pictures, ten columns of loadings in each row, a row per noise and epsilon.",
)
def fig5(data: pd.DataFrame, output) -> None:
    blocks = [_loadings(data, *row) for row in _FACE_ROWS]
    columns = int(data["column"].max())
    title, height = "Fig. 5: columns of factor loadings", 1.3 + 0.93 * len(blocks)
    with sheet(output, title, height, 1.9, len(blocks), columns) as (_, body, grid):
        for row, (pictures, noise, sensitivity, epsilon), loadings in zip(grid, _FACE_ROWS, blocks, strict=True):
            for axes, column in zip(row, loadings["loading"], strict=True):
                side = int(np.sqrt(len(column)))
                most = np.abs(column).max()
                axes.imshow(
                    np.reshape(column, (side, side)), cmap="gray", vmin=-most, vmax=most, interpolation="nearest"
                )
                axes.set(xticks=[], yticks=[])
                axes.spines[:].set_visible(False)
            words = "EM, no noise"
            if noise != park.WITHOUT:
                words = f"{_NOISES[noise]}, ε = {numbers.plain(epsilon)}, Δ = {sensitivity}".replace(
                    " = ", "\u00a0=\u00a0"
                )
            label = textwrap.fill(f"{_PREPARED[pictures]}: {words}", 26)
            row[0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize=8.5)
        for axes, number in zip(grid[0], range(1, columns + 1), strict=True):
            axes.set_title(str(number), loc="center", fontsize=9)
        note_below(body, f"{source_of(data)}; each column on its own scale of grey, δ = 10⁻⁴, Δ the sensitivity")


# Pictures, noise, sensitivity and epsilon of a row.
_FACE_ROWS = (
    (park.AS_THEY_ARE, park.WITHOUT, None, None),
    (park.AS_THEY_ARE, park.STATED, park.PRINTED_SENSITIVITY, 0.3),
    (park.AS_THEY_ARE, park.STATED, park.PRINTED_SENSITIVITY, 0.2),
    (park.AS_THEY_ARE, park.MISREAD, park.PRINTED_SENSITIVITY, 0.3),
    (park.BY_PIXEL, park.WITHOUT, None, None),
    (park.BY_PIXEL, park.MISREAD, park.PRINTED_SENSITIVITY, 1.0),
    (park.BY_PIXEL, park.MISREAD, park.PRINTED_SENSITIVITY, 0.3),
    (park.BY_PIXEL, park.MISREAD, park.SMALLEST_SENSITIVITY, 0.3),
    (park.BY_PIXEL, park.MISREAD, park.SMALLEST_SENSITIVITY, 0.2),
)


def _loadings(data: pd.DataFrame, pictures: str, noise: str, sensitivity: str | None, epsilon: float | None):
    """Return the columns of one row of Fig. 5, in order."""
    rows = data[(data["pictures"] == pictures) & (data["noise"] == noise)]
    if noise != park.WITHOUT:
        rows = rows[(rows["sensitivity"] == sensitivity) & (rows["epsilon"] == epsilon)]
    return rows.sort_values("column")


_PREPARED = {park.AS_THEY_ARE: "in the unit ball", park.BY_PIXEL: "as the public code scales"}
_NOISES = {park.STATED: "stated noise", park.MISREAD: "variance for deviation"}


@EXHIBITS.table(park.PARK_CURVE, "fig2", "fig3")
def likelihoods(table: pd.DataFrame) -> Grid:
    table = table[table["reading"] == park.SHOWN.name]
    epsilons = sorted(table["epsilon"].unique())
    rows = []
    for line, at in table.groupby("line", sort=False):
        value = at.set_index("epsilon")
        cells = [
            f"{numbers.significant(value.loc[e, 'log_likelihood_mean'], 4)} ± "
            f"{_error(value.loc[e, 'log_likelihood_se'])}"
            if e in value.index
            else "–"
            for e in epsilons
        ]
        rows.append([park.LINE_NAMES[line], *cells])
    caption = f"{_figure(table)}: test log-likelihood, nats per record, mean over splits and its standard error"
    return Grid(f"{caption}; {park.SHOWN.name}", ("ε", *(numbers.plain(e) for e in epsilons)), rows)


@EXHIBITS.table(park.PARK_OURS, "fig2_ours", "fig3_ours")
def ours(table: pd.DataFrame) -> Grid:
    columns = {
        "variant of the paper": lambda row: row.reading,
        "ε": lambda row: numbers.plain(row.epsilon),
        "sound release (ours)": lambda row: numbers.significant(row.ours_mean, 4),
        "GGG, zCDP": lambda row: numbers.significant(row.ggg_mean, 4),
        "ours less theirs": lambda row: _paired(row.difference_mean, row.difference_se),
        "ours less theirs at twice ε or more": lambda row: (
            ""
            if np.isnan(row.larger_epsilon)
            else f"{_paired(row.larger_difference_mean, row.larger_difference_se)} "
            f"(ε = {numbers.plain(row.larger_epsilon)})"
        ),
        "splits": lambda row: str(row.trials),
    }
    caption = f"{_figure(table)}: our release against theirs, nats per test record; paired over splits"
    return grid_of(caption, table, columns)


@EXHIBITS.table(park.PARK_NICV, "nicv")
def clusterings(table: pd.DataFrame) -> Grid:
    rows = []
    methods = list(dict.fromkeys(table["method"]))
    for variant, at in table.groupby("reading", sort=False):
        value = at.set_index("method")
        cells = [f"{value.loc[m, 'nicv_mean']:.4f} ± {_error(value.loc[m, 'nicv_se'])}" for m in methods]
        rows.append([variant, numbers.plain(float(f"{at['epsilon'].iloc[0]:.3g}")), *cells])
    header = ("reading", "ε", *(park.METHODS[m] for m in methods))
    return Grid("Fig. 4: NICV of test records, mean over folds and its standard error", header, rows)


@EXHIBITS.table(park.PARK_FACE_NUMBERS, "face_numbers")
def faces(table: pd.DataFrame) -> Grid:
    columns = {
        "pictures": lambda row: row.pictures,
        "sensitivity": lambda row: row.sensitivity,
        "noise": lambda row: row.noise,
        "ε": lambda row: numbers.plain(row.epsilon),
        "standard deviation": lambda row: f"{row.noise_std:.4f}",
        "spectral norm": lambda row: f"{row.noise_spectral_norm:.2f}",
        "top eigenvalue without noise": lambda row: f"{row.top_eigenvalue:.3f}",
        "mean squared cosine with EM's loadings": lambda row: f"{row.captured_share:.3f}",
        "of leading components": lambda row: f"{row.components_share:.3f}",
    }
    return grid_of("Fig. 5: noise beside the second moment of the faces", table, columns, words=3)


def _figure(table: pd.DataFrame) -> str:
    return table["figure"].iloc[0].replace("fig", "Fig. ")


def _error(value: float) -> str:
    return numbers.significant(value, 2)


def _paired(value: float, error: float) -> str:
    return f"{numbers.significant(value, 3)} ± {_error(error)}"
