"""Publish files: a folder below results/release appears whole or not at all; none published before is lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from meterdp.errors import InputError
from meterdp.release.described import check_described
from meterdp.release.settings import check_files


def publish(files: Mapping[str, bytes], folder) -> None:
    """Write the files of one release as ``folder``, if every file and column is declared for release.

    Parameters are those of :func:`replace_folder`.

    Raises
    ------
    InputError
        If one is not, or they cannot be written.
    """
    check_files(files)
    check_described(files)
    replace_folder(files, folder)


def replace_folder(files: Mapping[str, bytes], folder) -> None:
    """Write the files of one release as ``folder``; another release that is there moves to ``earlier``.

    Parameters
    ----------
    files : mapping of name to bytes
    folder : path-like
        Such as ``results/release/mixture``. What was there before is then in ``results/release/earlier/mixture-1``,
        ``-2`` and so on, untouched; if it is the same release, nothing is written.

    Raises
    ------
    InputError
        If they cannot be written; then what was there stays.
    """
    folder = Path(folder)
    # Outside results/release, so that no half file is ever in it.
    staging = folder.parent.parent / "private" / f".{folder.name}.part"
    before: Path | None = None
    try:
        if _contents(folder) == dict(files):
            for path in folder.iterdir():  # as new as if they had been written
                os.utime(path)
            return
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        for name, data in files.items():
            with open(staging / name, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.exists() and not any(folder.iterdir()):
            folder.rmdir()  # Snakemake makes the folders of what a job will write
        if folder.exists():
            before = _kept(folder)
            os.replace(folder, before)
        os.replace(staging, folder)
    except OSError as error:
        shutil.rmtree(staging, ignore_errors=True)
        if before is not None and before.exists() and not folder.exists():
            with suppress(OSError):
                os.replace(before, folder)
        raise InputError(
            f"cannot be written ({error.strerror or type(error).__name__})",
            file=folder,
            hint="free disk space or correct the permissions and run again; nothing is charged twice",
        ) from None


def _contents(folder: Path) -> dict[str, bytes] | None:
    """Return what is in a folder, None if it is not one of files alone."""
    if not folder.is_dir() or not all(path.is_file() for path in folder.iterdir()):
        return None
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _kept(folder: Path) -> Path:
    """Return where a folder moves to: the first free number."""
    earlier = folder.parent / "earlier"
    earlier.mkdir(exist_ok=True)
    number = 1
    while (earlier / f"{folder.name}-{number}").exists():
        number += 1
    return earlier / f"{folder.name}-{number}"
