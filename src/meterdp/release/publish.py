"""Hand files over: a folder below results/release appears whole, or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from meterdp.core.errors import InputError


def publish(files: Mapping[str, bytes], folder) -> None:
    """Write the files of one release as ``folder``, which replaces what is there.

    Raises
    ------
    InputError
        If they cannot be written; then what was there stays.
    """
    folder = Path(folder)
    # Outside results/release, so that no half file is ever in it.
    staging = folder.parent.parent / "private" / f".{folder.name}.part"
    before = staging.with_name(f".{folder.name}.before")
    try:
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        for name, data in files.items():
            with open(staging / name, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(before, ignore_errors=True)
        if folder.exists():
            os.replace(folder, before)
        os.replace(staging, folder)
        shutil.rmtree(before, ignore_errors=True)
    except OSError as error:
        shutil.rmtree(staging, ignore_errors=True)
        if before.exists() and not folder.exists():
            with suppress(OSError):
                os.replace(before, folder)
        raise InputError(
            f"cannot be written ({error.strerror or type(error).__name__})",
            file=folder,
            remedy="free disk space or correct the permissions and run again; nothing is charged twice",
        ) from None
