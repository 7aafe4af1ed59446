"""Figs 3 and 4 of Ramakrishna et al. (section VI-B) on the study's export, from forecasts as the paper makes them.

It takes the seasonal mean (61) and the ARMA(6, 5) from the first fifteen days and keeps both. A study's forecasts
have moved on from there (docs/forecasts.md). 100 households, six clusters, 15 days of quarter-hours, ARMA(6, 5), 12
steps are the study's defaults; the neighbourhoods are the study's own. The paper's homes are private: the export at
hand stands for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa

from meterdp.class_noise.curves import curve_rows, design_comparison_rows
from meterdp.class_noise.designs.registry import noise_design
from meterdp.class_noise.query_models import Budget, ClassQueries
from meterdp.class_noise.study import design_all, queries_of, stack
from meterdp.core.job import progress
from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.evaluation.forecast_errors import household_means, plain_errors
from meterdp.forecasting.rolling import ForecastSet, distribution_columns, roll
from meterdp.forecasting.select import fixed_order
from meterdp.forecasting.study import rolling_of, window_fits
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.seasonal import Season, seasonal_part
from meterdp.release.study_forecasts import example_columns, release_forecasts
from meterdp_papers.ramakrishna.synthetic import descent_row
from meterdp_papers.ramakrishna.tables import PAPERS_DESIGNS, PRINTED, PRINTED_NMSE

# What a study may choose otherwise.
SEASON = {"seasonal": "smoothed", "seasonal_scale": "log", "smoothing_hours": 1.0}
FORECAST = {
    "method": "arma",
    "mean": "estimated",
    "largest_root": 0.9999,
    "starts": 9,
    "refit_days": None,
    "cap_days": None,
}


@dataclass(frozen=True)
class PaperForecasts:
    """Columns of table ``forecast_distributions`` at the last origin and rows of ``ramakrishna_forecast_errors``."""

    distributions: dict
    errors: list[dict]


def paper_forecasts(load: LogLoad, forecast: Mapping, scale: LogScale = PLAIN, threads: int = 1) -> PaperForecasts:
    """Forecast every household as the paper does; the seasonal part of ``load`` is not looked at."""
    settings = {**forecast, **FORECAST}
    calendar = load.calendar
    season = Season(
        SEASON["seasonal"],
        calendar.window(settings["train_days"]),
        settings["horizon_steps"],
        SEASON["seasonal_scale"],
        SEASON["smoothing_hours"],
    )
    fixed = replace(load, seasonal_log_kwh=seasonal_part(load.log_kwh, calendar, season))
    fits, rolling = window_fits(fixed, settings, threads), rolling_of(calendar, settings)
    distributions = distribution_columns(
        fixed, fits[-1], int(rolling.origins[-1]), rolling.horizon, rolling.cap_slots
    )
    return PaperForecasts(distributions, forecast_errors(roll(fixed, fits, rolling).forecasts, scale))


def forecast_errors(forecasts: ForecastSet, scale: LogScale = PLAIN) -> list[dict]:
    """Return rows of table ``ramakrishna_forecast_errors``; InputError if there is no held-out reading.

    Section VI-B names a normalised mean squared error without defining it. Here nmse is the sum of (forecast -
    actual)^2 over that of actual^2, per household; relative_mse has the variance of held-out readings in the place of
    their squares, pooled over households: 1 is no better than their mean, in any unit.
    """
    rows, actual = [], forecasts.actual_log_kwh
    cells = np.isfinite(actual)
    if not cells.any():
        raise InputError(
            "no held-out reading to judge",
            field="origins",
            hint="give a longer export",
        )
    per_household = cells.sum(axis=(1, 2))
    for errors in plain_errors(forecasts.forecast_log_kwh, actual, scale):
        reading = actual if errors.scale == "log_kwh" else scale.kwh(actual)
        squared, mean = household_means(errors.squared, cells), household_means(reading, cells)
        deviation = (reading[per_household > 0] - mean[:, None, None])[cells[per_household > 0]]
        nmse = squared / household_means(reading**2, cells)
        relative = errors.squared[cells].sum() / (deviation**2).sum() if deviation.any() else np.nan
        rows.append(
            {
                "scale": errors.scale,
                "nmse": float(nmse.mean()),
                "relative_mse": float(relative),
                "household_count": nmse.size,
                "origin_count": cells.shape[1],
            }
        )
    return rows


RHOS = (0.45, 0.68571, 1.0, 1.4)
EPSILONS = tuple(np.round(np.arange(1, 11) / 10, 1))
CONVENTIONS = ("total", "per_entry")
# V-A and (57) treat a process of mean zero, (62) adds the seasonal mean before the noise. Read without it, the mean
# counts as public; it is the household's own, so that variant gives no guarantee. Without any randomness of its own
# such a query would be the same for everybody.
QUERY_MEANS = {"published": ("forecast", "zero"), "stochastic": ("forecast", "zero"), "deterministic": ("forecast",)}
FIGURE_MODEL, FIGURE_CONVENTION, FIGURE_RHO = "published", "total", 0.45
HOUSES, RELEASES = 3, 200  # the figure shows the first release; errors are means over all of them
COMPARED = ("white", "published", "joint")
# The search of joint and transport on random queries takes a minute or more a budget, so there are fewer of them.
COMPARED_RHOS = {
    "deterministic": (1.4, 5.0, 20.0, 50.0, 100.0, 300.0, 1200.0),
    "stochastic": (1.4, 20.0, 100.0),
    "published": (1.4, 20.0, 100.0),
}
COMPARED_EPSILONS = (0.1, 0.5, 1.0)
HISTORY_HOURS = 24
SUBSTITUTE = "stands for the paper's 100 private households"


def data_words(simulated: bool) -> str:
    """Return how the scorecard names the households."""
    return f"household forecasts of the study's {'simulated ' if simulated else ''}export"


def fig4(distributions: pa.Table, graph: pa.Table, simulated: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the exact curves of the paper's designs under every variant of the text.

    Columns of ``ramakrishna_fig4`` and ``ramakrishna_descents``.
    """
    curves, descents = [], []
    queries = read_queries(distributions, graph)
    wanted = [(*key, c, rho, d) for key in queries for c in CONVENTIONS for rho in RHOS for d in PAPERS_DESIGNS]
    for model, mean, convention, rho, name in progress(wanted, "privacy curves of the paper's designs"):
        asked = queries[model, mean]
        noise = noise_design(name)(asked, Budget(rho, convention))
        found = curve_rows(noise.released(asked), np.array(EPSILONS), design=name, query_model=model, rho=rho)
        curves += [{"query_mean": mean, "accuracy_convention": convention, **row} for row in found]
        if name == "published" and mean == "forecast":
            descents.append(descent_row("households", 0, model, convention, rho, noise.report))
    table = pd.DataFrame(curves)
    table["data"], table["substitute"] = data_words(simulated), SUBSTITUTE
    return table, pd.DataFrame(descents)


def read_queries(distributions: pa.Table, graph: pa.Table) -> dict[tuple[str, str], ClassQueries]:
    """Return the queries under every variant, by (query model, query mean) of :data:`QUERY_MEANS`."""
    found = {}
    for model, means in QUERY_MEANS.items():
        queries = queries_of(distributions, graph, model)
        for mean in means:
            zero = replace(queries, mean_log_kwh=np.zeros_like(queries.mean_log_kwh))
            found[model, mean] = queries if mean == "forecast" else zero
    return found


def comparison(distributions: pa.Table, graph: pa.Table, query_model: str) -> list[dict]:
    """Return rows of table ``design_comparison``: our designs and the paper's at equal budgets.

    The budgets are those at which the published design's delta leaves 1; at the paper's own it is 1 to rounding.
    """
    designs = list(COMPARED if query_model == "deterministic" else (*COMPARED, "transport"))
    settings = {
        "query_models": [query_model],
        "designs": designs,
        "stochastic_designs": designs,
        "rhos": COMPARED_RHOS[query_model],
        "accuracy_convention": FIGURE_CONVENTION,
    }
    noises = design_all(distributions, graph, settings)
    queries = {query_model: queries_of(distributions, graph, query_model)}
    return design_comparison_rows(queries, noises, np.array(COMPARED_EPSILONS), FIGURE_CONVENTION)


def printed_beside_ours(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of table ``ramakrishna_numbers``: every printed delta beside ours under every variant."""
    keys = ["design", "rho", "epsilon"]
    printed = pd.DataFrame(PRINTED).rename(columns={"delta": "delta_printed"})
    ours = curves[curves["sides"].isin(["one", "two"])]
    columns = [*keys, "query_model", "query_mean", "accuracy_convention", "sides", "delta"]
    return printed.merge(ours[columns], on=keys, how="left")


def fig3(
    distributions: pa.Table, graph: pa.Table, load: LogLoad, scale: LogScale, seed: int, simulated: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return three houses before and after the paper's noise, and their errors.

    The houses are the first of a fixed order that looks at no reading; the noise is study-mode noise. ``load`` has
    the same households as ``distributions``, in the same order. Columns of ``forecast_examples`` and
    ``ramakrishna_fig3_errors``.
    """
    household = distributions["household"].to_numpy()
    mean = stack(distributions["mean_log_kwh"], -1)
    noise = noise_design("published")(
        queries_of(distributions, graph, FIGURE_MODEL), Budget(FIGURE_RHO, FIGURE_CONVENTION)
    )
    draws = np.stack(
        [
            StudyNoise(seed, "reproduce ramakrishna", "fig3", int(h)).normal((RELEASES, *mean.shape[1:]))
            for h in household
        ],
        axis=1,
    )
    releases = np.stack([release_forecasts(mean, noise, draw) for draw in draws])
    released = releases[0]
    calendar = load.calendar
    start = np.datetime64(distributions["origin_utc"][0].as_py().replace(tzinfo=None))
    origin = int(np.searchsorted(calendar.start_utc, start))
    truth = load.log_kwh[:, origin : origin + mean.shape[1]]
    chosen = fixed_order(household, "houses of figure 3")[:HOUSES]
    examples = example_columns(
        chosen,
        load.log_kwh[:, max(origin - HISTORY_HOURS * calendar.slots_per_hour, 0) : origin],
        truth,
        mean,
        released,
        calendar.interval_minutes / 60,
        scale,
        "published",
        FIGURE_RHO,
    )
    lines = {"truth": truth[chosen], "forecast": mean[chosen], "released": releases[:, chosen]}
    return pd.DataFrame(examples), _errors(lines, calendar.interval_minutes, scale, simulated)


def scales_of(interval_minutes: int, log_scale: LogScale = PLAIN) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Return what takes log kWh to each scale NMSE may be meant in; the size of a logarithm depends on its unit."""
    return {
        "log_kwh": lambda log_kwh: log_kwh,
        "log_wh": lambda log_kwh: log_kwh + np.log(1000),
        "log_w": lambda log_kwh: log_kwh + np.log(1000 * 60 / interval_minutes),
        "kwh": log_scale.kwh,
    }


def _errors(
    lines: Mapping[str, np.ndarray], interval_minutes: int, log_scale: LogScale, simulated: bool
) -> pd.DataFrame:
    """Squared error over squared reference of every house, in every scale; NaN readings are left out.

    Lines are (HOUSES, k), those of the releases (RELEASES, HOUSES, k).
    """
    rows = []
    for scale, change in scales_of(interval_minutes, log_scale).items():
        for line, reference in (("forecast", "truth"), ("released", "truth"), ("released", "forecast")):
            value, target = change(lines[line]), change(lines[reference])
            ratio = np.nansum((value - target) ** 2, axis=-1) / np.nansum(target**2, axis=-1)
            error = ratio.reshape(-1, ratio.shape[-1]).mean(axis=0)
            rows += [
                {
                    "house": number + 1,
                    "scale": scale,
                    "line": line,
                    "reference": reference,
                    "nmse": nmse,
                    "nmse_printed": PRINTED_NMSE[number] if line == "released" else np.nan,
                    "data": data_words(simulated),
                    "substitute": SUBSTITUTE,
                }
                for number, nmse in enumerate(error)
            ]
    return pd.DataFrame(rows)
