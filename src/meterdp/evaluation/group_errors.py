"""What the group forecast costs: its errors at every epsilon over all rolling origins, beside unprotected forecasts.

The mechanism runs on the whole public list, as a release does: groups are drawn once, with the first origin, and
kept. Errors are measured on the households of the list that have a forecast.
"""

from __future__ import annotations

import numpy as np

from meterdp.core.job import progress
from meterdp.core.noise import StudyNoise
from meterdp.evaluation.forecast_errors import MEASURES, SCALES, Errors, error_measures, forecast_errors, plain_errors
from meterdp.groupforecast.mechanism import KeptGroups
from meterdp.groupforecast.study import GroupStudy


def group_error_columns(study: GroupStudy, seed: int) -> dict[str, list]:
    """Return the columns of the table ``group_forecast_errors``; the seed of the study fixes the noise.

    InputError if no held-out reading can be judged, or circuits are asked for and not known.
    """
    f = study.forecasts
    rows = [_row(row["method"], row) for row in forecast_errors(f, study.scale)]
    shown = {
        "mean_of_all": f.forecast_log_kwh.mean(axis=0),
        "public_level": study.scale.log(study.level_kwh_per_hour * study.interval_hours),
    }
    rows += [_row(method, m) for method, values in shown.items() for m in _measures(study, [values])]
    settings = study.settings
    wanted = [(g, float(e)) for g in settings["groups"] for e in settings["epsilons"]]
    for groups, epsilon in progress(wanted, "group forecasts"):
        mechanism = KeptGroups.calibrate(study.public(groups, epsilon))
        noise = StudyNoise(seed, "group forecast", groups, repr(epsilon))
        draws = (_release_all(study, mechanism, noise) for _ in range(settings["draws"]))
        facts = {
            "epsilon": mechanism.public.epsilon,
            "delta": mechanism.public.delta,
            "groups": groups,
            "group_count": mechanism.plan.groups,
            "assignment_epsilon": mechanism.plan.assignment_epsilon,
            "draw_count": settings["draws"],
        }
        rows += [_row("group", measures) | facts for measures in _measures(study, draws)]
    return {name: [row[name] for row in rows] for name in rows[0]}


def _release_all(study: GroupStudy, mechanism: KeptGroups, noise: StudyNoise) -> np.ndarray:
    """Release every origin with groups kept from the first; what H households get, (H, n, k) float64 in log kWh."""
    group = mechanism.assign(study.records(0), noise)
    origins = range(study.forecasts.forecast_log_kwh.shape[1])
    out = [mechanism.forecast(study.records(t), group, noise).released_log_kwh[study.row] for t in origins]
    return np.stack(out, axis=1)


def _measures(study: GroupStudy, draws) -> list[dict]:
    """Judge the errors, by scale, averaged over draws of log forecasts that broadcast to (H, n, k)."""
    actual, count, total = study.forecasts.actual_log_kwh, 0, None
    for forecast in draws:
        own = plain_errors(np.broadcast_to(forecast, actual.shape), actual, study.scale)
        pairs = [(e.squared, e.absolute) for e in own]
        total = pairs if total is None else [(a + c, b + d) for (a, b), (c, d) in zip(total, pairs, strict=True)]
        count += 1
    means = (Errors(name, a / count, b / count) for name, (a, b) in zip(SCALES, total, strict=True))
    return [error_measures(study.forecasts, errors, study.scale) for errors in means]


def _row(method: str, measures: dict) -> dict:
    """Return the row of a forecast without protection."""
    kept = ("scale", *MEASURES, "household_count", "origin_count")
    return {
        "method": method,
        "groups": "none",
        "draw_count": 1,
        **dict.fromkeys(("epsilon", "delta", "group_count", "assignment_epsilon")),
        **{name: measures[name] for name in kept},
    }
