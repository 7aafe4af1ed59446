"""A tiny study whose mixture is fitted over circuits: the same as in one place, and told what that protects."""

import json

import numpy as np
import pytest

from meterdp.core.parquet import metadata_of, read_table
from meterdp.federated.fitted import read_fitted
from meterdp.federated.tables import FEDERATED_MIXTURE, FEDERATION, FEDERATION_PROTECTS
from meterdp.mixture.density import record_log_densities
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import raise_eigenvalues, share_statistics
from meterdp.mixture.study import mixture_of
from meterdp.mixture.tables import CLASS_TABLE, LABELS, MIXTURE
from meterdp.privacy import gaussian
from meterdp.privacy.ledger import CHARGED, Ledger
from meterdp.profiles.tables import PROFILES
from meterdp.profiles.vector import Records
from tests.workflow.conftest import TINY, Runner

TABLES = (FEDERATED_MIXTURE, FEDERATION, FEDERATION_PROTECTS)
FLOOR = 0.001
CONFIG = TINY | {
    "federation": "circuit",
    "release": {
        "what": ["mixture"],
        "synthetic_profiles": 200,
        "ledger": "books/ledger.sqlite",
        "allow": ["poor", "repeat"],
    },
}


@pytest.fixture(scope="module")
def federated(tmp_path_factory):
    """The tiny study over its three circuits, as far as the mixture matters."""
    runner = Runner(tmp_path_factory.mktemp("federated"))
    wanted = ["marginals", "class_table", *(table.name for table in TABLES)]
    done = runner.run(CONFIG, *(f"results/study/{name}.parquet" for name in wanted))
    assert done.returncode == 0, done.stdout[-3000:]
    return runner


def test_the_fitted_mixture_is_that_of_em_in_one_place(federated):
    """Oracle: textbook EM on all valid profiles from the same start."""
    results = federated.folder / "results"
    records = Records.from_table(read_table(results / "private/profiles.parquet", PROFILES))
    x = records.log_kwh[records.valid]
    start, fitted = read_fitted(str(results / "study/federated_mixture.parquet"))
    steps = read_table(results / "study/federation.parquet", FEDERATION).to_pandas()
    mixture, log_likelihood = start, [record_log_densities(x, start).sum()]
    for _ in range(len(steps) - 1):
        _, counts, means, scatter = share_statistics(x, mixture, 1e-6)
        covariances = raise_eigenvalues(scatter / counts[:, None, None], FLOOR)[0]
        mixture = Mixture(counts / len(x), means, covariances)
        log_likelihood.append(record_log_densities(x, mixture).sum())
    for name in ("weights", "means", "covariances"):
        assert np.abs(getattr(fitted, name) - getattr(mixture, name)).max() < 1e-8, name
    assert np.abs(steps["log_likelihood"] - log_likelihood).max() < 1e-8 * abs(log_likelihood[0])


def test_the_study_goes_on_with_that_mixture(federated):
    study = federated.folder / "results/study"
    _, fitted = read_fitted(str(study / "federated_mixture.parquet"))
    used = mixture_of(read_table(study / "mixture.parquet", MIXTURE).to_pandas())
    order = np.argsort(-fitted.weights)
    assert np.array_equal(np.sort(used.means[:, 0]), np.sort(fitted.means[:, 0]))
    labels = read_table(federated.folder / "results/private/labels.parquet", LABELS).to_pandas()
    counts = read_table(study / "class_table.parquet", CLASS_TABLE).to_pandas()["household_count"]
    assert counts.sum() == len(labels) and np.allclose(used.weights, fitted.weights[order], atol=1 / len(labels))


def test_its_tables_are_as_declared_and_say_whose_sums_are_known(federated):
    for table in TABLES:
        path = federated.folder / "results" / table.file
        read_table(path, table)
        assert metadata_of(path)["release"] == "not for release" and metadata_of(path)["synthetic"] == "yes"
    rows = read_table(federated.folder / "results" / FEDERATION_PROTECTS.file, FEDERATION_PROTECTS).to_pandas()
    own = rows[rows["used"] & (rows["against"] == "circuits") & (rows["layer"] == "transcript")]
    assert own["smallest_group"].tolist() == [2] and own["scheme"].tolist() == ["edge_masks"]


def test_what_it_gives_away_is_said_before_the_fit_and_without_a_count_of_households(federated):
    said = (federated.folder / "results/private/logs/federate_mixture.log").read_text()
    assert said.startswith(
        "3 circuits fit one mixture, scheme edge_masks. Who controls 1 of them learns exactly only"
    )
    labels = read_table(federated.folder / "results/private/labels.parquet", LABELS)
    assert f" {len(labels)} " not in said


def test_a_release_has_the_noise_of_circuits_that_make_it_together_and_says_so(federated):
    def release(config):
        done = federated.run(config, "release")
        assert done.returncode == 0, done.stdout[-3000:]
        return json.loads((federated.folder / "results/release/mixture/manifest.json").read_text())

    shared, ledger = release(CONFIG), Ledger(federated.folder / "books/ledger.sqlite")
    privacy, public = shared["privacy"], shared["public_parameters"]
    assert public["public"]["sound"]["shares"] == {"nodes": 3, "honest": 2, "colluding": 1}
    assert public["federation"] == {"by": "circuit", "scheme": "edge_masks", "graph": "complete"}
    assert "noise is that of 3 circuits" in privacy["circuits"] and "what any 1 of them" in privacy["circuits"]
    assert "docs/proofs/shared_noise.md" in privacy["proof"] and privacy["epsilon"] == 1
    alone = release(CONFIG | {"federation": None})
    assert "circuits" not in alone["privacy"] and "federation" not in alone["public_parameters"]
    assert alone["public_parameters"]["public"]["sound"] == {
        key: value for key, value in public["public"]["sound"].items() if key != "shares"
    }
    charged = [event["mu"] for event in ledger.events() if event["kind"] == CHARGED]
    assert charged == [pytest.approx(gaussian.mu_for(1.0, 1e-5), rel=1e-3)] * 2, "each at what colluding circuits see"
    names = {f"C{i:02d}" for i in range(1, 4)}
    assert not any(name in json.dumps(shared) for name in names)
