"""``meterdp release convert``: released profiles as files of another tool."""

from __future__ import annotations

import argparse
from datetime import date

from meterdp.core.choices import names_in

EXAMPLES = ("meterdp release convert results/release/mixture --as opendss --to for-opendss --date 2025-11-17",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("folder", help="a released folder: results/release/mixture or results/release/forecasts")
    parser.add_argument("--as", dest="tool", required=True, choices=sorted(names_in("release.convert.TOOLS")))
    parser.add_argument("--to", required=True, metavar="FOLDER", help="to be written; must be empty or not there")
    parser.add_argument(
        "--date",
        type=_day,
        metavar="DAY",
        help="local day on which synthetic profiles begin; if left out, the day the release says they are of, or "
        "else the first day of its period",
    )


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("write a day as 2025-11-17") from None


def run(arguments: argparse.Namespace) -> int:
    """Convert a folder.

    Raises
    ------
    InputError
        If it is no release, or the files cannot be written.
    """
    from meterdp.release.convert import TOOLS, converted, read_release, write_folder

    profiles = read_release(arguments.folder, arguments.date)
    files = converted(profiles, TOOLS[arguments.tool])
    write_folder(files, arguments.to)
    print(f"{len(files):,} files are in {arguments.to}; its README.md says what they are.")
    return 0
