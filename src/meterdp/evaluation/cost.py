"""What a mechanism costs: KL divergence (8) and log-likelihood lost, over many draws, for one epsilon.

The divergence is against the fit or, where a mechanism finds its own classes, against the fit under these, in which
small classes are regularised: two references whose numbers must not be compared. The log-likelihood lost, on the
records the fit was made from, is the one measure all mechanisms share. And there
is the log-likelihood of households a mechanism has not seen, which needs no classes and no luck: the export is split
into folds; every mechanism and the mixture nothing protects are made from the other folds and judged on the one left
out.

A study tool and the one place where a study's noise for the mixture is drawn, seeded: it reads private records, and
none of it may enter anything that is released. Every file says "not for release".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from meterdp.core.job import progress
from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise
from meterdp.forecasting.energy import censored_moment
from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.interface import Mechanism, PrivateRecords, PublicSettings, Released
from meterdp.mechanisms.proven.plan import ALONE, Shares
from meterdp.mechanisms.reference.label_flip import LabelledRecords
from meterdp.mechanisms.registry import mechanism
from meterdp.mixture.density import kl_terms, mean_log_likelihood
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import (
    EIGENVALUE_FLOOR,
    Fit,
    fit_labels,
    kmeans_labels,
    raise_eigenvalues,
    share_statistics,
)
from meterdp.mixture.patterns import fewest_households
from meterdp.privacy.noise import NoiseSource
from meterdp.profiles.vector import Records


@dataclass(frozen=True)
class Cost:
    """One row of table ``COST``, and the first draw as columns of table ``VARIANT``."""

    row: dict
    variant: dict


def cost(
    mechanism: Mechanism,
    private: PrivateRecords,
    labelled: LabelledRecords,
    noise: NoiseSource,
    draws: int,
    loglik_draws: int = 100,
) -> Cost:
    """Run a calibrated mechanism ``draws`` times and measure it against the non-private fit.

    ``private`` is what the mechanism is given: ``labelled`` for the published and exact families, all records of the
    export for a proven one. ``labelled`` has the valid records and the fit every mechanism is measured against. The
    log-likelihood is averaged over the first ``loglik_draws``.
    """
    released = mechanism.release(private, noise, draws)
    x = labelled.x
    terms, small = _divergence(labelled, released, mechanism.public.eigenvalue_floor)
    total = terms.sum(axis=1)
    gap = mean_log_likelihood(x, MixtureDraws.single(labelled.fit.mixture)) - mean_log_likelihood(
        x, released.mixtures.slice(0, loglik_draws)
    )
    guarantee = mechanism.guarantee
    quantiles = np.quantile(total, [0.05, 0.25, 0.5, 0.75, 0.95])
    row = {
        "mechanism": mechanism.name,
        "family": mechanism.family,
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "unit": guarantee.unit,
        "adjacency": guarantee.adjacency,
        "draw_count": draws,
        "kl_reference": "fit" if released.responsibilities_model is None else "own_classes",
        "kl_mean": float(total.mean()),
        "kl_se": _standard_error(total),
        **dict(zip(("kl_q05", "kl_q25", "kl_median", "kl_q75", "kl_q95"), quantiles.tolist(), strict=True)),
        "kl_small_classes_mean": float((terms * small).sum(axis=1).mean()),
        "loglik_gap_mean": float(gap.mean()),
        "loglik_gap_se": _standard_error(gap),
        "classes": released.mixtures.weights.shape[1],
        "projected_share": float(released.projected.mean()),
        "mean_energy_kwh": _mean_energy_kwh(labelled, mechanism.public),
    }
    return Cost(row, _variant_columns(mechanism, released))


def _variant_columns(mechanism: Mechanism, released: Released) -> dict[str, list]:
    """Return the first draw as the columns of table ``VARIANT``."""
    mixture, guarantee = released.mixtures.draw(0), mechanism.guarantee
    k = mixture.classes
    beside = [] if released.marginals is None else released.marginals.exponents.tolist()
    return {
        "mechanism": [mechanism.name] * k,
        "family": [mechanism.family] * k,
        "epsilon": [guarantee.epsilon] * k,
        "delta": [guarantee.delta] * k,
        "component": list(range(1, k + 1)),
        "weight": mixture.weights.tolist(),
        "mean_log_kwh": mixture.means.tolist(),
        "covariance": mixture.covariances.reshape(k, -1).tolist(),
        "marginal_exponents": [beside] * k,
    }


def reference_fits(
    x: np.ndarray, responsibilities_model: MixtureDraws, eigenvalue_floor: float
) -> tuple[MixtureDraws, np.ndarray]:
    """Fit (N, d) records under the released responsibilities of each of R draws, regularising small classes.

    One maximisation step of EM without noise and without clipping. Classes below 5 d records take (scatter + 5 d
    pooled covariance)/(N_k + 5 d); an empty class keeps the responsibilities model's mean with the weight of half a
    record, so that the divergence stays finite and still punishes it. Returns the fits, and which classes are below 5
    d records, (R, K).
    """
    borrowed = fewest_households(x.shape[1])
    counts, means, covariances = (
        np.empty_like(responsibilities_model.weights),
        np.empty_like(responsibilities_model.means),
        [],
    )
    for r in range(len(responsibilities_model)):
        _, counts[r], means[r], scatter = share_statistics(x, responsibilities_model.draw(r), 0.5)
        count = counts[r][:, None, None]
        lent = (scatter + borrowed * scatter.sum(axis=0) / len(x)) / (count + borrowed)
        covariances.append(np.where(count < borrowed, lent, scatter / np.maximum(count, 1)))
    covariances, _ = raise_eigenvalues(np.stack(covariances), eigenvalue_floor)
    weights = np.maximum(counts, 0.5)
    return MixtureDraws(weights / weights.sum(axis=1, keepdims=True), means, covariances), counts < borrowed


def _divergence(
    labelled: LabelledRecords, released: Released, eigenvalue_floor: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the terms (R, K) of (8) and which classes are small."""
    if released.responsibilities_model is None:
        small = labelled.fit.counts < fewest_households(labelled.fit.mixture.dimension)
        return kl_terms(released.mixtures, labelled.fit.mixture), small
    fits, small = reference_fits(labelled.x, released.responsibilities_model, eigenvalue_floor)
    return kl_terms(released.mixtures, fits), small


def _mean_energy_kwh(labelled: LabelledRecords, public: PublicSettings) -> float:
    """Return the energy of the average household in an hour, within the bounds."""
    low, high = public.log_scale.kwh(np.array([public.low_log_kwh, public.high_log_kwh]))
    scale = replace(public.log_scale, low_kwh=float(low), high_kwh=float(high))
    return float(scale.clipped_kwh(labelled.x).mean())


def _standard_error(values) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


FOLDS = 5
# With fewer households than this per class left to fit, a fold says nothing.
FEWEST_PER_CLASS = 5


@dataclass(frozen=True)
class Fold:
    """One split of an export: the records of the other folds, their fit without privacy by K, and those left out.

    ``train`` has all records, invalid ones as the public default record; fits and ``test`` are of valid ones.
    """

    train: PrivateRecords
    fit_of: Callable[[int], LabelledRecords]
    test: np.ndarray


def split(
    x: np.ndarray, valid: np.ndarray, classes: int, fit: Callable[[np.ndarray, int], Fit], noise: NoiseSource
) -> list[Fold]:
    """Split (N, d) records of an export into folds of nearly equal size, drawn by ``noise``.

    ``classes`` is the largest K that will be fitted: without enough valid households for it there are no folds.
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
    return cache(lambda k: LabelledRecords(known, fit(known, k)))


def held_out_gap(
    folds: list[Fold],
    calibrate: Callable[[int], Mechanism],
    sees_labels: bool,
    classes: int,
    noise: NoiseSource,
    draws: int,
) -> dict[str, float]:
    """Return the columns of table ``COST`` on held-out log-likelihood, nats per household; NaN without folds.

    A mechanism is calibrated for the records of a fold and given :class:`LabelledRecords` if it ``sees_labels``.
    ``classes`` is K of the study's own mixture, ``draws`` the releases per fold.
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
        "heldout_gap_se": _standard_error(gap),
        "heldout_gap_same_k_mean": _mean(same),
    }


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


# The KL divergence is averaged over so many, unless a mechanism makes fewer.
DRAWS = 200
# Releases per fold and epsilon that the held-out log-likelihood is averaged over.
HELD_OUT_DRAWS = 20


def study_folds(records: Records, mixture: Mapping, seed: int) -> list[Fold]:
    """Return the folds that every mechanism of a study is judged on; parameters are those of :func:`vary`."""
    return split(
        records.log_kwh,
        records.valid,
        mixture["classes"],
        lambda x, k: fit_labels(x, kmeans_labels(x, k, seed), EIGENVALUE_FLOOR),
        StudyNoise(seed, "mixture", "folds"),
    )


def vary(
    name: str,
    records: Records,
    fit: Fit,
    mechanisms: Mapping,
    mixture: Mapping,
    profiles: Mapping,
    seed: int,
    folds: list[Fold] | None = None,
    shares: Shares = ALONE,
) -> tuple[dict[str, list], dict[str, list]]:
    """Run a mechanism of the registry at every epsilon of the configuration, whose sections are given.

    Returns the columns of the tables ``variant`` (first draw per epsilon) and ``cost``. ``folds`` are those of
    :func:`study_folds`, which keep what was fitted to them for the next mechanism; ``shares`` are those of the noise
    of the proven mechanism, where circuits make it together.
    """
    labelled = LabelledRecords(records.log_kwh[records.valid], fit)
    # A sound mechanism is handed nothing that was fitted without privacy.
    private = PrivateRecords(records.log_kwh) if mechanism(name).sees == "records" else labelled
    folds = study_folds(records, mixture, seed) if folds is None else folds
    variants: dict[str, list] = {}
    costs: dict[str, list] = {}
    for epsilon in progress(mechanisms["epsilons"], f"{name}, values of epsilon"):
        public = public_settings(
            float(epsilon), mechanisms["delta"], records.log_kwh.shape, mechanisms, mixture, profiles, shares=shares
        )
        noise = StudyNoise(seed, "mixture", name, repr(float(epsilon)))
        draws = min(DRAWS, mechanism(name).most_draws or DRAWS)
        result = cost(mechanism(name).calibrate(public), private, labelled, noise, draws)
        row = result.row | held_out_gap(
            folds,
            lambda n, public=public: mechanism(name).calibrate(replace(public, records=n)),
            private is labelled,
            mixture["classes"],
            noise,
            HELD_OUT_DRAWS,
        )
        for column, values in result.variant.items():
            variants.setdefault(column, []).extend(values)
        for column, value in row.items():
            costs.setdefault(column, []).append(value)
    return variants, costs


def average_profile_kwh(mixtures: MixtureDraws, scale: LogScale) -> np.ndarray:
    """Return (R, d) kWh: the mean energy of each hour over the households that each of R mixtures describes.

    Exact, public bounds included.
    """
    deviation = np.sqrt(np.diagonal(mixtures.covariances, axis1=-2, axis2=-1))
    return np.einsum("rk,rkj->rj", mixtures.weights, censored_moment(mixtures.means, deviation, scale, 1))
