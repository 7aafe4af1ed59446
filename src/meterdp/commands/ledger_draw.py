"""``meterdp ledger draw``: what a ledger says, as a page with figures."""

from __future__ import annotations

import argparse

from meterdp.commands import ledger_show

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
        If there is no ledger, or it cannot be trusted.
    """
    from meterdp.figures.ledger import write_ledger_page

    write_ledger_page(ledger_show.opened(arguments.ledger), arguments.to)
    return 0
