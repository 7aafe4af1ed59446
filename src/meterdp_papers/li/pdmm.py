"""Average consensus by PDMM with subspace perturbation (Li et al., 4.1 and 4.2; Zhang and Heusdens 2018).

Every arc i|j has a dual variable lambda_{i|j}; what they hold at the start, large random numbers sent to one
neighbour each, hides the nodes' values and does not move the average. As printed, (9) diverges (defect D1): the
update that converges takes the neighbour's dual variable, lambda_{i|j} <- lambda_{j|i} + c B_{i|j} (y_i - y_j).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, get_args

import numpy as np

from meterdp.core.noise import fixed_normals, keyed_generator
from meterdp.errors import InputError
from meterdp.federated.graph import Graph, require_connected
from meterdp.federated.summation import Totals

Schedule = Literal["synchronous", "asynchronous"]
DualUpdate = Literal["corrected", "corrected_neighbours", "printed", "printed_neighbours"]
# Rounds after which an average that has not settled never will.
MOST_ROUNDS = 100_000
# Of the dual noise, that a sum is taken to be exact to. Rounding leaves about 1e-16 of it.
ACCURACY = 1e-13
# Beyond what public numbers needed, as the nodes' own may lie along slower directions.
_ROUNDS_MARGIN = 1.25


@dataclass(frozen=True)
class Consensus:
    """What a consensus came to: every node's idea of the average (n, q), and y after every round (rounds, n, q) if
    asked for.

    ``messages`` are of y over one edge each and, once, of the dual variables.
    """

    at_node: np.ndarray
    messages: int
    trace: np.ndarray | None = None


def consensus(
    graph: Graph,
    values: np.ndarray,
    dual_noise: np.ndarray,
    rounds: int,
    *,
    c: float,
    schedule: Schedule = "synchronous",
    dual_update: DualUpdate = "corrected",
    generator: np.random.Generator | None = None,
    traced: bool = False,
) -> Consensus:
    """Average the nodes' values s_i (n, q) in a public number of rounds; ``dual_noise`` (2m, q) is lambda_{i|j} at
    the start, in the order of ``graph.arcs``.

    Li et al. stop at a distance from the average, which no node knows, and print the condition the wrong way round
    (defect D3). ``c`` is the constant of (8) and (9). Nodes act all at once, or one at a time drawn uniformly from
    ``generator`` (Algorithm 1), n activations a round. ``dual_update`` is (9) as corrected or as printed, by an
    active node for its own lambda_{i|j}, or, as line 6 of Algorithm 1 says, by its neighbours for their lambda_{j|i}.
    As printed it diverges in the first case and settles on a wrong average in the second (defect D1): these are there
    to be shown.
    """
    require_connected(graph)
    if not c > 0:
        raise InputError("is not positive", field="c", hint="use a positive number")
    if dual_update not in get_args(DualUpdate):
        raise ValueError(f"there is no update '{dual_update}'")
    if schedule == "synchronous":
        advance = _synchronous(graph, values, dual_noise, c, dual_update)
    else:
        advance = _asynchronous(graph, values, dual_noise, c, dual_update, generator)
    y, trace = np.zeros_like(values), []
    for _ in range(rounds):
        y = advance(y)
        if traced:
            trace.append(y.copy())
    return Consensus(y, len(graph.arcs.tail) * (rounds + 1), np.array(trace) if traced else None)


def _synchronous(graph: Graph, values: np.ndarray, dual_noise: np.ndarray, c: float, dual_update: DualUpdate):
    arcs, dual = graph.arcs, dual_noise.astype(float)
    if dual_update not in ("corrected", "printed"):
        raise InputError("is of one active node at a time", field="dual_update", hint="use the asynchronous schedule")

    signs, shares = arcs.signs[:, None], (1 + c * np.diff(arcs.starts))[:, None]

    def advance(y: np.ndarray) -> np.ndarray:
        nonlocal dual
        near, dual_in = y[arcs.head], dual[arcs.reverse]
        new = (values + np.add.reduceat(c * near - signs * dual_in, arcs.starts[:-1], axis=0)) / shares  # (8)
        with np.errstate(over="ignore", invalid="ignore"):
            dual = (dual_in if dual_update == "corrected" else dual) + c * signs * (new[arcs.tail] - near)  # (9)
        return new

    return advance


def _asynchronous(
    graph: Graph,
    values: np.ndarray,
    dual_noise: np.ndarray,
    c: float,
    dual_update: DualUpdate,
    generator: np.random.Generator,
):
    arcs, dual = graph.arcs, dual_noise.astype(float)
    signs = arcs.signs[:, None]
    # An activation takes microseconds, which looking up what belongs to a node would treble. Per node: own arcs and
    # their reverses, the neighbours, B_{i|j}, c B_{i|j} and 1 + c degree.
    of_node = [
        (own, arcs.reverse[own], arcs.head[own], signs[own], c * signs[own], 1 + c * (own.stop - own.start))
        for own in itertools.starmap(slice, itertools.pairwise(arcs.starts.tolist()))
    ]
    neighbours_update = dual_update.endswith("_neighbours")

    def advance(y: np.ndarray) -> np.ndarray:
        y = y.copy()
        for i in generator.integers(graph.nodes, size=graph.nodes).tolist():
            own, there, head, sign, step, share = of_node[i]
            near, dual_in = y.take(head, axis=0), dual.take(there, axis=0)
            new = (values[i] + np.add.reduce(c * near - sign * dual_in, axis=0)) / share  # (8)
            y[i] = new
            change = step * (new - near)  # of (9), for the node or, with both signs turned, for its neighbours
            if neighbours_update:
                dual[there] = (dual[own] if dual_update == "corrected_neighbours" else dual_in) + change
            else:
                dual[own] = (dual_in if dual_update == "corrected" else dual[own]) + change
        return y

    return advance


def rounds_for(graph: Graph, c: float, accuracy: float, schedule: Schedule = "synchronous") -> int:
    """Return a public number of rounds after which an average is exact to ``accuracy`` times the dual noise.

    It is what public numbers in place of values and dual noise need, and a quarter more.
    """
    # More columns are more directions that a slow part may hide in.
    values = fixed_normals("rounds of a consensus, values", (graph.nodes, 8))
    dual_noise = fixed_normals("rounds of a consensus, dual noise", (len(graph.arcs.tail), 8))
    if schedule == "asynchronous":
        order = keyed_generator(0, "rounds of a consensus", "order")
        advance = _asynchronous(graph, values, dual_noise, c, "corrected", order)
    else:
        advance = _synchronous(graph, values, dual_noise, c, "corrected")
    y, average = np.zeros_like(values), values.mean(axis=0)
    within = 0
    for done in range(1, MOST_ROUNDS + 1):
        y = advance(y)
        within = within + 1 if np.abs(y - average).max() <= accuracy else 0
        if within == 2:  # an error that swings passes zero
            return int(np.ceil(_ROUNDS_MARGIN * done))
    raise InputError(
        f"is out of reach within {MOST_ROUNDS} rounds", field="accuracy", hint="use another c or a larger number"
    )


def constant_for(graph: Graph) -> float:
    """Return a public constant c with which a consensus on this graph is quick.

    The quickest of nine around 1/sqrt(l_2 l_n), of the second and the largest eigenvalue of the graph's Laplacian.
    """
    require_connected(graph)
    values = np.linalg.eigvalsh(graph.laplacian())
    near = 1 / np.sqrt(values[1] * values[-1])
    return float(min(near * 2.0 ** np.arange(-2, 2.5, 0.5), key=lambda c: rounds_for(graph, c, 1e-4)))


@dataclass(frozen=True)
class Subspace:
    """Sums by consensus with subspace noise, all nodes in one process.

    ``mask_std`` is the standard deviation of lambda_{i|j} at the start, in the unit of the values; rounding leaves an
    error of about 1e-16 times it. ``c`` is by default :func:`constant_for` the graph, ``rounds`` the public number
    for :data:`ACCURACY`.
    """

    graph: Graph
    generator: np.random.Generator
    mask_std: float = 1e3
    c: float | None = None
    rounds: int | None = None
    schedule: Schedule = "synchronous"
    name: ClassVar[str] = "subspace"

    @cached_property
    def constant(self) -> float:
        return self.c or constant_for(self.graph)

    @cached_property
    def round_count(self) -> int:
        return self.rounds or rounds_for(self.graph, self.constant, ACCURACY, self.schedule)

    def total(self, values: np.ndarray) -> Totals:
        n, q = values.shape
        dual_noise = self.mask_std * self.generator.standard_normal((len(self.graph.arcs.tail), q))
        out = consensus(
            self.graph,
            values,
            dual_noise,
            self.round_count,
            c=self.constant,
            schedule=self.schedule,
            generator=self.generator,
        )
        return Totals(n * out.at_node, self.round_count, out.messages, out.messages * q)
