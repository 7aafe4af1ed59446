"""What a release is worth, known beforehand: by public numbers alone, stated, refused where it would be absurd."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import yaml

from meterdp.__main__ import main
from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.feeders.mechanism import FeederRecords, FeederTotals
from meterdp.feeders.plan import FEEDER_CORRELATION
from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.privacy.noise import SafeNoise
from meterdp.publish.kinds import KINDS
from meterdp.publish.received import expected_error
from meterdp.release import feeders
from meterdp.release.asked import asked, plans, plans_of_list
from meterdp.release.mixture import ReleasedMixture, _contradicted, configured, plan_of
from meterdp.release.plan import EPSILONS, HEADINGS, SIZES, Expected, Plan, lines
from meterdp.release.service import ReleaseService
from meterdp.release.worth import tried
from tests.unit.release.charged import DEFAULTS, config


def meter_list(meters):
    return ("meter_id\n" + "".join(f"m{i}\n" for i in range(meters))).encode()


def of_homes(households, **sections):
    """Return the plans of everything that is released of so many homes."""
    given = config(simulate={"households": households}, **sections)
    given["release"]["what"] = list(KINDS)
    return plans_of_list(given, simulated=True)


def made_up(error, guess=0.5, absurd=0.0):
    """Return a plan whose error is that at epsilon 1 of 100 meters, and falls with either."""

    def again(epsilon, size):
        return replace(plan, epsilon=epsilon, size=size, expected=(_expected(error * 100 / size / epsilon, guess),))

    plan = Plan("mixture", "epsilon", 1, 100, "listed meters", (_expected(error, guess),), "made up", again, absurd)
    return plan


def _expected(error, guess):
    return Expected("mean hour", error, 2 * error, guess)


@pytest.mark.parametrize(
    ("error", "absurd", "allowed", "useful"),
    [
        (0.1, 0, True, True),
        (0.46, 0, True, False),
        (0.5, 0, False, False),
        (0.1, 0.19, True, True),
        (0.1, 0.21, False, False),
    ],
)
def test_a_release_is_refused_if_a_guess_tells_as_much_or_an_hour_is_absurd(error, absurd, allowed, useful):
    plan = made_up(error, absurd=absurd)
    assert (not plan.too_little, plan.useful) == (allowed, useful)
    refused = list(plan.refusals(config()))
    assert len(refused) == (not allowed) and list(plan.refusals(config(release={"allow": ["poor"]}))) == []
    if refused:
        assert refused[0].field == "release.epsilon" and "for 100 listed meters" in str(refused[0])
        assert plan.verdict.startswith("not useful") and "refused unless release.allow has 'poor'" in plan.verdict
    assert (f"factor of two in {100 * absurd:.0f} % of releases" in plan.verdict) == (absurd > 0)


def test_the_epsilon_and_the_size_from_which_on_it_is_useful_are_the_first_that_are():
    assert made_up(0.9).verdict == (
        "not useful (worse than a public guess), refused unless release.allow has 'poor'; to be useful it needs "
        "epsilon 2 or more with 100 listed meters, or 200 or more listed meters at epsilon 1"
    )
    assert made_up(0.3).verdict == (
        "useful (better than a public guess); to be useful it needs epsilon 0.7 or more with 100 listed meters, or "
        "67 or more listed meters at epsilon 1"
    )
    (refused,) = made_up(0.9).refusals(config())
    assert "use an epsilon of 1.9 or more; have 190 listed meters or more" in str(refused)
    assert "no epsilon or size makes it useful" in made_up(1e9).verdict


@pytest.mark.parametrize("epsilon", [0.7, 1, 2, 2.5])
@pytest.mark.parametrize("meters", [120, 380, 385, 790])
def test_a_release_that_is_useful_is_at_its_own_epsilon_and_size(epsilon, meters):
    """Neither number of the verdict contradicts its first word."""
    epsilons = {key: epsilon for key in ("epsilon", "household_epsilon", "forecast_epsilon", "feeder_epsilon")}
    for plan in of_homes(meters, release=epsilons):
        assert plan.verdict.startswith("useful" if plan.useful else "not useful")
        least_epsilon = re.search(r"; to be useful it needs epsilon ([\d.]+) or more with", plan.verdict)
        least_size = re.search(r"([\d,]+) or more [a-z ]+ at epsilon", plan.verdict.split("; ")[1])
        for found, own in ((least_epsilon, plan.epsilon), (least_size, plan.size)):
            if found is not None:
                assert (float(found[1].replace(",", "")) <= own) == plan.useful
            else:
                assert not plan.useful or "to be useful it needs about this epsilon" in plan.verdict


def test_the_table_for_people_has_every_quantity_and_a_verdict():
    planned = of_homes(98)
    said = lines(planned)
    assert all(heading in said[0] for heading in HEADINGS)
    assert [plan.what for plan in planned] == list(KINDS)
    for plan in planned:
        assert any(line.startswith(f"{plan.what}: {plan.size:,} {plan.sized}, epsilon 1") for line in said)
        assert {f"  {words}" for words in plan.verdicts} <= {*said}
        for one in plan.expected:
            (row,) = (line for line in said if line.strip().startswith(one.of))
            assert row.split()[-2:] == [f"{100 * one.guess:.0f}", "%"]
    assert lines([]) == []


@pytest.mark.parametrize("what", list(KINDS))
def test_more_households_and_a_larger_epsilon_are_never_worse(what):
    """Strictly better at some point, and beside a public guess as well."""
    first = {plan.what: plan for plan in of_homes(1409)}[what]
    sizes = (60, 98, 400, 1409, 10_000, 50_000)
    for planned in (
        [first.again(first.epsilon, size) for size in sizes],
        [first.again(epsilon, first.size) for epsilon in EPSILONS],
    ):
        for before, after in pairwise(planned):
            assert after.absurd <= before.absurd
            for one, other in zip(before.expected, after.expected, strict=True):
                assert other.error <= one.error * (1 + 1e-9) and other.error_q95 <= one.error_q95 * (1 + 1e-9)
        assert planned[-1].expected[0].error < 0.95 * planned[0].expected[0].error


def test_ninety_eight_homes_at_epsilon_one_are_refused_with_what_would_do_and_pass_if_allowed():
    mixture, *_ = of_homes(98)
    (refused,) = mixture.refusals(config())
    assert refused.field == "release.epsilon"
    assert "for 98 listed meters" in str(refused) and "release.allow" in str(refused)
    assert "listed meters or more" in str(refused) and "leave mixture out of release.what" in str(refused)
    alone = list(mixture.refusals(config(release={"what": ["mixture"]})))
    assert len(alone) == 1 and "release.what" not in str(alone[0])
    assert list(mixture.refusals(config(release={"allow": ["poor"]}))) == []


def test_plan_mechanism_manifest_and_page_say_the_same_numbers(tmp_path):
    given = config(release={"ledger": str(tmp_path / "ledger.sqlite"), "what": ["mixture", "feeders"]})
    given["export"] |= {"first_day": "2025-01-01", "last_day": "2025-01-28", "time_zone": "UTC"}
    meters = ("meter_id,circuit\n" + "".join(f"m{i},c{i % 12}\n" for i in range(1409))).encode()
    folders, refused = asked(ReleaseService(given, meters, True))
    assert not refused
    for planned, (*_, mechanism) in zip(plans(given, 1409, 12), folders, strict=True):
        assert [one.of for one in planned.expected] == [one.of for one in mechanism.plan.expected]
        assert [one.error for one in planned.expected] == pytest.approx(
            [one.error for one in mechanism.plan.expected],
            rel=1e-3,  # the grid takes a little of delta
        )
        stated = mechanism.plan.stated()
        assert stated["in_words"] == mechanism.plan.sentence and stated["usable_share"] == 0.95  # words: keep
        assert "95 % of the listed meters" in mechanism.plan.sentence


def test_a_mixture_of_records_of_other_lengths_is_planned_by_the_nearest():
    """Of a longer record as of one of whole days with as many households per hour."""
    day = configured(config(profiles={"start_hour": 0, "hours": 24}), 1000)
    longer = configured(config(profiles={"start_hour": 0, "hours": 48}), 2000)
    for name, values in tried(day).items():
        assert tried(longer)[name] == pytest.approx(values, rel=0.1, abs=0.01)
    assert "in 48 hours" in plan_of(longer).sentence


def test_feeders_are_planned_by_the_number_on_each():
    given = config()
    assert feeders.plan(given, 1200, 12).size == 100
    few, many = (feeders.plan(given, 1200, count).expected[0].error for count in (12, 60))
    assert few < many


def test_the_size_is_that_of_the_public_list_whatever_was_read(tmp_path):
    (tmp_path / "list.csv").write_bytes(meter_list(60))
    real = {
        "path": "e.csv",
        "meters": str(tmp_path / "list.csv"),
        "first_day": "2025-01-01",
        "last_day": "2025-01-28",
    }
    named = {"population": "town", "budget_period": "2025"}
    given = config(export=real | {"time_zone": "UTC"}, release=named)
    assert {plan.size for plan in plans_of_list(given, simulated=False)} == {60}
    (tmp_path / "list.csv").write_bytes(meter_list(40))
    assert plans_of_list(given, simulated=False) == []


def test_households_are_planned_by_their_smallest_stratum_as_they_are_released(tmp_path):
    """Before the charge stands what the folder will say; a column that the list lacks is refused by a plan, too."""
    rows = "".join(f"m{n:04d},{'G11' if n % 4 else 'G12'}\n" for n in range(1600))
    (tmp_path / "list.csv").write_text(f"meter_id,tariff\n{rows}")
    real = {"path": "e.csv", "meters": str(tmp_path / "list.csv"), "time_zone": "UTC"}
    real |= {"first_day": "2025-01-01", "last_day": "2025-12-31"}
    asked_for = {"what": ["households"], "population": "town", "budget_period": "2025", "household_epsilon": 4}
    given = config(export=real, release=asked_for | {"household_strata": ["tariff"]})
    [planned] = plans_of_list(given, simulated=False)
    assert (planned.size, planned.sized) == (400, "listed meters in the smallest of 2 strata")
    service = ReleaseService(given, (tmp_path / "list.csv").read_bytes(), simulated=False)
    [(mechanism,)], _ = asked(service)
    assert mechanism.plan.stated() == planned.stated()
    [alone] = plans_of_list(config(export=real, release=asked_for), simulated=False)
    assert (alone.size, alone.sized) == (1600, "listed meters") and alone.expected[0].error < planned.expected[
        0
    ].error
    (tmp_path / "own.yaml").write_text(
        yaml.safe_dump({"export": real, "release": asked_for | {"household_strata": ["rate"]}})
    )
    assert main(["plan", "--config", str(tmp_path / "own.yaml")]) == 1


def test_the_prior_mixture_that_comes_with_the_code_is_the_default_wherever_it_covers_a_record():
    def prior_mixture(**changed):
        return configured(config(**changed), 1409).sound.prior_mixture

    assert prior_mixture() is not None
    assert prior_mixture(profiles={"start_hour": 12, "hours": 48}) is None, "not of all its hours"
    assert prior_mixture(profiles={"log_scale": {"kind": "offset", "offset_kwh_per_hour": 0.1}}) is None
    assert prior_mixture(mechanisms={"sound": DEFAULTS["mechanisms"]["sound"] | {"prior_mixture": None}}) is None


def test_an_hour_counts_as_twenty_kwh_at_most_and_settings_that_were_explicit_keep_their_key():
    """Golden: the words of the same settings before the prior mixture and 20 kWh were the defaults."""
    assert DEFAULTS["profiles"]["clip_kwh_per_hour"] == [0.01, 20]
    given = config(
        export={"first_day": "2025-01-01", "last_day": "2025-01-28"},
        profiles={"clip_kwh_per_hour": [0.01, 100], "vector": "half_day", "start_hour": 12, "hours": 12},
        mechanisms={"sound": DEFAULTS["mechanisms"]["sound"] | {"prior_mixture": None}},
        release={"allow": ["poor"], "ledger": "never-opened.sqlite"},
    )
    sections = given["mechanisms"], given["mixture"], given["profiles"]
    public = public_settings(1, 1e-5, (1409, 12), *sections, SafeNoise.grid)
    service = ReleaseService(given, meter_list(1409), True)
    words = dict(service.request(ReleasedMixture(Proven.calibrate(public), service)).parameters)
    words["list_of_meters_sha256"] = hashlib.sha256(service.meter_list).hexdigest()  # as it was then
    digest = hashlib.sha256(json.dumps(words, sort_keys=True, default=str).encode()).hexdigest()
    assert digest == "195d8c33266ca33a4585a6ffdcd8582072420aceea2ba26019a2a166107cb651"


def test_only_the_sentence_of_a_manifest_is_taken():
    assert expected_error({"expected_error": {"in_words": "off by 10 %"}}) == "off by 10 %"
    assert expected_error({}) is None
    assert expected_error({"expected_error": ["x"]}) is None
    assert expected_error({"expected_error": {"in_words": 3}}) is None


def test_a_mechanism_of_a_useless_release_is_refused_however_it_is_made():
    given = config(simulate={"households": 98}, release={"ledger": "never-opened.sqlite"})
    given["export"] |= {"first_day": "2025-01-01", "last_day": "2025-01-28", "time_zone": "UTC"}
    with pytest.raises(InputError):
        ReleasedMixture.configured(98, ReleaseService(given, meter_list(98), True), None)


def test_refused_before_anything_is_charged(tmp_path):
    given = config(
        simulate={"households": 100},
        export={"first_day": "2025-01-01", "last_day": "2025-01-28"},
        release={"ledger": str(tmp_path / "ledger.sqlite")},
    )
    _, refused = asked(ReleaseService(given, meter_list(100), True))
    assert "release.epsilon" in [error.field for error in refused]
    assert list(tmp_path.iterdir()) == []


def test_feeders_of_a_list_of_a_million_meters_are_planned_and_no_larger_list_is_tried():
    given = config()
    plan = feeders.plan(given, 10**6, 10**4)
    assert (
        plan.useful
        and "; to be useful it needs epsilon 0.1 or more with 100 meters per feeder, or 10 or more meters"
        in plan.verdict
    )
    assert plan.again(1.0, SIZES[-1]).expected[0].error < plan.expected[0].error


@pytest.mark.parametrize(("days", "epsilon"), [(7, 0.5), (7, 8), (30, 2), (183, 2), (183, 9), (1, 2)])
def test_a_plan_says_that_days_are_alike_exactly_where_released_totals_are(days, epsilon):
    """Oracle: a release of meters whose use rises from day to day."""
    given = config(
        release={"feeder_days": days, "feeder_window": "days", "feeder_epsilon": epsilon, "what": ["feeders"]}
    )
    public = replace(feeders.configured(given, feeders.on_equal_feeders(700, 9), 9), grid=0.0)
    mechanism = FeederTotals.calibrate(public)
    slots = mechanism.public.intervals_per_day
    kwh = np.ones((700, days, slots)) * np.arange(1, days + 1)[:, None] / (slots * days / 10)
    found = mechanism.release(FeederRecords(kwh.reshape(700, -1)), StudyNoise(3, "days")).total_kwh
    alike = days > 1 and np.allclose(found.reshape(9, days, slots), found[:, None, :slots])
    planned = feeders.plan(given, 700, 9)
    assert (f"all {days} days have the same totals" in planned.verdict) == alike
    assert not (alike and planned.useful) and any("have the same totals" in one for one in planned.first) == alike


@pytest.mark.parametrize(("epsilon", "worse", "useful"), [(1, True, False), (4, False, True)])
def test_totals_are_useful_only_to_somebody_who_knows_the_typical_use(epsilon, worse, useful):
    """Once the guess was off by 111 %. With the typical use right, 51 homes at epsilon 1 told no more than it."""
    given = config(
        release={"feeder_epsilon": epsilon, "feeder_window": "average_day", "feeder_days": 7, "what": ["feeders"]}
    )
    plan = feeders.plan(given, 51, 1)
    assert (plan.too_little, plan.useful) == (worse, useful)
    assert plan.expected[0].guess == pytest.approx(0.48, abs=0.01)


def test_a_plan_says_from_which_size_on_totals_tell_feeders_apart():
    """Where meters of one feeder are alike to ``r``, sums of n of them differ as those of n (1 + r (n - 1)) would."""
    plan = feeders.plan(config(), 800, 32)
    alone, together = (feeders.plan(config(), 40 * n, 40).difference for n in (1, 500))
    correlation = ((together * 500 / alone) ** 2 / 500 - 1) / 499
    assert correlation == pytest.approx(FEEDER_CORRELATION)
    (says,) = (part for part in plan.verdict.split("; ") if part.startswith("to tell feeders apart it needs "))
    size = int(re.search(r"([\d,]+) or more meters per feeder", says)[1].replace(",", ""))
    before, at = (plan.again(plan.epsilon, n) for n in (SIZES[SIZES.index(size) - 1], size))
    assert [2 * one.expected[0].error ** 2 > one.difference**2 for one in (before, at)] == [True, False]
    for one, apart in ((before, False), (at, True)):
        assert (" does not tell feeders apart" in one.verdict) != apart
        assert any("do not rank feeders" in words for words in one.first) != apart
    assert "epsilon" not in says.split(" at epsilon ")[0], "noise of the epsilon that would do does not fit the grid"
    assert "apart" not in feeders.plan(config(), 800, 1).verdict, "one feeder has none to differ from"


@pytest.mark.parametrize(("hours", "words"), [(24, "at least 6 kWh in 24 hours"), (12, "at least 3 kWh in 12 hours")])
def test_a_mixture_of_homes_that_use_less_than_was_tried_says_so(hours, words):
    public = configured(config(profiles=DEFAULTS["profiles"] | {"hours": hours}), 420)
    assert plan_of(public).assumed == f"homes use {words} on average"
    for hourly_kwh, holds in ((0.24, False), (0.26, True), (15, True)):
        said = _contradicted(np.full((5, hours), hourly_kwh), public)
        assert (said is None) == holds
        assert holds or f"homes use {hourly_kwh * hours:.2g} kWh in {hours} hours, not {words}: errors are" in said
