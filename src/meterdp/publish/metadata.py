"""A released folder for data catalogues (DCAT) and for tools of machine learning (Croissant).

DCAT 3 with the properties of DCAT-AP 3.0, and Croissant 1.0, both as JSON-LD. They say what the RO-Crate says
(``crate.py``) of the files with data, the manifest and the README. Addresses are relative: nobody knows yet where the
folder will lie.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq

from meterdp.publish.crate import (
    NO_LICENCE,
    About,
    covered_days,
    file_entity,
    summary,
    title_of,
)
from meterdp.publish.kinds import DESCRIPTIONS, PAGE

_AUTHORITY = "http://publications.europa.eu/resource/authority"
_MEDIA_TYPES = "https://www.iana.org/assignments/media-types"
_KEYWORDS = ("smart meter", "electricity", "load profile", "differential privacy")
_DCAT_CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "spdx": "http://spdx.org/rdf/terms#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


def dcat_of(files: Mapping[str, bytes], manifest: Mapping, about: About, day: date) -> bytes:
    """Return ``dcat.jsonld`` of a released folder: a dataset with a distribution for every file."""
    licence = {"dct:license": {"@id": about.licence}} if about.licence else {}
    distributions = [
        {
            "@id": f"#{part['@id']}",
            "@type": "dcat:Distribution",
            "dct:title": part["name"],
            **({"dct:description": part["description"]} if "description" in part else {}),
            "dcat:accessURL": {"@id": part["@id"]},
            "dcat:downloadURL": {"@id": part["@id"]},
            "dcat:mediaType": {"@id": f"{_MEDIA_TYPES}/{part['encodingFormat']}"},
            "dcat:byteSize": {"@type": "xsd:nonNegativeInteger", "@value": part["contentSize"]},
            "spdx:checksum": {
                "@type": "spdx:Checksum",
                "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
                "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": part["sha256"]},
            },
            **licence,
        }
        for part in _parts(files)
    ]
    dataset = {
        "@context": _DCAT_CONTEXT,
        "@id": "./",
        "@type": "dcat:Dataset",
        "dct:title": {"@language": "en", "@value": title_of(files)},
        "dct:description": {"@language": "en", "@value": summary(manifest)},
        "dct:issued": {"@type": "xsd:date", "@value": day.isoformat()},
        "dct:accessRights": {"@id": f"{_AUTHORITY}/access-right/PUBLIC"},
        "dct:language": {"@id": f"{_AUTHORITY}/language/ENG"},
        "dcat:theme": {"@id": f"{_AUTHORITY}/data-theme/ENER"},
        "dcat:keyword": [{"@language": "en", "@value": word} for word in _KEYWORDS],
        "dcat:landingPage": {"@id": PAGE},
        **({"dct:publisher": {"@type": "foaf:Agent", "foaf:name": about.publisher}} if about.publisher else {}),
        **(
            {"dct:spatial": {"@type": "dct:Location", "skos:prefLabel": {"@language": "en", "@value": about.region}}}
            if about.region
            else {}
        ),
        **({"dct:temporal": _period(*days)} if all(days := covered_days(manifest)) else {}),
        "dcat:distribution": distributions,
    }
    return _json(dataset)


def _period(first: str, last: str) -> dict:
    days = {"dcat:startDate": first, "dcat:endDate": last}
    return {"@type": "dct:PeriodOfTime"} | {key: {"@type": "xsd:date", "@value": day} for key, day in days.items()}


_CROISSANT_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_CROISSANT_VERSION = "http://mlcommons.org/croissant/1.0"
# Not what IANA has registered since: mlcroissant, which loads these files, knows Parquet by this name alone.
_CROISSANT_PARQUET = "application/x-parquet"


def croissant_of(files: Mapping[str, bytes], manifest: Mapping, about: About, day: date) -> bytes:
    """Return ``croissant.json`` of a released folder: its files, and the columns of its tables."""
    distribution = [
        {
            "@type": "cr:FileObject",
            **{key: part[key] for key in ("@id", "name", "description", "contentSize") if key in part},
            "contentUrl": part["@id"],
            "encodingFormat": _CROISSANT_PARQUET if part["@id"].endswith(".parquet") else part["encodingFormat"],
            "sha256": part["sha256"],
        }
        for part in _parts(files)
    ]
    records = [_record_set(name, files[name]) for name in sorted(files) if name.endswith(".parquet")]
    by = {"@type": "Organization", "name": about.publisher or "not stated"}
    return _json(
        {
            "@context": _CROISSANT_CONTEXT,
            "@type": "sc:Dataset",
            "conformsTo": _CROISSANT_VERSION,
            "name": title_of(files),
            "description": summary(manifest),
            "datePublished": day.isoformat(),
            "citeAs": about.citation(files, manifest, day),
            "version": "1.0.0",
            "url": PAGE,
            "license": about.licence or NO_LICENCE,
            "creator": by,
            "publisher": by,
            "keywords": list(_KEYWORDS),
            "isLiveDataset": False,
            "rai:personalSensitiveInformation": summary(manifest),
            "distribution": distribution,
            "recordSet": records,
        }
    )


def _record_set(name: str, data: bytes) -> dict:
    schema = pq.read_schema(pa.BufferReader(data))
    metadata = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    table = metadata["meterdp.table"]
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "description": metadata.get("meterdp.description", ""),
        "field": [_field(table, field, name) for field in schema],
    }


def _field(table: str, field: pa.Field, file: str) -> dict:
    said = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    values = field.type.value_type if pa.types.is_list(field.type) else field.type
    unit = said.get("unit", "")
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{field.name}",
        "name": field.name,
        "description": said.get("description", "") + (f", {unit}" if unit not in ("", "1") else ""),
        "dataType": _data_type(values),
        **({"repeated": True} if values is not field.type else {}),
        "source": {"fileObject": {"@id": file}, "extract": {"column": field.name}},
    }


def _data_type(values: pa.DataType) -> str:
    is_of = pa.types
    kinds = {
        "sc:Boolean": is_of.is_boolean,
        "sc:Integer": is_of.is_integer,
        "sc:Float": is_of.is_floating,
        "sc:DateTime": is_of.is_timestamp,
        "sc:Date": is_of.is_date,
    }
    return next((name for name, fits in kinds.items() if fits(values)), "sc:Text")


def _parts(files: Mapping[str, bytes]) -> Iterator[dict]:
    """Yield the entities of the RO-Crate of data, manifest and README."""
    for name in sorted(files):
        if name not in DESCRIPTIONS:
            yield file_entity(name, files[name])


def _json(value: Mapping) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()
