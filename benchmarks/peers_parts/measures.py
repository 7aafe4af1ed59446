"""How good synthetic profiles are, each source judged alike: from its records alone and held-out real records.

A source gives as many records as it was trained on, up to 4,000, clipped to the public bounds as the real ones are.
What needs a density fits the same one, in the same way, to every source's records: a mechanism that releases one of
its own is judged by its samples, too. Real training records judged in the same way are the yardstick.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import gaussian_kde
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sound import fit_em
from threadpoolctl import threadpool_limits

from meterdp.evaluation.fidelity import (
    energy_kwh,
    kolmogorov_smirnov,
    peak_kwh,
    prediction_r2,
    wasserstein,
)
from meterdp.mixture.density import mean_log_likelihood
from meterdp.mixture.draws import MixtureDraws

CLASSES, FLOOR = 6, 1e-3
FOLDS, TREES = 5, 50
MOST_HELD_OUT = 2_000
SEED = 777


@dataclass(frozen=True)
class Measure:
    """One measure: its column, its description with its unit, and whether more is better."""

    column: str
    words: str
    unit: str
    more_is_better: bool


# In the order of columns and of the figure.
MEASURES = (
    Measure("heldout_loglik_nats", "likelihood, six Gaussians", "nats", True),
    Measure("heldout_loglik_kernel_nats", "likelihood, kernel density", "nats", True),
    Measure("ks_mean", "single hours, KS", "1", False),
    Measure("energy_wasserstein_kwh", "energy of the record", "kWh", False),
    Measure("peak_wasserstein_kwh", "peak hour", "kWh", False),
    Measure("autocorrelation_rms", "autocorrelation", "1", False),
    Measure("prediction_r2", "train on synthetic, predict real: R²", "1", True),
    Measure("auc", "real or synthetic? AUC", "1", False),
)


def autocorrelation_difference(a: np.ndarray, b: np.ndarray) -> float:
    """Return the root mean square difference of two autocorrelations over lags of 1 to d / 2 hours.

    That of a lag is the mean correlation of two hours of a record so far apart; one with an hour that never varies
    counts as zero.
    """
    lags = range(1, a.shape[1] // 2 + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = [[np.diagonal(r, k).mean() for k in lags] for r in map(_correlations, (a, b))]
    return float(np.sqrt(np.mean(np.subtract(*found) ** 2)))


def _correlations(x: np.ndarray) -> np.ndarray:
    return np.nan_to_num(np.corrcoef(x.T))


def real_against_synthetic_auc(real: np.ndarray, synthetic: np.ndarray) -> float:
    """Return the area under the ROC curve of a classifier that tells real from synthetic records, five folds.

    Fifty gradient-boosted trees (scikit-learn's) on the hours of the profile; the first records of the longer
    sample, so that there are equally many of both.
    """
    n = min(len(real), len(synthetic))
    x, y = np.concatenate([real[:n], synthetic[:n]]), np.repeat([1, 0], n)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    model = HistGradientBoostingClassifier(max_iter=TREES, random_state=SEED)
    with threadpool_limits(1):  # the threads of a small fit wait for each other where a machine has other work
        scores = [
            roc_auc_score(y[test], model.fit(x[train], y[train]).predict_proba(x[test])[:, 1])
            for train, test in folds.split(x, y)
        ]
    return float(np.mean(scores))


def mixture_log_likelihood(real: np.ndarray, synthetic: np.ndarray) -> float:
    """Return the mean log-likelihood of real records under six Gaussians fitted by EM to synthetic ones, nats."""
    fitted = fit_em(synthetic, CLASSES).mixture
    return float(mean_log_likelihood(real, MixtureDraws.single(fitted))[0])


def kernel_log_likelihood(real: np.ndarray, synthetic: np.ndarray) -> float:
    """Return the mean log-likelihood of real records under a Gaussian kernel density of synthetic ones, nats.

    SciPy's, as it comes: the kernels have the covariance of the sample, scaled by Scott's rule.
    """
    return float(gaussian_kde(synthetic.T).logpdf(real.T).mean())


def judge(real: np.ndarray, synthetic: np.ndarray, low: float, high: float) -> dict[str, float]:
    """Return every measure of ``MEASURES`` of one sample, by column.

    Parameters
    ----------
    real : (m, d) float64
        Held-out log profiles of real households, log kWh.
    synthetic : (n, d) float64
        Log profiles to judge.
    low, high : float
        Public bounds, log kWh; both samples are clipped to them.
    """
    real, synthetic = np.clip(real[:MOST_HELD_OUT], low, high), np.clip(synthetic, low, high)
    energy, peak = (float(wasserstein(f(synthetic)[:, None], f(real)[:, None])[0]) for f in (energy_kwh, peak_kwh))
    values = (
        mixture_log_likelihood(real, synthetic),
        kernel_log_likelihood(real, synthetic),
        float(kolmogorov_smirnov(synthetic, real).mean()),
        energy,
        peak,
        autocorrelation_difference(synthetic, real),
        prediction_r2(synthetic, real),
        real_against_synthetic_auc(real, synthetic),
    )
    return dict(zip((m.column for m in MEASURES), values, strict=True))
