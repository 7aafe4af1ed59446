"""The sound release fitted by nodes: each adds its share of the noise before anything is summed.

What any t colluding nodes see, transcripts and result, costs the (epsilon, delta) asked for; who sees the result
alone sees more noise than that (docs/proofs/shared_noise.md).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from meterdp.core.noise import GaussianSource
from meterdp.distributed.adversary import require_few_sets, smallest_group
from meterdp.distributed.graph import Graph
from meterdp.distributed.summation import Summation
from meterdp.mechanisms.interface import Released
from meterdp.mechanisms.sound.mechanism import Sound
from meterdp.mechanisms.sound.shares import Shares
from meterdp.mechanisms.sound.stack import Step

# Gives a node the sum over all nodes of a vector of theirs.
Total = Callable[[np.ndarray], np.ndarray]


def shares_for(
    scheme: str,
    graph: Graph,
    colluding: int,
    cycle: Sequence[int] | None = None,
    mask_ratio: float = np.inf,
) -> Shares:
    """Return how the noise must be shared so that any ``colluding`` nodes see enough of it, from public numbers.

    Parameters
    ----------
    scheme : {"federated", "secure_sum", "subspace", "edge_masks"}
    graph : Graph
    colluding : int
        t.
    cycle : sequence of int, optional
        Of secure summation.
    mask_ratio : float
        Of the dual noise of subspace perturbation to a node's share of the noise (standard deviations).

    Raises
    ------
    InputError
        If no honest node is left, or there are too many sets of nodes to look through.
    """
    group = smallest_group(scheme, graph, colluding, cycle)
    if scheme != "subspace" or np.isinf(mask_ratio) or group == 1:
        return Shares(graph.nodes, group, colluding)
    require_few_sets(graph.nodes, colluding)
    sets = combinations(range(graph.nodes), colluding)
    return Shares(graph.nodes, min(hiding_shares(graph, corrupt, mask_ratio) for corrupt in sets), colluding)


def hiding_shares(graph: Graph, corrupt: Sequence[int], mask_ratio: float) -> float:
    """Return how many nodes' noise hides each honest node from the corrupt ones, at least (Lemma 2 of the note).

    For a part of h honest nodes that are joined, 1 / (1/h + (1 - 1/h)/(1 + mask_ratio^2 l/2)) with l the second
    eigenvalue of its Laplacian; h for large masks.

    Parameters
    ----------
    graph : Graph
    corrupt : sequence of int
    mask_ratio : float
        As in :func:`shares_for`.
    """
    fewest = np.inf
    for nodes in graph.components(corrupt):
        h, second = len(nodes), 0.0
        if h > 1:
            # A little below, for the rounding of eigenvalues.
            second = (1 - 1e-9) * np.linalg.eigvalsh(graph.part(nodes).laplacian())[1]
        fewest = min(fewest, 1 / (1 / h + (1 - 1 / h) / (1 + mask_ratio**2 / 2 * second)))
    return float(fewest)


def release_at_node(
    sound: Sound, x: np.ndarray, noise: GaussianSource, total: Total, finite_masks: bool, draws: int = 1
) -> Released:
    """Run a node's side of a release: its records and its share of the noise, and sums from everybody.

    Parameters
    ----------
    sound : Sound
        Calibrated, with ``shares`` among its public settings; the same at every node.
    x : (n_i, d) float64
        The node's records, none or more.
    noise : GaussianSource
        The node's own.
    total : callable
        Takes (q,) float64 and returns the sum over nodes, the same to the bit at every node.
    finite_masks : bool
        Of the scheme; vectors are then in units of the node's share of the noise, so that masks have a scale.
    draws : int
        Runs at once, for studies.

    Returns
    -------
    Released
        The same at every node, marginals of the first draw included if there are any.
    """
    part, grid = sound.public.sound.shares.of_node, sound.public.sound.grid

    def measure(step: Step, stack: np.ndarray) -> np.ndarray:
        own = noise.add_gaussian(stack, part * step.noise_std)
        scale = part * step.noise_std if finite_masks else 1.0
        noisy = total(own.ravel() / scale).reshape(own.shape) * scale
        # On a grid the sum is one of its multiples; this takes away the rounding of masks.
        return np.rint(noisy / grid) * grid if grid > 0 else noisy

    released = sound.run(x, measure, draws)
    if sound.plan.step("marginals") is None:
        return released
    first = replace(released, mixtures=released.mixtures.slice(0, 1), records=released.records[:1])
    return replace(released, marginals=sound.run_marginals(x, first, measure)[0])


def release_together(
    sound: Sound,
    parts: Sequence[np.ndarray],
    noises: Sequence[GaussianSource],
    summation: Summation,
    draws: int = 1,
) -> list[Released]:
    """Run all nodes in one process, a thread each, and return what every one of them holds at the end.

    Parameters
    ----------
    sound : Sound
    parts : sequence of (n_i, d) float64
        Records of every node.
    noises : sequence of GaussianSource
        One for every node, independent of each other.
    summation : Summation
    draws : int
    """
    n = len(parts)
    vectors, sums = [np.empty(0)] * n, [np.empty(0)] * n
    failed: list[BaseException] = []

    def add_up() -> None:
        # The first node's sum is passed on: a class's principal axes may hang on the last bits, and statistics that
        # nodes took along different axes must not be added up.
        sums[:] = [summation.total(np.stack(vectors)).at_node[0]] * n

    together = threading.Barrier(n, action=add_up)

    def run(i: int) -> None:
        def total(vector: np.ndarray) -> np.ndarray:
            vectors[i] = vector
            together.wait()
            return sums[i]

        try:
            out[i] = release_at_node(sound, parts[i], noises[i], total, summation.finite_masks, draws)
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
