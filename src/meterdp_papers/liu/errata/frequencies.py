"""Defects of Liu et al. in the release of frequencies: the restriction (15) (L5) and the mapping (24), (26) (L6)."""

from __future__ import annotations

import math

import numpy as np

from meterdp.core.noise import NoiseSource
from meterdp.mechanisms.published.kl import Design, KlPublished, neighbouring_frequencies
from meterdp.mechanisms.published.labelled import LabelledRecords
from meterdp.mixture.gmm import fit_labels
from meterdp_papers.common.finding import Finding, defect
from meterdp_papers.liu.errata.synthetic import PAPER_SETTING, paper_records, paper_settings

_EPSILONS = (0.5, 1.0, 2.0, 4.0)


@defect(
    "L5",
    "(15)",
    "Frequencies are mapped to neighbours of pi(D) only, and the neighbours of D' are others.",
    "(11) has a zero in its denominator for these outputs; no eps_0 is large enough.",
    "Counts get Gaussian noise.",
    "test_L5_frequencies_unreachable_from_the_neighbour",
)
def reachable_outputs(noise: NoiseSource) -> tuple[Finding, ...]:
    """L5: outputs of the frequency map that one of two neighbours cannot give; by enumeration."""
    return tuple(_unreachable(classes) for classes in (5, 6))


def _unreachable(classes: int, each: int = 100) -> Finding:
    counts = np.full(classes, each)
    flipped = counts.copy()
    flipped[:2] += [-1, 1]
    own, others = (
        {tuple(row) for row in np.rint(neighbouring_frequencies(c) * counts.sum()).astype(int)}
        for c in (counts, flipped)
    )
    outputs = classes * (classes - 1) + 1
    return Finding(
        "(14), (15)",
        f"With K = {classes}, {len(own - others)} of the {len(own)} outputs the map gives on D cannot come from D'; "
        "where it is uniform, this is the probability that one release tells the two apart, whatever eps_0.",
        "share of outputs unreachable from the neighbour",
        f"K = {classes}, {each} records a class, every element of (14) listed",
        len(own - others) / len(own),
        closed_form=(outputs - (2 * classes - 2)) / outputs,
        claimed=0.0,
    )


@defect(
    "L6",
    "(24), (26)",
    "The rows of F' are normalised where a mapping needs its columns to be; the result depends on the unit of "
    "the records and, if every g_i is non-negative, not on eps_0.",
    "There is no distribution to draw from until it is normalised, and then the frequencies are as good as a "
    "blind guess among neighbours. This project draws from the normalised column and says so.",
    "Counts get Gaussian noise and are brought back to positive numbers that sum to the public N.",
    "test_L6_printed_mapping_is_no_distribution",
)
def printed_mapping(noise: NoiseSource) -> tuple[Finding, ...]:
    """L6: the column of F' that is drawn from is no distribution, and says little about the data."""
    private = paper_records(noise)
    printed = _design(private, 1.0)
    outputs = len(printed.mapping)
    uniform = [d for d in (_design(private, e) for e in _EPSILONS) if np.ptp(d.mapping) == 0]
    scaled = LabelledRecords(1000 * private.x, fit_labels(1000 * private.x, private.labels, 1e-9))
    before, after = (_nonnegative(_design(p, 4.0)) for p in (private, scaled))
    return (
        Finding(
            "(24), (26)",
            "F' 1 = 1 normalises over inputs; summed over outputs, the column of (26) that is drawn from is no "
            "distribution.",
            "sum over outputs of column j* of F'",
            f"{PAPER_SETTING}, eps = 1, so eps_0 = 1/3 (L9)",
            float(printed.mapping.sum()),
            closed_form=outputs / (1 + (outputs - 1) * math.exp(1 / 3)),
            claimed=1.0,
        ),
        Finding(
            "(26)",
            "Probability, after normalisation, of releasing the true frequencies: that of a blind guess among the "
            f"outputs, at {len(uniform)} of {len(_EPSILONS)} values of eps, since every g_i is non-negative there.",
            "largest normalised probability of the true frequencies over those eps",
            f"{PAPER_SETTING}, eps in {_EPSILONS}",
            max(float(d.mapping[0] / d.mapping.sum()) for d in uniform),
            closed_form=1 / outputs,
        ),
        Finding(
            "(12), (26)",
            f"The sign of g_i decides between the two branches of (26), and it depends on the unit of the records: "
            f"{before} of {outputs} are non-negative as drawn, this many when the same records are multiplied by "
            "1000, though a divergence has no unit.",
            "g_i that are non-negative after the change of unit",
            f"{PAPER_SETTING}, eps = 4",
            float(after),
            unit="outputs",
            claimed=float(before),
        ),
    )


def _design(private: LabelledRecords, epsilon: float) -> Design:
    return KlPublished.calibrate(paper_settings(private, epsilon)).design(private)


def _nonnegative(design: Design) -> int:
    """Count the g_i >= 0, which (26) maps below the uniform probability."""
    return int((design.mapping < 1 / len(design.mapping)).sum())
