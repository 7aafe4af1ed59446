"""Defects of Liu et al. before the mechanism starts: K-means labels (L11), z-scores and PCA (L12).

Synthetic records for the errata: the setting of Liu et al., section V-A, and households of Table I's class sizes.

No number in them comes from a real meter.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from meterdp.mechanisms.interface import PublicSettings
from meterdp.mechanisms.published.label_flip import LabelledRecords
from meterdp.mixture.draws import Mixture, sample
from meterdp.mixture.gmm import fit_labels
from meterdp.mixture.kmeans import kmeans_labels
from meterdp.privacy.noise import NoiseSource
from meterdp_papers.common.tables import Finding, averaged, defect

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


_HOUSEHOLDS, _CLASSES, _REPLACED, _POPULATIONS = 700, 6, 5, 10


def moved_labels(before: np.ndarray, after: np.ndarray, replaced: int) -> int:
    """Count labels of other records that differ, under the numbering of classes that makes them agree most."""
    others = np.arange(len(before)) != replaced
    classes = max(before.max(), after.max())
    table = np.zeros((classes, classes), dtype=int)
    np.add.at(table, (before[others] - 1, after[others] - 1), 1)
    return int(others.sum() - table[linear_sum_assignment(-table)].sum())


@defect(
    "L11",
    "Footnote 1, section V-C",
    "Where classes come from K-means, labels are functions of all records, and neither they nor the choice of "
    "centroids is charged.",
    "One household moves centroids and with them other households' labels, so a flip of one label is not what "
    "one household can change.",
    "Private K-means, charged; then a label is the nearest released centroid, a function of one's own record.",
)
def clustered_labels(noise: NoiseSource) -> tuple[Finding, ...]:
    moved = np.array([_moved_by_replacements(noise) for _ in range(_POPULATIONS)])
    means, shares = moved.mean(axis=1), (moved > 0).mean(axis=1)
    settings = (
        f"{_POPULATIONS} times {_HOUSEHOLDS} made-up households of Table I's class shares, d = 12, K = {_CLASSES}, "
        f"K-means with ten starts and one seed; {_REPLACED} households of each replaced in turn by another draw from "
        "the same population; classes matched"
    )
    here = partial(Finding, settings, "footnote 1, section V-C")
    return (
        here(
            "The most labels of other households that change when one household is replaced by an ordinary one.",
            "labels of others that change, largest",
            float(moved.max()),
            unit="households",
            claimed=0.0,
        ),
        here(
            "The same on average.",
            "labels of others that change, mean",
            unit="households",
            claimed=0.0,
            **averaged(means),
        ),
        here(
            "Replacements that change the label of at least one other household.",
            "share of replacements that move other labels",
            claimed=0.0,
            **averaged(shares),
        ),
    )


def _moved_by_replacements(noise: NoiseSource) -> list[int]:
    x, _ = sample(household_mixture(), _HOUSEHOLDS + _REPLACED, noise)
    x, fresh = x[:_HOUSEHOLDS], x[_HOUSEHOLDS:]
    before = kmeans_labels(x, _CLASSES, 0)
    moved = []
    for replaced, record in enumerate(fresh):
        other = x.copy()
        other[replaced] = record
        moved.append(moved_labels(before, kmeans_labels(other, _CLASSES, 0), replaced))
    return moved


@defect(
    "L12",
    "Sections V-B, V-D",
    "z-scores and principal components are fitted on the private records and not charged.",
    "Under a flip of one label they stay as they are; under the replacement of a record, which footnote 2 claims "
    "too, every other record's coordinates move, by an amount nothing bounds.",
    "No centring, scaling or projection is fitted to private records without being charged.",
)
def fitted_scaling(noise: NoiseSource) -> tuple[Finding, ...]:
    iris = load_iris().data
    digits = load_digits().data
    corner, slip = iris.copy(), iris.copy()
    corner[0] = iris.max(axis=0)
    slip[0] = 10 * iris.max(axis=0)
    bright = digits.copy()
    bright[0] = digits.max()
    return (
        Finding(
            "Iris, 150 x 4, first record replaced",
            "section V-B",
            "Iris, z-scores: the farthest any other record moves when one record is replaced by the largest value of "
            "every feature.",
            "largest move of another record",
            _largest_move(_z_scores(iris), _z_scores(corner)),
            unit="standard deviations",
            closed_form=_move_by_updates(iris, corner[0]),
            claimed=0.0,
        ),
        Finding(
            "Iris, 150 x 4, first record replaced by ten times the largest values",
            "section V-B",
            "The same with a decimal point misplaced in that record: nothing is clipped, so nothing bounds the move.",
            "largest move of another record",
            _largest_move(_z_scores(iris), _z_scores(slip)),
            unit="standard deviations",
            closed_form=_move_by_updates(iris, slip[0]),
            claimed=0.0,
        ),
        Finding(
            "digits of scikit-learn, 1797 x 64, levels 0 to 16 (in place of MNIST), first image replaced",
            "section V-D",
            "Handwritten digits, PCA to five dimensions: the farthest any other record moves when one image becomes "
            "all white, each axis signed to agree.",
            "largest move of another record",
            _largest_move(_scores(digits), _scores(bright)),
            unit="pixel levels",
            claimed=0.0,
        ),
    )


def _z_scores(x: np.ndarray) -> np.ndarray:
    return StandardScaler().fit_transform(x)


def _scores(x: np.ndarray, components: int = 5) -> np.ndarray:
    return PCA(components, svd_solver="full").fit_transform(x)


def _largest_move(before: np.ndarray, after: np.ndarray) -> float:
    """Return the largest Euclidean distance between the coordinates of records other than the first."""
    sign = np.sign((before[1:] * after[1:]).sum(axis=0))
    return float(np.linalg.norm(after[1:] * sign - before[1:], axis=1).max())


def _move_by_updates(x: np.ndarray, record: np.ndarray) -> float:
    """Return the same for z-scores from update formulas of mean and variance, not from the changed data."""
    n, step = len(x), record - x[0]
    mean, variance = x.mean(axis=0), x.var(axis=0)
    new_mean = mean + step / n
    new_variance = variance + (record**2 - x[0] ** 2) / n - (new_mean**2 - mean**2)
    move = (x[1:] - new_mean) / np.sqrt(new_variance) - (x[1:] - mean) / np.sqrt(variance)
    return float(np.sqrt((move**2).sum(axis=1).max()))
