"""Ledgers of earlier versions: the same releases get what is stored, and nobody is charged again."""

import zipfile

import numpy as np
import pytest

from meterdp.privacy.gaussian import mu_for
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
        for number, request in enumerate(requests_of(case)):
            assert released(ledger, request, LIMIT, never) == drawn(case, number), case
        assert len(ledger.events()) == events, case


@pytest.mark.parametrize("ledgers", ["before", "after"], indirect=True)
def test_a_fit_of_the_library_costs_nothing_again(ledgers):
    events = len(Ledger(ledgers / "library.sqlite").events())
    np.testing.assert_array_equal(fitted(ledgers), np.load(HERE / f"fitted_{ledgers.name[:-1]}.npy"))
    assert len(Ledger(ledgers / "library.sqlite").events()) == events


def test_whatever_was_charged_adds_up(ledgers):
    for path in sorted({ledgers / ledger_of(case) for case in cases(ledgers)}):
        charged = [
            request for case in cases(ledgers) if ledger_of(case) == path.name for request in requests_of(case)
        ]
        gone = GONE.get(path.name, ()) if cases(ledgers) is CASES else ()
        spent = {name: max(charge.mu for charge in charges) for name, charges in Ledger(path).spent().items()}
        by_period: dict[str, float] = {}
        for request in charged:
            name = request.budget.period
            by_period[name] = by_period.get(name, 0.0) + request.charge.mu**2
        if gone:
            (name,) = by_period
            by_period[name] += sum(mu_for(epsilon, delta) ** 2 for epsilon, delta in gone)
        assert spent == pytest.approx(
            {name: square**0.5 for name, square in by_period.items()}, rel=1e-6 if gone else 1e-12
        )
        assert Ledger(path).verify()["stored releases"] == len(charged) + len(gone)
