"""``meterdp ledger verify``: whether a ledger is what was written."""

from __future__ import annotations

import argparse

from meterdp.cli import ledger_show

EXAMPLES = ("meterdp ledger verify", "meterdp ledger verify /srv/ledgers/meterdp-ledger.sqlite")
add_arguments = ledger_show.add_arguments


def run(arguments: argparse.Namespace) -> int:
    """Check every event, every list of meters and every stored file, and say how many there are.

    Raises
    ------
    InputError
        Naming what was changed.
    """
    found = ledger_show.opened(arguments.ledger).verify()
    print(f"Nothing was changed: {', '.join(f'{count} {what}' for what, count in found.items())}.")
    return 0
