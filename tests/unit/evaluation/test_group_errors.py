"""Errors of the group forecast in a study."""

import numpy as np
import pytest

from meterdp.core.parquet import as_arrow
from meterdp.evaluation.group_errors import group_error_columns
from meterdp.evaluation.tables import GROUP_FORECAST_ERRORS
from meterdp.groupforecast import study
from meterdp.groupforecast.plan import HOURS
from meterdp.groupforecast.study import Hours
from tests.unit.groupforecast.made_up import METER_COUNT, MISSING, config, town

CIRCUIT = tuple(i % 3 for i in range(METER_COUNT))
GUESSES = ["own_mean", "own_level", "own_level_public_shape", "public_shape", "public_level"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setitem(study.STUDIED, "draws", 3)
    monkeypatch.setitem(study.STUDIED, "epsilons", (1, 200))


def table(hours, circuit=None, seed=7):
    return as_arrow(GROUP_FORECAST_ERRORS, group_error_columns(hours, circuit, config(), seed)).to_pandas()


def test_every_method_and_epsilon_has_one_row():
    rows = table(town(), CIRCUIT)
    assert not rows.duplicated(["method", "groups", "epsilon"]).any() and len(rows) == 5 + 2 * 2 * 2
    assert rows.loc[rows["groups"] == "none", "method"].tolist() == GUESSES
    released = rows[rows["epsilon"].notna()]
    assert set(released["method"]) == {"group", "scaled"} and (released["draw_count"] == 3).all()
    assert released.groupby("groups")["group_count"].unique().to_dict() == {"circuit": [3], "one": [1]}
    assert (rows["household_count"] == METER_COUNT - len(MISSING)).all() and (rows["hour_count"] == 168).all()
    assert set(table(town())["groups"]) == {"none", "one"}, "circuits must be known"


def test_errors_are_those_of_the_definitions():
    """Oracle: loops over households and hours, written out again."""
    hours = town()
    rows = table(hours).set_index("method")
    before, after = hours.kwh[:, : 28 * HOURS], hours.kwh[:, 28 * HOURS :]
    cells, at = hours.cell[: 28 * HOURS], hours.cell[28 * HOURS :]
    errors, flat, levels = [], [], []
    for n in range(METER_COUNT):
        if n in MISSING:
            continue
        mean = np.array([before[n, cells == c].mean() for c in range(48)])
        levels.append((5 * mean[:24].mean() + 2 * mean[24:].mean()) / 7)
        errors.append(np.abs(mean[at] - after[n]).mean())
        flat.append(np.abs(0.5 - after[n]).mean())
    assert rows.at["own_mean", "mae_kwh"] == pytest.approx(np.mean(errors))
    assert rows.at["own_mean", "mae_median_kwh"] == pytest.approx(np.median(errors))
    assert rows.at["public_level", "mae_kwh"] == pytest.approx(np.mean(flat))
    assert rows.at["public_level", "energy_bias"] == pytest.approx(0.5 / np.mean(levels) - 1)
    assert rows.at["own_level", "energy_error"] == pytest.approx(0, abs=1e-12)
    assert rows.loc[GUESSES, "coverage_50"].isna().all()


def test_without_noise_to_speak_of_intervals_cover_and_the_energy_is_right():
    rows = table(town(METER_COUNT, seed=5), CIRCUIT)
    sharp = rows[(rows["epsilon"] == 200) & (rows["groups"] == "one")].set_index("method")
    for method in ("group", "scaled"):
        assert sharp.at[method, "coverage_50"] == pytest.approx(0.5, abs=0.08)
        assert sharp.at[method, "coverage_90"] == pytest.approx(0.9, abs=0.07)
    assert sharp.at["group", "energy_error"] < 0.03
    guesses = rows.set_index("method")["mae_kwh"]
    assert sharp.at["scaled", "mae_kwh"] < guesses["own_level"] < guesses["public_level"]


def test_a_study_repeats_and_another_seed_does_not():
    one, two, other = (group_error_columns(town(), None, config(), seed) for seed in (7, 7, 8))
    assert str(one) == str(two) != str(other)


def test_nobody_to_judge_gives_an_empty_table():
    empty = Hours(np.empty((METER_COUNT, 0)), np.empty(0, int), 0)
    for hours in (town(missing=range(METER_COUNT)), empty):
        assert table(hours).empty
