"""``meterdp audit``: look for secrets of an export in files, and show what attacks found beside the claims."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from meterdp.cli import Command
from meterdp.core.choices import names_in
from meterdp.errors import InputError


def _leaks_takes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="folder to scan, e.g. results/release")
    parser.add_argument("--secrets", metavar="FILE", help="CSV of secrets with the columns name, kind, value")
    parser.add_argument("--meters", metavar="FILE", help="list of meters: no meter id on it may be found")
    parser.add_argument(
        "--as",
        dest="folder_is",
        choices=names_in("audit.leaks.HOMES_OF"),
        default="release",
        help="what the folder is: a release, where nothing may be found; all results; the ledger's; or .snakemake",
    )
    parser.add_argument(
        "--config", metavar="FILE", help="study/config.yaml of the study, for its log scale; by default a plain log"
    )


def _leaks(arguments: argparse.Namespace) -> int:
    """Scan a folder; 1 if something was found or could not be looked into."""
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


def _show_takes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path("results/audit"), help="folder of `make audit` (results/audit)"
    )


def _show(arguments: argparse.Namespace) -> int:
    """Print a line per attack that was run; 1 if one came out other than expected."""
    from meterdp.audit.tables import AUDIT
    from meterdp.core.parquet import read_table

    path = arguments.folder / "audit.parquet"
    if not path.is_file():
        raise InputError("does not exist", file=path, hint="run `make audit` first, or give its folder")
    rows = read_table(path, AUDIT).to_pylist()
    heads = f"{'adjacency':<13}{'seen':<21}what was broken, or else the two neighbours"
    print(f"{'mechanism':<32}{'claimed':>9}{'found':>9}  {'expected':<9}{'exceeded':<10}{heads}")
    for row in rows:
        print(
            f"{row['mechanism']:<32}{row['epsilon_claimed']:>9.3g}{row['epsilon_lower']:>9.3g}  "
            f"{row['expected']:<9}{row['exceeded']:<10}{row['adjacency']:<13}{row['seen']:<21}"
            f"{row['mutant'] or row['neighbours']}"
        )
    wrong = sum(not row["as_expected"] for row in rows)
    print("claimed: epsilon; found: its lower bound; exceeded: which claim, that on epsilon or mu.")
    print(f"{len(rows)} rows, {wrong} not as expected.")
    return int(wrong > 0)


COMMANDS = {
    "leaks": Command(
        ("meterdp audit leaks results/release --meters list.csv --secrets secrets.csv",), _leaks_takes, _leaks
    ),
    "show": Command(("meterdp audit show results/audit",), _show_takes, _show),
}
