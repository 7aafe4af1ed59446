"""Study-mode releases: seeded, keyed, marked, and drawn here only."""

import ast
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from meterdp.classnoise.interface import Budget
from meterdp.classnoise.neighbourhoods import graph_columns
from meterdp.classnoise.study import design_all, design_columns, queries_of
from meterdp.classnoise.tables import CROSSWALK, DELTA_CURVES, FORECAST_FILE, NEIGHBOUR_GRAPH, NOISE_DESIGNS
from meterdp.core.parquet import as_arrow, metadata_of, read_table
from meterdp.forecasting.tables import FORECAST_LAWS
from meterdp.mechanisms.tables import COST, VARIANT
from meterdp.mixture.study import Records, fit_from, start_labels
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar
from meterdp.release.study_curves import study_curves
from meterdp.release.study_forecasts import release_study_forecasts
from meterdp.release.study_mixture import public_settings, vary

MIXTURE = {"classes": 2, "fit": "labels", "eigenvalue_floor": 1e-3}
PROFILES = {"clip_kwh_per_hour": [0.01, 100]}
MECHANISMS = {
    "epsilons": [1, 4],
    "delta": 1e-5,
    "draws": 8,
    "sdp_solver": "own",
    "sound": {
        "adjacency": "replace_one",
        "records_guess": None,
        "classes": None,
        "rounds": None,
        "level_log_kwh": -1.2,
        "hour_correlation": 0.6,
    },
}
NOISE = {
    "designs": ["none", "white"],
    "query_models": ["deterministic", "stochastic"],
    "rhos": [3.0],
    "accuracy_convention": "total",
    "epsilons": [0.1, 1.0],
    "draws": 4000,
    "file_design": "white",
    "file_rho": 3.0,
}
SALT = "0123456789abcdef" * 2
HOUSEHOLDS = np.arange(10, 16, dtype=np.int32)
CALENDAR = Calendar(datetime(2025, 1, 6, tzinfo=UTC), 24 * 10, 60, "UTC")


@pytest.fixture(scope="module")
def records():
    generator = np.random.default_rng(4)
    x = np.repeat([[-2.0] * 3, [1.0] * 3], [60, 40], axis=0) + 0.4 * generator.standard_normal((100, 3))
    return Records(np.arange(100, dtype=np.int32), x, np.ones(100, bool))


@pytest.fixture(scope="module")
def forecasts():
    generator = np.random.default_rng(6)
    columns = {
        "household": HOUSEHOLDS,
        "origin_utc": pa.array([datetime(2025, 1, 15, 21, tzinfo=UTC)] * 6),
        "mean_log_kwh": list(generator.standard_normal((6, 3))),
        "covariance": [np.eye(3).ravel()] * 6,
    }
    laws = as_arrow(FORECAST_LAWS, columns)
    graph = as_arrow(NEIGHBOUR_GRAPH, graph_columns(HOUSEHOLDS, np.array([1, 1, 1, 2, 2, 2])))
    designs = as_arrow(NOISE_DESIGNS, design_columns(HOUSEHOLDS, design_all(laws, graph, NOISE)))
    load = LogLoad(HOUSEHOLDS, generator.standard_normal((6, 240)), np.zeros((6, 240)), CALENDAR)
    return laws, graph, designs, load


@pytest.mark.parametrize("name", ["iid_laplace", "iid_gaussian", "kl_published", "sound"])
def test_a_mechanism_over_all_epsilons_fits_its_tables_and_repeats(records, name):
    fit = fit_from(records, start_labels(records, 2, seed=1), MIXTURE)
    first, again, other = (vary(name, records, fit, MECHANISMS, MIXTURE, PROFILES, seed) for seed in (5, 5, 6))
    variant = as_arrow(VARIANT, first[0])
    cost = as_arrow(COST, first[1]).to_pandas()
    assert variant.equals(as_arrow(VARIANT, again[0])) and not variant.equals(as_arrow(VARIANT, other[0]))
    assert cost["epsilon"].tolist() == [1, 4] and variant.num_rows == 4
    assert cost["kl_mean"][0] > cost["kl_mean"][1] > 0


def test_the_draws_of_one_epsilon_do_not_depend_on_the_others(records):
    fit = fit_from(records, start_labels(records, 2, seed=1), MIXTURE)
    both = vary("sound", records, fit, MECHANISMS, MIXTURE, PROFILES, 5)[0]
    one = vary("sound", records, fit, {**MECHANISMS, "epsilons": [4]}, MIXTURE, PROFILES, 5)[0]
    assert both["mean_log_kwh"][2:] == one["mean_log_kwh"]


@pytest.mark.parametrize("name", ["kl_published", "coloured_gaussian"])
def test_both_solvers_of_the_configuration_give_the_same_study(records, name):
    """Oracle: CVXPY with Clarabel, on the same noise."""
    fit = fit_from(records, start_labels(records, 2, seed=1), MIXTURE)
    own, cvxpy = (
        vary(name, records, fit, {**MECHANISMS, "sdp_solver": solver}, MIXTURE, PROFILES, 5)
        for solver in ("own", "cvxpy")
    )
    assert own[1]["kl_mean"] == pytest.approx(cvxpy[1]["kl_mean"], rel=1e-3)
    assert np.array(own[0]["mean_log_kwh"]) == pytest.approx(np.array(cvxpy[0]["mean_log_kwh"]), abs=1e-3)


def test_under_add_remove_nothing_that_is_calibrated_knows_how_many_households_there_are(records):
    guess = {**MECHANISMS, "sound": {**MECHANISMS["sound"], "adjacency": "add_remove", "records_guess": 77}}
    assert public_settings(1.0, records, guess, MIXTURE, PROFILES).records == 77
    fit = fit_from(records, start_labels(records, 2, seed=1), MIXTURE)
    cost = vary("sound", records, fit, guess, MIXTURE, PROFILES, 5)[1]
    assert cost["adjacency"] == ["add_remove"] * 2 and np.isfinite(cost["heldout_gap_mean"]).all()


def test_forecast_files_hold_the_released_forecasts_and_the_crosswalk_finds_them(forecasts, tmp_path):
    laws, _, designs, load = forecasts
    released = release_study_forecasts(laws, designs, load, NOISE, (0.01, 100.0), seed=9, salt=SALT)
    released.write_files(tmp_path, {"synthetic": "yes"})
    crosswalk = as_arrow(CROSSWALK, released.crosswalk).to_pylist()
    mean = dict(zip(HOUSEHOLDS.tolist(), laws["mean_log_kwh"].to_pylist(), strict=True))
    noise = []
    for row in crosswalk:
        path = tmp_path / f"{row['release_id']}.parquet"
        table = read_table(path, FORECAST_FILE)
        noise.append(table["released_log_kwh"].to_numpy() - mean[row["household"]])
        assert "not for release" in metadata_of(path)["guarantee"]
        assert table["interval_start_utc"][0].as_py() == datetime(2025, 1, 15, 21, tzinfo=UTC)
    assert len(noise) == 6 and 0.2 < np.std(noise) < 3  # white noise of variance one each
    again = release_study_forecasts(laws, designs, load, NOISE, (0.01, 100.0), seed=9, salt=SALT)
    assert np.array_equal(released.released_log_kwh, again.released_log_kwh)
    other = release_study_forecasts(laws, designs, load, NOISE, (0.01, 100.0), seed=9, salt=SALT[::-1])
    assert not set(other.release_ids) & set(released.release_ids), "the seed must not give the ids away"


def test_a_households_noise_does_not_depend_on_who_else_is_forecast(forecasts):
    laws, _, designs, load = forecasts
    rows = [1, 4]
    some = LogLoad(HOUSEHOLDS[rows], load.log_kwh[rows], load.seasonal_log_kwh[rows], CALENDAR)
    keep = designs.to_pandas()
    keep = as_arrow(NOISE_DESIGNS, keep[keep["household"].isin(HOUSEHOLDS[rows])].to_dict("list"))
    all_of = release_study_forecasts(laws, designs, load, NOISE, (0.01, 100.0), seed=9, salt=SALT)
    few = release_study_forecasts(laws.take(rows), keep, some, NOISE, (0.01, 100.0), seed=9, salt=SALT)
    assert np.array_equal(all_of.released_log_kwh[rows], few.released_log_kwh)


def test_curves_cover_every_design_and_agree_with_the_closed_form_of_white_noise(forecasts):
    from scipy.stats import norm

    laws, graph, designs, _ = forecasts
    rows = pd.DataFrame(study_curves(laws, graph, designs, NOISE, seed=9))
    as_arrow(DELTA_CURVES, rows)
    assert len(rows) == 2 * 2 * 2 * 2
    queries = queries_of(laws, graph, "deterministic")
    variance = Budget(3.0).squared_error(3) / 3
    gap = queries.mean_log_kwh[queries.pairs[:, 0]] - queries.mean_log_kwh[queries.pairs[:, 1]]
    distance = np.linalg.norm(gap, axis=1).max() / np.sqrt(variance)
    white = rows.query("design == 'white' and query_model == 'deterministic' and sides == 'one' and epsilon == 1")
    exact = norm.sf((1 - distance**2 / 2) / distance)  # Corollary 1, (33)
    spread = 7 * np.sqrt(0.25 / (NOISE["draws"] / 2))  # seven standard errors: false alarm < 1e-11
    assert white["delta_monte_carlo"].item() == pytest.approx(exact, abs=spread)
    assert white["delta_chernoff"].item() >= exact


def test_random_sources_are_made_in_release_and_simulate_only(repository):
    """Noise is drawn in one place: no other room makes a generator or asks numpy or the system for numbers."""
    allowed = {"core/noise.py", "release/noise.py"}
    makers = {
        "default_rng",
        "RandomState",
        "Generator",
        "SeedSequence",
        "keyed_generator",
        "token_hex",
        "token_bytes",
        "urandom",
    }
    found = set()
    for path in (repository / "src/meterdp").rglob("*.py"):
        relative = path.relative_to(repository / "src/meterdp").as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
            if name in makers and not relative.startswith("simulate/"):
                found.add(relative)
    assert found <= allowed, found - allowed
