"""The sound forecast: sums, assignment, post-processing and what it does with bad records."""

import json
import math

import numpy as np
import pytest

from meterdp.accounting.responses import delta_with_response
from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise, randomised_response
from meterdp.errors import InputError
from meterdp.groupforecast.mechanism import (
    ForecastRecords,
    GroupForecast,
    between_variance,
    group_sums,
    nearest,
)
from meterdp.groupforecast.plan import GroupPublic
from meterdp.publish.forecast_files import Intervals
from meterdp.release.study_forecasts import group_manifest

N, K = 300, 6


class NoNoise:
    """Zero noise and labels that are always kept."""

    grid = 0.0

    def add_gaussian(self, exact, std):
        return exact

    def randomise(self, label, groups, assignment_epsilon):
        return label


def calibrate(epsilon=8.0, groups="assigned", records=N, **others):
    return GroupForecast.calibrate(GroupPublic(epsilon, 1e-5, records, K, 0.25, groups=groups, **others))


@pytest.fixture
def x():
    generator = np.random.default_rng(3)
    level = math.log(0.5 * 0.25) + 1.2 * generator.standard_normal((N, 1))
    return level + 0.2 * generator.standard_normal((N, K))


def test_replacing_a_record_moves_a_sum_by_at_most_the_sensitivity():
    """Oracle: brute force over 3,000 pairs, nasty ones among them; opposite far records reach the bound."""
    generator, worst = np.random.default_rng(0), 0.0
    step = calibrate().plan.group
    radius = calibrate().plan.group_radius
    for trial in range(3000):
        z = generator.standard_normal((5, K)) * generator.choice([1e-9, 1.0, 1e9])
        other = z.copy()
        other[2] = -z[2] if trial % 3 == 0 else generator.standard_normal(K) * 10.0 ** generator.integers(-9, 9)
        group = generator.integers(0, 3, 5)
        change = np.linalg.norm(group_sums(z, group, 3, radius) - group_sums(other, group, 3, radius))
        worst = max(worst, change)
    assert worst <= step.sensitivity * (1 + 1e-12)
    assert worst == pytest.approx(step.sensitivity, rel=1e-9)


def test_sums_are_those_of_a_loop(x):
    group = np.arange(N) % 4
    expected = np.zeros((4, K))
    for row, g in zip(x, group, strict=True):
        expected[g] += row * min(1.0, 1.5 * math.sqrt(K) / np.linalg.norm(row))
    assert np.allclose(group_sums(x, group, 4, 1.5), expected, rtol=1e-12)


def test_assignment_looks_at_ones_own_record_only(x):
    centres = np.linspace(-2, 2, 5)[:, None]
    whole = nearest(x, centres)
    assert [nearest(x[i : i + 1], centres)[0] for i in range(20)] == whole[:20].tolist()


@pytest.mark.parametrize(("groups", "a"), [(2, 0.4), (5, 2.0), (3, 50.0)])
def test_randomised_response_covers_the_interval_in_the_right_parts(groups, a):
    """Oracle: lengths of the parts of [0, 1) that lead to each answer, on a grid."""
    uniform = (np.arange(200_000) + 0.5) / 200_000
    for label in range(groups):
        said = randomised_response(np.full(uniform.size, label), groups, a, uniform)
        odds = np.exp(a * (np.arange(groups) == label))
        assert np.bincount(said, minlength=groups) / uniform.size == pytest.approx(odds / odds.sum(), abs=2e-5)
    ends = np.array([0.0, np.nextafter(1.0, 0.0)])
    assert set(randomised_response(np.zeros(2, int), groups, a, ends)) <= set(range(groups))


def test_without_noise_a_group_forecast_is_near_its_households(x):
    released = calibrate().release(ForecastRecords(x), NoNoise())
    assert released.released_log_kwh.shape == (N, K)
    assert np.mean((released.released_log_kwh - x) ** 2) < 0.15 * np.var(x)
    assert np.array_equal(released.released_log_kwh, released.group_log_kwh[released.group])


def test_more_budget_gives_a_smaller_error(x):
    errors = []
    for epsilon in (0.5, 2.0, 4.0, 8.0):
        mechanism, noise = calibrate(epsilon), StudyNoise(1, epsilon)
        released = [mechanism.release(ForecastRecords(x), noise).released_log_kwh for _ in range(40)]
        errors.append(np.mean((np.array(released) - x) ** 2))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.25 * errors[0]


def test_one_group_forecasts_the_mean_of_all(x):
    released = calibrate(groups="one").release(ForecastRecords(x), NoNoise())
    assert (released.group == 0).all()
    assert released.group_log_kwh[0] == pytest.approx(x.mean(axis=0), abs=0.1)


def test_circuits_keep_their_households_and_differ_where_they_differ(x):
    circuit = tuple((np.arange(N) % 3).tolist())
    shifted = x + np.array([-1.0, 0.0, 1.0])[np.array(circuit), None]
    released = calibrate(groups="circuit", circuit=circuit).release(ForecastRecords(shifted), NoNoise())
    assert tuple(released.group) == circuit
    level = released.group_log_kwh.mean(axis=1)
    assert level[0] < level[1] - 0.4 < level[2] - 0.8


def test_noisy_circuits_fall_back_to_the_common_mean(x):
    """At a tiny epsilon a circuit of one must not follow its noise."""
    circuit = tuple([*range(9), *[9] * (N - 9)])
    mechanism = calibrate(0.1, "circuit", circuit=circuit)
    released = mechanism.release(ForecastRecords(x), StudyNoise(2)).group_log_kwh
    assert np.abs(released - released.mean(axis=0)).max() < 3.0


def test_variance_between_circuits_is_the_posterior_mean():
    """Oracle: quadrature on a grid 40 times finer, written out again."""
    level, noise = np.array([0.3, -0.5, 0.1, 0.9]), np.array([0.2, 0.1, 0.4, 0.05])
    std = np.linspace(0, 1.2, 1921)
    density = np.exp(-std / 0.2) * np.prod(
        np.exp(-0.5 * level**2 / (std[:, None] ** 2 + noise)) / np.sqrt(std[:, None] ** 2 + noise), axis=1
    )
    assert between_variance(level, noise) == pytest.approx(density @ std**2 / density.sum(), rel=0.05)
    assert between_variance(np.zeros(3), np.full(3, 100.0)) < 0.1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_household_without_a_forecast_counts_as_the_public_level(x, bad):
    mechanism, missing, level = calibrate(), x.copy(), x.copy()
    missing[7, 2], level[7] = bad, mechanism.public.centre_log_kwh
    one, two = (mechanism.release(ForecastRecords(v), StudyNoise(5)) for v in (missing, level))
    assert np.array_equal(one.released_log_kwh, two.released_log_kwh)


@pytest.mark.parametrize("value", [1e300, -1e300, 1e-300])
def test_wild_records_keep_the_release_finite(value):
    for groups in ("one", "assigned"):
        released = calibrate(groups=groups).release(ForecastRecords(np.full((N, K), value)), StudyNoise(6))
        assert np.isfinite(released.released_log_kwh).all()


@pytest.mark.parametrize("records", [1, 2, 3])
@pytest.mark.parametrize("groups", ["one", "assigned"])
def test_a_handful_of_households_is_served(records, groups):
    released = calibrate(groups=groups, records=records).release(
        ForecastRecords(np.full((records, K), -2.0)), StudyNoise(7)
    )
    assert np.isfinite(released.released_log_kwh).all()


def test_another_number_of_households_is_refused(x):
    with pytest.raises(InputError, match="public number of households"):
        calibrate().release(ForecastRecords(x[1:]), StudyNoise(8))


def test_guarantee_and_manifest_say_the_same_and_no_count_of_households():
    mechanism = calibrate(2.0, records=4321)
    stamps = np.datetime64("2025-11-02T08:00") + np.arange(K) * np.timedelta64(15, "m")
    manifest = group_manifest(mechanism, Intervals(stamps, 15, "Europe/Zurich", LogScale(0.0025, 25.0)))
    stated = mechanism.guarantee
    assert (stated.adjacency, stated.family, stated.epsilon, stated.delta) == ("replace_one", "sound", 2.0, 1e-5)
    assert manifest["privacy"]["epsilon"] == 2.0 and manifest["privacy"]["adjacency"] == "replace_one"
    assert manifest["guarantee"].startswith("not for release") and "(2, 1e-05)" in manifest["guarantee"]
    assert "4321" not in json.dumps(manifest)
    for releases, epsilon in manifest["privacy"]["epsilon_of_repeated_releases"].items():
        plan = mechanism.plan
        spent = [
            delta_with_response(plan.mu, plan.assignment_epsilon, plan.groups, e, int(releases))
            for e in (epsilon, epsilon - 0.01)
        ]
        assert spent[0] <= 1e-5 < spent[1]
    assert any("class-based" in line for line in manifest["privacy"]["does_not_hide"])
    assert manifest["time"]["first_interval_start_local"] == "2025-11-02T09:00:00+01:00"
