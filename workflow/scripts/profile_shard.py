"""Judge the readings of one shard; write its quality table, log load and profile vectors."""

from meterdp.core.job import job
from meterdp.profiles.grid import LocalTime, read_shard_in_pieces
from meterdp.profiles.shard import process_shard
from meterdp.profiles.tables import LOG_LOAD, PROFILES, QUALITY, READ_MONTHS

params, output = snakemake.params, snakemake.output
with (
    job(snakemake.input, snakemake.log) as write,
    write.opened(output.quality, QUALITY) as add_quality,
    write.opened(output.log_load, LOG_LOAD) as add_log_load,
    write.opened(output.profiles, PROFILES) as add_profiles,
    write.opened(output.read_months, READ_MONTHS) as add_months,
):
    for shard in read_shard_in_pieces(snakemake.input.readings, LocalTime.of(params.local_time)):
        tables = process_shard(shard, params.quality, params.profiles, params.train_days, params.horizon_steps)
        add_quality(tables.quality)
        add_log_load(tables.log_load)
        add_profiles(tables.profiles)
        add_months(tables.read_months)
