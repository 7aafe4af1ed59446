"""The report answers its questions from the tables, holds nothing it must not hold, and loads nothing."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from meterdp.consumption.study import power_batches
from meterdp.core.config import complete, load_schema
from meterdp.core.log_scale import LogScale
from meterdp.errors import InputError
from meterdp.pages import numbers
from meterdp.profiles.grid import Calendar
from meterdp.release.asked import plans
from meterdp.report.consumption import answers
from meterdp.report.page import build_report
from meterdp.report.registry import OF_FEDERATIONS, TABLES
from tests import chromium
from tests.conftest import ROOT
from tests.unit.report import made_up

EXPORT = {"path": "/home/jdoe/april.csv", "time_zone": "UTC", "meters": "list.csv"}
EXPORT |= {"first_day": "2025-10-20", "last_day": "2025-11-16", "interval_minutes": 15}
MOST_WORDS = 2500


def settings(**sections) -> dict:
    """A whole configuration of a real export."""
    config = {"export": EXPORT, "results_dir": "/srv/hidden/results", "seed": 987_654_321, **sections}
    return complete(config, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))


def arguments() -> dict:
    """What the report is told besides its tables and figures."""
    config = settings(release={"population": "Springfield", "budget_period": "2025"})
    every = {**config, "release": {**config["release"], "what": ["mixture", "households", "forecasts", "feeders"]}}
    return {"title": "A <test> study", "synthetic": True, "settings": config, "plans": plans(every, 1442, 12)}


@pytest.fixture(scope="module")
def report(study, drawn):
    """Path of the made-up study's report."""
    output = study["cost"].parent / "report.html"
    build_report({name: study[name] for name in TABLES}, drawn, output, **arguments())
    return output


def words_of(path) -> str:
    """Visible text of a report: pictures, styles and scripts left out, white space as single spaces."""
    page = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", path.read_text(encoding="utf-8"), flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def page_of(folder, inputs, figures=None, **changed):
    """Write the report of these tables and figures; return its path."""
    path = folder / "r.html"
    build_report(inputs, figures or {}, path, **{"title": "t", "synthetic": False, "settings": settings()} | changed)
    return path


def rows_of(path) -> list[tuple[str, ...]]:
    """The rows of all printed tables, a tuple of cells each."""
    rows = re.findall(r"<tr[^>]*>(<td.*?)</tr>", path.read_text(encoding="utf-8"))
    cells = [[html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)] for row in rows]
    return [tuple(cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row) for row in cells]


def captions_of(path) -> list[str]:
    return [html.unescape(words) for words in re.findall(r"<caption>(.*?)</caption>", path.read_text("utf-8"))]


def test_a_group_of_which_nobody_is_left_is_named_and_has_no_row(tmp_path):
    gone = {"list_column": "tariff", "entry": "pump", "household_count": 0, "left_out_count": 31}
    use = pd.concat([made_up.group_use(), pd.DataFrame([gone])], ignore_index=True)
    page = page_of(tmp_path, made_up.write_all(tmp_path, {"total_load": made_up.total_load(), "group_use": use}))
    assert "Many households are left out of tariff pump (31 of 31): what follows is of" in words_of(page)
    assert "tariff night" in page.read_text() and not any(row[0] == "tariff pump" for row in rows_of(page))


@pytest.mark.parametrize(("left_out", "zero"), [([7, 0, 5, 2], 90), ([7, 131, 5, 56], 90), ([7, 131, 5, 56], 0)])
def test_groups_that_are_mostly_left_out_are_named(tmp_path, left_out, zero):
    """Where a fifth is; the setting is named where zeros are the cause."""
    quality = made_up.quality_summary()
    quality.loc[quality["reason"] == "all_zero", ["reason", "item_count"]] = ["mostly_zero", zero]
    use = made_up.group_use().assign(left_out_count=left_out)
    tables = {"total_load": made_up.total_load(), "quality_summary": quality, "group_use": use}
    words = words_of(page_of(tmp_path, made_up.write_all(tmp_path, tables)))
    said = "Many households are left out of dwelling house (131 of 652), tariff night (56 of 277): what follows is of"
    many = max(left_out) > 100
    assert (said in words) == ("Many households are left out" in words) == many
    assert ("quality.max_zero_share: 1 keeps them" in words) == (many and zero > 0)


def test_groups_of_the_list_stand_in_a_table_with_their_share_of_energy(report):
    assert any(words.startswith("Households by what the list of meters says, ") for words in captions_of(report))
    # It was once called the load at the peak, which is a single hour and higher.
    assert "kW each in the top 1 % of hours" in words_of(report)
    rows = {row[0]: row[1:] for row in rows_of(report) if row[0].startswith(("dwelling", "tariff"))}
    assert list(rows) == ["dwelling flat", "dwelling house", "tariff day", "tariff night"]
    assert rows["dwelling flat"] == ("900", "7", "7.20", "8.40", "40.2 %", "19:00", "0.60", "0.80", "2025‑11‑08")
    # To the interval, as the sentence on the load of all.
    assert rows["tariff day"][5] == "18:30"


# --- what it says ---------------------------------------------------------------------------------------------------


def test_it_is_read_in_ten_minutes(study, drawn, tmp_path):
    """Unfolded, as nothing of it is hidden; of a study whose mixture is not fitted over circuits."""
    inputs = {name: study[name] for name in TABLES if name not in OF_FEDERATIONS}
    page = page_of(tmp_path, inputs, drawn, **arguments())
    assert "<details" not in page.read_text("utf-8")
    assert 1500 < len(words_of(page).split()) <= MOST_WORDS


def test_questions_come_in_the_order_of_an_analyst(report):
    words = words_of(report)
    order = (
        "How much?",
        "When, on weekdays",
        "Total load: how high",
        "Patterns of use",
        "Input and exclusions What became of",
    )
    order += ("What may be released, and", "Expected error of a release", "as measured in this study")
    order += ("Forecasts without privacy", "Appendix: mechanisms without a guarantee", "Terms ε")
    places = [words.index(question) for question in order]
    assert places == sorted(places)


@pytest.mark.parametrize(("households", "beyond"), [(10, 0), (10, 1), (10, 3), (10, 10), (50, 1), (1421, 100)])
def test_how_many_households_reach_the_upper_bound_is_said(tmp_path, households, beyond):
    """Peaks beyond the bound come as the bound, through logarithms in single precision; oracle: they are counted."""
    kwh = np.linspace(2, 19, households)
    kwh[households - beyond :] = 20
    stored = np.exp(np.log(kwh).astype(np.float32)).astype(float)
    quantiles = made_up.consumption_quantiles()
    of_peaks = quantiles["statistic"] == "peak_kw"
    quantiles.loc[of_peaks, "value"] = np.quantile(stored, quantiles.loc[of_peaks, "household_share"])
    tables = {
        "total_load": made_up.total_load(),
        "consumption_quantiles": quantiles.assign(household_count=households),
    }
    words = words_of(page_of(tmp_path, made_up.write_all(tmp_path, tables), settings=settings(profiles={})))
    found = re.search(r"The largest reading of (\d+(?:\.\d)?) % of households is at that upper bound", words)
    assert (found is not None) == ("at that upper bound" in words) == (beyond > 0)
    assert beyond == 0 or float(found[1]) == pytest.approx(100 * beyond / households, abs=0.2)


def test_how_much_and_when_is_said_in_numbers(report):
    words = words_of(report)
    quantiles = made_up.consumption_quantiles().query("statistic == 'daily_kwh'")
    daily, mean = quantiles["value"], quantiles["mean"].iloc[0]
    low, median, high = (numbers.significant(daily.quantile(share), 2) for share in (0.1, 0.5, 0.9))
    assert (
        f"The median household uses {median} kWh a day; the mean is {numbers.significant(mean)} kWh. "
        f"One in ten uses less than {low} kWh, one in ten more than {high} kWh." in words
    )
    vacant = made_up.quality_summary()
    vacant.loc[vacant["reason"] == "all_zero", "item_count"] = 3
    tables = {"consumption_quantiles": made_up.consumption_quantiles(), "quality_summary": vacant}
    said = answers(tables)["how much"]
    assert said.endswith("kWh. 3 households that read hardly anything but zero are left out.")
    assert "highest at 18:30 on all days; use on Saturdays and Sundays is 10.0 % lower" in words
    friday = made_up.total_load()
    friday["weekend"] = friday["interval_start_utc"].dt.day_of_week.isin([4, 5])
    assert "on all days; use on Fridays and Saturdays is 3.1 % lower" in answers({"total_load": friday})["when"]
    monday = friday[friday["day_local"] < "2025-10-25"]
    assert "on all days; use at weekends is 0" in answers({"total_load": monday})["when"]
    assert "The period covers a single season" in words
    top = made_up.total_load()["mean_kw"].max()
    assert f"on Monday, 20 October 2025, at 18:30, with {numbers.significant(top)} kW per household (" in words
    assert f"({numbers.significant(1421 * top)} kW together), " in words
    read_kwh = 1421 * made_up.total_load()["mean_kw"].sum() / 4
    assert f"times the mean. In all, {numbers.significant(read_kwh / 1000)} MWh were read." in words
    peaks = made_up.coincidence().set_index("home_count")["peak_kw"]
    alone, ten, hundred, every = (numbers.significant(peaks[size], 2) for size in (1, 10, 100, 1421))
    assert (
        f"A household alone peaks at {alone} kW; the peak per household is {ten} kW in groups of 10, {hundred} kW in "
        f"groups of 100 and {every} kW for all 1,421 together." in words
    )


@pytest.mark.parametrize(
    ("profiles", "least"),
    [
        ({}, "at most 0.01 as zero"),
        ({"clip_kwh_per_hour": [-15, 20], "log_scale": {"kind": "signed"}}, "less than -15 as -15"),
    ],
)
def test_what_becomes_of_readings_outside_the_bounds_is_what_the_tables_hold(study, tmp_path, profiles, least):
    """Oracle: what the study of consumption makes of half hours at and beyond the bounds."""
    config = settings(profiles=profiles)
    words = words_of(page_of(tmp_path, {"total_load": study["total_load"]}, settings=config))
    assert f"Readings of more than 20 kWh an hour count as 20, and those of {least}." in words
    if profiles:
        config = settings(profiles=profiles, export=EXPORT | {"flow": "net"})
        page = page_of(tmp_path, {"total_load": study["total_load"]}, settings=config)
        assert "Energy is what homes draw less what they feed in. Readings of" in words_of(page)
    scale = LogScale.of_interval(config["profiles"], 30)
    low, high = scale.bounds_kwh
    stored = scale.clipped_log(np.array([[low - 1, low, low + 0.01, high, high + 1]]))
    ((_, power_kw, _),) = power_batches(
        [[([1], stored, Calendar(datetime(2025, 1, 1, tzinfo=UTC), 5, 30, "UTC"))]], scale
    )
    lowest = 0.0 if not profiles else -15.0
    assert power_kw[0, [0, 1, 3, 4]] == pytest.approx([lowest, lowest, 20.0, 20.0])
    assert power_kw[0, 2] == pytest.approx(2 * (low + 0.01))


def test_seasons_are_compared_where_the_period_has_them(write, tmp_path):
    load = made_up.total_load(days=300, first="2025-01-01")
    month = load["day_local"].str[5:7].astype(int)
    load["mean_kw"] *= np.where(month.isin([12, 1, 2]), 2.0, np.where(month.isin([6, 7, 8]), 0.5, 1.0))
    words = words_of(page_of(tmp_path, {"total_load": write("total_load", load)}))
    assert "Load is highest in January and February (" in words and "and lowest from June to August (" in words


def test_who_causes_the_peak_is_the_pattern_with_the_largest_part_of_it(report):
    data = made_up.class_load()
    parts = data["household_count"] * data[["mean_kw", "at_peak_kw"]].T
    energy, peak = (part / part.sum() for part in parts.to_numpy())
    most = int(peak[1:].argmax()) + 1
    households = data["household_count"][most] / data["household_count"].sum()
    said = f"{numbers.percent(peak[most])} of the load, from {numbers.percent(households)} of households, which use "
    said += f"{numbers.percent(energy[most])} of the energy"
    assert re.search(f"the pattern ‘.*’ contributes most: {said}", words_of(report))


def test_what_was_dropped_is_counted_and_what_was_not_is_left_out(report):
    rows = rows_of(report)
    assert ("rows", "Used", "3,787,392", "99.9 %") in rows and ("households", "Studied", "1,421", "98.5 %") in rows
    assert ("households", "Left out: too many readings missing", "17", "1.2 %") in rows
    assert ("readings", "Slots without a usable row in the export", "88,704", "2.3 %") in rows
    assert not any("every reading is zero" in cell for row in rows for cell in row)
    assert "and reading, 20 Oct to 16 Nov 2025" in " ".join(captions_of(report))


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ([0, 0, 0, 0], None),
        ([40, 60, 50, 55], None),
        ([10, 1000, 30, 510], "100 % of July 2025, 51.0 % of September 2025; at most 3.0 % of any other month"),
        ([1000, 0], "100 % of June 2025; at most 0 % of any other month"),
        ([900] * 7 + [0] * 2, "90.0 % of September 2025, and many of 3 other months; at most 0 % of any other month"),
    ],
)
def test_months_that_lack_many_readings_are_named_above_everything(write, tmp_path, missing, said):
    months = pd.period_range("2025-06", periods=len(missing), freq="M").strftime("%Y-%m")
    rows = [("expected in a month", month, 1000, "") for month in months]
    rows += [("expected in a month", "2026-09", 30, ""), ("missing in a month", "2026-09", 28, "")]  # a day of it
    rows += [("missing in a month", month, of, "") for month, of in zip(months, missing, strict=True)]
    quality = made_up.quality_summary()
    quality = pd.concat([quality, pd.DataFrame(rows, columns=quality.columns)])
    words = words_of(page_of(tmp_path, {"quality_summary": write("quality_summary", quality)}))
    assert ("Readings are missing" in words) == (said is not None) and (said or "") in words


def test_a_plan_is_a_row_for_each_quantity_under_its_period(report):
    found = plans({**settings(), "release": {**settings()["release"], "what": ["mixture", "forecasts"]}}, 1442, 12)
    rows = rows_of(report)
    for plan in found:
        for one in plan.expected:
            errors = (f"{100 * share:.0f} %" for share in (one.error, one.error_q95, one.guess))
            assert (plan.what, one.of, *errors) in rows
    words = words_of(report)
    assert "Expected error of a release at ε = 1, 20 Oct to 16 Nov 2025, from public numbers alone" in words
    (feeders,) = plans({**settings(), "release": {**settings()["release"], "what": ["feeders"]}}, 1442, 12)
    assert f"Feeders (not in release.what): {feeders.verdicts[0]}." in words
    assert words.count("(not in release.what)") == 1, "households need eight weeks and are left out"
    assert not any(row[0] == "households" and len(row) == 5 for row in rows)
    for plan in found:
        assert f"{plan.what.capitalize()}: {plan.verdicts[0]}." in words
        assert all(f"{said[:1].upper()}{said[1:]}." in words for said in plan.verdicts[1:])


def test_every_table_has_one_epsilon_and_every_row_its_period(report):
    captions = captions_of(report)
    assert all(len(re.findall(r"ε = ", caption)) <= 1 for caption in captions)
    assert sum("ε = 1" in caption for caption in captions) >= 3
    for row in rows_of(report):
        if row[0].startswith(("mean use", "highest load", "use of the median", "use that one")):
            assert re.search(r"\d{4}|a simulated year", row[1]), row


def test_what_was_measured_is_that_of_the_epsilon_of_the_release(report):
    rows = {row[0]: row for row in rows_of(report)}
    period = "a typical weekday, 12:00 to 24:00, 20 Oct to 16 Nov 2025"
    hours = rows["mean energy of an hour, profiles"]
    assert hours[1:] == (period, "1.85 kWh", "10 %", "30 %", "8.0 %")
    together = rows["highest load of 50 households together"]
    assert together[1:] == ("a simulated year", "4.44 kW per household", "0.46 %", "23 %", "12 %")
    odds = "9.5 to 1 without privacy, and against a release 1.2 to 1 at ε = 4 and 1.0 to 1 at ε = 1;"
    assert f"The odds of being right are {odds}" in words_of(report)


def test_a_measured_epsilon_that_is_not_that_of_the_release_has_a_table_of_its_own(write, tmp_path):
    """Synthetic profiles were drawn at another epsilon than households."""
    data = made_up.fidelity().assign(epsilon=lambda f: f["epsilon"].where(f["epsilon"].isna(), 4.0))
    homes = write("household_scores", made_up.household_scores())
    inputs = {"cost": write("cost", made_up.cost()), "fidelity": write("fidelity", data), "household_scores": homes}
    captions = captions_of(page_of(tmp_path, inputs))
    assert [caption for caption in captions if "measured" in caption] == [
        f"Error of a release at ε = {epsilon}, as measured in this study" for epsilon in (1, 4)
    ]


@pytest.mark.parametrize(("asked", "nearest"), [(1, 1), (2, 1), (3, 4), (4, 4), (8, 4)])
def test_households_measured_at_another_epsilon_than_that_of_the_release_say_so(write, tmp_path, asked, nearest):
    inputs = {"household_scores": write("household_scores", made_up.household_scores())}
    page = page_of(tmp_path, inputs, settings=settings(release={"household_epsilon": asked}))
    assert f"Error of a release at ε = {nearest}, as measured in this study" in captions_of(page)
    said = f"release.household_epsilon is {asked}; the nearest ε at which the study measured highest load of"
    assert (said in words_of(page)) == (asked != nearest)
    assert (f"mean power of a month is {nearest}." in words_of(page)) == (asked != nearest)


def test_a_study_of_many_households_says_on_how_many_it_measured(report, write, tmp_path):
    assert "3,000" not in words_of(report)
    many = made_up.class_table().assign(household_count=lambda table: 10 * table["household_count"])
    inputs = {name: write(name, getattr(made_up, name)()) for name in ("cost", "fidelity")}
    inputs["class_table"] = write("class_table", many)
    assert "on a release of 3,000 of the households, chosen without" in words_of(page_of(tmp_path, inputs))


def test_a_difference_within_its_error_is_called_none(write, tmp_path):
    fidelity = made_up.fidelity()
    inputs = {"cost": write("cost", made_up.cost())}
    assert "no difference found" in words_of(page_of(tmp_path, inputs | {"fidelity": write("fidelity", fidelity)}))
    rows = (fidelity["measure"] == "energy_mean_relative") & (fidelity["source"] == "sound")
    fidelity.loc[rows, ["value", "se"]] = [-0.25, 0.05]
    found = rows_of(page_of(tmp_path, inputs | {"fidelity": write("fidelity", fidelity)}))
    assert any(row[0] == "mean use of synthetic profiles" and row[4] == "25 % less" for row in found)


def test_forecasts_are_told_for_a_household_and_for_the_sum(report):
    words, rows = words_of(report), rows_of(report)
    data = made_up.forecaster_comparison().query("scale == 'kwh'").set_index("forecaster")
    own, mean = data.loc["arma"], data.loc["rolling_mean"]
    assert f"is off by {numbers.significant(own['mae'])} kWh per interval on average, and the mean of its" in words
    assert f"last seven days by {numbers.significant(mean['mae_ratio'])} times as much." in words
    assert (
        f"off by {numbers.percent(9.46 / 60.1)} (of these means: {numbers.percent(9.46 * 1.1379 * 0.93 / 60.1)}). "
        "Add up means, not medians: the sum of the medians is 21.3 % low" in words
    )
    ratio = numbers.plus_minus(mean["mae_ratio"], mean["mae_ratio_se"])
    share = numbers.percent(mean["sum_rmse_kwh"] / mean["sum_kwh"])
    assert (mean["label"], numbers.significant(mean["mae"]), ratio, share, "–") in rows


def test_it_is_said_how_far_ahead_forecasts_reach(report):
    hours = settings()["forecast"]["horizon_steps"] * EXPORT["interval_minutes"] / 60
    assert any(f" forecasts of {hours:g} hours each on held-out days of " in words for words in captions_of(report))


def test_the_proven_forecast_is_at_the_epsilon_nearest_to_that_of_the_release(report):
    rows = {row[0]: row[1:] for row in rows_of(report)}
    assert rows["the released file of its group"] == (numbers.significant(1.1 * 0.69), "3.4 % more", "93.5 %")
    assert rows["one public number for every hour"] == ("0.760", "21.0 % less", "–")
    assert "released once at ε = 0.5" in " ".join(captions_of(report))


@pytest.mark.parametrize(("mae", "said"), [(0.465, True), (0.3, False)])
def test_a_shape_no_better_than_a_public_one_is_said_to_be_so(write, tmp_path, mae, said):
    errors = made_up.group_forecast_errors()
    errors.loc[errors["method"] == "scaled", "mae_kwh"] = mae
    words = words_of(page_of(tmp_path, {"group_forecast_errors": write("group_forecast_errors", errors)}))
    assert ("A public shape does about as well" in words) is said


def test_hiding_is_said_beside_what_a_household_uses(report):
    least, most = (numbers.significant(0.0312 * np.sqrt(size), 2) for size in (2, 20))
    words = words_of(report)
    assert f"forecast of the median household by {least} kWh among 2 and {most} kWh among 20, per quarter" in words


def test_the_appendix_is_one_figure_and_one_table_that_says_what_holds_no_guarantee(report):
    page = report.read_text("utf-8")
    appendix = page[page.index('<section id="appendix"') : page.index('<section id="terms"')]
    assert appendix.count("<table") == appendix.count("<figure") == 1
    cost = made_up.cost().query("epsilon == 1").set_index("mechanism")
    for row in rows_of(report):
        if row[2:3] in (("invalid",), ("proven",)):
            (name,) = (n for n in cost.index if numbers.plus_minus(*cost.loc[n, GAP]) == row[4])
            assert (row[2] == "proven") == (cost.loc[name, "family"] == "sound")
    assert sum(row[2:3] == ("invalid",) for row in rows_of(report)) == 6
    assert "nothing they produce may be released" in " ".join(
        html.unescape(re.sub(r"<[^>]+>", " ", appendix)).split()
    )


GAP = ["heldout_gap_mean", "heldout_gap_se"]


def test_without_folds_the_cost_is_that_on_the_households_of_the_fit(write, tmp_path):
    data = made_up.without_folds(made_up.cost())
    path = page_of(tmp_path, {"cost": write("cost", data)})
    row = data[(data["mechanism"] == "sound") & (data["epsilon"] == 1)].iloc[0]
    assert numbers.plus_minus(row["loglik_gap_mean"], row["loglik_gap_se"]) in {
        cell for r in rows_of(path) for cell in r
    }
    assert "on the households of the fit (too few to hold any out)" in " ".join(captions_of(path))


def test_numbers_that_are_not_finite_or_missing_are_written_as_such(write, tmp_path):
    cost = made_up.cost(["sound"], epsilons=[1.0])
    cost.loc[0, ["heldout_gap_mean", "heldout_gap_se"]] = [np.inf, np.nan]
    inputs = {"cost": write("cost", cost), "fidelity": write("fidelity", made_up.fidelity())}
    cells = {cell for row in rows_of(page_of(tmp_path, inputs)) for cell in row}
    assert {"∞", "–"} <= cells and "nan" not in cells


# --- what may be released -------------------------------------------------------------------------------------------


def test_what_is_missing_for_a_release_is_listed(tmp_path):
    words = words_of(page_of(tmp_path, {}, settings=settings(export={"path": "a.csv", "time_zone": "UTC"})))
    assert "With these settings it is refused:" in words
    for setting in ("export.meters", "export.first_day", "export.last_day", "release.population"):
        assert f"{setting} is not set" in words
    assert "([population]), made from readings from [day] to [day]." in words


def test_a_release_that_could_be_made_comes_with_its_sentence(tmp_path):
    release = {"population": "Springfield", "budget_period": "2025", "epsilon": 0.5}
    words = words_of(page_of(tmp_path, {}, settings=settings(release=release)))
    assert "With these settings it is allowed" in words and "release/mixture/" in words
    assert (
        "Typical load profiles (Springfield), made from readings from 2025-10-20 to 2025-11-16. This is a "
        "mathematical guarantee, differential privacy with epsilon 0.5 and delta 1e-05: the probability of any set "
        "of results is at most 1.65 times what it would be with other readings of any one meter, plus 1e-05, "
        "whatever else somebody knows. Releases about the same households add up."
    ) in words
    assert "Forecasts (Springfield)" in words and "2.72 times" in words


def test_an_epsilon_beyond_all_bounds_is_a_sentence_too(tmp_path):
    words = words_of(page_of(tmp_path, {}, settings=settings(release={"what": ["mixture"], "epsilon": 1000})))
    assert "at most ∞ times what it would be" in words


def test_too_few_households_for_a_release_are_said(write, tmp_path):
    release = {"population": "Springfield", "budget_period": "2025"}
    quality = made_up.quality_summary().replace({"item_count": {1_421: 30}})

    def words(data):
        inputs = {"quality_summary": write("quality_summary", data)}
        return words_of(page_of(tmp_path, inputs, settings=settings(release=release)))

    assert "it is refused" not in words(quality), "51 with those left out"
    assert "export.meters lists fewer than 50 households;" in words(quality.replace({"item_count": {30: 20}}))


@pytest.mark.parametrize(("kept", "said"), [(1_421, None), (399, None), (380, "94.8 %"), (0, "0 %")])
def test_fewer_usable_households_than_a_plan_takes_for_granted_are_said(write, tmp_path, kept, said):
    quality = made_up.quality_summary().replace({"item_count": {1_421: kept}})
    planned = plans(settings(release={"what": ["mixture"]}), 401, 1)
    words = words_of(page_of(tmp_path, {"quality_summary": write("quality_summary", quality)}, plans=planned))
    assert (f"In this export {said} have" in words) if said else ("In this export" not in words)


def test_forecasts_that_hide_only_names_claim_no_more(tmp_path):
    release = {"what": ["forecasts"], "forecast_protects": "label"}
    words = words_of(page_of(tmp_path, {}, settings=settings(release=release)))
    assert "they hide which household of its neighbourhood a forecast file belongs to, and no reading" in words


def test_a_period_that_is_too_short_for_whole_households_is_said(write, drawn, tmp_path):
    figures = {"synthetic_homes": drawn["synthetic_homes"]}
    empty = {"household_scores": write("household_scores", made_up.household_scores().iloc[:0])}
    page = page_of(tmp_path, empty, figures)
    assert "need eight weeks of readings from twenty households or more." in words_of(page)
    assert "<figure" not in page.read_text("utf-8"), "no empty figure"
    scores = {"household_scores": write("household_scores", made_up.household_scores())}
    assert "<figure" in page_of(tmp_path, scores, figures).read_text("utf-8")


# --- patterns -------------------------------------------------------------------------------------------------------


def test_patterns_say_how_many_households_and_of_which_hours(report):
    words = words_of(report)
    assert "48.8 % of households, 0.41 kWh per hour" in words and "1.0 % of households (only 14)" in words
    assert "from a typical weekday of each household, 12:00 to 24:00" in words
    assert "“Only” marks fewer than 60 households" in words
    assert words.count("more at weekends") == 1 and "190 % more at weekends" in words


def test_holidays_of_synthetic_households_are_not_those_of_the_figures(report):
    assert (
        "Public holidays count as the weekdays they are on; release.household_holidays applies to synthetic"
        in words_of(report)
    )


def test_too_many_classes_are_said_with_the_hint(report, write, tmp_path):
    assert "Most households are in small" not in words_of(report), (
        "two of six are small, but there are households enough"
    )
    few = made_up.class_table()
    few["household_count"] = [40, 20, 12, 9, 5, 3]
    inputs = {"class_table": write("class_table", few)}
    names = ("mixture", "profile_hours", "quality_summary")
    inputs |= {name: write(name, getattr(made_up, name)()) for name in names}
    words = words_of(page_of(tmp_path, inputs))
    quality = made_up.quality_summary()
    kept = quality[(quality["scope"] == "households") & (quality["reason"] == "kept")]["item_count"].iloc[0]
    assert f"{numbers.count(kept - 89)} households are in no pattern, with few readings or many zeros then" in words
    assert "6 of 6 classes have fewer than 60 households" in words and "100 % of all 89 are in these" in words
    assert "steadier with 1 class (mixture.classes) or fewer hours" in words


# --- what it must not hold ------------------------------------------------------------------------------------------


def test_it_says_that_it_is_not_for_release(report):
    words = words_of(report)
    for sentence in ("NOT FOR RELEASE", "SIMULATED EXPORT", "Nothing in this report may be released."):
        assert sentence in words


def test_a_real_export_is_not_called_simulated(study, tmp_path):
    assert "simulated" not in words_of(page_of(tmp_path, {"cost": study["cost"]})).lower()


def test_no_seed_and_no_folder(report):
    page, words = report.read_text(encoding="utf-8"), words_of(report)
    for private in ("987654321", "987,654,321", "/home", "jdoe", "april.csv", "/srv", str(report.parent)):
        assert private not in page, private
    assert "A <test> study" in words and "seed" not in words


def test_nothing_is_loaded_from_elsewhere(report):
    page = report.read_text(encoding="utf-8")
    without_names = re.sub(r'"data:image/png;base64,[^"]*"|/\*! https://github.com/leeoniya/uPlot', "", page)
    assert not re.search(r"https?:|[\"'(]//[a-z]|@import|url\((?!#)", without_names)
    sources = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert sources and all(source.startswith(("data:", "#")) for source in sources)


def test_links_go_to_sections_and_every_picture_has_words(report, drawn):
    page = report.read_text(encoding="utf-8")
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
    assert len(re.findall(r'<figure id="figure-\w+">\s*<svg role="img" aria-label="[^"]{40,}"', page)) == len(drawn)


def test_it_is_the_same_twice(report, study, drawn):
    again = study["cost"].parent / "again.html"
    build_report({name: study[name] for name in TABLES}, drawn, again, **arguments())
    assert again.read_bytes() == report.read_bytes()


@pytest.mark.parametrize("missing", [None, *TABLES])
def test_a_study_without_one_part_still_has_a_report(study, tmp_path, missing):
    inputs = {name: study[name] for name in TABLES if missing is not None and name != missing}
    words = words_of(page_of(tmp_path, inputs))
    assert "NOT FOR RELEASE" in words and "nan" not in words.split()
    assert words.count("Not part of this study.") == (
        4 if missing is None else missing in ("quality_summary", "cost")
    )


def test_tables_with_ids_and_files_of_the_wrong_kind_are_refused(study, tmp_path):
    words = {"title": "t", "synthetic": False, "settings": {}}
    with pytest.raises(ValueError, match="the report does not read meters"):
        build_report({"meters": study["cost"]}, {}, tmp_path / "r.html", **words)
    with pytest.raises(InputError, match="does not have the columns of table 'cost'"):
        build_report({"cost": study["mixture"]}, {}, tmp_path / "r.html", **words)
    with pytest.raises(InputError, match="does not exist; draw the figure again"):
        build_report({}, {"kl_curve": tmp_path / "none.svg"}, tmp_path / "r.html", **words)
    with pytest.raises(KeyError, match="no figure is called 'pie'"):
        build_report({}, {"pie": study["cost"]}, tmp_path / "r.html", **words)
    assert not (tmp_path / "r.html").exists()


# --- in a browser ---------------------------------------------------------------------------------------------------


def test_a_browser_shows_it_without_an_error_or_an_outside_request(report, drawn):
    facts = chromium.inspect_page(report)
    assert [url for url in facts.requests if not url.startswith(("file:", "data:"))] == []
    assert [url for url in facts.requests if url.startswith("file:")] == [report.resolve().as_uri()]
    assert facts.errors == []
    assert len(facts.image_widths) == len(drawn) and min(facts.image_widths) > 400


def test_no_table_is_cut_off_and_a_narrow_window_need_not_be_moved_sideways(report):
    assert not any(chromium.tables_wider_than_their_panel(report, 1200).values())
    assert chromium.evaluate(report, "document.documentElement.scrollWidth", width=400) == 400


def test_it_is_printed_on_white_and_without_what_only_a_screen_can_do(report):
    look = "[getComputedStyle(document.body).backgroundColor, "
    look += "getComputedStyle(document.querySelector('nav')).display, "
    look += "getComputedStyle(document.querySelector('.back')).display, document.documentElement.scrollWidth]"
    assert chromium.evaluate(report, look, width=688, media="print") == ["rgb(255, 255, 255)", "none", "none", 688]


def test_in_the_dark_it_is_dark_and_can_be_read(report):
    look = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color, "
    look += "getComputedStyle(document.querySelector('figure > svg')).filter]"
    paper, ink, turned = chromium.evaluate(report, look, scheme="dark")
    low, high = (sum(map(int, re.findall(r"\d+", colour))) for colour in (paper, ink))
    assert low < 100 and high > 600 and turned.startswith("invert(")


def test_the_browser_client_does_see_requests_errors_and_broken_images(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<img src='missing.svg'><img src='http://127.0.0.1:9/x.png'>"
        "<script>console.error('said'); throw new Error('thrown')</script>"
    )
    facts = chromium.inspect_page(page)
    assert "http://127.0.0.1:9/x.png" in facts.requests and facts.image_widths == [0, 0]
    assert any("said" in error for error in facts.errors) and any("Uncaught" in error for error in facts.errors)
