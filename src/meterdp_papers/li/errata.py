"""Defects of Li et al. in what is printed as updates: consensus (D1, D3) and the covariances of (3) (D2).

D1 is the dual update, with line 6 of Algorithm 1 read literally, D3 its loop condition. D2: the covariances of (3)
are about the means of the last iteration, which is no M-step of the likelihood.

D4 to D8: what sums, masks and messages give away beyond what (10) to (12) and Section 4.2 suggest.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.special import digamma

from meterdp.core.noise import fixed_normals
from meterdp.federated.adversary import known_sums, solvable
from meterdp.federated.em import Update, local_statistics, m_step
from meterdp.federated.graph import CORRUPT, Graph, five_node_example
from meterdp.mixture.draws import Mixture
from meterdp.privacy.noise import NoiseSource
from meterdp.simulate.fleet import simulated_stream
from meterdp_papers.common.tables import Finding, defect
from meterdp_papers.li import leakage
from meterdp_papers.li.leakage import View, consensus_view, ring_view
from meterdp_papers.li.pdmm import DualUpdate, consensus
from meterdp_papers.li.recovery import error_up_to_order, solve

_CONSTANT, _ROUNDS, _SETTLED = 1.0, 60, 400
_SMALL = 0.4  # at which no factor of growth exceeds 1
_THRESHOLD = 1e-6
_CONSENSUS = f"Fig. 1 with a chord 1-3, standard normal values, dual noise of deviation 1, c = {_CONSTANT:g}"


_SCANNED = "The text at hand was read from a scan, which may have lost it."


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
    note=f"It depends on the subscripts of (9) and line 6. {_SCANNED}",
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
    run = consensus(graph, values, duals, rounds, c=c, dual_update=update, traced=True)
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
    run = consensus(
        graph, values, duals, _SETTLED, c=_CONSTANT, schedule="asynchronous", dual_update=update, generator=order
    )
    return run.at_node


@defect(
    "D3",
    "Algorithm 1, line 3",
    "The loop runs while the error is below the threshold, and the error is the distance from the unknown average.",
    "From any start farther away than the threshold nothing is run; turned round, no node can evaluate it.",
    "A public number of rounds from the graph alone, or a tolerance on what nodes see: their neighbours' y and "
    "their own last step.",
    note=f"It depends on one relation sign in line 3. {_SCANNED}",
)
def reversed_condition(noise: NoiseSource) -> tuple[Finding, ...]:
    graph = five_node_example()
    values, duals = noise.normal((graph.nodes, 1)), noise.normal((len(graph.arcs.tail), 1))
    average = values.mean()
    start = math.sqrt(graph.nodes) * abs(average)  # y = 0 at the start
    distance = np.linalg.norm(
        consensus(graph, values, duals, _SETTLED, c=_CONSTANT, traced=True).trace[:, :, 0] - average,
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


_ORDER, _HEARD_ROUNDS, _HEARD_CONSTANT = tuple(range(5)), 12, 0.4
_NODE = 0  # their node 1
_STDS = (1.0, 100.0)
_PAIRS, _TRIPLES = 200, 12


@defect(
    "D4",
    "(11), (12)",
    "(12) is an equality only for a mask without bound or in modular arithmetic, and (11) has C of node 1 for "
    "that of node 3.",
    "Beside the sum of nodes 1 and 5 node 2 holds a_1 + r: with a real r of finite spread it learns more than "
    "the right side of (12).",
    "Secure summation in whole numbers modulo 2^64 with a uniform mask, as in Lin, Clifton and Zhu.",
    note=f"What is said of (11) depends on one subscript. {_SCANNED} What is said of (12) does not.",
)
def stated_views(noise: NoiseSource) -> tuple[Finding, ...]:
    found = []
    for std in _STDS:
        found.append(
            Finding(
                "secure summation along 1-2-3-4-5, independent standard normal numbers, nodes 2 and 4 corrupt",
                "(12), section 4.2.2",
                f"Information about one number of node 1 when the random number r of node 1 has standard deviation "
                f"{std:g} times that of the numbers it hides; (12) is met only by an r without bound, or in whole "
                "numbers modulo a public one.",
                f"I(X_1; view) with masks of {std:g}",
                ring_view(_ORDER, CORRUPT).information(_NODE, 1.0, std),
                unit="nats",
                closed_form=_ring_by_hand(std),
                claimed=leakage.of_a_sum(2),
            )
        )
    found.append(
        Finding(
            "the same",
            "(11)",
            "Whether C of node 1 is among what the corrupt nodes know of node 3, as (11) is printed; C of node 3 is.",
            "C of node 1 known",
            float(ring_view(_ORDER, CORRUPT).knows([0])),
            closed_form=0.0,
            claimed=1.0,
        )
    )
    return tuple(found)


def _ring_by_hand(std: float) -> float:
    """Return I(x1; x1 + x5, x1 + r): what is left of the view once known numbers are taken away."""
    joint = np.array([[2.0, 1.0], [1.0, 1.0 + std**2]])
    given = joint - np.ones((2, 2))
    return 0.5 * float(np.log(np.linalg.det(joint) / np.linalg.det(given)))


@defect(
    "D5",
    "(10), (12), section 4.2",
    "Sums of A, B and C over few honest nodes are not a 'significant improvement': they determine the records.",
    "Two scalar records follow from one iteration, up to their order, whatever the responsibilities; in EM, "
    "where these are functions of the records and of public numbers, all three of Fig. 1 do, and more records "
    "after a few iterations. The right sides of (10) and (12) are then infinite like (6).",
    "Equations and unknowns are counted from public numbers before a run starts, and the private release adds "
    "noise to the sums themselves.",
    note="Whose record is whose stays hidden, as sums do not change when honest nodes change places.",
)
def sums_of_few(noise: NoiseSource) -> tuple[Finding, ...]:
    x = noise.normal((_PAIRS, 2))
    total, squares = x.sum(axis=1), (x**2).sum(axis=1)
    half = np.sqrt(np.maximum(2 * squares - total**2, 0.0)) / 2
    found = np.stack([total / 2 - half, total / 2 + half], axis=1)
    pairs = float(np.abs(found - np.sort(x, axis=1)).max())
    start = Mixture(np.full(2, 0.5), np.array([[-1.0], [1.0]]), np.ones((2, 1, 1)))
    errors = []
    generator = simulated_stream(1)  # starts of a solver, no noise
    for _ in range(_TRIPLES):
        three = noise.normal((3, 1))
        solved, _misfit = solve([start], [local_statistics(three, start)[0]], 3, generator)
        errors.append(error_up_to_order(solved, three))
    count = solvable([(0, 2, 4)], [1] * 5, 1, 2)[0]
    several = solvable([(0, 2, 4)], [3] * 5, 1, 2)[0]
    return (
        Finding(
            f"{_PAIRS} pairs of standard normal records, whatever the responsibilities",
            "(10), (12), section 4.2.2",
            "Largest error with which two records follow, up to their order, from their sum and their sum of "
            "squares, which are the sums over all classes of B and C. Either record's information is infinite.",
            "error of both records",
            pairs,
            closed_form=0.0,
        ),
        Finding(
            f"{_TRIPLES} runs of subspace perturbation with a chord 1-3; one standard normal record a node, two "
            "classes at -1 and 1",
            "(10), section 4.2.1",
            "Share of runs in which the sums of the first iteration of EM over the three honest nodes of Fig. 1 give "
            "all three records, up to their order: three unknowns, five equations.",
            "runs with all records found",
            float(np.mean(np.array(errors) < 1e-6)),
            closed_form=float(count.from_iteration == 1),
            claimed=0.0,
        ),
        Finding(
            "scalar records, two classes; the reproduction solves such runs: table recovery.parquet",
            "(10), Algorithm 2",
            "Iterations until equations are as many as unknowns, for three records at each of three honest nodes.",
            "iterations until solvable",
            float(several.from_iteration),
            closed_form=float(1 + math.ceil((9 - 5) / 3)),
        ),
    )


@defect(
    "D6",
    "Section 4.2.2",
    "Secure summation is compared under the passive adversary alone; on open channels it needs more.",
    "Who hears all messages of the cycle takes differences and has every node's vector; subspace perturbation, "
    "which is said to need encryption once, gives the sum over all nodes away. Neither hides that sum.",
    "Every channel between processes is encrypted and authenticated, whatever the scheme.",
)
def eavesdropper(noise: NoiseSource) -> tuple[Finding, ...]:
    heard = _heard_on_ring()
    consensus = consensus_view(five_node_example(), (), _HEARD_ROUNDS, _HEARD_CONSTANT)
    groups = known_sums("secure_sum", five_node_example(), (), _ORDER, eavesdropper=True)
    here = partial(Finding, f"Fig. 1 with a chord 1-3, {_HEARD_ROUNDS} rounds heard", "section 4.2.1")
    return (
        Finding(
            "1-2-3-4-5, open channels",
            "section 4.2.2",
            "Nodes whose vectors somebody learns exactly who corrupts nobody and hears the messages of secure "
            "summation and its total.",
            "nodes exposed by secure summation",
            float(sum(heard.knows([i]) for i in range(5))),
            unit="nodes",
            closed_form=float(len(groups)),
        ),
        here(
            "The same of subspace perturbation with an encrypted first exchange: the sum over all nodes alone.",
            "nodes exposed by subspace perturbation",
            float(sum(consensus.knows([i]) for i in range(5))),
            unit="nodes",
            closed_form=0.0,
            claimed=0.0,
        ),
        here(
            "Combinations of the nodes' numbers known to that listener.",
            "combinations known under subspace perturbation",
            float(len(consensus.exact())),
            closed_form=1.0,
            claimed=1.0,
        ),
    )


def _heard_on_ring() -> View:
    """Return what an eavesdropper hears of secure summation: every message, and the total."""
    n = len(_ORDER)
    messages = np.hstack([np.tri(n), np.ones((n, 1))])  # the last column is r
    total = np.append(np.ones(n), 0.0)
    seen = np.vstack([messages, total])
    return View(seen[:, :n], seen[:, n:])


@defect(
    "D7",
    "(6), (11), section 5.2, Fig. 3",
    "I(X; X) of a continuous record is infinite, so information cannot be normalised by it.",
    "What the estimates are divided by grows with the logarithm of the number of trials, and the estimate for a "
    "view that determines the record is not the same as that for the record itself.",
    "Linfoot's sqrt(1 - exp(-2 I)) beside it, closed forms where they exist, and the counts of equations.",
)
def self_information(noise: NoiseSource) -> tuple[Finding, ...]:
    generator = simulated_stream(1)  # breaks ties, no noise
    found = []
    for trials in (1_000, 10_000):
        x = noise.normal((trials, 1))
        found.append(
            Finding(
                "standard normal records, k = 3 neighbours",
                "(6), (11), section 5.2",
                f"The estimate of I(X; X), which is infinite, from {trials:,} trials: about ln N for any "
                "distribution of X.",
                f"estimate of I(X; X), N = {trials:,}",
                leakage.mutual_information(x, x, generator),
                unit="nats",
                closed_form=float(digamma(trials) - digamma(3) - 1 / 3),
            )
        )
    shares = noise.uniform((10_000, 2))
    shares /= shares.sum(axis=1, keepdims=True)
    x = noise.normal((10_000, 1))
    view = np.hstack([shares, shares * x, shares * x**2])
    whole = leakage.mutual_information(x, x, generator)
    found.append(
        Finding(
            "two classes, 10,000 trials",
            "(6), Fig. 3",
            "Normalised estimate of what A, B and C of federated EM tell of the record they determine.",
            "estimate over that of I(X; X)",
            leakage.mutual_information(x, view, generator) / whole,
            claimed=1.0,
        )
    )
    return tuple(found)


@defect(
    "D8",
    "Section 4.2.1, (10)",
    "One honest neighbour is named as the condition; (10) needs all honest nodes joined, and dual noise without "
    "bound.",
    "A node with one honest neighbour between corrupt ones is hidden by that neighbour alone, and dual noise of "
    "the size of the values leaves more than the sum.",
    "Components of honest nodes are found for every set of colluding nodes of a public size, and the smallest is "
    "reported.",
    note="Before (10) the text has the honest nodes connected once all corrupt ones are gone, and puts nodes 1, 3 "
    "and 5 into (10): the cycle alone is ruled out, so claim li-3 is judged with a chord between honest nodes.",
)
def condition_on_neighbours(noise: NoiseSource) -> tuple[Finding, ...]:
    graph = five_node_example(chord=False)
    view = consensus_view(graph, CORRUPT, _HEARD_ROUNDS, _HEARD_CONSTANT)
    alone = view.information(_NODE, 1.0, 1e3)
    small = five_node_example()
    masks = 1.0
    return (
        Finding(
            "independent standard normal numbers, dual noise of deviation 1,000, nodes 2 and 4 corrupt",
            "section 4.2.1, (10)",
            "Information about one number of node 1, which has an honest neighbour, on the cycle without a chord: "
            "only the sum over 1 and 5 hides it.",
            "I(X_1; view) on the cycle alone",
            alone,
            unit="nats",
            closed_form=leakage.of_a_sum(2),
            claimed=leakage.of_a_sum(3),
        ),
        Finding(
            "the cycle 1-2-3-4-5 alone",
            "section 4.2.1",
            "Whether node 3's number is known there exactly; the text asks for an honest neighbour, and Fig. 1, as "
            "far as its words go, gives node 3 none.",
            "node 3 known",
            float(view.knows([2])),
            closed_form=float((2,) in known_sums("subspace", graph, CORRUPT)),
            claimed=0.0,
        ),
        Finding(
            "independent standard normal numbers, nodes 2 and 4 corrupt",
            "section 4.2",
            f"Information with a chord 1-3 and dual noise of deviation {masks:g}: 'sufficiently large' is not "
            "quantified, and what a finite size leaves is this.",
            "I(X_1; view) with dual noise of 1",
            consensus_view(small, CORRUPT, _HEARD_ROUNDS, _HEARD_CONSTANT).information(_NODE, 1.0, masks),
            unit="nats",
            closed_form=leakage.of_masked(small.part((0, 2, 4)).laplacian(), masks, 0),
            claimed=leakage.of_a_sum(3),
        ),
    )
