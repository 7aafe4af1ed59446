"""The readings of Li et al. that a verdict may turn on; figures import this module, so it stays light.

How 195 rows sit on 80 nodes and whether features are scaled before their principal components is not printed; of
Fig. 1 only the cycle is left in the text; of Fig. 3 neither what the adversary's view is made of nor what the
information is divided by.
"""

from __future__ import annotations

from dataclasses import dataclass

# Fig. 1.
WITH_CHORD, CYCLE_ALONE = "the cycle and a chord 1-3 of ours", "the cycle alone"
GRAPHS = (WITH_CHORD, CYCLE_ALONE)

# Fig. 2: how rows sit on nodes, and features before their principal components.
DEALT, FIRST_ROWS, ONE_EACH = "195 rows dealt over 80 nodes", "80 rows, one a node", "195 rows, one a node"
NODES = {DEALT: 80, FIRST_ROWS: 80, ONE_EACH: 195}
AS_THEY_ARE, STANDARDISED = "features as they are", "features over their standard deviations"
PREPARATIONS = (AS_THEY_ARE, STANDARDISED)
PRINTED, TEXTBOOK = "printed", "textbook"
UPDATES = (PRINTED, TEXTBOOK)

# Fig. 3: what the adversary's view is made of.
RECORDS = "sums of records"
ONE_ITERATION = "A, B, C of one iteration"
ALL_SO_FAR = "A, B, C of all iterations so far"
VIEWS = (RECORDS, ONE_ITERATION, ALL_SO_FAR)
OVER_SELF, LINFOOT = "over the estimate of I(X; X)", "sqrt(1 - exp(-2 I))"
# Of each, the column of table li_leakage.
NORMALISATIONS = {OVER_SELF: "over_self", LINFOOT: "linfoot"}


@dataclass(frozen=True)
class Setting:
    """One run of Fig. 2.

    Parameters
    ----------
    rows : str
        How rows sit on nodes.
    preparation : str
    update : {"printed", "textbook"}
    """

    rows: str
    preparation: str
    update: str

    @property
    def name(self) -> str:
        """As tables and the page write it."""
        return f"{self.rows}; {self.preparation}; (3) {_UPDATES[self.update]}"


_UPDATES = {PRINTED: "as printed", TEXTBOOK: "with the new means"}
SETTINGS = tuple(Setting(r, p, u) for r in NODES for p in PREPARATIONS for u in UPDATES)
SHOWN = tuple(Setting(r, STANDARDISED, PRINTED) for r in (DEALT, ONE_EACH))
