"""How good synthetic profiles are, each source judged alike: from its records alone and held-out real records.

A source gives as many records as it was trained on, clipped to the public bounds as the real ones are. What needs a
density fits the same one, in the same way, to every source's records: a mechanism that releases a density of its own
is judged by its samples, too. Real training records judged in the same way are the yardstick.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import gaussian_kde
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sound import fit_em
from threadpoolctl import threadpool_limits

from meterdp.evaluation.fidelity import (
    correlation_difference,
    energy_kwh,
    kolmogorov_smirnov,
    peak_kwh,
    wasserstein,
)
from meterdp.mixture.density import mean_log_likelihood
from meterdp.mixture.draws import MixtureDraws

CLASSES, FLOOR = 6, 1e-3
PAIR_BINS = 8
FOLDS = 5
SEED = 777


@dataclass(frozen=True)
class Measure:
    """One measure: its column, its description with its unit, and whether more is better."""

    column: str
    words: str
    unit: str
    best: str


# In the order of columns and panels. ``best`` says what to look for.
MEASURES = (
    Measure("heldout_loglik_nats", "Held-out likelihood,\nmixture of six", "nats per home", "higher is better"),
    Measure(
        "heldout_loglik_kernel_nats", "Held-out likelihood,\nkernel density", "nats per home", "higher is better"
    ),
    Measure("correlation_rms", "Correlations of hours,\nroot mean square error", "1", "lower is better"),
    Measure("pairwise_tv", "Pairs of hours,\ntotal variation", "1", "lower is better"),
    Measure("ks_mean", "Single hours,\nKolmogorov-Smirnov", "1", "lower is better"),
    Measure("auc", "Real or synthetic?\nAUC of a classifier", "1", "0.5: cannot tell"),
    Measure("energy_wasserstein_kwh", "Half-day energy,\nWasserstein distance", "kWh", "lower is better"),
    Measure("peak_wasserstein_kwh", "Peak-hour energy,\nWasserstein distance", "kWh", "lower is better"),
)


def pairwise_total_variation(a: np.ndarray, b: np.ndarray, edges: np.ndarray) -> float:
    """Return the total variation distance between the joint histograms of two hours, mean over all pairs of hours.

    Parameters
    ----------
    a : (n, d) float64
        Log profiles, log kWh; d at least two.
    b : (m, d) float64
    edges : (B + 1,) float64
        Public edges of B bins, log kWh; what is outside counts in the outer bins.
    """
    bins, inner = len(edges) - 1, edges[1:-1]
    cells = [np.searchsorted(inner, x, side="right") for x in (a, b)]
    distances = []
    for i, j in combinations(range(a.shape[1]), 2):
        shares = [np.bincount(c[:, i] * bins + c[:, j], minlength=bins**2) / len(c) for c in cells]
        distances.append(0.5 * np.abs(shares[0] - shares[1]).sum())
    return float(np.mean(distances))


def real_against_synthetic_auc(real: np.ndarray, synthetic: np.ndarray) -> float:
    """Return the area under the ROC curve of a classifier that tells real from synthetic records, five folds.

    Gradient-boosted trees (scikit-learn's, as they come) on the hours of the profile; the first records of the longer
    sample, so that there are equally many of both.
    """
    n = min(len(real), len(synthetic))
    x, y = np.concatenate([real[:n], synthetic[:n]]), np.repeat([1, 0], n)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    model = HistGradientBoostingClassifier(random_state=SEED)
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
    real, synthetic = np.clip(real, low, high), np.clip(synthetic, low, high)
    energy, peak = (float(wasserstein(f(synthetic)[:, None], f(real)[:, None])[0]) for f in (energy_kwh, peak_kwh))
    values = (
        mixture_log_likelihood(real, synthetic),
        kernel_log_likelihood(real, synthetic),
        correlation_difference(synthetic, real),
        pairwise_total_variation(synthetic, real, np.linspace(low, high, PAIR_BINS + 1)),
        float(kolmogorov_smirnov(synthetic, real).mean()),
        real_against_synthetic_auc(real, synthetic),
        energy,
        peak,
    )
    return dict(zip((m.column for m in MEASURES), values, strict=True))
