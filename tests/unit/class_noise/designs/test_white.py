"""White noise and no noise: the baselines meet the budget exactly and are read off closed forms."""

import numpy as np
import pytest

from meterdp.accounting.exact_curve import chernoff, exact_tails
from meterdp.class_noise.curves import losses_of
from meterdp.class_noise.designs.registry import DESIGNS, noise_design
from meterdp.class_noise.query_models import QUERY_MODELS, Budget, ClassQueries, class_queries
from meterdp.class_noise.study import report_columns
from meterdp.class_noise.tables import NOISE_DESIGN_REPORTS
from meterdp.core.parquet import as_arrow
from meterdp.errors import InputError
from tests.unit.class_noise.examples import random_queries, two_distributions


@pytest.mark.parametrize("design", DESIGNS)
def test_a_design_returns_one_covariance_per_label_and_keeps_its_input(design):
    queries = random_queries(0)
    before = queries.covariance.copy()
    noise = noise_design(design)(queries, Budget(0.7))
    assert noise.covariance.shape == queries.covariance.shape
    assert np.linalg.eigvalsh(noise.covariance).min() >= -1e-12
    assert np.array_equal(before, queries.covariance)
    assert as_arrow(NOISE_DESIGN_REPORTS, report_columns({(design, "stochastic", 0.7): noise})).num_rows == 1


@pytest.mark.parametrize("design", ["white", "published"])
@pytest.mark.parametrize(("convention", "trace"), [("total", 0.7), ("per_entry", 4 * 0.7)])
def test_noise_spends_the_budget_exactly(design, convention, trace):
    """Defect R1: the paper counts rho per entry and as a total."""
    noise = noise_design(design)(random_queries(1), Budget(0.7, convention))
    assert np.allclose(np.trace(noise.covariance, axis1=1, axis2=2), trace)


@pytest.mark.parametrize("design", DESIGNS)
def test_no_budget_is_no_noise(design):
    assert not noise_design(design)(random_queries(3), Budget(0.0)).covariance.any()


def test_without_noise_deterministic_queries_are_told_apart_for_certain():
    """Claim ram-2: delta is 1, not nearly 1."""
    queries = random_queries(6, deterministic=True)
    losses = losses_of(noise_design("none")(queries, Budget(1.0)).released(queries))
    assert losses.singular.all()
    one, two = chernoff(losses, np.array([0.1, 100.0]))
    assert np.all(one == 1.0)
    assert np.all(two == 1.0)
    tails = exact_tails(losses, [0.1])
    assert np.all(tails.upper == 1.0)
    assert np.all(tails.hockey_stick == 1.0)


def test_without_noise_equal_deterministic_queries_are_not_told_apart():
    queries = two_distributions([1.0, 2.0], np.zeros((2, 2)), [1.0, 2.0], np.zeros((2, 2)))
    losses = losses_of(queries)
    assert not losses.singular.any()
    assert not exact_tails(losses, [0.1]).two_sided.any()


def test_each_query_model_counts_its_own_covariance():
    mean, covariance, pairs = np.zeros((2, 3)), np.stack([np.eye(3)] * 2), [(0, 1), (1, 0)]
    own_mean, own = np.ones((2, 3)), np.stack([2 * np.eye(3)] * 2)
    distribution = {"query_mean_log_kwh": own_mean, "query_covariance": own}
    queries = {model: class_queries(mean, covariance, pairs, model, **distribution) for model in QUERY_MODELS}
    assert not queries["deterministic"].covariance.any()
    assert np.array_equal(queries["published"].covariance, covariance)
    assert np.array_equal(queries["stochastic"].covariance, own)
    assert [q.mean_log_kwh[0, 0] for q in queries.values()] == [0.0, 1.0, 0.0]
    with pytest.raises(ValueError, match="distribution of the forecast itself"):
        class_queries(mean, covariance, pairs, "stochastic")


def test_a_study_without_neighbours_has_no_pairs():
    queries = class_queries(np.zeros((1, 3)), np.zeros((1, 3, 3)), [])
    assert isinstance(queries, ClassQueries)
    assert queries.pairs.shape == (0, 2)
    assert np.allclose(noise_design("published")(queries, Budget(3.0)).covariance, np.eye(3))


@pytest.mark.parametrize("rho", [-1.0, np.nan, np.inf])
def test_a_budget_is_a_non_negative_number(rho):
    with pytest.raises(InputError, match="rho"):
        Budget(rho)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(InputError, match="none, white, published"):
        noise_design("pink")
    with pytest.raises(InputError, match="per_entry"):
        Budget(1.0, "per entry")
    with pytest.raises(InputError, match="stochastic"):
        class_queries(np.zeros((1, 1)), np.zeros((1, 1, 1)), [], "random")
