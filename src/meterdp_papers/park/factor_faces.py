"""Fig. 5 of Park et al.: columns of factor loadings of faces, without noise and after Analyze Gauss.

The noise is drawn as Section 7 states it, and once more with its variance where the standard deviation belongs, which
is what the paper's public code does (defect P3).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.sparse.linalg import eigsh

from meterdp.core.noise import StudyNoise, fixed_normals
from meterdp.core.progress import progress
from meterdp.mechanisms.dpem.factor import (
    Factors,
    analyze_gauss_std,
    fit_factors,
    noisy_second_moment,
    second_moment,
    start_factors,
)
from meterdp_papers.park.data import Records
from meterdp_papers.park.setting import (
    AS_THEY_ARE,
    BY_PIXEL,
    DELTA,
    MISREAD,
    PICTURES,
    PRINTED_SENSITIVITY,
    SENSITIVITIES,
    SMALLEST_SENSITIVITY,
    STATED,
    WITHOUT,
)


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
    if pictures != AS_THEY_ARE:
        x = x - x.mean(axis=0)
        x = x - x.mean(axis=1, keepdims=True)
    largest = np.linalg.norm(x, axis=1).max()
    scale = (largest / np.linalg.norm(x, axis=0).max()) ** 2 if pictures == BY_PIXEL else 1.0
    return x / largest, float(scale)


def captured(free: Factors, private: Factors) -> float:
    """Return how much of EM's loadings lies in the span of the private ones: mean squared cosine, from 0 to 1."""
    basis, other = (np.linalg.qr(found.loadings)[0] for found in (private, free))
    return float(np.linalg.norm(basis.T @ other) ** 2 / other.shape[1])


def tabulate(records: Records, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the columns of ``park_faces`` (Fig. 5) and ``park_face_numbers``."""
    start = start_factors(fixed_normals("reproduce park, fig5, start", (records.x.shape[1], LATENT)))
    columns, numbers, norm_of_one = [], [], None
    for pictures in progress(PICTURES, "fig5, pictures"):
        x, scale = prepared(records, pictures)
        exact = second_moment(x)
        top = scale * spectral_norm(exact)
        free = fit_factors(scale * exact, LATENT, ITERATIONS, start)
        without = {"pictures": pictures, "sensitivity": None, "noise": WITHOUT, "epsilon": None}
        columns.append(_columns(without, free))
        for sensitivity, noise, epsilon in noises(pictures):
            # The same matrix of normal numbers everywhere.
            stream = StudyNoise(seed, "reproduce park", "fig5", "noise")
            change = SENSITIVITIES[sensitivity]
            noisy = noisy_second_moment(x, epsilon, DELTA, stream, change, noise == MISREAD)
            std = analyze_gauss_std(len(x), epsilon, DELTA, change)
            std = std if noise == STATED else std**2
            if norm_of_one is None:
                norm_of_one = spectral_norm(noisy - exact) / std
            noisy += (scale - 1) * exact
            found = fit_factors(noisy, LATENT, ITERATIONS, start)
            key = {"pictures": pictures, "sensitivity": sensitivity, "noise": noise, "epsilon": epsilon}
            numbers.append(
                key
                | {
                    "noise_std": std,
                    "noise_spectral_norm": std * norm_of_one,
                    "top_eigenvalue": top,
                    "captured_share": captured(free, found),
                }
            )
            columns.append(_columns(key, found))
    return pd.concat(columns).assign(**records.source), pd.DataFrame(numbers).assign(**records.source)


def noises(pictures: str) -> list[tuple[str, str, float]]:
    """Return sensitivity, distribution and epsilon of every noise that is drawn on pictures prepared in this way."""
    if pictures == BY_PIXEL:
        return [(words, MISREAD, e) for words in (PRINTED_SENSITIVITY, SMALLEST_SENSITIVITY) for e in CODE_EPSILONS]
    stated = [(words, STATED, e) for words in SENSITIVITIES for e in EPSILONS]
    return [*stated, *((PRINTED_SENSITIVITY, MISREAD, e) for e in EPSILONS)]


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
