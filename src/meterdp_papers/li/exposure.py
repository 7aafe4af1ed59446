"""Figs 1 and 3 of Li et al.: the example, and what its corrupt nodes 2 and 4 learn about nodes 1 and 3.

The example is the cycle they print with a chord of ours. As in Section 5.2 records are standard normal and
responsibilities uniform, normalised over the classes; no EM is run, so the C of every iteration are about means of
zero, as those of (4) are once the public means are known. Every trial runs the protocols, and the adversary's sums
are taken from what it sees of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from meterdp.federated.adversary import known_sums
from meterdp.federated.graph import CHORD, CORRUPT, Graph, five_node_example
from meterdp.federated.summation import Federated, RingSum, decoded
from meterdp.simulate.fleet import simulated_stream
from meterdp_papers.li import leakage
from meterdp_papers.li import tables as li
from meterdp_papers.li.leakage import consensus_view, ring_view, seen_in_consensus, sums_on_ring
from meterdp_papers.li.pdmm import consensus

EXAMPLE = {"data": "the example of the paper", "substitute": "only its cycle is known; the chord 1-3 is ours"}


def example_table() -> pd.DataFrame:
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
    return pd.DataFrame([*nodes, *edges]).astype({"neighbour": "Int32"}).assign(**EXAMPLE)


NODES = 5
CYCLE = tuple(range(NODES))
SOURCE = {"data": "standard normal records, as in the paper", "substitute": None}
Group = tuple[int, ...]


def example(graph: str) -> Graph:
    """Return Fig. 1 under one variant."""
    return five_node_example(graph == li.WITH_CHORD)


def named(group: Group) -> str:
    """Return the nodes of a group by the paper's numbers."""
    return ", ".join(str(i + 1) for i in group)


def statistics(x: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return A, B and C of one iteration (n, N, 3 c) for scalar records (n, N), a trial a column."""
    shares = generator.random((*x.shape, li.LEAK_CLASSES))
    shares /= shares.sum(axis=2, keepdims=True)
    return np.concatenate([shares, shares * x[..., None], shares * x[..., None] ** 2], axis=2)


def sums_seen(
    scheme: str, graph: Graph, values: np.ndarray, generator: np.random.Generator
) -> dict[Group, np.ndarray]:
    """Run one summation of values (5, q) and return the sums (q,) over groups of honest nodes that are known."""
    groups = known_sums(scheme, graph, CORRUPT, CYCLE)
    if scheme == Federated.name:
        return {group: values[group[0]] for group in groups}
    if scheme == RingSum.name:
        ring = RingSum(graph, CYCLE, generator)
        found = sums_on_ring(ring.partials(values), CYCLE, CORRUPT)
        return {group: decoded(found[group], ring.step) for group in groups}
    noise = li.MASK_STD * generator.standard_normal((len(graph.arcs.tail), values.shape[1]))
    out = consensus(graph, values, noise, li.LEAK_ROUNDS, c=li.LEAK_CONSTANT, traced=True)
    seen = seen_in_consensus(graph, values, noise, out.trace, CORRUPT)
    view = consensus_view(graph, CORRUPT, li.LEAK_ROUNDS, li.LEAK_CONSTANT)
    return {group: view.weights(group) @ seen for group in groups}


def _views(sums: list[np.ndarray]) -> Iterator[tuple[str, int, np.ndarray]]:
    """Yield what is known after every iteration by each variant, from the sums (N, 3 c) of all iterations."""
    c = li.LEAK_CLASSES
    for iteration, of_one in enumerate(sums, start=1):
        yield li.RECORDS, iteration, of_one[:, c : 2 * c].sum(axis=1, keepdims=True)
        yield li.ONE_ITERATION, iteration, of_one
        yield li.ALL_SO_FAR, iteration, np.hstack(sums[:iteration])


def tabulate(trials: int, seed: int) -> pd.DataFrame:
    """Return the columns of ``li_leakage`` (Fig. 3); the paper's 10^4 trials are run unless ``trials`` is small."""
    many = li.trials_of(trials)
    draws = simulated_stream(seed, "reproduce li", "fig3")
    x = draws.standard_normal((NODES, many))
    values = [statistics(x, draws) for _ in range(li.LEAK_ITERATIONS)]
    whole = leakage.estimate(x[:1].T, x[:1].T, draws).value
    rows = []
    for graph in li.GRAPHS:
        for scheme in li.SCHEMES:
            if graph != li.WITH_CHORD and scheme != "subspace":
                continue  # neither a server nor the cycle minds the chord
            masks = simulated_stream(seed, "reproduce li", "fig3", graph, scheme)
            seen = [sums_seen(scheme, example(graph), v.reshape(NODES, -1), masks) for v in values]
            for node in (li.OTHER_END, li.EXPOSED):
                group = next(g for g in seen[0] if node in g)
                sums = [one[group].reshape(many, -1) for one in seen]
                exact = [v[list(group)].sum(axis=0) for v in values]
                error = max(float(np.abs(a - b).max()) for a, b in zip(sums, exact, strict=True))
                estimated: dict[bytes, leakage.Information] = {}
                for view, iteration, known in _views(sums):
                    # Sums of records are the same in every iteration, up to rounding.
                    key = view.encode() if view == li.RECORDS else known[0].tobytes()
                    if key not in estimated:
                        estimated[key] = leakage.estimate(x[node][:, None], known, masks)
                    found = estimated[key]
                    rows.append(
                        {
                            "graph": graph,
                            "scheme": scheme,
                            "node": node + 1,
                            "group": named(group),
                            "view": view,
                            "iteration": iteration,
                            "information": found.value,
                            "information_se": found.standard_error,
                            "batches": found.batches,
                            "self_information": whole,
                            **normalised("over_self", found, lambda i: i / whole),
                            **normalised("linfoot", found, leakage.linfoot),
                            "linfoot_exact": _exact(view, len(group)),
                            "transcript_error": error,
                            "trials": many,
                            **SOURCE,
                        }
                    )
    return pd.DataFrame(rows)


def normalised(name: str, found: leakage.Information, by: Callable[[float], float]) -> dict[str, float]:
    """Return a normalised information and its interval; either way it grows with the information."""
    low, high = found.interval(li.CONFIDENCE)
    return {name: by(found.value), f"{name}_low": by(low), f"{name}_high": by(high)}


def _exact(view: str, group: int) -> float:
    """Return Linfoot's correlation where it is known: of a sum, and where the records follow up to their order.

    The sums over all classes of B and C are those of x and x^2, which two numbers follow from.
    """
    if view == li.RECORDS or group == 1:
        return float(leakage.linfoot(leakage.of_a_sum(group)))
    return 1.0 if group == 2 else float("nan")


def masks_of_finite_size() -> pd.DataFrame:
    """Return the columns of ``li_masks``: exact information about node 1 against the size of the masks.

    One number of every node, all standard normal; of secure summation with masks that are normal real numbers.
    """
    rows = []
    for graph in li.GRAPHS:
        network = example(graph)
        part = next(g for g in network.components(CORRUPT) if li.OTHER_END in g)
        seen = consensus_view(network, CORRUPT, li.LEAK_ROUNDS, li.LEAK_CONSTANT)
        for std in li.LEAK_MASKS:
            closed = leakage.of_masked(network.part(part).laplacian(), std, part.index(li.OTHER_END))
            rows.append(_mask_row(graph, "subspace", std, seen, closed, len(part)))
    for std in li.LEAK_MASKS:
        rows.append(_mask_row(li.CYCLE_ALONE, "secure_sum", std, ring_view(CYCLE, CORRUPT), None, 2))
    return pd.DataFrame(rows).assign(data="one standard normal number a node", substitute=None)


def _mask_row(graph: str, scheme: str, std: float, view, closed: float | None, group: int) -> dict:
    return {
        "graph": graph,
        "scheme": scheme,
        "mask_std": std,
        "information": view.information(li.OTHER_END, 1.0, std),
        "closed_form": closed,
        "of_the_sum": leakage.of_a_sum(group),
    }
