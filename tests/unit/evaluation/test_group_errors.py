"""Errors of the group forecast in a study."""

import numpy as np
import pytest

from meterdp.core.parquet import as_arrow
from meterdp.errors import InputError
from meterdp.evaluation.group_errors import group_error_columns
from meterdp.evaluation.tables import GROUP_FORECAST_ERRORS
from tests.unit.groupforecast.made_up import HOUSEHOLDS, ORIGINS, SETTINGS, study


def table(made, seed=7):
    return as_arrow(GROUP_FORECAST_ERRORS, group_error_columns(made, seed)).to_pandas()


def test_every_method_scale_and_epsilon_has_one_row():
    rows = table(study())
    assert not rows.duplicated(["method", "groups", "epsilon", "scale"]).any() and len(rows) == 2 * (5 + 3 * 2)
    bare = rows[rows["method"] != "group"]
    assert bare["epsilon"].isna().all() and bare["group_count"].isna().all() and (bare["draw_count"] == 1).all()
    sound = rows[rows["method"] == "group"]
    assert (sound["draw_count"] == 5).all() and (sound["origin_count"] == ORIGINS).all()
    assert (sound.loc[sound["groups"] == "circuit", "group_count"] == 3).all()
    assert ((sound["assignment_epsilon"] > 0) == (sound["group_count"] > 1) & (sound["groups"] == "assigned")).all()
    assert (rows["household_count"] == HOUSEHOLDS.size).all(), "those without a forecast are not judged"


def test_errors_are_those_of_the_definitions():
    """Oracle: loops over households and cells for the mean of all forecasts."""
    made = study()
    rows = table(made).set_index(["method", "scale"])
    f = made.forecasts
    mean = f.forecast_log_kwh.mean(axis=0)
    for scale, to in (("log_kwh", lambda v: v), ("kwh", np.exp)):
        nmse, squares, spread = [], [], []
        for h in range(HOUSEHOLDS.size):
            actual = to(f.actual_log_kwh[h][np.isfinite(f.actual_log_kwh[h])])
            error = (to(mean[np.isfinite(f.actual_log_kwh[h])]) - actual) ** 2
            nmse.append(error.sum() / (actual**2).sum())
            squares += error.tolist()
            spread += ((actual - actual.mean()) ** 2).tolist()
        row = rows.loc[("mean_of_all", scale)]
        assert row["mse"] == pytest.approx(np.mean(squares), rel=1e-10)
        assert row["nmse"] == pytest.approx(np.mean(nmse), rel=1e-10)
        assert row["nmse_se"] == pytest.approx(np.std(nmse, ddof=1) / np.sqrt(len(nmse)), rel=1e-10)
        assert row["relative_mse"] == pytest.approx(np.sum(squares) / np.sum(spread), rel=1e-10)


def test_with_one_group_and_no_noise_to_speak_of_the_error_is_that_of_the_clipped_mean():
    """Oracle: the exact mean of the whole list; a household without a forecast counts as the public level."""
    made = study({**SETTINGS, "groups": ["one"], "epsilons": [1e4], "draws": 1})
    row = table(made).set_index(["method", "scale"]).loc[("group", "log_kwh")]
    level = made.public("one", 1.0).centre_log_kwh
    f = made.forecasts
    mean = level + (f.forecast_log_kwh - level).sum(axis=0) / made.household.size
    assert row["mse"] == pytest.approx(np.nanmean((mean - f.actual_log_kwh) ** 2), rel=0.2)


def test_a_study_repeats_and_another_seed_does_not():
    one, two, other = (group_error_columns(study(), seed) for seed in (7, 7, 8))
    assert str(one) == str(two) != str(other)


def test_circuits_must_be_named():
    with pytest.raises(InputError, match="circuit is known"):
        group_error_columns(study(named=False), 7)
    rows = group_error_columns(study({**SETTINGS, "groups": ["one"]}, named=False), 7)
    assert set(rows["groups"]) == {"none", "one"}
