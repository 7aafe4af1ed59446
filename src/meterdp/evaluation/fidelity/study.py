"""How faithful the synthetic profiles of a study are, from table to table.

Every measure is taken between equally many records of random halves, beside real households against other real ones
as the yardstick."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise
from meterdp.core.progress import progress
from meterdp.errors import InputError
from meterdp.evaluation.fidelity.distances import sample_fidelity
from meterdp.evaluation.fidelity.tasks import density_gap, matched_agreement, most_probable_class, prediction_r2
from meterdp.mixture.draws import Mixture
from meterdp.mixture.study import fit_from, start_labels
from meterdp.profiles.vector import Records
from meterdp.release.synthetic import Source

SPLITS = 20


REFITS = 5


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
    "sliced_wasserstein": (
        "log kWh",
        f"Wasserstein distance along {DIRECTIONS} fixed directions of all hours, mean",
    ),
    "correlation_rms": ("1", "root mean square difference of the correlations between hours"),
    "peak_hour_tv": ("1", "total variation between the distributions of the hour of the peak"),
    "peak_wasserstein": ("kWh", "Wasserstein distance of the energy of the largest hour"),
    "peak_q95_relative": (
        "1",
        "95 % quantile of the energy of the largest hour over the real one, minus one",
    ),
    "energy_wasserstein": ("kWh", "Wasserstein distance of the energy over all hours"),
    "energy_mean_relative": ("1", "mean energy over all hours over the real one, minus one"),
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
    """Return the rows of the table ``fidelity``.

    Parameters
    ----------
    records : Records
        All households of the export; the valid ones are compared with.
    sources : sequence of (Source, (n, d) float64)
        Each source, the fit among them, with as many synthetic profiles as there are valid households, log kWh.
    scale : LogScale
        Of the profiles.
    mixture : mapping
        Section of the configuration, for the fits to halves of the real households.
    seed : int
        Seed of the study.

    Raises
    ------
    InputError
        If fewer than four households have a valid profile.
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
            fits.append(fit_from(part, start_labels(part, mixture["classes"], seed), mixture).mixture)
        labels = [most_probable_class(records.log_kwh[rows], fitted) for fitted in fits]
        noise = StudyNoise(seed, "fidelity of densities", "real", split)
        found["class_agreement"].append(matched_agreement(*labels))
        found["density_tv"].append(density_gap(*fits, noise, DENSITY_DRAWS).total_variation)
    key = ("real", "none", None)
    return [
        _row(key, m, np.mean(values), float(np.std(values, ddof=1)), _REFIT_HALVES) for m, values in found.items()
    ]
