"""Write the page of reproduced papers: scorecards, tables and figures, each found by the folder of its paper."""

from pathlib import Path

from meterdp.core.job import job
from meterdp_papers.report import build_reproduction_report

with job(snakemake.input, snakemake.log):
    inputs, params = snakemake.input, snakemake.params
    figures: dict[str, dict[str, str]] = {}
    for figure in map(Path, inputs.figures):
        figures.setdefault(figure.parent.name, {})[figure.stem] = str(figure)
    tables: dict[str, dict[str, str]] = {}
    for table in map(Path, inputs.tables):
        tables.setdefault(table.parent.name, {})[table.stem] = str(table)
    build_reproduction_report(
        {Path(path).parent.name: path for path in inputs.scorecards},
        tables,
        figures,
        snakemake.output.report,
        simulated=params.simulated,
        trials=params.trials,
    )
