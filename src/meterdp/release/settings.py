"""What the settings of a release must be before anything is charged, and which files may be published.

Public settings alone, never a record.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

import pyarrow as pa
import pyarrow.parquet as pq

from meterdp.core.tables import Table
from meterdp.errors import InputError
from meterdp.privacy.guarantee import Guarantee, PrivacyBudget
from meterdp.privacy.periods import PERIODS, Interval, covers, day_of, days_of, interval_of, overlap
from meterdp.privacy.policy import refused
from meterdp.release import kinds
from meterdp.release.kinds import CRATE, ENTRY, KINDS

SIMULATED = "simulated households"
_FILE_NAME = re.compile(r"[0-9a-f]{16}\.(parquet|json)")


def check_settings(config: Mapping, simulated: bool) -> None:
    """Refuse a configuration from which nothing may be released, naming the first setting that does not do.

    A simulated export brings its list, its period and its name.
    """
    for refusal in refusals_of(config, simulated):
        raise refusal


def refusals_of(config: Mapping, simulated: bool) -> Iterator[InputError]:
    """Yield what :func:`check_settings` refuses, every setting that does not do."""
    export, release = config["export"], config["release"]
    if not simulated:
        for key, what in (
            ("meters", "a public list of meters, without which the number of households is private"),
            ("first_day", "a public period, without which one stray stamp moves every record"),
            ("last_day", "a public period, without which one stray stamp moves every record"),
            ("time_zone", "to know when a day and a budget period begin"),
        ):
            if export[key] is None:
                yield refused(f"export.{key}", f"is not set: a release needs {what}", "set it, see config/README.md")
        for key, what in (
            ("population", "a public name of the households"),
            ("budget_period", "to know how long a budget lasts"),
        ):
            if release[key] is None:
                yield refused(
                    f"release.{key}", f"is not set: the ledger needs {what}", "set it, see config/README.md"
                )
    yield from kinds.refusals(config, simulated)
    named = (export["first_day"], export["last_day"], export["time_zone"], release["budget_period"])
    if None not in named:
        try:
            touched_periods(config)
        except InputError as error:
            yield error
    if release["delta"] > release["cap_delta"]:
        problem = f"is {release['delta']:g}, larger than release.cap_delta = {release['cap_delta']:g}"
        yield refused("release.delta", problem, "use a smaller delta")


def check_files(files: Mapping[str, bytes]) -> None:
    """Refuse to publish anything but declared files with declared columns."""
    for name, data in files.items():
        if not is_for_release(name, data):
            raise InputError(
                "would publish a file or a column that is not declared for release",
                file="release",
                hint="declare it in release/tables.py and release/kinds.py, with its proof",
            )


def is_for_release(name: str, data: bytes | None = None) -> bool:
    """Whether a file has a name, and if ``data`` are given the columns, that are declared for release."""
    known = name in (CRATE, ENTRY) or any(name in kind.files for kind in KINDS.values()) or is_of_a_household(name)
    if not known or data is None:
        return known
    if name.endswith(".parquet"):
        schema, table = pq.read_schema(pa.BufferReader(data)), _table_of(name)
        named = (schema.metadata or {}).get(b"meterdp.table", b"").decode() == table.name
        return named and schema.remove_metadata().equals(table.schema.remove_metadata())
    if name.endswith(".csv"):
        return data.split(b"\n", 1)[0].decode() == ",".join(c.name for c in _table_of(name).columns)
    return True


def _table_of(name: str) -> Table:
    """Return the table of a file: the one of that name in any format, else that of households' files."""
    tables = [(kind.for_each_household, table) for kind in KINDS.values() for table in kind.tables]
    by_name = {PurePath(table.file_name).stem: table for of_each, table in tables if not of_each}
    return by_name.get(PurePath(name).stem, next(table for of_each, table in tables if of_each))


def is_of_a_household(name: str) -> bool:
    """Whether a file has one of the random names that say nothing of the household it is for."""
    return _FILE_NAME.fullmatch(name) is not None


def check_meters(known: Sequence[str], listed: Sequence[str], records: int) -> None:
    """Refuse records that were made without the public list, such as an earlier study's."""
    if list(known) != list(listed) or records != len(listed):
        raise refused("export.meters", "is not the list the profiles were made with", "delete results/private")


def touched_periods(config: Mapping) -> tuple[Interval, ...]:
    """Return the budget periods that the readings of a release are in, in UTC.

    Refused if a day is in none of them, or the time zone is not known.
    """
    export, named = config["export"], config["release"]["budget_period"]
    first, last, zone = export["first_day"], export["last_day"], export["time_zone"]
    try:
        days = interval_of(day_of(first), day_of(last), zone or "")
    except OverflowError:
        raise refused("export.last_day", "is the last there is", "use an earlier day") from None
    except ValueError:
        raise refused(
            "export.time_zone", "is not set", "name the time zone of the homes, such as Europe/London"
        ) from None
    try:
        periods = [interval_of(*span, zone) for span in days_of(named)]
    except (OverflowError, ValueError):
        raise refused("release.budget_period", "is no period of time", f"write {PERIODS}") from None
    if not covers(periods, days):
        raise refused(
            "release.budget_period",
            f"does not hold all days from {first} to {last}",
            f"name the period they are in: {PERIODS}, or several of them separated by commas",
        )
    return tuple(period for period in periods if overlap(period, days))


def budget_of(guarantee: Guarantee, config: Mapping, simulated: bool) -> PrivacyBudget:
    """Return whose privacy a release spends."""
    release = config["release"]
    names = [release[key] or (SIMULATED if simulated else None) for key in ("population", "budget_period")]
    return PrivacyBudget(guarantee.unit, guarantee.adjacency, *map(public_name, names))


def public_name(name: str) -> str:
    """Return a name as the ledger knows it: capitals and blanks make no new population."""
    return " ".join(name.split()).casefold()


def plain_sentence(epsilon: float, delta: float, covers: str = "") -> str:
    """Return in plain words what differential privacy for the readings of one meter means.

    ``covers`` says after the numbers which files they are of.
    """
    # e^epsilon overflows, and as a factor it says no more.
    factor = math.exp(epsilon) if epsilon < 700 else math.inf
    return (
        "This is a mathematical guarantee, differential privacy with epsilon "
        f"{epsilon:g} and delta {delta:g}{covers}: "
        "whatever set of outcomes is looked at, its probability with the readings of any one meter is at most "
        f"{factor:.3g} times its probability with others in their place, plus {delta:g}, whatever else somebody "
        "knows."
    )
