"""Figs 1 to 3 of Li et al., two of our own and printed tables of the reproduction, one function each."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from meterdp.figures import numbers
from meterdp.figures.entry import Figure
from meterdp.figures.report.grid import Grid
from meterdp.figures.style import (
    BLACK,
    BLUE,
    GREEN,
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
    plain_log_ticks,
)
from meterdp_papers.common.printed import Printed
from meterdp_papers.li.setting import (
    GRAPHS,
    LINFOOT,
    NORMALISATIONS,
    ONE_ITERATION,
    RECORDS,
    SHOWN,
    VIEWS,
    WITH_CHORD,
)
from meterdp_papers.li.tables import (
    LI_CONSENSUS,
    LI_COST,
    LI_EXPONENTS,
    LI_LEAKAGE,
    LI_LIKELIHOODS,
    LI_MASKS,
    LI_NETWORK,
    LI_READ_OFF,
    LI_RECOVERY,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_PAPER = "Li et al."
_LOOKS = {
    "central": Look("all records in one place", BLACK, "o"),
    "federated": Look("federated", VERMILION, "s"),
    "secure_sum": Look("secure summation", BLUE, "D"),
    "subspace": Look("subspace perturbation", GREEN, "^"),
    "subspace, asynchronous": Look("subspace, one node at a time", PURPLE, "x"),
}


# --- Fig. 1 ---------------------------------------------------------------------------------------------------------


def fig1(table, output) -> None:
    """Draw the example: cycle, corrupt nodes, and the chord that is ours."""
    data = load(table, LI_NETWORK)
    with canvas(output, "Fig. 1: the example, with a chord of ours", 4.4, WIDTH_IN - 2.6) as figure:
        axes = figure.subfigures().subplots()
        for row in data[data["neighbour"].notna()].itertuples():
            ours = row.kind == "chord"
            colour, line = (GREY, "--") if ours else (BLUE, "-")
            axes.plot(row.x, row.y, color=colour, linestyle=line, linewidth=2)
        for row in data[data["neighbour"].isna()].itertuples():
            colour = VERMILION if row.kind == "corrupt" else "white"
            place = (row.x[0], row.y[0])
            axes.plot(*place, "o", markersize=24, markerfacecolor=colour, markeredgecolor=BLACK)
            ink = "white" if row.kind == "corrupt" else BLACK
            axes.text(*place, str(row.node), ha="center", va="center", color=ink, fontsize=11)
        axes.set_aspect("equal")
        axes.set(xlim=(-1.25, 1.25), ylim=(-1.1, 1.25))
        axes.set_axis_off()
        handles = [
            line_key(color=BLUE, linewidth=2),
            line_key(color=GREY, linestyle="--", linewidth=2),
            line_key(marker="o", linestyle="", color=VERMILION, markersize=10, markeredgecolor=BLACK),
        ]
        legend_below(figure, handles, ["the cycle", "chord 1-3, ours", "corrupt"])


FIG1 = Figure(
    draw=fig1,
    tables=(LI_NETWORK,),
    category=_PAPER,
    look_for=(
        "The Hamiltonian cycle and the corrupt nodes as printed; what other edges the paper’s picture has is lost, "
        "and the dashed chord is ours. Look at node 3: without the chord all its neighbours are corrupt."
    ),
    alternative="Five nodes in a ring, two of them red, with a dashed chord between nodes 1 and 3.",
)


# --- Fig. 2 ---------------------------------------------------------------------------------------------------------


def fig2(table, output) -> None:
    """Draw log-likelihoods above and differences from all records in one place below, a column per network."""
    whole = load(table, LI_LIKELIHOODS)
    with canvas(output, "Fig. 2: log-likelihood over the iterations", 6.4, WIDTH_IN + 1.2) as figure:
        body = figure.subfigures()
        grid = body.subplots(2, len(SHOWN), sharex=True, sharey="row", squeeze=False)
        drawn = []
        for column, setting in zip(grid.T, SHOWN, strict=True):
            data = whole[whole["reading"] == setting.name]
            for name, style in _LOOKS.items():
                at = data[data["scheme"] == name].sort_values("iteration")
                if at.empty:
                    continue
                drawn.append(name)
                line = {"color": style.colour, "marker": style.marker, "linewidth": 1.2, "markerfacecolor": "none"}
                column[0].plot(at["iteration"], at["log_likelihood"], **line)
                if name != "central":
                    # What is equal to the last digit is drawn at the smallest number a log axis can show here.
                    column[1].plot(at["iteration"], at["difference"].clip(lower=1e-14), **line)
            words = f"{setting.rows};\n{setting.preparation}"
            column[0].set_title(words, fontsize=9.5)
            column[1].axhline(1e-8, color=BLACK, linestyle=":", linewidth=1)
            column[1].set_yscale("log")
            column[1].set_xlabel("iteration")
        grid[0, 0].set_ylabel("log-likelihood (nats)")
        grid[1, 0].set_ylabel("difference from\nall in one place (nats)")
        _below(body, f"{_source(whole)}; (3) as printed; differences below 10⁻¹⁴ are drawn there; dotted: 10⁻⁸")
        names = [name for name in _LOOKS if name in drawn]
        handles = [
            line_key(color=_LOOKS[n].colour, marker=_LOOKS[n].marker, linewidth=1.2, markerfacecolor="none")
            for n in names
        ]
        legend_below(figure, handles, [_LOOKS[n].label for n in names], columns=3)


FIG2 = Figure(
    draw=fig2,
    tables=(LI_LIKELIHOODS,),
    category=_PAPER,
    look_for=(
        "EM on the first two principal components, two classes, on a random geometric graph. How 195 rows sit on 80 "
        "nodes, the classes and the constants are our choice. Look at the lower panels: every scheme gives the "
        "log-likelihood of all records in one place after every iteration, but for rounding."
    ),
    alternative="Log-likelihoods that rise and level off, all lines on one another, tiny differences below.",
)


# --- Fig. 3 ---------------------------------------------------------------------------------------------------------


def fig3(table, output) -> None:
    """Draw normalised information about node 1 against the iteration, a panel per view and normalisation."""
    whole = load(table, LI_LEAKAGE)
    data = whole[(whole["graph"] == WITH_CHORD) & (whole["node"] == 1)]
    schemes = ("federated", "secure_sum", "subspace")
    with canvas(
        output, "Fig. 3: information about honest node 1, nodes 2 and 4 corrupt", 6.6, WIDTH_IN + 1.2
    ) as figure:
        body = figure.subfigures()
        grid = body.subplots(2, 2, sharex=True, sharey=True)
        for row, view in zip(grid, (RECORDS, ONE_ITERATION), strict=True):
            for axes, normalisation in zip(row, NORMALISATIONS, strict=True):
                for name in schemes:
                    at = data[(data["view"] == view) & (data["scheme"] == name)].sort_values("iteration")
                    _information(axes, at, normalisation, _LOOKS[name])
                axes.set_title(f"{view};\n{normalisation}", fontsize=9.5)
                axes.set_ylim(0, 1.08)
                axes.set_xticks(sorted(data["iteration"].unique()))
        for axes in grid[-1]:
            axes.set_xlabel("iteration")
        for axes in grid[:, 0]:
            axes.set_ylabel("normalised information")
        trials = numbers.counted(data["trials"].max(), "trial")
        _below(body, f"{_source(data)}; {trials}; bars: 95 % intervals; dotted: exact, where it is known")
        handles = [line_key(color=_LOOKS[n].colour, marker=_LOOKS[n].marker) for n in schemes]
        legend_below(
            figure,
            [*handles, line_key(color=BLACK, linestyle=":")],
            [*(_LOOKS[n].label for n in schemes), "exact"],
        )


def _information(axes: Axes, rows: pd.DataFrame, normalisation: str, style: Look) -> None:
    name = NORMALISATIONS[normalisation]
    reach = [rows[name] - rows[f"{name}_low"], rows[f"{name}_high"] - rows[name]]
    axes.errorbar(
        rows["iteration"],
        rows[name],
        yerr=np.nan_to_num(np.maximum(reach, 0)),
        color=style.colour,
        marker=style.marker,
        linewidth=1.4,
    )
    exact = rows["linfoot_exact"].iloc[0]
    if normalisation == LINFOOT and not np.isnan(exact):
        axes.axhline(exact, color=style.colour, linestyle=":", linewidth=1.2)


FIG3 = Figure(
    draw=fig3,
    tables=(LI_LEAKAGE,),
    category=_PAPER,
    look_for=(
        "Look for the order, federated, secure summation, subspace, in every panel. In the lower ones the view is "
        "all of A, B and C: what it tells of a record is then infinite under federated and under secure summation, "
        "and how far their estimates are apart is the estimator’s doing."
    ),
    alternative="Four panels with three nearly level lines each, federated on top, subspace at the bottom.",
)


# --- of our own -----------------------------------------------------------------------------------------------------

_MASK_COLOURS = (BLACK, BLUE, SKY, GREEN, ORANGE, VERMILION)
_WRONG = {
    ("printed", "synchronous"): ("(9) as printed, all at once", VERMILION, "-"),
    ("printed", "asynchronous"): ("(9) as printed, one at a time", ORANGE, "-"),
    ("printed_neighbours", "asynchronous"): ("line 6 read literally: distance from the average", BLUE, "-"),
}


def fig4(table, output) -> None:
    """Draw the distance from the average against the round, by size of dual noise and for the wrong updates."""
    data = load(table, LI_CONSENSUS)
    with canvas(
        output, "Fig. 4, ours: error of the consensus, for dual noise of any size", 5.2, WIDTH_IN + 2.0
    ) as figure:
        body = figure.subfigures()
        panels = body.subplots(1, 3)
        right = data[data["dual_update"] == "corrected"]
        sizes = sorted(right["mask_std"].unique())
        colours = dict(zip(sizes, _MASK_COLOURS, strict=True))
        for axes, schedule in zip(panels, ("synchronous", "asynchronous"), strict=False):
            for size in sizes:
                at = right[(right["schedule"] == schedule) & (right["mask_std"] == size)]
                axes.plot(at["round"], at["error"], color=colours[size], linewidth=1.2)
            axes.set_title(f"corrected update, {schedule}", fontsize=9.5)
        handles = [line_key(color=colours[size]) for size in sizes]
        labels = [f"dual noise {numbers.plain(size)}" for size in sizes]
        for (update, schedule), (label, colour, line) in _WRONG.items():
            at = data[(data["dual_update"] == update) & (data["schedule"] == schedule)]
            panels[2].plot(at["round"], at["error"], color=colour, linestyle=line, linewidth=1.4)
            handles.append(line_key(color=colour, linestyle=line, linewidth=2.6))
            labels.append(label)
        literal = data[data["dual_update"] == "printed_neighbours"]
        panels[2].plot(literal["round"], literal["disagreement"], color=LIGHT_GREY, linewidth=1.6)
        handles.append(line_key(color=LIGHT_GREY, linewidth=2.6))
        labels.append("the same: nodes’ largest disagreement")
        panels[2].set_title("updates as printed, dual noise 1", fontsize=9.5)
        for axes in panels:
            axes.set_yscale("log")
            axes.set_xlabel("round")
        panels[0].set_ylabel("largest distance of a node from the average")
        _below(body, _source(data))
        legend_below(figure, handles, labels, columns=4)


FIG4 = Figure(
    draw=fig4,
    tables=(LI_CONSENSUS,),
    category=_PAPER,
    look_for=(
        "Ours. With the corrected dual update the error falls at one rate whatever the dual noise, down to rounding "
        "of about 10⁻¹⁶ times the noise. As printed it grows; read literally, nodes agree ever better on a number "
        "that is not the average (defect D1)."
    ),
    alternative="Lines falling on a log scale to levels by size of noise; beside them lines that rise or stall.",
)

_QUANTITIES = {"messages": "messages an iteration", "bytes": "bytes an iteration", "seconds": "seconds, one process"}


def fig5(table, output) -> None:
    """Draw messages, bytes and seconds of an iteration against nodes and dimension."""
    # Brings more along than a figure should when the workflow is planned.
    from meterdp_papers.li.consensus import power

    data = load(table, LI_COST)
    with canvas(output, "Fig. 5, ours: cost of one iteration", 6.2, WIDTH_IN + 2.0) as figure:
        body = figure.subfigures()
        grid = body.subplots(2, len(_QUANTITIES), sharey="col")
        schemes = list(dict.fromkeys(data["scheme"]))
        for row, axis in zip(grid, ("nodes", "dimension"), strict=True):
            for axes, (quantity, label) in zip(row, _QUANTITIES.items(), strict=True):
                exponents = []
                for name in schemes:
                    at = data[(data["axis"] == axis) & (data["scheme"] == name)].sort_values("x")
                    style = _LOOKS[name]
                    axes.plot(at["x"], at[quantity], color=style.colour, marker=style.marker, linewidth=1.3)
                    exponents.append(f"{power(at['x'].to_numpy(float), at[quantity].to_numpy(float))[0] + 0:.2f}")
                axes.set(xscale="log", yscale="log", xlabel={"nodes": "nodes", "dimension": "dimension"}[axis])
                plain_log_ticks(axes.xaxis, sorted(data.loc[data["axis"] == axis, "x"].unique()))
                axes.set_title(f"{label};\nexponents {', '.join(exponents)}".replace("-", "−"), fontsize=9.5)
        _below(
            body,
            f"{_source(data)}; exponents in the order of the legend; seconds of a processor for all nodes, with "
            "whatever else the machine did",
        )
        handles = [line_key(color=_LOOKS[n].colour, marker=_LOOKS[n].marker) for n in schemes]
        legend_below(figure, handles, [_LOOKS[n].label for n in schemes])


FIG5 = Figure(
    draw=fig5,
    tables=(LI_COST,),
    category=_PAPER,
    look_for=(
        "Ours, counted in runs on random geometric graphs; the exponents’ errors are in the table. Look at messages: "
        "subspace perturbation sends one over every edge in every round, hundreds to thousands of times as "
        "many as the others."
    ),
    alternative="Six panels of straight lines on log scales; subspace perturbation far above the two others.",
)

FIGURES = (FIG1, FIG2, FIG3, FIG4, FIG5)


def _source(data: pd.DataFrame) -> str:
    """Name the data, and what they stand for."""
    return "; ".join(data[["data", "substitute"]].iloc[0].dropna())


def _below(body, words: str) -> None:
    """Write a sentence under the panels."""
    sentence = textwrap.fill(f"{words[0].upper()}{words[1:]}.", 120)
    body.supxlabel(sentence, fontsize=9, x=0.01, ha="left")


_SCHEMES = {
    "central": "all records in one place",
    "federated": "federated",
    "secure_sum": "secure summation",
    "subspace": "subspace",
    "subspace, asynchronous": "subspace, one node at a time",
}
_UNITS = {"seconds": "s"}
_ROUNDING = 1e-9


def likelihoods(path) -> Grid:
    """Return how far every scheme is from all records in one place, and what consensus costs an iteration."""
    table = load(path, LI_LIKELIHOODS)
    schemes = [name for name in _SCHEMES if name != "central" and name in set(table["scheme"])]
    rows = []
    for reading, at in table.groupby("reading", sort=False):
        of = {name: at[at["scheme"] == name] for name in schemes}
        consensus = of["subspace"].sort_values("iteration").iloc[-1]
        worst = (
            numbers.significant(one["difference"].max(), 2) if len(one) else numbers.MISSING for one in of.values()
        )
        rows.append(
            [
                reading,
                numbers.significant(consensus["log_likelihood"], 6),
                *worst,
                numbers.significant(consensus["spread"], 2),
                numbers.count(round(consensus["messages"])),
            ]
        )
    header = (
        "reading",
        "log-likelihood at the end (nats)",
        *(f"{_SCHEMES[name]}: largest difference (nats)" for name in schemes),
        "subspace: spread between nodes",
        "messages an iteration",
    )
    return Grid("Fig. 2: log-likelihood against that of all records in one place", header, rows)


def leakage(path) -> Grid:
    """Return information and both normalisations after the first and the last iteration."""
    table = load(path, LI_LEAKAGE)
    last = table["iteration"].max()
    rows = []
    for graph in GRAPHS:
        for view in VIEWS:
            at = table[(table["graph"] == graph) & (table["view"] == view)]
            at = at[at["iteration"].isin((1, last) if view != RECORDS else (1,))]
            for _, row in at.iterrows():
                exact = row["linfoot_exact"]
                rows.append(
                    [
                        f"{graph}; {view}",
                        f"{_SCHEMES[row['scheme']]}: {row['node']} in {row['group']}",
                        "any" if view == RECORDS else str(row["iteration"]),
                        _pm(row["information"], row["information_se"]),
                        *(_interval(row, name) for name in NORMALISATIONS.values()),
                        "" if np.isnan(exact) else f"{exact:.3f}",
                    ]
                )
    header = (
        "graph and view",
        "scheme: node in the sum over",
        "after",
        "information (nats)",
        *NORMALISATIONS,
        "exact",
    )
    return Grid("Fig. 3: information about a node’s record, with 95 % intervals", header, rows, words=2)


def _interval(row, name: str) -> str:
    ends = [row[f"{name}_{end}"] for end in ("low", "high")]
    words = "" if np.isnan(ends).any() else f" ± {(ends[1] - ends[0]) / 2:.3f}"
    return f"{row[name]:.3f}{words}"


def _pm(value: float, error: float) -> str:
    return numbers.plus_minus(value, 0.0 if error < _ROUNDING else error)


def masks(path) -> Grid:
    """Return the exact information against the size of the masks."""
    rows = [
        [
            row.graph,
            _SCHEMES[row.scheme],
            numbers.plain(row.mask_std),
            f"{row.information:.6f}",
            numbers.MISSING if np.isnan(row.closed_form) else f"{row.closed_form:.6f}",
            f"{row.of_the_sum:.6f}",
        ]
        for row in load(path, LI_MASKS).itertuples()
    ]
    header = (
        "graph",
        "scheme",
        "standard deviation of masks",
        "information (nats)",
        "closed form",
        "of the sum alone",
    )
    return Grid(
        "What masks of finite size leave of a standard normal number of node 1, all messages heard",
        header,
        rows,
        words=2,
    )


def read_off(path) -> Grid:
    """Return whose records follow from one iteration."""
    rows = [
        [
            row.reading,
            _SCHEMES[row.scheme],
            row.groups,
            "yes" if row.nothing_more else "no",
            str(row.most_records),
            numbers.count(row.alone_count),
            numbers.significant(row.quotient_error, 2),
            numbers.percent(row.found_share),
        ]
        for row in load(path, LI_READ_OFF).itertuples()
    ]
    header = (
        "setting",
        "scheme",
        "known sums",
        "nothing else",
        "records at a node, most",
        "nodes known one by one",
        "largest error of b/a",
        "nodes of several records solved",
    )
    return Grid("What one iteration gives away, nodes 2 and 4 corrupt, or to the server", header, rows, words=3)


def recovery(path) -> Grid:
    """Return how many iterations it takes to solve for the records of honest nodes."""
    rows = [
        [
            f"{_SCHEMES[row.scheme]}: {row.group}",
            f"{row.records} × {row.dimension}",
            str(row.unknowns),
            str(row.first_equations),
            str(row.from_iteration),
            str(row.iterations),
            numbers.percent(row.met_share),
            numbers.percent(row.found_share),
            numbers.significant(row.error_median, 2),
        ]
        for row in load(path, LI_RECOVERY).itertuples()
    ]
    header = (
        "scheme: sum over",
        "a node’s records × dimension",
        "unknowns",
        "equations of the first iteration",
        "enough from iteration",
        "iterations watched",
        "runs in which the sums are met",
        "by the true records",
        "error of the worst record, median",
    )
    return Grid("Records solved for from sums, up to their order (defect D5)", header, rows)


def exponents(path) -> Grid:
    """Return how costs grow."""
    rows = []
    for row in load(path, LI_EXPONENTS).itertuples():
        # Where a cost is a power to the last digit, its error is rounding.
        exact = not row.exponent_se > _ROUNDING
        exponent = f"{round(row.exponent, 3) + 0:.3f}" if exact else numbers.plus_minus(row.exponent, row.exponent_se)
        unit = _UNITS.get(row.quantity, "")
        rows.append(
            [
                row.axis,
                _SCHEMES[row.scheme],
                row.quantity,
                exponent,
                f"{numbers.significant(row.at_largest)} {unit}".strip(),
                numbers.count(row.largest_x),
            ]
        )
    header = ("grows with", "scheme", "an iteration’s", "exponent", "at the largest", "which is")
    return Grid("Cost against nodes and dimension: exponents by least squares on log axes", header, rows, words=3)


PRINTED = (
    Printed("fig2", LI_LIKELIHOODS, likelihoods),
    Printed("read_off", LI_READ_OFF, read_off),
    Printed("fig3", LI_LEAKAGE, leakage),
    Printed("masks", LI_MASKS, masks),
    Printed("recovery", LI_RECOVERY, recovery),
    Printed("exponents", LI_EXPONENTS, exponents),
)
