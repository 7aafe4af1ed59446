"""The Swiss development export against the publisher's table, read by pandas alone."""

import numpy as np
import pandas as pd
import pytest

from meterdp.ingest.settings import ExportSettings
from tests.unit.ingest.made_up import ingested


@pytest.fixture(scope="module")
def result(shared_data, tmp_path_factory):
    link = tmp_path_factory.mktemp("swiss") / "export.csv.gz"
    link.symlink_to(shared_data / "ch_bamberg_15min" / "export_long.csv.gz")
    return ingested(link, ExportSettings(time_zone="Europe/Zurich"), shards=4)


@pytest.fixture(scope="module")
def published(shared_data):
    """Meters x slots, as the publisher's documentation says: weeks 44 to 50 of 2018 in 15-minute slots."""
    table = pd.read_parquet(shared_data / "ch_bamberg_15min" / "elcons_15min_long.parquet")
    return table.sort_values(["week", "slot"]).pivot_table(index=["week", "slot"], columns="vid", values="kwh")


def test_every_row_is_used_and_every_slot_filled(result):
    assert result.counts == {"used": 2_526_048}
    assert result.energy_kwh.shape == (4704, 537) and not result.energy_kwh.isna().any(axis=None)


def test_the_readings_are_the_published_ones_to_four_decimals(result, published):
    ours = result.energy_kwh
    np.testing.assert_array_equal(ours.columns.astype(int), published.columns)
    np.testing.assert_allclose(ours.to_numpy(), published.to_numpy(), atol=0.5e-4 + 1e-12, rtol=0)


def test_the_series_starts_on_the_monday_after_summer_time(result):
    local = result.energy_kwh.index.tz_convert("Europe/Zurich")
    assert (str(local[0]), str(local[-1])) == ("2018-10-29 00:00:00+01:00", "2018-12-16 23:45:00+01:00")


def test_known_quirks_come_through_unrepaired(result):
    energy = result.energy_kwh
    negative = (energy < 0).sum()
    assert negative.sum() == 15 and (negative > 0).sum() == 1
    assert (energy["2046645"] > 20).sum() == 593
    assert (energy == 0).all().sum() == 6
    assert (energy == 0).sum().sum() == pytest.approx(129_280, abs=300)  # rounding to 4 decimals makes a few more
    assert result.meters["shard"].value_counts(sort=False).tolist() == [135, 134, 134, 134]
