"""The mixture of a study, fitted over circuits: the same as in one place."""

import numpy as np
import pyarrow as pa
import pytest

from meterdp.core.parquet import as_arrow, write_table
from meterdp.errors import InputError
from meterdp.federated.circuits import Circuits
from meterdp.federated.fitted import read_fitted
from meterdp.federated.study import ITERATIONS, fit_over_circuits, iteration_columns, mixture_columns
from meterdp.federated.tables import FEDERATED_MIXTURE, FEDERATION
from meterdp.mechanisms.proven.domain import start_classes
from meterdp.mixture.density import record_log_densities
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import raise_eigenvalues, share_statistics
from meterdp.mixture.study import fit_from, start_labels
from meterdp.profiles.vector import Records
from tests.unit.federated.test_circuits import FEDERATION as SETTINGS

MIXTURE = {"classes": 4}
SCHEMES = ("federated", "secure_sum", "subspace")


@pytest.fixture(scope="module")
def records():
    """Households around three levels; some are not valid, and those of one circuit are none of them."""
    generator = np.random.default_rng(3)
    x = generator.normal(size=(400, 5)) * 0.4 + generator.integers(-2, 1, size=400)[:, None]
    valid = generator.random(400) < 0.9
    node = generator.integers(0, 7, size=400)
    valid[node == 6] = False
    x[~valid] = 50.0  # would show at once
    return Records(np.arange(400, dtype=np.int32), x, valid), node


def circuits(node, **changed):
    names = [f"C{i}" for i in node]
    return Circuits.of(
        pa.table({"household": pa.array(range(len(node)), pa.int32()), "circuit": names}), SETTINGS | changed
    )


def in_one_place(x, start, steps, floor):
    """Textbook EM on all records at once."""
    mixture, log_likelihood = start, [record_log_densities(x, start).sum()]
    for _ in range(steps):
        _, counts, means, scatter = share_statistics(x, mixture, 1e-6)
        covariances = raise_eigenvalues(scatter / counts[:, None, None], floor)[0]
        mixture = Mixture(counts / len(x), means, covariances)
        log_likelihood.append(record_log_densities(x, mixture).sum())
    return mixture, log_likelihood


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("graph", ["complete", "ring"])
def test_the_fit_is_that_of_all_records_in_one_place(records, scheme, graph):
    """Oracle: EM on the pooled valid records from start classes by their mean and covariance."""
    everything, node = records
    settings = SETTINGS | {"scheme": scheme, "graph": graph}
    fit = fit_over_circuits(everything, circuits(node, graph=graph), settings, MIXTURE, np.random.default_rng(1))
    x = everything.log_kwh[everything.valid]
    means, covariances = start_classes(x.mean(axis=0)[None], np.cov(x.T, ddof=0)[None], 4)
    start = Mixture(np.full(4, 0.25), means[0], covariances[0])
    expected, log_likelihood = in_one_place(x, start, ITERATIONS, 1e-3)
    for one, other in ((fit.start, start), (fit.run.mixture, expected)):
        for name in ("weights", "means", "covariances"):
            assert np.allclose(getattr(one, name), getattr(other, name), rtol=0, atol=1e-8), name
    assert np.allclose(fit.run.log_likelihood, log_likelihood, rtol=1e-8)
    assert fit.run.log_likelihood[-1] > fit.run.log_likelihood[0] + 10


def test_the_rules_after_it_make_the_same_fit_of_the_stored_mixture(records, tmp_path):
    everything, node = records
    fit = fit_over_circuits(everything, circuits(node), SETTINGS, MIXTURE, np.random.default_rng(1))
    write_table(tmp_path / "federated_mixture.parquet", FEDERATED_MIXTURE, mixture_columns(fit))
    start, fitted = read_fitted([str(tmp_path / "federated_mixture.parquet")])
    assert np.array_equal(start.means, fit.start.means) and np.array_equal(fitted.means, fit.run.mixture.means)
    labels = start_labels(everything, 4, seed=1, elsewhere=start)
    found = fit_from(everything, labels, fitted)
    n = int(everything.valid.sum())
    assert labels.min() >= 1 and labels.max() <= 4 and len(labels) == n == found.counts.sum()
    assert (np.diff(found.counts) <= 0).all()
    order = np.argsort(-fitted.weights)
    assert np.allclose(found.mixture.weights, fitted.weights[order], atol=1 / n)
    assert np.array_equal(np.sort(found.mixture.means, axis=0), np.sort(fitted.means, axis=0))
    assert read_fitted([]) == (None, None)


def test_the_table_counts_what_was_sent(records):
    everything, node = records
    q = 4 * (1 + 5 + 15)
    for scheme, messages in (("federated", 14), ("secure_sum", 13)):
        fit = fit_over_circuits(
            everything, circuits(node), SETTINGS | {"scheme": scheme}, MIXTURE, np.random.default_rng(1)
        )
        table = as_arrow(FEDERATION, iteration_columns(fit, scheme)).to_pandas()
        assert table["iteration"].tolist() == list(range(ITERATIONS + 1))
        assert (table["message_count"] == messages).all()
        assert table["number_count"].tolist() == [messages * (1 + 5 + 15)] + [messages * q] * ITERATIONS


def test_secure_summation_needs_a_cycle(records, tmp_path):
    everything, node = records
    path = tmp_path / "star.csv"
    path.write_text("node,neighbour\n" + "".join(f"C0,C{i}\n" for i in range(1, 7)))
    settings = {"graph": str(path), "scheme": "secure_sum"}
    with pytest.raises(InputError, match="has no Hamiltonian cycle"):
        fit_over_circuits(
            everything, circuits(node, **settings), SETTINGS | settings, MIXTURE, np.random.default_rng(1)
        )


def test_too_few_valid_households_are_refused_as_in_one_place():
    few = Records(np.arange(4, dtype=np.int32), np.zeros((4, 5)), np.array([True, False, False, True]))
    with pytest.raises(InputError, match="asks for 4 classes, but too few households have a valid profile"):
        fit_over_circuits(few, circuits(np.arange(4)), SETTINGS, MIXTURE, np.random.default_rng(1))
