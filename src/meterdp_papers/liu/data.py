"""Figs 5 to 10 and Table I of Liu et al. (Sections V-B to V-D): Iris, load profiles, handwritten digits.

Each data set is fixed, so a trial is a fresh release. Z-scores and principal components are fitted on the private
records and not charged, as in the paper (defect L12).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, load_iris

from meterdp.core.job import progress
from meterdp.core.log_scale import LogScale
from meterdp.mechanisms.reference.label_flip import LabelledRecords
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import Fit, fit_labels
from meterdp.profiles.grid import Shard
from meterdp.profiles.quality import QualityRules, judge
from meterdp.profiles.vector import Records, VectorRules, profile_vectors
from meterdp_papers.common.datasets import Dataset, locate
from meterdp_papers.liu import synthetic as liu_marginals
from meterdp_papers.liu.setting import (
    EPSILONS,
    HALF_DAY,
    MARGINAL_EPSILON,
    RUNS,
    SIMULATED_EXPORT,
    Run,
    curve,
    curve_under,
    fixed_data_releases,
    kl_trials,
    summary,
)
from meterdp_papers.liu.tables import SHOWN, VARIANTS

COMPONENTS = 5  # principal components of the digits
DIGITS_TEST = 600
PAPER_TABLE_1 = (687, 428, 102, 147, 14, 31)
BLOCK_DRAWS = 20
# The published mechanism is not invariant to units, and the paper names neither its unit nor a floor of eigenvalues.
PIXEL_UNITS = ("pixels from 0 to 1", "pixels from 0 to 255", "images in the unit ball")
FLOORS = (1e-6, 1e-4, 1e-2)


@dataclass(frozen=True)
class Pixels:
    """Images of digits."""

    train: np.ndarray  # (N, p), pixels from 0 to 1, an image a row
    train_labels: np.ndarray  # (N,), digits
    test: np.ndarray  # (M, p)
    test_labels: np.ndarray  # (M,)
    source: dict  # columns ``data`` and ``substitute``


@dataclass(frozen=True)
class Images:
    """Digits reduced to principal components."""

    train: LabelledRecords
    x_test: np.ndarray  # (M, d)
    labels_test: np.ndarray  # (M,), classes 1..K
    source: dict  # columns ``data`` and ``substitute``


def iris(eigenvalue_floor: float) -> tuple[LabelledRecords, dict]:
    """Return z-scored Iris, N = 150, d = 4, K = 3, and where it comes from."""
    bunch = load_iris()
    x = (bunch.data - bunch.data.mean(axis=0)) / bunch.data.std(axis=0)
    private = LabelledRecords(x, fit_labels(x, bunch.target + 1, eigenvalue_floor))
    return private, {"data": "Iris (scikit-learn's copy), z-scored", "substitute": None}


def half_days(shards: Iterable[Shard], quality: Mapping, profiles: Mapping) -> Records:
    """Return the half-days of all households from the readings of a study.

    ``quality`` and ``profiles`` are sections of the configuration.
    """
    rules = VectorRules.from_config({**profiles, **HALF_DAY})
    found = []
    for shard in shards:
        least_kwh = LogScale.of_interval(profiles, shard.calendar.interval_minutes).least_negative_kwh
        judged, usable = judge(shard, QualityRules.from_config(quality), least_kwh)
        found.append((shard.household, *profile_vectors(usable, judged["kept"].to_numpy(), shard.calendar, rules)))
    return Records(*map(np.concatenate, zip(*found, strict=True)))


def load_profiles(x: np.ndarray, fit: Fit, simulated: bool) -> tuple[LabelledRecords, dict]:
    """Return the valid profiles of a study and what they stand for."""
    kind = SIMULATED_EXPORT if simulated else "export of the study"
    data = f"{kind}, {len(x)} households, d = {x.shape[1]}, K = {fit.mixture.classes}"
    return LabelledRecords(x, fit), {"data": data, "substitute": "stands for the paper's 1409 private houses"}


def fixed_data_figures(
    figures: tuple[str, str],
    private: LabelledRecords,
    source: Mapping,
    entries: range,
    eigenvalue_floor: float,
    draws: int,
    seed: int,
    given_labels: bool = True,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return a KL curve over epsilon (Figs 5, 7), marginals at epsilon = 2 (Figs 6, 8) and their distances.

    ``figures`` names curve and marginals, ``entries`` the entries of the record whose marginals are shown.
    """
    trials = []
    for epsilon in EPSILONS:
        drawn = fixed_data_releases(figures[0], private, epsilon, eigenvalue_floor, draws, seed, given_labels)
        trials.append(kl_trials(figures[0], epsilon, drawn, private))
        if epsilon == MARGINAL_EPSILON:
            marginals = liu_marginals.tabulate(figures[1], private, drawn, entries, source)
    return curve(pd.concat(trials), "epsilon", **source), *marginals


def table_1(counts: np.ndarray, source: Mapping) -> dict[str, object]:
    """Return the columns of ``liu_table1``, from ``counts`` (K,): classes from the largest on beside printed ones."""
    rows = max(len(counts), len(PAPER_TABLE_1))
    paper = np.array(PAPER_TABLE_1)
    columns: dict[str, object] = {"rank": np.arange(1, rows + 1)}
    for values, (component, count, share) in (
        (np.asarray(counts), ("component", "household_count", "share")),
        (paper, ("paper_class", "paper_household_count", "paper_share")),
    ):
        order = np.argsort(-values, kind="stable")
        missing = [None] * (rows - len(values))
        columns[component] = [*(order + 1).tolist(), *missing]
        columns[count] = [*values[order].tolist(), *missing]
        columns[share] = [*(values[order] / values.sum()).tolist(), *missing]
    return columns | {name: [value] * rows for name, value in source.items()}


# --- digits ---------------------------------------------------------------------------------------------------------


def images(mnist: Dataset, data_dir) -> Pixels:
    """Return MNIST, or scikit-learn's small digits where its file is missing."""
    path = locate(mnist, data_dir)
    if path is None:
        bunch = load_digits()
        pixels, labels = bunch.data / 16, bunch.target
        train, test = slice(None, -DIGITS_TEST), slice(-DIGITS_TEST, None)
        split = pixels[train], labels[train], pixels[test], labels[test]
        name, substitute = "digits (scikit-learn's 8 x 8 images)", f"stands for MNIST: {mnist.substitute}"
    else:
        with np.load(path) as arrays:
            split = [arrays[key] for key in ("x_train", "y_train", "x_test", "y_test")]
        for part in (0, 2):
            split[part] = split[part].reshape(len(split[part]), -1) / 255
        name, substitute = "MNIST", None
    sizes = f"{len(split[0])} training and {len(split[2])} test images, {COMPONENTS} principal components"
    return Pixels(*split, {"data": f"{name}, {sizes}", "substitute": substitute})


def reduced(pixels: Pixels, unit: str, eigenvalue_floor: float) -> Images:
    """Return the images in one of :data:`PIXEL_UNITS`, reduced to principal components."""
    factor = {
        "pixels from 0 to 1": 1.0,
        "pixels from 0 to 255": 255.0,
        "images in the unit ball": 1 / np.linalg.norm(pixels.train, axis=1).max(),
    }[unit]
    axes = principal_axes(pixels.train, COMPONENTS)
    centre = pixels.train.mean(axis=0)
    x = factor * (pixels.train - centre) @ axes
    return Images(
        LabelledRecords(x, fit_labels(x, pixels.train_labels + 1, eigenvalue_floor)),
        factor * (pixels.test - centre) @ axes,
        pixels.test_labels + 1,
        pixels.source,
    )


def principal_axes(x: np.ndarray, components: int) -> np.ndarray:
    """Return the leading eigenvectors (p, components) of the covariance of ``x`` (N, p), largest variance first."""
    residual = x - x.mean(axis=0)
    return np.linalg.eigh(residual.T @ residual)[1][:, ::-1][:, :components]


def accuracies(mixtures: MixtureDraws, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return per draw the share of records x (M, d) whose class has the highest likelihood N(x; mu_k, Sigma_k).

    Maximum likelihood as in Section V-D: the weights of the classes play no part.
    """
    d = x.shape[1]
    rows, columns = np.triu_indices(d)
    features = np.hstack([x[:, rows] * x[:, columns], x, np.ones((len(x), 1))])  # log-densities are linear in these
    shares = []
    for start in range(0, len(mixtures), BLOCK_DRAWS):
        part = mixtures.slice(start, start + BLOCK_DRAWS)
        precision = np.linalg.inv(part.covariances)
        quadratic = -precision[..., rows, columns] * np.where(rows == columns, 0.5, 1.0)
        linear = np.einsum("rkij,rkj->rki", precision, part.means)
        constant = -0.5 * (np.einsum("rki,rki->rk", linear, part.means) + np.linalg.slogdet(part.covariances)[1])
        weights = np.concatenate([quadratic, linear, constant[..., None]], axis=-1)
        best = (weights @ features.T).argmax(axis=1) + 1
        shares.append((best == labels).mean(axis=1))
    return np.concatenate(shares)


def image_figures(
    pixels: Pixels, eigenvalue_floor: float, draws: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the columns of ``liu_curve`` (Fig. 9) and of ``liu_accuracy`` (Fig. 10).

    Every variant of the text in pixels from 0 to 1 at the floor of the study; then every unit and floor under the
    variant that is drawn.
    """
    trials, shares = _image_trials(reduced(pixels, PIXEL_UNITS[0], eigenvalue_floor), eigenvalue_floor, draws, seed)
    curves = [curve(trials, "epsilon", **pixels.source)]
    accuracies_of = [
        _accuracy(pd.concat(rows for run, rows in shares.items() if run.of(variant)), variant.name, pixels)
        for variant in VARIANTS
    ]
    shown = tuple(run for run in RUNS if run.of(SHOWN))
    for unit in PIXEL_UNITS:
        for floor in FLOORS:
            name = f"{SHOWN.name}; {unit}, eigenvalues from {floor:g}"
            trials, shares = _image_trials(reduced(pixels, unit, floor), floor, draws, seed, shown)
            curves.append(curve_under(trials, name, "epsilon", **pixels.source))
            accuracies_of.append(_accuracy(pd.concat(shares.values()), name, pixels))
    return pd.concat(curves), pd.concat(accuracies_of)


def _image_trials(
    data: Images, eigenvalue_floor: float, draws: int, seed: int, runs: tuple[Run, ...] = RUNS
) -> tuple[pd.DataFrame, dict[Run, pd.DataFrame]]:
    """Return the trials :func:`curve` takes, and the accuracies of every run; those of the fit as another."""
    trials, shares = [], {}
    fitted = accuracies(MixtureDraws.single(data.train.fit.mixture), data.x_test, data.labels_test)
    for epsilon in progress(EPSILONS, "digits, values of epsilon"):
        drawn = fixed_data_releases("fig9", data.train, epsilon, eigenvalue_floor, draws, seed, runs=runs)
        trials.append(kl_trials("fig9", epsilon, drawn, data.train))
        shares.setdefault(Run("fit"), []).append(_share_rows("fit", "none", epsilon, fitted))
        for run, mixtures in drawn.items():
            share = accuracies(mixtures, data.x_test, data.labels_test)
            rows = _share_rows(run.mechanism, run.family, epsilon, share)
            shares.setdefault(run, []).append(rows)
    return pd.concat(trials), {run: pd.concat(rows) for run, rows in shares.items()}


def _accuracy(shares: pd.DataFrame, variant: str, pixels: Pixels) -> pd.DataFrame:
    groups = shares.groupby(["mechanism", "family", "x"], sort=False)["accuracy"]
    table = summary(groups, "accuracy").reset_index()
    return table.assign(reading=variant, x_name="epsilon", test_count=len(pixels.test_labels), **pixels.source)


def _share_rows(name: str, family: str, epsilon: float, share: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"mechanism": name, "family": family, "x": float(epsilon), "accuracy": share})
