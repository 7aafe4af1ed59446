"""Fig. 2 of Li et al.: log-likelihood after every iteration of EM by every scheme, on the Parkinsons data.

The data (Section 5.1) are principal components; how their rows sit on nodes is a variant.

Two figures of our own on Li et al.: how fast the consensus settles, and what one iteration of EM costs.

The consensus settles whatever the size of its dual noise; costs are against the number of nodes and the dimension.
Messages, numbers and rounds are counted in a run, to the last one. Seconds are of a processor, for all nodes one
after the other in one process, with what the machine of the study does beside.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from meterdp.core.noise import fixed_uniforms
from meterdp.federated.em import EmRun, Update, distributed_em, entries_of, local_statistics, m_step
from meterdp.federated.graph import Graph, hamiltonian_cycle, random_geometric
from meterdp.federated.summation import Federated, RingSum, Summation
from meterdp.mixture.draws import Mixture
from meterdp.simulate.fleet import simulated_stream
from meterdp_papers.common import datasets
from meterdp_papers.common.datasets import Dataset, locate
from meterdp_papers.li import tables as li
from meterdp_papers.li.pdmm import ACCURACY, Subspace, consensus, constant_for, rounds_for

NOT_FEATURES = ["name", "status"]


@dataclass(frozen=True)
class Voices:
    """Voice recordings."""

    features: np.ndarray  # (N, 22), in the units of the file
    source: dict[str, str | None]  # columns ``data`` and ``substitute``

    def components(self, preparation: str) -> np.ndarray:
        """Return the first two principal components (N, 2), in units of the first one's standard deviation.

        The unit is ours, so that one resolution of secure summation does for both preparations; it moves every
        log-likelihood by the same constant.
        """
        centred = self.features - self.features.mean(axis=0)
        if preparation == li.STANDARDISED:
            centred = centred / centred.std(axis=0)
        left, singular, _ = np.linalg.svd(centred, full_matrices=False)
        scores = left[:, : li.COMPONENTS] * singular[: li.COMPONENTS]
        return scores / scores[:, 0].std()


def voices(entries: Mapping[str, Dataset], data_dir) -> Voices:
    """Return the recordings (195, 22), or what stands for them."""
    entry = entries["parkinsons"]
    path = locate(entry, data_dir)
    if path is None:
        x = datasets.voices()
        words = f"stands for {entry.title.split(',')[0]}: {entry.substitute}"
        return Voices(x, {"data": f"simulated recordings, {len(x)} x {x.shape[1]}", "substitute": words})
    x = pd.read_csv(path).drop(columns=NOT_FEATURES).to_numpy(dtype=float)
    return Voices(x, {"data": f"Parkinsons, {len(x)} x {x.shape[1]}", "substitute": None})


def dealt(x: np.ndarray, rows: str) -> list[np.ndarray]:
    """Return the records of every node, in a public order: row i of it at node i modulo n, or the first n rows."""
    n = li.NODES[rows]
    order = np.argsort(fixed_uniforms("reproduce li, order of rows", (len(x),)))
    x = x[order][:n] if rows.startswith("80 rows") else x[order]
    return [x[i::n] for i in range(n)]


def start(x: np.ndarray) -> Mixture:
    """Return where EM starts: equal classes with the covariance of all records, apart along the first component."""
    centre, spread = x.mean(axis=0), np.zeros(x.shape[1])
    spread[0] = x[:, 0].std()
    covariance = np.cov(x.T).reshape(x.shape[1], x.shape[1])
    means = centre + np.linspace(-1, 1, li.CLASSES)[:, None] * spread
    return Mixture(np.full(li.CLASSES, 1 / li.CLASSES), means, np.stack([covariance] * li.CLASSES))


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
        mixture = m_step(statistics, mixture, update, li.EIGENVALUE_FLOOR)
    return np.array([*found, local_statistics(x, mixture)[1]])


def tabulate(records: Voices, trials: int, seed: int) -> pd.DataFrame:
    """Return the columns of ``li_likelihoods`` (Fig. 2); with few trials a few iterations are run."""
    iterations = li.ITERATIONS if li.whole(trials) else li.TRIAL_ITERATIONS
    graphs = {n: network(n, seed) for n in set(li.NODES.values())}
    constants = {n: constant_for(graph) for n, graph in graphs.items()}
    cycles = {n: hamiltonian_cycle(graph) for n, graph in graphs.items()}
    rounds = {n: rounds_for(graphs[n], constants[n], ACCURACY) for n in graphs}
    tables = []
    for setting in li.SETTINGS:
        n = li.NODES[setting.rows]
        parts = dealt(records.components(setting.preparation), setting.rows)
        x = np.concatenate(parts)
        first = start(x)
        reference = central_em(x, first, iterations, setting.update)
        draws = simulated_stream(seed, "reproduce li", "fig2", setting.name)
        schemes: dict[str, Summation] = {
            Federated.name: Federated(graphs[n]),
            RingSum.name: RingSum(graphs[n], cycles[n], draws),
            Subspace.name: Subspace(graphs[n], draws, li.MASK_STD, constants[n], rounds[n]),
        }
        if setting == li.SHOWN[0]:  # as printed, which takes a processor a hundred times longer
            schemes[li.ASYNCHRONOUS] = Subspace(graphs[n], draws, li.MASK_STD, constants[n], schedule="asynchronous")
        common = {"reading": setting.name, "nodes": n, "records": len(x), **records.source}
        tables.append(_rows(CENTRAL, reference, reference, None, common))
        for name, summation in schemes.items():
            run = distributed_em(parts, first, iterations, summation, setting.update, li.EIGENVALUE_FLOOR)
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


# Dual update, schedule, and rounds.
LINES = (
    ("corrected", "synchronous", li.CONSENSUS_ROUNDS),
    ("corrected", "asynchronous", li.CONSENSUS_ROUNDS),
    ("printed", "synchronous", li.PRINTED_ROUNDS),
    ("printed", "asynchronous", li.PRINTED_ROUNDS),
    ("printed_neighbours", "asynchronous", li.CONSENSUS_ROUNDS),
)
WRONG_MASK = 1.0  # of the updates that do not reach the average


def consensus_table(seed: int) -> pd.DataFrame:
    """Return the columns of ``li_consensus``: error and disagreement after every round."""
    graph = network(li.CONSENSUS_NODES, seed)
    c = constant_for(graph)
    draws = simulated_stream(seed, "reproduce li", "consensus")
    values = draws.standard_normal((graph.nodes, 1))
    directions = draws.standard_normal((len(graph.arcs.tail), 1))
    tables = []
    for update, schedule, rounds in LINES:
        for mask_std in li.CONSENSUS_MASKS if update == "corrected" else (WRONG_MASK,):
            order = simulated_stream(seed, "reproduce li", "consensus", "order")
            trace = consensus(
                graph,
                values,
                mask_std * directions,
                rounds,
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
SOURCE = {"data": f"standard normal records, one a node, {li.COST_CLASSES} classes", "substitute": None}
BY_NODES, BY_DIMENSION = "nodes", "dimension"


def cost_table(trials: int, seed: int) -> pd.DataFrame:
    """Return the columns of ``li_cost``: one iteration by every scheme; with few trials, of small networks only."""
    nodes, dimensions = (
        (li.COST_NODES, li.COST_DIMENSIONS) if li.whole(trials) else (li.TRIAL_COST_NODES, li.TRIAL_COST_DIMENSIONS)
    )
    fixed = li.COST_AT_NODES if li.whole(trials) else li.TRIAL_COST_NODES[-1]
    axes = [(BY_NODES, n, li.COST_AT_DIMENSION) for n in nodes] + [(BY_DIMENSION, fixed, d) for d in dimensions]
    made: dict[int, dict[str, Summation]] = {}
    rows = []
    for axis, n, d in axes:
        if n not in made:
            made[n] = _schemes(network(n, seed), simulated_stream(seed, "reproduce li", "cost", n))
        draws = simulated_stream(seed, "reproduce li", "cost", "records", n, d)
        parts = [draws.standard_normal((1, d)) for _ in range(n)]
        means = np.linspace(-1, 1, li.COST_CLASSES)[:, None] * np.ones(d)
        first = Mixture(np.full(li.COST_CLASSES, 1 / li.COST_CLASSES), means, np.stack([np.eye(d)] * li.COST_CLASSES))
        for name, summation in made[n].items():
            clock = time.process_time()
            run = distributed_em(parts, first, 1, summation)
            rows.append(
                {
                    "axis": axis,
                    "x": n if axis == BY_NODES else d,
                    "scheme": name,
                    "entries": entries_of(li.COST_CLASSES, d),
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
    subspace = Subspace(graph, draws, li.MASK_STD, constant_for(graph))
    assert subspace.round_count
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
