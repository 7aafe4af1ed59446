"""Figs 2 and 3 of Park et al.: test log-likelihood of private mixtures against epsilon, over ten splits.

Every line of a split has the same records, the same public start and the same random numbers. The log-likelihood is
that of records in the unit ball. Our own release stands beside theirs and takes no part in a verdict on the paper.

Fig. 1 of Park et al.: what the mean of a class says about the one person in it.

The paper simulates 104 people from rates it does not print; all rates here are invented, and so is every person. A
class is a marital status, so responsibilities are known and EM is done after one iteration. Longitude and latitude
are divided by the largest norm, as footnote 4 says, and released by scenario GGG in one iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from meterdp.accounting.registry import CURVES
from meterdp.accounting.sequence import Infeasible, Sequence
from meterdp.core.job import progress
from meterdp.core.noise import StudyNoise, fixed_normals, fixed_uniforms
from meterdp.mechanisms.dpem.mechanism import EmSettings, MixtureModel, Perturbation, fit, start_mixture
from meterdp.mechanisms.sound.mechanism import fit_ball
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import ClassSums, class_sums
from meterdp.privacy.noise import GaussianSource, NoiseSource
from meterdp_papers.park.data import LARGEST_NORM, PUBLIC_RADIUS, Records
from meterdp_papers.park.setting import (
    CAPTIONS,
    DELTA,
    EM,
    EXPERIMENTS,
    FEW_EPSILONS,
    LINES,
    LONE_CLASS,
    OURS,
    PUBLIC_ZCDP,
    SHOWN,
    SPLITS,
    ZCDP,
    Experiment,
    Line,
    Run,
)

_SAME = 1e-6  # relative difference of two budgets of a step below which the run is the same


@dataclass(frozen=True)
class Split:
    """Records (N, d) of one split in the unit ball, and what their log-densities are raised by to be comparable."""

    train: np.ndarray
    test: np.ndarray
    log_unit: float = 0.0


def fold(n: int, figure: str, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (N_train,) and (N_test,) of one of ten folds; the folds partition the records."""
    order = np.argsort(fixed_uniforms(f"reproduce park, {figure}, folds", (n,)))
    test = order[number * n // SPLITS : (number + 1) * n // SPLITS]
    return np.setdiff1d(order, test), np.sort(test)


def split(records: Records, figure: str, number: int, scaling: str = LARGEST_NORM) -> Split:
    """Return one split in the unit ball."""
    train, test = fold(len(records.x), figure, number)
    x = records.in_unit_ball(scaling)
    # p(x) in the unit of the largest norm: a density changes with the d-th power of the unit.
    log_unit = 0.0 if scaling == LARGEST_NORM else x.shape[1] * np.log(records.largest_norm / records.public_radius)
    return Split(x[train], x[test], float(log_unit))


def budget(line: Line, sequence: Sequence, epsilon: float) -> tuple[float, bool]:
    """Return eps_i of a line, and whether the deltas of the steps had to be left out of delta to have one.

    For linear and advanced composition the deltas of all steps add up, in Fig. 2 to more than the printed delta
    (defect P4).
    """
    curve = CURVES[line.composition]
    try:
        return curve.calibrated(sequence, epsilon, DELTA), False
    except Infeasible:
        return curve.calibrated(sequence, epsilon, DELTA + sequence.gaussian * sequence.step_delta), True


def run_split(figure: str, records: Records, number: int, trials: int, seed: int) -> pd.DataFrame:
    """Run every line of one split of fig2 or fig3: columns of ``park_likelihoods``.

    With fewer than ten ``trials`` the drawn reading alone is run, at few epsilons.
    """
    experiment = EXPERIMENTS[figure]
    runs = [run for run in experiment.runs if number < run.splits]
    if trials < SPLITS:
        runs = [replace(experiment.runs[0], epsilons=FEW_EPSILONS)]
    rows = []
    for run in progress(runs, f"{figure}, readings"):
        for found in _run(figure, experiment, run, records, number, seed):
            rows.append({"figure": figure, "reading": run.reading.name, "split": number, **found})
    return pd.DataFrame(rows).astype({"step_epsilon": float, "log_likelihood": float})


def _run(
    figure: str, experiment: Experiment, run: Run, records: Records, number: int, seed: int
) -> Iterator[dict[str, object]]:
    reading, shown = run.reading, run.reading == SHOWN
    data = split(records, figure, number)
    shape = experiment.classes, data.train.shape[1]
    start = start_mixture(fixed_normals(f"reproduce park, {figure}, start {number}", shape))
    free = EmSettings(
        experiment.iterations,
        "GGG",
        reading.estimate,
        step_delta=experiment.step_delta,
        eigenvalue_floor=reading.eigenvalue_floor,
        divisor=reading.divisor,
        centre=reading.centre,
        dtype=experiment.dtype,
    )

    def noise(name: str) -> StudyNoise:
        return StudyNoise(seed, "reproduce park", figure, name, number)

    def fitted(line: Line, step_epsilon: float, on: Split = data) -> float:
        settings = replace(free, scheme=line.scheme, step_epsilon=step_epsilon)
        return _mean_log_density(on, fit(on.train, start, settings, noise(line.scheme)))

    without = _mean_log_density(data, fit(data.train, start, free, noise(EM)))
    public = split(records, figure, number, PUBLIC_RADIUS)
    for epsilon in run.epsilons:
        yield _row(EM, None, None, epsilon, None, False, without)
        before: dict[str, tuple[float, float]] = {}  # of each scheme, its last budget and result
        for line in LINES:
            step_epsilon, left_out = budget(line, replace(free, scheme=line.scheme).sequence(start.classes), epsilon)
            known = [found for at, found in before.values() if abs(at / step_epsilon - 1) < _SAME]
            found = known[0] if known and line.scheme == "GGG" else fitted(line, step_epsilon)
            if line.scheme == "GGG":
                before[line.name] = step_epsilon, found
            yield _row(line.name, line.scheme, line.composition, epsilon, step_epsilon, left_out, found)
            if line.name == ZCDP and shown and experiment.public_radius:
                found = fitted(line, step_epsilon, public)
                yield _row(PUBLIC_ZCDP, line.scheme, line.composition, epsilon, step_epsilon, left_out, found)
        if shown:
            ours = fit_ours(data.train, experiment.classes, epsilon, DELTA, noise(OURS))
            yield _row(OURS, None, None, epsilon, None, False, _mean_log_density(data, ours))


def _row(*values) -> dict[str, object]:
    names = ("line", "scheme", "composition", "epsilon", "step_epsilon", "deltas_left_out", "log_likelihood")
    return dict(zip(names, values, strict=True))


def _mean_log_density(data: Split, mixture: Mixture) -> float:
    return class_sums(data.test, mixture).log_likelihood / len(data.test) - data.log_unit


def summarise(parts: pd.DataFrame, source: dict[str, str | None]) -> pd.DataFrame:
    """Return the columns of ``park_curve`` from all splits of one figure."""
    keys = ["reading", "epsilon", "split"]
    against = parts[parts["line"] == ZCDP].set_index(keys)["log_likelihood"]
    free = parts[parts["line"] == EM].set_index(keys)["log_likelihood"]
    index = pd.MultiIndex.from_frame(parts[keys])
    parts = parts.assign(
        excess=parts["log_likelihood"].to_numpy() - against.loc[index].to_numpy(),
        shortfall=free.loc[index].to_numpy() - parts["log_likelihood"].to_numpy(),
    )
    groups = parts.groupby(
        ["figure", "reading", "line", "scheme", "composition", "epsilon"], sort=False, dropna=False
    )
    table = groups.agg(
        step_epsilon=("step_epsilon", "first"),
        deltas_left_out=("deltas_left_out", "any"),
        **_moments("log_likelihood"),
        **_moments("excess"),
        **_moments("shortfall"),
        trials=("split", "size"),
    ).reset_index()
    return table.assign(**source)


def _moments(name: str) -> dict[str, tuple]:
    return {f"{name}_mean": (name, "mean"), f"{name}_se": (name, "sem")}


def fit_ours(x: np.ndarray, classes: int, epsilon: float, delta: float, noise: GaussianSource) -> Mixture:
    """Return the mixture that ``sound`` releases from records (N, d) in the unit ball."""
    return fit_ball(x, classes, epsilon, delta, noise, radius=1.0).mixture


def compare(parts: pd.DataFrame, source: dict[str, str | None]) -> pd.DataFrame:
    """Return ``park_ours``: ``sound`` against zCDP GGG in the same splits, at the same epsilon and at twice as much.

    ``parts`` are all splits of one figure (``park_likelihoods``); ``sound`` depends on no reading. One row per
    reading and epsilon; where no run has twice the epsilon, the next larger one is taken, and null at the largest.
    """
    values = {
        line: parts[parts["line"] == line].set_index(["reading", "epsilon", "split"])["log_likelihood"].sort_index()
        for line in (OURS, ZCDP, EM)
    }
    ours = values[OURS].droplevel("reading")
    rows = []
    for reading, at in values[ZCDP].groupby("reading", sort=False):
        known = sorted(at.index.unique("epsilon"))
        for epsilon in known:
            theirs = at.loc[reading, epsilon]
            own = ours.loc[epsilon].reindex(theirs.index)
            larger = next((e for e in known if e >= 2 * epsilon), None)
            more = None if larger is None else own - at.loc[reading, larger].reindex(theirs.index)
            rows.append(
                {
                    "figure": parts["figure"].iloc[0],
                    "reading": reading,
                    "epsilon": epsilon,
                    "ours_mean": own.mean(),
                    "ggg_mean": theirs.mean(),
                    "ggg_shortfall_mean": (values[EM].loc[reading, epsilon].reindex(theirs.index) - theirs).mean(),
                    **_difference("difference", own - theirs),
                    "larger_epsilon": larger,
                    **_difference("larger_difference", more),
                    "trials": len(theirs),
                    **source,
                }
            )
    return pd.DataFrame(rows)


def _difference(name: str, values: pd.Series | None) -> dict[str, float | None]:
    """Return the mean and its standard error."""
    if values is None:
        return {f"{name}_mean": None, f"{name}_se": None}
    return {f"{name}_mean": values.mean(), f"{name}_se": values.sem() if len(values) > 1 else None}


STATUSES = ("single", "married", "widowed", "divorced")
MARRIED = STATUSES.index("married")
PEOPLE = 104
TIMES = (1, 50)
MARITAL_EPSILONS = (1.0, 4.0)  # the paper does not print its value
STEP_DELTA = 1e-6
SOURCE = {
    "data": f"simulated people, {PEOPLE} and {TIMES[1]} times as many, invented rates",
    "substitute": "stands for simulations from official rates that are not printed",
}

# Invented. Longitude, latitude and share of the people of each state; most live where the rates are from.
_STATES = {
    "Baden-Württemberg": (9.0, 48.5, 0.76),
    "Bavaria": (11.4, 48.9, 0.08),
    "Rhineland-Palatinate": (7.4, 49.9, 0.06),
    "Hesse": (9.0, 50.6, 0.05),
    "Saarland": (6.9, 49.4, 0.02),
    "Berlin": (13.4, 52.5, 0.02),
    "Lower Saxony": (9.5, 52.7, 0.01),
}
LONE_STATE_AT = (7.6, 51.5)  # North Rhine-Westphalia
_SPREAD_DEGREES = 0.45
# People per status under each reading of the caption.
_COUNTS = {LONE_CLASS: (79, 1, 6, 18), CAPTIONS[1]: (52, 34, 4, 14)}
_KM_PER_DEGREE = 111.2


@dataclass(frozen=True)
class People:
    """Invented people."""

    place: np.ndarray  # (N, 2), longitude and latitude in degrees
    status: np.ndarray  # (N,), index into `STATUSES`
    lone: int  # row of a married person from the lone state; the only one unless there are more times as many people


def people(caption: str, times: int) -> People:
    """Invent ``times`` as many people as the paper simulates, under one reading of the caption of Fig. 1."""
    purpose = f"reproduce park, fig1, {caption}, {times} times"
    counts = np.array(_COUNTS[caption]) * times
    status = np.repeat(np.arange(len(STATUSES)), counts)
    places = np.array(list(_STATES.values()))
    shares = np.cumsum(places[:, 2] / places[:, 2].sum())
    state = np.searchsorted(shares[:-1], fixed_uniforms(f"{purpose}, state", (len(status),)), side="right")
    centre = places[state, :2]
    first = int(counts[:MARRIED].sum())
    centre[first : first + times] = LONE_STATE_AT
    return People(centre + _SPREAD_DEGREES * fixed_normals(f"{purpose}, place", (len(status), 2)), status, first)


def class_sums_of(x: np.ndarray, status: np.ndarray) -> ClassSums:
    """Return the sums of (12) where the class of every record is known."""
    member = (status[:, None] == np.arange(len(STATUSES))).astype(float)
    return ClassSums(member.sum(axis=0), member.T @ x, np.einsum("nk,ni,nj->kij", member, x, x), float("nan"))


def released(found: People, epsilon: float, noise: NoiseSource) -> Mixture:
    """Return means and covariances in degrees after one iteration; no noise where epsilon is infinite."""
    radius = np.linalg.norm(found.place, axis=1).max()
    settings = EmSettings(1, "GGG", "mle", step_delta=STEP_DELTA, eigenvalue_floor=1e-9)
    if np.isfinite(epsilon):
        step = CURVES["zcdp"].calibrated(settings.sequence(len(STATUSES)), epsilon, DELTA)
        settings = replace(settings, step_epsilon=step, eigenvalue_floor=SHOWN.eigenvalue_floor)
    perturbation = Perturbation(noise, settings.step_epsilon, settings.step_delta)
    sums = class_sums_of(found.place / radius, found.status)
    mixture = MixtureModel(len(found.place), settings).perturbed(sums, perturbation).mixture
    return Mixture(mixture.weights, mixture.means * radius, mixture.covariances * radius**2)


def kilometres(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return distances (...) in a plane tangent at the mean latitude, of longitude and latitude (..., 2)."""
    step = a - b
    return _KM_PER_DEGREE * np.hypot(step[..., 0] * np.cos(np.radians(50.0)), step[..., 1])


def tabulate(trials: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the columns of ``park_map`` (Fig. 1) and ``park_distances``; ``trials`` are releases per setting."""
    shown, distances = [], []
    for caption in CAPTIONS:
        for times in TIMES:
            found = people(caption, times)
            free = released(found, np.inf, StudyNoise(seed, "reproduce park", "fig1", "none"))
            of = {"caption": caption, "times": times}
            shown.append(_places(found, times, free).assign(**of))
            for epsilon in MARITAL_EPSILONS:
                noise = StudyNoise(seed, "reproduce park", "fig1", caption, times, repr(epsilon))
                drawn = [released(found, epsilon, noise) for _ in range(trials)]
                shown.append(_ellipses("released", epsilon, drawn[0]).assign(**of))
                means = np.stack([one.means for one in drawn])
                distances.append(_distances(epsilon, found, free, means).assign(**of))
    return pd.concat(shown).assign(**SOURCE), pd.concat(distances).assign(**SOURCE)


def _places(found: People, times: int, free: Mixture) -> pd.DataFrame:
    shown = slice(None, None, times)  # as many dots in either panel
    kind = np.where(np.arange(len(found.place)) == found.lone, "lone person", "person")[shown]
    dots = pd.DataFrame(
        {
            "kind": kind,
            "status": np.array(STATUSES)[found.status[shown]],
            "longitude": found.place[shown, 0],
            "latitude": found.place[shown, 1],
        }
    )
    return pd.concat([dots, _ellipses("em", np.nan, free)])


def _ellipses(kind: str, epsilon: float, mixture: Mixture) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "kind": kind,
            "epsilon": epsilon,
            "status": STATUSES,
            "longitude": mixture.means[:, 0],
            "latitude": mixture.means[:, 1],
            "covariance": [c.ravel() for c in mixture.covariances],
        }
    )


def _distances(epsilon: float, found: People, free: Mixture, means: np.ndarray) -> pd.DataFrame:
    from_em = kilometres(means, free.means)
    person = found.place[found.lone]
    return pd.DataFrame(
        {
            "epsilon": epsilon,
            "status": STATUSES,
            "person_count": np.bincount(found.status, minlength=len(STATUSES)),
            "em_to_lone_km": kilometres(free.means, person),
            "released_to_lone_median_km": np.median(kilometres(means, person), axis=0),
            "released_to_em_median_km": np.median(from_em, axis=0),
            "released_to_em_mean_km": from_em.mean(axis=0),
            "released_to_em_se_km": from_em.std(axis=0, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.nan,
            "trials": len(means),
        }
    )
