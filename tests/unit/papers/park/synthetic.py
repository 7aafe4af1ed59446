"""Synthetic tables of Park et al., to judge and to draw."""

from __future__ import annotations

import numpy as np
import pandas as pd

from meterdp_papers.park import likelihoods, marital
from meterdp_papers.park.tables import (
    BY_PIXEL,
    CLUSTER_VARIANTS,
    EM,
    LINES,
    LLOYD_LINEAR,
    LLOYD_ZCDP,
    MISREAD,
    PLAIN,
    PROPOSED,
    SENSITIVITIES,
    SHOWN,
    ZCDP,
)

SOURCE = {"data": "synthetic data", "substitute": "stands for nothing"}
# Nats per record at epsilon 0.1, 1 and 4.
EPSILONS = (0.1, 1.0, 4.0)
AS_CLAIMED = {
    EM: (10.0, 10.0, 10.0),
    "ggg_zcdp": (2.0, 6.0, 9.0),
    "ggg_moments": (1.0, 5.99, 8.99),
    "ggg_moments_far": (2.0, 5.99, 8.99),
    "ggg_moments_real": (2.0, 6.0, 9.0),
    "ggg_advanced": (0.0, 3.0, 5.0),
    "ggg_linear": (-9.0, 1.0, 3.0),
    "llg_zcdp": (-1.0, 2.0, 4.0),
    "llg_moments": (-2.0, 2.0, 4.0),
}


def runs(values=AS_CLAIMED, figure="fig2", variant=SHOWN.name, noise=0.01, left_out=False, real=1.0) -> pd.DataFrame:
    """Return a table ``park_likelihoods`` of five splits around these means."""
    generator = np.random.default_rng(3)
    of = {line.name: line for line in LINES}
    rows = []
    for number in range(5):
        for i, epsilon in enumerate(EPSILONS):
            for line, means in values.items():
                step = None if line == EM else epsilon / 10 * (0.6 if line == "ggg_moments" else 1.0)
                step = step * real if line == "ggg_moments_real" else step
                rows.append(
                    {
                        "figure": figure,
                        "reading": variant,
                        "split": number,
                        "line": line,
                        "scheme": of[line].scheme if line in of else None,
                        "composition": of[line].composition if line in of else None,
                        "epsilon": epsilon,
                        "step_epsilon": step,
                        "deltas_left_out": left_out and line in ("ggg_linear", "ggg_advanced"),
                        "log_likelihood": means[i] + noise * generator.standard_normal(),
                    }
                )
    return pd.DataFrame(rows).astype({"step_epsilon": float})


def curve(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table ``park_curve`` of such splits."""
    assert (table["line"] == ZCDP).any()
    return likelihoods.summarise(table, SOURCE)


def distances(em_to_lone=0.0, few=1000.0, many=100.0, se=1.0) -> pd.DataFrame:
    """Return a table ``park_distances`` of one variant of the caption."""
    rows = [
        {
            "caption": "a caption",
            "times": times,
            "epsilon": 1.0,
            "status": status,
            "person_count": 10 * times,
            "em_to_lone_km": em_to_lone,
            "released_to_lone_median_km": at,
            "released_to_em_median_km": at,
            "released_to_em_mean_km": at,
            "released_to_em_se_km": se,
            "trials": 100,
            **SOURCE,
        }
        for times, at in ((1, few), (50, many))
        for status in marital.STATUSES
    ]
    return pd.DataFrame(rows)


def folds(values=(0.01, 0.4, 0.3, 0.2), noise=0.001) -> pd.DataFrame:
    """Return a table ``park_folds``: NICV without noise, of DPLloyd twice, and of the paper's method."""
    generator = np.random.default_rng(4)
    methods = (PLAIN, LLOYD_LINEAR, LLOYD_ZCDP, PROPOSED)
    rows = [
        {
            "fold": number,
            "reading": variant.name,
            "method": method,
            "epsilon": 0.01,
            "step_epsilon": None if method == PLAIN else 0.001,
            "nicv": value + noise * generator.standard_normal(),
            "longitude": generator.uniform(-170, 170, variant.clusters).tolist(),
            "latitude": generator.uniform(-80, 80, variant.clusters).tolist(),
        }
        for number in range(5)
        for variant in CLUSTER_VARIANTS
        for method, value in zip(methods, values, strict=True)
    ]
    return pd.DataFrame(rows).astype({"step_epsilon": float})


def face_numbers(high=0.9, low=0.3) -> pd.DataFrame:
    """Return a table ``park_face_numbers`` with these shares of the loadings at epsilon 0.3 and 0.2."""
    rows = [
        {
            "pictures": "pictures as they are",
            "sensitivity": sensitivity,
            "noise": noise,
            "epsilon": epsilon,
            "noise_std": 0.1,
            "noise_spectral_norm": 12.0,
            "top_eigenvalue": 0.6,
            "captured_share": share,
            **SOURCE,
        }
        for sensitivity in SENSITIVITIES
        for noise in ("stated", MISREAD)
        for epsilon, share in ((0.3, high), (0.2, low))
    ]
    code = [row | {"pictures": BY_PIXEL} for row in rows if row["noise"] == MISREAD and row["sensitivity"] == "2/N"]
    return pd.DataFrame([*rows, *code])
