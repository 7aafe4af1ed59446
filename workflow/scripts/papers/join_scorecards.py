"""Join the scorecards of the papers."""

from meterdp.core.job import job
from meterdp.core.parquet import read_parts
from meterdp_papers.common.tables import SCORECARD

with job(snakemake.input, snakemake.log) as write:
    write(snakemake.output.whole, SCORECARD, read_parts(snakemake.input.parts, SCORECARD))
