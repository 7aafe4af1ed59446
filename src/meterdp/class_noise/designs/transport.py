"""`transport`: every query moved, mapped and given noise so that the released distributions of a neighbourhood meet.

Family ``published`` in rank: study only, stochastic queries only. It starts on the Wasserstein geodesic to the
minimax barycentre, at whose distance all labels share one released distribution, the smallest budget at which any
design can; below that a descent mixes map and noise. Its randomness is mostly the query's own, so it protects against
nobody who knows the query. Proof note: docs/proofs/transport.md.
"""

from __future__ import annotations

from meterdp.class_noise.designs.joint.design import descended
from meterdp.class_noise.query_models import PREDICTABLE, Budget, ClassQueries, Noise
from meterdp.errors import InputError


def transport_noise(queries: ClassQueries, budget: Budget) -> Noise:
    """Return gain, move and noise of every label; the report carries :data:`PREDICTABLE`.

    Distributions of queries may be singular. A share of the budget, a public constant, is white noise common to all
    labels. Deterministic queries are refused: there is nothing to transport.
    """
    if not queries.covariance.any():
        raise InputError(
            "works only where the query itself is random",
            field="class_noise.designs.transport",
            hint="use 'joint' where only the added noise counts",
        )
    return descended(queries, budget, maps=True, sentence=PREDICTABLE)
