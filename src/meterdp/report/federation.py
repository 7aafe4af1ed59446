"""What the report says about a mixture that circuits fitted together: what each layer protects."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from meterdp.federated.tables import FEDERATION_PROTECTS
from meterdp.pages.numbers import counted, plain
from meterdp.report.pages import Grid, Tables, grid_of, printed

if TYPE_CHECKING:
    import pandas as pd

SCHEMES = {
    "federated": "a server adds up",
    "secure_sum": "secure summation",
    "edge_masks": "masks on edges",
}
LAYERS = {
    "readings": "readings",
    "transcript": "what circuits send",
    "mixture": "the mixture, no noise",
    "sound": "the release with a proof",
}
AGAINST = {
    "nobody": "the circuit that holds them",
    "server": "the server",
    "listener": "whoever hears all messages",
    "everybody": "everybody who gets it",
}


@printed(FEDERATION_PROTECTS)
def protects_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """What each layer protects, against whom, and what is learnt exactly all the same."""
    columns = {
        "layer": lambda r: f"{LAYERS[r.layer]}: {SCHEMES[r.scheme]}" if r.scheme else LAYERS[r.layer],
        "in this study": lambda r: "yes" if r.used else "no",
        "against whom": _against,
        "what they learn exactly": _learnt,
        "what may stay hidden": _hidden,
        "guarantee": _guarantee,
    }
    return grid_of("What each layer protects", data, columns, words=len(columns))


def _against(row) -> str:
    if row.against == "circuits":
        number = int(row.colluding)
        return f"any {counted(number, 'circuit')} that collude{'s' if number == 1 else ''}"
    return AGAINST[row.against]


def _learnt(row) -> str:
    if row.layer == "readings":
        return "its own readings, and no other circuit’s"
    if row.layer == "sound":
        return "nothing"
    group = int(row.smallest_group)
    if row.layer == "mixture":
        return f"weights, means and covariances over {counted(group, 'circuit')}"
    over = "each circuit’s own sums" if group == 1 else f"sums over {counted(group, 'circuit')}"
    return f"{over}, of every iteration"


def _hidden(row) -> str:
    if row.layer in ("readings", "sound"):
        return "any one household’s readings" if row.layer == "sound" else "the other circuits’ readings"
    return f"readings, where those of more than {counted(int(row.solvable_households), 'household')} are summed"


def _guarantee(row) -> str:
    if math.isnan(row.epsilon):
        return "none"
    return f"ε = {plain(round(row.epsilon, 3))}, δ = {plain(row.delta)} for one household"


GRIDS = {"protects": protects_grid}
