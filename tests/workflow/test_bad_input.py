"""Bad input ends in one clear sentence, a non-zero exit status, and no half-written output."""

import copy
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
    """The line of the output that matches ``pattern``; asserts that there is one and the run failed."""
    assert done.returncode != 0
    hits = [line for line in done.stdout.splitlines() if re.search(pattern, line)]
    assert hits, done.stdout[-3000:]
    return hits[0]


@pytest.mark.parametrize(
    ("section", "change", "pattern"),
    [
        ("mechanisms", {"epsilons": [2, 0]}, r"config.yaml, .*epsilons\[1\]': is 0 and must"),
        ("mechanisms", {"epsilons": [-2, 2]}, r"epsilons\[0\]': is -2 and must be greater"),
        ("mechanisms", {"delta": 1}, r"config.yaml, field 'mechanisms.delta': is 1 and must be less than 1; give"),
        ("mechanism", {"delta": 0.1}, r"config.yaml, field 'mechanism': is not a known key; write 'mechanisms'"),
        ("export", {"pth": "x"}, r"config.yaml, field 'export.pth': is not a known key; write 'path'"),
        ("export", {"path": "nowhere.csv"}, r"nowhere.csv, field 'export.path': is not a file; give"),
    ],
)  # fmt: skip
def test_bad_configuration(runner, section, change, pattern):
    sentence_of(runner.run({section: change}), pattern)
    assert outputs(runner.folder) == []


def spoil_column(frame, settings):
    return frame.rename(columns={"kwh": "energy"})


def spoil_number(frame, settings):
    frame.loc[100, "kwh"] = "twelve"
    return frame


def spoil_stamp(frame, settings):
    frame.loc[7, "interval_start"] = "06/01/2025"
    return frame


def spoil_units(frame, settings):
    frame["unit"] = "kWh"
    frame.loc[200, "unit"] = "Wh"
    settings["export"]["unit_column"] = "unit"
    return frame


def spoil_all(frame, settings):
    return frame.iloc[:0]


@pytest.mark.parametrize(
    ("spoil", "pattern"),
    [
        (spoil_column, r"export.csv, .*field 'kwh': .*; .+\.$"),
        (spoil_number, r"export.csv, row 102, field 'kwh': .*; .+\.$"),
        (spoil_stamp, r"export.csv, row 9, field 'interval_start': .*; .+\.$"),
        (spoil_units, r"export.csv, row 202, field 'unit': .*; .+\.$"),
        (spoil_all, r"export.csv.*: .*(no rows|empty|no reading).*; .+\.$"),
    ],
)
def test_bad_export(runner, small_export, spoil, pattern):
    path, frame, settings = small_export
    settings = copy.deepcopy(settings)
    spoil(frame, settings).to_csv(path, index=False)
    sentence = sentence_of(runner.run(settings), pattern)
    assert "twelve" not in sentence and "06/01/2025" not in sentence
    assert outputs(runner.folder) == []


def test_an_export_of_zero_bytes(runner, small_export):
    path, _, settings = small_export
    path.write_bytes(b"")
    sentence_of(runner.run(settings), r"export.csv.*: .*; .+\.$")
    assert outputs(runner.folder) == []


def test_one_household_is_refused(runner, small_export):
    path, frame, settings = small_export
    frame[frame["meter_id"] == "m03"].to_csv(path, index=False)
    done = runner.run(settings)
    sentence = sentence_of(done, r"config, field 'mixture.classes': asks for 3 classes and too few .*; .+\.$")
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
    done = runner.run(settings, "results/study/forecast_errors.parquet")
    sentence_of(done, r"config, field 'forecast.train_days': asks for 17 days .*too short for them; lower .+\.$")
    assert not any(name.startswith("private/arma_fits") for name in outputs(runner.folder))


def test_a_file_of_neighbours_that_is_missing_is_refused_at_once(runner):
    for settings, pattern in (
        ({"by": "file"}, r"field 'neighbourhoods.file': is missing, and neighbourhoods.by is 'file'; give"),
        ({"by": "file", "file": "nowhere.csv"}, r"nowhere.csv, field 'neighbourhoods.file': is not a file; give"),
    ):
        sentence_of(runner.run({"neighbourhoods": settings}), pattern)
        assert outputs(runner.folder) == []
