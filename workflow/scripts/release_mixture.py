"""Release the mixture."""

from meterdp.core.job import job
from meterdp.release import mixture
from meterdp.release.asked import run

params = snakemake.params
with job(snakemake.input, snakemake.log):
    run(mixture, dict(snakemake.input.items()), params.config, params.simulated, params.folder)
