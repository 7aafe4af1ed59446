"""Fig. 2 of Li et al.: log-likelihood of all records after every iteration, by every scheme and centrally."""

from __future__ import annotations

import numpy as np
import pandas as pd

from meterdp.distributed.cycle import hamiltonian_cycle
from meterdp.distributed.em import EmRun, Update, distributed_em, local_statistics, m_step
from meterdp.distributed.federated import Federated
from meterdp.distributed.graph import Graph, random_geometric
from meterdp.distributed.pdmm import ACCURACY, Stop, Subspace, constant_for, rounds_for
from meterdp.distributed.ring_sum import RingSum
from meterdp.distributed.summation import Summation
from meterdp.mixture.draws import Mixture
from meterdp.simulate.streams import simulated_stream
from meterdp_papers.li.data import Voices, dealt, start
from meterdp_papers.li.setting import (
    ASYNCHRONOUS,
    EIGENVALUE_FLOOR,
    ITERATIONS,
    MASK_STD,
    NODES,
    SETTINGS,
    SHOWN,
    TRIAL_ITERATIONS,
    whole,
)

CENTRAL = "central"


def network(nodes: int, seed: int) -> Graph:
    """Draw the random geometric graph of Fig. 2 with so many nodes."""
    return random_geometric(nodes, simulated_stream(seed, "reproduce li", "graph", nodes))


def central_em(x: np.ndarray, first: Mixture, iterations: int, update: Update) -> np.ndarray:
    """Return the log-likelihood (T + 1,) of EM where all records are in one place; no scheme has a part in it."""
    mixture, found = first, []
    for _ in range(iterations):
        statistics, value = local_statistics(x, mixture)
        found.append(value)
        mixture = m_step(statistics, mixture, update, EIGENVALUE_FLOOR)
    return np.array([*found, local_statistics(x, mixture)[1]])


def tabulate(records: Voices, trials: int, seed: int) -> pd.DataFrame:
    """Return the columns of ``li_likelihoods`` (Fig. 2).

    Parameters
    ----------
    trials : int
        Configuration key; with few, a few iterations are run.
    """
    iterations = ITERATIONS if whole(trials) else TRIAL_ITERATIONS
    graphs = {n: network(n, seed) for n in set(NODES.values())}
    constants = {n: constant_for(graph) for n, graph in graphs.items()}
    cycles = {n: hamiltonian_cycle(graph) for n, graph in graphs.items()}
    stops = {n: Stop(rounds=rounds_for(graphs[n], constants[n], ACCURACY)) for n in graphs}
    tables = []
    for setting in SETTINGS:
        n = NODES[setting.rows]
        parts = dealt(records.components(setting.preparation), setting.rows)
        x = np.concatenate(parts)
        first = start(x)
        reference = central_em(x, first, iterations, setting.update)
        draws = simulated_stream(seed, "reproduce li", "fig2", setting.name)
        schemes: dict[str, Summation] = {
            Federated.name: Federated(graphs[n]),
            RingSum.name: RingSum(graphs[n], cycles[n], draws),
            Subspace.name: Subspace(graphs[n], draws, MASK_STD, constants[n], stops[n]),
        }
        if setting == SHOWN[0]:  # as printed, which takes a processor a hundred times longer
            schemes[ASYNCHRONOUS] = Subspace(graphs[n], draws, MASK_STD, constants[n], schedule="asynchronous")
        common = {"reading": setting.name, "nodes": n, "records": len(x), **records.source}
        tables.append(_rows(CENTRAL, reference, reference, None, common))
        for name, summation in schemes.items():
            run = distributed_em(parts, first, iterations, summation, setting.update, EIGENVALUE_FLOOR)
            tables.append(_rows(name, run.log_likelihood, reference, run, common))
    return pd.concat(tables, ignore_index=True)


def _rows(scheme: str, values: np.ndarray, reference: np.ndarray, run: EmRun | None, common: dict) -> pd.DataFrame:
    iterations = len(values) - 1
    return pd.DataFrame(
        {
            "scheme": scheme,
            "iteration": np.arange(len(values)),
            "log_likelihood": values,
            "difference": np.abs(values - reference),
            "spread": np.nan if run is None else run.spread,
            "rounds": np.nan if run is None else run.rounds / iterations,
            "messages": np.nan if run is None else run.messages / iterations,
            "bytes": np.nan if run is None else 8.0 * run.numbers / iterations,
            **common,
        }
    )
