"""Groups kept over a budget period: what assignment and forecasts cost, on the grid of a release."""

import math

import numpy as np
import pytest

from meterdp.accounting.responses import delta_with_response
from meterdp.audit.cases.interface import Spy
from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.groupforecast.mechanism import CENTRE_SHARE, ForecastRecords, GroupForecast, KeptGroups
from meterdp.groupforecast.plan import GroupPublic, make_plan
from meterdp.privacy import gaussian
from meterdp.privacy.gaussian import delta_margin
from meterdp.privacy.noise import GRID, SafeNoise

N, STEPS = 1400, 12


def calibrate(epsilon=4.0, grid=GRID, groups="assigned", records=N, **others):
    return KeptGroups.calibrate(GroupPublic(epsilon, 1e-5, records, STEPS, 0.25, groups=groups, grid=grid, **others))


@pytest.fixture(scope="module")
def x():
    generator = np.random.default_rng(5)
    return -2.0 + 1.2 * generator.standard_normal((N, 1)) + 0.3 * generator.standard_normal((N, STEPS))


class Again(SafeNoise):
    """Hands recorded answers back."""

    def __init__(self, answers):
        self._answers = iter(answers)

    def add_gaussian(self, exact, std):
        return next(self._answers)

    def randomise(self, label, groups, assignment_epsilon):
        return next(self._answers)


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
def test_assignment_and_first_forecast_cost_what_is_stated_and_no_less(epsilon):
    """Oracle: sensitivities written out again, over the noise; the curve of both at epsilon."""
    kept = calibrate(epsilon)
    spent = []
    for plan in (kept.assignment_plan, kept.plan):
        radii = {"common": plan.common_radius, "groups": plan.group_radius}
        reach = {n: 2 * r * math.sqrt(STEPS) * (1 + 1e-9) + GRID * math.sqrt(STEPS) for n, r in radii.items()}
        spent += [reach[step.name] / step.noise_std for step in plan.measurements]
        assert math.hypot(*(reach[s.name] / s.noise_std for s in plan.measurements)) == pytest.approx(plan.mu)
    assert len(spent) == 3 and spent[0] ** 2 == pytest.approx(CENTRE_SHARE * math.hypot(*spent) ** 2)
    stated = delta_with_response(math.hypot(*spent), kept.plan.assignment_epsilon, kept.plan.groups, epsilon)
    margin = delta_margin(epsilon, 2 * kept.public.noise_entries, 2.0**25)
    assert 0.999e-5 < stated + margin <= 1e-5


@pytest.mark.parametrize("pair", ["across all groups", "inside a group", "no forecast"])
def test_a_neighbour_moves_sums_by_no_more_than_charged_and_its_own_label_only(x, pair):
    """Recorded answers are replayed on the neighbour: everything exact is on the grid and the result the same."""
    kept, other = calibrate(4.0), x.copy()
    other[7] = {"across all groups": -40.0, "inside a group": x[7] + 0.01, "no forecast": np.nan}[pair]
    first = Spy(SafeNoise())
    group = kept.assign(ForecastRecords(x), first)
    released = kept.forecast(ForecastRecords(x), group, first)
    again = Spy(Again(first.answers))
    assert np.array_equal(kept.assign(ForecastRecords(other), again), group)
    second = kept.forecast(ForecastRecords(other), group, again)
    assert np.array_equal(second.group_log_kwh, released.group_log_kwh)
    steps = [kept.assignment_plan.common, None, *kept.plan.measurements]
    for step, here, there in zip(steps, first.exact, again.exact, strict=True):
        if step is None:
            assert set(np.flatnonzero(here != there)) <= {7}
        else:
            assert np.array_equal(here / GRID, np.rint(here / GRID))
            assert 0 < np.linalg.norm(here - there) <= step.sensitivity


def test_a_kept_label_is_the_one_released_however_the_household_changes(x):
    kept = calibrate(8.0)
    group = kept.assign(ForecastRecords(x), SafeNoise())
    later = kept.forecast(ForecastRecords(x[::-1].copy()), group, SafeNoise())
    assert np.array_equal(later.group, group) and kept.plan.groups > 2


def test_one_group_and_circuits_need_no_assignment(x):
    circuit = tuple(i % 5 for i in range(N))
    for kept in (calibrate(0.2), calibrate(groups="one"), calibrate(groups="circuit", circuit=circuit)):
        assert kept.assignment_plan is None and kept.plan.assignment_epsilon == 0
        spy = Spy(SafeNoise())
        group = kept.assign(ForecastRecords(x), spy)
        assert not spy.answers and group.max() + 1 == kept.plan.groups
        assert kept.plan.mu == pytest.approx(gaussian.mu_for(kept.public.epsilon, 1e-5), rel=1e-6)


def test_the_grid_costs_nothing_that_matters(x):
    """The noise of a release is that of a study up to a millionth; a study's plan is the old one."""
    fine, study = calibrate(4.0), calibrate(4.0, grid=0.0)
    for here, there in zip(fine.plan.measurements, study.plan.measurements, strict=True):
        assert here.noise_std == pytest.approx(there.noise_std, rel=1e-6)
    assert fine.plan.total_variation(fine.public) < 1e-12 and study.plan.total_variation(study.public) == 0
    assert make_plan(study.public).mu == pytest.approx(study.plan.mu / math.sqrt(1 - CENTRE_SHARE))


def test_kept_groups_forecast_as_well_as_fresh_ones(x):
    """Mean squared error over 20 draws each, within a tenth."""
    study = calibrate(8.0, grid=0.0)
    fresh = GroupForecast.calibrate(study.public)
    noise, errors = StudyNoise(3, "kept"), {"kept": [], "fresh": []}
    for _ in range(20):
        group = study.assign(ForecastRecords(x), noise)
        released = study.forecast(ForecastRecords(x), group, noise)
        errors["kept"].append(((released.released_log_kwh - x) ** 2).mean())
        errors["fresh"].append(((fresh.release(ForecastRecords(x), noise).released_log_kwh - x) ** 2).mean())
    assert np.mean(errors["kept"]) < 1.1 * np.mean(errors["fresh"])


def test_noise_of_another_grid_is_refused(x):
    kept = calibrate(4.0)
    with pytest.raises(ValueError, match="another grid"):
        kept.assign(ForecastRecords(x), StudyNoise(1, "wrong"))
    with pytest.raises(ValueError, match="another grid"):
        calibrate(4.0, grid=0.0).forecast(ForecastRecords(x), np.zeros(N, int), SafeNoise())


@pytest.mark.parametrize("settings", [{"epsilon": 30.0}, {"epsilon": 1e-6}, {"records": 2**22}])
def test_what_does_not_fit_the_grid_is_refused_by_public_numbers(settings):
    with pytest.raises(InputError, match="for the discretisation grid"):
        calibrate(**settings)
