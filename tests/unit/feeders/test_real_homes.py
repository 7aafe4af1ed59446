"""What the rules withhold and give away on a day of real Swiss homes."""

import pyarrow.parquet as pq
import pytest

from meterdp.feeders.attack import (
    INTERVAL,
    RULES,
    by_differencing,
    fewest_groups,
    group_totals,
    passing,
    random_groups,
    suppressed,
)
from meterdp.feeders.study import random_feeders

BY_NAME = {rule.name: rule for rule in RULES}


@pytest.fixture(scope="module")
def energy(shared_data):
    """Half-hours of a Monday, (537, 48) kWh in whole watt-hours."""
    day = pq.read_table(
        shared_data / "ch_bamberg_15min" / "elcons_15min_long.parquet",
        columns=["vid", "slot", "kwh"],
        filters=[("week", "=", 44), ("slot", "<=", 96)],
    ).sort_by([("vid", "ascending"), ("slot", "ascending")])
    return day["kwh"].to_numpy().reshape(-1, 48, 2).sum(axis=2).round(3)


def test_feeders_of_real_homes_that_pass_give_their_readings_to_the_watt_hour(energy):
    homes = random_feeders(len(energy), 100)
    on = homes.feeder < homes.judged
    of = energy[on], homes.feeder[on], homes.judged
    rule = BY_NAME["15/15"]
    withheld = suppressed(rule.may_publish(*of, INTERVAL), group_totals(*of))
    exposed = by_differencing(*of, rule, INTERVAL)
    assert withheld.total_share < 0.05 and exposed.reading_share > 0.95
    assert exposed.household_share == 1 and exposed.greatest_error_kwh < 1e-9


def test_as_many_groups_as_homes_give_the_day_of_each(energy):
    member = random_groups(200, 100, 600)  # about every other one passes
    member = member[passing(member, energy[:200], BY_NAME["15/15"], INTERVAL)]
    solved = fewest_groups(energy[:200], member)
    assert solved.groups == solved.rank == 200 and solved.known.reading_share == 1
    assert solved.rms_error_kwh < 1e-9
