"""The budget over time: no part of the curve is outside its panel, and people are named as they were written."""

from meterdp.privacy.charge import Charge
from meterdp.privacy.guarantee import PrivacyBudget
from meterdp.release.show import Entry, Statement
from meterdp.report import ledger as page


def test_a_curve_above_its_limit_is_drawn_whole_under_the_name_as_written(tmp_path, monkeypatch):
    """A limit that was lowered after more had been spent."""
    limit = {"epsilon": 1.0, "delta": 1e-5}
    event = {"at_utc": "2026-03-03T12:00:00", "cap": limit, "label": "Homes of Newtown"}
    entries = tuple(Entry(event, 1.0, total, "stored") for total in (1.0, 2.5))
    budget = PrivacyBudget("", "replace_one", "homes of newtown", "2026")
    drawn, real = [], page.panels
    monkeypatch.setattr(page, "panels", lambda *sizes: drawn.extend(real(*sizes)) or drawn)
    page.budget_over_time([Statement(budget, entries, Charge(0.0))], tmp_path / "budget.svg")
    assert drawn[0].get_ylim()[1] > 2.5
    assert drawn[0].get_title(loc="left").startswith("Homes of Newtown, 2026:")
