"""The released mixture: through gate and ledger to the files that may leave the building.

The files are made once, when the noise is drawn, and are the same bytes ever after: the mixture as Parquet and as
JSON for scikit-learn, synthetic profiles, a manifest for machines and a page for people.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

import meterdp
from meterdp.core.guarantee import Guarantee
from meterdp.core.parquet import table_bytes
from meterdp.mechanisms.configured import public_settings
from meterdp.mechanisms.interface import PrivateRecords
from meterdp.mechanisms.sound.mechanism import Sound
from meterdp.mixture.draws import Mixture
from meterdp.mixture.sampling import sample
from meterdp.profiles.vector import VectorRules, hour_rows
from meterdp.release.account import Cap
from meterdp.release.gate import MIXTURE_FILES, account_of, check_release, check_settings
from meterdp.release.ledger import Charge, Ledger, Request
from meterdp.release.noise import FreshNumbers
from meterdp.release.safe_noise import SafeNoise
from meterdp.release.tables import RELEASED_MIXTURE, RELEASED_PROFILES

# Counts up when the same public words would give another release.
VERSION = 1
HIDES = (
    "all readings of any one household: with or without them, the file would be nearly as likely",
    "whether a household was at home, what it does and when, beyond what is typical of many",
)
DOES_NOT_HIDE = (
    "who is on the public list of meters",
    "what is true of the population: typical profiles, how common they are and how much they vary",
)


def release_mixture(log_kwh: np.ndarray, roster: bytes, config: Mapping, *, simulated: bool) -> dict[str, bytes]:
    """Return the files of the released mixture: drawn and charged once, afterwards the stored ones.

    Parameters
    ----------
    log_kwh : (N, d) float64
        Profile vectors of all listed households, the public default record where not valid.
    roster : bytes
        The public list of meters.
    config : mapping
        The whole configuration.
    simulated : bool
        Whether the export is simulated.

    Raises
    ------
    InputError
        If gate or ledger refuses.
    """
    check_settings(config, simulated)
    release = config["release"]
    public = public_settings(
        release["epsilon"],
        release["delta"],
        log_kwh.shape,
        config["mechanisms"],
        config["mixture"],
        config["profiles"],
        SafeNoise.grid,
    )
    mechanism, cap = Sound.calibrate(public), Cap(release["cap_epsilon"], release["cap_delta"])
    check_release(mechanism.guarantee, len(log_kwh), cap)
    charge = Charge(mechanism.mu, mechanism.total_variation)
    words = {
        "artefact": "mixture",
        "mechanism": mechanism.name,
        "mechanism_version": VERSION,
        "public": asdict(public),
        # Everything that shapes a record, and who they are of.
        "export": {key: value for key, value in config["export"].items() if key not in ("path", "meters")},
        "quality": config["quality"],
        "profiles": config["profiles"],
        "list_of_meters_sha256": hashlib.sha256(roster).hexdigest(),
        "synthetic_profiles": release["synthetic_profiles"],
        "synthetic": simulated,
    }
    request = Request(account_of(mechanism.guarantee, config, simulated), words, charge)

    def draw() -> dict[str, bytes]:
        mixture = mechanism.release(PrivateRecords(log_kwh), SafeNoise(), 1).mixtures.draw(0)
        return _files(mixture, mechanism, request, config, simulated)

    ledger = Ledger(release["ledger"])
    files = ledger.release(request, cap, draw)
    ledger.published(request)
    return files


def _files(mixture: Mixture, mechanism: Sound, request: Request, config: Mapping, simulated: bool) -> dict:
    rules = VectorRules.from_config(config["profiles"])
    hours = hour_rows(rules)["label"]
    guarantee = mechanism.guarantee
    stated = f"({guarantee.epsilon:g}, {guarantee.delta:g})-differential privacy for {guarantee.unit}"
    metadata = {"guarantee": stated, "synthetic": "yes" if simulated else "no"}
    n = config["release"]["synthetic_profiles"]
    profiles, _ = sample(mixture, n, FreshNumbers())
    energy_kwh = np.clip(np.exp(profiles), *rules.clip_kwh_per_hour)
    files = {
        "mixture.parquet": table_bytes(
            RELEASED_MIXTURE,
            {
                "component": np.arange(1, mixture.classes + 1, dtype=np.int32),
                "weight": mixture.weights,
                "mean_log_kwh": list(mixture.means),
                "covariance": [c.ravel() for c in mixture.covariances],
            },
            metadata,
        ),
        "mixture.json": _json(
            {
                "weights": mixture.weights.tolist(),
                "means": mixture.means.tolist(),
                "covariances": mixture.covariances.tolist(),
                "covariance_type": "full",
                "entries": hours,
                "unit": "log kWh per hour",
            }
        ),
        "synthetic_profiles.parquet": table_bytes(
            RELEASED_PROFILES,
            {"profile": np.arange(1, n + 1, dtype=np.int32), "energy_kwh": list(energy_kwh)},
            metadata,
        ),
    }
    period = [config["export"][key] for key in ("first_day", "last_day")]
    manifest = {
        "what": "a Gaussian mixture of load profiles, and synthetic profiles sampled from it",
        "simulated_data": simulated,
        "privacy": {
            "unit": guarantee.unit,
            "adjacency": guarantee.adjacency,
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta,
            "accountant": guarantee.accountant,
            "proof": [guarantee.proof, "docs/proofs/safe_noise.md"],
            "hides": list(HIDES),
            "does_not_hide": list(DOES_NOT_HIDE),
        },
        "population": request.account.population,
        "budget_period": request.account.period,
        "period": period,
        "public_parameters": dict(request.words),
        "request": request.key,
        "meterdp_version": meterdp.__version__,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    files["manifest.json"] = _json(manifest)
    files["README.md"] = _page(mixture, hours, period, guarantee, request, simulated, n).encode()
    return {name: files[name] for name in MIXTURE_FILES}


def _page(
    mixture: Mixture, hours: list[str], period: list, guarantee: Guarantee, request: Request, simulated: bool, n: int
) -> str:
    """One page that a customer could read."""
    until = hours[-1][-5:].replace("00:00", "24:00")
    shares = ", ".join(f"{share:.0%}" for share in mixture.weights)
    paragraphs = [
        f"# Typical load profiles of {request.account.population}",
        *(["**These households are simulated.** They stand in for real ones."] if simulated else []),
        f"This folder describes how households used electricity between {hours[0][:5]} and {until} in the period "
        f"from {period[0]} to {period[1]}. It holds no household's readings.",
        "## What is in it",
        f"- `mixture.parquet` and `mixture.json`: {mixture.classes} typical profiles (shares {shares}), each with "
        "its average energy per hour and how much households differ from it.\n"
        f"- `synthetic_profiles.parquet`: {n:,} made-up profiles that behave like the real ones. None of them "
        "belongs to anybody.\n"
        "- `manifest.json`: how the files were made, for experts and machines.",
        "## What nobody can learn from it",
        _points(HIDES),
        f"This is a mathematical guarantee, differential privacy with epsilon {guarantee.epsilon:g} and delta "
        f"{guarantee.delta:g}: had any one household's readings been others, no outcome would be more than "
        f"{np.exp(guarantee.epsilon):.3g} times as likely, but for a chance of {guarantee.delta:g}, whatever else "
        "somebody knows. Releases about the same readings add up; whoever publishes them keeps a ledger of the sum.",
        "## What can be learnt from it",
        _points(DOES_NOT_HIDE),
    ]
    return "\n\n".join(paragraphs) + "\n"


def _points(words) -> str:
    return "\n".join(f"- {word[0].upper()}{word[1:]}." for word in words)


def _json(value) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()
