"""``meterdp households``: years of synthetic households, drawn from a release at no cost."""

from __future__ import annotations

import argparse
from pathlib import Path

from meterdp.cli import Command
from meterdp.errors import InputError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="folder of released households")
    parser.add_argument("--n", type=int, default=100, help="how many households (%(default)s)")
    parser.add_argument("--year", type=int, help="calendar year to draw; by default the period of the release")
    parser.add_argument("--stratum", help="draw only from strata with this name, such as 'flat' or 'flat, panels'")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other households (%(default)s)")
    parser.add_argument("--to", type=Path, required=True, metavar="FILE", help="new Parquet file to write")


def _draw(arguments: argparse.Namespace) -> int:
    from meterdp.households.files import draw_years
    from meterdp.households.released import FILE
    from meterdp.publish.kinds import KINDS, kind_of
    from meterdp.publish.received import before_use, passed_on, read_manifest

    if arguments.n < 1:
        raise InputError("is not one or more", field="--n", hint="write e.g. --n 500")
    if arguments.year is not None and not 1970 <= arguments.year <= 2200:
        raise InputError("must be a year from 1970 to 2200", field="--year", hint="write e.g. --year 2027")
    if arguments.to.suffix.lower() != ".parquet":
        raise InputError("must end in .parquet", file=arguments.to, hint="name a new file such as homes.parquet")
    if arguments.to.exists():
        raise InputError("already exists", file=arguments.to, hint="name a new file")
    manifest = read_manifest(arguments.folder)[1]
    declared = manifest["sha256"].keys()
    if FILE not in declared:
        kind = kind_of(declared)
        other = f"is a release of {KINDS[kind].holds}, but households are drawn only from a release of households"
        raise InputError(
            f"has no {FILE}" if kind == "households" else other,
            file=arguments.folder,
            hint="name a folder such as results/release/households",
        )
    without_seasons = draw_years(
        arguments.folder,
        arguments.to,
        arguments.n,
        arguments.seed,
        arguments.year,
        arguments.stratum,
        passed_on(arguments.folder),
    )
    print(f"{arguments.to}: readings of {arguments.n:,} synthetic households")
    for sentence in before_use(manifest):
        print(f"- {sentence}")
    if without_seasons:
        print(without_seasons)
    return 0


COMMANDS = {
    "draw": Command(
        (
            "meterdp households draw results/release/households --n 500 --year 2027 --to homes.parquet",
            "meterdp households draw results/release/households --n 200 --stratum flat --to flats.parquet",
        ),
        _add_arguments,
        _draw,
    )
}
