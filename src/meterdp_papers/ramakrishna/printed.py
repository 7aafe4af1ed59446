"""Tables the page of Ramakrishna et al. prints: the numbers of the paper beside ours, and designs side by side."""

from __future__ import annotations

from meterdp.classnoise.tables import DESIGN_COMPARISON
from meterdp.figures import numbers
from meterdp.figures.report.grid import Grid
from meterdp.figures.report.noise import comparison_grid
from meterdp.figures.style import load, look
from meterdp_papers.common.printed import Printed
from meterdp_papers.ramakrishna.tables import RAMAKRISHNA_NUMBERS


def printed_numbers(path) -> Grid:
    """Return every printed delta beside ours, one-sided, under every reading of query and rho."""
    table = load(path, RAMAKRISHNA_NUMBERS)
    table = table[table["sides"].isna() | (table["sides"] == "one")]
    reading_columns = ["query_model", "query_mean", "accuracy_convention"]
    designs, asked, ours = [], [], []
    for (design, *asked_of), at in table.groupby(["design", "rho", "epsilon", "delta_printed"], sort=False):
        designs.append(look(design).label)
        asked.append([numbers.plain(value) for value in asked_of])
        ours.append(at.dropna(subset=reading_columns).set_index(reading_columns)["delta"])
    rows = [list(row) for row in zip(("ρ", "ε", "printed δ"), *asked, strict=True)]
    for reading in dict.fromkeys(reading for deltas in ours for reading in deltas.index):
        model, mean, convention = reading
        words = f"{model}{', zero mean' * (mean == 'zero')}, {convention.replace('_', ' ')}"
        rows.append([words, *(numbers.probability(deltas[reading]) for deltas in ours)])
    header = ("reading of query and ρ", *designs)
    caption = "Printed δ, and ours under every reading of query and ρ: exact, one-sided, worst pair"
    return Grid(caption, header, rows)


def comparison(path) -> Grid:
    """Return our designs beside the published one at equal budgets."""
    return comparison_grid({"design_comparison": load(path, DESIGN_COMPARISON, may_be_empty=True)})


PRINTED = (
    Printed("numbers", RAMAKRISHNA_NUMBERS, printed_numbers),
    Printed("comparison", DESIGN_COMPARISON, comparison),
)
