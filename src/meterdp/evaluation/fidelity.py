"""How faithful synthetic profiles are, and what a released mixture is good for (Liu et al., section II-B).

Every measure is taken between equally many records of random halves, beside real households against other real ones
as the yardstick. Distances assume no distribution: hour by hour, jointly, and in what a planner reads off a profile
(hour and size of the peak, energy, load factor). Two samples of one distribution give values near zero that shrink
with the sample size, so values compare between samples of equal size only.

The three examples of the paper are measured: Example 1, classification by the largest posterior; Example 2, total
variation of the densities beside its Pinsker bound; Example 3, models trained on synthetic records or on real ones
augmented by them, tested on real ones.

Profiles are (n, d) log energies of d hours, log kWh; two samples of them may differ in n.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from meterdp.core.job import progress
from meterdp.core.log_scale import PLAIN, SIGNED, LogScale
from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.evaluation.tables import MARGINALS
from meterdp.mixture.density import class_log_densities, record_log_densities
from meterdp.mixture.draws import Mixture, sample
from meterdp.mixture.study import fit_from, start_labels
from meterdp.privacy.noise import NoiseSource
from meterdp.profiles.vector import Records
from meterdp.release.synthetic import Source


def _cdf_gaps(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return F_a - F_b between neighbouring values of both samples, and the lengths of these gaps, per column."""
    values = np.concatenate([a, b])
    order = np.argsort(values, axis=0, kind="stable")
    step = np.where(order < len(a), 1 / len(a), -1 / len(b))
    return np.cumsum(step, axis=0)[:-1], np.diff(np.take_along_axis(values, order, axis=0), axis=0)


def kolmogorov_smirnov(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the two-sample Kolmogorov-Smirnov statistic max |F_a - F_b| of every column, (d,)."""
    gap, length = _cdf_gaps(a, b)
    # Between tied values the distribution functions have not finished their step.
    return np.where(length > 0, np.abs(gap), 0.0).max(axis=0, initial=0.0)


def wasserstein(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the Wasserstein-1 distance of every column, the integral of |F_a - F_b| in its unit, (d,)."""
    if len(a) == len(b):  # the integral over probabilities is then a sum over ranks, which needs no merging
        return np.abs(np.sort(a.T, axis=1) - np.sort(b.T, axis=1)).mean(axis=1)
    gap, length = _cdf_gaps(a, b)
    return (np.abs(gap) * length).sum(axis=0)


def sliced_wasserstein_log_kwh(a: np.ndarray, b: np.ndarray, directions: np.ndarray) -> float:
    """Return the mean Wasserstein-1 distance of projections: a distance of the joint distributions of all hours.

    Directions are (q, d) unit vectors, chosen without looking at the profiles.
    """
    return float(wasserstein(a @ directions.T, b @ directions.T).mean())


def correlation_difference(a: np.ndarray, b: np.ndarray) -> float:
    """Return the root mean square difference of the correlations between hours, over all pairs of hours.

    An hour without any variation has correlation zero with all others.
    """
    upper = np.triu_indices(a.shape[1], k=1)
    return float(np.sqrt(np.mean((_correlation(a)[upper] - _correlation(b)[upper]) ** 2)))


def _correlation(x: np.ndarray) -> np.ndarray:
    deviation = x.std(axis=0)
    # A column of one value has a standard deviation of rounding errors, which must not be divided by.
    constant = np.ptp(x, axis=0) == 0
    z = np.where(constant, 0.0, (x - x.mean(axis=0)) / np.where(constant, 1.0, deviation))
    return z.T @ z / len(x)


def peak_hour_total_variation(a: np.ndarray, b: np.ndarray) -> float:
    """Return the total variation distance of the distributions of the hour of the peak; ties count as the first."""
    shares = [np.bincount(x.argmax(axis=1), minlength=x.shape[1]) / len(x) for x in (a, b)]
    return float(0.5 * np.abs(shares[0] - shares[1]).sum())


def peak_kwh(x: np.ndarray, scale: LogScale = PLAIN) -> np.ndarray:
    """Return the energy of the largest hour of each profile, (n,) kWh."""
    return scale.kwh(x.max(axis=1))


def energy_kwh(x: np.ndarray, scale: LogScale = PLAIN) -> np.ndarray:
    """Return the energy over all hours of each profile, (n,) kWh."""
    return scale.kwh(x).sum(axis=1)


def load_factor(x: np.ndarray, scale: LogScale = PLAIN) -> np.ndarray:
    """Return mean over peak of each profile, (n,) at most 1; 0 where no hour is above zero."""
    peak = peak_kwh(x, scale)
    return np.where(peak > 0, energy_kwh(x, scale) / (x.shape[1] * np.where(peak > 0, peak, 1.0)), 0.0)


def _relative(value: float, real: float) -> float:
    """Return how much larger a value is than the real one, in units of its size."""
    return float(np.sign(real) * (value / real - 1))


def _of_hours(other: np.ndarray, real: np.ndarray, scale: LogScale) -> float:
    """Return by what share the mean energy of an hour differs from the real one, averaged over hours with any."""
    kwh, real_kwh = (scale.kwh(x).mean(axis=0) for x in (other, real))
    some = real_kwh > 0
    return float(np.abs(kwh[some] / real_kwh[some] - 1).mean()) if some.any() else np.nan


def sample_fidelity(
    real: np.ndarray, other: np.ndarray, directions: np.ndarray, scale: LogScale = PLAIN
) -> dict[str, np.ndarray | float]:
    """Return every distance of this module between ``other`` and ``real`` profiles, by measure.

    ``ks_hour`` and ``wasserstein_hour`` are (d,), the others numbers; relative differences are those of ``other``
    against ``real``. Correlations are left out for profiles of one hour, the energy of an hour for net load.
    """
    ks, distance = kolmogorov_smirnov(other, real), wasserstein(other, real)
    # A column each, as the distances take them.
    peak, energy, factor = (read(other, scale)[:, None] for read in (peak_kwh, energy_kwh, load_factor))
    peak_real, energy_real, factor_real = (read(real, scale)[:, None] for read in (peak_kwh, energy_kwh, load_factor))
    measures: dict[str, np.ndarray | float] = {
        "ks_hour": ks,
        "wasserstein_hour": distance,
        "ks_mean": float(ks.mean()),
        "wasserstein_mean": float(distance.mean()),
        "sliced_wasserstein": sliced_wasserstein_log_kwh(other, real, directions),
        "peak_hour_tv": peak_hour_total_variation(other, real),
        "peak_wasserstein": float(wasserstein(peak, peak_real)[0]),
        "peak_q95_relative": _relative(np.quantile(peak, 0.95), np.quantile(peak_real, 0.95)),
        "energy_wasserstein": float(wasserstein(energy, energy_real)[0]),
        "energy_mean_relative": _relative(energy.mean(), energy_real.mean()),
        **({} if scale.kind == SIGNED else {"energy_hours_relative": _of_hours(other, real, scale)}),
        "load_factor_ks": float(kolmogorov_smirnov(factor, factor_real)[0]),
    }
    if real.shape[1] > 1:
        measures["correlation_rms"] = correlation_difference(other, real)
    return measures


RIDGE_PENALTY = 1.0


def most_probable_class(x: np.ndarray, mixture: Mixture) -> np.ndarray:
    """Return the class of largest posterior of each record, (n,) int in 0..K-1 (Example 1)."""
    return class_log_densities(x, mixture).argmax(axis=0)


def matched_agreement(labels: np.ndarray, reference: np.ndarray) -> float:
    """Return the share of records with the same label, from 0, after the best one-to-one matching of classes."""
    shared = np.zeros((labels.max() + 1, reference.max() + 1), dtype=np.int64)
    np.add.at(shared, (labels, reference), 1)
    return float(shared[linear_sum_assignment(shared, maximize=True)].sum() / len(labels))


@dataclass(frozen=True)
class DensityGap:
    """How far the density of x of a released mixture p~ is from a reference p, by Monte Carlo, with standard errors.

    ``kl`` is KL(p~ || p) of x, nats.
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
    """Return total variation and KL divergence between the densities of x of two mixtures, from ``draws`` of each.

    TV = E |p~ - p| / (p~ + p) under the balanced mixture (p~ + p)/2: the integrand is at most one, so the standard
    error is at most 1/sqrt(8 draws) whatever the mixtures. The divergence is that of x, not the joint (8): it needs
    no correspondence of classes, and by the data-processing inequality it is at most (8) wherever these correspond.
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
    """Return how well the second half of real profiles follows from the first (Example 3); ``train`` has others.

    Ridge regression of the later hours on the earlier ones, all in log kWh; one R^2 of all predicted hours together,
    1 - squared error / squared deviation from the mean of the test records. Below zero, the mean predicts better.
    """
    half = train.shape[1] // 2
    model = Ridge(alpha=RIDGE_PENALTY).fit(train[:, :half], train[:, half:])
    predicted = model.predict(test[:, :half]).reshape(len(test), -1)
    return float(r2_score(test[:, half:], predicted, multioutput="variance_weighted"))


SPLITS, REFITS = 20, 5
DIRECTIONS = 128
DENSITY_DRAWS = 50_000

_HALVES = f"mean and standard deviation over {SPLITS} random halves of the real households"
_HALVES_SEEN = f"{_HALVES}; the mixture was made from all of them"
_REFIT_HALVES = f"two fits without privacy, to a half each; mean and standard deviation over {REFITS} random halves"
_ALL_SEEN = "on all real households, which the mixture was made from"


# Measure -> unit and words, in the order of the table.
MEASURES = {
    "ks_hour": ("1", "Kolmogorov-Smirnov statistic of the energy of one hour"),
    "wasserstein_hour": ("log kWh", "Wasserstein distance of the log energy of one hour"),
    "ks_mean": ("1", "Kolmogorov-Smirnov statistic, mean over the hours"),
    "wasserstein_mean": ("log kWh", "Wasserstein distance of log energy, mean over the hours"),
    "sliced_wasserstein": ("log kWh", f"Wasserstein distance along {DIRECTIONS} fixed directions of all hours, mean"),
    "correlation_rms": ("1", "root mean square difference of the correlations between hours"),
    "peak_hour_tv": ("1", "total variation between the distributions of the hour of the peak"),
    "peak_wasserstein": ("kWh", "Wasserstein distance of the energy of the largest hour"),
    "peak_q95_relative": ("1", "95 % quantile of the energy of the largest hour over the real one, minus one"),
    "energy_wasserstein": ("kWh", "Wasserstein distance of the energy over all hours"),
    "energy_mean_relative": ("1", "mean energy over all hours over the real one, minus one"),
    "energy_hours_relative": ("1", "mean energy of an hour over the real one, minus one: its size, mean over hours"),
    "load_factor_ks": ("1", "Kolmogorov-Smirnov statistic of mean over peak"),
    "prediction_r2": ("1", "R^2 on real households of later hours given earlier ones, trained on the source alone"),
    "augmented_r2": ("1", "the same, trained on other real households and equally many of the source"),
    "class_agreement": ("1", "share of real households in the class of the fit, after the best matching of classes"),
    "density_tv": ("1", "total variation distance of the density of x from that of the fit"),
    "density_kl": ("nats", "KL(released || fit) of the density of x"),
    "pinsker_bound": ("1", "Pinsker's bound sqrt(density_kl / 2) on density_tv, at most 1"),
}


def study_fidelity(
    records: Records, sources: Sequence[tuple[Source, np.ndarray]], scale: LogScale, mixture: Mapping, seed: int
) -> list[dict[str, object]]:
    """Return the rows of the table ``fidelity``, from the valid ones of all households of the export.

    Each source, the fit among them, comes with as many synthetic profiles as there are valid households. ``mixture``
    is the section of the configuration, for the fits to halves of the real households. InputError if fewer than four
    households have a valid profile.
    """
    real = records.log_kwh[records.valid]
    if len(real) < 4:
        raise InputError(
            "has too few households with a valid profile to compare one half with the other",
            file="config",
            field="export",
            hint="give more households, and check export.interval_minutes and export.unit",
        )
    directions = _directions(real.shape[1])
    fit = next(s.mixture for s, _ in sources if s.name == "fit")
    rows = _split_rows(("real", "none", None), real, None, directions, scale, seed) + _refit_rows(
        records, mixture, seed
    )
    for source, synthetic in progress(sources, "fidelity of synthetic profiles"):
        key = (source.name, source.family, source.epsilon)
        rows += _split_rows(key, real, synthetic, directions, scale, seed)
        if source.name != "fit":
            rows += _mixture_rows(key, real, source.mixture, fit, seed)
    return rows


def _directions(d: int) -> np.ndarray:
    """Unit vectors, (DIRECTIONS, d): the same in every study of d hours."""
    normal = StudyNoise(0, "sliced Wasserstein directions", d).normal((DIRECTIONS, d))
    return normal / np.linalg.norm(normal, axis=1, keepdims=True)


def _halves(n: int, splits: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield random halves of n records, the same for every source; an odd one is left out."""
    for split in range(splits):
        order = np.argsort(StudyNoise(seed, "fidelity halves", split).uniform((n,)))
        yield order[: n // 2], order[n // 2 : 2 * (n // 2)]


def _row(key: tuple, measure: str, value: float, se: float | None, note: str, entry: int | None = None) -> dict:
    source, family, epsilon = key
    unit, words = MEASURES[measure]
    return {
        "source": source,
        "family": family,
        "epsilon": epsilon,
        "measure": measure,
        "entry": entry,
        "value": float(value),
        "unit": unit,
        "se": se,
        "note": f"{words}; {note}",
    }


def _split_rows(
    key: tuple, real: np.ndarray, synthetic: np.ndarray | None, directions: np.ndarray, scale: LogScale, seed: int
) -> list[dict]:
    """Rows of what compares samples: one half of the real households against the other half or the source."""
    found: dict[str, list] = {}
    for test, other in _halves(len(real), SPLITS, seed):
        # Synthetic profiles are in random order, so the rows of the other half serve as a random half of them.
        judged = real[other] if synthetic is None else synthetic[other]
        measures = sample_fidelity(real[test], judged, directions, scale)
        if real.shape[1] > 1:
            measures["prediction_r2"] = prediction_r2(judged, real[test])
            if synthetic is not None:
                measures["augmented_r2"] = prediction_r2(np.concatenate([real[other], judged]), real[test])
        for measure, value in measures.items():
            found.setdefault(measure, []).append(value)
    note = _HALVES if synthetic is None else _HALVES_SEEN
    rows = []
    for measure in (m for m in MEASURES if m in found):
        values = np.array(found[measure])
        mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=1)
        if values.ndim == 1:
            rows.append(_row(key, measure, mean, float(deviation), note))
        else:
            hours = range(values.shape[1])
            rows += [_row(key, measure, mean[j], float(deviation[j]), note, j) for j in hours]
    return rows


def _mixture_rows(key: tuple, real: np.ndarray, released: Mixture, fit: Mixture, seed: int) -> list[dict]:
    """Rows of what compares a released mixture with the fit."""
    noise = StudyNoise(seed, "fidelity of densities", key[0], repr(key[2]))
    gap = density_gap(released, fit, noise, DENSITY_DRAWS)
    agreement = matched_agreement(most_probable_class(real, released), most_probable_class(real, fit))
    monte_carlo = f"Monte Carlo of {DENSITY_DRAWS:,} draws from each mixture with its standard error"
    return [
        _row(key, "class_agreement", agreement, None, _ALL_SEEN),
        _row(key, "density_tv", gap.total_variation, gap.total_variation_se, monte_carlo),
        _row(key, "density_kl", gap.kl, gap.kl_se, monte_carlo),
        _row(key, "pinsker_bound", gap.pinsker, gap.pinsker_se, monte_carlo),
    ]


def _refit_rows(records: Records, mixture: Mapping, seed: int) -> list[dict]:
    """Rows of the yardstick for mixtures: a fit to one half of the real households against a fit to the other half.

    No row where a half has too few distinct profiles for its own classes.
    """
    rows = np.flatnonzero(records.valid)
    found: dict[str, list[float]] = {"class_agreement": [], "density_tv": []}
    for split, halves in enumerate(_halves(len(rows), REFITS, seed)):
        fits = []
        for half in halves:
            part = Records(records.household[rows[half]], records.log_kwh[rows[half]], np.ones(len(half), bool))
            if len(np.unique(part.log_kwh, axis=0)) < max(mixture["classes"], 2):
                return []
            fits.append(fit_from(part, start_labels(part, mixture["classes"], seed)).mixture)
        labels = [most_probable_class(records.log_kwh[rows], fitted) for fitted in fits]
        noise = StudyNoise(seed, "fidelity of densities", "real", split)
        found["class_agreement"].append(matched_agreement(*labels))
        found["density_tv"].append(density_gap(*fits, noise, DENSITY_DRAWS).total_variation)
    key = ("real", "none", None)
    return [
        _row(key, m, np.mean(values), float(np.std(values, ddof=1)), _REFIT_HALVES) for m, values in found.items()
    ]


# Bins of the histogram of an hour, over the range of the real households.
BINS = 40


def hourly_densities(records: Records, sources: Sequence[tuple[Source, np.ndarray]]) -> dict[str, list]:
    """Return the columns of the table ``marginals``: histograms of every hour on the bins of the real households.

    What synthetic households use beyond these bins is in no bin, so that their densities may add up to less than one.
    """
    real = records.log_kwh[records.valid]
    samples = [("real", "none", None, real), *((s.name, s.family, s.epsilon, x) for s, x in sources)]
    columns: dict[str, list] = {column.name: [] for column in MARGINALS.columns}
    for entry in range(real.shape[1]):
        low, high = real[:, entry].min(), real[:, entry].max()
        edges = np.linspace(low, max(high, low + 1e-6), BINS + 1)
        for name, family, epsilon, x in samples:
            density = np.histogram(x[:, entry], edges)[0] / (len(x) * (edges[1] - edges[0]))
            rows = (name, family, epsilon, entry)
            for column, value in zip(columns, rows, strict=False):
                columns[column] += [value] * BINS
            columns["log_kwh"] += edges[:-1].tolist()
            columns["density"] += density.tolist()
    return columns
