"""Turn the readings of every household of one shard into a vector, and sum what they do together."""

from meterdp.core.job import job
from meterdp.households.configured import vectors_of_shard
from meterdp.households.tables import HOUSEHOLD_DEVIATIONS, HOUSEHOLD_VECTORS

with job(snakemake.input, snakemake.log) as write:
    household, vectors, deviation_sum = vectors_of_shard(snakemake.input.log_load, snakemake.params.config)
    write(snakemake.output.vectors, HOUSEHOLD_VECTORS, {"household": household, "vector": list(vectors)})
    write(snakemake.output.deviations, HOUSEHOLD_DEVIATIONS, {"deviation_sum": deviation_sum})
