"""Forecast files that hide whose they are: charged apart, beside nothing that protects readings."""

import copy
import io
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from meterdp.core.config import complete, load_schema
from meterdp.errors import InputError
from meterdp.privacy.guarantee import PrivacyBudget
from meterdp.privacy.ledger import CHARGED, Ledger
from meterdp.publish.kinds import check_files
from meterdp.release.service import ReleaseService
from tests.conftest import ROOT
from tests.unit.release.charged import release_forecasts, release_mixture, spent

CONFIG = complete(
    {"export": {"time_zone": "America/Los_Angeles"}}, load_schema(ROOT / "workflow/schemas/config.schema.yaml")
)
N = 60
LABEL = {"forecast_protects": "label", "what": ["forecasts"]}
CONFIG["release"]["insist"] = True  # a mixture of so few homes is not worth its epsilon
BUDGET = PrivacyBudget("", "class_label", "town", "2025")


@pytest.fixture
def made(tmp_path):
    """Desks of one town; records of made-up households."""
    x = -2.0 + np.random.default_rng(2).normal(0, 1.2, (N, CONFIG["forecast"]["horizon_steps"]))

    def service(month="01", year=2025, **release):
        config = copy.deepcopy(CONFIG)
        config["export"] |= {"first_day": f"{year}-{month}-01", "last_day": f"{year}-{month}-28"}
        own = {"population": "town", "budget_period": "2025", "ledger": str(tmp_path / "ledger.sqlite")}
        config["release"] |= own | release
        return ReleaseService(config, b"meter_id\nm1\n", simulated=True)

    return service, Ledger(tmp_path / "ledger.sqlite"), x


def test_files_say_what_they_hide_and_that_readings_are_not_hidden(made):
    service, ledger, x = made
    files, release_id = release_forecasts(x, None, service(**LABEL))
    check_files(files)
    assert len(set(release_id)) == N and len(files) == 2 * N + 4
    manifest = json.loads(files["manifest.json"])
    assert manifest["privacy"]["adjacency"] == "class_label" and "differential" not in manifest["guarantee"]
    assert any("nothing is claimed when one household's readings" in s for s in manifest["privacy"]["does_not_hide"])
    page = files["README.md"].decode()
    assert "The readings themselves are not protected" in page and "in any other order" in page
    assert "had any one meter's readings been others" not in page
    rows = np.array(
        [pq.read_table(io.BytesIO(files[f"{i}.parquet"]))["released_log_kwh"].to_numpy() for i in release_id]
    )
    assert np.abs(rows - x.mean(axis=0)).max() < 0.6 and np.unique(rows, axis=0).shape[0] == N
    assert 0.999e-5 < spent(ledger, BUDGET).delta(1.0) <= 1e-5
    assert release_forecasts(x + 1, None, service(**LABEL)) == (files, release_id)


def test_days_add_up_under_new_names(made):
    service, ledger, x = made
    _, first = release_forecasts(x, None, service(**LABEL))
    _, second = release_forecasts(x, None, service("02", **LABEL))
    assert not set(first) & set(second)
    one = next(e["mu"] for e in ledger.events() if e["kind"] == CHARGED)
    assert spent(ledger, BUDGET).mu == pytest.approx(np.sqrt(2) * one)


def test_nothing_that_protects_readings_is_released_beside_them(made):
    service, ledger, x = made
    with pytest.raises(InputError, match="is 'label' beside mixture"):
        service(forecast_protects="label")
    release_mixture(x, service())
    with pytest.raises(InputError, match=r"release\.forecast_protects.*cannot be given beside"):
        release_forecasts(x, None, service(**LABEL))
    release_forecasts(x, None, service("02", 2026, **LABEL, budget_period="2026"))
    with pytest.raises(InputError, match=r"release\.forecast_protects.*cannot be given beside"):
        release_mixture(x, service("03", 2026, budget_period="2026"))
    assert sum(e["kind"] == CHARGED for e in ledger.events()) == 2


def test_small_neighbourhoods_and_unknown_circuits_are_refused(made):
    service, ledger, x = made
    label = LABEL | {"forecast_groups": "circuit"}
    with pytest.raises(InputError, match="circuit is known"):
        release_forecasts(x, None, service(**label))
    with pytest.raises(InputError, match="fewer than 15 households"):
        release_forecasts(x, tuple(i // 10 for i in range(N)), service(**label))
    assert ledger.events() == []
    files, _ = release_forecasts(x, tuple(i // 20 for i in range(N)), service(**label))
    assert len(files) == 2 * N + 4
