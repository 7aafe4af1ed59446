"""Bad input ends in one clear sentence, a non-zero exit status, and no half-written output."""

import re

import pytest


def outputs(folder):
    """Files of a study but its logs and benchmarks."""
    results = folder / "results"
    return sorted(
        str(p.relative_to(results))
        for p in results.rglob("*")
        if p.is_file() and not {"logs", "benchmarks"} & set(p.relative_to(results).parts)
    )


def sentence_of(done, pattern):
    """The line of the output that matches; asserts that there is one, nothing of Snakemake around it, and failure."""
    assert done.returncode != 0
    hits = [line for line in done.stdout.splitlines() if re.search(pattern, line)]
    assert len(hits) == 1, done.stdout[-3000:]
    noise = ("RuleException", "WorkflowError", "CalledProcessError", "Exiting because")
    assert not [word for word in noise if word in done.stdout], done.stdout[-3000:]
    return hits[0]


def test_a_key_that_is_refused_ends_the_run(runner):
    """One of many; the sentences are in tests/unit/core/test_config.py."""
    sentence_of(runner.run({"mechanisms": {"epsilons": [2, 0]}}), r"config.yaml, .*epsilons\[1\]': is 0 and must")
    assert outputs(runner.folder) == []


def test_a_configuration_whose_python_snakemake_runs_is_refused_afterwards(runner):
    template = {"__use_yte__": True, "shards": "?1 + 1"}
    sentence = sentence_of(
        runner.run(template, "--dry-run"), r"config.yaml, field '__use_yte__': is a template, whose Python"
    )
    assert "start with make, which runs none of it" in sentence
    assert outputs(runner.folder) == []


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"export": {"path": "nowhere.csv", "time_zone": "UTC"}}, "export.path"),
        ({"neighbourhoods": {"by": "file", "file": "nowhere.csv"}}, "neighbourhoods.file"),
    ],
)
def test_a_file_that_is_missing_is_refused_at_once(runner, settings, field):
    sentence_of(runner.run(settings), rf"nowhere.csv, field '{field}': is not a file( or folder)?; give")
    assert outputs(runner.folder) == []


def test_a_bad_export_ends_the_run(runner, small_export):
    """One of many; the sentences are in tests/unit/ingest/test_bad_input.py."""
    path, frame, settings = small_export
    frame.loc[100, "kwh"] = "twelve"
    frame.to_csv(path, index=False)
    sentence = sentence_of(runner.run(settings), r"export.csv, row 102, field 'kwh': .*; .+\.$")
    assert "twelve" not in sentence
    assert outputs(runner.folder) == []


def test_one_household_is_refused(runner, small_export):
    path, frame, settings = small_export
    frame[frame["meter_id"] == "m03"].to_csv(path, index=False)
    done = runner.run(settings, "--until", "fit_mixture")
    sentence = sentence_of(done, r"config, field 'mixture.classes': asks for 3 classes, but too few .*; .+\.$")
    assert "m03" not in sentence
    assert not any(name.startswith("study/mixture") for name in outputs(runner.folder))


def test_a_household_with_too_few_readings_is_counted_and_left_out(runner, small_export):
    from meterdp.core.parquet import read_table
    from meterdp.profiles.tables import QUALITY_SUMMARY

    path, frame, settings = small_export
    frame.drop(frame.index[(frame["meter_id"] == "m05")][30:]).to_csv(path, index=False)
    done = runner.run(settings, "--until", "gather_profiles")
    assert done.returncode == 0, done.stdout[-3000:]
    rows = read_table(runner.folder / "results/study/quality_summary.parquet", QUALITY_SUMMARY).to_pandas()
    counts = rows[rows["scope"] == "households"].set_index("reason")["item_count"]
    assert counts["too_few_readings"] == 1 and counts["kept"] == 11


def test_an_export_too_short_for_the_origins_is_refused_before_anything_is_fitted(runner, small_export):
    path, frame, settings = small_export
    frame.to_csv(path, index=False)
    settings = {**settings, "forecast": {**settings["forecast"], "train_days": 17}}
    done = runner.run(settings, "results/private/forecasts.parquet")
    sentence_of(done, r"config, field 'forecast.train_days': asks for 17 days .*too short for them; lower .+\.$")
    assert not any(name.startswith("private/arma_fits") for name in outputs(runner.folder))
