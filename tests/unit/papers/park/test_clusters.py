"""Fig. 4 of Park et al.: budgets, one fold on a few places, averages.

Fig. 5 of Park et al. on small pictures: preparation, noise levels, what is left of the loadings.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from meterdp.core.parquet import as_arrow
from meterdp.mechanisms.dpem.kmeans import Factors
from meterdp_papers.park import clusters
from meterdp_papers.park import tables as park
from meterdp_papers.park.data import Records
from meterdp_papers.park.likelihoods import fold

SOURCE = {"data": "synthetic places", "substitute": None}


@pytest.fixture(scope="module")
def records() -> Records:
    generator = np.random.default_rng(8)
    places = np.array([[-100.0, 40.0], [10.0, 50.0], [120.0, 20.0]])
    return Records(places[generator.integers(0, 3, 900)] + generator.normal(size=(900, 2)), 200.0, SOURCE)


@pytest.fixture(scope="module")
def folds(records):
    return pd.concat([clusters.run_fold(records, number, seed=4, starts=2) for number in range(2)])


def test_step_budgets_add_up_to_epsilon():
    """Oracle: rho + 2 sqrt(rho ln(1/delta)) with rho = answers eps_i^2/2."""
    log = np.log(1e4)
    in_each = {park.BOTH: 2, park.MEANS: 1, park.CODE: 1}
    for variant in park.CLUSTER_VARIANTS:
        steps = {name: method.step for name, method in clusters.methods_of(variant, 0.01).items()}
        assert steps[park.LLOYD_LINEAR] * variant.iterations == pytest.approx(0.01)
        answers = variant.iterations * in_each.get(variant.counts, variant.clusters + 1)
        for method, count in ((park.LLOYD_ZCDP, variant.iterations), (park.PROPOSED, answers)):
            rho = count * steps[method] ** 2 / 2
            assert rho + 2 * np.sqrt(rho * log) == pytest.approx(0.01, rel=1e-6)


def test_both_sides_have_the_same_neighbours_but_where_the_text_has_not():
    for variant in park.CLUSTER_VARIANTS:
        methods = clusters.methods_of(variant, 0.01)
        lloyd, ours = (dict(methods[name].options) for name in (park.LLOYD_ZCDP, park.PROPOSED))
        of_lloyd = lloyd["sensitivity"] / (1 + np.sqrt(2) if variant.in_ball else 3)
        assert (of_lloyd == ours["change"]) == (variant.adjacency != park.UNEQUAL)
    names = {v.adjacency for v in park.CLUSTER_VARIANTS}
    assert names == {park.ADDED, park.REPLACED, park.UNEQUAL}


def test_zcdp_beats_linear_composition_only_beyond_two_ln_one_over_delta_iterations():
    """The paper prints no J, and at epsilon 0.01 it decides which DPLloyd has less noise."""
    limit = 2 * np.log(1e4)
    for variant in park.CLUSTER_VARIANTS:
        steps = {name: method.step for name, method in clusters.methods_of(variant, 0.01).items()}
        assert (steps[park.LLOYD_ZCDP] > steps[park.LLOYD_LINEAR]) == (variant.iterations > limit)


def test_no_two_folds_share_a_public_start():
    most = park.starts_of(park.SPLITS)
    numbers = {clusters.start_number(fold, start) for fold in range(park.SPLITS) for start in range(most)}
    assert len(numbers) == park.SPLITS * most == max(numbers) + 1
    assert {v.starts for v in park.CLUSTER_VARIANTS} == {most, park.STARTS} and park.starts_of(2) == 1


def test_without_noise_it_is_k_means(records, folds):
    """Oracle: scikit-learn from the same start."""
    train, test = fold(len(records.x), "fig4", 0)
    x = records.in_unit_ball()
    model = KMeans(3, init=clusters.public_start(3, 0), n_init=1, max_iter=10, tol=0).fit(x[train])
    distance = ((x[test][:, None] - model.cluster_centers_) ** 2).sum(axis=2).min(axis=1).mean()
    rows = folds[(folds["fold"] == 0) & (folds["start"] == 0) & (folds["method"] == park.PLAIN)]
    found = rows[rows["reading"].str.startswith("k = 3, J = 10")].iloc[0]
    assert found["nicv"] == pytest.approx(distance)
    assert np.sort(found["longitude"]) == pytest.approx(np.sort(model.cluster_centers_[:, 0] * records.largest_norm))


def test_a_fold_is_declared_and_repeats_and_keeps_centres_where_it_says(records, folds):
    as_arrow(park.PARK_FOLDS, folds)
    again = clusters.run_fold(records, 1, seed=4)
    assert again["nicv"].tolist() == folds[(folds["fold"] == 1) & (folds["start"] == 0)]["nicv"].tolist()
    bounded = folds[~folds["reading"].str.contains("anywhere")]
    assert np.abs(np.stack(bounded[bounded["reading"].str.startswith("k = 5")]["longitude"])).max() <= (
        records.largest_norm * (1 + 1e-12)
    )
    assert set(folds["epsilon"]) == {0.01, 0.01 * clusters.CHECK_INS / 900}


def test_the_papers_size_has_no_variant_with_a_larger_epsilon(records):
    assert {r.budget for r in clusters.variants_of(records)} > {park.EPSILON_AS_PRINTED}
    whole = Records(np.zeros((clusters.CHECK_INS, 2)), 1.0, SOURCE)
    assert {r.budget for r in clusters.variants_of(whole)} == {park.EPSILON_AS_PRINTED}


def test_averages_and_map_are_declared(records, folds):
    """Oracle: numpy on two folds."""
    nicv = clusters.summarise(folds, SOURCE)
    as_arrow(park.PARK_NICV, nicv)
    of = folds[folds["reading"] == park.SHOWN_CLUSTERS.name].pivot_table("nicv", ["fold", "start"], "method")
    row = nicv[(nicv["reading"] == park.SHOWN_CLUSTERS.name) & (nicv["method"] == park.LLOYD_ZCDP)].iloc[0]
    excess = of[park.LLOYD_ZCDP] - of[park.PROPOSED]
    assert row["nicv_mean"] == pytest.approx(of[park.LLOYD_ZCDP].mean())
    assert row["excess_mean"] == pytest.approx(excess.mean()) and row["excess_se"] == pytest.approx(excess.sem())
    shown = clusters.on_the_map(folds, nicv, records)
    as_arrow(park.PARK_CLUSTERS, shown)
    assert (shown["kind"] == "centre").sum() == 4 * park.SHOWN_CLUSTERS.clusters


PICTURES_SOURCE = {"data": "synthetic pictures", "substitute": None}
SIDE = 8


@pytest.fixture(scope="module")
def faces() -> Records:
    generator = np.random.default_rng(6)
    smooth = generator.normal(size=(5, SIDE**2))
    x = 0.5 + 0.1 * generator.normal(size=(300, 5)) @ smooth + 0.01 * generator.normal(size=(300, SIDE**2))
    return Records(x, float(SIDE), PICTURES_SOURCE)


@pytest.fixture(scope="module")
def tables(faces):
    return clusters.tabulate(faces, seed=2)


@pytest.mark.parametrize("pictures", park.PICTURES)
def test_pictures_are_in_the_unit_ball_and_the_scale_says_what_is_not(faces, pictures):
    x, scale = clusters.prepared(faces, pictures)
    assert np.linalg.norm(x, axis=1).max() == pytest.approx(1)
    assert (scale != 1) == (pictures == park.BY_PIXEL)
    if pictures != park.AS_THEY_ARE:
        assert x.mean(axis=1) == pytest.approx(np.zeros(len(x)), abs=1e-12)
    if pictures == park.BY_PIXEL:
        assert np.linalg.norm(np.sqrt(scale) * x, axis=0).max() == pytest.approx(1)


def test_captured_is_one_for_the_same_span_and_none_for_an_orthogonal_one():
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(30, 6)))[0]
    psi = np.ones(30)
    one = Factors(basis[:, :3], psi)
    same = Factors(basis[:, :3] @ np.random.default_rng(2).normal(size=(3, 3)), psi)
    assert clusters.captured(one, same.loadings) == pytest.approx(1)
    assert clusters.captured(one, basis[:, 3:]) == pytest.approx(0, abs=1e-12)
    assert clusters.captured(one, basis[:, 2:5]) == pytest.approx(1 / 3)


def test_spectral_norms_are_those_of_all_eigenvalues(faces, tables):
    """Oracle: numpy's eigenvalues of the second moment."""
    numbers = tables[1]
    for pictures in park.PICTURES:
        x, scale = clusters.prepared(faces, pictures)
        top = np.linalg.eigvalsh(scale * x.T @ x / len(x)).max()
        assert numbers.loc[numbers["pictures"] == pictures, "top_eigenvalue"].to_numpy() == pytest.approx(top)
    ratio = numbers["noise_spectral_norm"] / numbers["noise_std"]
    assert ratio.max() - ratio.min() < 1e-9 * ratio.mean()
    assert ratio.mean() == pytest.approx(2 * SIDE, rel=0.3)  # semicircle distribution


def test_the_misread_noise_is_the_square_of_the_stated_one(tables):
    numbers = tables[1]
    as_arrow(park.PARK_FACE_NUMBERS, numbers)
    at = numbers[
        (numbers["pictures"] == park.CENTRED) & (numbers["sensitivity"] == "2/N") & (numbers["epsilon"] == 0.3)
    ]
    std = at.set_index("noise")["noise_std"]
    assert std["stated"] == pytest.approx(np.sqrt(2 * np.log(1.25e4)) * 2 / 300 / 0.3)
    assert std["variance for deviation"] == pytest.approx(std["stated"] ** 2)
    assert set(numbers[numbers["pictures"] == park.BY_PIXEL]["noise"]) == {"variance for deviation"}


def test_columns_are_orthogonal_and_in_order(tables):
    columns = tables[0]
    as_arrow(park.PARK_FACES, columns)
    for _, rows in columns.groupby(["pictures", "sensitivity", "noise", "epsilon"], dropna=False):
        w = np.stack(rows["loading"]).T
        gram = w.T @ w
        assert w.shape == (SIDE**2, 10) and np.all(np.diff(np.diag(gram)) <= 1e-12 * gram.trace())
        assert gram - np.diag(np.diag(gram)) == pytest.approx(np.zeros((10, 10)), abs=1e-9 * gram.trace())
        assert (w.sum(axis=0) >= 0).all()
