"""Write the page of all reproduced papers: scorecard, tables and figures."""

from pathlib import Path

from meterdp.core.job import job
from meterdp.figures.reproduce_report import build_reproduction_report

with job(snakemake.input, snakemake.log):
    params = snakemake.params
    build_reproduction_report(
        snakemake.input.scorecard,
        snakemake.input.table1,
        {"liu": {Path(figure).stem: figure for figure in snakemake.input.liu}},
        snakemake.output.report,
        simulated=params.simulated,
        trials=params.trials,
    )
