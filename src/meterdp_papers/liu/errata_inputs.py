"""Synthetic records for the errata: the setting of Liu et al., section V-A, and households of Table I's class sizes.

No number in them comes from a real meter.

Defects of Liu et al. before the mechanism starts: K-means labels (L11), z-scores and PCA (L12).

Defects of Liu et al. in Algorithm 1 (L9), its frequencies (L5, L6), and misprints with consequences (L10).
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.optimize import linear_sum_assignment, minimize_scalar
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from meterdp.mechanisms.interface import PublicSettings
from meterdp.mechanisms.reference.kl import Design, KlPublished, neighbouring_frequencies
from meterdp.mechanisms.reference.label_flip import LabelledRecords
from meterdp.mixture.density import kl_joint
from meterdp.mixture.draws import Mixture, sample
from meterdp.mixture.gmm import fit_labels, kmeans_labels
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
    "Private K-means, charged; then a label is the nearest released centroid, a function of that record alone.",
)
def clustered_labels(noise: NoiseSource) -> tuple[Finding, ...]:
    moved = np.array([_moved_by_replacements(noise) for _ in range(_POPULATIONS)])
    means, shares = moved.mean(axis=1), (moved > 0).mean(axis=1)
    settings = (
        f"{_POPULATIONS} times {_HOUSEHOLDS} synthetic households of Table I's class shares, d = 12, K = {_CLASSES}, "
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
    bright = digits.copy()
    bright[0] = digits.max()
    found = []
    for factor, settings, statement in (
        (
            1,
            "first record replaced",
            "Iris, z-scores: the farthest any other record moves when one record is replaced by the largest value of "
            "every feature.",
        ),
        (
            10,
            "first record replaced by ten times the largest values",
            "The same with a decimal point misplaced in that record: nothing is clipped, so nothing bounds the move.",
        ),
    ):
        changed = iris.copy()
        changed[0] = factor * iris.max(axis=0)
        found.append(
            Finding(
                f"Iris, 150 x 4, {settings}",
                "section V-B",
                statement,
                "largest move of another record",
                _largest_move(_z_scores(iris), _z_scores(changed)),
                unit="standard deviations",
                closed_form=_move_by_updates(iris, changed[0]),
                claimed=0.0,
            )
        )
    return (
        *found,
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


_FREQUENCY_EPSILONS = (0.5, 1.0, 2.0, 4.0)


@defect(
    "L5",
    "(15)",
    "Frequencies are mapped to neighbours of pi(D) only, and the neighbours of D' are others.",
    "(11) has a zero in its denominator for these outputs; no eps_0 is large enough.",
    "Counts get Gaussian noise.",
)
def reachable_outputs(noise: NoiseSource) -> tuple[Finding, ...]:
    return tuple(_unreachable(classes) for classes in (5, 6))


def _unreachable(classes: int, each: int = 100) -> Finding:
    counts = np.full(classes, each)
    flipped = counts.copy()
    flipped[:2] += [-1, 1]
    own, others = (
        {tuple(row) for row in np.rint(neighbouring_frequencies(c) * counts.sum()).astype(int)}
        for c in (counts, flipped)
    )
    outputs = classes * (classes - 1) + 1
    return Finding(
        f"K = {classes}, {each} records a class, every element of (14) listed",
        "(14), (15)",
        f"With K = {classes}, {len(own - others)} of the {len(own)} outputs the map gives on D cannot come from D'; "
        "where it is uniform, this is the probability that one release tells the two apart, whatever eps_0.",
        "share of outputs unreachable from the neighbour",
        len(own - others) / len(own),
        closed_form=(outputs - (2 * classes - 2)) / outputs,
        claimed=0.0,
    )


@defect(
    "L6",
    "(24), (26)",
    "The rows of F' are normalised where a mapping needs its columns to be; the result depends on the unit of "
    "the records and, if every g_i is non-negative, not on eps_0.",
    "There is no distribution to draw from until it is normalised, and then the frequencies are as good as a "
    "blind guess among neighbours. This project draws from the normalised column and says so.",
    "Counts get Gaussian noise and are brought back to positive numbers that sum to the public N.",
)
def printed_mapping(noise: NoiseSource) -> tuple[Finding, ...]:
    private = paper_records(noise)
    printed = paper_design(private, 1.0)
    outputs = len(printed.mapping)
    uniform = [d for d in (paper_design(private, e) for e in _FREQUENCY_EPSILONS) if np.ptp(d.mapping) == 0]
    scaled = LabelledRecords(1000 * private.x, fit_labels(1000 * private.x, private.labels, 1e-9))
    before, after = (_nonnegative(paper_design(p, 4.0)) for p in (private, scaled))
    return (
        Finding(
            f"{PAPER_SETTING}, eps = 1, so eps_0 = 1/3 (L9)",
            "(24), (26)",
            "F' 1 = 1 normalises over inputs; summed over outputs, the column of (26) that is drawn from is no "
            "distribution.",
            "sum over outputs of column j* of F'",
            float(printed.mapping.sum()),
            closed_form=outputs / (1 + (outputs - 1) * math.exp(1 / 3)),
            claimed=1.0,
        ),
        Finding(
            f"{PAPER_SETTING}, eps in {_FREQUENCY_EPSILONS}",
            "(26)",
            "Probability, after normalisation, of releasing the true frequencies: that of a blind guess among the "
            f"outputs, at {len(uniform)} of {len(_FREQUENCY_EPSILONS)} values of eps, since every g_i is "
            "non-negative there.",
            "largest normalised probability of the true frequencies over those eps",
            max(float(d.mapping[0] / d.mapping.sum()) for d in uniform),
            closed_form=1 / outputs,
        ),
        Finding(
            f"{PAPER_SETTING}, eps = 4",
            "(12), (26)",
            f"The sign of g_i decides between the two branches of (26), and it depends on the unit of the records: "
            f"{before} of {outputs} are non-negative as drawn, this many when the same records are multiplied by "
            "1000, though a divergence has no unit.",
            "g_i that are non-negative after the change of unit",
            float(after),
            unit="outputs",
            claimed=float(before),
        ),
    )


def paper_design(private: LabelledRecords, epsilon: float) -> Design:
    """Return what Algorithm 1 ends with on ``private``."""
    return KlPublished.calibrate(paper_settings(private, epsilon)).design(private)


def _nonnegative(design: Design) -> int:
    """Count the g_i >= 0, which (26) maps below the uniform probability."""
    return int((design.mapping < 1 / len(design.mapping)).sum())


_DATA_SETS = 10
_EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)


@defect(
    "L9",
    "Algorithm 1",
    "(23) uses up (20b) for every class, after which (25) can only return the eps_0 it was given.",
    "The alternation stops where it starts: the split of epsilon is never optimised. Utility, not privacy.",
    "The split is a public setting.",
)
def alternation(noise: NoiseSource) -> tuple[Finding, ...]:
    drift, gain, passes = [], [], []
    for _ in range(_DATA_SETS):
        private = paper_records(noise)
        for epsilon in _EPSILONS:
            design = paper_design(private, epsilon)
            drift.append(abs(design.epsilon_0 / (epsilon / 3) - 1))
            gain.append(abs(design.objectives[-1] - design.objectives[0]))
            passes.append(len(design.objectives))
    settings = f"{PAPER_SETTING}, eps in {_EPSILONS}, {_DATA_SETS} data sets"
    here = partial(Finding, settings, "Algorithm 1, line 9")
    return (
        Finding(
            settings,
            "Algorithm 1, (23), (25)",
            "Largest change of eps_0 from its starting value eps/3: (23) makes (20b) tight for every class, so (25) "
            "returns what it was given, up to rounding.",
            "|eps_0/(eps/3) - 1| at the end",
            _without_rounding(max(drift)),
            closed_form=0.0,
        ),
        here(
            "Largest change of the objective (20a) after the first pass, up to rounding.",
            "|last objective - first|",
            _without_rounding(max(gain)),
            closed_form=0.0,
        ),
        here(
            "Passes until it stops: one, and one more to notice.",
            "most passes",
            float(max(passes)),
            unit="passes",
            closed_form=2.0,
        ),
    )


def _without_rounding(value: float) -> float:
    """Report as zero what is within rounding of zero, so that the last bits stay out of print."""
    return 0.0 if value < 1e-10 else value


@defect(
    "L10",
    "(21), (28), text to Fig. 1, section IV-B",
    "d gamma_k stands for d ln gamma_k; both exponents of (28) are negative; the text reverses the effect of "
    "eps; the objectives of a minimisation are called non-decreasing.",
    "Read literally, (21) does not give (22), (28) cannot hold, and the argument for convergence does not close. "
    "The formulas around them show what was meant.",
    "Nothing depends on these lines.",
)
def misprints(noise: NoiseSource) -> tuple[Finding, ...]:
    d, trace, epsilon_0 = 3, 2.5, 1 / 3
    bounds = {"bounds": (1e-3, 1e3), "method": "bounded", "options": {"xatol": 1e-10}}
    printed = minimize_scalar(lambda g: d * g + (d + 1) * trace / g, **bounds).x
    meant = minimize_scalar(lambda g: d * math.log(g) + (d + 1) * trace / g, **bounds).x
    setting = f"d = {d}, tr(Sigma_k^-1) = {trace:g}, constraint of (21) not active"
    first, last, errors = _divergences(noise)
    here = partial(Finding, setting, "(21), (22)")
    return (
        here(
            "Minimiser of (21) as printed, with d gamma_k, beside (22), which it is said to be.",
            "minimiser of (21)",
            float(printed),
            closed_form=math.sqrt((d + 1) * trace / d),
            claimed=(d + 1) / d * trace,
        ),
        here(
            "Minimiser of (21) with d ln gamma_k in its place, as in (12): that is (22).",
            "minimiser of (21) with the logarithm",
            float(meant),
            closed_form=(d + 1) / d * trace,
        ),
        Finding(
            f"eps_0 = {epsilon_0:.3g}",
            "(28)",
            "With e^-eps_0 on both sides, as printed, f(.|D) = e^-eps_0 f(.|D') everywhere: if the right one sums to "
            "one over all outputs the left one sums to this. The right-hand exponent should be +eps_0.",
            "sum of f(.|D) over all outputs",
            math.exp(-epsilon_0),
            claimed=1.0,
        ),
        Finding(
            f"{PAPER_SETTING}, {_DATA_SETS} data sets, 200 draws each",
            "text to Fig. 1",
            "Mean divergence at eps = 8 over that at eps = 0.5: a larger eps gives less noise and a lower "
            f"divergence, where the text says more and higher ({first:.3g} falls to {last:.3g} nats).",
            "E KL at eps = 8 over E KL at eps = 0.5",
            last / first,
            standard_error=errors,
        ),
    )


def _divergences(noise: NoiseSource, draws: int = 200) -> tuple[float, float, float]:
    """Return the mean divergence at the smallest and the largest epsilon, and the standard error of their ratio."""
    means = np.empty((_DATA_SETS, 2))
    for row in means:
        private = paper_records(noise)
        for column, epsilon in enumerate((_EPSILONS[0], _EPSILONS[-1])):
            mechanism = KlPublished.calibrate(paper_settings(private, epsilon))
            released = mechanism.release(private, noise, draws).mixtures
            row[column] = kl_joint(released, private.fit.mixture).mean()
    first, last = means.mean(axis=0)
    residual = means[:, 1] - last / first * means[:, 0]
    return float(first), float(last), float(residual.std(ddof=1) / math.sqrt(_DATA_SETS) / first)
