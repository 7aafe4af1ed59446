"""What a released folder says of itself to archives and to the public registry: words that are public in it already.

Both files are made once, when noise is drawn, and stored with the rest. A folder of a study is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date

from meterdp.errors import InputError
from meterdp.privacy.guarantee import NOT_FOR_RELEASE
from meterdp.release.crate import About, crate_of
from meterdp.release.kinds import CRATE, ENTRY
from meterdp.release.received import MANIFEST, RELEASED


def described(files: Mapping[str, bytes], about: About, day: date) -> dict[str, bytes]:
    """Return the files of a release with its RO-Crate and its entry for the registry of deployments.

    Parameters
    ----------
    files : mapping of name to bytes
        A whole folder with its manifest; files of these two names are written anew.
    about : About
    day : date
        Of the release.

    Raises
    ------
    InputError
        If it is no release: without a manifest, or with a file that is not for release.
    """
    from meterdp.release.registry_entry import entry_of  # loads PyYAML and jsonschema: the library does without

    _refuse_studies(files)
    manifest = json.loads(files[MANIFEST])
    files = {name: data for name, data in files.items() if name not in (CRATE, ENTRY)}
    files[ENTRY] = entry_of(manifest, about, day)
    return files | {CRATE: crate_of(files, manifest, about, day)}


def check_described(files: Mapping[str, bytes]) -> None:
    """Refuse to hand over an entry that the registry would not take; earlier versions stored none.

    Raises
    ------
    InputError
        Naming the first field that does not do.
    """
    if ENTRY in files:
        from meterdp.release.registry_entry import check_entry

        check_entry(files[ENTRY])


def _refuse_studies(files: Mapping[str, bytes]) -> None:
    if any(NOT_FOR_RELEASE.encode() in data for data in files.values()):
        raise InputError(f"holds a file that is {NOT_FOR_RELEASE}", file="release", hint=RELEASED)
    if MANIFEST not in files:
        raise InputError("has no manifest of a release", file="release", hint=RELEASED)
