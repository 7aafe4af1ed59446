"""Draw one figure from the Parquet files of the rule's input."""

from meterdp.core.job import job
from meterdp.figures.registry import figure_of

with job(snakemake.input, snakemake.log):
    figure_of(snakemake.wildcards.figure).draw(
        **dict(snakemake.input.items()), output=snakemake.output.figure, **snakemake.params.options
    )
