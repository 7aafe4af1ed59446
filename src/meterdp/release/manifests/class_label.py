"""The manifest beside every forecast file: what it holds, what its noise hides and what it does not, in plain JSON.

A recipient needs no tool to read it. It holds public settings, the release id and the guarantee; never a seed, a
household, a count of households or a covariance of the noise, which may differ from label to label.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Context

import numpy as np
import pandas as pd

from meterdp.class_noise.query_models import MODEL_WORDS
from meterdp.core.log_scale import LogScale
from meterdp.profiles.constants import SEASON
from meterdp.release.manifests.common import study_manifest

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
    """Return the public settings that made the forecasts, from sections of the configuration."""
    by = neighbourhoods["by"]
    detail = {"cluster": "clusters", "nearest": "size", "size": "size"}.get(by)
    return {
        "time_zone": export["time_zone"],
        "interval_minutes": export["interval_minutes"],
        "generation": {
            "model": f"ARMA({forecast['ar_order']}, {forecast['ma_order']}) on log kWh less its seasonal mean",
            "seasonal_mean": {**SEASON, **profiles}["seasonal"],
            "train_days": forecast["train_days"],
            "neighbourhoods_by": by,
            **({} if detail is None else {f"neighbourhoods_{detail}": neighbourhoods[detail]}),
        },
    }


def guarantee_pairs(curves: pd.DataFrame, design: str, query_model: str, rho: float) -> list[dict]:
    """Return the (epsilon, delta) pairs of one noise from table ``delta_curves``, the numerical error added to delta.

    Parameters
    ----------
    curves : pandas.DataFrame
        Table ``delta_curves``; its hockey-stick rows are the ones that state differential privacy.
    design, query_model, rho
        Which noise.

    Returns
    -------
    list of dict
        ``epsilon`` and ``delta``; empty where no household has a neighbour.
    """
    rows = curves[(curves["design"] == design) & (curves["query_model"] == query_model) & (curves["rho"] == rho)]
    rows = rows[rows["sides"] == "hockey_stick"].sort_values("epsilon")
    bound = np.minimum(rows["delta"] + rows["delta_error"], 1.0)
    return [{"epsilon": float(e), "delta": float(d)} for e, d in zip(rows["epsilon"], bound, strict=True)]


def guarantee_in_words(design: str, query_model: str, rho: float, convention: str, pairs: list[dict]) -> str:
    """Return the guarantee of a forecast file as one sentence."""
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
    interval_start_utc: np.ndarray,
    scale: LogScale,
    public: Mapping,
) -> dict:
    """Return what the manifests of all files have in common.

    Parameters
    ----------
    design, query_model, rho, convention
        The noise.
    pairs : list of dict
        From :func:`guarantee_pairs`.
    interval_start_utc : (k,) datetime64 array
        Starts of the forecast intervals, UTC.
    scale : LogScale
        Of the energy in an interval.
    public : mapping
        From :func:`public_settings`.
    """
    return study_manifest(
        guarantee_in_words(design, query_model, rho, convention, pairs),
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
            "generation": dict(public["generation"]),
        },
        interval_start_utc,
        public["interval_minutes"],
        public["time_zone"],
        scale,
    )
