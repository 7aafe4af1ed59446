"""Synthetic tables of Li et al., to judge and to draw."""

from __future__ import annotations

import numpy as np
import pandas as pd

from meterdp_papers.li import exposure, leakage
from meterdp_papers.li import tables as li
from meterdp_papers.li.tables import GRAPHS, NODES, RECORDS, WITH_CHORD
from tests.unit.papers.synthetic import filled

NATS = {"federated": 4.0, "secure_sum": 0.36, "subspace": 0.2}
WHOLE = 8.0


def leaks(nats=NATS, se=0.005, iterations=2) -> pd.DataFrame:
    """Return a table ``li_leakage`` with these estimates about nodes 1 and 3, level over iterations."""
    rows = [
        {
            "graph": graph,
            "scheme": scheme,
            "node": node,
            "group": "1, 3, 5" if graph == WITH_CHORD and scheme == "subspace" else "1, 5",
            "view": view,
            "iteration": iteration,
            "information": value,
            **exposure.normalised("over_self", leakage.Information(value, se, 20), lambda i: i / WHOLE),
            **exposure.normalised("linfoot", leakage.Information(value, se, 20), leakage.linfoot),
            "linfoot_exact": 0.7 if view == RECORDS else np.nan,
        }
        for graph in GRAPHS
        for scheme, value in nats.items()
        if graph == WITH_CHORD or scheme == "subspace"
        for node in (1, 3)
        for view in li.VIEWS
        for iteration in range(1, iterations + 1)
    ]
    return filled(li.LI_LEAKAGE, rows, information_se=se, self_information=WHOLE, substitute=None)


def read_off(error=1e-15, share=1.0, ring="1, 5; 3", subspace="1, 3, 5", nothing_more=True) -> pd.DataFrame:
    """Return a table ``li_read_off``."""
    rows = []
    for graph in GRAPHS:
        for scheme, groups in (
            ("federated", "1; 3; 5"),
            ("secure_sum", ring),
            ("subspace", subspace if graph == WITH_CHORD else "1, 5; 3"),
        ):
            row = {"scheme": scheme, "reading": graph, "groups": groups, "alone_count": 1, "most_records": 1}
            row |= {"nothing_more": scheme != "federated" and nothing_more, "substitute": None}
            rows.append(row | {"quotient_error": np.nan if groups == "1, 3, 5" else error})
    for number, (variant, nodes) in enumerate(NODES.items()):
        row = {"scheme": "federated", "reading": variant, "groups": "every node", "alone_count": nodes}
        row |= {"quotient_error": error, "most_records": 1} if number else {"found_share": share, "most_records": 3}
        rows.append(row)
    return filled(li.LI_READ_OFF, rows)


def recovery() -> pd.DataFrame:
    """Return a table ``li_recovery`` of one case."""
    row = {"scheme": "subspace", "graph": WITH_CHORD, "records": 1, "met_share": 1.0, "found_share": 1.0}
    return filled(li.LI_RECOVERY, [row])


def likelihoods(difference=1e-11) -> pd.DataFrame:
    """Return a table ``li_likelihoods`` of two iterations in which subspace is off by this."""
    rows = []
    for setting in li.SETTINGS:
        for scheme in ("central", "federated", "secure_sum", "subspace"):
            cost = {} if scheme == "central" else {"spread": 1e-12, "rounds": 10.0, "messages": 100.0, "bytes": 8e3}
            for iteration in range(3):
                row = {"reading": setting.name, "scheme": scheme, "iteration": iteration, **cost}
                row |= {"difference": difference * iteration if scheme == "subspace" else 0.0}
                rows.append(row | {"log_likelihood": -300.0 + 10 * iteration})
    return filled(li.LI_LIKELIHOODS, rows, substitute=None)
