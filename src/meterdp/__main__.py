"""The command ``meterdp``."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

# What is imported stays: scanning it for garbage again and again takes an eighth of a check.
gc.set_threshold(100_000)

from meterdp import __version__  # noqa: E402
from meterdp.errors import REFUSAL, InputError, optional_packages  # noqa: E402

# What each command does; its code is in meterdp.cli.<name> or .<group>. "" says what a group is for.
COMMANDS: Mapping[str, str | Mapping[str, str]] = {
    "check": "show what an export contains and what looks wrong, and propose a configuration; takes seconds",
    "config": {
        "": "bring the configuration of an earlier version up to date",
        "upgrade": "rewrite settings that were renamed or removed, and keep everything else",
    },
    "plan": "estimate how good a release would be for a number of meters, from public numbers alone",
    "ask": "ask a finished study what error a guarantee costs, or what guarantee an error buys",
    "release": {
        "": "check a release before it is made; verify and convert it afterwards",
        "check": "list every reason to refuse a release, or what it will be charged; reads no readings",
        "verify": "check that a released folder is unchanged, and print its guarantee",
        "convert": "convert released profiles to files for OpenDSS, PyPSA, pandapower or GridLAB-D",
    },
    "households": {
        "": "draw years of synthetic households from a release, at no privacy cost",
        "draw": "write readings of any number of synthetic households, for the released period or any year",
    },
    "score": "measure how close synthetic households are to real ones, in numbers a planner uses",
    "ledger": {
        "": "show and check what has been released and what it cost; raise limits",
        "show": "list every charge and the total",
        "draw": "write an HTML page with every charge, and figures",
        "verify": "check that every event, list of meters and stored file is unchanged",
        "raise": "set another limit for the meters on a list",
        "migrate": "convert the ledger of an earlier version",
    },
    "audit": {
        "": "scan files for secrets; show what the attacks of `make audit` found",
        "leaks": "scan every file in a folder for meter ids and other secrets",
        "show": "show the lower bounds of `make audit` beside the claims",
    },
    "node": "run one node of a mixture that several parties fit without sharing readings",
}


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; an error a user can correct is one sentence."""
    given = sys.argv[1:] if words is None else list(words)
    parser = argparse.ArgumentParser(prog="meterdp", description="Smart-meter studies and private releases.")
    parser.add_argument("--version", action="version", version=f"meterdp {__version__}")
    _add(parser, COMMANDS, given, ())
    arguments = parser.parse_args(given)
    try:
        with optional_packages("This command"):
            return arguments.command.run(arguments)
    except (InputError, FileExistsError) as error:
        print(f"{REFUSAL} {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Exception as error:
        if words is not None:
            raise
        from meterdp.core.job import without_message

        print(without_message(error), file=sys.stderr)
        return 1


def _add(parser: argparse.ArgumentParser, table: Mapping, words: Sequence[str], group: tuple[str, ...]) -> None:
    """Add the commands of a table to a parser, and arguments to the one command that ``words`` name."""
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
