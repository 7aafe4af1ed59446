"""The study of households over a period: what is compared with what, from which rows, and the same twice."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import as_arrow, write_table
from meterdp.households import study, tables
from meterdp.households.common import block_deviations
from meterdp.households.mechanism import HouseholdRecords, deviation_sum
from meterdp.households.score import compare, floors, summarise
from meterdp.households.study import Homes, homes_of_export, mechanism_of, simulated_year, study_tables
from meterdp.households.tables import HOUSEHOLD_DEVIATIONS, HOUSEHOLD_VECTORS
from meterdp.households.vector import VectorSettings, household_vectors
from meterdp.privacy.noise import GRID
from meterdp.profiles.grid import Calendar
from meterdp.profiles.tables import LOG_LOAD
from meterdp.simulate.parameters import SimulationParameters
from tests.conftest import ROOT
from tests.unit.households.homes import EIGHT_WEEKS, simulated
from tests.unit.release.charged import config

DECLARED = (tables.HOUSEHOLD_SCORES, tables.HOUSEHOLD_WEEKS, tables.HOUSEHOLD_CURVES)
HOMES, DELTA, SEED = 24, 1e-5, 5
CONFIG = config(export={"interval_minutes": 60, "time_zone": "UTC"})


@pytest.fixture(autouse=True, scope="module")
def one_draw():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(study.STUDIED, "draws", 1)
        yield


def homes_of(kwh, calendar=EIGHT_WEEKS) -> Homes:
    settings = VectorSettings(calendar)
    vectors = household_vectors(kwh, settings)
    records = HouseholdRecords.of(vectors, block_deviations(kwh, vectors, settings).reshape(len(kwh), -1))
    return Homes("export", settings, records, vectors, kwh)


@pytest.fixture(scope="module")
def homes():
    kwh = simulated(HOMES, EIGHT_WEEKS)
    kwh[3, 100:300] = np.nan
    return homes_of(kwh)


@pytest.fixture(scope="module")
def found(homes):
    return {name: pd.DataFrame(rows) for name, rows in study_tables(homes, DELTA, SEED).items()}


def test_rows_are_those_of_the_declared_tables(homes):
    rows = study_tables(homes, DELTA, SEED)
    assert set(rows) == {table.name for table in DECLARED}
    for table in DECLARED:
        assert all(set(row) == set(table.schema.names) for row in rows[table.name])
        made = as_arrow(table, {name: [row[name] for row in rows[table.name]] for name in table.schema.names})
        assert made.num_rows == len(rows[table.name]) > 50


def test_the_real_column_is_that_of_the_readings_counted_by_hand(homes, found):
    """Oracle: the readings themselves, in kW as they are hourly."""
    scores = found["household_scores"]
    for source in scores["source"].unique():
        at = scores[(scores["source"] == source) & (scores["epsilon"].isna() | (scores["epsilon"] == 1))]
        real = at.set_index(["statistic", "detail"])["real"]
        use, peak = np.nanmean(homes.energy_kwh, axis=1), np.nanmax(homes.energy_kwh, axis=1)
        assert real["energy, quantiles of homes", "0.5"] == pytest.approx(24 * np.median(use))
        assert real["peak, quantiles of homes", "0.9"] == pytest.approx(np.quantile(peak, 0.9))
        all_of_them = np.nanmean(homes.energy_kwh, axis=0)
        assert real["diversified peak, homes", str(HOMES)] == pytest.approx(all_of_them.max())
    assert len(scores) == 3 * (len(compare(homes.summary, homes.summary)) + 1), "and the attack"
    assert set(scores["household_count"]) == set(scores["sample_count"]) == {HOMES}


def test_floors_stand_beside_every_source_and_errors_are_of_real_and_synthetic(homes, found):
    scores = found["household_scores"]
    floor = floors(homes.energy_kwh, summarise([homes.energy_kwh], HOMES, homes.settings).homes, homes.settings)
    for row in scores.itertuples():
        assert row.floor == pytest.approx(floor.get((row.statistic, row.detail), np.nan), nan_ok=True)
        assert row.absolute_error == pytest.approx(abs(row.error), nan_ok=True)  # of one draw
        if row.error_unit == "%" and row.real:
            assert row.error == pytest.approx(100 * (row.synthetic / row.real - 1))


def test_an_attacker_tells_twins_of_homes_and_not_homes_of_a_release(found):
    attack = found["household_scores"].query("statistic == 'membership attack'").set_index("source")["synthetic"]
    assert attack["own_vectors"] >= 2.5 and (attack["released"] < 2.5).all(), attack


def test_own_vectors_give_more_of_the_homes_than_a_release_of_so_few(found):
    scores = found["household_scores"]
    energy = scores[scores["statistic"] == "energy, quantiles of homes"]
    own, released = (
        energy[energy["source"] == source]["absolute_error"].mean() for source in ("own_vectors", "released")
    )
    assert own < 1 < released
    assert energy.loc[energy["source"] == "own_vectors", ["epsilon", "delta"]].isna().all(axis=None)


def test_a_release_is_that_of_the_proven_mechanism_with_the_epsilon_of_its_rows(homes, found):
    for epsilon in study.STUDIED["epsilons"]:
        mechanism = mechanism_of(homes, epsilon, DELTA)
        assert mechanism.guarantee.epsilon == epsilon and mechanism.public.records == HOMES
        assert mechanism.common is not None and mechanism.public.days == 56
    assert sorted(found["household_scores"]["epsilon"].dropna().unique()) == list(study.STUDIED["epsilons"])


def test_the_week_is_the_middle_one_of_homes_from_the_least_to_the_most_use(homes, found):
    """Oracle: the readings from Monday of the fifth week on, of the homes in the middles of ten shares."""
    weeks = found["household_weeks"]
    real = weeks[weeks["source"] == "real"]
    order = np.argsort(np.nanmean(homes.energy_kwh, axis=1))
    for home in (1, 4, 10):
        of = order[int((home - 0.5) * HOMES / 10)]
        shown = real[real["home"] == home]
        assert shown["hours_from_monday"].tolist() == list(range(168))
        expected = homes.energy_kwh[of, 28 * 24 : 35 * 24]
        assert shown["power_kw"].to_numpy(float) == pytest.approx(expected, nan_ok=True)
    synthetic = weeks[weeks["source"] == "released"]
    assert set(synthetic["home"]) == set(range(1, 11)) and set(synthetic["epsilon"]) == {1}
    assert synthetic["power_kw"].min() >= 0


def test_homes_that_were_not_read_in_the_week_are_not_shown_while_there_are_enough_others():
    kwh = simulated(HOMES, EIGHT_WEEKS)
    kwh[:12, 28 * 24 : 35 * 24] = np.nan
    shown = study._real_weeks(homes_of(kwh))
    assert np.isfinite(shown).all() and len(np.unique(shown, axis=0)) == 10
    kwh[12:15, 28 * 24 : 35 * 24] = np.nan
    assert np.isnan(study._real_weeks(homes_of(kwh))).any()


def test_weeks_of_synthetic_homes_are_of_those_that_were_scored(homes):
    (draw,) = study._draws(homes, 4, DELTA, SEED)
    whole = np.concatenate(list(draw.batches(homes)))
    assert draw.some([7, 2]) == pytest.approx(whole[[7, 2]], rel=1e-9)


def test_curves_are_those_of_the_mean_load(homes, found):
    curves = found["household_curves"]
    real = curves[curves["source"] == "real"]
    load = np.nanmean(homes.energy_kwh, axis=0)
    duration = real[real["curve"] == "duration"].set_index("time_share")["power_kw"]
    assert duration[0.0] == pytest.approx(load.max()) and duration[1.0] == pytest.approx(load.min())
    assert (load >= duration[0.25]).mean() == pytest.approx(0.25, abs=0.002) and duration.is_monotonic_decreasing
    energy = real[real["curve"] == "energy"]
    assert energy["first_day"].tolist()[:2] == ["2025-01-06", "2025-01-13"] and len(energy) == 8
    assert energy["power_kw"].tolist() == pytest.approx(load.reshape(8, -1).mean(axis=1))
    assert real.loc[real["curve"] == "diversity", "home_count"].tolist() == [1, 10, HOMES]


def test_a_year_is_told_by_months_and_weeks_and_months_may_begin_in_the_middle():
    calendar = Calendar(datetime(2025, 1, 20, tzinfo=UTC), 280 * 24, 60, "UTC")
    kwh = np.outer([1.0, 2.0], np.ones(calendar.slot_count))
    kwh[:, 12 * 24 :] = 0.5
    settings = VectorSettings(calendar)
    found = list(study._mean_power(settings, summarise([kwh], 2, settings)))
    assert found[0] == ("2025-01-20", 1.5) and found[1] == ("2025-02-01", 0.5) and len(found) == 10


def test_a_rerun_gives_the_same_and_another_seed_other_homes(homes, found):
    again = study_tables(homes, DELTA, SEED)
    for name, rows in found.items():
        pd.testing.assert_frame_equal(pd.DataFrame(again[name]), rows)
    other = pd.DataFrame(study_tables(homes, DELTA, SEED + 1)["household_scores"])
    scores = found["household_scores"]
    assert (other["real"] == scores["real"]).all()
    assert (other["synthetic"] != scores["synthetic"]).groupby(scores["source"]).mean().min() > 0.5


# --- from the files of an export ------------------------------------------------------------------------------------


def write_export(folder, kwh, calendar=EIGHT_WEEKS):
    """Write the readings of households 0, 2, 4, ... as two parts of log load, of vectors and of what these homes do
    together; return their paths.
    """
    scale, settings = LogScale.of_interval(CONFIG["profiles"], 60), VectorSettings(calendar)
    paths = [], [], []
    for part, rows in enumerate(np.array_split(np.arange(len(kwh)), 2)):
        household, log = (2 * rows).astype(np.int32), scale.clipped_log(kwh[rows])
        log_load = {
            "household": np.repeat(household, calendar.slot_count),
            "interval_start_utc": np.tile(calendar.start_utc, len(rows)),
            "log_kwh": [None if np.isnan(value) else value for value in log.ravel()],
            "seasonal_log_kwh": np.zeros(log.size),
        }
        vectors = household_vectors(kwh[rows], settings)
        deviations = block_deviations(kwh[rows], vectors, settings).reshape(len(rows), -1)
        for into, name, table, data in (
            (paths[0], "log_load", LOG_LOAD, log_load),
            (paths[1], "vectors", HOUSEHOLD_VECTORS, {"household": household, "vector": list(vectors)}),
            (paths[2], "deviations", HOUSEHOLD_DEVIATIONS, {"deviation_sum": deviation_sum(deviations, GRID)}),
        ):
            into.append(folder / f"{name}-{part}.parquet")
            write_table(into[-1], table, data)
    return paths


def test_homes_of_an_export_are_all_records_and_the_readings_of_a_sample(tmp_path, monkeypatch):
    kwh = simulated(30, EIGHT_WEEKS)
    kwh[5, :800] = np.nan  # read for less than half of the period
    monkeypatch.setitem(study.STUDIED, "households", 28)
    made, why = homes_of_export(*write_export(tmp_path, kwh), 2 * len(kwh), CONFIG)
    assert why == "" and made.period == "export"
    settings = made.settings
    expected = household_vectors(kwh, settings)
    assert made.records.vectors.shape == (60, len(settings.names))
    assert np.array_equal(made.records.vectors[::2], expected)
    left_out = made.records.vectors[1::2]
    assert np.array_equal(left_out, np.tile(settings.typical, (30, 1))), "the public typical household"
    of_all = deviation_sum(block_deviations(kwh, expected, settings).reshape(30, -1), 0.0)
    assert made.records.deviation_sum == pytest.approx(of_all, abs=1e-6)
    # Every home but two, by their use.
    by_use = expected[:, 0].argsort()
    chosen = np.sort(by_use[((np.arange(28) + 0.5) * 30 / 28).astype(int)])
    chosen = chosen[chosen != 5]
    assert len(chosen) in (27, 28)
    assert made.energy_kwh == pytest.approx(kwh[chosen], abs=1e-9)
    assert np.array_equal(made.vectors, expected[chosen])


def test_the_sample_of_homes_of_two_kinds_has_their_median(tmp_path, monkeypatch):
    """Oracle: the quantiles of all homes, of which every other one uses ten times as much."""
    kwh = simulated(60, EIGHT_WEEKS) * np.where(np.arange(60) % 2, 10.0, 1.0)[:, None]
    monkeypatch.setitem(study.STUDIED, "households", 24)
    made, _ = homes_of_export(*write_export(tmp_path, kwh), 2 * len(kwh), CONFIG)
    levels = [0.1, 0.3, 0.5, 0.7, 0.9]
    of_sample, of_all = (np.quantile(rows.mean(axis=1), levels) for rows in (made.energy_kwh, kwh))
    assert len(made.energy_kwh) == 24 and of_sample == pytest.approx(of_all, rel=0.25)


def test_what_one_household_reads_changes_nothing_of_another(tmp_path):
    kwh = simulated(30, EIGHT_WEEKS)
    changed = kwh.copy()
    changed[7] = 3 * changed[7][::-1]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (one, _), (other, _) = (
        homes_of_export(*write_export(tmp_path / name, rows), 60, CONFIG)
        for name, rows in (("a", kwh), ("b", changed))
    )
    differing = np.flatnonzero((one.records.vectors != other.records.vectors).any(axis=1))
    assert differing.tolist() == [14]
    assert np.flatnonzero((one.energy_kwh != other.energy_kwh).any(axis=1)).tolist() == [7]


def test_why_there_is_nothing_to_compare_is_said(tmp_path):
    short = Calendar(datetime(2025, 1, 6, tzinfo=UTC), 55 * 24, 60, "UTC")
    homes, why = homes_of_export(*write_export(tmp_path, simulated(30, short), short), 30, CONFIG)
    assert homes is None and why == "the period has 55 days, and households over a period need 56, eight weeks"
    homes, why = homes_of_export(*write_export(tmp_path, simulated(19, EIGHT_WEEKS)), 38, CONFIG)
    assert homes is None and why == "fewer than 20 households were read for half of the period"
    assert study_tables(None, DELTA, SEED) == {table.name: [] for table in DECLARED}


# --- a simulated year -----------------------------------------------------------------------------------------------


def test_a_simulated_year_has_seasons_and_neither_farms_nor_large_shops():
    parameters = SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml")
    made = simulated_year(parameters, 40, SEED)
    assert made.period == "simulated_year" and made.settings.columns.seasons
    assert made.records.vectors.shape == (40, 58) and made.records.deviation_sum.shape == (3 * 365,)
    assert made.energy_kwh.shape == (40, 8760)
    assert np.array_equal(made.records.vectors, made.vectors) and made.energy_kwh.mean() < 3
    more = simulated_year(parameters, 50, SEED)
    assert np.array_equal(more.energy_kwh[:40], made.energy_kwh)
    assert len(simulated_year(parameters, 1, SEED).vectors) == study.FEWEST_HOUSEHOLDS
