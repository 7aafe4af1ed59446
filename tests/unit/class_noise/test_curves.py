"""Curves take the worst pair of the graph, and the rows fit their tables."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import norm

from meterdp.accounting.exact_curve import exact_tails
from meterdp.class_noise.curves import curve_rows, losses_of, study_curves
from meterdp.class_noise.designs.registry import noise_design
from meterdp.class_noise.neighbourhoods import graph_columns
from meterdp.class_noise.query_models import Budget, ClassQueries
from meterdp.class_noise.study import design_all, design_columns, queries_of
from meterdp.class_noise.tables import DELTA_CURVES, NEIGHBOUR_GRAPH, NOISE_DESIGNS
from meterdp.core.parquet import as_arrow
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS
from meterdp.privacy import gaussian
from tests.unit.class_noise.examples import all_pairs, synthetic, wishart

EPSILON = np.array([0.1, 0.5, 1.0])
SIDES = ["one", "two", "hockey_stick", "swap"]
HOUSEHOLDS = np.arange(10, 16, dtype=np.int32)
SETTINGS = {
    "designs": ["none", "white"],
    "stochastic_designs": ["none", "white"],
    "query_models": ["deterministic", "stochastic"],
    "rhos": [3.0],
    "accuracy_convention": "total",
    "epsilons": [0.1, 1.0],
}


def rows_of(queries, design, rho=2.0):
    distributions = noise_design(design)(queries, Budget(rho)).released(queries)
    return curve_rows(distributions, EPSILON, design=design, query_model="stochastic", rho=rho)


def deltas(rows, side):
    return np.array([row["delta"] for row in rows if row["sides"] == side])


@pytest.mark.parametrize("design", ["none", "white", "published"])
def test_rows_fit_their_table_and_bounds_lie_above_values(design):
    rows = rows_of(synthetic(0), design)
    assert as_arrow(DELTA_CURVES, {name: [row[name] for row in rows] for name in rows[0]}).num_rows == 4 * 3
    for row in rows:
        assert row["delta_error"] <= 1e-3 * row["delta"]
        assert row["pair_count"] == (6 if row["sides"] == "swap" else 12)
        if row["sides"] in ("one", "two"):
            assert row["delta_chernoff"] >= row["delta"] - row["delta_error"]
        else:
            assert row["delta_chernoff"] is None


def test_the_sides_are_ordered_as_they_must_be():
    """Hockey stick <= one-sided <= two-sided, and one file tells less than both."""
    rows = rows_of(synthetic(1), "white")
    one, two, stick, swap = (deltas(rows, side) for side in SIDES)
    assert np.all(stick <= one) and np.all(one <= two) and np.all(stick < swap)


def test_every_pair_is_judged():
    """Oracle: the exact tails of all pairs, one after the other."""
    queries = synthetic(2)
    distributions = noise_design("white")(queries, Budget(2.0)).released(queries)
    tails = exact_tails(losses_of(distributions), EPSILON)
    rows = curve_rows(distributions, EPSILON, design="white", query_model="stochastic", rho=2.0)
    for side in ("one", "two", "hockey_stick"):
        value = tails.side(side)[0]
        assert np.allclose(deltas(rows, side), value.max(axis=0), rtol=1e-6)


def test_more_white_noise_lowers_the_hockey_stick():
    """Data processing: added noise cannot raise it."""
    generator = np.random.default_rng(3)
    queries = ClassQueries(0.3 * generator.standard_normal((4, 2)), wishart(generator, 4, 2, 20), all_pairs(4))
    curves = [[deltas(rows_of(queries, "white", rho), side) for rho in (0.5, 5.0, 50.0)] for side in SIDES[2:]]
    assert np.all(np.diff(curves, axis=1) < 0)


def test_without_pairs_there_is_no_curve():
    queries = synthetic(0)
    alone = ClassQueries(queries.mean_log_kwh, queries.covariance, np.empty((0, 2), dtype=np.int64))
    assert rows_of(alone, "white") == []


@pytest.fixture(scope="module")
def study():
    generator = np.random.default_rng(6)
    columns = {
        "household": HOUSEHOLDS,
        "origin_utc": pa.array([datetime(2025, 1, 15, 21, tzinfo=UTC)] * 6),
        "mean_log_kwh": list(generator.standard_normal((6, 3))),
        "covariance": [np.eye(3).ravel()] * 6,
        "query_mean_log_kwh": list(generator.standard_normal((6, 3))),
        "query_covariance": [np.diag([1.0, 2.0, 3.0]).ravel()] * 6,
    }
    distributions = as_arrow(FORECAST_DISTRIBUTIONS, columns)
    graph = as_arrow(NEIGHBOUR_GRAPH, graph_columns(HOUSEHOLDS, np.array([1, 1, 1, 2, 2, 2])))
    designs = as_arrow(NOISE_DESIGNS, design_columns(HOUSEHOLDS, design_all(distributions, graph, SETTINGS)))
    return distributions, graph, designs


def test_a_study_has_all_designs_and_agrees_with_closed_forms(study):
    """Oracle: Corollary 1 and the GDP curve for white noise on deterministic queries, with sqrt 2 for the swap."""
    distributions, graph, designs = study
    curves = pd.DataFrame(study_curves(distributions, graph, designs, SETTINGS))
    assert as_arrow(DELTA_CURVES, curves).num_rows == 2 * 2 * 2 * 4
    queries = queries_of(distributions, graph, "deterministic")
    gap = queries.mean_log_kwh[queries.pairs[:, 0]] - queries.mean_log_kwh[queries.pairs[:, 1]]
    distance = np.linalg.norm(gap, axis=1).max()  # white noise of variance one an entry
    white = curves.query("design == 'white' and query_model == 'deterministic' and epsilon == 1").set_index("sides")
    exact = norm.sf((1 - distance**2 / 2) / distance)
    assert white.loc["one", "delta"] == pytest.approx(exact, rel=1e-4)
    assert white.loc["two", "delta"] == pytest.approx(exact + norm.cdf((-1 - distance**2 / 2) / distance), rel=1e-4)
    assert white.loc["hockey_stick", "delta"] == pytest.approx(gaussian.delta(distance, 1.0), rel=1e-4)
    assert white.loc["swap", "delta"] == pytest.approx(gaussian.delta(np.sqrt(2) * distance, 1.0), rel=1e-4)
    assert np.all(curves.query("design == 'none' and query_model == 'deterministic'")["delta"] == 1)
