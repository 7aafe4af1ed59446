"""What tests of releases share."""

import pytest

from meterdp.privacy.ledger import Ledger


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")
