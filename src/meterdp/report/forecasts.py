"""How good forecasts of households are, without privacy and as a proven release: two tables and two sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from meterdp.evaluation.tables import FORECASTER_COMPARISON, GROUP_FORECAST_ERRORS
from meterdp.forecasting.settings import OWN
from meterdp.pages.numbers import MISSING, counted, percent, plain, plus_minus, significant
from meterdp.report.hiding import interval_words
from meterdp.report.pages import Grid, Tables, count_range
from meterdp.report.worth import nearest

if TYPE_CHECKING:
    import pandas as pd

HARDLY_BETTER = 0.97  # of the error of a public guess: above, a forecast says little more
_METHODS = {
    "own_mean": "the household’s own mean of the hour (no privacy)",
    "own_level_public_shape": "the household’s own level times a public shape",
    "scaled": "the household’s own level times the released shape",
    "group": "the released file of its group",
    "public_shape": "a public level and shape",
    "public_level": "one public number for every hour",
}


def forecasters_grid(tables: Tables, settings: Mapping, period: str) -> Grid | None:
    """The study's forecast beside others, in kWh, with paired standard errors."""
    data = tables.get(FORECASTER_COMPARISON.name)
    if data is None:
        return None
    data = data[data["scale"] == "kwh"]
    if data.empty:
        return None
    interval = settings.get("export", {}).get("interval_minutes")
    rows = [
        (
            r.label if r.looks_at == OWN else f"{r.label}, trained across households",
            significant(r.mae),
            "1" if number == 0 else plus_minus(r.mae_ratio, r.mae_ratio_se),
            percent(r.sum_rmse_kwh / r.sum_kwh),
            percent(r.covered_90_share),
        )
        for number, r in enumerate(data.itertuples())
    ]
    steps = settings.get("forecast", {}).get("horizon_steps")
    ahead = f" of {plain(steps * interval / 60)} hours" if steps and interval else ""
    caption = (
        f"Forecasts without privacy: {count_range(data['household_count'])} households, "
        f"{count_range(data['origin_count'])} forecasts{ahead} each on held-out days of {period}"
    )
    header = (
        "forecast",
        f"error, kWh per {interval_words(interval) if interval else 'interval'}",
        "relative to the study’s",
        "error of the sum",
        "readings in the 90 % interval",
    )
    return Grid(caption, header, rows)


def group_grid(tables: Tables, settings: Mapping) -> Grid | None:
    """The proven forecast at one epsilon, beside own forecasts and public guesses."""
    data = tables.get(GROUP_FORECAST_ERRORS.name)
    if data is None:
        return None
    released, at = _chosen(data, settings)
    shown = at.reindex([name for name in _METHODS if name in at.index])
    rows = [
        (
            _METHODS[name],
            significant(r["mae_kwh"]),
            _more_or_less(r["energy_bias"]),
            MISSING if np.isnan(r["coverage_90"]) else percent(r["coverage_90"]),
        )
        for name, r in shown.iterrows()
    ]
    epsilon = released["epsilon"].dropna()
    words = f", released once at ε = {plain(epsilon.iloc[0])}" if len(epsilon) else ""
    caption = (
        f"Forecasts of single hours{words}: {count_range(data['household_count'])} households, the last "
        f"{counted(data['hour_count'].max(), 'hour')} of the export"
    )
    return Grid(caption, ("forecast", "error, kWh", "total energy", "readings in the 90 % interval"), rows)


def _more_or_less(bias: float) -> str:
    return "equal" if abs(bias) < 5e-4 else f"{percent(abs(bias))} {'more' if bias > 0 else 'less'}"


def _chosen(data: pd.DataFrame, settings: Mapping) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows released at the epsilon of the configuration or near it, and these and the others by method."""
    release = settings.get("release", {})
    released = data[data["epsilon"].notna()]
    of_groups = released[released["groups"] == release.get("forecast_groups")]
    released = released if of_groups.empty else of_groups
    if len(released):
        released = nearest(released, release.get("forecast_epsilon"))
    shown = data.loc[[*released.index, *data.index[data["epsilon"].isna()]]]
    return released, shown.drop_duplicates("method").set_index("method")


def forecast_sentence(tables: Tables) -> str | None:
    """The study's forecast against the mean of the last seven days, for a household and for the sum."""
    data = tables.get(FORECASTER_COMPARISON.name)
    if data is None:
        return None
    by = data[data["scale"] == "kwh"].set_index("forecaster")
    if by.empty:
        return None
    own, of_sum = by.iloc[0], by["sum_rmse_kwh"] / by["sum_kwh"]
    words = f"A forecast from a household’s own past is off by {significant(own['mae'])} kWh per interval on average"
    simple = ""
    if "rolling_mean" in by.index:
        ratio = significant(by.loc["rolling_mean", "mae_ratio"])
        words += f", and the mean of its last seven days by {ratio} times as much"
        simple = f" (of these means: {percent(of_sum['rolling_mean'])})"
    return (
        f"{words}. The forecast sum over {counted(own['household_count'], 'household')} is off by "
        f"{percent(of_sum.iloc[0])}{simple}. Add up means, not medians: the sum of the medians is "
        f"{off(own['sum_of_medians_bias_kwh'], own['sum_kwh'])}."
    )


def group_sentence(tables: Tables, settings: Mapping) -> str | None:
    """What the released shape of a week is worth to somebody who knows the level of a household."""
    data = tables.get(GROUP_FORECAST_ERRORS.name)
    if data is None:
        return None
    released, at = _chosen(data, settings)
    if released.empty or not {"scaled", "own_mean", "own_level_public_shape"} <= set(at.index):
        return None
    scaled, own, guess = at.loc[["scaled", "own_mean", "own_level_public_shape"], "mae_kwh"]
    than = (
        f"A public shape does about as well ({significant(guess / own, 2)} times)"
        if scaled > HARDLY_BETTER * guess
        else f"With a public shape it is {significant(guess / own, 2)} times"
    )
    return (
        "The proven release protects all readings. Somebody who knows a household’s mean use and multiplies it by "
        f"the released shape of a week (ε = {plain(released['epsilon'].iloc[0])}) is off by "
        f"{significant(scaled / own, 2)} times as much as a forecast from the household’s own past. {than}."
    )


def off(bias_kwh: float, sum_kwh: float) -> str:
    """Say by which share a sum is too low or too high."""
    share = bias_kwh / sum_kwh
    return (
        f"{percent(abs(share))} {'low' if share < 0 else 'high'}" if np.isfinite(share) and share else percent(share)
    )


READS = (FORECASTER_COMPARISON, GROUP_FORECAST_ERRORS)
