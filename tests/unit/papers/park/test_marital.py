"""Fig. 1 of Park et al.: invented people, sums where classes are known, distances."""

import math

import numpy as np
import pytest

from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import as_arrow
from meterdp_papers.park import marital
from meterdp_papers.park.tables import CAPTIONS, LONE_CLASS, PARK_DISTANCES, PARK_MAP


@pytest.mark.parametrize("caption", CAPTIONS)
@pytest.mark.parametrize("times", marital.TIMES)
def test_as_many_people_as_the_paper_and_one_married_from_the_lone_state(caption, times):
    found = marital.people(caption, times)
    assert len(found.place) == 104 * times and found.status[found.lone] == marital.MARRIED
    near = marital.kilometres(found.place, np.array(marital.LONE_STATE_AT)) < 120
    assert (near & (found.status == marital.MARRIED)).sum() >= times
    if caption == LONE_CLASS:
        assert (found.status == marital.MARRIED).sum() == times


def test_sums_and_em_are_means_and_covariances_of_the_classes():
    """Oracle: numpy per class."""
    found = marital.people(CAPTIONS[1], 1)
    free = marital.released(found, math.inf, StudyNoise(1, "none"))
    for k in range(len(marital.STATUSES)):
        own = found.place[found.status == k]
        assert free.weights[k] == pytest.approx(len(own) / 104)
        assert free.means[k] == pytest.approx(own.mean(axis=0))
        assert free.covariances[k] == pytest.approx(np.cov(own.T, bias=True), abs=1e-4)


def test_the_mean_of_a_class_of_one_is_the_person_and_noise_hides_it():
    found = marital.people(LONE_CLASS, 1)
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
    assert len(distances) == 2 * 2 * 2 * 4 and (places["kind"] == "lone person").sum() == 4
