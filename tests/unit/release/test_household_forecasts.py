"""Released forecasts: groups drawn once in a budget period, every forecast charged, stored files after that.

Those that hide whose they are are charged apart, beside nothing that protects readings.
"""

import hashlib
import io
import json
import re
from datetime import datetime

import numpy as np
import pyarrow.parquet as pq
import pytest

from meterdp.core.parquet import as_arrow, table_bytes
from meterdp.errors import InputError
from meterdp.forecasting.tables import FORECASTS_AHEAD
from meterdp.privacy.guarantee import PrivacyBudget
from meterdp.privacy.spent import CHARGED
from meterdp.publish.folder import publish
from meterdp.publish.kinds import DESCRIPTIONS, check_files
from meterdp.publish.tables import GROUP_FORECAST_FILE, RELEASED_GROUP_FORECASTS
from meterdp.release import forecasts
from meterdp.release.forecasts import different_forecasts, on_the_list
from meterdp.release.weeks import intervals_ahead
from tests.unit.groupforecast.made_up import records_of, town
from tests.unit.release.charged import DEFAULTS, config, release_forecasts, release_mixture, service, spent

BUDGET = PrivacyBudget("", "replace_one", "town", "2025")
NAMES_BUDGET = PrivacyBudget("", "class_label", "town", "2025")
NAMES = {"forecast_protects": "label", "what": ["forecasts"]}
N, STEPS = 120, DEFAULTS["forecast"]["horizon_steps"]
X = records_of(town(N, 28)).x
_GENERATOR = np.random.default_rng(2)
OWN = -2.0 + _GENERATOR.normal(0, 1.2, (N, 1)) + _GENERATOR.normal(0, 0.2, (N, STEPS))


@pytest.fixture
def call(tmp_path):
    """What releases forecasts of made-up households; records, month and settings can be changed."""

    def release(x=None, month="01", circuit=None, year=2025, sections=(), **settings):
        town = service(tmp_path, month, year, sections=sections, **{"forecast_epsilon": 3.0} | settings)
        if x is None:
            x = OWN if settings.get("forecast_protects") == "label" else X
        return release_forecasts(x, circuit, town)

    return release


def charged(ledger):
    return [(e["words"]["artefact"], e["attempt"]) for e in ledger.events() if e["kind"] == CHARGED]


def table_of(files, name):
    return pq.read_table(io.BytesIO(files[f"{name}.parquet"]))


def first_kwh(files, release_id):
    """Return the first expected energy of every household, in the order of the list."""
    recipients = table_of(files, "recipients").to_pandas().set_index("release_id")["forecast"]
    first = table_of(files, "forecasts").to_pandas().groupby("forecast")["expected_kwh"].first()
    return first[recipients[release_id]].tolist()


def test_every_household_has_a_forecast_that_the_manifest_vouches_for(call):
    files, release_id = call()
    check_files(files)
    names = {"recipients.parquet", "forecasts.parquet", "shape.parquet"}
    assert set(files) == names | {"manifest.json", "README.md", *DESCRIPTIONS}
    recipients, table = table_of(files, "recipients"), table_of(files, "forecasts")
    assert len(set(release_id)) == N and recipients["release_id"].to_pylist() == sorted(release_id)
    assert set(recipients["forecast"].to_pylist()) == {1}
    assert table.schema.names == [c.name for c in RELEASED_GROUP_FORECASTS.columns]
    metadata = {k.decode(): v.decode() for k, v in table.schema.metadata.items()}
    assert metadata["meterdp.audience"] == "release" and "meterdp.release" not in metadata
    assert "(3, 1e-05)-differential privacy" in metadata["meterdp.guarantee"]
    assert table.num_rows == 168 and table["interval_start_local"][0].as_py() == "2025-01-29T00:00:00-08:00"
    folder = json.loads(files["manifest.json"])
    assert folder["sha256"] == {name: hashlib.sha256(files[name]).hexdigest() for name in names}
    assert folder["mechanism"]["group_count"] == 1
    assert set(table["circuit"].to_pylist()) == {"all"} and set(table["household_count"].to_pylist()) == {N}
    page = files["README.md"].decode()
    assert "00:00 on 29 January 2025 (local time)" in page and "epsilon 3 and delta 1e-05" in page
    for one in folder["expected_error"]["quantities"]:
        assert f"- {one['of'].capitalize()}: {100 * one['error']:.0f} % on average" in page


def test_rows_are_those_of_the_hours_they_are_named_by_and_the_shape_goes_with_them(call):
    """Oracle: days of the week of the local stamps. The 29th of January 2025 is a Wednesday."""
    files, _ = call()
    rows, shape = (table_of(files, name).to_pandas() for name in ("forecasts", "shape"))
    local = [datetime.fromisoformat(stamp) for stamp in rows["interval_start_local"]]
    cell = np.array([moment.hour + 24 * (moment.weekday() >= 5) for moment in local])
    for table, column in ((rows, "expected_kwh"), (shape, "median_ratio")):
        assert (table.groupby(cell)[column].nunique() == 1).all() and table[column].nunique() > 40
    level = rows["expected_kwh"] / shape["expected_ratio"]
    assert level.std() < 1e-9 * level.mean() and shape["expected_ratio"].mean() == pytest.approx(1)
    ends = [f"{name}_kwh" for name in ("low_90", "low_50", "median", "high_50", "high_90")]
    assert (np.diff(rows[ends], axis=1) > 0).all()
    usable = X[np.isfinite(X[:, 0])]
    assert rows["expected_kwh"].mean() == pytest.approx(usable[:, 0].mean(), rel=0.5)


def test_a_period_is_charged_once_with_what_is_stated(call, ledger):
    """Oracle: (epsilon, delta) of the configuration from the charges alone."""
    first = call(cap_epsilon=6)
    assert charged(ledger) == [("forecasts", 1)]
    assert 0.999e-5 < spent(ledger, BUDGET).delta(3.0) <= 1e-5
    assert call() == first == call(np.full_like(X, np.nan)) and len(charged(ledger)) == 1
    later = call(month="02", cap_epsilon=6)
    assert not set(later[1]) & set(first[1]) and charged(ledger) == [("forecasts", 1)] * 2
    mus = [e["mu"] for e in ledger.events() if e["kind"] == CHARGED]
    assert spent(ledger, BUDGET).mu == pytest.approx(np.hypot(*mus)) and "responses" not in ledger.events()[0]


def test_what_does_not_fit_is_not_charged(call, ledger):
    with pytest.raises(InputError, match=r"release\.forecast_epsilon'.*would spend more"):
        call(cap_epsilon=2.9)
    assert ledger.events() == []


def test_mixture_and_forecasts_spend_one_budget(call, ledger):
    """Both are computed from the same readings: one account, whatever their mechanisms call their unit."""
    call()
    other = PrivacyBudget("the whole profile of one household", "replace_one", "town", "2025")
    assert spent(ledger, other) == spent(ledger, BUDGET)
    assert spent(ledger, PrivacyBudget("", "class_label", "town", "2025")).mu == 0


def test_what_a_release_is_worth_is_known_from_public_numbers_and_too_little_is_refused(call, ledger):
    given = config(release={"forecast_epsilon": 1.0})
    few, many = ({one.of: one for one in forecasts.plan(given, n, 1).expected} for n in (60, 5000))
    energy = "energy of all households"
    by_circuit = config(release={"forecast_epsilon": 3.0, "forecast_groups": "circuit"})
    small, large = (forecasts.plan(by_circuit, n, 13) for n in (1580, 20_000))
    assert [" does not tell feeders apart" in plan.verdict for plan in (small, large)] == [True, False]
    assert small.expected[0].of == large.expected[0].of == "energy of a circuit"
    one = {one.of: one for one in forecasts.plan(config(release={"forecast_epsilon": 3.0}), 1580, 13).expected}
    assert small.expected[1].of == energy and small.expected[1].error > one[energy].error
    assert forecasts.plan(by_circuit, 1580, 1) is None, "no circuits are known"
    assert many[energy].error < 0.05 < many[energy].guess and few[energy].error > 3 * many[energy].error
    assert forecasts.plan(given, 5000, 1).useful and not list(forecasts.plan(given, 5000, 1).refusals(given))
    for release in ({"forecast_groups": "circuit"}, {"forecast_protects": "label"}):
        assert forecasts.plan(config(release=release), 5000, 1) is None
    with pytest.raises(InputError, match=r"release\.forecast_epsilon.*is too small for 120 listed meters"):
        call(forecast_epsilon=0.05, allow=[])
    assert ledger.events() == []
    assert call(forecast_epsilon=0.05)


def test_circuits_must_be_named_and_large_enough(call, ledger):
    with pytest.raises(InputError, match=r"release\.forecast_groups.*circuit is known"):
        call(forecast_groups="circuit")
    small = tuple((np.arange(N) // 14).tolist())
    with pytest.raises(
        InputError, match=r"fewer than 15 households: 'feeder 0' \(14\), 'feeder 1' \(14\), .* and \d+ more; join"
    ):
        call(forecast_groups="circuit", circuit=small)
    assert ledger.events() == []
    files, release_id = call(forecast_groups="circuit", circuit=tuple((np.arange(N) % 6).tolist()))
    assert charged(ledger) == [("forecasts", 1)]
    shown = first_kwh(files, release_id)
    assert len(set(shown)) == 6 and shown[:6] == shown[6:12]
    rows = table_of(files, "forecasts").to_pandas()
    first = rows.groupby("circuit")["expected_kwh"].first()
    assert [first[f"feeder {n % 6}"] for n in range(N)] == shown and set(rows["household_count"]) == {N // 6}
    titles = re.findall("Circuit (.*?): mean of", files["index.html"].decode())
    assert titles == sorted(titles) and "Circuit feeder 3: mean of 20 households" in files["index.html"].decode()


def test_what_is_not_declared_is_not_published(call, tmp_path):
    files, release_id = call()
    name = "forecasts.parquet"
    table = table_of(files, "forecasts")
    study = {c.name: table[c.name] for c in GROUP_FORECAST_FILE.columns[1:]}
    study["release_id"] = [release_id[0]] * len(table)

    def with_column(extra):
        sink = io.BytesIO()
        pq.write_table(table.append_column("household", table["step"]) if extra else table, sink)
        return sink.getvalue()

    for wrong in (
        {name: table_bytes(GROUP_FORECAST_FILE, study)},
        {name: with_column(True)},
        {"meter_0815.parquet": files[name]},
        {f"{release_id[0]}.parquet": files[name]},
        {"crosswalk.csv": b"release_id,meter_id\n"},
    ):
        with pytest.raises(InputError, match="not declared for release"):
            publish(files | wrong, tmp_path / "results/release/f")
        assert not (tmp_path / "results/release/f").exists()
    check_files({name: with_column(False)})


@pytest.mark.parametrize(
    ("last_day", "first"),
    [("2025-03-29", "2025-03-29T23:00"), ("2025-10-25", "2025-10-25T22:00"), ("2025-12-31", "2025-12-31T23:00")],
)
def test_intervals_start_at_local_midnight_and_run_through_clock_changes(last_day, first):
    """Berlin: clocks change in the night after the first two of these days."""
    stamps = intervals_ahead(last_day, 20, 15, "Europe/Berlin")
    assert stamps[0] == np.datetime64(first) and set(np.diff(stamps)) == {np.timedelta64(15, "m")}


def test_a_household_without_a_forecast_is_on_the_list_all_the_same():
    values = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
    ahead = as_arrow(FORECASTS_AHEAD, {"household": [1, 4, 9], "forecast_log_kwh": values})
    rows = on_the_list(ahead, np.array([0, 1, 9]), {"horizon_steps": 2})
    assert np.isnan(rows[0]).all() and rows[1:].tolist() == [[0.1, 0.2], [0.5, 0.6]]
    assert np.isnan(on_the_list(ahead.slice(0, 0), np.array([0, 1]), {"horizon_steps": 2})).all()


def test_group_forecasts_stay_within_the_public_bounds(call):
    sections = {"profiles": {"clip_kwh_per_hour": [0.2, 1.1]}}
    files = call(sections=sections)[0]
    folder = json.loads(files["manifest.json"])
    assert folder["clipped_to_kwh"] == [0.2, 1.1] and folder["time"]["interval_minutes"] == 60
    kwh = table_of(files, "forecasts").to_pandas().filter(like="kwh")
    assert kwh.shape == (168, 6) and kwh.min().min() >= 0.2 and kwh.max().max() <= 1.1


def test_files_and_manifests_are_on_the_scale_of_the_configuration_and_it_is_among_the_words(call, ledger):
    """A plain log adds no word, so that what was released before there were other scales is not drawn again."""
    call(x=OWN, forecast_epsilon=1.0, **NAMES)
    scale = {"kind": "signed", "offset_kwh_per_hour": 0.1, "scale_kwh_per_hour": 0.2}
    sections = {"profiles": {"log_scale": scale, "clip_kwh_per_hour": [-4, 40]}}
    files = call(x=-3.5 + 0 * OWN, month="02", sections=sections, forecast_epsilon=1.0, **NAMES)[0]
    quarter = 0.2 / 4
    rows = table_of(files, "forecasts").to_pandas()
    assert len(rows) == OWN.size
    expected = np.clip(2 * quarter * np.sinh(rows["released_log_kwh"] - np.log(quarter)), -1.0, 10.0)
    assert np.allclose(rows["released_kwh"], expected)
    told = json.loads(files["manifest.json"])
    assert told["log_scale"]["scale_kwh"] == quarter and told["clipped_to_kwh"] == [-1.0, 10.0]
    words = [e["words"] for e in ledger.events() if e["kind"] == CHARGED and e["words"]["artefact"] == "forecasts"]
    assert ["log_scale" in w["profiles"] for w in words] == [False, True]
    assert words[1]["profiles"]["log_scale"] == {"kind": "signed", "scale_kwh_per_hour": 0.2}


def test_files_say_what_they_hide_and_that_readings_are_not_hidden(call, ledger):
    files, release_id = call(forecast_epsilon=1.0, **NAMES)
    check_files(files)
    assert len(set(release_id)) == N and len(files) == 2 + 2 + len(DESCRIPTIONS)
    manifest = json.loads(files["manifest.json"])
    assert manifest["privacy"]["adjacency"] == "class_label" and "differential" not in manifest["guarantee"]
    assert any("nothing is claimed for replacing one" in s for s in manifest["privacy"]["does_not_hide"])
    page = files["README.md"].decode()
    assert "This does not protect the readings" in page and "in any other order" in page
    assert "had any one meter's readings been others" not in page
    number = table_of(files, "recipients").to_pandas().set_index("release_id")["forecast"][release_id]
    rows = table_of(files, "forecasts")["released_log_kwh"].to_numpy().reshape(N, STEPS)[number - 1]
    assert np.abs(rows - OWN.mean(axis=0)).max() < 0.6 and np.unique(rows, axis=0).shape[0] == N
    assert 0.999e-5 < spent(ledger, NAMES_BUDGET).delta(1.0) <= 1e-5
    assert call(OWN + 1, forecast_epsilon=1.0, **NAMES) == (files, release_id)


def test_days_of_files_that_hide_names_add_up_under_new_names(call, ledger):
    _, first = call(forecast_epsilon=1.0, **NAMES)
    _, second = call(month="02", forecast_epsilon=1.0, **NAMES)
    assert not set(first) & set(second)
    one = next(e["mu"] for e in ledger.events() if e["kind"] == CHARGED)
    assert spent(ledger, NAMES_BUDGET).mu == pytest.approx(np.sqrt(2) * one)


def test_nothing_that_protects_readings_is_released_beside_files_that_hide_names(call, ledger, tmp_path):
    with pytest.raises(InputError, match="is 'label' together with mixture"):
        call(forecast_protects="label")
    release_mixture(np.tile(OWN, 2)[:, :24], service(tmp_path))
    with pytest.raises(InputError, match=r"release\.forecast_protects.*cannot be added to"):
        call(forecast_epsilon=1.0, **NAMES)
    call(month="02", year=2026, forecast_epsilon=1.0, budget_period="2026", **NAMES)
    with pytest.raises(InputError, match=r"release\.forecast_protects.*cannot be added to"):
        release_mixture(np.tile(OWN, 2)[:, :24], service(tmp_path, "03", 2026, budget_period="2026"))
    assert sum(e["kind"] == CHARGED for e in ledger.events()) == 2


def test_small_neighbourhoods_and_unknown_circuits_are_refused(call, ledger):
    names = NAMES | {"forecast_groups": "circuit", "forecast_epsilon": 1.0}
    with pytest.raises(InputError, match="circuit is known"):
        call(**names)
    with pytest.raises(InputError, match="fewer than 15 households"):
        call(circuit=tuple(i // 10 for i in range(N)), **names)
    assert ledger.events() == []
    files, _ = call(circuit=tuple(i // 20 for i in range(N)), **names)
    assert len(files) == 2 + 2 + len(DESCRIPTIONS)


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ({"forecast_groups": "one"}, "All households have the same forecast."),
        (
            {"forecast_groups": "circuit"},
            "There are 4 different forecasts; households in the same group have the same",
        ),
        (NAMES | {"forecast_noise_std_log_kwh": 2.0}, "No two households have the same forecast."),
    ],
    ids=["one group", "circuits", "names"],
)
def test_the_page_says_how_many_forecasts_there_are(call, release, said):
    files = call(circuit=tuple(number % 4 for number in range(N)), forecast_epsilon=1.0, **release)[0]
    assert said in files["README.md"].decode()


def test_forecasts_that_differ_are_counted():
    assert different_forecasts(2, 3).startswith("There are 2 different forecasts")
