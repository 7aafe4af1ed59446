"""Defects of Ramakrishna et al. in the forecasts: order of log and seasonal part (R6), swapped coefficients (R7), and
the distribution of the future in place of that of the query (R9).
"""

from __future__ import annotations

import math
from datetime import date
from functools import partial

import numpy as np
from scipy.signal import lfilter

from meterdp.class_noise.query_models import ClassQueries
from meterdp.forecasting.arma import ArmaFit
from meterdp.forecasting.distribution import autocovariance, forecast_covariance, query_covariance
from meterdp.privacy.noise import NoiseSource
from meterdp.simulate.fleet import Period
from meterdp.simulate.load import one_household
from meterdp_papers.common.tables import Finding, averaged, defect
from meterdp_papers.ramakrishna.errata_bounds import normal_tail, two_labels, worst

# R6: section VI-B's 15 days at 15 minutes; two weeks and a day.
_DAYS, _HOUSEHOLDS = 15, 20
_STEPS, _DRAWS = 12, 20_000
_HOME_VARIANCE = 0.5  # of the log of a quarter-hour variant, (log kWh)^2


def process(ar, ma=()) -> ArmaFit:
    """Return the ARMA process with unit innovation variance and the given phi and theta."""
    ar, ma = np.array(ar, dtype=float), np.array(ma, dtype=float)
    return ArmaFit("arma", ar, ma, mean=0.0, innovation_variance=1.0, log_likelihood=math.nan, observation_count=0)


@defect(
    "R6",
    "Section V-B, (61); section VI-B",
    "Section V-B takes logs and subtracts their mean over each day; section VI-B removes a weekly part before it "
    "takes logs.",
    "The two processes differ in mean and variance, and with a subtraction half of the second does not exist.",
    "Both can be had of meterdp.profiles.seasonal.Season: method (day, week, smoothed) and scale (log, kwh), "
    "which divides by the mean energy where VI-B would subtract it.",
    note="Fifteen days hold two or three readings per slot of the week.",
)
def seasonal_order(noise: NoiseSource) -> tuple[Finding, ...]:
    period = Period(date(2025, 1, 6), _DAYS, "Europe/Zurich", 15)
    slot, week = period.slot_of_day, period.slot_of_day + period.slots_per_day * (period.day_index % 7)
    undefined, level, by_jensen, farthest, kept, iid = [], [], [], [], [], []
    for household in range(_HOUSEHOLDS):
        energy = one_household(period, int(2**31 * noise.uniform((1,))[0]), household)
        log_energy = np.log(energy)
        first = log_energy - _mean_by(log_energy, slot)
        ratio = np.log(energy / _mean_by(energy, week))
        undefined.append(np.mean(energy <= _mean_by(energy, week)))
        level.append(ratio.mean())
        by_jensen.append(np.mean(_mean_by(log_energy, week) - np.log(_mean_by(energy, week))))
        farthest.append(np.abs(first - ratio).max())
        kept.append((log_energy - _mean_by(log_energy, week)).var() / first.var())
        white = noise.normal(energy.shape)
        iid.append((white - _mean_by(white, week)).var() / (white - _mean_by(white, slot)).var())
    readings = {name: np.unique(group).size / period.slot_count for name, group in (("day", slot), ("week", week))}
    settings = f"{_HOUSEHOLDS} simulated households, {_DAYS} days at 15 minutes"
    both = "V-B (61); VI-B"
    here = partial(Finding, settings, both)
    return (
        here(
            "VI-B, the weekly part subtracted and then the log: readings whose log does not exist.",
            "share of readings without a log",
            claimed=0.0,
            **averaged(undefined),
        ),
        here(
            "VI-B with a division in place of the subtraction: mean of x[k], which (59) takes to be zero and (61) "
            "makes zero. (Check: mean log less log mean, slot by slot.)",
            "mean of x[k]",
            unit="log kWh",
            closed_form=float(np.mean(by_jensen)),
            claimed=0.0,
            **averaged(level),
        ),
        here(
            "The farthest x[k] by V-B and by VI-B with a division lie apart, averaged over households.",
            "largest difference of x[k]",
            unit="log kWh",
            claimed=0.0,
            **averaged(farthest),
        ),
        here(
            "Both after the log: the variance of x[k] that a mean per slot of the week leaves, over that of a mean "
            "per slot of the day. The week has two or three readings a slot and takes signal out.",
            "variance ratio of x[k], week over day",
            claimed=1.0,
            **averaged(kept),
        ),
        here(
            "The same for white noise, where no season can explain it. (Check: 1 - slots/readings, in expectation.)",
            "variance ratio of white noise, week over day",
            closed_form=(1 - readings["week"]) / (1 - readings["day"]),
            claimed=1.0,
            **averaged(iid),
        ),
    )


def _mean_by(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Mean over the slots of each group, at every slot."""
    return (np.bincount(group, values) / np.bincount(group))[group]


@defect(
    "R7",
    "(58)-(60)",
    "a and b change places between (58) and (59), and (60) prints a convolution.",
    "The covariance (57) of one variant of the text is not that of the other, by an order of magnitude.",
    "(59) is followed, with b_0 = 1 and a free innovation variance.",
    note="(60) is given as far as our copy of the paper can be read.",
)
def swapped_coefficients(noise: NoiseSource) -> tuple[Finding, ...]:
    a, b = -0.9, 0.5
    settings = f"m = n = 1, a_1 = {a:g}, b_0 = 1, b_1 = {b:g}, unit innovations"
    # Frequencies at the middles of equal steps: the trapezoidal rule of a periodic function converges geometrically.
    delay = np.exp(-2j * np.pi * (np.arange(4096) + 0.5) / 4096)
    by_58 = np.abs(a * delay / (1 + b * delay)) ** 2
    by_59 = np.abs((1 + b * delay) / (1 + a * delay)) ** 2
    fit = process([-a], [b])
    response = lfilter([1.0, b], [1.0, a], np.eye(1, 2000)[0])
    lag = 3
    printed_60 = float(response[: lag + 1] @ response[lag::-1])
    here = partial(Finding, settings, "(58), (59)")
    return (
        here(
            "Variance of the process by (59), in which a is the autoregressive part. (Text: by (58), where a stands "
            "above and b below the line; check: mean of the spectrum of (59).)",
            "variance of x[k]",
            float(autocovariance(fit, 1)[0]),
            unit="innovation variance",
            closed_form=float(by_59.mean()),
            claimed=float(by_58.mean()),
        ),
        here(
            "Spectrum at frequency zero by (59) over that by (58). (Check: ((1 + b)^2 / ((1 + a) a))^2.)",
            "ratio of the spectra at frequency 0",
            float(abs(_transfer([1.0, b], [1.0, a]) / _transfer([0.0, a], [1.0, b])) ** 2),
            closed_form=((1 + b) ** 2 / ((1 + a) * a)) ** 2,
            claimed=1.0,
        ),
        Finding(
            settings,
            "(60)",
            f"Covariance at lag {lag}. (Text: (60) as our copy prints it, the sum of h[i] h[k-i], a convolution; the "
            "covariance is the sum of h[i] h[i+k]; check: the sum.)",
            f"covariance of x[k] at lag {lag}",
            float(autocovariance(fit, lag + 1)[lag]),
            unit="innovation variance",
            closed_form=float(response[:-lag] @ response[lag:]),
            claimed=printed_60,
        ),
    )


def _transfer(above: list[float], below: list[float]) -> float:
    """Transfer function at frequency zero."""
    return sum(above) / sum(below)


@defect(
    "R9",
    "(55), (57), Algorithm 2",
    "(57) is the covariance of the future given the past. The query is the conditional mean, whose covariance is "
    "S^fo (S^o)^-1 S^of.",
    "The distribution that is to protect the query is not its distribution: the query has rank max(p, q), so "
    "without noise there "
    "is no density and no privacy, and anyone who knows the past knows the query.",
    "Queries count as known (`query_model: deterministic`): only added noise protects.",
)
def distribution_of_the_query(noise: NoiseSource) -> tuple[Finding, ...]:
    phi, other = 0.9, 0.5
    fit = process([phi])
    variance = float(autocovariance(fit, 1)[0])
    query = np.diag(query_covariance(fit, _STEPS)) / variance
    future = np.diag(forecast_covariance(fit, _STEPS)) / variance
    home = process(*_arma_6_5())
    rank = int(np.linalg.matrix_rank(query_covariance(home, _STEPS), tol=1e-10))
    full = int(np.linalg.matrix_rank(forecast_covariance(home, _STEPS), tol=1e-10))
    settings = f"AR({phi:g}), {_STEPS} steps, relative to the variance of the process"
    two_steps = f"AR({phi:g}) and AR({other:g}), two steps, no noise, eps = 1"
    here = partial(Finding, settings, "(55), (57)")
    return (
        here(
            "Variance of the query E[x^f | x^o] at the first step; (57) gives that of the reading around it. (Check: "
            "phi^2.)",
            "variance of the query, step 1",
            float(query[0]),
            unit="process variance",
            closed_form=phi**2,
            claimed=float(future[0]),
        ),
        here(
            f"The same at step {_STEPS}: the query's falls where (57)'s grows. (Check: phi^{2 * _STEPS}.)",
            f"variance of the query, step {_STEPS}",
            float(query[-1]),
            unit="process variance",
            closed_form=phi ** (2 * _STEPS),
            claimed=float(future[-1]),
        ),
        Finding(
            "an ARMA(6, 5) process",
            "(57)",
            "Rank of the covariance of the query: max(p, q), so that without noise it has no density. (Text: "
            "of (57).)",
            f"rank over {_STEPS} steps",
            float(rank),
            closed_form=6.0,
            claimed=float(full),
        ),
        Finding(
            two_steps,
            "(57), Fig. 4",
            "Share of forecasts that two households' queries give away without noise, although both have mean zero: "
            "the second step is phi times the first.",
            "share of forecasts traced",
            _traced(noise, phi, other),
            closed_form=1.0,
        ),
        Finding(
            two_steps,
            "(57), Fig. 4",
            "The same as a delta, from the distribution of the query. (Text: from (57).)",
            "Pr(L > 1) without noise",
            worst(_distributions([_line(phi), _line(other)]), 1.0),
            closed_form=1.0,
            claimed=worst(_distributions([forecast_covariance(process([c]), 2) for c in (phi, other)]), 1.0),
        ),
    )


def _line(phi: float) -> np.ndarray:
    """Covariance of the two-step query (phi, phi^2) x of an AR(1) with unit innovations."""
    step = np.array([phi, phi**2])
    return np.outer(step, step) / (1 - phi**2)


def _distributions(covariances: list[np.ndarray]) -> ClassQueries:
    """Two distributions of mean zero."""
    return two_labels(np.zeros(2), covariances[0], np.zeros(2), covariances[1])


def _arma_6_5() -> tuple[np.ndarray, np.ndarray]:
    """phi and theta from reciprocal roots well inside the unit circle."""
    pairs = [0.95 * np.exp(0.2j), 0.8 * np.exp(1.1j), 0.6 * np.exp(2.0j)]
    zeros = [0.7 * np.exp(0.6j), 0.5 * np.exp(1.6j)]
    ar = -np.poly([*pairs, *np.conj(pairs)]).real[1:]
    return ar, np.poly([*zeros, *np.conj(zeros), -0.4]).real[1:]


def _traced(noise: NoiseSource, phi: float, other: float) -> float:
    """Share of two-step forecasts whose household is named by the direction they lie in."""
    truth = noise.uniform((_DRAWS,)) < 0.5
    coefficient = np.where(truth, other, phi)
    last = noise.normal((_DRAWS,)) / np.sqrt(1 - coefficient**2)
    first, second = coefficient * last, coefficient**2 * last
    guess = np.abs(second - other * first) < np.abs(second - phi * first)
    return float(np.mean(guess == truth))


@defect(
    "R13",
    "Section V-A, (57), (62)",
    "The privacy of a forecast is that of a process of mean zero; (62) adds the household's seasonal mean before "
    "the noise, and what is released carries it.",
    "The printed deltas come near only if the seasonal mean counts as public. It is the household's own and "
    "describes it best: with it in the query no curve of Fig. 4 leaves 1 visibly.",
    "The query is the whole forecast, seasonal mean included.",
    note="The variants with and without the mean stand side by side in the scorecard.",
)
def public_seasonal_mean(noise: NoiseSource) -> tuple[Finding, ...]:
    phi, rho, difference, epsilon = 0.9, 1.4, 0.5, 1.0
    fit = process([phi])
    distribution = _HOME_VARIANCE * forecast_covariance(fit, _STEPS) / float(autocovariance(fit, 1)[0])
    released = distribution + rho / _STEPS * np.eye(_STEPS)
    mean = np.full(_STEPS, difference)
    mu = math.sqrt(mean @ np.linalg.solve(released, mean))
    settings = (
        f"two AR({phi:g}) homes of variance {_HOME_VARIANCE:g}, {_STEPS} steps, (57) as the distribution, white "
        "noise of "
        f"rho = {rho:g} in total, eps = {epsilon:g}"
    )
    both = [two_labels(m * mean, released, 0 * mean, released) for m in (0.0, 1.0)]
    without, with_mean = (worst(queries, epsilon, "one") for queries in both)
    return (
        Finding(
            settings,
            "V-A, (57), (62)",
            "One-sided delta of what (62) releases of two homes whose logarithms have seasonal means "
            f"{difference:g} apart. (Check: (33). Text: of the zero-mean query.)",
            "delta with the seasonal mean in the query",
            with_mean,
            closed_form=normal_tail(mu, epsilon),
            claimed=without,
        ),
    )
