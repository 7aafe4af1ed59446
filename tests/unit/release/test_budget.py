"""What every meter has spent, and what it may: against a plain loop over meters, and under names that change."""

import math
import re
from collections import Counter
from datetime import date

import numpy as np
import pytest
from scipy.optimize import brentq

from meterdp.errors import InputError
from meterdp.privacy import gaussian, spent
from meterdp.privacy.charge import Charge
from meterdp.privacy.guarantee import Limit, PrivacyBudget
from meterdp.privacy.meter_lists import MeterLists, hashed
from meterdp.privacy.periods import interval_of
from meterdp.privacy.spent import Entry, check_budget, most_spent

KEY = b"k" * 32
YEAR, NEXT = ((interval_of(date(y, 1, 1), date(y, 12, 31), "Europe/London"),) for y in (2025, 2026))
BUDGET = PrivacyBudget("", "replace_one", "town", "2025")
LIMIT = Limit(2.0, 1e-5)


@pytest.fixture
def lists():
    return MeterLists()


def add(lists, *meters):
    return lists.add(hashed(meters, KEY))[0]


@pytest.fixture
def town(lists):
    return add(lists, "a")


def entry(meters, epsilon=1.0, limit=LIMIT, periods=YEAR, planned=0.0, **more):
    mu = gaussian.mu_for(epsilon, 1e-5) if epsilon else 0.0
    charge = Charge(mu, 1e-15)
    return Entry(more.pop("budget", BUDGET), meters, periods, charge, limit, planned, **more)


def check(entries, new, lists):
    check_budget(entries, new, lists, "release.epsilon")


def refused(entries, new, lists, words="would spend more"):
    with pytest.raises(InputError, match=words):
        check(entries, new, lists)


def naive(entries, new, on):
    """Whether a release fits, meter by meter; ``on`` has the meters of each list."""
    everybody = set().union(*on.values()) | {"somebody else"}
    for period in new.periods:
        for meter in on.get(new.meters, everybody):
            mine = [
                (number, e)
                for number, e in enumerate(entries)
                if (e.meters is None or meter in on[e.meters]) and (e.periods is None or period in e.periods)
            ]
            raises = [number for number, e in mine if e.raises]
            limits = {e.limit for number, e in mine if number >= max(raises, default=0)} | {new.limit}
            charged = [e for _, e in mine if not e.raises]
            mu2 = sum(e.charge.mu**2 for e in charged)
            variation = sum(e.charge.total_variation for e in charged)
            first_room = next((e for e in charged if e.planned is not None), new).planned
            for limit in limits:
                wanted = max(100 * first_room, 1e-12)
                at, most = limit.epsilon, limit.delta / 10 / wanted
                if 2 < most < 1 + math.exp(at):
                    at = brentq(lambda e, most=most: 1 + math.exp(e) - most, 0, limit.epsilon, xtol=1e-13)
                whole = limit.delta / (1 + math.exp(at))
                budgets = [(at, max(first_room, min(max(1e-3 * whole, wanted), 0.1 * whole)))]
                budgets += [(limit.epsilon, first_room)] * (not charged)
                fits = (
                    variation + new.charge.total_variation <= room
                    and gaussian.delta(math.sqrt(mu2 + new.charge.mu**2), epsilon) + (1 + math.exp(epsilon)) * room
                    <= limit.delta
                    for epsilon, room in budgets
                )
                if not any(fits):
                    return False
    return True


@pytest.mark.parametrize("seed", range(60))
def test_random_histories_are_judged_as_a_loop_over_meters_judges_them(seed):
    generator = np.random.default_rng(seed)
    lists, on, entries, judged = MeterLists(), {}, [], Counter()
    for _ in range(generator.integers(1, 6)):
        meters = [m for m in "abcdefgh" if generator.random() < generator.choice([0.2, 0.5, 1.0])] or ["a"]
        on[add(lists, *meters)] = meters
    names = [*on, None]
    for _ in range(25):
        kind = generator.random()
        periods = [YEAR, NEXT, YEAR + NEXT][generator.integers(3)] if kind > 0.1 else None
        new = entry(
            names[generator.integers(len(names))],
            epsilon=generator.choice([0.0, 0.3, 0.8, 1.7]),
            limit=[LIMIT, Limit(3.0, 1e-5), Limit(1.2, 1e-6)][generator.choice(3, p=[0.6, 0.3, 0.1])],
            periods=periods,
            planned=[1e-14, 1e-13][generator.integers(2)] if kind < 0.9 else None,
            raises=kind < 0.15,
        )
        if new.raises or new.periods is None:
            entries.append(new)
            continue
        fits = naive(entries, new, on) if new.planned is not None else None
        try:
            check(entries, new, lists)
        except InputError:
            assert not fits
            judged["refused"] += 1
        else:
            assert fits or new.planned is None
            judged["fits"] += 1
            entries.append(new)
    assert judged["fits"], judged


def test_as_many_releases_fit_as_the_closed_form_says():
    """The yardstick of the test above: of one list in one period the closed form says how many fit."""
    lists = MeterLists()
    town = add(lists, "a", "b")
    entries = []
    with pytest.raises(InputError, match=r"limit of epsilon 2 at delta 1e-05; one more .* 0\.\d+ would fit"):
        for _ in range(100):
            check(entries, entry(town, 0.5), lists)
            entries.append(entry(town, 0.5))
    mu = gaussian.mu_for(0.5, 1e-5)
    room = max(1e-15, min(max(1e-8 / (1 + np.exp(2)), 1e-13), 1e-6 / (1 + np.exp(2))))
    most = max(n for n in range(1, 100) if gaussian.delta(mu * np.sqrt(n), 2.0) + (1 + np.exp(2)) * room <= 1e-5)
    assert len(entries) == most > 2


@pytest.mark.parametrize(
    "again",
    [
        {"budget": PrivacyBudget("", "replace_one", "city", "2025")},
        {"budget": PrivacyBudget("another unit", "replace_one", "", "the year 2025")},
    ],
)
def test_no_name_gives_the_same_meters_a_new_budget(lists, again):
    town = add(lists, "a", "b")
    spent = [entry(town, 1.9)]
    refused(spent, entry(town, 1.0, **again), lists)
    check(spent, entry(add(lists, "c"), 1.9, **again), lists)
    check(spent, entry(town, 1.9, periods=NEXT, **again), lists)


@pytest.mark.parametrize("more", [("a", "b", "c"), ("b",), ("b", "x", "y", "z")])
def test_another_list_with_one_of_the_meters_has_no_new_budget(lists, more):
    spent = [entry(add(lists, "a", "b"), 1.9)]
    refused(spent, entry(add(lists, *more), 1.0), lists)


def test_a_charge_without_a_list_counts_for_everybody_and_one_without_a_period_always(lists, town):
    other = add(lists, "b")
    for charged in (entry(None, 1.9), entry(town, 1.9, periods=None)):
        refused([charged], entry(town, 1.0), lists)
    refused([entry(town, 1.9)], entry(None, 1.0), lists)  # whoever it is of may be on any list
    check([entry(town, 1.9, periods=None)], entry(other, 1.9), lists)


def test_a_release_is_charged_in_full_to_each_period_it_touches(lists, town):
    both = entry(town, 1.9, periods=YEAR + NEXT)
    for period in (YEAR, NEXT):
        refused([both], entry(town, 1.0, periods=period), lists)
        refused([entry(town, 1.9, periods=period)], both, lists)


def test_periods_of_a_meter_are_equal_or_share_no_day(lists, town):
    other = add(lists, "b")
    month = (interval_of(date(2025, 3, 1), date(2025, 3, 31), "Europe/London"),)
    shifted = (interval_of(date(2025, 1, 1), date(2025, 12, 31), "America/New_York"),)
    for period in (month, shifted):
        refused(
            [entry(town, 0.1)],
            entry(town, 0.1, periods=period),
            lists,
            r"release\.budget_period.*shares days with '2025'",
        )
        check([entry(town, 0.1)], entry(other, 0.1, periods=period), lists)


def test_a_period_of_the_same_name_in_another_time_zone_is_not_said_to_be_another_period(lists, town):
    paris = (interval_of(date(2025, 1, 1), date(2025, 12, 31), "Europe/Paris"),)
    named = r"shares days with '2025', in which .* charged, but in another time zone: "
    times = "that period runs from 2025-01-01 00:00 to 2026-01-01 00:00 UTC and this one from 2024-12-31 23:00 to "
    refused([entry(town, 0.1)], entry(town, 0.1, periods=paris), lists, f"{named}{times}.*use the time zone of that")
    both = entry(town, 0.1, periods=NEXT + YEAR)
    refused([both], entry(town, 0.1, periods=paris), lists, times)
    other = PrivacyBudget("", "replace_one", "town", "2025-01-01 to 2025-12-31")
    refused([entry(town, 0.1)], entry(town, 0.1, periods=paris, budget=other), lists, "but is not the same period")


def test_what_hides_names_alone_stands_beside_nothing_else(lists):
    town, other = add(lists, "a", "b"), add(lists, "c")
    label = PrivacyBudget("", "class_label", "town", "2025")
    names = entry(town, 0.5, budget=label, neighbourhoods="circuits")
    for one, two in ((names, entry(town, 0.1)), (entry(town, 0.1), names)):
        refused([one], two, lists, r"release\.forecast_protects.*cannot be added to")
    refused(
        [names], entry(town, 0.5, budget=label, neighbourhoods="others"), lists, "their neighbourhoods may not change"
    )
    check([names], names, lists)
    check([names], entry(other, 0.5), lists)
    check([names], entry(town, 0.5, periods=NEXT), lists)


def test_a_removal_and_an_addition_are_charged_for_a_replacement(lists):
    added = entry(None, 0.5, budget=PrivacyBudget("", "add_remove", "town", "2025"))
    assert added.mu == 2 * added.charge.mu
    refused([added, added], entry(add(lists, "a"), 1.5), lists)
    check([entry(None, 0.5)] * 2, entry(add(lists, "b"), 1.5), lists)


def test_a_first_release_may_take_all_there_is(lists, town):
    all_of_it = Charge(gaussian.mu_for(2.0, 1e-5 * (1 - 1e-9)), 1e-18)
    new = Entry(BUDGET, town, YEAR, all_of_it, LIMIT, 1e-18)
    check([], new, lists)
    refused([new], entry(town, 0.01), lists, "nothing is left")


def test_the_most_that_any_meter_has_spent(lists):
    ab, bc = add(lists, "a", "b"), add(lists, "b", "c")
    spent = [entry(ab, 1.0), entry(bc, 0.5), entry(bc, 0.5, periods=NEXT)]
    most = max(charge.mu for charge in most_spent(spent, YEAR[0], lists))
    assert most == pytest.approx(math.hypot(gaussian.mu_for(1.0, 1e-5), gaussian.mu_for(0.5, 1e-5)), rel=1e-12)
    assert most_spent([], YEAR[0], lists) == []


@pytest.mark.parametrize("most", ["mu", "variation"])
def test_whoever_spent_the_most_of_either_decides(lists, most):
    a, b = add(lists, "a"), add(lists, "b")
    whole = 1e-5 / (1 + math.exp(2))  # of the limit's delta, in units of total variation
    plan = 0.09 * whole
    spent = [
        Entry(BUDGET, add(lists, "a", "b"), YEAR, Charge(0.001), LIMIT, plan),
        Entry(BUDGET, a, YEAR, Charge(gaussian.mu_for(1.9, 1e-5)), LIMIT, plan),
        Entry(BUDGET, b, YEAR, Charge(0.01, 0.09 * whole), LIMIT, plan),
    ]
    more = Charge(gaussian.mu_for(1.0, 1e-5)) if most == "mu" else Charge(0.0, 0.02 * whole)
    refused(spent, Entry(BUDGET, add(lists, "a", "b"), YEAR, more, LIMIT, plan), lists)
    check(spent, Entry(BUDGET, b if most == "mu" else a, YEAR, more, LIMIT, plan), lists)


def test_limits_and_noise_of_any_size_are_numbers(lists, town):
    for epsilon in (1e-9, 20.0, 800.0, 1e6):
        try:
            check([entry(town, 0.3)], entry(town, 0.3, limit=Limit(epsilon, 1e-5)), lists)
        except InputError as error:
            assert "would spend more" in str(error)
    assert spent.most_spent([entry(town, 0.3)], None, lists)


@pytest.mark.parametrize("room", [0.0, 1e-18, 1e-15, 1e-12, 1e-9])
def test_a_higher_limit_allows_no_less(lists, town, room):
    """Though discrete noise costs more the larger epsilon is."""
    left = []
    for epsilon in (1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 20.0, 50.0, 800.0):
        limit = Limit(epsilon, 1e-5)
        first = Entry(BUDGET, town, YEAR, Charge(0.1, room), limit, room)
        more = Charge(0.0, max(room, 2e-13))  # of the largest release of 100,000 meters
        left.append(spent.room([first], Entry(BUDGET, town, YEAR, more, limit), lists)[0])
    assert left == sorted(left) and left[0] > 0.5


def test_what_a_refusal_says_would_fit_fits(lists, town):
    for epsilon in (4.0, 12.0, 20.0, 50.0):
        limit = Limit(epsilon, 1e-5)
        first, much = (entry(town, e, limit=limit, planned=1e-15) for e in (1.0, 48.0))
        with pytest.raises(InputError, match="one more release of epsilon") as error:
            check([first], much, lists)
        would = float(re.search(r"one more release of epsilon ([\d.]+) would fit", str(error.value))[1])
        check([first], entry(town, would, limit=limit, planned=1e-15), lists)
        refused([first], entry(town, would + 0.011, limit=limit, planned=1e-15), lists)


def test_a_limit_is_raised_for_the_period_it_names_alone(lists, town):
    """Not for a year that the named day is in, nor for a release that counts in all periods."""
    day = (interval_of(date(2025, 3, 1), date(2025, 3, 1), "Europe/London"),)
    wide = Limit(8.0, 1e-5)
    for charged, raised, new in ((YEAR, day, YEAR), (NEXT, YEAR, None)):
        earlier = [
            entry(town, 1.9, periods=charged),
            entry(town, 0.0, limit=wide, periods=raised, planned=None, raises=True),
        ]
        refused(earlier, entry(town, 4.0, limit=wide, periods=new), lists, "limit of epsilon 2 at")


def test_a_second_release_has_no_budget_of_its_own_even_if_the_first_had_no_measurement(lists, town):
    first = Entry(BUDGET, town, YEAR, Charge(0.0), LIMIT, 1e-18)
    most = Entry(BUDGET, town, YEAR, Charge(gaussian.mu_for(2.0, 1e-5 * (1 - 1e-6)), 1e-18), LIMIT, 1e-18)
    refused([first], most, lists)
    check([], most, lists)


def test_lists_that_cross_are_compared_with_a_limit_once(lists, monkeypatch):
    """4096 kinds of meters, of which those with one limit differ in no more than the sums."""
    names = [f"{n:012b}" for n in range(4096)]
    entries = [
        entry(add(lists, *(n for n in names if n[bit] == "1")), 0.01, limit=Limit(2 + bit, 1e-5)) for bit in range(12)
    ]
    asked, delta = [], Charge.delta
    monkeypatch.setattr(Charge, "delta", lambda charge, epsilon: asked.append(epsilon) or delta(charge, epsilon))
    check(entries, entry(add(lists, *names), 0.1), lists)
    assert len(asked) < 200
