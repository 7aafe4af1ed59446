"""An RO-Crate of a released folder: who may read it without knowing meterdp can still tell what is in it.

RO-Crate 1.2, an attached package. Everything in it is a word of the manifest, a public setting, or the name, size and
digest of a file that leaves with it; no path, no time but the day of the release, no name of a machine or of a user.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import PurePath

import pyarrow as pa
import pyarrow.parquet as pq

from meterdp.privacy.periods import days_read
from meterdp.publish.kinds import CRATE, CROISSANT, CUSTODIAN, DCAT, ENTRY, MANIFEST, PAGE, README


@dataclass(frozen=True)
class About:
    """Public settings that describe a release and do not shape it."""

    publisher: str | None
    publisher_kind: str  # Government, Industry or Nonprofit
    region: str | None  # where the households live
    licence: str | None  # its address

    @classmethod
    def from_config(cls, release: Mapping) -> About:
        return cls(**{key: release[key] for key in cls.__dataclass_fields__})

    @property
    def use(self) -> str:
        """Say who publishes the files and what may be done with them."""
        who = f"Published by {self.publisher.removesuffix('.')}. " if self.publisher else ""
        return who + (f"Licence: {self.licence}." if self.licence else NO_LICENCE)

    def citation(self, files: Mapping[str, bytes], manifest: Mapping, day: date) -> str:
        """Return how to cite a folder; the digest of its manifest, which has those of all its data, names it."""
        by = self.publisher.removesuffix(".") if self.publisher else "[publisher]"
        days = " to ".join(days) if all(days := covered_days(manifest)) else ""
        released = f"Readings of {days}, released {day}" if days else f"Released {day}"
        name = hashlib.sha256(files[MANIFEST]).hexdigest()
        return f"{by}. {title_of(files)}. {released}. SHA-256 of {MANIFEST}: {name}."


VERSION = "https://w3id.org/ro/crate/1.2"
NO_LICENCE = "No licence was named: ask the publisher of these files what may be done with them."
_MEDIA_TYPES = {
    ".parquet": "application/vnd.apache.parquet",
    ".json": "application/json",
    ".yaml": "application/yaml",
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".html": "text/html",
    ".jsonld": "application/ld+json",
}
# A Parquet file says itself what it holds.
_SAYS = {
    "manifest.json": "The guarantee, all public parameters and a checksum of every file with data.",
    "README.md": "What is in this folder and how households are protected, on one page in plain words.",
    "mixture.json": "The mixture of mixture.parquet, for scikit-learn and other tools.",
    "households.json": "The statistical model from which `meterdp households draw` makes any number of households.",
    "feeders.csv": "The totals of feeders.parquet as text.",
    PAGE: "The same with pictures of the data, and how to load the files.",
    CUSTODIAN: "For whoever signs the release: what an attacker can learn, and drafts of documents.",
    DCAT: "What is in this folder, for data catalogues (DCAT).",
    CROISSANT: "What is in this folder, for tools of machine learning (Croissant).",
    ENTRY: "An entry for the public registry of differential privacy deployments.",
}


def crate_of(files: Mapping[str, bytes], manifest: Mapping, about: About, day: date) -> bytes:
    """Return ``ro-crate-metadata.json`` of a released folder, from all its other files."""
    parts = [file_entity(name, files[name]) for name in sorted(files)]
    licence = []
    if about.licence:
        said = "The licence under which these files are published."
        licence.append({"@id": about.licence, "@type": "CreativeWork", "name": about.licence, "description": said})
    publisher = [{"@id": "#publisher", "@type": "Organization", "name": about.publisher}] if about.publisher else []
    # No entity for the software: it would have to name an address, which may change while these files do not.
    made = {
        "@id": "#release",
        "@type": "CreateAction",
        "name": f"Drawn with fresh noise by meterdp {manifest['meterdp_version']} and charged to the ledger of these "
        "households",
        "endTime": day.isoformat(),
        "result": {"@id": "./"},
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": title_of(files),
        "description": summary(manifest),
        "datePublished": day.isoformat(),
        "license": _to(licence[0]) if licence else NO_LICENCE,
        "hasPart": [_to(part) for part in parts],
        "mentions": _to(made),
        **({"temporalCoverage": "/".join(days)} if all(days := covered_days(manifest)) else {}),
        **({"publisher": _to(publisher[0])} if publisher else {}),
    }
    descriptor = {
        "@id": CRATE,
        "@type": "CreativeWork",
        "name": "What is in this folder, as an RO-Crate",
        "about": _to(root),
        "conformsTo": {"@id": VERSION},
    }
    columns = list(_columns(files))
    if columns:
        root["variableMeasured"] = [_to(column) for column in columns]
    graph = [descriptor, root, *parts, *columns, *licence, *publisher, made]
    return (json.dumps({"@context": f"{VERSION}/context", "@graph": graph}, indent=1) + "\n").encode()


def title_of(files: Mapping[str, bytes]) -> str:
    """Return the title of a folder's README."""
    return files[README].decode().partition("\n")[0].removeprefix("# ")


def covered_days(manifest: Mapping) -> list:
    """Return the first and the last day that the files cover: of feeder totals the last ones, else the period."""
    of_feeders = "kind" in manifest["public_parameters"].get("window", {})
    return days_read(manifest["period"], manifest["public_parameters"]) if of_feeders else manifest["period"]


def summary(manifest: Mapping) -> str:
    """Say what a release is, what it protects, and what anybody can learn from it."""
    privacy = manifest["privacy"]
    sentences = [
        "The households are simulated; they stand in for real ones." if manifest["simulated_data"] else "",
        f"{_capital(manifest['what'])}.",
        f"Released with epsilon {privacy['epsilon']:g} and delta {privacy['delta']:g} ({privacy['adjacency']}) for "
        f"{privacy['unit']}.",
        f"Protected: {'; '.join(privacy['hides'])}.",
        f"From it anybody can learn: {'; '.join(privacy['does_not_hide'])}.",
    ]
    return " ".join(filter(None, sentences))


def file_entity(name: str, data: bytes) -> dict:
    suffix = PurePath(name).suffix
    said = _SAYS.get(name)
    if suffix == ".parquet":
        said = (pq.read_schema(pa.BufferReader(data)).metadata or {}).get(b"meterdp.description", b"").decode()
    return {
        "@id": name,
        "@type": "File",
        "name": name,
        **({"description": said} if said else {}),
        "encodingFormat": _MEDIA_TYPES.get(suffix, "application/octet-stream"),
        "contentSize": str(len(data)),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def _columns(files: Mapping[str, bytes]) -> Iterator[dict]:
    """Yield the columns of every table as declared in its files."""
    for name in sorted(name for name in files if name.endswith(".parquet")):
        schema = pq.read_schema(pa.BufferReader(files[name]))
        table = (schema.metadata or {})[b"meterdp.table"].decode()
        for field in schema:
            metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
            yield {
                "@id": f"#{table}.{field.name}",
                "@type": "PropertyValue",
                "name": field.name,
                "description": metadata.get("description", ""),
                "unitText": metadata.get("unit", ""),
            }


def _capital(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}"


def _to(entity: Mapping) -> dict[str, str]:
    return {"@id": entity["@id"]}
