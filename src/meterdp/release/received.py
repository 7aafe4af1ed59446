"""A released folder as whoever receives it sees it: is every file what the manifest declares, and nothing more?

Checksums tell that files were not changed since the manifest was written, not who wrote it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from meterdp.core.errors import InputError
from meterdp.core.guarantee import NOT_FOR_RELEASE
from meterdp.core.parquet import metadata_of
from meterdp.release.gate import CRATE, ENTRY

MANIFEST = "manifest.json"
# What a folder may hold beside what its manifest declares: what is written after its checksums.
BESIDE = (MANIFEST, "README.md", CRATE, ENTRY)
RELEASED = "take a folder that `make release` wrote, such as results/release/mixture or results/release/forecasts"


@dataclass(frozen=True)
class Received:
    """A folder that is what was released.

    Parameters
    ----------
    folder : Path
    files : tuple of str
        What the manifest declares.
    guarantees : tuple of str
        Of its Parquet files, each once.
    manifest : mapping
    """

    folder: Path
    files: tuple[str, ...]
    guarantees: tuple[str, ...]
    manifest: Mapping

    @property
    def expected_error(self) -> str | None:
        """How far the release is expected to be off, as its manifest says it; None if it says nothing."""
        return expected_error(self.manifest)


def expected_error(manifest: Mapping) -> str | None:
    """Return the sentence of a manifest on how far the release is expected to be off, if it has one."""
    stated = manifest.get("expected_error")
    words = stated.get("in_words") if isinstance(stated, dict) else None
    return words if isinstance(words, str) else None


def read_manifest(folder) -> tuple[bytes, dict]:
    """Return the manifest of a released folder, as it is and as JSON.

    Raises
    ------
    InputError
        If the folder has none, or is that of a study.
    """
    folder = Path(folder)
    try:
        raw = (folder / MANIFEST).read_bytes()
        manifest = json.loads(raw)
        manifest["sha256"] = dict(manifest["sha256"])
        manifest["public_parameters"], manifest["population"], manifest["simulated_data"]
        _, _ = manifest["period"]
        manifest["privacy"] |= {key: list(manifest["privacy"][key]) for key in ("hides", "does_not_hide")}
        if any(Path(name).name != name for name in manifest["sha256"]):
            raise ValueError("a release has no folders, and nothing outside its own")
    except (OSError, ValueError, KeyError, TypeError):
        _refuse_studies(folder)
        raise InputError("has no manifest of a release", file=folder, remedy=RELEASED) from None
    return raw, manifest


def _refuse_studies(folder: Path) -> None:
    """Name the first file of a folder without a manifest that is not for release, if there is one."""
    for path in sorted(folder.glob("*.parquet")):
        with suppress(OSError, ValueError):  # no Parquet file at all
            _refuse_a_study(path, metadata_of(path))


def _refuse_a_study(path: Path, told: Mapping[str, str]) -> None:
    if told.get("audience") != "release" or NOT_FOR_RELEASE in told.get("guarantee", NOT_FOR_RELEASE):
        raise InputError(f"is {NOT_FOR_RELEASE}", file=path, remedy=RELEASED)


def checked(folder: Path, name: str, digests: Mapping[str, str]) -> str | None:
    """Compare a file with its checksum; return the guarantee of a Parquet file.

    Raises
    ------
    InputError
        If it is missing, another one, or not for release.
    """
    path = folder / name
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digests[name]:
        raise InputError("is missing or not what was released", file=path, remedy="copy the released folder again")
    if path.suffix != ".parquet":
        return None
    told = metadata_of(path)
    _refuse_a_study(path, told)
    # On one line, because it becomes a comment in the scripts of other tools.
    return " ".join(told["guarantee"].split())


def verify(folder) -> Received:
    """Check every file of a released folder.

    Parameters
    ----------
    folder : path-like
        Such as ``results/release/mixture``.

    Raises
    ------
    InputError
        If it is no released folder, a declared file is missing or changed, or another file is there.
    """
    folder = Path(folder)
    _, manifest = read_manifest(folder)
    digests = manifest["sha256"]
    for path in sorted(folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        if path.relative_to(folder).as_posix() not in (*digests, *BESIDE):
            raise InputError(
                "is not declared in the manifest", file=path, remedy="take it out: it is no part of the release"
            )
    guarantees = [checked(folder, name, digests) for name in sorted(digests)]
    return Received(folder, tuple(sorted(digests)), tuple(dict.fromkeys(filter(None, guarantees))), manifest)


def released_folders(folder) -> list[Path]:
    """Return a released folder itself, or those in the folder of all releases, ``earlier`` ones included.

    Raises
    ------
    InputError
        If there is none, or the folder holds files beside them.
    """
    folder = Path(folder)
    if (folder / MANIFEST).exists():
        return [folder]
    found = sorted(path.parent for path in folder.rglob(MANIFEST))
    for path in sorted(folder.rglob("*")) if found else []:
        if path.is_file() and not any(one in path.parents for one in found):
            raise InputError(
                "belongs to no released folder", file=path, remedy="take it out: it is no part of a release"
            )
    return found or [folder]  # refused for what it is
