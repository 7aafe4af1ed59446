"""What can be wrong with a peer, each as one sentence that holds no value."""

from __future__ import annotations

from enum import IntEnum

from meterdp.errors import InputError


class Reason(IntEnum):
    """What a node found about a peer; the number goes to the other nodes."""

    ABSENT = 1
    WRONG_KEY = 2
    KEY_REFUSED = 3
    OTHER_AGREEMENT = 4
    SILENT = 5
    CLOSED = 6
    GARBLED = 7
    NOT_FINITE = 8
    REPEATED = 9
    MISSED = 10
    OUT_OF_STEP = 11
    OTHER_RUN = 12
    DISAGREES = 13
    OWN_ERROR = 14
    STARTED_AGAIN = 15
    OTHER_PLAN = 16
    IMPOSSIBLE_SUM = 17
    FEW_RECORDS = 18


_AGAIN = "start all nodes again"
# What happened, and what to do.
_WORDS = {
    Reason.ABSENT: ("did not come up in time", f"have it started within start_within_seconds, and {_AGAIN}"),
    Reason.WRONG_KEY: (
        "did not come up in time, and whoever answers at its address does not hold its key",
        "ask its owner whether it was up, and with which key",
    ),
    Reason.KEY_REFUSED: (
        "does not accept the key of this node",
        "have the agreements of both compared: they name different public keys",
    ),
    Reason.OTHER_AGREEMENT: (
        "have different agreements",
        "give every node the same file and the same section profiles",
    ),
    Reason.SILENT: (
        "sent nothing within timeout_seconds: it failed, or waits for a node that did",
        f"see what it says itself, and {_AGAIN}",
    ),
    Reason.CLOSED: ("closed its link before the end", f"see what it says itself, and {_AGAIN}"),
    Reason.GARBLED: ("sent a message that is damaged or of another form", f"have it repaired, and {_AGAIN}"),
    Reason.NOT_FINITE: ("sent a number that is not finite", f"have its records checked, and {_AGAIN}"),
    Reason.REPEATED: ("sent a message a second time", f"have it repaired, and {_AGAIN}"),
    Reason.MISSED: ("left out a message, or sent one too early", f"have it repaired, and {_AGAIN}"),
    Reason.OUT_OF_STEP: ("sent a message of another step of the algorithm", f"have it repaired, and {_AGAIN}"),
    Reason.OTHER_RUN: (
        "take part in different runs",
        f"see that each node runs once, as one may be running twice with one key, and {_AGAIN}",
    ),
    Reason.DISAGREES: (
        "came to another mixture than its neighbour, by more than largest_difference",
        "use fewer classes, a smaller mask_std or more rounds at every node, and trust neither result",
    ),
    Reason.STARTED_AGAIN: ("was started again while the others were at work", _AGAIN),
    Reason.OTHER_PLAN: (
        "would release with other public settings",
        "give every node the same sections profiles and mechanisms.sound, and the same version of meterdp",
    ),
    # These two name who found it: any node's part may have made the sum what it is, and so may whoever passed it on.
    Reason.IMPOSSIBLE_SUM: (
        "came to a sum over all nodes that no readings give, and which node sent wrong numbers cannot be told",
        f"have every node checked, and {_AGAIN}",
    ),
    Reason.FEW_RECORDS: ("came to a sum of fewer records than classes", "agree on fewer classes at every node"),
    Reason.OWN_ERROR: ("ended with an error of its own", f"see what it says itself, and {_AGAIN}"),
}
# Between two nodes, either of which may be the odd one: both are named.
_OF_TWO = {Reason.OTHER_AGREEMENT, Reason.OTHER_RUN}


class Fault(InputError):
    """Something is wrong with a peer, and the run ends at every node without a result.

    Parameters
    ----------
    node : int
        Number of the peer that it is about.
    name : str
    reason : Reason
    finder : int
        Number of the node that found it.
    finder_name : str
    told : bool
        Whether another node found it and this one was told.
    detail : str, optional
        Public words.
    """

    def __init__(
        self, node: int, name: str, reason: Reason, finder: int, finder_name: str, told: bool, detail: str = ""
    ):
        self.node, self.reason, self.finder = node, reason, finder
        what, hint = _WORDS[reason]
        who = f"nodes '{finder_name}' and '{name}'" if reason in _OF_TWO else f"node '{name}'"
        by = f" (as node '{finder_name}' says)" if told and reason not in _OF_TWO else ""
        super().__init__(f"{who} {what}{detail}{by}, so nothing came of the run", hint=hint)
