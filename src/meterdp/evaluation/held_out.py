"""Log-likelihood of households a mechanism has not seen: the one measure that needs no classes and no luck.

The export is split into folds; every mechanism and the mixture nothing protects are made from the other folds and
judged on the one left out. A study tool like :mod:`meterdp.evaluation.cost`: nothing of it may be released.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from meterdp.mechanisms.interface import Mechanism, PrivateRecords
from meterdp.mechanisms.published.labelled import LabelledRecords
from meterdp.mixture.divergence import mean_log_likelihood
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import Fit
from meterdp.privacy.noise import NoiseSource

FOLDS = 5
# With fewer households than this per class left to fit, a fold says nothing.
FEWEST_PER_CLASS = 5


@dataclass(frozen=True)
class Fold:
    """One split of an export.

    Parameters
    ----------
    train : PrivateRecords
        All records of the other folds, invalid ones as the public default record.
    fit_of : callable
        K -> (valid records of the other folds, fit without privacy), as :class:`LabelledRecords`.
    test : (M, d) float64
        Valid records of this fold, log kWh.
    """

    train: PrivateRecords
    fit_of: Callable[[int], LabelledRecords]
    test: np.ndarray


def split(
    x: np.ndarray, valid: np.ndarray, classes: int, fit: Callable[[np.ndarray, int], Fit], noise: NoiseSource
) -> list[Fold]:
    """Split an export into folds of nearly equal size.

    Parameters
    ----------
    x : (N, d) float64
        All records, log kWh.
    valid : (N,) bool
    classes : int
        Largest K that will be fitted.
    fit : callable
        (records, K) -> fit without privacy.
    noise : NoiseSource
        Decides who is in which fold.

    Returns
    -------
    list of Fold
        Empty where too few households are valid for ``classes`` classes.
    """
    fold_of = np.argsort(np.argsort(noise.uniform((len(x),)))) % FOLDS
    folds = []
    for f in range(FOLDS):
        rest, test = fold_of != f, x[(fold_of == f) & valid]
        known = x[rest & valid]
        if len(test) == 0 or len(np.unique(known, axis=0)) < FEWEST_PER_CLASS * classes:
            return []
        folds.append(Fold(PrivateRecords(x[rest]), _fitter(known, fit), test))
    return folds


def _fitter(known: np.ndarray, fit: Callable[[np.ndarray, int], Fit]) -> Callable[[int], LabelledRecords]:
    @cache
    def fit_of(k: int) -> LabelledRecords:
        return LabelledRecords(known, fit(known, k))

    return fit_of


def held_out_gap(
    folds: list[Fold],
    calibrate: Callable[[int], Mechanism],
    sees_labels: bool,
    classes: int,
    noise: NoiseSource,
    draws: int,
) -> dict[str, float]:
    """Return the columns of table ``COST`` on held-out log-likelihood, nats per household; NaN without folds.

    Parameters
    ----------
    folds : list of Fold
    calibrate : callable
        Number of records -> mechanism.
    sees_labels : bool
        Whether the mechanism is given :class:`LabelledRecords`.
    classes : int
        K of the study's own mixture.
    noise : NoiseSource
    draws : int
        Releases per fold.
    """
    gap, same, loglik = [], [], []
    for fold in folds:
        private = fold.fit_of(classes) if sees_labels else fold.train
        released = calibrate(len(private.x)).release(private, noise, draws).mixtures
        own = mean_log_likelihood(fold.test, released).mean()
        for values, k in ((gap, classes), (same, released.weights.shape[1])):
            fitted = fold.fit_of(k).fit.mixture
            values.append(mean_log_likelihood(fold.test, MixtureDraws.single(fitted))[0] - own)
        loglik.append(own)
    return {
        "heldout_loglik_mean": _mean(loglik),
        "heldout_gap_mean": _mean(gap),
        "heldout_gap_se": float(np.std(gap, ddof=1) / np.sqrt(len(gap))) if gap else float("nan"),
        "heldout_gap_same_k_mean": _mean(same),
    }


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
