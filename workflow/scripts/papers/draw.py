"""Draw one figure of a reproduced paper from the Parquet file of the rule's input."""

from meterdp.core.job import job
from meterdp_papers.registry import PAPERS

with job(snakemake.input, snakemake.log):
    wildcards = snakemake.wildcards
    PAPERS[wildcards.paper].named(wildcards.figure).draw(snakemake.input.table, output=snakemake.output.figure)
