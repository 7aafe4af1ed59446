"""Marginals beside a released mixture: one charge for both, told in the manifest, enough to find the tilt again."""

import json

import numpy as np
import pytest

from meterdp.accounting import gdp
from meterdp.core.config import complete, load_schema
from meterdp.mechanisms.sound.marginals import Reference, features
from meterdp.mechanisms.sound.tilt import fit_exponents
from meterdp.mixture.draws import Mixture
from meterdp.release import mixture
from meterdp.release.desk import Desk
from meterdp.release.gate import MIXTURE_FILES
from meterdp.release.ledger import Ledger
from tests.conftest import ROOT


@pytest.fixture
def release(tmp_path):
    """A call that releases the mixture of 80 made-up households with a share of the budget for marginals."""
    x = np.random.default_rng(2).normal(-1.0, 0.7, (80, 12))

    def call(share):
        config = complete(
            {
                "mechanisms": {"sound": {"marginal_share": share}},
                "release": {"ledger": str(tmp_path / f"{share}.sqlite"), "synthetic_profiles": 50},
            },
            load_schema(ROOT / "workflow/schemas/config.schema.yaml"),
        )
        files, _ = mixture.release_mixture(x, Desk(config, b"meter_id\n", simulated=True))
        return files, Ledger(tmp_path / f"{share}.sqlite"), config

    return call


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_the_manifest_tells_the_marginals_and_the_ledger_charges_once_for_all(release, share):
    files, ledger, config = release(share)
    assert tuple(files) == MIXTURE_FILES
    manifest = json.loads(files["manifest.json"])
    (charged,) = [e for e in ledger.events() if e["kind"] == "charged"]
    epsilon, delta = config["release"]["epsilon"], config["release"]["delta"]
    assert (manifest["privacy"]["epsilon"], manifest["privacy"]["delta"]) == (epsilon, delta)
    assert charged["mu"] == pytest.approx(gdp.mu_for(epsilon, delta), rel=1e-3)
    assert ("marginals" in manifest) == (share > 0)
    assert ("measured beside it" in files["README.md"].decode()) == (share > 0)


def test_anyone_can_make_the_exponents_from_the_released_numbers(release):
    """Post-processing: mixture and noisy means in, the stated exponents out."""
    files, _, config = release(0.25)
    told, values = json.loads(files["manifest.json"])["marginals"], json.loads(files["mixture.json"])
    law = Mixture(*(np.array(values[name]) for name in ("weights", "means", "covariances")))
    reference = Reference(law, *np.log(config["profiles"]["clip_kwh_per_hour"]))
    pool = features(reference.pool, reference)
    again = fit_exponents(pool, np.array(told["noisy_means"]), told["noise_std"])
    assert again == pytest.approx(told["exponents"], abs=1e-6)
    assert told["share_of_mu_squared"] == 0.25
