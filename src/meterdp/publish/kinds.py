"""What can be released: one entry each, from which rules, checks and file lists follow; light, as plans read it.

What releases it is a module of :mod:`meterdp.release.asked`; what is refused of its settings is in
:mod:`meterdp.release.settings`.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import PurePath

import pyarrow as pa
import pyarrow.parquet as pq

from meterdp.core.tables import Table
from meterdp.errors import InputError
from meterdp.publish.tables import (
    RELEASED_FEEDER_ERRORS,
    RELEASED_FEEDERS,
    RELEASED_FORECASTS,
    RELEASED_GROUP_FORECASTS,
    RELEASED_HOUSEHOLDS,
    RELEASED_MIXTURE,
    RELEASED_PROFILES,
    RELEASED_READINGS,
    RELEASED_RECIPIENTS,
    RELEASED_SHAPE,
)

MANIFEST, README = "manifest.json", "README.md"
# Beside them in every folder: what it says of itself to archives (RO-Crate), to the registry of deployments, to
# readers, to whoever signs, to data catalogues and to tools of machine learning. No outputs of a rule, because a
# ledger publishes what an earlier version stored without them.
CRATE, ENTRY, PAGE, CUSTODIAN, DCAT, CROISSANT = DESCRIPTIONS = (
    *("ro-crate-metadata.json", "registry_entry.yaml", "index.html"),
    *("custodian.html", "dcat.jsonld", "croissant.json"),
)


def holds_if(usable_share: float, assumed: str = "") -> str:
    """Say for which lists of meters the expected errors of a release hold; ``assumed`` is what else it takes."""
    usable = f"at least {round(100 * usable_share)} % of the listed meters have usable readings"
    return (
        f"{usable}{assumed and f' and {assumed}'}; where some customers use many times the mean or at other hours "
        "than most (businesses, irrigation pumps, night heating), errors may be several times as large, and means "
        "too low or too high"
    )


@dataclass(frozen=True)
class Kind:
    """One kind of release; every folder has a manifest and a page as well."""

    tables: tuple[Table, ...]  # of its Parquet files
    holds: str  # what is in its folder, for a reader of the report
    epsilon: str  # setting of the section release
    more: str = ""  # in its folder, after ``holds``
    other_files: tuple[str, ...] = ()
    sometimes: tuple[Table, ...] = ()  # beside them, where there are any

    @property
    def files(self) -> tuple[str, ...]:
        """Files that its folder always has."""
        return (*(t.file_name.rpartition("/")[2] for t in self.tables), *self.other_files, MANIFEST, README)


KINDS: Mapping[str, Kind] = {
    "mixture": Kind(
        (RELEASED_MIXTURE, RELEASED_PROFILES),
        "typical load profiles",
        "epsilon",
        " and synthetic customers sampled from them",
        ("mixture.json",),
    ),
    "households": Kind(
        (RELEASED_HOUSEHOLDS,),
        "synthetic households over the whole period",
        "household_epsilon",
        ", any number of which can be drawn, for any year",
        ("households.json",),
        sometimes=(RELEASED_READINGS,),
    ),
    "forecasts": Kind(
        (RELEASED_RECIPIENTS,),
        "forecasts",
        "forecast_epsilon",
        ", one for every listed customer under a random name",
        sometimes=(RELEASED_SHAPE, RELEASED_GROUP_FORECASTS, RELEASED_FORECASTS),
    ),
    "feeders": Kind(
        (RELEASED_FEEDERS, RELEASED_FEEDER_ERRORS),
        "energy totals of feeders",
        "feeder_epsilon",
        ", a number for every feeder and interval, if the list of meters names one for each",
        ("feeders.csv",),
    ),
}


def kind_of(names: Container[str]) -> str:
    """Return which kind of release has files of these names."""
    return next((kind for kind, of in KINDS.items() if of.files[0] in names), "forecasts")


def check_files(files: Mapping[str, bytes]) -> None:
    """Refuse to publish anything but declared files with declared columns."""
    for name, data in files.items():
        if not is_for_release(name, data):
            raise InputError(
                "would publish a file or a column that is not declared for release",
                file="release",
                hint="declare it in publish/tables.py and publish/kinds.py, with its proof",
            )


def is_for_release(name: str, data: bytes | None = None) -> bool:
    """Whether a file has a name, and if ``data`` are given the columns, that are declared for release."""
    tables = _tables_of(name)
    known = name in DESCRIPTIONS or any(name in kind.files for kind in KINDS.values()) or bool(tables)
    if not known or data is None:
        return known
    if name.endswith(".parquet"):
        schema = pq.read_schema(pa.BufferReader(data))
        named = (schema.metadata or {}).get(b"meterdp.table", b"").decode()
        return any(
            named == table.name and schema.remove_metadata().equals(table.schema.remove_metadata())
            for table in tables
        )
    if name.endswith(".csv"):
        header = data.split(b"\n", 1)[0].decode()
        return any(header == ",".join(c.name for c in table.columns) for table in tables)
    return True


def _tables_of(name: str) -> list[Table]:
    """Return the tables that a file may be of: those of that name, in any format."""
    declared = (table for kind in KINDS.values() for table in (*kind.tables, *kind.sometimes))
    stem, suffix = PurePath(name).stem, PurePath(name).suffix
    return [t for t in declared if PurePath(t.file_name).stem == stem and suffix in (".parquet", ".csv")]
