"""``meterdp score``: how close synthetic households, from any source, are to real ones."""

from __future__ import annotations

import argparse
from pathlib import Path

from meterdp.cli import Command
from meterdp.core.weekend import DAYS, SATURDAY_SUNDAY, Weekend
from meterdp.errors import InputError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    words = "readings of real homes, Parquet or CSV, with the columns household, interval_start_utc and energy_kwh"
    parser.add_argument("real", type=Path, help=words)
    parser.add_argument("synthetic", type=Path, help="synthetic households in the same form, over the same intervals")
    parser.add_argument(
        "--others",
        type=Path,
        help="other real homes in the same form, not used for the synthetic ones: adds an attack",
    )
    parser.add_argument("--time-zone", help="IANA zone of the homes; if left out, that of a release or else UTC")
    words = "the weekend, such as friday saturday; if left out, that of a release or else Saturday and Sunday"
    parser.add_argument("--weekend", nargs=2, metavar="DAY", choices=[day.lower() for day in DAYS], help=words)
    parser.add_argument(
        "--holidays", metavar="COUNTRY", help="country whose public holidays are days off, such as CH"
    )


def _score(arguments: argparse.Namespace) -> int:
    from meterdp.households.files import lines, score_files, zone_of

    asked, zone, said = arguments, arguments.time_zone, ""
    of_release, weekend, source = zone_of([asked.real, asked.synthetic]) or ("UTC", SATURDAY_SUNDAY, None)
    if asked.weekend is not None:
        if len({*asked.weekend}) < 2:
            raise InputError("names one day twice", field="--weekend", hint="name two days")
        weekend = Weekend.of({"weekend": asked.weekend})
    if zone is None:
        zone, why = of_release, f"of the release of {source}"
        why = why if source else "as neither file names a time zone (--time-zone)"
        said = f"Days and hours of the day are those of {zone}, {why}.\n"
    if weekend != SATURDAY_SUNDAY:
        said += f"The weekend is {weekend.words}.\n"
    rows = score_files(asked.real, asked.synthetic, zone, asked.holidays, asked.others, weekend)
    print(said, end="")
    print("\n".join(lines(rows)))
    return 0


COMMANDS = {
    "score": Command(
        (
            "meterdp score homes.parquet synthetic.parquet",
            "meterdp score homes.csv synthetic.parquet --time-zone Australia/Sydney --holidays AU-NSW",
            "meterdp score members.parquet synthetic.parquet --others strangers.parquet",
        ),
        _add_arguments,
        _score,
    )
}
