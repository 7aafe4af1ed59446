"""The sound release fitted by nodes: each adds its share of the noise before anything is summed.

What any t colluding nodes see, transcripts and result, costs the (epsilon, delta) asked for; who sees the result
alone sees more noise than that (docs/proofs/shared_noise.md).

How circuits share the noise of a sound release, from configuration and the public list of meters.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from meterdp.errors import InputError
from meterdp.federated.adversary import smallest_group
from meterdp.federated.circuits import GRAPHS, Circuits
from meterdp.federated.graph import Graph, hamiltonian_cycle
from meterdp.federated.summation import STEP, EdgeMasks, Federated, RingSum, Summation
from meterdp.mechanisms.interface import Released
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.plan import ALONE, SharedNoise, Shares
from meterdp.privacy.mechanism import NoisyQuery, measure_with
from meterdp.privacy.noise import GaussianSource

# Gives a node the sum over all nodes of a vector of theirs.
Total = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class SharedSums:
    """How ``colluding`` of the nodes share noise and add up what they have put it on."""

    scheme: str
    graph: Graph
    colluding: int

    @cached_property
    def cycle(self) -> tuple[int, ...] | None:
        return hamiltonian_cycle(self.graph) if self.scheme == RingSum.name else None

    @cached_property
    def shares(self) -> Shares:
        return shares_for(self.scheme, self.graph, self.colluding, self.cycle)

    def summation(self, generator: np.random.Generator, grid: float) -> Summation:
        """Return the scheme, all nodes in one process, for simulation; ``grid`` of the noise is 0 in a study."""
        if self.scheme == Federated.name:
            return Federated(self.graph)
        # A node's noisy statistics must not be refused for their size: that would tell something of them alone.
        step = grid or STEP
        if self.scheme == RingSum.name:
            return RingSum(self.graph, self.cycle, generator, step=step, wraps=True)
        return EdgeMasks(self.graph, generator, step, wraps=True)


def shares_for(scheme: str, graph: Graph, colluding: int, cycle: Sequence[int] | None = None) -> Shares:
    """Return how the noise must be shared so that any ``colluding`` nodes see enough of it, from public numbers.

    Raises as :func:`~meterdp.federated.adversary.smallest_group`.
    """
    return Shares(graph.nodes, smallest_group(scheme, graph, colluding, cycle), colluding)


def release_at_node(sound: Proven, x: np.ndarray, noise: GaussianSource, total: Total, draws: int = 1) -> Released:
    """Run a node's side of a release: its records x (n_i, d) and its own share of the noise, and sums from everybody.

    ``sound`` is calibrated with ``shares`` among its public settings, the same at every node. ``total`` takes (q,)
    float64 and returns the sum over nodes, the same to the bit at every node. It must not refuse a vector for what is
    in it: that would tell something of this node's alone. What is returned is the same at every node, marginals of
    the first draw included if there are any.
    """
    part, grid = sound.public.sound.shares.of_node, sound.public.sound.grid

    measure_own = measure_with(noise, grid)

    def measure(step: NoisyQuery, stack: np.ndarray) -> np.ndarray:
        # All shares together hide what the step is sensitive to, so this one is charged as its part of that.
        share = replace(step, sensitivity=part * step.sensitivity, noise_std=part * step.noise_std)
        own = measure_own(share, stack)
        return total(own.ravel()).reshape(own.shape)

    released = sound.run(x, measure, draws)
    if sound.plan.step("marginals") is None:
        return released
    first = replace(released, mixtures=released.mixtures.slice(0, 1), records=released.records[:1])
    return replace(released, marginals=sound.run_marginals(x, first, measure)[0])


def release_together(
    sound: Proven,
    shared: SharedSums,
    parts: Sequence[np.ndarray],
    noises: Sequence[GaussianSource],
    generator: np.random.Generator,
    draws: int = 1,
) -> list[Released]:
    """Run all nodes in one process, a thread each, and return what every one of them holds at the end.

    ``noises`` are one source for every node, independent of each other; ``generator`` makes masks, for simulation.
    Raises :class:`InputError` if the records are not as many as public, ValueError if mechanism, nodes and noises do
    not belong together.
    """
    n, public = len(parts), sound.public
    if public.sound.shares != shared.shares:
        raise ValueError("the mechanism was calibrated for other shares of the noise")
    if not n == shared.graph.nodes == len(noises) == len(set(map(id, noises))):
        raise ValueError("every node needs a part of the records and a source of noise of its own")
    if public.sound.adjacency == "replace_one" and sum(map(len, parts)) != public.records:
        raise InputError(
            "are not as many as public", field="parts", hint="give every record of the export to one node"
        )
    summation = shared.summation(generator, public.sound.grid)
    vectors, sums = [np.empty(0)] * n, [np.empty(0)] * n
    failed: list[BaseException] = []

    def add_up() -> None:
        # The first node's sum is passed on: a class's principal axes may depend on the last bits, and statistics that
        # nodes took along different axes must not be added up.
        sums[:] = [summation.total(np.stack(vectors)).at_node[0]] * n

    together = threading.Barrier(n, action=add_up)

    def run(i: int) -> None:
        def total(vector: np.ndarray) -> np.ndarray:
            vectors[i] = vector
            together.wait()
            return sums[i]

        try:
            out[i] = release_at_node(sound, parts[i], noises[i], total, draws)
        except threading.BrokenBarrierError:
            pass
        except BaseException as error:
            failed.append(error)
            together.abort()

    out: list[Released | None] = [None] * n
    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return out


def shared_noise(federation: Mapping | None, meters: pa.Table) -> SharedNoise | None:
    """Return how the circuits share the noise, None where there are none.

    ``meters`` is the table of that name, of a release that of the public list. Raises as
    :meth:`~meterdp.federated.circuits.Circuits.of`, or if the graph does not allow the scheme.
    """
    if federation is None or federation["by"] is None:
        return None
    graph = Circuits.of(meters, federation).graph
    sums = sums_of(federation, graph, federation["colluding"])
    parameters = {"by": federation["by"], "scheme": sums.scheme, "graph": _name_of(federation["graph"], graph)}
    return SharedNoise(sums.shares, parameters)


def sums_of(federation: Mapping, graph: Graph, colluding: int) -> SharedSums:
    """Return how circuits add up what they have put noise on, if so many of them collude."""
    return SharedSums(federation["scheme"], graph, colluding)


def shares_of(federation: Mapping | None, meters: pa.Table) -> Shares:
    """Return the shares of :func:`shared_noise`, those of one holder where there are no circuits."""
    shared = shared_noise(federation, meters)
    return ALONE if shared is None else shared.shares


def _name_of(graph: str, of_circuits: Graph) -> str:
    """Return the name of a graph, or a digest of an edge file's edges between circuits by number."""
    if graph in GRAPHS:
        return graph
    return "sha256 of edges " + hashlib.sha256(of_circuits.edges.astype("<i8").tobytes()).hexdigest()
