"""Join parts of one declared table into one file."""

from meterdp.catalogue import catalogue
from meterdp.core.job import job
from meterdp.core.parquet import read_parts

with job(snakemake.input, snakemake.log) as write:
    table = catalogue()[snakemake.params.table]
    write(snakemake.output.whole, table, read_parts(snakemake.input.parts, table))
