"""Public rules for readings and households."""

import dataclasses
from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from meterdp.core.parquet import read_table, write_table
from meterdp.errors import InputError
from meterdp.ingest.tables import METERS
from meterdp.profiles.grid import Calendar, Shard
from meterdp.profiles.quality import (
    HOUSEHOLD_RULES,
    QualityRules,
    in_long_runs,
    judge,
    refuse_nobody,
    stuck_readings,
    summarise,
)
from meterdp.profiles.tables import PROFILES, QUALITY, QUALITY_SUMMARY, READ_MONTHS
from tests.conftest import config_of

RULES = QualityRules.from_config(config_of({"quality": {"plausible_power_kw": [-10, 80]}})["quality"])
SLOTS = 96 * 10


@pytest.fixture
def readings():
    generator = np.random.default_rng(3)
    return generator.gamma(2.0, 0.1, size=(8, SLOTS)) + 0.001


def shard(energy):
    calendar = Calendar(datetime(2025, 1, 6, tzinfo=UTC), energy.shape[1], 15, "UTC")
    return Shard(np.arange(len(energy), dtype=np.int32), energy, calendar)


def test_each_rule_finds_its_household(readings):
    readings[1, 100:120] = 500.0  # a unit slip: 2 % of the readings
    readings[2, 100:400] = 0.25  # stuck for 75 hours
    readings[3, :200] = np.nan
    readings[4] = 0.0
    readings[5, : int(0.95 * SLOTS)] = 0.0
    readings[6, 40] = -1.0
    quality, usable = judge(shard(readings), RULES)
    assert quality["reason"].tolist() == [
        "kept", "implausible_readings", "stuck_meter", "too_few_readings", "all_zero", "mostly_zero", "kept", "kept",
    ]  # fmt: skip
    assert quality["implausible_readings"].tolist() == [0, 20, 0, 0, 0, 0, 0, 0]
    assert quality.loc[2, "stuck_readings"] == 300 and quality.loc[6, "negative_readings"] == 1
    assert np.isnan(usable[1, 100:120]).all() and np.isnan(usable[2, 100:400]).all()
    assert np.array_equal(usable[0], readings[0])


def test_a_share_is_one_of_all_slots_whoever_else_has_readings_in_them(readings):
    """At every threshold in turn, so that no denominator but the public number of slots will do."""
    readings[0, :200] = np.nan
    readings[0, 300:310] = 500.0
    for limit in np.linspace(0.005, 0.4, 80):
        rules = dataclasses.replace(RULES, max_missing_share=limit, max_implausible_share=limit / 20)
        company, alone, silent = readings.copy(), readings[:1].copy(), readings.copy()
        silent[1:] = np.nan
        found = [judge(shard(energy), rules)[0].iloc[0].to_dict() for energy in (company, alone, silent)]
        assert found[0] == found[1] == found[2], limit
    assert judge(shard(readings), dataclasses.replace(RULES, max_missing_share=0.22))[0]["reason"][0] != "kept"


def test_long_runs_ignore_zeros_and_gaps_and_respect_the_length():
    row = np.array([[1.0, 1.0, 1.0, 0, 0, 0, 0, np.nan, np.nan, np.nan, np.nan, 2.0, 2.0, 2.0, 2.0]])
    assert in_long_runs(row, 3)[0].tolist() == [False] * 11 + [True] * 4
    assert not in_long_runs(row, 4).any()


def test_a_meter_at_its_lowest_is_not_stuck_and_one_that_repeats_an_ordinary_reading_is():
    """A pump at 20 W in winter; a home away; a meter stuck at a reading; one that never says anything else."""
    generator = np.random.default_rng(4)
    load = generator.gamma(2.0, 0.1, (5, SLOTS)) + 0.01
    load[0, :700], load[0, 700:] = 0.005, generator.gamma(4.0, 0.5, SLOTS - 700)
    load[1, 200:500] = 0.012
    load[2, 200:500] = 0.15
    load[3] = 0.15
    load[4, 200:400], load[4, 500:800] = 0.012, 0.15
    marks = stuck_readings(load, np.isfinite(load), 96)
    assert marks.sum(axis=1).tolist() == [0, 0, 300, SLOTS, 300] and marks[4, 500:800].all()
    assert judge(shard(load), RULES)[0]["kept"].tolist() == [True, True, False, False, False]


def test_whether_a_reading_is_stuck_is_for_the_households_own_readings_to_say():
    generator = np.random.default_rng(5)
    load = np.round(generator.gamma(2.0, 0.1, (6, SLOTS)), 1)
    for row in load:
        begin = generator.integers(0, SLOTS - 300)
        row[begin : begin + 200] = generator.choice(row)
    together = stuck_readings(load, np.isfinite(load), 96)
    assert all(
        (stuck_readings(row[None], np.isfinite(row[None]), 96) == own).all()
        for row, own in zip(load, together, strict=True)
    )
    assert together.any()


def test_summary_counts_every_household_once_and_all_reasons_are_listed(readings):
    readings[4] = 0.0
    quality, _ = judge(shard(readings), RULES)
    meters = pd.DataFrame({"duplicate_rows": [3, 4], "conflicting_rows": [0, 1]})
    months = [("2025-03", 5, 1), ("2025-04", 4, 0), ("2025-03", 2, 2)]
    summary = summarise(quality, meters, pd.DataFrame(months, columns=[c.name for c in READ_MONTHS.columns]))
    of_months = summary[summary["scope"].str.endswith(" in a month")]
    assert of_months[["scope", "reason", "item_count"]].to_numpy().tolist() == [
        ["expected in a month", "2025-03", 7],
        ["expected in a month", "2025-04", 4],
        ["missing in a month", "2025-03", 3],
        ["missing in a month", "2025-04", 0],
    ]
    households = summary[summary["scope"] == "households"]
    assert summary.loc[summary["scope"] == "rows", "item_count"].tolist() == [7, 1]
    assert households["item_count"].sum() == len(readings)
    assert set(households["reason"]) == set(HOUSEHOLD_RULES)
    expected = summary[(summary["scope"] == "readings") & (summary["reason"] == "expected_readings")]
    assert expected["item_count"].item() == readings.size


def test_a_household_without_any_reading_is_left_out():
    energy = np.full((2, SLOTS), np.nan)
    energy[1, :10] = 0.3
    assert judge(shard(energy), RULES)[0]["reason"].tolist() == ["no_readings", "too_few_readings"]


@pytest.mark.parametrize("repair", [("negative",), ()])
def test_a_reading_below_zero_that_the_scale_holds_is_no_fault(readings, repair):
    """Feed-in of two hours down to -2 kWh and one reading of -2.5 kWh, with a public lower bound of -2.2 kWh."""
    readings[0, 40:48] = np.linspace(-0.1, -2.0, 8)
    readings[0, 60] = -2.5
    readings[1, 100] = 0.0
    rules = dataclasses.replace(RULES, repair=repair)
    plain, _ = judge(shard(readings), rules)
    quality, usable = judge(shard(readings), rules, -2.2)
    assert plain.loc[0, "negative_readings"] == 9 and quality.loc[0, "negative_readings"] == 1
    assert np.array_equal(usable[0, 40:48], readings[0, 40:48]) and usable[1, 100] == 0
    assert usable[0, 60] == -2.5 if repair else np.isnan(usable[0, 60])
    assert quality["kept"].all() and np.array_equal(usable[2:], readings[2:])


def table(**counts: int) -> pd.DataFrame:
    reasons = [reason for reason, count in counts.items() for _ in range(count)]
    return pd.DataFrame({"reason": reasons, "kept": [reason == "kept" for reason in reasons]})


def zeros(declared, n, **columns):
    """A table of n empty rows, except for some columns."""
    empty = {c.name: pa.array([None] * n, c.type) if c.nullable else None for c in declared.columns}
    for column in declared.columns:
        if pa.types.is_list(column.type):
            empty[column.name] = [[]] * n
        elif pa.types.is_string(column.type):
            empty[column.name] = [""] * n
        elif empty[column.name] is None:
            empty[column.name] = pa.array(np.zeros(n, np.int64)).cast(column.type)
    return empty | columns


@pytest.mark.parametrize("left_out", [0, 1, 11, 50, 99])
def test_no_log_tells_how_many_are_kept_not_even_roughly(repository, tmp_path, capfd, left_out):
    """The script of the workflow: the same words whether all, most, half or hardly any of the households are kept."""
    kept = np.arange(100) >= left_out
    reason = np.where(kept, "kept", "too_few_readings").tolist()
    write_table(tmp_path / "quality", QUALITY, zeros(QUALITY, 100, kept=kept, reason=reason))
    write_table(tmp_path / "meters", METERS, zeros(METERS, 100))
    write_table(tmp_path / "months", READ_MONTHS, zeros(READ_MONTHS, 3))
    write_table(tmp_path / "profiles", PROFILES, zeros(PROFILES, 100))
    config = config_of()

    class Inputs(SimpleNamespace):
        def __iter__(self):
            return iter(())

    snakemake = SimpleNamespace(
        input=Inputs(
            quality=[tmp_path / "quality"],
            meters=tmp_path / "meters",
            profiles=[tmp_path / "profiles"],
            read_months=[tmp_path / "months"],
        ),
        output=SimpleNamespace(
            **{name: tmp_path / f"{name}.out" for name in ("quality", "profiles", "summary", "hours")}
        ),
        params=SimpleNamespace(listed=False, profiles=config["profiles"]),
        log=[tmp_path / "gather.log"],
    )
    script = repository / "workflow/scripts/gather_profiles.py"
    exec(compile(script.read_text(), script, "exec"), {"snakemake": snakemake})
    assert (tmp_path / "gather.log").read_text() == "" and capfd.readouterr() == ("", "")
    rows = read_table(tmp_path / "summary.out", QUALITY_SUMMARY).to_pandas()
    assert rows.set_index("reason").loc["kept", "item_count"] == 100 - left_out


@pytest.mark.parametrize("reason", sorted(set(HOUSEHOLD_RULES) - {"kept"}))
def test_nobody_left_is_refused_with_the_reason(reason):
    refuse_nobody(table(kept=1, **{reason: 50}))
    with pytest.raises(InputError, match=f"leaves no household to study; .*{reason.replace('_', ' ')}"):
        refuse_nobody(table(**{reason: 50}))
    with pytest.raises(InputError, match="leaves no household to study; there is none; export readings of homes"):
        refuse_nobody(table())
