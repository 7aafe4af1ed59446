"""Released feeder totals: files in the publishers' columns, drawn and charged once, and what is refused."""

import csv
import hashlib
import io
import json
import re

import numpy as np
import pyarrow.parquet as pq
import pytest

from meterdp.errors import InputError
from meterdp.feeders.mechanism import FeederRelease
from meterdp.feeders.plan import FeederPublic
from meterdp.ingest.meter_list import read_meter_list
from meterdp.privacy.guarantee import PrivacyBudget
from meterdp.privacy.ledger import CHARGED
from meterdp.publish.kinds import CRATE, CROISSANT, CUSTODIAN, DESCRIPTIONS, ENTRY, KINDS, check_files
from meterdp.publish.received import before_use
from meterdp.publish.tables import RELEASED_FEEDER_ERRORS, RELEASED_FEEDERS
from meterdp.release import feeders
from tests.unit.release.charged import service, spent

BUDGET = PrivacyBudget("", "replace_one", "town", "2025")
N, DAYS = 60, 2
X = np.random.default_rng(2).gamma(2.0, 0.15, (N, 48 * DAYS))


def meter_list_file(folder, header="meter_id,secondary_substation_id,lv_feeder_id", rows=None):
    rows = rows or [f"m{i:02d},{i % 2 + 1:03d},{i % 4 // 2 + 10}" for i in range(N)]
    path = folder / "list.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.fixture
def call(tmp_path):
    """What releases totals of made-up meters; records, last day, list and settings can be changed."""
    path = meter_list_file(tmp_path)

    def release(x=X, last_day="2025-03-30", path=path, **settings):
        export = {"last_day": last_day, "time_zone": "Europe/London", "interval_minutes": 30}
        own = {"what": ["feeders"], "feeder_days": DAYS, "feeder_typical_daily_kwh": 12.0}
        town = service(tmp_path, "03", meters=path.read_bytes(), sections={"export": export}, **own | settings)
        return town.release(feeders.mechanisms(town.listed, town), x)[0]

    return release


def table(files, name):
    return pq.read_table(io.BytesIO(files[name])).to_pandas()


def test_a_list_on_which_two_feeders_would_be_called_alike_is_refused(call, tmp_path):
    rows = [f"m{i:02d},{'a-b,c' if i % 2 else 'a,b-c'}" for i in range(N)]
    with pytest.raises(InputError, match="two feeders that would both be called") as told:
        call(path=meter_list_file(tmp_path, rows=rows))
    assert "a-b" not in str(told.value)


def test_files_have_the_columns_of_the_publishers_and_the_manifest_vouches_for_them(call):
    files = call()
    assert set(files) == {*KINDS["feeders"].files, *DESCRIPTIONS}
    check_files(files)
    totals, rows = table(files, "feeders.parquet"), list(csv.DictReader(io.StringIO(files["feeders.csv"].decode())))
    names = [c.name for c in RELEASED_FEEDERS.columns]
    assert list(totals.columns) == names == list(rows[0])
    # The clock skips an hour in the night of the second day: 94 half hours.
    assert len(totals) == len(rows) == 4 * 94
    assert totals["data_collection_log_timestamp"].iloc[0].isoformat() == "2025-03-29T00:30:00+00:00"
    assert rows[93]["data_collection_log_timestamp"] == "2025-03-30T23:00:00Z"
    assert set(totals["aggregated_device_count_active"]) == {N // 4}
    assert set(totals["dataset_id"]) == {"001-10", "001-11", "002-10", "002-11"}
    assert set(totals["secondary_substation_id"]) == {"001", "002"} and set(totals["lv_feeder_id"]) == {"10", "11"}
    assert [int(r["total_consumption_active_import"]) for r in rows] == list(
        totals["total_consumption_active_import"]
    )
    assert (totals["total_consumption_active_import"] >= 0).all()
    errors = table(files, "feeder_errors.parquet")
    assert list(errors.columns) == [c.name for c in RELEASED_FEEDER_ERRORS.columns] and len(errors) == 4
    assert (errors["standard_error_wh"] > 0).all()
    manifest = json.loads(files["manifest.json"])
    assert manifest["sha256"] == {
        name: hashlib.sha256(files[name]).hexdigest() for name in KINDS["feeders"].files[:3]
    }
    assert manifest["public_parameters"]["window"] == {"kind": "days", "first_day": "2025-03-29", "days": DAYS}
    assert "feeder" not in manifest["public_parameters"]["public"], "who is where is the list's to say"
    assert "their sum over all meters and their sums over the meters of each" in files[ENTRY].decode()
    first, last = manifest["period"]
    days = f"2025-03-29 to 2025-03-30, each checked for faults with the others of its meter ({first} to {last})"
    assert "how many meters these are" not in files[CUSTODIAN].decode(), "which is public"
    assert days in files[CUSTODIAN].decode() and first < "2025-03-29" and last == "2025-03-30"
    page = files["README.md"].decode()
    assert "of each of 4 feeders used together in each interval of 30 minutes. It holds" in page
    assert "epsilon 1 and delta 1e-05" in page and "the ends of intervals" in page


def test_a_page_says_that_totals_contradict_the_guess_and_no_share_of_hardly_anything(call):
    """Meters use 15 kWh a day; noise is small enough that totals show it."""
    files = call(feeder_typical_daily_kwh=480, feeder_epsilon=19.0, cap_epsilon=20.0)
    page = files["README.md"].decode()
    assert "a meter uses 240 to 960 kWh a day on average, half to twice the public guess of 480" in page
    contradicted = r"According to the released totals, a meter uses [\d.]+ kWh a day, not 240 to 960: "
    for name in ("README.md", "manifest.json", "index.html", "custodian.html"):
        assert "240 to 960 kWh a day on average" in files[name].decode()
        assert re.search(contradicted, files[name].decode())
    assert re.search(contradicted, before_use(json.loads(files["manifest.json"]))[0])
    public = FeederPublic(1, 1e-5, (0, 1, 2), 3, intervals_per_day=4, days=1, typical_daily_kwh=12)
    for kwh, words, holds in (
        (0.0, "larger than", False),
        (3.0, "at most 67 % of", True),
        (8.0, "at most 25 % of", False),
    ):
        released = FeederRelease(np.full((3, 4), kwh), np.ones(3), np.full(3, 2.0))
        assert feeders._of_mean_use(released) == words
        assert (feeders._contradicted(released, public) is None) == holds


def test_stated_errors_are_no_smaller_a_share_of_use_than_was_expected(call):
    """Feeders are alike, so that the release by itself would be surer; noise moves the share by 3 %."""
    files = call(np.full_like(X, 24 / 48), feeder_typical_daily_kwh=12, feeder_epsilon=19.0, cap_epsilon=20.0)
    errors, (expected,) = (
        table(files, "feeder_errors.parquet"),
        json.loads(files["manifest.json"])["expected_error"]["quantities"],
    )
    share = errors["standard_error_wh"].sum() / errors["mean_consumption_wh"].sum()
    assert expected["of"].endswith("as a share of mean use") and share > 0.88 * expected["error"]


def test_errors_of_the_smallest_and_largest_feeder_are_said_where_sizes_differ(call, tmp_path):
    """In the plan of a list and in the folder; a list whose feeders are of one size says nothing of it."""
    rows = [f"m{i:02d},001,{10 + (i >= 10)}" for i in range(N)]
    files = call(path=meter_list_file(tmp_path, rows=rows))
    guess = r"(\d+) % \(a public guess: (\d+) %\) on the"
    said = rf"Expect errors of {guess} smallest feeder, of 10 meters, and of {guess} largest, of 50"
    small, guess_small, large, guess_large = map(int, re.search(said, files["README.md"].decode()).groups())
    assert small > large > 0 and guess_small > guess_large > large
    assert "smallest feeder, of" not in call(path=meter_list_file(tmp_path))["README.md"].decode()
    export = {"last_day": "2025-03-30", "time_zone": "Europe/London", "interval_minutes": 30}
    config = service(tmp_path, "03", sections={"export": export}, what=["feeders"], feeder_days=DAYS).config
    listed = read_meter_list(meter_list_file(tmp_path, rows=rows))
    (said,) = feeders.plan(config, N, 2, listed).warnings
    assert said.startswith(f"expect errors of {small} % (a public guess: {guess_small} %) on the smallest feeder")


def test_totals_are_those_of_the_meters_when_the_budget_is_large(call):
    """Oracle: plain sums in Wh. Noise is fresh: of 354 releases a feeder was off by 0.09 as a standard deviation."""
    totals = table(call(feeder_epsilon=19.0, cap_epsilon=20.0), "feeders.parquet")
    by_feeder = totals.groupby("dataset_id")["total_consumption_active_import"].sum()
    feeder = np.array([f"{i % 2 + 1:03d}-{i % 4 // 2 + 10}" for i in range(N)])
    # Cells of the skipped hour are no intervals.
    kept = np.delete(X, [50, 51], axis=1)
    exact = {name: 1000 * kept[feeder == name].sum() for name in by_feeder.index}
    off = np.array([by_feeder[name] / exact[name] - 1 for name in exact])
    assert np.abs(off).max() < 0.6 and abs(off.mean()) < 0.3


def test_drawn_and_charged_once_whatever_the_readings(call, ledger):
    first, events = call(), ledger.events()
    assert [e["words"]["artefact"] for e in events if e["kind"] == CHARGED] == ["feeders"]
    assert call(np.full_like(X, np.nan)) == first and ledger.events() == events
    assert 0.999e-5 < spent(ledger, BUDGET).delta(1.0) <= 1e-5
    assert call(last_day="2025-03-29") != first and len(ledger.events()) == 2 * len(events) - 1


@pytest.mark.parametrize(
    "changed",
    [
        {"feeder_epsilon": 0.5},
        {"feeder_days": 1},
        {"feeder_count": "measured"},
        {"feeder_typical_daily_kwh": 9},
        {"feeder_window": "average_day"},
    ],
)
def test_every_public_setting_is_among_the_words(call, ledger, changed):
    call()
    days = changed.get("feeder_days", DAYS) if changed.get("feeder_window") != "average_day" else 1
    call(X[:, : 48 * days], **changed)
    requests = {e["request"] for e in ledger.events() if e["kind"] == CHARGED}
    assert len(requests) == 2


def test_a_measured_count_is_a_noisy_one_and_an_average_day_has_one_days_rows(call):
    x = X.copy()
    x[::4] = np.nan
    files = call(x[:, :48], feeder_count="measured", feeder_window="average_day", feeder_epsilon=3.0)
    totals, page = table(files, "feeders.parquet"), files["README.md"].decode()
    assert len(totals) == 4 * 46 and totals["aggregated_device_count_active"].between(0, N // 4).all()
    entry = files[ENTRY].decode()
    assert "a meter without usable readings adds nothing" in entry and "counts as a public default" not in entry
    assert "and how many meters these are" in files[CUSTODIAN].decode()
    assert page.startswith("# Electricity used per feeder on an average day: ")
    (stamp,) = re.findall(r"`feeders.parquet` \| `data_collection_log_timestamp` \| UTC \| (.*) \|", page)
    assert "of an average day, which has the date of its last day" in stamp
    for name in DESCRIPTIONS:
        assert "on an average day" in files[name].decode(), name
    for text in (files[name].decode() for name in (CRATE, CROISSANT)):
        assert stamp in text and "every feeder and interval of an average day, released" in text
    assert "the count is noisy" in page and "the mean of the 2 local days" in page


def test_circuits_stand_for_feeders_that_a_list_does_not_name(call, tmp_path):
    path = meter_list_file(tmp_path, "meter_id,circuit", [f"m{i:02d},C{i % 4}" for i in range(N)])
    totals = table(call(path=path), "feeders.parquet")
    assert set(totals["secondary_substation_id"]) == {"all"}
    assert set(totals["lv_feeder_id"]) == set(totals["dataset_id"]) == {"C0", "C1", "C2", "C3"}


def test_what_cannot_be_released_is_refused_before_anything_is_charged(call, ledger, tmp_path):
    path = meter_list_file(tmp_path, "meter_id,lv_feeder_id", [f"m{i:02d},{'' if i == 7 else 1}" for i in range(N)])
    with pytest.raises(InputError, match=r"export\.meters.*does not name a feeder for every meter"):
        call(path=path)
    with pytest.raises(InputError, match=r"release\.feeder_days.*more than the 1 days of the period"):
        call(last_day="2025-03-01")
    with pytest.raises(InputError, match=r"release\.forecast_protects.*together with feeders"):
        call(what=["feeders", "forecasts"], forecast_protects="label")
    assert ledger.events() == []


def test_a_csv_with_another_column_is_not_published(call):
    files = call()
    with pytest.raises(InputError, match="not declared for release"):
        check_files({"feeders.csv": b"meter_id," + files["feeders.csv"]})


def test_further_columns_of_a_list_are_read_and_a_header_without_sense_is_refused(tmp_path):
    rows = ["m2,flat,1", "m1,,2"]
    listed = read_meter_list(meter_list_file(tmp_path, "meter_id,dwelling,circuit", rows))
    assert listed.said_of == {"dwelling": {"m2": "flat", "m1": ""}} and listed.circuit_of == {"m2": "1", "m1": "2"}
    for header, problem in (
        ("customer,dwelling", "no column of its header is meter_id"),
        ("meter_id,dwelling,dwelling", "names a column twice"),
        ("meter_id,", "has a column without a name"),
    ):
        with pytest.raises(InputError, match=problem):
            read_meter_list(meter_list_file(tmp_path, header, ["m1,flat"]))
    with pytest.raises(InputError, match="lists a meter a second time"):
        read_meter_list(meter_list_file(tmp_path, rows=["m1,1,1", "m1,1,2"]))
