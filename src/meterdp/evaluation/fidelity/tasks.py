"""What a released mixture is good for: the three examples of Liu et al., section II-B, as measurements.

Example 1, classification by the largest posterior; Example 2, total variation of the densities beside its Pinsker
bound; Example 3, models trained on synthetic records or on real ones augmented by them, tested on real ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from meterdp.mixture.density import class_log_densities, record_log_densities
from meterdp.mixture.draws import Mixture
from meterdp.mixture.sampling import sample
from meterdp.privacy.noise import NoiseSource

RIDGE_PENALTY = 1.0


def most_probable_class(x: np.ndarray, mixture: Mixture) -> np.ndarray:
    """Return the class of largest posterior of each record, (n,) int in 0..K-1 (Example 1)."""
    return class_log_densities(x, mixture).argmax(axis=0)


def matched_agreement(labels: np.ndarray, reference: np.ndarray) -> float:
    """Return the share of records with the same label after the best one-to-one matching of classes.

    Parameters
    ----------
    labels, reference : (n,) int
        Classes from 0; they need not be equally many.
    """
    shared = np.zeros((labels.max() + 1, reference.max() + 1), dtype=np.int64)
    np.add.at(shared, (labels, reference), 1)
    return float(shared[linear_sum_assignment(shared, maximize=True)].sum() / len(labels))


@dataclass(frozen=True)
class DensityGap:
    """How far the density of x of a released mixture p~ is from a reference p, by Monte Carlo.

    Parameters
    ----------
    total_variation, total_variation_se : float
        Total variation distance and its standard error.
    kl, kl_se : float
        KL(p~ || p) of x, nats, and its standard error.
    """

    total_variation: float
    total_variation_se: float
    kl: float
    kl_se: float

    @property
    def pinsker(self) -> float:
        """Pinsker's bound sqrt(KL / 2) on the total variation, at most 1."""
        return float(min(1.0, np.sqrt(max(self.kl, 0.0) / 2)))

    @property
    def pinsker_se(self) -> float | None:
        """Standard error of the bound by the delta method; None where the bound is 0 or capped at 1."""
        root = self.pinsker
        return self.kl_se / (4 * root) if 0 < root < 1 else None


def density_gap(released: Mixture, reference: Mixture, noise: NoiseSource, draws: int) -> DensityGap:
    """Return total variation and KL divergence between the densities of x of two mixtures.

    TV = E |p~ - p| / (p~ + p) under the balanced mixture (p~ + p)/2: the integrand is at most one, so the standard
    error is at most 1/sqrt(8 draws) whatever the mixtures. The divergence is that of x, not the joint (8): it needs
    no correspondence of classes, and by the data-processing inequality it is at most (8) wherever these correspond.

    Parameters
    ----------
    released, reference : Mixture
    noise : NoiseSource
        Source of uniform and normal numbers.
    draws : int
        Records drawn from each of the two.
    """
    terms, log_ratio = [], None
    for mixture in (released, reference):
        x, _ = sample(mixture, draws, noise)
        ratio = record_log_densities(x, released) - record_log_densities(x, reference)
        terms.append(np.abs(np.tanh(ratio / 2)))
        log_ratio = ratio if log_ratio is None else log_ratio
    spread = np.sqrt(sum(t.var(ddof=1) for t in terms) / draws)
    return DensityGap(
        float(np.mean([t.mean() for t in terms])),
        float(0.5 * spread),
        float(log_ratio.mean()),
        float(log_ratio.std(ddof=1) / np.sqrt(draws)),
    )


def prediction_r2(train: np.ndarray, test: np.ndarray) -> float:
    """Return how well the second half of a profile follows from the first (Example 3).

    Ridge regression of the later hours on the earlier ones, all in log kWh; one R^2 of all predicted hours together,
    1 - squared error / squared deviation from the mean of the test records. Below zero, the mean predicts better.

    Parameters
    ----------
    train : (n, d) float64
        Log profiles to learn from, real, synthetic or both; d at least two.
    test : (m, d) float64
        Log profiles of real households that are not among ``train``.
    """
    half = train.shape[1] // 2
    model = Ridge(alpha=RIDGE_PENALTY).fit(train[:, :half], train[:, half:])
    predicted = model.predict(test[:, :half]).reshape(len(test), -1)
    return float(r2_score(test[:, half:], predicted, multioutput="variance_weighted"))
