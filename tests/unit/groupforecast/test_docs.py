"""Numbers of docs/proofs/group_forecast.md, computed again."""

import math

import pytest
from scipy.special import ndtri

from meterdp.accounting.responses import epsilon_after, mu_beside
from meterdp.core.config import complete, load_schema
from meterdp.groupforecast.mechanism import KeptGroups, assignment_charge, group_public
from meterdp.groupforecast.plan import GroupPublic, make_plan
from meterdp.privacy import gaussian
from meterdp.privacy.charge import Charge, epsilon_of


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


def costs(config, meters, numbers):
    """What groups and so many forecasts of a budget period cost together, as a manifest states it."""
    kept = KeptGroups.calibrate(group_public(config, meters, None))
    forecast = Charge(kept.plan.mu, kept.plan.total_variation(kept.public))
    totals = [sum([forecast] * number, assignment_charge(kept)) for number in numbers]
    return kept.plan.groups, [math.ceil(100 * epsilon_of(total, 1e-5) - 1e-6) / 100 for total in totals]


def test_what_later_forecasts_cost_is_what_the_code_charges(repository):
    """With one group every month as much as the first: no page says that they cost little."""
    config = complete({}, load_schema(repository / "workflow/schemas/config.schema.yaml"))
    page = (repository / "docs/howto/epsilon.md").read_text()
    for meters in (100, 200, 500, 5000):
        groups, cost = costs(config, meters, (1, 2, 3, 12))
        cells = [f"{meters:,}", str(groups), *(f"{epsilon:.2f}" for epsilon in cost)]
        assert f"| {' | '.join(cells)} |" in page.splitlines()
    _, (once, twice) = costs(config, 100, (1, 2))
    assert once == 1 and twice == 1.47
    readme, described = (" ".join((repository / f).read_text().split()) for f in ("README.md", "config/README.md"))
    assert f"with one group two cost {twice}" in readme and "with one group as much as the first" in described
    for text in (page, readme, described, (repository / "docs/howto/publish.md").read_text()):
        assert "cost little" not in text


def test_the_comparison_with_gaussian_dp_is_what_the_code_computes(repository):
    text = " ".join((repository / "docs/proofs/group_forecast.md").read_text().split())
    mu = gaussian.mu_for(2.0, 1e-5)
    keep = 0.5 * math.erfc(-mu / 2 / math.sqrt(2))
    assert 2 * ndtri(keep) == pytest.approx(mu)
    assert f"leave μ = {mu:.2f} in all: a ≤ {math.log(keep / (1 - keep)):.2f}" in text
    assert f"allows a = 1.6 and still μ = {mu_beside(1.6, 2, 2.0, 1e-5):.3f} beside it" in text
