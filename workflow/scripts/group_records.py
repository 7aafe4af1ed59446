"""Turn the readings of every household of one shard into its record of the group forecast, for a release."""

from meterdp.core.job import job
from meterdp.groupforecast.records import record_tables
from meterdp.groupforecast.tables import GROUP_RECORDS

with job(snakemake.input, snakemake.log) as write, write.opened(snakemake.output.records, GROUP_RECORDS) as add:
    for rows in record_tables(snakemake.input.load, snakemake.params.config):
        add(rows)
