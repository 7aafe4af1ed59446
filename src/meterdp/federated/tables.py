"""Tables of a study whose mixture is fitted over circuits: the fit, what it took, and what protects what."""

from __future__ import annotations

from meterdp.core.tables import COUNT, FLAG, INT, REAL, TEXT, VECTOR, Column, Table

FEDERATED_MIXTURE = Table(
    "federated_mixture",
    "study",
    "Mixture that the circuits fitted together, and the start they made of their sums; nothing protects either.",
    (
        Column("stage", TEXT, "", "'start' or 'fit'"),
        Column("component", INT, "1", "class of the mixture, in the order of the start"),
        Column("weight", REAL, "1", "mixture weight"),
        Column("mean_log_kwh", VECTOR, "log kWh", "mean, d entries"),
        Column("covariance", VECTOR, "(log kWh)^2", "covariance, d x d entries by rows"),
    ),
)

FEDERATION = Table(
    "federation",
    "study",
    "What the circuits sent each other in every step of the fit, and how well the mixture described them then.",
    (
        Column("scheme", TEXT, "", "how they add up their statistics, as federation.scheme"),
        Column("iteration", INT, "1", "steps of expectation maximisation so far; at 0 the sum the start is made of"),
        Column(
            "log_likelihood",
            REAL,
            "nat",
            "of all valid records under the mixture after the step; added up for this table, no circuit sends it",
        ),
        Column("round_count", COUNT, "rounds", "times the circuits waited for each other in the step"),
        Column("message_count", COUNT, "messages", "messages of the step, each over one edge"),
        Column("number_count", COUNT, "numbers", "numbers of eight bytes in them"),
    ),
)

FEDERATION_PROTECTS = Table(
    "federation_protects",
    "study",
    "What each layer protects, and against whom: the readings, what circuits send, the mixture, the sound release.",
    (
        Column("layer", TEXT, "", "'readings', 'transcript', 'mixture' or 'sound'"),
        Column("scheme", TEXT, "", "of the transcript, as federation.scheme; empty elsewhere"),
        Column("used", FLAG, "1", "whether it is what this study does"),
        Column("against", TEXT, "", "'nobody', 'server', 'circuits', 'listener' or 'everybody'"),
        Column("colluding", INT, "circuits", "circuits that put together what they see", nullable=True),
        Column(
            "smallest_group",
            INT,
            "circuits",
            "circuits in the smallest group whose sums the worst such set learns exactly; empty where none is exact",
            nullable=True,
        ),
        Column(
            "solvable_households",
            COUNT,
            "households",
            "households of such a group, at most, whose records follow from the sums of all iterations",
            nullable=True,
        ),
        Column("epsilon", REAL, "1", "of the guarantee for one household's readings, if there is one", nullable=True),
        Column("delta", REAL, "1", "its delta", nullable=True),
    ),
)
