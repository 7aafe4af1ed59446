"""Compare synthetic households over the whole period with real ones, unprotected and protected."""

import sys

from meterdp.core.job import job
from meterdp.core.parquet import read_table
from meterdp.households import tables
from meterdp.households.study import homes_of_export, simulated_year, study_tables
from meterdp.ingest.tables import METERS
from meterdp.simulate.parameters import SimulationParameters

DECLARED = (tables.HOUSEHOLD_SCORES, tables.HOUSEHOLD_WEEKS, tables.HOUSEHOLD_CURVES)

with job(snakemake.input, snakemake.log) as write:
    inputs, params = snakemake.input, snakemake.params
    households, why = len(read_table(inputs.meters, METERS)), ""
    if inputs.simulator:
        homes = simulated_year(SimulationParameters.from_yaml(inputs.simulator), households, params.seed)
    else:
        homes, why = homes_of_export(inputs.log_load, inputs.vectors, inputs.deviations, households, params.config)
    if homes is None:
        print(f"Synthetic households over the whole period are left out: {why}.", file=sys.stderr)
    found = study_tables(homes, params.delta, params.seed)
    for table in DECLARED:
        rows, columns = found[table.name], table.schema.names
        write(snakemake.output[table.name], table, {name: [row[name] for row in rows] for name in columns})
