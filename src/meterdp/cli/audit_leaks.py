"""``meterdp audit leaks``: are secrets of an export in released files?"""

from __future__ import annotations

import argparse
from dataclasses import replace

from meterdp.core.choices import names_in
from meterdp.errors import InputError

EXAMPLES = ("meterdp audit leaks results/release --meters list.csv --secrets secrets.csv",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("folder", help="what is to be published, e.g. results/release")
    parser.add_argument("--secrets", metavar="FILE", help="CSV with the columns name, kind, value")
    parser.add_argument("--meters", metavar="FILE", help="list of meters, each of which is a secret")
    parser.add_argument(
        "--as",
        dest="folder_is",
        choices=names_in("audit.leaks.HOMES_OF"),
        default="release",
        help="what the folder is: a release, where nothing may be found; all results; the ledger's; or .snakemake",
    )
    parser.add_argument(
        "--config", metavar="FILE", help="study/config.yaml of the study, for its log scale; a plain log if not given"
    )


def run(arguments: argparse.Namespace) -> int:
    """Scan a folder; 1 if something was found or could not be looked into.

    Raises
    ------
    InputError
        If there is nothing to look for, or nowhere.
    """
    from meterdp.audit.leaks import HOMES_OF, NAME, Piece, Scanner, meters_of, read_secrets, scale_of, scan

    secrets = read_secrets(arguments.secrets) if arguments.secrets else []
    if arguments.config:
        scale = scale_of(arguments.config)
        secrets = [replace(secret, scale=scale) for secret in secrets]
    secrets += meters_of(arguments.meters) if arguments.meters else []
    if not secrets:
        raise InputError("there is nothing to look for", hint="give --secrets or --meters")
    found = scan(arguments.folder, secrets, HOMES_OF[arguments.folder_is])
    scanner = Scanner(secrets)

    def tells(text) -> bool:
        return bool(scanner.found_in(Piece(NAME, "", str(text).encode("utf-8", "surrogateescape"))))

    for one in found:
        # A secret in the name of a file or column must not reach a terminal or the log of CI, however it is written.
        known = next(path for path in (one.file, *one.file.parents) if not tells(path))
        file = one.file if known == one.file else f"a file with a secret in its name, in {arguments.folder}/{known}"
        print(f"{one.secret}: {file}, {'a part with a secret in its name' if tells(one.where) else one.where}")
    print(f"{len(found)} findings of {len(secrets)} secrets in {arguments.folder}")
    return min(len(found), 1)
