"""Marginals beside a released mixture: one charge for both, and what is released follows them."""

import io
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise
from meterdp.evaluation.cost import average_profile_kwh
from meterdp.mechanisms.configured import MARGINAL_SHARE
from meterdp.mechanisms.interface import PrivateRecords
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mixture.draws import Mixture, MixtureDraws
from meterdp.privacy import gaussian
from meterdp.privacy.ledger import Ledger
from meterdp.publish.kinds import DESCRIPTIONS, KINDS
from meterdp.release.mixture import configured
from tests.unit.release.charged import DEFAULTS, release_mixture, service


@pytest.fixture
def release(tmp_path):
    """A call that releases the mixture of 80 made-up households."""
    x = np.random.default_rng(2).normal(-1.0, 0.7, (80, 24))

    def call(x=x, **profiles):
        town = service(tmp_path, sections={"profiles": profiles}, synthetic_profiles=50)
        return release_mixture(x, town), Ledger(tmp_path / "ledger.sqlite"), town.config

    return call


def test_the_manifest_tells_the_marginals_and_the_ledger_charges_once_for_all(release):
    files, ledger, config = release()
    assert set(files) == {*KINDS["mixture"].files, *DESCRIPTIONS}
    manifest = json.loads(files["manifest.json"])
    (charged,) = [e for e in ledger.events() if e["kind"] == "charged"]
    epsilon, delta = config["release"]["epsilon"], config["release"]["delta"]
    assert (manifest["privacy"]["epsilon"], manifest["privacy"]["delta"]) == (epsilon, delta)
    assert charged["mu"] == pytest.approx(gaussian.mu_for(epsilon, delta), rel=1e-3)
    assert manifest["marginals"]["share_of_mu_squared"] == MARGINAL_SHARE
    assert "follow the mixture and the noisy distributions" in files["README.md"].decode()


SIGNED = {"clip_kwh_per_hour": [-8, 30], "log_scale": {"kind": "signed", "scale_kwh_per_hour": 0.2}}


def test_on_a_signed_scale_it_is_told_and_energies_keep_their_bounds(release):
    """Half of the households feed in, so exponentials rank otherwise."""
    generator = np.random.default_rng(4)
    # So many that the noise cannot hide either half.
    energy = np.where(np.arange(4000)[:, None] % 2, -3.0, 1.0) * generator.gamma(3.0, 0.3, (4000, 24))
    x = np.log(0.2) + np.arcsinh(energy / 0.4)
    files, _, config = release(x, **SIGNED)
    manifest, values = json.loads(files["manifest.json"]), json.loads(files["mixture.json"])
    stated = manifest["log_scale"]
    assert "bounds -8 and 30 kWh per hour" in manifest["privacy"]["readings"]
    assert "y = ln(0.2) + asinh(x / (2 * 0.2))" in manifest["privacy"]["readings"]
    assert "between -8 and 30 kWh per hour" in files["README.md"].decode()
    assert stated == values["log_scale"] and stated["kwh"].startswith("x = 2 * 0.2 * sinh(y - ln(0.2))")
    assert "log_scale" in files["README.md"].decode()
    made_up = np.array(pq.read_table(io.BytesIO(files["synthetic_profiles.parquet"]))["energy_kwh"].to_pylist())
    assert made_up.min() >= -8 and made_up.max() <= 30
    assert 0 < (made_up.sum(axis=1) < 0).mean() < 1
    mechanism = Proven.calibrate(configured(config, len(x)))
    ranked_by = mechanism.release(PrivateRecords(x), StudyNoise(7, "signed"), 1).marginals.reference
    assert (ranked_by.energy < 0).mean() == pytest.approx(0.5, abs=0.1)


def test_the_mixture_has_the_hours_of_the_profiles(release):
    """Homes of two levels that no public mixture has: without a fit to the marginals it would miss their hours."""
    generator = np.random.default_rng(5)
    energy = np.where(np.arange(4000)[:, None] % 4, 0.2, 3.0) * generator.gamma(2.0, 0.5, (4000, 24))
    files, _, config = release(np.log(energy))
    values = json.loads(files["mixture.json"])
    mixture = Mixture(*(np.array(values[name]) for name in ("weights", "means", "covariances")))
    assert (np.diff(mixture.weights) <= 0).all() and mixture.weights.sum() == pytest.approx(1)
    unfitted = Proven.calibrate(configured(config, len(energy))).release(
        PrivateRecords(np.log(energy)), StudyNoise(6, "unfitted"), 1
    )
    scale = LogScale.from_config(DEFAULTS["profiles"])
    missed, missed_before = (
        np.abs(average_profile_kwh(mixtures, scale)[0] / energy.mean(axis=0) - 1).mean()
        for mixtures in (MixtureDraws.single(mixture), unfitted.mixtures)
    )
    profiles = np.array(pq.read_table(io.BytesIO(files["synthetic_profiles.parquet"]))["energy_kwh"].to_pylist())
    assert profiles.shape == (50, 24)
    assert missed < 0.8 * missed_before
