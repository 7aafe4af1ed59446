"""Verdicts on the claims of Li et al. on synthetic tables in which they hold, do not hold, cannot be judged."""

import numpy as np
import pytest

from meterdp.core.parquet import as_arrow, write_table
from meterdp_papers.common.scorecard import FAILS, HOLDS, OPEN
from meterdp_papers.common.tables import SCORECARD
from meterdp_papers.errata import defects_of
from meterdp_papers.li import errata
from meterdp_papers.li import scorecard as li
from meterdp_papers.li.scorecard import CLAIMS
from meterdp_papers.li.tables import NODES
from meterdp_papers.report import build_reproduction_report
from tests.unit.papers.li import synthetic
from tests.unit.papers.li.synthetic import NATS


@pytest.mark.parametrize(
    ("changed", "dealt", "others"),
    [({}, HOLDS, HOLDS), ({"error": 1e-3}, HOLDS, FAILS), ({"share": 0.9}, FAILS, HOLDS)],
)
def test_li_1_wants_every_record_from_what_the_server_is_sent(changed, dealt, others):
    table = synthetic.read_off(**changed)
    found = {variant: verdict.holds for variant, verdict in li.federated_reveals(table).items()}
    first, *rest = NODES
    assert list(found) == ["records of Fig. 3", *NODES]
    assert found[first] == dealt and {found[r] for r in ("records of Fig. 3", *rest)} == {others}


@pytest.mark.parametrize(
    ("changed", "nats", "se", "verdict"),
    [
        ({}, 0.35, 0.005, HOLDS),
        ({"error": 1e-3}, 0.35, 0.005, FAILS),  # node 3 is hidden
        ({"ring": "1, 3, 5"}, 0.35, 0.005, FAILS),
        ({"nothing_more": False}, 0.35, 0.005, FAILS),
        ({}, 0.5, 0.005, FAILS),  # more is known of node 1 than the sum
        ({}, 0.5, np.nan, OPEN),
    ],
)
def test_li_2_wants_node_3_exposed_and_of_the_others_the_sum(changed, nats, se, verdict):
    leaks = synthetic.leaks(NATS | {"secure_sum": nats}, se)
    assert li.ring_exposes(synthetic.read_off(**changed), leaks).holds == verdict


@pytest.mark.parametrize(
    ("nats", "se", "changed", "verdict"),
    [
        (NATS, 0.005, {}, HOLDS),
        (NATS, 0.1, {}, OPEN),  # intervals meet
        (NATS, np.nan, {}, OPEN),
        (NATS | {"subspace": 1.0}, 0.005, {}, FAILS),
        (NATS | {"secure_sum": NATS["federated"]}, 0.005, {}, HOLDS),  # the claim puts these two in no order
        (NATS | {"subspace": NATS["secure_sum"]}, 0.005, {}, OPEN),
        (NATS, 0.005, {"subspace": "1, 5; 3"}, FAILS),
        (NATS, 0.005, {"nothing_more": False}, FAILS),
    ],
)
def test_li_3_wants_the_order_and_nothing_but_the_sum(nats, se, changed, verdict):
    found = li.subspace_reveals_least(synthetic.read_off(**changed), synthetic.leaks(nats, se), synthetic.recovery())
    assert len(found) == 6 and {v.holds for v in found.values()} == {verdict}


@pytest.mark.parametrize(("difference", "verdict"), [(1e-11, HOLDS), (1e-7, FAILS)])
def test_li_4_wants_the_log_likelihood_of_all_in_one_place(difference, verdict):
    table = synthetic.likelihoods(difference)
    found = li.same_likelihood(table)
    assert len(found) == 12 and {v.holds for v in found.values()} == {verdict}
    assert "subspace" in next(iter(found.values())).measured


def test_every_claim_has_its_rows_and_sources():
    tables = {
        "read_off": synthetic.read_off(),
        "recovery": synthetic.recovery(),
        "fig2": synthetic.likelihoods().assign(substitute="stands for nothing"),
        "fig3": synthetic.leaks(),
    }
    card = CLAIMS.scorecard(tables)
    as_arrow(SCORECARD, card)
    assert card["item"].unique().tolist() == [claim.item for claim in CLAIMS] == [f"li-{n}" for n in range(1, 5)]
    assert not card.duplicated(["item", "reading"]).any()
    stands = card[card["substitute"].notna()]
    assert set(stands["item"]) == {"li-1", "li-4"} and set(stands["holds"]) == {OPEN}
    of_1 = card[card["item"] == "li-1"].set_index("reading")
    assert of_1.loc["records of Fig. 3", "holds"] == HOLDS and of_1["substitute"].notna().sum() == len(NODES)
    assert card[card["item"] == "li-3"]["substitute"].isna().all()


def test_a_verdict_that_would_mislead_alone_names_its_defect_wherever_it_stands(tmp_path):
    """In the first table of the page, over its section, and in the scorecard; for the documents see test_site."""
    of = {claim.item: claim.defect for claim in CLAIMS if claim.defect}
    assert of == {"li-2": "D5", "li-3": "D5"} and {*of.values()} <= {defect.id for defect in defects_of(errata)}
    tables = {"read_off": synthetic.read_off(), "recovery": synthetic.recovery(), "fig3": synthetic.leaks()}
    card = CLAIMS.scorecard(tables | {"fig2": synthetic.likelihoods()})
    named = card.dropna(subset="defect")
    assert dict(zip(named["item"], named["defect"], strict=True)) == of
    write_table(tmp_path / "card.parquet", SCORECARD, card)
    page = tmp_path / "report.html"
    card = {"li": tmp_path / "card.parquet"}
    build_reproduction_report(card, {"li": {}}, {"li": {}}, page, simulated=False, trials=2)
    assert page.read_text().count("holds under each of 6 variants, but see defect D5") == 2
    assert page.read_text().count("but see defect") == 4
