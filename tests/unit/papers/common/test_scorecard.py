"""Verdicts on synthetic tables in which a claim holds, does not hold, and cannot be judged."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from meterdp.core.parquet import as_arrow
from meterdp_papers.common.scorecard import (
    EVERY,
    FAILS,
    HOLDS,
    NONE,
    OPEN,
    SOME,
    Claims,
    Comparison,
    Source,
    Verdict,
    deciding,
    judge,
    listed,
    number,
    rows,
    summed_up,
)
from meterdp_papers.common.tables import SCORECARD
from meterdp_papers.liu import scorecard as liu
from meterdp_papers.liu.scorecard import CLAIMS
from meterdp_papers.liu.tables import VARIANTS
from tests.unit.papers.synthetic import accuracy, curve, distances

PROPOSED, BASE = "kl_published", "iid_laplace"


def test_a_comparison_is_lost_for_certain_only_beyond_two_standard_errors():
    assert judge([Comparison("a", 1, 0.1, 2, 0.1)]) == HOLDS
    assert judge([Comparison("a", 2.2, 0.1, 2, 0.1)]) == OPEN  # 0.2 < 2 * 0.141
    assert judge([Comparison("a", 2.3, 0.1, 2, 0.1)]) == FAILS
    assert judge([Comparison("a", 1, 0.1, 2, 0.1), Comparison("b", 2.3, 0.1, 2, 0.1)]) == FAILS
    assert judge([Comparison("a", 1.8, 0.1, 2, 0.1)]) == OPEN  # another seed could turn it round
    assert judge([Comparison("a", 2, 0.0, 2, 0.0)]) == OPEN  # a tie is no win
    assert judge([Comparison("one trial", 2.0, np.nan, 1.0, np.nan)]) == OPEN
    assert judge([Comparison("exact numbers", 2.0, 0.0, 1.0, 0.0)]) == FAILS


def test_as_many_trials_would_decide_as_make_the_standard_error_small_enough():
    """Oracle: with n times the trials a standard error falls by the root of n."""
    unsure = Comparison("a", 1.0, 0.3, 1.5, 0.4)
    needed = deciding([unsure, Comparison("b", 1, 0.01, 2, 0.01)], 100)
    assert needed == 400  # 2 * 0.5 / 0.5 = 2
    shorter = np.sqrt(100 / needed)
    assert not replace(unsure, low_se=0.3 * shorter, high_se=0.4 * shorter).sure
    assert replace(unsure, low_se=0.299 * shorter, high_se=0.4 * shorter).sure
    assert deciding([Comparison("b", 1, 0.01, 2, 0.01)], 100) is None
    assert deciding([Comparison("a tie", 1, 0.1, 1, 0.1)], 100) is None
    lost = Comparison("lost", 2.0, 0.6, 1.0, 0.8)  # at two standard errors it refutes, whatever the others say
    assert deciding([unsure, lost, Comparison("lost by less", 1.1, 1.0, 1.0, 1.0)], 100) == 400


@pytest.mark.parametrize(
    ("own", "verdict"),
    [([3, 2, 1.0], HOLDS), ([3, 3.9, 1], OPEN), ([3, 4.1, 1], OPEN), ([3, 4.5, 1], FAILS), ([9.5, 9, 9], FAILS)],
)
def test_lowest_at_every_epsilon(own, verdict):
    table = curve({BASE: [8, 4, 2], "coloured_gaussian_l1": [9, 5, 3], PROPOSED: own, "kl_exact": [0.1, 0.1, 0.1]})
    found = liu.lowest(table)
    assert found.holds == verdict
    assert ("Baselines with a lower mean: none" in found.measured) == (max(own) < 4)
    assert ("within two standard errors: none" in found.measured) == (verdict != OPEN)


def test_lowest_names_every_loss_of_mean_and_median_and_never_our_own_mechanism():
    table = curve({BASE: [8, 4, 2], PROPOSED: [3, 3, 3], "kl_exact": [0.1] * 3})
    table.loc[(table["mechanism"] == BASE) & (table["x"] == 0.5), "kl_median"] = 0.01
    said = liu.lowest(table).measured
    assert "lower mean: i.i.d. Laplace at ε = 2;" in said
    assert "lower median: i.i.d. Laplace at ε = 0.5 and 2" in said
    assert "exact" not in said


@pytest.mark.parametrize(
    ("base", "verdict"),
    [([8, 4, 2], HOLDS), ([8, 4, 4.1], HOLDS), ([8, 4, 4.9], FAILS), ([4, 4.05, 4.1], OPEN), ([2, 4, 8], FAILS)],
)
def test_a_falling_trend_forgives_steps_within_two_standard_errors(base, verdict):
    falling = {BASE: base, PROPOSED: [3, 2, 1.0], "kl_exact": [1, 2, 3]}
    assert liu.trend(curve(falling), rising=False).holds == verdict
    rising = {name: values[::-1] for name, values in falling.items()}
    assert liu.trend(curve(rising), rising=True).holds == verdict


def test_sensitivity_compares_growth_factors_and_says_the_growth_in_nats():
    def judged(own, base, se=0.01):
        return liu.sensitivity(curve({BASE: base, "iid_gaussian": [10, 20, 80], PROPOSED: own}, (2, 5, 20), se))

    assert judged([1, 1.5, 2], [5, 9, 25]).holds == HOLDS
    assert judged([1, 1.5, 3], [5, 9, 25]).holds == FAILS  # a factor of 3 against 5
    assert judged([1, 1.5, 3], [5, 9, 25], se=0.1).holds == OPEN  # which is not certain to exceed half of it
    assert judged([1, 1.5, 2], [5, 9, 25], se=3.0).holds == OPEN  # the rise itself is not certain
    assert judged([2, 1.5, 1], [5, 9, 25]).holds == FAILS  # it falls
    said = judged([1, 1.5, 3], [5, 9, 25]).measured
    assert "rises by 2, a baseline's by at least 20" in said


def test_nearest_to_the_histogram_must_hold_in_every_class():
    fit = {"fit": [0.1, 0.1]}
    near = {**fit, BASE: [0.5, 0.4], PROPOSED: [0.3, 0.3], "kl_exact": [0.2, 0.2]}
    assert liu.nearest_to_histogram(distances(near, [50, 50])).holds == HOLDS
    assert liu.nearest_to_histogram(distances(near | {BASE: [0.5, 0.305]}, [50, 50])).holds == OPEN
    assert liu.nearest_to_histogram(distances(near | {BASE: [0.5, 0.295]}, [50, 50])).holds == OPEN
    assert liu.nearest_to_histogram(distances(near | {BASE: [0.5, 0.2]}, [50, 50])).holds == FAILS


def test_small_classes_diverge_by_size_not_by_number():
    records = [14, 700, 430, 150, 100, 30]
    apart = {PROPOSED: [0.6, 0.02, 0.03, 0.05, 0.1, 0.3]}
    assert liu.small_classes_diverge(distances(apart, records)).holds == HOLDS
    assert (
        liu.small_classes_diverge(distances({PROPOSED: [0.6, 0.02, 0.03, 0.05, 0.11, 0.3]}, records)).holds == FAILS
    )
    assert liu.small_classes_diverge(distances({PROPOSED: [0.6, 0.02, 0.03, 0.05, 0.1, 0.1]}, records)).holds == FAILS
    assert liu.small_classes_diverge(distances({PROPOSED: [0.02] * 4}, records[1:5])).holds == OPEN


def test_accuracy_close_to_the_fit_and_far_above_the_baselines():
    good = {"fit": [0.8] * 3, BASE: [0.3, 0.4, 0.5], PROPOSED: [0.71, 0.75, 0.79], "kl_exact": [0.1] * 3}
    assert liu.accurate(accuracy(good)).holds == HOLDS
    assert liu.accurate(accuracy(good | {PROPOSED: [0.69, 0.75, 0.79]})).holds == FAILS
    assert liu.accurate(accuracy(good | {PROPOSED: [0.702, 0.75, 0.79]})).holds == OPEN  # by one standard error
    assert liu.accurate(accuracy(good | {BASE: [0.3, 0.4, 0.7]})).holds == FAILS


def work(records=3.2, classes=5.5, own=1.0) -> pd.DataFrame:
    sizes = [("interior_point", "records", n, 5, n**records) for n in (50, 100, 400)]
    sizes += [("interior_point", "classes", 100, k, k**classes) for k in (2, 4, 8)]
    sizes += [("own", "records", n, 5, 1e-3 * n**own) for n in (1000, 8000, 64000)]
    columns = ("solver", "varied", "record_count", "class_count", "work")
    return pd.DataFrame(sizes, columns=columns).assign(trial=0, largest_size=10, iteration_count=12.0)


def runs(passes=2, rise=0.0) -> pd.DataFrame:
    values = {"trial": [0, 1], "epsilon": 1.0, "pass_count": passes, "objective_first": 4.0, "objective_last": 3.0}
    return pd.DataFrame(values | {"largest_rise": rise, "epsilon_0_share": 1 / 3})


def test_exponents_are_recovered_from_power_distributions():
    table = work(1.5, 2.0, 0.9)
    assert liu.exponent(table, "interior_point", "records") == pytest.approx((1.5, 0.0), abs=1e-7)
    assert liu.exponent(table, "interior_point", "classes") == pytest.approx((2.0, 0.0), abs=1e-7)
    assert liu.exponent(table, "own", "records") == pytest.approx((0.9, 0.0), abs=1e-7)


def test_an_exponent_that_is_not_sure_refutes_nothing():
    """Oracle: numpy's covariance of the slope; the interval holds the bound, so it is neither kept nor exceeded."""
    table = work(own=1.3)
    own = table["solver"] == "own"
    table.loc[own, "work"] *= [1.0, 3.0, 0.5]
    slope, se = liu.exponent(table, "own", "records")
    x, y = np.log(table.loc[own, "record_count"]), np.log(table.loc[own, "work"])
    (expected, _), covariance = np.polyfit(x, y, 1, cov=True)
    assert slope == pytest.approx(expected) and se == pytest.approx(np.sqrt(covariance[0, 0]))
    table = work()
    table.loc[table["varied"] == "records", "work"] *= np.tile([1.0, 3.0, 0.5], 2)
    found = liu.work_of_order(table)
    assert [v.holds for v in found.values()] == [OPEN, FAILS]  # that of K is below its bound for certain
    assert "± " in next(iter(found.values())).measured


@pytest.mark.parametrize(("table", "verdict"), [(runs(), HOLDS), (runs(passes=100), FAILS), (runs(rise=0.1), FAILS)])
def test_algorithm_1_converges_where_every_run_stops_and_none_rises(table, verdict):
    assert liu.converges(table).holds == verdict


@pytest.mark.parametrize(
    ("cost", "bound", "order"),
    [
        (work(), HOLDS, FAILS),
        (work(classes=2.0), HOLDS, FAILS),
        (work(records=4.0), FAILS, FAILS),
        (work(classes=6.5), FAILS, FAILS),
    ],
)
def test_work_is_of_an_order_if_no_exponent_is_higher_or_if_both_are_met(cost, bound, order):
    assert [v.holds for v in liu.work_of_order(cost).values()] == [bound, order]
    near = work()
    near.loc[near["solver"] == "interior_point", "work"] *= np.tile([1.0, 4.0, 1.0], 2)
    assert [v.holds for v in liu.work_of_order(near).values()] == [OPEN, HOLDS]


def normality(kurtosis_z=0.5, share=0.9, skewness=None) -> pd.DataFrame:
    # Under a Gaussian N b / 6 has mean d (d + 1) (d + 2) / 6: with d = 2 and N = 400 b is about 0.06.
    b = 0.06 if skewness is None else skewness
    rows = [(1, 400, b, kurtosis_z, share), (2, 400, 0.06, 0.1, 0.9), (3, 5, None, None, None)]
    columns = ("component", "household_count", "mardia_skewness", "mardia_kurtosis_z", "share_within_90")
    return pd.DataFrame(rows, columns=columns)


def test_gaussian_classes():
    assert liu.gaussian_classes(normality(), 2).holds == HOLDS
    assert liu.gaussian_classes(normality(kurtosis_z=4), 2).holds == FAILS
    assert liu.gaussian_classes(normality(share=0.8), 2).holds == FAILS
    assert liu.gaussian_classes(normality(skewness=2.0), 2).holds == FAILS
    assert liu.gaussian_classes(normality().iloc[2:], 2).holds == OPEN


def test_mardia_level_holds_on_gaussian_classes():
    """Oracle: Gaussian samples; 40 sets of two classes, each rejects with probability 1 % or less."""
    from meterdp.mixture.gmm import fit_labels
    from meterdp_papers.liu.normality import normality as measure

    generator = np.random.default_rng(2)
    failed = 0
    for _ in range(40):
        x, labels = generator.normal(size=(1600, 3)), np.repeat([1, 2], 800)
        table = pd.DataFrame(measure(x, fit_labels(x, labels, 1e-6)))
        failed += liu.gaussian_classes(table, 3).holds == FAILS
    assert failed <= 10  # binomial(40, 0.02): P(more than 10) < 1e-11


def test_the_scorecard_has_a_row_per_claim_in_order_with_its_source():
    falling, rising = [8.0, 4.0, 2.0], [1.0, 2.0, 4.0]
    low = curve({BASE: falling, PROPOSED: [1.0, 0.5, 0.2]}, se=0.01)
    high = curve({BASE: rising, PROPOSED: rising}, se=0.01)
    marginal = distances({"fit": [0.0] * 6, BASE: [0.9] * 6, PROPOSED: [0.05] * 4 + [0.5] * 2}, [9, 8, 7, 6, 2, 1])
    tables = {f"fig{n}": low for n in (1, 2, 5, 7, 9)} | {"fig3": high, "fig4": high}
    tables |= {"fig6_distances": marginal, "fig8_distances": marginal, "convergence": runs(), "sdp_work": work()}
    tables |= {"fig10": accuracy({"fit": [0.8] * 3, BASE: [0.3] * 3, PROPOSED: [0.75] * 3})}
    tables["fig7"] = low.assign(data="simulated export, synthetic")
    tables = {name: table.assign(substitute=None) for name, table in tables.items()}
    tables |= {"fig7": tables["fig7"].assign(substitute="stands for private houses"), "normality": normality()}
    card = CLAIMS.scorecard(tables)
    as_arrow(SCORECARD, card)
    assert card["item"].unique().tolist() == [f"liu-{n}" for n in range(1, 14)] == [claim.item for claim in CLAIMS]
    card = card.drop_duplicates("item").set_index("item")
    stand_ins = ["liu-7", "liu-8", "liu-12"]
    assert card["holds"]["liu-3"] == FAILS and (card.loc[stand_ins, "holds"] == OPEN).all()
    assert (card["holds"].drop(["liu-3", *stand_ins]) == HOLDS).all()
    for column in (card["data"].str.endswith("synthetic"), card["substitute"].notna()):
        assert column.index[column].tolist() == stand_ins
    of_houses = CLAIMS.scorecard(tables | {"fig7": tables["fig7"].assign(data="export of the study")})
    of_houses = of_houses.set_index("item").loc[stand_ins]
    assert of_houses["holds"].tolist() == [HOLDS, OPEN, HOLDS]  # 7 and 12 are of any real houses
    assert of_houses["substitute"].notna().tolist() == [False, True, False]


def test_a_claim_is_summed_up_over_its_variants():
    assert summed_up({"a": HOLDS}) == EVERY and summed_up({"a": FAILS}) == NONE and summed_up({"a": OPEN}) == OPEN
    assert summed_up({"a": HOLDS, "b": FAILS}) == SOME and summed_up({"a": HOLDS, "b": OPEN}) == SOME
    # A variant that cannot be judged might turn "none" over, and no claim is refuted by half its variants.
    assert summed_up({"a": FAILS, "b": OPEN}) == OPEN and summed_up({"a": FAILS, "b": FAILS}) == NONE


def test_every_variant_is_judged_by_its_own_rows():
    low, high = ({BASE: [8.0, 4.0, 2.0], PROPOSED: own} for own in ([1.0, 0.5, 0.2], [9.0, 9.0, 9.0]))
    names = [v.name if v.flips == "all" else f"{v.name}; in Wh" for v in VARIANTS if v.over_classes == "parallel"]
    table = pd.concat([curve(low, se=0.01, variant=names[0]), curve(high, se=0.01, variant=names[1])])
    found = liu.under(table, liu.lowest)
    assert {variant: verdict.holds for variant, verdict in found.items()} == {names[0]: HOLDS, names[1]: FAILS}
    paper = Claims("Paper", "one record replaced", "one answer")
    paper.claim("c-1", "it is low", "it is lowest")(None)
    card = rows(paper, {"c-1": found}, lambda *_: Source("data"))
    as_arrow(SCORECARD, card)
    assert card["reading"].tolist() == list(found) and card["holds"].tolist() == [HOLDS, FAILS]
    assert len(set(card["adjacency"])) == 2 and len(set(card["charge"])) == 1


def test_a_win_over_baselines_that_are_charged_more_shows_nothing():
    name = next(v.name for v in VARIANTS if v.over_classes == "split")
    low, high = ({BASE: [8.0, 4.0, 2.0], PROPOSED: own} for own in ([1.0, 0.5, 0.2], [9.0, 9.0, 9.0]))
    for values, verdict in ((low, OPEN), (high, FAILS)):
        (found,) = liu.under(curve(values, se=0.01, variant=name), liu.lowest).values()
        assert found.holds == verdict and found.charge.startswith("proposed: ")
    (falls,) = liu.under(curve(low, se=0.01, variant=name), liu.falling, between_mechanisms=False).values()
    assert falls.holds == HOLDS and "charged for every class" not in falls.measured


@pytest.mark.parametrize("verdict", [HOLDS, FAILS, OPEN])
def test_no_stand_in_decides_a_verdict_unless_the_claim_is_of_the_data_at_hand_and_they_are_real(verdict):
    paper = Claims("Paper", "one record replaced", "one answer")
    paper.claim("c-1", "it is low", "it is lowest")(None)
    paper.claim("c-2", "on the data at hand it is low", "it is lowest", at_hand=True)(None)
    paper.claim("c-3", "it is low", "it is lowest")(None)
    measured = Verdict(verdict, "It is 3.", adjacency="one record more or less", deciding_trials=40)
    verdicts = {"c-1": measured, "c-2": measured, "c-3": {"own": replace(measured, data="the paper's own")}}
    for data, at_hand in (("simulated export", OPEN), ("export", verdict)):
        card = rows(paper, verdicts, lambda *_, data=data: Source(data, "stands for private"))
        assert card["holds"].tolist() == [OPEN, at_hand, verdict]
        assert card["substitute"].notna().tolist() == [True, data != "export", False]
        assert card["data"].tolist() == [data, data, "the paper's own"]
        assert f"'{verdict}'. It is 3." in card["measured"][0]
        assert set(card["adjacency"]) == {"one record more or less"}
        # No number of trials decides what was measured on a stand-in.
        assert card["deciding_trials"].notna().tolist() == [
            False,
            data == "export" and verdict == OPEN,
            verdict == OPEN,
        ]


def test_words():
    assert listed([]) == "" and listed(["a"]) == "a" and listed(["a", "b"]) == "a and b"
    assert listed(iter(["a", "b", "c"])) == "a, b and c"
    assert number(0.012345) == "0.0123" and number(1234.5) == "1,234" and number(2e7) == "2e+07"
