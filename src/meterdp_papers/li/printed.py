"""Tables the page of Li et al. prints: exactness, what transcripts give away, records solved for, and costs."""

from __future__ import annotations

import numpy as np

from meterdp.figures import numbers
from meterdp.figures.report.grid import Grid
from meterdp.figures.style import load
from meterdp_papers.common.printed import Printed
from meterdp_papers.li.readings import GRAPHS, NORMALISATIONS, RECORDS, VIEWS
from meterdp_papers.li.tables import (
    LI_EXPONENTS,
    LI_LEAKAGE,
    LI_LIKELIHOODS,
    LI_MASKS,
    LI_READ_OFF,
    LI_RECOVERY,
)

_SCHEMES = {
    "central": "all records in one place",
    "federated": "federated",
    "secure_sum": "secure summation",
    "subspace": "subspace",
    "subspace, asynchronous": "subspace, one node at a time",
}
_UNITS = {"seconds": "s"}
_ROUNDING = 1e-9


def likelihoods(path) -> Grid:
    """Return how far every scheme is from all records in one place, and what consensus costs an iteration."""
    table = load(path, LI_LIKELIHOODS)
    schemes = [name for name in _SCHEMES if name != "central" and name in set(table["scheme"])]
    rows = []
    for reading, at in table.groupby("reading", sort=False):
        of = {name: at[at["scheme"] == name] for name in schemes}
        consensus = of["subspace"].sort_values("iteration").iloc[-1]
        worst = (
            numbers.significant(one["difference"].max(), 2) if len(one) else numbers.MISSING for one in of.values()
        )
        rows.append(
            [
                reading,
                numbers.significant(consensus["log_likelihood"], 6),
                *worst,
                numbers.significant(consensus["spread"], 2),
                numbers.count(round(consensus["messages"])),
            ]
        )
    header = (
        "reading",
        "log-likelihood at the end (nats)",
        *(f"{_SCHEMES[name]}: largest difference (nats)" for name in schemes),
        "subspace: spread between nodes",
        "messages an iteration",
    )
    return Grid("Fig. 2: log-likelihood against that of all records in one place", header, rows)


def leakage(path) -> Grid:
    """Return information and both normalisations after the first and the last iteration."""
    table = load(path, LI_LEAKAGE)
    last = table["iteration"].max()
    rows = []
    for graph in GRAPHS:
        for view in VIEWS:
            at = table[(table["graph"] == graph) & (table["view"] == view)]
            at = at[at["iteration"].isin((1, last) if view != RECORDS else (1,))]
            for _, row in at.iterrows():
                exact = row["linfoot_exact"]
                rows.append(
                    [
                        f"{graph}; {view}",
                        f"{_SCHEMES[row['scheme']]}: {row['node']} in {row['group']}",
                        "any" if view == RECORDS else str(row["iteration"]),
                        _pm(row["information"], row["information_se"]),
                        *(_interval(row, name) for name in NORMALISATIONS.values()),
                        "" if np.isnan(exact) else f"{exact:.3f}",
                    ]
                )
    header = (
        "graph and view",
        "scheme: node in the sum over",
        "after",
        "information (nats)",
        *NORMALISATIONS,
        "exact",
    )
    return Grid("Fig. 3: information about a node’s record, with 95 % intervals", header, rows, words=2)


def _interval(row, name: str) -> str:
    ends = [row[f"{name}_{end}"] for end in ("low", "high")]
    words = "" if np.isnan(ends).any() else f" ± {(ends[1] - ends[0]) / 2:.3f}"
    return f"{row[name]:.3f}{words}"


def _pm(value: float, error: float) -> str:
    return numbers.plus_minus(value, 0.0 if error < _ROUNDING else error)


def masks(path) -> Grid:
    """Return the exact information against the size of the masks."""
    rows = [
        [
            row.graph,
            _SCHEMES[row.scheme],
            numbers.plain(row.mask_std),
            f"{row.information:.6f}",
            numbers.MISSING if np.isnan(row.closed_form) else f"{row.closed_form:.6f}",
            f"{row.of_the_sum:.6f}",
        ]
        for row in load(path, LI_MASKS).itertuples()
    ]
    header = (
        "graph",
        "scheme",
        "standard deviation of masks",
        "information (nats)",
        "closed form",
        "of the sum alone",
    )
    return Grid(
        "What masks of finite size leave of a standard normal number of node 1, all messages heard",
        header,
        rows,
        words=2,
    )


def read_off(path) -> Grid:
    """Return whose records follow from one iteration."""
    rows = [
        [
            row.reading,
            _SCHEMES[row.scheme],
            row.groups,
            "yes" if row.nothing_more else "no",
            str(row.most_records),
            numbers.count(row.alone_count),
            numbers.significant(row.quotient_error, 2),
            numbers.percent(row.found_share),
        ]
        for row in load(path, LI_READ_OFF).itertuples()
    ]
    header = (
        "setting",
        "scheme",
        "known sums",
        "nothing else",
        "records at a node, most",
        "nodes known one by one",
        "largest error of b/a",
        "nodes of several records solved",
    )
    return Grid("What one iteration gives away, nodes 2 and 4 corrupt, or to the server", header, rows, words=3)


def recovery(path) -> Grid:
    """Return how many iterations it takes to solve for the records of honest nodes."""
    rows = [
        [
            f"{_SCHEMES[row.scheme]}: {row.group}",
            f"{row.records} × {row.dimension}",
            str(row.unknowns),
            str(row.first_equations),
            str(row.from_iteration),
            str(row.iterations),
            numbers.percent(row.met_share),
            numbers.percent(row.found_share),
            numbers.significant(row.error_median, 2),
        ]
        for row in load(path, LI_RECOVERY).itertuples()
    ]
    header = (
        "scheme: sum over",
        "a node’s records × dimension",
        "unknowns",
        "equations of the first iteration",
        "enough from iteration",
        "iterations watched",
        "runs in which the sums are met",
        "by the true records",
        "error of the worst record, median",
    )
    return Grid("Records solved for from sums, up to their order (defect D5)", header, rows)


def exponents(path) -> Grid:
    """Return how costs grow."""
    rows = []
    for row in load(path, LI_EXPONENTS).itertuples():
        # Where a cost is a power to the last digit, its error is rounding.
        exact = not row.exponent_se > _ROUNDING
        exponent = f"{round(row.exponent, 3) + 0:.3f}" if exact else numbers.plus_minus(row.exponent, row.exponent_se)
        unit = _UNITS.get(row.quantity, "")
        rows.append(
            [
                row.axis,
                _SCHEMES[row.scheme],
                row.quantity,
                exponent,
                f"{numbers.significant(row.at_largest)} {unit}".strip(),
                numbers.count(row.largest_x),
            ]
        )
    header = ("grows with", "scheme", "an iteration’s", "exponent", "at the largest", "which is")
    return Grid("Cost against nodes and dimension: exponents by least squares on log axes", header, rows, words=3)


PRINTED = (
    Printed("fig2", LI_LIKELIHOODS, likelihoods),
    Printed("read_off", LI_READ_OFF, read_off),
    Printed("fig3", LI_LEAKAGE, leakage),
    Printed("masks", LI_MASKS, masks),
    Printed("recovery", LI_RECOVERY, recovery),
    Printed("exponents", LI_EXPONENTS, exponents),
)
