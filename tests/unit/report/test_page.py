"""The report holds every number of its tables, nothing it must not hold, and loads nothing from elsewhere."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

from meterdp.catalogue import study_tables
from meterdp.core.config import complete, load_schema
from meterdp.errors import InputError
from meterdp.pages import numbers
from meterdp.report.forecasts import off
from meterdp.report.page import build_report
from meterdp.report.registry import TABLES
from tests import chromium
from tests.conftest import ROOT
from tests.unit.report import made_up

SETTINGS = {
    "title": "Smart-meter study",
    "results_dir": "/srv/hidden/results",
    "seed": 987_654_321,
    "shards": 4,
    "export": {"path": "/home/somebody/april.csv", "format": "long_csv", "missing_words": ["", "NA"]},
    "mechanisms": {"epsilons": [2], "delta": 1e-5, "draws": 1000},
    "class_noise": {"file_design": "published", "rhos": [0.45]},
}


def arguments() -> dict:
    """What the report is told besides its tables and figures."""
    return {
        "title": "A <test> study",
        "synthetic": True,
        "settings": SETTINGS,
        "files": study_tables().values(),
    }


@pytest.fixture(scope="module")
def report(study, drawn, tmp_path_factory):
    """Path of the made-up study's report."""
    output = study["cost"].parent / "report.html"
    inputs = {name: study[name] for name in TABLES}
    build_report(inputs, drawn, output, **arguments())
    return output


def words_of(path) -> str:
    """Visible text of a report, images and style left out, white space as single spaces."""
    page = re.sub(r"<style>.*?</style>|<img [^>]*>", "", path.read_text(encoding="utf-8"), flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def page_of(folder, inputs, figures=None, settings=SETTINGS):
    """Write the report of these tables and figures; return its path."""
    path = folder / "r.html"
    build_report(inputs, figures or {}, path, title="t", synthetic=False, settings=settings)
    return path


def cells_of(path) -> set[str]:
    return {html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", path.read_text(encoding="utf-8"))}


# What the report writes of a row of each table.
WRITTEN = {
    "ingest_report": lambda r: [numbers.count(r.row_count)],
    "quality_summary": lambda r: [numbers.count(r.item_count)],
    "class_table": lambda r: [
        numbers.count(r.household_count),
        numbers.significant(r.mean_energy_kwh),
        numbers.percent(r.share),
    ],
    "normality": lambda r: [
        numbers.count(r.household_count),
        numbers.significant(r.mardia_kurtosis_z),
        numbers.percent(r.share_within_90),
    ],
    "arma_summary": lambda r: [numbers.count(r.household_count)],
    "forecast_marks_summary": lambda r: [numbers.count(r.household_count)],
    "neighbourhood_summary": lambda r: [numbers.count(r.pair_count)],
    "cost": lambda r: [
        numbers.plus_minus(r.kl_mean, r.kl_se),
        numbers.plus_minus(r.loglik_gap_mean, r.loglik_gap_se),
        numbers.plus_minus(r.heldout_gap_mean, r.heldout_gap_se),
        numbers.count(r.classes),
        numbers.percent(r.projected_share),
        *map(numbers.significant, (r.heldout_loglik_mean, r.kl_median, r.kl_small_classes_mean)),
        *([numbers.significant(r.heldout_gap_same_k_mean)] if r.family == "sound" else []),
    ],
    "forecast_errors": lambda r: [
        numbers.plus_minus(r.nmse, r.nmse_se),
        *map(numbers.significant, (r.relative_mse, r.nmse_median, r.mae)),
        *([numbers.percent(r.won_share)] if r.method != "arma" else []),
        *([off(r.sum_bias_kwh, r.sum_kwh), numbers.percent(r.sum_rmse_kwh / r.sum_kwh)] if r.scale == "kwh" else []),
    ],
    "forecaster_comparison": lambda r: (
        []
        if r.status != "run" or r.forecaster == "arma"
        else [numbers.plus_minus(r.mse_ratio, r.mse_ratio_se), numbers.percent(r.won_share)]
        if r.scale == "log_kwh"
        else [
            numbers.plus_minus(r.mae_ratio, r.mae_ratio_se),
            numbers.percent(r.mae_won_share),
            *map(numbers.significant, (r.mase, r.rmse_mean_kwh, r.crps_kwh)),
            off(r.sum_bias_kwh, r.sum_kwh),
            off(r.sum_of_medians_bias_kwh, r.sum_kwh),
            *map(numbers.percent, (r.sum_rmse_kwh / r.sum_kwh, r.covered_50_share, r.covered_90_share)),
        ]
    ),
    "forecast_intervals": lambda r: [
        f"{numbers.percent(r.coverage)} ± {numbers.percent(r.coverage_se)}",
        numbers.significant(r.mean_width_kwh),
    ],
    "gaussian_summary": lambda r: [numbers.percent(r.rejected_share)],
    "delta_curves": lambda r: [numbers.probability(r.delta)],
    "delta_under_prior": lambda r: [numbers.probability(r.delta)] if r.epsilon == 1 and r.design != "none" else [],
    "design_comparison": lambda r: (
        [numbers.probability(r.delta), *map(numbers.significant, (r.ratio_to_published, r.share_of_limit))]
        if r.design != "none"
        else []
    ),
    "noise_answers": lambda r: [numbers.significant(r.rho), numbers.significant(r.error_kwh)],
    "hide_among": lambda r: [
        f"{r.size} or more",
        f"{r.group_count} of {r.smallest_group} to {r.largest_group}",
        *(numbers.significant(value, 2) for name, value in r._asdict().items() if "error_kwh_m" in name),
    ],
    "group_forecast_errors": lambda r: [
        *map(numbers.significant, (r.mae_kwh, r.mae_median_kwh)),
        *([] if r.coverage_50 != r.coverage_50 else map(numbers.percent, (r.coverage_50, r.coverage_90))),
    ],
}


@pytest.mark.parametrize("table", WRITTEN)
def test_every_number_of_the_tables_is_in_the_report(report, table):
    cells = cells_of(report)
    for row in getattr(made_up, table)().itertuples():
        assert set(WRITTEN[table](row)) <= cells, row


def test_the_reasons_are_in_words(report):
    words = words_of(report)
    for table in ("ingest_report", "quality_summary", "arma_summary", "forecast_marks_summary"):
        for meaning in getattr(made_up, table)()["meaning"]:
            assert meaning in words


def test_the_headline_is_computed_from_the_tables(report):
    words = words_of(report)
    cost = made_up.cost().set_index(["mechanism", "epsilon"])
    sound, exact = (
        numbers.plus_minus(*cost.loc[(name, 2.0), ["heldout_gap_mean", "heldout_gap_se"]])
        for name in ("sound", "kl_exact")
    )
    same = numbers.significant(cost.loc[("sound", 2.0), "heldout_gap_same_k_mean"])
    gap = numbers.significant(cost.loc[("sound", 2.0), "heldout_gap_mean"])
    times = numbers.significant(np.exp(cost.loc[("sound", 2.0), "heldout_gap_mean"]), 2)
    assert "1,421 of 1,442 households (98.5 %) passed the quality rules; " in words
    assert "1,409 with a usable profile form 6 classes of 14 to 687 households." in words
    assert (
        "At ε = 2, the release with a proof describes new households worse than the study’s own mixture (6 classes, "
        f"no privacy), by {sound} nats each (e^{gap} = {times} times less likely). Against a mixture of 3 classes "
        f"without privacy it describes them worse by {same} nats. This is the sound release, with 3 classes; "
        "neighbouring data sets differ in one household's record." in words
    )
    assert (
        "By the same measure, mechanisms whose guarantee does not hold describe new households "
        f"worse by {exact} nats each (KL-minimising, exact, the best of the family ‘exact’) and" in words
    )
    assert "100 of the 1,421 households that passed the quality rules were fitted and forecast" in words
    arma = made_up.forecast_errors().query("method == 'arma' and scale == 'kwh'").iloc[0]
    by = made_up.forecaster_comparison().set_index(["forecaster", "scale"])
    mean = [by.loc[("rolling_mean", scale)] for scale in ("log_kwh", "kwh")]
    ratios = [numbers.significant(mean[1]["mae_ratio"]), numbers.significant(mean[0]["mse_ratio"])]
    assert (
        f"the forecast misses by {numbers.significant(by.loc[('arma', 'kwh'), 'mae'])} kWh an interval on average "
        f"({numbers.significant(arma['mae_median'])} kWh for the median household); the mean of the last seven days "
        f"misses by {ratios[0]} times as much, and by {ratios[1]} times in squared error of log energy. Of the other "
        f"forecasters from a household’s own readings the best is the mean of the last seven days: {ratios[0]} times "
        f"the error in kWh, {ratios[1]} times the squared error in log. Added up over households, "
        f"medians are {numbers.percent(12.8 / 60.1)} low and means {numbers.percent(1.31 / 60.1)} high." in words
    )
    least, most = (numbers.significant(0.0312 * np.sqrt(size), 2) for size in (2, 20))
    assert (
        f"changes that of the median household by {least} kWh among 2 and {most} kWh among 20, per quarter" in words
    )
    delta = numbers.significant(1.15 * 0.7 * np.exp(-0.45))
    assert f"exceeds ε = 1 in either direction with a probability of up to {delta} if" in words


def test_noise_that_hides_nothing_is_called_so(write, tmp_path):
    data = made_up.delta_curves()
    data["delta_chernoff"], data["delta"] = 1.0, 0.9999
    inputs = {"delta_curves": write("delta_curves", data)}
    page = page_of(tmp_path, inputs)
    assert "up to >0.999 if only the added noise counts: that pair is not protected." in words_of(page)


def test_it_says_that_it_is_not_for_release_and_what_is_not_guaranteed(report):
    words = words_of(report)
    for sentence in (
        "NOT FOR RELEASE",
        "SYNTHETIC EXPORT",
        "The guarantees of the families ‘published’ and ‘exact’ do not hold; never for release.",
        "This report is internal.",
        "the smallest class has 14 households",
    ):
        assert sentence in words


def test_a_real_export_is_not_called_synthetic(study, tmp_path):
    assert "synthetic" not in words_of(page_of(tmp_path, {"cost": study["cost"]}, settings={})).lower()


def test_no_seed_no_folder_and_no_script(report):
    page = report.read_text(encoding="utf-8")
    words = words_of(report)
    for private in ("987654321", "987,654,321", "seed ", "/home", "somebody", "/srv", str(report.parent)):
        assert private not in words, private
    assert "<script" not in page and "april.csv" in words and "A <test> study" in words


def test_nothing_is_loaded_from_elsewhere(report):
    page = report.read_text(encoding="utf-8")
    assert not re.search(r"https?:|//[a-z]|@import|url\(", page)
    sources = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert sources and all(source.startswith(("data:", "#")) for source in sources)


def test_links_go_to_sections_and_images_have_words(report, drawn):
    page = report.read_text(encoding="utf-8")
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
    assert len(re.findall(r'<img src="data:image/svg\+xml,[^"<>]+" alt="[^"]{40,}">', page)) == len(drawn)


def test_the_files_are_listed_by_path_with_what_they_hold(report):
    cells = cells_of(report)
    for path in ("private/ingest_report.parquet", "study/cost.parquet", "private/readings/part-*.parquet"):
        assert f"<code>{path}</code>" in cells
    assert "Sizes of the neighbourhoods, and who has no neighbour." in cells and {"private", "study"} <= cells


def test_it_is_the_same_twice(report, study, drawn, tmp_path):
    inputs = {name: study[name] for name in TABLES}
    again = study["cost"].parent / "again.html"
    build_report(inputs, drawn, again, **arguments())
    assert again.read_bytes() == report.read_bytes()


@pytest.mark.parametrize("missing", [None, *TABLES])
def test_a_study_without_one_part_still_has_a_report(study, tmp_path, missing):
    inputs = {name: study[name] for name in TABLES if missing is not None and name != missing}
    words = words_of(page_of(tmp_path, inputs))
    assert "NOT FOR RELEASE" in words
    assert ("Forecasts were not part of this study." in words) == (missing is None)


@pytest.mark.parametrize("mechanisms", [("kl_published",), ("sound",), ("iid_laplace", "kl_exact")])
def test_few_mechanisms_get_the_warnings_that_concern_them(write, tmp_path, mechanisms):
    words = words_of(page_of(tmp_path, {"cost": write("cost", made_up.cost(mechanisms, epsilons=[1.0]))}))
    families = {made_up.MECHANISMS[name][0] for name in mechanisms}
    assert ("do not hold; never for release" in words) == bool(families & {"published", "exact"})
    assert ("inherits the same holes" in words) == ("exact" in families)
    assert ("The sound mechanism has a proof" in words) == ("sound" in families)


def test_numbers_that_are_not_finite_or_missing_are_written_as_such(write, tmp_path):
    cost = made_up.cost(["sound"], epsilons=[1.0])
    cost.loc[0, ["heldout_gap_mean", "heldout_gap_se", "kl_median"]] = [np.inf, np.nan, np.nan]
    normality = made_up.normality(1)
    normality["mardia_skewness"] = None
    inputs = {"cost": write("cost", cost), "normality": write("normality", normality)}
    page = page_of(tmp_path, inputs, settings={})
    cells = cells_of(page)
    assert {"∞", "–"} <= cells and "nan" not in cells
    assert "worse than the study’s own mixture (no privacy), by ∞ nats each. " in words_of(page)


def test_a_release_better_than_the_mixture_of_the_study_is_called_more_likely(write, tmp_path):
    page = page_of(tmp_path, {"cost": write("cost", made_up.cost(["sound"], epsilons=[8.0]))})
    words = words_of(page)
    row = made_up.cost(["sound"], epsilons=[8.0]).iloc[0]
    gap = numbers.plus_minus(-row["heldout_gap_mean"], row["heldout_gap_se"])
    assert f"describes new households better than the study’s own mixture (no privacy), by {gap} nats each" in words
    assert "times more likely). " in words
    assert numbers.plus_minus(row["heldout_gap_mean"], row["heldout_gap_se"]) in cells_of(page)


def test_a_release_with_the_classes_of_the_study_has_one_reference(write, tmp_path):
    data = made_up.cost(["sound"]).assign(classes=6)
    data["heldout_gap_same_k_mean"] = data["heldout_gap_mean"]
    inputs = {"cost": write("cost", data), "class_table": write("class_table", made_up.class_table())}
    words = words_of(page_of(tmp_path, inputs))
    assert (
        "times less likely). This is the sound release, with 6 classes" in words and "against 6 classes" not in words
    )


def test_without_folds_the_cost_is_that_on_the_households_of_the_fit(write, tmp_path):
    data = made_up.without_folds(made_up.cost())
    words = words_of(page_of(tmp_path, {"cost": write("cost", data)}))
    row = data[(data["mechanism"] == "sound") & (data["epsilon"] == 2)].iloc[0]
    gap = numbers.plus_minus(row["loglik_gap_mean"], row["loglik_gap_se"])
    assert "describes the households of the fit (too few to hold any out) worse than the study’s own mixture" in words
    assert f"by {gap} nats each" in words
    assert "There are too few households to hold any out." in words and "five parts. Every" not in words


def test_marginals_of_lesser_mechanisms_are_folded_away(study, drawn, tmp_path):
    figures = {f"marginal_densities_{m}": drawn["marginal_densities_sound"] for m in made_up.MECHANISMS}
    page = page_of(tmp_path, {}, figures, settings={}).read_text(encoding="utf-8")
    start = page.index("<details><summary>Show the same")
    folded = page[start : page.index("</details>", start)]
    shown = re.findall(r'id="figure-marginal_densities_(\w+)"', page.replace(folded, ""))
    assert shown == ["kl_published", "sound"]
    assert re.findall(r'id="figure-marginal_densities_(\w+)"', folded) == [
        m for m in made_up.MECHANISMS if m not in shown
    ]
    assert page.count("<figcaption>") == 2 and f"the other mechanisms ({len(made_up.MECHANISMS) - 2})" in folded


def test_the_period_and_the_day_of_the_profiles_are_said(write, tmp_path):
    export = {"first_day": "2025-10-20", "last_day": "2025-11-16", "interval_minutes": 15}
    for day, words in (("auto", "on 2025-11-03."), ("2025-10-22", "on 2025-10-22.")):
        settings = {"export": export, "profiles": {"vector": "half_day", "date": day}}
        page = words_of(page_of(tmp_path, {}, settings=settings))
        assert "readings every 15 minutes from 2025-10-20 to 2025-11-16" in page and words in page


def test_one_class_and_one_household_are_written_in_the_singular(write, tmp_path):
    data = made_up.class_table(1)
    data["household_count"] = 1
    inputs = {"class_table": write("class_table", data)}
    words = words_of(page_of(tmp_path, inputs, settings={}))
    assert "form 1 class of 1 household." in words and "the smallest class has 1 household)" in words


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


def test_a_browser_shows_every_figure_without_an_error_or_an_outside_request(report, drawn):
    facts = chromium.inspect_page(report)
    assert [url for url in facts.requests if not url.startswith(("file:", "data:"))] == []
    assert [url for url in facts.requests if url.startswith("file:")] == [report.resolve().as_uri()]
    assert facts.errors == []
    assert len(facts.image_widths) == len(drawn) and min(facts.image_widths) > 400


SECTIONS = "Array.from(document.querySelectorAll('details.section'), d => [d.querySelector('[id]').id, d.open])"


def test_a_link_opens_the_section_it_leads_to_and_no_other(report):
    found = dict(chromium.evaluate(report, SECTIONS, fragment="cost"))
    assert [name for name, is_open in found.items() if is_open] == ["cost"]
    links = re.findall(r'<li><a href="#(\w+)">', report.read_text(encoding="utf-8"))
    assert links == list(found) and len(found) == 9


def test_no_table_is_cut_off_and_a_narrow_window_need_not_be_moved_sideways(report):
    assert not any(chromium.tables_wider_than_their_panel(report, 1200).values())
    opened = "document.querySelectorAll('details').forEach(d => d.open = true); document.documentElement.scrollWidth"
    assert chromium.evaluate(report, opened, width=400) == 400


def test_the_first_page_is_one_sheet_and_the_rest_is_printed_unfolded(report):
    """Of 210 x 297 mm with margins of 14 mm, at 96 pixels an inch: 688 x 1017."""
    measured = "[document.querySelector('.first').getBoundingClientRect().bottom, "
    measured += "document.getElementById('glossary').checkVisibility({contentVisibilityAuto: true})]"
    bottom, glossary = chromium.evaluate(report, measured, width=688, media="print")
    assert 500 < bottom < 1017 and glossary


def test_homes_over_a_period_are_told_with_their_errors_and_what_a_release_makes(report, write, tmp_path):
    words, cells = words_of(report), cells_of(report)
    assert "so a year of 1,409 homes was simulated for this section (a reading every hour): what is called" in words
    error = numbers.significant(2.0 * 9.2 * 1.25, 2)
    assert (
        "The highest load of 50 homes together is off by 0.46 % without privacy, 10 % at ε = 4 and "
        f"{error} % at ε = 1; two halves of the real homes differ by 12 %." in words
    )
    assert "right with odds of 9.5 to 1 without privacy, 1.2 at ε = 4 and 1.0 at ε = 1; a guess has 1 to 1." in words
    assert {"highest load of homes together", "50 homes", "4.44 kW a home", "energy, quantile of homes"} <= cells
    scores = made_up.household_scores()
    assert "300 homes" not in cells, "halves have no such group"
    for row in scores[scores["statistic"].isin(["energy, quantiles of homes", "monthly energy"])].itertuples():
        for value in (row.absolute_error, row.floor):
            assert f"{numbers.significant(value, 2)} %" in cells
    day = scores[(scores["statistic"] == "autocorrelation") & (scores["detail"] == "1 day")]
    assert {f"{value:.2f} KS" for value in (*day["absolute_error"], day["floor"].iloc[0])} <= cells
    defaults = complete({}, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))
    inputs = {"household_scores": write("household_scores", made_up.household_scores("export"))}
    words = words_of(page_of(tmp_path, inputs, settings=defaults))
    assert "The 365 days of the export have 1,409 homes" in words and "simulated for this section" not in words
    assert "a release makes typical load profiles (mixture, ε = 1) and forecasts (ε = 1); meterdp" in words
    assert "It would make synthetic households over the whole period (households, ε = 1) if release.what" in words


def test_a_period_that_is_too_short_for_homes_is_said(write, drawn, tmp_path):
    inputs = {"household_scores": write("household_scores", made_up.household_scores().iloc[:0])}
    page = page_of(tmp_path, inputs, {"synthetic_homes": drawn["synthetic_homes"]})
    assert "need eight weeks of readings, of twenty homes or more; this export has fewer." in words_of(page)
    assert "<img" not in page.read_text(), "no empty figure"


def test_deltas_of_one_are_a_sentence_instead_of_rows(write, tmp_path):
    data = made_up.delta_curves()
    hidden = (data["design"] == "white") & (data["query_model"] == "deterministic")
    assert hidden.any() and not hidden.all()
    data.loc[hidden, "delta"] = 0.9991
    inputs = {"delta_curves": write("delta_curves", data)}
    page = page_of(tmp_path, inputs)
    words, budgets = words_of(page), sorted(data.loc[hidden, "rho"].unique())
    said = f"white noise at ρ = {', '.join(numbers.plain(rho) for rho in budgets)} (deterministic)"
    assert "Not listed, because δ is above 0.99 at every ε" in words and said in words
    assert ">0.999" not in cells_of(page)


def test_the_browser_client_does_see_requests_errors_and_broken_images(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<img src='missing.svg'><img src='http://127.0.0.1:9/x.png'>"
        "<script>console.error('said'); throw new Error('thrown')</script>"
    )
    facts = chromium.inspect_page(page)
    assert "http://127.0.0.1:9/x.png" in facts.requests and facts.image_widths == [0, 0]
    assert any("said" in error for error in facts.errors) and any("Uncaught" in error for error in facts.errors)
