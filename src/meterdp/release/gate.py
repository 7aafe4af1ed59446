"""The gate: what a release must be before anything is charged, each refusal one sentence with its hint.

It looks at public settings and at what a mechanism says of itself, never at a record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import PurePath

import pyarrow as pa
import pyarrow.parquet as pq

from meterdp.core.dates import PERIODS, Interval, covers, day_of, days_of, interval_of, overlap
from meterdp.core.tables import Table
from meterdp.errors import InputError
from meterdp.privacy.guarantee import Guarantee, PrivacyBudget
from meterdp.release.tables import (
    RELEASED_FEEDER_ERRORS,
    RELEASED_FEEDERS,
    RELEASED_FORECAST,
    RELEASED_MIXTURE,
    RELEASED_PROFILES,
)

SIMULATED = "simulated households"
# What the folder of a released mixture holds, and nothing else.
MIXTURE_FILES = ("mixture.parquet", "mixture.json", "synthetic_profiles.parquet", "manifest.json", "README.md")
# Of the folder of feeder totals.
FEEDER_FILES = ("feeders.parquet", "feeders.csv", "feeder_errors.parquet", "manifest.json", "README.md")
# Of the folder of forecasts: these two, and two files a household under a random name.
FORECAST_FILES = ("manifest.json", "README.md")
# Beside them in every folder: what it says of itself to archives (RO-Crate) and to the registry of deployments. No
# outputs of a rule, because a ledger hands over what an earlier version stored without them.
CRATE, ENTRY = "ro-crate-metadata.json", "registry_entry.yaml"
_FILE_NAME = re.compile(r"[0-9a-f]{16}\.(parquet|json)")


def check_settings(config: Mapping, simulated: bool) -> None:
    """Refuse a configuration from which nothing may be released.

    Parameters
    ----------
    config : mapping
        The whole configuration.
    simulated : bool
        Whether the export is simulated; it brings its list, its period and its name.

    Raises
    ------
    InputError
        Naming the first setting that does not do.
    """
    for refusal in refusals_of(config, simulated):
        raise refusal


def refusals_of(config: Mapping, simulated: bool) -> Iterator[InputError]:
    """Yield what :func:`check_settings` refuses, every setting that does not do; parameters are the same."""
    export, release = config["export"], config["release"]
    if not simulated:
        for key, what in (
            ("meters", "a public list of meters, without which the number of households is private"),
            ("first_day", "a public period, without which one stray stamp moves every record"),
            ("last_day", "a public period, without which one stray stamp moves every record"),
            ("time_zone", "to know when a day and a budget period begin"),
        ):
            if export[key] is None:
                yield _refused(f"export.{key}", f"is not set: a release needs {what}", "set it, see config/README.md")
        for key, what in (
            ("population", "a public name of the households"),
            ("budget_period", "to know how long a budget lasts"),
        ):
            if release[key] is None:
                yield _refused(
                    f"release.{key}", f"is not set: the ledger needs {what}", "set it, see config/README.md"
                )
    if config["mechanisms"]["sound"]["adjacency"] != "replace_one":
        yield _refused(
            "mechanisms.sound.adjacency",
            "is add_remove: with a public list of meters who is in it is no secret",
            "set it to replace_one",
        )
    if config["federation"]["by"] is not None and config["federation"]["scheme"] == "subspace":
        yield _refused(
            "federation.scheme",
            "is 'subspace', whose masks are no whole numbers, so that sums between circuits are not exact",
            "set it to edge_masks",
        )
    others = {"mixture": "a mixture", "feeders": "feeder totals"}
    beside = [others[what] for what in release["what"] if what in others]
    if release["forecast_protects"] == "label" and beside:
        yield _refused(
            "release.forecast_protects",
            f"is 'label' beside {beside[0]}: such files say more about readings than that guarantee allows",
            "release one or the other, by release.what",
        )
    if "feeders" in release["what"] and release["feeder_typical_daily_kwh"] is None and not simulated:
        yield _refused(
            "release.feeder_typical_daily_kwh",
            "is not set: the bounds of feeder totals need a public level",
            "set it to what a meter uses a day by public statistics",
        )
    if "feeders" in release["what"] and export["first_day"] and export["last_day"]:
        first, last = (date.fromisoformat(export[key]) for key in ("first_day", "last_day"))
        if (last - first).days + 1 < release["feeder_days"]:
            yield _refused(
                "release.feeder_days", "are more days than the period has", "use fewer days, or a longer period"
            )
    named = (export["first_day"], export["last_day"], export["time_zone"], release["budget_period"])
    if None not in named:
        try:
            touched_periods(config)
        except InputError as error:
            yield error
    if release["delta"] > release["cap_delta"]:
        yield _refused("release.delta", "is larger than release.cap_delta", "use a smaller delta")


def check_feeders(feeder: Sequence[str | None]) -> None:
    """Refuse a list on which a meter has no feeder: where its readings count would then be private.

    No feeder is too small: what is proven does not depend on its size, only what its total is worth does.

    Raises
    ------
    InputError
        If one is None.
    """
    if None in feeder:
        raise _refused(
            "export.meters",
            "does not name a feeder of every meter",
            "add a column lv_feeder_id (and secondary_substation_id), or circuit, and fill it in",
        )


def check_feeder_names(names: Sequence[str]) -> None:
    """Refuse a list on which two feeders are called alike in the released files: c of a-b, and b-c of a.

    Raises
    ------
    InputError
        If one comes twice.
    """
    if len(set(names)) < len(names):
        raise _refused(
            "export.meters",
            "has two feeders that would both be called <substation>-<feeder> in the released files",
            "leave hyphens out of secondary_substation_id or of lv_feeder_id",
        )


def check_files(files: Mapping[str, bytes]) -> None:
    """Refuse to hand over anything but declared files with declared columns.

    Raises
    ------
    InputError
        If a file is not on the list, or a Parquet file is not an instance of a table made for release.
    """
    for name, data in files.items():
        if not is_for_release(name, data):
            raise InputError(
                "would hand over a file or a column that is not declared for release",
                file="release",
                hint="declare it in release/tables.py and in the gate, with its proof",
            )


def is_for_release(name: str, data: bytes | None = None) -> bool:
    """Whether a file has a name, and if ``data`` are given the columns, that are declared for release."""
    known = name in (*MIXTURE_FILES, *FORECAST_FILES, *FEEDER_FILES, CRATE, ENTRY) or is_of_a_household(name)
    if known and data is not None and name.endswith(".parquet"):
        schema, table = pq.read_schema(pa.BufferReader(data)), _table_of(name)
        known = schema.remove_metadata().equals(table.schema.remove_metadata())
        known &= (schema.metadata or {}).get(b"meterdp.table", b"").decode() == table.name
    if known and data is not None and name.endswith(".csv"):
        known = data.split(b"\n", 1)[0].decode() == ",".join(c.name for c in RELEASED_FEEDERS.columns)
    return known


def _table_of(name: str) -> Table:
    tables = RELEASED_MIXTURE, RELEASED_PROFILES, RELEASED_FEEDERS, RELEASED_FEEDER_ERRORS
    return {PurePath(table.file_name).name: table for table in tables}.get(name, RELEASED_FORECAST)


def is_of_a_household(name: str) -> bool:
    """Whether a file has one of the random names that say nothing of the household it is for."""
    return _FILE_NAME.fullmatch(name) is not None


def check_meters(known: Sequence[str], listed: Sequence[str], records: int) -> None:
    """Refuse records that were made without the public list, such as an earlier study's.

    Raises
    ------
    InputError
        If the meters of the records are not those of the list.
    """
    if list(known) != list(listed) or records != len(listed):
        raise _refused("export.meters", "is not the list the profiles were made with", "delete results/private")


def touched_periods(config: Mapping) -> tuple[Interval, ...]:
    """Return the budget periods that the readings of a release are in, in UTC.

    Parameters
    ----------
    config : mapping
        The whole configuration, of a release that names its days and budget period.

    Raises
    ------
    InputError
        If a day is in none of them, or the time zone is not known.
    """
    export, named = config["export"], config["release"]["budget_period"]
    first, last, zone = export["first_day"], export["last_day"], export["time_zone"]
    try:
        days = interval_of(day_of(first), day_of(last), zone or "")
    except OverflowError:
        raise _refused("export.last_day", "is the last there is", "use an earlier day") from None
    except ValueError:
        raise _refused(
            "export.time_zone", "is not set", "name the time zone of the homes, such as Europe/London"
        ) from None
    try:
        periods = [interval_of(*span, zone) for span in days_of(named)]
    except (OverflowError, ValueError):
        raise _refused("release.budget_period", "is no period of time", f"write {PERIODS}") from None
    if not covers(periods, days):
        raise _refused(
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


def _refused(field: str, problem: str, hint: str) -> InputError:
    return InputError(problem, file="config", field=field, hint=hint)
