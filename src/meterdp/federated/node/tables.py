"""Tables a node writes: the joint mixture as it knows it, and what it sent."""

from __future__ import annotations

from meterdp.core.tables import COUNT, INT, REAL, TEXT, VECTOR, Column, Table

NODE_MIXTURE = Table(
    "node_mixture",
    "study",
    "Mixture that this node fitted jointly with others, without noise: not for release.",
    (
        Column("component", INT, "1", "class of the mixture, 1 is the largest"),
        Column("weight", REAL, "1", "mixture weight"),
        Column("mean_log_kwh", VECTOR, "log kWh", "mean, d entries"),
        Column("covariance", VECTOR, "(log kWh)^2", "covariance, d x d entries by rows"),
    ),
    file_name="node/mixture.parquet",
)

NODE_TRAFFIC = Table(
    "node_traffic",
    "study",
    "What this node sent in a joint fit, and how long each step took.",
    (
        Column("step", TEXT, "", "'greeting', 'start', 'iteration', or 'end', where mixtures are compared"),
        Column("iteration", INT, "1", "iteration of EM, from 1; 0 before, and the number of them after"),
        Column("messages", COUNT, "1", "messages sent"),
        Column("payload_bytes", COUNT, "B", "bytes of numbers in them"),
        Column("link_bytes", COUNT, "B", "bytes on the connections, with all headers but those of TCP and IP"),
        Column("seconds", REAL, "s", "time from the end of the step before"),
    ),
    file_name="node/traffic.parquet",
)
