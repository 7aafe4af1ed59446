"""Verdicts on the claims of Park et al. on synthetic tables in which they hold, do not hold, cannot be judged."""

import pytest

from meterdp.accounting import FAR_ORDER, LARGEST_ORDER
from meterdp.core.parquet import as_arrow
from meterdp_papers.common.scorecard import FAILS, HOLDS, OPEN
from meterdp_papers.common.tables import SCORECARD
from meterdp_papers.park import clusters
from meterdp_papers.park import scorecard as park
from meterdp_papers.park import tables as declared
from meterdp_papers.park.likelihoods import summarise
from meterdp_papers.park.scorecard import CLAIMS
from tests.unit.papers.park import synthetic
from tests.unit.papers.park.synthetic import AS_CLAIMED
from tests.unit.papers.synthetic import SOURCE


def only(verdicts: dict) -> str:
    (verdict,) = verdicts.values()
    return verdict.holds


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, HOLDS),
        ({"em_to_lone": 300.0}, FAILS),  # the mean is nobody's place
        ({"few": 50.0, "many": 10.0}, FAILS),  # the private mean gives the place away
        ({"many": 2000.0}, FAILS),  # more data, farther away
        ({"se": 900.0}, OPEN),
    ],
)
def test_park_1_needs_a_place_read_off_hidden_and_closer_means(changed, verdict):
    table = synthetic.distances(**changed)
    assert only(park.lone_person(table)) == verdict


@pytest.mark.parametrize(
    ("changed", "noise", "verdict"),
    [
        ({}, 0.01, HOLDS),
        ({"llg_zcdp": (-1.0, 7.0, 4.0)}, 0.01, FAILS),
        ({"llg_moments": (-2.0, 7.0, 4.0)}, 0.01, FAILS),
        ({}, 4.0, OPEN),
    ],
)
def test_park_2_compares_scenarios_at_every_epsilon(changed, noise, verdict):
    assert park.gaussian_better(synthetic.runs(AS_CLAIMED | changed, noise=noise)).holds == verdict


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [({}, HOLDS), ({"ggg_linear": (-9.0, 1.0, 9.5)}, FAILS), ({"ggg_moments": (-0.5, 5.99, 8.99)}, FAILS)],
)
def test_park_3_wants_both_refined_compositions_above_both_others(changed, verdict):
    table = synthetic.runs(AS_CLAIMED | changed)
    assert park.refined_better(table).holds == verdict


def test_park_3_has_a_row_for_the_printed_delta_that_allows_no_budget():
    found = park.refined_everywhere(synthetic.runs(left_out=True), synthetic.runs(figure="fig3"))
    assert [v.holds for v in found.values()] == [HOLDS, HOLDS, OPEN]
    first, second, third = found
    assert "left out of delta" in first and "left out" not in second and third.startswith("Fig. 2 as printed")


@pytest.mark.parametrize(
    ("changed", "real", "verdict"),
    [
        ({}, 1.0, HOLDS),
        ({"ggg_moments": (3.0, 5.99, 8.99)}, 1.0, FAILS),  # better at small epsilon
        ({"ggg_moments": (1.0, 5.99, 8.0)}, 1.0, FAILS),  # worse at large epsilon, too
        ({}, 0.9, FAILS),  # real orders do not close the gap
        ({"ggg_moments": (2.0, 6.0, 9.0)}, 1.0, FAILS),  # alike everywhere
        ({"ggg_moments": (1.9, 6.0, 9.0)}, 1.0, OPEN),  # as far apart as what counts as alike
    ],
)
def test_park_4_wants_a_gap_at_small_epsilon_that_real_orders_close(changed, real, verdict):
    assert park.orders_to(synthetic.runs(AS_CLAIMED | changed, real=real)).holds == verdict


def test_park_4_is_judged_with_orders_that_end_and_with_many():
    both = synthetic.runs(), synthetic.runs(figure="fig3")
    found = {variant.split("; ")[-1]: verdict for variant, verdict in park.integer_orders(*both).items()}
    assert {words: verdict.holds for words, verdict in found.items()} == {
        f"orders 1 to {LARGEST_ORDER:,}": HOLDS,
        f"orders 1 to {FAR_ORDER:,}": FAILS,
    }
    assert len(park.integer_orders(*both)) == 4
    assert all(f"with {words}, over 5 splits" in verdict.measured for words, verdict in found.items())


@pytest.mark.parametrize(
    ("values", "noise", "verdict"),
    [
        ((0.01, 0.4, 0.3, 0.2), 0.001, HOLDS),
        ((0.01, 0.3, 0.4, 0.2), 0.001, FAILS),
        ((0.01, 0.4, 0.2, 0.3), 0.001, FAILS),
        ((0.01, 0.4, 0.3, 0.2), 1.0, OPEN),
    ],
)
def test_park_5_wants_the_methods_in_order(values, noise, verdict):
    folds = synthetic.folds(values, noise)
    found = park.clusters_in_order(clusters.summarise(folds, SOURCE), folds)
    assert len(found) == len(declared.CLUSTER_VARIANTS) and verdict in {v.holds for v in found.values()}
    if noise < 0.1:
        assert {v.holds for v in found.values()} == {verdict}


@pytest.mark.parametrize(("high", "low", "verdict"), [(0.9, 0.3, HOLDS), (0.5, 0.3, FAILS), (0.9, 0.95, FAILS)])
def test_park_6_wants_faces_at_one_epsilon_and_fewer_at_the_other(high, low, verdict):
    found = park.faces_recognisable(synthetic.face_numbers(high, low))
    assert len(found) == 3 and {v.holds for v in found.values()} == {verdict}


def test_every_claim_has_its_rows_and_sources():
    folds = synthetic.folds()
    runs = {"fig2": synthetic.runs(left_out=True), "fig3": synthetic.runs(figure="fig3")}
    tables = {
        "distances": synthetic.distances(),
        "nicv": clusters.summarise(folds, SOURCE),
        "folds": folds,
        "face_numbers": synthetic.face_numbers(),
        **{f"{figure}_splits": table for figure, table in runs.items()},
        "fig2": summarise(runs["fig2"], SOURCE),
        "fig3": summarise(runs["fig3"], SOURCE).assign(substitute=None),  # the data set itself
    }
    card = CLAIMS.scorecard(tables)
    as_arrow(SCORECARD, card)
    assert card["item"].unique().tolist() == [claim.item for claim in CLAIMS] == [f"park-{n}" for n in range(1, 7)]
    assert not card.duplicated(["item", "reading"]).any()
    sources = card.groupby("item")[["data", "substitute"]].first()
    assert sources.loc["park-2"].tolist() == ["synthetic data", "stands for nothing"]
    assert sources.loc["park-3"].tolist() == ["synthetic data; synthetic data", "stands for nothing"]
