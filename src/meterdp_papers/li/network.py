"""Fig. 1 of Li et al. as a table: the cycle they print, the corrupt nodes, and the chord that is ours."""

from __future__ import annotations

import pandas as pd

from meterdp.distributed.graph import CHORD, CORRUPT, five_node_example

SOURCE = {"data": "the example of the paper", "substitute": "only its cycle is known; the chord 1-3 is ours"}


def tabulate() -> pd.DataFrame:
    """Return the columns of ``li_network``, nodes by the paper's numbers from 1."""
    graph = five_node_example()
    at = graph.positions
    nodes = [
        {"kind": "corrupt" if i in CORRUPT else "honest", "node": i + 1, "x": [at[i, 0]], "y": [at[i, 1]]}
        for i in range(graph.nodes)
    ]
    edges = [
        {
            "kind": "chord" if (i, j) == CHORD else "cycle",
            "node": i + 1,
            "neighbour": j + 1,
            "x": at[[i, j], 0].tolist(),
            "y": at[[i, j], 1].tolist(),
        }
        for i, j in graph.edges.tolist()
    ]
    return pd.DataFrame([*nodes, *edges]).astype({"neighbour": "Int32"}).assign(**SOURCE)
