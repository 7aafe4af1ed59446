"""Types, circuits and ids: right proportions in every run, and the same household whatever the size of the run."""

from __future__ import annotations

import numpy as np
import pytest

from meterdp.simulate.fleet import Fleet, type_sequence

TABLE_I = [687, 428, 102, 147, 14, 31]


def test_a_full_run_has_exactly_the_numbers_of_table_i():
    assert np.bincount(type_sequence(TABLE_I, sum(TABLE_I))).tolist() == TABLE_I


def test_every_shorter_run_keeps_the_proportions_to_within_one_household():
    sequence = type_sequence(TABLE_I, sum(TABLE_I))
    given = np.cumsum(np.eye(len(TABLE_I))[sequence], axis=0)
    wanted = np.arange(1, len(sequence) + 1)[:, None] * np.array(TABLE_I) / sum(TABLE_I)
    assert np.abs(given - wanted).max() < 1


@pytest.mark.parametrize("count", [1, 10, 57])
def test_a_longer_run_begins_with_the_shorter_one(count):
    assert np.array_equal(type_sequence(TABLE_I, count), type_sequence(TABLE_I, 300)[:count])


def test_a_household_keeps_circuit_and_id_in_a_longer_run(parameters):
    small, large = (Fleet(parameters.household_types, n, 12, 3) for n in (20, 500))
    for i in range(20):
        assert small.circuit(i) == large.circuit(i) and small.meter_id(i) == large.meter_id(i)


def test_ids_are_unique_ordered_and_say_that_they_are_synthetic(parameters):
    ids = [Fleet(parameters.household_types, 10_001, 12, 3).meter_id(i) for i in range(10_001)]
    assert ids == sorted(set(ids))
    assert all(meter_id.startswith("SYN-") for meter_id in ids)


def test_every_circuit_has_homes_and_rare_types_are_on_few_circuits(parameters):
    fleet = Fleet(parameters.household_types, parameters.households, 12, 3)
    circuit = np.array([fleet.circuit(i) for i in range(fleet.count)])
    gas, agricultural = (circuit[fleet.type_index == t] for t in (0, 4))
    assert set(gas) == set(range(12))
    assert len(set(agricultural)) <= 7


def test_one_circuit_takes_all(parameters):
    fleet = Fleet(parameters.household_types, 30, 1, 3)
    assert {fleet.circuit_name(i) for i in range(30)} == {"C01"}
