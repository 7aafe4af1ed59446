"""D4 to D8: what sums, masks and messages give away beyond what (10) to (12) and Section 4.2 suggest."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.special import digamma

from meterdp.federated import leakage
from meterdp.federated.adversary import known_sums, solvable
from meterdp.federated.em import local_statistics
from meterdp.federated.graph import CORRUPT, five_node_example
from meterdp.federated.leakage import View, consensus_view, ring_view
from meterdp.mixture.draws import Mixture
from meterdp.privacy.noise import NoiseSource
from meterdp.simulate.fleet import simulated_stream
from meterdp_papers.common.tables import Finding, defect
from meterdp_papers.li.recovery import error_up_to_order, solve

_ORDER, _ROUNDS, _CONSTANT = tuple(range(5)), 12, 0.4
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
    consensus = consensus_view(five_node_example(), (), _ROUNDS, _CONSTANT)
    groups = known_sums("secure_sum", five_node_example(), (), _ORDER, eavesdropper=True)
    here = partial(Finding, f"Fig. 1 with a chord 1-3, {_ROUNDS} rounds heard", "section 4.2.1")
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
    """Return what an eavesdropper hears of secure summation: every message, and the total that is told."""
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
)
def condition_on_neighbours(noise: NoiseSource) -> tuple[Finding, ...]:
    graph = five_node_example(chord=False)
    view = consensus_view(graph, CORRUPT, _ROUNDS, _CONSTANT)
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
            consensus_view(small, CORRUPT, _ROUNDS, _CONSTANT).information(_NODE, 1.0, masks),
            unit="nats",
            closed_form=leakage.of_masked(small.part((0, 2, 4)).laplacian(), masks, 0),
            claimed=leakage.of_a_sum(3),
        ),
    )
