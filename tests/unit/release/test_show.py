"""The ledger in words: every charge, lost ones included, and what they cost together."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from meterdp.__main__ import main
from meterdp.privacy import gaussian
from meterdp.privacy.charge import Charge
from meterdp.privacy.guarantee import Limit, PrivacyBudget
from meterdp.privacy.ledger import Ledger, Request
from meterdp.release import show
from tests.unit.release.charged import released

BUDGET = PrivacyBudget("one household", "replace_one", "made-up town", "2026")
LIMIT = Limit(5.0, 1e-5)


def request(epsilon, budget=BUDGET):
    words = {"artefact": "mixture", "mechanism": "sound", "epsilon": epsilon}
    return Request(budget, words, Charge(gaussian.mu_for(epsilon, 1e-5), 1e-15))


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0, 9.0])
@pytest.mark.parametrize("total_variation", [0.0, 1e-14])
def test_epsilon_of_a_charge_is_where_its_curve_meets_delta(epsilon, total_variation):
    charge = Charge(gaussian.mu_for(epsilon, 1e-5), total_variation)
    found = show.epsilon_of(charge, 1e-5)
    assert found == pytest.approx(epsilon, rel=1e-4) and charge.delta(found * (1 + 1e-6)) <= 1e-5 * (1 + 1e-4)


def test_what_nothing_can_state_is_infinite():
    assert show.epsilon_of(Charge(0.0), 1e-5) == 0 and show.epsilon_of(Charge(1.0, 0.1), 1e-5) == np.inf


def test_charges_lost_attempts_and_totals_are_listed(tmp_path, capsys):
    ledger = Ledger(tmp_path / "ledger.sqlite")

    def fails():
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        released(ledger, request(1.0), LIMIT, fails)
    released(ledger, request(1.0), LIMIT, lambda: {"a": b"x"})
    ledger.published(request(1.0))
    other = PrivacyBudget("one household", "replace_one", "another town", "2026")
    released(ledger, request(0.5, other), LIMIT, lambda: {"a": b"y"})
    assert main(["ledger", "show", str(ledger.path)]) == 0
    text = capsys.readouterr().out
    assert (
        text.count("lost before it was stored") == 1 and text.count("published") == 1 and text.count(", stored") == 1
    )
    both = show.epsilon_of(Charge(np.sqrt(2) * gaussian.mu_for(1.0, 1e-5), 2e-15), 1e-5)
    assert f"spent in all: epsilon {both:.3g} at delta 1e-05" in text and text.count("spent in all") == 2


def test_no_ledger_an_empty_and_a_broken_one(tmp_path, capsys):
    assert main(["ledger", "show", str(tmp_path / "new.sqlite")]) == 1
    assert "is not there; give the path" in capsys.readouterr().err and not list(tmp_path.iterdir())
    assert show.sentence(Ledger(tmp_path / "new.sqlite")) == "Nothing has been released.\n"
    (tmp_path / "text").write_text("no ledger " * 100)
    assert main(["ledger", "show", str(tmp_path / "text")]) == 1 and "ledger" in capsys.readouterr().err


def test_a_database_of_another_program_is_left_alone(tmp_path, capsys):
    path = tmp_path / "other 100%.sqlite"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE events (number INTEGER)")
    path.chmod(0o644)
    before = path.read_bytes(), path.stat().st_mode
    assert main(["ledger", "show", str(path)]) == 1 and "is not a ledger" in capsys.readouterr().err
    assert (path.read_bytes(), path.stat().st_mode) == before and list(tmp_path.iterdir()) == [path]
