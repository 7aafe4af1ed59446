"""Join the shards' quality tables and profile vectors; summarise what the quality rules touched."""

from meterdp.core.job import job
from meterdp.core.parquet import read_parts, read_table
from meterdp.ingest.tables import METERS
from meterdp.profiles.quality import refuse_nobody, summarise
from meterdp.profiles.tables import PROFILE_HOURS, PROFILES, QUALITY, QUALITY_SUMMARY, READ_MONTHS
from meterdp.profiles.vector import VectorRules, hour_rows

with job(snakemake.input, snakemake.log) as write:
    quality = read_parts(snakemake.input.quality, QUALITY)
    meters = read_table(snakemake.input.meters, METERS).to_pandas()
    months = read_parts(snakemake.input.read_months, READ_MONTHS).to_pandas()
    judged = quality.to_pandas()
    if not snakemake.params.listed:  # with a public list nothing that happens depends on a record
        refuse_nobody(judged)
    write(snakemake.output.quality, QUALITY, quality)
    write(snakemake.output.profiles, PROFILES, read_parts(snakemake.input.profiles, PROFILES))
    write(snakemake.output.summary, QUALITY_SUMMARY, summarise(judged, meters, months))
    write(snakemake.output.hours, PROFILE_HOURS, hour_rows(VectorRules.from_config(snakemake.params.profiles)))
