"""Mean profiles and names of the classes of a study, the same on its first page and in its figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from meterdp.core.log_scale import LogScale
from meterdp.mixture.patterns import pattern_names
from meterdp.profiles.vector import scale_of

if TYPE_CHECKING:
    import pandas as pd


def mean_profiles_kwh(mixture: pd.DataFrame, profile_hours: pd.DataFrame) -> np.ndarray:
    """Return the mean energy of every class and hour, (K, d) float64, kWh; classes and hours in their order.

    Parameters
    ----------
    mixture, profile_hours : pandas.DataFrame
        Tables of these names.
    """
    from meterdp.forecasting.energy import censored_moment  # not for a plan, which reads the report's modules too

    classes = mixture.sort_values("component")
    mean = np.stack(classes["mean_log_kwh"].to_list())
    covariance = np.stack(classes["covariance"].to_list()).reshape(*mean.shape, -1)
    deviation = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    return censored_moment(mean, deviation, _bounded(profile_hours), 1)


def class_names(mixture: pd.DataFrame, class_table: pd.DataFrame, profile_hours: pd.DataFrame) -> dict[int, str]:
    """Return the name of every class by its number; parameters are the tables of these names."""
    classes = class_table.sort_values("component")
    hours = profile_hours.sort_values("entry")["hour_of_day_local"].to_list()
    energy, share = classes["mean_energy_kwh"].to_numpy(), classes["share"].to_numpy()
    names = pattern_names(energy, share, mean_profiles_kwh(mixture, profile_hours), hours)
    return dict(zip(classes["component"].to_list(), names, strict=True))


def _bounded(hours: pd.DataFrame) -> LogScale:
    scale = scale_of(hours)
    low, high = (float(scale.kwh(end)) for end in (hours["low_log_kwh"].min(), hours["high_log_kwh"].max()))
    return replace(scale, low_kwh=low, high_kwh=high)
