"""Which energies and feeders a study takes, and that its tables say what mechanisms, rules and attacks do to them."""

from datetime import UTC, datetime
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import read_table, write_table
from meterdp.feeders.attack import RULES, attack_rows, rule_rows
from meterdp.feeders.listed import feeders_of_study
from meterdp.feeders.mechanism import FeederRecords
from meterdp.feeders.study import (
    METHODS,
    OWN,
    Energies,
    FeederStudy,
    by_feeder,
    error_rows,
    layman_noise,
    random_feeders,
    study_households,
)
from meterdp.feeders.tables import FEEDER_ATTACKS, FEEDER_ERRORS, FEEDER_RULES
from meterdp.ingest.meter_list import parse_meter_list
from meterdp.privacy import gaussian
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar

SETTINGS = {
    "sizes": [11, 60, 1000],
    "epsilons": [2.0],
    "days": 2,
    "typical_daily_kwh": 10.0,
    "clip_kwh_per_hour": 2.0,
    "draws": 2,
}
PLAIN = LogScale(1e-6, 1e3)


def log_load(households=120, minutes=60, start=datetime(2025, 3, 3, 7, tzinfo=UTC), slots=80):
    kwh = np.random.default_rng(4).gamma(1.5, 0.3, (households, slots)).round(3) + 0.001
    return LogLoad(
        np.arange(households, dtype=np.int32),
        np.log(kwh),
        np.zeros(kwh.shape),
        Calendar(start, slots, minutes, "UTC"),
    )


def on_feeders(households=120, feeders=3):
    return np.arange(households) % feeders


def meters(circuits):
    """The table of meters of an export: without a list it alone names circuits, with one only the list does."""
    ids = [f"m{i:03d}" for i in range(len(circuits))]
    return pa.table({"meter_id": ids, "circuit": pa.array(circuits, pa.string())})


def study_of(load, own=None):
    half = len(load.household) // 2
    parts = [
        LogLoad(load.household[at], load.log_kwh[at], load.seasonal_log_kwh[at], load.calendar)
        for at in (slice(None, half), slice(half, None))
    ]
    empty = LogLoad(np.empty(0, np.int32), np.empty((0, 0)), np.empty((0, 0)), None)
    return FeederStudy.from_parts([empty, *parts], own, PLAIN, SETTINGS, 1e-5)


@pytest.fixture(scope="module")
def study():
    return study_of(log_load(), on_feeders())


def test_windows_are_the_last_whole_local_days_and_their_mean(study):
    kwh = np.exp(log_load().log_kwh)
    end = 3 * 24 - 7  # the third midnight after 7 o'clock; the grid goes on until 15
    days, average = study.windows
    assert days.energy_kwh == pytest.approx(kwh[:, end - 48 : end])
    assert average.energy_kwh == pytest.approx((kwh[:, end - 48 : end - 24] + kwh[:, end - 24 : end]) / 2)
    assert days.shape == {"intervals_per_day": 24, "days": 2, "averaged_days": 1}
    at_midnight = study_of(log_load(slots=65)).windows[0].energy_kwh
    assert at_midnight == pytest.approx(np.exp(log_load(slots=65).log_kwh)[:, 17:])
    assert average.shape == {"intervals_per_day": 24, "days": 1, "averaged_days": 2} and study.interval_minutes == 60


def test_quarters_of_an_hour_make_half_hours_and_households_without_readings_are_left_out():
    load = log_load(minutes=15, slots=200, start=datetime(2025, 3, 3, tzinfo=UTC))
    load.log_kwh[:3] = np.nan
    load.log_kwh[5, 100] = np.nan
    found = study_of(load, on_feeders())
    energy = found.windows[0].energy_kwh
    assert energy.shape == (117, 2 * 48) and np.isfinite(energy).all() and found.interval_minutes == 30
    kwh = np.exp(load.log_kwh[3:, :192]).reshape(117, 96, 2).sum(axis=2)
    there = np.isfinite(kwh)
    assert (~there).sum() == 1 and energy[there] == pytest.approx(kwh[there])
    # The gap has what the household used at that time of the other day.
    assert energy[2, 50] == pytest.approx(kwh[2, 2])
    assert found.feeder.tolist() == [i % 3 for i in range(3, 120)]


@pytest.mark.parametrize(
    "load",
    [log_load(households=49), log_load(slots=20), LogLoad(np.empty(0, np.int32), *[np.empty((0, 0))] * 2, None)],
)
def test_few_households_or_no_whole_day_make_empty_tables(load, tmp_path):
    few = study_of(load)
    assert few.windows == () and rule_rows(few) == [] and attack_rows(few, None) == [] and error_rows(few, None) == []
    write_table(tmp_path / "a.parquet", FEEDER_ERRORS, {name: [] for name in FEEDER_ERRORS.schema.names}, {})
    assert read_table(tmp_path / "a.parquet", FEEDER_ERRORS).num_rows == 0


def test_random_feeders_have_the_size_and_the_last_takes_the_rest():
    found = random_feeders(107, 25)
    assert np.bincount(found.feeder).tolist() == [25, 25, 25, 25, 7]
    assert (found.judged, found.feeders, found.size) == (4, 5, 25.0)
    assert (random_feeders(107, 25).feeder == found.feeder).all() and (np.diff(found.feeder) < 0).any()


def test_feeders_are_of_every_size_there_are_households_for_and_their_own_if_known(study):
    assert [(g.kind, g.size) for g in study.groupings()] == [("random", 11.0), ("random", 60.0), (OWN, 40.0)]
    assert [g.kind for g in study_of(log_load()).groupings()] == ["random", "random"]


def test_own_feeders_are_those_that_the_released_files_of_the_list_name():
    """By their dataset_id; where the list names no feeder for a meter, its circuit is one."""
    rows = [(f"m{i:03d}", f"{i % 2}", "" if i % 4 == 3 else f"F{i % 4}", f"C{i % 5 % 2}") for i in range(120)]
    lines = ["circuit,lv_feeder_id,meter_id,secondary_substation_id"]
    lines += [f"{circuit},{feeder},{meter},{substation}" for meter, substation, feeder, circuit in reversed(rows)]
    own = feeders_of_study(meters([circuit for *_, circuit in rows]), parse_meter_list("\n".join(lines).encode()))
    known = np.array([f"{substation}-{feeder or circuit}" for _, substation, feeder, circuit in rows])
    names = np.unique(known)
    assert len(names) == 5 and (names[own] == known).all()

    found = study_of(log_load(), own)
    energy = found.windows[0].energy_kwh
    off = [energy[known == name].sum(axis=0) - (known == name).sum() * energy.mean(axis=0) for name in names]
    rows = error_rows(found, partial(StudyNoise, 9))
    row = next(r for r in rows if (r["window"], r["grouping"], r["method"]) == ("days", OWN, "mean_profile"))
    assert row["rmse_kwh"] == pytest.approx(np.sqrt(np.mean(np.square(off))))
    assert (row["feeder_count"], row["feeder_size"]) == (5, 120 / 5)


def test_without_a_list_or_its_feeders_circuits_are_judged_and_nothing_that_a_release_refuses():
    circuits = [f"C{i}" for i in on_feeders(10)]
    of_list = "meter_id,circuit\n" + "".join(f"m{i:03d},{name}\n" for i, name in enumerate(circuits))
    for listed in (None, parse_meter_list(of_list.encode())):
        assert (feeders_of_study(meters(circuits), listed) == on_feeders(10)).all()
    lacking = of_list.replace("circuit", "lv_feeder_id").replace("m004,C1", "m004,")
    assert feeders_of_study(meters([None] * 10), parse_meter_list(lacking.encode())) is None
    assert feeders_of_study(meters([*circuits[:9], None]), None) is None


def test_of_many_meters_whole_feeders_are_used_or_the_first_of_an_order():
    own = on_feeders(300, 7)
    sizes = np.bincount(own)
    chosen = study_households(300, own, 100)
    assert set(np.bincount(chosen % 7, minlength=7)) <= {0, *sizes.tolist()} and 50 < len(chosen) <= 100
    assert study_households(300, own, 300).tolist() == list(range(300))
    assert set(study_households(300, own, 150)) > set(chosen)
    large = np.arange(300) // 100
    assert {*large[study_households(300, large, 150)]} == {0, 1, 2}  # rather than the one feeder that is whole
    for others in (None, on_feeders(300, 1)):
        assert len(np.unique(study_households(300, others, 100))) == 100


@pytest.fixture(scope="module")
def errors(study):
    return error_rows(study, partial(StudyNoise, 9))


def test_errors_are_those_of_totals_a_mechanism_releases(study, errors, tmp_path):
    columns = {name: [row[name] for row in errors] for name in FEEDER_ERRORS.schema.names}
    write_table(tmp_path / "errors.parquet", FEEDER_ERRORS, columns, {})
    assert len(errors) == 2 * 3 * len(METHODS)
    window, grouping = study.windows[0], next(study.groupings())
    exact = by_feeder(np.add, window.energy_kwh, grouping.feeder, grouping.feeders)[:10]
    noise = StudyNoise(9, "feeder totals", "days", "random", "11.0", "sound", "2.0")
    mechanism = study.mechanism(grouping, window, 2.0)
    totals = [mechanism.release(FeederRecords(window.energy_kwh), noise).total_kwh[:10] for _ in range(2)]
    row = next(r for r in errors if (r["window"], r["feeder_size"], r["method"]) == ("days", 11.0, "sound"))
    assert row["rmse_kwh"] == pytest.approx(np.sqrt(np.mean([(t - exact) ** 2 for t in totals])))
    assert row["mae_kwh"] == pytest.approx(np.mean([np.abs(t - exact) for t in totals]))
    assert row["relative_rmse"] == pytest.approx(row["rmse_kwh"] / exact.mean())
    assert (row["feeder_count"], row["day_count"], row["draw_count"]) == (10, 2, 2)


def test_the_mean_profile_is_off_by_what_households_differ(study, errors):
    energy, grouping = study.windows[0].energy_kwh, next(study.groupings())
    off = [energy[grouping.feeder == f].sum(axis=0) - 11 * energy.mean(axis=0) for f in range(10)]
    row = next(r for r in errors if (r["window"], r["feeder_size"], r["method"]) == ("days", 11.0, "mean_profile"))
    assert row["rmse_kwh"] == pytest.approx(np.sqrt(np.mean(np.square(off)))) and row["epsilon"] is None


def test_simpler_ways_have_the_noise_that_their_promise_needs():
    """Sensitivities by brute force: one household, or one reading, replaced by far more than the bound."""
    days, averaged, bound = 3, 5, 0.7
    window = Energies("days", np.zeros((1, averaged, 8 * days)), days)
    whole = window.readings_kwh + 1e9
    one = window.readings_kwh.copy()
    one[0, 2, 4] = 1e9
    moved, moved_by_one = (
        np.abs(Energies("days", x, days).clipped_kwh(bound) - window.clipped_kwh(bound)).ravel() for x in (whole, one)
    )

    class Unit:
        laplace = normal = staticmethod(np.ones)

    found = {name: float(draw(Unit, ())) for name, draw in layman_noise(bound, window, 0.5, 1e-5).items()}
    assert found["laplace"] == pytest.approx(moved.sum() / 0.5)
    assert gaussian.delta(np.sqrt((moved**2).sum()) / found["gaussian"], 0.5) == pytest.approx(1e-5)
    assert found["laplace_one_reading"] == pytest.approx(moved_by_one.sum() / 0.5)


def test_rules_and_attacks_fill_their_tables(study, tmp_path):
    rules = rule_rows(study)
    attacks = attack_rows(study, partial(StudyNoise, 9))
    for table, rows in ((FEEDER_RULES, rules), (FEEDER_ATTACKS, attacks)):
        write_table(
            tmp_path / "a.parquet", table, {name: [row[name] for row in rows] for name in table.schema.names}, {}
        )
    assert len(rules) == 3 * sum(len(rule.shares_of) for rule in RULES)
    by = {(r["grouping"], r["feeder_size"], r["rule"], r["share_of"]): r for r in rules}
    small = by["random", 11.0, "100", "none"]
    assert (small["withheld_total_share"], small["exposed_reading_share"], small["exposed_greatest_error_kwh"]) == (
        1,
        0,
        None,
    )
    four = by["random", 11.0, "4/50", "period"]
    assert four["withheld_total_share"] == 0 and four["exposed_reading_share"] == 1
    assert four["exposed_greatest_error_kwh"] < 1e-9

    groups = [r for r in attacks if r["attack"] == "overlapping_groups" and r["rule"] == "100"]
    fine, coarse = sorted(groups, key=lambda r: r["rounded_to_kwh"])
    assert (fine["group_count"], fine["known_reading_share"]) == (120, 1.0)
    assert coarse["rms_error_kwh"] < 0.1 * coarse["guess_rms_error_kwh"]
    sound = [r for r in attacks if r["attack"] == "others_known"]
    assert [r["feeder_size"] for r in sound] == [11.0, 60.0]
    for row in sound:
        assert 0 < row["advantage_median"] <= row["advantage_greatest"] <= row["advantage_bound"] < 0.21
        assert row["best_rms_error_kwh"] > 0.8 * row["guess_rms_error_kwh"]
