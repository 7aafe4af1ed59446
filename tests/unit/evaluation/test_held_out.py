"""Held-out log-likelihood: nobody is judged on households it has seen, and the numbers are plain averages."""

from __future__ import annotations

import numpy as np
import pytest

from meterdp.core.noise import StudyNoise
from meterdp.evaluation.cost import FOLDS, held_out_gap, split
from meterdp.mechanisms.interface import PrivateRecords, Released
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import fit_labels
from meterdp.mixture.kmeans import kmeans_labels
from tests.unit.mechanisms.made_up import FLOOR, households


def fit(x, k):
    return fit_labels(x, kmeans_labels(x, k, 0), FLOOR)


@pytest.fixture(scope="module")
def population():
    x = households(0, 300, 4, 3)
    valid = np.arange(300) % 10 > 0
    x[~valid] = -1.2
    return x, valid


class Oracle:
    """A 'mechanism' that releases a given mixture, or the fit itself."""

    def __init__(self, log, mixture=None):
        self.log, self.mixture = log, mixture

    def release(self, private, noise, draws):
        self.log.append(private)
        mixture = self.mixture or private.fit.mixture
        return Released(MixtureDraws.join([MixtureDraws.single(mixture)] * draws), np.zeros(draws, dtype=bool))


def test_folds_partition_the_export_and_tests_hold_valid_households_only(population):
    x, valid = population
    folds = split(x, valid, 3, fit, StudyNoise(1, "folds"))
    assert len(folds) == FOLDS
    assert sum(len(f.test) for f in folds) == valid.sum()
    tested = np.concatenate([f.test for f in folds])
    assert np.array_equal(np.sort(tested, axis=0), np.sort(x[valid], axis=0))
    for f in folds:
        assert len(f.train.x) in (239, 240, 241)
        seen = {row.tobytes() for row in f.fit_of(3).x}
        assert not any(row.tobytes() in seen for row in f.test)


def test_releasing_the_fit_itself_costs_nothing(population):
    folds = split(*population, 3, fit, StudyNoise(1, "folds"))
    log = []
    row = held_out_gap(folds, lambda n: Oracle(log), True, 3, StudyNoise(2, "noise"), 2)
    assert row["heldout_gap_mean"] == pytest.approx(0)
    assert row["heldout_gap_same_k_mean"] == pytest.approx(0)
    assert len(log) == FOLDS


def test_a_mechanism_without_labels_is_handed_all_records_and_judged_against_its_own_number_of_classes(population):
    folds = split(*population, 3, fit, StudyNoise(1, "folds"))
    one = fit(population[0], 1).mixture
    log, sizes = [], []

    def calibrate(n):
        sizes.append(n)
        return Oracle(log, one)

    row = held_out_gap(folds, calibrate, False, 3, StudyNoise(2, "noise"), 2)
    assert all(type(p) is PrivateRecords for p in log)
    assert sizes == [len(f.train.x) for f in folds]
    density = [multivariate(f.test, one) for f in folds]
    assert row["heldout_loglik_mean"] == pytest.approx(np.mean(density))
    single = [multivariate(f.test, f.fit_of(1).fit.mixture) for f in folds]
    assert row["heldout_gap_same_k_mean"] == pytest.approx(np.mean(np.subtract(single, density)))
    assert row["heldout_gap_mean"] != pytest.approx(row["heldout_gap_same_k_mean"])


def multivariate(x, mixture):
    """Mean log density of a one-class mixture, written out."""
    z = x - mixture.means[0]
    form = np.einsum("ni,ij,nj->n", z, np.linalg.inv(mixture.covariances[0]), z)
    return (-0.5 * (form + np.linalg.slogdet(2 * np.pi * mixture.covariances[0])[1])).mean()


def test_too_few_households_give_no_number_instead_of_a_wrong_one():
    x = households(0, 20, 4, 3)
    folds = split(x, np.ones(20, dtype=bool), 6, fit, StudyNoise(1, "folds"))
    assert folds == []
    row = held_out_gap(folds, lambda n: None, False, 6, StudyNoise(2, "noise"), 2)
    assert all(np.isnan(v) for v in row.values())
