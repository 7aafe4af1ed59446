"""What regulators' rules withhold, and what they give away all the same, measured on the energies of a study."""

from __future__ import annotations

import numpy as np

from meterdp.feeders.attack import (
    KNOWN_TO_KWH,
    Solved,
    best_advantage,
    by_differencing,
    by_knowing_the_others,
    by_overlapping_groups,
    contributions,
    fewest_groups,
    most_advantage,
    passing,
    random_groups,
)
from meterdp.feeders.errors import NoiseOf
from meterdp.feeders.mechanism import FeederRecords
from meterdp.feeders.rules import RULES, PublicationRule, group_totals, suppressed
from meterdp.feeders.study import RANDOM, Energies, FeederStudy, Grouping

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
    told = best_advantage(adds, np.roll(adds, 1, axis=0))
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
        "advantage_median": float(np.median(told)),
        "advantage_greatest": float(told.max()),
        "advantage_bound": most_advantage(mechanism.mu),
    }


def _as_metered(energy_kwh: np.ndarray) -> np.ndarray:
    """Round to what meters count in."""
    return np.rint(energy_kwh / KNOWN_TO_KWH) * KNOWN_TO_KWH
