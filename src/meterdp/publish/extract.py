"""One household's file of released forecasts of many, as a release of few has it: data and manifest."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path, PurePath

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from meterdp.core.parquet import metadata_of, table_bytes
from meterdp.errors import InputError
from meterdp.publish.forecast_files import FORECASTS_OF_A_PIECE, TOGETHER
from meterdp.publish.kinds import is_of_a_household
from meterdp.publish.received import checked, read_manifest, shown
from meterdp.publish.tables import RELEASED_RECIPIENTS

RECIPIENTS = PurePath(RELEASED_RECIPIENTS.file_name).name
(FORECASTS,) = {PurePath(table.file_name).name for table in TOGETHER.values()}
# What a file carries on from that of all households; what the manifest of a folder alone says.
_CARRIED, _OF_THE_FOLDER = ("guarantee", "synthetic"), ("listed_meters", "budget")


def extracted(folder, release_id: str) -> dict[str, bytes]:
    """Return the files of one household by name: ``<release_id>.parquet`` and its manifest.

    Refused if the folder is no release of forecasts, was changed, or has no such household.
    """
    folder = Path(folder)
    _, manifest = read_manifest(folder)
    if is_of_a_household(f"{release_id}.parquet") and f"{release_id}.parquet" in manifest["sha256"]:
        names = (f"{release_id}.{kind}" for kind in ("parquet", "json"))
        return {name: checked(folder, name, manifest)[0] for name in names}
    if not {RECIPIENTS, FORECASTS} <= manifest["sha256"].keys():
        raise InputError("holds no forecasts of households", file=folder, hint="take results/release/forecasts")
    recipients = pq.read_table(pa.BufferReader(checked(folder, RECIPIENTS, manifest)[0]))
    row = pc.index(recipients["release_id"], release_id).as_py()
    if row < 0:
        problem = f"has no household called '{shown(release_id)}'"
        raise InputError(problem, file=folder / RECIPIENTS, hint="write a release_id of that file")
    every, _ = checked(folder, FORECASTS, manifest)
    metadata = {key: value for key, value in metadata_of(pa.BufferReader(every)).items() if key in _CARRIED}
    piece, place = divmod(recipients["forecast"][row].as_py() - 1, FORECASTS_OF_A_PIECE)
    steps = manifest["time"]["steps"]
    rows = pq.ParquetFile(pa.BufferReader(every)).read_row_group(piece).slice(place * steps, steps)
    (table,) = (one for one, together in TOGETHER.items() if together.schema.names == rows.column_names)
    columns = {column: rows[column] for column in rows.column_names if column != "forecast"}
    data = table_bytes(table, {"release_id": [release_id] * steps, **columns}, metadata)
    own = {"release_id": release_id, "file": f"{release_id}.parquet", "sha256": hashlib.sha256(data).hexdigest()}
    said = {"columns": {c.name: {"unit": c.unit, "means": c.description} for c in table.columns}}
    shared = {key: value for key, value in manifest.items() if key not in _OF_THE_FOLDER}
    text = json.dumps(shared | metadata | said | own, indent=2, ensure_ascii=False)
    return {f"{release_id}.parquet": data, f"{release_id}.json": f"{text}\n".encode()}
