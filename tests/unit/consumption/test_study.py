"""How much households use, when, and who causes the peak. Oracle: pandas on the readings in one long table."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from meterdp.consumption import tables
from meterdp.consumption.study import (
    EXAMPLES,
    SHARES,
    Consumption,
    example_rows,
    examples_of,
    groups_of,
    listed_of,
    power_batches,
    study_rows,
)
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import as_arrow
from meterdp.profiles.grid import Calendar

HOMES, DAYS = 30, 8
MILLIWATT = 1e-6  # to which readings are rounded before they are summed, kW
# In the last week of October: a local hour comes twice in the night to the 26th.
CALENDAR = Calendar(datetime(2025, 10, 20, 22, tzinfo=UTC), DAYS * 48, 30, "Europe/Berlin")
NUMBERS = np.arange(HOMES) * 3 + 2  # of households: neither from zero on nor without gaps
COMPONENT = np.arange(HOMES) % 3
TARIFF = np.array(["night", "", "day", "day", "day"] * (HOMES // 5))
# Meters with an entry; some have no valid readings, of pumps none has.
LISTED = {"day": 3 * HOMES // 5 + 4, "night": HOMES // 5, "pump": 6}


def power(gaps=True) -> np.ndarray:
    generator = np.random.default_rng(6)
    kw = generator.gamma(1.5, 0.4, (HOMES, CALENDAR.slot_count)) * (1 + np.arange(HOMES)[:, None] / 5)
    if gaps:
        kw[generator.random(kw.shape) < 0.05] = np.nan
        kw[4], kw[:, 17] = np.nan, np.nan
    return kw


def study(kw, at_once=7) -> Consumption:
    listed = {f"meter {n}": entry for n, entry in enumerate(np.repeat(list(LISTED), list(LISTED.values())))}
    found = Consumption(
        NUMBERS, COMPONENT, {"tariff": TARIFF}, listed_of({"tariff": listed, "other": {"meter 1": None}})
    )
    for begin in range(0, HOMES, at_once):
        some = slice(begin, begin + at_once)
        found.add(NUMBERS[some], kw[some], CALENDAR)
    return found


@pytest.fixture(scope="module")
def long() -> pd.DataFrame:
    """A row a reading."""
    kw = power()
    start = pd.DatetimeIndex(CALENDAR.start_utc, tz="UTC")
    local = start.tz_convert("Europe/Berlin")
    columns = {"start": start, "day": local.strftime("%Y-%m-%d"), "minute": local.hour * 60 + local.minute}
    parts = [
        pd.DataFrame(columns | {"home": home, "kw": row, "component": component})
        for home, row, component in zip(NUMBERS, kw, COMPONENT, strict=True)
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def rows() -> dict[str, pd.DataFrame]:
    """Every table, read back as it would be written."""
    found = study_rows(study(power()))
    return {name: as_arrow(getattr(tables, name.upper()), columns).to_pandas() for name, columns in found.items()}


def test_the_load_of_all_is_the_mean_of_those_read(rows, long):
    expected = long.groupby(["start", "day", "minute"])["kw"].agg(["count", "mean"]).reset_index()
    found = rows["total_load"]
    assert found["household_count"].tolist() == expected["count"].tolist()
    assert (found["household_count"] == 0).sum() == 1
    np.testing.assert_allclose(found["mean_kw"], expected["mean"], atol=MILLIWATT)
    assert found["day_local"].tolist() == expected["day"].tolist()
    assert found["minute_of_day_local"].tolist() == expected["minute"].tolist()
    assert found["interval_start_utc"].tolist() == expected["start"].tolist()


def test_quantiles_are_those_of_households_that_were_read(rows, long):
    by = long.groupby("home")["kw"].agg(["mean", "max"]).dropna()
    for statistic, values in (("daily_kwh", 24 * by["mean"]), ("peak_kw", by["max"])):
        found = rows["consumption_quantiles"]
        found = found[found["statistic"] == statistic]
        np.testing.assert_allclose(found["value"], values.quantile(SHARES), atol=24 * MILLIWATT)
        np.testing.assert_allclose(found["mean"], values.mean(), atol=24 * MILLIWATT)
        assert set(found["household_count"]) == {HOMES - 1}


def test_the_hours_of_peaks_are_local(rows, long):
    known = long.dropna(subset=["kw"]).assign(hour=lambda f: f["minute"] // 60)
    largest = known.loc[known.groupby("home")["kw"].idxmax(), "hour"]
    means = known.groupby(["home", "hour"])["kw"].mean().reset_index()
    highest = means.loc[means.groupby("home")["kw"].idxmax(), "hour"]
    found = rows["peak_hours"].set_index("hour_of_day_local")
    for column, hours in (("largest_reading_share", largest), ("highest_mean_share", highest)):
        shares = hours.value_counts(normalize=True).reindex(range(24), fill_value=0.0)
        np.testing.assert_allclose(found[column], shares)


def test_classes_are_told_at_the_peak_of_all(rows, long):
    total = long.groupby("start")["kw"].mean().dropna()
    most = total.nlargest(round(0.01 * len(total))).index
    of_class = long.groupby(["component", "start"])["kw"].mean()
    for row in rows["class_load"].itertuples():
        assert row.household_count == (COMPONENT == row.component).sum()
        assert row.mean_kw == pytest.approx(of_class[row.component].mean(), abs=MILLIWATT)
        assert row.at_peak_kw == pytest.approx(of_class[row.component][most].mean(), abs=MILLIWATT)
        days = long[long["component"] == row.component].groupby(["start", "day"])["kw"].mean().reset_index("day")
        weekend = pd.to_datetime(days["day"]).dt.day_of_week >= 5
        expected = days["kw"][weekend].mean() / days["kw"][~weekend].mean()
        assert row.weekend_ratio == pytest.approx(expected, rel=1e-5)
    assert rows["class_load"]["component"].tolist() == [0, 1, 2]


def test_groups_of_the_list_are_told_with_their_peaks_and_how_many_are_left_out(rows, long):
    total = long.groupby("start")["kw"].mean().dropna()
    most = total.nlargest(round(0.01 * len(total))).index
    tariff = dict(zip(NUMBERS, TARIFF, strict=True))
    found = rows["group_use"]
    assert found[["list_column", "entry"]].to_numpy().tolist() == [["tariff", entry] for entry in LISTED]
    assert found.iloc[2, 2:4].tolist() == [0, 6] and found.iloc[2, 4:].isna().all()
    for row in found[:2].itertuples():
        own = long[long["home"].map(tariff) == row.entry].dropna()
        homes = own.groupby("home")["kw"].mean()
        of_start = own.groupby("start")["kw"].mean()
        assert row.household_count == len(homes)
        assert row.median_kw == pytest.approx(homes.median(), abs=MILLIWATT)
        assert row.mean_kw == pytest.approx(of_start.mean(), abs=MILLIWATT)
        assert row.at_peak_kw == pytest.approx(of_start.reindex(most).mean(), abs=MILLIWATT)
        local = of_start.index.tz_convert("Europe/Berlin")
        at = of_start.groupby(60 * local.hour + local.minute).mean()
        # On the grid of the intervals, as the sentence on the load of all.
        assert row.peak_minute_of_day_local == at.idxmax()
        assert row.left_out_count == LISTED[row.entry] - len(homes)
        count = own.groupby("start")["kw"].size()
        highest = of_start[count >= 0.8 * len(homes)]
        assert row.highest_kw == pytest.approx(highest.max(), abs=MILLIWATT)
        assert row.highest_day_local == f"{highest.idxmax().tz_convert('Europe/Berlin'):%Y-%m-%d}"


def test_entries_are_in_the_order_of_their_numbers():
    entries = ["12 kVA", "3 kVA", "EJP", "6 kVA", "9", "10"]
    found = Consumption(np.arange(6), np.ones(6, int), {"power": np.array(entries)}).entries
    assert [entry for _, entry in found] == ["3 kVA", "6 kVA", "9", "10", "12 kVA", "EJP"]


def test_groups_of_the_list_are_told_by_month_and_hour(rows, long):
    own = long.dropna().assign(entry=long["home"].map(dict(zip(NUMBERS, TARIFF, strict=True))))
    of_start = own[own["entry"] != ""].groupby(["entry", "start"])["kw"].mean().reset_index()
    local = of_start["start"].dt.tz_convert("Europe/Berlin")
    expected = of_start.groupby(["entry", local.dt.month.rename("month"), local.dt.hour.rename("hour")])["kw"]
    found = rows["group_profiles"].set_index(["entry", "month_local", "hour_of_day_local"])
    assert set(found["list_column"]) == {"tariff"} and found.index.tolist() == expected.mean().index.tolist()
    np.testing.assert_allclose(found["mean_kw"], expected.mean(), atol=MILLIWATT)
    assert found["interval_count"].tolist() == expected.size().tolist()


def test_columns_with_one_or_many_entries_make_no_groups():
    ids = [f"m{number}" for number in range(30)]
    columns = {
        "tariff": {meter: "a" if number % 2 else None for number, meter in enumerate(ids)},
        "town": dict.fromkeys(ids, "Gent"),
        "street": {meter: meter for meter in ids},
        "dwelling": {meter: "flat" if number % 2 else "house" for number, meter in enumerate(ids)},
        "use": {meter: "home" if number < 20 else "pump" for number, meter in enumerate(ids)},
    }
    found = groups_of(columns, [*ids[:14], "not listed"])
    assert {column: of.tolist() for column, of in found.items()} == {
        "dwelling": ["house", "flat"] * 7 + [""],
        "use": ["home"] * 14 + [""],
    }, "whoever is left out changes nothing"


@pytest.mark.parametrize(
    ("meters", "entries", "makes"), [(24, 12, True), (24, 13, False), (200, 50, True), (200, 51, False)]
)
def test_a_column_makes_groups_of_two_meters_and_more_and_at_most_50(meters, entries, makes):
    stations = {f"m{number}": f"station {number % entries}" for number in range(meters)}
    for kept in (meters, meters // 2):  # who is left out changes nothing
        assert ("station" in groups_of({"station": stations}, list(stations)[:kept])) == makes


def test_groups_share_no_household_and_peak_together(rows):
    kw = power(gaps=False)
    found = dict(study(kw).group_peaks_kw())
    assert list(found) == [1, 2, 5, 10, 20, HOMES]
    # A household alone is every household; every other group lies between the peak of all and the highest of one.
    np.testing.assert_allclose(found[1], kw.max(axis=1), atol=MILLIWATT)
    assert len(found[2]) == 15 and len(found[10]) == 3 and len(found[20]) == 1
    assert found[HOMES] == pytest.approx(kw.mean(axis=0).max(), abs=MILLIWATT)
    pairs = np.array([(kw[a] + kw[b]).max() / 2 for a in range(HOMES) for b in range(a)])
    assert all(np.abs(pairs - peak).min() < MILLIWATT for peak in found[2])
    means = [float(peaks.mean()) for peaks in found.values()]
    assert means == sorted(means, reverse=True)
    table = rows["coincidence"].set_index("home_count")
    assert (table["lowest_kw"] <= table["peak_kw"]).all() and (table["peak_kw"] <= table["highest_kw"]).all()


def test_a_group_does_not_peak_where_hardly_anybody_was_read():
    kw = np.ones((HOMES, CALENDAR.slot_count))
    kw[:, 5], kw[0, 5] = np.nan, 50.0
    found = dict(study(kw).group_peaks_kw())
    assert found[HOMES] == pytest.approx(1.0) and found[10] == pytest.approx(1.0)


@pytest.mark.parametrize("at_once", [1, 4, HOMES])
def test_it_does_not_depend_on_how_households_come(at_once):
    one, other = (study_rows(study(power(), n)) for n in (7, at_once))
    for name, columns in one.items():
        for column, values in columns.items():
            assert repr(list(values)) == repr(list(other[name][column])), (name, column)


def test_examples_go_from_little_to_much_and_are_whole():
    kw = power()
    kw[7, : CALENDAR.slot_count // 2] = np.nan
    found = study(kw)
    shown = examples_of(found.each)
    mean = dict(zip(found.each["household"].tolist(), found.each["mean_kw"], strict=True))
    assert len(shown) == EXAMPLES and NUMBERS[4] not in shown and NUMBERS[7] not in shown
    assert [mean[home] for home in shown.tolist()] == sorted(mean[home] for home in shown.tolist())
    batches = [(NUMBERS[n : n + 9], kw[n : n + 9], CALENDAR) for n in range(0, HOMES, 9)]
    rows = as_arrow(tables.EXAMPLE_HOUSEHOLDS, example_rows(shown, batches)).to_pandas()
    for home, of in rows.groupby("home"):
        np.testing.assert_array_equal(of["power_kw"], kw[list(NUMBERS).index(shown[home - 1])])
    assert set(rows["home"]) == set(range(1, EXAMPLES + 1)), "it is no id"


def test_fewer_households_than_examples_are_all_shown():
    each = {"household": np.array([9, 4]), "read_share": np.array([1.0, 0.3]), "mean_kw": np.array([2.0, 1.0])}
    assert examples_of(each).tolist() == [4, 9]


def test_nobody_gives_empty_tables():
    found = Consumption(np.array([], int), np.array([], int))
    rows = {**study_rows(found), "example_households": example_rows([], [])}
    assert set(rows) == {t.name for t in vars(tables).values() if isinstance(t, tables.Table)}
    for name, columns in rows.items():
        assert as_arrow(getattr(tables, name.upper()), columns).num_rows == 0


def test_power_is_that_of_the_readings_and_what_lies_at_the_bound_of_a_plain_log_is_zero():
    scale = LogScale(low_kwh=0.01, high_kwh=20).over(30)
    log = scale.clipped_log(np.array([[0.0, 0.3, 99.0, np.nan]]))
    ((_, kw, _),) = power_batches([[(np.array([1]), log, CALENDAR)]], scale)
    np.testing.assert_allclose(kw, [[0.0, 0.6, 20.0, np.nan]])
    signed = LogScale(low_kwh=-5, high_kwh=20, scale_kwh=0.1)
    assert signed.reading_kwh(signed.clipped_log(np.array([-2.0, -9.0]))) == pytest.approx([-2.0, -5.0])
