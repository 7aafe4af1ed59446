"""Fixed data sets: Iris, profiles, digits; classification against densities, and the checksum of MNIST."""

import hashlib

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA

from meterdp.core.parquet import as_arrow
from meterdp.errors import InputError
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import fit_labels
from meterdp_papers.common.datasets import Dataset, locate, registry
from meterdp_papers.liu import data
from meterdp_papers.liu import tables as liu

FLOOR = 1e-3


@pytest.fixture
def mnist(repository) -> Dataset:
    return registry(repository / "resources/datasets.yaml")["mnist"]


# --- the registry ---------------------------------------------------------------------------------------------------


def test_every_data_set_names_source_licence_use_and_what_stands_for_it(repository):
    entries = registry(repository / "resources/datasets.yaml")
    assert set(entries) == {"iris", "ami", "mnist", "stroke", "lifesci", "gowalla", "olivetti", "parkinsons"}
    for entry in entries.values():
        assert entry.title and entry.source and entry.licence and entry.use
        assert (entry.file is None) == (entry.sha256 is None)


def test_a_file_is_found_only_with_the_registered_checksum(tmp_path):
    (tmp_path / "some").mkdir()
    path = tmp_path / "some/file.npz"
    path.write_bytes(b"digits")
    good = Dataset(
        "mnist", "t", "s", "l", "u", "some/file.npz", hashlib.sha256(b"digits").hexdigest(), "small digits"
    )
    assert locate(good, tmp_path) == path
    assert locate(good, None) is None
    path.write_bytes(b"digitz")
    with pytest.raises(InputError) as refused:
        locate(good, tmp_path)
    sentence = str(refused.value)
    assert "is not the registered file of data set 'mnist' (its SHA-256 differs)" in sentence
    assert "remove the file to use the substitute (small digits)" in sentence and str(path) in sentence
    assert sentence.count(". ") == 0 and sentence.endswith(".")
    path.unlink()
    assert locate(good, tmp_path) is None
    with pytest.raises(InputError, match="field 'data_dir': is not a folder"):
        locate(good, tmp_path / "nowhere")


# --- Iris and profiles ----------------------------------------------------------------------------------------------


def test_iris_is_z_scored_with_fifty_flowers_a_class():
    private, source = data.iris(FLOOR)
    assert private.x.shape == (150, 4) and private.fit.counts.tolist() == [50, 50, 50]
    assert private.x.mean(axis=0) == pytest.approx(np.zeros(4)) and private.x.std(axis=0) == pytest.approx(np.ones(4))
    assert source["substitute"] is None


def test_figures_of_a_fixed_data_set_are_declared_tables_and_repeat(monkeypatch):
    monkeypatch.setattr(data, "EPSILONS", (data.MARGINAL_EPSILON,))  # the others take as long and show nothing more
    private, source = data.iris(FLOOR)
    first, again = (
        data.fixed_data_figures(("fig5", "fig6"), private, source, range(1), FLOOR, 20, seed=3) for _ in range(2)
    )
    for declared, table in zip((liu.LIU_CURVE, liu.LIU_DENSITIES, liu.LIU_MARGINAL_DISTANCES), first, strict=True):
        as_arrow(declared, table)
    curve, _, distances = first
    assert curve.equals(again[0]) and distances.equals(again[2])
    assert set(curve["figure"]) == {"fig5"} and set(distances["figure"]) == {"fig6"}


@pytest.mark.parametrize("counts", [[50, 7, 300], [9] * 6, [5, 4, 3, 2, 1, 8, 7]])
def test_table_1_lies_beside_the_printed_counts(counts):
    table = data.table_1(np.array(counts), {"data": "synthetic", "substitute": "stands for the paper's"})
    as_arrow(liu.LIU_TABLE1, table)
    printed = [687, 428, 102, 147, 14, 31]
    assert [n for n in table["household_count"] if n is not None] == sorted(counts, reverse=True)
    assert [n for n in table["paper_household_count"] if n is not None] == sorted(printed, reverse=True)
    for component, count in zip(table["component"], table["household_count"], strict=True):
        assert component is None or counts[component - 1] == count
    assert [c for c in table["paper_class"] if c is not None] == [1, 2, 4, 3, 6, 5]
    assert sum(s for s in table["share"] if s is not None) == pytest.approx(1)


# --- digits ---------------------------------------------------------------------------------------------------------


def test_accuracy_is_that_of_the_most_likely_class():
    """Oracle: scipy's multivariate normal density, class by class; more draws than one block."""
    generator = np.random.default_rng(9)
    d, k, draws = 3, 4, data.BLOCK_DRAWS + 3
    x, labels = generator.normal(size=(300, d)) * 2, generator.integers(1, k + 1, 300)
    roots = generator.normal(size=(draws, k, d, d))
    covariances = roots @ np.swapaxes(roots, -1, -2) + 1e-3 * np.eye(d)
    mixtures = MixtureDraws(np.full((draws, k), 1 / k), generator.normal(size=(draws, k, d)), covariances)
    found = data.accuracies(mixtures, x, labels)
    for r in range(draws):
        density = [multivariate_normal(mixtures.means[r, j], covariances[r, j]).logpdf(x) for j in range(k)]
        assert found[r] == np.mean(np.argmax(density, axis=0) + 1 == labels)


def test_principal_axes_are_those_of_scikit_learn():
    """Oracle: scikit-learn's PCA, up to the sign of each axis."""
    x = np.random.default_rng(1).normal(size=(200, 6)) * np.array([5, 4, 3, 2, 1, 0.5])
    axes, oracle = data.principal_axes(x, 3), PCA(3).fit(x).components_.T
    assert np.abs((axes * oracle).sum(axis=0)) == pytest.approx(np.ones(3))


def test_without_mnist_the_named_substitute_is_used(mnist, tmp_path, monkeypatch):
    monkeypatch.setattr(data, "EPSILONS", data.EPSILONS[::3])  # the others take as long and show nothing more
    for data_dir in (None, tmp_path):
        pixels = data.images(mnist, data_dir)
        images = data.reduced(pixels, data.PIXEL_UNITS[0], FLOOR)
        assert images.train.x.shape == (1197, 5) and images.x_test.shape == (600, 5)
        assert "digits" in images.source["data"] and images.source["substitute"].startswith("stands for MNIST")
    curve, accuracy = data.image_figures(pixels, FLOOR, draws=3, seed=1)
    as_arrow(liu.LIU_CURVE, curve)
    as_arrow(liu.LIU_ACCURACY, accuracy)
    fit = accuracy[accuracy["mechanism"] == "fit"]
    usual = fit[fit["reading"] == liu.SHOWN.name]
    assert (usual["accuracy_mean"] > 0.8).all() and usual["accuracy_mean"].nunique() == 1
    names = set(curve["reading"])
    assert names == set(accuracy["reading"]) and len(names) == len(liu.VARIANTS) + len(data.PIXEL_UNITS) * len(
        data.FLOORS
    )


def test_a_unit_changes_the_records_by_its_factor_and_nothing_else(mnist):
    pixels = data.images(mnist, None)
    units = [data.reduced(pixels, unit, 1e-12) for unit in data.PIXEL_UNITS]
    assert units[1].train.x == pytest.approx(255 * units[0].train.x)
    assert units[1].x_test == pytest.approx(255 * units[0].x_test)
    radius = np.linalg.norm(pixels.train, axis=1).max()
    assert units[2].train.x == pytest.approx(units[0].train.x / radius)
    # Our classifier does not mind: maximum likelihood is the same in every unit.
    shares = [data.accuracies(MixtureDraws.single(u.train.fit.mixture), u.x_test, u.labels_test) for u in units]
    assert shares[0] == pytest.approx(shares[1]) and shares[0] == pytest.approx(shares[2])


def test_mnist_has_the_papers_size_and_the_fit_classifies_it(mnist, shared_data):
    images = data.reduced(data.images(mnist, shared_data), data.PIXEL_UNITS[0], FLOOR)
    assert images.train.x.shape == (5000, 5) and images.x_test.shape == (10000, 5)
    assert images.source["substitute"] is None and images.train.fit.mixture.classes == 10
    share = data.accuracies(MixtureDraws.single(images.train.fit.mixture), images.x_test, images.labels_test)
    assert 0.65 < share[0] < 0.85


def test_profiles_are_named_by_what_they_are():
    x = np.random.default_rng(0).normal(size=(40, 3))
    fit = fit_labels(x, np.repeat([1, 2], 20), FLOOR)
    assert data.load_profiles(x, fit, True)[1]["data"] == "simulated export, 40 households, d = 3, K = 2"
    assert data.load_profiles(x, fit, False)[1]["data"].startswith("export of the study")
