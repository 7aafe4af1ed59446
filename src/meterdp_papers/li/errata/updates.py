"""Defects of Li et al. in what is printed as updates: consensus (D1, D3) and the covariances of (3) (D2).

D1 is the dual update, with line 6 of Algorithm 1 read literally, D3 its loop condition. D2: the covariances of (3)
are about the means of the last iteration, which is no M-step of the likelihood.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from meterdp.core.noise import fixed_normals
from meterdp.federated.em import Update, local_statistics, m_step
from meterdp.federated.graph import Graph, five_node_example
from meterdp.federated.pdmm import DualUpdate, Stop, consensus
from meterdp.mixture.draws import Mixture
from meterdp.privacy.noise import NoiseSource
from meterdp.simulate.fleet import simulated_stream
from meterdp_papers.common.tables import Finding, defect

_CONSTANT, _ROUNDS, _SETTLED = 1.0, 60, 400
_SMALL = 0.4  # at which no factor of growth exceeds 1
_THRESHOLD = 1e-6
_CONSENSUS = f"Fig. 1 with a chord 1-3, standard normal values, dual noise of deviation 1, c = {_CONSTANT:g}"


@defect(
    "D1",
    "(9); Algorithm 1, line 6",
    "(9) adds to a node's own dual variable where PDMM adds to its neighbour's; line 6 lets the neighbours of an "
    "active node update and not the node.",
    "As printed y diverges, or at a small c ends far from the average. With line 6 read literally all nodes "
    "agree on a number that is not the average, and none of them can tell. It is (9) that is wrong: with it "
    "corrected, line 6 gives the average, too.",
    "lambda_{i|j} <- lambda_{j|i} + c B_{i|j} (y_i - y_j); tests compare with the average, not the nodes with "
    "each other.",
)
def dual_update(noise: NoiseSource) -> tuple[Finding, ...]:
    graph = five_node_example()
    values, duals = noise.normal((graph.nodes, 1)), noise.normal((len(graph.arcs.tail), 1))
    printed = errors(graph, values, duals, "printed")
    corrected = errors(graph, values, duals, "corrected", _SETTLED)
    small = errors(graph, values, duals, "printed", 10 * _SETTLED, _SMALL)
    literal = _settle_literally(graph, values, duals, "printed_neighbours")
    mended = _settle_literally(graph, values, duals, "corrected_neighbours")
    average = values.mean()
    here = partial(Finding, f"{_CONSENSUS}, {_SETTLED} rounds of n activations", "Algorithm 1, lines 5 and 6")
    return (
        Finding(
            f"{_CONSENSUS}, rounds {_ROUNDS // 2} to {_ROUNDS}",
            "(9)",
            "Factor by which the largest distance from the average grows a round under (9) as printed, all at once.",
            "growth of the error a round",
            (printed[-1] / printed[_ROUNDS // 2 - 1]) ** (1 / (_ROUNDS - _ROUNDS // 2)),
            closed_form=float(np.abs(np.linalg.eigvals(printed_map(graph, _CONSTANT))).max()),
            claimed=float(np.abs(_slow(graph)).max()),
        ),
        Finding(
            _CONSENSUS.replace(f"c = {_CONSTANT:g}", f"c = {_SMALL:g}"),
            "(9)",
            "Largest distance from the average where it ends, at a smaller c: it stands still at the wrong number.",
            "error as printed, at the end",
            float(small[-1]),
            closed_form=abs(_printed_limit(graph, values, duals) - average),
            claimed=0.0,
        ),
        Finding(
            _CONSENSUS,
            "(9) as corrected",
            f"Largest distance from the average after {_SETTLED} rounds with the neighbour's dual variable in (9).",
            "error of the corrected update",
            float(corrected[-1]),
            closed_form=0.0,
            claimed=0.0,
        ),
        here(
            "Largest distance from the average at the end if only the neighbours of an active node update their dual "
            "variables, as line 6 says.",
            "error of the literal reading",
            float(np.abs(literal - average).max()),
            claimed=0.0,
        ),
        here(
            "Largest difference between nodes at the same time: they agree, so nobody notices.",
            "disagreement of the literal reading",
            float(literal.max() - literal.min()),
            claimed=0.0,
        ),
        here(
            "Largest distance from the average at the end by line 6 and the corrected (9): line 6 does no harm then.",
            "error of line 6 with (9) corrected",
            float(np.abs(mended - average).max()),
            closed_form=0.0,
            claimed=0.0,
        ),
    )


def errors(
    graph: Graph,
    values: np.ndarray,
    duals: np.ndarray,
    update: DualUpdate,
    rounds: int = _ROUNDS,
    c: float = _CONSTANT,
) -> np.ndarray:
    """Return the largest distance from the average after every round, all nodes at once."""
    run = consensus(graph, values, duals, Stop(rounds=rounds), c=c, dual_update=update, traced=True)
    return np.abs(run.trace - values.mean(axis=0)).max(axis=(1, 2))


def printed_map(graph: Graph, c: float) -> np.ndarray:
    """Return the matrix that takes (y, lambda) of one round to the next under (8) and (9) as printed, s = 0."""
    n, arcs = graph.nodes, graph.arcs
    m = len(arcs.tail)
    out = np.zeros((n + m, n + m))
    shrink = 1 / (1 + c * graph.degrees)
    for arc in range(m):
        i, j = arcs.tail[arc], arcs.head[arc]
        out[i, j] += c * shrink[i]
        out[i, n + arcs.reverse[arc]] -= arcs.signs[arc] * shrink[i]
    for arc in range(m):
        i, j = arcs.tail[arc], arcs.head[arc]
        out[n + arc] = c * arcs.signs[arc] * out[i]
        out[n + arc, j] -= c * arcs.signs[arc]
        out[n + arc, n + arc] += 1
    return out


def corrected_map(graph: Graph, c: float) -> np.ndarray:
    """Return the same matrix for the corrected (9)."""
    n, arcs = graph.nodes, graph.arcs
    out = printed_map(graph, c)
    own = np.arange(len(arcs.tail))
    out[n + own, n + own] -= 1
    out[n + own, n + arcs.reverse] += 1
    return out


def _slow(graph: Graph) -> np.ndarray:
    """Return the eigenvalues inside the unit circle of the corrected map: those y converges by."""
    values = np.linalg.eigvals(corrected_map(graph, _CONSTANT))
    return values[np.abs(values) < 1 - 1e-9]


def _printed_limit(graph: Graph, values: np.ndarray, duals: np.ndarray) -> float:
    """Return where y ends under (9) as printed, if it ends: (sum s - sum B_{i|j} lambda_{j|i}) / (n - 2 m c).

    Every arc's part of that last sum has changed by -c times the y of its tail; y stands still at s_i less its arcs'.
    """
    arcs = graph.arcs
    hidden = float(arcs.signs @ duals[arcs.reverse, 0])
    return (float(values.sum()) - hidden) / (graph.nodes - len(arcs.tail) * _SMALL)


def _settle_literally(graph: Graph, values: np.ndarray, duals: np.ndarray, update: DualUpdate) -> np.ndarray:
    # The order of activations is no noise; any other gives another wrong number.
    order = simulated_stream(1)
    stop = Stop(rounds=_SETTLED)
    run = consensus(
        graph, values, duals, stop, c=_CONSTANT, schedule="asynchronous", dual_update=update, generator=order
    )
    return run.at_node


@defect(
    "D3",
    "Algorithm 1, line 3",
    "The loop runs while the error is below the threshold, and the error is the distance from the unknown average.",
    "From any start farther away than the threshold nothing is run; turned round, no node can evaluate it.",
    "A public number of rounds from the graph alone, or a tolerance on what nodes see: their neighbours' y and "
    "their own last step.",
)
def reversed_condition(noise: NoiseSource) -> tuple[Finding, ...]:
    graph = five_node_example()
    values, duals = noise.normal((graph.nodes, 1)), noise.normal((len(graph.arcs.tail), 1))
    average = values.mean()
    start = math.sqrt(graph.nodes) * abs(average)  # y = 0 at the start
    distance = np.linalg.norm(
        consensus(graph, values, duals, Stop(rounds=_SETTLED), c=_CONSTANT, traced=True).trace[:, :, 0] - average,
        axis=1,
    )
    enough = int(np.argmax(distance < _THRESHOLD)) + 1
    here = partial(Finding, f"{_CONSENSUS}, threshold {_THRESHOLD:g}", "Algorithm 1, line 3")
    return (
        here(
            "Rounds that are run while the distance from the average is below the threshold, from y = 0.",
            "rounds run",
            float(_rounds_while(start, distance, lambda now: now < _THRESHOLD)),
            closed_form=0.0,
            claimed=float(enough),
        ),
        here(
            "Distance from the average that is left then.",
            "|y - y*| at the end",
            float(np.linalg.norm(np.zeros(graph.nodes) - average)),
            closed_form=start,
            claimed=_THRESHOLD,
        ),
        here(
            "Rounds with the condition the right way round. It still needs y*, which is what the nodes want to know.",
            "rounds with the condition turned round",
            float(_rounds_while(start, distance, lambda now: now >= _THRESHOLD)),
            closed_form=float(enough),
        ),
    )


def _rounds_while(start: float, distance: np.ndarray, condition) -> int:
    """Return how many rounds a while loop with this condition runs."""
    now = start
    for done, after in enumerate(distance):
        if not condition(now):
            return done
        now = after
    return len(distance)


_RECORDS, _ITERATIONS, _FLOOR = 400, 300, 1e-9
_WHERE = f"{_RECORDS} records of two normal classes in the plane, means at (-1.5, 0) and (1.5, 0), public start"


@defect(
    "D2",
    "(3), (4)",
    "The new covariances are about the old means: they exceed those of an M-step by the square of the means' move.",
    "A step gains less likelihood than an M-step from the same mixture, so Fig. 2 is not that of EM; the "
    "mixtures at which it stands still are.",
    "Both are built. The textbook update needs the same sums, because the square of a public move is taken off "
    "after the summation.",
)
def old_means(noise: NoiseSource) -> tuple[Finding, ...]:
    x, start = example()
    runs = {update: followed(x, start, update) for update in ("printed", "textbook")}
    first = {update: run[1][1] for update, run in runs.items()}
    move = first["textbook"].means - start.means
    inflation = first["printed"].covariances - first["textbook"].covariances
    values = {update: run[0] for update, run in runs.items()}
    # One step of each from the same mixture.
    gap = values["textbook"][1] - values["printed"][1]
    end = values["textbook"][-1] - 1e-6
    needed = {
        update: int(np.argmax(value >= end)) if (value >= end).any() else _ITERATIONS
        for update, value in values.items()
    }
    here = partial(Finding, _WHERE)
    return (
        here(
            "(3), (4)",
            "Largest entry by which the first covariances of (3) exceed those of an M-step, of a class.",
            "excess of a covariance",
            float(np.abs(inflation).max()),
            closed_form=float(np.abs(move[:, :, None] * move[:, None]).max()),
            claimed=0.0,
        ),
        here(
            "(3)",
            "What one step of (3) falls short of one M-step from the same mixture.",
            "log-likelihood lost in the first step",
            float(gap),
            unit="nats",
            claimed=0.0,
        ),
        Finding(
            f"{_WHERE}, at most {_ITERATIONS}",
            "(3)",
            "Iterations until the log-likelihood is within 1e-6 nats of where textbook EM ends, by (3) as printed.",
            "iterations as printed",
            float(needed["printed"]),
            claimed=float(needed["textbook"]),
        ),
        Finding(
            f"{_WHERE}, {_ITERATIONS} iterations",
            "(3)",
            "Difference between the two at the end: both stand still at the same mixtures.",
            "difference of the log-likelihoods at the end",
            float(abs(values["textbook"][-1] - values["printed"][-1])),
            unit="nats",
            closed_form=0.0,
        ),
    )


def example() -> tuple[np.ndarray, Mixture]:
    """Return the records (400, 2) and the start."""
    x = fixed_normals("D2, records", (_RECORDS, 2))
    x[: _RECORDS // 2, 0] -= 1.5
    x[_RECORDS // 2 :, 0] += 1.5
    return x, Mixture(np.full(2, 0.5), np.array([[-0.5, 0.5], [0.5, -0.5]]), np.stack([np.eye(2)] * 2))


def followed(x: np.ndarray, start: Mixture, update: Update) -> tuple[np.ndarray, list[Mixture]]:
    """Return log-likelihoods and mixtures, those of the start first."""
    mixtures, values = [start], []
    for _ in range(_ITERATIONS):
        statistics, value = local_statistics(x, mixtures[-1])
        values.append(value)
        mixtures.append(m_step(statistics, mixtures[-1], update, _FLOOR))
    values.append(local_statistics(x, mixtures[-1])[1])
    return np.array(values), mixtures
