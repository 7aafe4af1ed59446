"""Algorithm 1 under the zero-mean variant against code of its own: numpy alone, deltas by sampling."""

import numpy as np
import pyarrow as pa
import pytest

from meterdp.accounting.exact_curve import worst_pair
from meterdp.accounting.gaussian_loss import pair_losses
from meterdp.class_noise.designs.registry import noise_design
from meterdp.class_noise.query_models import Budget, ClassQueries
from meterdp_papers.ramakrishna.households import QUERY_MEANS, read_queries

LABELS, ENTRIES, RHO, EPSILON, DRAWS = 5, 4, 0.7, 0.5, 200_000


def distributions(trial: int) -> np.ndarray:
    """Covariances of forecasts: rank three of four, as of an ARMA model of low order."""
    columns = np.random.default_rng([71, trial]).normal(size=(LABELS, ENTRIES, ENTRIES - 1))
    return columns @ columns.transpose(0, 2, 1) / 4


# --- own code: numpy only -------------------------------------------------------------------------------------------


def algorithm_1(sigma: np.ndarray, rho: float) -> np.ndarray:
    """Lines 1 to 10 and (50) for zero means and everybody neighbours, where (46) is a difference of log-determinants.

    A_b moves along its inverse, by the step of appendix C: no pair (b, X) may overtake the worst one to first order.
    """
    k = sigma.shape[1]
    a_matrices = np.linalg.inv(sigma + rho / k * np.eye(k))
    for _ in range(5000):
        size = np.linalg.slogdet(a_matrices)[1]
        b, a = int(size.argmin()), int(size.argmax())
        inverse = np.linalg.inv(a_matrices[b])
        worst = size[a] - size[b]
        step = min(0.1, (worst - (size[b] - np.delete(size, b)).max()) / np.trace(inverse @ inverse))
        if step <= 1e-12:
            break
        for _ in range(31):
            trial = a_matrices[b] + step * inverse
            moved = size.copy()
            moved[b] = np.linalg.slogdet(trial)[1]
            if moved[a] - moved[b] < worst and moved.max() - moved.min() <= worst:
                break
            step /= 2
        else:
            break
        a_matrices[b] = trial
    noise = []
    for a, s in zip(a_matrices, sigma, strict=True):
        values, vectors = np.linalg.eigh(np.linalg.inv(a) - s)
        values = np.maximum(values, 0)
        noise.append((vectors * (rho * values / values.sum())) @ vectors.T)
    return np.array(noise)


def delta_by_sampling(x, first, second, epsilon):
    """Pr(L > eps), the one-sided delta of the text, under N(0, first), which gave x, against N(0, second)."""
    form = np.linalg.inv(second) - np.linalg.inv(first)
    squares = np.einsum("ni,ni->n", x @ form, x)
    return float((squares + np.linalg.slogdet(second)[1] - np.linalg.slogdet(first)[1] > 2 * epsilon).mean())


# --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trial", range(4))
def test_zero_mean_queries_get_the_noise_and_the_delta_of_own_code(trial):
    """Delta of the worst pair within 0.006, of which sampling takes 5.4 standard errors at most."""
    sigma = distributions(trial)
    pairs = np.argwhere(~np.eye(LABELS, dtype=bool))
    queries = ClassQueries(np.zeros((LABELS, ENTRIES)), sigma, pairs)
    noise = noise_design("published")(queries, Budget(RHO, "total"))
    own = algorithm_1(sigma, RHO)
    assert np.trace(own, axis1=1, axis2=2) == pytest.approx(np.full(LABELS, RHO))
    # 5,000 steps between worst pairs that all but tie leave 3e-4, or 3e-3 as the processor rounds; rho is 0.7.
    assert noise.covariance == pytest.approx(own, abs=5e-3)
    released = sigma + own
    generator = np.random.default_rng([72, trial])
    normal = generator.normal(size=(LABELS, DRAWS, ENTRIES))
    drawn = [z @ np.linalg.cholesky(s).T for z, s in zip(normal, released, strict=True)]
    sampled = max(delta_by_sampling(drawn[x], released[x], released[y], EPSILON) for x, y in pairs)
    distribution = noise.released(queries)
    exact = worst_pair(
        pair_losses(distribution.mean_log_kwh, distribution.covariance, distribution.pairs), EPSILON, "one"
    ).delta
    assert 0.05 < exact < 0.999 and exact == pytest.approx(sampled, abs=0.006)


def test_every_variant_of_the_query_has_the_mean_and_distribution_it_names():
    mean, query_mean = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0]])
    distribution, query_distribution = ([[2.0, 0.1, 0.1, 2.0]] * 2, [[1.0, 0.3, 0.3, 1.0]] * 2)
    columns = {"household": [1, 2], "mean_log_kwh": list(mean), "covariance": distribution}
    table = pa.table(columns | {"query_mean_log_kwh": list(query_mean), "query_covariance": query_distribution})
    graph = pa.table({"household": [1, 2], "neighbour": [2, 1]})
    found = read_queries(table, graph)
    assert list(found) == [(model, of) for model, means in QUERY_MEANS.items() for of in means]
    for (model, of), queries in found.items():
        whole = query_mean if model == "stochastic" else mean
        assert queries.mean_log_kwh == pytest.approx(whole if of == "forecast" else 0 * whole)
        wanted = {"published": distribution, "stochastic": query_distribution, "deterministic": np.zeros((2, 4))}[
            model
        ]
        assert queries.covariance.reshape(2, 4) == pytest.approx(np.array(wanted))
