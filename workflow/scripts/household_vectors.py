"""Turn the readings of every household of one shard into a vector."""

from meterdp.core.job import job
from meterdp.households.configured import vectors_of_shard
from meterdp.households.tables import HOUSEHOLD_VECTORS

with job(snakemake.input, snakemake.log) as write:
    household, vectors, deviations = vectors_of_shard(snakemake.input.log_load, snakemake.params.config)
    columns = {"household": household, "vector": list(vectors), "deviation": list(deviations)}
    write(snakemake.output.vectors, HOUSEHOLD_VECTORS, columns)
