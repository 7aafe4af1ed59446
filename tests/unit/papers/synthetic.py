"""Synthetic tables of the reproduction, to judge and to draw."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from meterdp.core.parquet import as_arrow
from meterdp.core.tables import COUNT, FLAG, INT, REAL, TEXT, VECTOR, Table
from meterdp_papers.liu.tables import LIU_ACCURACY, LIU_CURVE, LIU_DENSITIES, LIU_MARGINAL_DISTANCES, SHOWN

PUBLISHED = ("iid_laplace", "iid_gaussian", "coloured_gaussian_l1", "kl_published")
FAMILY = {"kl_exact": "exact", "fit": "none"}
SOURCE = {"data": "synthetic data", "substitute": "stands for nothing"}
# What a column holds that no test looks at.
_ANY = {TEXT: "some words", REAL: 0.1, COUNT: 100, INT: 1, FLAG: False, VECTOR: [0.0]}


def filled(table: Table, rows: Iterable[dict], **same) -> pd.DataFrame:
    """Return rows of a declared table; a column that they leave out holds null where it may, else anything."""
    default = {c.name: np.nan if c.nullable else _ANY[c.type] for c in table.columns} | SOURCE | same
    data = pd.DataFrame([default | row for row in rows])
    known = [c.name for c in table.columns]
    assert set(data.columns) - set(known) <= set(SOURCE)
    data = data[known]
    as_arrow(table, data)
    return data


def curve(
    means: dict[str, list[float]],
    x=(0.5, 1.0, 2.0),
    se: float = 0.1,
    figure="fig1",
    x_name="epsilon",
    variant: str = SHOWN.name,
):
    """Return a table ``liu_curve`` with these means per mechanism along ``x``."""
    rows = [
        {
            "mechanism": name,
            "family": FAMILY.get(name, "published"),
            "x": float(at),
            "kl_mean": mean,
            "kl_median": 0.6 * mean,
            "kl_q25": 0.4 * mean,
            "kl_q75": 0.9 * mean,
            "excess_mean": mean - means["kl_published"][i],
            "excess_se": 0.0 if name == "kl_published" else np.hypot(se, se),
            "below_proposed_share": 0.0 if name == "kl_published" else 0.01,
        }
        for name, values in means.items()
        for i, (at, mean) in enumerate(zip(x, values, strict=True))
    ]
    of_all = {"figure": figure, "reading": variant, "x_name": x_name, "kl_se": se}
    return filled(LIU_CURVE, rows, **of_all, trials=1000, redrawn_count=7)


def accuracy(shares: dict[str, list[float]], x=(0.5, 1.0, 2.0)):
    """Return a table ``liu_accuracy`` with these means per mechanism along ``x``."""
    rows = [
        {
            "mechanism": name,
            "family": FAMILY.get(name, "published"),
            "x": float(at),
            "accuracy_mean": share,
            "accuracy_se": 0.002,
            "accuracy_q25": share - 0.02,
            "accuracy_q75": share + 0.02,
        }
        for name, values in shares.items()
        for at, share in zip(x, values, strict=True)
    ]
    return filled(LIU_ACCURACY, rows, reading=SHOWN.name, x_name="epsilon")


def distances(to_fit: dict[str, list[float]], records: list[int]):
    """Return a table ``liu_marginal_distances`` of one entry per class, as far from the histogram as from the fit."""
    rows = [
        {
            "component": k + 1,
            "record_count": count,
            "curve": name,
            "family": FAMILY.get(name, "published"),
            "tv_histogram_mean": values[k],
            "tv_fit_mean": values[k],
        }
        for name, values in to_fit.items()
        for k, count in enumerate(records)
    ]
    return filled(LIU_MARGINAL_DISTANCES, rows, figure="fig8", entry=0, reading=SHOWN.name, tv_histogram_se=0.005)


def densities(mechanisms=(*PUBLISHED, "kl_exact"), components=3, entries=2) -> pd.DataFrame:
    """Return a table ``liu_densities``."""
    grid = np.linspace(-3, 3, 61)
    bell = np.exp(-0.5 * grid**2) / np.sqrt(2 * np.pi)
    released = [(name, kind, scale) for name in mechanisms for kind, scale in (("draw", 50.0), ("mean", 0.5))]
    blocks = []
    for k in range(1, components + 1):
        for j in range(entries):
            left = np.array([0.0]) if k == components else np.linspace(-2, 1.5, 8)
            for name, kind, value, density in (
                ("histogram", "data", left, 0.25),
                *((name, kind, grid, scale * bell) for name, kind, scale in (("fit", "fit", 1.0), *released)),
            ):
                cell = {"figure": "fig6", "component": k, "entry": j, "curve": name, "kind": kind}
                blocks.append(pd.DataFrame({**cell, "value": value, "density": density, **SOURCE}))
    data = pd.concat(blocks)
    as_arrow(LIU_DENSITIES, data)
    return data
