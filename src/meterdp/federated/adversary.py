"""What corrupt nodes learn exactly: whose sums, and when the records behind them can be solved for.

All of it follows from the graph, the scheme and public numbers, so it can be said before a run starts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from meterdp.errors import InputError
from meterdp.federated.graph import Graph

# Sets of colluding nodes that are looked through one by one.
MOST_SETS = 200_000


def known_sums(
    scheme: str,
    graph: Graph,
    corrupt: Collection[int],
    cycle: Sequence[int] | None = None,
    eavesdropper: bool = False,
) -> list[tuple[int, ...]]:
    """Return the groups of honest nodes whose sums are known exactly after every summation, in order.

    In a federated sum the server, which is none of the nodes, is corrupt besides: it knows every node's own (6). By
    secure summation a stretch of the cycle between two corrupt nodes is known, as its partial sums are at both ends:
    the first node's random number cancels once the sum is known (11), (12). By subspace perturbation (10) and masks
    on edges it is the honest nodes that are joined without passing a corrupt one; other combinations are hidden by
    the dual variables or masks between honest neighbours. An ``eavesdropper`` hears all messages but the encrypted
    first exchange of these two.
    """
    honest = [i for i in range(graph.nodes) if i not in set(corrupt)]
    if scheme == "federated" or (scheme == "secure_sum" and eavesdropper):
        return [(i,) for i in honest]
    if scheme in ("subspace", "edge_masks"):
        return graph.components(corrupt)
    if scheme != "secure_sum":
        raise InputError(f"there is no scheme '{scheme}'", field="scheme", hint="use another")
    around = list(cycle)
    cuts = [place for place, node in enumerate(around) if node in set(corrupt)]
    if not cuts:
        return [tuple(honest)]
    turned = around[cuts[0] :] + around[: cuts[0]]
    groups: list[list[int]] = []
    for node in turned:
        if node in set(corrupt):
            groups.append([])
        else:
            groups[-1].append(node)
    return sorted(tuple(sorted(group)) for group in groups if group)


def smallest_group(scheme: str, graph: Graph, colluding: int, cycle: Sequence[int] | None = None) -> int:
    """Return how many honest nodes are in the smallest group that the worst ``colluding`` nodes know the sum of.

    Raises :class:`InputError` if no honest node is left, or there are too many sets of nodes to look through.
    """
    n = graph.nodes
    if not 0 <= colluding < n:
        raise InputError(
            f"is {colluding} of {n} nodes", field="colluding", hint="use a whole number from 0, below the nodes"
        )
    if scheme == "federated" or colluding == n - 1:
        return 1
    if scheme == "secure_sum":
        # t cuts leave n - t nodes in t stretches; two around one node are the worst.
        return n - colluding if colluding < 2 else 1
    fewest_neighbours = int(graph.degrees.min())
    if fewest_neighbours <= colluding:
        return 1  # all neighbours of one node
    if fewest_neighbours == n - 1:
        return n - colluding  # whoever they are
    require_few_sets(n, colluding)
    # Whoever colludes with fewer sees less.
    return min(
        len(group)
        for corrupt in combinations(range(n), colluding)
        for group in known_sums(scheme, graph, corrupt, cycle)
    )


def require_few_sets(nodes: int, colluding: int) -> None:
    """Refuse to look through too many sets of colluding nodes."""
    if math.comb(nodes, colluding) > MOST_SETS:
        raise InputError(
            f"are too many of {nodes} nodes for every set of them to be looked at",
            field="colluding",
            hint="use fewer, or a smaller graph",
        )


@dataclass(frozen=True)
class Solvable:
    """Whether the records behind the known sum of a group follow from the sums of some iterations.

    ``unknowns`` are the numbers in their records, ``per_iteration`` the sums that one iteration tells; those of
    ``from_iteration`` iterations are the first to be as many, 0 where none are.
    """

    group: tuple[int, ...]
    unknowns: int
    per_iteration: int
    from_iteration: int


def solvable(
    groups: Sequence[Sequence[int]], records: Mapping[int, int] | Sequence[int], dimension: int, classes: int
) -> list[Solvable]:
    """Count equations and unknowns of every group, from public numbers: ``records`` of every node, ``dimension`` d, K
    ``classes``.

    As many equations as unknowns pin down the records, up to their order within the group, except in unlucky cases:
    the sums are smooth functions of the records that change from iteration to iteration with the mixture. Nothing
    says that fewer protect: one sum over two records of one household already tells much.

    Of the K (1 + d + d (d + 1)/2) sums of the first iteration one is the number of records. Of those of a later one d
    + d (d + 1)/2 follow from an earlier one besides: over all classes, first and second moments do not depend on
    responsibilities.
    """
    moments = dimension + dimension * (dimension + 1) // 2
    first = classes * (1 + moments) - 1
    later = first - moments
    out = []
    for group in groups:
        unknowns = dimension * sum(records[i] for i in group)
        more = max(0, unknowns - first)
        from_iteration = 1 + (math.ceil(more / later) if later and more else 0)
        out.append(Solvable(tuple(group), unknowns, first, from_iteration if later or not more else 0))
    return out
