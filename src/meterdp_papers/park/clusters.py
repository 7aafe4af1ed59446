"""Fig. 4 of Park et al.: private K-means of check-ins against DPLloyd, over ten folds.

Every method of a fold has the same public start and as many iterations. NICV is the mean squared distance to the
nearest centre, of test records in the unit ball.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd

from meterdp.accounting.registry import CURVES
from meterdp.core.noise import StudyNoise, fixed_uniforms
from meterdp.mechanisms.dpem.kmeans import dp_kmeans, dp_lloyd, kmeans_sequence, lloyd_sequence, nicv
from meterdp_papers.common.substitutes import CHECK_INS
from meterdp_papers.park.data import Records
from meterdp_papers.park.likelihoods import fold
from meterdp_papers.park.setting import (
    CLUSTER_READINGS,
    DELTA,
    EPSILON_AS_PRINTED,
    LLOYD_LINEAR,
    LLOYD_ZCDP,
    PLAIN,
    PROPOSED,
    SHOWN_CLUSTERS,
    ClusterReading,
)

EPSILON = 0.01
SHOWN_RECORDS = 1_500


def step_budgets(reading: ClusterReading, epsilon: float) -> dict[str, tuple[Callable, float]]:
    """Return algorithm and budget of an answer of every method."""
    lloyd = lloyd_sequence(reading.iterations)
    ours = kmeans_sequence(reading.clusters, reading.iterations) if reading.charged == "each" else lloyd
    return {
        PLAIN: (dp_kmeans, np.inf),
        LLOYD_LINEAR: (dp_lloyd, CURVES["linear"].calibrated(lloyd, epsilon, DELTA)),
        LLOYD_ZCDP: (dp_lloyd, CURVES["zcdp"].calibrated(lloyd, epsilon, DELTA)),
        PROPOSED: (dp_kmeans, CURVES["zcdp"].calibrated(ours, epsilon, DELTA)),
    }


def public_start(clusters: int, number: int) -> np.ndarray:
    """Return public centres (k, 2), places drawn from the globe, the same for every method of a fold."""
    uniform = fixed_uniforms(f"reproduce park, fig4, start of {clusters} clusters, {number}", (clusters, 2))
    return (2 * uniform - 1) * [0.9, 0.45]


def readings_of(records: Records) -> list[ClusterReading]:
    """Return the readings that apply: a larger epsilon only where there are fewer records than the paper's."""
    fewer = len(records.x) < CHECK_INS
    return [r for r in CLUSTER_READINGS if fewer or r.budget == EPSILON_AS_PRINTED]


def run_fold(records: Records, number: int, seed: int) -> pd.DataFrame:
    """Return the columns of ``park_folds`` of one fold."""
    train, test = fold(len(records.x), "fig4", number)
    x = records.in_unit_ball()
    train_x, test_x = x[train], x[test]

    @cache
    def run(method: str, algorithm: Callable, step: float, clusters: int, iterations: int, bounded: bool):
        noise = StudyNoise(seed, "reproduce park", "fig4", method, number)
        centres = public_start(clusters, number)
        for _ in range(iterations):
            centres = algorithm(train_x, centres, 1, step, noise)
            if bounded:
                centres = np.clip(centres, -1, 1)
        return centres * records.largest_norm, nicv(test_x, centres)

    rows = []
    for reading in readings_of(records):
        epsilon = EPSILON * (1 if reading.budget == EPSILON_AS_PRINTED else CHECK_INS / len(records.x))
        for method, (algorithm, step) in step_budgets(reading, epsilon).items():
            centres, value = run(method, algorithm, step, reading.clusters, reading.iterations, reading.bounded)
            rows.append(
                {
                    "fold": number,
                    "reading": reading.name,
                    "method": method,
                    "epsilon": epsilon,
                    "step_epsilon": None if np.isinf(step) else step,
                    "nicv": value,
                    "longitude": centres[:, 0].tolist(),
                    "latitude": centres[:, 1].tolist(),
                }
            )
    return pd.DataFrame(rows)


def summarise(folds: pd.DataFrame, source: dict[str, str | None]) -> pd.DataFrame:
    """Return the columns of ``park_nicv`` from all folds; the excess is over the proposed method in the same fold."""
    ours = folds[folds["method"] == PROPOSED].set_index(["reading", "fold"])["nicv"]
    index = pd.MultiIndex.from_frame(folds[["reading", "fold"]])
    folds = folds.assign(excess=folds["nicv"].to_numpy() - ours.loc[index].to_numpy())
    table = folds.groupby(["reading", "method"], sort=False).agg(
        epsilon=("epsilon", "first"),
        step_epsilon=("step_epsilon", "first"),
        nicv_mean=("nicv", "mean"),
        nicv_se=("nicv", "sem"),
        nicv_median=("nicv", "median"),
        excess_mean=("excess", "mean"),
        excess_se=("excess", "sem"),
        trials=("fold", "size"),
    )
    return table.reset_index().assign(**source)


def on_the_map(folds: pd.DataFrame, nicvs: pd.DataFrame, records: Records) -> pd.DataFrame:
    """Return the columns of ``park_clusters`` (Fig. 4): records and the centres of the first fold."""
    shown = folds[(folds["fold"] == 0) & (folds["reading"] == SHOWN_CLUSTERS.name)]
    mean = nicvs[nicvs["reading"] == SHOWN_CLUSTERS.name].set_index("method")
    centres = [
        {
            "kind": "centre",
            "method": row.method,
            "nicv_mean": mean.loc[row.method, "nicv_mean"],
            "nicv_se": mean.loc[row.method, "nicv_se"],
            "longitude": longitude,
            "latitude": latitude,
        }
        for row in shown.itertuples()
        for longitude, latitude in zip(row.longitude, row.latitude, strict=True)
    ]
    order = np.argsort(fixed_uniforms("reproduce park, fig4, shown", (len(records.x),)))[:SHOWN_RECORDS]
    dots = pd.DataFrame({"kind": "record", "longitude": records.x[order, 0], "latitude": records.x[order, 1]})
    return pd.concat([dots, pd.DataFrame(centres)]).assign(reading=SHOWN_CLUSTERS.name, **records.source)
