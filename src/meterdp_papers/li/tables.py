"""Tables of the reproduction of Li et al.: one per figure, and what transcripts give away beside them.

The variants of Li et al. that a verdict may turn on, what is printed of the experiments, and what we chose.

Figures import this module, so it stays light. How 195 rows sit on 80 nodes and whether features are scaled before
their principal components is not printed; of Fig. 1 only the cycle is left in the text; of Fig. 3 neither what the
adversary's view is made of nor what the information is divided by.
"""

from __future__ import annotations

from dataclasses import dataclass

from meterdp.core.tables import COUNT, FLAG, INT, REAL, TEXT, VECTOR, Column
from meterdp_papers.common.tables import TRIALS, table

_SCHEME = Column("scheme", TEXT, "", "'federated', 'secure_sum' or 'subspace'")
_GRAPH = Column("graph", TEXT, "", "variant of Fig. 1")
_GROUP = Column("group", TEXT, "", "honest nodes whose sum is known, by the paper's numbers")
_MASK_STD = Column("mask_std", REAL, "1", "standard deviation of a dual variable at the start, or of a mask")


def _normalised(name: str, words: str) -> tuple[Column, Column, Column]:
    ends = (("low", "lower"), ("high", "upper"))
    return (
        Column(name, REAL, "1", words),
        *(
            Column(
                f"{name}_{end}", REAL, "1", f"{side} end of its 95 % interval; null with few trials", nullable=True
            )
            for end, side in ends
        ),
    )


LI_NETWORK = table(
    "li_network",
    "Nodes and edges of Fig. 1 of Li et al., with a chord of ours.",
    Column("kind", TEXT, "", "'honest' or 'corrupt' node, edge of the 'cycle' or our 'chord'"),
    Column("node", INT, "1", "number of the node, from 1; of an edge its lower end"),
    Column("neighbour", INT, "1", "higher end; null for nodes", nullable=True),
    Column("x", VECTOR, "1", "where it is drawn: one place, or both ends"),
    Column("y", VECTOR, "1", "the other coordinate"),
)

LI_LIKELIHOODS = table(
    "li_likelihoods",
    "Log-likelihood after every iteration, by every scheme and with all records in one place: Fig. 2 of Li et al.",
    Column("reading", TEXT, "", "how rows sit on nodes, how features are prepared, and which update"),
    Column("scheme", TEXT, "", "as elsewhere, 'subspace, asynchronous', or 'central' without any scheme"),
    Column("nodes", COUNT, "nodes", "of the random geometric graph"),
    Column("records", COUNT, "records", "of all nodes"),
    Column("iteration", INT, "1", "from 0, the start"),
    Column("log_likelihood", REAL, "nats", "of all records, each under the mixture of its own node"),
    Column("difference", REAL, "nats", "from that of 'central' after as many iterations, absolute"),
    Column("spread", REAL, "1", "largest difference of a parameter between nodes, at the end", nullable=True),
    Column("rounds", REAL, "1", "an iteration, in which nodes wait for each other", nullable=True),
    Column("messages", REAL, "1", "an iteration, over one edge each", nullable=True),
    Column("bytes", REAL, "byte", "an iteration, eight a number, without headers", nullable=True),
)

LI_LEAKAGE = table(
    "li_leakage",
    "Estimated mutual information of a record and what corrupt nodes 2 and 4 see of it: Fig. 3 of Li et al.",
    _GRAPH,
    _SCHEME,
    Column("node", INT, "1", "number of the honest node, from 1"),
    _GROUP,
    Column("view", TEXT, "", "what the adversary's view is made of, a variant"),
    Column("iteration", INT, "1", "from 1"),
    Column("information", REAL, "nats", "estimated from all trials (Kraskov et al., k = 3)"),
    Column("information_se", REAL, "nats", "from independent batches; null with few trials", nullable=True),
    Column("batches", INT, "1", "of the standard error"),
    Column("self_information", REAL, "nats", "the estimate of I(X; X), which is infinite, from as many trials"),
    *_normalised("over_self", "information over self_information"),
    *_normalised("linfoot", "sqrt(1 - exp(-2 I))"),
    Column("linfoot_exact", REAL, "1", "exact sqrt(1 - exp(-2 I)); null where it is not known", nullable=True),
    Column("transcript_error", REAL, "1", "largest error of a sum taken from the transcript, in any trial"),
    TRIALS,
)

LI_MASKS = table(
    "li_masks",
    "Exact information about one number of node 1 against the size of the masks, all numbers normal.",
    _GRAPH,
    _SCHEME,
    _MASK_STD,
    Column("information", REAL, "nats", "from the linear map of the transcript"),
    Column("closed_form", REAL, "nats", "from the Laplacian of honest nodes; null for a ring", nullable=True),
    Column("of_the_sum", REAL, "nats", "1/2 ln(h/(h - 1)), what masks without bound leave"),
)

LI_READ_OFF = table(
    "li_read_off",
    "Whose records follow from what is seen of one iteration of EM, and whose sums alone.",
    _SCHEME,
    Column("reading", TEXT, "", "of Fig. 1, or how rows sit on nodes"),
    Column("groups", TEXT, "", "honest nodes whose sums are known, by the paper's numbers"),
    Column("nothing_more", FLAG, "", "whether no other combination of values is known, by the transcript's map"),
    Column("most_records", COUNT, "records", "at one node"),
    Column("alone_count", COUNT, "nodes", "nodes known one by one"),
    Column("quotient_error", REAL, "1", "largest error of b/a for nodes of one record; null if none", nullable=True),
    Column(
        "found_share", REAL, "1", "nodes of more records whose sums give all of them; null if none", nullable=True
    ),
    TRIALS,
)

LI_RECOVERY = table(
    "li_recovery",
    "Records of honest nodes solved for from the sums that corrupt nodes 2 and 4 see over iterations of EM.",
    _SCHEME,
    _GRAPH,
    _GROUP,
    Column("records", COUNT, "records", "at every node"),
    Column("dimension", INT, "1", "of a record"),
    Column("unknowns", COUNT, "1", "numbers in the records of the group"),
    Column("first_equations", COUNT, "1", "independent sums that the first iteration tells"),
    Column("from_iteration", INT, "1", "first number of iterations with as many equations as unknowns"),
    Column("iterations", INT, "1", "watched"),
    Column("met_share", REAL, "1", "runs in which records were found that give the sums that were seen"),
    Column("found_share", REAL, "1", "runs in which these are the true ones, up to their order"),
    Column("error_median", REAL, "1", "largest error of a record, median over runs"),
    Column("error_largest", REAL, "1", "and largest"),
    TRIALS,
)

LI_CONSENSUS = table(
    "li_consensus",
    "Distance from the average after every round of a consensus, for dual noise of any size.",
    Column("dual_update", TEXT, "", "'corrected', 'printed', or 'printed_neighbours'"),
    Column("schedule", TEXT, "", "'synchronous' or 'asynchronous'"),
    _MASK_STD,
    Column("constant", REAL, "1", "c of (8) and (9)"),
    Column("round", INT, "1", "from 1; as many activations as nodes if asynchronous"),
    Column("error", REAL, "1", "largest distance of a node from the average"),
    Column("disagreement", REAL, "1", "largest difference between nodes"),
)

_COST = (
    Column("axis", TEXT, "", "'nodes' or 'dimension'"),
    Column("x", INT, "1", "number of nodes, or dimension"),
)

LI_COST = table(
    "li_cost",
    "What one iteration of distributed EM costs against the number of nodes and the dimension, counted in a run.",
    *_COST,
    _SCHEME,
    Column("entries", COUNT, "1", "numbers in the statistics of a node"),
    Column("edges", COUNT, "1", "of the random geometric graph"),
    Column("rounds", COUNT, "1", "in which nodes wait for each other"),
    Column("messages", COUNT, "1", "over one edge each"),
    Column("bytes", COUNT, "byte", "eight a number, without headers"),
    Column("seconds", REAL, "s", "of a processor, all nodes in one process"),
)

LI_EXPONENTS = table(
    "li_exponents",
    "How the cost of an iteration grows: slopes on logarithmic axes over the runs of li_cost.",
    _COST[0],
    _SCHEME,
    Column("quantity", TEXT, "", "'rounds', 'messages', 'bytes' or 'seconds'"),
    Column("exponent", REAL, "1", "power of the number of nodes or of the dimension, by least squares"),
    Column("exponent_se", REAL, "1", "its standard error; null for two points", nullable=True),
    Column("points", COUNT, "1", "runs"),
    Column("largest_x", INT, "1", "largest number of nodes or dimension"),
    Column("at_largest", REAL, "1", "the quantity there, in its unit"),
)


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
    """One run of Fig. 2."""

    rows: str  # how rows sit on nodes
    preparation: str
    update: str  # {"printed", "textbook"}

    @property
    def name(self) -> str:
        """As tables and the page write it."""
        return f"{self.rows}; {self.preparation}; (3) {_UPDATES[self.update]}"


_UPDATES = {PRINTED: "as printed", TEXTBOOK: "with the new means"}
SETTINGS = tuple(Setting(r, p, u) for r in NODES for p in PREPARATIONS for u in UPDATES)
SHOWN = tuple(Setting(r, STANDARDISED, PRINTED) for r in (DEALT, ONE_EACH))


SCHEMES = ("federated", "secure_sum", "subspace")
ASYNCHRONOUS = "subspace, asynchronous"

# --- Fig. 2: n and the radius are printed, the rest is ours ---------------------------------------------------------
CLASSES = 2
COMPONENTS = 2  # printed
ITERATIONS = 30
TRIAL_ITERATIONS = 2
MASK_STD = 1e3  # of a dual variable at the start; statistics are of the order of 1
EIGENVALUE_FLOOR = 1e-9  # below every eigenvalue met, so that it changes nothing
SAME_LOG_LIKELIHOOD = 1e-8

# --- Fig. 3: 10^4 trials, standard normal records and the distribution of A are printed
# --------------------------------------
TRIALS = 10_000
FEW_TRIALS = 400  # of a study with few trials, for each
CONFIDENCE = 0.95
LEAK_CLASSES = 2
LEAK_ITERATIONS = 5
LEAK_ROUNDS = 12
LEAK_CONSTANT = 0.4
EXPOSED, OTHER_END = 2, 0  # their nodes 3 and 1
LEAK_MASKS = (0.1, 1.0, 10.0, 1e2, 1e3, 1e6)

# --- Figures of our own ---------------------------------------------------------------------------------------------
CONSENSUS_NODES = 80
CONSENSUS_MASKS = (1.0, 1e2, 1e4, 1e6, 1e8, 1e10)
CONSENSUS_ROUNDS = 250
PRINTED_ROUNDS = 60
COST_NODES = (10, 30, 100, 300, 1000)
COST_DIMENSIONS = (1, 2, 4, 8, 16)
COST_CLASSES = 2
COST_AT_DIMENSION, COST_AT_NODES = 2, 100
TRIAL_COST_NODES, TRIAL_COST_DIMENSIONS = (10, 20), (1, 2)
FULL_STUDY = 10  # a study with so many trials or more runs everything


def whole(trials: int) -> bool:
    """Return whether a study with so many ``trials`` runs everything, rather than a part that takes seconds."""
    return trials >= FULL_STUDY


def trials_of(trials: int) -> int:
    """Return the Monte Carlo trials behind Fig. 3 of a study with so many ``trials``."""
    return TRIALS if whole(trials) else FEW_TRIALS * trials
