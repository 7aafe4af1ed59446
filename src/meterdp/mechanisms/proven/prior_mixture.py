"""A public prior mixture: one that was released, or fitted to simulated households.

A folder as a release leaves it: ``mixture.json`` and the ``manifest.json`` that says where it comes from. Whether it
is public is read from the manifest, which vouches for the mixture by its digest; a study's files have none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from meterdp.core.provenance import shipped
from meterdp.core.regular import contents
from meterdp.errors import InputError
from meterdp.mixture.draws import Mixture

# What the configuration calls the prior mixture that comes with the code (tools/make_prior_mixture.py), and the rule
# that takes it where it covers the records.
SHIPPED, AUTO = "simulated", "auto"
# Its hours, from midnight on.
HOURS = 48
FILES = ("mixture.json", "manifest.json")
MOST_BYTES = 2**30


@dataclass(frozen=True)
class PriorMixture:
    """Public classes for the hours of a record."""

    mixture: Mixture = field(compare=False)
    sha256: str  # digest of the file it was read from, by which it is known

    @property
    def classes(self) -> int:
        """Number of classes K."""
        return self.mixture.classes


def prior_mixture_files(name: str | None) -> list[str]:
    """Return the files of the prior mixture that the configuration names, none if it names none."""
    if name is None:
        return []
    folder = shipped("resources/prior_mixture") if name in (SHIPPED, AUTO) else Path(name)
    return [str(folder / file) for file in FILES]


def read_prior_mixture(name: str, start_hour: int, hours: int, scale: Mapping | None = None) -> PriorMixture:
    """Read a prior mixture and keep the hours of a record: a part of a Gaussian is the Gaussian of that part.

    ``name`` is a folder, or ``simulated`` for the one that comes with the code; a record has ``hours`` that follow
    one another from ``start_hour`` of the day on, ``scale`` is ``LogScale.words`` of the records, that of a plain log
    by default. Refuses what is no prior mixture, not public by its manifest, on another scale, or of other hours.
    """
    mixture_file, manifest_file = prior_mixture_files(name)
    try:
        # The folder may be of links; what they lead to is a file.
        data, said = (
            contents(Path(file).resolve(), MOST_BYTES, "name the folder of a release")
            for file in (mixture_file, manifest_file)
        )
        manifest = json.loads(said)
        stored = json.loads(data)
        entries = [int(label[:2]) for label in stored["entries"]]
        weights, means, covariances = (
            np.array(stored[key], dtype=float) for key in ("weights", "means", "covariances")
        )
    except (InputError, OSError, ValueError, LookupError, TypeError, RecursionError):
        raise _refused(
            "is not a folder with the mixture.json and manifest.json of a released mixture",
            "name such a folder, 'simulated' or null",
        ) from None
    sha256 = hashlib.sha256(data).hexdigest()
    if not _is_public(manifest, sha256):
        raise _refused(
            "is not public by its manifest: it was neither released by meterdp nor fitted to simulated households",
            "name the folder of a release, unchanged, 'simulated' or null",
        )
    if _scale_of(manifest) != dict(scale or {}):
        raise _refused(
            "is not on the scale of profiles.log_scale, so that its log kWh are others",
            "name a prior mixture released with the same scale, or null",
        )
    k, d = len(weights), len(entries)
    if means.shape != (k, d) or covariances.shape != (k, d, d) or not _is_mixture(weights, means, covariances):
        raise _refused("does not hold a Gaussian mixture", "name the folder of a release, unchanged")
    first = next((i for i, hour in enumerate(entries) if hour == start_hour % 24 and i + hours <= d), None)
    if first is None:
        raise _refused(
            f"does not cover {hours} hours from {start_hour}:00 on",
            "change profiles.start_hour or profiles.hours, or name a prior mixture of these hours or null",
        )
    part = slice(first, first + hours)
    return PriorMixture(Mixture(weights, means[:, part], covariances[:, part, part]), sha256)


def _is_public(manifest, sha256: str) -> bool:
    """Whether the manifest vouches for the file and says that it was released, or made from no one's readings."""
    digests, public = _section(manifest, "sha256"), _section(manifest, "public_parameters")
    if digests.get("mixture.json") != sha256:
        return False
    if manifest.get("privacy") is None:
        return manifest.get("simulated_data") is True and public.get("artefact") == "prior_mixture"
    released = public.get("artefact") == "mixture" and public.get("mechanism") == "sound"
    adjacency = _section(manifest, "privacy").get("adjacency")
    return released and adjacency in ("replace_one", "add_remove") and "status" not in manifest


def _scale_of(manifest: Mapping) -> dict:
    """Return ``LogScale.words`` of a prior mixture; a manifest that names none is of a plain log."""
    return dict(_section(_section(_section(manifest, "public_parameters"), "profiles"), "log_scale"))


def _section(manifest, key: str) -> Mapping:
    """Return a section of a manifest, empty if it has none: whoever made it may have written anything."""
    section = manifest.get(key) if isinstance(manifest, dict) else None
    return section if isinstance(section, dict) else {}


def _is_mixture(weights: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> bool:
    numbers = all(np.isfinite(a).all() for a in (weights, means, covariances))
    if not numbers or not (weights > 0).all() or abs(weights.sum() - 1) > 1e-9:
        return False
    skew = np.abs(covariances - np.swapaxes(covariances, -1, -2)).max()
    return bool(skew <= 1e-9 * np.abs(covariances).max() and np.linalg.eigvalsh(covariances).min() > 0)


def _refused(problem: str, hint: str) -> InputError:
    return InputError(problem, file="config", field="mechanisms.sound.prior_mixture", hint=hint)
