"""What each layer of a federated study protects, as one table that is computed from graph, scheme and settings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from meterdp.errors import InputError
from meterdp.federated.adversary import known_sums, smallest_group
from meterdp.federated.circuits import Circuits
from meterdp.federated.configured import sums_of
from meterdp.federated.graph import Graph, hamiltonian_cycle
from meterdp.federated.schemes import SCHEMES
from meterdp.federated.study import solvable_households
from meterdp.federated.tables import FEDERATION_PROTECTS
from meterdp.privacy import gaussian
from meterdp.privacy.gaussian import epsilon_after

# Numbers of colluding circuits that the table tells beside the configured one, as far as two others are left.
COLLUDING = (1, 3, 6)


def protection_rows(
    circuits: Circuits, federation: Mapping, dimension: int, classes: int, epsilon: float, delta: float
) -> list[dict[str, object]]:
    """Return rows of the table ``federation_protects``.

    Parameters
    ----------
    circuits : Circuits
    federation : mapping
        Section of the configuration.
    dimension, classes : int
        d and K.
    epsilon, delta : float
        Of the sound release.
    """
    n, graph = len(circuits.names), circuits.graph
    solvable = solvable_households(dimension, classes, federation["iterations"])
    chosen = federation["scheme"]
    collude = sorted({t for t in COLLUDING if t < n - 1} | {federation["colluding"]})
    rows = [_row("readings", "", True, "nobody")]
    for scheme in SCHEMES:
        cycle = _cycle(scheme, graph)
        if scheme == "secure_sum" and cycle is None:
            continue
        used = scheme == chosen
        if scheme == "federated":
            rows.append(_row("transcript", scheme, used, "server", group=1, solvable=solvable))
            continue
        heard = min(map(len, known_sums(scheme, graph, (), cycle, eavesdropper=True)))
        rows.append(_row("transcript", scheme, used, "listener", group=heard, solvable=solvable))
        for t in collude:
            own = used and t == federation["colluding"]
            group = smallest_group(scheme, graph, t, cycle)
            rows.append(_row("transcript", scheme, own, "circuits", t, group, solvable))
    once = solvable_households(dimension, classes, 1)
    rows.append(_row("mixture", "", True, "everybody", group=n, solvable=once))
    return rows + [
        _row("sound", chosen, t in (None, federation["colluding"]), _whom(t), t, epsilon=seen, delta=delta)
        for t, seen in sound_epsilons(graph, federation, (None, *collude), epsilon, delta)
    ]


def sound_epsilons(
    graph: Graph, federation: Mapping, colluding: Sequence[int | None], epsilon: float, delta: float
) -> Iterator[tuple[int | None, float]]:
    """Yield what colluding circuits see of a sound release, as epsilon at ``delta`` (docs/proofs/shared_noise.md).

    Parameters
    ----------
    graph : Graph
    federation : mapping
        Section of the configuration; the release is calibrated for its number of colluding circuits.
    colluding : sequence of int or None
        Numbers of circuits; None for whoever has the released files alone.
    epsilon, delta : float
        Of the release.
    """

    mu, calibrated = gaussian.mu_for(epsilon, delta), sums_of(federation, graph, federation["colluding"]).shares
    for t in colluding:
        hiding = graph.nodes if t is None else sums_of(federation, graph, t).shares.honest
        seen = mu * math.sqrt(calibrated.honest / hiding)
        yield t, epsilon_after(seen, 0.0, 1, delta, 1)


def _whom(colluding: int | None) -> str:
    return "everybody" if colluding is None else "circuits"


def _cycle(scheme: str, graph: Graph) -> tuple[int, ...] | None:
    """Return the cycle of secure summation, None for other schemes and for graphs that have none."""
    try:
        return hamiltonian_cycle(graph) if scheme == "secure_sum" else None
    except InputError:
        return None


def _row(layer, scheme, used, against, colluding=None, group=None, solvable=None, epsilon=None, delta=None):
    values = (layer, scheme, used, against, colluding, group, solvable, epsilon, delta)
    return dict(zip((column.name for column in FEDERATION_PROTECTS.columns), values, strict=True))
