"""Draw one figure from the Parquet files of the rule's input."""

from meterdp.core.job import job
from meterdp.figures.registry import FIGURES

with job(snakemake.input, snakemake.log):
    FIGURES[snakemake.params.figure](
        **dict(snakemake.input.items()), output=snakemake.output.figure, **snakemake.params.options
    )
