"""Figs 1 and 2 of Ramakrishna et al. (section VI-A): four 2-D classes, their noise and their exact privacy curves.

Means lie on a line, covariances are Wishart(I, 2), everybody is everybody's neighbour. The paper prints neither the
spacing of the means nor rho nor epsilon: they are ours. It shows one set; here trial 0 is shown, and the comparison
is made over many sets. Whether rho counts in total or per entry needs no runs of its own: per entry, rho is another
name for the next one, twice as large.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from meterdp.class_noise.curves import curve_rows
from meterdp.class_noise.designs.registry import noise_design
from meterdp.class_noise.query_models import Budget, ClassQueries
from meterdp.core.job import progress
from meterdp.core.noise import StudyNoise
from meterdp.privacy.noise import NoiseSource
from meterdp_papers.ramakrishna import tables as ram

DATA = "synthetic: four Gaussian classes in two dimensions, a fresh set in every trial"


def draw_set(noise: NoiseSource) -> ClassQueries:
    """Draw the four classes of one trial.

    Means SPACING apart on a line of random direction, covariances Wishart(I, 2), all 12 ordered pairs.
    """
    angle = 2 * np.pi * float(noise.uniform((1,))[0])
    means = ram.SPACING * np.arange(ram.LABELS)[:, None] * np.array([np.cos(angle), np.sin(angle)])
    columns = noise.normal((ram.LABELS, ram.ENTRIES, ram.FREEDOM))
    return ClassQueries(means, columns @ np.swapaxes(columns, 1, 2), np.argwhere(~np.eye(ram.LABELS, dtype=bool)))


def trial_set(trial: int, seed: int) -> ClassQueries:
    """Return the set of a trial; the same in every job."""
    return draw_set(StudyNoise(seed, "reproduce ramakrishna", "classes", trial))


def set_columns(queries: ClassQueries) -> dict:
    """Return the columns of table ``ramakrishna_classes`` (Fig. 1), one row per class."""
    return {
        "label": np.arange(1, len(queries.mean_log_kwh) + 1, dtype=np.int32),
        "mean": list(queries.mean_log_kwh),
        "covariance": [c.ravel() for c in queries.covariance],
        "data": [DATA] * ram.LABELS,
    }


def run_trials(sets: Iterable[int], seed: int, trials: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Run every design on sets, each at the rhos it is for: ``ramakrishna_trials`` and ``ramakrishna_descents``.

    ``trials`` are those of the study. Our own designs run in the first OUR_SETS only, at SHOWN_RHOS.
    """
    curves, descents = [], []
    for trial in progress(list(sets), "synthetic classes"):
        queries = trial_set(trial, seed)
        for rho in (rho for rho in ram.RHOS if trial < ram.sets_of(rho, trials)):
            ours = ram.OUR_DESIGNS if trial < ram.OUR_SETS and rho in ram.SHOWN_RHOS else ()
            for name in ram.PAPERS_DESIGNS + ours:
                noise = noise_design(name)(queries, Budget(rho, ram.CONVENTION))
                found = curve_rows(
                    noise.released(queries), np.array(ram.EPSILONS), design=name, query_model=ram.QUERY_MODEL, rho=rho
                )
                curves += [{"trial": trial, "accuracy_convention": ram.CONVENTION, **row} for row in found]
                if name == "published":
                    descents.append(
                        descent_row("synthetic", trial, ram.QUERY_MODEL, ram.CONVENTION, rho, noise.report)
                    )
    return pd.DataFrame(curves), pd.DataFrame(descents)


_REPORTED = ("iteration_count", "halved_step_count", "stop_reason")
_REPORTED += tuple(f"surrogate_{where}" for where in ("white", "descended", "released"))


def descent_row(source: str, trial: int, query_model: str, convention: str, rho: float, report) -> dict:
    """Return one row of table ``ramakrishna_descents`` from the report of Algorithm 1."""
    return {
        "source": source,
        "trial": trial,
        "query_model": query_model,
        "accuracy_convention": convention,
        "rho": float(rho),
        **{name: getattr(report, name) for name in _REPORTED},
    }


def summarise(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of table ``ramakrishna_fig2``: the shown set, and means over all sets.

    ``excess`` is the delta less that of white noise on the same set; its standard error is that of the paired
    difference.
    """
    keys = ["accuracy_convention", "rho", "sides", "epsilon"]
    white = trials[trials["design"] == "white"].set_index([*keys, "trial"])["delta"].rename("white")
    joined = trials.join(white, on=[*keys, "trial"])
    joined["excess"] = joined["delta"] - joined["white"]
    shown = joined[joined["trial"] == 0].set_index(["design", *keys])["delta"].rename("delta_shown")
    grouped = joined.groupby(["design", *keys])
    table = grouped.agg(
        delta_mean=("delta", "mean"),
        delta_se=("delta", "sem"),
        excess_mean=("excess", "mean"),
        excess_se=("excess", "sem"),
        below_white_share=("excess", lambda e: float((e < 0).mean())),
        trials=("trial", "nunique"),
    )
    table = table.join(shown).reset_index().merge(_steps(joined), how="left")
    table["data"] = DATA
    return table


def _steps(joined: pd.DataFrame) -> pd.DataFrame:
    """Return how the improvement over white noise, averaged over epsilon, moves from each rho to the next."""
    keys = ["design", "accuracy_convention", "sides"]
    wide = joined.pivot_table("excess", [*keys, "trial"], "rho")
    steps = -wide.diff(axis=1)
    found = {"step_mean": steps.groupby(keys).mean(), "step_se": steps.groupby(keys).sem()}
    long = [of.reset_index().melt(keys, var_name="rho", value_name=name) for name, of in found.items()]
    return long[0].merge(long[1]).astype({"rho": float})
