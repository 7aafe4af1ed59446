"""``meterdp node``: one node of a mixture that several parties fit without showing each other their readings."""

from __future__ import annotations

import argparse
import signal
import sys

from meterdp.cli import Command
from meterdp.errors import REFUSAL, InputError

EXAMPLES = ("meterdp node --new-keys keys north", "meterdp node my.yaml node.yaml")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "config", nargs="*", metavar="CONFIG", help="configuration(s) with a section 'node', later ones on top"
    )
    parser.add_argument(
        "--new-keys", nargs=2, metavar=("FOLDER", "NAME"), help="make a key pair for a node and print the public key"
    )


def _node(arguments: argparse.Namespace) -> int:
    """Run a node to its end, or make keys."""
    if (arguments.new_keys is None) == (not arguments.config):
        raise InputError("takes either configurations or --new-keys", hint=f"write e.g. {EXAMPLES[0]}")
    if arguments.new_keys is not None:
        from meterdp.federated.node.messages import new_keys

        secret_file, public_key = new_keys(*arguments.new_keys)
        print(f"The secret key is in {secret_file}: keep it there. For the agreement:\npublic_key: '{public_key}'")
        return 0
    return _run_node(arguments.config)


def _run_node(files: list[str]) -> int:
    from meterdp.core.job import without_message  # what only this command needs
    from meterdp.federated.node.config import read_node
    from meterdp.federated.node.run import run_node

    # Ends as an error does, so that the others know.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        settings = read_node(files)
        if not settings.agreement.releases:
            run_node(settings)
        else:
            from meterdp.release.between_nodes import release_mixture_at  # seconds, for whoever releases

            run_node(settings, release_mixture_at)
    except InputError:
        raise
    except KeyboardInterrupt:
        print(
            "Interrupted: this node ends without a result, and informed any nodes that it had met.",
            file=sys.stderr,
        )
        return 128 + signal.SIGINT
    except Exception as error:
        print(f"{REFUSAL}\n{without_message(error)}", file=sys.stderr)
        return 1
    return 0


COMMANDS = {"node": Command(EXAMPLES, _add_arguments, _node)}
