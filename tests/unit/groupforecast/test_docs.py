"""Numbers of docs/proofs/group_forecast.md, computed again."""

import math

import pytest
from scipy.special import ndtri

from meterdp.accounting import gdp
from meterdp.accounting.gdp_with_response import epsilon_after, mu_beside
from meterdp.groupforecast.plan import GroupPublic, make_plan


def row(epsilon):
    plan = make_plan(GroupPublic(epsilon, 1e-5, 1400, 12, 0.25))
    known = plan.assignment_epsilon, plan.groups, 1e-5
    fresh = [epsilon_after(plan.mu, *known, releases) for releases in (7, 30)]
    kept = [epsilon_after(plan.mu * math.sqrt(releases), *known, 1) for releases in (7, 30)]
    cells = [f"{epsilon:g}", str(plan.groups), f"{plan.assignment_epsilon:.2f}", f"{plan.mu:.3f}"]
    return "| " + " | ".join(cells + [f"{e:.1f}" for e in fresh + kept]) + " |"


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 8.0])
def test_the_table_of_repeated_releases_is_what_the_code_computes(repository, epsilon):
    assert row(epsilon) in (repository / "docs/proofs/group_forecast.md").read_text().splitlines()


def test_the_comparison_with_gaussian_dp_is_what_the_code_computes(repository):
    text = " ".join((repository / "docs/proofs/group_forecast.md").read_text().split())
    mu = gdp.mu_for(2.0, 1e-5)
    keep = 0.5 * math.erfc(-mu / 2 / math.sqrt(2))
    assert 2 * ndtri(keep) == pytest.approx(mu)
    assert f"leave μ = {mu:.2f} in all: a ≤ {math.log(keep / (1 - keep)):.2f}" in text
    assert f"allows a = 1.6 and still μ = {mu_beside(1.6, 2, 2.0, 1e-5):.3f} beside it" in text
