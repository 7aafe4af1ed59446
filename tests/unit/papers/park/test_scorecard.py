"""Verdicts on the claims of Park et al. on synthetic tables in which they hold, do not hold, cannot be judged."""

import pytest

from meterdp.accounting import FAR_ORDER, FEW_ORDERS, LARGEST_ORDER
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


def test_park_3_names_what_is_left_out_of_delta_and_has_a_linear_variant_that_fits():
    found = park.refined_everywhere(synthetic.runs(left_out=True), synthetic.runs(figure="fig3"))
    assert [v.holds for v in found.values()] == [HOLDS] * 4
    names = list(found)
    assert ["left out" in name for name in names] == [True, False, False, False]
    assert all(name.endswith("over the number of answers") for name in names[2:])
    assert "/ -0.00831 / 10 at ε = 1;" in found[names[2]].measured


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, HOLDS),
        ({"ggg_moments": (3.0, 5.99, 8.99)}, FAILS),  # better at small epsilon
        ({"ggg_moments": (1.0, 5.99, 8.0)}, FAILS),  # worse at large epsilon, too
        ({"ggg_moments": (2.0, 6.0, 9.0)}, FAILS),  # alike everywhere
        ({"ggg_moments": (1.9, 6.0, 9.0)}, OPEN),  # as far apart as what counts as alike
    ],
)
def test_park_4_wants_a_gap_at_small_epsilon_alone(changed, verdict):
    assert park.orders_of(synthetic.runs(AS_CLAIMED | changed)).holds == verdict


def test_park_4_is_judged_by_where_orders_end_and_on_the_grid():
    found = park.better_at_small_epsilon(synthetic.runs(), synthetic.runs(figure="fig3"))
    of_fig3 = {name.split("; ")[-1]: v for name, v in found.items() if v.on == "fig3"}
    assert {words: v.holds for words, v in of_fig3.items()} == {
        f"orders 1 to {LARGEST_ORDER:,}": HOLDS,
        f"orders 1 to {FAR_ORDER:,}": FAILS,
        f"orders 1 to {FEW_ORDERS:,}": HOLDS,
        f"orders 1 to {LARGEST_ORDER:,}, eps_i on the grid of the public code": HOLDS,
    }
    assert len(found) == 8
    assert "no budget at ε = 0.1" in of_fig3[f"orders 1 to {FEW_ORDERS:,}"].measured


@pytest.mark.parametrize(("capped", "verdict"), [(0.6, FAILS), (1.0, HOLDS), (0.8, OPEN)])
def test_park_7_fails_where_real_orders_do_no_better_than_whole_ones(capped, verdict):
    found = park.integer_orders(synthetic.runs(capped=capped), synthetic.runs(figure="fig3", capped=capped))
    assert [v.holds for v in found.values()] == [verdict] * 2


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
    unequal = {name: v for name, v in found.items() if v.adjacency == declared.UNEQUAL}
    assert {v.holds for v in unequal.values()} == {OPEN} and len(found) == len(declared.CLUSTER_VARIANTS)
    for charged in (True, False):
        judged = {
            v.holds for n, v in found.items() if n not in unequal and ("not charged" not in v.charge) == charged
        }
        expected = verdict if charged or verdict != HOLDS else OPEN  # a win of what is not charged shows nothing
        assert expected in judged and (noise > 0.1 or judged == {expected})


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
    assert card["item"].unique().tolist() == [claim.item for claim in CLAIMS] == [f"park-{n}" for n in range(1, 8)]
    assert not card.duplicated(["item", "reading"]).any()
    stands = card["substitute"].notna()
    assert (
        card.loc[stands, "holds"].unique().tolist() == [OPEN]
        and (card.loc[stands, "reading"].str.startswith("Fig. 2")).any()
    )
    of_fig3 = card[card["item"].isin(["park-2", "park-3"]) & card["reading"].str.startswith("Fig. 3")]
    assert (of_fig3["holds"] == HOLDS).all() and of_fig3["substitute"].isna().all()
    assert card["adjacency"].notna().all() and card["charge"].notna().all()
