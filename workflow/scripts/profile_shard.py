"""Judge the readings of one shard; write its quality table, log load and profile vectors."""

from meterdp.core.job import job
from meterdp.profiles.grid import read_shard
from meterdp.profiles.process import process_shard
from meterdp.profiles.tables import LOG_LOAD, PROFILES, QUALITY

with job(snakemake.input, snakemake.log) as write:
    shard = read_shard(snakemake.input.readings, snakemake.params.interval_minutes, snakemake.params.time_zone)
    params = snakemake.params
    tables = process_shard(shard, params.quality, params.profiles, params.train_days, params.horizon_steps)
    write(snakemake.output.quality, QUALITY, tables.quality)
    write(snakemake.output.log_load, LOG_LOAD, tables.log_load)
    write(snakemake.output.profiles, PROFILES, tables.profiles)
