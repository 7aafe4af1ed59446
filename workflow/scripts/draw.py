"""Draw every figure of a study from the Parquet files of the rule's input."""

from pathlib import Path

import matplotlib.backends.backend_svg  # noqa: F401 - once, before the processes part

from meterdp.core.job import job
from meterdp.core.steps import in_processes
from meterdp.report.registry import figure_of


def draw(name):
    figure = figure_of(name)
    tables = (snakemake.input[table.name] for table in figure.tables)
    figure.draw(*tables, output=folder / f"{name}.svg")


with job(snakemake.input, snakemake.log):
    folder = Path(snakemake.output.figures)
    folder.mkdir(parents=True)
    in_processes(draw, [(name,) for name in snakemake.params.drawings], snakemake.threads)
