"""Mixtures of records in a box: every step within its sensitivity, charged before noise is drawn, drawn once."""

import json
import sqlite3
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

import meterdp.release.records as records
from meterdp.errors import InputError
from meterdp.mechanisms.proven.mechanism import Box, calibrate_ball
from meterdp.privacy import gaussian
from meterdp.privacy.charge import Charge
from meterdp.privacy.guarantee import Limit, PrivacyBudget
from meterdp.privacy.ledger import Ledger, Request
from meterdp.privacy.noise import SafeNoise
from meterdp.privacy.periods import interval_of
from meterdp.privacy.spent import CHARGED, STORED
from meterdp.release.records import LibraryBudget, release_records
from meterdp.release.show import sentence
from tests.unit.release.charged import kinds, never, released, spent

BOX = Box((0.0, -1.0), (4.0, 1.0))
X = np.random.default_rng(0).normal([2.0, 0.0], [0.8, 0.3], (120, 2))
BUDGET = PrivacyBudget("one whole record", "replace_one", "made-up town", "2026")
DAYS = ("2026-01-01", "2026-01-31")
YEAR = (interval_of(date(2026, 1, 1), date(2026, 12, 31), "Europe/London"),)


def mechanism(epsilon=1.0, records=120, **choices):
    return calibrate_ball(2, 2, records, epsilon, 1e-5, BOX.ball, grid=SafeNoise.grid, **choices)


@pytest.fixture
def budget(tmp_path):
    return LibraryBudget(tmp_path / "ledger.sqlite", BUDGET, Limit(2.0, 1e-5), "made-up energy", DAYS, YEAR, None)


class Tape:
    """Safe noise whose answers are kept, or a replay of kept ones: what a neighbour would have to draw."""

    grid = SafeNoise.grid

    def __init__(self, answers=None):
        self.exact, self.std, self.answers, self.replayed = [], [], answers or [], answers is not None

    def add_gaussian(self, exact, std):
        self.exact.append(exact)
        self.std.append(std)
        if not self.replayed:
            self.answers.append(SafeNoise().add_gaussian(exact, std))
        return self.answers[len(self.exact) - 1]


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
@pytest.mark.parametrize("end", [(4.0, 1.0), (1e300, -1e300), (2.0, 0.0)])
def test_a_neighbour_is_told_apart_by_no_more_than_mu(adjacency, end):
    """Oracle: the distance of the exact statistics of neighbours in noise deviations, all answers being the same."""
    one = X.copy()
    one[7] = (0.0, -1.0)
    if adjacency == "replace_one":
        sound, two = mechanism(2.0), one.copy()
        two[7] = end
    else:
        sound = mechanism(2.0, adjacency=adjacency, rounds=3)
        two = np.vstack([one, [end]])
    tape = Tape()
    records._drawn(one, tape, BOX, sound)
    again = Tape(tape.answers)
    records._drawn(two, again, BOX, sound)
    apart = [np.linalg.norm(a - b) / s for a, b, s in zip(tape.exact, again.exact, tape.std, strict=True)]
    assert len(apart) == len(sound.plan.steps)
    for found, step in zip(apart, sound.plan.steps, strict=True):
        assert found <= step.mu, step.name
    assert 0.25 * sound.mu < np.linalg.norm(apart) <= sound.mu <= gaussian.mu_for(2.0, 1e-5)


def test_a_release_is_charged_before_noise_is_drawn_and_drawn_once(budget, monkeypatch):
    class Watched(SafeNoise):
        def add_gaussian(self, exact, std):
            with sqlite3.connect(f"file:{budget.ledger}?mode=ro", uri=True) as other:
                ((body,),) = other.execute("SELECT body FROM events").fetchall()
            assert json.loads(body)["kind"] == CHARGED
            return super().add_gaussian(exact, std)

    monkeypatch.setattr("meterdp.privacy.release.SafeNoise", Watched)
    first = release_records(X, BOX, mechanism(), budget, ())
    monkeypatch.setattr(Watched, "add_gaussian", never)
    again = release_records(X, BOX, mechanism(), budget, ())
    for name in ("weights", "means", "covariances"):
        assert np.array_equal(getattr(first, name), getattr(again, name)), "to the bit"
    ledger = Ledger(budget.ledger)
    assert kinds(ledger) == [CHARGED, STORED]
    charged = spent(ledger, BUDGET)
    assert (charged.mu, charged.total_variation) == (mechanism().mu, mechanism().total_variation)
    said = sentence(ledger)
    assert "mixture of records 'made-up energy' in 2 classes (2026-01-01 to 2" in said
    # Whoever called fit has the mixture, and the ledger cannot know what became of it.
    assert ", returned to whoever called fit, so it counts as published\n" in said and "not published" not in said
    for other in ({"epsilon": 1.9}, {"epsilon": 1.9, "rounds": 2}):
        with pytest.raises(InputError, match="would spend more on its meters"):
            release_records(X, BOX, mechanism(**other), budget, ())
    with pytest.raises(AssertionError, match="noise was drawn"):
        release_records(X, BOX, mechanism(0.5), budget, ())
    # That charge is on disk though its release was lost.
    assert kinds(ledger) == [CHARGED, STORED, CHARGED]


def test_records_of_other_days_are_other_records(budget):
    """They get a release of their own, which is charged, and not the stored one of the days before."""
    later = replace(budget, days=("2026-02-01", "2026-02-28"))
    first, second, again = (release_records(X, BOX, mechanism(0.5), b, ()) for b in (budget, later, budget))
    assert not np.array_equal(first.means, second.means) and np.array_equal(first.means, again.means)
    assert [e["days"] for e in Ledger(budget.ledger).events() if e["kind"] == CHARGED] == [
        list(DAYS),
        list(later.days),
    ]


def test_no_record_is_in_the_ledger(budget):
    release_records(X, BOX, mechanism(), budget, ("evening", "night"))
    data = b"".join(p.read_bytes() for p in budget.ledger.parent.rglob("*") if p.is_file())
    for value in X.ravel():
        assert repr(float(value)).encode() not in data and value.tobytes() not in data


@pytest.mark.parametrize("meters", [None, tuple(f"m{n}" for n in range(120))])
def test_a_ledger_serves_the_workflow_too(budget, meters):
    """What was charged for records counts for a release of the workflow about the same meters, or about any."""
    release_records(X, BOX, mechanism(1.9), replace(budget, meters=meters), ())
    other = PrivacyBudget("household", "replace_one", "another town", "2026")
    same = Request(other, {"mechanism": "m"}, Charge(mechanism(1.0).mu), DAYS, ["M7", "m200"], budget.periods)
    with pytest.raises(InputError, match="would spend more"):
        released(Ledger(budget.ledger), same, budget.limit, lambda: pytest.fail("noise was drawn"))
    others = replace(same, meters=["m200"])
    if meters is None:
        with pytest.raises(InputError, match="would spend more"):
            Ledger(budget.ledger).check([others], budget.limit)
    else:
        Ledger(budget.ledger).check([others], budget.limit)


def test_what_may_not_leave_is_refused_before_it_is_charged(budget):
    for wrong, words in (
        ((X[:49], mechanism(records=49), budget), "fewer than 50"),
        ((X, mechanism(), replace(budget, limit=Limit(2.0, 1e-2))), "cap_delta"),
        ((X, calibrate_ball(2, 2, 120, 1.0, 1e-2, BOX.ball, grid=SafeNoise.grid), None), "field 'delta'"),
        ((X, mechanism(1e-7), budget), "noise is too large for the discretisation grid"),
    ):
        x, sound, where = wrong
        with pytest.raises(InputError, match=words):
            release_records(x, BOX, sound, where, ())
    assert not budget.ledger.exists()
