"""The measures of benchmarks/peers.py against brute force and known answers, its splits, verdicts and figure."""

import sys

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


def test_the_autocorrelation_is_the_mean_over_pairs_of_hours_so_far_apart(rng):
    from peers_parts.measures import autocorrelation_difference

    a, b = rng.normal(size=(300, 6)).cumsum(axis=1), rng.normal(size=(200, 6))
    brute = []
    for lag in (1, 2, 3):
        of_lag = [np.mean([np.corrcoef(x[:, i], x[:, i + lag])[0, 1] for i in range(6 - lag)]) for x in (a, b)]
        brute.append((of_lag[0] - of_lag[1]) ** 2)
    assert autocorrelation_difference(a, b) == pytest.approx(np.sqrt(np.mean(brute)), abs=1e-12)
    assert autocorrelation_difference(a, a[::-1]) == pytest.approx(0, abs=1e-12)
    assert np.isfinite(autocorrelation_difference(a, np.zeros((5, 6))))


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

    real, synthetic = rng.normal(-1, 1, (400, 4)), rng.normal(-1, 1, (300, 4))
    found = judge(real, synthetic, -4.0, 4.0)
    assert list(found) == [m.column for m in MEASURES]
    wild = synthetic.copy()
    wild[0] = 1e3
    tame = wild.clip(-4.0, 4.0)
    assert judge(real, wild, -4.0, 4.0) == judge(real, tame, -4.0, 4.0)


def test_no_household_is_on_both_sides_of_a_split(rng):
    from peers_parts.records import Pool

    home = np.repeat(np.arange(50), 7)
    pool = Pool(np.column_stack([home, rng.normal(size=350)]).astype(float), home)
    for number in range(3):
        train, held_out = pool.split(number, 200)
        assert len(train) == 200 and len(held_out) == 70
        assert not set(train[:, 0]) & set(held_out[:, 0])
    with pytest.raises(ValueError, match="there are 280"):
        pool.split(0, 281)


def test_the_part_of_the_grid_has_every_value_of_each():
    from peers_parts.grid import EPSILONS, PART, SIZES, START_HOUR, whole

    assert {c.data for c in PART} == {*SIZES} and {c.epsilon for c in PART} == {*EPSILONS}
    assert {c.d for c in PART} == {*START_HOUR}
    assert {c.n for c in PART} == {n for sizes in SIZES.values() for n in sizes}
    assert {*PART} < {*whole()} and len(set(whole())) == len(whole())


def test_verdicts_compare_with_the_best_library_on_the_splits_that_both_have(tmp_path):
    from peers_parts.figure import draw
    from peers_parts.measures import MEASURES
    from peers_parts.verdict import markdown, verdicts

    def release(source, split, value):
        # ``value`` is how good a release is: measures of which less is better get its negative
        numbers = {m.column: value if m.more_is_better else -value for m in MEASURES}
        return {"case": "a cell", "source": source, "split": split, **numbers}

    def judged(theirs):
        rows = [release("meterdp", s, v) for s, v in enumerate((1.0, 2.0, 9.0))]
        rows += [release("OpenDP MST", s, v) for s, v in enumerate(theirs)]
        rows += [release("dpmm MST", 0, -50.0), release("real records", 0, 99.0)]
        return pd.DataFrame(rows)

    for theirs, gain, verdict in (
        ((0.5, 1.5), 0.5, "better"),
        ((2.0, 3.0), -1.0, "level"),
        ((60.0, 61.0), -59.0, "worse"),
    ):
        found = judged(theirs)
        table = verdicts(found, "meterdp")
        assert set(table["library"]) == {"OpenDP MST"} and set(table["verdict"]) == {verdict}
        assert len(table) == len(MEASURES) and table["gain"].to_numpy() == pytest.approx(gain)
        # Ours by all three splits, theirs by their two, each over the two in common.
        error = np.hypot(np.std([1, 2, 9], ddof=1), np.std(theirs, ddof=1)) / np.sqrt(2)
        assert table["error"].to_numpy() == pytest.approx(error)
        rows = pd.DataFrame({"samples": [0], "other": ["OpenDP AIM"], "source": ["OpenDP AIM"], "case": ["a cell"]})
        text = markdown(rows.assign(quality="did not finish"), {"meterdp": table})
        assert ("Nowhere." in text) == (verdict == "better") and "- OpenDP AIM: did not finish (1 of 1 cells)" in text
        draw(table, tmp_path / "peers.svg")
        assert (tmp_path / "peers.svg").read_text().count("</g>") > 50


def test_a_library_that_is_not_installed_says_so_and_releases_are_kept(rng, tmp_path):
    from peers_parts.grid import Cell
    from peers_parts.sources import OURS, library, real
    from peers_parts.store import Store

    cell, x, store = Cell("simulated homes", 12, 500, 1.0), rng.normal(-1, 1, (500, 12)), Store(tmp_path)
    assert library("absent", "absent", "MST")(cell, x, 0).startswith("not run: ")
    assert store.outcome(cell, "meterdp", 0) is None
    for name, run in {**OURS, "real records": real}.items():
        outcome = run(cell, x, 0)
        assert outcome.samples.shape == (500, 12) and np.isfinite(outcome.samples).all()
        store.keep(cell, name, 0, outcome)
        assert store.outcome(cell, name, 0).samples == pytest.approx(outcome.samples, abs=1e-4)
    store.keep(cell, "OpenDP AIM", 0, "did not finish in 300 s")
    longer, shorter = Cell("simulated homes", 24, 500, 1.0), Cell("simulated homes", 12, 400, 1.0)
    assert store.hopeless(longer, "OpenDP AIM", (cell, longer)).startswith("not tried: ")
    assert store.hopeless(longer, "OpenDP MST", (cell, longer)) is None
    assert store.hopeless(shorter, "OpenDP AIM", (shorter,)) is None
