"""Fig. 4 of Park et al.: private K-means of check-ins against DPLloyd, over ten folds.

Every method of a fold has the same public starts and as many iterations; of both sides of a comparison the same data
sets are neighbours. NICV is the mean squared distance to the
nearest centre, of test records in the unit ball.

Fig. 5 of Park et al.: columns of factor loadings of faces, without noise and after Analyze Gauss.

The noise is drawn as Section 7 states it, and once more with its variance where the standard deviation belongs, which
is what the paper's public code does (defect P3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from scipy.sparse.linalg import eigsh

from meterdp.accounting.registry import CURVES
from meterdp.core.job import progress
from meterdp.core.noise import StudyNoise, fixed_normals, fixed_uniforms
from meterdp.mechanisms.dpem.kmeans import (
    Factors,
    analyze_gauss_std,
    answers_of,
    dp_kmeans,
    dp_lloyd,
    fit_factors,
    nicv,
    noisy_second_moment,
    second_moment,
    start_factors,
)
from meterdp_papers.common.datasets import CHECK_INS
from meterdp_papers.park import tables as park
from meterdp_papers.park.data import Records
from meterdp_papers.park.likelihoods import fold

EPSILON = 0.01
DIMENSION = 2
SHOWN_RECORDS = 1_500


@dataclass(frozen=True)
class Method:
    """One side of the comparison."""

    algorithm: Callable
    step: float  # budget of an answer
    options: tuple[tuple[str, float | str], ...] = ()  # keywords of the algorithm


def methods_of(variant: park.ClusterVariant, epsilon: float) -> dict[str, Method]:
    """Return every method of a variant, its noise scaled to the neighbours of the variant."""
    lloyd, answers = answers_of(variant.iterations), _ANSWERS.get(variant.counts, variant.clusters + 1)
    ours = answers_of(variant.iterations, answers)
    removed = 2.0 if variant.adjacency == park.REPLACED else 1.0  # records taken out of DPLloyd's sums or put in
    in_one = 1 + np.sqrt(DIMENSION) if variant.in_ball else DIMENSION + 1.0
    of_lloyd = (("sensitivity", removed * in_one),)
    of_ours = (
        ("change", 1.0 if variant.adjacency == park.ADDED else 2.0),
        ("counts", "exact" if variant.counts == park.CODE else "noisy"),
        ("divisor", variant.divisor),
    )
    linear, zcdp = (CURVES[name].calibrated for name in ("linear", "zcdp"))
    return {
        park.PLAIN: Method(dp_kmeans, np.inf),
        park.LLOYD_LINEAR: Method(dp_lloyd, linear(lloyd, epsilon, park.DELTA), of_lloyd),
        park.LLOYD_ZCDP: Method(dp_lloyd, zcdp(lloyd, epsilon, park.DELTA), of_lloyd),
        park.PROPOSED: Method(dp_kmeans, zcdp(ours, epsilon, park.DELTA), of_ours),
    }


# Answers the proposed method is charged for in an iteration; a record is in one cluster, so the means are one.
_ANSWERS = {park.BOTH: 2, park.MEANS: 1, park.CODE: 1}


def public_start(clusters: int, number: int) -> np.ndarray:
    """Return public centres (k, 2), places drawn from the globe, the same for every method of a fold."""
    uniform = fixed_uniforms(f"reproduce park, fig4, start of {clusters} clusters, {number}", (clusters, 2))
    return (2 * uniform - 1) * [0.9, 0.45]


def start_number(number: int, start: int) -> int:
    """Return the number of a public start, of its own for every fold; more starts leave the first ones alone."""
    return (start // park.STARTS * park.SPLITS + number) * park.STARTS + start % park.STARTS


def variants_of(records: Records) -> list[park.ClusterVariant]:
    """Return the variants that apply: a larger epsilon only where there are fewer records than the paper's."""
    fewer = len(records.x) < CHECK_INS
    return [r for r in park.CLUSTER_VARIANTS if fewer or r.budget == park.EPSILON_AS_PRINTED]


def run_fold(records: Records, number: int, seed: int, starts: int = 1) -> pd.DataFrame:
    """Return the columns of ``park_folds`` of one fold from so many public starts at most."""
    train, test = fold(len(records.x), "fig4", number)
    x = records.in_unit_ball()
    train_x, test_x = x[train], x[test]

    @cache
    def run(name: str, method: Method, clusters: int, iterations: int, bounded: bool, start: int):
        noise = StudyNoise(seed, "reproduce park", "fig4", name, start)
        centres = public_start(clusters, start)
        for _ in range(iterations):
            centres = method.algorithm(train_x, centres, 1, method.step, noise, **dict(method.options))
            if bounded:
                centres = np.clip(centres, -1, 1)
        return centres * records.largest_norm, nicv(test_x, centres)

    rows = []
    for start in progress(range(starts), "fig4, starts"):
        for variant in (v for v in variants_of(records) if start < v.starts):
            epsilon = EPSILON * (1 if variant.budget == park.EPSILON_AS_PRINTED else CHECK_INS / len(records.x))
            for name, method in methods_of(variant, epsilon).items():
                found = run(
                    name, method, variant.clusters, variant.iterations, variant.bounded, start_number(number, start)
                )
                row = {"fold": number, "start": start, "reading": variant.name, "method": name, "epsilon": epsilon}
                rows.append(row | _clustering(method.step, *found))
    return pd.DataFrame(rows)


def _clustering(step: float, centres: np.ndarray, value: float) -> dict[str, object]:
    places = {"longitude": centres[:, 0].tolist(), "latitude": centres[:, 1].tolist()}
    return {"step_epsilon": None if np.isinf(step) else step, "nicv": value, **places}


def summarise(folds: pd.DataFrame, source: dict[str, str | None]) -> pd.DataFrame:
    """Return the columns of ``park_nicv`` from all folds; the excess is over the proposed method, all else equal."""
    keys = ["reading", "fold", "start"]
    ours = folds[folds["method"] == park.PROPOSED].set_index(keys)["nicv"]
    index = pd.MultiIndex.from_frame(folds[keys])
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
    table = table.reset_index()
    variants = table["reading"].map({v.name: v for v in park.CLUSTER_VARIANTS})
    return table.assign(adjacency=[v.adjacency for v in variants], charge=[v.charge for v in variants], **source)


def on_the_map(folds: pd.DataFrame, nicvs: pd.DataFrame, records: Records) -> pd.DataFrame:
    """Return the columns of ``park_clusters`` (Fig. 4): records and the centres of the first fold."""
    first = (folds["fold"] == 0) & (folds["start"] == 0)
    shown = folds[first & (folds["reading"] == park.SHOWN_CLUSTERS.name)]
    mean = nicvs[nicvs["reading"] == park.SHOWN_CLUSTERS.name].set_index("method")
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
    return pd.concat([dots, pd.DataFrame(centres)]).assign(reading=park.SHOWN_CLUSTERS.name, **records.source)


def spectral_norm(matrix: np.ndarray) -> float:
    """Return the largest absolute eigenvalue of a symmetric matrix (d, d) by Lanczos iteration, to six digits.

    That of noise says whether it drowns a second moment (defect P3).
    """
    start = np.ones(len(matrix)) / np.sqrt(len(matrix))
    return float(abs(eigsh(matrix, k=1, v0=start, tol=1e-4, return_eigenvectors=False)[0]))


EPSILONS = (0.3, 0.2)
CODE_EPSILONS = (1.0, *EPSILONS)  # the first is what the public code is set to
LATENT, ITERATIONS = 10, 50


def prepared(records: Records, pictures: str) -> tuple[np.ndarray, float]:
    """Return pictures (N, d) in the unit ball, and what their second moment is multiplied by.

    The second number is 1 unless they are divided by the largest norm of a pixel over all pictures, as the public
    code does: then they lie outside the ball, and noise is smaller beside them.
    """
    x = records.x
    if pictures != park.AS_THEY_ARE:
        x = x - x.mean(axis=0)
        x = x - x.mean(axis=1, keepdims=True)
    largest = np.linalg.norm(x, axis=1).max()
    scale = (largest / np.linalg.norm(x, axis=0).max()) ** 2 if pictures == park.BY_PIXEL else 1.0
    return x / largest, float(scale)


def leading(matrix: np.ndarray) -> np.ndarray:
    """Return the eigenvectors (d, q) of the largest eigenvalues of a symmetric matrix (d, d)."""
    start = np.ones(len(matrix)) / np.sqrt(len(matrix))
    return eigsh(matrix, k=LATENT, which="LA", v0=start, tol=1e-6)[1]


def captured(free: Factors, private: np.ndarray) -> float:
    """Return how much of EM's loadings lies in the span of columns (d, q): mean squared cosine, from 0 to 1."""
    basis, other = (np.linalg.qr(columns)[0] for columns in (private, free.loadings))
    return float(np.linalg.norm(basis.T @ other) ** 2 / other.shape[1])


def tabulate(records: Records, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the columns of ``park_faces`` (Fig. 5) and ``park_face_numbers``."""
    start = start_factors(fixed_normals("reproduce park, fig5, start", (records.x.shape[1], LATENT)))
    columns, numbers, norm_of_one = [], [], None
    for pictures in progress(park.PICTURES, "fig5, pictures"):
        x, scale = prepared(records, pictures)
        exact = second_moment(x)
        top = scale * spectral_norm(exact)
        free = fit_factors(scale * exact, ITERATIONS, start)
        without = {"pictures": pictures, "sensitivity": None, "noise": park.WITHOUT, "epsilon": None}
        columns.append(_columns(without, free))
        for sensitivity, noise, epsilon in noises(pictures):
            # The same matrix of normal numbers everywhere.
            stream = StudyNoise(seed, "reproduce park", "fig5", "noise")
            change = park.SENSITIVITIES[sensitivity]
            noisy = noisy_second_moment(x, epsilon, park.DELTA, stream, change, noise == park.MISREAD)
            std = analyze_gauss_std(len(x), epsilon, park.DELTA, change)
            std = std if noise == park.STATED else std**2
            if norm_of_one is None:
                norm_of_one = spectral_norm(noisy - exact) / std
            noisy += (scale - 1) * exact
            found = fit_factors(noisy, ITERATIONS, start)
            key = {"pictures": pictures, "sensitivity": sensitivity, "noise": noise, "epsilon": epsilon}
            numbers.append(
                key
                | {
                    "noise_std": std,
                    "noise_spectral_norm": std * norm_of_one,
                    "top_eigenvalue": top,
                    "captured_share": captured(free, found.loadings),
                    "components_share": captured(free, leading(noisy)),
                }
            )
            columns.append(_columns(key, found))
    return pd.concat(columns).assign(**records.source), pd.DataFrame(numbers).assign(**records.source)


def noises(pictures: str) -> list[tuple[str, str, float]]:
    """Return sensitivity, distribution and epsilon of every noise that is drawn on pictures prepared in this way."""
    if pictures == park.BY_PIXEL:
        return [
            (words, park.MISREAD, e)
            for words in (park.PRINTED_SENSITIVITY, park.SMALLEST_SENSITIVITY)
            for e in CODE_EPSILONS
        ]
    stated = [(words, park.STATED, e) for words in park.SENSITIVITIES for e in EPSILONS]
    return [*stated, *((park.PRINTED_SENSITIVITY, park.MISREAD, e) for e in EPSILONS)]


def _columns(key: dict[str, str | float | None], found: Factors) -> pd.DataFrame:
    # Loadings mean the same after any rotation: columns made orthogonal, the longest first, bright on the whole.
    left, lengths, _ = np.linalg.svd(found.loadings, full_matrices=False)
    loadings = (left * lengths).T
    loadings = loadings * np.where(loadings.sum(axis=1) < 0, -1.0, 1.0)[:, None]
    return pd.DataFrame(
        {
            **key,
            "column": np.arange(1, len(loadings) + 1),
            "loading": list(loadings),
        }
    )
