"""Errors of forecasts, of naive forecasts and of released forecasts, in log kWh and in kWh, and how intervals cover.

Section VI-B of Ramakrishna et al. names a normalised mean squared error without defining it. Here, per household,

* nmse = sum (forecast - actual)^2 / sum actual^2 in the named scale, the usual reading; mean over households.
  In log kWh it depends on the unit of energy: a reading near 1 kWh has a logarithm near zero.
* relative_mse = sum (forecast - actual)^2 / sum (actual - mean of the household's held-out readings)^2, both sums
  over all households; one means no better than the mean, in any unit.

All methods are judged on the same cells: those where the reading and both naive forecasts exist. The paper shows
three releases from one origin; an error needs many, so every noise design is judged over all rolling origins. The
noise of a released forecast enters by its exact expectation, not by a draw. A mean over households follows the worst
of them, so the median and the share of households that gain stand beside it.

A forecast in kWh is a median. Sums over households are judged by means: that of the clipped Gaussian distribution for
the study's forecast, what is handed out for the others.

A :class:`ForecastSet` has H households, n origins and h steps; ``scale`` is that of the energy in an interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.special import ndtr, ndtri

from meterdp.class_noise.designs.registry import noise_design
from meterdp.class_noise.query_models import QUERY_MODELS, Budget, Noise, class_queries
from meterdp.class_noise.study import STUDIED, noises_of, pair_positions
from meterdp.core.job import progress
from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.errors import InputError
from meterdp.forecasting.energy import ROUNDING, censored_absolute_error, censored_moment
from meterdp.forecasting.rolling import METHODS, ForecastSet, forecast_set, interval_ends

SCALES = ("log_kwh", "kwh")
SUMS = ("sum_kwh", "sum_bias_kwh", "sum_rmse_kwh")
MEASURES = ("mse", "nmse", "nmse_se", "nmse_median", "relative_mse", "mae", "mae_median", "won_share")


@dataclass(frozen=True)
class Errors:
    """Errors of every forecast, (H, n, h), in log kWh or kWh (squared); NaN where there is no reading."""

    scale: str
    squared: np.ndarray
    absolute: np.ndarray


def plain_errors(log_forecast: np.ndarray, actual_log_kwh: np.ndarray, scale: LogScale = PLAIN) -> list[Errors]:
    """Errors of a forecast without noise, in log kWh and in kWh.

    In kWh a forecast is the inverse of the scale at the log forecast, the median of the distribution; (62) on a plain
    log.
    """
    gaps = log_forecast - actual_log_kwh, scale.kwh(log_forecast) - scale.kwh(actual_log_kwh)
    return [Errors(name, gap**2, np.abs(gap)) for name, gap in zip(SCALES, gaps, strict=True)]


def forecast_errors(forecasts: ForecastSet, scale: LogScale = PLAIN) -> list[dict]:
    """Return rows of table ``forecast_errors`` for the study's forecast and the naive ones.

    InputError if there is no cell that every method covers.
    """
    rows = []
    for method, name in METHODS.items():
        f = getattr(forecasts, name)
        errors = plain_errors(f, forecasts.actual_log_kwh, scale)
        std = forecasts.forecast_std_log_kwh if method == "arma" else None
        mean = scale.clipped_kwh(f) if std is None else censored_moment(f, std, scale, 1)
        rows += [_row(forecasts, e, scale, method, "none", 0.0) for e in errors]
        rows[-1] |= _sums(forecasts, mean, np.zeros(mean.shape), scale)
    if not rows[0]["household_count"]:
        raise InputError(
            "no held-out reading has a reading one week before it",
            field="origins",
            hint="give an export of more than a week before the first origin",
        )
    return rows


@dataclass(frozen=True)
class Released:
    """Released forecasts of a :class:`ForecastSet`, of accuracy budget ``rho`` (log kWh)^2.

    ``mean_log_kwh`` (H, n, h) are the forecasts after everything a design does for certain; ``noise_std_log_kwh``
    broadcasts to it.
    """

    design: str
    query_model: str
    rho: float
    mean_log_kwh: np.ndarray
    noise_std_log_kwh: np.ndarray


def released_errors(forecasts: ForecastSet, released: Released, scale: LogScale) -> list[dict]:
    """Return rows of table ``forecast_errors`` for released forecasts of the same households and origins.

    With f the mean of the released log forecast, y the log reading and s^2 the noise variance of the step, the
    expected squared error is (f - y)^2 + s^2 in log kWh. In kWh the released value is the energy of f + n clipped to
    the public bounds, as in the forecast files, and its moments are those of a censored distribution (log-normal on a
    plain log): the accuracy after the exponential that section V-B leaves out.
    """
    shape = forecasts.actual_log_kwh.shape
    f, s = (np.broadcast_to(a, shape) for a in (released.mean_log_kwh, released.noise_std_log_kwh))
    key = released.design, released.rho, released.query_model
    errors = _noisy_log(f - forecasts.actual_log_kwh, s), _noisy_kwh(f, s, forecasts.actual_log_kwh, scale)
    rows = [_row(forecasts, e, scale, "released", *key) for e in errors]
    first, second = (censored_moment(f, s, scale, order) for order in (1, 2))
    rows[-1] |= _sums(forecasts, first, second - first**2, scale)
    return rows


def _noisy_log(gap: np.ndarray, std: np.ndarray) -> Errors:
    """Expected errors of gap + n, n ~ N(0, std^2); the absolute value is a folded normal."""
    u = np.abs(gap) / np.where(std > 0, std, 1.0)
    folded = std * np.sqrt(2 / np.pi) * np.exp(-0.5 * u**2) + np.abs(gap) * (2 * ndtr(u) - 1)
    return Errors("log_kwh", gap**2 + std**2, np.where(std > 0, folded, np.abs(gap)))


def _noisy_kwh(f: np.ndarray, std: np.ndarray, actual_log_kwh: np.ndarray, scale: LogScale) -> Errors:
    """Expected errors of the clipped energy of f + n; readings are within the bounds, NaN where there is none."""
    y = scale.kwh(actual_log_kwh)
    first, second = (censored_moment(f, std, scale, order) for order in (1, 2))
    cut = np.clip(np.where(np.isfinite(y), y, scale.low_kwh), *scale.bounds_kwh)
    absolute = np.where(np.isfinite(y), censored_absolute_error(f, std, cut, scale), np.nan)
    return Errors("kwh", second - 2 * y * first + y**2, absolute)


def _row(forecasts, errors: Errors, scale: LogScale, method: str, design: str, rho: float, model="") -> dict:
    facts = {"method": method, "design": design, "query_model": model, "rho": float(rho)}
    return facts | error_measures(forecasts, errors, scale) | dict.fromkeys(SUMS)


def _sums(forecasts: ForecastSet, mean_kwh: np.ndarray, variance: np.ndarray, scale: LogScale) -> dict:
    cells = common_cells(forecasts)
    energy = scale.kwh(forecasts.actual_log_kwh)
    return sum_measures(mean_kwh, variance, energy, cells) if cells.any() else {}


def sum_measures(mean_kwh: np.ndarray, variance: np.ndarray, energy_kwh: np.ndarray, cells: np.ndarray) -> dict:
    """Judge sums over households of forecasts with these means and variances (kWh^2), the noise of each its own.

    All are (H, n, h); a sum is over the cells of one origin and step, and errors are over origins and steps.
    """
    some = cells.any(axis=0)
    mean, variance, energy = (np.where(cells, v, 0.0).sum(axis=0)[some] for v in (mean_kwh, variance, energy_kwh))
    gap = mean - energy
    found = energy.mean(), gap.mean(), np.sqrt((gap**2 + variance).mean())
    return dict(zip(SUMS, map(float, found), strict=True))


def common_cells(forecasts: ForecastSet) -> np.ndarray:
    """Cells (H, n, h) that have a reading and that every method covers."""
    common = np.isfinite(forecasts.actual_log_kwh)
    for name in METHODS.values():
        common &= np.isfinite(getattr(forecasts, name))
    return common


def household_means(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Mean over the cells of each household that has some, one entry per such household."""
    count = cells.sum(axis=(1, 2))
    return np.where(cells, values, 0.0).sum(axis=(1, 2))[count > 0] / count[count > 0]


def error_measures(forecasts: ForecastSet, errors: Errors, log_scale: LogScale) -> dict:
    """Average errors of one method over the cells every method covers; NaN where there is none.

    Returns columns ``scale`` to ``origin_count`` of table ``forecast_errors``.
    """
    common, scale = common_cells(forecasts), errors.scale
    actual = forecasts.actual_log_kwh if scale == "log_kwh" else log_scale.kwh(forecasts.actual_log_kwh)
    row = {"scale": scale, **dict.fromkeys(MEASURES, np.nan)}
    counts = {"household_count": int(common.any(axis=(1, 2)).sum()), "origin_count": common.shape[1]}
    if not common.any():
        return row | counts
    squared, absolute = (household_means(v, common) for v in (errors.squared, errors.absolute))
    own = plain_errors(forecasts.forecast_log_kwh, forecasts.actual_log_kwh, log_scale)[SCALES.index(scale)]
    reference = household_means(own.squared, common)
    judged = common.any(axis=(1, 2))
    cells = common.sum(axis=(1, 2))[judged]
    mean = household_means(actual, common)
    deviation = np.where(common[judged], actual[judged] - mean[:, None, None], 0.0)
    nmse = squared / household_means(actual**2, common)
    return {
        **row,
        "mse": squared @ cells / cells.sum(),
        "nmse": nmse.mean(),
        "nmse_se": nmse.std(ddof=1) / np.sqrt(nmse.size) if nmse.size > 1 else np.nan,
        "nmse_median": np.median(nmse),
        "relative_mse": squared @ cells / (deviation**2).sum() if deviation.any() else np.nan,
        "mae": absolute.mean(),
        "mae_median": np.median(absolute),
        "won_share": (squared < reference).mean(),
        **counts,
    }


def interval_rows(
    forecasts: ForecastSet,
    ends: Mapping[float, np.ndarray],
    scale: LogScale,
    released: Released | None = None,
) -> list[dict]:
    """Return rows of table ``forecast_intervals`` for the forecast, or for released forecasts of the same households.

    ``ends`` are level -> lower and upper ends (2, H, n, h) of the calibrated intervals about the forecast, log kWh.

    The interval sits at the released forecast r + n with n ~ N(0, s^2), so the noise enters its position by exact
    expectation. An end that lies q from the forecast lies sqrt(q^2 + (z s)^2) from the released one, on its side,
    where z is the normal quantile of the level: for the Gaussian distribution (57) that is the interval of its
    variance plus s^2. A reading y is covered with probability Phi((y - r + low)/s) - Phi((y - r - high)/s). What a
    design shifts is not in it: the recipient does not know it.
    """
    shown = released or Released("none", "", 0.0, forecasts.forecast_log_kwh, np.zeros(1))
    mean = shown.mean_log_kwh
    noise = np.broadcast_to(shown.noise_std_log_kwh, mean.shape)
    seen = np.isfinite(forecasts.actual_log_kwh)
    judged = seen.any(axis=(1, 2))
    if not judged.any() and released is None:
        raise InputError("no held-out reading to judge", field="origins", hint="give a longer export")
    gap = np.where(seen, forecasts.actual_log_kwh - mean, 0.0)
    spread = np.where(noise > 0, noise, 1.0)
    rows = []
    for level, (lower, upper) in ends.items():
        z = ndtri(0.5 + 0.5 * level)
        distribution = z * forecasts.forecast_std_log_kwh
        own = {
            "calibrated": (forecasts.forecast_log_kwh - lower, upper - forecasts.forecast_log_kwh),
            "law": (distribution, distribution),  # words: keep
        }
        for interval, sides in own.items():
            low, high = (np.where(side < 0, -1.0, 1.0) * np.hypot(side, z * noise) for side in sides)
            with_noise = ndtr((gap + low) / spread) - ndtr((gap - high) / spread)
            within = (gap >= -low - ROUNDING) & (gap <= high + ROUNDING)
            inside = np.where(noise > 0, with_noise, within)
            width = np.subtract(*(censored_moment(mean + side, noise, scale, 1) for side in (high, -low)))
            coverage, coverage_se = _over_households(inside, seen)
            rows.append(
                {
                    "method": "arma" if released is None else "released",
                    "interval": interval,
                    "design": shown.design,
                    "query_model": shown.query_model,
                    "rho": float(shown.rho),
                    "level": float(level),
                    "coverage": coverage,
                    "coverage_se": coverage_se,
                    "mean_width_kwh": _over_households(width, seen)[0],
                    "household_count": int(judged.sum()),
                    "origin_count": mean.shape[1],
                }
            )
    return rows


def _over_households(values: np.ndarray, seen: np.ndarray) -> tuple[float, float]:
    """Mean over households of their mean over seen cells, and its standard error; NaN where there are too few."""
    own = household_means(values, seen)
    if own.size == 0:
        return np.nan, np.nan
    return float(own.mean()), float(own.std(ddof=1) / np.sqrt(own.size)) if own.size > 1 else np.nan


def judge_forecasts(
    forecasts: pa.Table, ends: pa.Table, graph: pa.Table, designs: pa.Table, scale: LogScale
) -> tuple[list[dict], list[dict]]:
    """Return the rows of the tables ``forecast_errors`` and ``forecast_intervals``.

    They come from the tables ``forecasts``, ``interval_ends``, ``neighbour_graph`` and ``noise_designs``.
    """
    judged, by_level = forecast_set(forecasts), interval_ends(ends)
    last = {level: at[:, :, -1:] for level, at in by_level.items()}
    errors, intervals = forecast_errors(judged, scale), interval_rows(judged, by_level, scale)
    for own, released in released_forecasts(judged, graph, designs):
        errors += released_errors(own, released, scale)
        intervals += interval_rows(own, by_level if own is judged else last, scale, released)
    return errors, intervals


def released_forecasts(
    judged: ForecastSet, graph: pa.Table, designs: pa.Table
) -> Iterator[tuple[ForecastSet, Released]]:
    """Yield the forecasts a (design, rho) can be judged on and what it releases; no noise is left out.

    Of several query models the first of deterministic, stochastic, published is taken: the others design noise of the
    same size. Noise that only adds is that of the last origin at all of them, because its size is the budget whatever
    the forecasts are. A design that moves or maps forecasts does so with regard to those of the neighbours: for
    deterministic queries it is designed again at every origin; for the others that costs minutes an origin, so it is
    judged at the last origin alone, and ``origin_count`` says so.
    """
    noises = noises_of(designs)
    first: dict[tuple[str, float], str] = {}
    for model in QUERY_MODELS:
        for design, own, rho in noises:
            if own == model and design != "none":
                first.setdefault((design, rho), model)
    for (design, rho), model in progress(sorted(first.items()), "released forecasts"):
        household, noise = noises[design, model, rho]
        if not np.array_equal(household, judged.household):
            raise ValueError("forecasts and noise are not of the same households in the same order")
        own = judged
        if noise.shift is None and noise.gain is None:
            mean, std = judged.forecast_log_kwh, _std(noise)[:, None, :]
        elif model == "deterministic":
            mean, std = _redesigned(
                judged, pair_positions(household, graph), design, Budget(rho, STUDIED["accuracy_convention"])
            )
        else:
            own = judged.last_origin()
            mean = noise.apply(own.forecast_log_kwh[:, 0])[:, None, :]
            std = _std(noise)[:, None, :]
        yield own, Released(design, model, rho, mean, std)


def _std(noise: Noise) -> np.ndarray:
    return np.sqrt(np.diagonal(noise.covariance, axis1=1, axis2=2))


def _redesigned(judged: ForecastSet, pairs: np.ndarray, design: str, budget: Budget) -> tuple[np.ndarray, np.ndarray]:
    """Design for deterministic queries at every origin; released means and noise deviations, (H, n, h) each."""
    mean, std = np.empty((2, *judged.forecast_log_kwh.shape))
    none = np.zeros((len(mean), mean.shape[2], mean.shape[2]))
    for origin in range(mean.shape[1]):
        forecast = judged.forecast_log_kwh[:, origin]
        noise = noise_design(design)(class_queries(forecast, none, pairs), budget)
        mean[:, origin], std[:, origin] = noise.apply(forecast), _std(noise)
    return mean, std
