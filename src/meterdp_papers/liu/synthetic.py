"""Figs 1 to 4 of Liu et al. (Section V-A): KL divergence on synthetic mixtures, a fresh one in every trial.

pi ~ Dirichlet(1), means uniform on [-10, 10]^d, covariances ~ Wishart(I, d + 1 degrees of freedom); K = 5, d = 3,
N = 1000, epsilon = 1 unless varied. Random numbers are keyed by (figure, abscissa, trial): results do not depend on
how the trials are split into jobs. In Fig. 1 one data set serves every epsilon.

Marginal densities of released mixtures beside histogram and fit, and how far apart they are (Figs 6 and 8).

The paper shows one release without saying which. Here both the first release and the pointwise mean over all trials
are tabulated, so that no lucky draw has to be trusted, and distances are averaged over all trials.

Algorithm 1 of Liu et al.: does it converge, and what does its semi-definite program cost (Remark 2).

The interior-point side is (23) as printed: one matrix inequality per record and per class it may move to, handed to
Clarabel. Work is counted, not timed: a clock turns with the load of the machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import clarabel
import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import ndtr

from meterdp.core.job import progress
from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.reference.kl import KlPublished
from meterdp.mechanisms.reference.label_flip import LabelledRecords
from meterdp.mixture.density import kl_joint
from meterdp.mixture.draws import Mixture, MixtureDraws, sample
from meterdp.mixture.gmm import fit_labels
from meterdp.privacy.noise import NoiseSource
from meterdp.solvers import ellipsoid as sdp
from meterdp_papers.liu.setting import EPSILONS, RUNS, Run, curve, public_settings, read, releases
from meterdp_papers.liu.tables import SHOWN, VARIANTS

MEAN_BOUND = 10.0
DATA = "synthetic Gaussian mixtures, a fresh one in every trial"


@dataclass(frozen=True)
class Setting:
    """One point of a figure: K classes, dimension d, N records, privacy parameter."""

    classes: int = 5
    dimension: int = 3
    records: int = 1000
    epsilon: float = 1.0


@dataclass(frozen=True)
class Sweep:
    """What a figure varies and over which values; the paper prints none of them."""

    varied: str
    values: tuple[float, ...]
    share: float  # its trials for one of the study's: most where another seed could turn a verdict

    def setting(self, x: float) -> Setting:
        """Return the setting at abscissa ``x``."""
        return replace(Setting(), **{self.varied: x if self.varied == "epsilon" else int(x)})


SWEEPS = {
    "fig1": Sweep("epsilon", EPSILONS, 1.0),
    "fig2": Sweep("records", (500, 1000, 2000, 4000, 8000), 1.25),
    "fig3": Sweep("classes", (2, 5, 10, 15, 20), 1.75),
    "fig4": Sweep("dimension", (2, 3, 5, 8, 10), 0.5),
}


def draw_mixture(setting: Setting, noise: NoiseSource) -> Mixture:
    """Draw the true mixture of one trial."""
    k, d = setting.classes, setting.dimension
    exponential = -np.log1p(-noise.uniform((k,)))  # normalised: Dirichlet with all parameters one
    means = MEAN_BOUND * (2 * noise.uniform((k, d)) - 1)
    columns = noise.normal((k, d, d + 1))
    return Mixture(exponential / exponential.sum(), means, columns @ np.swapaxes(columns, 1, 2))


def draw_data_set(setting: Setting, noise: NoiseSource, eigenvalue_floor: float) -> tuple[LabelledRecords, int]:
    """Draw mixtures and records until every class has more than d records, and fit them by (2a)-(2c).

    Returns how many were discarded, too: with N_k <= d the covariance (2c) is singular and the divergence infinite.
    """
    redrawn = 0
    while True:
        x, labels = sample(draw_mixture(setting, noise), setting.records, noise)
        counts = np.bincount(labels, minlength=setting.classes + 1)[1:]
        if (counts > setting.dimension).all():
            return LabelledRecords(x, fit_labels(x, labels, eigenvalue_floor)), redrawn
        redrawn += 1


def run_trials(figure: str, trials: Iterable[int], eigenvalue_floor: float, seed: int) -> pd.DataFrame:
    """Run every mechanism once per trial and abscissa of fig1 to fig4: columns of ``liu_trials``."""
    sweep = SWEEPS[figure]
    rows = []
    for trial in progress(list(trials), f"{figure}, trials"):
        for x in sweep.values:
            setting = sweep.setting(x)
            # Fig. 1 is paired over epsilon: same data set, and (23) is solved once for all of them.
            if sweep.varied != "epsilon" or x == sweep.values[0]:
                key = "every" if sweep.varied == "epsilon" else repr(x)
                stream = StudyNoise(seed, "reproduce liu", figure, "data", key, trial)
                private, redrawn = draw_data_set(setting, stream, eigenvalue_floor)
                records, smallest = read(private), private.fit.counts.min()
            for run in RUNS:
                # The same random numbers for every run of a mechanism.
                noise = StudyNoise(seed, "reproduce liu", figure, run.mechanism, repr(x), trial)
                released = releases(run, records, setting.epsilon, eigenvalue_floor, noise, 1)
                kl = kl_joint(released, private.fit.mixture)[0]
                names = run.mechanism, run.family, run.flips, run.over_classes
                rows.append((figure, float(x), trial, *names, kl, redrawn, smallest))
    of_run = ("mechanism", "family", "flips", "over_classes")
    names = ("figure", "x", "trial", *of_run, "kl", "redrawn_count", "smallest_class_count")
    return pd.DataFrame(rows, columns=names)


def summarise(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of ``liu_curve`` from all trials of one figure."""
    return curve(trials, SWEEPS[trials["figure"].iloc[0]].varied, DATA, None)


POINTS = 121
MAX_BINS = 30


def histogram(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return densities (B,) and edges (B + 1,) with 2 n^(1/3) bins (Rice's rule), at most thirty."""
    bins = int(np.clip(np.ceil(2 * np.cbrt(len(values))), 1, MAX_BINS))
    return np.histogram(values, bins=bins, density=True)


def normal_density(grid: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Return the densities (..., G) of normal distributions with ``mean`` and ``deviation`` (...) on ``grid``
    (G,)."""
    z = (grid - mean[..., None]) / deviation[..., None]
    return np.exp(-0.5 * z**2) / (np.sqrt(2 * np.pi) * deviation[..., None])


def tv_to_histogram(mean: np.ndarray, deviation: np.ndarray, density: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the total variation distance between normal distributions (...) and a histogram, both taken over its
    bins.

    Half the sum of differences of bin probabilities, what lies outside all bins included.
    """
    inside = np.diff(ndtr((edges - mean[..., None]) / deviation[..., None]), axis=-1)
    outside = 1 - inside.sum(axis=-1)
    return 0.5 * (np.abs(inside - density * np.diff(edges)).sum(axis=-1) + outside)


def tv_of_normals(mean: np.ndarray, deviation: np.ndarray, other_mean: float, other_deviation: float) -> np.ndarray:
    """Return the total variation distance between normal distributions (...) and one other.

    The densities cross at the roots of a quadratic; between crossings the difference has one sign, so the distance
    is half the sum of absolute increments of the difference of the distribution functions.
    """
    # Coordinates in which the other distribution is standard; a z^2 - 2 b z + c = 0 where log-densities are equal.
    m, s = (mean - other_mean) / other_deviation, deviation / other_deviation
    a, b = 1 - s**2, m
    c = m**2 + 2 * s**2 * np.log(s)
    root = np.sqrt(np.maximum(b**2 - a * c, 0))
    far = b + np.where(b >= 0, root, -root)  # the root without cancellation; the other one is c / far
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = np.stack([far / a, c / far])
    crossings = np.sort(np.where(np.isnan(crossings), np.inf, crossings), axis=0)
    difference = ndtr((crossings - m) / s) - ndtr(crossings)
    steps = np.abs(difference[0]) + np.abs(difference[1] - difference[0]) + np.abs(difference[1])
    return 0.5 * steps


def kl_of_normals(mean: np.ndarray, deviation: np.ndarray, other_mean: float, other_deviation: float) -> np.ndarray:
    """Return KL(N(mean, deviation^2) || other), nats, of normal distributions (...)."""
    ratio = (deviation / other_deviation) ** 2
    return 0.5 * (ratio - 1 - np.log(ratio) + ((mean - other_mean) / other_deviation) ** 2)


def tabulate(
    figure: str,
    private: LabelledRecords,
    drawn: Mapping[Run, MixtureDraws],
    entries: Sequence[int],
    source: Mapping,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the columns of ``liu_densities``, which shows one variant, and of ``liu_marginal_distances``."""
    densities, distances = [], []
    fit = private.fit.mixture
    distributions = {None: MixtureDraws.single(fit), **drawn}
    for k in range(fit.classes):
        members = private.x[private.labels == k + 1][:, entries]
        margin = 0.35 * np.ptp(members) or 1.0
        grid = np.linspace(members.min() - margin, members.max() + margin, POINTS)
        for column, j in enumerate(entries):
            heights, edges = histogram(members[:, column])
            cell = {"figure": figure, "component": k + 1, "entry": j}
            densities.append(_frame(cell, "histogram", "data", edges[:-1], heights))
            own = fit.means[k, j], np.sqrt(fit.covariances[k, j, j])
            for run, mixtures in distributions.items():
                name = "fit" if run is None else run.mechanism
                mean, deviation = mixtures.means[:, k, j], np.sqrt(mixtures.covariances[:, k, j, j])
                if run is None:
                    densities.append(_frame(cell, name, "fit", grid, normal_density(grid, mean, deviation)[0]))
                elif run.of(SHOWN):
                    curves = normal_density(grid, mean, deviation)
                    densities.append(_frame(cell, name, "draw", grid, curves[0]))
                    densities.append(_frame(cell, name, "mean", grid, curves.mean(axis=0)))
                to_histogram = tv_to_histogram(mean, deviation, heights, edges)
                kl = kl_of_normals(mean, deviation, *own)
                row = {
                    **cell,
                    "record_count": len(members),
                    "curve": name,
                    "family": "none" if run is None else run.family,
                    "tv_histogram_mean": to_histogram.mean(),
                    "tv_histogram_se": to_histogram.std(ddof=1) / np.sqrt(len(kl)) if len(kl) > 1 else None,
                    "tv_fit_mean": tv_of_normals(mean, deviation, *own).mean(),
                    "kl_fit_mean": kl.mean(),
                    "kl_fit_median": np.median(kl),
                    "trials": len(kl),
                }
                of = (r.name for r in VARIANTS if run is None or run.of(r))
                distances += [{"reading": variant, **row} for variant in of]
    return pd.concat(densities).assign(**source), pd.DataFrame(distances)


def _frame(cell: Mapping, curve: str, kind: str, value: np.ndarray, density: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({**cell, "curve": curve, "kind": kind, "value": value, "density": density})


CONVERGENCE_TRIALS = 100
RECORD_COUNTS = (32, 64, 128)
CLASS_COUNTS = (2, 3, 5, 8)
CLASS_SWEEP_RECORDS = 64
OWN_RECORD_COUNTS = (1000, 4000, 16000, 64000)
WORK_SETS = 3  # data sets per size, at most


def convergence(trials: int, eigenvalue_floor: float, seed: int) -> pd.DataFrame:
    """Return the columns of ``liu_convergence``: Algorithm 1 on the first data sets of Fig. 1, at most a hundred."""
    rows = []
    for trial in range(min(trials, CONVERGENCE_TRIALS)):
        stream = StudyNoise(seed, "reproduce liu", "fig1", "data", "every", trial)
        private, _ = draw_data_set(Setting(), stream, eigenvalue_floor)
        for epsilon in EPSILONS:
            design = KlPublished.calibrate(public_settings(private, epsilon, eigenvalue_floor)).design(private)
            steps = np.diff(design.objectives)
            rows.append(
                {
                    "trial": trial,
                    "epsilon": epsilon,
                    "pass_count": len(design.objectives),
                    "objective_first": design.objectives[0],
                    "objective_last": design.objectives[-1],
                    "largest_rise": steps.max(initial=0.0),
                    "epsilon_0_share": design.epsilon_0 / epsilon,
                }
            )
    return pd.DataFrame(rows)


def printed_constraints(private: LabelledRecords, component: int) -> np.ndarray:
    """Return the vectors (M, d) of (19) for one class as printed, one per record and class k' it may move to.

    A member's change is the same for all k', so its constraint is there K - 1 times; a record of another class
    changes this one by moving to it.
    """
    points = private.differences[component]
    member = private.labels[np.bincount(private.labels)[private.labels] > 1] == component + 1
    return np.repeat(points, np.where(member, private.fit.mixture.classes - 1, 1), axis=0)


def solve_printed(points: np.ndarray, covariance: np.ndarray) -> tuple[float, int, int]:
    """Solve (23) at right-hand side one by Clarabel: min tr(Sigma^-1 M) with one matrix inequality per vector.

    From difference vectors (M, d) and Sigma_k (d, d); returns the smallest trace, Clarabel's iterations, and the
    unknowns of the linear system it factorises at each: entries of the matrix and of all slacks. Vectors are whitened
    and scaled first: in raw units the solver returns infeasible answers. An ArithmeticError says that it ends without
    a solution.
    """
    m, d = points.shape
    z = np.linalg.solve(np.linalg.cholesky(covariance), points.T).T
    length = np.linalg.norm(z, axis=1).max()
    # Unknowns are the upper triangle of M, column by column, and so are the entries of each [[1, v'], [v, M]]; those
    # off the diagonal times sqrt(2).
    column, row = np.tril_indices(d)
    outer_column, outer_row = np.tril_indices(d + 1)
    weight = np.where(outer_row == outer_column, 1.0, np.sqrt(2))
    from_matrix = outer_row > 0
    block = np.zeros((len(weight), len(row)))
    block[from_matrix] = -np.diag(weight[from_matrix])
    bordered = np.column_stack([np.ones(m), z / length])[:, outer_column]
    right = np.where(from_matrix, 0.0, weight * bordered)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix((len(row), len(row))),
        (row == column).astype(float),
        sparse.kron(np.ones((m, 1)), block, format="csc"),
        right.ravel(),
        [clarabel.PSDTriangleConeT(d + 1)] * m,
        settings,
    ).solve()
    if str(solution.status) not in ("Solved", "AlmostSolved"):
        raise ArithmeticError(f"Clarabel ends with {solution.status} on {m} constraints in {d} dimensions")
    return solution.obj_val * length**2, solution.iterations, len(row) + m * len(weight)


def _data_set(records: int, classes: int, eigenvalue_floor: float, seed: int, trial: int = 0) -> LabelledRecords:
    stream = StudyNoise(seed, "reproduce liu", "sdp work", records, classes, trial)
    return draw_data_set(Setting(classes=classes, records=records), stream, eigenvalue_floor)[0]


def _interior_point(private: LabelledRecords) -> dict[str, float]:
    solved = [
        solve_printed(printed_constraints(private, k), covariance)[1:]
        for k, covariance in enumerate(private.fit.mixture.covariances)
    ]
    return {
        "iteration_count": np.mean([iterations for iterations, _ in solved]),
        "largest_size": max(size for _, size in solved),
        "work": sum(iterations * float(size) ** 3 for iterations, size in solved),
    }


def _own(private: LabelledRecords) -> dict[str, float]:
    counted, largest, d = Counter(), 0, private.x.shape[1]
    for root, vectors in zip(np.linalg.cholesky(private.fit.mixture.covariances), private.differences, strict=True):
        work: Counter = Counter()
        sdp.solve(np.linalg.solve(root, vectors.T).T, work=work)
        counted += work
        largest = max(largest, len(vectors))
    # A price is a product of a point with a matrix; of the Newton steps of a round, whose number does not grow, one.
    return {
        "iteration_count": np.nan,
        "largest_size": largest,
        "work": float(counted["priced"] * d**2 + counted["solved"] * (d * (d + 1) // 2) ** 2),
    }


def sdp_work(trials: int, eigenvalue_floor: float, seed: int) -> pd.DataFrame:
    """Return the columns of ``liu_sdp_work``: what (23) costs for all classes of a data set, d = 3, by its size.

    Work with an interior-point solver is the number of iterations times the cube of the size of the linear system,
    a dense factorisation as Remark 2 counts it; Clarabel itself uses sparsity and needs less. ``WORK_SETS`` data sets
    per size are used, or as many as ``trials`` where these are fewer.
    """
    default = Setting().classes
    cases = [
        *(("interior_point", _interior_point, "records", n, default) for n in RECORD_COUNTS),
        *(("interior_point", _interior_point, "classes", CLASS_SWEEP_RECORDS, k) for k in CLASS_COUNTS),
        *(("own", _own, "records", n, default) for n in OWN_RECORD_COUNTS),
    ]
    rows = []
    for solver, run, varied, records, classes in cases:
        for trial in range(min(trials, WORK_SETS)):
            private = _data_set(records, classes, eigenvalue_floor, seed, trial)
            sizes = {"trial": trial, "record_count": records, "class_count": classes}
            rows.append({"solver": solver, "varied": varied, **sizes, **run(private)})
    return pd.DataFrame(rows)
