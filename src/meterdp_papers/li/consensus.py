"""How fast the average consensus of Li et al. settles, whatever the size of its dual noise; a figure of our own."""

from __future__ import annotations

import numpy as np
import pandas as pd

from meterdp.distributed.pdmm import Stop, consensus, constant_for
from meterdp.simulate.streams import simulated_stream
from meterdp_papers.li.likelihoods import network
from meterdp_papers.li.setting import (
    CONSENSUS_MASKS,
    CONSENSUS_NODES,
    CONSENSUS_ROUNDS,
    PRINTED_ROUNDS,
)

# Dual update, schedule, and rounds.
LINES = (
    ("corrected", "synchronous", CONSENSUS_ROUNDS),
    ("corrected", "asynchronous", CONSENSUS_ROUNDS),
    ("printed", "synchronous", PRINTED_ROUNDS),
    ("printed", "asynchronous", PRINTED_ROUNDS),
    ("printed_neighbours", "asynchronous", CONSENSUS_ROUNDS),
)
WRONG_MASK = 1.0  # of the updates that do not reach the average


def tabulate(seed: int) -> pd.DataFrame:
    """Return the columns of ``li_consensus``: error and disagreement after every round.

    Parameters
    ----------
    seed : int
        Seed of the study.
    """
    graph = network(CONSENSUS_NODES, seed)
    c = constant_for(graph)
    draws = simulated_stream(seed, "reproduce li", "consensus")
    values = draws.standard_normal((graph.nodes, 1))
    directions = draws.standard_normal((len(graph.arcs.tail), 1))
    tables = []
    for update, schedule, rounds in LINES:
        for mask_std in CONSENSUS_MASKS if update == "corrected" else (WRONG_MASK,):
            order = simulated_stream(seed, "reproduce li", "consensus", "order")
            trace = consensus(
                graph,
                values,
                mask_std * directions,
                Stop(rounds=rounds),
                c=c,
                schedule=schedule,
                dual_update=update,
                generator=order,
                traced=True,
            ).trace[:, :, 0]
            tables.append(
                pd.DataFrame(
                    {
                        "dual_update": update,
                        "schedule": schedule,
                        "mask_std": mask_std,
                        "constant": c,
                        "round": np.arange(1, rounds + 1),
                        "error": np.abs(trace - values.mean()).max(axis=1),
                        "disagreement": trace.max(axis=1) - trace.min(axis=1),
                    }
                )
            )
    source = {"data": f"a random geometric graph of {graph.nodes} nodes, standard normal values", "substitute": None}
    return pd.concat(tables, ignore_index=True).assign(**source)
