"""Regulators' rules for totals, attacks on totals that pass them, and an attack on sound totals.

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

Sound totals meet somebody who knows more, all readings of all other households. :func:`by_knowing_the_others` takes
them off the total; :func:`best_advantage` says how much better than a coin two records of one household can be
distinguished, beside what mu-GDP allows (Dong, Roth and Su 2022, Section 2).

Households, customers and feeders are numbered: energies are (N, T) kWh, none of them negative, and ``feeder`` (N,) is
the feeder 0..F-1 of each household.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from meterdp.core.noise import fixed_uniforms
from meterdp.feeders.mechanism import FeederRecords, FeederTotals
from meterdp.feeders.study import RANDOM, FeederStudy, NoiseOf, by_feeder

# Of which total a customer's share is taken: of each interval's, or of the whole period's.
INTERVAL, PERIOD = "interval", "period"


@dataclass(frozen=True)
class PublicationRule:
    """A total may be published if it is of enough customers and none of them has more than a share of it.

    ``name`` is as regulators write it, number of customers / largest share in per cent; ``most_share`` is 1 for a
    rule that counts customers only.
    """

    name: str
    least_customers: int
    most_share: float

    @property
    def shares_of(self) -> tuple[str, ...]:
        """Ways to read the rule: one if it only counts customers."""
        return (INTERVAL, PERIOD) if self.most_share < 1 else (INTERVAL,)

    def passes(self, customers: np.ndarray, largest_kwh: np.ndarray, total_kwh: np.ndarray) -> np.ndarray:
        """Return whether totals may be published, bool; three arrays that broadcast against one another.

        A total of zero passes: no one has more than a share of nothing, although it reveals everybody's reading.
        """
        # Shares that are met exactly pass, whatever the rounding of sums.
        bound = self.most_share * total_kwh * (1 + 1e-12)
        return (customers >= self.least_customers) & (largest_kwh <= bound)

    def may_publish(self, energy_kwh: np.ndarray, feeder: np.ndarray, feeders: int, share_of: str) -> np.ndarray:
        """Return which totals (F, T) may be published; a share of the period lets all of a feeder pass or none."""
        customers = np.bincount(feeder, minlength=feeders)[:, None]
        judged = _judged(energy_kwh, share_of)
        totals, largest = by_feeder(np.add, judged, feeder, feeders), by_feeder(np.maximum, judged, feeder, feeders)
        return np.broadcast_to(self.passes(customers, largest, totals), (feeders, energy_kwh.shape[1]))


def _judged(energy_kwh: np.ndarray, share_of: str) -> np.ndarray:
    """Return the energies shares are taken of, (N, T) or (N, 1)."""
    return energy_kwh.sum(axis=1, keepdims=True) if share_of == PERIOD else energy_kwh


# docs/feeder_rules.md says who uses them, and for what.
RULES = (PublicationRule("4/50", 4, 0.50), PublicationRule("15/15", 15, 0.15), PublicationRule("100", 100, 1.0))


def withheld(may_publish: np.ndarray, total_kwh: np.ndarray) -> tuple[float, float]:
    """Return the shares of totals (F, T), and of the energy in them, that are withheld if only those marked pass."""
    energy = total_kwh.sum()
    of_energy = total_kwh[~may_publish].sum() / energy if energy > 0 else 0.0
    return float(1 - may_publish.mean()), float(of_energy)


# -- attacks on exact totals -----------------------------------------------------------------------------------------

# Meters count in watt-hours, and so do published totals.
KNOWN_TO_KWH = 1e-3


def _rounded(energy_kwh: np.ndarray, unit_kwh: float = KNOWN_TO_KWH) -> np.ndarray:
    return np.rint(energy_kwh / unit_kwh) * unit_kwh


@dataclass(frozen=True)
class Exposure:
    """What differencing gives: shares of all readings, and of households with one reading or more.

    The greatest error of such a reading is NaN if there is none.
    """

    reading_share: float
    household_share: float
    greatest_error_kwh: float


def by_differencing(
    energy_kwh: np.ndarray, feeder: np.ndarray, feeders: int, rule: PublicationRule, share_of: str
) -> Exposure:
    """Take each household's readings from the totals of its feeder with it and without it, both if they pass."""
    published = rule.may_publish(energy_kwh, feeder, feeders, share_of)
    found, worst = np.zeros(energy_kwh.shape, bool), math.nan
    for f in range(feeders):
        members = np.flatnonzero(feeder == f)
        own = energy_kwh[members]
        if not members.size:
            continue
        without = own.sum(axis=0) - own
        judged = _judged(own, share_of)
        passes = rule.passes(members.size - 1, _largest_other(judged), judged.sum(axis=0) - judged)
        seen = published[f] & np.broadcast_to(passes, own.shape)
        difference = _rounded(own.sum(axis=0)) - _rounded(without)
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


def random_groups(households: int, size: int, count: int) -> np.ndarray:
    """Return public random groups of ``size`` of N households, (count, N) bool."""
    return fixed_uniforms(f"groups of {size}", (count, households)).argsort(axis=1).argsort(axis=1) < size


def passing(member: np.ndarray, energy_kwh: np.ndarray, rule: PublicationRule, share_of: str) -> np.ndarray:
    """Return which groups (k, N) pass a rule in all intervals, (k,) bool."""
    judged = _judged(energy_kwh, share_of)
    largest = np.empty((len(member), judged.shape[1]))
    for t, energy in enumerate(judged.T):
        order = energy.argsort()[::-1]
        largest[:, t] = energy[order[member[:, order].argmax(axis=1)]]
    customers = member.sum(axis=1, keepdims=True)
    return rule.passes(customers, largest, member.astype(float) @ judged).all(axis=1)


@dataclass(frozen=True)
class Solved:
    """What the totals of so many overlapping groups, equations of this rank, give.

    ``known`` (N, T) bool marks readings that are off by less than half of what meters count in: exactly known. The
    root mean square error is that of all readings.
    """

    groups: int
    rank: int
    known: np.ndarray
    rms_error_kwh: float


def by_overlapping_groups(energy_kwh: np.ndarray, member: np.ndarray, rounded_to_kwh: float = KNOWN_TO_KWH) -> Solved:
    """Solve the totals of groups (k, N) bool, whole multiples of a unit, for every reading by least squares."""
    equations = member.astype(float)
    solved, _, rank, _ = np.linalg.lstsq(equations, _rounded(equations @ energy_kwh, rounded_to_kwh), rcond=None)
    error = np.abs(solved - energy_kwh)
    return Solved(len(member), int(rank), error < KNOWN_TO_KWH / 2, float(np.sqrt((error**2).mean())))


def fewest_groups(energy_kwh: np.ndarray, member: np.ndarray) -> Solved:
    """Publish one group after the other until every reading of a household that is in any of them is known.

    All groups are solved if that is not enough.
    """
    inside = member.any(axis=0)
    fewest = min(int(inside.sum()), len(member))  # fewer equations leave readings open
    for k in range(fewest, len(member) + 1):
        if by_overlapping_groups(energy_kwh[inside], member[:k, inside]).known.all():
            break
    return by_overlapping_groups(energy_kwh, member[:k])


# -- an attack on sound totals ---------------------------------------------------------------------------------------


def by_knowing_the_others(energy_kwh: np.ndarray, feeder: np.ndarray, released_kwh: np.ndarray) -> dict[str, float]:
    """Take the readings of all others on its feeder, one or more, off a released total (F, T), for every household.

    Returns root mean square errors, kWh: of what is left; of the mean of the others as a guess, for which no total is
    needed; and of the best mixture of both, with weights that only somebody who has the readings can know.
    """
    others = by_feeder(np.add, energy_kwh, feeder, len(released_kwh))[feeder] - energy_kwh
    count = np.bincount(feeder, minlength=len(released_kwh))[feeder, None] - 1
    guess = others / count
    off, guess_off = released_kwh[feeder] - others - energy_kwh, guess - energy_kwh
    towards = off - guess_off  # the mixture is guess + weight (left - guess)
    weight = -(guess_off * towards).sum() / (towards**2).sum()
    errors = {
        "rms_error_kwh": off,
        "guess_rms_error_kwh": guess_off,
        "best_rms_error_kwh": guess_off + weight * towards,
    }
    return {name: float(np.sqrt((error**2).mean())) for name, error in errors.items()}


def contributions(mechanism: FeederTotals, energy_kwh: np.ndarray) -> np.ndarray:
    """Return what every record adds to all sums that are measured, in standard deviations of their noise, (N, K).

    Of a mechanism without a grid, as in a study.
    """
    coefficients, read = mechanism._coefficients(energy_kwh)
    measured = (mechanism.plan.common, mechanism.plan.own)
    return np.hstack([mechanism._added(coefficients, read, m) / m.step.noise_std for m in measured])


def best_advantage(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return how much better than a coin two records, given by :func:`contributions` (n, K), can be distinguished,
    (n,).

    The probability of saying "the first" when it is, less that of saying so when it is the second, of the best test
    there is (Neyman and Pearson) on the noisy sums themselves, which tell at least what totals made of them tell,
    with everything else known: 2 Phi(d / 2) - 1 for sums that are d standard deviations apart. Under mu-GDP it is
    :func:`most_advantage` at most.
    """
    apart = np.sqrt(((first - second) ** 2).sum(axis=1))
    return 2 * ndtr(apart / 2) - 1


def most_advantage(mu: float) -> float:
    """Return the largest advantage of any test against a mu-GDP release (Dong, Roth and Su 2022, Definition 3)."""
    return float(2 * ndtr(mu / 2) - 1)


# -- rows of the tables ----------------------------------------------------------------------------------------------

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


def _as_read(rule: PublicationRule, share_of: str) -> dict[str, str]:
    return {"rule": rule.name, "share_of": share_of if rule.most_share < 1 else "none"}


def rule_rows(study: FeederStudy) -> list[dict]:
    """Return the rows of the table ``feeder_rules``: what each rule withholds, and differencing gives, by size."""
    if not study.windows:
        return []
    window = study.windows[0]
    energy, rows = _rounded(window.energy_kwh), []
    for grouping in study.groupings():
        judged = grouping.feeder < grouping.judged
        of = energy[judged], grouping.feeder[judged], grouping.judged
        facts = {
            "grouping": grouping.kind,
            "feeder_size": grouping.size,
            "feeder_count": grouping.judged,
            "household_count": int(judged.sum()),
            "interval_minutes": study.interval_minutes,
            "day_count": window.days,
        }
        for rule, share_of in _readings_of_rules():
            total_share, energy_share = withheld(rule.may_publish(*of, share_of), by_feeder(np.add, *of))
            exposed = by_differencing(*of, rule, share_of)
            error = exposed.greatest_error_kwh
            found = {
                "withheld_total_share": total_share,
                "withheld_energy_share": energy_share,
                "exposed_reading_share": exposed.reading_share,
                "exposed_household_share": exposed.household_share,
                "exposed_greatest_error_kwh": None if np.isnan(error) else error,
            }
            rows.append(facts | _as_read(rule, share_of) | found)
    return rows


def _readings_of_rules() -> list[tuple[PublicationRule, str]]:
    return [(rule, share_of) for rule in RULES for share_of in rule.shares_of]


def attack_rows(study: FeederStudy, noise_of: NoiseOf) -> list[dict]:
    """Return the rows of the table ``feeder_attacks``: overlapping groups, then sound totals by size and epsilon."""
    if not study.windows:
        return []
    return [*_group_rows(study), *_sound_rows(study, noise_of)]


def _group_rows(study: FeederStudy) -> list[dict]:
    """Solve for the readings of the last day from totals of random groups of which every one passes a rule."""
    window = study.windows[0]
    energy = _rounded(window.energy_kwh[:GROUPS_OF, -window.shape["intervals_per_day"] :])
    households = len(energy)
    if households <= GROUP_SIZE:
        return []
    facts = BLANK | {
        "attack": "overlapping_groups",
        "window": window.name,
        "feeder_size": float(GROUP_SIZE),
        "household_count": households,
        "guess_rms_error_kwh": float(np.sqrt(((energy - energy.mean(axis=0)) ** 2).mean())),
    }
    drawn = random_groups(households, GROUP_SIZE, GROUPS_EACH * households)
    rows, solved = [], {}
    for rule, share_of in _readings_of_rules():
        published = passing(drawn, energy, rule, share_of)
        if not published.any():
            continue
        if (key := published.tobytes()) not in solved:  # rules that let the same groups pass
            member = drawn[published]
            fine, coarse = fewest_groups(energy, member), by_overlapping_groups(energy, member, COARSE_KWH)
            solved[key] = {KNOWN_TO_KWH: fine, COARSE_KWH: coarse}
        rows += [
            facts
            | _as_read(rule, share_of)
            | {
                "group_count": found.groups,
                "rounded_to_kwh": unit,
                "known_reading_share": float(found.known.mean()),
                "rms_error_kwh": found.rms_error_kwh,
            }
            for unit, found in solved[key].items()
        ]
    return rows


def _sound_rows(study: FeederStudy, noise_of: NoiseOf) -> list[dict]:
    """Take the readings of all others off sound totals of random feeders."""
    window, rows = study.windows[0], []
    random = [grouping for grouping in study.groupings() if grouping.kind == RANDOM and grouping.size > 1]
    for grouping, epsilon in [(grouping, epsilon) for grouping in random for epsilon in study.settings["epsilons"]]:
        mechanism = study.mechanism(grouping, window, epsilon)
        noise = noise_of("known others", window.name, repr(grouping.size), repr(epsilon))
        released = mechanism.release(FeederRecords(window.energy_kwh), noise).total_kwh
        judged = grouping.feeder < grouping.judged
        of = window.energy_kwh[judged], grouping.feeder[judged], released[: grouping.judged]
        adds = contributions(mechanism, window.energy_kwh)
        # Every household against another one's record in its place.
        advantages = best_advantage(adds, np.roll(adds, 1, axis=0))
        facts = {
            "attack": "others_known",
            "window": window.name,
            "epsilon": epsilon,
            "delta": study.delta,
            "feeder_size": grouping.size,
            "household_count": int(judged.sum()),
            "advantage_median": float(np.median(advantages)),
            "advantage_greatest": float(advantages.max()),
            "advantage_bound": most_advantage(mechanism.mu),
        }
        rows.append(BLANK | facts | by_knowing_the_others(*of))
    return rows
