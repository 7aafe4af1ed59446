"""ARMA processes for the tests: easy, close to the unit circle, and without one of the two parts."""

import numpy as np

from meterdp.forecasting.arma import ArmaFit
from meterdp.forecasting.settings import studied

PROCESSES = {
    "white": ([], []),
    "ar1": ([0.9], []),
    "ma1": ([], [-0.6]),
    "arma21": ([1.2, -0.5], [0.4]),
    "arma65": ([0.5, -0.2, 0.1, 0.15, -0.1, 0.2], [0.3, 0.2, -0.1, 0.05, 0.25]),
    "long memory": ([0.999], [-0.7]),
    "nearly non-invertible": ([0.5], [0.9999]),
    "long moving average": ([0.3], [0.2, 0.0, 0.0, 0.5]),
}


def process(name: str, mean: float = -1.3, innovation_variance: float = 0.7) -> ArmaFit:
    """Return a named process as if it had been fitted."""
    ar, ma = (np.array(part, dtype=float) for part in PROCESSES[name])
    return ArmaFit("arma", ar, ma, mean, innovation_variance, np.nan, 0)


def simulate(fit: ArmaFit, length: int, generator: np.random.Generator) -> np.ndarray:
    """Draw a path after a burn-in of 3,000 slots."""
    p, q, burn_in = fit.ar.size, fit.ma.size, 3000
    noise = np.sqrt(fit.innovation_variance) * generator.standard_normal(length + burn_in)
    x = np.zeros(length + burn_in)
    for t in range(max(p, q), x.size):
        x[t] = fit.ar @ x[t - p : t][::-1] + noise[t] + fit.ma @ noise[t - q : t][::-1]
    return fit.mean + x[burn_in:]


def with_gaps(x: np.ndarray, share: float, generator: np.random.Generator) -> np.ndarray:
    """Remove single readings at random and one long stretch."""
    x = x.copy()
    x[generator.random(x.size) < share] = np.nan
    x[x.size // 3 : x.size // 3 + 40] = np.nan
    return x


def settings(**changed) -> dict:
    """Return a small section ``forecast`` with some keys changed."""
    small = {"ar_order": 2, "ma_order": 1, "train_days": 14, "horizon_steps": 4, "origins": 20, "starts": 2}
    return studied(small) | changed
