"""``meterdp audit show``: what attacks have found, beside the claims."""

from __future__ import annotations

import argparse
from pathlib import Path

from meterdp.errors import InputError

EXAMPLES = ("meterdp audit show results/audit",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path("results/audit"), help="what `make audit` wrote (results/audit)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print a line per attack that was run; 1 if one came out other than expected.

    Raises
    ------
    InputError
        If there is no audit.
    """
    from meterdp.audit.tables import AUDIT
    from meterdp.core.parquet import read_table

    path = arguments.folder / "audit.parquet"
    if not path.is_file():
        raise InputError("is not there", file=path, hint="run `make audit` first, or give its folder")
    rows = read_table(path, AUDIT).to_pylist()
    print(f"{'mechanism':<32}{'claimed':>9}{'found':>9}  {'expected':<9}{'exceeded':<10}what was broken")
    for row in rows:
        print(
            f"{row['mechanism']:<32}{row['epsilon_claimed']:>9.3g}{row['epsilon_lower']:>9.3g}  "
            f"{row['expected']:<9}{row['exceeded']:<10}{row['mutant'] or ''}".rstrip()
        )
    wrong = sum(not row["as_expected"] for row in rows)
    print("claimed: epsilon; found: its lower bound; exceeded: which claim, that on epsilon or mu.")
    print(f"{len(rows)} rows, {wrong} not as expected.")
    return int(wrong > 0)
