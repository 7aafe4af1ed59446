"""The ledger in words: every charge, lost ones included, and what they cost together."""

import re
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from meterdp.__main__ import main
from meterdp.privacy import gaussian
from meterdp.privacy.charge import Charge, epsilon_text
from meterdp.privacy.guarantee import Limit, PrivacyBudget
from meterdp.privacy.ledger import Ledger, Request
from meterdp.privacy.spent import STORED
from meterdp.release import show
from meterdp.report.ledger import write_ledger_page
from tests.unit.release.charged import never, released, stopped

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
        text.count("lost before it was stored") == 1
        and text.count(", published\n") == 1
        and text.count(", stored") == 1
    )
    both = show.epsilon_of(Charge(np.sqrt(2) * gaussian.mu_for(1.0, 1e-5), 2e-15), 1e-5)
    assert (
        f"spent by these: epsilon {epsilon_text(both)} at delta 1e-05" in text and text.count("spent by these") == 2
    )
    room = Charge(
        np.sqrt(
            gaussian.mu_for(5.0, 1e-5) ** 2 - 2 * gaussian.mu_for(1.0, 1e-5) ** 2 - gaussian.mu_for(0.5, 1e-5) ** 2
        )
    )
    said = re.search(
        r"In '2026' no meter has spent more than .*; one more release of epsilon ([\d.]+) would fit", text
    )
    assert float(said[1]) == pytest.approx(show.epsilon_of(room, 1e-5), abs=0.02)


def test_a_stopped_release_is_lost_only_if_nobody_knows_what_it_drew(tmp_path):
    one = replace(request(1.0), parameters={"artefact": "feeders"})
    ledger = Ledger(tmp_path / "ledger.sqlite")
    goes_on = "stopped; running the same release again resumes it at no cost"

    def states():
        write_ledger_page(ledger, tmp_path / "ledger.html")
        page, text = (tmp_path / "ledger.html").read_text(), show.sentence(ledger)
        found = [
            text.count(f"delta 1e-05, {state}\n")
            for state in ("lost before it was stored", goes_on, show._STATES[STORED])
        ]
        assert found[1] == page.count(f"<td>{goes_on}</td>")
        return found

    stopped(ledger, one, LIMIT, lost=True)
    assert states() == [1, 0, 0]
    stopped(ledger, one, LIMIT, lost=False)
    assert states() == [1, 1, 0]
    released(ledger, one, LIMIT, never)
    assert states() == [1, 0, 1]


def test_charges_of_one_kind_are_told_apart(tmp_path):
    ledger, days = Ledger(tmp_path / "ledger.sqlite"), {"first_day": "2026-01-01", "last_day": "2026-06-30"}
    for groups, window in (("circuit", {"days": 28}), ("one", {"days": 7}), ("one", {})):
        words = {"artefact": "forecasts", "public": {"groups": groups}, "window": window, "export": days}
        released(ledger, replace(request(0.5), parameters=words), LIMIT, lambda: {"a": b"x"})
    text = show.sentence(ledger)
    for what in (
        "forecasts by circuit (2026-06-03 to 2026-06-30), request",
        "forecasts (2026-06-24 to 2026-06-30), request",
        "forecasts (2026-01-01 to 2026-06-30), request",
    ):
        assert text.count(what) == 1


def test_of_two_releases_of_the_same_days_the_later_one_counts(tmp_path):
    ledger, days = Ledger(tmp_path / "ledger.sqlite"), ("2026-01-01", "2026-06-30")
    requests = [replace(request(epsilon), days=days) for epsilon in (1.0, 0.9)]
    requests.append(replace(request(0.8), days=("2026-07-01", "2026-07-31")))
    for one in requests:
        released(ledger, one, LIMIT)
        ledger.published(one)
    states = re.findall("request (.{12}): epsilon .* at delta 1e-05, (.*)", show.sentence(ledger))
    expected = ["published; a later one covers the same days", "published", "published"]
    assert states == [(one.key[:12], state) for one, state in zip(requests, expected, strict=True)]


def test_a_release_takes_the_place_of_published_ones_of_the_same_homes_alone(tmp_path):
    """Whether a run died, and what is released of other homes, is nothing for its pages."""
    ledger, days = Ledger(tmp_path / "ledger.sqlite"), ("2026-01-01", "2026-06-30")
    one, new = (replace(request(epsilon), days=days, meters=("a", "b", "c", "d")) for epsilon in (1.0, 0.9))
    stopped(ledger, one, LIMIT, lost=True)
    released(ledger, one, LIMIT)
    assert ledger.replaced(new) == [], "it is not published"
    ledger.published(one)
    ((_, charge),) = ledger.replaced(new)
    assert charge.mu == one.charge.mu and ledger.replaced(one) == []
    assert len(ledger.replaced(replace(new, meters=("a", "b", "x", "y")))) == 1
    assert ledger.replaced(replace(new, meters=("a", "x", "y", "z"))) == []
    assert ledger.replaced(replace(new, budget=replace(BUDGET, population="others"))) == []
    assert ledger.replaced(replace(new, days=("2026-01-01", "2026-07-31"))) == []


def test_no_odds_of_readings_are_said_of_what_hides_names_alone(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    released(ledger, replace(request(0.5), budget=replace(BUDGET, adjacency="class_label")), LIMIT)
    assert "spent by these" in show.sentence(ledger) and "tossing a coin" not in show.sentence(ledger)


def test_what_all_releases_together_tell_is_said_in_per_cent(tmp_path):
    """Oracle: the best guess between two sets of readings after Gaussian noise is right Phi(mu / 2) of the time."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for year in ("2025", "2026"):
        one = replace(request(1.0, replace(BUDGET, period=year)), periods=((int(year), int(year) + 1),))
        released(ledger, one, LIMIT)
    text = show.sentence(ledger)
    both = Charge(np.sqrt(2) * gaussian.mu_for(1.0, 1e-5), 2e-15)
    epsilon = show.epsilon_of(both, 1e-5)
    assert (
        f"In all budget periods together no meter has spent more than epsilon {epsilon_text(epsilon)} at delta 1e-05"
        in text
    )
    exact, stated = re.search(r"right at most ([\d.]+) % of the time by the noise .* \(([\d.]+) % by", text).groups()
    assert 0 <= float(exact) - 100 * ndtr(both.mu / 2) < 0.15
    assert 0 <= float(stated) - 100 / (1 + np.exp(-epsilon)) < 0.11


def test_without_a_path_it_says_which_file_it_looked_for(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["ledger", "show"]) == 1
    said = capsys.readouterr().err
    assert f"{tmp_path}/meterdp-ledger.sqlite: does not exist" in said and "release.ledger" in said


def test_no_ledger_an_empty_and_a_broken_one(tmp_path, capsys):
    assert main(["ledger", "show", str(tmp_path / "new.sqlite")]) == 1
    assert "does not exist; give the path" in capsys.readouterr().err and not list(tmp_path.iterdir())
    assert show.sentence(Ledger(tmp_path / "new.sqlite")) == "Nothing has been released.\n"
    (tmp_path / "text").write_text("no ledger " * 100)
    assert main(["ledger", "show", str(tmp_path / "text")]) == 1 and "ledger" in capsys.readouterr().err


def test_a_ledger_that_was_lost_is_not_called_a_new_one(tmp_path, capsys):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    released(ledger, request(1.0), LIMIT)
    for lost, left in (
        (ledger.path, "except for its copy"),
        (ledger.copy_path, r"but not ledger\.sqlite\.key, ledger\.sqlite\.files"),
    ):
        lost.unlink()
        for command in (["show"], ["verify"], ["draw", "--to", str(tmp_path / "page.html")], ["migrate"]):
            assert main(["ledger", command[0], str(ledger.path), *command[1:]]) == 1
            said = capsys.readouterr().err
            assert re.search(rf"ledger\.sqlite: is missing, {left}.*restore the ledger from a backup", said)
    assert not ledger.path.exists()


def test_a_database_of_another_program_is_left_alone(tmp_path, capsys):
    path = tmp_path / "other 100%.sqlite"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE events (number INTEGER)")
    path.chmod(0o644)
    before = path.read_bytes(), path.stat().st_mode
    assert main(["ledger", "show", str(path)]) == 1 and "is not a ledger" in capsys.readouterr().err
    assert (path.read_bytes(), path.stat().st_mode) == before and list(tmp_path.iterdir()) == [path]


def charged(ledger, epsilon, meters, period="2026", seconds=(0, 100)):
    one = request(epsilon, PrivacyBudget("one household", "replace_one", "made-up town", period))
    words = one.parameters | {"meters": meters}
    charge = Charge(one.charge.mu)
    ledger.charge([replace(one, parameters=words, charge=charge, meters=meters, periods=(seconds,))], LIMIT)


def test_a_meter_has_spent_what_was_charged_to_lists_it_is_on(tmp_path):
    """Against the sum over the lists that name it, for ten meters on random lists in two periods."""
    rng = np.random.default_rng(3)
    ledger, spent = Ledger(tmp_path / "ledger.sqlite"), np.zeros((2, 10))
    for _ in range(12):
        on, period, epsilon = np.flatnonzero(rng.random(10) < 0.4), int(rng.integers(2)), rng.uniform(0.1, 0.6)
        if on.size:
            charged(
                ledger, epsilon, [f"m{n}" for n in on], ("2025", "2026")[period], (200 * period, 200 * period + 100)
            )
            spent[period, on] += gaussian.mu_for(epsilon, 1e-5) ** 2
    before = len(ledger.events())
    for meter in range(10):
        events, by_period, ever = ledger.of_meter(f" M{meter}")  # as a list may write it
        assert sum(event["kind"] == "charged" for event in events) == sum(
            f"m{meter}" in event["words"]["meters"] for event in events if event["kind"] == "charged"
        )
        for name, (charges, (left, limit)) in by_period.items():
            mu2 = spent[int(name == "2026"), meter]
            assert [charge.mu**2 for charge in charges] == pytest.approx([mu2])
            room = Charge(np.sqrt(gaussian.mu_for(LIMIT.epsilon, 1e-5) ** 2 - mu2))
            assert left == pytest.approx(show.epsilon_of(room, 1e-5), abs=0.02) and limit == LIMIT
        assert sum(charge.mu**2 for charge in ever) == pytest.approx(spent[:, meter].sum())
        assert len(by_period) == np.count_nonzero(spent[:, meter])
    assert len(ledger.events()) == before and ledger.of_meter("m10")[1:] == ({}, [])


def test_what_is_left_to_a_meter_is_said_without_its_name(tmp_path, capsys):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    charged(ledger, 5.0, ["m1", "m2"])
    charged(ledger, 1.0, ["m2", "m3"], "2025", (-200, -100))

    def said(meter):
        assert main(["ledger", "show", str(ledger.path), "--meter", meter]) == 0
        text = capsys.readouterr().out
        assert meter not in text
        return text

    assert "epsilon 5 at" in said("m1") and "2025 " not in said("m1")
    assert "in '2026'; its limit is epsilon 5 at delta 1e-05; nothing is left." in said("m1")
    assert "one more release of epsilon 4.8" in said("m3") and "all budget periods" not in said("m3")
    assert ledger.left()["2026"] == (0, LIMIT) and 4.8 < ledger.left()["2025"][0] < 4.9  # that of who has least
    both = show.epsilon_of(Charge(np.hypot(gaussian.mu_for(5.0, 1e-5), gaussian.mu_for(1.0, 1e-5))), 1e-5)
    assert f"In all budget periods together it has spent epsilon {epsilon_text(both)} at" in said("m2")
    assert (
        said("m4")
        == "No release was about this meter, provided that its id is written as on the lists of releases.\n"
    )
    ledger.raise_limit(BUDGET, ["m1"], ((0, 100),), Limit(8.0, 1e-5))
    assert "its limit is epsilon 8 at delta 1e-05; one more release of epsilon" in said("m1")
    assert "limit of epsilon 8" in said("m1")
    assert "nothing is left" in said("m2") and "limit of epsilon 8" not in said("m2")


def test_a_charge_says_how_many_meters_it_covers_and_a_period_its_lowest_limit(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    charged(ledger, 1.0, [f"m{n}" for n in range(1234)])
    charged(ledger, 0.5, ["m1", "m2"])
    released(ledger, request(0.3), Limit(6.0, 1e-5))
    ledger.raise_limit(BUDGET, ["m1"], ((0, 100),), Limit(8.0, 1e-5))
    text = show.sentence(ledger)
    assert text.count("mixture of 1,234 meters (") == text.count("mixture of 2 meters (") == 1
    assert text.count("mixture (") == 1, "a charge that counts for every meter has no list"
    assert re.search(r"than epsilon [\d.]+ at .*; the lowest limit is epsilon 5 at delta 1e-05; one more", text)
