"""Publish files: a folder below results/release appears whole or not at all; none published before is lost.

What it says of itself to archives (RO-Crate), data catalogues (DCAT), tools of machine learning (Croissant), the
public registry of deployments, readers (``index.html``) and whoever signs it (``custodian.html``) is made once, when
noise is drawn, and stored with the rest.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date
from itertools import chain, count
from pathlib import Path

from meterdp.errors import InputError, unwritable
from meterdp.privacy.guarantee import NOT_FOR_RELEASE
from meterdp.privacy.periods import day_of
from meterdp.publish.crate import About, covered_days, crate_of
from meterdp.publish.kinds import CRATE, CROISSANT, CUSTODIAN, DCAT, DESCRIPTIONS, ENTRY, PAGE, check_files
from meterdp.publish.metadata import croissant_of, dcat_of
from meterdp.publish.received import MANIFEST, RELEASED


def described(files: Mapping[str, bytes], about: About, day: date) -> dict[str, bytes]:
    """Return the files of a whole folder with all that it says of itself.

    Refuses what is no release: without a manifest, or with a file that is not for release.
    """
    # They load PyYAML, jsonschema and Jinja: the library does without.
    from meterdp.publish.custodian import custodian_page
    from meterdp.publish.page import page_of
    from meterdp.publish.registry_entry import entry_of

    if any(NOT_FOR_RELEASE.encode() in data for data in files.values()):
        raise InputError(f"holds a file that is {NOT_FOR_RELEASE}", file="release", hint=RELEASED)
    if MANIFEST not in files:
        raise InputError("has no manifest of a release", file="release", hint=RELEASED)
    manifest = json.loads(files[MANIFEST])
    files = {name: data for name, data in files.items() if name not in DESCRIPTIONS}
    files |= {
        PAGE: page_of(files, manifest),
        CUSTODIAN: custodian_page(files, manifest, about, day),
        ENTRY: entry_of(manifest, about, day),
        DCAT: dcat_of(files, manifest, about, day),
        CROISSANT: croissant_of(files, manifest, about, day),
    }
    return files | {CRATE: crate_of(files, manifest, about, day)}


def publish(files: Mapping[str, bytes], folder) -> None:
    """Write the files of one release as ``folder``, if every file and column is declared for release."""
    check_files(files)
    if ENTRY in files:  # earlier versions stored none
        from meterdp.publish.registry_entry import check_entry

        check_entry(files[ENTRY])
    replace_folder(files, folder)


def replace_folder(files: Mapping[str, bytes], folder) -> None:
    """Write files by name as a folder such as ``results/release/mixture``, or leave what was there.

    Another release that was there is then in ``results/release/earlier``, untouched and named by its days; if it is
    the same release, nothing is written. A part of the same release gives way to the whole.
    """
    folder = Path(folder)
    # Outside results/release, so that no half file is ever in it.
    private = folder.parent.parent / "private"
    staging = private / f".{folder.name}.part"
    before: Path | None = None
    try:
        private.mkdir(parents=True, exist_ok=True)
        with _alone(private):
            there = _contents(folder)
            if there == dict(files):
                for path in folder.iterdir():  # as new as if they had been written
                    os.utime(path)
                return
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir()
            for name, data in files.items():
                with open(staging / name, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            folder.parent.mkdir(parents=True, exist_ok=True)
            if folder.exists():
                before = _kept(folder, there or {})
                os.replace(folder, before)
            os.replace(staging, folder)
            if before is not None and there is not None and there.items() <= dict(files).items():
                shutil.rmtree(before)
                with suppress(OSError):
                    before.parent.rmdir()  # if no other is in it
    except OSError as error:
        shutil.rmtree(staging, ignore_errors=True)
        if before is not None and before.exists() and not folder.exists():
            with suppress(OSError):
                os.replace(before, folder)
        hint = "free disk space or correct the permissions and run again; nothing is charged twice"
        raise unwritable(error, folder, hint) from None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one process at a time in, also of runs in other checkouts; no file is left behind."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def is_published(folder, files: Mapping[str, bytes]) -> bool:
    """Whether a folder has these files, if there are any, and no others."""
    try:
        return bool(files) and _contents(Path(folder)) == dict(files)
    except OSError:
        return False


def _contents(folder: Path) -> dict[str, bytes] | None:
    """Return what is in a folder, None if it is not one of files alone."""
    if not folder.is_dir() or not all(path.is_file() for path in folder.iterdir()):
        return None
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _kept(folder: Path, there: Mapping[str, bytes]) -> Path:
    """Return where a release that gives way is kept: a folder named after it and its days, and numbered if taken."""
    name = folder.name
    with suppress(Exception):  # what is there may be anything
        days = (day_of(day).isoformat() for day in covered_days(json.loads(there[MANIFEST])))
        name += f"-{'-to-'.join(days)}"
    earlier = folder.parent / "earlier"
    earlier.mkdir(exist_ok=True)
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(path for one in names if not (path := earlier / one).exists())
