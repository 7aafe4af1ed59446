"""Write the study's report: one HTML file, every number from the Parquet files of the input."""

from pathlib import Path

from meterdp.core.job import job
from meterdp.publish.kinds import KINDS
from meterdp.release.asked import plans_of_list
from meterdp.report.page import build_report
from meterdp.report.registry import TABLES

with job(snakemake.input, snakemake.log):
    config, simulated = snakemake.params.config, snakemake.params.simulated
    every = {**config, "release": {**config["release"], "what": list(KINDS)}}
    build_report(
        {name: snakemake.input[name] for name in TABLES if name in snakemake.input.keys()},
        {name: Path(snakemake.input.figures) / f"{name}.svg" for name in snakemake.params.drawings},
        snakemake.output.report,
        title=config["title"],
        synthetic=simulated,
        settings=config,
        plans=plans_of_list(every, simulated),
    )
