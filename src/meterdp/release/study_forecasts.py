"""Study-mode releases of forecasts: seeded noise, a file and a manifest per household, marked not for release.

The one place where a study draws noise for forecasts: class-based noise (Ramakrishna et al.), and the group forecast.
A recipient needs no tool to read a manifest. It holds public settings, the release id, the guarantee, and what is
hidden and what is not; never a seed, a household, a count of households, the size of a group or a covariance of the
noise, which may differ from label to label.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_CEILING, Context
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from meterdp.class_noise.neighbourhoods import CLUSTERS
from meterdp.class_noise.query_models import MODEL_WORDS, QUERY_MODELS, Noise
from meterdp.class_noise.study import noises_of, stack
from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise, salted_ids
from meterdp.core.weekend import Weekend
from meterdp.groupforecast.mechanism import GroupForecast
from meterdp.groupforecast.study import Hours, group_public, no_circuits, split
from meterdp.profiles.constants import SEASON
from meterdp.profiles.dense import LogLoad
from meterdp.publish.forecast_files import (
    Intervals,
    crosswalk_columns,
    log_forecasts,
    study_manifest,
    write_forecast_files,
)
from meterdp.publish.tables import GROUP_FORECAST_FILE
from meterdp.release.weeks import group_forecasts, intervals_ahead

_UPWARD = Context(prec=3, rounding=ROUND_CEILING)  # a rounded delta must not promise more
_HIDES = ("which household of its neighbourhood this forecast belongs to, up to the (epsilon, delta) pairs given",)
_DOES_NOT_HIDE = (
    "which neighbourhood the household belongs to",
    "what the readings say beyond that: nothing is claimed when one household's record is replaced (replace_one)",
    "the household behind several releases: losses of releases add up",
    "who is who among all files of a neighbourhood read together: they are protected against swapping two households "
    "only, with a larger delta (study/delta_curves.parquet, sides 'swap')",
    "anything in a household that has no neighbour",
)


def public_settings(export: Mapping, forecast: Mapping, profiles: Mapping, neighbourhoods: Mapping) -> dict:
    by = neighbourhoods["by"]
    return {
        "time_zone": export["time_zone"],
        "interval_minutes": export["interval_minutes"],
        "generation": {
            "model": f"ARMA({forecast['ar_order']}, {forecast['ma_order']}) on log kWh less its seasonal mean",
            "seasonal_mean": {**SEASON, **profiles}["seasonal"],
            "train_days": forecast["train_days"],
            "neighbourhoods_by": by,
            **({"neighbourhoods_size": neighbourhoods["size"]} if by in ("nearest", "size") else {}),
            **({"neighbourhoods_clusters": CLUSTERS} if by == "cluster" else {}),
        },
    }


def guarantee_pairs(curves: pd.DataFrame, design: str, query_model: str, rho: float) -> list[dict]:
    """Return the (epsilon, delta) pairs of one noise from table ``delta_curves``, the numerical error added to delta.

    The hockey-stick rows are the ones that state differential privacy; there are none where no household has a
    neighbour.
    """
    rows = curves[(curves["design"] == design) & (curves["query_model"] == query_model) & (curves["rho"] == rho)]
    rows = rows[rows["sides"] == "hockey_stick"].sort_values("epsilon")
    bound = np.minimum(rows["delta"] + rows["delta_error"], 1.0)
    return [{"epsilon": float(e), "delta": float(d)} for e, d in zip(rows["epsilon"], bound, strict=True)]


def guarantee_sentence(design: str, query_model: str, rho: float, convention: str, pairs: list[dict]) -> str:
    if pairs:
        said = ", ".join(f"({p['epsilon']:g}, {_UPWARD.create_decimal(p['delta'])})" for p in pairs)
        stated = f"(epsilon, delta) class_label privacy within the neighbourhood at {said}"
    else:
        stated = "no class_label statement, because no household has a neighbour"
    return (
        f"design '{design}' for {query_model} queries with accuracy budget rho {rho:g} ({convention}): "
        f"{stated}; nothing about replace_one"
    )


def class_label_manifest(
    design: str,
    query_model: str,
    rho: float,
    convention: str,
    pairs: list[dict],
    intervals: Intervals,
    generation: Mapping,
) -> dict:
    """Return what the manifests of all files have in common.

    ``pairs`` are from :func:`guarantee_pairs`, ``generation`` is a part of :func:`public_settings`.
    """
    return study_manifest(
        guarantee_sentence(design, query_model, rho, convention, pairs),
        {
            "unit": "class_label",
            "adjacency": "the forecast is that of another household of the same neighbourhood",
            "epsilon_delta": pairs,
            "epsilon_delta_means": "for every two neighbours and every set of contents this one file may have, the "
            "probability under one is at most e^epsilon times that under the other, plus delta; worst case, "
            "numerical error included. These numbers are computed from the private forecasts and are not protected "
            "themselves.",
        },
        _HIDES,
        _DOES_NOT_HIDE,
        {
            "noise": {
                "design": design,
                "query_model": query_model,
                "query_model_means": MODEL_WORDS[query_model],
                "rho_log_kwh_squared": float(rho),
                "rho_is": {
                    "total": "the squared error of the whole forecast",
                    "per_entry": "the mean squared error per step",
                }[convention],
            },
            "generation": dict(generation),
        },
        intervals,
    )


def release_forecasts(mean_log_kwh: np.ndarray, noise: Noise, draws: np.ndarray) -> np.ndarray:
    """Apply the design to (H, k) forecasts and add its noise (11), made of independent standard normal ``draws``.

    Covariances may be singular; the caller owns the randomness.
    """
    values, vectors = np.linalg.eigh(noise.covariance)
    return noise.apply(mean_log_kwh) + np.einsum("hij,hj,hj->hi", vectors, np.sqrt(np.maximum(values, 0.0)), draws)


def example_columns(
    chosen: np.ndarray,
    history_log_kwh: np.ndarray,
    truth_log_kwh: np.ndarray,
    forecast_log_kwh: np.ndarray,
    released_log_kwh: np.ndarray,
    interval_hours: float,
    scale: LogScale,
    design: str,
    rho: float,
) -> dict:
    """Return the columns of table ``forecast_examples`` (Fig. 3).

    ``chosen`` are rows of the examples, chosen by a rule that looks at no reading and no forecast; the history is of
    the m readings before the origin, (H, m), NaN where missing, the others are from it on, (H, k); all of them log
    kWh, rho its square.
    """
    parts = {
        "history": (history_log_kwh, -history_log_kwh.shape[1]),
        "truth": (truth_log_kwh, 0),
        "forecast": (forecast_log_kwh, 0),
        "released": (released_log_kwh, 0),
    }
    example, part, hours, energy = [], [], [], []
    for number, row in enumerate(chosen, start=1):
        for name, (values, first) in parts.items():
            slots = np.arange(values.shape[1])
            example += [number] * slots.size
            part += [name] * slots.size
            hours += list((first + slots) * interval_hours)
            energy += list(scale.clipped_kwh(values[row]))
    return {
        "design": [design] * len(example),
        "rho": [float(rho)] * len(example),
        "example": example,
        "part": part,
        "hours_from_origin": hours,
        "energy_kwh": pa.array(energy, type=pa.float64(), from_pandas=True),
    }


HISTORY_HOURS, EXAMPLES = 24, 3


@dataclass(frozen=True)
class StudyRelease:
    """Released forecasts of a study and the tables that go with them."""

    release_ids: np.ndarray
    released_log_kwh: np.ndarray
    intervals: Intervals
    manifest: dict
    crosswalk: dict
    examples: dict

    def write_files(self, folder, metadata: Mapping[str, str]) -> None:
        """Write one file and manifest per household."""
        forecasts = log_forecasts(self.released_log_kwh, self.intervals.scale)
        write_forecast_files(folder, self.release_ids, forecasts, self.intervals, self.manifest, metadata)


def release_study_forecasts(
    distributions: pa.Table,
    designs: pa.Table,
    curves: pa.Table,
    load: LogLoad,
    class_noise: Mapping,
    public: Mapping,
    scale: LogScale,
    seed: int,
    salt: str,
) -> StudyRelease:
    """Draw the noise of every household's forecast once.

    The noise is the one designed for deterministic queries, the only model a release may use, if there is one; the
    seed fixes it. The private salt fixes the release ids and which three households are the examples, for which
    ``load`` is the log load of the same households; ``public`` is from :func:`public_settings`.
    """
    household = distributions["household"].to_numpy()
    mean = stack(distributions["mean_log_kwh"], -1)
    noises = noises_of(designs)
    design, rho = class_noise["file_design"], float(class_noise["rhos"][0])
    key = next((design, model, rho) for model in QUERY_MODELS if (design, model, rho) in noises)
    designed, noise = noises[key]
    if not (np.array_equal(designed, household) and np.array_equal(load.household, household)):
        raise ValueError("forecasts, noise and log load are not of the same households in the same order")
    draws = np.stack([StudyNoise(seed, "forecast", *key, int(h)).normal(mean.shape[1:]) for h in household])
    released = release_forecasts(mean, noise, draws)
    ids = salted_ids(salt, household)

    calendar = load.calendar
    origin = int(
        np.searchsorted(
            calendar.start_utc, np.datetime64(distributions["origin_utc"][0].as_py().replace(tzinfo=None))
        )
    )
    steps = slice(origin, origin + mean.shape[1])
    history = slice(max(origin - HISTORY_HOURS * calendar.slots_per_hour, 0), origin)
    examples = example_columns(
        np.argsort(ids)[:EXAMPLES],
        load.log_kwh[:, history],
        load.log_kwh[:, steps],
        mean,
        released,
        calendar.interval_minutes / 60,
        scale,
        design,
        rho,
    )
    intervals = Intervals(calendar.start_utc[steps], public["interval_minutes"], public["time_zone"], scale)
    pairs = guarantee_pairs(curves.to_pandas(), *key)
    convention = class_noise["accuracy_convention"]
    manifest = class_label_manifest(*key, convention, pairs, intervals, public["generation"])
    return StudyRelease(ids, released, intervals, manifest, crosswalk_columns(ids, household), examples)


_GROUP_HIDES = (
    "all readings of one household, up to (epsilon, delta), even from those who know the readings of all others",
)
_GROUP_DOES_NOT_HIDE = (
    "which households are in the release and how many there are",
    "which circuit a household is on, where groups are circuits",
    "what another release says: every further period or epsilon adds to the cost, under new release ids too",
    "what the class-based forecast files of the same study say, for which nothing is claimed about replace_one: with "
    "them in hand this guarantee is void",
    "what can be learnt about households in general",
)


def group_manifest(mechanism: GroupForecast, intervals: Intervals) -> dict:
    """Return what the manifests of all files of a study have in common."""
    stated, public = mechanism.guarantee, mechanism.public
    guarantee = (
        f"a release by the same rules: ({stated.epsilon:g}, {stated.delta:g})-differential privacy for {stated.unit} "
        f"({stated.adjacency}), all files of this period together; {stated.accountant}; {stated.proof}"
    )
    return study_manifest(
        guarantee,
        vars(stated),
        _GROUP_HIDES,
        _GROUP_DOES_NOT_HIDE,
        {
            "mechanism": {
                "name": mechanism.name,
                "groups": public.groups,
                "mu": mechanism.mu,
                "public_level_kwh": public.level_kwh,
            }
        },
        intervals,
        GROUP_FORECAST_FILE,
    )


def write_group_forecasts(
    household: np.ndarray,
    circuit: tuple[int, ...] | None,
    hours: Hours,
    config: Mapping,
    folder: str | Path,
    salt: str,
    metadata: Mapping[str, str],
) -> dict:
    """Draw the forecast of the last days once, write a file and manifest per household of the list, return the
    crosswalk's columns.

    A household without usable readings gets a file like any other: its file carries the forecast of its group. The
    ids, which the private salt fixes, are not those of the class-based files: a common id would tie the two files of
    a household together. Nothing in ``metadata`` is private.
    """
    groups, zone = config["release"]["forecast_groups"], config["export"]["time_zone"]
    if groups == "circuit" and circuit is None:
        raise no_circuits("release.forecast_groups")
    public = group_public(config, len(household), circuit if groups == "circuit" else None, 0.0)
    mechanism = GroupForecast.calibrate(public)
    records, last = split(hours, public.cell_shape)
    released = mechanism.release(records, StudyNoise(config["seed"], "group forecast files", groups, public.epsilon))
    own_salt = hashlib.sha256(f"{salt} group forecast".encode()).hexdigest()[:32]
    ids = salted_ids(own_salt, household)
    before = date(1970, 1, 1) + timedelta(days=last.first_day - 1)
    stamps = intervals_ahead(before.isoformat(), len(last.cell), 60, zone)
    intervals = Intervals(stamps, 60, zone, LogScale.from_config(config["profiles"]))
    manifest = group_manifest(mechanism, intervals)
    forecasts = group_forecasts(released, intervals, Weekend.of(config["export"]))
    write_forecast_files(folder, ids, forecasts, intervals, manifest, metadata, GROUP_FORECAST_FILE)
    return crosswalk_columns(ids, household)
