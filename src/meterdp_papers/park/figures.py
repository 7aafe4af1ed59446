"""Figs 1 to 5 of Park et al. and printed tables from the tables of the reproduction, one function each."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from meterdp.accounting.orders import FAR_ORDER, LARGEST_ORDER
from meterdp.figures import numbers
from meterdp.figures.entry import Figure
from meterdp.figures.report.grid import Grid
from meterdp.figures.style import (
    BLACK,
    BLUE,
    GREY,
    LIGHT_GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    WIDTH_IN,
    Look,
    canvas,
    legend_below,
    line_key,
    load,
    look,
    plain_log_ticks,
)
from meterdp_papers.common.printed import Printed
from meterdp_papers.park.setting import (
    ADVANCED,
    ALSO_SHOWN,
    AS_THEY_ARE,
    BY_PIXEL,
    CAPTIONS,
    LINE_NAMES,
    LINEAR,
    LLG_MOMENTS,
    LLG_ZCDP,
    METHODS,
    MISREAD,
    MOMENTS,
    OURS,
    PRINTED_SENSITIVITY,
    PUBLIC_ZCDP,
    SHOWN,
    SMALLEST_SENSITIVITY,
    STATED,
    WITHOUT,
    ZCDP,
)
from meterdp_papers.park.tables import (
    PARK_CLUSTERS,
    PARK_CURVE,
    PARK_FACE_NUMBERS,
    PARK_FACES,
    PARK_MAP,
    PARK_NICV,
    PARK_OURS,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_PAPER = "Park et al."

_LOOKS = {
    ZCDP: Look(f"{LINE_NAMES[ZCDP]} (and moments, real orders)", BLUE, "o"),
    MOMENTS: Look(LINE_NAMES[MOMENTS], SKY, "P"),
    ADVANCED: Look(LINE_NAMES[ADVANCED], PURPLE, "D"),
    LINEAR: Look(LINE_NAMES[LINEAR], ORANGE, "s"),
    LLG_ZCDP: Look(LINE_NAMES[LLG_ZCDP], VERMILION, "v"),
    LLG_MOMENTS: Look(LINE_NAMES[LLG_MOMENTS], GREY, "x"),
    PUBLIC_ZCDP: Look(LINE_NAMES[PUBLIC_ZCDP], BLUE, "o"),
    OURS: look("sound"),
}
_DASHED = (MOMENTS, LLG_MOMENTS, PUBLIC_ZCDP)


# --- Fig. 1 ---------------------------------------------------------------------------------------------------------

_STATUS_COLOURS = {"single": BLUE, "married": VERMILION, "widowed": PURPLE, "divorced": ORANGE}
_WEST, _EAST, _SOUTH, _NORTH = 5.0, 15.5, 46.3, 54.2
_DEGREE_RATIO = 1 / np.cos(np.radians(50.0))


def fig1(table, output) -> None:
    """Draw people, EM's means and covariances, and those of one release."""
    data = load(table, PARK_MAP)
    epsilons = np.sort(data["epsilon"].dropna().unique())
    epsilon = epsilons[-1]
    times = np.sort(data["times"].unique())
    with canvas(
        output, f"Fig. 1: the lone married person, ε = {numbers.plain(epsilon)}", 9.4, WIDTH_IN + 0.4
    ) as figure:
        body = figure.subfigures()
        grid = body.subplots(2, 2, sharex=True, sharey=True)
        for row, caption in zip(grid, CAPTIONS, strict=True):
            for axes, many in zip(row, times, strict=True):
                of_panel = data[(data["caption"] == caption) & (data["times"] == many)]
                _people(axes, of_panel, epsilon)
                people = "104 people" if many == 1 else f"{many} times as many"
                axes.set_title(f"{caption[0].upper()}{caption[1:]};\n{people}", fontsize=9.5)
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
    from matplotlib.patches import Ellipse

    colour = _STATUS_COLOURS[row.status]
    values, vectors = np.linalg.eigh(np.reshape(row.covariance, (2, 2)))
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    width, height = 4 * np.sqrt(np.maximum(values[::-1], 0))
    place = (row.longitude, row.latitude)
    axes.add_patch(
        Ellipse(place, width, height, angle=angle, fill=False, color=colour, linestyle=line, linewidth=1.3)
    )
    axes.plot(*place, marker, color=colour, markersize=10, markeredgewidth=2.2, zorder=4)


FIG1 = Figure(
    draw=fig1,
    tables=(PARK_MAP,),
    category=_PAPER,
    look_for=(
        "Invented people by marital status, EM’s means and covariances, and those of one release. The caption can be "
        "read in two ways: only in the first is EM’s mean of the married the person’s place. Look for released means "
        "that are nowhere near the country: noise hides the person because it hides everything about small classes."
    ),
    alternative="Four maps of dots with means and ellipses, two readings of the caption by two numbers of people.",
)


# --- Figs 2 and 3 ---------------------------------------------------------------------------------------------------


def fig2(table, output) -> None:
    """Draw test log-likelihood on the data that stand for Stroke."""
    _likelihood_figure(table, output, "Fig. 2: test log-likelihood against ε, 20 iterations, K = 10, d = 100")


def fig3(table, output) -> None:
    """Draw test log-likelihood on the life sciences data."""
    _likelihood_figure(table, output, "Fig. 3: test log-likelihood against ε, 10 iterations, K = 3, d = 10")


_LIKELIHOOD = (
    "Test log-likelihood per record less that of EM without noise in the same split (dotted: none), mean over splits "
    "with its standard error; left under the reading of the paper’s public code, right with a higher floor of "
    "eigenvalues, which EM has as well. The sound release, left, is ours. It can exceed EM, because its own floor is "
    "a millionth and EM stops after the paper’s number of iterations from a public start. "
)
_LIKELIHOOD_ALTERNATIVE = "Two panels of curves against epsilon, one curve per scheme and composition."

FIG2 = Figure(
    draw=fig2,
    tables=(PARK_CURVE,),
    category=_PAPER,
    look_for=(
        f"{_LIKELIHOOD}The patients are simulated, because the paper’s are private. Look for how much the floor "
        "alone moves every curve: the noise is larger than the covariances it is added to."
    ),
    alternative=_LIKELIHOOD_ALTERNATIVE,
)
FIG3 = Figure(
    draw=fig3,
    tables=(PARK_CURVE,),
    category=_PAPER,
    look_for=(
        f"{_LIKELIHOOD}Look for where integer orders part from zCDP: below ε = 0.5 only, because they end at "
        f"{LARGEST_ORDER}; with real orders the accountant gives the same budget as zCDP everywhere, with integer "
        f"orders to {FAR_ORDER:,} nearly the same."
    ),
    alternative=_LIKELIHOOD_ALTERNATIVE,
)


def _likelihood_figure(table, output, title: str) -> None:
    whole = load(table, PARK_CURVE)
    readings = [r for r in (SHOWN.name, ALSO_SHOWN.name) if r in set(whole["reading"])]
    lines = [line for line in _LOOKS if line in set(whole["line"])]
    with canvas(output, title, 5.4, WIDTH_IN + 1.4) as figure:
        body = figure.subfigures()
        panels = body.subplots(1, len(readings), sharey=True, squeeze=False)[0]
        for axes, reading in zip(panels, readings, strict=True):
            data = whole[whole["reading"] == reading]
            for name in lines:
                _curve(axes, data[data["line"] == name].sort_values("epsilon"), name)
            axes.set_xscale("log")
            plain_log_ticks(axes.xaxis, np.sort(data["epsilon"].unique()))
            axes.axhline(0, color=BLACK, linewidth=1, linestyle=":")
            axes.set_yscale("symlog", linthresh=1, linscale=0.6)
            axes.yaxis.set_major_formatter(lambda value, _: numbers.plain(value))
            free = data[data["line"] == "em"]["log_likelihood_mean"].mean()
            split = numbers.counted(data["trials"].max(), "split")
            axes.set_title(f"{reading}; {split};\nEM without noise: {free:.2f} nats".replace("-", "−"), fontsize=9.5)
            axes.set_xlabel("ε (log scale)")
            axes.tick_params(axis="y", labelleft=True)
        panels[0].set_ylabel(
            "test log-likelihood less that of EM without noise\n(nats per record, log scale beyond ±1)"
        )
        _below(body, f"{_source(whole)}{_left_out(whole)}")
        handles = [line_key(**_line(name)) for name in lines]
        legend_below(figure, handles, [_LOOKS[name].label for name in lines], columns=3)


def _line(name: str) -> dict:
    style = _LOOKS[name]
    line = {"color": style.colour, "marker": style.marker, "linewidth": 1.5, "linestyle": "-"}
    return line | ({"linestyle": "--", "markerfacecolor": "white"} if name in _DASHED else {})


def _curve(axes: Axes, rows: pd.DataFrame, name: str) -> None:
    axes.errorbar(rows["epsilon"], -rows["shortfall_mean"], yerr=rows["shortfall_se"].fillna(0), **_line(name))


def _left_out(data: pd.DataFrame) -> str:
    lines = [line for line in _LOOKS if data.loc[data["line"] == line, "deltas_left_out"].any()]
    if not lines:
        return ""
    words = " and ".join(_LOOKS[line].label for line in lines)
    return f"; {words}: the δᵢ alone exceed δ = 10⁻⁴ and are left out of it (defect P4)"


# --- Fig. 4 ---------------------------------------------------------------------------------------------------------


def fig4(table, output) -> None:
    """Draw records and the centres of one fold, a panel per method."""
    data = load(table, PARK_CLUSTERS)
    records, centres = data[data["kind"] == "record"], data[data["kind"] == "centre"]
    with canvas(output, "Fig. 4: centres of check-ins, ε = 0.01, one fold", 6.6, WIDTH_IN + 1.4) as figure:
        body = figure.subfigures()
        for axes, (method, label) in zip(
            body.subplots(2, 2, sharex=True, sharey=True).flat, METHODS.items(), strict=True
        ):
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
        words = f"{_source(data)}; read as: {data['reading'].iloc[0]}"
        _below(body, words, "longitude (degrees east)")


FIG4 = Figure(
    draw=fig4,
    tables=(PARK_CLUSTERS,),
    category=_PAPER,
    look_for=(
        "Some of the records and the centres that each method finds in the first fold; NICV is the mean over all "
        "folds, in the unit ball. DPLloyd’s noise is for a record that is added, that of the paper’s method for one "
        "that is replaced (defect P6). Look for centres in the sea: means of clusters with few records."
    ),
    alternative="Four maps of dots with crosses, one per method.",
)


# --- Fig. 5 ---------------------------------------------------------------------------------------------------------


def fig5(table, output) -> None:
    """Draw columns of loadings, a row per noise and epsilon."""
    data = load(table, PARK_FACES)
    blocks = [_loadings(data, *row) for row in _FACE_ROWS]
    columns = int(data["column"].max())
    with canvas(output, "Fig. 5: columns of factor loadings", 1.3 + 0.93 * len(blocks), WIDTH_IN + 1.9) as figure:
        body = figure.subfigures()
        grid = body.subplots(len(blocks), columns)
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
            if noise != WITHOUT:
                words = f"{_NOISES[noise]}, ε = {numbers.plain(epsilon)}, Δ = {sensitivity}".replace(
                    " = ", "\u00a0=\u00a0"
                )
            label = textwrap.fill(f"{_PREPARED[pictures]}: {words}", 26)
            row[0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize=8.5)
        for axes, number in zip(grid[0], range(1, columns + 1), strict=True):
            axes.set_title(str(number), loc="center", fontsize=9)
        _below(body, f"{_source(data)}; each column on its own scale of grey, δ = 10⁻⁴, Δ the sensitivity")


# Pictures, noise, sensitivity and epsilon of a row.
_FACE_ROWS = (
    (AS_THEY_ARE, WITHOUT, None, None),
    (AS_THEY_ARE, STATED, PRINTED_SENSITIVITY, 0.3),
    (AS_THEY_ARE, STATED, PRINTED_SENSITIVITY, 0.2),
    (AS_THEY_ARE, MISREAD, PRINTED_SENSITIVITY, 0.3),
    (BY_PIXEL, WITHOUT, None, None),
    (BY_PIXEL, MISREAD, PRINTED_SENSITIVITY, 1.0),
    (BY_PIXEL, MISREAD, PRINTED_SENSITIVITY, 0.3),
    (BY_PIXEL, MISREAD, SMALLEST_SENSITIVITY, 0.3),
    (BY_PIXEL, MISREAD, SMALLEST_SENSITIVITY, 0.2),
)


def _loadings(data: pd.DataFrame, pictures: str, noise: str, sensitivity: str | None, epsilon: float | None):
    """Return the columns of one row of Fig. 5, in order."""
    rows = data[(data["pictures"] == pictures) & (data["noise"] == noise)]
    if noise != WITHOUT:
        rows = rows[(rows["sensitivity"] == sensitivity) & (rows["epsilon"] == epsilon)]
    return rows.sort_values("column")


_PREPARED = {AS_THEY_ARE: "in the unit ball", BY_PIXEL: "as the public code scales"}
_NOISES = {STATED: "stated noise", MISREAD: "variance for deviation"}

FIG5 = Figure(
    draw=fig5,
    tables=(PARK_FACES,),
    category=_PAPER,
    look_for=(
        "The ten columns of the loadings as pictures, rotated to be orthogonal and the longest first. With the noise "
        "that the paper states nothing is left of a face. Its public code passes the noise’s variance where a "
        "standard deviation belongs and divides by the largest norm of a pixel instead of a picture (defect P3): "
        "faces are back at the ε = 1 it is set to, and at ε = 0.3 some of them if one picture is said to change the "
        "second moment by 1/N only."
    ),
    alternative="A grid of grey pictures, ten columns of loadings in each row, a row per noise and epsilon.",
)


FIGURES = (FIG1, FIG2, FIG3, FIG4, FIG5)


def _source(data: pd.DataFrame) -> str:
    """Name the data, and what they stand for."""
    return "; ".join(data[["data", "substitute"]].iloc[0].dropna())


def _below(body, words: str, unit: str | None = None) -> None:
    """Write a sentence under the panels, after the common label of their abscissa if they have one."""
    sentence = textwrap.fill(f"{words[0].upper()}{words[1:]}.".replace(" = ", "\u00a0=\u00a0"), 125)
    if unit is None:
        body.supxlabel(sentence, fontsize=9, x=0.01, ha="left")
    else:
        body.supxlabel(f"{unit}\n{sentence}", fontsize=9)


def clusterings(path) -> Grid:
    """Return NICV of every method under every reading."""
    table, rows = load(path, PARK_NICV), []
    methods = list(dict.fromkeys(table["method"]))
    for reading, at in table.groupby("reading", sort=False):
        value = at.set_index("method")
        cells = [f"{value.loc[m, 'nicv_mean']:.4f} ± {_error(value.loc[m, 'nicv_se'])}" for m in methods]
        rows.append([reading, numbers.plain(float(f"{at['epsilon'].iloc[0]:.3g}")), *cells])
    header = ("reading", "ε", *(METHODS[m] for m in methods))
    return Grid("Fig. 4: NICV of test records, mean over folds and its standard error", header, rows)


def _error(value: float) -> str:
    return numbers.significant(value, 2)


def faces(path) -> Grid:
    """Return the noise of Fig. 5 beside what it is added to."""
    rows = [
        [
            row.pictures,
            row.sensitivity,
            row.noise,
            numbers.plain(row.epsilon),
            f"{row.noise_std:.4f}",
            f"{row.noise_spectral_norm:.2f}",
            f"{row.top_eigenvalue:.3f}",
            f"{row.captured_share:.3f}",
        ]
        for row in load(path, PARK_FACE_NUMBERS).itertuples()
    ]
    header = (
        "pictures",
        "sensitivity",
        "noise",
        "ε",
        "standard deviation",
        "spectral norm",
        "top eigenvalue without noise",
        "mean squared cosine with EM's loadings",
    )
    return Grid("Fig. 5: noise beside the second moment of the faces", header, rows, words=3)


def likelihoods(path) -> Grid:
    """Return the test log-likelihood of every line at every epsilon, under the reading that is drawn."""
    table = load(path, PARK_CURVE)
    table = table[table["reading"] == SHOWN.name]
    epsilons = sorted(table["epsilon"].unique())
    rows = []
    for line, at in table.groupby("line", sort=False):
        value = at.set_index("epsilon")
        cells = [
            f"{numbers.significant(value.loc[e, 'log_likelihood_mean'], 4)} ± "
            f"{_error(value.loc[e, 'log_likelihood_se'])}"
            for e in epsilons
        ]
        rows.append([LINE_NAMES[line], *cells])
    first = table.iloc[0]
    figure = first["figure"].replace("fig", "Fig. ")
    caption = f"{figure}: test log-likelihood, nats per record, mean over splits and its standard error; {SHOWN.name}"
    return Grid(caption, ("ε", *(numbers.plain(e) for e in epsilons)), rows)


def ours(path) -> Grid:
    """Return our release against zCDP GGG, under every reading of theirs."""
    table = load(path, PARK_OURS)
    rows = [
        [
            row.reading,
            numbers.plain(row.epsilon),
            numbers.significant(row.ours_mean, 4),
            numbers.significant(row.ggg_mean, 4),
            f"{numbers.significant(row.difference_mean, 3)} ± {_error(row.difference_se)}",
            ""
            if np.isnan(row.larger_epsilon)
            else f"{numbers.significant(row.larger_difference_mean, 3)} ± {_error(row.larger_difference_se)} "
            f"(ε = {numbers.plain(row.larger_epsilon)})",
            str(row.trials),
        ]
        for row in table.itertuples()
    ]
    figure = table["figure"].iloc[0].replace("fig", "Fig. ")
    header = (
        "reading of the paper",
        "ε",
        "sound release (ours)",
        "GGG, zCDP",
        "ours less theirs",
        "ours less theirs at twice ε or more",
        "splits",
    )
    return Grid(f"{figure}: our release against theirs, nats per test record; paired over splits", header, rows)


PRINTED = (
    Printed("fig2", PARK_CURVE, likelihoods),
    Printed("fig3", PARK_CURVE, likelihoods),
    Printed("fig2_ours", PARK_OURS, ours),
    Printed("fig3_ours", PARK_OURS, ours),
    Printed("nicv", PARK_NICV, clusterings),
    Printed("face_numbers", PARK_FACE_NUMBERS, faces),
)
