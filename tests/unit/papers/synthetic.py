"""Synthetic tables of the reproduction, to judge and to draw."""

from __future__ import annotations

import numpy as np
import pandas as pd

from meterdp_papers.liu.tables import SHOWN

PUBLISHED = ("iid_laplace", "iid_gaussian", "coloured_gaussian_l1", "kl_published")
FAMILY = {"kl_exact": "exact", "fit": "none"}
SOURCE = {"data": "synthetic data", "substitute": "stands for nothing"}


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
            "figure": figure,
            "reading": variant,
            "mechanism": name,
            "family": FAMILY.get(name, "published"),
            "x_name": x_name,
            "x": float(at),
            "kl_mean": mean,
            "kl_se": se,
            "kl_median": 0.6 * mean,
            "kl_q25": 0.4 * mean,
            "kl_q75": 0.9 * mean,
            "excess_mean": mean - means["kl_published"][i],
            "excess_se": 0.0 if name == "kl_published" else np.hypot(se, se),
            "below_proposed_share": 0.0 if name == "kl_published" else 0.01,
            "trials": 1000,
            "redrawn_count": 7,
            **SOURCE,
        }
        for name, values in means.items()
        for i, (at, mean) in enumerate(zip(x, values, strict=True))
    ]
    return pd.DataFrame(rows)


def accuracy(shares: dict[str, list[float]], x=(0.5, 1.0, 2.0)):
    """Return a table ``liu_accuracy`` with these means per mechanism along ``x``."""
    rows = [
        {
            "reading": SHOWN.name,
            "mechanism": name,
            "family": FAMILY.get(name, "published"),
            "x_name": "epsilon",
            "x": float(at),
            "accuracy_mean": share,
            "accuracy_se": 0.001,
            "accuracy_median": share,
            "accuracy_q25": share - 0.02,
            "accuracy_q75": share + 0.02,
            "trials": 1000,
            "test_count": 500,
            **SOURCE,
        }
        for name, values in shares.items()
        for at, share in zip(x, values, strict=True)
    ]
    return pd.DataFrame(rows)


def distances(to_fit: dict[str, list[float]], records: list[int], to_histogram: dict[str, list[float]] | None = None):
    """Return a table ``liu_marginal_distances`` of one entry per class."""
    to_histogram = to_histogram or to_fit
    rows = [
        {
            "figure": "fig8",
            "component": k + 1,
            "record_count": records[k],
            "entry": 0,
            "reading": SHOWN.name,
            "curve": name,
            "family": FAMILY.get(name, "published"),
            "tv_histogram_mean": to_histogram[name][k],
            "tv_histogram_se": 0.005,
            "tv_fit_mean": to_fit[name][k],
            "kl_fit_mean": 0.1,
            "kl_fit_median": 0.1,
            "trials": 1000,
        }
        for name in to_fit
        for k in range(len(records))
    ]
    return pd.DataFrame(rows)


def densities(mechanisms=(*PUBLISHED, "kl_exact"), components=3, entries=2) -> pd.DataFrame:
    """Return a table ``liu_densities``."""
    grid = np.linspace(-3, 3, 61)
    bell = np.exp(-0.5 * grid**2) / np.sqrt(2 * np.pi)
    blocks = []
    for k in range(1, components + 1):
        for j in range(entries):
            cell = {"figure": "fig6", "component": k, "entry": j, **SOURCE}
            left = np.array([0.0]) if k == components else np.linspace(-2, 1.5, 8)
            blocks.append(
                pd.DataFrame({**cell, "curve": "histogram", "kind": "data", "value": left, "density": 0.25})
            )
            blocks.append(pd.DataFrame({**cell, "curve": "fit", "kind": "fit", "value": grid, "density": bell}))
            for name in mechanisms:
                for kind, scale in (("draw", 50.0), ("mean", 0.5)):
                    values = {"curve": name, "kind": kind, "value": grid, "density": scale * bell}
                    blocks.append(pd.DataFrame({**cell, **values}))
    return pd.concat(blocks)
