"""What tests of releases share."""

from functools import lru_cache

import pytest

from meterdp.privacy.ledger import Ledger
from meterdp.release import worth

# Apart from what is remembered of as many utilities as there are: a worker may run other tests.
_expected = lru_cache(maxsize=None)(worth.expected.__wrapped__)


@pytest.fixture(autouse=True)
def few_utilities(monkeypatch):
    """Try what a mixture is worth on fewer synthetic utilities, which takes a twelfth of the time."""
    monkeypatch.setattr(worth, "UTILITIES", 10)
    monkeypatch.setattr(worth, "expected", _expected)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")
