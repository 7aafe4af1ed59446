"""The command ``meterdp``."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

# What is imported stays: looking through it for garbage again and again takes an eighth of a check.
gc.set_threshold(100_000)

from meterdp import __version__  # noqa: E402
from meterdp.errors import REFUSAL, InputError, optional_packages  # noqa: E402

# What each command does. It stands in meterdp.cli.<name> or .<group>; "" is what a group is for.
COMMANDS: Mapping[str, str | Mapping[str, str]] = {
    "check": "what an export is, and whether a configuration describes it, in seconds",
    "config": {
        "": "what to do with the configuration of an earlier version",
        "upgrade": "rewrite settings that were renamed or removed, and keep all else as it is",
    },
    "plan": "what a release of so many meters would be worth at an epsilon, from public numbers alone",
    "ask": "ask a finished study what noise costs: the error for a guarantee, or the guarantee for an error",
    "release": {
        "": "what is said before a release, and done with a folder that was released",
        "check": "all that stands in the way of a release, or what it will charge; reads no readings",
        "verify": "whether a folder is what was released, and what guarantee it carries",
        "extract": "write the file of one household out of released forecasts of many",
        "convert": "write released profiles as files of OpenDSS, PyPSA, pandapower or GridLAB-D",
    },
    "households": {
        "": "years of synthetic households, drawn from a release at no cost",
        "draw": "write readings of as many synthetic households as you like, for the released period or any year",
    },
    "score": "how far synthetic households are from real ones, in the numbers a planner uses",
    "ledger": {
        "": "what has been released and what it cost",
        "show": "every charge and what all of them cost together",
        "draw": "the same as a page with figures",
        "verify": "whether every event, every list of meters and every stored file is what was written",
        "raise": "state another limit for the meters of a list",
        "migrate": "bring a ledger of an earlier version into the form of this one",
    },
    "audit": {
        "": "look for leaks, and at what attacks have found",
        "leaks": "look for meter ids and other secrets in every file of a folder",
        "show": "the lower bounds of `make audit` beside the claims",
    },
    "node": "one node of a mixture that several parties fit without showing each other their readings",
}


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; an error a user can mend is one sentence."""
    given = sys.argv[1:] if words is None else list(words)
    parser = argparse.ArgumentParser(prog="meterdp", description="Private smart-meter studies.")
    parser.add_argument("--version", action="version", version=f"meterdp {__version__}")
    _add(parser, COMMANDS, given, ())
    arguments = parser.parse_args(given)
    command = arguments.command
    if words is None:  # a process of its own
        for package in command.needless:
            sys.modules.setdefault(package, None)
    try:
        with optional_packages("this command"):
            return command.run(arguments)
    except (InputError, FileExistsError) as error:
        print(f"{REFUSAL} {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _add(parser: argparse.ArgumentParser, table: Mapping, words: Sequence[str], group: tuple[str, ...]) -> None:
    """Add the commands of a table to a parser, and to the one that ``words`` name what it takes."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, entry in table.items():
        if not name:
            continue
        summary = entry if isinstance(entry, str) else entry[""]
        one = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,  # examples are not wrapped
        )
        if list(words[:1]) != [name]:
            continue
        if not isinstance(entry, str):
            _add(one, entry, words[1:], (*group, name))
            continue
        command = import_module(f"meterdp.cli.{(*group, name)[0]}").COMMANDS[name]
        one.epilog = "\n  ".join(("examples:", *command.examples))
        command.add_arguments(one)
        one.set_defaults(command=command)


if __name__ == "__main__":
    raise SystemExit(main())
