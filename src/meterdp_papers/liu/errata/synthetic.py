"""Synthetic records for the errata: the setting of Liu et al., section V-A, and households of Table I's class sizes.

No number in them comes from a real meter.
"""

from __future__ import annotations

import numpy as np

from meterdp.mechanisms.interface import PublicSettings
from meterdp.mechanisms.published.labelled import LabelledRecords
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import fit_labels
from meterdp.mixture.sampling import sample
from meterdp.privacy.noise import NoiseSource

DELTA = 1e-5
RECORDS, CLASSES, DIMENSION = 1000, 5, 3
PAPER_SETTING = f"section V-A: N = {RECORDS}, K = {CLASSES}, d = {DIMENSION}, delta = {DELTA:g}"
# Far below any covariance of the setting: nothing is floored.
_FLOOR = 1e-9
TABLE_1 = np.array([687, 428, 102, 147, 14, 31])
_LEVELS_LOG_KWH = np.array([-1.1, -0.4, -2.4, 0.3, 1.3, -3.6])


def paper_mixture(noise: NoiseSource, classes: int = CLASSES, dimension: int = DIMENSION) -> Mixture:
    """Draw a truth of section V-A: Dirichlet(1) weights, means on [-10, 10]^d, Wishart(d + 1, I) covariances."""
    exponential = -np.log1p(-noise.uniform((classes,)))
    factor = noise.normal((classes, dimension, dimension + 1))
    return Mixture(
        exponential / exponential.sum(),
        20 * noise.uniform((classes, dimension)) - 10,
        factor @ np.swapaxes(factor, -1, -2),
    )


def paper_records(noise: NoiseSource, count: int = RECORDS) -> LabelledRecords:
    """Draw one labelled data set of section V-A; drawn again while a class has no more records than dimensions."""
    while True:
        x, labels = sample(paper_mixture(noise), count, noise)
        if np.bincount(labels, minlength=CLASSES + 1)[1:].min() > DIMENSION:
            return LabelledRecords(x, fit_labels(x, labels, _FLOOR))


def paper_settings(private: LabelledRecords, epsilon: float, delta: float = DELTA) -> PublicSettings:
    """Return public settings for ``private``; the published family uses neither bounds nor floor."""
    n, d = private.x.shape
    bound = float(np.abs(private.x).max()) + 1
    return PublicSettings(epsilon, delta, len(private.fit.counts), d, n, -bound, bound, _FLOOR)


def household_mixture(dimension: int = 12, hour_correlation: float = 0.7, spread_log_kwh: float = 0.5) -> Mixture:
    """Return six classes of Table I's shares, flat levels and an AR(1) shape over the hours, in log kWh."""
    hours = np.arange(dimension)
    shape = spread_log_kwh**2 * hour_correlation ** np.abs(hours[:, None] - hours)
    classes = len(TABLE_1)
    means = np.repeat(_LEVELS_LOG_KWH[:, None], dimension, axis=1)
    return Mixture(TABLE_1 / TABLE_1.sum(), means, np.broadcast_to(shape, (classes, dimension, dimension)))
