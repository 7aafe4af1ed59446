"""The table of the ``audit`` package."""

from __future__ import annotations

from meterdp.core.tables import COUNT, FLAG, REAL, TEXT, Column, Table

AUDIT = Table(
    "audit",
    "study",
    "Lower bounds on epsilon and mu from observed runs beside what is claimed; the bounds of all rows hold together.",
    (
        Column("part", TEXT, "", "part of the audit"),
        Column("mechanism", TEXT, "", "mechanism, or building block of one"),
        Column("family", TEXT, "", "'sound', 'model', 'exact' or 'published'"),
        Column("adjacency", TEXT, "", "what neighbouring data sets differ in"),
        Column("neighbours", TEXT, "", "the audited pair of data sets, or the canaries"),
        Column("seen", TEXT, "", "what is attacked: the 'output', a part of it, or the noisy answers ('transcript')"),
        Column("attack", TEXT, "", "attack behind the bound on epsilon"),
        Column("mutant", TEXT, "", "what was broken in the mechanism", nullable=True),
        Column("epsilon_claimed", REAL, "1", "claimed epsilon, of a mutant that of the unbroken mechanism"),
        Column("delta", REAL, "1", "claimed delta"),
        Column("epsilon_lower", REAL, "1", "lower bound on epsilon at this delta"),
        Column("epsilon_power", REAL, "1", "epsilon_lower over epsilon_claimed"),
        Column("mu_claimed", REAL, "1", "claimed GDP parameter", nullable=True),
        Column("mu_lower", REAL, "1", "lower bound on the GDP parameter", nullable=True),
        Column("mu_power", REAL, "1", "mu_lower over mu_claimed", nullable=True),
        Column(
            "epsilon_at_mu_lower",
            REAL,
            "1",
            "epsilon at this delta of a GDP mechanism of mu_lower; no bound on that of another mechanism",
            nullable=True,
        ),
        Column("confidence", REAL, "1", "chance that both bounds of this row hold, at least"),
        Column("trials", COUNT, "runs", "runs on either data set that judge; of one run with canaries, the guesses"),
        Column("hits", COUNT, "runs", "how often the event behind epsilon_lower occurred, or right guesses"),
        Column("other_hits", COUNT, "runs", "how often it did on the neighbour, or wrong guesses"),
        Column("seeded", FLAG, "", "whether another run gives the same row"),
        Column("expected", TEXT, "", "'holds' of a proven claim, 'caught' of a mutant, 'hole' of a refuted claim"),
        Column("exceeded", TEXT, "", "which claim a bound exceeds: 'epsilon', 'mu', 'both' or 'none'"),
        Column("as_expected", FLAG, "", "'none' exceeded where the claim should hold, something exceeded elsewhere"),
    ),
)
