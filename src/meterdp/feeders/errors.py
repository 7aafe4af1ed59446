"""What feeder totals cost: their errors against feeder size and epsilon, beside what a layman would do.

A layman clips every reading to a public bound and adds Laplace or Gaussian noise to every total. To hide all readings
of a household it has to grow with their number (``laplace``, ``gaussian``); tools that protect a value at a time add
noise as if a household had one reading (``laplace_one_reading``), which is another promise. Beside them stands the
number of households times the mean profile of all, without noise: what knowing nothing of a feeder costs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meterdp.core.progress import progress
from meterdp.feeders.mechanism import FeederRecords
from meterdp.feeders.rules import group_totals
from meterdp.feeders.study import Energies, FeederStudy, Grouping
from meterdp.privacy import gaussian
from meterdp.privacy.noise import NoiseSource

SOUND, LAPLACE, GAUSSIAN = "sound", "laplace", "gaussian"
LAPLACE_ONE_READING, MEAN_PROFILE = "laplace_one_reading", "mean_profile"
METHODS = SOUND, LAPLACE, GAUSSIAN, LAPLACE_ONE_READING, MEAN_PROFILE
PROTECTS = {
    LAPLACE_ONE_READING: "one reading of one household",
    MEAN_PROFILE: "nothing",
} | dict.fromkeys((SOUND, LAPLACE, GAUSSIAN), "all readings of one household")

NoiseOf = Callable[..., NoiseSource]
Draw = Callable[[NoiseSource], np.ndarray]


def error_rows(study: FeederStudy, noise_of: NoiseOf) -> list[dict]:
    """Return the rows of the table ``feeder_errors``.

    Parameters
    ----------
    study : FeederStudy
    noise_of : callable (key, ...) -> NoiseSource
        Names an independent stream of the study's noise.
    """
    wanted = [(g, w) for w in study.windows for g in study.groupings()]
    return [
        row for g, w in progress(wanted, "feeder totals", total=len(wanted)) for row in _errors(study, g, w, noise_of)
    ]


def _errors(study: FeederStudy, grouping: Grouping, window: Energies, noise_of: NoiseOf) -> list[dict]:
    exact = group_totals(window.energy_kwh, grouping.feeder, grouping.feeders)
    facts = {
        "window": window.name,
        "day_count": window.days * window.averaged_days,
        "interval_minutes": study.interval_minutes,
        "grouping": grouping.kind,
        "feeder_size": grouping.size,
        "feeder_count": grouping.judged,
        "household_count": len(window.energy_kwh),
        "mean_total_kwh": float(exact[: grouping.judged].mean()),
    }
    rows = []
    for epsilon in study.settings["epsilons"]:
        draws = _draws(study, grouping, window, epsilon)
        for method, draw in draws.items():
            noise = noise_of("feeder totals", window.name, grouping.kind, repr(grouping.size), method, repr(epsilon))
            errors = [
                draw(noise)[: grouping.judged] - exact[: grouping.judged] for _ in range(study.settings["draws"])
            ]
            guarantee = {"epsilon": epsilon, "delta": study.delta if method in (SOUND, GAUSSIAN) else 0.0}
            rows.append(facts | _row(method, guarantee, np.array(errors), facts["mean_total_kwh"]))
    guess = np.bincount(grouping.feeder)[:, None] * window.energy_kwh.mean(axis=0)
    off = (guess - exact)[None, : grouping.judged]
    return [*rows, facts | _row(MEAN_PROFILE, {"epsilon": None, "delta": None}, off, facts["mean_total_kwh"])]


def _row(method: str, guarantee: dict, errors: np.ndarray, mean_total_kwh: float) -> dict:
    rmse = float(np.sqrt((errors**2).mean()))
    return {
        "method": method,
        "protects": PROTECTS[method],
        **guarantee,
        "rmse_kwh": rmse,
        "mae_kwh": float(np.abs(errors).mean()),
        "relative_rmse": rmse / mean_total_kwh,
        "draw_count": len(errors),
    }


def _draws(study: FeederStudy, grouping: Grouping, window: Energies, epsilon: float) -> dict[str, Draw]:
    """Return by method what draws totals (F, T) of a noise source."""
    mechanism = study.mechanism(grouping, window, epsilon)
    records = FeederRecords(window.energy_kwh)
    bound = study.settings["clip_kwh_per_hour"] * study.interval_minutes / 60
    clipped = group_totals(window.clipped_kwh(bound), grouping.feeder, grouping.feeders)
    noises = layman_noise(bound, window, epsilon, study.delta)
    return {SOUND: lambda noise: mechanism.release(records, noise).total_kwh} | {
        # Totals are not negative, and everybody knows.
        method: lambda noise, add=add: np.maximum(clipped + add(noise, clipped.shape), 0.0)
        for method, add in noises.items()
    }


def layman_noise(bound_kwh: float, window: Energies, epsilon: float, delta: float) -> dict[str, Callable]:
    """Return by method what draws noise (source, shape) for totals of readings clipped to [0, ``bound_kwh``].

    Replacing a household moves the totals of its feeder by the bound in each of T intervals, so by T bounds in l1 and
    by sqrt(T) bounds in l2. One reading of several that are averaged moves their mean by its share.
    """
    intervals = window.energy_kwh.shape[1]
    laplace = intervals * bound_kwh / epsilon
    std = np.sqrt(intervals) * bound_kwh / gaussian.mu_for(epsilon, delta)
    one = bound_kwh / window.averaged_days / epsilon
    return {
        LAPLACE: lambda noise, shape: laplace * noise.laplace(shape),
        GAUSSIAN: lambda noise, shape: std * noise.normal(shape),
        LAPLACE_ONE_READING: lambda noise, shape: one * noise.laplace(shape),
    }
