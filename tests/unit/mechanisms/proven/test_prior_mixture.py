"""A prior mixture is read, hour by hour, if its manifest says it is public; all else is refused in one sentence."""

from __future__ import annotations

import hashlib
import json
import os
import runpy
from pathlib import Path

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.proven.prior_mixture import FILES, SHIPPED, prior_mixture_files, read_prior_mixture
from meterdp.privacy.ledger import Ledger
from meterdp.release.service import ReleaseService
from tests.conftest import ROOT, config_of
from tests.unit.release.charged import release_mixture

CONFIG = config_of({"profiles": {"start_hour": 12, "hours": 12}})
FITTED = {"simulated_data": True, "public_parameters": {"artefact": "prior_mixture"}}


def folder(path, manifest, hours=6, first=10, weights=(0.25, 0.75), vouched=True, **changed):
    """Write a prior mixture and return its name."""
    generator = np.random.default_rng(1)
    root = generator.normal(size=(2, hours, hours + 2))
    mixture = {
        "weights": list(weights),
        "means": generator.normal(size=(2, hours)).tolist(),
        "covariances": (root @ root.transpose(0, 2, 1)).tolist(),
        "entries": [f"{(first + h) % 24:02d}:00-{(first + h + 1) % 24:02d}:00" for h in range(hours)],
    } | changed
    data = json.dumps(mixture).encode()
    told = {**manifest, "sha256": {"mixture.json": hashlib.sha256(data if vouched else b"").hexdigest()}}
    path.mkdir(exist_ok=True)
    (path / "mixture.json").write_bytes(data)
    (path / "manifest.json").write_text(json.dumps(told))
    return str(path)


def test_the_shipped_prior_mixture_covers_two_days_and_every_half_day():
    hours = CONFIG["profiles"]["hours"]
    for start in range(24):
        prior_mixture = read_prior_mixture(SHIPPED, start, hours)
        assert prior_mixture.mixture.means.shape == (prior_mixture.classes, hours)
        assert np.linalg.eigvalsh(prior_mixture.mixture.covariances).min() > 0
    assert read_prior_mixture(SHIPPED, 0, 48).mixture.dimension == 48
    with pytest.raises(InputError, match="does not cover 48 hours from 1:00 on"):
        read_prior_mixture(SHIPPED, 1, 48)


def test_the_shipped_prior_mixture_says_how_its_tool_made_it():
    """The tool's public numbers are those of the manifest; running it takes minutes and is left to a person."""
    tool = runpy.run_path(str(ROOT / "tools/make_prior_mixture.py"), run_name="read")
    manifest = json.loads((ROOT / "resources/prior_mixture/manifest.json").read_text())
    told = manifest["public_parameters"]
    assert told["utilities"] == tool["UTILITIES"]
    assert told["households_each"] == tool["HOUSEHOLDS"]
    assert told["ranges"] == {name: list(limits) for name, limits in tool["RANGES"].items()}
    assert read_prior_mixture(SHIPPED, 0, 48).classes == tool["CLASSES"]


@pytest.mark.parametrize(("start", "hours"), [(10, 6), (12, 3), (15, 1)])
def test_hours_of_a_record_are_taken_by_the_clock(tmp_path, start, hours):
    """Oracle: the part of mean and covariance, which is the Gaussian of that part."""
    name = folder(tmp_path, FITTED)
    stored = json.loads((tmp_path / "mixture.json").read_text())
    mixture = read_prior_mixture(name, start, hours).mixture
    first = start - 10
    assert mixture.means == pytest.approx(np.array(stored["means"])[:, first : first + hours])
    own = np.array(stored["covariances"])[:, first : first + hours, first : first + hours]
    assert mixture.covariances == pytest.approx(own)
    assert mixture.weights == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize(
    ("manifest", "changed", "said"),
    [
        ({}, {}, "is not public by its manifest"),
        (FITTED, {"vouched": False}, "is not public by its manifest"),
        ({**FITTED, "simulated_data": False}, {}, "is not public by its manifest"),
        ({"simulated_data": True}, {}, "is not public by its manifest"),
        (
            {
                "privacy": {"adjacency": "label_flip"},
                "public_parameters": {"artefact": "mixture", "mechanism": "sound"},
            },
            {},
            "is not public by its manifest",
        ),
        (
            {
                "privacy": {"adjacency": "replace_one"},
                "public_parameters": {"artefact": "x", "mechanism": "kl_exact"},
            },
            {},
            "is not public by its manifest",
        ),
        (FITTED, {"first": 11}, "does not cover 6 hours from 10:00 on"),
        (FITTED, {"hours": 5}, "does not cover 6 hours from 10:00 on"),
        (FITTED, {"weights": (0.5, 0.6)}, "does not hold a Gaussian mixture"),
        (FITTED, {"weights": (1.0, 0.0)}, "does not hold a Gaussian mixture"),
        (FITTED, {"covariances": np.zeros((2, 6, 6)).tolist()}, "does not hold a Gaussian mixture"),
        (FITTED, {"means": [[float("nan")] * 6] * 2}, "does not hold a Gaussian mixture"),
        (FITTED, {"entries": ["noon"] * 6}, "is not a folder with the mixture.json"),
    ],
)
def test_what_is_no_public_prior_mixture_is_refused_in_one_sentence(tmp_path, manifest, changed, said):
    with pytest.raises(InputError, match=rf"^config, field 'mechanisms\.sound\.prior_mixture': {said}"):
        read_prior_mixture(folder(tmp_path, manifest, **changed), 10, 6)


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_is_none_neither_hangs_nor_fills_memory(tmp_path, file):
    name, outside = folder(tmp_path / "prior_mixture", FITTED), tmp_path / file
    path = tmp_path / "prior_mixture" / file
    path.rename(outside)
    path.symlink_to(outside)
    assert read_prior_mixture(name, 10, 6).classes == 2, "a link to a file is a file"
    for instead in (os.mkfifo, lambda p: p.symlink_to("/dev/zero"), sparse, Path.mkdir):
        path.unlink()
        instead(path)
        with pytest.raises(InputError, match=r"is not a folder with the mixture\.json and manifest\.json"):
            read_prior_mixture(name, 10, 6)


def sparse(path):
    with open(path, "wb") as file:
        file.truncate(2**40)


@pytest.mark.parametrize("key", ["sha256", "privacy", "public_parameters"])
@pytest.mark.parametrize("odd", [None, 1, "x", ["mixture.json"], {"profiles": 1}, {"profiles": {"log_scale": [1]}}])
def test_a_manifest_of_other_sections_is_refused(tmp_path, key, odd):
    name = folder(tmp_path, FITTED)
    told = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(told | {key: odd}))
    if (key, odd) == ("privacy", None):
        assert read_prior_mixture(name, 10, 6).classes == 2
    else:
        with pytest.raises(InputError, match="is not public by its manifest"):
            read_prior_mixture(name, 10, 6)


def test_a_file_without_manifest_is_refused(tmp_path):
    name = folder(tmp_path, FITTED)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(InputError, match=r"is not a folder with the mixture\.json and manifest\.json"):
        read_prior_mixture(name, 10, 6)
    assert prior_mixture_files(None) == []


@pytest.fixture
def releasing(tmp_path):
    """A call that releases a mixture of made-up households and returns its files."""
    x = np.random.default_rng(2).normal(-1.0, 0.7, (80, 12))

    def call(prior_mixture=None):
        given = CONFIG | {
            "export": CONFIG["export"] | {"first_day": "2025-01-01", "last_day": "2025-01-28"},
            "release": CONFIG["release"]
            | {"ledger": str(tmp_path / "ledger.sqlite"), "synthetic_profiles": 5, "allow": ["poor"]},
            "mechanisms": CONFIG["mechanisms"]
            | {"sound": CONFIG["mechanisms"]["sound"] | {"prior_mixture": prior_mixture}},
        }
        files = release_mixture(x, ReleaseService(given, b"meter_id\nm1\n", simulated=True), tmp_path / "results/r/m")
        return files, Ledger(given["release"]["ledger"])

    return call


def test_a_release_serves_as_a_prior_mixture_and_a_changed_one_does_not(tmp_path, releasing):
    files, _ = releasing()
    target = tmp_path / "released"
    target.mkdir()
    for name, data in files.items():
        (target / name).write_bytes(data)
    prior_mixture = read_prior_mixture(str(target), 12, 12)
    assert prior_mixture.mixture.weights == pytest.approx(json.loads(files["mixture.json"])["weights"])
    (target / "mixture.json").write_bytes(files["mixture.json"].replace(b"0.", b"0.0", 1))
    with pytest.raises(InputError, match="is not public by its manifest"):
        read_prior_mixture(str(target), 12, 12)


def test_the_ledger_knows_a_prior_mixture_by_its_digest_and_nothing_changes_without_one(releasing):
    plain, _ = releasing()
    own, _ = releasing(SHIPPED)
    again, _ = releasing(SHIPPED)
    assert own == again, "the same request is answered from the ledger"
    assert own["mixture.json"] != plain["mixture.json"]
    told = [json.loads(files["manifest.json"])["public_parameters"]["public"] for files in (plain, own)]
    digest = hashlib.sha256((ROOT / "resources/prior_mixture/mixture.json").read_bytes()).hexdigest()
    assert [t.get("library_sha256") for t in told] == [None, digest]
    assert all("prior_mixture" not in t["sound"] for t in told)


def test_the_configuration_brings_a_prior_mixture_into_the_public_settings():
    mechanisms = CONFIG["mechanisms"] | {"sound": CONFIG["mechanisms"]["sound"] | {"prior_mixture": SHIPPED}}
    public = public_settings(1.0, 1e-5, (100, 12), mechanisms, CONFIG["mixture"], CONFIG["profiles"])
    assert public.sound.prior_mixture.mixture.dimension == 12


def test_a_prior_mixture_on_another_scale_is_refused_and_one_on_the_same_is_read(tmp_path):
    signed = {"kind": "signed", "scale_kwh_per_hour": 0.2}
    other = {**FITTED, "public_parameters": {"artefact": "prior_mixture", "profiles": {"log_scale": signed}}}
    plain, name = folder(tmp_path / "plain", FITTED), folder(tmp_path / "signed", other)
    for prior_mixture, scale in ((plain, signed), (name, None), (name, {**signed, "scale_kwh_per_hour": 0.3})):
        with pytest.raises(InputError, match="is not on the scale of"):
            read_prior_mixture(prior_mixture, 10, 6, scale)
    assert read_prior_mixture(name, 10, 6, signed).classes == read_prior_mixture(plain, 10, 6, {}).classes == 2


def test_settings_refuse_the_shipped_prior_mixture_on_another_scale():
    mechanisms = {**CONFIG["mechanisms"], "sound": {**CONFIG["mechanisms"]["sound"], "prior_mixture": SHIPPED}}
    profiles = {**CONFIG["profiles"], "log_scale": {**CONFIG["profiles"]["log_scale"], "kind": "offset"}}
    with pytest.raises(InputError, match="is not on the scale of"):
        public_settings(1.0, 1e-5, (1000, 12), mechanisms, CONFIG["mixture"], profiles)
