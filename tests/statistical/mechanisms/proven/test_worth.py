"""No absurd release: every mean hour within a factor of two of the real one, or refused before anything is charged.

A few releases of what ``benchmarks/worth.py`` does twenty times, on homes simulated with other parameters than those
of the library; study noise in place of safe noise, otherwise as a release does.
"""

from __future__ import annotations

import runpy
import sys

import numpy as np
import pytest

from meterdp.mechanisms.configured import public_settings
from meterdp.release.worth import worth_of
from tests.conftest import ROOT

FEW = 3


@pytest.fixture(scope="module")
def benchmark():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        yield runpy.run_path(str(ROOT / "benchmarks/worth.py"))
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


@pytest.fixture(scope="module")
def utilities(benchmark):
    return benchmark["simulated"](500)


@pytest.mark.parametrize(("households", "epsilon", "expected"), [(100, 1, True), (500, 1, False)])
def test_mean_hours_of_a_release_are_within_a_factor_of_two_or_it_is_refused(
    benchmark, utilities, households, epsilon, expected
):
    for energy in utilities.values():
        _, refused, mixture, synthetic = benchmark["judge"](energy[:households], epsilon, FEW)
        assert refused == expected
        assert refused or not (benchmark["absurd"](mixture) | benchmark["absurd"](synthetic)).any()


def test_the_expected_error_covers_what_happens(benchmark, utilities):
    """Mean over hours and releases of what mixtures miss, on utilities that the expectation was not made with."""
    config = benchmark["CONFIG"]
    public = public_settings(1, 1e-5, (500, 12), config["mechanisms"], config["mixture"], config["profiles"])
    worth = worth_of(public, config)
    missed = [np.abs(benchmark["judge"](energy, 1, FEW)[2] - 1).mean() for energy in utilities.values()]
    assert np.mean(missed) < worth.error_q95
    assert worth.error < worth.guess
