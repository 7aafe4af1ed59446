"""Public rules of the group forecast."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from meterdp.errors import InputError
from meterdp.groupforecast.mechanism import BINS
from meterdp.groupforecast.plan import (
    BOUNDS,
    CELL_SHARE,
    HOURS,
    SPREAD_EDGES,
    GroupPublic,
    best_bound,
    log_normal_bins,
    log_normal_excess,
    make_plan,
    prior_shape,
    shape_prior,
    spread_prior,
    worth_of,
)
from meterdp.privacy import gaussian
from meterdp.privacy.noise import GRID
from tests.unit.groupforecast.made_up import SHAPE, public


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0, 8.0, 60.0])
@pytest.mark.parametrize("count", [1, 10_000])
def test_every_plan_costs_what_it_may_and_no_more(epsilon, count):
    plan = make_plan(public(epsilon, count))
    spent = math.hypot(plan.levels.mu, plan.profile.mu)
    assert spent == pytest.approx(plan.mu, rel=1e-12)
    assert gaussian.delta(spent * (1 - 1e-12), epsilon) <= 1e-5
    assert gaussian.delta(spent * 1.001, epsilon) > 1e-5


def test_noise_is_the_diameter_over_mu():
    plan = make_plan(public(8.0))
    assert plan.levels.sensitivity == pytest.approx(math.sqrt(2), rel=1e-15)
    assert plan.profile.sensitivity == pytest.approx(1.0, rel=1e-15)


def test_a_release_on_the_grid_is_charged_for_every_entry():
    plain, fine = public(1.0, 500), public(1.0, 500, grid=GRID)
    plan = make_plan(fine)
    assert make_plan(plain).total_variation(plain) == 0
    entries = [(plan.levels, 18), (plan.profile, 1 + 48 + 24 * BINS)]
    expected = sum(n * gaussian.total_variation(q.noise_std / GRID) for q, n in entries)
    assert plan.total_variation(fine) == pytest.approx(expected, rel=1e-12) and expected > 0
    assert plan.mu < make_plan(plain).mu


def test_the_excess_of_a_log_normal_agrees_with_quadrature():
    for bound, std in ((1.0, 0.5), (4.0, 0.9), (30.0, 1.2)):
        density = stats.lognorm(std).pdf
        found = integrate.quad(lambda x, b=bound, f=density: (x - b) * f(x), bound, np.inf)[0]
        assert log_normal_excess(np.array(bound), std) == pytest.approx(found, rel=1e-6)


def test_the_bound_is_that_of_the_smallest_error():
    excess = log_normal_excess(BOUNDS, 0.9)
    errors = [(0.02 * b) ** 2 + e**2 for b, e in zip(BOUNDS, excess, strict=True)]
    assert best_bound(excess, 0.02) == int(np.argmin(errors))
    assert BOUNDS[best_bound(excess, 1e-12)] == BOUNDS[-1] and BOUNDS[best_bound(excess, 10.0)] == BOUNDS[0]


def test_priors_are_distributions():
    shape, (mean, covariance), (values, axes) = prior_shape(), spread_prior(), shape_prior()
    assert shape.shape == (HOURS,) and shape.mean() == pytest.approx(1, abs=0.01) and (shape > 0).all()
    assert mean.sum() == pytest.approx(1) and len(mean) == BINS
    assert np.linalg.eigvalsh(covariance).min() > 0
    # Trace of the weighted covariance: variance of both parts, over cells that share a week.
    assert values.sum() == pytest.approx((0.25**2 + 0.15**2) * CELL_SHARE.sum())
    assert np.allclose(axes @ axes.T, np.eye(48))
    bins = log_normal_bins(SPREAD_EDGES, 0.1, 0.7)
    assert bins == pytest.approx(np.diff(stats.norm(0.1, 0.7).cdf([-np.inf, *SPREAD_EDGES, np.inf])))


def test_more_households_or_budget_are_expected_to_be_worth_more_and_nothing_is_worse_than_its_prior():
    def worth(epsilon, count):
        at = public(epsilon, count)
        return worth_of(at, make_plan(at))

    for many in ([worth(1, n) for n in (50, 300, 1000, 10_000)], [worth(e, 500) for e in (0.2, 1, 4)]):
        for name in ("energy", "hour", "shape"):
            errors = [getattr(one, name) for one in many]
            assert errors == sorted(errors, reverse=True)
            assert len({getattr(one, f"guess_{name}") for one in many}) == 1
    assert worth(0.01, 50).shape < worth(0.01, 50).guess_shape
    assert worth(1, 10_000).energy < 0.03


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon", 0.0),
        ("epsilon", math.nan),
        ("delta", 1.0),
        ("records", 0),
        ("level_kwh", 0.0),
        ("high_kwh", 0.4),
        ("shape", SHAPE[:-1]),
        ("groups", "assigned"),
        ("circuit", (0, 1)),
    ],
)
def test_settings_outside_their_range_are_refused(field, value):
    values = {"epsilon": 1.0, "delta": 1e-5, "records": 10, "level_kwh": 0.5, "high_kwh": 20.0, "shape": SHAPE}
    with pytest.raises(InputError, match=field):
        GroupPublic(**values | {field: value}, **({"groups": "circuit"} if field == "circuit" else {}))
