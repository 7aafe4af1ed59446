"""What the report says about a mixture that circuits fitted together: what each layer protects, and what was sent."""

from __future__ import annotations

import math

from meterdp.federated.tables import FEDERATION, FEDERATION_PROTECTS
from meterdp.report.numbers import count, counted, plain, significant
from meterdp.report.pages import Grid, Tables

SCHEMES = {
    "federated": "a server adds up",
    "secure_sum": "secure summation",
    "subspace": "subspace noise",
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


def protects_grid(tables: Tables) -> Grid | None:
    """What each layer protects, against whom, and what is learnt exactly all the same."""
    data = tables.get("federation_protects")
    if data is None:
        return None
    rows = [
        (_layer(r), "yes" if r.used else "no", _against(r), _learnt(r), _hidden(r), _guarantee(r))
        for r in data.itertuples()
    ]
    header = (
        "layer",
        "in this study",
        "against whom",
        "what they learn exactly",
        "what may stay hidden",
        "guarantee",
    )
    return Grid("What each layer protects", header, rows, words=len(header))


def _layer(row) -> str:
    return f"{LAYERS[row.layer]}: {SCHEMES[row.scheme]}" if row.scheme else LAYERS[row.layer]


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


def federation_grid(tables: Tables) -> Grid | None:
    """What the fit took, and how far it came."""
    data = tables.get("federation")
    if data is None:
        return None
    data = data.sort_values("iteration")
    steps = sorted({0, 1, len(data) // 2, len(data) - 1})
    rows = [
        (
            str(r.iteration),
            significant(r.log_likelihood, 6),
            count(r.round_count),
            count(r.message_count),
            significant(8 * r.number_count / 1e6),
        )
        for r in data.iloc[steps].itertuples()
    ]
    header = ("iteration", "log-likelihood (nats, all households)", "rounds", "messages", "MB sent")
    return Grid(f"The fit over circuits: {SCHEMES[data['scheme'].iloc[0]]}", header, rows)


READS = (FEDERATION, FEDERATION_PROTECTS)
GRIDS = {"protects": protects_grid, "federation": federation_grid}
