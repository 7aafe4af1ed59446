"""The public rules: the budget is spent exactly, nothing but public numbers decides, start classes are feasible."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.mechanisms.proven import plan as sound_plan
from meterdp.mechanisms.proven.domain import spread_classes, start_classes
from meterdp.mechanisms.proven.plan import (
    ProvenSettings,
    default_classes,
    default_rounds,
    make_plan,
    noise_entries,
    step_entries,
)
from meterdp.privacy import gaussian


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
@pytest.mark.parametrize("rounds", [None, 1, 7])
@pytest.mark.parametrize(("n", "d", "epsilon"), [(1, 1, 0.01), (1409, 12, 2.0), (1_000_000, 48, 8.0)])
def test_steps_compose_to_exactly_the_budget(adjacency, rounds, n, d, epsilon):
    mu = gaussian.mu_for(epsilon, 1e-5)
    plan = make_plan(mu, n, d, 6, ProvenSettings(adjacency, records_guess=n, rounds=rounds))
    assert gaussian.compose(*(s.mu for s in plan.steps)) == pytest.approx(mu, rel=1e-12)
    assert all(s.noise_std > 0 for s in plan.steps)
    assert [s.name for s in plan.steps][-len(plan.rounds) :] == [f"round {t + 1}" for t in range(len(plan.rounds))]
    assert (plan.step("records") is None) == (adjacency == "replace_one"), "N is measured only where it is private"
    if rounds:
        assert len(plan.rounds) == rounds


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
@pytest.mark.parametrize("share", [0.0, 0.25, 0.9])
def test_marginals_take_their_share_and_the_mixture_is_planned_with_the_rest(adjacency, share):
    mu = gaussian.mu_for(2.0, 1e-5)
    plan = make_plan(mu, 1409, 12, 6, ProvenSettings(adjacency, records_guess=1409, marginal_share=share))
    mixture = make_plan(mu * np.sqrt(1 - share), 1409, 12, 6, ProvenSettings(adjacency, records_guess=1409))
    assert gaussian.compose(*(s.mu for s in plan.steps)) == pytest.approx(mu, rel=1e-12)
    assert plan.classes == mixture.classes
    if share == 0:
        assert plan == mixture
    else:
        assert plan.steps[:-1] == mixture.steps
        assert plan.steps[-1].name == "marginals" and plan.steps[-1].mu == pytest.approx(mu * np.sqrt(share))


def test_entries_of_every_step_are_within_those_the_grid_is_paid_for():
    settings = ProvenSettings(marginal_share=0.25)
    plan = make_plan(gaussian.mu_for(2.0, 1e-5), 1_000_000, 12, 6, settings)
    assert sum(step_entries(s, plan.classes, 12) for s in plan.steps) <= noise_entries(6, 12, settings)


def test_classes_and_rounds_follow_the_stated_rule():
    mu = gaussian.mu_for(2.0, 1e-5)
    small, large = (make_plan(mu, n, 12, 6, ProvenSettings()) for n in (1409, 10_000))
    assert (small.classes, len(small.rounds)) == (3, 3)
    assert (large.classes, len(large.rounds)) == (4, 9)
    assert make_plan(mu, 1409, 12, 2, ProvenSettings()).classes == 2, "the K of the settings is the upper limit"
    assert make_plan(mu, 1409, 12, 6, ProvenSettings(classes=5)).classes == 5
    signals = np.geomspace(0.01, 1e6, 50)
    classes = [default_classes(s, 50) for s in signals]
    assert classes == sorted(classes)
    assert min(classes) == 3
    assert all(1 <= default_rounds(s, 3) <= sound_plan.MOST_ROUNDS for s in signals)


def test_no_rule_takes_a_record():
    """The plan's only inputs are numbers of the configuration and (N, d)."""
    assert list(inspect.signature(make_plan).parameters) == ["mu", "records", "dimension", "most_classes", "settings"]
    kinds = ("int | None", "float", "PriorMixture | None", "Ball | None", "Prior | None", "Shares", "Directions")
    assert all(f.type in kinds or "Literal" in f.type for f in dataclasses.fields(ProvenSettings))


@pytest.mark.parametrize(
    ("starts", "k", "d"),
    [
        *((start_classes, k, 12) for k in (1, 2, 3, 5, 7, 13)),
        *((spread_classes, *kd) for kd in ((1, 3), (2, 1), (12, 4))),
    ],
)
def test_start_classes_are_feasible_and_spread_around_the_released_mean(starts, k, d):
    rng = np.random.default_rng(k)
    root = rng.normal(size=(4, d, d + 2)) + 0.5
    covariance = root @ root.transpose(0, 2, 1) / (d + 2)
    mean = rng.normal(size=(4, d))
    means, covariances = starts(mean, covariance, k)
    assert means.shape == (4, k, d)
    assert np.linalg.eigvalsh(covariances).min() > 0
    if k == 1:
        assert covariances[:, 0] == pytest.approx(covariance)
    if k == 1 or starts is spread_classes:
        assert means.mean(axis=1) == pytest.approx(mean)
    distinct = {(m.round(9).tobytes(), c.round(9).tobytes()) for m, c in zip(means[0], covariances[0], strict=True)}
    assert len(distinct) == k, "classes that start alike stay alike"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("adjacency", "label_flip"),
        ("records_guess", 0),
        ("classes", 0),
        ("rounds", 0),
        ("rounds", 1.5),
        ("level_log_kwh", np.nan),
        ("hour_correlation", 1.0),
        ("marginal_share", 1.0),
        ("marginal_share", -0.1),
    ],
)
def test_settings_outside_their_range_are_one_sentence_naming_the_field(field, value):
    with pytest.raises(InputError, match=f"field '{field}'"):
        ProvenSettings(**{field: value})


def test_under_add_remove_the_true_number_steers_nothing():
    """Oracle: the same plan for any N; and no plan without a public guess."""
    settings = ProvenSettings("add_remove", records_guess=2000)
    assert make_plan(0.5, 10, 12, 6, settings) == make_plan(0.5, 10**6, 12, 6, settings)
    with pytest.raises(InputError, match="field 'records_guess'"):
        ProvenSettings("add_remove")
