"""Figs 1 to 3 of Li et al., two of our own and printed tables of the reproduction, one function each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meterdp.pages import numbers
from meterdp.report.pages import Grid, grid_of
from meterdp.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LIGHT_GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    Look,
    legend_below,
    line_key,
    plain_log_ticks,
)
from meterdp_papers.common.figures import Exhibits, looks_below, note_below, sheet, source_of
from meterdp_papers.li import tables as li

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


EXHIBITS = Exhibits("Li et al.")

_LOOKS = {
    "central": Look("all records in one place", BLACK, "o"),
    "federated": Look("federated", VERMILION, "s"),
    "secure_sum": Look("secure summation", BLUE, "D"),
    "subspace": Look("subspace perturbation", GREEN, "^"),
    "subspace, asynchronous": Look("subspace, one node at a time", PURPLE, "x"),
}


@EXHIBITS.figure(
    li.LI_NETWORK,
    "The Hamiltonian cycle and the corrupt nodes as printed; what other edges the paper’s picture has is lost, "
    "and the dashed chord is ours. Look at node 3: without the chord all its neighbours are corrupt.",
    "Five nodes in a ring, two of them red, with a dashed chord between nodes 1 and 3.",
)
def fig1(data: pd.DataFrame, output) -> None:
    with sheet(output, "Fig. 1: the example, with a chord of ours", 4.4, -2.6) as (figure, _, panels):
        axes = panels[0, 0]
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


@EXHIBITS.figure(
    li.LI_LIKELIHOODS,
    "EM on the first two principal components, two classes, on a random geometric graph. How 195 rows sit on 80 "
    "nodes, the classes and the constants are our choice. Look at the lower panels: every scheme gives the "
    "log-likelihood of all records in one place after every iteration, up to rounding.",
    "Log-likelihoods that rise and level off, all lines on one another, tiny differences below.",
)
def fig2(whole: pd.DataFrame, output) -> None:
    title, sharing = "Fig. 2: log-likelihood over the iterations", {"sharex": True, "sharey": "row"}
    with sheet(output, title, 6.4, 1.2, 2, len(li.SHOWN), **sharing) as (figure, body, grid):
        drawn = []
        for column, setting in zip(grid.T, li.SHOWN, strict=True):
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
        note_below(body, f"{source_of(whole)}; (3) as printed; differences below 10⁻¹⁴ are drawn there; dotted: 10⁻⁸")
        looks = (look for name, look in _LOOKS.items() if name in drawn)
        looks_below(figure, looks, columns=3, linewidth=1.2, markerfacecolor="none")


@EXHIBITS.figure(
    li.LI_LEAKAGE,
    "Look for the order, federated, secure summation, subspace, in every panel. In the lower ones the view is "
    "all of A, B and C: what it tells of a record is then infinite under federated and under secure summation, "
    "and how far their estimates are apart is the estimator’s doing.",
    "Four panels with three nearly level lines each, federated on top, subspace at the bottom.",
)
def fig3(whole: pd.DataFrame, output) -> None:
    data = whole[(whole["graph"] == li.WITH_CHORD) & (whole["node"] == 1)]
    schemes = ("federated", "secure_sum", "subspace")
    title = "Fig. 3: information about honest node 1, nodes 2 and 4 corrupt"
    with sheet(output, title, 6.6, 1.2, 2, 2, sharex=True, sharey=True) as (figure, body, grid):
        for row, view in zip(grid, (li.RECORDS, li.ONE_ITERATION), strict=True):
            for axes, normalisation in zip(row, li.NORMALISATIONS, strict=True):
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
        note_below(body, f"{source_of(data)}; {trials}; bars: 95 % intervals; dotted: exact, where it is known")
        handles = [line_key(color=_LOOKS[n].colour, marker=_LOOKS[n].marker) for n in schemes]
        handles.append(line_key(color=BLACK, linestyle=":"))
        legend_below(figure, handles, [*(_LOOKS[n].label for n in schemes), "exact"])


def _information(axes: Axes, rows: pd.DataFrame, normalisation: str, style: Look) -> None:
    name = li.NORMALISATIONS[normalisation]
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
    if normalisation == li.LINFOOT and not np.isnan(exact):
        axes.axhline(exact, color=style.colour, linestyle=":", linewidth=1.2)


_MASK_COLOURS = (BLACK, BLUE, SKY, GREEN, ORANGE, VERMILION)
_WRONG = {
    ("printed", "synchronous"): ("(9) as printed, all at once", VERMILION, "-"),
    ("printed", "asynchronous"): ("(9) as printed, one at a time", ORANGE, "-"),
    ("printed_neighbours", "asynchronous"): ("line 6 read literally: distance from the average", BLUE, "-"),
}


@EXHIBITS.figure(
    li.LI_CONSENSUS,
    "Ours. With the corrected dual update the error falls at one rate whatever the dual noise, down to rounding "
    "of about 10⁻¹⁶ times the noise. As printed it grows; read literally, nodes agree ever better on a number "
    "that is not the average (defect D1).",
    "Lines falling on a log scale to levels by size of noise; beside them lines that rise or stall.",
)
def fig4(data: pd.DataFrame, output) -> None:
    title = "Fig. 4, ours: error of the consensus, for dual noise of any size"
    with sheet(output, title, 5.2, 2.0, 1, 3) as (figure, body, (panels,)):
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
        note_below(body, source_of(data))
        legend_below(figure, handles, labels)


_QUANTITIES = {"messages": "messages an iteration", "bytes": "bytes an iteration", "seconds": "seconds, one process"}


@EXHIBITS.figure(
    li.LI_COST,
    "Ours, counted in runs on random geometric graphs; the exponents’ errors are in the table. Look at messages: "
    "subspace perturbation sends one over every edge in every round, hundreds to thousands of times as "
    "many as the others.",
    "Six panels of straight lines on log scales; subspace perturbation far above the two others.",
)
def fig5(data: pd.DataFrame, output) -> None:
    # Brings more along than a figure should when the workflow is planned.
    from meterdp_papers.li.likelihoods import power

    title = "Fig. 5, ours: cost of one iteration"
    with sheet(output, title, 6.2, 2.0, 2, len(_QUANTITIES), sharey="col") as (figure, body, grid):
        schemes = list(dict.fromkeys(data["scheme"]))
        for row, axis in zip(grid, ("nodes", "dimension"), strict=True):
            for axes, (quantity, label) in zip(row, _QUANTITIES.items(), strict=True):
                exponents = []
                for name in schemes:
                    at = data[(data["axis"] == axis) & (data["scheme"] == name)].sort_values("x")
                    style = _LOOKS[name]
                    axes.plot(at["x"], at[quantity], color=style.colour, marker=style.marker, linewidth=1.3)
                    exponents.append(f"{power(at['x'].to_numpy(float), at[quantity].to_numpy(float))[0] + 0:.2f}")
                axes.set(xscale="log", yscale="log", xlabel=axis)
                plain_log_ticks(axes.xaxis, sorted(data.loc[data["axis"] == axis, "x"].unique()))
                axes.set_title(f"{label};\nexponents {', '.join(exponents)}".replace("-", "−"), fontsize=9.5)
        note_below(
            body,
            f"{source_of(data)}; exponents in the order of the legend; seconds of a processor for all nodes, with "
            "whatever else the machine did",
        )
        looks_below(figure, map(_LOOKS.get, schemes))


_ROUNDING = 1e-9


@EXHIBITS.table(li.LI_LIKELIHOODS, "fig2")
def likelihoods(table: pd.DataFrame) -> Grid:
    schemes = [name for name in _LOOKS if name != "central" and name in set(table["scheme"])]
    rows = []
    for variant, at in table.groupby("reading", sort=False):
        of = {name: at[at["scheme"] == name] for name in schemes}
        consensus = of["subspace"].sort_values("iteration").iloc[-1]
        worst = (
            numbers.significant(one["difference"].max(), 2) if len(one) else numbers.MISSING for one in of.values()
        )
        rows.append(
            [
                variant,
                numbers.significant(consensus["log_likelihood"], 6),
                *worst,
                numbers.significant(consensus["spread"], 2),
                numbers.count(round(consensus["messages"])),
            ]
        )
    header = (
        "reading",
        "log-likelihood at the end (nats)",
        *(f"{_LOOKS[name].label}: largest difference (nats)" for name in schemes),
        "subspace: spread between nodes",
        "messages an iteration",
    )
    return Grid("Fig. 2: log-likelihood against that of all records in one place", header, rows)


@EXHIBITS.table(li.LI_READ_OFF, "read_off")
def read_off(table: pd.DataFrame) -> Grid:
    columns = {
        "setting": lambda row: row.reading,
        "scheme": _scheme,
        "known sums": lambda row: row.groups,
        "nothing else": lambda row: "yes" if row.nothing_more else "no",
        "records at a node, most": lambda row: str(row.most_records),
        "nodes known one by one": lambda row: numbers.count(row.alone_count),
        "largest error of b/a": lambda row: numbers.significant(row.quotient_error, 2),
        "nodes of several records solved": lambda row: numbers.percent(row.found_share),
    }
    caption = "What one iteration gives away, nodes 2 and 4 corrupt, or to the server"
    return grid_of(caption, table, columns, words=3)


def _scheme(row) -> str:
    return _LOOKS[row.scheme].label


@EXHIBITS.table(li.LI_LEAKAGE, "fig3")
def leakage(table: pd.DataFrame) -> Grid:
    last = table["iteration"].max()
    rows = []
    for graph in li.GRAPHS:
        for view in li.VIEWS:
            at = table[(table["graph"] == graph) & (table["view"] == view)]
            at = at[at["iteration"].isin((1, last) if view != li.RECORDS else (1,))]
            for _, row in at.iterrows():
                exact, error = row["linfoot_exact"], row["information_se"]
                rows.append(
                    [
                        f"{graph}; {view}",
                        f"{_LOOKS[row['scheme']].label}: {row['node']} in {row['group']}",
                        "any" if view == li.RECORDS else str(row["iteration"]),
                        numbers.plus_minus(row["information"], 0.0 if error < _ROUNDING else error),
                        *(_interval(row, name) for name in li.NORMALISATIONS.values()),
                        "" if np.isnan(exact) else f"{exact:.3f}",
                    ]
                )
    header = (
        "graph and view",
        "scheme: node in the sum over",
        "after",
        "information (nats)",
        *li.NORMALISATIONS,
        "exact",
    )
    return Grid("Fig. 3: information about a node’s record, with 95 % intervals", header, rows, words=2)


def _interval(row, name: str) -> str:
    ends = [row[f"{name}_{end}"] for end in ("low", "high")]
    words = "" if np.isnan(ends).any() else f" ± {(ends[1] - ends[0]) / 2:.3f}"
    return f"{row[name]:.3f}{words}"


@EXHIBITS.table(li.LI_MASKS, "masks")
def masks(table: pd.DataFrame) -> Grid:
    columns = {
        "graph": lambda row: row.graph,
        "scheme": _scheme,
        "standard deviation of masks": lambda row: numbers.plain(row.mask_std),
        "information (nats)": lambda row: f"{row.information:.6f}",
        "closed form": lambda row: numbers.MISSING if np.isnan(row.closed_form) else f"{row.closed_form:.6f}",
        "of the sum alone": lambda row: f"{row.of_the_sum:.6f}",
    }
    caption = "What masks of finite size leave of a standard normal number of node 1, all messages heard"
    return grid_of(caption, table, columns, words=2)


@EXHIBITS.table(li.LI_RECOVERY, "recovery")
def recovery(table: pd.DataFrame) -> Grid:
    columns = {
        "scheme: sum over": lambda row: f"{_scheme(row)}: {row.group}",
        "a node’s records × dimension": lambda row: f"{row.records} × {row.dimension}",
        "unknowns": lambda row: str(row.unknowns),
        "equations of the first iteration": lambda row: str(row.first_equations),
        "enough from iteration": lambda row: str(row.from_iteration),
        "iterations watched": lambda row: str(row.iterations),
        "runs in which the sums are met": lambda row: numbers.percent(row.met_share),
        "by the true records": lambda row: numbers.percent(row.found_share),
        "error of the worst record, median": lambda row: numbers.significant(row.error_median, 2),
    }
    return grid_of("Records solved for from sums, up to their order (defect D5)", table, columns)


@EXHIBITS.table(li.LI_EXPONENTS, "exponents")
def exponents(table: pd.DataFrame) -> Grid:
    columns = {
        "grows with": lambda row: row.axis,
        "scheme": _scheme,
        "an iteration’s": lambda row: row.quantity,
        "exponent": _exponent,
        "at the largest": lambda row: (
            f"{numbers.significant(row.at_largest)} {'s' if row.quantity == 'seconds' else ''}".strip()
        ),
        "which is": lambda row: numbers.count(row.largest_x),
    }
    caption = "Cost against nodes and dimension: exponents by least squares on log axes"
    return grid_of(caption, table, columns, words=3)


def _exponent(row) -> str:
    # Where a cost is a power to the last digit, its error is rounding.
    if not row.exponent_se > _ROUNDING:
        return f"{round(row.exponent, 3) + 0:.3f}"
    return numbers.plus_minus(row.exponent, row.exponent_se)
