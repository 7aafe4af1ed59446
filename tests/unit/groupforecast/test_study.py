"""The public list of the group forecast: meters and configuration decide it, no reading does."""

from datetime import UTC, datetime

import numpy as np
import pytest

from meterdp.core.config import complete, load_schema
from meterdp.errors import InputError
from meterdp.forecasting.select import choose_households
from meterdp.profiles.grid import Calendar, Shard
from meterdp.profiles.quality import QualityRules, judge
from tests.conftest import ROOT
from tests.unit.groupforecast.made_up import HOUSEHOLDS, METER_COUNT, forecasts, meters, study

SCHEMA = load_schema(ROOT / "workflow/schemas/config.schema.yaml")
RULES = QualityRules.from_config(
    complete({"quality": {"plausible_power_kw": [-10, 50], "max_implausible_share": 0.05}}, SCHEMA)["quality"]
)
CALENDAR = Calendar(datetime(2025, 1, 6, tzinfo=UTC), 24 * 7, 60, "UTC")


def kept(energy_kwh):
    """Households that pass the quality rules."""
    quality, _ = judge(Shard(np.arange(METER_COUNT), energy_kwh, CALENDAR), RULES)
    return quality.loc[quality["kept"], "household"].to_numpy()


@pytest.mark.parametrize("count", [1, 10, 30, 1000])
@pytest.mark.parametrize("readings", ["zero", "implausible", "missing"])
def test_the_list_does_not_depend_on_readings(count, readings):
    """A household's readings are replaced so that the rules leave it out: others may be forecast, the list stays."""
    energy = 0.2 + 0.1 * np.random.default_rng(0).random((METER_COUNT, CALENDAR.slot_count))
    chosen = choose_households(np.arange(METER_COUNT), count)
    replaced = energy.copy()
    replaced[chosen[0]] = {"zero": 0.0, "implausible": 1e9, "missing": np.nan}[readings]
    forecast = [choose_households(kept(e), count) for e in (energy, replaced)]
    assert chosen[0] in forecast[0] and chosen[0] not in forecast[1]
    if count == 1:
        with pytest.raises(InputError, match="no household on the public list has a forecast"):
            study(made=forecasts(forecast[1]), households=count)
        return
    before, after = (study(made=forecasts(f), households=count) for f in forecast)
    assert before.household.tolist() == after.household.tolist() == chosen.tolist()
    for groups in ("one", "circuit", "assigned"):
        assert before.public(groups, 8.0) == after.public(groups, 8.0), "every public number is the same"
    row = int(np.searchsorted(chosen, chosen[0]))
    assert np.isfinite(before.records(0).x[row]).all() and np.isnan(after.records(0).x[row]).all()


def test_rows_follow_the_list_and_are_nan_where_there_is_no_forecast():
    made = study()
    f = made.forecasts
    assert made.household.tolist() == list(range(METER_COUNT)) and made.public("one", 1.0).records == 50
    for origin in (0, -1):
        x = made.records(origin).x
        assert np.array_equal(x[HOUSEHOLDS], f.forecast_log_kwh[:, origin])
        assert np.isnan(np.delete(x, HOUSEHOLDS, axis=0)).all()


def test_a_smaller_study_takes_a_part_of_the_list_with_its_own_circuits():
    made = study(households=20)
    expected = choose_households(meters()["household"].to_numpy(), 20)
    assert made.household.tolist() == expected.tolist() and len(made.circuit) == 20
    assert made.circuit == tuple(int(h) % 3 for h in expected)
    assert made.forecasts.household.tolist() == [h for h in expected.tolist() if h in HOUSEHOLDS]
    assert np.array_equal(made.records(1).x[made.row], made.forecasts.forecast_log_kwh[:, 1])


def test_circuits_must_be_named():
    made = study(named=False)
    with pytest.raises(InputError, match="circuit is known"):
        made.public("circuit", 1.0)
    assert made.public("one", 1.0).circuit is None
