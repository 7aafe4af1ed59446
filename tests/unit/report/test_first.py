"""The first page: who was studied, which patterns, what privacy costs in kWh, what may leave, what is too little."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from meterdp.core.config import complete, load_schema
from meterdp.pages import numbers
from meterdp.report.classes import class_grid, class_names
from meterdp.report.first import HEIGHT, READS, WIDTH, first_page
from tests.unit.report import made_up

ROOT = Path(__file__).resolve().parents[3]
NAMES = [table.name for table in READS]


def settings(**sections) -> dict:
    """A whole configuration of a real export."""
    config = {"export": {"path": "april.csv", "time_zone": "UTC"}, **sections}
    return complete(config, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))


def tables(**changed) -> dict:
    return {name: getattr(made_up, name)() for name in NAMES if hasattr(made_up, name)} | changed


@pytest.fixture(scope="module")
def page():
    return first_page(tables(), settings(), simulated=False)


def test_every_table_it_reads_is_made_up():
    assert set(tables()) == set(NAMES)


def test_it_says_how_many_customers_were_studied_and_why_others_were_not(page):
    assert page.facts == [("1,421", "of 1,442 customers studied"), ("6", "patterns of use")]
    out, without = page.customers
    assert out == (
        "21 customers left out (17: too many readings missing; 4: too many readings in long runs of one value (stuck "
        "meter))."
    )
    assert without == "12 more had too few readings in the hours the patterns are from."


def test_the_days_are_counted_where_they_are_known():
    config = settings(
        export={"path": "a.csv", "time_zone": "UTC", "first_day": "2025-02-27", "last_day": "2025-03-02"}
    )
    assert ("4", "days, 27 February 2025 to 2 March 2025") in first_page(tables(), config, False).facts


def test_every_pattern_is_named_and_drawn_from_the_mean_of_its_class(page):
    names = class_names(made_up.mixture(), made_up.class_table(), made_up.profile_hours())
    assert [card.name.lower() for card in page.cards] == [names[k].lower() for k in range(1, 7)]
    assert len({card.name for card in page.cards}) == 6 and all(" use" in card.name for card in page.cards)
    assert page.cards[0].size == "48.8 % of customers" and page.cards[5].size == "1.0 % of customers (only 14)"
    assert page.cards[0].energy == "0.41 kWh an hour"
    row = made_up.mixture().iloc[0]
    variance = np.diag(np.reshape(row["covariance"], (12, 12)))
    mean_kwh = np.exp(row["mean_log_kwh"] + variance / 2)  # of a log-normal distribution; its bounds are far off
    points = np.array([point.split(",") for point in page.cards[0].line.split()], dtype=float)
    assert points[:, 0] == pytest.approx(WIDTH * (np.arange(12) + 0.5) / 12, abs=0.06)
    assert points[:, 1] == pytest.approx(HEIGHT * (1 - mean_kwh / mean_kwh.max()), abs=0.1)
    assert page.cards[0].top == f"{numbers.significant(mean_kwh.max(), 2)} kWh"
    assert "fewer than 60 customers, five for each of the 12 hours" in page.few


def test_the_day_of_a_pattern_is_said(page):
    assert "Hours from 12:00 to 24:00 local time of one working day of each customer" in page.whence
    half_day = first_page(tables(), settings(profiles={"vector": "half_day"}), False).whence
    assert "12:00 to 24:00 of one single day, the middle day" in half_day and "profiles.vector" in half_day
    whole = first_page(tables(), settings(profiles={"vector": "mean"}), False).whence
    assert whole == "Hours from 12:00 to 24:00 local time, each the mean over all days of the study."


def test_what_privacy_costs_is_said_in_kwh(page):
    average, synthetic, together, forecast, hidden = page.prices
    row = made_up.cost(["sound"], [1.0]).iloc[0]  # at the epsilon of a release
    off, most = (f"{numbers.significant(row[f'energy_error_kwh_{name}'], 2)} kWh" for name in ("mean", "q95"))
    share = f"{numbers.significant(100 * row['energy_error_kwh_mean'] / 1.85, 2)} %"
    of_which = "from 12:00 to 24:00 of a typical working day of each household"
    assert average.what == f"What the average customer uses in an hour {of_which}: 1.85 kWh"
    assert average.without == "off by 0.082 kWh (4.4 %)"
    assert average.protected == f"ε = 1: off by {off} ({share}); of 20 releases 19 by less than {most}"
    assert f"at ε = 1 gives the use of the average customer in these hours to within {share}" in average.words
    assert average.beside == "one half of the customers against the other: ± 0.11 kWh"
    # Shares of 22.2 kWh, 0.01 and 0.11 more, with a deviation of 0.06 each.
    assert synthetic.without == "no difference found (0.22 kWh more, ± 1.3 kWh)"
    assert synthetic.protected == "ε = 2: no difference found (2.4 kWh more, ± 1.3 kWh)"
    assert together.what == "Highest load of 50 homes together in a simulated year: 4.44 kW a home"
    assert (together.without, together.protected) == ("off by 0.46 %", "ε = 1: off by 23 %")
    assert together.beside == "one half of the homes against the other: 12 %"
    assert forecast.what == "Forecast of one customer, an hour at a time"
    assert forecast.without == "misses by 0.31 kWh"
    missed = "the released shape and the customer’s own level miss by 0.45 kWh, 1.5 times as much"
    assert forecast.protected == f"ε = 0.5: {missed}"  # the tried one nearest to 1
    beside = (
        "a public shape and the customer’s own level: 0.47 kWh",
        "the released file, which knows no level: 0.76 kWh",
        "one public number for everybody: 0.76 kWh",
    )
    assert forecast.beside == "; ".join(beside)
    assert "which of 5 similar ones" in hidden.what  # the tried one nearest to ten
    assert hidden.protected == f"the forecast is moved by another {numbers.significant(0.0278 * np.sqrt(5), 2)} kWh"
    assert (hidden.without, hidden.beside) == ("misses by 0.10 kWh", "the customer uses 0.17 kWh in that time")


def test_the_energy_of_some_hours_is_not_said_to_be_that_of_any_hour():
    mean = first_page(tables(), settings(profiles={"vector": "mean"}), False).prices[0]
    assert "in an hour from 12:00 to 24:00, mean of all days: 1.85 kWh" in mean.what


def test_the_peak_hour_in_the_table_is_that_of_the_name_beside_it():
    """A class that varies more in its second highest hour: the mean of the logarithm peaks elsewhere."""
    mixture = made_up.mixture(classes=1)
    mean, covariance = np.zeros(12), 0.1 * np.eye(12)
    mean[[6, 7]], covariance[6, 6] = [1.0, 1.1], 1.5
    mixture.at[0, "mean_log_kwh"], mixture.at[0, "covariance"] = mean, covariance.ravel()
    classes = made_up.class_table(classes=1).assign(peak_hour_local=19)
    grid = class_grid(tables(mixture=mixture, class_table=classes))
    assert "evening peak 18:00" in grid.rows[0][0] and "18:00" in grid.rows[0][1:]


@pytest.mark.parametrize(("error", "said"), [(0.6, True), (0.4, False)])
def test_a_release_that_is_far_off_is_said_to_say_little(error, said):
    cost = made_up.cost(["sound"]).assign(energy_error_kwh_mean=error * 1.85)
    words = first_page(tables(cost=cost), settings(), False).prices[0].words
    assert ("says little about how much so few customers use" in words) is said


def test_a_difference_beyond_its_error_is_said_with_its_size():
    fidelity = made_up.fidelity()
    rows = (fidelity["measure"] == "energy_mean_relative") & (fidelity["source"] == "sound")
    fidelity.loc[rows, ["value", "se"]] = [-0.25, 0.05]
    (synthetic,) = (
        p for p in first_page(tables(fidelity=fidelity), settings(), False).prices if "synthetic" in p.what
    )
    assert synthetic.protected == "ε = 2: 5.6 kWh less (25 %)"


def test_a_shape_no_better_than_a_public_one_is_said_to_be_so():
    errors = made_up.group_forecast_errors()
    for mae, said in ((0.465, True), (0.3, False)):
        errors.loc[errors["method"] == "scaled", "mae_kwh"] = mae
        words = " ".join(p.words for p in first_page(tables(group_forecast_errors=errors), settings(), False).prices)
        assert ("about as much as a public shape" in words) is said


def test_too_many_classes_are_said_with_the_hint(page):
    assert page.caution is None  # two of six are small, but there are households enough
    few = made_up.class_table()
    few["household_count"] = [40, 20, 12, 9, 5, 3]
    caution = first_page(tables(class_table=few), settings(), False).caution
    assert caution.startswith("6 classes were fitted to 89 customers.") and "at least 60 of them" in caution
    assert "6 of 6 have fewer, and the spread of 1 had to be raised to a public floor" in caution
    assert "Set mixture.classes to 1" in caution


def test_what_is_missing_for_a_release_is_listed(page):
    fields = [setting for setting, _ in page.leaving.missing]
    assert fields == [
        "export.meters",
        "export.first_day",
        "export.last_day",
        "release.population",
        "release.budget_period",
    ]
    assert page.leaving.folders[0][0] == "release/mixture/"
    assert "[population], made from readings from [day] to [day]." in page.leaving.sentences[0]


def test_a_release_that_could_be_made_comes_with_its_sentence():
    export = {
        "path": "a.csv",
        "time_zone": "UTC",
        "meters": "list.csv",
        "first_day": "2025-01-06",
        "last_day": "2025-02-02",
    }
    release = {"population": "Springfield", "budget_period": "2025", "epsilon": 0.5}
    leaving = first_page(tables(), settings(export=export, release=release), False).leaving
    assert leaving.missing == []
    mixture, forecasts = leaving.sentences
    assert mixture == (
        "Typical load profiles of Springfield, made from readings from 2025-01-06 to 2025-02-02. This is a "
        "mathematical guarantee, differential privacy with epsilon 0.5 and delta 1e-05: whatever set of outcomes is "
        "looked at, its probability with the readings of any one meter is at most 1.65 times its probability with "
        "others in their place, plus 1e-05, whatever else somebody knows. Releases about the same households add up."
    )
    assert forecasts.startswith("Forecasts of Springfield") and "2.72 times" in forecasts


def test_an_epsilon_beyond_all_bounds_is_a_sentence_too():
    (sentence,) = first_page(
        tables(), settings(release={"what": ["mixture"], "epsilon": 1000}), True
    ).leaving.sentences
    assert "at most inf times its probability" in sentence


def test_too_few_households_for_a_release_are_said():
    quality = made_up.quality_summary().replace({"item_count": {1_421: 30}})
    assert (
        first_page(tables(quality_summary=quality), settings(), True).leaving.missing == []
    )  # 51 with those left out
    few = quality.replace({"item_count": {30: 20}})
    ((field, words),) = first_page(tables(quality_summary=few), settings(), True).leaving.missing
    assert field == "export.meters" and words.startswith("lists fewer than 50 households;")


def test_forecasts_that_hide_only_whose_they_are_claim_no_more():
    release = {"what": ["forecasts"], "forecast_protects": "label"}
    (sentence,) = first_page(tables(), settings(release=release), True).leaving.sentences
    assert re.search(
        "they hide which household of its neighbourhood a forecast file belongs to, and no reading", sentence
    )


@pytest.mark.parametrize("missing", [*NAMES, None])
def test_a_page_of_part_of_a_study_says_what_there_is(missing):
    have = {} if missing is None else {name: data for name, data in tables().items() if name != missing}
    page = first_page(have, settings(), False)
    assert page.leaving is not None
    if missing is None:
        assert not page.facts and not page.cards and not page.prices
