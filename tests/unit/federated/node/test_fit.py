"""Nodes that talk over sockets come to what one process comes to that holds all records."""

import numpy as np
import pytest

from meterdp.core.parquet import read_table
from meterdp.federated.em import distributed_em
from meterdp.federated.graph import ring
from meterdp.federated.node.tables import NODE_MIXTURE
from meterdp.federated.study import one_class, start_from
from meterdp.federated.summation import Federated
from meterdp.mixture.study import mixture_of
from tests.unit.federated.node.made_up import SMALL, D, Nodes, all_settings, made_up_records


def in_one_process(records, update="textbook"):
    scheme = Federated(ring(len(records)))
    pooled = distributed_em(records, one_class(D), 1, scheme, eigenvalue_floor=0.001).mixture
    start = start_from(pooled, SMALL["classes"], 0.001)
    return distributed_em(records, start, SMALL["iterations"], scheme, update, 0.001).mixture


@pytest.mark.parametrize("update", ["textbook", "printed"])
@pytest.mark.parametrize(
    ("scheme", "graph"),
    [
        ("federated", {"graph": "ring"}),
        ("secure_sum", {"graph": "ring"}),
        ("secure_sum", {"graph": "complete"}),
        ("edge_masks", {"graph": "ring"}),
        ("edge_masks", {"graph": "edges", "edges": [["n0", "n1"], ["n1", "n2"], ["n1", "n3"], ["n3", "n2"]]}),
        ("subspace", {"graph": "ring"}),
        ("subspace", {"graph": "edges", "edges": [["n0", "n1"], ["n1", "n2"], ["n1", "n3"], ["n3", "n2"]]}),
    ],
)
def test_every_scheme_gives_the_mixture_of_all_records(tmp_path, scheme, graph, update):
    """Oracle: the same EM in one process that is shown everything."""
    records = made_up_records(4)
    settings = all_settings(tmp_path, 4, scheme=scheme, update=update, mask_std=1e3, **graph)
    nodes = Nodes(settings, records, tmp_path)
    outcome = nodes.start().join()
    assert not [came for came in outcome.values() if isinstance(came, BaseException)]
    expected = in_one_process(records, update)
    for i in range(4):
        for name in ("weights", "means", "covariances"):
            assert getattr(outcome[i], name) == pytest.approx(getattr(expected, name), abs=1e-9)
        written = mixture_of(read_table(tmp_path / f"n{i}" / NODE_MIXTURE.file, NODE_MIXTURE).to_pandas())
        order = np.argsort(-outcome[i].weights)
        assert np.array_equal(written.means, outcome[i].means[order])
