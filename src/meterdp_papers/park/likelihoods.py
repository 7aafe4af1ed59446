"""Figs 2 and 3 of Park et al.: test log-likelihood of private mixtures against epsilon, over ten splits.

Every line of a split has the same records, the same public start and the same random numbers. The log-likelihood is
that of records in the unit ball. Our own release stands beside theirs and takes no part in a verdict on the paper.
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
from meterdp.mechanisms.dpem.mechanism import EmSettings, fit, start_mixture
from meterdp.mechanisms.proven.mechanism import fit_ball
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import class_sums
from meterdp_papers.park import tables as park
from meterdp_papers.park.data import LARGEST_NORM, PUBLIC_RADIUS, Records

_SAME = 1e-6  # relative difference of two budgets of a step below which the run is the same


@dataclass(frozen=True)
class Split:
    """Records (N, d) of one split in the unit ball, and what their log-densities are raised by to be comparable."""

    train: np.ndarray
    test: np.ndarray
    log_unit: float = 0.0


def fold(n: int, figure: str, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (N_train,) and (N_test,) of a fold; every ten folds partition the records, in another order."""
    ten, number = divmod(number, park.SPLITS)
    order = np.argsort(fixed_uniforms(f"reproduce park, {figure}, folds{f', {ten}' * (ten > 0)}", (n,)))
    test = order[number * n // park.SPLITS : (number + 1) * n // park.SPLITS]
    return np.setdiff1d(order, test), np.sort(test)


def split(records: Records, figure: str, number: int, scaling: str = LARGEST_NORM) -> Split:
    """Return one split in the unit ball."""
    train, test = fold(len(records.x), figure, number)
    x = records.in_unit_ball(scaling)
    # p(x) in the unit of the largest norm: a density changes with the d-th power of the unit.
    log_unit = 0.0 if scaling == LARGEST_NORM else x.shape[1] * np.log(records.largest_norm / records.public_radius)
    return Split(x[train], x[test], float(log_unit))


def budget(line: park.Line, sequence: Sequence, epsilon: float) -> tuple[float, bool] | None:
    """Return eps_i of a line, and whether the deltas of the steps had to be left out of delta to have one.

    For linear and advanced composition the deltas of all steps add up, in Fig. 2 to more than the printed delta
    (defect P4). None where the largest order of the moments accountant allows no budget.
    """
    curve = CURVES[line.composition]
    try:
        step = curve.calibrated(sequence, epsilon, park.DELTA)
    except Infeasible:
        if line.composition not in ("linear", "advanced"):
            return None
        return curve.calibrated(sequence, epsilon, park.DELTA + sequence.gaussian * sequence.step_delta), True
    return (on_grid(step) if line.on_grid else step), False


def on_grid(step_epsilon: float) -> float:
    """Return the largest point of the public code's grid that is at most this."""
    first, width, last = park.EPSILON_GRID
    return first + width * np.floor((min(step_epsilon, last) - first) / width)


def settings_of(line: park.Line, free: EmSettings, classes: int) -> EmSettings:
    """Return the settings of a line, all except its eps_i."""
    found = replace(free, scheme=line.scheme)
    if not line.own_delta:
        return found
    return replace(found, step_delta=park.DELTA * (1 - _SAME) / found.sequence(classes).gaussian)


def run_split(figure: str, records: Records, number: int, trials: int, seed: int) -> pd.DataFrame:
    """Run every line of one split of fig2 or fig3: columns of ``park_likelihoods``.

    Of a variant with more than ten splits the job does this one and every tenth after it. With fewer than ten
    ``trials`` the drawn variant alone is run, at few epsilons.
    """
    experiment = park.EXPERIMENTS[figure]
    runs = experiment.runs if trials >= park.SPLITS else [replace(experiment.runs[0], epsilons=park.FEW_EPSILONS)]
    asked = [(run, split) for run in runs for split in range(number, run.splits, park.SPLITS)]
    rows = []
    for run, at in progress(asked, f"{figure}, variants and splits"):
        for found in _run(figure, experiment, run, records, at, seed):
            rows.append({"figure": figure, "reading": run.variant.name, "split": at, **found})
    return pd.DataFrame(rows).astype({"step_epsilon": float, "log_likelihood": float})


def _run(
    figure: str, experiment: park.Experiment, run: park.Run, records: Records, number: int, seed: int
) -> Iterator[dict[str, object]]:
    variant, shown = run.variant, run.variant == park.SHOWN
    data = split(records, figure, number)
    shape = experiment.classes, data.train.shape[1]
    start = start_mixture(fixed_normals(f"reproduce park, {figure}, start {number}", shape))
    free = EmSettings(
        experiment.iterations,
        "GGG",
        variant.estimate,
        step_delta=experiment.step_delta,
        eigenvalue_floor=variant.eigenvalue_floor,
        divisor=variant.divisor,
        centre=variant.centre,
        dtype=experiment.dtype,
    )

    def noise(name: str) -> StudyNoise:
        return StudyNoise(seed, "reproduce park", figure, name, number)

    def fitted(line: park.Line, step_epsilon: float, on: Split = data) -> float:
        settings = replace(settings_of(line, free, start.classes), step_epsilon=step_epsilon)
        return _mean_log_density(on, fit(on.train, start, settings, noise(line.scheme)))

    without = _mean_log_density(data, fit(data.train, start, free, noise(park.EM)))
    public = split(records, figure, number, PUBLIC_RADIUS)
    for epsilon in run.epsilons:
        yield _row(park.EM, None, None, epsilon, None, False, without)
        before: dict[str, tuple[float, float]] = {}  # of each scheme, its last budget and result
        for line in park.LINES if shown else [line for line in park.LINES if not line.of_shown]:
            has = budget(line, settings_of(line, free, start.classes).sequence(start.classes), epsilon)
            if has is None:
                continue
            step_epsilon, left_out = has
            known = [found for at, found in before.values() if abs(at / step_epsilon - 1) < _SAME]
            alike = line.scheme == "GGG" and not line.own_delta
            found = known[0] if known and alike else fitted(line, step_epsilon)
            if alike:
                before[line.name] = step_epsilon, found
            yield _row(line.name, line.scheme, line.composition, epsilon, step_epsilon, left_out, found)
            if line.name == park.ZCDP and shown and experiment.public_radius:
                found = fitted(line, step_epsilon, public)
                yield _row(park.PUBLIC_ZCDP, line.scheme, line.composition, epsilon, step_epsilon, left_out, found)
        if shown:
            ours = fit_ball(data.train, experiment.classes, epsilon, park.DELTA, noise(park.OURS), radius=1.0).mixture
            yield _row(park.OURS, None, None, epsilon, None, False, _mean_log_density(data, ours))


def _row(*values) -> dict[str, object]:
    names = ("line", "scheme", "composition", "epsilon", "step_epsilon", "deltas_left_out", "log_likelihood")
    return dict(zip(names, values, strict=True))


def _mean_log_density(data: Split, mixture: Mixture) -> float:
    return class_sums(data.test, mixture).log_likelihood / len(data.test) - data.log_unit


def summarise(parts: pd.DataFrame, source: dict[str, str | None]) -> pd.DataFrame:
    """Return the columns of ``park_curve`` from all splits of one figure."""
    keys = ["reading", "epsilon", "split"]
    against = parts[parts["line"] == park.ZCDP].set_index(keys)["log_likelihood"]
    free = parts[parts["line"] == park.EM].set_index(keys)["log_likelihood"]
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


def compare(parts: pd.DataFrame, source: dict[str, str | None]) -> pd.DataFrame:
    """Return ``park_ours``: ``sound`` against zCDP GGG in the same splits, at the same epsilon and at twice as much.

    ``parts`` are all splits of one figure (``park_likelihoods``); ``sound`` depends on no variant. One row per
    variant and epsilon; where no run has twice the epsilon, the next larger one is taken, and null at the largest.
    """
    values = {
        line: parts[parts["line"] == line].set_index(["reading", "epsilon", "split"])["log_likelihood"].sort_index()
        for line in (park.OURS, park.ZCDP, park.EM)
    }
    ours = values[park.OURS].droplevel("reading")
    rows = []
    for variant, at in values[park.ZCDP].groupby("reading", sort=False):
        known = sorted(at.index.unique("epsilon"))
        for epsilon in known:
            theirs, own = at.loc[variant, epsilon].align(ours.loc[epsilon], join="inner")
            larger = next((e for e in known if e >= 2 * epsilon), None)
            more = None if larger is None else own - at.loc[variant, larger].reindex(theirs.index)
            rows.append(
                {
                    "figure": parts["figure"].iloc[0],
                    "reading": variant,
                    "epsilon": epsilon,
                    "ours_mean": own.mean(),
                    "ggg_mean": theirs.mean(),
                    "ggg_shortfall_mean": (
                        values[park.EM].loc[variant, epsilon].reindex(theirs.index) - theirs
                    ).mean(),
                    **_difference("difference", own - theirs),
                    "larger_epsilon": larger,
                    **_difference("larger_difference", more),
                    "trials": len(own),
                    **source,
                }
            )
    return pd.DataFrame(rows)


def _difference(name: str, values: pd.Series | None) -> dict[str, float | None]:
    """Return the mean and its standard error."""
    if values is None:
        return {f"{name}_mean": None, f"{name}_se": None}
    return {f"{name}_mean": values.mean(), f"{name}_se": values.sem() if len(values) > 1 else None}
