"""The mixture of a study, fitted over the circuits of its export (Li et al., Algorithm 2), in one process.

The start is public except for one more sum: pooled mean and covariance of all circuits, and from them start classes
by the rule of the sound release. A circuit whose households have no valid profile takes part with zeros.

What each layer of a federated study protects, as one table that is computed from graph, scheme and settings.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from meterdp.errors import InputError
from meterdp.federated.adversary import known_sums, smallest_group, solvable
from meterdp.federated.circuits import SCHEMES, Circuits
from meterdp.federated.em import EmRun, distributed_em, entries_of
from meterdp.federated.graph import Graph, hamiltonian_cycle
from meterdp.federated.shared_noise import sums_of
from meterdp.federated.tables import FEDERATION_PROTECTS
from meterdp.mechanisms.proven.domain import start_classes
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import EIGENVALUE_FLOOR, raise_eigenvalues
from meterdp.mixture.study import require_records
from meterdp.privacy import gaussian
from meterdp.profiles.vector import Records

# Of groups whose records might be solved for; beyond, a household more makes no difference.
# Steps of EM that circuits take together, from a public start.
ITERATIONS = 50
_MOST_HOUSEHOLDS = 10**9


@dataclass(frozen=True)
class FederatedFit:
    """The start, the one sum it is made of, and the fit."""

    start: Mixture
    pooled: EmRun
    run: EmRun


def fit_over_circuits(
    records: Records, circuits: Circuits, federation: Mapping, mixture: Mapping, generator: np.random.Generator
) -> FederatedFit:
    """Fit one mixture to the valid records of all circuits.

    ``federation`` and ``mixture`` are sections of the configuration. ``generator`` masks what is sent: for a study,
    in which that hides nothing from who runs it. Raises :class:`InputError` if the graph does not allow the scheme,
    or there are fewer valid records than classes.
    """
    require_records(records, mixture["classes"])
    node = circuits.node[records.household]
    parts = [records.log_kwh[records.valid & (node == i)] for i in range(circuits.graph.nodes)]
    summation = SCHEMES[federation["scheme"]](circuits.graph, generator)
    pooled = distributed_em(
        parts, one_class(records.log_kwh.shape[1]), 1, summation, eigenvalue_floor=EIGENVALUE_FLOOR
    )
    start = start_from(pooled.mixture, mixture["classes"], EIGENVALUE_FLOOR)
    return FederatedFit(
        start, pooled, distributed_em(parts, start, ITERATIONS, summation, eigenvalue_floor=EIGENVALUE_FLOOR)
    )


def one_class(dimension: int) -> Mixture:
    """Return the public mixture whose first step of EM is the pooled mean and covariance of the records."""
    return Mixture(np.ones(1), np.zeros((1, dimension)), np.eye(dimension)[None])


def start_from(pooled: Mixture, classes: int, eigenvalue_floor: float) -> Mixture:
    """Return the start that follows from the pooled mean and covariance, classes of equal weight."""
    means, covariances = start_classes(pooled.means, pooled.covariances, classes)
    return Mixture(np.full(classes, 1 / classes), means[0], raise_eigenvalues(covariances[0], eigenvalue_floor)[0])


def solvable_households(dimension: int, classes: int, iterations: int) -> int:
    """Return how many households a group may have for their records to follow from its sums of all iterations.

    The sum the start is made of tells nothing that those of the first iteration do not tell.
    """

    def needed(households: int) -> float:
        found = solvable([(0,)], [households], dimension, classes)[0].from_iteration
        return found or np.inf

    return bisect_right(range(_MOST_HOUSEHOLDS), iterations, lo=1, key=needed) - 1


def announce(circuits: Circuits, federation: Mapping, dimension: int, classes: int) -> None:
    """Say before the fit what it will give away to whom, from public numbers alone."""
    scheme, t = federation["scheme"], federation["colluding"]
    group = smallest_group(scheme, circuits.graph, t)
    if scheme == "federated":
        learnt = "The server learns exactly what each of them sums up"
    else:
        learnt = f"Who controls {t} of them learns exactly only sums over {group} or more of the others"
    households = solvable_households(dimension, classes, ITERATIONS)
    print(
        f"{len(circuits.names)} circuits fit one mixture, scheme {scheme}. {learnt}: "
        f"{entries_of(classes, dimension):,} numbers in each of {ITERATIONS} iterations. From these every record can "
        f"be solved for if there are {households:,} households or fewer.",
        file=sys.stderr,
        flush=True,
    )


def mixture_columns(fit: FederatedFit) -> dict[str, object]:
    """Columns of the table ``federated_mixture``."""
    stages = {"start": fit.start, "fit": fit.run.mixture}
    k = fit.start.classes
    return {
        "stage": np.repeat(list(stages), k),
        "component": np.tile(np.arange(1, k + 1), len(stages)),
        "weight": np.concatenate([m.weights for m in stages.values()]),
        "mean_log_kwh": [mean for m in stages.values() for mean in m.means],
        "covariance": [c.ravel() for m in stages.values() for c in m.covariances],
    }


def iteration_columns(fit: FederatedFit, scheme: str) -> dict[str, object]:
    """Columns of the table ``federation``; every iteration of the fit takes the same messages."""
    steps = len(fit.run.log_likelihood) - 1
    sent = {
        column: [getattr(fit.pooled, name), *[getattr(fit.run, name) // steps] * steps]
        for column, name in (("round_count", "rounds"), ("message_count", "messages"), ("number_count", "numbers"))
    }
    return {
        "scheme": [scheme] * (steps + 1),
        "iteration": np.arange(steps + 1),
        "log_likelihood": fit.run.log_likelihood,
        **sent,
    }


# Numbers of colluding circuits that the table tells beside the configured one, as far as two others are left.
COLLUDING = (1, 3, 6)


def protection_rows(
    circuits: Circuits, federation: Mapping, dimension: int, classes: int, epsilon: float, delta: float
) -> list[dict[str, object]]:
    """Return rows of the table ``federation_protects``; epsilon and delta are those of the sound release."""
    n, graph = len(circuits.names), circuits.graph
    solvable = solvable_households(dimension, classes, ITERATIONS)
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
    for t, seen in sound_epsilons(graph, federation, (None, *collude), epsilon, delta):
        against, used = "everybody" if t is None else "circuits", t in (None, federation["colluding"])
        rows.append(_row("sound", chosen, used, against, t, epsilon=seen, delta=delta))
    return rows


def sound_epsilons(
    graph: Graph, federation: Mapping, colluding: Sequence[int | None], epsilon: float, delta: float
) -> Iterator[tuple[int | None, float]]:
    """Yield what colluding circuits see of a sound release, as epsilon at ``delta`` (docs/proofs/shared_noise.md).

    The release is calibrated for the configuration's number of colluding circuits; ``colluding`` holds other numbers
    of them, and None for whoever has the released files alone.
    """

    mu, calibrated = gaussian.mu_for(epsilon, delta), sums_of(federation, graph, federation["colluding"]).shares
    for t in colluding:
        hiding = graph.nodes if t is None else sums_of(federation, graph, t).shares.honest
        seen = mu * math.sqrt(calibrated.honest / hiding)
        yield t, gaussian.epsilon_for(seen, delta)


def _cycle(scheme: str, graph: Graph) -> tuple[int, ...] | None:
    """Return the cycle of secure summation, None for other schemes and for graphs that have none."""
    try:
        return hamiltonian_cycle(graph) if scheme == "secure_sum" else None
    except InputError:
        return None


def _row(layer, scheme, used, against, colluding=None, group=None, solvable=None, epsilon=None, delta=None):
    values = (layer, scheme, used, against, colluding, group, solvable, epsilon, delta)
    return dict(zip((column.name for column in FEDERATION_PROTECTS.columns), values, strict=True))
