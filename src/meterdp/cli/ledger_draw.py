"""``meterdp ledger draw``: what a ledger says, as a page with figures."""

from __future__ import annotations

import argparse
from pathlib import Path

from meterdp.cli import ledger_show
from meterdp.errors import InputError

EXAMPLES = ("meterdp ledger draw meterdp-ledger.sqlite --to ledger.html",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    ledger_show.add_arguments(parser)
    parser.add_argument("--to", required=True, metavar="FILE", help="the HTML page to write")


def run(arguments: argparse.Namespace) -> int:
    """Write the page.

    Raises
    ------
    InputError
        If there is no ledger, it cannot be trusted, or the page would take its place.
    """
    from meterdp.report.ledger import write_ledger_page

    ledger = ledger_show.opened(arguments.ledger)
    if Path(arguments.to).resolve() in (ledger.path, ledger.copy_path):
        raise InputError("is the ledger or its copy", file=arguments.to, hint="write the page to another file")
    write_ledger_page(ledger, arguments.to)
    return 0
