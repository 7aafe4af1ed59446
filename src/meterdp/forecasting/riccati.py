"""How uncertain the state of an ARMA process is at chosen slots, given which readings before them are missing.

The covariance half of the Kalman filter behind (57) of Ramakrishna et al.; it does not depend on the readings, so
one pass serves every origin of a household.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meterdp.forecasting.state_space import ArmaSystem


def predicted_covariances(system: ArmaSystem, seen: np.ndarray, origins: np.ndarray) -> np.ndarray:
    """Return the covariance of the state at every origin given the readings before it.

    Parameters
    ----------
    system : ArmaSystem
        Process of state size r.
    seen : (T,) bool array
        False where a reading is missing.
    origins : (n,) int array
        Slots 0..T.

    Returns
    -------
    (n, r, r) float64 array
        In units of the innovation variance.
    """
    origins = np.asarray(origins, dtype=np.int64)
    order = np.argsort(origins, kind="stable")
    size = system.loading.size
    ordered, found = np.empty((2, origins.size, size, size))
    _pass(
        np.ascontiguousarray(seen, dtype=np.bool_),
        origins[order],
        system.transition,
        system.loading,
        system.stationary.copy(),
        ordered,
        np.empty(size),
        np.empty((size, size)),
    )
    found[order] = ordered
    return found


# Single entries only, in memory that is handed in: slices and new arrays take seconds to compile.
@njit(cache=True)
def _pass(seen, origins, transition, loading, cov, found, gain, half):
    size = loading.size
    slot = 0
    for n in range(origins.size):
        while slot < origins[n]:
            if seen[slot]:
                scale = cov[0, 0]
                for i in range(size):
                    gain[i] = cov[i, 0]
                for i in range(size):
                    for j in range(size):
                        cov[i, j] -= gain[i] * gain[j] / scale
            # F is a companion matrix: F s = phi s[0] + (s[1], s[2], ..., 0).
            for i in range(size):
                for j in range(size):
                    half[i, j] = transition[i, 0] * cov[0, j] + (cov[i + 1, j] if i + 1 < size else 0.0)
            for i in range(size):
                for j in range(size):
                    cov[i, j] = half[i, 0] * transition[j, 0] + (half[i, j + 1] if j + 1 < size else 0.0)
                    cov[i, j] += loading[i] * loading[j]
            slot += 1
        for i in range(size):
            for j in range(size):
                found[n, i, j] = cov[i, j]
