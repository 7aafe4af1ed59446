"""Fig. 2 of Li et al.: log-likelihood after every iteration of EM by every scheme, on the Parkinsons data.

The data (Section 5.1) are principal components; how their rows sit on nodes is a reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from meterdp.core.noise import fixed_uniforms
from meterdp.federated.em import EmRun, Update, distributed_em, local_statistics, m_step
from meterdp.federated.federated import Federated
from meterdp.federated.graph import Graph, hamiltonian_cycle, random_geometric
from meterdp.federated.pdmm import ACCURACY, Stop, Subspace, constant_for, rounds_for
from meterdp.federated.summation import RingSum, Summation
from meterdp.mixture.draws import Mixture
from meterdp.simulate.fleet import simulated_stream
from meterdp_papers.common import substitutes
from meterdp_papers.common.tables import Dataset, locate
from meterdp_papers.li.setting import (
    ASYNCHRONOUS,
    CLASSES,
    COMPONENTS,
    EIGENVALUE_FLOOR,
    ITERATIONS,
    MASK_STD,
    NODES,
    SETTINGS,
    SHOWN,
    STANDARDISED,
    TRIAL_ITERATIONS,
    whole,
)

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
        if preparation == STANDARDISED:
            centred = centred / centred.std(axis=0)
        left, singular, _ = np.linalg.svd(centred, full_matrices=False)
        scores = left[:, :COMPONENTS] * singular[:COMPONENTS]
        return scores / scores[:, 0].std()


def voices(entries: Mapping[str, Dataset], data_dir) -> Voices:
    """Return the recordings (195, 22), or what stands for them."""
    entry = entries["parkinsons"]
    path = locate(entry, data_dir)
    if path is None:
        x = substitutes.voices()
        words = f"stands for {entry.title.split(',')[0]}: {entry.substitute}"
        return Voices(x, {"data": f"simulated recordings, {len(x)} x {x.shape[1]}", "substitute": words})
    x = pd.read_csv(path).drop(columns=NOT_FEATURES).to_numpy(dtype=float)
    return Voices(x, {"data": f"Parkinsons, {len(x)} x {x.shape[1]}", "substitute": None})


def dealt(x: np.ndarray, rows: str) -> list[np.ndarray]:
    """Return the records of every node, in a public order: row i of it at node i modulo n, or the first n rows."""
    n = NODES[rows]
    order = np.argsort(fixed_uniforms("reproduce li, order of rows", (len(x),)))
    x = x[order][:n] if rows.startswith("80 rows") else x[order]
    return [x[i::n] for i in range(n)]


def start(x: np.ndarray) -> Mixture:
    """Return where EM starts: equal classes with the covariance of all records, apart along the first component."""
    centre, spread = x.mean(axis=0), np.zeros(x.shape[1])
    spread[0] = x[:, 0].std()
    covariance = np.cov(x.T).reshape(x.shape[1], x.shape[1])
    means = centre + np.linspace(-1, 1, CLASSES)[:, None] * spread
    return Mixture(np.full(CLASSES, 1 / CLASSES), means, np.stack([covariance] * CLASSES))


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
    """Return the columns of ``li_likelihoods`` (Fig. 2); with few trials a few iterations are run."""
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
