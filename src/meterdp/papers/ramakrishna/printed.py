"""Tables the page of Ramakrishna et al. prints: the numbers of the paper beside ours, and designs side by side."""

from __future__ import annotations

from meterdp.classnoise.tables import DESIGN_COMPARISON
from meterdp.figures import numbers
from meterdp.figures.report.grid import Grid
from meterdp.figures.report.noise import comparison_grid
from meterdp.figures.style import load, look
from meterdp.papers.common.printed import Printed
from meterdp.papers.ramakrishna.tables import RAMAKRISHNA_NUMBERS


def printed_numbers(path) -> Grid:
    """Return every printed delta beside ours, one-sided, under every reading of query and rho."""
    table = load(path, RAMAKRISHNA_NUMBERS)
    table = table[table["sides"].isna() | (table["sides"] == "one")]
    readings = (
        table[["query_model", "query_mean", "accuracy_convention"]].dropna().drop_duplicates().itertuples(index=False)
    )
    readings = list(readings)
    rows = []
    for key, at in table.groupby(["design", "rho", "epsilon", "delta_printed"], sort=False):
        design, rho, epsilon, printed = key
        ours = at.set_index(["query_model", "query_mean", "accuracy_convention"])["delta"]
        found = [numbers.probability(ours[tuple(reading)]) for reading in readings]
        design = look(design).label
        rows.append([design, numbers.plain(rho), numbers.plain(epsilon), numbers.plain(printed), *found])
    header = ["design", "ρ", "ε", "printed δ"]
    header += [
        f"{model}{', zero mean' * (mean == 'zero')}, {convention.replace('_', ' ')}"
        for model, mean, convention in readings
    ]
    caption = "Printed δ beside ours: exact, one-sided, worst pair, under every reading of query and ρ"
    return Grid(caption, header, rows)


def comparison(path) -> Grid:
    """Return our designs beside the published one at equal budgets."""
    return comparison_grid({"design_comparison": load(path, DESIGN_COMPARISON, may_be_empty=True)})


PRINTED = (
    Printed("numbers", RAMAKRISHNA_NUMBERS, printed_numbers),
    Printed("comparison", DESIGN_COMPARISON, comparison),
)
