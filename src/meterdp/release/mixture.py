"""The released mixture: through gate and ledger to the files that may leave the building.

The files are made once, when the noise is drawn, and are the same bytes ever after: the mixture as Parquet and as
JSON for scikit-learn, synthetic profiles, a manifest for machines and a page for people.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial

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
from meterdp.release.gate import MIXTURE_FILES, account_of, check_books, check_release, check_settings
from meterdp.release.ledger import Charge, Ledger, Request
from meterdp.release.noise import FreshNumbers
from meterdp.release.safe_noise import SafeNoise
from meterdp.release.tables import RELEASED_MIXTURE, RELEASED_PROFILES

# Counts up when the same public words would give another release.
VERSION = 1
HIDES = ("what any one listed meter read in the period, up to the factor and the chance given",)
DOES_NOT_HIDE = (
    "who is on the public list of meters",
    "what is true of the population: typical profiles, how common they are and how much they vary",
    "more about a household with several meters than about one with a single meter",
)


def release_mixture(
    log_kwh: np.ndarray, roster: bytes, config: Mapping, *, simulated: bool
) -> tuple[dict[str, bytes], Callable[[], None]]:
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

    Returns
    -------
    files : dict of name to bytes
    handed_over : callable
        To be called once they are, which the ledger then notes.

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
    period = [config["export"][key] for key in ("first_day", "last_day")]
    books = partial(check_books, account=request.account, roster=words["list_of_meters_sha256"], period=period)
    return ledger.release(request, cap, draw, books), partial(ledger.published, request)


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
    population = config["release"]["population"] or request.account.population
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
        "population": population,
        "budget_period": request.account.period,
        "period": period,
        # The list itself is public to whom it is; a digest would let others check a guess. So would the name of the
        # request, which is a digest of the list and of public words; the ledger knows this file by its digest.
        "public_parameters": {k: v for k, v in request.words.items() if k != "list_of_meters_sha256"},
        "meterdp_version": meterdp.__version__,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    files["manifest.json"] = _json(manifest)
    files["README.md"] = _page(mixture, rules, period, guarantee, population, simulated, n).encode()
    return {name: files[name] for name in MIXTURE_FILES}


def _page(
    mixture: Mixture,
    rules: VectorRules,
    period: list,
    guarantee: Guarantee,
    population: str,
    simulated: bool,
    n: int,
) -> str:
    """One page that a customer could read."""
    hours = hour_rows(rules)["label"]
    if rules.vector == "mean":
        days = f"on the days from {period[0]} to {period[1]}, averaged"
    else:
        days = f"on one day of the period from {period[0]} to {period[1]}"
    until = hours[-1][-5:].replace("00:00", "24:00")
    shares = ", ".join(f"{share:.0%}" for share in mixture.weights)
    paragraphs = [
        f"# Typical load profiles of {population}",
        *(["**These households are simulated.** They stand in for real ones."] if simulated else []),
        f"This folder describes how households used electricity between {hours[0][:5]} and {until} {days}. It holds "
        "no household's readings.",
        "## What is in it",
        f"- `mixture.parquet` and `mixture.json`: {mixture.classes} typical profiles (shares {shares}), each with "
        "the typical energy per hour (the mean of its logarithm) and how much households differ from it. Meters "
        "without usable readings count as a household of one and the same, publicly known use.\n"
        f"- `synthetic_profiles.parquet`: {n:,} made-up profiles, sampled from the mixture. None of them "
        "belongs to anybody.\n"
        "- `manifest.json`: how the files were made, for experts and machines.",
        "## What it hides",
        _points(HIDES),
        f"This is a mathematical guarantee, differential privacy with epsilon {guarantee.epsilon:g} and delta "
        f"{guarantee.delta:g}: had any one meter's readings been others, the probability of any outcome would be at "
        f"most {np.exp(guarantee.epsilon):.3g} times as large, plus {guarantee.delta:g}, whatever else somebody "
        "knows. Releases about the same households add up; whoever publishes them keeps a ledger of the sum.",
        "## What can be learnt from it",
        _points(DOES_NOT_HIDE),
    ]
    return "\n\n".join(paragraphs) + "\n"


def _points(words) -> str:
    return "\n".join(f"- {word[0].upper()}{word[1:]}." for word in words)


def _json(value) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()
