"""The audit as a figure and a page: lower bounds beside claims, for proven mechanisms, mutants and published ones.

Bounds are drawn as shares of the claim, so that one line, at one, divides what a claim allows from what refutes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from meterdp.audit.tables import AUDIT
from meterdp.report import numbers
from meterdp.report.pages import Figure, Grid, picture, write_page
from meterdp.report.style import BLUE, GREEN, GREY, VERMILION, canvas, legend_below, line_key, load

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

TEMPLATE = Path(__file__).with_name("audit.html")
SECTION = "Audit"
# What a claim is expected to do -> its name in the figure, caption of its table, colour.
_KINDS = {
    "holds": ("Proven", "Proven mechanisms: no bound may exceed its claim", GREEN),
    "caught": ("Mutants", "Mutants: broken in one place, with the claim of the unbroken mechanism", VERMILION),
    "hole": ("Published and exact", "What is published, and the exact solution under the same constraint", BLUE),
}
_EPSILON, _MU = {"marker": "o", "linestyle": ""}, {"marker": "D", "linestyle": "", "markerfacecolor": "white"}
_ROW_IN = 0.21


def audit_bounds(audit, output) -> None:
    """Draw each lower bound over its claim, one row a mechanism and attack.

    Parameters
    ----------
    audit : path-like
        Table ``audit``.
    output : path-like
        SVG to write.
    """
    data = _rows(audit)
    groups = [(kind, rows) for kind in _KINDS if len(rows := data[data["expected"] == kind])]
    heights = [len(rows) + 2 for _, rows in groups]
    with canvas(output, "Lower bounds from attacks, as shares of the claim", 1.5 + _ROW_IN * sum(heights)) as figure:
        panels = figure.subfigures(2, 1, height_ratios=(sum(heights), 1))
        grid = panels[0].subplots(len(groups), 1, squeeze=False, height_ratios=heights)
        for axes, (kind, rows) in zip(grid.ravel(), groups, strict=True):
            title, _, colour = _KINDS[kind]
            _panel(axes, rows, title, colour)
        grid[-1, 0].set_xlabel("lower bound / claim")
        keys = [line_key(color=GREY, **_EPSILON), line_key(color=GREY, **_MU), line_key(color="black", linewidth=1.2)]
        legend_below(figure, keys, ["ε", "μ (Gaussian DP)", "the claim"], 3)


def _rows(audit) -> pd.DataFrame:
    data = load(audit, AUDIT)
    data["mutant"] = data["mutant"].fillna("")
    return data


def _panel(axes: Axes, rows: pd.DataFrame, title: str, colour: str) -> None:
    place = range(len(rows))
    axes.axvline(1, color="black", linewidth=1.2)
    axes.plot(rows["mu_power"].astype(float), place, color=colour, **_MU)
    axes.plot(rows["epsilon_power"], place, color=colour, **_EPSILON)
    axes.set_yticks(list(place), [_words(row) for row in rows.itertuples()], fontsize=7.5)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(left=-0.03)
    axes.set_title(title)


def _words(row) -> str:
    what = [row.mechanism, row.adjacency.replace("_", " "), row.mutant, row.seen]
    return f"{', '.join(w for w in what if w)}, ε = {numbers.plain(round(row.epsilon_claimed, 2))}"


AUDIT_FIGURE = Figure(
    draw=audit_bounds,
    tables=(AUDIT,),
    category=SECTION,
    look_for=(
        "Every dot is a lower bound on ε, every diamond one on μ, divided by the claim. Those of proven mechanisms "
        "must lie left of the line; how far left says how weak the attack or how few the runs are, not how safe "
        "the mechanism is. Mutants, published and exact ones lie right of it where the audit refutes the claim they "
        "carry."
    ),
    alternative="Dots in rows, one row a mechanism and attack, beside a vertical line at one.",
)


def build_audit_report(audit, figure, output) -> None:
    """Write the page of the audit as one self-contained HTML file.

    Parameters
    ----------
    audit : path-like
        Table ``audit``.
    figure : path-like
        SVG of :data:`AUDIT_FIGURE`.
    output : path-like
        HTML file to write.
    """
    data = _rows(audit)
    kinds = {kind: data[data["expected"] == kind] for kind in _KINDS}
    mutants = kinds["caught"].groupby(["mechanism", "mutant"], sort=False)["as_expected"].any()
    write_page(
        TEMPLATE,
        output,
        picture=picture(figure, AUDIT_FIGURE),
        grids=[_grid(kinds[kind], title) for kind, (_, title, _) in _KINDS.items() if len(kinds[kind])],
        proven=numbers.counted(len(kinds["holds"]), "bound"),
        exceeding=int((~kinds["holds"]["as_expected"]).sum()),
        mutants=numbers.counted(len(mutants), "mutant"),
        caught=int(mutants.sum()),
        missed=[f"{mechanism}: {mutant}" for mechanism, mutant in mutants.index[~mutants.to_numpy()]],
        holes=numbers.counted(len(kinds["hole"]), "attack"),
        refuted=int(kinds["hole"]["as_expected"].sum()),
        confidence=numbers.percent(1 - len(data) * float((1 - data["confidence"]).max())),
    )


def _grid(rows: pd.DataFrame, caption: str) -> Grid:
    broken = bool(rows["mutant"].any())
    header = ["mechanism", "neighbours differ in", *(["mutant"] if broken else []), "seen", "attack"]
    words = len(header)
    header += [
        "ε claimed",
        "ε at least",
        "share",
        "μ claimed",
        "μ at least",
        "share",
        "ε at that μ",
        "runs",
        "exceeds",
    ]
    cells = []
    for row in rows.itertuples():
        text = [row.mechanism, f"{row.adjacency}: {row.neighbours}", *([row.mutant] if broken else [])]
        values = (row.epsilon_claimed, row.epsilon_lower, row.epsilon_power)
        values += (row.mu_claimed, row.mu_lower, row.mu_power, row.epsilon_at_mu_lower)
        shown = [numbers.significant(value) for value in values]
        cells.append([*text, row.seen, row.attack, *shown, numbers.count(row.trials), row.exceeded])
    return Grid(caption, header, cells, words)
