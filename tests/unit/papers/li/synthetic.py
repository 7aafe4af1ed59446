"""Synthetic tables of Li et al., to judge and to draw."""

from __future__ import annotations

import numpy as np
import pandas as pd

from meterdp_papers.li import exposure
from meterdp_papers.li.tables import CYCLE_ALONE, GRAPHS, NODES, RECORDS, SETTINGS, VIEWS, WITH_CHORD

SOURCE = {"data": "synthetic data", "substitute": None}
NATS = {"federated": 4.0, "secure_sum": 0.36, "subspace": 0.2}
WHOLE = 8.0


def leaks(nats=NATS, se=0.005, iterations=2) -> pd.DataFrame:
    """Return a table ``li_leakage`` with these estimates about nodes 1 and 3, level over iterations."""
    rows = []
    for graph in GRAPHS:
        for scheme, value in nats.items():
            if graph == CYCLE_ALONE and scheme != "subspace":
                continue
            for node in (1, 3):
                for view in VIEWS:
                    for iteration in range(1, iterations + 1):
                        found = exposure.leakage.Information(value, se, 20)
                        group = "1, 3, 5" if graph == WITH_CHORD and scheme == "subspace" else "1, 5"
                        rows.append(
                            {
                                "graph": graph,
                                "scheme": scheme,
                                "node": node,
                                "group": group,
                                "view": view,
                                "iteration": iteration,
                                "information": value,
                                "information_se": se,
                                "batches": 20,
                                "self_information": WHOLE,
                                **exposure.normalised("over_self", found, lambda i: i / WHOLE),
                                **exposure.normalised("linfoot", found, exposure.leakage.linfoot),
                                "linfoot_exact": 0.7 if view == RECORDS else np.nan,
                                "transcript_error": 1e-12,
                                "trials": 100,
                                **SOURCE,
                            }
                        )
    return pd.DataFrame(rows)


def read_off(error=1e-15, share=1.0, ring="1, 5; 3", subspace="1, 3, 5", nothing_more=True) -> pd.DataFrame:
    """Return a table ``li_read_off``."""
    rows = []
    for graph in GRAPHS:
        known = {
            "federated": ("1; 3; 5", False),
            "secure_sum": (ring, nothing_more),
            "subspace": (subspace if graph == WITH_CHORD else "1, 5; 3", nothing_more),
        }
        for scheme, (groups, alone) in known.items():
            rows.append(
                {
                    "scheme": scheme,
                    "reading": graph,
                    "groups": groups,
                    "nothing_more": alone,
                    "most_records": 1,
                    "alone_count": 1,
                    "quotient_error": np.nan if groups == "1, 3, 5" else error,
                    "found_share": np.nan,
                    "trials": 100,
                    **SOURCE,
                }
            )
    for number, variant in enumerate(NODES):
        rows.append(
            {
                "scheme": "federated",
                "reading": variant,
                "groups": "every node",
                "nothing_more": False,
                "most_records": 1 if number else 3,
                "alone_count": NODES[variant],
                "quotient_error": error if number else np.nan,
                "found_share": np.nan if number else share,
                "trials": 1,
                "data": "synthetic voices",
                "substitute": "stands for nothing",
            }
        )
    return pd.DataFrame(rows)


def recovery() -> pd.DataFrame:
    """Return a table ``li_recovery`` of one case."""
    row = {
        "scheme": "subspace",
        "graph": WITH_CHORD,
        "group": "1, 3, 5",
        "records": 1,
        "dimension": 1,
        "unknowns": 3,
        "first_equations": 5,
        "from_iteration": 1,
        "iterations": 1,
        "met_share": 1.0,
        "found_share": 1.0,
        "error_median": 1e-12,
        "error_largest": 1e-11,
        "trials": 2,
        **SOURCE,
    }
    return pd.DataFrame([row])


def likelihoods(difference=1e-11) -> pd.DataFrame:
    """Return a table ``li_likelihoods`` of two iterations in which subspace is off by this."""
    rows = []
    for setting in SETTINGS:
        for scheme in ("central", "federated", "secure_sum", "subspace"):
            for iteration in range(3):
                central = scheme == "central"
                rows.append(
                    {
                        "reading": setting.name,
                        "scheme": scheme,
                        "nodes": NODES[setting.rows],
                        "records": 195,
                        "iteration": iteration,
                        "log_likelihood": -300.0 + 10 * iteration,
                        "difference": difference * iteration if scheme == "subspace" else 0.0,
                        "spread": np.nan if central else 1e-12,
                        "rounds": np.nan if central else 10.0,
                        "messages": np.nan if central else 100.0,
                        "bytes": np.nan if central else 8e3,
                        **SOURCE,
                    }
                )
    return pd.DataFrame(rows)
