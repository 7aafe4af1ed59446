"""The Parkinsons data of Li et al. (Section 5.1) as principal components, and how its rows sit on nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from meterdp.core.noise import fixed_uniforms
from meterdp.mixture.draws import Mixture
from meterdp_papers.common import substitutes
from meterdp_papers.common.datasets import Dataset, locate
from meterdp_papers.li.setting import CLASSES, COMPONENTS, NODES, STANDARDISED

NOT_FEATURES = ["name", "status"]


@dataclass(frozen=True)
class Voices:
    """Voice recordings."""

    features: np.ndarray  # (N, 22), in the units of the file
    source: dict[str, str | None]  # columns ``data`` and ``substitute``

    def components(self, preparation: str) -> np.ndarray:
        """Return the first two principal components (N, 2), in units of the first one's standard deviation.

        The unit is ours, so that one resolution of secure summation does for both preparations; it moves every
        log-likelihood by the same constant.
        """
        centred = self.features - self.features.mean(axis=0)
        if preparation == STANDARDISED:
            centred = centred / centred.std(axis=0)
        left, singular, _ = np.linalg.svd(centred, full_matrices=False)
        scores = left[:, :COMPONENTS] * singular[:COMPONENTS]
        return scores / scores[:, 0].std()


def voices(entries: Mapping[str, Dataset], data_dir) -> Voices:
    """Return the recordings (195, 22), or what stands for them."""
    entry = entries["parkinsons"]
    path = locate(entry, data_dir)
    if path is None:
        x = substitutes.voices()
        words = f"stands for {entry.title.split(',')[0]}: {entry.substitute}"
        return Voices(x, {"data": f"simulated recordings, {len(x)} x {x.shape[1]}", "substitute": words})
    x = pd.read_csv(path).drop(columns=NOT_FEATURES).to_numpy(dtype=float)
    return Voices(x, {"data": f"Parkinsons, {len(x)} x {x.shape[1]}", "substitute": None})


def dealt(x: np.ndarray, rows: str) -> list[np.ndarray]:
    """Return the records of every node, in a public order: row i of it at node i modulo n, or the first n rows."""
    n = NODES[rows]
    order = np.argsort(fixed_uniforms("reproduce li, order of rows", (len(x),)))
    x = x[order][:n] if rows.startswith("80 rows") else x[order]
    return [x[i::n] for i in range(n)]


def start(x: np.ndarray) -> Mixture:
    """Return where EM starts: equal classes with the covariance of all records, apart along the first component."""
    centre, spread = x.mean(axis=0), np.zeros(x.shape[1])
    spread[0] = x[:, 0].std()
    covariance = np.cov(x.T).reshape(x.shape[1], x.shape[1])
    means = centre + np.linspace(-1, 1, CLASSES)[:, None] * spread
    return Mixture(np.full(CLASSES, 1 / CLASSES), means, np.stack([covariance] * CLASSES))
