"""Release the energy per feeder."""

from meterdp.core.job import job
from meterdp.release import feeders
from meterdp.release.asked import run

params = snakemake.params
with job(snakemake.input, snakemake.log):
    run(feeders, dict(snakemake.input.items()), params.config, params.simulated, params.folder)
