"""The audit as a figure and a page: lower bounds beside claims, for proven mechanisms, mutants and published ones.

Bounds are drawn as shares of the claim, so that one line, at one, divides what a claim allows from what refutes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from meterdp.audit.tables import AUDIT
from meterdp.pages import numbers
from meterdp.pages.html import write_page
from meterdp.report.pages import Grid, figure, picture
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


@figure(
    AUDIT,
    category=SECTION,
    look_for=(
        "Every dot is a lower bound on ε, every diamond one on μ, divided by the claim. Those of proven mechanisms "
        "must lie left of the line; how far left shows how weak the attack or how few the runs are, not how safe "
        "the mechanism is. Mutants, published and exact ones lie right of it where the audit refutes their claim."
    ),
    alternative="Dots in rows, one row a mechanism and attack, beside a vertical line at one.",
)
def audit_bounds(data: pd.DataFrame, output) -> None:
    """Draw each lower bound over its claim, one row a mechanism and attack."""
    data = data.fillna({"mutant": ""})
    groups = [(kind, rows) for kind in _KINDS if len(rows := data[data["expected"] == kind])]
    heights = [len(rows) + 2 for _, rows in groups]
    with canvas(output, "Lower bounds from attacks, as shares of the claim", 1.5 + _ROW_IN * sum(heights)) as drawing:
        panels = drawing.subfigures(2, 1, height_ratios=(sum(heights), 1))
        grid = panels[0].subplots(len(groups), 1, squeeze=False, height_ratios=heights)
        for axes, (kind, rows) in zip(grid.ravel(), groups, strict=True):
            title, _, colour = _KINDS[kind]
            _panel(axes, rows, title, colour)
        grid[-1, 0].set_xlabel("lower bound / claim")
        keys = [line_key(color=GREY, **_EPSILON), line_key(color=GREY, **_MU), line_key(color="black", linewidth=1.2)]
        legend_below(drawing, keys, ["ε", "μ (Gaussian DP)", "the claim"], 3)


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


def build_audit_report(audit, drawn, output) -> None:
    """Write the page of the audit, one HTML file, from its table and the SVG of :func:`audit_bounds`."""
    data = load(audit, AUDIT).fillna({"mutant": ""})
    kinds = {kind: data[data["expected"] == kind] for kind in _KINDS}
    mutants = kinds["caught"].groupby(["mechanism", "mutant"], sort=False)["as_expected"].any()
    write_page(
        TEMPLATE,
        output,
        picture=picture(drawn, audit_bounds),
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
    broken = ["mutant"] if rows["mutant"].any() else []
    text = ["mechanism", "neighbours differ in", *broken, "seen", "attack"]
    values = ["ε claimed", "ε at least", "share", "μ claimed", "μ at least", "share", "ε at that μ"]
    cells = []
    for row in rows.itertuples():
        about = [row.mechanism, f"{row.adjacency}: {row.neighbours}", *([row.mutant] if broken else [])]
        measured = (row.epsilon_claimed, row.epsilon_lower, row.epsilon_power)
        measured += (row.mu_claimed, row.mu_lower, row.mu_power, row.epsilon_at_mu_lower)
        shown = map(numbers.significant, measured)
        cells.append([*about, row.seen, row.attack, *shown, numbers.count(row.trials), row.exceeded])
    return Grid(caption, [*text, *values, "runs", "exceeds"], cells, words=len(text))
