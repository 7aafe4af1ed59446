"""What a mechanism costs: KL divergence (8) and log-likelihood lost, over many draws, for one epsilon.

The divergence is against the fit or, where a mechanism finds its own classes, against the fit under these, in which
small classes are regularised: two references whose numbers must not be compared. The log-likelihood lost, on the
records the fit was made from, is the one measure all mechanisms share. For readers who think in energy there is what
the released mixture says of the average household's use, hour by hour, against what the households do use.

A study tool: it reads private records, and neither figure may enter anything that is released. Mechanisms that
choose their own classes are compared with the fit under the classes of that draw; the likelihood needs no classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from meterdp.mechanisms.interface import Mechanism, PrivateRecords, PublicSettings, Released
from meterdp.mechanisms.published.labelled import LabelledRecords
from meterdp.mixture.divergence import kl_terms, mean_log_likelihood
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import raise_eigenvalues, share_statistics
from meterdp.mixture.support import fewest_households
from meterdp.privacy.noise import NoiseSource
from meterdp.release.worth import average_profile_kwh


@dataclass(frozen=True)
class Cost:
    """Result of :func:`cost`.

    Parameters
    ----------
    row : dict
        One row of table ``COST``.
    variant : dict of column to sequence
        The first draw as rows of table ``VARIANT``.
    """

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
    """Run a mechanism and measure it against the non-private fit.

    Parameters
    ----------
    mechanism : Mechanism
        Calibrated.
    private : PrivateRecords
        What the mechanism is given: ``labelled`` for the published and exact families, all records of the export
        for a sound one.
    labelled : LabelledRecords
        The valid records and the fit every mechanism is measured against.
    noise : NoiseSource
    draws : int
        Releases R to average the divergence over.
    loglik_draws : int
        Releases to average the log-likelihood over, at most ``draws``.

    Returns
    -------
    Cost
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
        **_energy_columns(labelled, released.mixtures, mechanism.public),
    }
    return Cost(row, variant_columns(mechanism, released))


def variant_columns(mechanism: Mechanism, released: Released, index: int = 0) -> dict[str, list]:
    """Return one draw as the columns of table ``VARIANT``."""
    mixture, guarantee = released.mixtures.draw(index), mechanism.guarantee
    k = mixture.classes
    beside = released.marginals.exponents.tolist() if released.marginals is not None and index == 0 else []
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
    """Fit the records under the released responsibilities of each draw, regularising classes too small to fit.

    One maximisation step of EM without noise and without clipping. Classes below 5 d records take
    (scatter + 5 d pooled covariance)/(N_k + 5 d); an empty class keeps the responsibilities model's mean with the
    weight of half a record, so that the divergence stays finite and still punishes it.

    Parameters
    ----------
    x : (N, d) float64
    responsibilities_model : MixtureDraws
        R mixtures of K classes.
    eigenvalue_floor : float

    Returns
    -------
    fits : MixtureDraws
    small : (R, K) bool
        Classes below 5 d records.
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


def _energy_columns(labelled: LabelledRecords, released: MixtureDraws, public: PublicSettings) -> dict[str, float]:
    """Return by how much mixtures miss the average household's energy, mean over the hours of the absolute value."""
    low, high = public.log_scale.kwh(np.array([public.low_log_kwh, public.high_log_kwh]))
    scale = replace(public.log_scale, low_kwh=float(low), high_kwh=float(high))
    real = scale.clipped_kwh(labelled.x).mean(axis=0)
    missed, missed_by_fit = (
        np.abs(average_profile_kwh(mixtures, scale) - real).mean(axis=1)
        for mixtures in (released, MixtureDraws.single(labelled.fit.mixture))
    )
    return {
        "mean_energy_kwh": float(real.mean()),
        "energy_error_kwh_mean": float(missed.mean()),
        "energy_error_kwh_q95": float(np.quantile(missed, 0.95)),
        "energy_error_kwh_fit": float(missed_by_fit[0]),
    }


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
