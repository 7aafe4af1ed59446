"""``meterdp ledger``: print, draw and verify a ledger, and set other limits for its meters."""

from __future__ import annotations

import argparse
from pathlib import Path

from meterdp.cli import Command, configurations, take_configurations
from meterdp.errors import InputError


def _ledger(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "ledger",
        nargs="?",
        type=Path,
        default=Path("meterdp-ledger.sqlite"),
        help="file of the ledger, as in release.ledger (meterdp-ledger.sqlite)",
    )


def opened(path: Path):
    """Return a ledger that is there or was: a new one would be made, and another file become a ledger."""
    from meterdp.privacy.ledger import Ledger
    from meterdp.privacy.ledger_file import is_ledger

    ledger = Ledger(path)
    if ledger.begins:
        raise InputError(
            "does not exist",
            file=path.absolute(),
            hint="give the path of the ledger, as in release.ledger of the configuration, after the command; the "
            "first release makes it",
        )
    if not is_ledger(path):
        raise InputError("is not a ledger, or is damaged", file=path, hint="give the path of the ledger")
    return ledger


def _counted(found) -> str:
    ones = {"events": "event", "lists of meters": "list of meters", "stored releases": "stored release"}
    return ", ".join(f"{count} {ones[what] if count == 1 else what}" for what, count in found.items())


def _show_takes(parser: argparse.ArgumentParser) -> None:
    _ledger(parser)
    parser.add_argument("--meter", metavar="ID", help="only what was released about this meter, and what is left")


def _show(arguments: argparse.Namespace) -> int:
    from meterdp.release.show import sentence

    print(sentence(opened(arguments.ledger), arguments.meter), end="")
    return 0


def _draw_takes(parser: argparse.ArgumentParser) -> None:
    _ledger(parser)
    parser.add_argument("--to", required=True, metavar="FILE", help="the HTML page to write")


def _draw(arguments: argparse.Namespace) -> int:
    from meterdp.report.ledger import write_ledger_page

    ledger = opened(arguments.ledger)
    if Path(arguments.to).resolve() in (ledger.path, ledger.copy_path):
        raise InputError("is the ledger or its copy", file=arguments.to, hint="write the page to another file")
    write_ledger_page(ledger, arguments.to)
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    """Check every event, every list of meters and every stored file; InputError names what was changed."""
    print(f"Nothing was changed: {_counted(opened(arguments.ledger).verify())}.")
    return 0


def _raise_takes(parser: argparse.ArgumentParser) -> None:
    words = "configuration(s) of a release, for the ledger, list of meters and budget period"
    take_configurations(parser, words, required=True)
    parser.add_argument("--epsilon", type=float, required=True, help="epsilon each meter may spend in all")
    parser.add_argument("--delta", type=float, help="delta of this limit (release.cap_delta)")


def _raise(arguments: argparse.Namespace) -> int:
    """Add the limit to the ledger."""
    from meterdp.core.config import complete
    from meterdp.ingest.meter_list import read_meter_list
    from meterdp.privacy.guarantee import Limit, PrivacyBudget
    from meterdp.privacy.ledger import Ledger
    from meterdp.release.settings import check_settings, public_name, touched_periods

    config = complete(*configurations(arguments.config))
    check_settings(config, simulated=False)
    release = config["release"]
    limit = Limit(arguments.epsilon, release["cap_delta"] if arguments.delta is None else arguments.delta)
    for name, value, most in (("--epsilon", limit.epsilon, 20), ("--delta", limit.delta, 1)):
        if not 0 < value <= most:
            raise InputError(f"is {value:g}", field=name, hint=f"use a number above 0, at most {most}")
    budget = PrivacyBudget("", "", *map(public_name, (release["population"], release["budget_period"])))
    meters = read_meter_list(config["export"]["meters"]).meter_ids
    Ledger(release["ledger"]).raise_limit(budget, meters, touched_periods(config), limit)
    print(
        f"{len(meters)} meters may spend epsilon {limit.epsilon:g} at delta {limit.delta:g} in '{budget.period}'; "
        "a lower limit in a configuration (release.cap_epsilon) still applies to its releases. Folders released "
        "before state the limit of their day: tell whoever relies on it."
    )
    return 0


def _migrate(arguments: argparse.Namespace) -> int:
    from meterdp.release.show import migrate

    ledger = opened(arguments.ledger)
    print(f"{ledger.path.name} has {_counted(migrate(ledger))}.")
    print(f"Back it up with {ledger.key_path.name}, {ledger.copy_path.name} and {ledger.files_path.name}.")
    return 0


def _examples(command: str) -> tuple[str, str]:
    return f"meterdp ledger {command}", f"meterdp ledger {command} /srv/ledgers/meterdp-ledger.sqlite"


COMMANDS = {
    "show": Command((*_examples("show"), "meterdp ledger show --meter M00042"), _show_takes, _show),
    "draw": Command(("meterdp ledger draw meterdp-ledger.sqlite --to ledger.html",), _draw_takes, _draw),
    "verify": Command(_examples("verify"), _ledger, _verify),
    "raise": Command(("meterdp ledger raise --config my.yaml --epsilon 8",), _raise_takes, _raise),
    "migrate": Command(_examples("migrate"), _ledger, _migrate),
}
