"""The mixture of a study: records, labels, and fits that can be made again from stored labels."""

import numpy as np
import pyarrow as pa
import pytest

from meterdp.core.errors import InputError
from meterdp.mixture.draws import Mixture
from meterdp.mixture.study import Records, fit_from, match_components, mixtures_by_mechanism, start_labels

SETTINGS = {"classes": 3, "fit": "labels", "eigenvalue_floor": 1e-3}


@pytest.fixture
def records():
    generator = np.random.default_rng(4)
    centres = np.repeat([[-2.0, -1.0], [0.0, 0.5], [2.0, 1.0]], [60, 40, 20], axis=0)
    x = centres + 0.2 * generator.standard_normal(centres.shape)
    valid = np.ones(120, bool)
    valid[[3, 70]] = False
    x[~valid] = np.log(0.5)
    return Records(np.arange(120, dtype=np.int32), x, valid)


def test_records_come_from_the_profile_table_in_order(records):
    table = pa.table(
        {"household": records.household, "valid": records.valid, "log_kwh": pa.array(list(records.log_kwh))}
    )
    back = Records.from_table(pa.concat_tables([table.slice(0, 50), table.slice(50)]))
    assert np.array_equal(back.log_kwh, records.log_kwh) and np.array_equal(back.valid, records.valid)


@pytest.mark.parametrize("fit", ["labels", "em"])
def test_the_fit_is_made_again_from_the_stored_start(records, fit):
    start = start_labels(records, 3, seed=1)
    first, again = (fit_from(records, start, {**SETTINGS, "fit": fit}) for _ in range(2))
    assert np.array_equal(first.mixture.covariances, again.mixture.covariances)
    assert np.array_equal(first.labels, again.labels)
    assert first.counts.tolist() == [59, 39, 20]


def test_too_few_valid_households_are_refused_without_saying_how_many(records):
    few = Records(records.household[:4], records.log_kwh[:4], np.array([True, False, False, True]))
    with pytest.raises(InputError, match="asks for 3 classes and too few households have a valid profile") as caught:
        start_labels(few, 3, seed=1)
    assert "2" not in str(caught.value).replace("_", "")


def test_components_of_a_sound_release_are_matched_for_display(records):
    mixture = fit_from(records, start_labels(records, 3, seed=1), SETTINGS).mixture
    order = [2, 0, 1]
    shuffled = Mixture(mixture.weights[order], mixture.means[order] + 0.05, mixture.covariances[order])
    matched = match_components(shuffled, mixture)
    assert np.allclose(matched.means, mixture.means + 0.05) and np.allclose(matched.weights, mixture.weights)

    def rows(name, family, released):
        k = released.classes
        return {
            "mechanism": [name] * k,
            "family": [family] * k,
            "epsilon": [2.0] * k,
            "component": list(range(1, k + 1)),
            "weight": released.weights,
            "mean_log_kwh": list(released.means),
            "covariance": [c.ravel() for c in released.covariances],
        }

    tables = [pa.table(rows("sound", "sound", shuffled)), pa.table(rows("iid_laplace", "published", shuffled))]
    shown = mixtures_by_mechanism(pa.concat_tables(tables), 2.0, mixture)
    assert np.allclose(shown["sound"].covariances, mixture.covariances)
    assert np.allclose(shown["iid_laplace"].means, shuffled.means)
    assert mixtures_by_mechanism(pa.concat_tables(tables), 4.0, mixture) == {}
