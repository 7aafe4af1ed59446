"""Settings of the synthetic classes of Ramakrishna et al., section VI-A; what the paper does not print is ours."""

from __future__ import annotations

LABELS, ENTRIES, FREEDOM = 4, 2, 2
SPACING = 1.0
RHOS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
SHOWN_RHOS = (0.5, 2.0, 8.0, 32.0)  # of the figure, and of our designs
EPSILONS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
CONVENTION = "total"
PAPERS_DESIGNS = ("none", "white", "published")
OUR_DESIGNS = ("joint", "transport")
# The set has a law of its own, with no past behind it: it is the query's law under every reading of (57).
QUERY_MODEL = "stochastic"
OUR_SETS = 20  # sets our designs are run on: their search takes seconds a set
