"""A released folder as whoever receives it sees it: is every file what the manifest declares, and nothing more?

The manifest has the checksums of files with data, and the RO-Crate those of the manifest and of what is written
after it. They are not a signature: they do not tell who wrote them. So nothing in a folder is trusted: a file is
opened only if it is a regular one of a possible size, read once, and its text is cleaned here.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from meterdp.core.parquet import metadata_of
from meterdp.core.regular import contents, opened
from meterdp.errors import InputError
from meterdp.privacy.guarantee import NOT_FOR_RELEASE
from meterdp.publish.kinds import CRATE, CUSTODIAN, DESCRIPTIONS, ENTRY, PAGE, README, is_for_release

MANIFEST = "manifest.json"
# What a folder may hold beside what its manifest declares: what is written after its checksums. The RO-Crate has
# those of all these but its own; folders of earlier versions have no RO-Crate.
BESIDE = (MANIFEST, README, *DESCRIPTIONS)
RELEASED = "take a folder that `make release` wrote, such as results/release/mixture or results/release/forecasts"
# Of a file with data; of a manifest, which has two lines for every household; of the other files beside the data.
MOST_BYTES, MOST_BYTES_OF = 2**32, {MANIFEST: 2**30, README: 2**20, **dict.fromkeys(DESCRIPTIONS, 2**20)}
_MOST_SENTENCES = 20  # a release has fewer
_NUMBER = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
# The ways in which pages and metadata state a guarantee.
_STATED = [
    re.compile(pattern)
    for pattern in (
        rf"epsilon {_NUMBER} and delta {_NUMBER}",
        rf"\(epsilon, delta\) = \({_NUMBER}, {_NUMBER}\)",
        rf"\({_NUMBER}, {_NUMBER}\)-(?:differential|class_label) privacy",
    )
]
_MALFORMED = (OSError, ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RecursionError)


@dataclass(frozen=True)
class Received:
    """A folder that is what was released."""

    folder: Path
    files: tuple[str, ...]  # what the manifest declares
    described: tuple[str, ...]  # what else is as the RO-Crate says it was
    unchecked: tuple[str, ...]  # what has no checksum, the RO-Crate itself left out
    missing: tuple[str, ...]  # what is in the RO-Crate alone
    guarantees: tuple[str, ...]  # of its Parquet files, each once
    manifest: Mapping


def expected_error(manifest: Mapping, brief: bool = False) -> str | None:
    """Return what a manifest says of how far the release is expected to be off, if it says anything.

    ``brief`` leaves out for which homes that holds.
    """
    stated = manifest.get("expected_error")
    words = stated.get("in_words") if isinstance(stated, dict) else None  # words: keep
    if not isinstance(words, str):
        return None
    words = words.removeprefix("expected to be off by: ")
    return words.partition(". ")[0] if brief else words


def before_use(manifest: Mapping) -> list[str]:
    """Return what a manifest says that whoever uses the release should know before any number, as sentences."""
    stated = manifest.get("expected_error")
    if not isinstance(stated, dict):
        return []
    first = stated.get("first")
    said = [stated.get("contradicted"), *(first if isinstance(first, list) else [])]
    return [f"{words}." for words in said[:_MOST_SENTENCES] if isinstance(words, str) and words]


def read_manifest(folder) -> tuple[bytes, dict]:
    """Return the manifest of a released folder, as it is and as JSON that may be printed and written into scripts.

    Refused if the folder has none, is that of a study, or declares what no release holds.
    """
    folder = Path(folder)
    try:
        raw = _contents(folder / MANIFEST)
        manifest = _manifest_in(raw)
    except _MALFORMED:
        _refuse_studies(folder)
        inside = sorted(path.parent.name for path in folder.glob(f"*/{MANIFEST}"))
        hint = f"name one of the releases in it: {', '.join(map(shown, inside))}" if inside else RELEASED
        raise InputError("has no manifest of a release", file=folder, hint=hint) from None
    digests = manifest["sha256"]
    for name in digests:
        if name in BESIDE or not is_for_release(name):
            raise InputError("is declared, but no release holds such a file", file=folder / name, hint=RELEASED)
    if not any(name.endswith(".parquet") for name in digests):
        problem = "declares no Parquet file, and every release has one"
        raise InputError(problem, file=folder / MANIFEST, hint=RELEASED)
    return raw, manifest


def _manifest_in(raw: bytes) -> dict:
    manifest = _printable(json.loads(raw))
    manifest["sha256"] = dict(manifest["sha256"])
    manifest["public_parameters"], manifest["population"], manifest["simulated_data"]
    _, _ = manifest["period"]
    privacy = manifest["privacy"]
    privacy |= {key: list(privacy[key]) for key in ("hides", "does_not_hide")}
    if not (_is_positive(privacy["epsilon"]) and _is_positive(privacy["delta"]) and privacy["adjacency"]):
        raise ValueError("no guarantee")
    return manifest


def passed_on(folder) -> dict[str, str]:
    """Return what a Parquet file made from a released folder says of it in its metadata: guarantee and manifest.

    Refused if the folder is none, or a file of it is not what was released.
    """
    raw, manifest = read_manifest(folder)
    guarantees = [checked(Path(folder), name, manifest)[1] for name in sorted(manifest["sha256"])]
    return {"guarantee": next(filter(None, guarantees)), "manifest": raw.decode()}


def read_passed_on(path: Path) -> tuple[bytes, dict, str]:
    """Return what :func:`passed_on` wrote into a file: the manifest, as it was and as JSON, and the guarantee."""
    metadata = metadata_of(path)
    _refuse_a_study(path, metadata)
    try:
        raw, guarantee = metadata["manifest"].encode(), _on_one_line(metadata["guarantee"])
        manifest = _manifest_in(raw)
    except _MALFORMED:
        raise InputError(
            "does not say what release it was drawn from", file=path, hint="draw it again from the released folder"
        ) from None
    _check_stated(path, b"", guarantee, manifest["privacy"])
    return raw, manifest, guarantee


def _contents(path: Path) -> bytes:
    return contents(path, MOST_BYTES_OF.get(path.name, MOST_BYTES), RELEASED)


def shown(text: str) -> str:
    """Spell out what a terminal or a script would obey in text by whoever made the folder."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _printable(value):
    """Return JSON with every text as :func:`shown` shows it."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {_printable(key): _printable(each) for key, each in value.items()}
    return [_printable(each) for each in value] if isinstance(value, list) else value


def _is_positive(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value and math.isfinite(value)


def _refuse_studies(folder: Path) -> None:
    """Name the first file of a folder without a manifest that is not for release, if there is one."""
    for path in sorted(folder.glob("*.parquet")):
        with suppress(OSError, ValueError), opened(path, MOST_BYTES, RELEASED) as file:  # no Parquet file at all
            _refuse_a_study(Path(shown(str(path))), metadata_of(file))


def _refuse_a_study(path: Path, metadata: Mapping[str, str]) -> None:
    if metadata.get("audience") != "release" or NOT_FOR_RELEASE in metadata.get("guarantee", NOT_FOR_RELEASE):
        raise InputError(f"is {NOT_FOR_RELEASE}", file=path, hint=RELEASED)


def checked(folder: Path, name: str, manifest: Mapping) -> tuple[bytes, str | None]:
    """Return a declared file that is what was released, and the guarantee of a Parquet file.

    Refused if it is missing, another one, not for release, or states another guarantee than the manifest.
    """
    path = folder / name
    try:
        data = _contents(path)
    except OSError:
        data = None
    if data is None or hashlib.sha256(data).hexdigest() != manifest["sha256"][name]:
        raise InputError("is missing, or is not what was released", file=path, hint="copy the released folder again")
    guarantee = None
    if path.suffix == ".parquet":
        try:
            metadata = metadata_of(pa.BufferReader(data))
        except (OSError, ValueError):
            raise InputError("is not a readable Parquet file", file=path, hint=RELEASED) from None
        _refuse_a_study(path, metadata)
        guarantee = _on_one_line(metadata["guarantee"])
    if not is_for_release(name, data):
        raise InputError("has columns that no release has", file=path, hint=RELEASED)
    _check_stated(path, data, guarantee, manifest["privacy"])
    return data, guarantee


def _on_one_line(guarantee: str) -> str:
    """Return a guarantee fit for a comment in the scripts of other tools."""
    return shown(" ".join(guarantee.split()))


def _check_stated(path: Path, data: bytes, guarantee: str | None, privacy: Mapping) -> None:
    """Refuse a file that states another guarantee than the manifest, or data that state none."""
    import yaml  # the library, which only imports this module, does without it

    try:
        stated = {_in_digits(e, d) for e, d in _stated_in(path.name, data, guarantee)}
    except (*_MALFORMED, yaml.YAMLError):
        raise InputError("cannot be read", file=path, hint=RELEASED) from None
    states_none = guarantee is not None and not stated
    of_labels = guarantee is not None and "-class_label privacy" in guarantee
    agrees = of_labels == (privacy["adjacency"] == "class_label") or guarantee is None
    if states_none or not agrees or stated - {_in_digits(privacy["epsilon"], privacy["delta"])}:
        raise InputError(
            f"states a different guarantee from {MANIFEST}",
            file=path,
            hint="trust neither, and ask whoever published the folder",
        )


def _stated_in(name: str, data: bytes, guarantee: str | None) -> Iterator[tuple]:
    """Yield every (epsilon, delta) that a file states."""
    if guarantee is not None:
        yield from _in_text(guarantee)
    elif name == ENTRY:
        import yaml

        numbers = yaml.safe_load(data)["deployment"]["privacy_loss"]["privacy_parameters"]
        yield numbers["epsilon"], numbers["delta"]
    elif name.endswith((".json", ".jsonld")):
        yield from _in_json(json.loads(data))
    elif name in (README, PAGE, CUSTODIAN):
        yield from _in_text(re.sub(r"<[^>]*>", " ", data.decode()))


def _in_json(value) -> Iterator[tuple]:
    if isinstance(value, str):
        yield from _in_text(value)
    elif isinstance(value, list):
        for each in value:
            yield from _in_json(each)
    elif isinstance(value, dict):
        if {"epsilon", "delta"} <= value.keys():
            yield value["epsilon"], value["delta"]
        for key, each in value.items():
            if key != "public_parameters":  # what was asked for, which may be more than what it came to
                yield from _in_json(each)


def _in_text(text: str) -> Iterator[tuple]:
    for pattern in _STATED:
        yield from pattern.findall(" ".join(text.split()))


def _in_digits(epsilon, delta) -> tuple[str, str]:
    """Return the numbers with the digits of text, which has fewer than JSON."""
    return f"{float(epsilon):g}", f"{float(delta):g}"


def verify(folder) -> Received:
    """Check every file of a released folder, such as ``results/release/mixture``.

    Refused if it is none, a declared file is missing or changed, another file is there, the places that state the
    guarantee differ, or the RO-Crate has another checksum of what is there beside declared files.
    """
    folder = Path(folder)
    raw, manifest = read_manifest(folder)
    digests = manifest["sha256"]
    for path in sorted(folder.rglob("*")):
        if path.relative_to(folder).as_posix() not in (*digests, *BESIDE):
            raise InputError(
                "is not declared in the manifest",
                file=shown(str(path)),
                hint="take it out: it is not part of the release",
            )
    guarantees = [checked(folder, name, manifest)[1] for name in sorted(digests)]
    there, described = [name for name in BESIDE if os.path.lexists(folder / name)], _described(folder)
    for name in there:
        data = raw if name == MANIFEST else _contents(folder / name)
        _check_stated(folder / name, data, None, manifest["privacy"])
        if name in described and hashlib.sha256(data).hexdigest() != described[name]:
            raise InputError(
                f"does not have the checksum in {CRATE}",
                file=folder / name,
                hint="one of the two was changed after the release: copy the released folder again",
            )
    return Received(
        folder,
        files=tuple(sorted(digests)),
        described=tuple(name for name in there if name in described),
        unchecked=tuple(name for name in there if name not in described and name != CRATE),
        missing=tuple(name for name in described if name not in there),
        guarantees=tuple(dict.fromkeys(filter(None, guarantees))),
        manifest=manifest,
    )


def _described(folder: Path) -> dict[str, str]:
    """Return the checksums that the RO-Crate of a folder has of what is beside the declared files, if any."""
    path = folder / CRATE
    if not os.path.lexists(path):
        return {}
    try:
        digests = {one.get("@id"): one["sha256"] for one in json.loads(_contents(path))["@graph"] if "sha256" in one}
    except _MALFORMED:
        raise InputError("cannot be read", file=path, hint=RELEASED) from None
    return {name: digests[name] for name in BESIDE if name in digests}


def released_folders(folder) -> list[Path]:
    """Return a released folder itself, or those in the folder of all releases, ``earlier`` ones included.

    Refused if there is none, or the folder holds anything beside them.
    """
    folder = Path(folder)
    if os.path.lexists(folder / MANIFEST):
        return [folder]
    found = sorted(path.parent for path in folder.rglob(MANIFEST))
    for path in sorted(folder.rglob("*")) if found else []:
        belongs = any(one == path or one in path.parents or path in one.parents for one in found)
        if not belongs or not path.relative_to(folder).as_posix().isprintable():
            raise InputError(
                "belongs to no released folder",
                file=shown(str(path)),
                hint="take it out: it is not part of a release",
            )
    return found or [folder]  # refused for what it is
