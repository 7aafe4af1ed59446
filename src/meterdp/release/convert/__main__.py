"""``python -m meterdp.release.convert FOLDER --as TOOL --to OUT [--date DAY]``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from meterdp.core.errors import InputError
from meterdp.release.convert.profiles import LoadProfiles, read_release
from meterdp.release.convert.registry import TOOLS, Tool

PROVENANCE = "release_manifest.json"


def converted(profiles: LoadProfiles, tool: Tool) -> dict[str, bytes]:
    """Return the files of a folder for ``tool`` by name: its own, the manifest of the release and a page."""
    manifest = json.loads(profiles.manifest)
    privacy, simulated = manifest["privacy"], " The households are simulated." if manifest["simulated_data"] else ""
    hides, does_not_hide = ("\n".join(f"- {s}" for s in privacy[k]) for k in ("hides", "does_not_hide"))
    count, steps = profiles.energy_kwh.shape
    page = f"""# Load profiles for {tool.title}

{count:,} load profiles in {steps} intervals of {profiles.interval_minutes} minutes from {profiles.local_start[0]} on
({profiles.time_zone}; {profiles.dated}).
They are the released ones in other units: the mean power of each interval is its energy over its length.{simulated}

{tool.how}

**What protects the households:** {profiles.guarantee}.

What it hides:
{hides}

What it does not hide:
{does_not_hide}

`{PROVENANCE}` is the manifest of the release these files were made from, as it was handed over; making them took
nothing else and costs no privacy.
"""
    return {**tool.files(profiles), PROVENANCE: profiles.manifest, "README.md": page.encode()}


def write_folder(files: Mapping[str, bytes], folder) -> None:
    """Write a folder that appears whole or not at all.

    Raises
    ------
    InputError
        If something is there already, or it cannot be written.
    """
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("is there already", file=folder, remedy="name a folder that is empty or not there")
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
            remedy="free disk space or correct the permissions and run again",
        ) from None


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("write a day as 2025-11-17") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Convert a folder; 1 if it is refused."""
    parser = argparse.ArgumentParser(
        prog="python -m meterdp.release.convert", description="Write released profiles as files of another tool."
    )
    parser.add_argument("folder", help="a released folder: results/release/mixture or results/release/forecasts")
    parser.add_argument("--as", dest="tool", required=True, choices=sorted(TOOLS))
    parser.add_argument("--to", required=True, help="folder to write, which must be empty or not there")
    parser.add_argument(
        "--date",
        type=_day,
        help="local day on which synthetic profiles begin; if left out, the day the release says they are of, or "
        "else the first day of its period",
    )
    asked = parser.parse_args(arguments)
    try:
        write_folder(converted(read_release(asked.folder, asked.date), TOOLS[asked.tool]), asked.to)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
