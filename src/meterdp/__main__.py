"""The command ``meterdp``."""

from __future__ import annotations

import argparse
import gc
import sys

# What is imported stays: looking through it for garbage again and again takes an eighth of a check.
gc.set_threshold(100_000)

from meterdp.core.errors import REFUSAL, InputError  # noqa: E402
from meterdp.exports import check  # noqa: E402
from meterdp.release import node_command as node  # noqa: E402

COMMANDS = {"check": check, "node": node}


def main(words: list[str] | None = None) -> int:
    """Run one command and return its exit code; an error a user can mend is one sentence."""
    parser = argparse.ArgumentParser(prog="meterdp", description="Private smart-meter studies.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").partition(": ")[2].strip()
        one = commands.add_parser(name, help=summary, description=summary, epilog=f"example: {module.EXAMPLE}")
        module.add_arguments(one)
    arguments = parser.parse_args(words)
    if words is None:  # a process of its own
        for package in COMMANDS[arguments.command].NEEDLESS:
            sys.modules.setdefault(package, None)
    try:
        return COMMANDS[arguments.command].run(arguments)
    except (InputError, FileExistsError) as error:
        print(f"{REFUSAL} {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
