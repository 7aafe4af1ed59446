"""The mixture of a study: records, labels, and fits that can be made again from stored labels."""

import numpy as np
import pyarrow as pa
import pytest

from meterdp.errors import InputError
from meterdp.mixture.study import fit_from, start_labels
from meterdp.profiles.vector import Records


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


def test_the_fit_is_made_again_from_the_stored_start(records):
    start = start_labels(records, 3, seed=1)
    first, again = (fit_from(records, start) for _ in range(2))
    assert np.array_equal(first.mixture.covariances, again.mixture.covariances)
    assert np.array_equal(first.labels, again.labels)
    assert first.counts.tolist() == [59, 39, 20]


def test_too_few_valid_households_are_refused_without_saying_how_many(records):
    few = Records(records.household[:4], records.log_kwh[:4], np.array([True, False, False, True]))
    with pytest.raises(InputError, match="asks for 3 classes, but too few households have a valid profile") as caught:
        start_labels(few, 3, seed=1)
    assert "2" not in str(caught.value).replace("_", "")
