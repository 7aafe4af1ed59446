"""Draw every figure of a study from the Parquet files of the rule's input."""

from pathlib import Path

from meterdp.core.job import job
from meterdp.figures.registry import figure_of

with job(snakemake.input, snakemake.log):
    folder = Path(snakemake.output.figures)
    folder.mkdir(parents=True)
    for name, options in snakemake.params.drawings.items():
        figure = figure_of(name)
        tables = {table.name: snakemake.input[table.name] for table in figure.tables}
        figure.draw(**tables, output=folder / f"{name}.svg", **options)
