"""The mess, recounted from the written CSV with pandas (the oracle), each kind on the meters it is meant for."""

from __future__ import annotations

import numpy as np
import pandas as pd

from meterdp.simulate.data_quality import COMBINABLE, EXCLUSIVE, plan_faults, stratified_hits
from meterdp.simulate.fleet import Fleet


def longest_run(values: pd.Series) -> int:
    """Longest run of one non-zero number."""
    numbers = values.to_numpy()
    change = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1], True])
    lengths = np.diff(change)[numbers[change[:-1]] != 0]
    return int(lengths.max(initial=0))


def test_one_in_every_stratum_is_hit_and_the_first_is_where_it_is_said():
    eligible = np.arange(1000) % 3 == 0
    hits = stratified_hits(eligible, 50, 1, "kind", first=7)
    members = np.flatnonzero(eligible)
    assert hits[~eligible].sum() == 0
    assert hits[members[:300]].reshape(6, 50).sum(axis=1).tolist() == [1] * 6
    assert hits[members[7]]
    assert not stratified_hits(np.ones(100, dtype=bool), 0, 1, "kind", first=0).any(), "zero means none"


def test_who_is_hit_does_not_depend_on_how_many_there_are():
    long = stratified_hits(np.ones(1000, dtype=bool), 30, 1, "kind", first=2)
    for count in (1, 29, 30, 457):
        assert np.array_equal(stratified_hits(np.ones(count, dtype=bool), 30, 1, "kind", first=2), long[:count])


def test_a_full_run_has_the_numbers_that_follow_from_one_in_among_the_given_types(parameters):
    fleet = Fleet(parameters.household_types, parameters.households, 12, 1)
    names = [kind.name for kind in fleet.types]
    plan = plan_faults(parameters.data_quality, fleet)
    for kind, hits in plan.items():
        rule = getattr(parameters.data_quality, kind)
        eligible = sum(fleet.types[names.index(name)].households for name in rule.types or names)
        assert {fleet.kind(i).name for i in np.flatnonzero(hits)} <= set(rule.types or names), kind
        assert hits.sum() in (eligible // rule.one_in, eligible // rule.one_in + 1), kind


def test_a_small_run_has_every_kind_and_value_faults_do_not_meet(planned):
    assert set(planned) == {*EXCLUSIVE, *COMBINABLE}
    assert all(planned.values())
    together = [meter for kind in EXCLUSIVE for meter in planned[kind]]
    assert len(together) == len(set(together))


def test_words_stand_for_readings_where_planned(parameters, sent, planned):
    rule = parameters.data_quality.missing_words
    blank = sent[sent["number"].isna()]
    counts = blank.groupby("meter_id").size()
    assert set(blank["kwh"]) <= set(rule.words)
    assert set(counts.index) == planned["missing_words"]
    assert counts.between(*rule.rows).all()


def test_exact_duplicates_follow_their_row_where_planned(parameters, sent, planned, period):
    columns = ["meter_id", "circuit", "interval_start", "kwh"]
    twice = (sent[columns] == sent[columns].shift()).all(axis=1)
    counts = sent[twice].groupby("meter_id").size()
    repeated = {stamp for stamp, again in zip(period.stamps, period.repeated, strict=True) if again}
    assert set(counts.index) == planned["duplicate_rows"]
    assert counts.between(*parameters.data_quality.duplicate_rows.rows).all()
    assert not repeated & set(sent.loc[twice, "interval_start"])


def missing_by_meter(sent: pd.DataFrame, period) -> pd.Series:
    copies = sent["interval_start"].map(pd.Series(period.stamps).value_counts())
    seen = sent.assign(copies=copies).groupby(["meter_id", "interval_start"])["copies"].agg(["size", "first"])
    return period.slot_count - seen.min(axis=1).groupby("meter_id").sum()


def test_rows_are_missing_where_planned_and_nowhere_else(parameters, sent, planned, period, fleet):
    missing = missing_by_meter(sent, period)
    outage = parameters.data_quality.outages[1]
    dark = fleet.circuit(1)
    for i in range(fleet.count):
        meter = fleet.meter_id(i)
        least, most = (0, 0)
        if fleet.circuit(i) == dark:
            least = most = round(outage.hours * 4)
        if meter in planned["missing_rows"]:
            most_share = parameters.data_quality.missing_rows.row_share[1]
            least, most = least + 1, most + round(most_share * period.slot_count)
        if meter in planned["missing_block"]:
            low, high = parameters.data_quality.missing_block.hours
            least, most = max(least, round(low * 4)), most + round(high * 4)
        assert least <= missing[meter] <= most, meter


def test_an_outage_darkens_its_circuit_and_no_other(parameters, sent, fleet):
    zero, missing = parameters.data_quality.outages
    assert (zero.rows, missing.rows) == ("zero", "missing")
    # 0.33 of twelve days is day 3, 0.70 day 8; start hours and lengths as in the parameters.
    window = sent[sent["interval_start"].between("2025-10-29 13:00", "2025-10-29 16:15")]
    hit = window["circuit"] == fleet.circuit_name(0)
    assert hit.any() and (~hit).any()
    readings = window[hit & window["number"].notna()]
    assert (readings["number"] == 0).mean() > 0.9  # the stuck meter does not notice
    assert (window.loc[~hit, "number"] == 0).mean() < 0.2
    window = sent[sent["interval_start"].between("2025-11-03 02:15", "2025-11-03 07:00")]
    assert fleet.circuit_name(1) not in set(window["circuit"])
    assert window["circuit"].nunique() == 4


def test_vacant_homes_are_zero_and_nearly_zero(sent, planned):
    zero_share = (sent["number"] == 0).groupby(sent["meter_id"]).mean()
    for meter in planned["all_zero"]:
        assert (sent.loc[sent["meter_id"] == meter, "number"].dropna() == 0).all()
    for meter in planned["mostly_zero"]:
        assert 0.7 < zero_share[meter] < 1


def test_a_stuck_meter_repeats_one_value_for_days(parameters, sent, planned):
    runs = sent[sent["number"].notna()].groupby("meter_id")["number"].agg(longest_run)
    stuck = runs[runs > 96]
    assert set(stuck.index) == planned["stuck_meter"]
    low, high = parameters.data_quality.stuck_meter.days
    assert stuck.between(0.9 * low * 96, high * 96 + 8).all()  # rows may be missing, words stand between


def test_a_meter_that_reports_wh_shows_a_thousandfold(parameters, sent, planned):
    implausible = sent[sent["number"] > 20].groupby("meter_id").size()
    assert set(implausible.index) == planned["unit_slip"]
    low, high = parameters.data_quality.unit_slip.days
    assert implausible.between(0.8 * low * 96, high * 96).all()


def test_feed_in_is_negative_by_day_where_planned(sent, planned):
    negative = sent[sent["number"] < 0]
    assert set(negative["meter_id"]) == planned["feed_in"]
    assert negative["interval_start"].str[11:13].astype(int).between(7, 17).all()
    assert negative["number"].min() > -12.5


def test_a_resent_day_is_whole_and_revised(parameters, export, planned):
    again = export[export["resent"]]
    assert set(again["meter_id"]) == planned["resent_day"]
    first = export[~export["resent"]].drop_duplicates(["meter_id", "interval_start"])
    for meter, day in again.groupby("meter_id", sort=False):
        assert len(day) == 96 and len(set(day["interval_start"].str[:10])) == 1
        assert day["interval_start"].is_monotonic_increasing
        both = day.merge(first[first["meter_id"] == meter], on="interval_start", suffixes=("", "_first"))
        ratio = (both["number_first"] / both["number"])[both["number"] > 0.2].dropna()
        low, high = parameters.data_quality.resent_day.first_factor
        assert (both["kwh"] != both["kwh_first"]).mean() > 0.5
        assert ratio.between(low - 0.05, high + 0.05).all()
