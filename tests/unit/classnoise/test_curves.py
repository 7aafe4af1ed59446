"""Curves take the worst ordered pair of the graph, and the rows fit their table."""

import numpy as np
import pytest

from meterdp.classnoise.curves import curve_rows
from meterdp.classnoise.interface import Budget, ClassQueries
from meterdp.classnoise.registry import DESIGNS
from meterdp.classnoise.tables import DELTA_CURVES
from meterdp.core.parquet import as_arrow
from tests.unit.classnoise.examples import all_pairs, synthetic, wishart

EPSILON = np.array([0.1, 0.5, 1.0])
DRAWS = np.random.default_rng(0).standard_normal((20_000, 2))


def rows_of(queries, design, rho=2.0):
    laws = DESIGNS[design](queries, Budget(rho)).released(queries)
    return curve_rows(laws, EPSILON, DRAWS, design=design, query_model="stochastic", rho=rho)


@pytest.mark.parametrize("design", DESIGNS)
def test_rows_fit_their_table_and_bounds_lie_above_estimates(design):
    rows = rows_of(synthetic(0), design)
    assert as_arrow(DELTA_CURVES, {name: [row[name] for row in rows] for name in rows[0]}).num_rows == 6
    for row in rows:
        assert row["delta_chernoff"] >= row["delta_monte_carlo"] - 6.5 * row["delta_monte_carlo_se"]
        assert row["pair_count"] == 12
        assert row["draw_count"] == 20_000


def test_the_two_sided_value_is_not_below_the_one_sided():
    rows = rows_of(synthetic(1), "white")
    one, two = ([row["delta_chernoff"] for row in rows if row["sides"] == side] for side in ("one", "two"))
    assert np.all(np.array(two) >= np.array(one))


def test_the_curve_of_a_graph_is_the_worst_of_its_parts():
    queries = synthetic(2)
    parts = [ClassQueries(queries.mean_log_kwh, queries.covariance, queries.pairs[[i]]) for i in range(12)]
    whole = [row["delta_chernoff"] for row in rows_of(queries, "none")]
    each = np.array([[row["delta_chernoff"] for row in rows_of(part, "none")] for part in parts])
    assert np.allclose(whole, each.max(axis=0))


def test_more_white_noise_lowers_the_one_sided_bound():
    """The bound is built on Renyi divergences, which added noise cannot raise (data processing)."""
    generator = np.random.default_rng(3)
    queries = ClassQueries(0.3 * generator.standard_normal((4, 2)), wishart(generator, 4, 2, 20), all_pairs(4))
    curves = []
    for rho in (0.5, 5.0, 50.0):
        curves.append([row["delta_chernoff"] for row in rows_of(queries, "white", rho) if row["sides"] == "one"])
    assert np.all(np.diff(curves, axis=0) <= 0)
    assert curves[2][2] < curves[0][2]


def test_without_pairs_there_is_no_curve():
    queries = synthetic(0)
    alone = ClassQueries(queries.mean_log_kwh, queries.covariance, np.empty((0, 2), dtype=np.int64))
    assert rows_of(alone, "white") == []
