"""Why a total that passes a regulator's rule is not private: readings of single households from published totals.

Two attacks on exact totals, of which every single one passes the rule and is rounded as it would be published.

* :func:`by_differencing`: a total before and after one customer joins or leaves. The difference is that customer's
  reading.
* :func:`by_overlapping_groups`: totals of many overlapping groups (streets, tariffs, age of the house, ...) are
  linear equations for the readings; as many as there are households give all of them. Dinur and Nissim (2003) show
  that errors much smaller than sqrt(N) readings do not help when groups are many.

Sound totals meet somebody who knows more, all readings of all other households. :func:`by_knowing_the_others` takes
them off the total; :func:`advantage` says how much better than a coin two records of one household are told apart,
beside what mu-GDP allows (Dong, Roth and Su 2022, Section 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from meterdp.core.noise import fixed_uniforms
from meterdp.feeders.mechanism import FeederTotals
from meterdp.feeders.rules import PERIOD, PublicationRule, group_totals

# Meters count in watt-hours.
KNOWN_TO_KWH = 1e-3


@dataclass(frozen=True)
class Exposure:
    """What an attack on exact totals gives.

    Parameters
    ----------
    reading_share : float
        Share of all readings that it gives.
    household_share : float
        Share of households of which it gives one reading or more.
    greatest_error_kwh : float
        Greatest error of a reading that it gives; NaN if it gives none.
    """

    reading_share: float
    household_share: float
    greatest_error_kwh: float


def by_differencing(
    energy_kwh: np.ndarray,
    feeder: np.ndarray,
    feeders: int,
    rule: PublicationRule,
    share_of: str,
    rounded_to_kwh: float = KNOWN_TO_KWH,
) -> Exposure:
    """Take each household's readings from the totals of its feeder with it and without it, both if they pass.

    Parameters
    ----------
    energy_kwh : (N, T) float64
        None of it negative.
    feeder : (N,) int array
        Feeder 0..F-1 of every household.
    feeders : int
        F.
    rule : PublicationRule
        What both totals have to pass.
    share_of : {"interval", "period"}
        How the rule is read.
    rounded_to_kwh : float
        Published totals are whole multiples of it.
    """
    published = rule.may_publish(energy_kwh, feeder, feeders, share_of)
    found, worst = np.zeros(energy_kwh.shape, bool), math.nan
    for f in range(feeders):
        members = np.flatnonzero(feeder == f)
        own = energy_kwh[members]
        if not members.size:
            continue
        without = own.sum(axis=0) - own
        judged = own.sum(axis=1, keepdims=True) if share_of == PERIOD else own
        passes = rule.passes(members.size - 1, _largest_other(judged), judged.sum(axis=0) - judged)
        seen = published[f] & np.broadcast_to(passes, own.shape)
        difference = _rounded(own.sum(axis=0), rounded_to_kwh) - _rounded(without, rounded_to_kwh)
        found[members] = seen
        worst = np.fmax(worst, np.abs(difference - own)[seen].max(initial=-math.inf)) if seen.any() else worst
    return Exposure(float(found.mean()), float(found.any(axis=1).mean()), float(worst))


def _largest_other(values: np.ndarray) -> np.ndarray:
    """Return for every row of (n, T) the largest value of the others; 0 if there is no other."""
    if len(values) < 2:
        return np.zeros(values.shape)
    ordered = np.sort(values, axis=0)
    alone = values.argmax(axis=0) == np.arange(len(values))[:, None]
    return np.where(alone, ordered[-2], ordered[-1])


def _rounded(energy_kwh: np.ndarray, unit_kwh: float) -> np.ndarray:
    return np.rint(energy_kwh / unit_kwh) * unit_kwh


@dataclass(frozen=True)
class Solved:
    """What totals of overlapping groups give.

    Parameters
    ----------
    groups : int
        Totals that were solved.
    rank : int
        Rank of these equations.
    known : Exposure
        Readings that are off by less than half of ``KNOWN_TO_KWH``: as meters count in that unit, exactly known.
    rms_error_kwh : float
        Root mean square error of all readings.
    """

    groups: int
    rank: int
    known: Exposure
    rms_error_kwh: float


def random_groups(households: int, size: int, count: int) -> np.ndarray:
    """Return public random groups of ``size`` of N households, (count, N) bool."""
    return fixed_uniforms(f"groups of {size}", (count, households)).argsort(axis=1).argsort(axis=1) < size


def passing(member: np.ndarray, energy_kwh: np.ndarray, rule: PublicationRule, share_of: str) -> np.ndarray:
    """Return which groups pass a rule in all intervals, (k,) bool, of households with energies (N, T)."""
    judged = energy_kwh.sum(axis=1, keepdims=True) if share_of == PERIOD else energy_kwh
    largest = np.empty((len(member), judged.shape[1]))
    for t, energy in enumerate(judged.T):
        order = energy.argsort()[::-1]
        largest[:, t] = energy[order[member[:, order].argmax(axis=1)]]
    customers = member.sum(axis=1, keepdims=True)
    return rule.passes(customers, largest, member.astype(float) @ judged).all(axis=1)


def by_overlapping_groups(energy_kwh: np.ndarray, member: np.ndarray, rounded_to_kwh: float = KNOWN_TO_KWH) -> Solved:
    """Solve the totals of k groups for every reading by least squares.

    Parameters
    ----------
    energy_kwh : (N, T) float64
    member : (k, N) bool
        Whether a household is in a group.
    rounded_to_kwh : float
        Published totals are whole multiples of it.
    """
    equations = member.astype(float)
    solved, _, rank, _ = np.linalg.lstsq(equations, _rounded(equations @ energy_kwh, rounded_to_kwh), rcond=None)
    error = np.abs(solved - energy_kwh)
    known = error < KNOWN_TO_KWH / 2
    worst = float(error[known].max()) if known.any() else math.nan
    exposure = Exposure(float(known.mean()), float(known.any(axis=1).mean()), worst)
    return Solved(len(member), int(rank), exposure, float(np.sqrt((error**2).mean())))


def fewest_groups(energy_kwh: np.ndarray, member: np.ndarray, rounded_to_kwh: float = KNOWN_TO_KWH) -> Solved:
    """Publish one group after the other until every reading of a household that is in any of them is known.

    Parameters
    ----------
    energy_kwh, member, rounded_to_kwh
        As of :func:`by_overlapping_groups`; all groups are solved if that is not enough.
    """
    inside = member.any(axis=0)
    fewest = min(int(inside.sum()), len(member))  # fewer equations leave readings open
    for k in range(fewest, len(member) + 1):
        solved = by_overlapping_groups(energy_kwh[inside], member[:k, inside], rounded_to_kwh)
        if solved.known.reading_share == 1:
            break
    return by_overlapping_groups(energy_kwh, member[:k], rounded_to_kwh)


@dataclass(frozen=True)
class Recovery:
    """How well readings are got from noisy totals, root mean square errors in kWh.

    Parameters
    ----------
    rms_error_kwh : float
        Of what is left of a total without the readings of all others.
    guess_rms_error_kwh : float
        Of the mean of the others on the feeder, for which no total is needed.
    best_rms_error_kwh : float
        Of the best mixture of both, with weights that only somebody who has the readings can know.
    """

    rms_error_kwh: float
    guess_rms_error_kwh: float
    best_rms_error_kwh: float


def by_knowing_the_others(energy_kwh: np.ndarray, feeder: np.ndarray, released_kwh: np.ndarray) -> Recovery:
    """Take the readings of all others on its feeder off a released total, for every household.

    Parameters
    ----------
    energy_kwh : (N, T) float64
    feeder : (N,) int array
        Feeder 0..F-1 of every household, each of two households or more.
    released_kwh : (F, T) float64
    """
    others = (group_totals(energy_kwh, feeder, len(released_kwh)))[feeder] - energy_kwh
    count = np.bincount(feeder, minlength=len(released_kwh))[feeder, None] - 1
    guess = others / count
    off, guess_off = released_kwh[feeder] - others - energy_kwh, guess - energy_kwh
    towards = off - guess_off  # the mixture is guess + weight (left - guess)
    weight = -(guess_off * towards).sum() / (towards**2).sum()
    best = guess_off + weight * towards
    return Recovery(*(float(np.sqrt((error**2).mean())) for error in (off, guess_off, best)))


def contributions(mechanism: FeederTotals, energy_kwh: np.ndarray) -> np.ndarray:
    """Return what every record adds to all sums that are measured, in standard deviations of their noise, (N, K).

    Of a mechanism without a grid, as in a study.
    """
    coefficients, read = mechanism._coefficients(energy_kwh)
    measured = (mechanism.plan.common, mechanism.plan.own)
    return np.hstack([mechanism._added(coefficients, read, m) / m.step.noise_std for m in measured])


def best_advantage(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return how much better than a coin two records of one household are told apart, everything else known, (n,).

    The probability of saying "the first" when it is, less that of saying so when it is the second, of the best test
    there is (Neyman and Pearson) on the noisy sums themselves, which tell at least what totals made of them tell:
    2 Phi(d / 2) - 1 for sums that are d standard deviations apart. Under mu-GDP it is :func:`most_advantage` at most.

    Parameters
    ----------
    first, second : (n, K) float64
        :func:`contributions` of the two records.
    """
    apart = np.sqrt(((first - second) ** 2).sum(axis=1))
    return 2 * ndtr(apart / 2) - 1


def most_advantage(mu: float) -> float:
    """Return the largest advantage of any test against a mu-GDP release (Dong, Roth and Su 2022, Definition 3)."""
    return float(2 * ndtr(mu / 2) - 1)
