"""Write the study's report: one HTML file, every number from the Parquet files of the input."""

from pathlib import Path

from meterdp.catalogue import study_tables
from meterdp.core.job import job
from meterdp.report.page import build_report
from meterdp.report.registry import TABLES

with job(snakemake.input, snakemake.log):
    params = snakemake.params
    build_report(
        {name: snakemake.input[name] for name in TABLES if name in snakemake.input.keys()},
        {name: Path(snakemake.input.figures) / f"{name}.svg" for name in params.drawings},
        snakemake.output.report,
        title=params.config["title"],
        synthetic=params.simulated,
        settings=params.config,
        files=study_tables(params.config["federation"]["by"] is not None).values(),
    )
