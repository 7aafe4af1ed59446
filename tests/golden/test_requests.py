"""Ledgers of earlier versions: the same releases get what is stored, and nobody is charged again."""

import zipfile

import numpy as np
import pytest

from meterdp.privacy.charge import epsilon_of
from meterdp.privacy.ledger import Ledger
from meterdp.privacy.ledger_file import is_of_earlier_version
from meterdp.release.show import migrate
from tests.golden.requests import CASES, GONE, HERE, LATER, LIMIT, drawn, fitted, ledger_of, requests_of
from tests.unit.release.charged import released


@pytest.fixture(scope="module", params=["before", "after", "later"])
def ledgers(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    with zipfile.ZipFile(HERE / f"ledger_{request.param}.zip") as archive:
        archive.extractall(folder)
    for path in folder.glob("*.sqlite"):
        assert is_of_earlier_version(path) == (request.param == "before")
        if request.param == "before":
            migrate(Ledger(path))
    return folder


def never():
    raise AssertionError("noise was drawn")


def cases(ledgers):
    return LATER if ledgers.name.startswith("later") else CASES


def test_the_same_request_has_the_key_it_always_had_and_costs_nothing(ledgers):
    for case in cases(ledgers):
        ledger = Ledger(ledgers / ledger_of(case))
        events = len(ledger.events())
        for number, request in enumerate(requests_of(case, ledgers)):
            assert released(ledger, request, LIMIT, never) == drawn(case, number), case
        assert len(ledger.events()) == events, case


@pytest.mark.parametrize("ledgers", ["before", "after"], indirect=True)
def test_a_fit_of_the_library_costs_nothing_again(ledgers):
    events = len(Ledger(ledgers / "library.sqlite").events())
    np.testing.assert_array_equal(fitted(ledgers), np.load(HERE / f"fitted_{ledgers.name[:-1]}.npy"))
    assert len(Ledger(ledgers / "library.sqlite").events()) == events


def test_whatever_was_charged_adds_up(ledgers):
    held = set(map(ledger_of, cases(ledgers))) | (set(GONE) if cases(ledgers) is CASES else set())
    for path in sorted(ledgers / name for name in held):
        charged = [
            request
            for case in cases(ledgers)
            if ledger_of(case) == path.name
            for request in requests_of(case, ledgers)
        ]
        gone = GONE.get(path.name, ()) if cases(ledgers) is CASES else ()
        spent = {name: max(charge.mu for charge in charges) for name, charges in Ledger(path).spent().items()}
        by_period = dict.fromkeys(spent, 0.0)
        for request in charged:
            by_period[request.budget.period] += request.charge.mu**2
        if gone:
            (name,) = by_period
            by_period[name] += sum(mu**2 for mu, _ in gone)
        assert spent == pytest.approx(
            {name: square**0.5 for name, square in by_period.items()}, rel=1e-6 if gone else 1e-12
        )
        assert Ledger(path).verify()["stored releases"] == len(charged) + sum(number for _, number in gone)


@pytest.mark.parametrize("ledgers", ["before", "after"], indirect=True)
def test_groups_that_were_drawn_by_lot_still_count(ledgers):
    """A version without such groups counts no less than the epsilon of 1 that they and their forecast cost."""
    (charges,) = Ledger(ledgers / "forecasts real homes.sqlite").spent().values()
    ((mu, _),) = GONE["forecasts real homes.sqlite"]
    most = max(charges, key=lambda charge: charge.mu)
    assert most.mu == pytest.approx(mu, rel=1e-6) and 1 < epsilon_of(most, 1e-5) < 4.1
