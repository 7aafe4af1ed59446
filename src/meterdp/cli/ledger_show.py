"""``meterdp ledger show``: what a ledger says."""

from __future__ import annotations

import argparse
from pathlib import Path

from meterdp.errors import InputError

EXAMPLES = ("meterdp ledger show", "meterdp ledger show /srv/ledgers/meterdp-ledger.sqlite")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument(
        "ledger",
        nargs="?",
        type=Path,
        default=Path("meterdp-ledger.sqlite"),
        help="the ledger, release.ledger of the configuration (meterdp-ledger.sqlite)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print a ledger.

    Raises
    ------
    InputError
        If there is none, or it cannot be trusted.
    """
    from meterdp.release.show import sentence

    print(sentence(opened(arguments.ledger)), end="")
    return 0


def opened(path: Path):
    """Return a ledger that is there; one that is not would be made.

    Raises
    ------
    InputError
        If there is none, or the file is something else, which a ledger would make its own.
    """
    from meterdp.privacy.ledger import Ledger
    from meterdp.privacy.ledger_file import is_ledger

    if not path.is_file():
        raise InputError("is not there", file=path, hint="give the path of the ledger; the first release makes it")
    if not is_ledger(path):
        raise InputError("is no ledger, or damaged", file=path, hint="give the path of the ledger")
    return Ledger(path)
