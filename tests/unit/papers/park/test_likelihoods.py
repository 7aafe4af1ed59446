"""Figs 2 and 3 of Park et al. on a few records: folds, budgets, what lines share, and averages."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from meterdp.core.parquet import as_arrow
from meterdp_papers.park import likelihoods
from meterdp_papers.park import tables as park
from meterdp_papers.park.data import LARGEST_NORM, PUBLIC_RADIUS, Records
from meterdp_papers.park.likelihoods import compare

SOURCE = {"data": "synthetic data", "substitute": None}


@pytest.fixture(scope="module")
def records() -> Records:
    generator = np.random.default_rng(5)
    x = generator.normal(size=(600, 4)) + 3 * np.eye(4)[generator.integers(0, 3, 600)]
    return Records(x, 4.0, SOURCE)


@pytest.fixture(scope="module")
def runs(records):
    return likelihoods.run_split("fig3", records, 0, 2, seed=3)


def test_ten_folds_partition_the_records():
    tests = []
    for number in range(10):
        train, test = likelihoods.fold(1003, "fig2", number)
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(1003))
        tests.append(test)
    assert np.array_equal(np.sort(np.concatenate(tests)), np.arange(1003))
    more = [likelihoods.fold(1003, "fig2", number)[1] for number in range(10, 20)]
    assert np.array_equal(np.sort(np.concatenate(more)), np.arange(1003))
    assert not any(np.array_equal(a, b) for a, b in zip(tests, more, strict=True))


def test_a_density_in_another_unit_is_comparable(records):
    """Oracle: change of variables on records that nothing is clipped of."""
    wide = replace(records, public_radius=2 * records.largest_norm)
    one, other = (likelihoods.split(wide, "fig3", 1, scaling) for scaling in (LARGEST_NORM, PUBLIC_RADIUS))
    assert one.test == pytest.approx(2 * other.test) and one.log_unit == 0
    assert other.log_unit == pytest.approx(-4 * np.log(2))


@pytest.mark.parametrize(("figure", "left_out"), [("fig2", True), ("fig3", False)])
def test_budgets_of_steps_and_where_the_printed_delta_allows_none(figure, left_out):
    """Oracles: eps/steps for linear, the zCDP formula solved for rho."""
    experiment = park.EXPERIMENTS[figure]
    gaussian = experiment.iterations * (2 * experiment.classes + 1)
    sequence = likelihoods.Sequence(0, gaussian, experiment.step_delta)
    lines = {line.name: line for line in park.LINES}
    linear, out = likelihoods.budget(lines["ggg_linear"], sequence, 2.0)
    assert linear == pytest.approx(2.0 / gaussian) and out is left_out
    assert likelihoods.budget(lines["ggg_advanced"], sequence, 2.0)[1] is left_out
    zcdp, out = likelihoods.budget(lines[park.ZCDP], sequence, 2.0)
    log = np.log(1e4)
    rho = (np.sqrt(log + 2.0) - np.sqrt(log)) ** 2
    assert zcdp == pytest.approx(np.sqrt(2 * rho / gaussian * 2 * np.log(1.25 / experiment.step_delta)), rel=1e-6)
    assert out is False
    assert likelihoods.budget(lines["ggg_moments_real"], sequence, 2.0)[0] == pytest.approx(zcdp, rel=1e-6)
    assert likelihoods.budget(lines["ggg_moments_far"], sequence, 2.0)[0] == pytest.approx(zcdp, rel=1e-3)


def test_a_split_runs_every_line_and_repeats(records, runs):
    as_arrow(park.PARK_LIKELIHOODS, runs)
    assert set(runs["line"]) == {line.name for line in park.LINES} | {
        park.EM,
        park.OURS,
        park.PUBLIC_ZCDP,
    }
    assert set(runs["epsilon"]) == set(park.FEW_EPSILONS) and set(runs["reading"]) == {park.SHOWN.name}
    assert not runs.duplicated(["line", "epsilon"]).any()
    assert runs.equals(likelihoods.run_split("fig3", records, 0, 2, seed=3))
    wide = runs.pivot_table("log_likelihood", "epsilon", "line")
    assert (wide[park.EM] == wide[park.EM].iloc[0]).all() and (wide["ggg_moments_real"] == wide[park.ZCDP]).all()
    assert not np.allclose(wide["ggg_linear"], wide[park.ZCDP])


def test_with_ten_trials_every_variant_is_run_once(records, monkeypatch):
    experiment = park.EXPERIMENTS["fig2"]
    start = likelihoods.start_mixture(np.random.default_rng(1).normal(size=(2, 4)))
    monkeypatch.setattr(likelihoods, "fit_ball", lambda *_, radius: SimpleNamespace(mixture=start))
    for number, expected in ((0, len(experiment.runs)), (5, 1)):
        found = likelihoods.run_split("fig2", records, number, 10, seed=3)
        assert found["reading"].nunique() == expected
        assert not found.duplicated(["reading", "line", "epsilon"]).any()
    assert found["deltas_left_out"].any() and set(found.loc[found["deltas_left_out"], "scheme"]) == {"GGG"}


def test_a_job_does_every_tenth_split_of_a_variant_that_has_more(records, monkeypatch):
    few = replace(park.EXPERIMENTS["fig3"], runs=(park.Run(park.LOWEST, 30, (0.1,)),))
    monkeypatch.setitem(park.EXPERIMENTS, "fig3", few)
    found = likelihoods.run_split("fig3", records, 4, 10, seed=3)
    assert found["split"].unique().tolist() == [4, 14, 24] and set(found["reading"]) == {park.LOWEST.name}
    assert not found["log_likelihood"].duplicated().all()


def test_averages_are_those_of_the_splits(runs, records):
    """Oracle: numpy on two splits."""
    both = pd.concat([runs, likelihoods.run_split("fig3", records, 1, 2, seed=3)])
    curve = likelihoods.summarise(both, SOURCE)
    as_arrow(park.PARK_CURVE, curve)
    at = both[(both["epsilon"] == 1) & (both["line"] == "ggg_linear")]["log_likelihood"].to_numpy()
    against = both[(both["epsilon"] == 1) & (both["line"] == park.ZCDP)]["log_likelihood"].to_numpy()
    free = both[(both["epsilon"] == 1) & (both["line"] == park.EM)]["log_likelihood"].to_numpy()
    row = curve[(curve["epsilon"] == 1) & (curve["line"] == "ggg_linear")].iloc[0]
    assert row["log_likelihood_mean"] == pytest.approx(at.mean())
    assert row["excess_mean"] == pytest.approx((at - against).mean())
    assert row["excess_se"] == pytest.approx((at - against).std(ddof=1) / np.sqrt(2))
    assert row["shortfall_mean"] == pytest.approx((free - at).mean()) and row["trials"] == 2
    as_arrow(park.PARK_CURVE, likelihoods.summarise(runs, SOURCE))  # a single split has no standard error


def test_ours_is_compared_in_the_same_splits_at_the_same_epsilon_and_at_a_larger_one(runs, records):
    """Oracle: numpy on two splits; with one split there is no standard error."""
    both = pd.concat([runs, likelihoods.run_split("fig3", records, 1, 2, seed=3)])
    table = compare(both, SOURCE)
    as_arrow(park.PARK_OURS, table)
    wide = both[both["epsilon"] == 1].pivot_table("log_likelihood", "split", "line")
    at = table[table["epsilon"] == 1].iloc[0]
    difference = wide[park.OURS] - wide[park.ZCDP]
    assert at["difference_mean"] == pytest.approx(difference.mean())
    assert at["difference_se"] == pytest.approx(difference.std(ddof=1) / np.sqrt(2))
    assert at["ggg_shortfall_mean"] == pytest.approx((wide[park.EM] - wide[park.ZCDP]).mean())
    larger = both[both["epsilon"] == 4].pivot_table("log_likelihood", "split", "line")[park.ZCDP]
    assert at["larger_epsilon"] == 4.0
    assert at["larger_difference_mean"] == pytest.approx((wide[park.OURS] - larger).mean())
    assert table["larger_epsilon"].tolist()[0] == 1.0 and np.isnan(table["larger_epsilon"].iloc[-1])
    as_arrow(park.PARK_OURS, compare(runs, SOURCE))
    # Splits that ours was not run in are left out.
    more = both[both["line"] != park.OURS].assign(split=lambda t: t["split"] + 10)
    pd.testing.assert_frame_equal(compare(pd.concat([both, more]), SOURCE), table)
