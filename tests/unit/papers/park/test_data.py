"""Data sets of Park et al. and what stands for them: sizes, names, the unit ball.

Fig. 1 of Park et al.: invented people, sums where classes are known, distances.
"""

import math

import numpy as np
import pytest

from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import as_arrow
from meterdp_papers.common import datasets
from meterdp_papers.common.datasets import registry
from meterdp_papers.park import data, marital
from meterdp_papers.park.tables import PARK_DISTANCES, PARK_MAP


@pytest.fixture(scope="module")
def entries(repository):
    return registry(repository / "resources/datasets.yaml")


@pytest.fixture(scope="module")
def patients(entries):
    """The Stroke data of a whole study, which take two seconds to decompose."""
    return data.records_of("fig2", entries, None, 10)


LOADERS = {
    "lifesci": (data.life_sciences, (26_733, 10)),
    "gowalla": (data.check_ins, (1_256_384, 2)),
    "olivetti": (data.faces, (400, 4_096)),
}


@pytest.mark.parametrize("name", LOADERS)
def test_a_missing_file_is_replaced_by_as_many_simulated_records_and_says_so(entries, name, tmp_path):
    load, shape = LOADERS[name]
    found, again = load(entries[name], None), load(entries[name], tmp_path)
    assert found.x.shape == shape and np.array_equal(found.x, again.x) and np.isfinite(found.x).all()
    assert "simulated" in found.source["data"] and found.source["substitute"].startswith("stands for")


@pytest.mark.parametrize("name", LOADERS)
def test_the_file_is_read_where_it_is(entries, name, shared_data):
    load, shape = LOADERS[name]
    found = load(entries[name], shared_data)
    assert found.x.shape[1] == shape[1] and "simulated" not in found.source["data"]
    assert found.source["substitute"] is None
    assert ("out of the paper's 1,256,384" in found.source["data"]) == (len(found.x) < shape[0])


def test_the_private_stroke_data_always_have_a_substitute(patients):
    assert patients.x.shape == (50_345, 100) and "stands for Stroke" in patients.source["substitute"]
    assert patients.x.mean(axis=0) == pytest.approx(np.zeros(100), abs=1e-9)
    assert np.all(np.diff(patients.x.std(axis=0)) <= 0)


def test_principal_components_are_those_of_a_full_decomposition():
    """Oracle: numpy's singular values of the dense, centred matrix."""
    x = datasets.patients()[:800]
    found = datasets.principal_scores(x, 10)
    dense = x.toarray()
    oracle = np.linalg.svd(dense - dense.mean(axis=0), compute_uv=False)[:10]
    assert np.linalg.norm(found, axis=0) == pytest.approx(oracle, rel=1e-3)
    assert np.abs(np.corrcoef(found.T) - np.eye(10)).max() < 1e-6


@pytest.mark.parametrize("scaling", data.SCALINGS)
def test_every_record_ends_in_the_unit_ball(scaling):
    records = data.Records(np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]]), 2.0, {})
    norms = np.linalg.norm(records.in_unit_ball(scaling), axis=1)
    assert norms == pytest.approx([1.0, 0.1 if scaling == data.LARGEST_NORM else 0.25, 0.0])


def test_one_record_moves_all_others_only_where_the_largest_norm_decides():
    x = np.random.default_rng(4).normal(size=(50, 3))
    other = x.copy()
    other[0] = 100.0
    before, after = (data.Records(a, 3.0, {}) for a in (x, other))
    assert np.array_equal(before.in_unit_ball(data.PUBLIC_RADIUS)[1:], after.in_unit_ball(data.PUBLIC_RADIUS)[1:])
    assert np.abs(before.in_unit_ball()[1:] - after.in_unit_ball()[1:]).max() > 0.5


@pytest.mark.parametrize(("figure", "shape"), [("fig2", (2000, 25)), ("fig3", (2000, 10)), ("fig5", (400, 256))])
def test_a_trial_takes_a_part_and_says_so(entries, patients, figure, shape):
    found = data.records_of(figure, entries, None, 2)
    assert found.x.shape == shape and "in this trial" in found.source["data"]
    whole = patients if figure == "fig2" else data.records_of(figure, entries, None, 10)
    assert "in this trial" not in whole.source["data"]


@pytest.mark.parametrize("times", marital.TIMES)
def test_as_many_people_as_the_paper_and_one_married(times):
    found = marital.people(times)
    assert len(found.place) == 104 * times and found.status[found.lone] == marital.MARRIED
    assert (found.status == marital.MARRIED).sum() == times
    assert marital.kilometres(found.place[found.lone], np.array(marital.LONE_STATE_AT)) < 120


def test_sums_and_em_are_means_and_covariances_of_the_classes():
    """Oracle: numpy per class."""
    found = marital.people(1)
    free = marital.released(found, math.inf, StudyNoise(1, "none"))
    for k in range(len(marital.STATUSES)):
        own = found.place[found.status == k]
        assert free.weights[k] == pytest.approx(len(own) / 104)
        assert free.means[k] == pytest.approx(own.mean(axis=0))
        assert free.covariances[k] == pytest.approx(np.cov(own.T, bias=True), abs=1e-4)


def test_the_mean_of_a_class_of_one_is_the_person_and_noise_hides_it():
    found = marital.people(1)
    free = marital.released(found, math.inf, StudyNoise(1, "none"))
    assert marital.kilometres(free.means[marital.MARRIED], found.place[found.lone]) < 1e-6
    private = marital.released(found, 4.0, StudyNoise(1, "some"))
    assert marital.kilometres(private.means[marital.MARRIED], found.place[found.lone]) > 100


def test_kilometres_are_those_of_the_sphere_near_by():
    """Oracle: the haversine formula."""
    a, b = np.radians([[7.6, 50.2], [8.4, 49.8]])
    h = np.sin((a[1] - b[1]) / 2) ** 2 + np.cos(a[1]) * np.cos(b[1]) * np.sin((a[0] - b[0]) / 2) ** 2
    oracle = 2 * 6371.0 * math.asin(math.sqrt(h))
    assert marital.kilometres(np.degrees(a), np.degrees(b)) == pytest.approx(oracle, rel=2e-3)


def test_tables_are_declared_and_repeat():
    (places, distances), (again, _) = marital.tabulate(3, seed=2), marital.tabulate(3, seed=2)
    as_arrow(PARK_MAP, places)
    as_arrow(PARK_DISTANCES, distances)
    as_arrow(PARK_DISTANCES, marital.tabulate(1, seed=2)[1])
    assert places.drop(columns="covariance").equals(again.drop(columns="covariance"))
    assert len(distances) == 2 * 2 * 4 and (places["kind"] == "lone person").sum() == 2
