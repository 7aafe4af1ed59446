"""The measures of benchmarks/peers.py against brute force and cases of known answer, and its table and figure."""

import sys
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal


@pytest.fixture(scope="module", autouse=True)
def benchmarks_on_the_path(repository):
    sys.path.insert(0, str(repository / "benchmarks"))
    yield
    sys.path.remove(str(repository / "benchmarks"))


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_pairwise_total_variation_is_that_of_two_way_histograms(rng):
    from peers_parts.measures import pairwise_total_variation

    a, b = rng.normal(size=(301, 4)), rng.normal(0.3, 1.4, size=(170, 4))
    edges = np.linspace(-1.5, 2.0, 6)
    open_edges = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    brute = []
    for i, j in combinations(range(4), 2):
        pa, pb = (np.zeros((5, 5)) for _ in range(2))
        for counts, x in ((pa, a), (pb, b)):
            for row in x:
                counts[tuple(np.searchsorted(open_edges, row[c], side="right") - 1 for c in (i, j))] += 1 / len(x)
        brute.append(0.5 * np.abs(pa - pb).sum())
    assert pairwise_total_variation(a, b, edges) == pytest.approx(np.mean(brute), abs=1e-12)
    assert pairwise_total_variation(a, a[::-1], edges) == pytest.approx(0, abs=1e-12)
    assert pairwise_total_variation(a - 50, a + 50, edges) == pytest.approx(1)


def test_the_classifier_tells_other_distributions_apart_and_nothing_from_itself(rng):
    from peers_parts.measures import real_against_synthetic_auc

    same = real_against_synthetic_auc(rng.normal(size=(600, 3)), rng.normal(size=(500, 3)))
    assert 0.35 < same < 0.65  # 500 against 500: a standard deviation of 0.02
    assert real_against_synthetic_auc(rng.normal(size=(200, 3)), rng.normal(9, 1, size=(200, 3))) > 0.99


def test_both_densities_find_the_entropy_of_a_gaussian(rng):
    from peers_parts.measures import kernel_log_likelihood, mixture_log_likelihood

    distribution = multivariate_normal(np.zeros(2), [[1.0, 0.6], [0.6, 1.0]])
    real, synthetic = distribution.rvs(3000, random_state=1), distribution.rvs(3000, random_state=2)
    for measure in (mixture_log_likelihood, kernel_log_likelihood):
        assert measure(real, synthetic) == pytest.approx(-distribution.entropy(), abs=0.1)
        assert measure(real, synthetic + 1.0) < measure(real, synthetic) - 0.3


def test_every_source_is_clipped_and_judged_by_every_measure(rng):
    from peers_parts.measures import MEASURES, judge

    real, synthetic = rng.normal(-1, 1, (400, 3)), rng.normal(-1, 1, (300, 3))
    found = judge(real, synthetic, -4.0, 4.0)
    assert list(found) == [m.column for m in MEASURES]
    wild = synthetic.copy()
    wild[0] = 1e3
    tame = wild.clip(-4.0, 4.0)
    assert judge(real, wild, -4.0, 4.0) == judge(real, tame, -4.0, 4.0)


def test_a_library_that_is_not_installed_says_so_in_its_rows(rng, monkeypatch, tmp_path):
    import peers
    from peers_parts import sources
    from peers_parts.figure import draw
    from peers_parts.measures import MEASURES
    from peers_parts.sources import SOURCES, Case, library

    for name in ("OpenDP MST", "SmartNoise MST"):
        monkeypatch.setitem(SOURCES, name, library("absent", "absent"))
    monkeypatch.setattr(sources, "RELEASES", 1)
    x = rng.normal(-1, 1, (3, 150, 4))
    case = Case("simulated, N = 150", [x[0], x[1]], [x[2], x[2]], -4.0, 4.0, 16)
    table = pd.DataFrame([*peers.rows_of(case), peers.row("Swiss homes", "sound", np.nan, "not run: no export", [])])
    by_source = table.head(6).set_index("source")
    assert list(by_source.index) == [*SOURCES]
    assert by_source["quality"].str.startswith("not run: ").tolist() == [False, False, False, True, True, False]
    assert {"case", "ours_s", "other", "other_s", "ratio", "quality", "load"} <= {*table}
    measures = by_source[[m.column for m in MEASURES]]
    assert measures.notna().all(axis=1).tolist() == [True, True, True, False, False, True]
    draw(table, MEASURES, tmp_path / "peers.svg")
    assert (tmp_path / "peers.svg").read_text().count("</g>") > 50
