"""The households a study measures costs on: all of few, and of many a public number that no record chooses."""

import numpy as np

from meterdp.evaluation import sample
from meterdp.evaluation.sample import labelled_sample, study_sample
from meterdp.profiles.vector import Records


def records(count, seed=1):
    rng = np.random.default_rng(seed)
    own = rng.normal(np.repeat([[-2.0], [1.0]], count // 2, axis=0), 0.3, (count, 4))
    return Records(np.arange(count, dtype=np.int32), own, rng.random(count) < 0.9)


def test_few_households_are_all_taken_with_the_classes_of_the_study():
    of, labels = records(40), np.arange(36)
    assert study_sample(of) is of
    some, own = labelled_sample(of, labels, 2, 0, None)
    assert some is of and own is labels


def test_of_many_a_public_number_is_taken_whatever_they_read(monkeypatch):
    monkeypatch.setattr(sample, "MOST_HOUSEHOLDS", 30)
    one, other = records(200), records(200, seed=2)
    some, same = study_sample(one), study_sample(other)
    assert len(some.household) == 30 and np.array_equal(some.household, same.household)
    assert np.array_equal(some.log_kwh, one.log_kwh[some.household])
    assert np.array_equal(some.valid, one.valid[some.household])
    assert set(study_sample(records(400)).household) & set(range(200)) <= set(some.household)


def test_classes_of_a_sample_are_those_of_its_own_valid_records(monkeypatch):
    monkeypatch.setattr(sample, "MOST_HOUSEHOLDS", 50)
    of = records(200)
    some, labels = labelled_sample(of, np.ones(of.valid.sum(), np.int32), 2, 0, None)
    assert len(labels) == some.valid.sum() and set(labels) == {1, 2}
    high = some.log_kwh[some.valid].mean(axis=1) > -0.5
    assert len(set(zip(high, labels, strict=True))) == 2
