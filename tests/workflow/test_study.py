"""The tiny study: schemas, marks, secrecy, the report, and independence of cores and shards."""

import json
import re
import shutil
import stat
from pathlib import Path

import pyarrow.parquet as pq

from meterdp.catalogue import catalogue, study_tables
from meterdp.core.parquet import metadata_of, read_table
from meterdp.households.tables import HOUSEHOLD_CURVES, HOUSEHOLD_SCORES, HOUSEHOLD_WEEKS
from meterdp.ingest.tables import INGEST_REPORT, READINGS
from meterdp.profiles.tables import QUALITY_SUMMARY
from tests.chromium import chromium_or_skip, inspect_page
from tests.workflow.conftest import TINY, Runner


def parquet_files(folder):
    return sorted((folder / "results").rglob("*.parquet"))


def test_every_parquet_file_matches_its_declared_schema(tiny_study):
    tables, seen = catalogue(), set()
    for path in parquet_files(tiny_study.folder):
        name = metadata_of(path)["table"]
        seen.add(name)
        read_table(path, tables[name])
        for field, declared in zip(pq.read_schema(path), tables[name].schema, strict=True):
            assert field.metadata == declared.metadata, (path, field.name)
    declared = {
        name
        for name, table in study_tables().items()
        if table.audience != "release" and "/release/" not in f"/{table.file}"
    }
    assert seen == declared, "tables that are declared and never written, or the other way round"


def test_private_and_study_files_lie_where_their_audience_says_and_are_marked(tiny_study):
    for room in ("private", "study"):
        assert stat.S_IMODE((tiny_study.folder / "results" / room).stat().st_mode) == 0o700
    for path in parquet_files(tiny_study.folder):
        facts = metadata_of(path)
        assert facts["audience"] == path.relative_to(tiny_study.folder / "results").parts[0], path
        assert facts["release"] == "not for release" and facts["synthetic"] == "yes", path
    assert not (tiny_study.folder / "results/release").exists()


def test_every_row_of_the_export_is_accounted_for(tiny_study):
    private = tiny_study.folder / "results/private"
    report = read_table(private / "ingest_report.parquet", INGEST_REPORT).to_pandas().set_index("reason")["row_count"]
    import gzip

    with gzip.open(private / "export/simulated.csv.gz") as file:
        assert report.sum() == sum(1 for _ in file) - 1
    readings = sum(
        read_table(p, READINGS)["energy_kwh"].combine_chunks().drop_null().__len__()
        for p in sorted((private / "readings").iterdir())
    )
    assert report["used"] == readings


def test_the_simulated_mess_is_found_and_counted(tiny_study):
    rows = read_table(tiny_study.folder / "results/study/quality_summary.parquet", QUALITY_SUMMARY).to_pandas()
    households = rows[rows["scope"] == "households"].set_index("reason")["item_count"]
    assert households.sum() == TINY["simulate"]["households"]
    assert 0 < households["kept"] < households.sum()
    assert households["unit_slip"] >= 1 and households["all_zero"] >= 1
    counts = rows[rows["scope"] != "households"].set_index("reason")["item_count"]
    found = ["missing_readings", "unit_slip_readings", "stuck_readings", "negative_readings"]
    assert (counts[[*found, "duplicate_rows", "conflicting_rows"]] > 0).all()


def test_the_report_loads_alone_without_error(tiny_study):
    chromium_or_skip()
    page = inspect_page(tiny_study.folder / "results/study/report.html")
    outside = [url for url in page.requests if not url.startswith(("file:", "data:"))]
    assert outside == [] and page.errors == []
    assert len(page.image_widths) >= 6 and all(width > 0 for width in page.image_widths)
    assert (tiny_study.folder / "results/study/report.html").stat().st_size < 3e6


def test_a_second_run_does_nothing(tiny_study):
    done = tiny_study.run(TINY)
    assert done.returncode == 0 and "Nothing to be done" in done.stdout


def test_results_depend_neither_on_cores_nor_on_shards(tiny_study, tmp_path):
    """Every table; figures and report follow from tables, and drawing twice gives the same bytes (tests/unit).

    But for those of a simulated year, which is drawn from the number of meters and the seed alone, and whose job
    tests/unit/households/test_study.py runs twice.
    """
    other = Runner(tmp_path)
    # The release ids hang on a private random salt; with the same salt they are the same.
    salt = Path("results/private/release_id_salt.txt")
    (tmp_path / salt).parent.mkdir(parents=True)
    shutil.copy2(tiny_study.folder / salt, tmp_path / salt)
    results = tiny_study.folder / "results"
    # Parts differ by design; the tables gathered from them do not.
    parts = {p for p in (results / "private").iterdir() if p.is_dir()}
    of_year = {HOUSEHOLD_SCORES.name, HOUSEHOLD_WEEKS.name, HOUSEHOLD_CURVES.name}
    compared = [p for p in parquet_files(tiny_study.folder) if p.parent not in parts and p.stem not in of_year]
    folders = {results / "study/forecasts", results / "study/group_forecasts"}
    wanted = [*(p for p in compared if p.parent not in folders), *folders]
    targets = [p.relative_to(tiny_study.folder).as_posix() for p in wanted]
    done = other.run({**TINY, "shards": 3}, *targets, cores=1)
    assert done.returncode == 0, done.stdout[-3000:]
    for path in compared:
        relative = path.relative_to(tiny_study.folder)
        table = pq.read_table(path, partitioning=None)
        twin = pq.read_table(tmp_path / relative, partitioning=None)
        if path.name == "meters.parquet":
            table, twin = table.drop_columns("shard"), twin.drop_columns("shard")
        assert table.schema.equals(twin.schema, check_metadata=True), relative
        assert repr(table.to_pydict()) == repr(twin.to_pydict()), relative  # NaN reads as NaN, digit by digit
    assert len(compared) > 15


def test_forecast_files_carry_release_ids_and_a_guarantee(tiny_study):
    from meterdp.publish.tables import CROSSWALK

    results = tiny_study.folder / "results"
    ids = read_table(results / "private/crosswalk.parquet", CROSSWALK)["release_id"].to_pylist()
    files = sorted((results / "study/forecasts").glob("*.parquet"))
    assert sorted(f"{i}.parquet" for i in ids) == [f.name for f in files] and len(ids) > 5
    assert "not" in metadata_of(files[0])["guarantee"]
    for file in files:
        manifest = json.loads(file.with_suffix(".json").read_text())
        assert manifest["release_id"] == file.stem and manifest["guarantee"] == metadata_of(file)["guarantee"]
        assert [p["epsilon"] for p in manifest["privacy"]["epsilon_delta"]] == [0.1, 0.2, 0.4, 0.6, 0.8, 1.0]


def test_everybody_is_in_a_group_of_the_size_asked_for_and_the_cost_of_hiding_is_told(tiny_study):
    from meterdp.class_noise.tables import NEIGHBOURHOOD_SUMMARY
    from meterdp.evaluation.tables import HIDE_AMONG

    study = tiny_study.folder / "results/study"
    sizes = read_table(study / "neighbourhood_summary.parquet", NEIGHBOURHOOD_SUMMARY)["household_count"].to_pylist()
    assert min(sizes) >= TINY["neighbourhoods"]["size"] and max(sizes) < 2 * TINY["neighbourhoods"]["size"]
    costs = read_table(study / "hide_among.parquet", HIDE_AMONG).to_pandas()
    served = costs[costs["group_count"] > 0]
    assert set(served["size"]) == {2, 5} and served["error_kwh_median"].notna().all()
    assert (served["largest_delta"] <= served["delta"]).all()
    assert costs.loc[costs["size"] > 5, "meaning"].str.contains(f"more than the {sum(sizes)} households").all()


def test_the_forecast_files_alone_reproduce_figure_3(tiny_study):
    from meterdp.publish.tables import FORECAST_EXAMPLES, FORECAST_FILE

    study = tiny_study.folder / "results/study"
    files = [read_table(path, FORECAST_FILE) for path in sorted((study / "forecasts").glob("*.parquet"))[:3]]
    drawn = read_table(study / "forecast_examples.parquet", FORECAST_EXAMPLES).to_pandas()
    drawn = drawn[drawn["part"] == "released"]
    assert len(drawn) == 3 * TINY["forecast"]["horizon_steps"]
    assert drawn["energy_kwh"].tolist() == [value for table in files for value in table["released_kwh"].to_pylist()]


def test_snakemakes_own_report_builds(tiny_study):
    done = tiny_study.run(TINY, "--report", str(tiny_study.folder / "own.html"))
    assert done.returncode == 0, done.stdout[-3000:]
    text = (tiny_study.folder / "own.html").read_text()
    assert len(text) > 500_000 and "plan with the distribution" in text


def test_other_choices_run_to_the_report(planted_study):
    report = (planted_study.folder / "results/study/report.html").read_text()
    assert "SIMULATED EXPORT" not in report and "NOT FOR RELEASE" in report
    assert "need eight weeks of readings from twenty households or more" in " ".join(report.split())


def test_homes_over_a_period_are_those_of_a_simulated_year_where_fewer_weeks_are_simulated(tiny_study):
    scores = read_table(tiny_study.folder / "results/study/household_scores.parquet", HOUSEHOLD_SCORES).to_pandas()
    assert set(scores["period"]) == {"simulated_year"} and set(scores["day_count"]) == {365}
    assert set(scores["household_count"]) == {TINY["simulate"]["households"]}
    report = (tiny_study.folder / "results/study/report.html").read_text()
    assert re.search("<td>highest load of [0-9]+ households together</td><td>a simulated year</td>", report)
