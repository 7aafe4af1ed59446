"""Synthetic tables of Park et al., to judge and to draw."""

from __future__ import annotations

import numpy as np
import pandas as pd

from meterdp_papers.park import marital
from meterdp_papers.park import tables as park
from tests.unit.papers.synthetic import filled

# Nats per record at epsilon 0.1, 1 and 4.
EPSILONS = (0.1, 1.0, 4.0)
AS_CLAIMED = {
    park.EM: (10.0, 10.0, 10.0),
    "ggg_zcdp": (2.0, 6.0, 9.0),
    "ggg_moments": (1.0, 5.99, 8.99),
    "ggg_moments_far": (2.0, 5.99, 8.99),
    "ggg_moments_few": (None, 5.99, 8.99),
    "ggg_moments_grid": (0.5, 5.99, 8.95),
    "ggg_moments_real_capped": (1.0, 6.0, 9.0),
    "ggg_linear_own_delta": (-9.0, 0.0, 2.0),
    "ggg_moments_real": (2.0, 6.0, 9.0),
    "ggg_advanced": (0.0, 3.0, 5.0),
    "ggg_linear": (-9.0, 1.0, 3.0),
    "llg_zcdp": (-1.0, 2.0, 4.0),
    "llg_moments": (-2.0, 2.0, 4.0),
}


def runs(
    values=AS_CLAIMED, figure="fig2", variant=park.SHOWN.name, noise=0.01, left_out=False, capped=0.6
) -> pd.DataFrame:
    """Return a table ``park_likelihoods`` of five splits around these means."""
    generator = np.random.default_rng(3)
    of = {line.name: line for line in park.LINES}
    rows = []
    for number in range(5):
        for i, epsilon in enumerate(EPSILONS):
            for line, means in values.items():
                if means[i] is None:
                    continue
                less = {"ggg_moments": 0.6, "ggg_moments_real_capped": capped}.get(line, 1.0)
                step = None if line == park.EM else epsilon / 10 * less
                row = {"split": number, "line": line, "epsilon": epsilon, "step_epsilon": step}
                row |= {"scheme": of[line].scheme, "composition": of[line].composition} if line in of else {}
                row |= {"deltas_left_out": left_out and line in ("ggg_linear", "ggg_advanced")}
                rows.append(row | {"log_likelihood": means[i] + noise * generator.standard_normal()})
    table = filled(park.PARK_LIKELIHOODS, rows, figure=figure, reading=variant)
    return table.astype({"step_epsilon": float})


def distances(em_to_lone=0.0, few=1000.0, many=100.0, se=1.0) -> pd.DataFrame:
    """Return a table ``park_distances`` of one epsilon."""
    apart = ("released_to_lone_median_km", "released_to_em_median_km", "released_to_em_mean_km")
    rows = [
        {"times": times, "status": status, **dict.fromkeys(apart, at)}
        for times, at in ((1, few), (50, many))
        for status in marital.STATUSES
    ]
    return filled(park.PARK_DISTANCES, rows, epsilon=1.0, em_to_lone_km=em_to_lone, released_to_em_se_km=se)


def folds(values=(0.01, 0.4, 0.3, 0.2), noise=0.001) -> pd.DataFrame:
    """Return a table ``park_folds``: NICV without noise, of DPLloyd twice, and of the paper's method."""
    generator = np.random.default_rng(4)
    methods = (park.PLAIN, park.LLOYD_LINEAR, park.LLOYD_ZCDP, park.PROPOSED)
    rows = [
        {
            "fold": number,
            "start": 0,
            "reading": variant.name,
            "method": method,
            "step_epsilon": None if method == park.PLAIN else 0.001,
            "nicv": value + noise * generator.standard_normal(),
            "longitude": generator.uniform(-170, 170, variant.clusters).tolist(),
            "latitude": generator.uniform(-80, 80, variant.clusters).tolist(),
        }
        for number in range(5)
        for variant in park.CLUSTER_VARIANTS
        for method, value in zip(methods, values, strict=True)
    ]
    return filled(park.PARK_FOLDS, rows, epsilon=0.01).astype({"step_epsilon": float})


def face_numbers(high=0.9, low=0.3) -> pd.DataFrame:
    """Return a table ``park_face_numbers`` with these shares of the loadings at epsilon 0.3 and 0.2."""
    rows = [
        {
            "pictures": "pictures as they are",
            "sensitivity": sensitivity,
            "noise": noise,
            "epsilon": epsilon,
            "captured_share": share,
        }
        for sensitivity in park.SENSITIVITIES
        for noise in ("stated", park.MISREAD)
        for epsilon, share in ((0.3, high), (0.2, low))
    ]
    code = [
        row | {"pictures": park.BY_PIXEL}
        for row in rows
        if row["noise"] == park.MISREAD and row["sensitivity"] == "2/N"
    ]
    return filled(park.PARK_FACE_NUMBERS, [*rows, *code])
