"""The ledger as a page: what it says is what the ledger says, with and without months to compare."""

import json
import re
from datetime import UTC, datetime

import numpy as np
import pytest

from meterdp.__main__ import main
from meterdp.core.log_scale import LogScale
from meterdp.privacy import gaussian
from meterdp.privacy import ledger_file as books
from meterdp.privacy.charge import Charge, epsilon_of, epsilon_text
from meterdp.privacy.guarantee import Limit, PrivacyBudget
from meterdp.privacy.ledger import Ledger, Request
from meterdp.release.show import Entry, Statement, statements
from meterdp.report import ledger as page
from tests.unit.release.charged import released

BUDGET = PrivacyBudget("one household", "replace_one", "made-up town", "2026")
DAYS = ("2026-01-01", "2026-01-28")
ENTRIES = [f"{h}:00 to {h + 1}:00" for h in (12, 13, 14)]


def mixture(level):
    means = [[level, level + 0.5, level], [level - 1, level, level]]
    return {"weights": [0.75, 0.25], "means": means, "covariances": [np.eye(3).tolist()] * 2, "entries": ENTRIES}


def release(ledger, month, level, budget=BUDGET, epsilon=0.5):
    words = {
        "artefact": "mixture",
        "mechanism": "sound",
        "public": {"epsilon": epsilon},
        "export": {"first_day": f"2026-{month:02d}-01", "last_day": f"2026-{month:02d}-28"},
    }
    request = Request(budget, words, Charge(gaussian.mu_for(epsilon, 1e-5)))
    released(ledger, request, Limit(4.0, 1e-5), lambda: {"mixture.json": json.dumps(mixture(level)).encode()})
    return request


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """Two months of one town on two days, and a request that was lost."""
    made = Ledger(tmp_path / "ledger.sqlite")
    days = iter(range(3, 28))

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2026, 3, next(days), 12, tzinfo=UTC)

    monkeypatch.setattr(books, "datetime", Clock)
    release(made, 1, -1.0)
    made.published(release(made, 2, -0.5))

    def fails():
        raise ArithmeticError

    words = {"artefact": "forecast_groups", "mechanism": "group_forecast"}
    with pytest.raises(ArithmeticError):
        released(made, Request(BUDGET, words, Charge(0.02), DAYS), Limit(4.0, 1e-5), fails)
    return made


def test_the_page_says_what_was_charged_and_compares_the_months(ledger, tmp_path):
    assert main(["ledger", "draw", str(ledger.path), "--to", str(tmp_path / "ledger.html")]) == 0
    text = (tmp_path / "ledger.html").read_text()
    cells = re.findall("<td>(.*?)</td>", text)
    (statement,) = statements(ledger.events(), {})
    for entry in statement.entries:
        assert epsilon_text(entry.epsilon) in cells and epsilon_text(entry.total_epsilon) in cells
    assert (
        "lost before it was stored" in cells
        and "published" in cells
        and "2026-01-01 to 2026-01-28, kept for the budget period" in cells
    )
    assert f"Spent by these: epsilon {epsilon_text(epsilon_of(statement.total, 1e-5))} at delta 1e-05" in text
    assert "2026-01-01 to 2026-01-28, epsilon 0.5" in cells and "75%" in cells and "13:00 to 14:00" in cells
    energy = np.exp(0.75 * np.array([-1, -0.5, -1]) + 0.25 * np.array([-2, -1, -1])).sum()
    assert f"{energy:.3g}" in cells and text.count("<figure><svg role=") == 2
    assert not re.search(r"(src|href)=.(?!data:|#)", text), "it asks for nothing"


def test_the_page_says_of_which_day_it_is_and_how_to_see_what_came_later(ledger, tmp_path):
    days = [f"{datetime.now(UTC):%Y-%m-%d}"]
    page.write_ledger_page(ledger, tmp_path / "ledger.html")
    days.append(f"{datetime.now(UTC):%Y-%m-%d}")
    text = (tmp_path / "ledger.html").read_text()
    assert re.search(r"was drawn on (\S+) \(UTC\)", text)[1] in days
    assert f"<code>meterdp ledger show {ledger.path}</code>" in text


def test_one_month_has_nothing_to_be_compared_with(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    release(ledger, 1, -1.0)
    page.write_ledger_page(ledger, tmp_path / "ledger.html")
    text = (tmp_path / "ledger.html").read_text()
    assert text.count("<figure><svg role=") == 1 and "Made-up town" in text
    assert "<td>mixture</td><td>–</td>" in text, "it has no list"
    listed = Request(BUDGET, {"artefact": "feeders"}, Charge(0.02), DAYS, [f"m{n}" for n in range(1234)])
    released(ledger, listed, Limit(4.0, 1e-5))
    page.write_ledger_page(ledger, tmp_path / "ledger.html")
    text = (tmp_path / "ledger.html").read_text()
    assert "<td>feeders</td><td>1,234</td>" in text and "the lowest limit is epsilon 4 at delta 1e-05" in text


def test_the_steps_are_those_of_the_statement(ledger, monkeypatch, tmp_path):
    """What is drawn, read back from the axes."""
    drawn = {}
    real = page.panels

    def spy(*arguments):
        drawn["axes"] = real(*arguments)
        return drawn["axes"]

    monkeypatch.setattr(page, "panels", spy)
    found = statements(ledger.events(), {})
    page.budget_over_time.plot(found, tmp_path / "budget.svg")
    (line, limit) = drawn["axes"][0].get_lines()
    wanted = [e.total_epsilon for e in found[0].entries]
    assert line.get_ydata().tolist() == [0, *wanted, wanted[-1]] and sorted(wanted) == wanted
    assert set(limit.get_ydata()) == {4.0}


def test_an_empty_and_a_broken_ledger(tmp_path, capsys):
    page.write_ledger_page(Ledger(tmp_path / "new.sqlite"), tmp_path / "new.html")
    assert "Nothing has been released" in (tmp_path / "new.html").read_text()
    (tmp_path / "text").write_text("no ledger " * 100)
    assert main(["ledger", "draw", str(tmp_path / "text"), "--to", str(tmp_path / "no.html")]) == 1
    assert "is not a ledger, or is damaged" in capsys.readouterr().err and not (tmp_path / "no.html").exists()


def test_the_page_never_takes_the_place_of_the_ledger(tmp_path, capsys):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.events()
    (tmp_path / "link").symlink_to(ledger.path)
    before = ledger.path.read_bytes()
    for to in (ledger.path, ledger.copy_path, tmp_path / "link"):
        assert main(["ledger", "draw", str(ledger.path), "--to", str(to)]) == 1
        assert "is the ledger or its copy" in capsys.readouterr().err
    assert ledger.path.read_bytes() == before and not ledger.copy_path.exists()


def test_typical_energy_is_that_of_the_scale_the_mixture_says():
    mixture = {"weights": [0.5, 0.5], "means": [[-1.0, 0.5], [-2.0, 0.1]]}
    mean = np.array([-1.5, 0.3])
    assert np.allclose(page.typical_energy(mixture), np.exp(mean)), "one from before there were other scales"
    for scale in (LogScale(0.01, 9.0), LogScale(-0.1, 9.0, offset_kwh=0.4), LogScale(-9.0, 9.0, scale_kwh=0.3)):
        assert np.allclose(page.typical_energy(mixture | {"log_scale": scale.stated}), scale.kwh(mean))


def test_a_curve_above_its_limit_is_drawn_whole_under_the_name_as_written(tmp_path, monkeypatch):
    """A limit that was lowered after more had been spent."""
    limit = {"epsilon": 1.0, "delta": 1e-5}
    event = {"at_utc": "2026-03-03T12:00:00", "cap": limit, "label": "Homes of Newtown"}
    entries = tuple(Entry(event, 1.0, total, "stored") for total in (1.0, 2.5))
    budget = PrivacyBudget("", "replace_one", "homes of newtown", "2026")
    drawn, real = [], page.panels
    monkeypatch.setattr(page, "panels", lambda *sizes: drawn.extend(real(*sizes)) or drawn)
    page.budget_over_time.plot([Statement(budget, entries, Charge(0.0))], tmp_path / "budget.svg")
    assert drawn[0].get_ylim()[1] > 2.5
    assert drawn[0].get_title(loc="left").startswith("Homes of Newtown, 2026:")
