"""What an attacker can learn at most: bounds against attacks whose success is computed by other means."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import ndtr, ndtri

from meterdp.privacy.charge import Charge, epsilon_of
from meterdp.publish.odds import ATTACKS, FOLDER, INFORMED, Bounds, tried
from tools import make_attacks


def best_of_a_linear_program(epsilon, delta, choices, answers=4):
    """Oracle: the largest mean probability of a right answer over all mechanisms with a finite number of outputs.

    Output z names the set z modulo their number; more outputs than sets give the mechanism room. (epsilon, delta) is
    kept by slacks: P_i(z) <= e^epsilon P_j(z) + s_ij(z), of which the sum over z is at most delta.
    """
    n, m = answers * choices, choices
    pairs = list(itertools.permutations(range(m), 2))
    size = m * n + len(pairs) * n
    right = np.zeros(size)
    for i in range(m):
        right[i * n + np.arange(n)[np.arange(n) % m == i]] = -1 / m
    upper, most = [], []
    for number, (i, j) in enumerate(pairs):
        for z in range(n):
            row = np.zeros(size)
            row[i * n + z], row[j * n + z], row[m * n + number * n + z] = 1, -math.exp(epsilon), -1
            upper.append(row)
            most.append(0.0)
        row = np.zeros(size)
        row[m * n + number * n : m * n + (number + 1) * n] = 1
        upper.append(row)
        most.append(delta)
    sums = np.zeros((m, size))
    for i in range(m):
        sums[i, i * n : (i + 1) * n] = 1
    return -linprog(right, np.array(upper), most, sums, np.ones(m), (0, None)).fun


@pytest.mark.parametrize(("epsilon", "delta", "choices"), [(1, 1e-5, 2), (0.5, 0.05, 3), (2, 0.01, 4), (0.1, 0.2, 2)])
def test_naming_one_of_some_sets_is_the_optimum_of_a_linear_program(epsilon, delta, choices):
    bound = Bounds(((epsilon, delta),)).naming(choices)
    assert bound == pytest.approx(best_of_a_linear_program(epsilon, delta, choices), abs=1e-9)


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.97])
def test_a_reconstruction_succeeds_no_more_than_the_most_powerful_test(share):
    """Oracle: Neyman and Pearson's power at a level, the largest beta with beta <= e^eps alpha + delta both ways."""
    epsilon, delta = 1.3, 0.002
    bound = Bounds(((epsilon, delta),)).hitting(share)
    grid = np.linspace(0, 1, 1_000_001)
    allowed = (grid <= math.exp(epsilon) * share + delta) & (1 - share <= math.exp(epsilon) * (1 - grid) + delta)
    assert bound == pytest.approx(grid[allowed].max(), abs=2e-6)


def test_the_whole_curve_of_gaussian_noise_gives_what_is_known_of_it():
    """Oracles: 2 sets, Phi(mu / 2); a prior of kappa, Phi(Phi^-1(kappa) + mu) (Dong, Roth and Su; Kaissis et al.)."""
    loss = {"mu": 0.9, "total_variation": 0.0}
    privacy = {"epsilon": epsilon_of(Charge(0.9), 1e-5), "delta": 1e-5, "loss": loss}
    exact = Bounds.exact(json.loads(json.dumps(privacy)))
    assert exact.naming(2) == pytest.approx(ndtr(0.45), abs=1e-9)
    for share in (0.001, 0.01, 0.3):
        assert exact.hitting(share) == pytest.approx(ndtr(ndtri(share) + 0.9), rel=2e-3)
        assert exact.hitting(share) >= ndtr(ndtri(share) + 0.9) - 1e-12
    assert Bounds.stated(privacy).naming(2) > exact.naming(2) and Bounds.exact(privacy | {"loss": loss}) == exact
    assert Bounds.exact({"epsilon": 1, "delta": 1e-5}) is None, "of an earlier version"


def test_several_meters_are_protected_by_as_many_times_epsilon():
    """Oracle: three times the mu of Gaussian noise is within the bound, and pure epsilon adds up."""
    assert Bounds(((1.0, 0.0),)).of_meters(3) == Bounds(((3.0, 0.0),))
    pairs = tuple((e, Charge(0.4).delta(e)) for e in np.linspace(0, 2, 50))
    three, known = Bounds(pairs).of_meters(3).naming(2), ndtr(0.6)
    assert known <= three < known + 0.02
    privacy = {"epsilon": epsilon_of(Charge(0.4), 1e-5), "delta": 1e-5, "loss": {"mu": 0.4, "total_variation": 0.0}}
    assert Bounds.exact(privacy, 3).naming(2) == pytest.approx(known, abs=1e-6)


def test_a_huge_epsilon_promises_nothing():
    bounds = Bounds.stated({"epsilon": 1e5, "delta": 1e-5})
    assert bounds.naming(2) == bounds.hitting(0.5) == bounds.of_meters(3).naming(10) == 1.0


@pytest.mark.parametrize("kind", ["mixture", "households", "forecasts", "feeders"])
def test_measured_attacks_stay_below_their_bounds_and_the_next_larger_epsilon_is_quoted(kind):
    for epsilon in (0.25, 1.0, 4.0):
        for meters in (100, 400):
            found = tried(kind, epsilon, meters)
            bounds = found.bounds
            assert epsilon_of(Charge(found.mu), found.delta) == pytest.approx(epsilon, rel=1e-6)
            assert (found.epsilon, found.meters) == (epsilon, meters) and found.trials >= 100
            assert set(found.right) == set(itertools.product((INFORMED, FOLDER), ATTACKS))
            for (_, attack), (right, low, high) in found.right.items():
                assert low <= right <= high
                assert low <= bounds.naming(10 if attack == "reconstruction" else 2)
    for epsilon, quoted in ((0.01, 0.25), (0.26, 1.0), (1.01, 4.0), (2.0, 4.0), (40.0, 4.0)):
        assert tried(kind, epsilon, 90_000).epsilon == quoted, "never a smaller one, if there is a larger one"
    assert (tried(kind, 1.5, 90_000).meters, tried(kind, 1.5, 60).meters) == (400, 100)
    assert tried("something else", 1.0, 100) is None


def test_the_tool_still_attacks_every_kind_of_release(monkeypatch):
    """Its table is made by hand, so that nothing else notices when a mechanism is called in another way."""
    monkeypatch.setattr(make_attacks, "POOL", 30)
    monkeypatch.setattr(make_attacks, "TRIALS", 2)
    for kind, pool in make_attacks.pools().items():
        rows = make_attacks.rows(kind, 4.0, 60, *pool)
        assert [(*row[:3], *row[5:7]) for row in rows] == [
            (kind, 4.0, 60, attacker, attack) for attacker in (INFORMED, FOLDER) for attack in ATTACKS
        ]
        assert all(row[3] == 1e-5 and epsilon_of(Charge(row[4]), 1e-5) == pytest.approx(4.0) for row in rows)
        assert all(0 <= row[7] <= 1 and row[-1] == 2 for row in rows)
