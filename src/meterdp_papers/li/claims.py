"""The claims of Li et al. in our words, each with the rule by which it counts as holding."""

from __future__ import annotations

from meterdp_papers.common.scorecard import Claim
from meterdp_papers.li.setting import CONFIDENCE, SAME_LOG_LIKELIHOOD

PAPER = "Li et al. 2021"
READ_OFF = 1e-6  # standard deviations; a record counts as revealed within this
AGREES = 3.0  # standard errors that an estimate may be off its closed form

CLAIMS = (
    Claim(
        "li-1",
        "Federated EM reveals every record to the server exactly (6).",
        f"every record follows from what the server is sent in one iteration, to within {READ_OFF:g} standard "
        "deviations: as b/a where a node has one record, by solving its sums where it has several",
    ),
    Claim(
        "li-2",
        "With corrupt nodes 2 and 4 secure summation exposes node 3 fully (11) and of nodes 1 and 5 their sum (12).",
        f"in every trial node 3's record follows from the transcript to within {READ_OFF:g} standard deviations, the "
        "transcript fixes the sum of nodes 1 and 5 and no other combination of honest values, and the estimated "
        f"information about node 1 in sums of records is 1/2 ln 2 within {AGREES:g} standard errors",
    ),
    Claim(
        "li-3",
        "Subspace perturbation reveals only the sums over all honest nodes (10), and has the lowest normalised "
        "mutual information about node 1 of the three (Fig. 3).",
        "the transcript fixes the sum over all honest nodes and no other combination of their values, and the "
        f"normalised information falls from federated over secure summation to subspace, with {CONFIDENCE:.0%} "
        "intervals that do not meet, after every iteration",
    ),
    Claim(
        "li-4",
        "The log-likelihood after every iteration is that of the exact scheme (Fig. 2).",
        f"by every scheme and after every iteration it is within {SAME_LOG_LIKELIHOOD:g} nats of that of EM with all "
        "records in one place",
    ),
)
