"""A folder of released profiles for one tool: its files, the manifest of the release, and a page."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from meterdp.errors import InputError
from meterdp.release.convert.profiles import LoadProfiles
from meterdp.release.convert.registry import Tool
from meterdp.release.received import expected_error

PROVENANCE = "release_manifest.json"


def converted(profiles: LoadProfiles, tool: Tool) -> dict[str, bytes]:
    """Return the files of a folder for ``tool`` by name: its own, the manifest of the release and a page."""
    manifest = profiles.manifest
    privacy, simulated = manifest["privacy"], " The households are simulated." if manifest["simulated_data"] else ""
    hides, does_not_hide = ("\n".join(f"- {s}" for s in privacy[k]) for k in ("hides", "does_not_hide"))
    count, steps = profiles.energy_kwh.shape
    error = expected_error(manifest)
    expected = f"**How far they are off:** {error}.\n\n" if error else ""
    page = f"""# Load profiles for {tool.title}

{count:,} load profiles in {steps} intervals of {profiles.interval_minutes} minutes from {profiles.local_start[0]} on
({profiles.time_zone}; {profiles.dated}).
They are the released ones in other units: the mean power of each interval is its energy over its length.{simulated}

{tool.how}

{expected}**What protects the households:** {profiles.guarantee}.

What it hides:
{hides}

What it does not hide:
{does_not_hide}

`{PROVENANCE}` is the manifest of the release these files were made from, as it was handed over; making them took
nothing else and costs no privacy.
"""
    return {**tool.files(profiles), PROVENANCE: profiles.manifest_as_it_was, "README.md": page.encode()}


def write_folder(files: Mapping[str, bytes], folder) -> None:
    """Write a folder that appears whole or not at all.

    Raises
    ------
    InputError
        If something is there already, or it cannot be written.
    """
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("is there already", file=folder, hint="name a folder that is empty or not there")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as staging:
            whole = Path(staging) / "whole"
            whole.mkdir()
            for name, data in files.items():
                (whole / name).write_bytes(data)
            os.replace(whole, folder)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror or type(error).__name__})",
            file=folder,
            hint="free disk space or correct the permissions and run again",
        ) from None
