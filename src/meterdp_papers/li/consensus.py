"""Two figures of our own on Li et al.: how fast the consensus settles, and what one iteration of EM costs.

The consensus settles whatever the size of its dual noise; costs are against the number of nodes and the dimension.
Messages, numbers and rounds are counted in a run, to the last one. Seconds are of a processor, for all nodes one
after the other in one process, with what the machine of the study does beside.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

from meterdp.federated.em import distributed_em, entries_of
from meterdp.federated.federated import Federated
from meterdp.federated.graph import Graph, hamiltonian_cycle
from meterdp.federated.pdmm import Stop, Subspace, consensus, constant_for
from meterdp.federated.summation import RingSum, Summation
from meterdp.mixture.draws import Mixture
from meterdp.simulate.fleet import simulated_stream
from meterdp_papers.li.likelihoods import network
from meterdp_papers.li.setting import (
    CONSENSUS_MASKS,
    CONSENSUS_NODES,
    CONSENSUS_ROUNDS,
    COST_AT_DIMENSION,
    COST_AT_NODES,
    COST_CLASSES,
    COST_DIMENSIONS,
    COST_NODES,
    MASK_STD,
    PRINTED_ROUNDS,
    TRIAL_COST_DIMENSIONS,
    TRIAL_COST_NODES,
    whole,
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


def consensus_table(seed: int) -> pd.DataFrame:
    """Return the columns of ``li_consensus``: error and disagreement after every round."""
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


QUANTITIES = ("rounds", "messages", "bytes", "seconds")
SOURCE = {"data": f"standard normal records, one a node, {COST_CLASSES} classes", "substitute": None}
BY_NODES, BY_DIMENSION = "nodes", "dimension"


def cost_table(trials: int, seed: int) -> pd.DataFrame:
    """Return the columns of ``li_cost``: one iteration by every scheme; with few trials, of small networks only."""
    nodes, dimensions = (COST_NODES, COST_DIMENSIONS) if whole(trials) else (TRIAL_COST_NODES, TRIAL_COST_DIMENSIONS)
    fixed = COST_AT_NODES if whole(trials) else TRIAL_COST_NODES[-1]
    axes = [(BY_NODES, n, COST_AT_DIMENSION) for n in nodes] + [(BY_DIMENSION, fixed, d) for d in dimensions]
    made: dict[int, dict[str, Summation]] = {}
    rows = []
    for axis, n, d in axes:
        if n not in made:
            made[n] = _schemes(network(n, seed), simulated_stream(seed, "reproduce li", "cost", n))
        draws = simulated_stream(seed, "reproduce li", "cost", "records", n, d)
        parts = [draws.standard_normal((1, d)) for _ in range(n)]
        means = np.linspace(-1, 1, COST_CLASSES)[:, None] * np.ones(d)
        first = Mixture(np.full(COST_CLASSES, 1 / COST_CLASSES), means, np.stack([np.eye(d)] * COST_CLASSES))
        for name, summation in made[n].items():
            clock = time.process_time()
            run = distributed_em(parts, first, 1, summation)
            rows.append(
                {
                    "axis": axis,
                    "x": n if axis == BY_NODES else d,
                    "scheme": name,
                    "entries": entries_of(COST_CLASSES, d),
                    "edges": len(summation.graph.edges),
                    "rounds": run.rounds,
                    "messages": run.messages,
                    "bytes": 8 * run.numbers,
                    "seconds": time.process_time() - clock,
                    **SOURCE,
                }
            )
    return pd.DataFrame(rows)


def _schemes(graph: Graph, draws: np.random.Generator) -> dict[str, Summation]:
    """Return the schemes with what they find out once, and no iteration pays for."""
    subspace = Subspace(graph, draws, MASK_STD, constant_for(graph))
    assert subspace.stopping.rounds
    return {
        Federated.name: Federated(graph),
        RingSum.name: RingSum(graph, hamiltonian_cycle(graph), draws),
        Subspace.name: subspace,
    }


def exponents(cost: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of ``li_exponents``: the slope of ln(cost) on ln(n) or ln(d), by least squares."""
    rows = []
    for (axis, scheme), at in cost.groupby(["axis", "scheme"], sort=False):
        for quantity in QUANTITIES:
            slope, error = power(at["x"].to_numpy(float), at[quantity].to_numpy(float))
            largest = at.loc[at["x"].idxmax()]
            rows.append(
                {
                    "axis": axis,
                    "scheme": scheme,
                    "quantity": quantity,
                    "exponent": slope,
                    "exponent_se": error,
                    "points": len(at),
                    "largest_x": largest["x"],
                    "at_largest": largest[quantity],
                    **SOURCE,
                }
            )
    return pd.DataFrame(rows)


def power(x: np.ndarray, cost: np.ndarray) -> tuple[float, float]:
    """Return the power of ``x`` that a cost grows with, and its standard error, which is NaN for two points."""
    x, y = np.log(x), np.log(cost)
    centred = x - x.mean()
    slope = centred @ y / (centred @ centred)
    left = y - y.mean() - slope * centred
    degrees = len(x) - 2
    return float(slope), float(np.sqrt(left @ left / degrees / (centred @ centred))) if degrees else float("nan")
