"""The experiments of Li et al. on few trials: what transcripts give, records solved for, and costs."""

import numpy as np
import pandas as pd
import pytest

from meterdp.core.parquet import as_arrow
from meterdp.federated.adversary import known_sums
from meterdp.federated.em import entries_of
from meterdp.federated.graph import CORRUPT, Graph, ring
from meterdp_papers.common.datasets import registry
from meterdp_papers.li import exposure, likelihoods, recovery
from meterdp_papers.li import tables as li
from meterdp_papers.li.likelihoods import Voices, dealt, start, voices


@pytest.fixture(scope="module")
def records(repository) -> Voices:
    return voices(registry(repository / "resources/datasets.yaml"), None)


def test_without_its_file_the_data_set_is_named_as_a_substitute(records):
    assert records.features.shape == (195, 22) and records.source["substitute"].startswith("stands for Parkinsons")


def test_a_file_of_another_checksum_is_refused_and_the_columns_are_the_features(repository, tmp_path, monkeypatch):
    entries = registry(repository / "resources/datasets.yaml")
    path = tmp_path / entries["parkinsons"].file
    path.parent.mkdir()
    names = [f"feature {j}" for j in range(22)]
    x = np.arange(66.0).reshape(3, 22)
    pd.DataFrame(x, columns=names).assign(name="a", status=1).to_csv(path, index=False)
    with pytest.raises(Exception, match="SHA-256 differs"):
        voices(entries, tmp_path)
    monkeypatch.setattr("meterdp_papers.li.likelihoods.locate", lambda entry, data_dir: path)
    assert voices(entries, tmp_path).features == pytest.approx(x)


@pytest.mark.parametrize("preparation", li.PREPARATIONS)
def test_components_are_those_of_the_covariance(records, preparation):
    """Oracle: eigenvalues of the covariance."""
    scores = records.components(preparation)
    x = records.features if preparation == li.AS_THEY_ARE else records.features / records.features.std(axis=0)
    values = np.linalg.eigvalsh(np.cov(x.T))[::-1]
    assert scores.std(axis=0) == pytest.approx([1.0, np.sqrt(values[1] / values[0])])
    assert np.cov(scores.T)[0, 1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("rows", "sizes"), [(li.DEALT, {2, 3}), (li.ONE_EACH, {1}), ("80 rows, one a node", {1})])
def test_rows_are_dealt_once_each(records, rows, sizes):
    x = records.components(li.AS_THEY_ARE)
    parts = dealt(x, rows)
    together = np.concatenate(parts)
    assert len(parts) == li.NODES[rows] and {len(p) for p in parts} == sizes
    assert len(np.unique(together[:, 0])) == len(together) <= len(x)
    assert start(x).covariances[0] == pytest.approx(np.cov(x.T))


@pytest.mark.parametrize(
    "chords", [[(0, 2)], [(2, 4)], [(i, j) for i in range(5) for j in range(i)]], ids=["1-3", "3-5", "complete"]
)
def test_where_honest_nodes_are_connected_their_sum_alone_is_known(chords):
    """Claim li-3: V_h = {1, 3, 5} in (10); a chord to a corrupt node leaves node 3 alone."""
    five = ring(5)
    graph = Graph.of(5, sorted({tuple(sorted(e)) for e in [*five.edges.tolist(), *chords]}), five.positions)
    assert list(known_sums("subspace", graph, CORRUPT)) == [(0, 2, 4)]
    apart = Graph.of(5, [*five.edges.tolist(), (1, 4)], five.positions)
    assert (2,) in known_sums("subspace", apart, CORRUPT)


@pytest.fixture(scope="module")
def leaks() -> pd.DataFrame:
    return exposure.tabulate(1, seed=3)


def test_sums_come_from_the_transcript_and_the_order_is_the_paper_s(leaks):
    as_arrow(li.LI_LEAKAGE, leaks)
    assert leaks["transcript_error"].max() < 1e-9
    at = leaks[(leaks["view"] == li.RECORDS) & (leaks["iteration"] == 1)].set_index(["graph", "scheme", "node"])
    groups = at["group"]
    assert groups[li.WITH_CHORD, "subspace", 1] == "1, 3, 5" and groups[li.WITH_CHORD, "secure_sum", 1] == "1, 5"
    assert groups[li.CYCLE_ALONE, "subspace", 3] == "3"
    nats = at["information"]
    assert nats[li.WITH_CHORD, "federated", 1] > 2 > 1 > nats[li.WITH_CHORD, "secure_sum", 1]
    # Without a chord subspace perturbation gives what secure summation gives.
    assert nats[li.CYCLE_ALONE, "subspace", 1] == pytest.approx(nats[li.WITH_CHORD, "secure_sum", 1], abs=1e-6)
    assert nats[li.CYCLE_ALONE, "subspace", 3] > 2
    assert at["linfoot_exact"][li.WITH_CHORD, "subspace", 1] == pytest.approx(1 / np.sqrt(3))


def test_statistics_are_those_of_the_paper():
    x = np.random.default_rng(1).standard_normal((5, 7))
    values = exposure.statistics(x, np.random.default_rng(2))
    a, b, c = values[..., :2], values[..., 2:4], values[..., 4:]
    assert a.sum(axis=2) == pytest.approx(np.ones((5, 7))) and (a > 0).all()
    assert b.sum(axis=2) == pytest.approx(x) and c.sum(axis=2) == pytest.approx(x**2)


def test_masks_leave_less_the_larger_they_are():
    """Oracle: the closed form from the Laplacian, where there is one."""
    table = exposure.masks_of_finite_size()
    as_arrow(li.LI_MASKS, table)
    known = table.dropna(subset="closed_form")
    assert known["information"].to_numpy() == pytest.approx(known["closed_form"].to_numpy(), rel=1e-5)
    for _, at in table.groupby(["graph", "scheme"]):
        assert (np.diff(at.sort_values("mask_std")["information"]) < 1e-9).all()
        assert at["information"].min() == pytest.approx(at["of_the_sum"].iloc[0], rel=1e-6)


def test_records_are_solved_for_once_equations_are_as_many_as_unknowns():
    """Whatever the count of ``adversary.solvable`` says comes about: nothing before, everything from then on."""
    table = recovery.tabulate(1, seed=5)
    as_arrow(li.LI_RECOVERY, table)
    enough = table["iterations"] >= table["from_iteration"]
    assert enough.any() and (~enough).any()
    assert (table.loc[enough, "found_share"] == 1).all() and table.loc[enough, "error_largest"].max() < 1e-5
    assert (table.loc[~enough, "found_share"] == 0).all()


def test_what_one_iteration_gives_away(records):
    table = recovery.read_off(records, 1, seed=6)
    as_arrow(li.LI_READ_OFF, table)
    at = table.set_index(["scheme", "reading"])
    ring, subspace = at.loc[("secure_sum", li.WITH_CHORD)], at.loc[("subspace", li.WITH_CHORD)]
    assert ring["groups"] == "1, 5; 3" and ring["nothing_more"] and ring["quotient_error"] < 1e-9
    assert subspace["groups"] == "1, 3, 5" and subspace["nothing_more"] and subspace["alone_count"] == 0
    assert at.loc[("subspace", li.CYCLE_ALONE), "groups"] == "1, 5; 3"
    assert at.loc[("federated", li.DEALT), "found_share"] == 1
    assert at.loc[("federated", li.ONE_EACH), "quotient_error"] < 1e-9


def test_errors_of_records_mind_no_order():
    true = np.array([[0.0, 1.0], [2.0, 3.0], [5.0, 5.0]])
    assert recovery.error_up_to_order(true[[2, 0, 1]] + 0.01, true) == pytest.approx(0.01)


def test_every_scheme_gives_the_log_likelihood_of_all_in_one_place(records, monkeypatch):
    """Two settings of the twelve, one with the asynchronous schedule; the whole is for the workflow."""
    chosen = (li.SHOWN[0], li.SETTINGS[-1])
    monkeypatch.setattr(li, "SETTINGS", chosen)
    table = likelihoods.tabulate(records, 1, seed=7)
    as_arrow(li.LI_LIKELIHOODS, table)
    assert table["reading"].unique().tolist() == [s.name for s in chosen]
    assert set(table["scheme"]) == {"central", "federated", "secure_sum", "subspace", "subspace, asynchronous"}
    assert table["difference"].max() < 1e-8 and table["spread"].max() < 1e-8
    wide = table.pivot_table("log_likelihood", ["reading", "iteration"], "scheme")
    assert (wide.groupby("reading")["central"].diff().dropna() > 0).all()


def test_a_consensus_falls_to_rounding_and_the_updates_as_printed_do_not():
    table = likelihoods.consensus_table(seed=8)
    as_arrow(li.LI_CONSENSUS, table)
    last = table.sort_values("round").groupby(["dual_update", "schedule", "mask_std"]).last()
    for (update, _, size), row in last.iterrows():
        if update == "corrected":
            assert row["error"] < 1e-14 * max(size, 10)
        else:
            assert row["error"] > 1e-6
    literal = last.loc["printed_neighbours"].iloc[0]
    assert literal["disagreement"] < 1e-3 * literal["error"]


def test_costs_are_counted_and_their_exponents_fitted():
    """Oracle: what the schemes send by definition; of the fit, powers that are known."""
    table = likelihoods.cost_table(1, seed=9)
    as_arrow(li.LI_COST, table)
    for row in table.itertuples():
        n, d = (row.x, 2) if row.axis == "nodes" else (20, row.x)
        entries = entries_of(2, d)
        messages = {"federated": 2 * n, "secure_sum": 2 * n - 1, "subspace": 2 * row.edges * (row.rounds + 1)}
        assert row.entries == entries and row.messages == messages[row.scheme]
        assert row.bytes == 8 * entries * row.messages
    x = np.array([1, 2, 4, 8])
    known = pd.DataFrame(
        {"axis": "nodes", "scheme": "subspace", "x": x, "rounds": 3 * x**0.5, "messages": x, "bytes": x**2}
    ).assign(seconds=x**1.5)
    fitted = likelihoods.exponents(known)
    as_arrow(li.LI_EXPONENTS, fitted)
    assert (
        fitted["exponent"].tolist() == pytest.approx([0.5, 1.0, 2.0, 1.5]) and (fitted["exponent_se"] < 1e-12).all()
    )


def test_the_estimates_of_a_study_are_those_of_its_seed(leaks, monkeypatch):
    """Of one scheme, which minds no other."""
    monkeypatch.setattr(li, "SCHEMES", ("secure_sum",))
    again = exposure.tabulate(1, seed=3)
    before = leaks[leaks["scheme"] == "secure_sum"].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, before)
