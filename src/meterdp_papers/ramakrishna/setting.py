"""Settings of the synthetic classes of Ramakrishna et al., ours where none are printed, and its printed results."""

from __future__ import annotations

from dataclasses import dataclass

LABELS, ENTRIES, FREEDOM = 4, 2, 2
SPACING = 1.0
RHOS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
SHOWN_RHOS = (0.5, 2.0, 8.0, 32.0)  # of the figure, and of our designs
EPSILONS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
CONVENTION = "total"
PAPERS_DESIGNS = ("none", "white", "published")
OUR_DESIGNS = ("joint", "transport")
# The set has a distribution of its own, with no past behind it: it is the query's distribution under every reading
# of (57).
QUERY_MODEL = "stochastic"
OUR_SETS = 20  # sets our designs are run on: their search takes seconds a set


@dataclass(frozen=True)
class Printed:
    """A number the paper prints."""

    item: str  # claim it belongs to
    where: str  # place in the paper
    design: str  # noise design
    rho: float
    epsilon: float
    delta: float  # as printed


PRINTED = WHITE_START, WHITE_END, PROPOSED_START, PROPOSED_END, SMALL_BUDGET, LARGE_BUDGET, CAPTION = (
    Printed("ram-3", "section VI-B.2", "white", 0.68571, 0.1, 0.8),
    Printed("ram-3", "section VI-B.2", "white", 0.68571, 1.0, 0.6),
    Printed("ram-3", "section VI-B.2", "published", 0.68571, 0.1, 0.72),
    Printed("ram-3", "section VI-B.2", "published", 0.68571, 1.0, 0.35),
    Printed("ram-4", "section VI-B.2", "published", 0.45, 1.0, 0.84),
    Printed("ram-4", "section VI-B.2", "published", 1.4, 1.0, 0.35),
    Printed("ram-4", "caption of Fig. 3", "published", 0.45, 0.8, 0.5637),
)
PRINTED_NMSE = (1.5953e-3, 1.2475e-3, 1.2453e-3)  # released forecasts of the three houses of Fig. 3
