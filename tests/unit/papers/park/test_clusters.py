"""Fig. 4 of Park et al.: budgets, one fold on a few places, averages."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from meterdp.core.parquet import as_arrow
from meterdp_papers.park import clusters
from meterdp_papers.park.data import Records
from meterdp_papers.park.likelihoods import fold
from meterdp_papers.park.tables import (
    CLUSTER_VARIANTS,
    EPSILON_AS_PRINTED,
    LLOYD_LINEAR,
    LLOYD_ZCDP,
    PARK_CLUSTERS,
    PARK_FOLDS,
    PARK_NICV,
    PLAIN,
    PROPOSED,
    SHOWN_CLUSTERS,
)

SOURCE = {"data": "synthetic places", "substitute": None}


@pytest.fixture(scope="module")
def records() -> Records:
    generator = np.random.default_rng(8)
    places = np.array([[-100.0, 40.0], [10.0, 50.0], [120.0, 20.0]])
    return Records(places[generator.integers(0, 3, 900)] + generator.normal(size=(900, 2)), 200.0, SOURCE)


@pytest.fixture(scope="module")
def folds(records):
    return pd.concat([clusters.run_fold(records, number, seed=4) for number in range(2)])


def test_step_budgets_add_up_to_epsilon():
    """Oracle: rho + 2 sqrt(rho ln(1/delta)) with rho = answers eps_i^2/2."""
    log = np.log(1e4)
    for variant in CLUSTER_VARIANTS:
        steps = {method: step for method, (_, step) in clusters.step_budgets(variant, 0.01).items()}
        assert steps[LLOYD_LINEAR] * variant.iterations == pytest.approx(0.01)
        answers = variant.iterations * (variant.clusters + 1 if variant.charged == "each" else 1)
        for method, count in ((LLOYD_ZCDP, variant.iterations), (PROPOSED, answers)):
            rho = count * steps[method] ** 2 / 2
            assert rho + 2 * np.sqrt(rho * log) == pytest.approx(0.01, rel=1e-6)


def test_zcdp_beats_linear_composition_only_beyond_two_ln_one_over_delta_iterations():
    """The paper prints no J, and at epsilon 0.01 it decides which DPLloyd has less noise."""
    limit = 2 * np.log(1e4)
    for variant in CLUSTER_VARIANTS:
        steps = {method: step for method, (_, step) in clusters.step_budgets(variant, 0.01).items()}
        assert (steps[LLOYD_ZCDP] > steps[LLOYD_LINEAR]) == (variant.iterations > limit)


def test_without_noise_it_is_k_means(records, folds):
    """Oracle: scikit-learn from the same start."""
    train, test = fold(len(records.x), "fig4", 0)
    x = records.in_unit_ball()
    model = KMeans(3, init=clusters.public_start(3, 0), n_init=1, max_iter=10, tol=0).fit(x[train])
    distance = ((x[test][:, None] - model.cluster_centers_) ** 2).sum(axis=2).min(axis=1).mean()
    rows = folds[(folds["fold"] == 0) & (folds["method"] == PLAIN)]
    found = rows[rows["reading"].str.startswith("k = 3, 10")].iloc[0]
    assert found["nicv"] == pytest.approx(distance)
    assert np.sort(found["longitude"]) == pytest.approx(np.sort(model.cluster_centers_[:, 0] * records.largest_norm))


def test_a_fold_is_declared_and_repeats_and_keeps_centres_where_it_says(records, folds):
    as_arrow(PARK_FOLDS, folds)
    again = clusters.run_fold(records, 1, seed=4)
    assert again["nicv"].tolist() == folds[folds["fold"] == 1]["nicv"].tolist()
    bounded = folds[folds["reading"].str.contains("kept")]
    assert np.abs(np.stack(bounded[bounded["reading"].str.startswith("k = 5")]["longitude"])).max() <= (
        records.largest_norm * (1 + 1e-12)
    )
    assert set(folds["epsilon"]) == {0.01, 0.01 * clusters.CHECK_INS / 900}


def test_the_papers_size_has_no_variant_with_a_larger_epsilon(records):
    assert {r.budget for r in clusters.variants_of(records)} > {EPSILON_AS_PRINTED}
    whole = Records(np.zeros((clusters.CHECK_INS, 2)), 1.0, SOURCE)
    assert {r.budget for r in clusters.variants_of(whole)} == {EPSILON_AS_PRINTED}


def test_averages_and_map_are_declared(records, folds):
    """Oracle: numpy on two folds."""
    nicv = clusters.summarise(folds, SOURCE)
    as_arrow(PARK_NICV, nicv)
    of = folds[folds["reading"] == SHOWN_CLUSTERS.name].pivot_table("nicv", "fold", "method")
    row = nicv[(nicv["reading"] == SHOWN_CLUSTERS.name) & (nicv["method"] == LLOYD_ZCDP)].iloc[0]
    excess = of[LLOYD_ZCDP] - of[PROPOSED]
    assert row["nicv_mean"] == pytest.approx(of[LLOYD_ZCDP].mean())
    assert row["excess_mean"] == pytest.approx(excess.mean()) and row["excess_se"] == pytest.approx(excess.sem())
    shown = clusters.on_the_map(folds, nicv, records)
    as_arrow(PARK_CLUSTERS, shown)
    assert (shown["kind"] == "centre").sum() == 4 * SHOWN_CLUSTERS.clusters
