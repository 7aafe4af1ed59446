"""Public rules of the sound forecast."""

import math

import numpy as np
import pytest

from meterdp.accounting.responses import delta_with_response
from meterdp.errors import InputError
from meterdp.groupforecast.plan import (
    LEVEL_STD,
    GroupPublic,
    assigned_levels,
    make_plan,
    normal_groups,
    predicted_error,
    response,
)


def public(epsilon=2.0, records=400, groups="assigned", **others):
    return GroupPublic(epsilon, 1e-5, records, 12, 0.25, groups=groups, **others)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0, 8.0, 60.0])
@pytest.mark.parametrize("records", [1, 2, 100, 10_000])
def test_every_plan_costs_what_it_may_and_no_more(epsilon, records):
    plan = make_plan(public(epsilon, records))
    spent = math.sqrt(sum(step.mu**2 for step in plan.measurements))
    assert spent == pytest.approx(plan.mu, rel=1e-12)
    assert delta_with_response(spent * (1 - 1e-12), plan.assignment_epsilon, plan.groups, epsilon) <= 1e-5
    assert 1 <= plan.groups <= min(12, records)
    assert (plan.groups == 1) == (plan.group is None) == (plan.assignment_epsilon == 0)


@pytest.mark.parametrize("step", ["common", "group"])
def test_noise_is_the_diameter_of_the_ball_over_mu(step):
    plan = make_plan(public(8.0))
    radius = {"common": plan.common_radius, "group": plan.group_radius}[step]
    assert getattr(plan, step).sensitivity == pytest.approx(2 * radius * math.sqrt(12), rel=1e-15)


def test_more_budget_takes_more_groups_and_predicts_less_error():
    plans = [(e, make_plan(public(e, 1400))) for e in (0.1, 0.5, 1, 2, 4, 8)]
    groups = [plan.groups for _, plan in plans]
    errors = [predicted_error(public(e, 1400), plan) for e, plan in plans]
    assert groups == sorted(groups) and groups[0] == 1 and groups[-1] >= 8
    assert errors == sorted(errors, reverse=True)


def test_one_group_and_circuits_take_no_assignment():
    one = make_plan(public(4.0, groups="one"))
    circuit = make_plan(public(4.0, records=6, groups="circuit", circuit=(0, 0, 1, 2, 2, 1)))
    assert (one.groups, one.assignment_epsilon, one.group) == (1, 0.0, None)
    assert (circuit.groups, circuit.assignment_epsilon, circuit.common) == (3, 0.0, None)
    assert one.mu == circuit.mu


def test_groups_of_the_normal_distribution_are_those_of_max_1960():
    """Oracle: the half-normal mean for 2 levels, his table for 3 and 4."""
    assert normal_groups(1)[0] == pytest.approx([0.0], abs=1e-12)
    assert normal_groups(2)[0] == pytest.approx(np.array([-1, 1]) * math.sqrt(2 / math.pi), rel=1e-12)
    assert normal_groups(3)[0] == pytest.approx([-1.224, 0.0, 1.224], abs=1e-3)
    assert normal_groups(4)[0] == pytest.approx([-1.510, -0.4528, 0.4528, 1.510], abs=1e-3)
    assert normal_groups(12)[1].sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(("groups", "a"), [(2, 0.5), (3, 2.0), (6, 5.0)])
def test_assigned_levels_agree_with_simulation(groups, a):
    """Oracle: 10^6 normal levels, assigned at random. Five standard errors of a level, twelve comparisons: < 1e-5,
    and the seed is fixed."""
    generator = np.random.default_rng(1)
    x = generator.standard_normal(1_000_000)
    centres, _ = normal_groups(groups)
    label = np.abs(x[:, None] - centres).argmin(axis=1)
    odds = np.where(np.arange(groups) == label[:, None], np.exp(a), 1.0)
    edges = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    said = (generator.random((x.size, 1)) > edges[:, :-1]).sum(axis=1)
    level, share = assigned_levels(groups, a)
    for j in range(groups):
        mine = x[said == j]
        assert level[j] == pytest.approx(mine.mean(), abs=5 * mine.std() / np.sqrt(mine.size))
        assert share[j] == pytest.approx(mine.size / x.size, abs=5 * np.sqrt(share[j] / x.size))


def test_a_clipped_mean_follows_an_offset_as_the_response_says():
    """Oracle: the derivative of E[clip(Z + b)] by quadrature on a fine grid."""
    z = np.linspace(-12, 12, 400_001)
    weight = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    for radius in (0.3, 1.0, 2.5):
        up, down = (weight @ np.clip(LEVEL_STD * z + b, -radius, radius) for b in (1e-3, -1e-3))
        assert response(radius, LEVEL_STD) == pytest.approx((up - down) / 2e-3, rel=1e-4)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon", 0.0),
        ("epsilon", math.nan),
        ("delta", 1.0),
        ("records", 0),
        ("steps", 0),
        ("interval_hours", 0.0),
        ("level_log_kwh", math.inf),
        ("groups", "street"),
        ("most_groups", 0),
        ("circuit", (0, 1)),
    ],
)
def test_settings_outside_their_range_are_refused(field, value):
    values = {"epsilon": 1.0, "delta": 1e-5, "records": 10, "steps": 12, "interval_hours": 0.25, field: value}
    with pytest.raises(InputError, match=field):
        GroupPublic(**values, **({"groups": "circuit"} if field == "circuit" else {}))
