"""``meterdp ledger migrate``: bring a ledger of an earlier version into the form of this one."""

from __future__ import annotations

import argparse

from meterdp.cli import ledger_show

EXAMPLES = ("meterdp ledger migrate", "meterdp ledger migrate /srv/ledgers/meterdp-ledger.sqlite")
add_arguments = ledger_show.add_arguments


def run(arguments: argparse.Namespace) -> int:
    """Rewrite the ledger and say what it has.

    Raises
    ------
    InputError
        If it is no ledger of an earlier version, or was changed.
    """
    from meterdp.release.show import migrate

    ledger = ledger_show.opened(arguments.ledger)
    found = migrate(ledger)
    print(f"{ledger.path.name} has {', '.join(f'{count} {what}' for what, count in found.items())}.")
    print(f"Back it up with {ledger.key_path.name}, {ledger.copy_path.name} and {ledger.files_path.name}.")
    return 0
