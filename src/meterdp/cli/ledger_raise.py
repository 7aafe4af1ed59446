"""``meterdp ledger raise``: state another limit for the meters of a list."""

from __future__ import annotations

import argparse
from pathlib import Path

from meterdp.core.provenance import shipped
from meterdp.errors import InputError

EXAMPLES = ("meterdp ledger raise --config my.yaml --epsilon 8",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument(
        "--config",
        type=Path,
        action="append",
        required=True,
        metavar="FILE",
        help="configuration(s) of a release: names the ledger, the meters and the budget period",
    )
    parser.add_argument("--epsilon", type=float, required=True, help="what each meter may spend from now on in all")
    parser.add_argument("--delta", type=float, help="the delta it is stated at (release.cap_delta)")


def run(arguments: argparse.Namespace) -> int:
    """Add the limit to the ledger.

    Raises
    ------
    InputError
        If the configuration names no meters or no budget period, or a number is out of range.
    """
    from meterdp.core.config import complete, load_schema, read_files
    from meterdp.ingest.meter_list import read_meter_list
    from meterdp.privacy.guarantee import Limit, PrivacyBudget
    from meterdp.privacy.ledger import Ledger
    from meterdp.release.settings import check_settings, public_name, touched_periods

    schema = load_schema(shipped("workflow/schemas/config.schema.yaml"))
    config = complete(read_files([str(file) for file in arguments.config]), schema)
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
        "the lower limit of a configuration (release.cap_epsilon) still holds for what it releases."
    )
    return 0
