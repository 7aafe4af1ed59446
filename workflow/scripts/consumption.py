"""Say how much households use, when, how high they peak together, and which classes cause the peak of all."""

import numpy as np

from meterdp.consumption import study, tables
from meterdp.core.job import job, progress
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.ingest.meter_list import read_meter_list
from meterdp.ingest.tables import METERS
from meterdp.mixture.tables import LABELS
from meterdp.profiles.dense import log_load_batches
from meterdp.profiles.grid import LocalTime
from meterdp.profiles.tables import QUALITY

with job(snakemake.input, snakemake.log) as write:
    inputs, params = snakemake.input, snakemake.params
    scale = LogScale.of_interval(params.log_scale, params.local_time["interval_minutes"])

    def batches():
        parts = (log_load_batches(path, LocalTime.of(params.local_time)) for path in inputs.log_load)
        return study.power_batches(progress(parts, "parts of the readings", total=len(inputs.log_load)), scale)

    quality, labels = read_table(inputs.quality, QUALITY).to_pandas(), read_table(inputs.labels, LABELS).to_pandas()
    kept = np.sort(quality.loc[quality["kept"], "household"].to_numpy())
    component = labels.set_index("household")["component"].reindex(kept).fillna(0).to_numpy(int)
    columns = read_meter_list(inputs.listed).columns if inputs.listed else {}
    ids = read_table(inputs.meters, METERS).to_pandas().set_index("household")["meter_id"][kept]
    found = study.Consumption(kept, component, study.groups_of(columns, ids), study.listed_of(columns))
    for batch in batches():
        found.add(*batch)
    rows = study.study_rows(found)
    shown = study.examples_of(found.each) if found.calendar else []
    rows[tables.EXAMPLE_HOUSEHOLDS.name] = study.example_rows(shown, batches())
    for name, columns in rows.items():
        write(snakemake.output[name], getattr(tables, name.upper()), columns)
