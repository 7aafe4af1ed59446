"""The gate: every refusal is one sentence that names the setting, and what is sound passes."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from meterdp.__main__ import main
from meterdp.core.config import complete, load_schema
from meterdp.core.parquet import write_table
from meterdp.errors import InputError
from meterdp.ingest.meter_list import parse_meter_list
from meterdp.ingest.tables import METERS
from meterdp.mechanisms.proven import marginals
from meterdp.privacy.guarantee import Guarantee, Limit, PrivacyBudget
from meterdp.privacy.noise import GRID, MOST_STEPS
from meterdp.privacy.policy import MOST_HOUSEHOLDS, check_release
from meterdp.profiles.tables import PROFILES
from meterdp.publish.folder import is_published, replace_folder
from meterdp.publish.kinds import MANIFEST
from meterdp.release import feeders, forecasts, households, mixture
from meterdp.release.asked import asked
from meterdp.release.mixture import ReleasedMixture
from meterdp.release.service import ReleaseService
from meterdp.release.settings import budget_of, check_meters, check_settings, refusals_of
from tests.conftest import ROOT
from tests.unit.release.charged import DEFAULTS, config, release_mixture, service, spent

REAL = {"path": "e.csv", "meters": "list.csv", "first_day": "2025-01-01", "last_day": "2025-01-28"}
REAL |= {"time_zone": "Europe/London"}
NAMED = {"population": "town", "budget_period": "2025"}
X = np.random.default_rng(2).normal(-1.0, 0.7, (80, 24))
SOUND = Guarantee("household", "replace_one", 1.0, 1e-5, "", "", "sound")


def test_the_defaults_pass_for_a_simulated_export_and_a_named_one():
    check_settings(DEFAULTS, simulated=True)
    check_settings(config(export=REAL, release=NAMED), simulated=False)
    assert budget_of(SOUND, DEFAULTS, True).population == "simulated households"
    assert budget_of(SOUND, config(release=NAMED), False) == PrivacyBudget("household", "replace_one", "town", "2025")


@pytest.mark.parametrize(
    ("sections", "field"),
    [
        ({"export": {**REAL, "meters": None}}, "export.meters"),
        ({"export": {**REAL, "first_day": None}}, "export.first_day"),
        ({"export": {**REAL, "last_day": None}}, "export.last_day"),
        (
            {
                "export": {**REAL, "last_day": "9999-12-31", "time_zone": "Europe/London"},
                "release": {"population": "town", "budget_period": "9999"},
            },
            "export.last_day",
        ),
        ({"release": {**NAMED, "population": None}}, "release.population"),
        ({"release": {**NAMED, "budget_period": None}}, "release.budget_period"),
        ({"release": {**NAMED, "budget_period": "2025, 2025-03"}}, "release.budget_period"),
        ({"release": {**NAMED, "budget_period": "2024"}}, "release.budget_period"),
        ({"release": {**NAMED, "budget_period": "2025-01-02 to 2025-12-31"}}, "release.budget_period"),
        ({"export": {**REAL, "time_zone": None}}, "export.time_zone"),
        ({"release": {**NAMED, "delta": 1e-3}}, "release.delta"),
        ({"release": {**NAMED, "forecast_protects": "label"}}, "release.forecast_protects"),
        ({"release": {**NAMED, "what": ["feeders"]}}, "release.feeder_typical_daily_kwh"),
        (
            {"release": {**NAMED, "what": ["feeders"], "feeder_typical_daily_kwh": 4500}},
            "release.feeder_typical_daily_kwh",
        ),
    ],
)
def test_what_misses_is_named(sections, field):
    given = {"export": REAL, "release": NAMED} | sections
    with pytest.raises(InputError, match=rf"^config, field '{field}': "):
        check_settings(config(**given), simulated=False)


def test_all_that_misses_can_be_listed_and_the_first_is_what_is_refused():
    given = config(export={"path": "a.csv"}, release={"delta": 1e-3})
    refused = list(refusals_of(given, simulated=False))
    fields = [f"export.{key}" for key in ("meters", "first_day", "last_day", "time_zone")]
    fields += ["release.population", "release.budget_period", "release.delta"]
    assert [error.field for error in refused] == fields
    with pytest.raises(InputError) as first:
        check_settings(given, simulated=False)
    assert str(first.value) == str(refused[0])


@pytest.mark.parametrize(
    ("changed", "households", "said"),
    [
        ({"family": "published"}, 1000, "family 'published', which is for study only"),
        ({"family": "exact"}, 1000, "family 'exact'"),
        ({"delta": 1e-4}, 1000, "must not exceed 1/N = 0.001 or release.cap_delta = 1e-05"),
        ({}, 200_000, "must not exceed 1/N = 5e-06"),
        ({}, 49, "fewer than 50 households"),
    ],
)
def test_what_may_not_leave_is_refused_whatever_made_it(changed, households, said):
    with pytest.raises(InputError, match=said):
        check_release(Guarantee(**{**vars(SOUND), **changed}), households, Limit(4.0, 1e-5))
    with pytest.raises(InputError, match=r"release\.cap_delta"):
        check_release(SOUND, 1000, Limit(4.0, 0.5))
    check_release(SOUND, 1000, Limit(4.0, 1e-5))


@pytest.fixture
def call(tmp_path):
    """What releases a mixture of 80 made-up households; ``x`` can be spoilt."""

    def release(x=X, month="01", meters=b"meter_id\nm1\nm2\n", **settings):
        town = service(tmp_path, month, meters=meters, **settings)
        return release_mixture(x, town, tmp_path / "results/release/mixture")

    return release


def test_other_data_under_the_same_request_get_the_same_files(call, ledger):
    """Whether a release happens, and what is handed over again, must not depend on a record."""
    first = call()
    assert call(X + 1.0) == first and len(ledger.events()) == 4
    assert call(epsilon=0.5)["mixture.json"] != first["mixture.json"]
    assert [e["kind"] for e in ledger.events()].count("charged") == 2


@pytest.mark.parametrize(
    "again",
    [
        {"population": "City"},
        {"meters": b"meter_id\nm1\nm2\nm3\n"},
        {"meters": b"meter_id\nm2\nx7\n"},
        {"population": "City", "meters": "lv_feeder_id,meter_id\r\n7,M\u200b2\r\n7,\uff4d1\r\n".encode()},
        {"budget_period": "2025-01"},
        {"budget_period": "2025-01-01 to 2025-06-30"},
    ],
)
def test_no_new_name_gives_the_same_people_a_new_budget(call, ledger, again):
    call(epsilon=3)
    before = [e for e in ledger.events() if e["kind"] == "charged"]
    with pytest.raises(InputError, match=r"would spend more on its meters|shares days with '2025'"):
        call(epsilon=3.1, **again)
    assert [e for e in ledger.events() if e["kind"] == "charged"] == before
    call(epsilon=3.1, meters=b"meter_id\ny1\ny2\n")


def test_a_second_month_is_charged_beside_the_first_and_leaves_its_files_alone(call, ledger):
    first = call()
    second = call(X + 0.1, month="02")
    assert second["mixture.json"] != first["mixture.json"] and call() == first
    one, both = ([e["mu"] for e in ledger.events() if e["kind"] == "charged"][:n] for n in (1, 2))
    budget = PrivacyBudget("the whole profile of one household", "replace_one", "town", "2025")
    assert spent(ledger, budget).mu == pytest.approx(np.sqrt(2) * one[0]) and len(both) == 2
    with pytest.raises(InputError, match=r"would spend more.*one more release of epsilon 3\.\d+ would fit"):
        call(month="03", epsilon=3.9)


def test_a_second_release_of_the_same_days_says_which_one_it_takes_the_place_of(call, tmp_path, capsys):
    first = call()
    assert "replaces" not in json.loads(first[MANIFEST]) and b"Earlier releases" not in first["README.md"]
    assert "replaces" not in json.loads(call(month="02")[MANIFEST])
    second = call(epsilon=0.9)
    (before,) = json.loads(second[MANIFEST])["replaces"]
    assert before["epsilon"] == pytest.approx(1, abs=1e-3) and "seed" not in str(before)
    for name in ("README.md", "index.html"):
        assert f"It replaces what was released about the same days on {before['charged']} (ε = 1), which" in (
            second[name].decode()
        )
    folder = tmp_path / "other/release/mixture"
    replace_folder(second, folder)
    assert main(["release", "verify", str(folder)]) == 0
    assert f"replaces the release of {before['charged']} (epsilon 1)\n" in capsys.readouterr().out
    replace_folder(first, folder)
    (kept,) = (folder.parent / "earlier").iterdir()
    assert kept.name == "mixture-2025-01-01-to-2025-01-28"
    assert main(["release", "verify", str(folder.parent)]) == 0
    of_second, of_first = capsys.readouterr().out.split("Verified: ")[1:]
    assert f"  replaced by {kept}\n" in of_first and "replaced by" not in of_second
    assert call() == first


def test_a_mixture_is_of_all_listed_households_the_invalid_ones_with_their_public_default(tmp_path):
    """Who is left out would be private: a household without a valid profile keeps its place."""
    x, ids = X[:3].tolist(), ["a", "b", "c"]
    write_table(tmp_path / "profiles", PROFILES, {"household": [0, 1, 2], "valid": [True, False, True], "log_kwh": x})
    no_rows = {name: [0, 0, 0] for name in ("shard", "duplicate_rows", "conflicting_rows")}
    known = {"household": [0, 1, 2], "meter_id": ids, "circuit": [None] * 3, **no_rows}
    write_table(tmp_path / "meters", METERS, known)
    files = {"records": tmp_path / "profiles", "known": tmp_path / "meters"}
    listed = parse_meter_list(b"meter_id\na\nb\nc\n")
    assert np.array_equal(mixture.records(files, DEFAULTS, listed), X[:3])
    with pytest.raises(InputError, match="is not the list the profiles were made with"):
        mixture.records(files, DEFAULTS, parse_meter_list(b"meter_id\na\nb\n"))


def test_records_of_another_list_are_refused():
    check_meters(["a", "b"], ["a", "b"], 2)
    for known, records in ((["a"], 1), (["a", "c"], 2), (["a", "b"], 1)):
        with pytest.raises(InputError, match="is not the list the profiles were made with"):
            check_meters(known, ["a", "b"], records)


def test_what_is_charged_is_what_the_mechanism_spends(call, ledger):
    """Oracle: (epsilon, delta) of the request from the charge alone."""
    call(epsilon=0.7)
    budget = PrivacyBudget("the whole profile of one household", "replace_one", "town", "2025")
    assert 0.999e-5 < spent(ledger, budget).delta(0.7) <= 1e-5


def test_a_folder_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    folder = tmp_path / "results/release/mixture"
    folder.mkdir(parents=True)
    replace_folder({"a": b"1", "b": b"2"}, folder)
    replace_folder({"a": b"3"}, folder)
    replace_folder({"a": b"3"}, folder)
    replace_folder({"a": b"5"}, folder)
    replace_folder({"a": b"3"}, folder)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == {"a": b"3"}
    kept = {p.name: sorted(f.read_bytes() for f in p.iterdir()) for p in (folder.parent / "earlier").iterdir()}
    assert kept == {"mixture": [b"1", b"2"], "mixture-2": [b"3"], "mixture-3": [b"5"]}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="cannot be written"):
        replace_folder({"a": b"4", "c": b"5"}, folder)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == {"a": b"3"}
    assert not list((tmp_path / "results/private").glob(".*"))


def test_a_part_of_the_same_release_gives_way_to_the_whole(tmp_path):
    """Whoever runs a release again completes a folder of which files were deleted."""
    folder = tmp_path / "results/release/forecasts"
    whole = {"manifest.json": b"1", "x1.parquet": b"2"}
    replace_folder(whole, folder)
    (folder / "manifest.json").unlink()
    replace_folder(whole, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == whole
    assert not (folder.parent / "earlier").exists()
    replace_folder({"manifest.json": b"3"}, folder)
    (folder / "manifest.json").unlink()
    replace_folder(whole, folder)
    assert sorted(path.name for path in (folder.parent / "earlier").iterdir()) == ["forecasts"]


def test_a_folder_is_published_if_it_is_what_was_stored(tmp_path):
    """Else a run writes it again: that of another release, and one that lacks a file, has one more or another."""
    folder = tmp_path / "other/release/mixture"
    first, second = (release_mixture(X, service(tmp_path, epsilon=e, cap_epsilon=8)) for e in (1.0, 1.5))
    assert not is_published(folder, second)
    replace_folder(first, folder)
    assert is_published(folder, first) and not is_published(folder, second) and not is_published(folder, {})
    replace_folder(second, folder)
    assert is_published(folder, second)
    for name in second:
        (folder / name).write_bytes(second[name] + b" ")
        assert not is_published(folder, second), name
        (folder / name).unlink()
        assert not is_published(folder, second), name
        (folder / name).write_bytes(second[name])
    (folder / "more").write_bytes(b"")
    assert not is_published(folder, second)


@pytest.mark.parametrize("manifest", [b"[]", b'{"public_parameters": [], "period": 1}', b"{"])
def test_a_folder_that_is_no_release_gives_way_too(tmp_path, manifest):
    folder = tmp_path / "results/release/mixture"
    replace_folder({MANIFEST: manifest}, folder)
    replace_folder({"a": b"1"}, folder)
    assert [path.name for path in (folder.parent / "earlier").iterdir()] == ["mixture"]


def test_two_processes_put_one_folder_in_place_after_the_other(tmp_path):
    """In the same results folder, from two checkouts: each leaves a whole folder."""
    folder = tmp_path / "results/release/mixture"
    sets = [{f"{n:02d}": bytes([own]) * 2000 for n in range(40)} for own in (1, 2)]
    with ThreadPoolExecutor(2) as pool:
        for _ in range(5):
            for done in [pool.submit(replace_folder, files, folder) for files in sets]:
                done.result()
            assert any(is_published(folder, files) for files in sets)
    assert all(any(is_published(one, files) for files in sets) for one in (folder.parent / "earlier").iterdir())


def test_sums_of_as_many_records_as_the_gate_lets_through_stay_exact():
    """Every statistic of the sound release has entries of at most one, but for the upper bins of its marginals."""
    largest = max(1.0, marginals.TAIL_WEIGHT, marginals.TOTAL_WEIGHT * np.sqrt(2))
    assert MOST_HOUSEHOLDS * largest / GRID < MOST_STEPS


@pytest.mark.parametrize("section", [{"quality": {"repair": ["gap"]}}, {"export": {"conflicting_rows": "missing"}}])
def test_what_becomes_of_mess_is_part_of_the_public_settings(section):
    """Else a release under one policy could pass for the same request under another."""
    schema = load_schema(ROOT / "workflow/schemas/config.schema.yaml")
    usual, other = (
        ReleaseService(complete(config, schema), b"", simulated=True).records() for config in ({}, section)
    )
    assert usual != other
    (name,) = section
    assert other[name] != usual[name]
    json.dumps(other)  # a manifest states them


@pytest.mark.parametrize(
    ("keep_rows", "parameters"),
    [
        (None, {}),
        ({}, {}),
        ({"OBIS": ["1.8.0"]}, {"register_column": "OBIS", "register": "1.8.0"}),  # as ledgers know it
        ({"b": ["y", "x", "y"], "a": ["z"]}, {"keep_rows": {"a": ["z"], "b": ["x", "y"]}}),
    ],
)
def test_rows_that_are_kept_are_one_request_however_they_are_written(keep_rows, parameters):
    schema = load_schema(ROOT / "workflow/schemas/config.schema.yaml")
    config = complete({"export": {"keep_rows": keep_rows}}, schema)
    export = ReleaseService(config, b"", simulated=True).records()["export"]
    assert {key: value for key, value in export.items() if "keep" in key or "register" in key} == parameters
    assert [*export.get("keep_rows", {})] == sorted(export.get("keep_rows", {}))


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        *(("encoding", "utf-8", None), ("encoding", "windows-1250", "windows-1250")),
        *(("weekend", ["saturday", "sunday"], None), ("weekend", ["sunday", "saturday"], None)),
        *(("weekend", days, ["friday", "saturday"]) for days in (["saturday", "friday"], ["friday", "saturday"])),
    ],
)
def test_a_setting_that_earlier_versions_lacked_makes_another_request_unless_it_is_what_they_took(key, value, named):
    schema = load_schema(ROOT / "workflow/schemas/config.schema.yaml")
    config = complete({"export": {"path": "e.csv", "time_zone": "Asia/Muscat"}}, schema)
    config["export"][key] = value
    assert ReleaseService(config, b"", simulated=True).records()["export"].get(key) == named


@pytest.mark.parametrize(
    ("what", "vector", "told"),
    [
        *(("feeders", "typical_day", False), ("mixture", "typical_day", True), ("mixture", "mean", False)),
        *(("households", "mean", True), ("forecasts", "mean", True)),
    ],
)
def test_the_weekend_is_part_of_requests_that_tell_working_days(tmp_path, what, vector, told):
    path, listed = (
        tmp_path / "meters.csv",
        "meter_id,lv_feeder_id\n" + "".join(f"m{n},f{n % 2}\n" for n in range(1200)),
    )
    path.write_text(listed)
    days = {"first_day": "2025-01-01", "last_day": "2025-03-31", "meters": str(path), "path": "e.csv"}
    sections = {"export": {**days, "weekend": ["friday", "saturday"]}, "profiles": {"vector": vector}}
    given = {"what": [what], "feeder_typical_daily_kwh": 10, "feeder_days": 28}
    ((together,), _) = asked(service(tmp_path, meters=listed.encode(), sections=sections, simulated=False, **given))
    for mechanism in together:
        assert ("weekend" in mechanism.parameters["export"]) == told


def test_a_page_says_which_rows_of_the_export_count():
    asked = {"keep_rows": {"Event": ["", "E"], "CHANNEL": ["1"]}}
    made_by = ReleaseService(config(export={**DEFAULTS["export"], **asked}), b"", simulated=True)
    page = made_by.page("t", "o", ("x",), guarantee=SOUND, hides=("h",), does_not_hide=("d",)).decode()
    assert "Only rows of the export with '1' in the column 'CHANNEL' count" in page
    assert "Only rows of the export with nothing or 'E' in the column 'Event' count" in page


LISTED = "meter_id,circuit,town\n" + "".join(f"m{n},c{n % 3},{'Gent' if n % 2 else 'Aalst'}\n" for n in range(80))


@pytest.mark.parametrize(
    ("written", "same"),
    [
        (LISTED, True),
        (LISTED.replace("\n", "\r\n"), True),
        ("\ufeff" + LISTED.replace(",", ";"), True),
        (LISTED.rstrip("\n"), True),
        ("\n".join([*LISTED.splitlines()[:1], *reversed(LISTED.splitlines()[1:])]), True),
        (LISTED.replace("m7,c1", "m7,c2"), True),
        (LISTED.replace("m79", "m80"), False),
    ],
    ids=[
        "itself",
        "line ends",
        "semicolons",
        "no last line end",
        "another order",
        "another circuit",
        "another meter",
    ],
)
def test_a_list_is_one_request_however_a_spreadsheet_saves_it(written, same):
    release = {**DEFAULTS["release"], **NAMED, "allow": ["poor"]}
    given = config(export={**DEFAULTS["export"], **REAL}, release=release)

    def request(text):
        service = ReleaseService(given, text.encode(), simulated=False)
        return service.request(ReleasedMixture.configured(80, service, None))

    one, two = request(LISTED), request(written)
    assert (one.key == two.key) == same and (one.meters == two.meters) == ("m80" not in written)


@pytest.mark.parametrize(
    ("what", "asks", "matters"),
    [
        (feeders, {"feeder_typical_daily_kwh": 10}, "circuit"),
        (forecasts, {"forecast_groups": "circuit"}, "circuit"),
        (forecasts, {"what": ["forecasts"], "forecast_groups": "circuit", "forecast_protects": "label"}, "circuit"),
        (forecasts, {"forecast_groups": "one"}, None),
        (forecasts, {"what": ["forecasts"], "forecast_groups": "one", "forecast_protects": "label"}, None),
        (households, {"household_strata": ["town"]}, "town"),
        (households, {"household_strata": []}, None),
        (mixture, {}, None),
    ],
)
def test_of_a_list_counts_what_shapes_the_release(monkeypatch, what, asks, matters):
    monkeypatch.setattr("meterdp.households.mechanism.FEWEST_OF_STRATUM", 10)
    given = config(
        export={**DEFAULTS["export"], **REAL, "last_day": "2025-12-31"},
        release={**DEFAULTS["release"], **NAMED, "allow": ["poor"], **asks},
    )
    lines = LISTED.splitlines()
    others = {"circuit": LISTED.replace("m7,c1", "m7,c2"), "town": LISTED.replace("m7,c1,Gent", "m7,c1,Aalst")}
    others["order"] = "\n".join([lines[0], *reversed(lines[1:])])

    def key(text):
        service = ReleaseService(given, text.encode(), simulated=False)
        return service.request(what.mechanisms(service.listed, service)[0]).key

    assert {name for name, text in others.items() if key(text) != key(LISTED)} == {matters} - {None}


@pytest.mark.parametrize(("prior_mixture", "same"), [("auto", True), (None, False)])
def test_a_prior_mixture_brings_its_classes(prior_mixture, same):
    def key(classes):
        sound = {**DEFAULTS["mechanisms"]["sound"], "prior_mixture": prior_mixture}
        given = config(
            export={**DEFAULTS["export"], **REAL},
            release={**DEFAULTS["release"], **NAMED, "allow": ["poor"]},
            mechanisms={**DEFAULTS["mechanisms"], "sound": sound},
            mixture={**DEFAULTS["mixture"], "classes": classes},
        )
        service = ReleaseService(given, LISTED.encode(), simulated=False)
        return service.request(mixture.mechanisms(service.listed, service)[0]).key

    assert (key(4) == key(6)) == same
