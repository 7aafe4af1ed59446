"""Release the energy per feeder."""

from pathlib import Path

from meterdp.core.job import job
from meterdp.release import feeders
from meterdp.release.asked import run

with job(snakemake.input, snakemake.log):
    folder = Path(snakemake.output.files[0]).parent
    run(feeders, dict(snakemake.input.items()), snakemake.params.config, snakemake.params.simulated, folder)
