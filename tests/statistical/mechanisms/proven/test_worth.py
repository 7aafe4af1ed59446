"""No absurd release: every mean hour within a factor of two of the real one, or refused before anything is charged.

A few releases of what ``benchmarks/worth.py`` does twenty times, on homes simulated with other parameters than those
of the library; study noise in place of safe noise, otherwise as a release does.
"""

from __future__ import annotations

import runpy
import sys

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.mechanisms.configured import public_settings
from meterdp.release.worth import check_worth, worth_of
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
def judged(benchmark):
    """Whether it is refused, and mean hours of mixtures and profiles over the real ones, of a few releases of 500
    homes.

    For each utility; the expectation was made with none of them.
    """
    return [benchmark["judge"](energy, 1, FEW)[1:] for energy in benchmark["simulated"](500).values()]


def public_of(benchmark, households):
    config = benchmark["CONFIG"]
    return public_settings(1, 1e-5, (households, 12), config["mechanisms"], config["mixture"], config["profiles"])


def test_a_release_of_too_few_homes_is_refused_whatever_they_use(benchmark):
    with pytest.raises(InputError):
        check_worth(public_of(benchmark, 100), benchmark["CONFIG"])


def test_mean_hours_of_a_release_are_within_a_factor_of_two(benchmark, judged):
    for refused, mixture, synthetic in judged:
        assert not refused
        assert not (benchmark["absurd"](mixture) | benchmark["absurd"](synthetic)).any()


def test_the_expected_error_covers_what_happens(benchmark, judged):
    """Mean over hours and releases of what mixtures miss."""
    worth = worth_of(public_of(benchmark, 500), benchmark["CONFIG"])
    assert np.mean([np.abs(mixture - 1).mean() for _, mixture, _ in judged]) < worth.error_q95
    assert worth.error < worth.guess
