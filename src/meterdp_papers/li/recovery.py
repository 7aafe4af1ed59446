"""Records of honest nodes, solved for from the sums that corrupt nodes learn over iterations of EM.

Responsibilities are functions of the records and of the public mixture of the iteration, so every iteration gives new
equations in the same unknowns. Records are found up to their order: sums do not say whom they belong to.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from scipy.optimize import least_squares, linear_sum_assignment

from meterdp.federated.adversary import known_sums, solvable
from meterdp.federated.em import local_statistics, m_step
from meterdp.federated.graph import CORRUPT
from meterdp.federated.summation import Federated
from meterdp.mixture.draws import Mixture
from meterdp.simulate.fleet import simulated_stream
from meterdp_papers.li import tables as li
from meterdp_papers.li.exposure import CYCLE, NODES, SOURCE, Group, example, named, statistics, sums_seen
from meterdp_papers.li.leakage import consensus_view, ring_view
from meterdp_papers.li.likelihoods import Voices, dealt, start

RUNS, STARTS = 10, 40
FOUND = 1e-4  # largest error of a record that counts as found, in standard deviations
MET = 1e-10  # largest misfit of sums that count as met; they are summed at a resolution of 1e-12
WATCHED = {"data": "standard normal records, two classes, EM from means at -1 and 1", "substitute": None}


@dataclass(frozen=True)
class Case:
    """A run of EM on Fig. 1 that corrupt nodes 2 and 4 watch."""

    scheme: str
    graph: str
    records: int  # at every node
    dimension: int
    iterations: tuple[int, ...]  # how many are watched


CASES = (
    Case("secure_sum", li.CYCLE_ALONE, 1, 1, (1,)),
    Case("secure_sum", li.CYCLE_ALONE, 1, 2, (1,)),
    Case("subspace", li.WITH_CHORD, 1, 1, (1,)),
    Case("subspace", li.WITH_CHORD, 1, 2, (1,)),
    Case("subspace", li.WITH_CHORD, 2, 1, (1, 2)),
    Case("subspace", li.WITH_CHORD, 3, 1, (1, 2, 3, 4)),
)


def watched(case: Case, generator: np.random.Generator) -> tuple[list[np.ndarray], list[Mixture], list[dict]]:
    """Run EM and return the records of every node, the public mixtures, and the sums seen in every iteration."""
    parts = [generator.standard_normal((case.records, case.dimension)) for _ in range(NODES)]
    means = np.stack([np.full(case.dimension, -1.0), np.full(case.dimension, 1.0)])
    mixture = Mixture(np.full(2, 0.5), means, np.stack([np.eye(case.dimension)] * 2))
    mixtures, seen = [], []
    for _ in range(max(case.iterations)):
        values = np.stack([local_statistics(x, mixture)[0] for x in parts])
        mixtures.append(mixture)
        seen.append(sums_seen(case.scheme, example(case.graph), values, generator))
        mixture = m_step(values.sum(axis=0), mixture, "textbook", li.EIGENVALUE_FLOOR)
    return parts, mixtures, seen


def solve(
    mixtures: list[Mixture], sums: list[np.ndarray], records: int, generator: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Return the records (m, d) whose statistics add up best to what was seen, and the largest misfit.

    Of every iteration there are a public mixture and the sums (q,) that were seen.
    """
    d = mixtures[0].dimension

    def misfit(flat: np.ndarray) -> np.ndarray:
        x = flat.reshape(records, d)
        pairs = zip(mixtures, sums, strict=True)
        return np.concatenate([local_statistics(x, mixture)[0] - total for mixture, total in pairs])

    best, least = None, np.inf
    for _ in range(STARTS):
        first = 1.5 * generator.standard_normal(records * d)
        found = least_squares(misfit, first, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=200)
        error = float(np.abs(found.fun).max())
        if error < least:
            best, least = found.x.reshape(records, d), error
        if least < 1e-11:
            break
    return best, least


def error_up_to_order(found: np.ndarray, true: np.ndarray) -> float:
    """Return the largest error of a coordinate after matching each true record with a found one."""
    apart = np.abs(found[:, None] - true[None]).max(axis=2)
    return float(apart[linear_sum_assignment(apart)].max())


def groups_of(case: Case) -> list[Group]:
    """Return the groups of honest nodes whose sums are seen."""
    return known_sums(case.scheme, example(case.graph), CORRUPT, CYCLE)


def tabulate(trials: int, seed: int) -> pd.DataFrame:
    """Return the columns of ``li_recovery``: ten runs of EM per case, or one with few trials."""
    rows = []
    for case in CASES:
        group = next(g for g in groups_of(case) if 0 in g)
        count = solvable([group], [case.records] * NODES, case.dimension, 2)[0]
        generator = simulated_stream(seed, "reproduce li", "recovery", case.scheme, case.records, case.dimension)
        runs = [watched(case, generator) for _ in range(RUNS if li.whole(trials) else 1)]
        for iterations in case.iterations:
            errors, misfits = [], []
            for parts, mixtures, seen in runs:
                true = np.concatenate([parts[i] for i in group])
                sums = [one[group] for one in seen[:iterations]]
                found, misfit = solve(mixtures[:iterations], sums, len(true), generator)
                errors.append(error_up_to_order(found, true))
                misfits.append(misfit)
            rows.append(
                {
                    **asdict(case),
                    "group": named(group),
                    "unknowns": count.unknowns,
                    "first_equations": count.per_iteration,
                    "from_iteration": count.from_iteration,
                    "iterations": iterations,
                    "met_share": float(np.mean(np.array(misfits) < MET)),
                    "found_share": float(np.mean(np.array(errors) < FOUND)),
                    "error_median": float(np.median(errors)),
                    "error_largest": float(np.max(errors)),
                    "trials": len(runs),
                    **WATCHED,
                }
            )
    return pd.DataFrame(rows)


def read_off(records: Voices, trials: int, seed: int) -> pd.DataFrame:
    """Return the columns of ``li_read_off``: whose records follow from one iteration, and whose sums alone.

    A node of one record is read off as b/a, (6); of a node with more of them the sums are solved, from the same
    public start.
    """
    generator = simulated_stream(seed, "reproduce li", "read off")
    rows = []
    x = generator.standard_normal((NODES, li.trials_of(trials)))
    values = statistics(x, generator)
    for scheme, graph in ((s, g) for g in li.GRAPHS for s in li.SCHEMES):
        seen = sums_seen(scheme, example(graph), values.reshape(NODES, -1), generator)
        alone = [g[0] for g in seen if len(g) == 1]
        errors = [np.abs(_quotient(seen[(i,)].reshape(x.shape[1], -1), 1)[:, 0] - x[i]) for i in alone]
        rows.append(
            {
                "scheme": scheme,
                "reading": graph,
                "groups": "; ".join(map(named, sorted(seen))),
                "nothing_more": _nothing_more(scheme, graph, sorted(seen)),
                "most_records": 1,
                "alone_count": len(alone),
                "quotient_error": float(np.max(errors)) if alone else np.nan,
                "found_share": np.nan,
                "trials": x.shape[1],
                **SOURCE,
            }
        )
    for rows_on_nodes in li.NODES:
        parts = dealt(records.components(li.STANDARDISED), rows_on_nodes)
        first = start(np.concatenate(parts))
        sums = [local_statistics(part, first)[0] for part in parts]
        single = [i for i, part in enumerate(parts) if len(part) == 1]
        d = first.dimension
        errors = [np.abs(_quotient(sums[i][None], d)[0] - parts[i][0]).max() for i in single]
        found = [
            error_up_to_order(solve([first], [total], len(part), generator)[0], part) < FOUND
            for total, part in zip(sums, parts, strict=True)
            if len(part) > 1
        ]
        rows.append(
            {
                "scheme": Federated.name,
                "reading": rows_on_nodes,
                "groups": "every node",
                "nothing_more": False,
                "most_records": max(map(len, parts)),
                "alone_count": len(parts),
                "quotient_error": float(np.max(errors)) if single else np.nan,
                "found_share": float(np.mean(found)) if found else np.nan,
                "trials": 1,
                **records.source,
            }
        )
    return pd.DataFrame(rows)


def _quotient(sums: np.ndarray, d: int) -> np.ndarray:
    """Return b/a (N, d) of the class that most of a record belongs to, from statistics (N, q) of one record each."""
    k = li.LEAK_CLASSES
    largest = sums[:, :k].argmax(axis=1)
    rows = np.arange(len(sums))
    return sums[:, k : k + k * d].reshape(len(sums), k, d)[rows, largest] / sums[rows, largest][:, None]


def _nothing_more(scheme: str, graph: str, groups: list[Group]) -> bool:
    """Return whether the transcript gives away the sums over these groups and no other combination of values."""
    if scheme == Federated.name:
        return False  # the server sees everything there is
    if scheme == "secure_sum":
        view = ring_view(CYCLE, CORRUPT)
    else:
        view = consensus_view(example(graph), CORRUPT, li.LEAK_ROUNDS, li.LEAK_CONSTANT)
    own = [(i,) for i in CORRUPT]
    return len(view.exact()) == len(groups) + len(own) and all(view.knows(g) for g in [*groups, *own])
