"""Regulators' rules for totals, attacks on totals that pass them, and what private totals cost.

A rule asks for a least number of customers, and for a largest share that any one of them may have. The texts were
written for monthly or yearly totals and do not say of which energy the share is taken once totals are half-hourly, so
both variants are here: a share of the total of each interval, or of the whole period. A rule looks at the data to
decide what is published and promises nothing about what follows from several totals (docs/feeder_rules.md). Two
attacks use exact totals, each of which passes the rule and is rounded as it would be published:

* :func:`by_differencing`: a total before and after one customer joins or leaves. The difference is that customer's
  reading.
* :func:`by_overlapping_groups`: totals of many overlapping groups (streets, tariffs, age of the house, ...) are
  linear equations for the readings; as many as there are households give all of them. Dinur and Nissim (2003) show
  that errors much smaller than sqrt(N) readings do not help when groups are many.

Proven totals meet somebody who knows more, all readings of all other households. :func:`by_knowing_the_others` takes
them off the total; :func:`advantage` says how much better than a coin two records of one household can be
distinguished, beside what mu-GDP allows (Dong, Roth and Su 2022, Section 2).

Errors are set beside what a layman would do: clip every reading to a public bound and add Laplace or Gaussian noise
to
every total. To hide all readings of a household that noise has to grow with their number (``laplace``, ``gaussian``);
tools that protect one value at a time add noise as if a household had one reading (``laplace_one_reading``), which is
another promise. The number of households times the mean profile of all, without noise, is what knowing nothing of a
feeder costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from meterdp.core.job import progress
from meterdp.core.noise import fixed_uniforms
from meterdp.feeders.mechanism import FeederRecords, FeederTotals
from meterdp.feeders.study import RANDOM, Energies, FeederStudy, Grouping
from meterdp.privacy import gaussian
from meterdp.privacy.noise import NoiseSource

# Of which total a customer's share is taken.
INTERVAL, PERIOD = SHARES_OF = "interval", "period"


@dataclass(frozen=True)
class PublicationRule:
    """One rule: a total may be published if its group has enough customers and none of them dominates it.

    Parameters
    ----------
    name : str
        As regulators write it: number of customers / largest share in per cent.
    least_customers : int
        The total is of so many customers or more.
    most_share : float
        No customer has more than this share of it; 1 for a rule that counts customers only.
    where : str
        Who uses it, for what.
    """

    name: str
    least_customers: int
    most_share: float
    where: str

    @property
    def shares_of(self) -> tuple[str, ...]:
        """Ways to read the rule: one if it only counts customers."""
        return SHARES_OF if self.most_share < 1 else (INTERVAL,)

    def passes(self, customers: np.ndarray, largest_kwh: np.ndarray, total_kwh: np.ndarray) -> np.ndarray:
        """Return whether totals may be published, bool; three arrays that broadcast against one another.

        A total of zero passes: no one has more than a share of nothing, although it reveals everybody's reading.
        """
        # Shares that are met exactly pass, whatever the rounding of sums.
        bound = self.most_share * total_kwh * (1 + 1e-12)
        return (customers >= self.least_customers) & (largest_kwh <= bound)

    def may_publish(self, energy_kwh: np.ndarray, feeder: np.ndarray, feeders: int, share_of: str) -> np.ndarray:
        """Return which totals of groups may be published, (F, T) bool.

        Parameters
        ----------
        energy_kwh : (N, T) float64
            Energy of every customer, none of it negative.
        feeder : (N,) int array
            Group 0..F-1 of every customer.
        feeders : int
            F.
        share_of : {"interval", "period"}
            Whether the share is of the total of each interval or of the whole period, which lets all totals of a
            group pass or none.
        """
        customers = np.bincount(feeder, minlength=feeders)[:, None]
        judged = energy_kwh.sum(axis=1, keepdims=True) if share_of == PERIOD else energy_kwh
        totals, largest = group_totals(judged, feeder, feeders), group_largest(judged, feeder, feeders)
        return np.broadcast_to(self.passes(customers, largest, totals), (feeders, energy_kwh.shape[1]))


RULES = (
    PublicationRule(
        "4/50",
        4,
        0.50,
        "Colorado, energy of a whole building for its owner, who promises not to pass it on "
        "(4 CCR 723-4, rule 4034, of gas; adopted together with that of electricity)",
    ),
    PublicationRule(
        "15/15",
        15,
        0.15,
        "California, quarterly tables of customers that are no homes by ZIP code (CPUC decision 14-05-016); "
        "New York, homes in the Utility Energy Registry (PSC order of April 2018); Illinois, twelve months of "
        "usage by rate class and ZIP+4",
    ),
    PublicationRule(
        "100",
        100,
        1.0,
        "California, quarterly tables of homes by ZIP code (CPUC decision 14-05-016)",
    ),
)


@dataclass(frozen=True)
class Suppressed:
    """What a rule withholds.

    Parameters
    ----------
    total_share : float
        Share of the totals.
    energy_share : float
        Share of the energy in them; 0 where there is none.
    """

    total_share: float
    energy_share: float


def suppressed(may_publish: np.ndarray, total_kwh: np.ndarray) -> Suppressed:
    """Return what is withheld of totals (F, T) if only those marked (F, T) may be published."""
    energy = total_kwh.sum()
    withheld = total_kwh[~may_publish].sum()
    return Suppressed(float(1 - may_publish.mean()), float(withheld / energy) if energy > 0 else 0.0)


def group_totals(energy_kwh: np.ndarray, feeder: np.ndarray, feeders: int) -> np.ndarray:
    """Return the sums of groups 0..F-1 of customers, (F, T) float64."""
    return _by_group(np.add, energy_kwh, feeder, feeders)


def group_largest(energy_kwh: np.ndarray, feeder: np.ndarray, feeders: int) -> np.ndarray:
    """Return the largest value in groups 0..F-1 of customers, (F, T) float64; 0 in a group without any."""
    return _by_group(np.maximum, energy_kwh, feeder, feeders)


def _by_group(combine: np.ufunc, values: np.ndarray, feeder: np.ndarray, feeders: int) -> np.ndarray:
    out = np.zeros((feeders, values.shape[1]))
    order = np.argsort(feeder, kind="stable")
    present, first = np.unique(feeder[order], return_index=True)
    if present.size:
        out[present] = combine.reduceat(values[order], first, axis=0)
    return out


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
    """Return how much better than a coin two records of one household can be distinguished, everything else known,
    (n,).

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


OVERLAPPING, OTHERS_KNOWN = "overlapping_groups", "others_known"
# Overlapping groups are of so many of the first so many households; so many are drawn for each of these.
GROUP_SIZE, GROUPS_OF, GROUPS_EACH = 100, 200, 20
# Totals are published in watt-hours, or in these.
COARSE_KWH = 1.0
# What a row of the one attack has not of the other.
BLANK = dict.fromkeys(
    (
        *("rule", "share_of", "group_count", "rounded_to_kwh", "known_reading_share"),
        *("epsilon", "delta", "best_rms_error_kwh", "advantage_median", "advantage_greatest", "advantage_bound"),
    )
)


def rule_rows(study: FeederStudy) -> list[dict]:
    """Return the rows of the table ``feeder_rules``: what each rule withholds, and differencing gives, by size."""
    if not study.windows:
        return []
    window = study.windows[0]
    energy = _as_metered(window.energy_kwh)
    return [
        _rule_row(study, window, energy, grouping, rule, share_of)
        for grouping in study.groupings()
        for rule in RULES
        for share_of in rule.shares_of
    ]


def _rule_row(study: FeederStudy, window: Energies, energy, grouping: Grouping, rule: PublicationRule, share_of: str):
    judged = grouping.feeder < grouping.judged
    of = energy[judged], grouping.feeder[judged], grouping.judged
    withheld = suppressed(rule.may_publish(*of, share_of), group_totals(*of))
    exposed = by_differencing(*of, rule, share_of)
    return {
        "grouping": grouping.kind,
        "feeder_size": grouping.size,
        "feeder_count": grouping.judged,
        "household_count": int(judged.sum()),
        "interval_minutes": study.interval_minutes,
        "day_count": window.days,
        "rule": rule.name,
        "share_of": share_of if rule.most_share < 1 else "none",
        "withheld_total_share": withheld.total_share,
        "withheld_energy_share": withheld.energy_share,
        "exposed_reading_share": exposed.reading_share,
        "exposed_household_share": exposed.household_share,
        "exposed_greatest_error_kwh": None if np.isnan(exposed.greatest_error_kwh) else exposed.greatest_error_kwh,
    }


def attack_rows(study: FeederStudy, noise_of: NoiseOf) -> list[dict]:
    """Return the rows of the table ``feeder_attacks``: overlapping groups, then sound totals by size and epsilon."""
    if not study.windows:
        return []
    return [*_group_rows(study), *_sound_rows(study, noise_of)]


def _group_rows(study: FeederStudy) -> list[dict]:
    """Solve for the readings of the last day from totals of random groups of which every one passes a rule."""
    window = study.windows[0]
    energy = _as_metered(window.energy_kwh[:GROUPS_OF, -window.shape["intervals_per_day"] :])
    households = len(energy)
    if households <= GROUP_SIZE:
        return []
    facts = BLANK | {
        "attack": OVERLAPPING,
        "window": window.name,
        "feeder_size": float(GROUP_SIZE),
        "household_count": households,
        "guess_rms_error_kwh": float(np.sqrt(((energy - energy.mean(axis=0)) ** 2).mean())),
    }
    drawn = random_groups(households, GROUP_SIZE, GROUPS_EACH * households)
    rows, known = [], {}
    for rule in RULES:
        for share_of in rule.shares_of:
            published = passing(drawn, energy, rule, share_of)
            if not published.any():
                continue
            if (key := published.tobytes()) not in known:  # rules that let the same groups pass
                known[key] = _solved(energy, drawn[published])
            rows += [
                facts
                | {
                    "rule": rule.name,
                    "share_of": share_of if rule.most_share < 1 else "none",
                    "group_count": found.groups,
                    "rounded_to_kwh": unit,
                    "known_reading_share": found.known.reading_share,
                    "rms_error_kwh": found.rms_error_kwh,
                }
                for unit, found in known[key].items()
            ]
    return rows


def _solved(energy: np.ndarray, member: np.ndarray) -> dict[float, Solved]:
    """Return by what totals are rounded to how many groups were solved, and how well."""
    fine, coarse = fewest_groups(energy, member), by_overlapping_groups(energy, member, COARSE_KWH)
    return {KNOWN_TO_KWH: fine, COARSE_KWH: coarse}


def _sound_rows(study: FeederStudy, noise_of: NoiseOf) -> list[dict]:
    """Take the readings of all others off sound totals of random feeders."""
    return [
        _sound_row(study, grouping, study.windows[0], epsilon, noise_of)
        for grouping in study.groupings()
        if grouping.kind == RANDOM and grouping.size > 1
        for epsilon in study.settings["epsilons"]
    ]


def _sound_row(study: FeederStudy, grouping: Grouping, window: Energies, epsilon: float, noise_of: NoiseOf) -> dict:
    mechanism = study.mechanism(grouping, window, epsilon)
    noise = noise_of("known others", window.name, repr(grouping.size), repr(epsilon))
    released = mechanism.release(FeederRecords(window.energy_kwh), noise).total_kwh
    judged = grouping.feeder < grouping.judged
    found = by_knowing_the_others(window.energy_kwh[judged], grouping.feeder[judged], released[: grouping.judged])
    adds = contributions(mechanism, window.energy_kwh)
    # Every household against another one's record in its place.
    advantages = best_advantage(adds, np.roll(adds, 1, axis=0))
    return BLANK | {
        "attack": OTHERS_KNOWN,
        "window": window.name,
        "epsilon": epsilon,
        "delta": study.delta,
        "feeder_size": grouping.size,
        "household_count": int(judged.sum()),
        "rms_error_kwh": found.rms_error_kwh,
        "guess_rms_error_kwh": found.guess_rms_error_kwh,
        "best_rms_error_kwh": found.best_rms_error_kwh,
        "advantage_median": float(np.median(advantages)),
        "advantage_greatest": float(advantages.max()),
        "advantage_bound": most_advantage(mechanism.mu),
    }


def _as_metered(energy_kwh: np.ndarray) -> np.ndarray:
    """Round to what meters count in."""
    return np.rint(energy_kwh / KNOWN_TO_KWH) * KNOWN_TO_KWH
