"""The spectral norm of large symmetric matrices, which says whether noise drowns a second moment (defect P3)."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import eigsh


def spectral_norm(matrix: np.ndarray) -> float:
    """Return the largest absolute eigenvalue of a symmetric matrix (d, d) by Lanczos iteration, to six digits."""
    start = np.ones(len(matrix)) / np.sqrt(len(matrix))
    return float(abs(eigsh(matrix, k=1, v0=start, tol=1e-4, return_eigenvectors=False)[0]))
