"""Draw every figure of a study from the Parquet files of the rule's input."""

from pathlib import Path

import matplotlib.backends.backend_svg  # noqa: F401 - once, before the processes part

from meterdp.core.job import job
from meterdp.core.steps import in_processes
from meterdp.report.registry import figure_of


def draw(name, options):
    figure = figure_of(name)
    tables = (snakemake.input[table.name] for table in figure.tables)
    figure.draw(*tables, output=folder / f"{name}.svg", **options)


with job(snakemake.input, snakemake.log):
    folder = Path(snakemake.output.figures)
    folder.mkdir(parents=True)
    in_processes(draw, list(snakemake.params.drawings.items()), snakemake.threads)
