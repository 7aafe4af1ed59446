"""How circuits share the noise of a release: what it is calibrated to, and what its words hold."""

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.federated.circuits import Circuits
from meterdp.federated.graph import complete
from meterdp.federated.shared_noise import shared_noise, shares_for, shares_of
from meterdp.federated.study import sound_epsilons
from meterdp.mechanisms.proven.plan import ALONE, Shares
from meterdp.privacy import gaussian
from tests.unit.federated.test_circuits import FEDERATION, meters

TWELVE = [f"circuit {i}" for i in range(12)]


def test_without_circuits_one_holds_all():
    for nothing in (None, FEDERATION | {"by": None}):
        assert shared_noise(nothing, meters([None, None])) is None and shares_of(nothing, meters([None])) == ALONE


@pytest.mark.parametrize(
    ("scheme", "graph", "colluding", "honest"),
    [
        ("edge_masks", "complete", 1, 11),
        ("edge_masks", "complete", 6, 6),
        ("edge_masks", "ring", 2, 1),
        ("secure_sum", "complete", 1, 11),
        ("secure_sum", "complete", 2, 1),
        ("federated", "complete", 1, 1),
    ],
)
def test_the_noise_is_shared_by_those_who_are_left_together(scheme, graph, colluding, honest):
    settings = FEDERATION | {"scheme": scheme, "graph": graph, "colluding": colluding}
    assert shares_of(settings, meters(TWELVE)) == Shares(12, honest, colluding)


def test_masks_of_finite_size_hide_a_little_less():
    found = shares_of(FEDERATION, meters(TWELVE))
    assert 11 - 1e-6 < found.honest < 11 and (found.nodes, found.colluding) == (12, 1)
    assert shares_for("subspace", complete(60), 6, mask_ratio=1e5).honest == pytest.approx(54, abs=1e-5)


def test_words_tell_how_circuits_add_up_and_name_none_of_them(tmp_path):
    path = tmp_path / "secret lines.csv"
    edges = [f"{a},{b}" for a, b in zip(TWELVE, [*TWELVE[1:], TWELVE[0]], strict=True)]
    path.write_text("\n".join(["node,neighbour", *edges]))
    settings = FEDERATION | {"graph": str(path), "scheme": "edge_masks"}
    shared = shared_noise(settings, meters(TWELVE))
    assert shared.words["graph"].startswith("sha256 of edges ") and "secret" not in repr(shared.words)
    assert "circuit 3" not in repr(shared.words) + shared.sentence
    assert "any 1 of them" in shared.sentence and "of 12 circuits" in shared.sentence
    other = shared_noise(settings | {"graph": "ring"}, meters(TWELVE))
    assert other.words == {"by": "circuit", "scheme": "edge_masks", "graph": "ring"}


def test_secure_summation_without_a_cycle_is_refused(tmp_path):
    path = tmp_path / "star.csv"
    path.write_text("node,neighbour\n" + "".join(f"{TWELVE[0]},{name}\n" for name in TWELVE[1:]))
    with pytest.raises(InputError, match="has no Hamiltonian cycle"):
        shared_noise(FEDERATION | {"graph": str(path), "scheme": "secure_sum"}, meters(TWELVE))


def test_fewer_shares_of_noise_cost_what_gaussian_privacy_says():
    """Oracle: mu of one Gaussian measurement whose noise has h of n parts of the variance."""
    settings = FEDERATION | {"scheme": "edge_masks", "colluding": 3}
    graph = Circuits.of(meters(TWELVE), settings).graph
    seen = dict(sound_epsilons(graph, settings, (None, 1, 3, 6), 2.0, 1e-5))
    for t, hiding in ((None, 12), (1, 11), (3, 9), (6, 6)):
        mu = gaussian.mu_for(2.0, 1e-5) * np.sqrt(9 / hiding)
        assert gaussian.delta(mu, seen[t]) == pytest.approx(1e-5, rel=1e-6)
